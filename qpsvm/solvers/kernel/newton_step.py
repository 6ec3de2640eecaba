"""Compute proximal Newton steps on the free set, from a rough solution to eight digits.

Derivation
----------
At a feasible β (see `dual`) only few entries can still move: the free ones and those whose slack has the wrong
sign for their bound.

    (KNEWTON.1)  F = {low < β < high} ∪ {α_i = 0, s_i > ε} ∪ {α_i = C_i, s_i < −ε},  ε = .01·target·max(P, D)/ΣC_i
    (KNEWTON.2)  d minimises ½dᵀ(K_FF + ρI)d − rᵀd,  r = (y − u − b)_F,  1ᵀd = 0,  low ≤ β_F + d ≤ high
    (KNEWTON.3)  ρ = max(.1 σ max|s_F|/C̄, 1e-11 κ):  the proximal term fades as the slacks do; κ = mean K_ii
    (KNEWTON.4)  β_F ← β_F + τd with the exact minimiser τ = min(1, rᵀd / dᵀK_FF d)

(KNEWTON.2) is a descent direction of the dual and stays in the box, so with (KNEWTON.4) the dual value never falls and
every iterate can be certified. A τ far below 1 says that ρ was too small for a singular K_FF: σ grows and the step is
made again. Rows with s within ε of their bound change the gap by less than .01·target: leaving them out keeps F small.
Where the free rows ask for another b, rows on the right side of a bound may stand in the way: after a step that gained
nothing, those within max|s_F| of it join F, unless they are too many.

Implementation
--------------
Three details decide the digits. r carries b already, so that its entries are small before anything goes to single
precision; the rounding residue of Σβ goes to the variable farthest inside its box (`spread_residue`); and where the box
leaves room, `compute_box_step` takes the effect of ρ away again with the factor that it has, so that the step which
finds the right F ends at rounding. Sources: Bertsekas, *Projected Newton methods* (1982); the proximal term as in
Rockafellar (1976).

The exact point of a split into free rows and rows at their bounds, where few rows are free: one small linear system.

    (KBORDER.1)  K_FF β_F + b1 = t_F − K_FR β_R,  1ᵀβ_F = e − 1ᵀβ_R:  F the rows inside their box, R those at its ends

A solution of (KDUAL.1) with this split satisfies it, and where that lies in the box and no row is on its wrong side, it
is the solution. LIBSVM's loop finds the split of a hundred rows nearly always: then its digits cost one factorisation.
Of a ν-SVM both classes have a sum of their own, and so a column each. By LU with pivoting, because K_FF itself may be
singular where the system is not: d + 1 free rows of d features.
Entries outside of the box are clipped, rows on their wrong side join F, and it is solved again while that helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips
from qpsvm.program.losses import take_rows
from qpsvm.solvers.kernel.box_step import ROUNDS, compute_box_step
from qpsvm.solvers.kernel.dual import ON_KINK, DualPoint, Edges, KernelDual
from qpsvm.solvers.kernel.streamed import StreamedGram
from qpsvm.solvers.shared.cholesky import NumericalTrouble

#: Rows whose slack could change the gap by less than this share of the target stay where they are.
NEGLIGIBLE = 1e-2
#: ρ in units of max|s_F|/C̄, and the least in units of κ (KNEWTON.3).
PROXIMITY, LEAST_RIDGE = 0.1, 1e-11
#: A step length below this, or no descent at all, asks for a larger ρ: σ times `STIFFEN`. After a step it is less
#: again, but not at once: where K_FF is singular the next one would be too short, too.
SHORT_STEP, STIFFEN, SOFTEN = 0.1, 100.0, 10.0
#: Retries with a larger ρ in one run: short steps are taken afterwards.
STIFFENINGS = 30
#: Share of rows in F from which one product with all of K is cheaper than gathering rows; rows gathered at a time; and
#: seconds of a number that is gathered.
GATHER_SHARE, GATHERED, NUMBER_SECONDS = 0.4, 64, 1e-9
#: A step that leaves more than this share of the gap is stuck at a wrong F.
STUCK = 0.95
#: After a loose loop, F is worth a factorisation with at most so many rows, a free row and besides; and it may grow by
#: rows on the right side of their bound to so many, a row and besides.
CROWD, CROWD_ROWS = 2, 60
#: A change of β by at most this share of its bound, or of the step, is rounding; and so is this gap.
ROUNDING, ROUNDED_GAP = 1e-9, 1e-13
#: What stands for a mean K_ii that is zero.
TINY = float(np.finfo(float).tiny)
#: Most entries of F: K_FF and its factor must fit in memory and time.
LARGEST_FREE_SET = 9000
#: Rows up to which (KBORDER.1) is tried, and free ones: a factorisation then takes no longer than LIBSVM's loop.
EXACT_ROWS, EXACT_FREE = 600, 400
#: Entries that one of its solutions leaves at bounds, one after the other.
HELD = 12


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """The best point seen, the Newton steps made and the largest F."""

    point: DualPoint
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
    most: int = LARGEST_FREE_SET,
) -> NewtonResult:
    """Improve a feasible β by proximal Newton steps until its gap is at most `target`, or they stall.

    Shapes: K (n, n), beta (n,), u (n,).
    """
    if u is None:
        u = multiply_gram(K, beta, beta.nonzero()[0])
    point = best = problem.build_point(beta, u)
    kappa = max(float(K.trace()) / len(K), TINY)
    sigma, reach, stiffenings, steps, largest = 1.0, 0.0, 0, 0, 0
    while steps < max_steps and best.gap > target and not stop():
        moving = find_moving_rows(problem, point, target)
        if reach:
            wider = find_moving_rows(problem, point, target, reach)
            moving = wider if len(wider) <= CROWD * len(moving) + CROWD_ROWS else moving
        if not 0 < len(moving) <= most:
            break
        largest = max(largest, len(moving))
        step = _compute_step(K, problem, point, moving, sigma, kappa)
        if step is None and reach:
            reach = 0.0
            continue
        if (step is None or step.length < SHORT_STEP) and stiffenings < STIFFENINGS:
            stiffenings += 1
            sigma *= STIFFEN
            continue
        if step is None:
            break
        before, point, steps = point.gap, step.apply(problem, point), steps + 1
        sigma = max(1.0, sigma / SOFTEN)
        best = point if point.gap < best.gap else best
        reach = step.violation if point.gap > STUCK * before else 0.0
    return NewtonResult(best, steps, largest)


def find_moving_rows(problem: KernelDual, point: DualPoint, target: float, reach: float = 0.0) -> IntArray:
    """Find F of (KNEWTON.1), with −reach in place of ε if `reach` is positive."""
    beta, gradient = point.beta, point.gradient
    epsilon = -reach if reach > 0 else NEGLIGIBLE * target * point.scale / problem.total_penalty
    edge = ON_KINK * problem.weight
    # A free row both rises and falls, and any gradient is enough for it.
    rises, falls = beta < point.high - edge, beta > point.low + edge
    moves: IntArray = ((rises & (falls | (gradient > epsilon))) | (falls & (gradient < -epsilon))).nonzero()[0]
    return moves


def bound_moving_rows(problem: KernelDual, beta: FloatArray) -> int:
    """Return the largest size of F worth a factorisation after a loose run of LIBSVM's loop.

    Where a kernel is nearly constant, hundreds of rows violate by less than the loop's tolerance, few will be free: a
    tighter loop settles those sooner.
    """
    free = int(np.count_nonzero(problem.find_free(beta)))
    return CROWD * free + CROWD_ROWS


def multiply_gram(K: FloatArray | StreamedGram, x: FloatArray, support: IntArray) -> FloatArray:
    """Kx (n,) for x (n,) that is zero outside `support`; in strips, of which no copy leaves the cache."""
    if isinstance(K, StreamedGram):
        return K.multiply(support, x[support])
    if len(support) > GATHER_SHARE * len(K):
        full: FloatArray = K @ x
        return full
    parts = split_range(len(support), GATHERED)
    sums = np.zeros((len(parts), len(K)))

    def add(k: int) -> None:
        for some in split_strips(parts[k].stop - parts[k].start, GATHERED):
            rows = support[parts[k]][some]
            sums[k] += np.dot(x[rows], K[rows])

    run_tiles(add, range(len(parts)), NUMBER_SECONDS * len(support) * len(K))
    return np.asarray(sums.sum(axis=0))


def take_block(K: FloatArray | StreamedGram, rows: IntArray) -> FloatArray:
    """K[rows][:, rows], (r, r): two takes, of rows and then of columns, are twice as fast as one of entries."""
    if isinstance(K, StreamedGram):
        return K.compute_block(rows)
    if len(rows) == len(K):
        return K
    block = np.empty((len(rows), len(rows)))

    def fill(some: slice) -> None:
        block[some] = K[rows[some]].take(rows, axis=1)

    run_tiles(fill, split_strips(len(rows), GATHERED), NUMBER_SECONDS * len(rows) * len(K))
    return block


def _build_border(low: FloatArray) -> FloatArray | None:
    """The border (m, 2) of rows on both sides of the tube, by the lower ends of their intervals; None if on one."""
    plus = low == 0.0
    return np.column_stack([plus, ~plus]).astype(np.float64) if 0 < np.count_nonzero(plus) < len(low) else None


@dataclass(frozen=True, eq=False)
class _NewtonStep:
    """A direction over F (m,), its image Kd (n,), the step length of (KNEWTON.4), max|s_F| before, and K."""

    rows: IntArray
    direction: FloatArray
    image: FloatArray
    length: float
    violation: float
    K: FloatArray | StreamedGram | None = None

    def apply(self, problem: KernelDual, point: DualPoint) -> DualPoint:
        beta = point.beta.copy()
        beta[self.rows] += self.length * self.direction
        u = point.u + self.length * self.image
        stepped, beta = beta, problem.make_feasible(beta)
        if self.K is not None:  # sums that cannot be met move β by more than rounding
            rest = beta - stepped
            rest[np.abs(rest) <= ROUNDING * problem.weight] = 0.0
            moved = rest.nonzero()[0]
            u = u + multiply_gram(self.K, rest, moved) if len(moved) else u
        return problem.build_point(beta, u)


def _compute_step(
    K: FloatArray | StreamedGram, problem: KernelDual, point: DualPoint, rows: IntArray, sigma: float, kappa: float
) -> _NewtonStep | None:
    """Compute one Newton direction; None if it does not descend or K_FF has no factor."""
    block = take_block(K, rows)
    r = point.gradient[rows]
    violation = max(float(r.max()), -float(r.min()))
    ridge = PROXIMITY * sigma * violation / (problem.total_penalty / problem.n)  # (KNEWTON.3)
    ridge = max(ridge, LEAST_RIDGE * kappa)
    beta = point.beta[rows]
    low, high = point.low[rows], point.high[rows]
    border = _build_border(low) if problem.mass is not None else None
    try:
        d = compute_box_step(block, ridge, r, low - beta, high - beta, border)  # (KNEWTON.2)
    except NumericalTrouble:
        return None
    spread = np.zeros(problem.n)
    spread[rows] = d
    image = multiply_gram(K, spread, rows)
    if isinstance(K, StreamedGram):
        image[rows] = block @ d
    descent, curvature = float(r @ d), float(d @ image[rows])
    if not descent > 0 or not np.isfinite(curvature):
        return None
    length = min(1.0, descent / curvature) if curvature > 0 else 1.0  # (KNEWTON.4)
    return _NewtonStep(rows, d, image, length, violation, K)


def solve_bordered(K: FloatArray, problem: KernelDual, beta: FloatArray) -> DualPoint | None:
    """Return the best point of a few rounds of (KBORDER.1).

    Shapes: K (n, n), beta (n,).
    """
    best: DualPoint | None = None
    low, high, side = problem.low, problem.high, None
    free = problem.find_free(beta)
    if problem.has_kink:
        side = np.where(beta < 0.0, -1.0, 1.0)
        low, high = np.where(side > 0.0, 0.0, low), np.where(side > 0.0, high, 0.0)
    for _ in range(ROUNDS):
        solved = _solve_free_rows(K, problem, beta, free, low, high, side)
        if solved is None:
            break
        beta, edges = solved
        point = problem.build_point(beta, K @ beta, edges)
        if best is not None and not point.gap < best.gap:
            break
        best, low, high = point, point.low, point.high
        if point.gap <= ROUNDED_GAP:
            break
        rises, falls, before = beta < high, beta > low, free
        free = (rises & (falls | (point.gradient > ROUNDING))) | (falls & (point.gradient < -ROUNDING))
        if (free == before).all():
            break
        side = None if side is None else np.where(low < 0.0, -1.0, 1.0)
    return best


def _solve_free_rows(
    K: FloatArray, problem: KernelDual, beta: FloatArray, free: NDArray[np.bool_], low: FloatArray, high: FloatArray,
    side: FloatArray | None,
) -> tuple[FloatArray, Edges | None] | None:  # fmt: skip
    """β (n,) moved to the solution of (KBORDER.1) in the rows of a mask, (n,), by steps that end at the first bound.

    What is at that bound stays there. Its edges come with it, where every sum has one of these rows.
    low, high (n,): Of the box on the side σ of (KDUAL.2), (n,).
    """
    rows = free.nonzero()[0]
    m = len(rows)
    if not 0 < m <= EXACT_FREE:
        return None
    found = np.where(free, 0.0, beta)
    strip = K[rows]
    columns, sums = _build_sum_rows(problem, rows, found, side)
    k = m + len(sums)
    A, right = np.zeros((k, k)), np.empty(k)
    A[:m, :m] = strip[:, rows]
    A[m:, :m], A[:m, m:] = columns.T, columns
    right[:m] = problem.level[rows]
    if side is not None and problem.mass is None:
        right[:m] -= side[rows] * take_rows(problem.tube, rows)
    right[:m] -= strip @ found
    right[m:] = sums
    here, low, high, edges = beta[rows], low[rows], high[rows], None
    some: Any = slice(m)
    kept: Any = slice(k)
    for _ in range(HELD):
        solution, info = lapack.dgesv(A[kept][:, kept], right[kept])[2:]
        if info:
            return None
        mu = solution[len(solution) - len(sums) :].tolist()
        step = solution[: len(solution) - len(sums)] - here[some]
        room = np.where(step < 0.0, low[some], high[some]) - here[some]
        out = np.abs(step) > np.abs(room)
        if not out.any():
            here[some] += step
            if problem.mass is None:
                edges = Edges(mu[0])
            elif len(mu) == 2 and (problem.is_nu_svm or mu[0] >= mu[1]):
                edges = Edges(0.5 * (mu[0] + mu[1]), 0.5 * (mu[0] - mu[1]))
            break
        shares = np.divide(room, step, out=np.ones_like(step), where=out)
        length = float(shares.min())
        here[some] += length * step
        rest, first = np.arange(m)[some], shares <= length
        stay, some = rest[first], rest[~first]
        here[stay] = np.where(here[stay] - low[stay] < high[stay] - here[stay], low[stay], high[stay])
        right -= A[:, stay] @ here[stay]
        kept = np.concatenate([some, np.arange(m, k)])
    found[rows] = here
    return found, edges


def _build_sum_rows(
    problem: KernelDual, rows: IntArray, found: FloatArray, side: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the columns (m, q) of the sums in which some rows are, and what those rows are to add to them, (q,)."""
    if problem.mass is None:
        return np.ones((len(rows), 1)), np.array([problem.total - np.add.reduce(found)])
    up = (problem.sign if side is None else side) > 0.0
    sums, above = np.array(problem.target_sums) - (np.add.reduce(found[up]), np.add.reduce(found[~up])), up[rows]
    columns, first = np.array([above, ~above], dtype=np.float64), above.any()
    present = slice(None) if first and not above.all() else slice(1) if first else slice(1, 2)
    return columns[present].T, sums[present]
