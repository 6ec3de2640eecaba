"""Remove the redundant rows of a QP, and turn rows with one entry into bounds (`reduce`).

    (REDUCE.1)  a row of zeros says 0 ≤ h or 0 = b: nothing, or that no point is feasible
    (REDUCE.2)  a row a x_j ≤ h is the bound h/a, where that is a float
    (REDUCE.3)  two rows gᵀx ≤ h and −c gᵀx ≤ −c h, c > 0, are the equality gᵀx = h
    (REDUCE.4)  an equality, and an inequality, whose row is a combination Σ c_i a_i of equalities says
                Σ c_i b_i = b, or ≤ h: nothing, or that no point is feasible. Fixed variables belong to that side

All of it is decided in rational numbers, of the floats as they are. In the data of most programs with such rows that
is not what is meant: 3 × 0.1 is not 0.3 in floats, and two rows that should be one are two planes that meet at some odd
point, or nowhere. `allowed` is the relative change of an entry up to which a row counts as such a combination; what is
changed is in `Reduction.change`.

Source: Andersen and Andersen, *Presolving in linear programming*, Math. Programming 71 (1995).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import two_product
from qpsvm.base.arrays.rationals import LARGEST, SMALLEST, round_up
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.bounds.program.near import PIVOT, independent_rows
from qpsvm.bounds.program.rational import as_multiple, combinations_of, combine_rows, largest_change
from qpsvm.program.qp import QP

#: The largest relative change of an entry that is put down to rounding.
ROUNDING = 1e-14
#: The most entries of rows among which combinations are looked for: of equalities, and of one with another.
MOST_ENTRIES, MOST_CHECKED = 1_000_000, 300_000
#: How far a row may be from a combination of others, as a share of it, for that to be tried exactly.
NEARLY = 1e-9


@dataclass
class Reduction:
    """A QP in fewer rows, and the way back.

    A, b, G, h, lb, ub: What is left.
    equalities (p',): Of each row of A, the row of the given A, or −1 − i for row i of the given G.
    inequalities (m',): Of each row of G, the row of the given G.
    opposite: Of an equality made of two rows of G, the second of them, and c of (REDUCE.3).
    low_rows, high_rows (n,): The row of the given G that a bound comes from; −1 for the bound given.
    low_entries, high_entries (n,): Sizes of the entries of these rows.
    change: The largest relative change of an entry, 0 where the floats are meant.
    contradiction: Multipliers (p,), (m,), (n,) of given rows and bounds by which no point is feasible, (PROGRAM.6).
    allowed: The relative change of an entry that is allowed.
    contradicts_by_rounding: Whether rows that are one but for rounding would have to be made one first.
    """

    given: QP
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
    opposite: dict[int, tuple[int, Fraction]] = field(default_factory=dict)
    change: float = 0.0
    contradiction: tuple[FloatArray, FloatArray, FloatArray] | None = None
    allowed: float = 0.0
    contradicts_by_rounding: bool = False

    @property
    def qp(self) -> QP:
        """Reduced QP; the given one if nothing was removed."""
        given = self.given
        whole = len(self.equalities) == _count(given.b) and len(self.inequalities) == _count(given.h)
        if whole and not self.opposite:
            return given
        return given.replace(
            G=self.G if len(self.h) else None, h=self.h if len(self.h) else None,
            A=self.A if len(self.b) else None, b=self.b if len(self.b) else None,
            lb=self.lb, ub=self.ub, variables={},
        )  # fmt: skip

    def expand(self, y: FloatArray, z: FloatArray, box: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Multipliers (p,), (m,) of the given rows and (n,) of the given bounds, from those of what is left."""
        given = self.given
        whole_y, whole_z, box = np.zeros(_count(given.b)), np.zeros(_count(given.h)), box.copy()
        own = self.equalities >= 0
        whole_y[self.equalities[own]] = y[own]
        whole_z[self.inequalities] = z
        for place in np.flatnonzero(~own).tolist():
            first = -1 - int(self.equalities[place])
            second, c = self.opposite[first]
            whole_z[first], whole_z[second] = max(y[place], 0.0), max(-y[place], 0.0) / float(c)
        for rows, entries, sign in (
            (self.low_rows, self.low_entries, -1.0),
            (self.high_rows, self.high_entries, 1.0),
        ):
            from_row = np.flatnonzero((rows >= 0) & (sign * box > 0.0))
            whole_z[rows[from_row]] = np.abs(box[from_row]) / entries[from_row]
            box[from_row] = 0.0
        return whole_y, whole_z, box


def _count(side: FloatArray | None) -> int:
    return 0 if side is None else len(side)


def _rows(M: Matrix | None, n: int) -> sp.csr_array:
    found = sp.csr_array((0, n)) if M is None else sp.csr_array(M, copy=True)
    found.eliminate_zeros()
    return found


def keep_all_rows(qp: QP) -> Reduction:
    """Return the trivial reduction of a QP, with all its rows."""
    n, (lb, ub) = qp.n, qp.bounds
    A, G = _rows(qp.A, n), _rows(qp.G, n)
    b, h = (np.zeros(0) if side is None else np.array(side) for side in (qp.b, qp.h))
    none, ones = np.full(n, -1), np.ones(n)
    return Reduction(
        qp, A, b, G, h, np.array(lb), np.array(ub), np.arange(len(b)), np.arange(len(h)),
        none, none.copy(), ones, ones.copy(),
    )  # fmt: skip


def reduce(qp: QP, allowed: float = 0.0) -> Reduction:
    """(REDUCE.1) to (REDUCE.4) of a QP; `allowed` is the relative change of an entry."""
    found = keep_all_rows(qp)
    found.allowed = allowed
    for step in (_bounds, _zero_rows, _opposite_rows, _dependent_equalities, _dependent_inequalities):
        step(found)
        if found.contradiction is not None:
            break
    return found


def _bounds(found: Reduction) -> None:
    """(REDUCE.2)."""
    G, h = found.G, found.h
    single = np.flatnonzero(np.diff(G.indptr) == 1)
    if not len(single):
        return
    places = G.indptr[single]
    columns, a = G.indices[places], G.data[places]
    with np.errstate(all="ignore"):
        bound = h[single] / a
        product, error = two_product(bound, a)
        safe = np.all([(np.abs(v) > SMALLEST) & (np.abs(v) < LARGEST) for v in (bound, a)], axis=0)
        exact = ((product == h[single]) & (error == 0.0) & safe) | (h[single] == 0.0)
    bound = bound + 0.0  # no −0
    highs, lows = (found.ub, found.high_rows, found.high_entries), (found.lb, found.low_rows, found.low_entries)
    for k, j, entry, value in zip(*(v[exact].tolist() for v in (single, columns, a, bound)), strict=True):
        side, rows, entries = highs if entry > 0.0 else lows
        if value < side[j] if entry > 0.0 else value > side[j]:
            side[j], rows[j], entries[j] = value, k, abs(entry)
    _keep_inequalities(found, np.setdiff1d(np.arange(len(h)), single[exact]))
    for j in np.flatnonzero(found.lb > found.ub).tolist():
        low, high = Fraction(found.lb[j]), Fraction(found.ub[j])
        if low - high <= Fraction(ROUNDING) * abs(low):
            found.contradicts_by_rounding = not found.allowed
            found.change = max(found.change, round_up((low - high) / abs(low))) if found.allowed else found.change
            found.ub[j] = found.lb[j] if found.allowed else found.ub[j]
            continue
        left = np.zeros(found.given.n)
        left[j] = 1.0
        none = np.zeros(len(found.b)), np.zeros(len(found.h))
        lower, upper = (found.expand(*none, sign * left) for sign in (-1.0, 1.0))
        found.contradiction = lower[0], lower[1] + upper[1], lower[2] + upper[2]
        return


def _zero_rows(found: Reduction) -> None:
    """(REDUCE.1)."""
    zero = np.diff(found.G.indptr) == 0
    wrong = np.flatnonzero(zero & (found.h < 0.0))
    if len(wrong):
        _contradict(found, z={int(wrong[0]): 1.0})
        return
    _keep_inequalities(found, np.flatnonzero(~zero))
    zero = np.diff(found.A.indptr) == 0
    wrong = np.flatnonzero(zero & (found.b != 0.0))
    if len(wrong):
        _contradict(found, y={int(wrong[0]): -math.copysign(1.0, found.b[wrong[0]])})
        return
    _keep_equalities(found, np.flatnonzero(~zero))


def _contradict(found: Reduction, y: dict[int, float] | None = None, z: dict[int, float] | None = None) -> None:
    """Note multipliers of some rows of what is left, and what they leave for the bounds, as a contradiction."""
    equal, over = np.zeros(len(found.b)), np.zeros(len(found.h))
    for vector, given in ((equal, y), (over, z)):
        for k, value in (given or {}).items():
            vector[k] = value
    fixed = np.where(found.lb == found.ub, found.A.T @ equal + found.G.T @ over, 0.0)
    found.contradiction = found.expand(equal, over, -fixed)


def _keep_inequalities(found: Reduction, kept: IntArray) -> None:
    if len(kept) < len(found.h):
        found.G, found.h, found.inequalities = found.G[kept], found.h[kept], found.inequalities[kept]


def _keep_equalities(found: Reduction, kept: IntArray) -> None:
    if len(kept) < len(found.b):
        found.A, found.b, found.equalities = found.A[kept], found.b[kept], found.equalities[kept]


def _opposite_rows(found: Reduction) -> None:
    """(REDUCE.3): proportional rows have the same entries once these are divided by the first one."""
    G, m = found.G, len(found.h)
    if m < 2 or G.nnz > MOST_ENTRIES:
        return
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for k in range(m):
        part = slice(G.indptr[k], G.indptr[k + 1])
        shape = np.round(G.data[part] / G.data[part][0], 9) + 0.0
        groups.setdefault((G.indices[part].tobytes(), shape.tobytes()), []).append(k)
    gone: set[int] = set()
    for group in groups.values():
        firsts = [G.data[G.indptr[k]] for k in group]
        if len(group) == 1 or min(firsts) > 0.0 or max(firsts) < 0.0:
            continue
        i, k = (
            min(
                (r for r, a in zip(group, firsts, strict=True) if a * sign > 0.0),
                key=lambda r: found.h[r] / abs(G.data[G.indptr[r]]),
            )
            for sign in (1.0, -1.0)
        )
        c = -Fraction(G.data[G.indptr[k]]) / Fraction(G.data[G.indptr[i]])
        for factor in dict.fromkeys((c.limit_denominator(10_000), c)):
            rests, side = combine_rows(found.G, found.h, [i, k], [factor, Fraction(1)], {})
            change = min(largest_change(found.G, row, by, rests) for row, by in ((i, factor), (k, Fraction(1))))
            if change > found.allowed:
                continue
            moved = _share(side, min(abs(factor) * abs(Fraction(found.h[i])), abs(Fraction(found.h[k]))))
            if side < 0 and moved > ROUNDING:  # 0 ≤ side is what is left of both
                found.change = max(found.change, change)
                first, second = as_multiple([factor, Fraction(1)]).tolist()
                _contradict(found, z={i: first, k: second})
                return
            if side and moved <= ROUNDING and not found.allowed:
                found.contradicts_by_rounding = True
            elif moved <= ROUNDING:
                found.change = max(found.change, change, moved)
                found.opposite[int(found.inequalities[i])] = int(found.inequalities[k]), factor
                gone.update((i, k))
            break
    if gone:
        pairs = [k for k in range(m) if int(found.inequalities[k]) in found.opposite]
        found.A = sp.csr_array(sp.vstack([found.A, G[pairs]], format="csr"))
        found.b = np.concatenate([found.b, found.h[pairs]])
        found.equalities = np.concatenate([found.equalities, -1 - found.inequalities[pairs]])
        _keep_inequalities(found, np.setdiff1d(np.arange(m), np.array(sorted(gone))))


def _fixed(found: Reduction) -> dict[int, float]:
    """The variables whose bounds are one number."""
    return {int(j): float(found.lb[j]) for j in np.flatnonzero(found.lb == found.ub)}


def _share(rest: Fraction, size: Fraction) -> float:
    """A number as a share of another, from above; ∞ where that is 0."""
    return 0.0 if not rest else round_up(abs(rest) / size) if size else math.inf


def _dependent_equalities(found: Reduction) -> None:
    """(REDUCE.4) of equalities."""
    p, n = found.A.shape
    if p < 2 or p * n > MOST_ENTRIES:
        return
    free = found.lb < found.ub
    dense = found.A.toarray()[:, free]
    lengths = np.sqrt((dense * dense).sum(axis=1))
    dense /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    if len(independent_rows(dense)) == p:
        return
    chosen = _independent_in_order(dense).tolist()
    for k in np.setdiff1d(np.arange(p), chosen).tolist():
        gone = _find_redundant(found, found.A, found.b, k, chosen, equal=True)
        if found.contradiction is not None:
            return
        if gone is None:
            chosen.append(k)  # it stays
        elif gone != k:
            chosen[chosen.index(gone)] = k
    _keep_equalities(found, np.array(sorted(chosen), dtype=np.intp))


def _independent_in_order(rows: FloatArray) -> IntArray:
    """The rows (p, n) of length 1 that are no combination of earlier ones, but for rounding."""
    basis: FloatArray = np.zeros((0, rows.shape[1]))
    chosen: list[int] = []
    for k, row in enumerate(rows):
        left = row - (row @ basis.T) @ basis
        left -= (left @ basis.T) @ basis
        length = float(np.linalg.norm(left))
        if length > PIVOT:
            basis, chosen = np.vstack([basis, left / length]), [*chosen, k]
    return np.array(chosen, dtype=np.intp)


def _dependent_inequalities(found: Reduction) -> None:
    """(REDUCE.4) of inequalities: those whose row has next to nothing outside of the space that the equalities span."""
    (p, n), m = found.A.shape, len(found.h)
    if not p or not m or (p + m) * n > MOST_ENTRIES:
        return
    M = sp.csr_array(sp.vstack([found.A, found.G], format="csr"))
    sides, dense = np.concatenate([found.b, found.h]), M.toarray()[:, found.lb < found.ub]
    basis = np.linalg.qr(dense[:p].T)[0]
    rows = dense[p:]
    outside = np.linalg.norm(rows - rows @ basis @ basis.T, axis=1)
    near = np.flatnonzero(outside <= NEARLY * np.linalg.norm(rows, axis=1))
    kept = set(range(m))
    for k in near.tolist():
        if _find_redundant(found, M, sides, p + k, list(range(p)), equal=False) is not None:
            kept.discard(k)
        if found.contradiction is not None:
            return
    _keep_inequalities(found, np.array(sorted(kept), dtype=np.intp))


def _find_redundant(
    found: Reduction, M: sp.csr_array, sides: FloatArray, k: int, chosen: list[int], equal: bool
) -> int | None:
    """The row that (REDUCE.4) leaves out where row k is a combination of the chosen ones: k, or one of an equality.

    Of equalities by rounding it is the one whose entries change least. What contradicts the chosen ones is noted.
    """
    fixed = _fixed(found)
    free = np.setdiff1d(np.arange(found.given.n), list(fixed))
    dense, row = M[chosen].toarray()[:, free], M[[k]].toarray()[0][free]
    if dense.size > MOST_CHECKED:
        return None
    near = np.zeros(len(chosen))
    for _ in range(2 if len(chosen) else 0):
        near += np.linalg.lstsq(dense.T, row - near @ dense, rcond=None)[0]
    for c in combinations_of(row, dense, near):
        members, factors = [*chosen, k], [*c, Fraction(-1)]
        rests, side = combine_rows(M, sides, members, factors, fixed)
        options = list(zip(members, factors, strict=True)) if equal and rests else [(k, Fraction(-1))]
        change, gone = min((largest_change(M, i, by, rests), i) for i, by in options)
        if change > found.allowed:
            continue
        if side == 0 or (not equal and side < 0):
            found.change = max(found.change, change)
            return gone
        moved = min(_share(side, abs(by * Fraction(float(sides[i])))) for i, by in options)
        if moved <= ROUNDING:
            found.contradicts_by_rounding = not found.allowed
            found.change = max(found.change, change, moved) if found.allowed else found.change
            return gone if found.allowed else None
        sign = -1.0 if side > 0 else 1.0
        *multipliers, own = (sign * as_multiple(factors)).tolist()
        y = dict(zip(chosen, multipliers, strict=True))
        _contradict(found, y | ({k: own} if equal else {}), {} if equal else {k - len(found.b): own})
        found.change = max(found.change, change)
        return None
    return None
