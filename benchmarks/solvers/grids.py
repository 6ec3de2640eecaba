"""Cross-validation over many C: every machine on all rows and on all folds, by this library, by SVC, by TorchKM.

`torchkm.estimators.TorchKMSVC` minimises (1/n) Σ max(0, 1 − y_i f(x_i)) + λ‖f‖², λ = 1/(2nC): the C-SVM's problem
with a free intercept. A fold that is held out keeps n and so C. It smooths the hinge loss, and its coefficients are
those of a primal point, not in the dual's box: f is judged, against the best dual value that is known. Its `rbf_sigma`
is half of γ. Its folds end at a tolerance of 1e-5 in the steps (`eps2`) that nobody can set, and where a KKT residual,
which is at most 1/n of any point in the box, is below 1e-3; with smaller ones the values of rows held out do approach
those of the exact machines. (Read in its code, version 4.3.2.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import qpsvm
from benchmarks.capture import captured
from benchmarks.samples import FloatArray
from benchmarks.solvers.base import Curve, Entrant, Point, Rung, Said
from benchmarks.solvers.machines import noted
from benchmarks.tasks import Machine, Task
from qpsvm.qp.solution import Status

#: What TorchKM is allowed in all: its default of 1000 for fifty C together ends before the second C, with a warning.
MOST_STEPS = 100_000
#: α of the machine on these rows, their f elsewhere, and whether it was solved.
Solved = tuple[Point, FloatArray, bool]
#: Rows, labels and others' rows to `Solved`, for one C.
Fit = Callable[[FloatArray, FloatArray, FloatArray, float], Solved]


class GridEntrant(Entrant):
    """One that takes grids."""

    def takes(self, task: Task) -> bool:
        return task.grid is not None and task.kernel == "rbf"

    def point(self, data: Machine, answer: Any) -> Curve:
        del data
        curve: Curve = answer
        return curve


def _one_after_the_other(data: Machine, fit: Fit) -> tuple[Curve, bool]:
    """Every C on all rows and on every fold, each from the beginning."""
    grid = data.task.grid
    assert grid is not None
    fold = grid.fold_of(len(data.y))
    held_out = np.zeros((len(data.y), len(grid.penalties)))
    points, every = [], True
    for k, C in enumerate(grid.penalties):
        point, _, solved = fit(data.X, data.y, data.X[:0], C)
        points.append(point)
        every &= solved
        for j in range(grid.folds):
            out = fold == j
            _, held_out[out, k], solved = fit(data.X[~out], data.y[~out], data.X[out], C)
            every &= solved
    return Curve(tuple(points), held_out), every


class SolveGrid(GridEntrant):
    """`qpsvm.solve` for every C and fold."""

    name = "qpsvm"
    package = "qpsvm"
    tolerances = (1e-3, 1e-6)

    def run(self, data: Machine, rung: Rung) -> tuple[Any, Said]:
        def fit(X: FloatArray, y: FloatArray, others: FloatArray, C: float) -> Solved:
            result = qpsvm.solve(qpsvm.CSVM(X, y, C, qpsvm.RBF(data.gamma)), tol=rung.tol or 1e-6, check=False)
            values = result.decision_function(others) if len(others) else np.zeros(0)
            return Point(result.alpha), values, result.status is Status.OPTIMAL

        curve, every = _one_after_the_other(data, fit)
        return curve, Said("optimal" if every else "not all optimal", every)


class SVCGrid(GridEntrant):
    """What `GridSearchCV` does with `sklearn.svm.SVC`, without what it costs around it."""

    name = "SVC"
    package = "scikit-learn"
    tolerances = (1e-3, 1e-6)

    def run(self, data: Machine, rung: Rung) -> tuple[Any, Said]:
        from sklearn.svm import SVC

        def fit(X: FloatArray, y: FloatArray, others: FloatArray, C: float) -> Solved:
            machine = SVC(C=C, gamma=data.gamma, tol=rung.tol).fit(X, y)
            alpha = np.zeros(len(y))
            alpha[machine.support_] = np.abs(machine.dual_coef_).ravel()
            values = machine.decision_function(others) if len(others) else np.zeros(0)
            return Point(alpha), values, machine.fit_status_ == 0

        curve, every = _one_after_the_other(data, fit)
        return curve, Said("fitted" if every else "not converged", every)


class TorchKM(GridEntrant):
    """`torchkm.estimators.TorchKMSVC` on the processor: one eigendecomposition for all C and all folds."""

    name = "torchkm"
    package = "torchkm"
    tolerances = (1e-5, 1e-6)

    def run(self, data: Machine, rung: Rung) -> tuple[Any, Said]:
        from torchkm.estimators import TorchKMSVC

        grid = data.task.grid
        assert grid is not None
        fitted = TorchKMSVC(
            kernel="rbf", Cs=np.array(grid.penalties), foldid=grid.fold_of(len(data.y)) + 1, cv=grid.folds,
            tol=rung.tol, max_iter=MOST_STEPS, rbf_sigma=data.gamma / 2, device="cpu", store_path=True,
        )  # fmt: skip
        with noted() as said, captured():
            fitted.fit(data.X, data.y)
        coefficients, held_out = fitted.alpmat_path_.numpy(), fitted.pred_path_.numpy()
        points = tuple(Point(coefficients=row[1:], b=float(row[0])) for row in coefficients.T)
        every = bool(np.all(fitted.converged_))
        words = "converged" if every else f"{int(np.sum(~fitted.converged_))} not converged"
        return Curve(points, held_out), Said(words, every, exhausted=not every, warned=said.warned)
