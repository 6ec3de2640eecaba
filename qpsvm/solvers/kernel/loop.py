"""The one loop of the kernel engines: choose rows W, solve on W, Newton steps on W, look outside, let rows join.

The engines differ in their first guess at W (`first`) and in a `Plan` of a few numbers. Whatever the guess was, the
answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.first import First
from qpsvm.solvers.kernel.newton_step import LARGEST_FREE_SET, most_moving
from qpsvm.solvers.kernel.working_set import WorkingSet


@dataclass(frozen=True)
class Stage:
    """A run of LIBSVM's loop, and the Newton steps after it."""

    #: In units of the margin.
    tolerance: float
    #: Few iterations: Newton steps go on from there.
    short: bool = False
    #: After a loose loop Newton steps are worth their factorisation where few more rows than the free ones can move,
    #: and always where at most so many can.
    crowd: int = LARGEST_FREE_SET


@dataclass(frozen=True)
class Plan:
    """How the loop goes on from a first guess."""

    #: Each begins where the one before fell short of the target.
    stages: tuple[Stage, ...]
    #: K_WW in single precision.
    rough: bool = False
    #: The largest tolerance after rows have joined.
    again: float = np.inf
    #: After so many iterations a row another stage would be as long: Newton steps with patience go on.
    wearisome: float = np.inf


def solve_from(
    blocks: KernelBlocks, problem: KernelDual, first: First, plan: Plan, target: float, effort: Effort
) -> DualPoint | None:
    """Solve over all rows, to a relative gap; None where time runs out before any point is known."""
    W = WorkingSet(blocks, problem, first, effort, plan.rough)
    best = W.sharpen(target) if first.known else None
    for stage in plan.stages:
        before = effort.iterations
        if best is not None and (best.gap <= target or effort.over()):
            break
        if best is not None and problem.untubed(best):
            break
        if stage.tolerance >= W.tolerance:
            continue
        if not W.settle(stage.tolerance, plan.again, stage.short):
            break
        if plan.rough:
            point = W.near(target)
        else:
            point = W.exact(target) or W.sharpen(target, max(most_moving(problem, W.beta), stage.crowd))
        best = point if best is None or point.gap < best.gap else best
        if effort.iterations - before > plan.wearisome * problem.n:
            break
    return best


__all__ = ["Plan", "Stage", "solve_from"]
