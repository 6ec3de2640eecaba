"""Ctrl-C: our own solvers end with their best point, certified; a second one raises. And the filters of warnings."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import make_classification

from qpsvm import CSVM, RBF, InaccurateWarning, solve
from qpsvm.backends.external import libsvm_
from qpsvm.base.resources import interrupt
from qpsvm.bounds.gap_refiner import GapRefiner
from qpsvm.solve.request import INTERRUPTED_CERTIFICATE_SECONDS

X, Y = make_classification(3000, 20, n_informative=10, flip_y=0.2, random_state=0)
NOISE = np.where(np.random.default_rng(0).random(len(X)) < 0.5, 0, 1)
SPREAD = np.random.default_rng(1).normal(scale=0.1, size=(3 * len(X), X.shape[1]))


def run_interrupted(run: Callable[[], object], after: float = 0.01):
    """Run with the interrupt key pressed a while after the solver has taken it: however slow the machine is."""

    def press() -> None:
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(0.001)
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    return run()


@pytest.mark.slow
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
    if backend in ("interior_point", "kernel_newton"):
        options = {}
    else:
        options = {"max_iter": 10**8}
    result = run_interrupted(lambda: solve(problem, backend, tol=1e-12, polish=False, check=False, **options))
    assert result.status == "interrupted"
    assert np.isfinite(result.alpha).all()
    assert result.gap < np.inf
    assert "start=result" in result.summary()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not interrupt.is_interrupted()


def test_the_key_pressed_twice_raises():
    def press_twice() -> None:
        with interrupt.defer_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            assert interrupt.is_interrupted()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert not interrupt.is_interrupted()


def test_other_handlers_and_threads_are_left_alone():
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt.defer_interrupt():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, mine)
    found = []
    thread = threading.Thread(target=lambda: found.append(solve(CSVM(X, Y)).status))
    thread.start()
    thread.join()
    assert found == ["optimal"]


def test_a_press_during_a_loop_that_cannot_be_interrupted_is_noticed_at_its_end(monkeypatch):
    """LIBSVM's point is certified, and the result says that the key was pressed."""

    def press_and_fit(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return fit(*arguments)

    fit = libsvm_.fit
    monkeypatch.setattr(libsvm_, "fit", press_and_fit)
    result = solve(CSVM(X, NOISE, 10.0, RBF(0.05)), "libsvm", max_iter=50, check=False)
    assert result.status == "interrupted"
    assert np.isfinite(result.alpha).all()
    assert result.gap < np.inf


def test_the_key_belongs_to_the_main_thread():
    """Noted there, it ends no solve elsewhere."""
    seen = []

    def elsewhere() -> None:
        seen.append(interrupt.is_interrupted())
        seen.append(solve(CSVM(X, Y)).status)

    with interrupt.defer_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        while not interrupt.is_interrupted():
            time.sleep(0.001)
        worker = threading.Thread(target=elsewhere)
        worker.start()
        worker.join()
    assert seen == [False, "optimal"]


def test_a_press_between_the_lines_of_leaving_is_not_lost():
    def leave() -> None:
        with interrupt.defer_interrupt():
            interrupt._InterruptState.is_deferred = False  # as far as leaving has come
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with interrupt.defer_interrupt():
        assert not interrupt.is_interrupted()


# --- filters of warnings belong to the process ------------------------------------------------------------------------


@pytest.mark.slow
def test_solves_in_many_threads_leave_the_filters_of_warnings_alone():
    """They were changed for good where one thread left `catch_warnings` while another one was inside."""
    problem = CSVM(X[:400], NOISE[:400], 100.0, RBF(0.05))
    before = list(warnings.filters)

    def work(k: int) -> None:
        backend = ("libsvm", "kernel_newton", "cvxpy")[k % 3]
        small = CSVM(X[:60], NOISE[:60], 1.0) if backend == "cvxpy" else problem
        solve(small, backend, max_iter=20 + k, check=False, polish=False)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(60)))
    assert list(warnings.filters) == before
    with pytest.warns(InaccurateWarning):
        solve(problem, "libsvm", max_iter=20, polish=False)


def test_after_a_press_only_what_half_a_second_affords_is_certified(monkeypatch):
    """And nothing is sharpened: at a million rows that took 20 s."""
    allowed, patience = [], []
    certify, count = CSVM._certify_solution, GapRefiner.refine

    def record_seconds(self, *arguments):
        allowed.append(arguments[-1].certificate_seconds)
        return certify(self, *arguments)

    def record_patience(self, certificate, tol, patient=lambda: True):
        patience.append(patient())
        return count(self, certificate, tol, patient)

    monkeypatch.setattr(CSVM, "_certify_solution", record_seconds)
    monkeypatch.setattr(GapRefiner, "refine", record_patience)
    problem = CSVM(np.tile(X, (5, 1)), np.tile(Y, 5), 1e4, RBF(0.05))
    result = run_interrupted(lambda: solve(problem, tol=1e-12, check=False))
    assert result.status == "interrupted"
    assert allowed == [INTERRUPTED_CERTIFICATE_SECONDS]
    assert not any(patience)


def test_a_point_that_nobody_has_time_for_is_not_sharpened(monkeypatch):
    monkeypatch.setattr(GapRefiner, "_refine_rows", lambda *_: pytest.fail("it takes longer than a certificate"))
    problem = CSVM([[0.3], [1.7e4]], [-1, 1], 1e4)
    counted = problem._certifier.gap_refiner.refine(problem._certifier.certify(np.full(2, 1e-9)), 0.0, lambda: False)
    assert counted.gap > 0
