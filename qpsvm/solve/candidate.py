"""Define a backend that may be started on a problem (`Candidate`), and skip those that cannot (`iter_supporting`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from qpsvm import backends
from qpsvm.backends.base import COMMON_OPTIONS, Backend
from qpsvm.base.errors import QPSVMError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.base.resources.clock import Clock
from qpsvm.program.exchange import R
from qpsvm.solve.request import SolveRequest


@dataclass(frozen=True, eq=False)
class Attempt(Generic[R]):
    """The result of a backend, and whether its gap is rounding, which no other backend can be expected to reduce."""

    result: R
    is_rounding: bool = False


@dataclass(frozen=True, kw_only=True)
class Candidate(ABC, Generic[R]):
    """A backend that may be started on one problem.

    request: What the user asked for.
    trial_max_iter: Limit on the iterations of a trial, whose time does not limit later attempts; None if not a trial.
    """

    backend: Backend
    request: SolveRequest
    trial_max_iter: int | None = None

    def __str__(self) -> str:
        return self.backend.name

    @property
    def setup_seconds(self) -> float:
        """Estimated seconds of a set-up that cannot be interrupted."""
        return 0.0

    @abstractmethod
    def run(self, clock: Clock) -> Attempt[R]:
        """Solve and certify, within the limits of the request and of a clock.

        Raises UnsupportedError, SolverError, TooLargeError.
        """

    @abstractmethod
    def build_unstarted_result(self, reason: str) -> R:
        """Build the best result without a solver; the reason says why it was not started."""


def is_auto(backend: object) -> bool:
    """Return whether the backend is to be chosen; an array, or anything else, is a name, and refused as such."""
    return isinstance(backend, str) and backend == "auto"


C = TypeVar("C", bound=Candidate[Any])


def iter_supporting(
    candidates: Iterable[C], check: Callable[[C], None], auto_options: Mapping[str, Any]
) -> Iterator[C]:
    """Yield the candidates that pass a check; raise the last error if none does.

    They are checked one at a time, because reading the settings of a solver's package may take longer than solving a
    small problem.

    check: Raises UnsupportedError or UnknownOptionError for a candidate that does not support the request.
    auto_options: The options of a request whose backend is chosen by "auto".
    """
    last_error: QPSVMError | None = None
    has_candidate = False
    for candidate in candidates:
        try:
            check(candidate)
        except (UnsupportedError, UnknownOptionError) as error:
            last_error = error
            continue
        has_candidate = True
        yield candidate
    if has_candidate or last_error is None:
        return
    if auto_options and isinstance(last_error, UnknownOptionError):
        raise UnknownOptionError(_explain_unknown_option(auto_options)) from None
    raise last_error


def _explain_unknown_option(options: Mapping[str, Any]) -> str:
    """Return the message about options that no backend chosen by "auto" has; it names the backends that have them."""
    options_by_backend = {backend.name: backend.options() for backend in backends.iter_backends() if backend.version()}
    option = next((name for name in options if not any(name in names for names in options_by_backend.values())), None)
    if option is not None:
        return (
            f"no backend has an option {option!r}; {describe_nearest(option, COMMON_OPTIONS)}, and each backend's own"
        )
    option = next(iter(options))
    owners = [name for name, names in options_by_backend.items() if option in names]
    return f"the option {option!r} belongs to {' and '.join(owners)}: name the backend, as in backend={owners[0]!r}"
