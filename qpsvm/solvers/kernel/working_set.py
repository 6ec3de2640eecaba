"""A working set: the rows of a kernel SVM that still move, all others resting at 0 or C and watched from afar.

    (KSET.1)  W ∪ outside = all rows;  β_i ∈ {0, C_i y_i} outside;  u = Kβ over all rows, in double precision on W
    (KSET.2)  r_i = s_i for rows resting at 0, −s_i for rows resting at C:  how far a row is from leaving its bound
    (KSET.3)  rows outside with r_i > −ε join W, where ε covers the error of a u from rough kernel values
    (KSET.4)  P − D over all rows = that over W + Σ C_i max(r_i, 0) over the rows outside with r_i > −ε

A row with r_i < −ε contributes exactly nothing, so its u need only be known to ε: the n × (support) kernel values are
in single precision, and only those on W and near it in double.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import DualPoint, HingeDual
from qpsvm.solvers.kernel.libsvm import libsvm_loop
from qpsvm.solvers.kernel.newton_step import newton_polish
from qpsvm.solvers.shared.stopping import Clock

#: Relative error of a kernel value in single precision; in u the errors add up like a random walk, ε is four of them.
ROUGH_VALUE, DEVIATIONS = 4e-7, 4.0
#: Limits of ε, in units of the margin.
LEAST_MARGIN, LARGEST_MARGIN = 1e-4, 0.05
#: Rounds of (KSET.3).
ROUNDS = 10
#: The polish aims below the target, to leave room for the rows outside and for another order of rounding.
AIM = 0.7
#: More violators than this, or this share of W, are many.
MANY_JOIN, MANY_JOIN_SHARE = 30, 0.05
#: When many violate, rows up to this far inside their right side join with them: they come next.
LOOKAHEAD = 0.1
#: LIBSVM's tolerance, in units of the margin (its own default): a smaller violation is none to it.
LOOP_TOL = 1e-3
#: Iterations that one run of LIBSVM's loop may take, a row and besides; Newton steps go on from there.
LOOP_ITERATIONS_PER_ROW, LOOP_ITERATIONS = 100, 20_000
#: Seconds of an entry of a Gram matrix in double precision, besides for each feature, and of Newton steps over m rows
#: in units of m³: as pessimistic. They cannot be interrupted, so they are not begun where they would not end in time.
GRAM_SECONDS, GRAM_FEATURE_SECONDS, NEWTON_SECONDS = 20e-9, 0.1e-9, 1.5e-11


@dataclass(eq=False)
class Effort:
    """What a solve may spend, and what it has spent.

    Attributes
    ----------
    seconds : float or None
    loop_iterations : int or None
        Allowed in LIBSVM's loop, all runs together.
    iterations, newton_steps, free : int
        Loop iterations and Newton steps made; the largest set that a Newton step moved.
    verbose : bool
    shortened : bool
        Something was left out, or cut short, because it might not have ended in time.
    """

    seconds: float | None = None
    loop_iterations: int | None = None
    verbose: bool = False
    iterations: int = 0
    newton_steps: int = 0
    free: int = 0
    shortened: bool = False
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.seconds)

    def late(self) -> bool:
        """Whether the time is over, or the user has interrupted."""
        return self.clock.stopped() is not None

    def exhausted(self) -> bool:
        """Whether the loop's iterations are used up."""
        return self.loop_iterations is not None and self.iterations >= self.loop_iterations

    def loop(self, problem: HingeDual, data: FloatArray, tol: float, gamma: float | None = None) -> FloatArray:
        """LIBSVM's loop within what is left. β (n,)."""
        limit = LOOP_ITERATIONS_PER_ROW * problem.n + LOOP_ITERATIONS
        if self.loop_iterations is not None:
            limit = min(limit, max(self.loop_iterations - self.iterations, 1))
        result = libsvm_loop(problem, data, limit, self.clock, gamma=gamma, tol=tol, verbose=self.verbose)
        self.shortened |= self.seconds is not None and not result.finished and result.iterations < limit
        self.iterations += result.iterations
        return result.beta

    def affords(self, m: int, width: int, newton: bool = True) -> bool:
        """Whether a Gram matrix of m rows of so many features, and Newton steps on it, would end in time."""
        each = GRAM_SECONDS + GRAM_FEATURE_SECONDS * width
        affordable = self.seconds is None or each * m**2 + newton * NEWTON_SECONDS * m**3 < self.clock.left
        self.shortened |= not affordable
        return affordable

    def report(self, what: str, rows: int, gap: float) -> None:
        """Print one line, if verbose."""
        if self.verbose:
            print(
                f"{what:>12}  rows {rows:7d}  gap {gap:8.1e}  loop iterations {self.iterations:8d}  "
                f"Newton steps {self.newton_steps:4d}  {self.clock.seconds:8.3f} s",
                flush=True,
            )


