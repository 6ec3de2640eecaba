"""Remove the redundant rows of a QP, and turn rows with one entry into bounds (`reduce_qp`).

    (REDUCE.1)  a row of zeros says 0 ≤ h or 0 = b: it is redundant, or no point is feasible
    (REDUCE.2)  a row a x_j ≤ h is the bound h/a, where that is a float
    (REDUCE.3)  two rows gᵀx ≤ h and −c gᵀx ≤ −c h, c > 0, are the equality gᵀx = h
    (REDUCE.4)  an equality or inequality whose row is a combination Σ c_i a_i of equalities says Σ c_i b_i = b, or
                ≤ h: it is redundant, or no point is feasible. Fixed variables count as constants
    (REDUCE.5)  a row aᵀx = b that holds only if every x_j is at the bound at which aᵀx is largest, or smallest, fixes
                these x_j, and is redundant then; so does a row aᵀx ≤ h if it holds only where aᵀx is smallest

All decisions are exact, in rational numbers, for the floats as given. In practice data are rounded: 3 × 0.1 is not 0.3
in floats, and two rows that should be equal may be two planes that intersect far away, or nowhere. So a row also counts
as a combination if it becomes one by relative changes of at most `allowed` of its entries; `Reduction.change` is the
largest change made. Rows contradict each other only if Σ c_i b_i − b exceeds `ROUNDING` times the sum of the sizes of
its terms: below that, and if no side can be changed by so little, nothing is concluded.

Source: Andersen and Andersen, *Presolving in linear programming*, Math. Programming 71 (1995).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import two_product
from qpsvm.base.arrays.rationals import LARGEST, SMALLEST, round_up
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.bounds.program.enclosures import MIN_PIVOT, find_independent_rows
from qpsvm.bounds.program.rational import (
    as_multiple,
    combine_rows,
    compute_largest_change,
    dot_exactly,
    find_rational_combinations,
)
from qpsvm.program.qp import QP

#: Largest relative change of an entry that is attributed to rounding.
ROUNDING = 1e-14
#: Larger matrices (in entries) are not searched for redundant rows.
MAX_ENTRIES = 1_000_000
#: Larger bases (in entries) are not used in an exact check of one row.
MAX_BASIS_ENTRIES = 300_000
#: A row is checked exactly if its relative distance from the span of the equalities, or the relative difference of its
#: right-hand side and its largest or smallest value within the bounds, is at most this.
MAX_RELATIVE_DISTANCE = 1e-9


class ForcingRow(NamedTuple):
    """A row that fixed variables, (REDUCE.5).

    row: Its row in the original A, or −1 − i for row i of the original G.
    columns, entries (k,): Its nonzero entries.
    fixed (f,): The variables that it fixed.
    is_maximal: Whether aᵀx is largest at their bounds.
    """

    row: int
    columns: IntArray
    entries: FloatArray
    fixed: IntArray
    is_maximal: bool


@dataclass
class Reduction:
    """A QP with fewer rows, and the map of its multipliers back to the original QP.

    original: The original QP.
    A, b, G, h, lb, ub: The reduced QP.
    equalities (p',): For each row of A, its row in the original A, or −1 − i for row i of the original G.
    inequalities (m',): For each row of G, its row in the original G.
    forcing: The rows that fixed variables, in order.
    opposite: For an equality made of two rows of G: first row → second row and c of (REDUCE.3).
    low_rows, high_rows (n,): Row of the original G that a bound comes from; −1 for an original bound.
    low_entries, high_entries (n,): Absolute values of the entries in these rows.
    change: Largest relative change of an entry; 0 if the reduction is exact.
    contradiction: Multipliers (p,), (m,), (n,) of original rows and bounds that prove infeasibility, (PROGRAM.6);
        None otherwise.
    allowed: Largest relative change of an entry that is allowed.
    contradicts_by_rounding: Whether some rows agree up to rounding but not exactly, and no change is allowed.
    """

    original: QP
    A: sp.csr_array
    b: FloatArray
    G: sp.csr_array
    h: FloatArray
    lb: FloatArray
    ub: FloatArray
    equalities: IntArray
    inequalities: IntArray
    low_rows: IntArray
    high_rows: IntArray
    low_entries: FloatArray
    high_entries: FloatArray
    forcing: list[ForcingRow] = field(default_factory=list)
    opposite: dict[int, tuple[int, Fraction]] = field(default_factory=dict)
    change: float = 0.0
    contradiction: tuple[FloatArray, FloatArray, FloatArray] | None = None
    allowed: float = 0.0
    contradicts_by_rounding: bool = False

    @property
    def qp(self) -> QP:
        """Reduced QP; the given one if nothing was removed."""
        original = self.original
        n_original = _count_rows(original.b), _count_rows(original.h)
        if (len(self.equalities), len(self.inequalities)) == n_original and not self.opposite:
            return original
        return original.replace(
            G=self.G if len(self.h) else None, h=self.h if len(self.h) else None,
            A=self.A if len(self.b) else None, b=self.b if len(self.b) else None,
            lb=self.lb, ub=self.ub, variables={},
        )  # fmt: skip

    def expand(self, y: FloatArray, z: FloatArray, box: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Map multipliers of the reduced QP to those of the original rows, (p,), (m,), and bounds, (n,)."""
        original = self.original
        all_y = np.zeros(_count_rows(original.b))
        all_z = np.zeros(_count_rows(original.h))
        box = box.copy()
        from_equality = self.equalities >= 0
        all_y[self.equalities[from_equality]] = y[from_equality]
        all_z[self.inequalities] = z
        for k in np.flatnonzero(~from_equality).tolist():
            first = -1 - int(self.equalities[k])
            second, c = self.opposite[first]
            all_z[first] = max(y[k], 0.0)
            all_z[second] = max(-y[k], 0.0) / float(c)
        for row, columns, entries, fixed, is_maximal in reversed(self.forcing):
            # the multiplier with which those of the bounds have the right signs
            ratios = box[fixed] / entries[np.isin(columns, fixed)]
            multiplier = float(ratios.min() if is_maximal else ratios.max())
            if row >= 0:
                all_y[row] = multiplier
            else:
                multiplier = max(multiplier, 0.0)
                all_z[-1 - row] = multiplier
            box[columns] -= multiplier * entries
        for rows, entries, sign in (
            (self.low_rows, self.low_entries, -1.0),
            (self.high_rows, self.high_entries, 1.0),
        ):
            from_row = np.flatnonzero((rows >= 0) & (sign * box > 0.0))
            all_z[rows[from_row]] = np.abs(box[from_row]) / entries[from_row]
            box[from_row] = 0.0
        return all_y, all_z, box


def reduce_qp(qp: QP, allowed: float = 0.0) -> Reduction:
    """Reduce a QP by (REDUCE.1) to (REDUCE.5), with relative changes of entries of at most `allowed`."""
    reduction = keep_all_rows(qp)
    reduction.allowed = allowed
    for step in (
        _convert_rows_to_bounds,
        _remove_zero_rows,
        _fix_forced_variables,
        _merge_opposite_rows,
        _remove_dependent_equalities,
        _remove_dependent_inequalities,
    ):
        step(reduction)
        if reduction.contradiction is not None:
            break
    return reduction


def keep_all_rows(qp: QP) -> Reduction:
    """Return the trivial reduction of a QP, with all its rows."""
    n, (lb, ub) = qp.n, qp.bounds
    A, G = _copy_rows(qp.A, n), _copy_rows(qp.G, n)
    b, h = (np.zeros(0) if side is None else np.array(side) for side in (qp.b, qp.h))
    no_row = np.full(n, -1)
    ones = np.ones(n)
    return Reduction(
        qp, A, b, G, h, np.array(lb), np.array(ub), np.arange(len(b)), np.arange(len(h)),
        no_row, no_row.copy(), ones, ones.copy(),
    )  # fmt: skip


def _convert_rows_to_bounds(reduction: Reduction) -> None:
    """Turn rows with one entry into bounds, (REDUCE.2)."""
    G, h = reduction.G, reduction.h
    single = np.flatnonzero(np.diff(G.indptr) == 1)
    if not len(single):
        return
    entries_of_single = G.indptr[single]
    columns, a = G.indices[entries_of_single], G.data[entries_of_single]
    with np.errstate(all="ignore"):
        bound = h[single] / a
        product, error = two_product(bound, a)
        is_normal = np.all([(np.abs(v) > SMALLEST) & (np.abs(v) < LARGEST) for v in (bound, a)], axis=0)
        is_exact = ((product == h[single]) & (error == 0.0) & is_normal) | (h[single] == 0.0)
    bound = bound + 0.0  # no −0
    highs, lows = (
        (reduction.ub, reduction.high_rows, reduction.high_entries),
        (reduction.lb, reduction.low_rows, reduction.low_entries),
    )
    for k, j, entry, value in zip(*(v[is_exact].tolist() for v in (single, columns, a, bound)), strict=True):
        side, rows, entries = highs if entry > 0.0 else lows
        is_tighter = value < side[j] if entry > 0.0 else value > side[j]
        if is_tighter:
            side[j] = value
            rows[j] = k
            entries[j] = abs(entry)
    _keep_inequalities(reduction, np.setdiff1d(np.arange(len(h)), single[is_exact]))
    _resolve_crossing_bounds(reduction)


def _resolve_crossing_bounds(reduction: Reduction) -> None:
    """Equate lower and upper bounds that cross by rounding; record a contradiction if they cross by more."""
    for j in np.flatnonzero(reduction.lb > reduction.ub).tolist():
        low, high = Fraction(reduction.lb[j]), Fraction(reduction.ub[j])
        if low - high <= Fraction(ROUNDING) * abs(low):
            reduction.contradicts_by_rounding = not reduction.allowed
            if reduction.allowed:
                reduction.change = max(reduction.change, round_up((low - high) / abs(low)))
                reduction.ub[j] = reduction.lb[j]
            continue
        unit = np.zeros(reduction.original.n)
        unit[j] = 1.0
        no_multipliers = np.zeros(len(reduction.b)), np.zeros(len(reduction.h))
        lower, upper = (reduction.expand(*no_multipliers, sign * unit) for sign in (-1.0, 1.0))
        reduction.contradiction = lower[0], lower[1] + upper[1], lower[2] + upper[2]
        return


def _remove_zero_rows(reduction: Reduction) -> None:
    """Remove rows of zeros, (REDUCE.1)."""
    zero = np.diff(reduction.G.indptr) == 0
    wrong = np.flatnonzero(zero & (reduction.h < 0.0))
    if len(wrong):
        _record_contradiction(reduction, z={int(wrong[0]): 1.0})
        return
    _keep_inequalities(reduction, np.flatnonzero(~zero))
    zero = np.diff(reduction.A.indptr) == 0
    wrong = np.flatnonzero(zero & (reduction.b != 0.0))
    if len(wrong):
        _record_contradiction(reduction, y={int(wrong[0]): -math.copysign(1.0, reduction.b[wrong[0]])})
        return
    _keep_equalities(reduction, np.flatnonzero(~zero))


def _record_contradiction(
    reduction: Reduction, y: dict[int, float] | None = None, z: dict[int, float] | None = None
) -> None:
    """Set `contradiction` from multipliers y, z of some rows of the reduced QP; fixed variables absorb the residual."""
    all_y, all_z = np.zeros(len(reduction.b)), np.zeros(len(reduction.h))
    for vector, entries in ((all_y, y), (all_z, z)):
        for k, value in (entries or {}).items():
            vector[k] = value
    residual = reduction.A.T @ all_y + reduction.G.T @ all_z
    reduction.contradiction = reduction.expand(all_y, all_z, np.where(reduction.lb == reduction.ub, -residual, 0.0))


def _keep_inequalities(reduction: Reduction, indices: IntArray) -> None:
    """Keep only some rows of G."""
    if len(indices) < len(reduction.h):
        reduction.G = reduction.G[indices]
        reduction.h = reduction.h[indices]
        reduction.inequalities = reduction.inequalities[indices]


def _keep_equalities(reduction: Reduction, indices: IntArray) -> None:
    """Keep only some rows of A."""
    if len(indices) < len(reduction.b):
        reduction.A = reduction.A[indices]
        reduction.b = reduction.b[indices]
        reduction.equalities = reduction.equalities[indices]


def _fix_forced_variables(reduction: Reduction) -> None:
    """Fix variables that a row forces to their bounds, and remove the row, (REDUCE.5)."""
    for M, sides, rows, directions, keep in (
        (reduction.A, reduction.b, reduction.equalities, (True, False), _keep_equalities),
        (reduction.G, reduction.h, -1 - reduction.inequalities, (False,), _keep_inequalities),
    ):
        removed = []
        for k in _find_candidates(M, sides, reduction):
            columns, entries = (v[M.indptr[k] : M.indptr[k + 1]] for v in (M.indices, M.data))
            for is_maximal in directions:
                fixed = _force_to_bounds(reduction, columns, entries, float(sides[k]), is_maximal)
                if fixed is not None:
                    if len(fixed):
                        reduction.forcing.append(ForcingRow(int(rows[k]), columns, entries, fixed, is_maximal))
                    removed.append(k)
                    break
        keep(reduction, np.setdiff1d(np.arange(len(sides)), removed))


def _find_candidates(M: sp.csr_array, sides: FloatArray, reduction: Reduction) -> list[int]:
    """Find the rows whose largest or smallest value within the bounds may be their right-hand side, up to rounding."""
    positive, negative = M.maximum(0.0), M.minimum(0.0)
    found = np.zeros(len(sides), dtype=np.bool_)
    lb, ub = (np.clip(bound, -LARGEST, LARGEST) for bound in (reduction.lb, reduction.ub))  # 0 × ∞ would be NaN
    for first, second in ((ub, lb), (lb, ub)):
        with np.errstate(invalid="ignore", over="ignore"):
            activity = positive @ first + negative @ second
            sizes = positive @ np.abs(first) - negative @ np.abs(second) + np.abs(sides)
            found |= np.abs(activity - sides) <= MAX_RELATIVE_DISTANCE * sizes
    return np.flatnonzero(found).tolist()


def _force_to_bounds(
    reduction: Reduction, columns: IntArray, entries: FloatArray, side: float, is_maximal: bool
) -> IntArray | None:
    """Fix the variables of a row that holds only at their bounds; return those that were not fixed before.

    None if the row does not force its variables.
    """
    ends = np.where((entries > 0.0) == is_maximal, reduction.ub[columns], reduction.lb[columns])
    if not np.isfinite(ends).all():
        return None
    terms = [Fraction(a) * Fraction(end) for a, end in zip(entries.tolist(), ends.tolist(), strict=True)]
    excess = sum(terms, Fraction(0)) - Fraction(side)
    change = _compute_relative_size(excess, max(sum(map(abs, terms), Fraction(0)), abs(Fraction(side))))
    if change > ROUNDING:
        return None
    if change > reduction.allowed:
        is_empty = excess < 0 if is_maximal else excess > 0
        reduction.contradicts_by_rounding = reduction.contradicts_by_rounding or is_empty
        return None
    reduction.change = max(reduction.change, change)
    fixed = columns[reduction.lb[columns] < reduction.ub[columns]]
    reduction.lb[columns] = reduction.ub[columns] = ends
    return fixed


def _merge_opposite_rows(reduction: Reduction) -> None:
    """Replace pairs of opposite rows by equalities, (REDUCE.3)."""
    G = reduction.G
    m = len(reduction.h)
    if m < 2 or G.nnz > MAX_ENTRIES:
        return
    merged: set[int] = set()
    for group in _group_proportional_rows(G):
        first_entries = [G.data[G.indptr[k]] for k in group]
        if len(group) == 1 or min(first_entries) > 0.0 or max(first_entries) < 0.0:
            continue
        i, k = (  # the tightest row of each direction
            min(
                (r for r, a in zip(group, first_entries, strict=True) if a * sign > 0.0),
                key=lambda r: reduction.h[r] / abs(G.data[G.indptr[r]]),
            )
            for sign in (1.0, -1.0)
        )
        if _merge_pair(reduction, i, k):
            merged.update((i, k))
        if reduction.contradiction is not None:
            return
    if merged:
        pairs = [k for k in range(m) if int(reduction.inequalities[k]) in reduction.opposite]
        reduction.A = sp.csr_array(sp.vstack([reduction.A, G[pairs]], format="csr"))
        reduction.b = np.concatenate([reduction.b, reduction.h[pairs]])
        reduction.equalities = np.concatenate([reduction.equalities, -1 - reduction.inequalities[pairs]])
        _keep_inequalities(reduction, np.setdiff1d(np.arange(m), np.array(sorted(merged))))


def _group_proportional_rows(G: sp.csr_array) -> list[list[int]]:
    """Return groups of rows that are proportional to 9 digits: equal after division by their first entries."""
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for k in range(G.shape[0]):
        entries = slice(G.indptr[k], G.indptr[k + 1])
        normalised = np.round(G.data[entries] / G.data[entries][0], 9) + 0.0
        groups.setdefault((G.indices[entries].tobytes(), normalised.tobytes()), []).append(k)
    return list(groups.values())


def _merge_pair(reduction: Reduction, i: int, k: int) -> bool:
    """Record rows i and k of G as an equality, (REDUCE.3), and return True; record a contradiction; or do nothing."""
    G = reduction.G
    c = -Fraction(G.data[G.indptr[k]]) / Fraction(G.data[G.indptr[i]])
    for factor in dict.fromkeys((c.limit_denominator(10_000), c)):  # the c that may have been meant, and that of floats
        nonzeros, side = combine_rows(G, reduction.h, [i, k], [factor, Fraction(1)], {})
        change = min(compute_largest_change(G, row, by, nonzeros) for row, by in ((i, factor), (k, Fraction(1))))
        if change > reduction.allowed:
            continue
        smaller_side = min(abs(factor) * abs(Fraction(reduction.h[i])), abs(Fraction(reduction.h[k])))
        side_change = _compute_relative_size(side, smaller_side)
        if side < 0 and side_change > ROUNDING:  # the sum of both rows is 0 ≤ side
            reduction.change = max(reduction.change, change)
            first, second = as_multiple([factor, Fraction(1)]).tolist()
            _record_contradiction(reduction, z={i: first, k: second})
            return False
        if side_change > ROUNDING:  # there is room between the two half-spaces
            return False
        if side and not reduction.allowed:
            reduction.contradicts_by_rounding = True
            return False
        reduction.change = max(reduction.change, change, side_change)
        reduction.opposite[int(reduction.inequalities[i])] = int(reduction.inequalities[k]), factor
        return True
    return False


def _count_rows(side: FloatArray | None) -> int:
    """Return the length of a right-hand side; 0 for None."""
    return 0 if side is None else len(side)


def _copy_rows(M: Matrix | None, n: int) -> sp.csr_array:
    """Return a copy as CSR without stored zeros; (0, n) for None."""
    rows = sp.csr_array((0, n)) if M is None else sp.csr_array(M, copy=True)
    rows.eliminate_zeros()
    return rows


def _find_fixed_variables(reduction: Reduction) -> dict[int, float]:
    """Return the values of the variables with equal lower and upper bounds."""
    return {int(j): float(reduction.lb[j]) for j in np.flatnonzero(reduction.lb == reduction.ub)}


def _compute_relative_size(value: Fraction, size: Fraction) -> float:
    """Return |value|/size rounded up; ∞ if only size is 0."""
    if not value:
        return 0.0
    return round_up(abs(value) / size) if size else math.inf


def _remove_dependent_equalities(reduction: Reduction) -> None:
    """Remove equalities that are combinations of others, (REDUCE.4)."""
    p, n = reduction.A.shape
    if not p or p * n > MAX_ENTRIES:
        return
    free = reduction.lb < reduction.ub
    dense = reduction.A.toarray()[:, free]
    lengths = np.sqrt((dense * dense).sum(axis=1))
    dense /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    if len(find_independent_rows(dense)) == p:
        return
    chosen = _find_independent_in_order(dense).tolist()
    n_removed = 0
    for k in np.setdiff1d(np.arange(p), chosen).tolist():
        removable = [k] if n_removed else [k, *chosen]  # a removed row is a combination of those chosen then
        redundant = _find_redundant(reduction, reduction.A, reduction.b, k, chosen, removable)
        if reduction.contradiction is not None:
            return
        if redundant is None:
            chosen.append(k)  # not shown to be redundant
            continue
        n_removed += 1
        if redundant != k:
            chosen[chosen.index(redundant)] = k
    _keep_equalities(reduction, np.array(sorted(chosen), dtype=np.intp))


def _find_independent_in_order(rows: FloatArray) -> IntArray:
    """Return the indices of the unit rows (p, n) that are not combinations of earlier ones, up to rounding."""
    basis: FloatArray = np.zeros((0, rows.shape[1]))
    chosen: list[int] = []
    for k, row in enumerate(rows):
        remainder = row - (row @ basis.T) @ basis
        remainder -= (remainder @ basis.T) @ basis
        length = float(np.linalg.norm(remainder))
        if length > MIN_PIVOT:
            basis = np.vstack([basis, remainder / length])
            chosen = [*chosen, k]
    return np.array(chosen, dtype=np.intp)


def _remove_dependent_inequalities(reduction: Reduction) -> None:
    """Remove inequalities whose row lies in the span of the equalities, up to rounding, (REDUCE.4)."""
    p, n = reduction.A.shape
    m = len(reduction.h)
    if not p or not m or (p + m) * n > MAX_ENTRIES:
        return
    M = sp.csr_array(sp.vstack([reduction.A, reduction.G], format="csr"))
    sides = np.concatenate([reduction.b, reduction.h])
    dense = M.toarray()[:, reduction.lb < reduction.ub]
    basis = np.linalg.qr(dense[:p].T)[0]
    rows = dense[p:]
    distances = np.linalg.norm(rows - rows @ basis @ basis.T, axis=1)
    candidates = np.flatnonzero(distances <= MAX_RELATIVE_DISTANCE * np.linalg.norm(rows, axis=1))
    needed = set(range(m))
    for k in candidates.tolist():
        if _find_redundant(reduction, M, sides, p + k, list(range(p)), [p + k]) is not None:
            needed.discard(k)
        if reduction.contradiction is not None:
            return
    _keep_inequalities(reduction, np.array(sorted(needed), dtype=np.intp))


def _find_redundant(
    reduction: Reduction, M: sp.csr_array, sides: FloatArray, k: int, chosen: list[int], removable: list[int]
) -> int | None:
    """Return the row that (REDUCE.4) removes if row k is a combination of the chosen rows; None otherwise.

    The row to remove is the one of `removable` that has to change least, row k if none has to. If row k contradicts the
    chosen ones, that is recorded, and None is returned.

    M, sides: All equalities, followed by all inequalities unless row k is an equality.
    """
    is_equality = k < len(reduction.b)
    fixed = _find_fixed_variables(reduction)
    free = np.setdiff1d(np.arange(reduction.original.n), list(fixed))
    dense = M[chosen].toarray()[:, free]
    row = M[[k]].toarray()[0][free]
    if dense.size > MAX_BASIS_ENTRIES:
        return None
    for c in find_rational_combinations(row, dense, _approximate_combination(row, dense)):
        members = [*chosen, k]
        factors = [*c, Fraction(-1)]
        nonzeros, side = combine_rows(M, sides, members, factors, fixed)
        options = [(i, by) for i, by in [(k, Fraction(-1)), *zip(chosen, c, strict=True)] if i in removable]
        changes = {i: compute_largest_change(M, i, by, nonzeros) for i, by in options}
        redundant = min(changes, key=changes.__getitem__)
        change = changes[redundant]
        if change > reduction.allowed:
            continue
        if side == 0 or (not is_equality and side < 0):
            reduction.change = max(reduction.change, change)
            return redundant
        sizes = np.abs(sides[members]) + abs(M[members]) @ np.where(
            reduction.lb == reduction.ub, abs(reduction.lb), 0.0
        )
        if abs(side) <= Fraction(ROUNDING) * dot_exactly(map(abs, factors), sizes.tolist()):
            for i, by in options:  # the side of the row that is removed changes, too
                changes[i] = max(changes[i], _compute_relative_size(side, abs(by * Fraction(float(sides[i])))))
            redundant = min(changes, key=changes.__getitem__)
            reduction.contradicts_by_rounding = not reduction.allowed
            if changes[redundant] > reduction.allowed:
                return None
            reduction.change = max(reduction.change, changes[redundant])
            return redundant
        sign = -1.0 if side > 0 else 1.0
        *multipliers, multiplier = (sign * as_multiple(factors)).tolist()
        y = dict(zip(chosen, multipliers, strict=True))
        z = {}
        if is_equality:
            y[k] = multiplier
        else:
            z[k - len(reduction.b)] = multiplier
        _record_contradiction(reduction, y, z)
        reduction.change = max(reduction.change, change)
        return None
    return None


def _approximate_combination(row: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the least-squares solution c (k,) of cᵀ rows = row, refined once. Shapes: row (f,), rows (k, f)."""
    coefficients = np.zeros(len(rows))
    for _ in range(2 if len(rows) else 0):
        coefficients += np.linalg.lstsq(rows.T, row - coefficients @ rows, rcond=None)[0]
    return coefficients
