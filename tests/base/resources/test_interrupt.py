"""Ctrl-C: our own solvers end with their best point, certified; a second one raises. And the filters of warnings."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from processes import children, seconds_of
from sklearn.datasets import make_classification

from qpsvm import CSVM, RBF, InaccurateWarning, core, solve
from qpsvm.base.resources import interrupt
from qpsvm.base.resources.child_process import ForkedProcess
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.gap_refiner import GapRefiner
from qpsvm.solve.request import INTERRUPTED_CERTIFICATE_SECONDS
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.libsvm import run_libsvm_loop
from qpsvm.solvers.shared import time_slices

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
    options = {} if backend in ("interior_point", "kernel_newton") else {"max_iter": 10**8}
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


# --- LIBSVM's compiled loop, which answers nothing --------------------------------------------------------------------

#: Noise, a large C and a tiny tolerance: the loop would take hours.
ENDLESS = {
    "libsvm": lambda: solve(CSVM(X, NOISE, 1e6, RBF(0.05)), "libsvm", eps=1e-12, check=False, polish=False),
    "kernel_newton": lambda: solve(
        CSVM(np.tile(X, (3, 1)) + SPREAD, np.tile(NOISE, 3), 1e6, RBF(0.05)), "kernel_newton", engine="libsvm",
        tol=1e-12, check=False, polish=False,
    ),
}  # fmt: skip


#: Those that run apart: with the core, our own loop looks at the key itself (tests/core/test_loop.py).
APART = [backend for backend in ENDLESS if backend == "libsvm" or core.compiled is None]


@pytest.fixture
def child_loop(monkeypatch):
    """Set when the loop has been running in a child for a moment."""
    running = threading.Event()
    true = ForkedProcess.is_ready

    def note_ready(self, seconds):
        answer = true(self, seconds)
        running.set()
        return answer

    monkeypatch.setattr(ForkedProcess, "is_ready", note_ready)
    return running


def press_when_apart(running: threading.Event, times: int) -> None:
    """Press the key when the loop runs apart; again when that has been noted."""

    def press() -> None:
        assert running.wait(100)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            while not interrupt._InterruptState.was_pressed:  # two at once would be one
                time.sleep(0.001)

    threading.Thread(target=press, daemon=True).start()


@pytest.mark.skipif(sys.platform != "linux", reason="looks for forks")
@pytest.mark.parametrize("backend", APART)
def test_one_press_ends_the_compiled_loop_with_a_certified_point(backend, child_loop):
    before = children()  # of other tests: what multiprocessing keeps, for one
    press_when_apart(child_loop, 1)
    result = ENDLESS[backend]()
    assert result.status == "interrupted"
    assert np.isfinite(result.alpha).all()
    assert result.gap < np.inf
    assert children() <= before


@pytest.mark.skipif(sys.platform != "linux", reason="looks for forks")
@pytest.mark.parametrize("backend", APART)
def test_two_presses_end_everything(backend, child_loop, monkeypatch):
    monkeypatch.setattr(time_slices, "GRACE", 100.0)  # the second press does not wait for that
    monkeypatch.setattr(ForkedProcess, "request_stop", lambda _: None)
    before = children()
    press_when_apart(child_loop, 2)
    with pytest.raises(KeyboardInterrupt):
        ENDLESS[backend]()
    assert children() <= before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not interrupt.is_interrupted()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for forks")
@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_what_the_loop_has_found_is_not_lost(kind, monkeypatch):
    """A loop over samples is hurried to its end: what comes back is better than nothing at all.

    It is hurried later and later, until it had found something: how long that takes is the machine's affair.
    """
    Z, t = np.tile(X, (2, 1)) + SPREAD[: 2 * len(X)], np.tile(Y, 2)
    n = len(t)
    problem = {
        "hinge": KernelDual.from_hinges(np.where(t > 0, 1.0, -1.0), np.full(n, 1e3)),
        "tube": KernelDual(np.full(n, 1e3), t + SPREAD[:n, 0], np.full(n, -1e3), 1e-3),
    }[kind]
    monkeypatch.setattr(time_slices, "GRACE", 100.0)
    monkeypatch.setattr(time_slices, "AT_ONCE", 0.0)
    others = children()

    class Late(Clock):
        after = 0.2  # seconds of the child's processor time

        def find_stop_reason(self):
            return "interrupted" if seconds_of(children() - others) > self.after else None

    for _ in range(9):
        result = run_libsvm_loop(problem, Z, clock=Late(), gamma=0.05, tol=1e-12)
        assert not result.converged
        if np.count_nonzero(result.beta) > 1:
            break
        Late.after *= 2.0
    assert result.iterations > 0
    assert np.count_nonzero(result.beta) > 1
    assert abs(result.beta.sum()) <= 1e-9 * np.abs(result.beta).sum()
    assert np.isfinite(Z).all()


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
    judge, count = CSVM._judge, GapRefiner.refine
    monkeypatch.setattr(CSVM, "_judge", lambda self, *a: allowed.append(a[-1].certificate_seconds) or judge(self, *a))

    def record_patience(self, certificate, tol, patient=lambda: True):
        patience.append(patient())
        return count(self, certificate, tol, patient)

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
