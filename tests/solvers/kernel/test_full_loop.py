"""The loop over all rows, Newton steps after it, and what these read."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs

from qpsvm import RBF
from qpsvm.solvers.kernel import box_step as kernel_box
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import EngineSearch
from qpsvm.solvers.kernel.full_loop import FullLoop
from qpsvm.solvers.kernel.streamed import StreamedGram
from qpsvm.space.kernels.kernel_blocks import KernelBlocks


def noisy(n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rounded features that hardly tell the labels."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.round(rng.normal(size=(n, d - 1)), 1), rng.lognormal(size=n)])
    y = np.where(rng.random(n) < 0.06, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


@for_each("C", [0.01, 1.0, 300.0])
def test_the_loop_and_newton_steps_solve(C: float) -> None:
    X, y = noisy(700)
    engines = EngineSearch(KernelBlocks(RBF(0.3), X), KernelDual.from_hinges(y, np.full(len(y), C)), 1e-6, Effort())
    FullLoop(engines).run()
    assert engines.best_point.gap <= 1e-6


def test_newton_steps_that_get_nowhere_leave_it_to_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(500)
    engines = EngineSearch(KernelBlocks(RBF(0.3), X), KernelDual.from_hinges(y, np.full(len(y), 1.0)), 1e-3, Effort())
    loop = FullLoop(engines)
    monkeypatch.setattr(loop, "_run_newton", lambda: False)
    loop.run()
    assert loop.point is not None
    assert loop.point.gap <= 1e-3


def test_nothing_is_kept_of_what_newton_steps_read() -> None:
    X, _ = noisy(90)
    streamed = StreamedGram(KernelBlocks(RBF(0.3), X))
    K = RBF(0.3)(X, X)
    for some in (np.array([5]), np.arange(40, 3, -1), np.array([5, 60]), np.arange(90)):
        np.testing.assert_allclose(streamed.compute_block(some), K[np.ix_(some, some)], rtol=1e-12)
        np.testing.assert_allclose(streamed.multiply(some, some + 1.0), (some + 1.0) @ K[some], atol=1e-5 * some.sum())
    assert len(streamed) == streamed.trace() == 90


@for_each("width, m, sides", cover_pairs((0.02, 0.3, 3.0), (250, 420), (1, 2)))
def test_many_held_entries_are_taken_out(monkeypatch: pytest.MonkeyPatch, width: float, m: int, sides: int) -> None:
    """The step stays in its box and its sums, descends, and is hardly worse than one by a right-hand side for each."""
    rng = np.random.default_rng(m)
    A = RBF(0.3)(rng.normal(size=(m, 3)), rng.normal(size=(m, 3)))
    A = A @ A.T / m
    r = rng.normal(size=m)
    low = -width * rng.uniform(0, 1, m)
    high = width * rng.uniform(0, 1, m)
    border = None
    if sides == 2:
        up = np.arange(m) % 3 == 0
        border = np.column_stack([up, ~up]).astype(float)
    values = []
    for many in (2.0, 0.1):
        monkeypatch.setattr(kernel_box, "MANY_HELD", many)
        d = kernel_box.compute_box_step(A, 1e-3, r, low, high, border)
        assert ((d >= low) & (d <= high)).all()
        assert np.abs(d.sum() if border is None else border.T @ d).max() <= 1e-12 * m * width
        values.append(0.5 * d @ A @ d - r @ d)
    assert values[1] < 0.0
    assert values[1] <= 0.9 * values[0]
