"""Describe, check and format the hyperparameters of the machines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_penalties, as_positive, as_real
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.rationals import RationalVector, multiply_exactly, sum_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.samples import TrainingSamples
from qpsvm.space.kernels.gram import Intercept

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof


#: Which of a machine's two QPs.
Form = Literal["dual", "primal"]
FORMS = get_args(Form)
#: What the docstring of a machine says of a parameter, unless that has an entry of its own.
SHARED = {
    "X": """X : array_like or SciPy sparse, shape (n, d)
    Samples in rows; also a data frame, or what `open_rows` opens. An (n, n) kernel matrix for `Precomputed()`.""",
    "y": """y : array_like of shape (n,), or str
    Any two labels; the larger in sort order is +1. Of a file also the name of a column.""",
    "t": """t : array_like of shape (n,), or str
    Targets: any finite numbers. Of a file also the name of a column.""",
    "kernel": """kernel : Kernel, str or callable, default=Linear()
    A kernel object, its name, or a function `(X, Z) -> (n, m)`.""",
    "sample_weight": """sample_weight : array_like, shape (n,), optional
    C_i = C · s_i.""",
    "psd": """psd : "raise", "clip" or "shift", default="raise"
    What to do where the Gram matrix is indefinite.""",
    "constraints": """constraints : Constraints, ValueConstraints, or a list of them, optional
    Rows of your own that w, b and f have to keep.""",
    "intercept": """intercept : "free", "penalised" or None, default="free"
    Outside the norm, inside it, or absent.""",
    "class_weight": """class_weight : dict or "balanced", optional
    A factor of C for each class, by its label; "balanced" makes the classes weigh the same. It multiplies
    `sample_weight`.""",
}
RAISES = """Raises
------
DataError, DataTypeError, ParameterError
    See `Problem`.

