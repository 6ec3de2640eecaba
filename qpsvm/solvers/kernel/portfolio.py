"""Solve the dual of a kernel SVM (`solve_kernel`).

`engines` says what is tried in which order. Equal rows with equal targets are merged first (`duplicate_rows`). A ν-SVR
of many rows is a search for the width of its tube (`tube_search`). `reason` says what could not be done.

The engines measure distances in units of a margin, which is 1 for hinges. For other machines targets, tube and β are
first divided by the spread of the targets; for novelty, where f is compared only with itself, β by its total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.ties import find_ties
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.kernel.dual import DualPoint, Edges, KernelDual
from qpsvm.solvers.kernel.duplicate_rows import (
    TIES_FROM,
    WORTHWHILE,
    find_meeting_point,
    list_tie_labels,
    merge_ties,
    split_ties,
)
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import SETTINGS as ENGINE_SETTINGS
from qpsvm.solvers.kernel.engines import EngineSearch
from qpsvm.solvers.kernel.newton_step import EXACT_ROWS
from qpsvm.solvers.kernel.tube_search import SETTINGS, find_tube_start
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Precomputed

Engine = Literal["auto", "gram", "libsvm"]
ENGINES = ("auto", "gram", "libsvm")
#: Rows whose kernel values say how much f of a novelty machine varies.
SAMPLED = 100
#: The margin of a ν-SVM in spreads of f, roughly: its classes overlap.
MARGIN = 0.03
#: What rounding may make of Σ|β|, as a share of the most that it can be.
ALL = 1e-9
#: A spread below this share of the largest number that it is made of is rounding.
NO_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """What a kernel engine returns.

    beta (n,): Feasible, its sum up to rounding.
    b, tube: The intercept; and ε where it is a variable.
    u (n,): Kβ: in double precision where it matters, and to about seven digits in rows that lie strictly on
        their right side and contribute nothing to the gap.
    gap: Relative gap (KDUAL.4) over all rows.
    engine: Which one found the point: of `ENGINES`, "start", "equal rows" (KTIES.3), or "none" where time ran out
        before any began.
    iterations: Of LIBSVM's loop plus Newton steps.
    reason: "converged", "iteration_limit", "time_limit", "interrupted" or "numerical_error".
    """

    beta: FloatArray
    b: float
    u: FloatArray
    gap: float
    engine: str
    iterations: int
    reason: StopReason
    tube: float = 0.0


def solve_kernel(
    blocks: KernelBlocks,
    problem: KernelDual,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
    start: FloatArray | None = None,
    engine: Engine = "auto",
    brief: bool = False,
) -> KernelSolution:
    """Solve (KDUAL.1) or (KDUAL.7); `brief` where others go on from what takes long.

    Shapes: start (n,). Raises ParameterError.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    effort = Effort(time_limit, max_iter, verbose)
    with np.errstate(all="ignore"):
        rows = not isinstance(blocks.kernel, Precomputed)  # those of a matrix that was repaired are no samples
        even = find_meeting_point(blocks.X, problem) if problem.is_nu_svm and engine == "auto" and rows else None
        if even is not None:
            return KernelSolution(even, 0.0, np.zeros(problem.n), 0.0, "equal rows", 0, "converged")
        worth = blocks.is_fast and blocks.full_matrix is None and problem.n > TIES_FROM
        ties = find_ties(blocks.X, *list_tie_labels(problem), least=WORTHWHILE) if worth else None
        if ties is None:
            point, used = _solve(blocks, problem, start, engine, tol, effort, brief)
        else:
            fewer = KernelBlocks(blocks.kernel, blocks.X[ties.rows])
            start = None if start is None else ties.sum_groups(start)
            point, used = _solve(fewer, merge_ties(problem, ties), start, engine, tol, effort)
            point = replace(point, beta=split_ties(ties, point.beta, problem), u=ties.expand_groups(point.u))
    steps, reason = effort.iterations + effort.newton_steps, effort.find_stop_reason(point.gap <= tol)
    return KernelSolution(point.beta + 0.0, point.b, point.u, point.gap, used, steps, reason, point.tube)


