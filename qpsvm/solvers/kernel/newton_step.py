"""Compute proximal Newton steps on the free set (`polish_by_newton`), and exact points of a split (`solve_bordered`).

Derivation
----------
At a feasible β (see `dual`) only few entries can still move: those strictly between their bounds, and those at a bound
whose reduced gradient p points into the box.

    (KNEWTON.1)  F = {low < β < high} ∪ {β_i = low_i, p_i > ε} ∪ {β_i = high_i, p_i < −ε},  ε = .01·target·max(P, D)/ΣC
    (KNEWTON.2)  d minimises ½dᵀ(K_FF + ρI)d − p_Fᵀd  subject to  1ᵀd = 0,  low ≤ β_F + d ≤ high
    (KNEWTON.3)  ρ = max(.1 σ max|p_F|/C̄, 1e-11 κ):  the proximal term fades with p;  σ ≥ 1 adapts it;  κ = mean K_ii
    (KNEWTON.4)  β_F ← β_F + τd with the exact minimiser τ = min(1, p_Fᵀd / dᵀK_FF d)

(KNEWTON.2) is a descent direction of the dual and stays in the box, so with (KNEWTON.4) the dual value never falls and
every iterate can be certified. A τ far below 1 means that ρ was too small for a singular K_FF: σ grows and the step is
repeated. Rows with |p| ≤ ε change the gap by less than .01·target: leaving them out keeps F small.
If b has to change, rows at the right bound may block the step. So after a step that gained nothing, those with
|p_i| < max|p_F| join F, unless they are too many.

Implementation
--------------
Three details decide the accuracy. p includes b, so its entries are small before any rounding to single precision. The
rounding residue of Σβ goes to the variable farthest inside its box (`spread_residue`). And if the box allows it,
`compute_box_step` removes the effect of ρ with the same factor, so that the step which finds the right F is exact up to
rounding. Sources: Bertsekas, *Projected Newton methods* (1982); the proximal term as in Rockafellar (1976).

If few rows are free, one small linear system gives the exact point of a split into free rows and rows at their bounds:

    (KBORDER.1)  K_FF β_F + b1 = t_F − K_FR β_R,  1ᵀβ_F = e − 1ᵀβ_R:  F the rows inside their box, R those at its ends,
                 t = ℓ, minus ε on the upper side of a kink and plus ε on the lower one

Every solution of (KDUAL.1) with this split satisfies it. Conversely, its solution solves (KDUAL.1) if it is in the box
and no row is on its wrong side. LIBSVM's loop nearly always finds the split of a hundred rows: then one factorisation
gives all digits. In a ν-SVM each class has its own sum, and so its own column. The system is solved by LU with
pivoting, because K_FF may be singular although the system is not: d + 1 free rows of d features.
Entries outside the box are clipped, rows on their wrong side join F, and it is solved again as long as that helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.rounding import SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips
from qpsvm.program.losses import take_rows
from qpsvm.solvers.kernel.box_step import ROUNDS, compute_box_step
from qpsvm.solvers.kernel.dual import KINK_TOL, KernelDual, KernelPoint, Multipliers
from qpsvm.solvers.kernel.streamed import StreamedGram
from qpsvm.solvers.shared.cholesky import NumericalTrouble

#: Rows that could change the gap by less than this share of the target are not moved.
NEGLIGIBLE = 1e-2
#: ρ in units of max|p_F|/C̄, and its minimum in units of κ (KNEWTON.3).
RIDGE_SHARE, MIN_RIDGE = 0.1, 1e-11
#: After a step length below this, or no descent at all, σ is multiplied by `RIDGE_GROWTH`. After a good step it is
#: divided by `RIDGE_DECAY`, not reset: if K_FF is singular, the next step would be too short again.
SHORT_STEP, RIDGE_GROWTH, RIDGE_DECAY = 0.1, 100.0, 10.0
#: Limit of the retries with a larger ρ in one run; after that, short steps are accepted.
MAX_RIDGE_INCREASES = 30
#: Share of rows in F from which one product with all of K is cheaper than gathering rows; number of rows gathered at a
#: time; and seconds per gathered number.
GATHER_SHARE, GATHERED, NUMBER_SECONDS = 0.4, 64, 1e-9
#: After a step that leaves more than this share of the gap, F is assumed to be wrong.
STALLED = 0.95
#: After a loose loop, F is worth a factorisation if it has at most `MOVING_FACTOR` times as many rows as are free, plus
#: `MOVING_ROWS`; it may grow by the same rule when rows on the right side of their bound join.
MOVING_FACTOR, MOVING_ROWS = 2, 60
#: A change of β by at most this share of its bound is rounding, and so is a relative gap up to the second number.
ROUNDING, ROUNDED_GAP = 1e-9, 1e-13
#: Limit of the size of F: K_FF and its factor must fit in memory and time.
MAX_FREE_SET = 9000
#: Limits of all rows and of free rows for (KBORDER.1): a factorisation then takes no longer than LIBSVM's loop.
MAX_EXACT_ROWS, MAX_EXACT_FREE = 600, 400
#: Limit of the partial steps, each to the next bound, in one solution of (KBORDER.1).
MAX_PARTIAL_STEPS = 12


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """The best point seen, the Newton steps made and the largest F."""

    point: KernelPoint
    steps: int
    max_free_rows: int


def polish_by_newton(
    K: FloatArray | StreamedGram,
    problem: KernelDual,
    beta: FloatArray,
    target: float,
    max_steps: int = 10,
    u: FloatArray | None = None,
    stop: Callable[[], bool] = bool,
    max_free_set: int = MAX_FREE_SET,
) -> NewtonResult:
    """Improve a feasible β by proximal Newton steps until its gap is at most `target`, or they stall.

    Shapes: K (n, n), beta (n,), u (n,).
    """
    if u is None:
        u = multiply_gram(K, beta, beta.nonzero()[0])
    point = best = problem.build_point(beta, u)
    kappa = max(float(K.trace()) / len(K), SMALLEST_NORMAL)
    sigma, lookahead = 1.0, 0.0
    ridge_increases = steps = max_free_rows = 0
    while steps < max_steps and best.gap > target and not stop():
        moving = find_moving_rows(problem, point, target)
        if lookahead:
            wider = find_moving_rows(problem, point, target, lookahead)
            if len(wider) <= MOVING_FACTOR * len(moving) + MOVING_ROWS:
                moving = wider
        if not 0 < len(moving) <= max_free_set:
            break
        max_free_rows = max(max_free_rows, len(moving))
        step = _compute_step(K, problem, point, moving, sigma, kappa)
        if step is None and lookahead:
            lookahead = 0.0
            continue
        if (step is None or step.length < SHORT_STEP) and ridge_increases < MAX_RIDGE_INCREASES:
            ridge_increases += 1
            sigma *= RIDGE_GROWTH
            continue
        if step is None:
            break
        previous_gap = point.gap
        point = step.apply(problem, point)
        steps += 1
        sigma = max(1.0, sigma / RIDGE_DECAY)
        best = point if point.gap < best.gap else best
        lookahead = step.violation if point.gap > STALLED * previous_gap else 0.0
    return NewtonResult(best, steps, max_free_rows)


def find_moving_rows(problem: KernelDual, point: KernelPoint, target: float, lookahead: float = 0.0) -> IntArray:
    """Find F of (KNEWTON.1), with −lookahead in place of ε if `lookahead` is positive."""
    beta, gradient = point.beta, point.gradient
    if lookahead > 0:
        epsilon = -lookahead
    else:
        epsilon = NEGLIGIBLE * target * point.scale / problem.total_penalty
    edge = KINK_TOL * problem.weight
    # a row that can both rise and fall is free: it is in F for any gradient
    rises, falls = beta < point.high - edge, beta > point.low + edge
    moves: IntArray = ((rises & (falls | (gradient > epsilon))) | (falls & (gradient < -epsilon))).nonzero()[0]
    return moves


def choose_max_moving_rows(problem: KernelDual, beta: FloatArray) -> int:
    """Return the largest size of F worth a factorisation after a loose run of LIBSVM's loop.

    If the kernel is nearly constant, hundreds of rows violate by less than the loop's tolerance, but few will be free:
    a tighter loop finds those sooner.
    """
    free = int(np.count_nonzero(problem.find_free(beta)))
    return MOVING_FACTOR * free + MOVING_ROWS


def multiply_gram(K: FloatArray | StreamedGram, x: FloatArray, support: IntArray) -> FloatArray:
    """Compute Kx (n,) for x (n,) that is zero outside `support`, in strips whose copies fit the cache."""
    if isinstance(K, StreamedGram):
        return K.multiply(support, x[support])
    if len(support) > GATHER_SHARE * len(K):
        full: FloatArray = K @ x
        return full
    parts = split_range(len(support), GATHERED)
    sums = np.zeros((len(parts), len(K)))

    def add(k: int) -> None:
        for strip in split_strips(parts[k].stop - parts[k].start, GATHERED):
            rows = support[parts[k]][strip]
            sums[k] += np.dot(x[rows], K[rows])

    run_tiles(add, range(len(parts)), NUMBER_SECONDS * len(support) * len(K))
    return np.asarray(sums.sum(axis=0))


def take_block(K: FloatArray | StreamedGram, rows: IntArray) -> FloatArray:
    """Return K[rows][:, rows], (r, r); taking rows, then columns, is twice as fast as taking entries."""
    if isinstance(K, StreamedGram):
        return K.compute_block(rows)
    if len(rows) == len(K):
        return K
    block = np.empty((len(rows), len(rows)))

    def fill(strip: slice) -> None:
        block[strip] = K[rows[strip]].take(rows, axis=1)

    run_tiles(fill, split_strips(len(rows), GATHERED), NUMBER_SECONDS * len(rows) * len(K))
    return block


def solve_bordered(K: FloatArray, problem: KernelDual, beta: FloatArray) -> KernelPoint | None:
    """Return the best point of a few rounds of (KBORDER.1); None if the first system cannot be solved.

    Shapes: K (n, n), beta (n,).
    """
    best: KernelPoint | None = None
    low = problem.low
    high = problem.high
    side = None
    free = problem.find_free(beta)
    if problem.has_kink:
        side = np.where(beta < 0.0, -1.0, 1.0)
        low, high = problem.select_sides(side < 0.0, side > 0.0)
    for _ in range(ROUNDS):
        solved = _solve_free_rows(K, problem, beta, free, low, high, side)
        if solved is None:
            break
        beta, multipliers = solved
        point = problem.build_point(beta, K @ beta, multipliers)
        if best is not None and not point.gap < best.gap:
            break
        best = point
        low = point.low
        high = point.high
        if point.gap <= ROUNDED_GAP:
            break
        rises = beta < high
        falls = beta > low
        previous_free = free
        free = (rises & (falls | (point.gradient > ROUNDING))) | (falls & (point.gradient < -ROUNDING))
        if (free == previous_free).all():
            break
        side = None if side is None else np.where(low < 0.0, -1.0, 1.0)
    return best


@dataclass(frozen=True, eq=False)
class _NewtonStep:
    """A direction d over F (m,), its image Kd (n,), the length τ of (KNEWTON.4), max|p_F| before the step, and K."""

    rows: IntArray
    direction: FloatArray
    image: FloatArray
    length: float
    violation: float
    K: FloatArray | StreamedGram

    def apply(self, problem: KernelDual, point: KernelPoint) -> KernelPoint:
        """Return the point after the step."""
        beta = point.beta.copy()
        beta[self.rows] += self.length * self.direction
        u = point.u + self.length * self.image
        stepped = beta
        beta = problem.make_feasible(beta)
        correction = beta - stepped  # restoring the sums may move β by more than rounding
        correction[np.abs(correction) <= ROUNDING * problem.weight] = 0.0
        corrected_rows = correction.nonzero()[0]
        if len(corrected_rows):
            u = u + multiply_gram(self.K, correction, corrected_rows)
        return problem.build_point(beta, u)


def _compute_step(
    K: FloatArray | StreamedGram, problem: KernelDual, point: KernelPoint, rows: IntArray, sigma: float, kappa: float
) -> _NewtonStep | None:
    """Compute one Newton direction; None if it does not descend or K_FF has no factor."""
    block = take_block(K, rows)
    p = point.gradient[rows]
    violation = max(float(p.max()), -float(p.min()))
    ridge = RIDGE_SHARE * sigma * violation / (problem.total_penalty / problem.n)  # (KNEWTON.3)
    ridge = max(ridge, MIN_RIDGE * kappa)
    beta = point.beta[rows]
    low, high = point.low[rows], point.high[rows]
    border = _build_border(low) if problem.mass is not None else None
    try:
        d = compute_box_step(block, ridge, p, low - beta, high - beta, border)  # (KNEWTON.2)
    except NumericalTrouble:
        return None
    direction = np.zeros(problem.n)
    direction[rows] = d
    image = multiply_gram(K, direction, rows)
    if isinstance(K, StreamedGram):  # the block is in double precision
        image[rows] = block @ d
    descent = float(p @ d)
    curvature = float(d @ image[rows])
    if not descent > 0 or not np.isfinite(curvature):
        return None
    length = min(1.0, descent / curvature) if curvature > 0 else 1.0  # (KNEWTON.4)
    return _NewtonStep(rows, d, image, length, violation, K)


def _build_border(low: FloatArray) -> FloatArray | None:
    """Return indicator columns (m, 2) of the two sides of the tube; None if all rows are on one side.

    A row is on the upper side if the lower end of its interval, `low` (m,), is 0.
    """
    plus = low == 0.0
    if 0 < np.count_nonzero(plus) < len(low):
        return np.column_stack([plus, ~plus]).astype(np.float64)
    return None


def _solve_free_rows(
    K: FloatArray, problem: KernelDual, beta: FloatArray, free: NDArray[np.bool_], low: FloatArray, high: FloatArray,
    side: FloatArray | None,
) -> tuple[FloatArray, Multipliers | None] | None:  # fmt: skip
    """Move the rows of the mask `free` towards the solution of (KBORDER.1).

    Returns β (n,) and its multipliers, which are None if they are not determined; or None if there are no free rows,
    too many, or the system is singular.
    low, high (n,): The box on the side σ of (KDUAL.2), `side` (n,).
    """
    rows = free.nonzero()[0]
    if not 0 < len(rows) <= MAX_EXACT_FREE:
        return None
    moved_beta = np.where(free, 0.0, beta)
    A, right = _build_bordered_system(K, problem, rows, moved_beta, side)
    moved = _move_to_bounds(A, right, beta[rows], low[rows], high[rows])
    if moved is None:
        return None
    moved_beta[rows], mu = moved
    multipliers = None
    if mu and problem.mass is None:
        multipliers = Multipliers(mu[0])
    elif len(mu) == 2 and (problem.is_nu_svm or mu[0] >= mu[1]):
        multipliers = Multipliers(0.5 * (mu[0] + mu[1]), 0.5 * (mu[0] - mu[1]))
    return moved_beta, multipliers


def _build_bordered_system(
    K: FloatArray, problem: KernelDual, rows: IntArray, fixed_beta: FloatArray, side: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the matrix (m + q, m + q) and the right-hand side of (KBORDER.1) for m free rows and q sums."""
    m = len(rows)
    strip = K[rows]
    columns, sums = build_sum_columns(problem, rows, fixed_beta, side)
    k = m + len(sums)
    A = np.zeros((k, k))
    right = np.empty(k)
    A[:m, :m] = strip[:, rows]
    A[m:, :m] = columns.T
    A[:m, m:] = columns
    right[:m] = problem.level[rows]
    if side is not None and problem.mass is None:
        right[:m] -= side[rows] * take_rows(problem.tube, rows)
    right[:m] -= strip @ fixed_beta
    right[m:] = sums
    return A, right


