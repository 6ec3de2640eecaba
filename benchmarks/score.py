"""The one judge: how far any point of any solver is from the optimum, by this library's certificate.

A point with α is repaired to a feasible pair and its duality gap computed (`Problem.certify`), whoever found it. Where
a solver gives w and b only, its primal value is compared with the best dual value known: that of a certified solution
made here, a lower bound of the optimum whoever made it. This is the kinder way: its own dual point is not looked at.
"""

from __future__ import annotations

import numpy as np

import qpsvm
from benchmarks.solvers.base import Point
from benchmarks.tasks import Machine
from qpsvm.problems import Problem

#: The gap to which the lower bound of solvers without a dual point is made.
REFERENCE_TOL = 1e-10


class Judge:
    """Scores the points of one machine; the lower bound is made once, and only if it is needed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.problem: Problem = machine.problem()
        self._bound: float | None = None

    def gap(self, point: Point) -> tuple[float, str]:
        """Relative gap, and whose dual bound it is against: the point's "own", or the best "known"."""
        with np.errstate(all="ignore"):
            if point.alpha is not None:
                return float(self.problem.certify(point.alpha, point.w).gap), "own"
            if point.w is None:
                return np.inf, "own"
            return self._against_known(point), "known"

    def _against_known(self, point: Point) -> float:
        value = primal_value(self.machine, point)
        if self._bound is None:
            best = qpsvm.solve(self.problem, tol=REFERENCE_TOL, check=False)
            scale = self.machine.lam if self.machine.task.variant == "hinge" else 1.0
            self._bound = best.dual / scale
        return (value - self._bound) / max(abs(value), abs(self._bound))


def primal_value(machine: Machine, point: Point) -> float:
    """½‖w‖² (+ ½b² for a penalised intercept) + C Σ max(0, 1 − y_i (wᵀx_i + b))."""
    assert point.w is not None
    squares = float(point.w @ point.w) + (point.b**2 if machine.task.intercept == "penalised" else 0.0)
    margins = machine.y * (machine.X @ point.w + point.b)
    return 0.5 * squares + machine.task.C * float(np.maximum(0.0, 1.0 - margins).sum())
