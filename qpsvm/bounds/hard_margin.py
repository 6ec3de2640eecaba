"""Scale points of a hard margin optimally (`compute_reach`), and decide feasibility (`find_feasible_point`).

Hard rows have U = ∞ and δ = 0. If all levels are positive, only the directions of (w, b) and of α matter:

    (SCALE.1)  with v = s∘u and reach(v) the largest factor c of the level that some b gives every row, s(u + b) ≥ cℓ:
               (w, b)/c is feasible, P = ½‖w‖²/c²;  with an intercept, c = (min₊ u − max₋ u)/(2ℓ), without one,
               c = min v/ℓ
    (SCALE.2)  the best multiple of α is t α with t = ℓᵀα/‖w(α)‖²:  D = (ℓᵀα)²/(2‖w(α)‖²)

Row k requires a_k·z + e_k b ≥ ℓ_k, where z are coordinates of w in the span of the rows. Linear programs decide whether
the hard rows are feasible, and find a point with slack:

    (ROOM.1)  minimise ε subject to a_k·z + e_k b + ε ≥ ℓ_k, ε ≥ −1.  If ε < 0, every row has slack.  If ε > 0, no point
              satisfies all rows, and the multipliers λ of the program prove it,
    (ROOM.2)  λ ≥ 0,  Σ λ_k a_k = 0,  Σ λ_k e_k = 0,  Σ λ_k ℓ_k > 0  (Farkas)
    (ROOM.3)  if ε = 0, some rows can only hold as equalities, those with t = 0 in: maximise Σ t_k subject to
              a_k·z + e_k b ≥ ℓ_k σ + t_k, 0 ≤ t ≤ 1, σ ≥ 1;  (z, b)/σ has slack in all others

Sources: Farkas (1902); Freund, Roundy & Todd, *Identifying the set of always-active constraints* (1985).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import SolverError
from qpsvm.program.svm_dual import SVMDual

#: |ε| of (ROOM.1) below this, in units of the levels, may be rounding of the LP solver.
ROUNDING = 1e-9
#: Multipliers below this share of the largest are rounding.
TINY_SHARE = 1e-9
#: Largest number of rows, and of their entries, for which (ROOM.2) is solved in fractions.
FEW_ROWS, FEW_NUMBERS = 60, 4000


def compute_reach(svm: SVMDual, u: FloatArray) -> float:
    """Return c of (SCALE.1) for u (n,) at the samples; infinite if a class has no hard rows."""
    if svm.common_level is None:
        return _compute_reach_of_levels(svm, u)
    low, high = _find_ends(svm, u)
    level = float(svm.common_level or 1.0)
    if svm.intercept is not None and svm.intercept.ridge == 0.0:
        return (low - high) / 2.0 / level
    return min(low, -high) / level


def _compute_reach_of_levels(svm: SVMDual, u: FloatArray) -> float:
    """Return c of (SCALE.1) for hard rows with different positive levels.

    With a free intercept, c is the minimum of (u_i − u_j)/(ℓ_i + ℓ_j) over all pairs of a row i with s > 0 and a row j
    with s < 0. Newton's method for fractional programs repeatedly moves to the pair that violates its levels most.
    """
    assert svm.hard_rows is not None
    values = svm.at_rows(u)[svm.hard_rows]
    level = svm.level[svm.hard_rows]
    plus = svm.sign[svm.hard_rows] > 0
    if svm.intercept is None or svm.intercept.ridge:
        return float((np.where(plus, values, -values) / level).min())
    upper = values[plus]
    lower = values[~plus]
    upper_level = level[plus]
    lower_level = level[~plus]
    reach = math.inf
    if len(upper) and len(lower):
        i = j = 0
        while (new_reach := float((upper[i] - lower[j]) / (upper_level[i] + lower_level[j]))) < reach:
            reach = new_reach
            i, j = int(np.argmin(upper - reach * upper_level)), int(np.argmax(lower + reach * lower_level))
    return reach


def _find_ends(svm: SVMDual, u: FloatArray) -> tuple[float, float]:
    """Return the smallest u of the hard rows with s > 0, and the largest of those with s < 0."""
    values = svm.at_rows(u)
    plus = svm.sign > 0
    minus = ~plus
    if svm.hard_rows is not None and not svm.is_hard:
        plus, minus = plus & svm.hard_rows, minus & svm.hard_rows
    return float(np.min(values, where=plus, initial=np.inf)), float(np.max(values, where=minus, initial=-np.inf))


def find_middle_intercept(svm: SVMDual, u: FloatArray) -> float:
    """Return the b midway between both classes, for u (n,) at the samples; 0 for a machine without an intercept."""
    low, high = _find_ends(svm, u)  # min₊ u and max₋ u
    return -(low + high) / 2 if svm.intercept is not None else 0.0  # (HARD.11)


def normalise_direction(svm: SVMDual, a: FloatArray) -> FloatArray:
    """Scale α (m,) to a largest entry of 1; for α = 0 return the direction with equal weights within each class."""
    if not a.any():
        plus = svm.sign > 0
        a = np.where(plus, 1 / plus.sum(), 1 / (~plus).sum())
    return np.asarray(a / a.max())  # a diverging solver's α may overflow


@dataclass(frozen=True, eq=False)
class RowFeasibility:
    """Result of (ROOM.1) to (ROOM.3) for k rows.

    z (r,), b: A point that satisfies the rows, with slack in all but those of `equal`.
    equal (k,): Mask of rows that can only hold as equalities.
    farkas (k,): λ of (ROOM.2) if no point satisfies the rows; else None.
    exact: Whether λ was found in fractions, so that its sums are exactly 0.
    """

    z: FloatArray
    b: float
    equal: NDArray[np.bool_]
    farkas: FloatArray | None = None
    exact: bool = False


def find_feasible_point(a: FloatArray, e: FloatArray, level: FloatArray) -> RowFeasibility:
    """Find a point with a·z + e b ≥ ℓ in all rows. Shapes: a (k, r), e, level (k,). Raises SolverError."""
    k, r = a.shape
    unit = float(np.abs(level).max(initial=0.0)) or 1.0
    size = float(np.sqrt((a * a).sum(axis=1).mean())) or 1.0
    lhs = np.column_stack([a / size, e])
    rhs = level / unit
    free_bounds = [(None, None)] * (r + 1)
    # (ROOM.1) in the variables z, b and ε
    first = _solve_linear_program(
        np.append(np.zeros(r + 1), 1.0), np.column_stack([lhs, np.ones(k)]), rhs, [*free_bounds, (-1.0, None)]
    )
    epsilon = float(first.x[-1])
    z = first.x[:-1]
    no_rows = np.zeros(k, dtype=bool)
    if epsilon > ROUNDING:
        weights = np.maximum(-first.ineqlin.marginals, 0.0)
        proof, exact = _refine_farkas_weights(weights, np.column_stack([a, e]), level)
        return RowFeasibility(np.zeros(r), 0.0, no_rows, proof, exact)
    if epsilon < -ROUNDING:
        return RowFeasibility(z[:r] * (unit / size), float(z[r]) * unit, no_rows)
    # (ROOM.3) in the variables z, b, σ and t
    costs = np.concatenate([np.zeros(r + 2), -np.ones(k)])
    columns = np.column_stack([lhs, -rhs, -np.eye(k)])
    second = _solve_linear_program(costs, columns, np.zeros(k), [*free_bounds, (1.0, None), *[(0.0, 1.0)] * k])
    sigma = float(second.x[r + 1])
    return RowFeasibility(
        second.x[:r] * (unit / size / sigma), float(second.x[r]) * unit / sigma, second.x[r + 2 :] < 0.5
    )


def _solve_linear_program(
    costs: FloatArray, lhs: FloatArray, rhs: FloatArray, bounds: list[tuple[float | None, ...]]
) -> Any:
    """Minimise costs·x subject to lhs x ≥ rhs and bounds by HiGHS. Raises SolverError."""
    from scipy.optimize import linprog  # imported late: it costs a tenth of a second

    solution = linprog(costs, A_ub=-lhs, b_ub=-rhs, bounds=bounds, method="highs")
    if solution.x is None:
        raise SolverError(f"the linear program over {len(rhs)} rows was not solved: {solution.message}")
    return solution


def _refine_farkas_weights(weights: FloatArray, rows: FloatArray, level: FloatArray) -> tuple[FloatArray, bool]:
    """Return λ of (ROOM.2) with sum 1, and whether it is exact.

    With few rows, it is the unique direction with Σ λ_k (a_k, e_k) = 0, computed in fractions.
    """
    weights = np.where(weights > TINY_SHARE * weights.max(), weights, 0.0)
    support = np.flatnonzero(weights)
    used = np.flatnonzero((rows[support] != 0.0).any(axis=0))
    if len(support) <= FEW_ROWS and len(support) * len(used) <= FEW_NUMBERS:
        exact_weights = _find_null_vector(rows[np.ix_(support, used)].T)
        if exact_weights is not None:
            sign = 1 if exact_weights[0] > 0 else -1
            exact_weights = [sign * value for value in exact_weights]
            gain = sum(value * Fraction(float(level[k])) for value, k in zip(exact_weights, support, strict=True))
            if min(exact_weights) > 0 and gain > 0:
                total = sum(exact_weights, Fraction(0))
                weights[support] = [float(value / total) for value in exact_weights]
                return weights, True
    return weights / weights.sum(), False


def _find_null_vector(matrix: FloatArray) -> list[Fraction] | None:
    """Return x ≠ 0 with Mx = 0 exactly, for M (r, k); None unless the null space has dimension 1."""
    rows = [[Fraction(float(value)) for value in row] for row in matrix]
    k = matrix.shape[1]
    pivots: list[int] = []
    for column in range(k):
        rank = len(pivots)
        pivot_row = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot_row is None:
            continue
        rows[rank], rows[pivot_row] = rows[pivot_row], rows[rank]
        pivot = rows[rank][column]
        rows[rank] = [value / pivot for value in rows[rank]]
        for i, row in enumerate(rows):
            if i != rank and row[column]:
                factor = row[column]
                rows[i] = [value - factor * other for value, other in zip(row, rows[rank], strict=True)]
        pivots.append(column)
    free = [column for column in range(k) if column not in pivots]
    if len(free) != 1:
        return None
    x = [Fraction(0)] * k
    x[free[0]] = Fraction(1)
    for i, column in enumerate(pivots):
        x[column] = -rows[i][free[0]]
    return x
