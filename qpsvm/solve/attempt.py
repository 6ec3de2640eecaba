"""One backend's turn at a problem, within the limits: whether it may start; then compile, solve, unscale, interpret.

A backend is not started where its set-up, which nothing can stop, would outlast the time limit: the answer is then the
best point that costs nothing, certified like any other. Nor is it started where it needs more memory than there is;
that is an error. What follows the solver has its bounds too:

| the user limits | certificate                                        | polishing                                |
|-----------------|----------------------------------------------------|------------------------------------------|
| seconds         | once; of as many rows as take so long, or a second | in what is left (few rows: a tenth more) |
| iterations      | whole                                              | as long as the solver took, or a tenth   |
| nothing         | whole                                              | three times as long, or three seconds    |
| with Ctrl-C     | once; of as many rows as take half a second        | not at all (few rows: a round)           |
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Limits
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import address_space, available_memory, in_words
from qpsvm.base.resources.progress import EVERY, Clock, Pulse, heard, held, noted, say
from qpsvm.bounds.polish import FEW_ROWS
from qpsvm.machines.problem.forms import Form
from qpsvm.machines.problem.machine import Machine, R
from qpsvm.program.costs import Cost
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.choice import in_seconds

#: The tolerances asked of a solver that can tighten, one after the other, until the certificate is satisfied.
LADDER = (1e-6, 1e-9)
#: Ends that leave no room for another try.
STOPPED_BY_USER = (Status.TIME_LIMIT, Status.INTERRUPTED)
#: The shortest time limit that a solver is handed: 0 would mean none to some.
SHORTEST = 1e-9
#: Seconds that the certificate may take however short the limit, and those that polishing of few rows may.
CERTIFYING, POLISHING = 1.0, 0.1
#: Seconds that the certificate may take where the user has pressed the interrupt key.
HURRIED = 0.5
#: Unlimited, polishing may take this many times as long as the solver did, which counts as at least so many seconds.
PATIENCE, FLOOR = 3.0, 1.0
#: Bytes up to which nobody asks whether they are there.
LITTLE_MEMORY = 1e8
#: Bytes of address space that anything takes: OpenBLAS waits for its buffers for ever where it cannot have them.
LEAST_SPACE = 1.5e8


@dataclass(frozen=True)
class Request:
    """What `solve` was asked, besides the problem and who should solve it; the clock runs from when it was.

    `aim` is the tolerance that the solver is asked for where that is not `tol`, by which the answer is judged.
    """

    tol: float
    polish: bool
    verbose: bool
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]
    start: FloatArray | None
    clock: Clock
    aim: float | None = None

    def limits(self, backend: Backend, tol: float | None = None, allowed: float = float("inf")) -> Limits:
        """What to ask of a backend, within `allowed` seconds. One that can tighten starts at its own tolerances."""
        left = min(self.clock.left, allowed if backend.abilities.grants("time_limit") else float("inf"))
        seconds = None if left == float("inf") else max(left, SHORTEST)
        return Limits(tol if backend.abilities.tightens else self.aim or self.tol, self.max_iter, seconds, self.verbose)

    @property
    def asks(self) -> bool:
        """Whether anything is asked for that a backend may not be able to do."""
        limited = self.time_limit is not None or self.max_iter is not None
        return limited or self.start is not None or bool(self.options)

    def begins(self, backend: Backend, form: Form) -> bool:
        """Whether there is a start that this backend can use."""
        return self.start is not None and backend.abilities.starts and form == "dual"

    def spent(self, result: SVMResult) -> bool:
        """Whether the user's limits leave no room for another try."""
        limited = self.time_limit is not None or self.max_iter is not None or bool(self.options) or not self.polish
        return limited or result.status in STOPPED_BY_USER

    def too_late(self, estimate: Cost) -> str | None:
        """Why a backend with that set-up, which nothing can stop, may not start any more; None where it may."""
        if estimate.setup < self.clock.left:
            return None
        return "the time was over" if self.clock.left <= 0 else f"its set-up alone takes {in_seconds(estimate.setup)}"

    @property
    def certifying(self) -> float:
        """Seconds that the certificate may take."""
        return float("inf") if self.time_limit is None else max(self.time_limit, CERTIFYING)

    def polishing(self, rows: int, solve_time: float) -> Clock:
        """The clock of what follows the solver."""
        if self.time_limit is not None:
            return Clock(max(self.clock.left, POLISHING if rows <= FEW_ROWS else 0.0))
        if self.max_iter is not None:
            return Clock(max(solve_time, POLISHING))
        return Clock(PATIENCE * max(solve_time, FLOOR))


def attempt(
    problem: Machine[R], backend: Backend, form: Form, estimate: Cost, request: Request, allowed: Clock | None = None
) -> R:
    """Compile, solve, unscale and interpret; again at tighter tolerances while the certificate says no.

    Raises TooLargeError, UnsupportedError.
    """
    check_room(problem, backend, form, estimate)
    allowed = allowed or Clock()
    try:
        with Pulse(request.verbose, _setting_up(problem, backend, form)) as pulse:
            if estimate.setup > EVERY:  # some hold the interpreter's lock, and then nothing prints
                said = f"{backend.name} may print nothing for {in_seconds(estimate.setup)}, while it sets up"
                say(said, request.verbose)
            return _attempt(problem, backend, form, request, allowed, pulse)
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError(_too_large(problem, backend, form, "ran out of memory")) from error


