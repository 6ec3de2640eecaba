"""Solve the dual of a kernel SVM (`solve_kernel`): prepare the problem, and choose what the engines are asked to solve.

Equal rows with equal targets are merged first (`duplicate_rows`). Then the problem is scaled, and `engines` decides
which method runs when. For a ν-SVR of many rows the width of its tube is searched (`tube_search`).

The engines measure distances in units of the margin, which is 1 for hinges. For regression, targets, tube and β are
first divided by the spread of the targets; for novelty detection and ν-SVMs, by a spread of f (`choose_unit`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.ties import Ties, find_ties
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.duplicate_rows import (
    MIN_MERGED_SHARE,
    MIN_ROWS_FOR_TIES,
    find_cancelling_beta,
    list_tie_labels,
    merge_ties,
    split_ties,
)
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import SETTINGS as ENGINE_SETTINGS
from qpsvm.solvers.kernel.engines import EngineSearch
from qpsvm.solvers.kernel.newton_step import MAX_EXACT_ROWS
from qpsvm.solvers.kernel.tube_search import find_tube_start
from qpsvm.solvers.kernel.working_set import MAX_NU_SVR_GAP
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

Engine = Literal["auto", "gram", "libsvm"]
ENGINES = ("auto", "gram", "libsvm")
#: Rows from whose kernel values the spread of f is estimated (`choose_unit`).
SAMPLE_ROWS = 100
#: The margin of a ν-SVM in units of the spread of f, roughly: its classes overlap.
NU_MARGIN = 0.03
#: Relative rounding error of Σ|β|, as a share of its maximum.
MASS_ROUNDING = 1e-9
#: A spread below this share of the largest number is rounding.
SPREAD_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """Solution of a kernel dual.

    beta (n,): Feasible; its sum up to rounding.
    b, tube: The intercept; and ε if it is a variable, else 0.
    u (n,): Kβ, in double precision where it matters, and to about seven digits for rows strictly on their right side,
        which contribute nothing to the gap.
    gap: Relative gap (KDUAL.4) over all rows.
    engine: The one that found the point: "gram", "libsvm", "start", "interior points" (KLOW.2), "equal rows"
        (KTIES.3), or "none" if time ran out before any started.
    iterations: Iterations of the loop plus Newton steps.
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
    blocks: GramBlocks,
    problem: KernelDual,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
    start: FloatArray | None = None,
    engine: Engine = "auto",
) -> KernelSolution:
    """Solve (KDUAL.1) or (KDUAL.7) to a relative gap of `tol`.

    max_iter: Limit of the iterations of the working-set loop.
    start: Any β; it is made feasible.

    Shapes: start (n,). Raises ParameterError.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    effort = Effort(time_limit, max_iter, verbose)
    with np.errstate(all="ignore"):
        ties: Ties | None = None
        if isinstance(blocks, KernelBlocks):
            if problem.is_nu_svm and engine == "auto" and blocks.has_samples:
                cancelling_beta = find_cancelling_beta(blocks.X, problem)
                if cancelling_beta is not None:
                    return KernelSolution(cancelling_beta, 0.0, np.zeros(problem.n), 0.0, "equal rows", 0, "converged")
            if blocks.is_fast and blocks.full_matrix is None and problem.n > MIN_ROWS_FOR_TIES:
                ties = find_ties(blocks.X, *list_tie_labels(problem), min_share=MIN_MERGED_SHARE)
        if ties is None:
            point, used_engine = _solve_scaled(blocks, problem, start, engine, tol, effort)
        else:
            assert isinstance(blocks, KernelBlocks)
            merged_blocks = KernelBlocks(blocks.kernel, blocks.X[ties.first_rows])
            start = None if start is None else ties.sum_groups(start)
            point, used_engine = _solve_scaled(merged_blocks, merge_ties(problem, ties), start, engine, tol, effort)
            point = replace(point, beta=split_ties(ties, point.beta, problem), u=ties.expand_groups(point.u))
    steps = effort.iterations + effort.newton_steps
    reason = effort.find_stop_reason(point.gap <= tol)
    return KernelSolution(point.beta + 0.0, point.b, point.u, point.gap, used_engine, steps, reason, point.tube)


def _solve_scaled(
    blocks: GramBlocks,
    problem: KernelDual,
    start: FloatArray | None,
    engine: str,
    tol: float,
    effort: Effort,
) -> tuple[KernelPoint, str]:
    """Solve in units of the margin; return the best point, in units of the problem, and the engine that found it."""
    if problem.is_standard_hinge:
        engines = EngineSearch(blocks, problem, tol, effort)
        engines.run(engine, None if start is None else problem.make_feasible(start))
        return engines.best_point, engines.engine_used
    has_fixed_level = problem.total != 0.0 or problem.is_nu_svm
    has_constant_targets = not (problem.total_penalty > 0.0 and (problem.level != problem.level[0]).any())
    if has_constant_targets and not has_fixed_level:
        return problem.with_tube(0.0).build_zero_point(), "none"  # β = 0, and b is the common target
    unit = choose_unit(blocks, problem)
    middle = problem.n // 2
    shift = 0.0 if has_fixed_level else float(np.partition(problem.level, middle)[middle])  # shifts only b
    scaled = KernelDual(
        problem.high / unit, (problem.level - shift) / unit, problem.low / unit, problem.tube / unit,
        total=problem.total / unit, mass=None if problem.mass is None else problem.mass / unit,
    )  # fmt: skip
    scaled_start = None if start is None else scaled.make_feasible(start / unit)
    if not scaled.has_kink or scaled.mass is None:
        engines = EngineSearch(blocks, scaled, tol, effort)
        engines.run(engine, scaled_start)
    else:
        engines = _solve_with_tube(blocks, scaled, scaled_start, engine, tol, effort)
    best = engines.best_point
    # entries at a bound stay there
    beta = np.where(best.beta >= scaled.high, problem.high, np.minimum(unit * best.beta, problem.high))
    beta = np.where(best.beta <= scaled.low, problem.low, np.maximum(beta, problem.low))
    point = replace(best, beta=beta, u=unit * best.u, b=unit * best.b + shift, tube=unit * best.tube)
    return point, engines.engine_used


def _solve_with_tube(
    blocks: GramBlocks, problem: KernelDual, start: FloatArray | None, engine: str, tol: float, effort: Effort
) -> EngineSearch:
    """Solve the ν-SVR (KDUAL.7), or the ε-SVR with ε = 0 if its Σ|β| is at most m: (KDUAL.8).

    Returns the search that found the solution.
    """
    assert problem.mass is not None
    engines = EngineSearch(blocks, problem, tol, effort)
    without_tube = EngineSearch(blocks, problem.with_tube(0.0), tol, effort)
    if problem.mass >= (1.0 - MASS_ROUNDING) * problem.total_penalty:
        without_tube.run(engine, start)
        return without_tube
    point = None if start is None else engines.measure_point(start)
    if engine != "auto" or problem.n <= ENGINE_SETTINGS.slow_gram_rows or blocks.full_matrix is not None:
        engines.is_brief = engine == "auto"  # the search for the tube follows
        engines.run(engine, start)
        point = engines.best_point
    if engines.has_ended() or engine != "auto":
        return engines
    is_useful = point is not None and point.gap <= MAX_NU_SVR_GAP
    if engines.engine_used != "none" and not is_useful:  # typical of an optimum without a tube
        without_tube.run(engine, None)
        if _has_feasible_mass(problem, without_tube.best_point):
            return without_tube
    tube_start = find_tube_start(blocks, problem, effort, point if is_useful else None)
    engines.is_brief = False
    if tube_start is None:
        engines.run(engine, None)
    elif np.abs(tube_start[0]).sum() < (1.0 - MASS_ROUNDING) * problem.mass:
        without_tube.run(engine, *tube_start)
        return without_tube
    else:
        engines.run(engine, problem.make_feasible(tube_start[0]), tube_start[1])
    if engines.has_ended():
        return engines
    if without_tube.engine_used == "none":
        without_tube.run(engine, None)
    is_better = without_tube.best_point.gap < engines.best_point.gap
    return without_tube if is_better and _has_feasible_mass(problem, without_tube.best_point) else engines


def _has_feasible_mass(problem: KernelDual, point: KernelPoint) -> bool:
    """Return whether Σ|β| is at most m, as (KDUAL.8) requires."""
    assert problem.mass is not None
    return float(np.abs(point.beta).sum()) <= (1.0 + MASS_ROUNDING) * problem.mass


def choose_unit(blocks: GramBlocks, problem: KernelDual) -> float:
    """Return the unit by which targets, tube and β are divided: a spread of the targets, or of f at equal shares."""
    level = problem.level
    largest_level = float(np.abs(level).max(initial=0.0))
    spread = _compute_spread(level)
    if spread > SPREAD_ROUNDING * largest_level and not problem.total:
        return spread
    if not (problem.total or problem.is_nu_svm):
        return max(largest_level, float(np.max(problem.tube))) or 1.0
    shares = problem.sign if problem.is_nu_svm else np.ones(problem.n)
    if problem.n <= MAX_EXACT_ROWS:  # the engine computes the full matrix anyway
        K = blocks.compute_full_matrix()
        diagonal = K.diagonal()
    else:
        rows = _sample_rows(problem.n)
        K = blocks.compute_block(rows, rows[:SAMPLE_ROWS])
        level = level[rows]
        diagonal = blocks.compute_diagonal(rows)
        shares = shares[rows[:SAMPLE_ROWS]]
    total = problem.mass or problem.total
    f = level - total / len(shares) * (K @ shares)
    spread = _compute_spread(f)
    size = abs(total) * float(np.maximum.reduce(np.abs(diagonal)))
    margin = NU_MARGIN if problem.is_nu_svm else 1.0
    return margin * (spread if spread > SPREAD_ROUNDING * size else size or 1.0)


@lru_cache(maxsize=64)
def _sample_rows(n: int) -> IntArray:
    """Draw at most `2 * SAMPLE_ROWS` of n rows, always the same: (k,)."""
    return freeze(np.random.default_rng(0).permutation(n)[: 2 * SAMPLE_ROWS].copy())


def _compute_spread(values: FloatArray) -> float:
    """Compute the standard deviation of numbers (n,) whose squares may overflow."""
    magnitude = float(np.maximum.reduce(np.abs(values), initial=0.0))
    if not magnitude > 0.0:
        return 0.0
    deviations = values / magnitude
    deviations -= np.add.reduce(deviations) / len(deviations)
    return magnitude * math.sqrt(float(deviations @ deviations) / len(deviations))
