"""Which backend `auto` takes, by what each can do and will cost; and its turn at a problem, within the limits.

The choice is among the installed backends that take a problem's traits and are not there for study. The cheapest by its
own estimate comes first. The others follow, the cheaper ones first: they take over where a backend cannot keep the
limits asked for, or where the certificate says no. The constants of the estimates are medians of measurements, and only
their ratios matter. Where the estimates do not say what is best, a `Place` does, with the reason.

For linear machines the first is the cheapest of `augmented_lagrangian` (passes over the samples), `interior_point`
(factorisations of d × d), `kernel_newton` and `cvxopt` (the Gram matrix). With a kernel it is `kernel_newton`, or
`libsvm` for a ν-SVM; the methods that factor the Gram matrix follow.

One backend's turn: whether it may start; then compile, solve, unscale, interpret.

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

import math
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

from qpsvm import backends
from qpsvm.backends.abilities import Traits, machine_traits, size_of
from qpsvm.backends.base import Backend, with_import
from qpsvm.backends.contract import Limits, on_dual
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import LITTLE, address_space, available_memory, in_words
from qpsvm.base.resources.progress import EVERY, Clock, Pulse, heard, held, noted, say
from qpsvm.bounds.polish import FEW_ROWS as POLISHED_ROWS
from qpsvm.machines import Problem
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.parameters import Form
from qpsvm.program.costs import Cost, Size
from qpsvm.program.dual_answer import DualAnswer
from qpsvm.program.exchange import R
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.result.svm_result import SVMResult

#: Rows up to which exact methods take the dense dual.
DENSE_ROWS = 4000
#: So many times as long as the first choice took may all its followers take together, and as the solver took its
#: polishing, unlimited; what it took counts as at least so many seconds.
PATIENCE, FLOOR = 3.0, 1.0
#: So many times its estimate has the first choice for a linear machine before the next has its turn; at least seconds,
#: because on a busy machine a clock says little of less.
BUDGET, LEAST_BUDGET = 20.0, 2.0
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
#: Bytes of address space that anything takes: OpenBLAS waits for its buffers for ever where it cannot have them.
LEAST_SPACE = 1.5e8


@dataclass(frozen=True)
class Choice:
    """A backend, the form it is wanted in (None: the one it prefers), and the estimate, where there is one.

    The estimate counts no imports; `cost` does, those that are still to be made.
    """

    backend: str
    form: Form | None = None
    estimate: Cost | None = None

    @cached_property
    def chosen(self) -> Backend:
        """The backend itself."""
        return backends.get(self.backend)

    @property
    def cost(self) -> Cost | None:
        """The estimate, with what is still to be imported."""
        return None if self.estimate is None else with_import(self.estimate, self.chosen.loads)

    @property
    def seconds(self) -> float:
        """The estimate; 0 where there is none."""
        return 0.0 if self.estimate is None else self.estimate.seconds

    def __str__(self) -> str:
        form = "" if self.form is None else f" on the {self.form} form"
        cost = "" if self.cost is None else f" (about {self.cost.seconds:.2g} s)"
        return f"{self.backend}{form}{cost}"


@dataclass(frozen=True)
class Place:
    """What `auto` is told of a backend, beside its estimate.

    form: The form to take it in, where that is not the one it prefers.
    least, most: Rows from which and up to which it is taken.
    order: Its turn: by its estimate; in the order of the list, whatever those listed cost; or after all others.
    unless: It gets no turn where this other backend takes the problem.
    """

    backend: str
    form: Form | None = None
    least: float = 0.0
    most: float = float("inf")
    order: str = "estimate"
    unless: str = ""


#: Linear machines.
LINEAR = (
    # Beyond so many rows the others need no n × n matrix, and are done before it is made.
    Place("cvxopt", "dual", most=DENSE_ROWS),
    # Its estimate does not count what modelling costs where there are many features; it is the second opinion.
    Place("cvxpy", order="last"),
    # CVXPY hands over to it; alone it is there for who names it.
    Place("clarabel", most=0.0),
    # First-order methods, and loops over single α: where C is large they take a thousand times their estimate.
    Place("osqp", most=0.0),
    Place("libsvm", most=0.0),
    Place("liblinear", most=0.0),
)
#: Machines with another kernel.
KERNEL = (
    # kernel_newton begins with the same loop, and finishes.
    Place("libsvm", unless="kernel_newton"),
    # Exact, and independent of the first choice; the primal is dearer, but ends well where the dual is degenerate.
    Place("cvxopt", "dual", most=DENSE_ROWS, order="listed"),
    Place("cvxopt", "primal", most=DENSE_ROWS, order="listed"),
    # As good, but of the same house; of many rows it comes first, because it can be stopped.
    Place("interior_point", order="listed"),
    Place("cvxpy", most=DENSE_ROWS, order="last"),
    Place("clarabel", most=0.0),
    Place("osqp", least=DENSE_ROWS + 1, order="last"),
)

#: Machines with another kernel whose rows are combinations of samples, as pairs are: there may be many times as many.
COMBINED = (
    # In the coordinates of the samples, n × n, rows cost no more than samples of a linear machine.
    Place("interior_point", "primal"),
    Place("cvxopt", "dual", most=DENSE_ROWS, order="listed"),
    Place("cvxopt", "primal", most=DENSE_ROWS, order="listed"),
    Place("cvxpy", "primal", most=DENSE_ROWS, order="last"),
    Place("clarabel", most=0.0),
    Place("osqp", "primal", order="last"),
)

#: The backends of this library.
OURS = tuple(backends.REGISTRY)
#: Which of these a machine has.
Which = Literal["linear", "kernel", "combined"]
PLACES: dict[Which, tuple[Place, ...]] = {"linear": LINEAR, "kernel": KERNEL, "combined": COMBINED}


def choices(problem: Problem) -> Iterator[Choice]:
    """The installed backends that take a problem, the first choice first; each is looked at when it is asked for."""
    size, traits = size_of(problem), machine_traits(problem)
    which: Which = "linear" if size.linear else "combined" if size.samples else "kernel"
    told = (which, traits, _coarse(size))
    names = (*backends.REGISTRY, *(name for name in backends.OUTSIDE if name in backends.FOR_AUTO))
    order = _kept_order(*told) if names == OURS else _order(*told, names)  # theirs may say anything
    return (choice for choice in order if choice.chosen.version() is not None)


def _order(which: Which, traits: Traits, size: Size, names: tuple[str, ...] = OURS) -> tuple[Choice, ...]:
    """What takes a machine, in order, of the backends of these names, installed or not."""
    places = PLACES[which]
    given = {place.backend for place in places}
    by_order = {order: [p for p in places if p.order == order] for order in ("estimate", "listed", "last")}
    by_order["estimate"] += [Place(name) for name in names if name not in given]
    ranked, listed, last = (
        [choice for place in by_order[order] if (choice := _choice(place, names, traits, size)) is not None]
        for order in by_order
    )
    return (*_woven(sorted(ranked, key=lambda choice: choice.seconds), listed), *last)


#: `_order` of our own backends, whose estimates stay the same.
_kept_order = lru_cache(maxsize=1024)(_order)


def _coarse(size: Size) -> Size:
    """The size with what is of data, and of no shape, in whole powers of 2: estimates are no better than that."""
    if not size.linear:
        return size
    reach, stakes = (
        math.ldexp(1.0, round(math.log2(value))) if 0.0 < value < math.inf else value
        for value in (size.reach, size.stakes)
    )
    return size._replace(reach=reach, stakes=stakes)


def _choice(place: Place, names: tuple[str, ...], traits: Traits, size: Size) -> Choice | None:
    """The turn of a backend at its place, or None where it does not get one."""
    if place.backend not in names or not place.least <= size.rows <= place.most:
        return None
    backend = backends.get(place.backend)
    can, form = backend.abilities, place.form or backend.preferred_form(size.linear)
    if can.study or not can.takes(traits, size.rows, form):
        return None
    if place.unless in backends.REGISTRY and backends.get(place.unless).abilities.takes(traits, size.rows, "dual"):
        return None
    return Choice(place.backend, place.form, backend.estimate(size, form))


def _woven(ranked: Iterable[Choice], listed: Iterable[Choice]) -> Iterator[Choice]:
    """The two sequences merged: a ranked choice comes before the first listed one that costs more."""
    waiting = deque(ranked)
    for choice in listed:
        while waiting and waiting[0].seconds <= choice.seconds:
            yield waiting.popleft()
        yield choice
    yield from waiting


def patience(seconds: float) -> float:
    """Seconds that what follows may take, after a solver or a choice that took so many."""
    return PATIENCE * max(seconds, FLOOR)


def budget(estimate: Cost) -> float:
    """Seconds that a first choice may take before it counts as wrong."""
    return max(BUDGET * estimate.seconds, LEAST_BUDGET)


def in_seconds(seconds: float) -> str:
    """An estimate of seconds, for people: to one digit, because it is worth no more."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"


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

    def limits(
        self, backend: Backend, tol: float | None = None, allowed: float = math.inf, start: FloatArray | None = None
    ) -> Limits:
        """What to ask of a backend, within `allowed` seconds. One that can tighten starts at its own tolerances."""
        left = min(self.clock.left, allowed if "time_limit" in backend.abilities.keeps else math.inf)
        seconds = None if left == math.inf else max(left, SHORTEST)
        aim = tol if backend.abilities.tightens else self.aim or self.tol
        return Limits(aim, self.max_iter, seconds, self.verbose, start)

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
            return Clock(max(self.clock.left, POLISHING if rows <= POLISHED_ROWS else 0.0))
        if self.max_iter is not None:
            return Clock(max(solve_time, POLISHING))
        return Clock(patience(solve_time))


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
    svm = machine.svm if form == "dual" and isinstance(problem, Problem) and not problem.constraints else None
    scaled = compiled = None
    if svm is None or not backend.direct(svm):
        scaled = problem.posed(form)
        compiled = backend.compile(scaled.qp)
    build_time = building.seconds
    if heard(request.verbose):
        variables = len(machine.svm.level) if scaled is None else scaled.qp.n
        said = f"{problem.title}; backend {backend.name}, {form} form, {variables} variables"
        say(said, request.verbose)
    best: Any = None
    solve_time, iterations = 0.0, 0
    point = request.start if request.start is not None and request.begins(backend, form) else None
    if point is not None and scaled is not None:
        point = scaled.scale(point)
    for tol in _ladder(backend, request):
        limits = request.limits(backend, tol, allowed.left, point)
        pulse.doing = f"{backend.name} at work"
        answer: QPSolution | DualAnswer
        with held() if backend.abilities.polls else nullcontext():
            if scaled is None or compiled is None:
                answer = on_dual(backend, machine.svm, limits, request.options)
            else:
                answer = compiled._solved(limits, request.options)
            point = None  # a solver that is asked again goes on from where it is
            solve_time += answer.solve_time
            iterations += answer.iterations or 0
            if scaled is not None and isinstance(answer, QPSolution):
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
        if best.status is Status.OPTIMAL or best.error or answer.reported in STOPPED_BY_USER:
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
    if estimate.bytes < LITTLE and not limited:
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
