"""The parameters of estimators, each checked by a function `(value, name)`.

Scikit-learn's own words for values are taken, and the words of this library where it has others.

Scikit-learn's callbacks, in its versions that have them: a fit is one task, which begins and ends.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from qpsvm import backends
from qpsvm.base.arrays.checks import as_flag, as_positive, as_real, as_tolerance
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import ParameterError, ParameterTypeError, UnknownOptionError, did_you_mean
from qpsvm.space.kernels.functions import Kernel

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: there are no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


Fit = TypeVar("Fit", bound=Callable[..., Any])


def watched(fit: Fit) -> Fit:
    """A `fit` whose beginning and end the callbacks of the estimator are told of."""

    @functools.wraps(fit)
    def watched_fit(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, X, *args, **named)
        given = {**dict(zip(("y", "sample_weight"), args, strict=False)), **named}
        told = {"X": X, "y": given.get("y"), "metadata": {"sample_weight": given.get("sample_weight")}}
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, **told)
        fit(self, X, *args, **named)
        context.call_on_fit_task_end(estimator=self, **told, reconstruction_attributes={})
        return self

    return cast(Fit, with_callbacks(watched_fit))


#: A check of one parameter; it raises where the value is none.
Check = Callable[[Any, str], object]
#: Scikit-learn's names of kernels.
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
#: What scikit-learn writes for "no limit".
NO_LIMIT = -1


def one_of(*known: Any) -> Check:
    """A check of a value that is one of a few."""

    def check(value: Any, name: str) -> None:
        if not any(value is option or (type(value) is type(option) and value == option) for option in known):
            near = did_you_mean(value, known)
            words = ", ".join(sorted(shown(option) for option in known))
            raise UnknownOptionError(" ".join([f"{name} is {shown(value)};", *near, f"known: {words}"]))

    return check


def flag(value: Any, name: str) -> None:
    """True or False."""
    as_flag(value, name)


def positive(value: Any, name: str) -> None:
    """A positive, finite number."""
    as_positive(value, name)


def tolerance(value: Any, name: str) -> None:
    """A relative gap: above 0, and below 1."""
    del name
    as_tolerance(value)


def price(value: Any, name: str) -> None:
    """A positive number, which may be infinite: no slack at all."""
    if not (isinstance(value, numbers.Real) and value == math.inf):
        as_positive(value, name)


def share(value: Any, name: str) -> None:
    """In (0, 1]."""
    if not 0.0 < as_real(value, name) <= 1.0:
        raise ParameterError(f"{name} must be above 0 and at most 1, got {value!r}")


def not_negative(value: Any, name: str) -> None:
    """0 or a positive, finite number."""
    if as_real(value, name) < 0.0:
        raise ParameterError(f"{name} must not be negative, got {value!r}")


def finite(value: Any, name: str) -> None:
    """Any finite number."""
    as_real(value, name)


def degree(value: Any, name: str) -> None:
    """A whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise (ParameterError if isinstance(value, numbers.Real) else ParameterTypeError)(
            f"{name} must be a whole number from 0 on, got {value!r}"
        )


def gamma(value: Any, name: str) -> None:
    """A number from 0 on, or a rule."""
    if isinstance(value, str):
        one_of("scale", "auto")(value, name)
    else:
        not_negative(value, name)


def kernel(value: Any, name: str) -> None:
    """A name, a kernel of this library, or a function."""
    if not (isinstance(value, Kernel) or callable(value)):
        one_of(*KERNELS)(value, name)


def iterations(value: Any, name: str) -> None:
    """A whole number from 0 on; −1 or None for no limit."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterTypeError(f"{name} must be a whole number, or -1 for no limit, got {value!r}")
    if value < NO_LIMIT or value == 0:
        raise ParameterError(f"{name} must be positive, or -1 for no limit, got {value!r}")


def seconds(value: Any, name: str) -> None:
    """A positive number, or None for no limit."""
    if value is not None:
        as_positive(value, name)


def verbosity(value: Any, name: str) -> None:
    """A flag, or a whole number from 0 on as scikit-learn takes it."""
    if not isinstance(value, (bool, numbers.Integral)) or value < 0:
        raise ParameterTypeError(f"{name} must be a flag or a whole number from 0 on, got {value!r}")


def backend(value: Any, name: str) -> None:
    """One of `qpsvm.backends.names()`, or "auto"."""
    one_of("auto", *backends.names())(value, name)


def workers(value: Any, name: str) -> None:
    """A whole number other than 0, or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value == 0:
        raise ParameterTypeError(f"{name} must be a whole number other than 0, or None, got {value!r}")


def class_weight(value: Any, name: str) -> None:
    """A mapping, "balanced" or None."""
    if value is not None and not isinstance(value, Mapping):
        one_of("balanced")(value, name)


#: What every estimator takes.
SHARED: dict[str, Check] = {
    "backend": backend, "tol": tolerance, "max_iter": iterations, "time_limit": seconds, "verbose": verbosity,
    "warm_start": flag,
}  # fmt: skip
#: What those with a kernel take besides.
KERNEL: dict[str, Check] = {
    "kernel": kernel, "degree": degree, "gamma": gamma, "coef0": finite, "psd": one_of("raise", "clip", "shift"),
    "shrinking": flag, "cache_size": positive,
}  # fmt: skip

__all__ = ["CallbackSupportMixin", "watched"]
