"""List the hyperparameters of the machines, with their symbols and checks (`HYPERPARAMETERS`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_positive
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.parameter_checks import check_choice, check_nu, make_range_check
from qpsvm.machines.problem.penalties import check_penalties, format_penalty


class Hyperparameter(NamedTuple):
    """A parameter of machines; `check(value, name)` returns the checked value of the parameter, or raises an error."""

    symbol: str
    description: str
    check: Callable[[Any, str], Any]


#: The hyperparameters by name. A C may also be one number per sample, which `check_penalties` checks.
HYPERPARAMETERS = {
    "C": Hyperparameter("C", "penalty of slack", as_positive),
    "nu": Hyperparameter("ν", "bound on the share of errors, or of rows outside", check_nu),
    "lam": Hyperparameter(
        "λ", "weight of the squared norm",  # C is 1/λ, divided by the sum of the weights
        make_range_check(f"positive, and at least {1.0 / LARGEST_VALUE:g}", lambda value: value >= 1.0 / LARGEST_VALUE),
    ),
    "epsilon": Hyperparameter(
        "ε", "half the width of the tube, in units of the target",
        make_range_check(f"at least 0 and below {LARGEST_VALUE:g}", lambda value: 0.0 <= value < LARGEST_VALUE),
    ),
    "quantile": Hyperparameter(
        "τ", "share of the targets below f",
        make_range_check("above 0 and below 1", lambda value: 0.0 < value < 1.0),
    ),
    "width": Hyperparameter("κ", "slack up to which the penalty is quadratic", as_positive),
    "loss": Hyperparameter(
        "loss", "penalty of residuals beyond the tube",
        lambda value, name: check_choice(value, name, ("absolute", "squared")),
    ),
}  # fmt: skip


def check_hyperparameter(name: str, value: Any, samples: TrainingSamples) -> Any:
    """Check a hyperparameter and return it. Raises ParameterError, ParameterTypeError, UnknownOptionError."""
    if name == "C":
        return check_penalties(value, samples)
    return HYPERPARAMETERS[name].check(value, name) if name in HYPERPARAMETERS else value  # a third party's parameter


def format_hyperparameter(name: str, value: Any) -> str:
    """Format a hyperparameter for a title as ", symbol = value"; "" if it is a text."""
    if isinstance(value, str):
        return ""
    number = format_penalty(value) if isinstance(value, np.ndarray) else f"{value:g}"
    return f", {HYPERPARAMETERS[name].symbol if name in HYPERPARAMETERS else name} = {number}"
