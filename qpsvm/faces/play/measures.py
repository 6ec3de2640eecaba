"""Measure the width of the margin or tube, and the share of samples that are correct or outside, for the page."""

from __future__ import annotations

import math

import numpy as np

from qpsvm.faces.play.machine_catalogue import PageMachine
from qpsvm.faces.plotting.tube import find_half_width
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult


def measure_width(problem: Problem, result: SVMResult, machine: PageMachine, norm: float) -> float | None:
    """Measure what the machine's `width` names: 2ρ/‖w‖ of two classes, the tube 2ε, ρ, the radius R, or ‖w‖."""
    if machine.learnt == "labels":
        return 2.0 * result.rho / norm if norm > 0.0 else None
    if machine.learnt == "none":
        return next(iter(result.extras.values()))
    return 2.0 * find_half_width(problem, result) if machine.tube else norm


def compute_sample_share(problem: Problem, result: SVMResult, machine: PageMachine) -> float:
    """Compute the fraction of samples that are correct, beyond the tube, below the quantile, or outside."""
    if machine.learnt == "labels":
        return float(np.mean((result.yf * problem.y > 0.0) == (problem.y > 0.0)))
    third = result.kind == 2
    if machine.learnt == "numbers" and not machine.tube:
        assert result.target is not None
        third &= result.target < result.yf[: len(result.kind)]
    if machine.learnt == "none":
        third &= result.xi > 0.0  # where w = 0, f is 0 everywhere
    return float(np.mean(third)) if len(third) else math.nan
