"""Try one backend after another until a result is certified (`find_best_result`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qpsvm import backends
from qpsvm.backends.base import COMMON_OPTIONS, Backend
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.requirements import Requirements
from qpsvm.backends.traits import find_problem_traits
from qpsvm.base.errors import (
    QPSVMError,
    SolverError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
    describe_nearest,
)
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import is_logging, log_message
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.attempt import build_unstarted_result, run_backend
from qpsvm.solve.backend_order import Candidate, rank_backends
from qpsvm.solve.request import SolveRequest, bound_follow_up_time, format_time_estimate


@dataclass(frozen=True)
class ChosenBackend:
    """A backend that may be started, the form that it solves, and what it needs."""

    backend: Backend
    form: Form
    needed: Requirements

    def __str__(self) -> str:
        return str(Candidate(self.backend.name, self.form))


def find_best_result(problem: Problem, candidates: Iterator[ChosenBackend], request: SolveRequest) -> SVMResult:
    """Return the best result of the candidates: of the first that can start, and of later ones within the time budget.

    Raises UnsupportedError, SolverError, TooLargeError.
    """
    search = _Search(request)
    for candidate in candidates:
        if search.is_in_time(candidate):
            search.try_backend(problem, candidate)
            if search.is_over():
                break
    return search.build_result(problem)


class _Search:
    """The best result so far, and the backends that were left out."""

    def __init__(self, request: SolveRequest) -> None:
        self.request = request
        self._best: SVMResult | None = None
        self._error: QPSVMError | None = None
        self._remaining: float | None = None  # seconds for all later backends together; None before the first
        self._late: tuple[ChosenBackend, str] | None = None
        self._left_out: list[str] = []
        self._waiting_helps = False
        self._is_last = False

    def is_in_time(self, candidate: ChosenBackend) -> bool:
        """Return whether the set-up of a backend fits into the limits; if not, record the reason."""
        setup_seconds = candidate.needed.seconds
        reason = self.request.explain_late_start(setup_seconds)
        if reason is not None:
            self._late = self._late or (candidate, reason)
            return False
        if self._remaining is None or setup_seconds < self._remaining:
            return True
        reason = (
            f"about {format_time_estimate(setup_seconds)} to set it up" if self._remaining > 0.0 else "no time left"
        )
        self._left_out.append(f"{candidate} ({reason})")
        self._waiting_helps = True
        return False

    def try_backend(self, problem: Problem, candidate: ChosenBackend) -> None:
        """Run a backend, and store its result if it is the best so far, or its error."""
        clock = Clock(self._remaining)
        try:
            result = run_backend(problem, candidate.backend, candidate.form, candidate.needed, self.request, clock)
        except UnsupportedError as error:  # it does not accept this machine
            self._error = self._error or error
            return
        except SolverError as error:  # of an external backend: the others are tried
            self._error = self._error or error
            self._left_out.append(f"{candidate} ({error})")
            return
        except TooLargeError as error:
            self._error = error
            self._left_out.append(f"{candidate} (memory)")
            return
        seconds_used = clock.seconds
        self._remaining = (
            bound_follow_up_time(seconds_used) if self._remaining is None else self._remaining - seconds_used
        )
        self._best = result if self._best is None or result.gap < self._best.gap else self._best
        self._is_last = result.error is not None or self.request.forbids_retry(result)

    def is_over(self) -> bool:
        """Return whether the last result ends the search."""
        return self._best is not None and (self._best.status is Status.OPTIMAL or self._is_last)

    def build_result(self, problem: Problem) -> SVMResult:
        """Return the best result, with a note on the backends that were left out. Raises the error if there is none."""
        if self._best is None and self._late is not None:
            late, reason = self._late
            version = late.backend.version() or "?"
            return build_unstarted_result(problem, late.backend.name, version, late.form, self.request, reason)
        if self._best is None:
            assert self._error is not None  # there is at least one candidate
            raise self._error
        if self._best.status is Status.OPTIMAL or not self._left_out:
            return self._best
        note = f"Not tried: {', '.join(self._left_out)}"
        note += "; name one as backend= to wait for it." if self._waiting_helps else "."
        return replace(self._best, message=f"{self._best.message} {note}".strip())


def iter_candidates(
    problem: Problem, backend: str, form: Form | None, request: SolveRequest
) -> Iterator[ChosenBackend]:
    """Yield the backends and forms to try, in order, with their requirements; several only with "auto".

    If a named backend does not support the request, this raises an error, before anything is built; with "auto", such
    backends are skipped. They are checked one at a time, because reading the settings of a solver's package may take
    longer than solving a small problem.

    Raises UnsupportedError, UnknownOptionError, MissingExtraError.
    """
    if form is not None:
        check_form(form)
    is_named = not (isinstance(backend, str) and backend == "auto")
    last_error: QPSVMError | None = None
    has_candidate = False
    size, traits = measure_size(problem), find_problem_traits(problem)
    for candidate in [Candidate(backend)] if is_named else _rank_and_log(problem, request):
        if form is not None and candidate.form not in (None, form):
            continue
        chosen = candidate.backend_object
        chosen_form = form or candidate.form or _prefer_form(problem, chosen, request)
        needed = chosen.requirements(size, chosen_form)
        try:
            if reason := chosen.explain_refusal(traits, size.rows, chosen_form):
                raise UnsupportedError(reason)
            _check_request(chosen, chosen_form, needed, request, is_named)
        except (UnsupportedError, UnknownOptionError) as error:
            last_error = error
            continue
        chosen.require_package()
        has_candidate = True
        yield ChosenBackend(chosen, chosen_form, needed)
    if has_candidate or last_error is None:
        return
    if not is_named and isinstance(last_error, UnknownOptionError):
        raise UnknownOptionError(_explain_unknown_option(request.options)) from None
    raise last_error


def _rank_and_log(problem: Problem, request: SolveRequest) -> Iterable[Candidate]:
    """Return the backends that "auto" tries; log their order if messages are shown."""
    if not is_logging(request.verbose):
        return rank_backends(problem)
    candidates = list(rank_backends(problem))
    log_message(f"auto, in this order: {', '.join(map(str, candidates))}", request.verbose)
    return candidates


def _prefer_form(problem: Problem, backend: Backend, request: SolveRequest) -> Form:
    """Return the form in which a backend can use the start, else the one in which it certifies best."""
    if request.can_warm_start(backend, "dual"):
        return "dual"
    return backend.preferred_form(problem.space.is_linear)


def _check_request(backend: Backend, form: Form, needed: Requirements, request: SolveRequest, is_named: bool) -> None:
    """Check that a backend supports the start, limits and options of a request.

    Checking options imports the solver's package. It is omitted if "auto" will not start the backend anyway.

    Raises UnsupportedError, UnknownOptionError.
    """
    if is_named and request.start is not None and not request.can_warm_start(backend, form):
        raise backend.build_warm_start_error(form)
    can_stop = request.time_limit is None or backend.abilities.supports("time_limit")
    will_not_start = can_stop and request.explain_late_start(needed.seconds) is not None
    if request.has_requirements and (is_named or not will_not_start):
        backend.check_request(request.build_limits(backend), request.options)


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
