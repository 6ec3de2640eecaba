"""One BLAS thread inside a solve, and what the user had outside: whatever happens in between."""

import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.datasets import make_classification
from threadpoolctl import ThreadpoolController, threadpool_limits

import qpsvm
from qpsvm.backends.external.libsvm_ import LibsvmCompiled
from qpsvm.base.resources import limits as threads
from qpsvm.base.resources.limits import limit_blas_threads

X, Y = make_classification(60, 4, random_state=0)
#: A number of threads that a user might have set; more than there are cores is allowed.
USUAL = 3


def pools():
    return [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "blas"]


def counts() -> set[int]:
    """How many threads those of NumPy and SciPy have: CVXOPT's may not take a number."""
    return {pool.get_num_threads() for pool in pools() if "scipy_openblas" in (pool.prefix or "")} - {None}


@pytest.fixture(autouse=True)
def _a_user_with_threads():
    if not counts():
        pytest.skip("another BLAS")
    before = [(pool, pool.get_num_threads()) for pool in pools()]
    for pool, _ in before:
        threads._restore(pool, USUAL)
    assert counts() == {USUAL}
    yield
    assert counts() == {USUAL}
    assert not threads._pools.inside
    assert not threads._pools.before
    for pool, number in before:
        threads._restore(pool, number)


def test_one_inside_and_what_there_was_outside():
    with limit_blas_threads():
        assert counts() == {1}
        with limit_blas_threads():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {USUAL}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_restored_after_an_error(error):
    with pytest.raises(error), limit_blas_threads():
        raise error
    assert counts() == {USUAL}


def test_restored_where_the_key_is_pressed_on_the_way_in(monkeypatch):
    def press_key():
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "_find_blas_pools", press_key)
    with pytest.raises(KeyboardInterrupt), limit_blas_threads():
        pass
    assert not threads._pools.inside


@pytest.mark.slow
def test_a_block_that_was_never_left_counts_until_it_is_collected():
    gc.disable()  # so that it stays among the youngest: to collect all that the tests have made takes seconds
    try:
        lost = limit_blas_threads()
        lost.__enter__()
        assert counts() == {1}
        del lost
        gc.collect(0)
        assert counts() == {USUAL}
    finally:
        gc.enable()


def test_the_last_of_overlapping_threads_restores():
    first_in = threading.Event()
    second_in = threading.Event()
    first_out = threading.Event()
    seen = []

    def enter_first():
        with limit_blas_threads():
            first_in.set()
            second_in.wait(300)
        first_out.set()

    def second():
        first_in.wait(300)
        with limit_blas_threads():
            second_in.set()
            first_out.wait(300)
            seen.append(counts())

    workers = [threading.Thread(target=enter_first), threading.Thread(target=second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert seen == [{1}]
    assert counts() == {USUAL}


def test_what_the_user_limits_in_a_block_stays_as_the_user_wants_it():
    with threadpool_limits(2, user_api="blas"):
        with limit_blas_threads():
            assert counts() == {1}
        assert counts() == {2}
    assert counts() == {USUAL}


def test_a_block_of_another_thread_under_the_users_limit():
    def enter_block():
        with limit_blas_threads():
            pass

    with threadpool_limits(2, user_api="blas"):
        worker = threading.Thread(target=enter_block)
        worker.start()
        worker.join(60)
        assert counts() == {2}
    assert counts() == {USUAL}


def test_a_solve_and_a_compiled_one_run_on_one_thread(monkeypatch):
    seen = []

    def kernel(A, B):
        seen.append(counts())
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(-1))

    qpsvm.solve(qpsvm.CSVM(X, Y, 1.0, kernel))
    assert seen
    assert set().union(*seen) == {1}
    seen.clear()
    true = LibsvmCompiled._run
    monkeypatch.setattr(LibsvmCompiled, "_run", lambda *args: (seen.append(counts()), true(*args))[1])
    qpsvm.compile(qpsvm.CSVM(X, Y, 1.0, qpsvm.RBF(0.5)).qp("dual"), "libsvm").solve()
    assert seen == [{1}]


def test_restored_after_a_solve_that_fails():
    with pytest.raises(qpsvm.NotSeparableError):
        qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [0.5], [0.6]], [0, 0, 1, 0]))
    assert counts() == {USUAL}


@pytest.mark.slow
def test_a_library_that_is_loaded_later_is_limited_from_the_next_block_on():
    code = (
        "from qpsvm.base.resources.limits import limit_blas_threads\n"
        "with limit_blas_threads():\n"
        "    import scipy.linalg\n"
        "    with limit_blas_threads():\n"
        "        from threadpoolctl import threadpool_info\n"
        "        print(*(pool['num_threads'] for pool in threadpool_info() if 'scipy_openblas' in pool['prefix']))\n"
    )
    usual = {"OMP_NUM_THREADS": str(USUAL), "OPENBLAS_NUM_THREADS": str(USUAL)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True, env=os.environ | usual
    )
    assert done.stdout.split() == ["1", "1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_solves_neither_waits_for_it_nor_counts_it():
    inside, over = threading.Event(), threading.Event()

    def solve():
        with limit_blas_threads(), threads._lock:
            inside.set()
            over.wait(300)

    other = threading.Thread(target=solve)
    other.start()
    inside.wait(300)
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits for ever
        with limit_blas_threads():
            shared = threads.count_spare_threads()
        os._exit(0 if shared == USUAL - 1 and counts() == {USUAL} and not threads._pools.inside else 1)
    over.set()
    other.join()
    assert os.waitpid(child, 0)[1] == 0
