"""Regression and novelty with a kernel: the entry to the engines of `portfolio` for the problems of `interval`.

The engines measure distances in units of a margin, which is 1 for labels ±1. So targets, tube and β are divided by the
spread of the targets first; for novelty, where f is compared with nothing but itself, β by its total. Equal rows with
equal targets are made one (`ties`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.errors import ParameterError
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import DualPoint, Edges
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import SETTINGS as ENGINES
from qpsvm.solvers.kernel.engines import Engines
from qpsvm.solvers.kernel.interval import IntervalDual
from qpsvm.solvers.kernel.portfolio import TIES_FROM
from qpsvm.solvers.kernel.ties import Ties, find_ties
from qpsvm.solvers.kernel.tube_search import tube_start
from qpsvm.solvers.shared.stopping import StopReason

#: Engines that take these problems.
INTERVAL_ENGINES = ("auto", "gram", "band", "libsvm")
#: Rows whose kernel values say how much f of a novelty machine varies.
SAMPLED = 100
#: What rounding may make of Σ|β|, as a share of the most that it can be.
ALL = 1e-9
#: A spread below this share of the largest number that it is made of is rounding.
NO_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class IntervalSolution:
    """What the engines return.

    Attributes
    ----------
    beta : ndarray, shape (n,)
        Feasible.
    b, tube : float
        The intercept; and ε where it is a variable.
    gap : float
        Relative, over all rows.
    engine : str
        Which one found it; "none" where time ran out before any began.
    iterations : int
    reason : str
    """

    beta: FloatArray
    b: float
    tube: float
    gap: float
    engine: str
    iterations: int
    reason: StopReason


def solve_interval(
    blocks: KernelBlocks,
    problem: IntervalDual,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
    start: FloatArray | None = None,
    engine: str = "auto",
) -> IntervalSolution:
    """Solve (KINT.1) or (KINT.2).

    Parameters
    ----------
    blocks : KernelBlocks
        Of n rows.
    problem : IntervalDual
    tol : float
        Relative gap.
    max_iter : int, optional
        Iterations of LIBSVM's loop in all runs together.
    time_limit : float, optional
        Seconds.
    verbose : bool
        Print a line a round.
    start : ndarray, shape (n,), optional
        β of a neighbouring problem.
    engine : str
        "auto", "gram", "band" or "libsvm".

    Returns
    -------
    IntervalSolution

    Raises
    ------
    ParameterError
        An engine that is not known, or is for C-SVMs only.
    """
    if engine not in INTERVAL_ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(INTERVAL_ENGINES)} for this machine, got {engine!r}")
    effort = Effort(time_limit, max_iter, verbose)
    with np.errstate(all="ignore"):
        worth = blocks.fast and blocks.whole is None and problem.n > TIES_FROM
        ties = find_ties(blocks.X, problem.target) if worth else None
        if ties is None:
            point, used = _solve(blocks, problem, start, engine, tol, effort)
        else:
            fewer = KernelBlocks(blocks.kernel, blocks.X[ties.rows])
            start = None if start is None else ties.total(start)
            point, used = _solve(fewer, _merged(problem, ties), start, engine, tol, effort)
            point = replace(point, beta=_shared(ties, point.beta, problem))
    steps, reason = effort.iterations + effort.newton_steps, effort.reason(point.gap <= tol)
    return IntervalSolution(point.beta + 0.0, point.b, point.tube, point.gap, used, steps, reason)


def _solve(
    blocks: KernelBlocks,
    problem: IntervalDual,
    start: FloatArray | None,
    engine: str,
    tol: float,
    effort: Effort,
) -> tuple[DualPoint, str]:
    """The best point, in the units of the problem, and the engine that found it."""
    if not problem.total and (not problem.total_penalty > 0.0 or not np.ptp(problem.target)):
        return problem.at(Edges(0.0)).nothing(), "none"  # β = 0, and b is what all targets are
    unit = unit_of(blocks, problem)
    shift = float(np.median(problem.target)) if problem.total == 0.0 else 0.0  # moves b alone
    scaled = IntervalDual(
        (problem.target - shift) / unit, problem.tube / unit, problem.low / unit, problem.high / unit,
        problem.total / unit, None if problem.mass is None else problem.mass / unit,
    )  # fmt: skip
    first = None if start is None else scaled.balanced(start / unit)
    if scaled.mass is None:
        engines = Engines(blocks, scaled, tol, effort)
        engines.run(engine, first)
    else:
        engines = _with_tube(blocks, scaled, first, engine, tol, effort)
    best = engines.best
    beta = np.clip(unit * best.beta, problem.low, problem.high)
    point = replace(best, beta=beta, u=unit * best.u, b=unit * best.b + shift, tube=unit * best.tube)
    return point, engines.used


def _with_tube(
    blocks: KernelBlocks, problem: IntervalDual, first: FloatArray | None, engine: str, tol: float, effort: Effort
) -> Engines:
    """(KINT.2), or the ε-SVR with ε = 0 where that needs no more than m: (KINT.6)."""
    assert problem.mass is not None
    engines, flat = Engines(blocks, problem, tol, effort), Engines(blocks, problem.at(Edges(0.0)), tol, effort)
    if problem.mass >= (1.0 - ALL) * problem.total_penalty:
        flat.run(engine, first)
        return flat
    known = None if first is None else engines.measured(first)
    if engine != "auto" or problem.n <= ENGINES.gram_rows or blocks.whole is not None:
        engines.brief = engine == "auto"
        engines.run(engine, first)
        known = engines.best
    if engines.ended() or engine != "auto":
        return engines
    useful = known is not None and known.gap < ENGINES.foretelling
    found = tube_start(blocks, problem, effort, known if useful else None)
    engines.brief = False
    if found is not None and np.abs(found[0]).sum() < (1.0 - ALL) * problem.mass:
        flat.run(engine, *found)
        return flat
    engines.run(engine, *((None, None) if found is None else (problem.balanced(found[0]), found[1])))
    if engines.ended():
        return engines
    flat.run(engine, None)
    needs = float(np.abs(flat.best.beta).sum())
    return flat if needs <= (1.0 + ALL) * problem.mass and flat.best.gap < engines.best.gap else engines


def unit_of(blocks: KernelBlocks, problem: IntervalDual) -> float:
    """What is 1 to the engines."""
    target = problem.target
    spread = _spread(target)
    if spread > NO_SPREAD * float(np.abs(target).max(initial=0.0)) and not problem.total:
        return spread
    if problem.total:
        rows = np.random.default_rng(0).permutation(problem.n)[: 2 * SAMPLED]
        f = problem.target[rows] - problem.total * blocks.block(rows, rows[:SAMPLED]).mean(axis=1)
        spread, size = _spread(f), abs(problem.total) * float(np.abs(blocks.diagonal(rows)).max())
        return spread if spread > NO_SPREAD * size else size or 1.0
    return max(float(np.abs(target).max(initial=0.0)), float(problem.tube.max(initial=0.0))) or 1.0


def _spread(values: FloatArray) -> float:
    """The standard deviation of some numbers (n,), whose squares may overflow."""
    size = float(np.abs(values).max(initial=0.0))
    return size * float((values / size).std()) if size > 0.0 else 0.0


def _merged(problem: IntervalDual, ties: Ties) -> IntervalDual:
    return IntervalDual(
        problem.target[ties.rows], problem.tube[ties.rows], ties.total(problem.low), ties.total(problem.high),
        problem.total, problem.mass,
    )  # fmt: skip


def _shared(ties: Ties, beta: FloatArray, problem: IntervalDual) -> FloatArray:
    """β (n,) from its sums over the groups (g,): filled up one after the other, from the end where nothing is."""
    base = np.zeros(problem.n) if problem.kinked else problem.low
    alpha = beta - ties.total(base)
    up = ties.share_out(np.maximum(alpha, 0.0), problem.high - base)
    if not problem.kinked:
        return base + up
    return up - ties.share_out(np.maximum(-alpha, 0.0), -problem.low)


__all__ = ["INTERVAL_ENGINES", "IntervalSolution", "solve_interval", "unit_of"]
