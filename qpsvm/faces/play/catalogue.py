"""Catalogue of the page: machines, kernels and solvers, with their parameters and ranges (`to_json`).

The kernels are those of the library that are functions of samples. The solvers are read off the library's registry
of backends: which of them counts iterations, and which machines it takes.

The machines, and how the page writes about each.

A new machine is an entry of `MACHINES`. What a machine makes of a sample's coordinates is `learnt`: two classes have
labels, a regression takes the last coordinate as the target, novelty detection takes all of them and no label.

A parameter of a machine or kernel, as a page shows and checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qpsvm import backends
from qpsvm.backends.traits import find_problem_traits
from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play.checks import as_choice, as_integer, as_number, as_object
from qpsvm.machines import (
    CSVM,
    SVDD,
    EpsilonSVR,
    HardMargin,
    HuberHinge,
    NuSVM,
    NuSVR,
    OneClass,
    PrimalHinge,
    Problem,
    QuantileSVR,
    SquaredHinge,
    registry,
)
from qpsvm.many.grid.parameters import LETTERS
from qpsvm.space.kernels.functions import FUNCTIONS, RBF, Kernel, Linear
from qpsvm.space.kernels.functions import KERNELS as KERNEL_KINDS


@dataclass(frozen=True)
class PageParameter:
    """A parameter of a machine or kernel.

    name: The library's argument.
    scale: How a control moves through its values.
    low, high: The ends of the control.
    accepts: What a request may ask for, which is more than a control shows.
    step: 1 for whole numbers.
    choices: The values of a choice.
    """

    name: str
    scale: Literal["log", "linear", "choice"]
    default: Any = None
    low: float | None = None
    high: float | None = None
    accepts: tuple[float, float] = (1e-12, 1e12)
    step: float | None = None
    choices: tuple[Any, ...] | None = None

    def check_value(self, value: Any, where: str) -> Any:
        """A value that a request gives, or a `RequestError` that names the field."""
        place = f"{where}.{self.name}"
        if self.choices is not None:
            return as_choice(value, place, self.choices)
        low, high = self.accepts
        return as_integer(value, place, int(low), int(high)) if self.step == 1 else as_number(value, place, low, high)

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        shown = {name: value for name, value in asdict(self).items() if name != "accepts"}
        choices = None if self.choices is None else list(self.choices)
        return shown | {"symbol": LETTERS.get(self.name, self.name), "choices": choices}


def read_settings(parameters: tuple[PageParameter, ...], given: Any, where: str) -> dict[str, Any]:
    """A value for every parameter, the default where none is given; a `RequestError` for what is not one of them."""
    wanted = as_object(given, where, [parameter.name for parameter in parameters])
    return {
        each.name: each.check_value(wanted[each.name], where) if each.name in wanted else each.default
        for each in parameters
    }


#: A column of the answer's table, how the machine writes it, and what it is.
SymbolRow = tuple[str, str, str]

ALPHA, GAP = ("alpha", "α", "multiplier"), ("gap", "g", "share of the gap")
SLACK, SIGNED = ("xi", "ξ", "slack"), ("yf", "y f", "signed margin")
#: What stands beside a product of complementary slackness.
ZERO = "0 at an optimum"


def build_two_class_symbols(bound: str, level: str, eta: str) -> tuple[SymbolRow, ...]:
    """List the symbols of two classes with a hinge, or without slack where there is no bound."""
    if not bound:
        return ALPHA, SIGNED, GAP, ("margin_product", f"α (y f − {level})", ZERO)
    return (
        ALPHA, ("upper", bound, "its bound"), ("eta", f"{eta} = {bound} − α", "multiplier of ξ ≥ 0"), SLACK, SIGNED,
        GAP, ("margin_product", f"α (y f − {level} + ξ)", ZERO), ("slack_product", f"({bound} − α) ξ", ZERO),
    )  # fmt: skip


def build_curved_symbols(curvature: str = "", bound: str = "") -> tuple[SymbolRow, ...]:
    """Build the symbols of two classes with a curved penalty: (SQHINGE.16), or (HUBER.16) with its long second part."""
    bounds = (("upper", bound, "its bound"),) if bound else ()
    slack = "ξ + ζ" if bound else "ξ"
    return (
        ALPHA, *bounds, ("xi", slack, "slack"), SIGNED, GAP, ("margin_product", f"α (y f − 1 + {slack})", ZERO),
        ("slack_product", curvature or "rest of g", ZERO),
    )  # fmt: skip


def build_regression_symbols(above: str, below: str, edge: str = "ε", squared: bool = False) -> tuple[SymbolRow, ...]:
    """List the symbols of a regression, with the bounds of α⁺ and α⁻."""
    apart = f"{edge} ± (f − t)" if edge else "± (f − t)"
    bounds: tuple[SymbolRow, ...] = (
        (("upper", above, "bound of α⁺" if below != above else "their bound"),) if above else ()
    )
    bounds += (("lower", f"−{below}", "bound of −α⁻"),) if below and below != above else ()
    slack = f"({above or 'C'} − α) ξ" if above == below else "(bound − α) ξ"
    return (
        ("alpha", "β = α⁺ − α⁻", "its part in f"), ("alpha_above", "α⁺", "multiplier above f"),
        ("alpha_below", "α⁻", "multiplier below f"), *bounds, ("target", "t", "target"), ("f", "f", "prediction"),
        ("value", "t − f", "residual"), ("xi", "ξ", "beyond the tube" if edge else "its size"), GAP,
        ("margin_product", f"α ({apart} + ξ)", ZERO), ("slack_product", "C (ξ − α/(2C))²" if squared else slack, ZERO),
    )  # fmt: skip


def build_enclosing_symbols(bound: str) -> tuple[SymbolRow, ...]:
    """List the symbols of a machine that encloses samples without labels."""
    bounds = (("upper", bound, "its bound"),) if bound != "1" else ()
    return (
        ALPHA, *bounds, ("eta", f"η = {bound} − α", "multiplier of ξ ≥ 0"),
        ("xi", "ξ", "outside by"), ("yf", "f", "inside where f > 0"), GAP, ("margin_product", "α (f + ξ)", ZERO),
        ("slack_product", f"({bound} − α) ξ", ZERO),
    )  # fmt: skip


#: How a machine is written by default, by what it learns; {bound}, {level} and {twice} are its own. See `BaseProblem`.
NOTATION = {
    "labels": {
        "value": "y f", "share": "α / {bound}", "box": "0 ≤ α_i ≤ {bound}", "balance": "yᵀα",
        "path": "α is 0, or y f = {level}, or α is {bound}", "width": "width {twice}/‖w‖", "correct": "correct",
    },
    "numbers": {
        "value": "t − f", "share": "|β| / {bound}", "against": "β / {bound}", "box": "0 ≤ α⁺_i, α⁻_i ≤ {bound}",
        "path": "β is 0 inside the tube, between −{bound} and {bound} on an edge, and −{bound} or {bound} beyond it",
        "width": "tube 2ε", "correct": "beyond", "balance": "1ᵀβ",
    },
    "none": {
        "value": "f", "share": "α / {bound}", "box": "0 ≤ α_i ≤ {bound}", "balance": "1ᵀα", "width": "ρ",
        "path": "α is 0 inside, between 0 and {bound} on the boundary, and {bound} outside", "correct": "outside",
    },
}  # fmt: skip


@dataclass(frozen=True)
class PageMachine:
    """A machine that a page can choose. What is not given is written as `NOTATION` says.

    kind: Called with X, the target if it has one, the parameters by their names, kernel and psd.
    bound, share: The upper bound of α, as a person writes it, "" where there is none; and α as a share of it.
    tags: The equations behind "box" and behind each group of rows of the dual.
    tighter: What makes its margin narrower, or "" where nothing does.
    level: What y f is on the margin: 1, or ρ where the machine finds it.
    eta: What the bound less α is, as a multiplier.
    curved: Whether the penalty of slack grows faster than it.
    shared: Whether the bounds of α, or ν, depend on how many samples there are: without one, all others may do
        more.
    value, path, against: What complementarity draws, where an optimum lies, in words, and against what.
    letters: The table of the selected sample.
    width, correct, balance: The two figures beside primal, dual and gap; and the equality that a user's α has
        to meet.
    box: The bounds of the dual.
    squared: The same with the parameter `loss` at "squared".
    """

    title: str
    kind: type[Problem]
    bound: str
    tags: Mapping[str, str]
    share: str = ""
    tighter: str = ""
    level: str = "1"
    eta: str = "η"
    curved: bool = False
    shared: bool = False
    value: str = ""
    path: str = ""
    against: str = ""
    letters: tuple[SymbolRow, ...] = ()
    width: str = ""
    correct: str = ""
    balance: str = ""
    box: str = ""
    squared: PageMachine | None = None

    def __post_init__(self) -> None:
        own = {"bound": self.bound, "level": self.level, "twice": "2" if self.level == "1" else f"2{self.level}"}
        written = {name: text.format(**own) for name, text in NOTATION[self.learnt].items()}
        if not self.bound:
            written |= {"share": "α / largest α", "path": f"α is 0, or y f = {self.level}", "box": "α_i ≥ 0"}
        for name, text in written.items():
            object.__setattr__(self, name, getattr(self, name) or text)
        object.__setattr__(self, "against", self.against or self.share)
        object.__setattr__(self, "letters", self.letters or self._build_default_symbols())

    def _build_default_symbols(self) -> tuple[SymbolRow, ...]:
        if self.learnt == "labels":
            return build_two_class_symbols(self.bound, self.level, self.eta)
        return (
            build_regression_symbols(self.bound, self.bound)
            if self.learnt == "numbers"
            else build_enclosing_symbols(self.bound)
        )

    @property
    def parameters(self) -> tuple[PageParameter, ...]:
        """The parameters of its class that a page can choose."""
        return tuple(PARAMETERS[name] for name in registry.list_options(self.kind))

    @property
    def learnt(self) -> str:
        """The part of a point that is the target: its class ("labels"), its last coordinate ("numbers"), or nothing."""
        return self.kind._target_kind

    @property
    def tube(self) -> bool:
        """Whether what is near f is free: of the regressions, all but the quantile."""
        return self.learnt == "numbers" and self.kind is not QuantileSVR

    @property
    def kinds(self) -> tuple[str, str, str]:
        """The three kinds of samples in words."""
        first, second, third = self.kind._kind_labels.descriptions
        return first, second, self.kind._kind_labels.curved_description if self.curved and not self.bound else third

    def select_notation(self, values: Mapping[str, Any]) -> PageMachine:
        """Return the notation for these parameters: that of the squared loss if it is chosen."""
        return self.squared if self.squared is not None and values.get("loss") == "squared" else self

    def build_arguments(self, points: FloatArray, labels: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """The machine's own arguments, X (n, d) and a target (n,) if it has one, of points and labels (n,)."""
        if self.learnt == "numbers":
            return points[:, :-1], points[:, -1]
        return (points, labels) if self.learnt == "labels" else (points,)

    def build_problem(
        self, points: FloatArray, labels: NDArray[Any], values: Mapping[str, Any], kernel: Kernel, psd: str
    ) -> Problem:
        """The problem over points with labels (n,); raises what the library does."""
        given = {name: None if value == "none" else value for name, value in values.items()}
        make: Any = self.kind
        problem: Problem = make(*self.build_arguments(points, labels), **given, kernel=kernel, psd=psd)
        return problem

    def to_json(self) -> dict[str, Any]:
        """For the page, but for its name."""
        return {name: getattr(self, name) for name in JSON_FIELDS} | {
            "kinds": list(self.kinds),
            "sides": self.kind._variables_per_sample,
            "letters": [list(letter) for letter in self.letters],
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "squared": None if self.squared is None else self.squared.to_json(),
        }


