"""Check the arguments of machines: words, numbers in a range, ν (`check_choice`, `make_range_check`, `check_nu`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from qpsvm.base.arrays.checks import as_positive, as_real
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.space.intercept import Intercept

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof


#: Which of a machine's two QPs.
Form = Literal["dual", "primal"]
#: The words and None from which a parameter is chosen.
Choice = TypeVar("Choice")
FORMS: tuple[Form, ...] = get_args(Form)
INTERCEPTS: tuple[Intercept, ...] = ("free", "penalised", None)


def check_choice(value: Any, name: str, choices: tuple[Choice, ...]) -> Choice:
    """Check and return a parameter that is one of `choices`, words or None. Raises UnknownOptionError."""
    if not (value is None or isinstance(value, str)) or value not in choices:  # an array is compared entry by entry
        raise UnknownOptionError(f"unknown {name} {format_value(value)}; {describe_nearest(value, choices)}")
    return value


def check_form(form: str) -> Form:
    """Check and return the name of a form. Raises UnknownOptionError."""
    return check_choice(form, "form", FORMS)


def check_intercept(intercept: Any) -> Intercept:
    """Check and return the kind of an intercept. Raises UnknownOptionError."""
    return check_choice(intercept, "intercept", INTERCEPTS)


def make_range_check(range_text: str, is_in_range: Callable[[float], bool]) -> Callable[[Any, str], float]:
    """Make a check of a finite number, which raises ParameterError or ParameterTypeError."""

    def check(value: Any, name: str) -> float:
        number = as_real(value, name)
        if not is_in_range(number):
            raise ParameterError(f"{name} must be {range_text}, got {value!r}")
        return number

    return check


def check_nu(nu: float, name: str = "nu", has_feasible_alpha: bool = False) -> float:
    """Check and return a ν with 0 < ν ≤ 1, a share of the samples. Not for ν-SVMs, whose limit is the class balance.

    has_feasible_alpha: Whether the dual is feasible for some ν > 1 nevertheless, which changes the proof of the error.

    Raises InfeasibleNuError, ParameterError, ParameterTypeError.
    """
    nu = as_positive(nu, name)
    if nu > 1.0:
        error = InfeasibleNuError(nu, nu_max=1.0, balance=False)  # without a balance of two classes
        error._evidence = partial(_prove_nu_above_one, nu, has_feasible_alpha)  # called by `verify` of the error
        raise error
    return nu


def _prove_nu_above_one(nu: float, has_feasible_alpha: bool) -> Proof:
    from qpsvm.bounds.proof.infeasible import prove_nu_above_one  # proofs are imported on demand

    return prove_nu_above_one(nu, has_feasible_alpha)
