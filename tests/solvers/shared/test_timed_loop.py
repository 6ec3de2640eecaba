"""A compiled loop under a clock: how many iterations it is asked for, and which run is the answer."""

import time
from dataclasses import dataclass

import pytest

from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.shared.timed_loop import run_within_time

#: Iterations that the loop of these tests needs.
NEEDED = 1000


@dataclass
class Run:
    iterations: int
    converged: bool


def run(most: int, sure_speed: float, limit: float | None = None, speed: float = 1e9) -> tuple[Run, list[int]]:
    """Run a loop of `speed` iterations per second; return the answer, and the iterations that were asked for."""
    asked: list[int] = []

    def loop(max_iter: int) -> Run:
        asked.append(max_iter)
        made = min(max_iter, NEEDED)
        time.sleep(made / speed)
        return Run(made, made == NEEDED)

    return run_within_time(loop, most, lambda s: int(s * sure_speed), lambda: Run(0, False), Clock(limit)), asked


def test_without_a_time_limit_the_loop_runs_once():
    assert run(10**6, 1.0) == (Run(NEEDED, True), [10**6])
    assert run(100, 1.0) == (Run(100, False), [100])


def test_a_loop_that_surely_ends_in_time_runs_once():
    assert run(10**6, 1e6, limit=100.0)[0] == Run(NEEDED, True)
    assert run(50, 1e6, limit=100.0) == (Run(50, False), [50])


def test_a_run_follows_where_the_measured_speed_promises_more():
    answer, asked = run(10**6, 10.0, limit=100.0)
    assert answer == Run(NEEDED, True)
    assert len(asked) == 2


@pytest.mark.slow
def test_under_a_time_limit_the_longest_run_is_the_answer():
    began = time.monotonic()
    answer, asked = run(10**6, 20.0, limit=3.0, speed=80.0)
    assert answer == Run(asked[-1], False)
    assert len(asked) == 2
    assert time.monotonic() - began < 4.0


def test_no_iteration_that_surely_ends_is_no_iteration():
    assert run(10**6, 1e-9, limit=0.1, speed=1.0) == (Run(0, False), [])
