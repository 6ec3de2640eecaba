"""The parameters that several machines have, checked and put into words in one place."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_penalties, as_positive, as_real
from qpsvm.base.arrays.exactly import Exactly, products, sum_of
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import common_value
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, nearest
from qpsvm.data.samples import Samples
from qpsvm.space.kernels.gram import Intercept

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof


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


def as_intercept(intercept: Intercept) -> Intercept:
    """Check the name of an intercept.

    Raises UnknownOptionError.
    """
    if intercept is not None and (not isinstance(intercept, str) or intercept not in ("free", "penalised")):
        known = ("free", "penalised", None)
        raise UnknownOptionError(f"unknown intercept {shown(intercept)}; {nearest(intercept, known)}")
    return intercept


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
