"""Certify machines with hard rows: U = ∞, δ = 0, and one positive level.

Only the direction of (w, b) counts, and that of α: both are stretched as far as they can be.

    (SCALE.1)  with v = s∘u and reach(v) the largest factor c of the level that some b gives every row, s(u + b) ≥ cℓ:
               (w, b)/c is feasible, P = ½‖w‖²/c²;  with an intercept, c = (min₊ u − max₋ u)/(2ℓ), without one, min v/ℓ
    (SCALE.2)  the best multiple of α is t α with t = ℓᵀα/‖w(α)‖²:  D = (ℓᵀα)²/(2‖w(α)‖²)

Whether rows that nothing may fall short of can be kept at all, and a point that keeps them with room to spare.

Row k asks for a_k·z + e_k b ≥ ℓ_k, where z are coordinates of w in the span of the rows. Three linear programs say all:

    (ROOM.1)  minimise ε subject to a_k·z + e_k b + ε ≥ ℓ_k, ε ≥ −1.  ε < 0: there is room in every row.  ε > 0: no
              point keeps them, and the program's multipliers λ are the proof,
    (ROOM.2)  λ ≥ 0,  Σ λ_k a_k = 0,  Σ λ_k e_k = 0,  Σ λ_k ℓ_k > 0  (Farkas)
    (ROOM.3)  ε = 0: some rows can be kept as equalities only, those with t = 0 in: maximise Σ t_k subject to
              a_k·z + e_k b ≥ ℓ_k σ + t_k, 0 ≤ t ≤ 1, σ ≥ 1;  (z, b)/σ has room in all others

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

#: ε of (ROOM.1), in units of the levels, below which it may be rounding of the program's solver.
ROUNDING = 1e-9
#: Multipliers below this share of the largest are rounding.
IDLE = 1e-9
#: Most rows in a proof that is looked for in fractions, and most numbers that they may have.
FEW_ROWS, FEW_NUMBERS = 60, 4000


def hard_reach(svm: SVMDual, u: FloatArray) -> float:
    """c of (SCALE.1) over the hard rows, for u (n,) at the samples; infinite where one class has none."""
    if svm.common_level is None:
        return _reach_of_levels(svm, u)
    low, high = hard_ends(svm, u)
    level = float(svm.common_level or 1.0)
    if svm.intercept is not None and svm.intercept.ridge == 0.0:
        return (low - high) / 2.0 / level
    return min(low, -high) / level


def _reach_of_levels(svm: SVMDual, u: FloatArray) -> float:
    """`hard_reach` where every hard row has a positive level of its own.

    With a free intercept, c is the least (u_i − u_j)/(ℓ_i + ℓ_j) over the pairs of a row i with s > 0 and a row j with
    s < 0: Newton's method on the pair that is furthest from its levels, which ends with the pair that is the least.
    """
    assert svm.hard_rows is not None
    values, level, plus = svm.at_rows(u)[svm.hard_rows], svm.level[svm.hard_rows], svm.sign[svm.hard_rows] > 0
    if svm.intercept is None or svm.intercept.ridge:
        return float((np.where(plus, values, -values) / level).min())
    upper, lower, most, least = values[plus], values[~plus], level[plus], level[~plus]
    reach = math.inf
    if len(upper) and len(lower):
        i = j = 0
        while (closer := float((upper[i] - lower[j]) / (most[i] + least[j]))) < reach:
            reach = closer
            i, j = int(np.argmin(upper - reach * most)), int(np.argmax(lower + reach * least))
    return reach


def hard_ends(svm: SVMDual, u: FloatArray) -> tuple[float, float]:
    """The smallest u of the hard rows with s > 0, and the largest of those with s < 0."""
    values, plus = svm.at_rows(u), svm.sign > 0
    if svm.hard_rows is None or svm.is_hard:
        return (
            float(np.min(values, where=plus, initial=np.inf)),
            float(np.max(values, where=~plus, initial=-np.inf)),
        )
    return (
        float(np.min(values, where=plus & svm.hard_rows, initial=np.inf)),
        float(np.max(values, where=~plus & svm.hard_rows, initial=-np.inf)),
    )


def hard_intercept(svm: SVMDual, u: FloatArray) -> float:
    """b that is as far from one class as from the other, for u (n,) at the samples; 0 for a machine without one."""
    low, high = hard_ends(svm, u)  # min₊ u and max₋ u
    return -(low + high) / 2 if svm.intercept is not None else 0.0  # (HARD.11)


def direction(svm: SVMDual, a: FloatArray) -> FloatArray:
    """A feasible α (m,), of which only the direction counts: at most 1; the direction of the classes for α = 0."""
    if not a.any():
        plus = svm.sign > 0
        a = np.where(plus, 1 / plus.sum(), 1 / (~plus).sum())
    return np.asarray(a / a.max())  # a diverging solver's α may overflow


@dataclass(frozen=True, eq=False)
class RowFeasibility:
    """What (ROOM.1) to (ROOM.3) say of k rows.

    z (r,)
    b: A point that keeps the rows, with room in all but those of `equality_mask`.
    equal (k,): Rows that can be kept as equalities only.
    farkas (k,) or None: λ of (ROOM.2) where no point keeps the rows.
    exact: Whether λ was found in fractions, so that its sums are 0 and not rounding.
    """

    z: FloatArray
    b: float
    equal: NDArray[np.bool_]
    farkas: FloatArray | None = None
    exact: bool = False


def find_feasible_point(a: FloatArray, e: FloatArray, level: FloatArray) -> RowFeasibility:
    """Look for a point that keeps rows a·z + e b ≥ ℓ. Shapes: a (k, r), e, level (k,). Raises SolverError."""
    k, r = a.shape
    unit = float(np.abs(level).max(initial=0.0)) or 1.0
    size = float(np.sqrt((a * a).sum(axis=1).mean())) or 1.0
    left, right = np.column_stack([a / size, e]), level / unit
    spread = [(None, None)] * (r + 1)
    first = _solve_linear_program(
        np.append(np.zeros(r + 1), 1.0), np.column_stack([left, np.ones(k)]), right, [*spread, (-1.0, None)]
    )
    epsilon, z = float(first.x[-1]), first.x[:-1]
    nothing = np.zeros(k, dtype=bool)
    if epsilon > ROUNDING:
        weights = np.maximum(-first.ineqlin.marginals, 0.0)
        proof, exact = _refine_farkas_weights(weights, np.column_stack([a, e]), level)
        return RowFeasibility(np.zeros(r), 0.0, nothing, proof, exact)
    if epsilon < -ROUNDING:
        return RowFeasibility(z[:r] * (unit / size), float(z[r]) * unit, nothing)
    costs = np.concatenate([np.zeros(r + 2), -np.ones(k)])
    columns = np.column_stack([left, -right, -np.eye(k)])
    second = _solve_linear_program(costs, columns, np.zeros(k), [*spread, (1.0, None), *[(0.0, 1.0)] * k])
    sigma = float(second.x[r + 1])
    return RowFeasibility(
        second.x[:r] * (unit / size / sigma), float(second.x[r]) * unit / sigma, second.x[r + 2 :] < 0.5
    )


def _solve_linear_program(
    costs: FloatArray, left: FloatArray, right: FloatArray, bounds: list[tuple[float | None, ...]]
) -> Any:
    """HiGHS on: minimise costs·x subject to left x ≥ right and bounds."""
    from scipy.optimize import linprog  # imported late: it costs a tenth of a second

    found = linprog(costs, A_ub=-left, b_ub=-right, bounds=bounds, method="highs")
    if found.x is None:
        raise SolverError(f"the linear program over {len(right)} rows was not solved: {found.message}")
    return found


def _refine_farkas_weights(weights: FloatArray, rows: FloatArray, level: FloatArray) -> tuple[FloatArray, bool]:
    """λ of (ROOM.2) without rounding, where its rows are few: the one direction with Σ λ_k (a_k, e_k) = 0."""
    weights = np.where(weights > IDLE * weights.max(), weights, 0.0)
    support = np.flatnonzero(weights)
    used = np.flatnonzero((rows[support] != 0.0).any(axis=0))
    if len(support) <= FEW_ROWS and len(support) * len(used) <= FEW_NUMBERS:
        found = null_vector(rows[np.ix_(support, used)].T)
        if found is not None:
            sign = 1 if found[0] > 0 else -1
            found = [sign * value for value in found]
            gain = sum(value * Fraction(float(level[k])) for value, k in zip(found, support, strict=True))
            if min(found) > 0 and gain > 0:
                total = sum(found, Fraction(0))
                weights[support] = [float(value / total) for value in found]
                return weights, True
    return weights / weights.sum(), False


def null_vector(matrix: FloatArray) -> list[Fraction] | None:
    """x ≠ 0 with Mx = 0 in exact arithmetic, for M (r, k); None where there is none, or more than one direction."""
    rows = [[Fraction(float(value)) for value in row] for row in matrix]
    k = matrix.shape[1]
    pivots: list[int] = []
    for column in range(k):
        done = len(pivots)
        best = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if best is None:
            continue
        rows[done], rows[best] = rows[best], rows[done]
        head = rows[done][column]
        rows[done] = [value / head for value in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                factor = row[column]
                rows[i] = [value - factor * other for value, other in zip(row, rows[done], strict=True)]
        pivots.append(column)
    free = [column for column in range(k) if column not in pivots]
    if len(free) != 1:
        return None
    x = [Fraction(0)] * k
    x[free[0]] = Fraction(1)
    for i, column in enumerate(pivots):
        x[column] = -rows[i][free[0]]
    return x
