"""List the machines that the page can choose (`MACHINES`). Each machine is one entry.

The meaning of a sample's coordinates depends on the machine: with two classes all are features and the sample has a
label, a regression uses the last one as the target, and novelty detection has all features and no label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play.page_parameters import PARAMETERS, PageParameter
from qpsvm.faces.play.symbols import (
    DEFAULT_TEXTS,
    SymbolRow,
    build_curved_symbols,
    build_enclosing_symbols,
    build_regression_symbols,
    build_two_class_symbols,
)
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
from qpsvm.space.kernels.functions import Kernel

#: Fields of `PageMachine` that are sent to the page under their own names.
JSON_FIELDS = (
    "title", "bound", "share", "level", "eta", "learnt", "value", "path", "against", "width", "correct", "balance",
    "tube",
)  # fmt: skip
#: Four points on which every machine can be built, to examine its properties.
TOY_POINTS, TOY_LABELS = np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]]), np.array([-1.0, 1.0, -1.0, 1.0])


@dataclass(frozen=True)
class PageMachine:
    """A machine that the page can choose. Texts that are not given come from `DEFAULT_TEXTS`.

    kind: The class, called with X, the target if any, the parameters by name, kernel and psd.
    bound, share: The upper bound of α as text, "" if there is none; and α as a share of it.
    tags: The equation of the bounds of the dual ("box"), and that of each group of its rows.
    tighter: The change of a parameter that makes the margin narrower, as text, or "".
    level: The value of y f on the margin: 1, or ρ if that is a variable.
    eta: The name of the multiplier that equals the bound minus α.
    curved: Whether the penalty of slack is quadratic.
    shared: Whether the bounds of α, or ν, depend on the number of samples, so that leaving out a sample of α = 0
        can change the solution.
    value, against, path: The axes of the complementarity picture, and where an optimum lies in it, as text.
    letters: The rows of the table of the selected sample.
    width, correct, balance: The names of the two figures beside primal, dual and gap, and of the equality that a
        user's α has to satisfy.
    box: The bounds of the dual, as text.
    squared: The same machine with the parameter `loss` at "squared".
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
        symbols = {"bound": self.bound, "level": self.level, "twice": "2" if self.level == "1" else f"2{self.level}"}
        defaults = {name: text.format(**symbols) for name, text in DEFAULT_TEXTS[self.learnt].items()}
        if not self.bound:
            defaults |= {"share": "α / largest α", "path": f"α is 0, or y f = {self.level}", "box": "α_i ≥ 0"}
        for name, text in defaults.items():
            object.__setattr__(self, name, getattr(self, name) or text)
        object.__setattr__(self, "against", self.against or self.share)
        object.__setattr__(self, "letters", self.letters or self._build_default_symbols())

    def _build_default_symbols(self) -> tuple[SymbolRow, ...]:
        if self.learnt == "labels":
            return build_two_class_symbols(self.bound, self.level, self.eta)
        if self.learnt == "numbers":
            return build_regression_symbols(self.bound, self.bound)
        return build_enclosing_symbols(self.bound)

    @property
    def parameters(self) -> tuple[PageParameter, ...]:
        """The parameters of the class that the page can choose."""
        return tuple(PARAMETERS[name] for name in registry.list_options(self.kind))

    @property
    def learnt(self) -> str:
        """The part of a point that is the target: its class ("labels"), its last coordinate ("numbers"), or nothing."""
        return self.kind._target_kind

    @property
    def tube(self) -> bool:
        """Whether errors below ε are not penalised, as in all regressions except the quantile regression."""
        return self.learnt == "numbers" and self.kind is not QuantileSVR

    @property
    def kinds(self) -> tuple[str, str, str]:
        """Names of the three kinds of samples."""
        first, second, third = self.kind._kind_labels.descriptions
        return first, second, self.kind._kind_labels.curved_description if self.curved and not self.bound else third

    def select_notation(self, values: Mapping[str, Any]) -> PageMachine:
        """Return the notation for these parameters: that of the squared loss if it is chosen."""
        if self.squared is not None and values.get("loss") == "squared":
            return self.squared
        return self

    def build_arguments(self, points: FloatArray, labels: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Return X, and the target (n,) if the machine has one, for points (n, d) with labels (n,)."""
        if self.learnt == "numbers":
            return points[:, :-1], points[:, -1]
        return (points, labels) if self.learnt == "labels" else (points,)

    def build_problem(
        self, points: FloatArray, labels: NDArray[Any], values: Mapping[str, Any], kernel: Kernel, psd: str
    ) -> Problem:
        """Build the problem over points with labels (n,). Raises QPSVMError."""
        parameters = {name: None if value == "none" else value for name, value in values.items()}
        kind: Any = self.kind
        problem: Problem = kind(*self.build_arguments(points, labels), **parameters, kernel=kernel, psd=psd)
        return problem

    def to_json(self) -> dict[str, Any]:
        """Return the data of the machine for the page, without its name."""
        return {name: getattr(self, name) for name in JSON_FIELDS} | {
            "kinds": list(self.kinds),
            "sides": self.kind._variables_per_sample,
            "letters": [list(letter) for letter in self.letters],
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "squared": None if self.squared is None else self.squared.to_json(),
        }


EPSILON_SVR = PageMachine("ε-SVR", EpsilonSVR, "C", {"balance": "ESVR.5", "box": "ESVR.7"})
MACHINES: dict[str, PageMachine] = {
    "hard": PageMachine("hard margin", HardMargin, "", {"balance": "HARD.5", "box": "HARD.6"}),
    "c": PageMachine("C-SVM", CSVM, "C", {"balance": "CSVM.5", "box": "CSVM.7"}, tighter="raise C"),
    "nu": PageMachine(
        "ν-SVM", NuSVM, "1/n", {"balance": "NUSVM.5", "nu": "NUSVM.6", "box": "NUSVM.8"},
        share="nα", tighter="lower ν", level="ρ", shared=True,
    ),
    "hinge": PageMachine(
        "hinge loss, regularised", PrimalHinge, "1/(λn)", {"balance": "PHINGE.5", "box": "PHINGE.7"},
        share="λnα", tighter="lower λ", eta="η/λ", shared=True,
    ),
    "squared-hinge": PageMachine(
        "squared hinge", SquaredHinge, "", {"balance": "SQHINGE.5", "box": "SQHINGE.7"}, tighter="raise C",
        curved=True, path="α is 0, or y f = 1 − α/(2C)", letters=build_curved_symbols("C (ξ − α/(2C))²"),
    ),
    "huber-hinge": PageMachine(
        "Huber hinge", HuberHinge, "C", {"balance": "HUBER.5", "box": "HUBER.7"}, tighter="raise C", curved=True,
        path="α is 0, or y f = 1 − κα/C, or α is C", letters=build_curved_symbols("rest of g", bound="C"),
    ),
    "epsilon-svr": replace(EPSILON_SVR, squared=replace(
        EPSILON_SVR, bound="", share="|β| / largest |β|", against="β / largest |β|", curved=True,
        letters=build_regression_symbols("", ""),
        path="β is 0 inside the tube, and 2C times what is beyond it", box="α⁺_i, α⁻_i ≥ 0",
    )),
    "nu-svr": PageMachine(
        "ν-SVR", NuSVR, "C", {"balance": "NUSVR.5", "nu": "NUSVR.6", "box": "NUSVR.8"}, shared=True,
    ),
    "quantile-svr": PageMachine(
        "quantile", QuantileSVR, "Cτ", {"balance": "QSVR.5", "box": "QSVR.7"}, share="|β| / bound",
        path="β is Cτ above f, −C(1 − τ) below it, and between the two on it", against="β / larger bound",
        letters=build_regression_symbols("Cτ", "C(1 − τ)", ""), width="‖w‖", correct="below f",
        box="0 ≤ α⁺_i ≤ Cτ, 0 ≤ α⁻_i ≤ C(1 − τ)",
    ),
    "one-class": PageMachine("one-class", OneClass, "1", {"mass": "ONE.5", "box": "ONE.7"}, share="α", shared=True),
    "svdd": PageMachine(
        "SVDD", SVDD, "1/(νn)", {"mass": "SVDD.5", "box": "SVDD.8"}, share="νnα", shared=True, width="radius R",
        path="α is 0 inside, between 0 and 1/(νn) on the ball, and 1/(νn) outside",
    ),
}  # fmt: skip


def count_dual_variables(machine: str, n: int) -> int:
    """Return the number of dual variables of a machine over n points."""
    return MACHINES[machine].kind._variables_per_sample * n


def has_labels(machine: str) -> bool:
    """Return whether a machine has two classes."""
    return MACHINES[machine].learnt == "labels"


def build_toy_problem(machine: str, values: Mapping[str, Any], kernel: Kernel, psd: str = "raise") -> Problem:
    """Build a machine over the four points `TOY_POINTS`."""
    return MACHINES[machine].build_problem(TOY_POINTS, TOY_LABELS, values, kernel, psd)
