"""Translate the errors of third-party solvers, which are raised under the name of the backend (`translate_errors`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qpsvm.base.errors import ParameterError, QPSVMError, SolverError, TooLargeError

if TYPE_CHECKING:
    pass


T = TypeVar("T")
#: Raw status of a point that is not finite.
NOT_FINITE = "returned numbers that are not finite"
#: What solvers raise when the value of a setting is wrong.
SETTING_ERRORS = (TypeError, ValueError, AttributeError, KeyError, OverflowError)
#: What they raise at a numerical breakdown.
NUMERICAL_ERRORS = (ArithmeticError, np.linalg.LinAlgError)


class ForeignCode:
    """A block that runs third-party code: its exceptions become a `SolverError` that names the backend.

    Errors of this library pass unchanged, so that a solver may refuse a problem; so do memory errors, which are
    translated by the caller, and exceptions that end a program.
    """

    def __init__(self, name: str, activity: str) -> None:
        self.name, self.activity = name, activity

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Name whose error it is: SolverError."""
        if isinstance(error, Exception) and not isinstance(error, (QPSVMError, MemoryError)):
            said = str(error).strip().splitlines()
            why = f"{type(error).__name__}{f': {said[0]}' if said else ''}"
            raise SolverError(f"the registered backend {self.name!r} failed {self.activity}: {why}") from error


def describe_breakdown(error: Exception, options: Mapping[str, Any]) -> str:
    """Return the raw status of a numerical breakdown; re-raises what a setting that is too large has caused."""
    if options and isinstance(error, SETTING_ERRORS):
        raise error
    return f"raised {type(error).__name__}: {error}"


def translate_errors(solver: str, n: int, options: Mapping[str, Any], run: Callable[[], T]) -> T:
    """Run a solver on n variables; translate its errors about settings and memory."""
    try:
        return run()
    except SETTING_ERRORS as error:
        if not options:
            raise
        plain = (int, float, str)  # what else there is says little, and at length
        settings = ", ".join(f"{k}={v!r}" if isinstance(v, plain) else k for k, v in options.items())
        why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ParameterError(f"{solver} refused its settings {settings}: {why}") from error
    except MemoryError as error:
        if isinstance(error, TooLargeError):
            raise
        raise TooLargeError(
            f"{solver} ran out of memory on a QP of {n} variables: use fewer rows, or osqp on the primal form where "
            "the kernel is linear"
        ) from error
