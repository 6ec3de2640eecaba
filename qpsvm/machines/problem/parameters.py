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
from qpsvm.base.arrays.exactly import Exactly, products, sum_of
from qpsvm.base.arrays.frozen import common_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, nearest
from qpsvm.data.samples import Samples
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


def described(kind: type) -> None:
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


def prices(C: float | ArrayLike, samples: Samples) -> FloatArray:
    """C as a number for each sample, (n,), of which C times the weight is still a number.

    Raises ParameterError, ParameterTypeError.
    """
    found = as_penalties(C, samples.n)
    heaviest = _largest(samples.weight)
    if _largest(found) * heaviest > LARGEST_VALUE:
        raise ParameterError("C times sample_weight is too large: the objective overflows; divide by a constant")
    return found


def _largest(vector: FloatArray) -> float:
    common = common_value(vector)
    return float(vector.max(initial=0.0)) if common is None else common


def upper_bounds(C: FloatArray, samples: Samples) -> Exactly | FloatArray:
    """Compute C_i · s_i of the samples that take part, for C (n,): C itself if there are no weights."""
    return C if common_value(samples.weight) == 1.0 else active_penalties(C, samples)


def active_penalties(C: FloatArray, samples: Samples) -> Exactly:
    """Compute C_i · s_i of the samples that take part as exact numbers."""
    return products(samples.taking_part(samples.weight), samples.taking_part(C))


def total_weight(samples: Samples) -> Fraction:
    """Σs, exactly."""
    return sum_of(samples.taking_part(samples.weight))


def penalty_in_words(C: FloatArray) -> str:
    """C (n,) for a title: one number, or the least and the most; nothing of a process that has no samples."""
    if not len(C):
        return ""
    common = common_value(C)
    low, high = (float(C.min()), float(C.max())) if common is None else (common, common)
    return f"{low:g}" if low == high else f"{low:g} … {high:g}"


def one_of(value: Any, name: str, known: tuple[Any, ...]) -> Any:
    """Check a parameter that is one of a few words, or None where that is among them. Raises UnknownOptionError."""
    if not (value is None or isinstance(value, str)) or value not in known:
        raise UnknownOptionError(f"unknown {name} {shown(value)}; {nearest(value, known)}")
    return value


def check_form(form: str) -> Form:
    """Check the name of a form. Raises UnknownOptionError."""
    found: Form = one_of(form, "form", FORMS)
    return found


def as_intercept(intercept: Any) -> Intercept:
    """Check the name of an intercept. Raises UnknownOptionError."""
    found: Intercept = one_of(intercept, "intercept", ("free", "penalised", None))
    return found


def within(words: str, fits: Callable[[float], bool]) -> Callable[[Any, str], float]:
    """A check of a finite number, which raises ParameterError or ParameterTypeError."""

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
        error._evidence = partial(_proof_of_share, nu, feasible)
        raise error
    return nu


def _proof_of_share(nu: float, feasible: bool) -> Proof:
    from qpsvm.bounds.proof.infeasible import share  # proofs are loaded when somebody asks for one

    return share(nu, feasible)


class Hyperparameter(NamedTuple):
    """A parameter of machines: its letter, for people, what it is, and the check of a value by its name."""

    letter: str
    what: str
    check: Callable[[Any, str], Any]


#: Those that machines name in `own`. A C may be one for each sample, `prices`.
HYPERPARAMETERS = {
    "C": Hyperparameter("C", "penalty of slack", as_positive),
    "nu": Hyperparameter("ν", "bound on the share of errors, or of rows outside", as_share),
    "lam": Hyperparameter("λ", "weight of the norm", as_positive),
    "epsilon": Hyperparameter(
        "ε", "half the width of the tube, in units of the target",
        within("at least 0 and finite", lambda value: 0.0 <= value < LARGEST_VALUE),
    ),
    "quantile": Hyperparameter(
        "τ", "share of the targets that is to lie below f",
        within("above 0 and below 1", lambda value: 0.0 < value < 1.0),
    ),
    "width": Hyperparameter("κ", "slack up to which the penalty is its square", as_positive),
    "loss": Hyperparameter(
        "loss", "what is beyond the tube costs", lambda value, name: one_of(value, name, ("absolute", "squared"))
    ),
}  # fmt: skip


def checked(name: str, value: Any, samples: Samples) -> Any:
    """A machine's own parameter as it is kept. Raises ParameterError, ParameterTypeError, UnknownOptionError."""
    if name == "C":
        return prices(value, samples)
    return HYPERPARAMETERS[name].check(value, name) if name in HYPERPARAMETERS else value  # one of a user's machine


def in_words(name: str, value: Any) -> str:
    """A machine's own parameter for a title; nothing of one that is no number."""
    if isinstance(value, str):
        return ""
    number = penalty_in_words(value) if isinstance(value, np.ndarray) else f"{value:g}"
    return f", {HYPERPARAMETERS[name].letter if name in HYPERPARAMETERS else name} = {number}"