#: What the page knows of a machine by its own name.
JSON_FIELDS = (
    "title", "bound", "share", "level", "eta", "learnt", "value", "path", "against", "width", "correct", "balance",
    "tube",
)  # fmt: skip
#: The parameters of the machines, with the ranges of their controls; their defaults are those of the constructors.
PARAMETERS = {
    each.name: replace(each, default=registry.find_default(each.name))
    for each in (
        PageParameter("C", "log", low=0.01, high=1000.0),
        PageParameter("nu", "linear", low=0.01, high=1.0, accepts=(1e-12, 1.0)),
        PageParameter("lam", "log", low=1e-5, high=10.0),
        PageParameter("width", "log", low=0.01, high=10.0),
        PageParameter("epsilon", "linear", low=0.0, high=2.0, accepts=(0.0, 1e12)),
        PageParameter("quantile", "linear", low=0.01, high=0.99, accepts=(1e-9, 1.0 - 1e-9)),
        PageParameter("loss", "choice", choices=("absolute", "squared")),
        PageParameter("intercept", "choice", choices=("free", "penalised", "none")),
    )
}

EPSILON_SVR = PageMachine("ε-SVR", EpsilonSVR, "C", {"balance": "ESVR.5", "box": "ESVR.7"})

MACHINES: dict[str, PageMachine] = {
    "hard": PageMachine("hard margin", HardMargin, "", {"balance": "HARD.5", "box": "HARD.6"}),
    "c": PageMachine("C-SVM", CSVM, "C", {"balance": "CSVM.5", "box": "CSVM.7"}, tighter="raise C"),
    "nu": PageMachine(
        "ν-SVM", NuSVM, "1/n", {"balance": "NUSVM.5", "nu": "NUSVM.6", "box": "NUSVM.8"}, "nα", "lower ν", "ρ",
        shared=True,
    ),
    "hinge": PageMachine(
        "hinge loss, regularised", PrimalHinge, "1/(λn)", {"balance": "PHINGE.5", "box": "PHINGE.7"}, "λnα",
        "lower λ", eta="η/λ", shared=True,
    ),
    "squared-hinge": PageMachine(
        "squared hinge", SquaredHinge, "", {"balance": "SQHINGE.5", "box": "SQHINGE.7"}, tighter="raise C",
        curved=True, path="α is 0, or y f = 1 − α/(2C)", letters=build_curved_symbols("C (ξ − α/(2C))²"),
    ),
    "huber-hinge": PageMachine(
        "Huber hinge", HuberHinge, "C", {"balance": "HUBER.5", "box": "HUBER.7"}, tighter="raise C", curved=True,
        path="α is 0, or y f = 1 − κα/C, or α is C", letters=build_curved_symbols(bound="C"),
    ),
    "epsilon-svr": replace(EPSILON_SVR, squared=replace(
        EPSILON_SVR, bound="", share="|β| / largest |β|", against="β / largest |β|", curved=True,
        letters=build_regression_symbols("", "", squared=True),
        path="β is 0 inside the tube, and 2C times what is beyond it", box="α⁺_i, α⁻_i ≥ 0",
    )),
    "nu-svr": PageMachine(
        "ν-SVR", NuSVR, "C", {"balance": "NUSVR.5", "nu": "NUSVR.6", "box": "NUSVR.8"}, shared=True,
    ),
    "quantile-svr": PageMachine(
        "quantile", QuantileSVR, "Cτ", {"balance": "QSVR.5", "box": "QSVR.7"}, "|β| / bound",
        path="β is Cτ above f, −C(1 − τ) below it, and between the two on it", against="β / larger bound",
        letters=build_regression_symbols("Cτ", "C(1 − τ)", ""), width="‖w‖", correct="below f",
        box="0 ≤ α⁺_i ≤ Cτ, 0 ≤ α⁻_i ≤ C(1 − τ)",
    ),
    "one-class": PageMachine("one-class", OneClass, "1", {"mass": "ONE.5", "box": "ONE.7"}, "α", shared=True),
    "svdd": PageMachine(
        "SVDD", SVDD, "1/(νn)", {"mass": "SVDD.5", "box": "SVDD.8"}, "νnα", shared=True, width="radius R",
        path="α is 0 inside, between 0 and 1/(νn) on the ball, and 1/(νn) outside",
    ),
}  # fmt: skip


