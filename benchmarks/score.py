"""The one judge: how far any point of any solver is from the optimum, by this library's certificate.

A point with α is repaired to a feasible pair and its duality gap computed (`Problem.certify`), whoever found it. Where
a solver gives w and b only, its primal value is compared with the best dual value known: that of a certified solution
made here, a lower bound of the optimum whoever made it. This is the kinder way: its own dual point is not looked at.

A grid is scored by the worst of its machines on all rows, and by how far its cross-validated errors are from the true
ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

import qpsvm
from benchmarks.samples import FloatArray
from benchmarks.solvers import ESTIMATORS
from benchmarks.solvers.base import Point, Rung
from benchmarks.solvers.fitted import iter_machines, take_fitted_rows, take_held_out_rows
from benchmarks.summary import OURS
from benchmarks.tasks import BenchmarkMachine
from qpsvm.machines import Problem

#: The gap to which the lower bound of solvers without a dual point is made.
REFERENCE_TOL = 1e-10
#: And that of the machines whose cross-validated errors are held to be true.
FOLD_TOL = 1e-8
#: And that of the estimators whose predictions are.
EXACT_TOL = 1e-9
#: A machine of a grid is said to be right up to this gap.
RIGHT_GAP = 1e-3


class Judge:
    """Scores the points of one machine; the lower bound is made once, and only if it is needed."""

    def __init__(self, machine: BenchmarkMachine) -> None:
        self.machine = machine
        self.problem: Problem = machine.build_problem()
        self._bound: float | None = None

    def score(self, point: Any) -> dict[str, Any]:
        """What the record keeps of it."""
        gap, bound = self.compute_gap(point)
        return {"gap": gap, "bound": bound}

    def compute_gap(self, point: Point) -> tuple[float, str]:
        """Relative gap, and whose dual bound it is against: the point's "own", or the best "known"."""
        with np.errstate(all="ignore"):
            if point.alpha is not None:
                w = point.w if self.problem._f_scale == 1.0 else None  # whose f is not that of the dual
                return float(self.problem.certify(point.alpha, w).gap), "own"
            if point.w is None and point.coefficients is None:
                return np.inf, "own"
            return self._compute_known_gap(point), "known"

    def _compute_known_gap(self, point: Point) -> float:
        value = compute_primal_value(self.machine, point)
        if self._bound is None:
            best = qpsvm.solve(self.problem, tol=REFERENCE_TOL, check=False)
            scale = self.machine.lam if self.machine.task.variant == "hinge" else 1.0
            self._bound = best.dual / scale
        return (value - self._bound) / max(abs(value), abs(self._bound))


def compute_primal_value(machine: BenchmarkMachine, point: Point) -> float:
    """½‖f‖² (+ ½b² for a penalised intercept) + the loss of f(x_i) + b, f linear or by coefficients."""
    if point.w is not None:
        values = machine.X @ point.w
        squares = float(point.w @ point.w)
    else:
        assert point.coefficients is not None
        values = qpsvm.RBF(machine.gamma)(machine.X, machine.X) @ point.coefficients
        squares = float(point.coefficients @ values)
    squares += point.b**2 if machine.task.intercept == "penalised" else 0.0
    return 0.5 * squares + machine.task.C * float(compute_losses(machine, values + point.b).sum())


def compute_losses(machine: BenchmarkMachine, f: FloatArray) -> FloatArray:
    """Compute the loss of every row at f (n,), in units of C: (n,). Written from the textbook, not from our duals."""
    task = machine.task
    slack = np.maximum(0.0, 1.0 - machine.y * f)
    missed = machine.y - f
    match task.variant:
        case "c" | "hinge":
            return slack
        case "squared-hinge":
            return slack**2
        case "huber-hinge":
            return np.where(slack < task.width, slack**2 / (2.0 * task.width), slack - task.width / 2.0)
        case "epsilon-svr":
            return np.maximum(0.0, np.abs(missed) - task.epsilon)
        case "quantile-svr":
            return np.maximum(task.quantile * missed, (task.quantile - 1.0) * missed)
    raise ValueError(f"no loss of {task.variant} is written down here: its solvers are judged by α")


