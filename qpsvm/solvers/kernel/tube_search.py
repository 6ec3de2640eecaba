"""ν-SVR of many rows: ε-SVRs, until one has nearly the Σ|β| that is asked for.

    (KTUBE.1)  Σ|β| of the ε-SVR falls as ε grows, and β is piecewise linear in ε
    (KTUBE.2)  so between two values of ε that lie near each other and on both sides, the point in between with
               Σ|β| = m is feasible, and nearly the solution;  its u is that combination of theirs

The first ε is estimated with the rows (`nystrom`), every ε-SVR starts from the one before, and Newton steps with both
sums fixed go on from (KTUBE.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import DualPoint, Edges, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import Engines
from qpsvm.solvers.kernel.nystrom import nystrom_estimate


@dataclass(frozen=True)
class Settings:
    """Constants of the search."""

    #: The gap of each ε-SVR.
    gap: float = 1e-4
    #: The two sides are near each other where their Σ|β| differ by this share of m; and so many ε-SVRs at most.
    near: float = 0.03
    most: int = 10
    #: A step from one side goes so many times as far as the residuals say, or the two last ε: beyond m, because u
    #: follows. But it is at least and at most such a share of ε, and besides: an ε that is hardly anything, in units of
    #: the spread of the targets.
    beyond: float = 1.5
    least: float = 0.2
    largest: float = 3.0
    hardly: float = 2e-3
    #: A step within a bracket stays away from its ends by this share of its width; by its square where an end is near.
    inset: float = 0.05


SETTINGS = Settings()


def tube_start(
    blocks: KernelBlocks, problem: KernelDual, effort: Effort, start: DualPoint | None = None
) -> tuple[FloatArray, FloatArray] | None:
    """(KTUBE.2): β and u, (n,), rough; None where time runs out, or the search leads nowhere.

    Where no tube is needed, (KDUAL.8), β is that of ε = 0, with a smaller Σ|β|.
    """
    assert problem.mass is not None
    estimate = None if start is not None else nystrom_estimate(blocks, problem, effort)
    if estimate is None and start is None:
        return None
    tube = start.tube if estimate is None else estimate.tube  # type: ignore[union-attr]
    below: _Tried | None = None  # Σ|β| > m
    above: _Tried | None = None
    point, tries = start, list[_Tried]()
    for _ in range(SETTINGS.most):
        engines = Engines(blocks, problem.with_tube(Edges(0.0, tube)), SETTINGS.gap, effort)
        engines.estimate, estimate = estimate, None
        engines.run("auto", None if point is None else point.beta, None if point is None else point.u)
        point = engines.best
        if engines.used == "none" or effort.late():
            return None
        tried = _Tried(tube, float(np.abs(point.beta).sum()), point)
        tries.append(tried)
        if tried.mass >= problem.mass:
            below = tried
        if tried.mass <= problem.mass:
            above = tried
        effort.report("tube", problem.n, point.gap)
        if below is not None and above is not None and below.mass - above.mass <= SETTINGS.near * problem.mass:
            return _between(below, above, problem.mass)
        if below is None and tube == 0.0:
            return point.beta, point.u
        tube = _next(problem, below, above, tries)
    return None if below is None or above is None else _between(below, above, problem.mass)


@dataclass(frozen=True, eq=False)
class _Tried:
    """An ε-SVR: its ε, its Σ|β|, and its solution."""

    tube: float
    mass: float
    point: DualPoint


def _next(problem: KernelDual, below: _Tried | None, above: _Tried | None, tried: list[_Tried]) -> float:
    """The next ε: between two sides, or on from one of them."""
    assert problem.mass is not None
    last = tried[-1]
    if below is not None and above is not None:
        close, goal = 0.5 * SETTINGS.near * problem.mass, problem.mass
        if goal - above.mass <= close:  # the other side is to come near, too
            goal += 0.5 * close
        elif below.mass - goal <= close:
            goal -= 0.5 * close
        share = (below.mass - goal) / (below.mass - above.mass)
        inset = SETTINGS.inset if goal == problem.mass else SETTINGS.inset**2
        return below.tube + min(max(share, inset), 1.0 - inset) * (above.tube - below.tube)
    if below is None and last.tube <= SETTINGS.hardly:
        return 0.0
    step = problem.edges(last.point.u).tube - last.tube  # what the residuals say
    if len(tried) > 1 and tried[-2].mass != last.mass:
        step = (problem.mass - last.mass) * (last.tube - tried[-2].tube) / (last.mass - tried[-2].mass)
    least, most = SETTINGS.least * last.tube + SETTINGS.hardly, SETTINGS.largest * last.tube + SETTINGS.hardly
    far = min(max(SETTINGS.beyond * abs(step), least), most)
    return last.tube + far if below is not None else max(last.tube - far, 0.0)


def _between(below: _Tried, above: _Tried, mass: float) -> tuple[FloatArray, FloatArray]:
    """(KTUBE.2)."""
    share = (below.mass - mass) / (below.mass - above.mass) if below.mass > above.mass else 0.0
    first, last = below.point, above.point
    return first.beta + share * (last.beta - first.beta), first.u + share * (last.u - first.u)


__all__ = ["tube_start"]
