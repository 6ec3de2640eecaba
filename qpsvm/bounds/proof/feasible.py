"""Find an exactly feasible α near a given one, in rational numbers (`make_feasible`).

The α of a solver violates the equalities Eᵀα = e of (DUAL.1) by some rounding. The residual Eᵀα − e is subtracted from
one row of α, exactly; only that row, and rows at a bound that is not a float, need fractions:

    (FEAS.1)  floats are rational numbers; those of a certificate are feasible up to their last digits
    (FEAS.2)  0 ≤ α_k ≤ U_k: if a float exceeds a U_k that is not a float, α_k = U_k; with many such rows, a float below
    (FEAS.3)  a step s of row k adds |t_k − δ_kα_k| s to the gap, (GAP.1). So the residual of Eᵀα = e is subtracted from
              the row where that cost is least, up to rounding, and of these from the one with the largest slack; or, if
              costs are unknown, from the row farthest from both its bounds; if no row can take all of it, from the rows
              with the largest slack in turn
    (FEAS.4)  multipliers of linear constraints have their own units, and are changed last

Rows whose α is not a float are called carriers.

Source: Neumaier & Shcherbina, *Safe bounds in linear and mixed-integer linear programming*, Math. Programming 99
(2004), for the idea of making a bound safe by changing the point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.double_double import HUGE, TINY, UNDERFLOW, two_product
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import sum_floats
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup

#: Nothing is proven about an α of at least this size: sums and products with it overflow.
LARGEST_ALPHA = HUGE
#: Largest number of carriers of (FEAS.2).
MAX_CARRIERS = 10_000
#: Largest number of rows tried in (FEAS.3), some 6 µs each. Many are needed if nearly all rows are at their bounds.
MAX_CHANGED_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class ExactAlpha:
    """An α that is a float in nearly every row.

    alpha (m,): α as floats, rounded to nearest for carriers.
    carriers: The exact α of the rows where it is not a float.
    """

    alpha: FloatArray
    carriers: Mapping[int, Fraction]

    def __getitem__(self, k: int) -> Fraction:
        """Return α_k exactly."""
        if k in self.carriers:
            return self.carriers[k]
        return Fraction(float(self.alpha[k]))

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of α, (m,) each, equal except for carriers."""
        if not self.carriers:
            return self.alpha, self.alpha
        low, high = self.alpha.copy(), self.alpha.copy()
        for k, value in self.carriers.items():
            rounded = Fraction(float(self.alpha[k]))
            if rounded <= value:
                low[k] = self.alpha[k]
            else:
                low[k] = math.nextafter(self.alpha[k], -math.inf)
            if rounded >= value:
                high[k] = self.alpha[k]
            else:
                high[k] = math.nextafter(self.alpha[k], math.inf)
        return low, high


@dataclass(frozen=True, eq=False)
class FeasibleAlpha(ExactAlpha):
    """An α that is exactly feasible for a program (DUAL.1)."""

    program: ExactDual

    @cached
    def exponent(self) -> int:
        """The largest e such that all α but the carriers are multiples of 2^e."""
        integral = self.alpha.copy()
        integral[list(self.carriers)] = 0.0
        mantissas, exponents = np.frexp(integral[integral > 0.0])
        integers = np.ldexp(mantissas, 53).astype(np.int64)
        zeros = np.frexp((integers & -integers).astype(np.float64))[1] - 1
        return int((exponents + zeros).min()) - 53 if len(integers) else 0

    @property
    def alpha_sum(self) -> Fraction:
        """Σα, exactly."""
        return compute_residual(ExactGroup("", repeat_value(1.0, self.program.m)), self)

    def compute_beta(self) -> tuple[FloatArray, FloatArray]:
        """Return β of (DUAL.5) at the points, and its error bounds: (n,) each."""
        program = self.program
        signed = self.alpha * program.sign
        alpha_radius = np.zeros(program.m)
        carriers = list(self.carriers)
        alpha_radius[carriers] = UNIT * self.alpha[carriers] + UNDERFLOW
        if program.mix is not None:
            A = program.mix.T
            sizes = abs(program.mix).T
            beta = A @ signed
            sums = sizes @ self.alpha
            carried_radius = sizes @ alpha_radius
            terms = np.diff(program.mix.tocsc().indptr)
            has_integer_factors = bool((A.data == np.rint(A.data)).all())
        elif program.rows is not None:
            beta, sums, carried_radius, terms = (
                np.bincount(program.rows, weights, minlength=program.n).astype(np.float64, copy=False)
                for weights in (signed, self.alpha, alpha_radius, self.alpha > 0.0)
            )
            has_integer_factors = True
        else:
            return signed, alpha_radius
        if has_integer_factors and not carriers and np.ldexp(sums.max(initial=0.0), -self.exponent) < 2.0**53:
            return beta, np.zeros(program.n)  # sums of integer multiples of 2^e are exact
        rounding = gamma(int(terms.max(initial=0)) + 4)
        is_single_term = (terms <= 1) & (program.mix is None)
        rounded = (rounding * sums + carried_radius) * (1.0 + rounding) + terms * UNDERFLOW
        return beta, np.where(is_single_term, carried_radius, rounded)

    def compute_exact_beta(self) -> list[Fraction]:
        """Return β of (DUAL.5), exactly: (n,)."""
        beta = [Fraction(0)] * self.program.n
        for k in {*np.flatnonzero(self.alpha).tolist(), *self.carriers}:
            value = self[k]
            for i, factor in self.program.list_row_terms(k):
                beta[i] += value * factor
        return beta


