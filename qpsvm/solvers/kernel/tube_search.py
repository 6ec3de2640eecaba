"""Find a start for a ν-SVR of many rows by solving ε-SVRs (`find_tube_start`).

    (KTUBE.1)  Σ|β| of the ε-SVR falls as ε grows, and β is piecewise linear in ε
    (KTUBE.2)  so of the solutions for two close values of ε, one with Σ|β| > m and one with Σ|β| < m, the combination
               with Σ|β| = m is feasible, and nearly the solution;  its u is the same combination of theirs

The search brackets the ε that gives Σ|β| = m of (KDUAL.7). Its first ε is that of a subset of the rows, and each ε-SVR
is warm-started at the one before. The caller continues from (KTUBE.2) by Newton steps with Σβ and Σ|β| fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import EngineSearch
from qpsvm.space.kernels.gram_blocks import GramBlocks


@dataclass(frozen=True)
class TubeSearchSettings:
    """Constants of the search."""

    #: Number of rows of the subset from which the first ε is estimated.
    subset_rows: int = 500
    #: Relative gap of each ε-SVR.
    solve_gap: float = 1e-4
    #: The search ends when Σ|β| at both ends of the bracket differs by at most this share of m, or after max_solves.
    max_bracket: float = 0.03
    max_solves: int = 10
    #: Without a bracket, a step in ε is `overshoot` times its estimate, as u changes too. It is at least the share
    #: `min_step` of ε plus `negligible_tube`, in units of the spread of the targets.
    overshoot: float = 1.5
    min_step: float = 0.2
    negligible_tube: float = 2e-3
    #: Within a bracket, ε keeps this share of its width from both ends; the square of it if one end is near the target.
    inset: float = 0.05


SETTINGS = TubeSearchSettings()


def find_tube_start(
    blocks: GramBlocks, problem: KernelDual, effort: Effort, start: KernelPoint | None = None
) -> tuple[FloatArray, FloatArray] | None:
    """Find rough β and u, (n,), by (KTUBE.2); None if time runs out or the search fails.

    Where no tube is needed, (KDUAL.8), β is that of ε = 0, with a smaller Σ|β|.
    """
    assert problem.mass is not None
    if start is None:
        tube = _estimate_first_tube(blocks, problem, effort)
    else:
        tube = start.tube
    below: _TubeTrial | None = None  # the last one with Σ|β| ≥ m: its ε is too small
    above: _TubeTrial | None = None  # the last one with Σ|β| ≤ m
    point = start
    trials = list[_TubeTrial]()
    for _ in range(SETTINGS.max_solves):
        if not 0.0 <= tube < np.inf:  # the point overflowed
            return None
        engines = EngineSearch(blocks, problem.with_tube(tube), SETTINGS.solve_gap, effort)
        engines.run("auto", None if point is None else point.beta, None if point is None else point.u)
        point = engines.best_point
        if engines.engine_used == "none" or effort.is_late():
            return None
        trial = _TubeTrial(tube, float(np.abs(point.beta).sum()), point)
        trials.append(trial)
        if trial.mass >= problem.mass:
            below = trial
        if trial.mass <= problem.mass:
            above = trial
        effort.report("tube", problem.n, point.gap)
        if below is not None and above is not None and below.mass - above.mass <= SETTINGS.max_bracket * problem.mass:
            return _interpolate_start(below, above, problem.mass)
        if below is None and tube == 0.0:
            return point.beta, point.u
        tube = _choose_next_tube(problem, below, above, trials)
    if below is None or above is None:
        return None
    return _interpolate_start(below, above, problem.mass)


def _estimate_first_tube(blocks: GramBlocks, problem: KernelDual, effort: Effort) -> float:
    """Return ε of u = 0; for many rows that of a solved subset, whose penalties are scaled to the total of all rows."""
    if problem.n <= SETTINGS.subset_rows:
        return problem.compute_multipliers(np.zeros(problem.n)).tube
    rows = np.sort(np.random.default_rng(0).permutation(problem.n)[: SETTINGS.subset_rows])
    share = float(problem.high[rows].sum()) / float(problem.high.sum())
    subset = problem.restrict_rows(rows).scale_by(1.0 / share)
    subset_blocks = GramBlocks(len(rows), blocks.width, blocks.compute_symmetric(rows))
    start = find_tube_start(subset_blocks, subset, effort)
    return subset.compute_multipliers(np.zeros(subset.n) if start is None else start[1]).tube


@dataclass(frozen=True, eq=False)
class _TubeTrial:
    """A solved ε-SVR: its ε, Σ|β|, and solution."""

    tube: float
    mass: float
    point: KernelPoint


def _choose_next_tube(
    problem: KernelDual, below: _TubeTrial | None, above: _TubeTrial | None, trials: list[_TubeTrial]
) -> float:
    """Choose the next ε: within the bracket, or beyond its known end."""
    assert problem.mass is not None
    last = trials[-1]
    if below is not None and above is not None:
        close = 0.5 * SETTINGS.max_bracket * problem.mass
        goal = problem.mass
        if goal - above.mass <= close:  # move the other end of the bracket near the target, too
            goal += 0.5 * close
        elif below.mass - goal <= close:
            goal -= 0.5 * close
        share = (below.mass - goal) / (below.mass - above.mass)
        inset = SETTINGS.inset if goal == problem.mass else SETTINGS.inset**2
        return below.tube + min(max(share, inset), 1.0 - inset) * (above.tube - below.tube)
    if below is None and last.tube <= SETTINGS.negligible_tube:
        return 0.0
    step = problem.compute_multipliers(last.point.u).tube - last.tube  # estimate from the residuals
    if len(trials) > 1 and trials[-2].mass != last.mass:  # secant step
        step = (problem.mass - last.mass) * (last.tube - trials[-2].tube) / (last.mass - trials[-2].mass)
    shortest = SETTINGS.min_step * last.tube + SETTINGS.negligible_tube
    length = max(SETTINGS.overshoot * abs(step), shortest)
    if below is not None:
        return last.tube + length
    return max(last.tube - length, 0.0)


def _interpolate_start(below: _TubeTrial, above: _TubeTrial, mass: float) -> tuple[FloatArray, FloatArray]:
    """Interpolate β and u by (KTUBE.2)."""
    if below.mass > above.mass:
        share = (below.mass - mass) / (below.mass - above.mass)
    else:
        share = 0.0
    first, last = below.point, above.point
    return first.beta + share * (last.beta - first.beta), first.u + share * (last.u - first.u)
