"""Two numbers of a result beside primal, dual and gap: how wide, and how many."""

from __future__ import annotations

import math

import numpy as np

from qpsvm.play.machines import Machine
from qpsvm.problems import EpsilonSVR, Problem
from qpsvm.result import SVMResult


def width(problem: Problem, result: SVMResult, machine: Machine, norm: float) -> float | None:
    """2ρ/‖w‖ of two classes, the tube 2ε, ρ, the radius R, or ‖w‖: what the machine's `width` names."""
    if machine.learnt == "labels":
        return 2.0 * result.rho / norm if norm > 0.0 else None
    if machine.learnt == "none":
        return next(iter(result.extras.values()))
    return 2.0 * half_tube(problem, result) if machine.tube else norm


def half_tube(problem: Problem, result: SVMResult) -> float:
    """ε of a regression: how far f may be from t at no price; 0 of a quantile."""
    if isinstance(problem, EpsilonSVR):
        return problem.epsilon
    return max(result.extras.get("epsilon", 0.0), 0.0)


def counted(problem: Problem, result: SVMResult, machine: Machine) -> float:
    """The share of the samples that are classified right, beyond the tube, below the quantile, or outside."""
    if machine.learnt == "labels":
        return float(np.mean((result.yf * problem.y > 0.0) == (problem.y > 0.0)))
    third = result.kind == 2
    if machine.learnt == "numbers" and not machine.tube:
        assert result.target is not None
        third &= result.target < result.yf[: len(result.kind)]
    if machine.learnt == "none":
        third &= result.xi > 0.0  # where w = 0, f is 0 everywhere
    return float(np.mean(third)) if len(third) else math.nan
