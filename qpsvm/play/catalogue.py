"""What a page can choose from: machines, kernels and solvers, with their parameters and the ranges of these.

A new machine is an entry of `MACHINES`, a new kernel one of `KERNELS`. The solvers are read off the library's registry
of backends: which of them counts iterations, and which machines it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qpsvm import backends
from qpsvm.arrays.types import FloatArray
from qpsvm.choice import machine_traits
from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.play.checks import as_choice, as_number, as_object, as_whole
from qpsvm.problems import CSVM, HardMargin, NuSVM, PrimalHinge, Problem

#: What a positive parameter may be, far beyond what a slider shows.
POSITIVE = (1e-12, 1e12)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a machine or kernel.

    Attributes
    ----------
    name, symbol : str
        The name of the library's argument, and how it is written in an equation.
    scale : "log", "linear" or "choice"
        How a control moves through its values.
    default : number or str
    low, high : float, optional
        The ends of the control.
    accepts : (float, float)
        What a request may ask for, which is more than a control shows.
    step : float, optional
        1 for whole numbers.
    choices : tuple, optional
        The values of a choice.
    """

    name: str
    symbol: str
    scale: Literal["log", "linear", "choice"]
    default: Any
    low: float | None = None
    high: float | None = None
    accepts: tuple[float, float] = POSITIVE
    step: float | None = None
    choices: tuple[Any, ...] | None = None

    def checked(self, value: Any, where: str) -> Any:
        """A value that a request gives, or a `RequestError` that names the field."""
        place = f"{where}.{self.name}"
        if self.choices is not None:
            return as_choice(value, place, self.choices)
        low, high = self.accepts
        return as_whole(value, place, int(low), int(high)) if self.step == 1 else as_number(value, place, low, high)

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return {
            "name": self.name, "symbol": self.symbol, "scale": self.scale, "low": self.low, "high": self.high,
            "default": self.default, "step": self.step, "choices": None if self.choices is None else list(self.choices),
        }  # fmt: skip


def settings(parameters: tuple[Parameter, ...], given: Any, where: str) -> dict[str, Any]:
    """A value for every parameter, the default where none is given; a `RequestError` for what is not one of them."""
    wanted = as_object(given, where, [parameter.name for parameter in parameters])
    return {
        each.name: each.checked(wanted[each.name], where) if each.name in wanted else each.default
        for each in parameters
    }