def make_feasible(program: ExactDual, alpha: FloatArray, costs: FloatArray | None = None) -> FeasibleAlpha | None:
    """Return an exactly feasible point near alpha (m,); None if the rows have no slack for an equality.

    costs (m,): |t_k − δ_kα_k| of (FEAS.3); None if unknown.
    """
    upper_low, upper_high = program.upper_enclosure
    a = np.clip(alpha, 0.0, upper_high)
    if not a.max(initial=0.0) < LARGEST_ALPHA:  # true for NaN too
        return None
    carriers = dict[int, Fraction]()
    may_exceed = np.flatnonzero(a > upper_low)
    for k in may_exceed.tolist() if len(may_exceed) <= MAX_CARRIERS else ():  # (FEAS.2)
        if Fraction(float(a[k])) > (U := program.upper[k]):
            carriers[k] = U
            a[k] = float(U)
    if len(may_exceed) > MAX_CARRIERS:
        a[may_exceed] = upper_low[may_exceed]
    point = FeasibleAlpha(a, carriers, program)
    equalities = [group for group in program.groups if group.ridge == 0]
    residuals = [compute_residual(group, point) for group in equalities]
    if not any(residuals):
        return point
    parts = _split_equalities(equalities, residuals)
    a = a.copy()
    carriers = {**carriers}
    is_repaired = parts is not None and all(_subtract_residual(program, a, carriers, costs, *part) for part in parts)
    return FeasibleAlpha(a, carriers, program) if is_repaired else None


def compute_residual(group: ExactGroup, point: ExactAlpha) -> Fraction:
    """Return E_gᵀα − e_g, exactly."""
    not_floats = {*point.carriers, *group.entries}  # rows where α or E is a fraction
    if not not_floats:
        return _dot_exactly(group, point.alpha) - group.total
    alpha = point.alpha.copy()
    alpha[list(not_floats)] = 0.0
    exact_terms = (group.get_entry(k) * point[k] for k in not_floats)
    return _dot_exactly(group, alpha) + sum(exact_terms, Fraction(0)) - group.total


def _dot_exactly(group: ExactGroup, alpha: FloatArray) -> Fraction:
    """Return Σ E_kg α_k exactly, for α (m,), with the floats of the column."""
    column = group.column
    if group.has_unit_entries:
        return sum_floats(column * alpha)
    sizes = np.abs(column)
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = two_product(np.ascontiguousarray(column), alpha)
        safe = (np.abs(high) > TINY) & (sizes < HUGE) & np.isfinite(high)  # (ROUND.3)
    unsafe = np.flatnonzero(~safe & (column != 0.0) & (alpha != 0.0)).tolist()
    exact_sum = sum((Fraction(float(column[k])) * Fraction(float(alpha[k])) for k in unsafe), Fraction(0))
    return exact_sum + sum_floats(np.where(safe, high, 0.0)) + sum_floats(np.where(safe, low, 0.0))


