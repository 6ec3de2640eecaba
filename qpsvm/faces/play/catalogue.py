"""What a page can choose from: machines, kernels and solvers, with their parameters and the ranges of these.

The kernels are those of the library that are functions of samples. The solvers are read off the library's registry
of backends: which of them counts iterations, and which machines it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from qpsvm import backends
from qpsvm.backends.abilities import machine_traits
from qpsvm.faces.play.machines import MACHINES, Parameter, toy
from qpsvm.space.kernels.functions import FUNCTIONS, RBF, Kernel, Linear
from qpsvm.space.kernels.functions import KERNELS as KERNEL_KINDS


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that a page can choose: `kind` is called with the parameters by their names, but for psd."""

    title: str
    formula: str
    kind: type[Kernel]
    parameters: tuple[Parameter, ...] = ()

    def make(self, values: Mapping[str, Any]) -> Kernel:
        """The kernel with these parameters."""
        return self.kind(**{name: value for name, value in values.items() if name != "psd"})


PSD = Parameter("psd", "choice", "raise", choices=("raise", "clip", "shift"))
#: The parameters of kernels by their names; and r of a polynomial, which is positive semidefinite for r ≥ 0 only.
PARAMETERS = {
    "degree": Parameter("degree", "linear", 3, 1, 6, accepts=(1, 20), step=1),
    "gamma": Parameter("gamma", "log", 1.0, 0.01, 100.0),
    "coef0": Parameter("coef0", "linear", 0.0, -2.0, 2.0, accepts=(-1e6, 1e6)),
    "polynomial coef0": Parameter("coef0", "linear", 1.0, 0.0, 4.0, accepts=(0.0, 1e6)),
}


def _choice(name: str) -> KernelChoice:
    kind = KERNEL_KINDS[name]
    own = [PARAMETERS.get(f"{name} {each}", PARAMETERS[each]) for each in FUNCTIONS[name]]
    return KernelChoice(
        "RBF" if name == "rbf" else name, kind.formula, kind, (*own, *(() if kind().is_psd else (PSD,)))
    )


KERNELS = {name: _choice(name) for name in FUNCTIONS}


#: The solvers whose way is worth a look, and what each does, for people. (One that arrives in one step has no way.)
ABOUT = {
    "dual_ascent": "projected gradient on the dual: a step along the gradient, then back into the box and onto yᵀα = 0",
    "osqp": "operator splitting (ADMM): cheap steps, by turns onto a linear system and the constraints",
    "interior_point": "Newton's method on relaxed KKT conditions: about a dozen expensive steps, all inside the box",
    "subgradient": "subgradient descent on the hinge form of the primal: it never sees α, and is slow near the end",
    "augmented_lagrangian": "Newton steps on an augmented Lagrangian of the dual: few, each on the rows that matter",
    "cvxopt": "a general interior-point method for cone programs",
    "slsqp": "sequential least squares, a general method for smooth problems: small problems only",
}
#: How those are written whose names are not words.
WRITTEN = {"osqp": "OSQP", "cvxopt": "CVXOPT", "slsqp": "SLSQP"}


@cache
def solvers() -> dict[str, dict[str, Any]]:
    """The backends that can be ended after so many iterations, and are installed, by name."""
    found: dict[str, dict[str, Any]] = {}
    for solver, about in ABOUT.items():
        backend = backends.get(solver)
        if backend.abilities.grants("max_iter") and backend.version() is not None:
            takes = [name for name in MACHINES if _takes(backend, name)]
            title = WRITTEN.get(solver, solver.replace("_", " "))
            found[solver] = {"title": title, "about": about, "machines": takes}
    return found


def _takes(backend: backends.Backend, machine: str) -> bool:
    """Whether a backend takes a machine, with a linear kernel or another, in the form that it would choose."""
    values = {parameter.name: parameter.default for parameter in MACHINES[machine].parameters}
    for kernel in (Linear(), RBF(1.0)):
        problem = toy(machine, values, kernel)
        form = backend.preferred_form(problem.space.is_linear)
        if backend.refuse(machine_traits(problem), problem.n, form) is None:
            return True
    return False


def to_json() -> dict[str, Any]:
    """Machines, kernels and solvers for the page."""
    return {
        "machines": [{"name": name, **each.to_json()} for name, each in MACHINES.items()],
        "kernels": [
            {"name": name, "title": each.title, "formula": each.formula,
             "parameters": [p.to_json() for p in each.parameters]}
            for name, each in KERNELS.items()
        ],
        "solvers": [{"name": name, **each} for name, each in solvers().items()],
    }  # fmt: skip
