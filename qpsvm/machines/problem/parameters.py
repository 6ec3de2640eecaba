"""The parameters that several machines have: described, checked and put into words in one place."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_penalties, as_positive, as_real
from qpsvm.base.arrays.exactly import Exactly, products, sum_of
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import common_value
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, nearest
from qpsvm.data.samples import Samples
from qpsvm.space.kernels.gram import Intercept, PSDRule

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof


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
    """The docstring of a machine of ours with all its parameters, in order: it has those of its own itself."""
    found = SECTION.search(inspect.cleandoc(kind.__doc__ or "") + "\n\n")
    if found is None or "__init__" not in vars(kind) or not kind.__module__.startswith("qpsvm."):
        return
    code = vars(kind)["__init__"].__code__
    entries = SHARED | {entry.group(1): entry.group() for entry in ENTRY.finditer(found.group(1))}
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    whole = "\n".join(["Parameters", "----------", *(entries[name] for name in names)])
    text = found.string.rstrip()
    raises = "" if "\nRaises\n---" in text else RAISES
    kind.__doc__ = f"{text[: found.start()]}{whole}\n\n{raises}{text[found.end() :]}\n"


def prices(C: float | ArrayLike, samples: Samples) -> FloatArray:
    """C as a number for each sample, (n,), of which C times the weight is still a number.

    Raises ParameterError, ParameterTypeError.
    """
    found = as_penalties(C, samples.n)
    heaviest = samples.comm.max(_largest(samples.weight))
    if _largest(found) * heaviest > LARGEST_VALUE:
        raise ParameterError("C times sample_weight is too large: the objective overflows; divide by a constant")
    return found


def _largest(vector: FloatArray) -> float:
    common = common_value(vector)
    return float(vector.max(initial=0.0)) if common is None else common


def upper_bounds(C: FloatArray, samples: Samples) -> Exactly | FloatArray:
    """C_i · s_i of the samples that take part, for C (n,): C itself where nobody has given weights."""
    return C if common_value(samples.weight) == 1.0 else taking_prices(C, samples)


def taking_prices(C: FloatArray, samples: Samples) -> Exactly:
    """The same as exact numbers."""
    return products(samples.taking_part(samples.weight), samples.taking_part(C))


def total_weight(samples: Samples) -> Fraction:
    """Σs, of all members of a communicator; exactly, where there is no other."""
    s, comm = samples.taking_part(samples.weight), samples.comm
    return sum_of(s) if comm.serial else Fraction(comm.sum(float(s.sum())))


def price_in_words(C: FloatArray) -> str:
    """C (n,) for a title: one number, or the least and the most; nothing of a process that has no samples."""
    if not len(C):
        return ""
    common = common_value(C)
    low, high = (float(C.min()), float(C.max())) if common is None else (common, common)
    return f"{low:g}" if low == high else f"{low:g} … {high:g}"


def sharing(twin: Any, problem: Any) -> Any:
    """A machine that was made of another one's samples, with the names of its columns and its Gram matrix."""
    twin.samples = problem.samples
    same = (problem.kernel, problem.intercept, problem.affine)
    if (twin.kernel, twin.intercept, twin.affine) == same:
        twin.__dict__["space"] = problem.space
    return twin


def as_intercept(intercept: Intercept) -> Intercept:
    """Check the name of an intercept.

    Raises UnknownOptionError.
    """
    if intercept is not None and (not isinstance(intercept, str) or intercept not in ("free", "penalised")):
        known = ("free", "penalised", None)
        raise UnknownOptionError(f"unknown intercept {shown(intercept)}; {nearest(intercept, known)}")
    return intercept


def as_psd(psd: PSDRule) -> PSDRule:
    """Check the name of a rule for an indefinite kernel.

    Raises UnknownOptionError.
    """
    if not isinstance(psd, str) or psd not in get_args(PSDRule):
        raise UnknownOptionError(f"unknown psd {shown(psd)}; {nearest(psd, get_args(PSDRule))}")
    return psd


def as_share(nu: float, feasible: bool = False) -> float:
    """Check a ν that may be anything up to 1; beyond it there may be a `feasible` α, or none.

    Raises InfeasibleNuError, ParameterError, ParameterTypeError.
    """
    nu = as_positive(nu, "nu")
    if nu > 1.0:
        error = InfeasibleNuError(nu, 1.0, balance=False)
        error._evidence = partial(_proof_of_share, nu, feasible)
        raise error
    return nu


def _proof_of_share(nu: float, feasible: bool) -> Proof:
    from qpsvm.bounds.proof.infeasible.constraints import share  # proofs are loaded when somebody asks for one

    return share(nu, feasible)


def as_width(epsilon: float) -> float:
    """Check half the width of a tube.

    Raises ParameterError, ParameterTypeError.
    """
    epsilon = as_real(epsilon, "epsilon")
    if not 0.0 <= epsilon < LARGEST_VALUE:
        raise ParameterError(f"epsilon must be at least 0 and finite, got {epsilon!r}")
    return epsilon


def as_quantile(quantile: float) -> float:
    """Check the share of a quantile.

    Raises ParameterError, ParameterTypeError.
    """
    quantile = as_real(quantile, "quantile")
    if not 0.0 < quantile < 1.0:
        raise ParameterError(f"quantile must be above 0 and below 1, got {quantile!r}")
    return quantile
