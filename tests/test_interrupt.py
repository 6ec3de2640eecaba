"""Ctrl-C: our own solvers end with their best point, certified; a second one raises."""

import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.datasets import make_classification

from qpsvm import CSVM, RBF, interrupts, solve

X, Y = make_classification(3000, 20, n_informative=10, flip_y=0.2, random_state=0)


def interrupted(run: Callable[[], object], after: float = 0.01):
    """Run with the interrupt key pressed a while after the solver has taken it: however slow the machine is."""

    def press() -> None:
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(0.001)
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    return run()


@pytest.mark.parametrize(
    ("backend", "problem"),
    [
        ("dual_ascent", CSVM(X, Y, 10.0)),
        ("subgradient", CSVM(X, Y, 10.0)),
        ("interior_point", CSVM(X[:2000], Y[:2000], 10.0, RBF(0.05))),
        ("kernel_newton", CSVM(np.tile(X, (5, 1)), np.tile(Y, 5), 1e4, RBF(0.05))),
    ],
)
def test_an_interrupted_solve_returns_its_best_certified_point(backend, problem):
    options = {} if backend in ("interior_point", "kernel_newton") else {"max_iter": 10**8}
    result = interrupted(lambda: solve(problem, backend, tol=1e-12, polish=False, check=False, **options))
    assert result.status == "interrupted"
    assert np.isfinite(result.alpha).all()
    assert result.gap < np.inf
    assert "start=result" in result.summary()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not interrupts.noted()


def test_the_key_pressed_twice_raises():
    def twice() -> None:
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            assert interrupts.noted()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        twice()
    assert not interrupts.noted()


def test_other_handlers_and_threads_are_left_alone():
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.held():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, mine)
    found = []
    thread = threading.Thread(target=lambda: found.append(solve(CSVM(X, Y)).status))
    thread.start()
    thread.join()
    assert found == ["optimal"]
