"""Try one backend after another until a result is certified (`find_best_result`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    pass


def find_best_result(
    problem: Problem, candidates: Iterator[tuple[Backend, Form, Requirements]], request: SolveRequest
) -> SVMResult:
    """Return the best result of the candidates: of the first that can start, and of later ones within the time budget.

    Raises UnsupportedError, TooLargeError.
    """
    best: SVMResult | None = None
    refused: QPSVMError | None = None
    left: float | None = None  # seconds for all followers
    late: tuple[Backend, Form, str] | None = None
    left_out: list[str] = []
    waiting_helps = False
    for chosen, wanted, needed in candidates:
        why = request.explain_late_start(needed.seconds)
        if why is not None:
            late = late or (chosen, wanted, why)
            continue
        if left is not None and needed.seconds >= left:
            why = f"about {format_time_estimate(needed.seconds)} to set it up" if left > 0.0 else "no time left"
            left_out.append(f"{Candidate(chosen.name, wanted)} ({why})")
            waiting_helps = True
            continue
        turn = Clock(left)
        try:
            result = run_backend(problem, chosen, wanted, needed, request, turn)
        except UnsupportedError as error:
            refused = refused or error  # it takes other machines
            continue
        except SolverError as error:  # of a backend from outside, which is not the only one that there is
            refused = refused or error
            left_out.append(f"{Candidate(chosen.name, wanted)} ({error})")
            continue
        except TooLargeError as error:
            refused = error
            left_out.append(f"{Candidate(chosen.name, wanted)} (memory)")
            continue
        left = bound_follow_up_time(turn.seconds) if left is None else left - turn.seconds
        best = result if best is None or result.gap < best.gap else best
        if best.status is Status.OPTIMAL or result.error is not None or request.forbids_retry(result):
            break
    if best is None and late is not None:
        backend, form, why = late
        return build_unstarted_result(problem, backend.name, backend.version() or "?", form, request, why)
    if best is None:
        assert refused is not None  # there is at least one choice
        raise refused
    if best.status is Status.OPTIMAL or not left_out:
        return best
    said = f"Not tried: {', '.join(left_out)}" + ("; name one as backend= to wait for it." if waiting_helps else ".")
    return replace(best, message=f"{best.message} {said}".strip())


def iter_candidates(
    problem: Problem, backend: str, form: Form | None, request: SolveRequest
) -> Iterator[tuple[Backend, Form, Requirements]]:
    """Yield the backends and forms to try, in order, with their requirements; several only with "auto".

    A request that a named backend does not support is an error here, before anything is built; with "auto", backends
    that do not support the request are skipped. They are evaluated one at a time, because reading the settings of a
    solver's package takes longer than a small problem.
    """
    if form is not None:
        check_form(form)
    linear = problem.space.is_linear
    named = not (isinstance(backend, str) and backend == "auto")
    refused: QPSVMError | None = None
    found = False
    size, traits = measure_size(problem), find_problem_traits(problem)
    candidates: Iterable[Candidate] = [Candidate(backend)] if named else rank_backends(problem)
    if not named and is_logging(request.verbose):
        candidates = list(candidates)
        log_message(f"auto, in this order: {', '.join(str(choice) for choice in candidates)}", request.verbose)
    for choice in candidates:
        chosen = choice.backend_object
        if form is not None and choice.form not in (None, form):
            continue
        preferred: Form = "dual" if request.can_warm_start(chosen, "dual") else chosen.preferred_form(linear)
        wanted = form or choice.form or preferred
        reason, needed = chosen.explain_refusal(traits, size.rows, wanted), chosen.requirements(size, wanted)
        can_stop = request.time_limit is None or chosen.abilities.supports("time_limit")
        try:
            if reason:
                raise UnsupportedError(reason)
            if named and request.start is not None and not request.can_warm_start(chosen, wanted):
                raise chosen.build_warm_start_error(wanted)
            late = can_stop and request.explain_late_start(needed.seconds) is not None  # it will not be started
            if request.has_requirements and (named or not late):  # its options are asked of its package
                chosen.check_request(request.build_limits(chosen), request.options)
        except (UnsupportedError, UnknownOptionError) as error:
            refused = error
            continue
        chosen.require_package()
        found = True
        yield chosen, wanted, needed
    if found or refused is None:
        return
    if not named and isinstance(refused, UnknownOptionError):
        raise UnknownOptionError(_explain_unknown_option(request.options)) from None
    raise refused


def _explain_unknown_option(options: Mapping[str, Any]) -> str:
    """Return the message about options that no backend chosen by "auto" has; it names the backends that have them."""
    listed = {backend.name: backend.options() for backend in backends.iter_backends() if backend.version()}
    option = next((name for name in options if not any(name in known for known in listed.values())), None)
    if option is not None:
        return (
            f"no backend has an option {option!r}; {describe_nearest(option, COMMON_OPTIONS)}, and each backend's own"
        )
    option = next(iter(options))
    owners = [name for name, known in listed.items() if option in known]
    return f"the option {option!r} belongs to {' and '.join(owners)}: name the backend, as in backend={owners[0]!r}"