class GridJudge:
    """Scores grids: the machines on all rows by their gaps, the folds by the errors of prediction."""

    def __init__(self, machine: BenchmarkMachine) -> None:
        self.machine = machine
        self._judges = [Judge(replace(machine, task=replace(machine.task, C=C))) for C in machine.grid.penalties]

    def score(self, curve: Any) -> dict[str, Any]:
        """The worst and the median gap, how many machines are right, the largest error of a cross-validated error."""
        found = [judge.compute_gap(point) for judge, point in zip(self._judges, curve.points, strict=True)]
        gaps = [gap for gap, _ in found]
        rows = len(self.machine.y)
        off = np.rint(np.max(np.abs(curve.errors - self._exact_errors)) * rows) / rows
        return {
            "gap": max(gaps), "bound": found[0][1], "median_gap": float(np.median(gaps)),
            "right": sum(gap <= RIGHT_GAP for gap in gaps), "machines": len(gaps), "error_off": float(off),
        }  # fmt: skip

    @cached_property
    def _exact_errors(self) -> FloatArray:
        """Share of the rows that certified machines predict wrongly when they are held out (k,), one by one."""
        X = self.machine.X
        y = self.machine.y
        grid = self.machine.grid
        fold = grid.assign_folds(len(y))
        wrong = np.zeros(len(grid.penalties))
        for k, C in enumerate(grid.penalties):
            for j in range(grid.folds):
                out = fold == j
                problem = qpsvm.CSVM(X[~out], y[~out], C, qpsvm.RBF(self.machine.gamma))
                values = qpsvm.solve(problem, tol=FOLD_TOL, check=False).decision_function(X[out])
                wrong[k] += np.sum(np.sign(values) != y[out])
        return wrong / len(y)


class EstimatorJudge:
    """Scores estimators: each of their machines by its gap, and what they predict by exact machines' predictions."""

    def __init__(self, machine: BenchmarkMachine) -> None:
        self.machine = machine
        self._part = take_fitted_rows(machine)
        self._judges = [Judge(each) for each in iter_machines(self._part)]

    def score(self, fitted: Any) -> dict[str, Any]:
        """The worst and the median gap, the seconds of predictions, and how far these are from the exact ones.

        That is a share of the rows that are held out, or of numbers the largest difference; the targets have deviation
        1. `right` is the share of the rows that are predicted rightly, or R².
        """
        found = [judge.compute_gap(point) for judge, point in zip(self._judges, fitted.points, strict=True)]
        gaps = [gap for gap, _ in found]
        _, y = take_held_out_rows(self.machine)
        off = fitted.predicted - self._exact_predictions
        numbers = self.machine.is_regression
        if numbers:
            missed = np.mean((fitted.predicted - y) ** 2) / np.var(y)
        else:
            missed = np.mean(fitted.predicted != y)
        novelty = self.machine.task.variant == "one-class"  # there is nothing that would be right
        return {
            "gap": max(gaps), "bound": found[0][1], "median_gap": float(np.median(gaps)), "machines": len(gaps),
            "predicting": fitted.predicting, "one_row": fitted.one_row,
            "right": None if novelty else float(1.0 - missed),
            "off": float(np.max(np.abs(off)) if numbers else np.mean(off != 0.0)),
        }  # fmt: skip

    @cached_property
    def _exact_predictions(self) -> FloatArray:
        """What our estimator predicts of the rows held out, asked for a gap that is certified to be small."""
        exact = ESTIMATORS[OURS]
        data = exact.prepare(self.machine)
        answer, _ = exact.run(data, Rung(tol=EXACT_TOL))
        return np.asarray(answer.predict(data[1][0]), dtype=float)


def choose_judge(machine: BenchmarkMachine) -> Judge | GridJudge | EstimatorJudge:
    """The judge of such a task."""
    if machine.task.estimator is not None:
        return EstimatorJudge(machine)
    return Judge(machine) if machine.task.grid is None else GridJudge(machine)
