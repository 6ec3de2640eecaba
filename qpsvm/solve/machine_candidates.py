"""List the backends to try on a machine (`iter_candidates`), as candidates that can be run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.requirements import Requirements, Size
from qpsvm.backends.traits import find_problem_traits
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import is_logging, log_message
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.machines.problem.problem import Problem
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.attempt import build_unstarted_result, run_backend
from qpsvm.solve.backend_order import RankedBackend, rank_backends
from qpsvm.solve.candidate import Attempt, Candidate, is_auto, iter_supporting
from qpsvm.solve.request import SolveRequest


@dataclass(frozen=True, kw_only=True)
class MachineCandidate(Candidate[SVMResult]):
    """A backend for one form of a machine.

    size: Size of the machine in this form, from which time and memory are estimated.
    needed: Time and memory of the set-up.
    """

    problem: Problem
    form: Form
    size: Size
    needed: Requirements

    def __str__(self) -> str:
        return str(RankedBackend(self.backend.name, self.form))

    @property
    def setup_seconds(self) -> float:
        """Estimated seconds of a set-up that cannot be interrupted."""
        return self.needed.seconds

    def run(self, clock: Clock) -> Attempt[SVMResult]:
        """Compile, solve and certify by `run_backend`."""
        max_iter = self.request.max_iter or self.trial_max_iter or self.backend.find_default_max_iter(self.size)
        return run_backend(self.problem, self.backend, self.form, self.needed, self.request, clock, max_iter)

    def build_unstarted_result(self, reason: str) -> SVMResult:
        """Build the result at α = 0."""
        return build_unstarted_result(
            self.problem, self.backend.name, self.backend.version() or "?", self.form, self.request, reason
        )


def iter_candidates(
    problem: Problem, backend: str, form: Form | None, request: SolveRequest
) -> Iterator[MachineCandidate]:
    """Yield the candidates to try, in order: the named backend, or with "auto" all that support the request.

    A named backend that does not support the request is an error, raised before anything is built.

    Raises UnsupportedError, UnknownOptionError, MissingExtraError.
    """
    if form is not None:
        check_form(form)
    is_named = not is_auto(backend)
    traits = find_problem_traits(problem)
    ranked = [RankedBackend(backend)] if is_named else _rank_and_log(problem, request)
    ranked_for_form = (each for each in ranked if form is None or each.form in (None, form))
    candidates = (_build_candidate(problem, each, form or each.form, request) for each in ranked_for_form)
    auto_options = {} if is_named else request.options

    def check(candidate: MachineCandidate) -> None:
        if reason := candidate.backend.explain_refusal(traits, candidate.size.rows, candidate.form):
            raise UnsupportedError(reason)
        _check_request(candidate, is_named)
        candidate.backend.require_package()

    return iter_supporting(candidates, check, auto_options)


def _build_candidate(
    problem: Problem, ranked: RankedBackend, form: Form | None, request: SolveRequest
) -> MachineCandidate:
    """Build the candidate of a backend.

    form: None for the dual if the backend can use the start there, else for the backend's preferred form.
    """
    backend = ranked.backend_object
    if form is None and request.can_warm_start(backend, "dual"):
        form = "dual"
    elif form is None:
        form = backend.find_preferred_form(problem.space.is_linear)
    size = measure_size(problem, form)
    return MachineCandidate(
        backend=backend, request=request, trial_max_iter=ranked.trial_max_iter, problem=problem, form=form,
        size=size, needed=backend.estimate_requirements(size, form),
    )  # fmt: skip


def _rank_and_log(problem: Problem, request: SolveRequest) -> Iterable[RankedBackend]:
    """Return the backends that "auto" tries; log their order if messages are shown."""
    if not is_logging(request.verbose):
        return rank_backends(problem)
    candidates = list(rank_backends(problem))
    log_message(f"auto, in this order: {', '.join(map(str, candidates))}", request.verbose)
    return candidates


def _check_request(candidate: MachineCandidate, is_named: bool) -> None:
    """Check that a backend supports the start, limits and options of its request.

    Checking limits and options imports the solver's package. With "auto" they are not checked if the set-up alone would
    exceed the time limit, because the backend is then not started.

    Raises UnsupportedError, UnknownOptionError.
    """
    backend = candidate.backend
    form = candidate.form
    request = candidate.request
    if is_named and request.start is not None and not request.can_warm_start(backend, form):
        raise backend.build_warm_start_error(form)
    if not request.has_requirements:
        return
    lacks_time_limit = request.time_limit is not None and not backend.abilities.supports("time_limit")
    can_start = request.explain_late_start(candidate.setup_seconds) is None
    if is_named or can_start or lacks_time_limit:
        backend.check_request(request.build_limits(backend), request.options)
