"""The solvers by name, in the order in which reports list them."""

from __future__ import annotations

from benchmarks.solvers.base import Entrant, Point, Rung, Said
from benchmarks.solvers.machines import SVC, Liblinear, Libsvm, LinearSVC
from benchmarks.solvers.ours import Bare, Solve
from benchmarks.solvers.quadratic import QuadraticSolver
from benchmarks.summary import BACKENDS, BARE, QP_SOLVERS

ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Solve(), *(Solve(name) for name in BACKENDS), *(Bare(name) for name in BARE),
        SVC("c"), SVC("nu"), LinearSVC(), Libsvm(), Liblinear(), *(QuadraticSolver(name) for name in QP_SOLVERS),
    )
}  # fmt: skip

__all__ = ["ENTRANTS", "Entrant", "Point", "Rung", "Said"]
