"""Cross-validation over many C: every machine on all rows and on all folds, by this library, by SVC, by TorchKM.

`torchkm.estimators.TorchKMSVC` minimises (1/n) Σ max(0, 1 − y_i f(x_i)) + λ‖f‖², λ = 1/(2nC): the C-SVM's problem
with a free intercept. A fold that is held out keeps n and so C. It smooths the hinge loss, and its coefficients are
those of a primal point, not in the dual's box: f is judged, against the best dual value that is known. Its `rbf_sigma`
is half of γ. Its folds end at a tolerance of 1e-5 in the steps (`eps2`) that nobody can set, and where a KKT residual,
which is at most 1/n of any point in the box, is below 1e-3; with smaller ones the values of rows held out do approach
those of the exact machines. (Read in its code, version 4.3.2.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import qpsvm
from benchmarks.capture import capture_output
from benchmarks.samples import FloatArray
from benchmarks.solvers.base import Curve, Entrant, Point, Rung, Said
from benchmarks.solvers.machines import record_convergence
from benchmarks.tasks import BenchmarkMachine, Task
from qpsvm.program.status import Status

#: Steps of TorchKM for all C together: no limit but time. Its default of 1000 ends at the first of fifty C, with a
#: warning, and leaves zeros for the others.
MAX_STEPS = 10_000_000


class GridEntrant(Entrant):
    """One that takes grids."""

    def accepts(self, task: Task) -> bool:
        return task.grid is not None and task.kernel == "rbf"

    def point(self, data: BenchmarkMachine, answer: Any) -> Curve:
        del data
        curve: Curve = answer
        return curve


def compute_errors(values: FloatArray, y: FloatArray) -> FloatArray:
    """Share of the rows whose values (n, k) have the wrong sign (k,)."""
    errors: FloatArray = np.mean(np.sign(values) != y[:, None], axis=0)
    return errors


class GridSolve(GridEntrant):
    """`qpsvm.path` over all rows, and `qpsvm.cross_validate`."""

    name = "qpsvm"
    package = "qpsvm"
    tolerances = (1e-3, 1e-6)

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        grid = data.grid
        fold = grid.assign_folds(len(data.y))
        parts = [(np.flatnonzero(fold != j), np.flatnonzero(fold == j)) for j in range(grid.folds)]
        tol = rung.tol or 1e-6
        path = qpsvm.path(data.build_problem(), C=grid.penalties, tol=tol, check=False)
        found: Any = qpsvm.cross_validate(data.build_problem(), C=grid.penalties, folds=parts, tol=tol, check=False)
        sizes = np.array([len(out) for _, out in parts])
        errors = 1.0 - sizes @ found.scores / len(data.y)
        every = all(result.status is Status.OPTIMAL for result in path) and bool((found.status == "optimal").all())
        points = tuple(Point(result.alpha) for result in path)
        return Curve(points, errors), Said("optimal" if every else "not all optimal", every)


class GridSVC(GridEntrant):
    """What `GridSearchCV` does with `sklearn.svm.SVC`, less what it costs around it; and machines on all rows."""

    name = "SVC"
    package = "scikit-learn"
    tolerances = (1e-3, 1e-6)

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        grid = data.grid
        fold = grid.assign_folds(len(data.y))
        held_out = np.zeros((len(data.y), len(grid.penalties)))
        points = []
        every = True
        for k, C in enumerate(grid.penalties):
            machine = self._fit_svc(data, np.ones(len(data.y), dtype=bool), C, rung)
            alpha = np.zeros(len(data.y))
            alpha[machine.support_] = np.abs(machine.dual_coef_).ravel()
            points.append(Point(alpha))
            every &= machine.fit_status_ == 0
            for j in range(grid.folds):
                machine = self._fit_svc(data, fold != j, C, rung)
                held_out[fold == j, k] = machine.decision_function(data.X[fold == j])
                every &= machine.fit_status_ == 0
        said = Said("fitted" if every else "not converged", every)
        return Curve(tuple(points), compute_errors(held_out, data.y)), said

    @staticmethod
    def _fit_svc(data: BenchmarkMachine, rows: NDArray[np.bool_], C: float, rung: Rung) -> Any:
        from sklearn.svm import SVC

        return SVC(C=C, gamma=data.gamma, tol=rung.tol).fit(data.X[rows], data.y[rows])


class TorchKM(GridEntrant):
    """`torchkm.estimators.TorchKMSVC` on the processor: one eigendecomposition for all C and all folds."""

    name = "torchkm"
    package = "torchkm"
    tolerances = (1e-4, 1e-5)

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        from torchkm.estimators import TorchKMSVC

        grid = data.grid
        fitted = TorchKMSVC(
            kernel="rbf", Cs=np.array(grid.penalties), foldid=grid.assign_folds(len(data.y)) + 1, cv=grid.folds,
            tol=rung.tol, max_iter=MAX_STEPS, rbf_sigma=data.gamma / 2, device="cpu", store_path=True,
        )  # fmt: skip
        with record_convergence() as said, capture_output():
            fitted.fit(data.X, data.y)
        coefficients, held_out = fitted.alpmat_path_.numpy(), fitted.pred_path_.numpy()
        points = tuple(Point(coefficients=row[1:], b=float(row[0])) for row in coefficients.T)
        every = bool(np.all(fitted.converged_))
        if every:
            words = "converged"
        else:
            words = f"{int(np.sum(~fitted.converged_))} not converged"
        return Curve(points, compute_errors(held_out, data.y)), Said(
            words, every, exhausted=not every, warned=said.warned
        )
