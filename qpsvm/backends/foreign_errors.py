"""Translate the exceptions of solvers: into errors that name the backend, or into a raw status.

`translate_errors` is for every backend and `describe_breakdown` for those of this library, whose exceptions are known.
`ForeignCode` is for backends that users register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from qpsvm.base.errors import ParameterError, QPSVMError, SolverError, TooLargeError

T = TypeVar("T")
#: Raw status of a point that is not finite.
NOT_FINITE = "returned numbers that are not finite"
#: Exceptions that solvers raise if the value of a setting is invalid.
SETTING_ERRORS = (TypeError, ValueError, AttributeError, KeyError, OverflowError)
#: Exceptions that solvers raise at a numerical breakdown.
NUMERICAL_ERRORS = (ArithmeticError, np.linalg.LinAlgError)


class ForeignCode:
    """Context manager for code of a registered backend: its exceptions become a `SolverError` that names the backend.

    Errors of this library pass unchanged, so that a solver may reject a problem. So do memory errors, which
    `translate_errors` handles, and exceptions that end a program, such as KeyboardInterrupt.
    """

    def __init__(self, name: str, activity: str) -> None:
        self.name, self.activity = name, activity

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise a SolverError that names the backend."""
        if isinstance(error, Exception) and not isinstance(error, (QPSVMError, MemoryError)):
            message_lines = str(error).strip().splitlines()
            reason = f"{type(error).__name__}{f': {message_lines[0]}' if message_lines else ''}"
            raise SolverError(f"the registered backend {self.name!r} failed {self.activity}: {reason}") from error


def describe_breakdown(error: Exception, options: Mapping[str, Any]) -> str:
    """Return the raw status of a numerical breakdown, or re-raise an error that one of the user's options may cause."""
    if options and isinstance(error, SETTING_ERRORS):
        raise error
    return f"raised {type(error).__name__}: {error}"


def translate_errors(solver: str, n: int, options: Mapping[str, Any], run: Callable[[], T]) -> T:
    """Run a solver on n variables; translate errors about its options and memory to ParameterError, TooLargeError."""
    try:
        return run()
    except QPSVMError:  # translated already
        raise
    except SETTING_ERRORS as error:
        if not options:  # no setting of the user is to blame
            raise
        shown_types = (int, float, str)  # the text of other values is long and uninformative
        settings = ", ".join(f"{k}={v!r}" if isinstance(v, shown_types) else k for k, v in options.items())
        if str(error).strip():
            reason = str(error).strip().splitlines()[0]
        else:
            reason = type(error).__name__
        raise ParameterError(f"{solver} refused its settings {settings}: {reason}") from error
    except MemoryError as error:
        raise TooLargeError(
            f"{solver} ran out of memory on a QP of {n} variables: use fewer rows, or osqp on the primal form where "
            "the kernel is linear"
        ) from error
