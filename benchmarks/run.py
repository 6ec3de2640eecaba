"""The runner: every solver of every task in a process of its own, one after the other, recorded as it comes.

Stopped and started again, it goes on where it was: a pair of task and solver that has its "done" line is not run again.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import lines
from benchmarks.measure import MEMORY_SHARE, Plan, limit_memory, measure
from benchmarks.solvers import find_entrant
from benchmarks.suite import Suite
from benchmarks.threads import restore_default_threads

#: A run may take so many times its limit, and so many seconds more, before its process is ended.
GRACE, GRACE_SECONDS = 1.2, 2.0
#: Seconds for what is not timed: reading the samples, making matrices, scoring.
UNTIMED_SECONDS = 300.0


@dataclass(frozen=True)
class Pair:
    """One solver on one task of a suite."""

    suite: Suite
    plan: Plan

    @property
    def key(self) -> tuple[str, str, str]:
        return self.suite.name, self.plan.task.name, self.plan.solver


def iter_pairs(suites: Sequence[Suite], prove: bool = False) -> Iterator[Pair]:
    """List the pairs to measure: installed solvers on the tasks that they accept; `prove` has their claims proved."""
    for suite in suites:
        for task in suite.tasks:
            for name in suite.iter_solvers(task):
                entrant = find_entrant(name, task)
                if entrant.version() is not None and entrant.accepts(task):
                    limits = (suite.goal, suite.seconds, suite.budget, suite.max_iters, suite.clock)
                    yield Pair(suite, Plan(task, name, *limits, entrant.origin, prove))


def run_pairs(todo: Sequence[Pair], path: Path, start_method: str | None = None) -> None:
    """Measure what the file does not hold yet, with a progress bar; a solver from outside, which may be another by now,
    always."""
    finished = lines.read_done_pairs(path)
    todo = [pair for pair in todo if pair.key not in finished or pair.plan.origin is not None]
    if not todo:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = lines.describe_machine()
    lines.append(path, machine)
    usual = _build_context(start_method)
    free = mp.get_context(start_method or "spawn")
    tqdm.monitor_interval = 0
    with tqdm(todo, unit="run", smoothing=0.05, dynamic_ncols=True) as bar:
        for pair in bar:
            bar.set_postfix_str(" · ".join(pair.key), refresh=True)
            if find_entrant(pair.plan.solver, pair.plan.task).every_thread:
                with (
                    restore_default_threads()
                ):  # a process of its own making: libraries that are loaded have made up their mind
                    _Session(pair, path, machine["id"]).run_process(free)
            else:
                _Session(pair, path, machine["id"]).run_process(usual)


def _build_context(start_method: str | None) -> Any:
    """Processes that start with everything imported and nothing else, where the system can do that."""
    usual = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
    context = mp.get_context(start_method or usual)
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["benchmarks.measure", "sklearn.svm", "qpsvm"])
    return context


class _Session:
    """Listens to the process of one pair, and writes what it sends."""

    def __init__(self, pair: Pair, path: Path, machine: str) -> None:
        self.pair = pair
        self.path = path
        self.head = {"kind": "run", "machine": machine, "suite": pair.key[0], "task": pair.key[1]}
        entrant = find_entrant(pair.plan.solver, pair.plan.task)
        self.facts: dict[str, Any] = dict(pair.plan.task.facts)
        form = entrant.form(pair.plan.task)
        self.who = {
            "solver": entrant.name, "version": entrant.version(), "form": form, "limit": pair.plan.seconds,
            "threads": os.cpu_count() if entrant.every_thread else 1,
        }  # fmt: skip
        self.asked: dict[str, Any] = {}

    def run_process(self, context: Any) -> None:
        key = dict(zip(("suite", "task", "solver"), self.pair.key, strict=True))
        lines.append(self.path, {"kind": "begin", **key})
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_run_plan, args=(self.pair.plan, there), daemon=True)
        process.start()
        there.close()
        try:
            outcome = self._await_outcome(here)
        finally:
            process.kill() if process.is_alive() else None
            process.join()
            here.close()
        if outcome == "crash":
            self._record({"outcome": "crash", "error": f"the process ended with {process.exitcode}"})
        lines.append(self.path, {"kind": "done", **key})

    def _await_outcome(self, here: Connection) -> str:
        """Wait until the process says that it is done, breaks down, or takes too long."""
        running = False
        while True:
            if running:
                seconds = GRACE * self.pair.plan.seconds + GRACE_SECONDS
            else:
                seconds = UNTIMED_SECONDS
            if not here.poll(seconds):
                self._record({"outcome": "limit", "seconds": self.pair.plan.seconds})
                return "limit"
            try:
                step, content = here.recv()
            except EOFError:
                return "crash"
            running = step == "begin"
            if step == "begin":
                self.asked = content
            elif step == "facts":
                self.facts.update(content)
            elif step == "line":
                self._record(content)
            elif step == "failed":
                self._record(content)
                return "failed"
            elif step == "end":
                return "end"

    def _record(self, content: dict[str, Any]) -> None:
        empty = {"seconds": None, "wall": None, "gap": None, "said": None, "engine": None, "claimed": False}
        line = {**self.head, "facts": self.facts, **self.who, **self.asked, **empty, **content}
        lines.append(self.path, line)


def _run_plan(plan: Plan, there: Connection) -> None:
    """In the process: measure, and send every step."""
    limit_memory(int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))

    def send(step: str, content: dict[str, Any]) -> None:
        there.send((step, content))

    try:
        measure(plan, send)
        send("end", {})
    except MemoryError as error:
        send("failed", {"outcome": "memory", "error": str(error)[:200]})
    except Exception as error:
        send("failed", {"outcome": "error", "error": f"{type(error).__name__}: {error}"[:200]})
    with contextlib.suppress(OSError):
        there.close()