def _attempt(problem: Machine[R], backend: Backend, form: Form, request: Request, allowed: Clock, pulse: Pulse) -> R:
    machine: Any = problem  # of which kind, its result says
    building = Clock()
    scaled = problem.posed(form)
    compiled = backend.compile(scaled.qp)
    build_time = building.seconds
    if heard(request.verbose):
        said = f"{problem.title}; backend {backend.name}, {form} form, {scaled.qp.n} variables"
        say(said, request.verbose)
    best: Any = None
    solve_time, iterations = 0.0, 0
    point: FloatArray | None = None
    if request.start is not None and request.begins(backend, form):
        point = scaled.scale(request.start)
    for tol in _ladder(backend, request):
        limits = request.limits(backend, tol, allowed.left)
        pulse.doing = f"{backend.name} at work"
        with held() if backend.abilities.polls else nullcontext():
            answer = compiled.solve(
                tol=limits.tol, max_iter=limits.max_iter, time_limit=limits.time_limit, verbose=limits.verbose,
                start=point, **request.options,
            )  # fmt: skip
            point = None  # a solver that is asked again goes on from where it is
            solve_time += answer.solve_time
            iterations += answer.iterations or 0
            answer = scaled.unscale(answer, solve_time=solve_time, iterations=iterations or None)
            pulse.doing = "measuring and polishing the point"
            result = machine.interpret(
                answer, tol=request.tol, polished=request.polish, form=form, backend=backend.name,
                build_time=build_time, certifying=HURRIED if noted() else request.certifying,
                polishing=request.polishing(len(problem.labels), solve_time), clock=request.clock,
            )  # fmt: skip
            if noted() and result.status is not Status.INTERRUPTED:
                raise KeyboardInterrupt  # pressed when there was nothing left to stop: it is not lost
        if heard(request.verbose):
            said = f"{result.solver.name} said {result.solver.status!r}; certified relative gap {result.gap:.3g}"
            say(said, request.verbose)
        if best is not None and best.gap < result.gap:
            best = replace(best, solve_time=solve_time, iterations=iterations, status=result.status)
        else:
            best = result
        if best.status is Status.OPTIMAL or best.error or answer.status in STOPPED_BY_USER:
            break
    assert best is not None  # the ladder has at least one step
    if best.status is Status.TIME_LIMIT and request.time_limit is None:  # a follower's, which nobody asked for
        best = replace(best, status=Status.INACCURATE)
    return cast("R", best)


def not_started(problem: Machine[R], name: str, version: str, form: Form, request: Request, why: str) -> R:
    """The answer where a backend cannot end in time: α = 0, or what the machine makes of it, certified."""
    machine: Any = problem
    say(f"{name} was not started: {why}", request.verbose)
    answer = QPSolution(problem.qp("dual"), Status.TIME_LIMIT, Solver(name, version, f"not started: {why}"))
    result = machine.interpret(
        answer, tol=request.tol, polished=request.polish, form="dual", backend=name,
        certifying=request.certifying, polishing=request.polishing(len(problem.labels), 0.0), clock=request.clock,
    )  # fmt: skip
    said = "" if result.status is Status.OPTIMAL else f"{name} on the {form} form was not started: {why}."
    return cast("R", replace(result, form=form, message=f"{result.message} {said}".strip()))


def check_room(problem: Machine[R], backend: Backend, form: Form, estimate: Cost) -> None:
    """Check that there is as much memory as a backend will need: without it, compiled code may end the process.

    Raises TooLargeError.
    """
    limited = address_space() < float("inf")
    if estimate.bytes < LITTLE_MEMORY and not limited:
        return
    needed, there = estimate.bytes + (estimate.mapped if limited else 0.0), available_memory()
    needed = max(needed, LEAST_SPACE) if limited else needed
    if needed > there:
        short = f"needs about {in_words(needed)} of memory, and {in_words(there)} are available"
        raise TooLargeError(_too_large(problem, backend, form, short))


def _too_large(problem: Machine[R], backend: Backend, form: Form, short: str) -> str:
    n, d = problem.space.samples.shape
    ways = "backend='auto' takes what fits" if problem.space.is_linear else "a linear kernel needs no n × n matrix"
    return f"{backend.name} {short}, for the {form} form of {n} rows with {d} features: use fewer rows; {ways}"


def _setting_up(problem: Machine[R], backend: Backend, form: Form) -> str:
    n = len(problem.labels)
    matrix = "" if problem.space.is_linear else f", with the Gram matrix of {n} rows"
    return f"setting up {backend.name} on the {form} form{matrix}"


def _ladder(backend: Backend, request: Request) -> tuple[float | None, ...]:
    """The tolerances to ask the solver for. Whoever gives its own settings, or polish=False, wants exactly one run."""
    if backend.abilities.tightens and request.polish and not request.options and request.max_iter is None:
        return (None, *LADDER)
    return (None,)
