"""Check the values of parameters of estimators (`Check`)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from qpsvm import backends
from qpsvm.base import errors
from qpsvm.base.arrays.checks import as_flag, as_positive
from qpsvm.base.arrays.formatting import format_value
from qpsvm.machines.problem.parameter_checks import make_range_check
from qpsvm.result.calibration import METHODS
from qpsvm.space.kernels.functions import Kernel

#: A check of one parameter by value and name; it raises an error for an invalid value.
Check = Callable[[Any, str], object]


def check_choice(*known: Any) -> Check:
    """Return a check of a value that is one of a few."""

    def check(value: Any, name: str) -> None:
        if not any(value is option or (type(value) is type(option) and value == option) for option in known):
            near = errors.suggest_names(value, known)
            words = ", ".join(sorted(format_value(option) for option in known))
            raise errors.UnknownOptionError(" ".join([f"{name} is {format_value(value)};", *near, f"known: {words}"]))

    return check


def check_integer(words: str, fits: Callable[[int], bool], flags: bool = False) -> Check:
    """Return a check of an integer; True and False are refused unless `flags`."""

    def check(value: Any, name: str) -> None:
        number = isinstance(value, numbers.Integral) and (flags or not isinstance(value, bool))
        if not number or not fits(value):
            raise errors.ParameterTypeError(f"{name} must be {words}, got {value!r}")

    return check


def check_unless(exempt: Callable[[Any], bool], check: Check) -> Check:
    """Return a check that exempts some values."""
    return lambda value, name: None if exempt(value) else check(value, name)


def is_none(value: Any) -> bool:
    """Return whether a value is None."""
    return value is None


def is_kernel(value: Any) -> bool:
    """Return whether a value is a kernel of this library or a function."""
    return isinstance(value, Kernel) or callable(value)


def is_infinite(value: Any) -> bool:
    """Return whether a value is infinite, so that no slack is allowed."""
    return isinstance(value, numbers.Real) and value == math.inf


check_share = make_range_check("above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
check_not_negative = make_range_check("0 or positive", lambda value: value >= 0.0)
#: A positive, finite number, or infinity.
check_penalty = check_unless(is_infinite, as_positive)


def check_gamma(value: Any, name: str) -> None:
    """Check a number that is not negative, or the name of a rule."""
    (check_choice("scale", "auto") if isinstance(value, str) else check_not_negative)(value, name)


def check_probability(value: Any, name: str) -> None:
    """Check a flag, or the name of a kind of curve."""
    (check_choice(*METHODS, "leave-one-out", "leave-one-out-isotonic") if isinstance(value, str) else as_flag)(
        value, name
    )


def check_intercept(instead: str) -> Check:
    """Return a check of `fit_intercept` that refuses False."""

    def check(value: Any, name: str) -> None:
        if not as_flag(value, name):
            raise errors.UnsupportedError(f"there is an intercept always: take {instead}(fit_intercept=False)")

    return check


def check_backend(value: Any, name: str) -> None:
    """Check that the value is one of `qpsvm.backends.names()`, or "auto"."""
    check_choice("auto", *backends.names())(value, name)
