"""Find the exact optimum of a small C-SVM or ν-SVM from a nearby point, by guessing the free α (`find_exact_point`).

This is an active-set method. K is the Gram matrix, y the labels, C the upper bounds, β = α∘y, and f = Kβ + b. The free
rows F, 0 < α < C, are on their margin; the full rows B have α = C, the others α = 0. A round solves for the free rows:

    (SETTLE.1)  [K_FF 1; 1ᵀ 0][β_F; b] = [y_F − K_FB β_B; −1ᵀβ_B]
    (SETTLE.2)  then a free row whose α is outside its box goes to that end of it; a row with α = 0 and y f < 1, or with
                α = C and y f > 1, becomes free
    (SETTLE.3)  in a ν-SVM with margin ρ, K_FF β_F + b − ρy_F = −K_FB β_B,  1ᵀβ = 0 and yᵀβ = ν

If (SETTLE.2) changes nothing, the point is the optimum. If the rounds do not end there, the machine is solved by other
methods. Every point is certified afterwards in any case.

Source: Hintermüller, Ito & Kunisch, *The primal-dual active set strategy as a semismooth Newton method*, SIAM J. Optim.
13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.rounding import ROUNDED
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certificate import find_middle
from qpsvm.many.multiclass.one_by_one import ROUNDING_SHARE
from qpsvm.many.multiclass.stack import MachineGram

#: Limit of the rounds. From a point of tolerance 1e-2, two rounds are usual, and five rare.
MAX_ROUNDS = 12
#: A row is on its margin if its distance is at most this share of the margin: such a distance is rounding.
MARGIN_TOLERANCE = 1e-10
#: Limit of the rows that become free in a round, if fewer are free already; otherwise the limit is the number of free
#: rows. Those farthest from their margin come first. Freeing all at once makes the next guess worse.
MIN_ENTERING = 8
#: With more free rows than FACTOR × (their number at the start) + EXTRA, the first guess was too far from the optimum.
MAX_FREE_FACTOR, MAX_FREE_EXTRA = 3, 30
#: Free rows up to which solving a new system in every round is faster than other methods.
MAX_FREE = 500


@dataclass(frozen=True, eq=False)
class ExactPoint:
    """α (m,), the intercept, the margin ρ, which is 1 in a C-SVM, and f without the intercept, u (m,)."""

    alpha: FloatArray
    b: float
    rho: float
    u: FloatArray


@dataclass(frozen=True, eq=False)
class FreeSolution:
    """Solution of (SETTLE.1) or (SETTLE.3): β of the free rows (f,), b, the margin ρ, and u = Kβ (m,)."""

    beta: FloatArray
    b: float
    rho: float
    u: FloatArray


def find_exact_point(
    gram: MachineGram, y: FloatArray, upper: FloatArray, alpha: FloatArray, nu: float | None = None
) -> ExactPoint | None:
    """Return the optimum, from rounds of (SETTLE.1) to (SETTLE.3) that start at α; None if these fail.

    Shapes: y, upper, alpha (m,). nu: ν of a ν-SVM; None for a C-SVM.
    """
    is_at_upper = alpha >= upper
    is_free = (alpha > 0.0) & ~is_at_upper
    max_free = min(MAX_FREE_FACTOR * int(np.count_nonzero(is_free)) + MAX_FREE_EXTRA, MAX_FREE)
    max_free = min(max_free, gram.max_rank + 1)  # with more, the system (SETTLE.1) is singular
    beta_if_full = upper * y
    for _ in range(MAX_ROUNDS):
        free, full = is_free.nonzero()[0], is_at_upper.nonzero()[0]
        if len(free) > max_free:
            return None
        beta_full = beta_if_full[full]
        if len(free):
            solution = _solve_for_free(gram, y, free, full, beta_full, nu)
        else:
            if nu is not None:
                return None  # without free rows, no equation determines the margin of a ν-SVM
            solution = _solve_without_free(gram, y, upper, full, beta_full)
        if solution is None:
            return None
        rho = solution.rho
        alpha_free = solution.beta * y[free]
        is_below = alpha_free < 0.0
        is_above = alpha_free > upper[free]
        shortfall = rho - y * (solution.u + solution.b)
        is_entering = np.where(
            is_at_upper, shortfall < -MARGIN_TOLERANCE * rho, (shortfall > MARGIN_TOLERANCE * rho) & ~is_free
        )
        is_within_box = not (is_below.any() or is_above.any())
        if not len(free) and abs(np.add.reduce(beta_full)) > ROUNDED * np.add.reduce(np.abs(beta_full)):
            is_entering[np.argmin(np.abs(shortfall))] = True  # Σβ is not 0: a free row can make it 0
        if is_within_box and not is_entering.any():
            alpha = np.where(is_at_upper, upper, 0.0)
            alpha[free] = alpha_free
            return ExactPoint(alpha, solution.b, rho, solution.u)
        is_free[free[is_below | is_above]] = False
        is_at_upper[free[is_above]] = True
        is_entering = _select_farthest(is_entering, shortfall, max(MIN_ENTERING, len(free)))
        is_free |= is_entering
        is_at_upper &= ~is_entering
    return None


def _solve_for_free(
    gram: MachineGram, y: FloatArray, free: IntArray, full: IntArray, beta_full: FloatArray, nu: float | None
) -> FreeSolution | None:
    """Solve (SETTLE.1) or (SETTLE.3); None if there is no solution, or the margin is not positive."""
    n = len(free)
    y_free = y[free]
    k = n + 1 if nu is None else n + 2
    system = np.ones((k, k))
    rhs = np.zeros(k)
    system[:n, :n] = gram.compute_block(free, free)
    system[n:, n:] = 0.0
    if nu is None:
        rhs[:n] = y_free
    else:
        if not -n < np.add.reduce(y_free) < n:  # free rows of one class determine only b − ρ or b + ρ
            return None
        system[n + 1, :n] = y_free
        system[:n, n + 1] = -y_free
        rhs[n + 1] = nu
    if len(full):
        rhs[:n] -= gram.compute_block(free, full) @ beta_full
        rhs[n] = -np.add.reduce(beta_full)
        if nu is not None:
            rhs[n + 1] = nu - np.add.reduce(np.abs(beta_full))
    *_, unknowns, failed = lapack.dgesv(system, rhs, overwrite_a=1)
    beta = unknowns[:n]
    b = float(unknowns[n])
    rho = 1.0 if nu is None else float(unknowns[n + 1])
    if failed or not (np.isfinite(b) and rho > 0.0):
        return None
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (beta, beta_full))
    beta[np.abs(beta) <= ROUNDING_SHARE * largest] = 0.0  # before u is computed from β
    u = gram.multiply_support(np.concatenate([free, full]), np.concatenate([beta, beta_full]))
    return FreeSolution(beta, b, rho, u)


def _solve_without_free(
    gram: MachineGram, y: FloatArray, upper: FloatArray, full: IntArray, beta_full: FloatArray
) -> FreeSolution:
    """Find the best intercept of a C-SVM without free rows."""
    u = gram.multiply_support(full, beta_full)
    return FreeSolution(np.zeros(0), find_best_intercept(u, y, upper), 1.0, u)


def find_best_intercept(u: FloatArray, y: FloatArray, upper: FloatArray) -> float:
    """Return the midpoint of all b for which f = u + b has the smallest hinge loss, (LEVEL.3); arrays: (m,)."""
    return find_middle(*find_quantile_interval(y - u, upper, float(upper[y > 0.0].sum())))


def _select_farthest(mask: NDArray[np.bool_], shortfall: FloatArray, max_rows: int) -> NDArray[np.bool_]:
    """Return the mask of at most `max_rows` of the rows in a mask, those with the largest |shortfall|: (m,) each."""
    rows = mask.nonzero()[0]
    if len(rows) <= max_rows:
        return mask
    farthest = np.zeros_like(mask)
    farthest[rows[np.argpartition(-np.abs(shortfall[rows]), max_rows)[:max_rows]]] = True
    return farthest