"""
#: The section of a docstring that has the parameters, and an entry of it.
SECTION = re.compile(r"^Parameters\n-+\n((?:.+\n)*)\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w+) : .*(?:\n +.*)*", re.MULTILINE)


def complete_docstring(kind: type) -> None:
    """Complete the docstring of a built-in machine by the shared parameters, in the order of the constructor."""
    found = SECTION.search(inspect.cleandoc(kind.__doc__ or "") + "\n\n")
    if found is None or not kind.__module__.startswith("qpsvm."):
        return
    code: CodeType = kind.__init__.__code__  # type: ignore[misc]
    entries = SHARED | {entry.group(1): entry.group() for entry in ENTRY.finditer(found.group(1))}
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    whole = "\n".join(["Parameters", "----------", *(entries[name] for name in names)])
    text = found.string.rstrip()
    raises = "" if "\nRaises\n---" in text else RAISES
    kind.__doc__ = f"{text[: found.start()]}{whole}\n\n{raises}{text[found.end() :]}\n"


def signature_of(kind: type) -> inspect.Signature:
    """Return the signature of a class, as its `__init__` has it."""
    found = inspect.signature(kind.__init__)  # type: ignore[misc]
    return found.replace(parameters=[*found.parameters.values()][1:], return_annotation=found.empty)


def check_penalties(C: float | ArrayLike, samples: TrainingSamples) -> FloatArray:
    """C as a number for each sample, (n,), of which C times the weight is still a number.

    Raises ParameterError, ParameterTypeError.
    """
    found = as_penalties(C, samples.n)
    heaviest = _find_largest(samples.weight)
    if _find_largest(found) * heaviest > LARGEST_VALUE:
        raise ParameterError("C times sample_weight is too large: the objective overflows; divide by a constant")
    return found


def _find_largest(vector: FloatArray) -> float:
    common = find_common_value(vector)
    return float(vector.max(initial=0.0)) if common is None else common


def compute_upper_bounds(C: FloatArray, samples: TrainingSamples) -> RationalVector | FloatArray:
    """Compute C_i · s_i of the samples that take part, for C (n,): C itself if there are no weights."""
    return C if find_common_value(samples.weight) == 1.0 else compute_active_penalties(C, samples)


def compute_active_penalties(C: FloatArray, samples: TrainingSamples) -> RationalVector:
    """Compute C_i · s_i of the samples that take part as exact numbers."""
    return multiply_exactly(samples.select_active(samples.weight), samples.select_active(C))


def sum_weights(samples: TrainingSamples) -> Fraction:
    """Σs, exactly."""
    return sum_floats(samples.select_active(samples.weight))


def format_penalty(C: FloatArray) -> str:
    """Format C (n,) for a title: one number, or the smallest and the largest; "" for a process without samples."""
    if not len(C):
        return ""
    common = find_common_value(C)
    low, high = (float(C.min()), float(C.max())) if common is None else (common, common)
    return f"{low:g}" if low == high else f"{low:g} … {high:g}"


def check_choice(value: Any, name: str, known: tuple[Any, ...]) -> Any:
    """Check a parameter that is one of a few words, or None where that is among them. Raises UnknownOptionError."""
    if not (value is None or isinstance(value, str)) or value not in known:
        raise UnknownOptionError(f"unknown {name} {format_value(value)}; {describe_nearest(value, known)}")
    return value


def check_form(form: str) -> Form:
    """Check the name of a form. Raises UnknownOptionError."""
    found: Form = check_choice(form, "form", FORMS)
    return found


def as_intercept(intercept: Any) -> Intercept:
    """Check the name of an intercept. Raises UnknownOptionError."""
    found: Intercept = check_choice(intercept, "intercept", ("free", "penalised", None))
    return found


def make_range_check(words: str, fits: Callable[[float], bool]) -> Callable[[Any, str], float]:
    """Make a check of a finite number, which raises ParameterError or ParameterTypeError."""

    def check(value: Any, name: str) -> float:
        number = as_real(value, name)
        if not fits(number):
            raise ParameterError(f"{name} must be {words}, got {value!r}")
        return number

    return check


def as_share(nu: float, name: str = "nu", feasible: bool = False) -> float:
    """Check a ν that may be anything up to 1; beyond it there may be a `feasible` α, or none.

    Raises InfeasibleNuError, ParameterError, ParameterTypeError.
    """
    nu = as_positive(nu, name)
    if nu > 1.0:
        error = InfeasibleNuError(nu, 1.0, balance=False)
        error._evidence = partial(_prove_share, nu, feasible)
        raise error
    return nu


def _prove_share(nu: float, feasible: bool) -> Proof:
    from qpsvm.bounds.proof.infeasible import share  # proofs are loaded when somebody asks for one

    return share(nu, feasible)


class Hyperparameter(NamedTuple):
    """A parameter of machines: its letter, for people, what it is, and the check of a value by its name."""

    symbol: str
    description: str
    check: Callable[[Any, str], Any]


#: Those that machines name in `_hyperparameters`. A C may be one for each sample, `check_penalties`.
HYPERPARAMETERS = {
    "C": Hyperparameter("C", "penalty of slack", as_positive),
    "nu": Hyperparameter("ν", "bound on the share of errors, or of rows outside", as_share),
    "lam": Hyperparameter("λ", "weight of the norm", as_positive),
    "epsilon": Hyperparameter(
        "ε", "half the width of the tube, in units of the target",
        make_range_check("at least 0 and finite", lambda value: 0.0 <= value < LARGEST_VALUE),
    ),
    "quantile": Hyperparameter(
        "τ", "share of the targets that is to lie below f",
        make_range_check("above 0 and below 1", lambda value: 0.0 < value < 1.0),
    ),
    "width": Hyperparameter("κ", "slack up to which the penalty is its square", as_positive),
    "loss": Hyperparameter(
        "loss", "what is beyond the tube costs", lambda value, name: check_choice(value, name, ("absolute", "squared"))
    ),
}  # fmt: skip


def check_hyperparameter(name: str, value: Any, samples: TrainingSamples) -> Any:
    """Check a hyperparameter and return it. Raises ParameterError, ParameterTypeError, UnknownOptionError."""
    if name == "C":
        return check_penalties(value, samples)
    return HYPERPARAMETERS[name].check(value, name) if name in HYPERPARAMETERS else value  # one of a user's machine


def format_hyperparameter(name: str, value: Any) -> str:
    """Format a hyperparameter for a title; "" if it is not a number."""
    if isinstance(value, str):
        return ""
    number = format_penalty(value) if isinstance(value, np.ndarray) else f"{value:g}"
    return f", {HYPERPARAMETERS[name].symbol if name in HYPERPARAMETERS else name} = {number}"
