"""The engines by name, the order in which they are tried, and what a start is good for.

What an engine leaves above the tolerance is where the next begins. At last Newton steps go on from the best point
with more patience. Beyond `gram_rows` the baseline (`baseline`) sets what others may cost (`floor`). With the compiled
core it does so from `FEW_FROM` rows on, needs no rivals but its own Newton steps, and nothing is estimated first. It
begins on blocks of rows (`block_loop`), up to `gram_rows` on as few of them as may do.

With the core, in milliseconds: medians of 5, RBF, five features, labels by the first and noise; one core.

| rows                          |  500 | 1000 | 1500 | 1999 |
|-------------------------------|------|------|------|------|
| `gram`, C = 1                 |  1.5 |  4.2 |   10 |   13 |
| the baseline, C = 1           |  3.2 |  4.1 |  5.8 |  8.8 |
| `gram`, C = 100               |  3.7 |   14 |   39 |   53 |
| the baseline, C = 100         |  5.2 |   11 |   19 |   30 |

What each part is worth without the core: the processor time without it, as a multiple of that with it, on tables that
it solves. Where it gives up it costs little; `few` costs most, 8 % on fourteen tables.

| without                       | mean | worst | on                                                                    |
|-------------------------------|------|-------|-----------------------------------------------------------------------|
| `band`                        |  6.3 |    19 | eleven tables of 3000 to 6400 rows, real and generated                |
| `gram` up to 2000 rows        |  1.3 |   2.9 | eight tables, real and generated                                      |
| `gram` beyond                 |  1.4 |   2.0 | three real tables, most rows free or in the band                      |
| `few`                         |  1.4 |   3.3 | seven tables of 900 to 2000 rows where few support                    |
| conjugate gradients in `gram` |  1.5 |   2.2 | ten tables of 200 to 2000 rows, nearly all free                       |
| `dense`                       |  2.7 |   4.1 | four tables of 3000 and 6000 rows, nearly all free; none is real      |
| equal rows made one           |   48 |    89 | three tables of rounded numbers                                       |

A subsample above 2000 rows that says how few support, a low-rank preconditioner in `dense`, and `low_rank` as a first
choice were worth nothing, and are gone: where Newton steps keep their proximal term they hardly ever stall.

What every engine would cost, from what is estimated.

    (KCOST.1)  libsvm:  (l_s + l_f d) S n + l_i I n
    (KCOST.2)  band:    c_n n + (e_s + e_f d) S n + e_W W² + e_i min(I, 4W) W + e_F F³
    (KCOST.3)  gram:    (g_n + g_f d) n² + g_i I n + g_F F³
    (KCOST.4)  dense:   (k_n + k_f d) n²
    (KCOST.5)  I = S(1 + √(κC̄)):  iterations of LIBSVM's loop

Over d features, S rows support and F of them are free as the estimate says; W is the band around them. The first is the
floor: the others may take a share of it only. The constants are seconds on one core, fitted to generated tables of 3000
to 12 000 rows, and to real ones, raw and standardised, where most rows are in the band. Only their ratios matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.baseline import WholeLoop
from qpsvm.solvers.kernel.block_loop import SETTINGS as BLOCKS
from qpsvm.solvers.kernel.block_loop import BlockLoop
from qpsvm.solvers.kernel.dense import dense_point
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.floor import Rival, race
from qpsvm.solvers.kernel.initial_sets import SETTINGS as FIRST
from qpsvm.solvers.kernel.initial_sets import (
    InitialSet,
    at_point,
    estimated_band,
    in_band,
    outlying,
    rough_margin,
    subsample,
)
from qpsvm.solvers.kernel.loop import Samples, by_itself
from qpsvm.solvers.kernel.low_rank import SETTINGS as LOW_RANK
from qpsvm.solvers.kernel.low_rank import LinearSolver, able, low_rank_point, stalled_prices
from qpsvm.solvers.kernel.newton_step import (
    EXACT_ROWS,
    bordered_point,
    most_moving,
    moving_rows,
    newton_polish,
    product,
    unbounded,
)
from qpsvm.solvers.kernel.nystrom import Estimate, nystrom_estimate
from qpsvm.solvers.kernel.working_set import LARGEST, LOOP_TOL, STEPS, Plan, Stage, WorkingSet, solve_from
from qpsvm.space.kernels.blocks import KernelBlocks

#: All rows: the loop stops early, because Newton steps get the last digits with one factorisation as soon as the split
#: is right; what they cannot do from there a tighter loop may. It keeps its matrix in single precision: less than the
#: last tolerance has no meaning.
GRAM = Plan((Stage(3e-3, 60), Stage(1e-4, 60), Stage(2e-6)))
#: Few rows: F may have so many, because a factorisation of that size costs less than the Gram matrix of all rows.
FEW = Plan((Stage(3e-3, 300),))
#: A band: loose until the rows are the right ones.
BAND = Plan((Stage(1e-2), Stage(LOOP_TOL)), rough=True, again=LOOP_TOL)

#: Rows from which on a subsample may save the making of the whole matrix, and with the compiled core its loop does.
FEW_FROM = 1200


@dataclass(frozen=True)
class Settings:
    """Constants of the order."""

    #: Up to here the whole Gram matrix is made in double precision: without the compiled core, and of a ν-SVR.
    gram_rows: int = 2000
    #: A start is taken for an estimate where its relative gap is below the first. Where it is below the second, Newton
    #: steps go on from it, and a point that `dense` left is an estimate.
    trusted_gap: float = 0.05
    useful: float = 0.3
    #: They do where at most this share of the rows is not at a bound, and as long as every so many steps bring the gap
    #: to this share.
    start_share: float = 0.35
    start_steps: int = 3
    start_gain: float = 0.3
    #: A ν-SVR's steps that stall are made again on rows so far inside their right side, too.
    start_reach: float = 0.005
    #: Where the whole Gram matrix is there, as along a path, they are made on all rows where few move (`most_moving`):
    #: else LIBSVM's loop is sooner. Until the gap is this share of the target: what is left of it grows from point to
    #: point.
    path_aim: float = 0.01
    #: Rows up to which the compiled loop and the exact split take less than conjugate gradients and Newton steps.
    loop_rows: int = 200
    #: The gap of a point of the right split is rounding, of one and another size.
    exact: float = 1e-11
    #: The gap of the loop's point from which on the hulls of a ν-SVM seem to meet: at an optimum of 0 it is 1.
    meeting: float = 0.9
    #: The last resort: rows up to this far inside their right side are in W, so many at most, in so many steps.
    last_reach: float = 0.3
    last_rows: int = 5000
    last_steps: int = 30


SETTINGS = Settings()


@dataclass(frozen=True)
class Costs:
    """Constants of the model: seconds, and most rows."""

    #: c_n, e_s, e_f, e_W, e_i and e_F of (KCOST.2).
    band: tuple[float, ...] = (3e-6, 0.4e-9, 0.07e-9, 16e-9, 4e-9, 9e-12)
    #: g_n, g_f, g_i and g_F of (KCOST.3). Most of g_n is memory that is touched for the first time.
    gram: tuple[float, ...] = (14e-9, 0.05e-9, 1.5e-9, 4e-12)
    #: k_n and k_f of (KCOST.4), where the low-rank model leaves at least this share of the diagonal: else too many
    #: products.
    dense: tuple[float, ...] = (22e-9, 0.1e-9)
    #: l_s, l_f and l_i of (KCOST.1).
    libsvm: tuple[float, ...] = (18e-9, 0.9e-9, 2e-9)
    least_rest: float = 0.9
    #: Most rows of their matrices: 1.2 GB in double precision, and 1.6 GB in single.
    largest_gram: int = 12_000
    largest_dense: int = 20_000


COSTS = Costs()


def seconds(estimate: Estimate, problem: KernelDual, blocks: KernelBlocks) -> dict[str, float]:
    """What every engine would take; infinite where it cannot be used."""
    n, width, band = problem.n, blocks.width, float(np.count_nonzero(in_band(estimate)))
    free, support = (
        float(np.count_nonzero(estimate.free)),
        float(np.count_nonzero(estimate.free | (estimate.at_bound != 0.0))) + 1.0,
    )
    iterations = support * (1.0 + np.sqrt(problem.total_penalty / n))  # (KCOST.5)
    narrow = free > 0 and float(estimate.rest[estimate.free].mean()) >= COSTS.least_rest
    terms = {
        "band": (n, support * n, width * support * n, band**2, min(iterations, 4.0 * band) * band, free**3),
        "gram": (n**2, width * n**2, iterations * n, free**3),
        "dense": (n**2, width * n**2),
        "libsvm": (support * n, width * support * n, iterations * n),
    }
    able = {
        "band": band <= LARGEST,
        "gram": n <= COSTS.largest_gram,
        "dense": n <= COSTS.largest_dense and narrow and not problem.kinked,
        "libsvm": True,
    }
    return {name: float(np.dot(terms[name], getattr(COSTS, name))) if able[name] else np.inf for name in terms}


class Engines:
    """One problem, and the best point that any engine has found.

    used: The engine that found it.
    coef (n,) or None: Coefficients of its own, of a point that `low_rank` found.
    estimate or None: What is estimated already.
    brief: Of all rows, only the first stage is run, and there is no last resort: others go on. Of a ν-SVM only its
        loop where the hulls seem to meet.
    """

    def __init__(
        self,
        blocks: KernelBlocks,
        problem: KernelDual,
        target: float,
        effort: Effort,
        linear: LinearSolver | None = None,
    ) -> None:
        self.blocks, self.problem, self.target, self.effort, self.linear = blocks, problem, target, effort, linear
        self._best: DualPoint | None = None
        self.used = "none"
        self.coef: FloatArray | None = None
        self._known: FloatArray | None = None
        self.brief = False
        self.estimate: Estimate | None = None

    @property
    def best(self) -> DualPoint:
        """The best point so far: at first α = 0."""
        if self._best is None:
            self._best = self.problem.nothing()
        return self._best

    def run(self, engine: str, start: FloatArray | None, u: FloatArray | None = None) -> None:
        """From the start if that does, by the engine that suits, and by the last resort.

        `start`: β (n,), feasible, with its u (n,) where that is known, if only roughly.
        """
        self._known = u
        if start is None or not self._from_start(start):
            widens = self.problem.mass is not None and self.problem.kinked
            quick = engine == "auto" and core.compiled is not None and not widens
            most = FEW_FROM if quick else SETTINGS.gram_rows
            there = self.problem.n <= most or self.blocks.whole is not None
            if engine == "low_rank":
                self._low_rank(self.problem.weight, named=True)
            elif engine == "auto" and (self._outlying() or self._blocked(start)):
                pass
            elif engine in ("auto", "gram") and there:
                self._small()
            elif self.problem.mass is not None and engine == "auto":
                self._libsvm()  # no band with a tube of its own
            elif engine == "auto":
                self._raced(start is not None)
            else:
                self._large(engine, start is not None)
        if self.brief:
            return
        if self.best.gap > self.target and not self.effort.late() and not (engine == "auto" and self._more_free()):
            self._patient()

    def ended(self) -> bool:
        """Whether the target is reached, or the time over."""
        return self.best.gap <= self.target or self.effort.late()

    def keep(self, engine: str, point: DualPoint | None, coef: FloatArray | None = None) -> bool:
        """Keep the point if it is the best so far; whether that ends the search."""
        if point is not None and (self.used == "none" or point.gap < self.best.gap):
            self._best, self.used, self.coef = point, engine, coef
        return self.best.gap <= self.target or self.effort.late()

    def _blocked(self, start: FloatArray | None) -> bool:
        """Blocks of not so few rows, where few are free, and Newton steps on those; whether that solved."""
        new = start is None and self.blocks.whole is None and self.blocks.single and self.problem.signed
        if not new or not FEW_FROM < self.problem.n <= SETTINGS.gram_rows or core.compiled is None:
            return False
        zero, loop = np.zeros(self.problem.n), BlockLoop(self.blocks, self.problem, self.effort, BLOCKS.values_of_few)
        found = loop.run(LOOP_TOL, zero, zero)
        assert found.u is not None
        if not found.finished:  # others go on from there
            self.keep("libsvm", self.problem.point(found.beta, found.u))
            return False
        return self.newton("libsvm", self.problem.point(found.beta, found.u), LOOP_TOL, self.problem.n)

    def _small(self) -> None:
        few = core.compiled is None and self.problem.n > FEW_FROM and self.blocks.whole is None
        worth = few and self.blocks.single and self.problem.signed
        initial = subsample(self.blocks, self.problem, self.effort) if worth else None
        if initial is None or not self.keep("few", self._solve_from(initial, FEW)):
            self._gram()

    def _outlying(self) -> bool:
        """Of a novelty machine of not so few rows, those that are farthest out, where few can be."""
        if self.problem.n <= EXACT_ROWS:  # the certificate makes the whole matrix anyhow
            return False
        initial = outlying(self.blocks, self.problem)
        return initial is not None and self.keep("few", self._solve_from(initial, FEW))

    def _large(self, engine: str, started: bool) -> None:
        estimate = self._as_estimate(SETTINGS.trusted_gap) if started else None
        estimate = estimate or self.estimate
        if estimate is None and engine not in ("libsvm", "gram"):
            estimate = nystrom_estimate(self.blocks, self.problem, self.effort)
        if estimate is not None and engine == "dense" and self._dense(estimate):
            return
        if engine == "gram":
            self.whole_gram()
        elif engine == "libsvm" or estimate is None or not self._band(estimate):
            self._libsvm()

    def _raced(self, started: bool) -> None:
        """The loop over all rows, and what is quicker (`floor`)."""
        loop, problem, blocks, effort = WholeLoop(self), self.problem, self.blocks, self.effort
        rivals = [Rival("newton", loop.newton_seconds, loop.newton, again=True)]
        if not loop.resumes:
            estimate = self._as_estimate(SETTINGS.trusted_gap) if started else None
            estimate = estimate or self.estimate or nystrom_estimate(blocks, problem, effort)
            if estimate is None:
                self._libsvm()
                return
            costs = seconds(estimate, problem, blocks)
            loop.left = loop.least = costs.pop("libsvm") if loop.able else np.inf
            rivals = [self._rival(name, costs[name], estimate) for name in sorted(costs, key=lambda name: costs[name])]
        race(loop, rivals, effort)
        if self.best.gap > self.target:
            self.keep("libsvm", loop.point)

    def _rival(self, name: str, cost: float, estimate: Estimate) -> Rival:
        """An engine that an estimate says the cost of."""
        runs = {"band": self._band, "gram": lambda _: self._gram(), "dense": self._dense}
        return Rival(name, lambda: cost, lambda: bool(runs[name](estimate)) and self.best.gap <= self.target)

    def whole_gram(self) -> None:
        """`gram`, where it ends in time."""
        if self.effort.affords(self.problem.n, self.blocks.width, False):
            self._gram()

    def _gram(self) -> None:
        """The whole Gram matrix in double precision, which is kept."""
        plan = Plan(GRAM.stages[:1]) if self.brief else GRAM
        K, problem = self.blocks.all(), self.problem
        sooner = problem.n <= SETTINGS.loop_rows and core.compiled is not None
        beta = None if sooner else unbounded(K, problem)
        if beta is None and problem.n <= EXACT_ROWS:
            beta = self._few_rows(K, plan.stages[0].tolerance)
            if beta is None:
                return
            if self.brief and problem.divided and not problem.point(beta, K @ beta).gap < SETTINGS.meeting:
                return
        rows, zero = np.arange(problem.n), np.zeros(problem.n)
        initial = InitialSet(rows, zero if beta is None else beta, zero, beta is not None)
        self.keep("gram", self._solve_from(initial, plan))

    def _few_rows(self, K: FloatArray, tolerance: float) -> FloatArray | None:
        """The point of the split that the loop finds, which is kept; the β to go on from, where it is not exact.

        Where it is good, but not to rounding, Newton steps go on from it.
        """
        problem, effort = self.problem, self.effort
        beta = effort.loop(problem, K, tolerance).beta
        if effort.over():
            self.keep("gram", problem.point(beta, K @ beta))
            return None
        point = bordered_point(K, problem, beta)
        if point is None or not point.gap <= self.target:
            return beta
        effort.newton_steps += 1
        self.keep("gram", point)
        return None if point.gap <= SETTINGS.exact else point.beta

    def _solve_from(self, initial: InitialSet, plan: Plan) -> DualPoint | None:
        return solve_from(self.blocks, self.problem, initial, plan, self.target, self.effort)

    def _dense(self, estimate: Estimate) -> bool:
        """Newton by conjugate gradients on the whole Gram matrix in single precision."""
        return self.keep("dense", dense_point(self.blocks, self.problem, estimate.beta, self.target, self.effort))

    def _more_free(self) -> bool:
        """The second choice: the low-rank factor where Newton steps have stalled on more free rows than its rank."""
        if self.linear is None or self.coef is not None or not self.problem.hinges:
            return self.coef is not None  # nor do further Newton steps help
        prices = stalled_prices(self.blocks, self.problem, self.target, self.best, self.effort)
        return prices is not None and self._low_rank(prices)

    def _low_rank(self, prices: FloatArray, named: bool = False) -> bool:
        """The linear machine over the rows of a pivoted factor; whether that ends the search."""
        if self.linear is None or not able(self.blocks) or self.effort.late() or not self.problem.hinges:
            return False
        found = low_rank_point(self.blocks, self.problem, self.target, prices, self.linear, self.effort, named)
        if found is None:
            return False
        near = found.point.gap <= LOW_RANK.near * self.target  # the others would not come nearer
        return self.keep("low_rank", found.point, found.coef) or near

    def _band(self, estimate: Estimate) -> bool:
        """A band around the estimated margin."""
        initial = estimated_band(self.blocks, self.problem, estimate, self.effort)
        if initial is None or len(initial.rows) > LARGEST:
            return False
        if not self.effort.affords(len(initial.rows), self.blocks.width, False):
            return False
        return self.keep("band", self._solve_from(initial, BAND))

    def _libsvm(self) -> None:
        """LIBSVM's loop over all rows, then Newton steps on its support and the rows near the margin."""
        samples, effort = self.blocks.samples, self.effort
        if effort.over():
            return
        if samples is None or not by_itself(self.problem):
            self.whole_gram()
            return
        found = effort.loop(self.problem, Samples(self.blocks.kernel, samples), LOOP_TOL)  # type: ignore[arg-type]
        point = self.measured(found.beta) if found.u is None else self.problem.point(found.beta, found.u)
        self.newton("libsvm", point, max(LOOP_TOL, rough_margin(found.beta)), self.problem.n)

    def _from_start(self, beta: FloatArray) -> bool:
        """A feasible β, and Newton steps from it where few rows are not at a bound and the steps gain."""
        if self.blocks.whole is not None:
            return self._along_path(self.blocks.whole, beta)
        point, most = self.measured(beta), int(SETTINGS.start_share * self.problem.n)
        most = most if point.gap < SETTINGS.useful else 0
        if self.problem.mass is not None:  # no band with a tube of its own
            if self.newton("start", point, rough_margin(beta), most) or not most:
                return self.keep("start", None)
            return self.newton("start", self.best, SETTINGS.start_reach, SETTINGS.last_rows, SETTINGS.last_steps)
        return self.newton("start", point, rough_margin(beta), most, SETTINGS.start_steps, SETTINGS.start_gain)

    def _along_path(self, K: FloatArray, beta: FloatArray) -> bool:
        """A feasible β, and Newton steps from it where not many more rows move than it has free ones."""
        problem, effort = self.problem, self.effort
        point = problem.point(beta, product(K, beta, np.flatnonzero(beta)))
        few = 0 < len(moving_rows(problem, point, self.target)) <= most_moving(problem, beta)
        if self.keep("start", point) or not few:
            return self.best.gap <= self.target
        aim = SETTINGS.path_aim * self.target
        polished = newton_polish(K, problem, beta, aim, STEPS, point.u, effort.late, patient=False)
        effort.newton_steps += polished.steps
        return self.keep("start", polished.point)

    def _patient(self) -> bool:
        """The last resort: from the best point, as many Newton steps as it takes."""
        if self.problem.untubed(self.best):
            return False
        return self.newton(self.used, self.best, SETTINGS.last_reach, SETTINGS.last_rows, SETTINGS.last_steps)

    def newton(
        self, engine: str, point: DualPoint, reach: float, most: int, steps: int = STEPS, gain: float = np.inf
    ) -> bool:
        """Newton steps from a point, on its rows that are at no bound or within reach, where they are not too many."""
        initial, effort = at_point(point, reach), self.effort
        if 0 < len(initial.rows) <= most and not effort.late() and effort.affords(len(initial.rows), self.blocks.width):
            W = WorkingSet(self.blocks, self.problem, initial, effort)
            point = min(W.sharpen(self.target, steps=steps, gain=gain, gap=point.gap), point, key=lambda p: p.gap)
        return self.keep(engine, point)

    def measured(self, beta: FloatArray) -> DualPoint:
        """A feasible β with its rough u and gap."""
        u, self._known = self._known, None
        if u is None:
            support = np.flatnonzero(beta)
            u = self.blocks.product(support, beta[support], np.arange(self.problem.n), rough=True)
        return self.problem.point(beta, u)

    def _as_estimate(self, largest_gap: float) -> Estimate | None:
        """The best point taken for an estimate; None where its gap is too large."""
        point, problem = self.best, self.problem
        if not point.gap < largest_gap:
            return None
        free = problem.free(point.beta) & (np.abs(point.gradient) <= FIRST.band)  # C may have been another
        at_bound = problem.bounds_at(point)
        side = problem.sides(at_bound, point.u, point.edges) if problem.kinked else None
        reach = problem.violation(at_bound, point.u, point.edges, slice(None))
        return Estimate(reach, at_bound, point.beta, free, np.zeros(problem.n), side, point.tube)
