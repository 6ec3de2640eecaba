"""The solvers by name, in the order in which reports list them."""

from __future__ import annotations

from benchmarks.solvers.base import Entrant, Point, Rung, Said
from benchmarks.solvers.machines import SVC, Liblinear, Libsvm, LinearSVC
from benchmarks.solvers.ours import Bare, Solve
from benchmarks.solvers.quadratic import INTERFACES, QuadraticSolver

OWN = ("cvxopt", "osqp", "cvxpy", "augmented_lagrangian", "interior_point", "kernel_newton", "libsvm", "slsqp",
       "dual_ascent", "subgradient")  # fmt: skip
BARE = ("interior_point", "augmented_lagrangian", "slsqp", "dual_ascent", "subgradient")

ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Solve(), *(Solve(name) for name in OWN), *(Bare(name) for name in BARE),
        SVC("c"), SVC("nu"), LinearSVC(), Libsvm(), Liblinear(), *(QuadraticSolver(name) for name in INTERFACES),
    )
}  # fmt: skip

__all__ = ["BARE", "ENTRANTS", "INTERFACES", "OWN", "Entrant", "Point", "Rung", "Said"]
