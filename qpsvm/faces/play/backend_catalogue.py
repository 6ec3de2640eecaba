"""List the solvers that the page can choose, from the library's registry of backends (`list_solvers`)."""

from __future__ import annotations

from functools import cache
from typing import Any

from qpsvm import backends
from qpsvm.backends.traits import find_problem_traits
from qpsvm.faces.play.machine_catalogue import MACHINES, build_toy_problem
from qpsvm.space.kernels.functions import RBF, Linear

#: The solvers whose way is worth a look, and what each does, for people. (One that arrives in one step has no way.)
SOLVER_DESCRIPTIONS = {
    "dual_ascent": "projected gradient on the dual: a step along the gradient, then back into the box and onto yᵀα = 0",
    "osqp": "operator splitting (ADMM): cheap steps, by turns onto a linear system and the constraints",
    "interior_point": "Newton's method on relaxed KKT conditions: about a dozen expensive steps, all inside the box",
    "subgradient": "subgradient descent on the hinge form of the primal: it never sees α, and is slow near the end",
    "augmented_lagrangian": "Newton steps on an augmented Lagrangian of the dual: few, each on the rows that matter",
    "cvxopt": "a general interior-point method for cone programs",
    "slsqp": "sequential least squares, a general method for smooth problems: small problems only",
}
#: How those are written whose names are not words.
SOLVER_TITLES = {"osqp": "OSQP", "cvxopt": "CVXOPT", "slsqp": "SLSQP"}


@cache
def list_solvers() -> dict[str, dict[str, Any]]:
    """List the installed backends that support an iteration limit, by name."""
    found: dict[str, dict[str, Any]] = {}
    for solver, about in SOLVER_DESCRIPTIONS.items():
        backend = backends.get(solver)
        if backend.abilities.supports("max_iter") and backend.version() is not None:
            takes = [name for name in MACHINES if _accepts(backend, name)]
            title = SOLVER_TITLES.get(solver, solver.replace("_", " "))
            found[solver] = {"title": title, "about": about, "machines": takes}
    return found


def _accepts(backend: backends.Backend, machine: str) -> bool:
    """Return whether a backend accepts a machine, with a linear or another kernel, in the form that it would choose."""
    values = {parameter.name: parameter.default for parameter in MACHINES[machine].parameters}
    for kernel in (Linear(), RBF(1.0)):
        problem = build_toy_problem(machine, values, kernel)
        form = backend.find_preferred_form(problem.space.is_linear)
        if backend.explain_refusal(find_problem_traits(problem), problem.n, form) is None:
            return True
    return False