def count_dual_variables(machine: str, n: int) -> int:
    """Count the dual variables of a machine over n points."""
    return MACHINES[machine].kind._variables_per_sample * n


def has_labels(machine: str) -> bool:
    """Whether a machine has two classes."""
    return MACHINES[machine].learnt == "labels"


def build_toy_problem(machine: str, values: Mapping[str, Any], kernel: Kernel, psd: str = "raise") -> Problem:
    """A machine over four points."""
    return MACHINES[machine].build_problem(TOY_POINTS, TOY_LABELS, values, kernel, psd)


#: Four points on which every machine can be made, to ask what it is like.
TOY_POINTS, TOY_LABELS = np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]]), np.array([-1.0, 1.0, -1.0, 1.0])


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that a page can choose: `kind` is called with the parameters by their names, but for psd."""

    title: str
    formula: str
    kind: type[Kernel]
    parameters: tuple[PageParameter, ...] = ()

    def build_kernel(self, values: Mapping[str, Any]) -> Kernel:
        """The kernel with these parameters."""
        return self.kind(**{name: value for name, value in values.items() if name != "psd"})


PSD = PageParameter("psd", "choice", "raise", choices=("raise", "clip", "shift"))
#: The parameters of kernels by their names; and r of a polynomial, which is positive semidefinite for r ≥ 0 only.
KERNEL_PARAMETERS = {
    "degree": PageParameter("degree", "linear", 3, 1, 6, accepts=(1, 20), step=1),
    "gamma": PageParameter("gamma", "log", 1.0, 0.01, 100.0),
    "coef0": PageParameter("coef0", "linear", 0.0, -2.0, 2.0, accepts=(-1e6, 1e6)),
    "polynomial coef0": PageParameter("coef0", "linear", 1.0, 0.0, 4.0, accepts=(0.0, 1e6)),
}


def _build_kernel_choice(name: str) -> KernelChoice:
    kind = KERNEL_KINDS[name]
    own = [KERNEL_PARAMETERS.get(f"{name} {each}", KERNEL_PARAMETERS[each]) for each in FUNCTIONS[name]]
    return KernelChoice(
        "RBF" if name == "rbf" else name, kind.formula, kind, (*own, *(() if kind().is_psd else (PSD,)))
    )


KERNELS = {name: _build_kernel_choice(name) for name in FUNCTIONS}


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
    """The backends that can be ended after so many iterations, and are installed, by name."""
    found: dict[str, dict[str, Any]] = {}
    for solver, about in SOLVER_DESCRIPTIONS.items():
        backend = backends.get(solver)
        if backend.abilities.supports("max_iter") and backend.version() is not None:
            takes = [name for name in MACHINES if _accepts(backend, name)]
            title = SOLVER_TITLES.get(solver, solver.replace("_", " "))
            found[solver] = {"title": title, "about": about, "machines": takes}
    return found


def _accepts(backend: backends.Backend, machine: str) -> bool:
    """Whether a backend takes a machine, with a linear kernel or another, in the form that it would choose."""
    values = {parameter.name: parameter.default for parameter in MACHINES[machine].parameters}
    for kernel in (Linear(), RBF(1.0)):
        problem = build_toy_problem(machine, values, kernel)
        form = backend.preferred_form(problem.space.is_linear)
        if backend.explain_refusal(find_problem_traits(problem), problem.n, form) is None:
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
        "solvers": [{"name": name, **each} for name, each in list_solvers().items()],
    }  # fmt: skip
