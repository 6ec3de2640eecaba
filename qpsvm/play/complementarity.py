"""The picture of complementarity: where α against y f (or t − f, or f) is at an optimum, as points of one path."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.play.figures import half_tube
from qpsvm.play.finite import number
from qpsvm.play.machines import Machine
from qpsvm.play.table import full_size
from qpsvm.problems import Problem
from qpsvm.result import SVMResult

#: A path that goes on for ever, upwards or downwards.
TOP, BOTTOM = "top", "bottom"
Point = tuple[float, float | str]


def path(problem: Problem, result: SVMResult, machine: Machine) -> dict[str, Any]:
    """The path from end to end: points (share of α, value), and the least share that is drawn."""
    sides = machine.learnt == "numbers"
    points = _two_sided(result, half_tube(problem, result)) if sides else _one_sided(result)
    return {
        "low": -1.0 if sides else 0.0,
        "path": [[share, at if isinstance(at, str) else number(at)] for share, at in points],
    }


def _one_sided(result: SVMResult) -> list[Point]:
    """α = 0 beyond the margin, then along it, and α at its bound behind it, or further and further behind."""
    level = float(result.margin[0]) if len(result.margin) else result.rho
    bounded = bool(np.isfinite(result.upper).all())
    drop = float(result.curvature.max(initial=0.0)) * full_size(result)
    end: list[Point] = [(1.0, BOTTOM)] if bounded else []
    return [(0.0, TOP), (0.0, level), (1.0, level - drop), *end]


def _two_sided(result: SVMResult, epsilon: float) -> list[Point]:
    """β from below f to above it, with the tube of half the width ε between."""
    n, full = len(result.kind), full_size(result)
    below, above = (float(side.max()) for side in (result.upper[n:], result.upper[:n]))
    if not np.isfinite(above):
        drop = float(result.curvature.max()) * full
        return [(-1.0, -epsilon - drop), (0.0, -epsilon), (0.0, epsilon), (1.0, epsilon + drop)]
    down, up = -below / full, above / full
    return [(down, BOTTOM), (down, -epsilon), (0.0, -epsilon), (0.0, epsilon), (up, epsilon), (up, TOP)]
