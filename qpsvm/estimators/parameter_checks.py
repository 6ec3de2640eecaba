"""Check the values of parameters of estimators (`Check`)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.base import errors
from qpsvm.base.arrays.checks import as_flag, as_positive
from qpsvm.base.arrays.formatting import format_value
from qpsvm.machines.problem.linear_constraints import as_constraints
from qpsvm.machines.problem.parameter_checks import make_range_check
from qpsvm.result.calibration import METHODS
from qpsvm.space.kernels.functions import Kernel

#: A check of a parameter, called with its value and its name; it raises an error for an invalid value.
Check = Callable[[Any, str], object]


def make_choice_check(*options: Any) -> Check:
    """Make a check that a value is one of `options`, also as a string or bool of NumPy."""

    def is_option(value: Any, option: Any) -> bool:
        kinds = (bool, np.bool_) if isinstance(option, bool) else type(option)  # 1 is not True
        return value is option or (isinstance(value, kinds) and bool(value == option))

    def check(value: Any, name: str) -> None:
        if not any(is_option(value, option) for option in options):
            suggestions = errors.suggest_names(value, options)
            known = ", ".join(sorted(format_value(option) for option in options))
            parts = [f"{name} is {format_value(value)};", *suggestions, f"known: {known}"]
            raise errors.UnknownOptionError(" ".join(parts))

    return check


def make_integer_check(requirement: str, is_valid: Callable[[int], bool]) -> Check:
    """Make a check of an integer that is not True or False; `requirement` describes a valid one."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not is_valid(int(value)):
            raise errors.ParameterTypeError(f"{name} must be {requirement}, got {value!r}")

    return check


def make_check_unless(is_exempt: Callable[[Any], bool], check: Check) -> Check:
    """Make a check that skips exempt values."""
    return lambda value, name: None if is_exempt(value) else check(value, name)


def is_none(value: Any) -> bool:
    """Return whether a value is None."""
    return value is None


def is_kernel(value: Any) -> bool:
    """Return whether a value is a kernel of this library or a function."""
    return isinstance(value, Kernel) or callable(value)


def is_infinite(value: Any) -> bool:
    """Return whether a value is +∞: as a penalty, it allows no slack."""
    return isinstance(value, numbers.Real) and value == math.inf


check_share = make_range_check("above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
check_nonnegative = make_range_check("0 or positive", lambda value: value >= 0.0)
#: A positive, finite number, or infinity.
check_penalty = make_check_unless(is_infinite, as_positive)


def check_gamma(value: Any, name: str) -> None:
    """Check a nonnegative number, or a rule: "scale" or "auto"."""
    check: Check = make_choice_check("scale", "auto") if isinstance(value, str) else check_nonnegative
    check(value, name)


def check_constraints(value: Any, name: str) -> None:  # noqa: ARG001
    """Check that the value is a linear constraint, or a list of them. Raises ParameterError."""
    as_constraints(value)


def check_probability(value: Any, name: str) -> None:
    """Check a flag, or the name of a calibration method."""
    methods = (*METHODS, "leave-one-out", "leave-one-out-isotonic")
    check: Check = make_choice_check(*methods) if isinstance(value, str) else as_flag
    check(value, name)


def make_intercept_check(alternative: str) -> Check:
    """Make a check of `fit_intercept` that refuses False, and names the estimator that accepts it."""

    def check(value: Any, name: str) -> None:
        if not as_flag(value, name):
            raise errors.UnsupportedError(f"there is an intercept always: take {alternative}(fit_intercept=False)")

    return check


def check_backend(value: Any, name: str) -> None:
    """Check that the value is one of `qpsvm.backends.names()`, or "auto"."""
    make_choice_check("auto", *backends.names())(value, name)
