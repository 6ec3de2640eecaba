"""One solver on one task: up the ladder of tolerances, each run timed, weighed and scored, in a process of its own.

The process is the solver's: what it leaks, crashes or never ends stays there. `Session` in `run.py` listens.
"""

from __future__ import annotations

import contextlib
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.clock import ProcessorClock
from benchmarks.proving import MAX_ROWS, ClaimProver
from benchmarks.samples import Clouds
from benchmarks.score import Judge, choose_judge
from benchmarks.solvers import Entrant, Rung, Said, SolverOrigin, find_entrant, register_solver
from benchmarks.solvers.base import Point
from benchmarks.tasks import BenchmarkMachine, Task
from benchmarks.threads import Clock

#: A run shorter than this is repeated, until its runs together take that long, or there are so many.
REPEAT_SECONDS, MAX_REPEATS = 0.15, 7
#: So many rungs in a row that do not halve the gap: the solver has reached what it can.
PATIENCE = 1
#: Share of the machine's memory that a solver may use.
MEMORY_SHARE = 0.6
#: What is sent to the listener with each step.
Send = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True)
class Plan:
    """What one process is to do.

    Attributes
    ----------
    task : Task
    solver : str
    goal : float
        The gap at which the ladder ends.
    seconds : float
        Time limit of a run.
    budget : float
        Seconds of all runs together, after which no further one is begun.
    max_iters : tuple of int
        Iteration limits to climb instead of tolerances.
    clock : "processor" or "wall"
        Which seconds count.
    origin : Origin or None
        Of a solver from outside: where the process has to load it from.
    prove : bool
        Whether the points of small tasks are proven or refuted besides.
    """

    task: Task
    solver: str
    goal: float
    seconds: float
    budget: float
    max_iters: tuple[int, ...] = ()
    clock: Clock = "processor"
    origin: SolverOrigin | None = None
    prove: bool = False

    def list_rungs(self, entrant: Entrant) -> list[Rung]:
        """List the settings of the solver's runs, in order."""
        if self.max_iters:
            return [Rung(max_iter=most, seconds=self.seconds) for most in self.max_iters]
        return [Rung(tol=tol, seconds=self.seconds) for tol in entrant.tolerances]


def measure(plan: Plan, send: Send) -> None:
    """Climb the ladder, and send a line after each run."""
    if plan.origin is None:
        entrant = find_entrant(plan.solver, plan.task)
    else:
        entrant = register_solver(plan.origin)
    _warm_up(plan, entrant)
    machine = plan.task.build_machine(*plan.task.source.load())
    send("facts", machine.measure_size())
    judge = choose_judge(machine)
    if plan.prove and isinstance(judge, Judge) and len(machine.y) <= MAX_ROWS:
        strict = ClaimProver(judge.problem)
    else:
        strict = None
    data = entrant.prepare(machine if plan.origin is None else _copy_samples(machine))
    best = float("inf")
    stale = 0
    spent = 0.0
    for rung in plan.list_rungs(entrant):
        send("begin", _describe_rung(rung))
        answer, line = _time_runs(entrant, data, rung, plan.clock)
        spent += line["wall"] * line["repeats"]
        send("solved", {})
        point = entrant.point(data, answer)
        if strict is not None and isinstance(point, Point):
            proven = strict.bound_gap(point)
        else:
            proven = {}
        verdict = {**judge.score(point), **proven}
        gap = verdict["gap"]
        limited = line["wall"] >= plan.seconds
        send("line", {**_describe_rung(rung), **line, **verdict, "outcome": "limit" if limited else "ran"})
        stale = 0 if gap < best / 2 else stale + 1
        best = min(best, gap)
        if limited or spent > plan.budget or (gap <= plan.goal and not plan.max_iters):
            break
        if stale > PATIENCE and not plan.max_iters:
            break


def _copy_samples(machine: BenchmarkMachine) -> BenchmarkMachine:
    """With samples of its own: those of the judge are not to be written to."""
    return replace(machine, X=machine.X.copy(), y=machine.y.copy())


def _describe_rung(rung: Rung) -> dict[str, Any]:
    if rung.max_iter is None:
        return {"tol": rung.tol}
    return {"max_iter": rung.max_iter}


def _warm_up(plan: Plan, entrant: Entrant) -> None:
    """A tiny machine of the same kind, so that nothing is imported in the time that counts."""
    grid = None if plan.task.grid is None else replace(plan.task.grid, penalties=(1.0,))
    task = replace(plan.task, source=Clouds(40, 3, flipped=0.0, distance=20.0), grid=grid)
    machine = task.build_machine(*task.source.load())
    with contextlib.suppress(Exception):  # what goes wrong here goes wrong again where it is reported
        data = entrant.prepare(machine)
        choose_judge(machine).score(entrant.point(data, entrant.run(data, Rung(1e-3, None, 5.0))[0]))


def _time_runs(entrant: Entrant, data: Any, rung: Rung, clock: Clock) -> tuple[Any, dict[str, Any]]:
    """The last answer, and the medians of time over its repetitions.

    What counts in most suites is processor time, that of processes which the solver starts included: on a quiet machine
    it is what the clock on the wall shows, for one thread, and on a shared one the steadier of the two. Of several
    threads it is the sum, and the wall's clock counts. Both are kept.
    """
    walls: list[float] = []
    processors: list[float] = []
    before = _reset_peak_memory()
    while True:
        processor = ProcessorClock()
        start = time.perf_counter()
        answer, said = entrant.run(data, rung)
        whole = time.perf_counter() - start
        cpu = processor.seconds
        walls.append(whole if said.seconds is None or entrant.origin is not None else said.seconds)
        processors.append(cpu * walls[-1] / whole)
        if sum(walls) > REPEAT_SECONDS or len(walls) == MAX_REPEATS:
            break
    times = {"processor": statistics.median(processors), "wall": statistics.median(walls)}
    return answer, {"seconds": times[clock], **times, "repeats": len(walls), **_build_line(said, before)}


def _build_line(said: Said, before: int | None) -> dict[str, Any]:
    peak = _read_peak_memory()
    return {
        "memory": None if before is None or peak is None else float(max(peak - before, 0)),
        "iterations": said.iterations,
        "said": said.words,
        "engine": said.engine,
        "claimed": said.claimed,
        "exhausted": said.exhausted,
        "warned": said.warned,
    }


def _reset_peak_memory() -> int | None:
    """Bytes in use now; the system's record of the peak begins anew (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        return _read_process_status("VmRSS")
    return None


def _read_peak_memory() -> int | None:
    return _read_process_status("VmHWM")


def _read_process_status(name: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return 1024 * int(line.split()[1])
    return None


def limit_memory(bytes_: int) -> None:
    """More than that raises MemoryError in this process, instead of stopping the machine."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))