def _split_equalities(
    equalities: list[ExactGroup], residuals: list[Fraction]
) -> list[tuple[FloatArray, NDArray[np.bool_], Fraction]] | None:
    """Return column, mask of rows (m,) and residual of equivalent equalities over disjoint rows; None if that fails.

    Two equalities, as of ν-SVM, have the same two entries in all rows of a class. So they determine Σα of each class,
    and two equalities with entries 1 are equivalent to them.
    """
    if len(equalities) == 1:
        column = equalities[0].column
        mask = np.abs(column) > 0.0
        mask[list(equalities[0].entries)] = False  # entries that are fractions
        return [(column, mask, residuals[0])]
    if len(equalities) != 2:
        return None
    E = np.column_stack([group.column for group in equalities])
    first = E[0]
    is_first = (first == E).all(axis=1)
    other_rows = np.flatnonzero(~is_first)
    if not len(other_rows):
        return None
    second = E[other_rows[0]]
    a, b, c, d = (Fraction(float(v)) for v in (first[0], first[1], second[0], second[1]))
    determinant = a * d - b * c
    if determinant == 0:
        return None
    # first · residual_first + second · residual_second = residuals
    residual_first = (residuals[0] * d - residuals[1] * c) / determinant
    residual_second = (residuals[1] * a - residuals[0] * b) / determinant
    ones = np.ones(len(E))
    return [(ones, is_first, residual_first), (ones, (second == E).all(axis=1), residual_second)]


def _subtract_residual(
    program: ExactDual,
    a: FloatArray,
    carriers: dict[int, Fraction],
    costs: FloatArray | None,
    column: FloatArray,
    mask: NDArray[np.bool_],
    residual: Fraction,
) -> bool:
    """Reduce Σ column·α over the rows of a mask by the residual, in place, (FEAS.3); return whether that worked."""
    if residual == 0:
        return True
    for k in _order_rows(program, a, costs, column, mask, residual):
        value = carriers.get(k, Fraction(float(a[k])))
        factor = Fraction(float(column[k]))
        target = value - residual / factor
        U = program.upper.get_finite(k)
        new_value = max(target if U is None else min(target, U), Fraction(0))
        if new_value > LARGEST_ALPHA:
            return False
        residual -= (value - new_value) * factor
        a[k] = float(new_value)
        if Fraction(float(new_value)) != new_value:
            carriers[k] = new_value
        else:
            carriers.pop(k, None)
        if residual == 0:
            return True
    return False


def _order_rows(
    program: ExactDual,
    a: FloatArray,
    costs: FloatArray | None,
    column: FloatArray,
    mask: NDArray[np.bool_],
    residual: Fraction,
) -> list[int]:
    """Return the rows in the order of (FEAS.3) and (FEAS.4): first, if there is one, a row that can take all of it."""
    rows = np.flatnonzero(mask)
    a = a[rows]
    sizes = np.abs(column[rows])
    is_constraint = rows >= program.m - program.n_constraint_rows
    upper = program.upper_enclosure[1][rows]
    down = (column[rows] > 0.0) == (residual > 0)  # α falls where c has that sign
    with np.errstate(over="ignore"):
        slack = np.where(down, a, upper - a) * sizes
        distance_to_bounds = np.where(is_constraint, 0.0, np.minimum(a, upper - a) * sizes)
    order = np.lexsort((-slack, is_constraint))
    order = order[slack[order] > 0.0][:MAX_CHANGED_ROWS]
    needed = 2.0 * abs(float(residual))  # with room for the rounding of slack
    if costs is not None:
        can_take_all = slack > needed
        costs = costs[rows] / sizes
        costs = np.where(costs <= UNIT * costs.max(initial=0.0), 0.0, costs)  # rounding, which decides nothing
        least = costs.min(where=can_take_all, initial=np.inf)
        preference = np.where(can_take_all & (costs == least), slack, 0.0)
    else:
        can_take_all = distance_to_bounds > needed
        preference = distance_to_bounds
    if can_take_all.any():
        order = np.append(preference.argmax(), order)
    indices: list[int] = rows[order].tolist()
    return indices
