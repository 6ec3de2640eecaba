"""The loop under a clock: which slices are run, where, and which one is the answer."""

import time
from dataclasses import dataclass

import pytest
from each import for_each

from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.shared import time_slices
from qpsvm.solvers.shared import time_slices as sliced
from qpsvm.solvers.shared.time_slices import run_sliced

#: Iterations that the loop of these tests needs.
NEEDED = 1000
N = 10


@dataclass
class Run:
    iterations: int
    converged: bool


def loop(speed: float, most: int) -> Run:
    """A loop that makes so many iterations a second."""
    made = min(most, NEEDED)
    time.sleep(made / speed)
    return Run(made, made == NEEDED)


def return_nothing() -> Run:
    return Run(0, False)


@pytest.fixture
def child_iterations(monkeypatch):
    """Return the numbers of iterations that were asked for in a child."""
    asked = []
    true = sliced.run_in_child

    def run(function, arguments, *rest):
        asked.append(arguments[-1])
        return true(function, arguments, *rest)

    monkeypatch.setattr(sliced, "run_in_child", run)
    return asked


def run(most: int, sure_speed: float, limit: float | None = None, speed: float = 1e9) -> Run:
    return run_sliced(loop, (speed,), N, most, lambda s: int(s * sure_speed), return_nothing, Clock(limit))


def test_a_loop_that_surely_ends_soon_runs_here(child_iterations):
    assert run(100, 1e6) == Run(100, False)
    assert run(10**6, 1e6) == Run(NEEDED, True)
    assert child_iterations == []


def test_a_loop_that_may_be_long_runs_apart(child_iterations):
    assert run(10**6, 1.0) == Run(NEEDED, True)
    assert child_iterations == [10**6]


def test_a_slice_that_is_worth_it_is_tried_here_first(child_iterations):
    assert run(10**6, N * time_slices.WORTHWHILE / time_slices.AT_ONCE + 1) == Run(NEEDED, True)
    assert child_iterations == [10**6]


@pytest.mark.slow
def test_under_a_time_limit_the_longest_slice_that_ended_is_the_answer(child_iterations):
    answer = run(10**6, 20.0, limit=5.0, speed=80.0)
    assert not answer.converged
    assert 0 < answer.iterations < NEEDED
    assert child_iterations[0] <= 30
    assert answer.iterations in child_iterations


def test_no_iteration_that_surely_ends_is_no_iteration():
    answer = run(10**6, 1e-9, limit=0.1, speed=1.0)
    assert answer == Run(0, False)


def test_without_a_child_the_loop_runs_here(monkeypatch):
    def refuse_child(*_):
        raise OSError("no more processes")

    monkeypatch.setattr(sliced, "run_in_child", refuse_child)
    assert run(10**6, 1.0) == Run(NEEDED, True)


def test_signs_of_life(monkeypatch, capsys):
    monkeypatch.setattr(time_slices, "LOG_INTERVAL", 0.05)
    run_sliced(loop, (2000.0,), N, 10**6, lambda s: int(s), return_nothing, Clock(), True)
    assert "running for" in capsys.readouterr().out


@for_each("can_stop, grace", [(True, time_slices.GRACE), (False, 0.0)])
def test_only_a_loop_that_can_be_stopped_is_waited_for(monkeypatch, can_stop, grace):
    given = []
    monkeypatch.setattr(sliced, "run_in_child", lambda *call: given.append(call[-1]))
    run_sliced(loop, (1e9,), N, 10**6, lambda _: 0, return_nothing, Clock(), can_stop=can_stop)
    assert given == [grace]