def _solve(
    blocks: KernelBlocks,
    problem: KernelDual,
    start: FloatArray | None,
    engine: str,
    tol: float,
    effort: Effort,
    brief: bool = False,
) -> tuple[DualPoint, str]:
    """Return the best point, in the units of the problem, and the engine that found it."""
    if problem.is_standard_hinge:
        engines = EngineSearch(blocks, problem, tol, effort)
        engines.run(engine, None if start is None else problem.make_feasible(start))
        return engines.best_point, engines.engine_used
    alike = not (problem.total_penalty > 0.0 and (problem.level != problem.level[0]).any())
    if alike and not (problem.total or problem.is_nu_svm):
        return problem.with_tube(Edges(0.0)).build_zero_point(), "none"  # β = 0, and b is what all targets are
    unit = choose_unit(blocks, problem)
    middle = problem.n // 2
    whole = problem.total != 0.0 or problem.is_nu_svm
    shift = 0.0 if whole else float(np.partition(problem.level, middle)[middle])  # moves b alone
    scaled = KernelDual(
        problem.high / unit, (problem.level - shift) / unit, problem.low / unit, problem.tube / unit,
        total=problem.total / unit, mass=None if problem.mass is None else problem.mass / unit,
    )  # fmt: skip
    first = None if start is None else scaled.make_feasible(start / unit)
    if not scaled.has_kink or scaled.mass is None:
        engines = EngineSearch(blocks, scaled, tol, effort)
        engines.brief = brief
        engines.run(engine, first)
    else:
        engines = _solve_with_tube(blocks, scaled, first, engine, tol, effort)
    best = engines.best_point
    beta = np.where(best.beta >= scaled.high, problem.high, np.minimum(unit * best.beta, problem.high))
    beta = np.where(best.beta <= scaled.low, problem.low, np.maximum(beta, problem.low))  # at a bound stays there
    point = replace(best, beta=beta, u=unit * best.u, b=unit * best.b + shift, tube=unit * best.tube)
    return point, engines.engine_used


def _solve_with_tube(
    blocks: KernelBlocks, problem: KernelDual, first: FloatArray | None, engine: str, tol: float, effort: Effort
) -> EngineSearch:
    """(KDUAL.7), or the ε-SVR with ε = 0 where that needs no more than m: (KDUAL.8)."""
    assert problem.mass is not None
    engines, flat = (
        EngineSearch(blocks, problem, tol, effort),
        EngineSearch(blocks, problem.with_tube(Edges(0.0)), tol, effort),
    )
    if problem.mass >= (1.0 - ALL) * problem.total_penalty:
        flat.run(engine, first)
        return flat
    known = None if first is None else engines.measure_point(first)
    if engine != "auto" or problem.n <= ENGINE_SETTINGS.slow_gram_rows or blocks.full_matrix is not None:
        engines.brief = engine == "auto"
        engines.run(engine, first)
        known = engines.best_point
    if engines.has_ended() or engine != "auto":
        return engines
    useful = known is not None and known.gap < SETTINGS.trusted_gap
    found = find_tube_start(blocks, problem, effort, known if useful else None)
    engines.brief = False
    if found is not None and np.abs(found[0]).sum() < (1.0 - ALL) * problem.mass:
        flat.run(engine, *found)
        return flat
    engines.run(engine, *((None, None) if found is None else (problem.make_feasible(found[0]), found[1])))
    if engines.has_ended():
        return engines
    flat.run(engine, None)
    needs = float(np.abs(flat.best_point.beta).sum())
    return flat if needs <= (1.0 + ALL) * problem.mass and flat.best_point.gap < engines.best_point.gap else engines


def choose_unit(blocks: KernelBlocks, problem: KernelDual) -> float:
    """Choose the unit of the problem in which the engines compute."""
    target = problem.level
    spread = _compute_spread(target)
    if spread > NO_SPREAD * float(np.abs(target).max(initial=0.0)) and not problem.total:
        return spread
    if problem.total or problem.is_nu_svm:
        total, shares = problem.mass or problem.total, problem.sign if problem.is_nu_svm else np.ones(problem.n)
        if problem.n <= EXACT_ROWS:  # the engine makes the whole matrix anyhow
            K, level = blocks.all(), problem.level
            own = K.diagonal()
        else:
            rows = _sample_rows(problem.n)
            K, level, own = blocks.compute_block(rows, rows[:SAMPLED]), problem.level[rows], blocks.diagonal(rows)
            shares = shares[rows[:SAMPLED]]
        f = level - total / len(shares) * (K @ shares)
        spread, size = _compute_spread(f), abs(total) * float(np.maximum.reduce(np.abs(own)))
        share = MARGIN if problem.is_nu_svm else 1.0
        return share * (spread if spread > NO_SPREAD * size else size or 1.0)
    return max(float(np.abs(target).max(initial=0.0)), float(np.max(problem.tube))) or 1.0


@lru_cache(maxsize=64)
def _sample_rows(n: int) -> IntArray:
    """Draw at most `2 * SAMPLED` of n rows, always the same: (k,)."""
    return freeze(np.random.default_rng(0).permutation(n)[: 2 * SAMPLED].copy())


def _compute_spread(values: FloatArray) -> float:
    """Compute the standard deviation of numbers (n,) whose squares may overflow."""
    size = float(np.maximum.reduce(np.abs(values), initial=0.0))
    if not size > 0.0:
        return 0.0
    apart = values / size
    apart -= np.add.reduce(apart) / len(apart)
    return size * math.sqrt(float(apart @ apart) / len(apart))