@dataclass(frozen=True)
class Machine:
    """A machine that a page can choose.

    Attributes
    ----------
    title : str
    kind : type of Problem
        Called with X, y, the parameters by their names, kernel and psd.
    bound, share : str
        The upper bound of α, as a person writes it, "" where there is none; and α as a share of it.
    tags : mapping of str to str
        The equations behind "box" and behind each group of rows of the dual.
    parameters : tuple of Parameter
    tighter : str
        What makes its margin narrower, or "" where nothing does.
    level : str
        What y f is on the margin: 1, or ρ where the machine finds it.
    eta : str
        What the bound less α is, as a multiplier.
    """

    title: str
    kind: type[Problem]
    bound: str
    share: str
    tags: Mapping[str, str]
    parameters: tuple[Parameter, ...] = ()
    tighter: str = ""
    level: str = "1"
    eta: str = "η"

    @property
    def box(self) -> str:
        """The bounds of the dual, as a person writes them."""
        return f"0 ≤ α_i ≤ {self.bound}" if self.bound else "α_i ≥ 0"

    def make(self, X: FloatArray, y: NDArray[Any], values: Mapping[str, Any], kernel: Kernel, psd: str) -> Problem:
        """The problem over X (n, d) and y (n,); raises what the library does."""
        given = {name: None if value == "none" else value for name, value in values.items()}
        make: Any = self.kind
        problem: Problem = make(X, y, **given, kernel=kernel, psd=psd)
        return problem


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that a page can choose: `kind` is called with the parameters by their names, but for psd."""

    title: str
    formula: str
    kind: type[Kernel]
    parameters: tuple[Parameter, ...] = ()

    def make(self, values: Mapping[str, Any]) -> Kernel:
        """The kernel with these parameters."""
        make: Any = self.kind
        kernel: Kernel = make(**{name: value for name, value in values.items() if name != "psd"})
        return kernel


MACHINES: dict[str, Machine] = {
    "hard": Machine("hard margin", HardMargin, "", "α / largest α", {"balance": "HARD.5", "box": "HARD.6"}),
    "c": Machine(
        "C-SVM", CSVM, "C", "α / C", {"balance": "CSVM.5", "box": "CSVM.7"},
        (Parameter("C", "C", "log", 1.0, 0.01, 1000.0),), "raise C",
    ),
    "nu": Machine(
        "ν-SVM", NuSVM, "1/n", "nα", {"balance": "NUSVM.5", "nu": "NUSVM.6", "box": "NUSVM.8"},
        (Parameter("nu", "ν", "linear", 0.5, 0.01, 1.0, accepts=(1e-12, 1.0)),), "lower ν", "ρ",
    ),
    "hinge": Machine(
        "hinge loss, regularised", PrimalHinge, "1/(λn)", "λnα", {"balance": "PHINGE.5", "box": "PHINGE.7"},
        (
            Parameter("lam", "λ", "log", 0.01, 1e-5, 10.0),
            Parameter("intercept", "b", "choice", "free", choices=("free", "penalised", "none")),
        ),
        "lower λ", eta="η/λ",
    ),
}  # fmt: skip

GAMMA = Parameter("gamma", "γ", "log", 1.0, 0.01, 100.0)
COEF0 = Parameter("coef0", "r", "linear", 0.0, -2.0, 2.0, accepts=(-1e6, 1e6))
PSD = Parameter("psd", "psd", "choice", "raise", choices=("raise", "clip", "shift"))

KERNELS: dict[str, KernelChoice] = {
    "linear": KernelChoice("linear", "xᵀz", Linear),
    "rbf": KernelChoice("RBF", "exp(−γ‖x − z‖²)", RBF, (GAMMA,)),
    "polynomial": KernelChoice(
        "polynomial", "(γ xᵀz + r)^p", Polynomial,
        (Parameter("degree", "p", "linear", 3, 1, 6, accepts=(1, 20), step=1), GAMMA,
         Parameter("coef0", "r", "linear", 1.0, 0.0, 4.0, accepts=(0.0, 1e6))),
    ),
    "sigmoid": KernelChoice("sigmoid", "tanh(γ xᵀz + r)", Sigmoid, (GAMMA, COEF0, PSD)),
}  # fmt: skip


@dataclass(frozen=True)
class SolverChoice:
    """A solver whose way to the optimum can be looked at: a backend that ends after so many iterations.

    Attributes
    ----------
    title, about : str
    machines : tuple of str
        Those that it takes with some kernel.
    """

    title: str
    about: str
    machines: tuple[str, ...]


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
#: Four samples on which every machine can be made, to ask a solver whether it takes it.
TOY_POINTS, TOY_LABELS = np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]]), np.array([-1.0, 1.0, -1.0, 1.0])


def toy(machine: str, values: Mapping[str, Any], kernel: Kernel, psd: str = "raise") -> Problem:
    """A machine over four samples."""
    return MACHINES[machine].make(TOY_POINTS, TOY_LABELS, values, kernel, psd)


@cache
def solvers() -> dict[str, SolverChoice]:
    """The backends that can be ended after so many iterations, and are installed, by name."""
    found: dict[str, SolverChoice] = {}
    for solver, about in ABOUT.items():
        backend = backends.get(solver)
        if backend.abilities.grants("max_iter") and backend.version() is not None:
            takes = tuple(name for name in MACHINES if _takes(backend, name))
            found[solver] = SolverChoice(WRITTEN.get(solver, solver.replace("_", " ")), about, takes)
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
        "machines": [
            {"name": name, "title": each.title, "bound": each.bound, "share": each.share, "level": each.level,
             "eta": each.eta, "parameters": [p.to_json() for p in each.parameters]}
            for name, each in MACHINES.items()
        ],
        "kernels": [
            {"name": name, "title": each.title, "formula": each.formula,
             "parameters": [p.to_json() for p in each.parameters]}
            for name, each in KERNELS.items()
        ],
        "solvers": [
            {"name": name, "title": each.title, "about": each.about, "machines": list(each.machines)}
            for name, each in solvers().items()
        ],
    }  # fmt: skip