def _move_to_bounds(
    A: FloatArray, right: FloatArray, beta: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, list[float]] | None:
    """Move β (m,) towards the solution of (KBORDER.1), by steps that each end at the next bound.

    Entries that reach a bound stay there. Returns β and the multipliers of the sums, none of them if the limit of the
    steps was reached; or None if the system is singular. Overwrites β and `right`.
    """
    m, k = len(beta), len(right)
    active: Any = slice(m)
    active_equations: Any = slice(k)
    for _ in range(MAX_PARTIAL_STEPS):
        solution, info = lapack.dgesv(A[active_equations][:, active_equations], right[active_equations])[2:]
        if info:
            return None
        n_active = len(solution) - (k - m)
        step = solution[:n_active] - beta[active]
        distance = np.where(step < 0.0, low[active], high[active]) - beta[active]
        leaves_box = np.abs(step) > np.abs(distance)
        if not leaves_box.any():
            beta[active] += step
            return beta, solution[n_active:].tolist()
        shares = np.divide(distance, step, out=np.ones_like(step), where=leaves_box)
        length = float(shares.min())
        beta[active] += length * step
        positions = np.arange(m)[active]
        first = shares <= length
        stay = positions[first]
        active = positions[~first]
        beta[stay] = np.where(beta[stay] - low[stay] < high[stay] - beta[stay], low[stay], high[stay])
        right -= A[:, stay] @ beta[stay]
        active_equations = np.concatenate([active, np.arange(m, k)])
    return beta, []


def build_sum_columns(
    problem: KernelDual, rows: IntArray, fixed_beta: FloatArray, side: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return indicator columns (m, q) of the sums that contain some of the rows, and the required sums (q,).

    fixed_beta (n,): β of the other rows, 0 elsewhere.
    """
    if problem.mass is None:
        return np.ones((len(rows), 1)), np.array([problem.total - np.add.reduce(fixed_beta)])
    is_positive = (problem.sign if side is None else side) > 0.0
    fixed_sums = np.add.reduce(fixed_beta[is_positive]), np.add.reduce(fixed_beta[~is_positive])
    sums = np.array(problem.target_sums) - fixed_sums
    is_above = is_positive[rows]
    columns = np.array([is_above, ~is_above], dtype=np.float64)
    has_positive = is_above.any()
    if has_positive and not is_above.all():
        present = slice(None)
    elif has_positive:
        present = slice(1)
    else:
        present = slice(1, 2)
    return columns[present].T, sums[present]
