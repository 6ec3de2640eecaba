"""Check the arguments of the machines: words, numbers in a range, shares (`check_choice`, `as_share`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from qpsvm.base.arrays.checks import as_positive, as_real
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.space.intercept import Intercept

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof


#: Which of a machine's two QPs.
Form = Literal["dual", "primal"]
FORMS = get_args(Form)


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> Any:
    """Check a parameter that is one of a few words, or None where that is among them. Raises UnknownOptionError."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise UnknownOptionError(f"unknown {name} {format_value(value)}; {describe_nearest(value, choices)}")
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
    from qpsvm.bounds.proof.infeasible import prove_nu_above_one  # proofs are imported on demand

    return prove_nu_above_one(nu, feasible)
