"""The floor: whatever rivals promise, a call takes hardly more than the baseline alone. On a clock of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from qpsvm import core
from qpsvm.base.resources import progress
from qpsvm.solvers.kernel.baseline import WholeLoop
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import Engines
from qpsvm.solvers.kernel.floor import SHARE, Rival, race, within
from qpsvm.solvers.kernel.streamed import Streamed
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import RBF

#: Seconds between two looks at the clock.
LOOK = 0.01


class World:
    """A clock that only moves when somebody works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(progress.time, "perf_counter", lambda: self.now)

    def work(self, effort: Effort, seconds: float) -> bool:
        """So much work, with looks at the clock; whether it was done."""
        left = seconds
        while left > 0.0:
            if effort.late():
                return False
            part = min(left, LOOK)
            self.now, left = self.now + part, left - part
        return True


class Fake:
    """A baseline of so many seconds, which knows a share of what is left for sure."""

    def __init__(self, world: World, effort: Effort, total: float, *, sure: float, resumes: bool = True) -> None:
        self.world, self.effort, self.total, self.sure, self.resumes = world, effort, total, sure, resumes
        self.spent = 0.0

    @property
    def least(self) -> float:
        return self.sure * (self.total - self.spent)

    @property
    def left(self) -> float:
        return float("inf") if self.resumes else self.total - self.spent

    def go(self, seconds: float) -> bool:
        began = self.world.now
        with within(self.effort, seconds):
            done = self.world.work(self.effort, self.total - self.spent)
        self.spent += self.world.now - began
        return done


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


@pytest.mark.parametrize("resumes", [True, False])
@pytest.mark.parametrize("sure", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("promise", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("truth", [1e-3, 0.2, 1.0, 1e4])
@pytest.mark.parametrize("again", [True, False])
def test_rivals_that_promise_and_hang(
    world: World, promise: float, truth: float, sure: float, resumes: bool, again: bool
) -> None:
    """Forecasts that are a thousand times wrong, in both directions, of rivals that solve, fail or never end."""
    effort, total = Effort(), 10.0
    fake = Fake(world, effort, total, sure=sure, resumes=resumes)

    def run() -> bool:
        return world.work(effort, truth * total) and truth < 1.0

    def fail() -> bool:
        world.work(effort, truth * total)
        return False

    rivals = [Rival(str(k), lambda: promise * total, f, again=again) for k, f in enumerate((fail, run, fail))]
    began = world.now
    assert race(fake, rivals, effort)
    assert world.now - began <= (1.0 + SHARE) * total + 100 * LOOK


def test_a_rival_that_is_much_quicker_is_waited_for_no_longer_than_it_is_worth(world: World) -> None:
    effort = Effort()
    fake = Fake(world, effort, 100.0, sure=0.0)
    began = world.now
    assert race(fake, [Rival("quick", lambda: 1.0, lambda: world.work(effort, 1.0))], effort)
    assert world.now - began <= 1.0 + 1.0 / SHARE + 10 * LOOK


def test_a_time_limit_stops_all(world: World) -> None:
    effort = Effort(2.0)
    fake = Fake(world, effort, 100.0, sure=1.0)
    began = world.now
    assert not race(fake, [Rival("slow", lambda: 1.0, lambda: world.work(effort, 1e6))], effort)
    assert world.now - began <= 2.0 + 10 * LOOK
    assert effort.clock.limit == 2.0


def shorten(effort: Effort) -> None:
    with within(effort, 1.0):
        assert effort.clock.left == pytest.approx(1.0)
        effort.shortened = True
        raise KeyError


@pytest.mark.usefixtures("world")
def test_a_clock_within_another_is_given_back() -> None:
    effort = Effort(5.0)
    outer = effort.clock
    with pytest.raises(KeyError):
        shorten(effort)
    assert effort.clock is outer
    assert effort.seconds == 5.0
    assert not effort.shortened
    with within(effort, 9.0):
        assert effort.clock.left == pytest.approx(5.0)


# --- the baseline itself ----------------------------------------------------------------------------------------------


def noisy(n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rounded features that hardly tell the labels."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.round(rng.normal(size=(n, d - 1)), 1), rng.lognormal(size=n)])
    y = np.where(rng.random(n) < 0.06, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
def test_the_baseline_solves(C: float) -> None:
    X, y = noisy(700)
    engines = Engines(KernelBlocks(RBF(0.3), X), KernelDual.of_hinges(y, np.full(len(y), C)), 1e-6, Effort())
    loop = WholeLoop(engines)
    assert loop.resumes == (core.compiled is not None)
    rivals = [Rival("newton", loop.newton_seconds, loop.newton, again=True)] if loop.resumes else []
    assert race(loop, rivals, engines.effort)
    assert engines.best.gap <= 1e-6


@pytest.mark.skipif(core.compiled is None, reason="LIBSVM's loop has none")
def test_newton_steps_that_get_nowhere_leave_it_to_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(500)
    engines = Engines(KernelBlocks(RBF(0.3), X), KernelDual.of_hinges(y, np.full(len(y), 1.0)), 1e-3, Effort())
    loop = WholeLoop(engines)
    nowhere: Callable[[], bool] = lambda: False  # noqa: E731
    monkeypatch.setattr(loop, "newton", nowhere)
    race(loop, [Rival("newton", loop.newton_seconds, nowhere, again=True)], engines.effort)
    assert loop.point is not None
    assert loop.point.gap <= 1e-3


def test_nothing_is_kept_of_what_newton_steps_read() -> None:
    X, _ = noisy(90)
    streamed, K = Streamed(KernelBlocks(RBF(0.3), X)), RBF(0.3)(X, X)
    for some in (np.array([5]), np.arange(40, 3, -1), np.array([5, 60]), np.arange(90)):
        np.testing.assert_allclose(streamed.square(some), K[np.ix_(some, some)], rtol=1e-12)
        np.testing.assert_allclose(streamed.product(some, some + 1.0), (some + 1.0) @ K[some], atol=1e-5 * some.sum())
    assert len(streamed) == streamed.trace() == 90