@dataclass(frozen=True, eq=False)
class Outcome:
    """A feasible point over all rows.

    Attributes
    ----------
    beta, u : ndarray, shape (n,)
        u = Kβ, in double precision where `exact`.
    exact : ndarray of bool, shape (n,)
    b, gap : float
    """

    beta: FloatArray
    u: FloatArray
    exact: NDArray[np.bool_]
    b: float
    gap: float


def rough_margin(beta: FloatArray) -> float:
    """ε of (KSET.3) for coefficients (n,)."""
    return float(np.clip(DEVIATIONS * ROUGH_VALUE * np.sqrt(beta @ beta), LEAST_MARGIN, LARGEST_MARGIN))


def unsettled_rows(problem: HingeDual, beta: FloatArray, slack: FloatArray, reach: float) -> IntArray:
    """The rows for Newton steps: free, on the wrong side for their bound, or closer than `reach` to the margin."""
    alpha, upper = problem.y * beta, problem.upper
    free = (alpha > 0) & (alpha < upper)
    wrong = ((slack > 0) & (alpha < upper)) | ((slack < 0) & (alpha > 0))
    return np.flatnonzero(free | wrong | (np.abs(slack) < reach))


class WorkingSet:
    """W with its Gram matrix, and the state of all rows.

    Parameters
    ----------
    blocks : KernelBlocks
    problem : HingeDual
        Over all rows.
    rows : ndarray of int, shape (w,)
        W.
    beta : ndarray, shape (n,)
        0 or C_i y_i outside W.
    u : ndarray, shape (n,), optional
        Kβ, rough; made when first needed otherwise.
    effort : Effort
    """

    def __init__(
        self,
        blocks: KernelBlocks,
        problem: HingeDual,
        rows: IntArray,
        beta: FloatArray,
        effort: Effort,
        u: FloatArray | None = None,
    ) -> None:
        self.blocks, self.problem, self.rows = blocks, problem, rows
        self.beta, self.u = beta.copy(), None if u is None else u.copy()
        self.everything = len(rows) == problem.n
        if self.everything:
            self.rows = np.arange(problem.n)
        self.K = blocks.all() if self.everything else blocks.symmetric(rows)
        self.effort = effort
        self._resting = self._rest_on(self.rows)

    def _rest_on(self, rows: IntArray) -> FloatArray:
        """Σ over resting support j of K_ij β_j for i in `rows`, exact: what W's u does not get from W. (r,)."""
        resting = self._outside[self.beta[self._outside] != 0]
        return self.blocks.product(resting, self.beta[resting], rows)

    @property
    def _outside(self) -> IntArray:
        mask = np.ones(self.problem.n, dtype=bool)
        mask[self.rows] = False
        return np.flatnonzero(mask)

    def part(self) -> HingeDual:
        """(KDUAL.1) over W."""
        outside = self._outside
        resting = float(self.beta[outside].sum())
        if self.u is None or not self.beta[outside].any():
            return self.problem.restricted(self.rows)
        half_norm = 0.5 * float(self.beta @ self.u)
        b = self.problem.intercept(self.u)
        slack = np.maximum(1.0 - self.problem.y * (self.u + b), 0.0)
        primal = half_norm + float(self.problem.upper @ slack)
        dual = float(np.abs(self.beta).sum()) - half_norm
        return self.problem.restricted(self.rows, resting, max(abs(primal), abs(dual)))

    def run(self, target: float, max_steps: int = 10, gain: float = np.inf, gap: float = np.inf) -> Outcome:
        """Polish, watch, let rows join, until the gap over all rows is at most `target` or nothing improves it.

        Given up after a round that leaves more than the share `gain` of the gap, which is at first `gap`.
        """
        best: Outcome | None = None
        for _ in range(ROUNDS):
            point = self._polish(target, max_steps)
            before = gap
            gap, join = self._watch(point)
            self.effort.report("working set", len(self.rows), gap)
            if best is None or gap < best.gap:
                best = self._outcome(point.b, gap)
            if gap <= target or gap > gain * before or self.effort.late() or self.effort.exhausted():
                break
            if not len(join):
                break
            self._join(join)
        assert best is not None  # ROUNDS > 0
        return best

    def _outcome(self, b: float, gap: float) -> Outcome:
        assert self.u is not None
        exact = np.zeros(self.problem.n, dtype=bool)
        exact[self.rows] = True
        return Outcome(self.beta.copy(), self.u.copy(), exact, b, gap)

    def _polish(self, target: float, max_steps: int) -> DualPoint:
        before = self.beta[self.rows]
        support = np.flatnonzero(before)
        u = before[support] @ self.K[support] + self._resting
        polished = newton_polish(self.K, self.part(), before, AIM * target, max_steps, u, self.effort.late)
        self.effort.newton_steps += polished.steps
        self.effort.free = max(self.effort.free, polished.largest)
        point, outside = polished.point, self._outside
        if self.u is None:
            self.beta[self.rows] = point.beta
            support = np.flatnonzero(self.beta)
            self.u = np.empty(self.problem.n)
            self.u[outside] = self.blocks.product(support, self.beta[support], outside, rough=True)
        else:
            change = point.beta - before
            moved = np.flatnonzero(change)
            self.u[outside] += self.blocks.product(self.rows[moved], change[moved], outside, rough=True)
            self.beta[self.rows] = point.beta
        self.u[self.rows] = point.u
        return point

    def _watch(self, point: DualPoint) -> tuple[float, IntArray]:
        """The gap over all rows (KSET.4), and the rows to join (KSET.3)."""
        assert self.u is not None
        outside = self._outside
        sign = np.where(self.beta[outside] == 0.0, 1.0, -1.0)
        y, upper = self.problem.y, self.problem.upper
        reach = sign * (1.0 - y[outside] * (self.u[outside] + point.b))  # (KSET.2)
        margin = rough_margin(self.beta)
        near = np.flatnonzero(reach > -margin)
        violators = int(np.count_nonzero(reach > max(LOOP_TOL, margin)))
        many = violators > max(MANY_JOIN, MANY_JOIN_SHARE * len(self.rows))
        if not many and len(near):
            rows, support = outside[near], np.flatnonzero(self.beta)
            self.u[rows] = self.blocks.product(support, self.beta[support], rows)
            reach[near] = sign[near] * (1.0 - y[rows] * (self.u[rows] + point.b))
        excess = float(upper[outside[near]] @ np.maximum(reach[near], 0.0))
        gap = point.gap + excess / max(point.scale, np.finfo(float).tiny)
        return gap, outside[reach > -LOOKAHEAD] if many else outside[near]

    def _join(self, added: IntArray) -> None:
        if not len(added):
            return
        self.K = self.blocks.grown(self.K, self.rows, added)
        self.rows = np.concatenate([self.rows, added])
        self._resting = self._rest_on(self.rows)
