"""The solvers by name, in the order in which reports list them."""

from __future__ import annotations

from benchmarks.solvers.base import Curve, Entrant, Point, Rung, Said, SolverOrigin
from benchmarks.solvers.estimators import EstimatorEntrant
from benchmarks.solvers.grids import GridSolve, GridSVC, TorchKM
from benchmarks.solvers.machines import SVC, Liblinear, Libsvm, LinearSVC
from benchmarks.solvers.ours import BareBackend, Solve
from benchmarks.solvers.own import load_solver
from benchmarks.solvers.peers import ReHLine, Sklearnex, SnapML
from benchmarks.solvers.quadratic import QuadraticSolver
from benchmarks.solvers.regressions import CLASSES, LibsvmEstimator
from benchmarks.summary import BACKENDS, BARE, QP_SOLVERS
from benchmarks.tasks import Task
from qpsvm.base.errors import ParameterError

#: Those that take one machine.
ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Solve(),
        *(Solve(name) for name in BACKENDS),
        *(BareBackend(name) for name in BARE),
        SVC("c"),
        SVC("nu"),
        LinearSVC("LinearSVC"),
        *(LibsvmEstimator(kind) for kind in CLASSES),
        LinearSVC("LinearSVR"),
        Libsvm(),
        Liblinear(),
        Sklearnex("c"),
        Sklearnex("nu"),
        *(LibsvmEstimator(kind, "scikit-learn-intelex") for kind in ("SVR", "NuSVR")),
        ReHLine(),
        SnapML(),
        *(QuadraticSolver(name) for name in QP_SOLVERS),
        Solve(every_thread=True),
        SVC("c", every_thread=True),
        Sklearnex("c", every_thread=True),
    )
}
#: Those that take a grid of them, under the same names.
GRIDS: dict[str, Entrant] = {entrant.name: entrant for entrant in (GridSolve(), GridSVC(), TorchKM())}

#: Those that are estimators, the default tolerance of each first.
ESTIMATORS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        EstimatorEntrant("qpsvm", "qpsvm", "qpsvm.estimators", (1e-6, 1e-3)),
        EstimatorEntrant("scikit-learn", "scikit-learn", "sklearn.svm", (1e-3, 1e-6)),
        EstimatorEntrant("sklearnex", "scikit-learn-intelex", "sklearnex.svm", (1e-3, 1e-6)),
    )
}


def register_solver(origin: SolverOrigin) -> Entrant:
    """Load a solver from outside; from then on it is one of the entrants, for tasks of one machine.

    Raises
    ------
    QPSVMError
        What `loaded` says; or another solver has its name.
    """
    entrant = load_solver(origin)
    other = ENTRANTS.get(entrant.name)
    if entrant.name in (*GRIDS, *ESTIMATORS) or (other is not None and other.origin != origin):
        raise ParameterError(f"{origin} is called {entrant.name!r}, as another solver is: give it another name")
    return ENTRANTS.setdefault(entrant.name, entrant)


def find_entrant(name: str, task: Task) -> Entrant:
    """Find the solver of that name for such a task."""
    if task.estimator is not None:
        return ESTIMATORS[name]
    return ENTRANTS[name] if task.grid is None else GRIDS[name]


__all__ = [
    "ENTRANTS",
    "ESTIMATORS",
    "GRIDS",
    "Curve",
    "Entrant",
    "Point",
    "Rung",
    "Said",
    "SolverOrigin",
    "find_entrant",
    "register_solver",
]
