"""The solvers by name, in the order in which reports list them."""

from __future__ import annotations

from benchmarks.solvers.base import Curve, Entrant, Origin, Point, Rung, Said
from benchmarks.solvers.estimators import Estimators
from benchmarks.solvers.grids import GridSolve, GridSVC, TorchKM
from benchmarks.solvers.machines import SVC, Liblinear, Libsvm, LinearSVC
from benchmarks.solvers.ours import Bare, Solve
from benchmarks.solvers.own import loaded
from benchmarks.solvers.peers import ReHLine, Sklearnex, SnapML
from benchmarks.solvers.quadratic import QuadraticSolver
from benchmarks.solvers.regressions import CLASSES, OfLibsvm
from benchmarks.summary import BACKENDS, BARE, QP_SOLVERS
from benchmarks.tasks import Task
from qpsvm.base.errors import ParameterError

#: Those that take one machine.
ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Solve(), *(Solve(name) for name in BACKENDS), *(Bare(name) for name in BARE),
        SVC("c"), SVC("nu"), LinearSVC("LinearSVC"), *(OfLibsvm(kind) for kind in CLASSES), LinearSVC("LinearSVR"),
        Libsvm(), Liblinear(), Sklearnex("c"), Sklearnex("nu"),
        *(OfLibsvm(kind, "scikit-learn-intelex") for kind in ("SVR", "NuSVR")), ReHLine(), SnapML(),
        *(QuadraticSolver(name) for name in QP_SOLVERS),
        Solve(every_thread=True), SVC("c", every_thread=True), Sklearnex("c", every_thread=True),
    )
}  # fmt: skip
#: Those that take a grid of them, under the same names.
GRIDS: dict[str, Entrant] = {entrant.name: entrant for entrant in (GridSolve(), GridSVC(), TorchKM())}

#: Those that are estimators, the default tolerance of each first.
ESTIMATORS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Estimators("qpsvm", "qpsvm", "qpsvm.estimators", (1e-6, 1e-3)),
        Estimators("scikit-learn", "scikit-learn", "sklearn.svm", (1e-3, 1e-6)),
        Estimators("sklearnex", "scikit-learn-intelex", "sklearnex.svm", (1e-3, 1e-6)),
    )
}


def enter(origin: Origin) -> Entrant:
    """Load a solver from outside; from then on it is one of the entrants, for tasks of one machine.

    Raises
    ------
    QPSVMError
        What `loaded` says; or another solver has its name.
    """
    entrant = loaded(origin)
    other = ENTRANTS.get(entrant.name)
    if entrant.name in (*GRIDS, *ESTIMATORS) or (other is not None and other.origin != origin):
        raise ParameterError(f"{origin} is called {entrant.name!r}, as another solver is: give it another name")
    return ENTRANTS.setdefault(entrant.name, entrant)


def entrant_of(name: str, task: Task) -> Entrant:
    """Who goes by that name on such a task."""
    if task.estimator is not None:
        return ESTIMATORS[name]
    return ENTRANTS[name] if task.grid is None else GRIDS[name]


__all__ = [
    "ENTRANTS",
    "ESTIMATORS",
    "GRIDS",
    "Curve",
    "Entrant",
    "Origin",
    "Point",
    "Rung",
    "Said",
    "enter",
    "entrant_of",
]
