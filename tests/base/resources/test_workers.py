"""Our own threads: the same bits however many there are, and nothing left behind by errors, keys and forks."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

import qpsvm
from qpsvm.base.resources import limits as threads
from qpsvm.base.resources import workers
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt, is_interrupted
from qpsvm.base.resources.limits import count_spare_threads, limit_blas_threads
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips
from qpsvm.data.rows import CentredRows, RowsWithOnes, as_row_source
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

#: Seconds of work that no machine has less time for: threads always pay.
LONG = 1e3
#: Seconds after which a thread waits for others no longer: they do not come.
PATIENCE = 300.0
X, Y = make_classification(1500, 6, n_informative=5, n_redundant=0, random_state=0)
#: So many numbers that rows are worked on in tiles.
WIDE = np.random.default_rng(0).standard_normal((52_000, 40)) + 1.0


@pytest.fixture
def spare_threads(monkeypatch):
    """Make every piece of work large enough for so many threads, which it returns the number of."""

    def have(count):
        monkeypatch.setattr(workers, "count_spare_threads", lambda: count - 1)
        monkeypatch.setattr(workers, "count_cores", lambda: count)
        monkeypatch.setattr(workers, "MIN_THREADED_SECONDS", 1e-12)
        return count

    return have


def kernel_values():
    blocks = KernelBlocks(qpsvm.RBF(0.2), X)
    some, rest = np.arange(0, 1500, 2), np.arange(1, 900, 2)
    weights = np.linspace(-1.0, 1.0, len(some))
    filled = np.empty((64, 1500), dtype=np.float32)
    blocks.fill_rows(filled, 100)
    polynomial = KernelBlocks(qpsvm.Polynomial(2, 1.0, 1.0), X)
    for rough in (False, True):
        yield blocks.compute_product(some, weights, np.arange(1500), rough)
        yield blocks.compute_product(some, weights, rest[:7], rough)
        yield blocks.compute_block(some, rest, rough)
        yield blocks.grow_symmetric(blocks.compute_symmetric(some), some, rest, rough)
    yield from (blocks.compute_symmetric(some), blocks.compute_symmetric(some, rough=True), filled)
    yield polynomial.compute_product(some, weights, rest)


def row_sums():
    rows = np.arange(0, len(WIDE), 2)
    a = np.linspace(0.0, 1.0, len(WIDE))
    for array in (WIDE, np.asfortranarray(WIDE)):
        for source in (
            as_row_source(array),
            RowsWithOnes(as_row_source(array)),
            CentredRows(as_row_source(array), WIDE[0]),
        ):
            w = np.linspace(-1.0, 1.0, source.d)
            yield from (source.margins(w), source.weights(a), source.weights(a[rows], rows), *source.moments(rows))
            yield source.scan(w, lambda block, m: a[block.start : block.stop] * (m > 0))
            yield from (source.take(rows), source.squared_norms(), source.means(), source.column_squares())
            yield np.array(source.sum_of_squares())


def solutions():
    X, y = make_classification(2300, 8, n_informative=6, flip_y=0.1, random_state=1)
    yield from ((result.alpha, np.array([result.b, result.gap])) for result in (
        qpsvm.solve(qpsvm.CSVM(X, y, 1.0, qpsvm.RBF(0.1))),
        qpsvm.solve(qpsvm.CSVM(WIDE, WIDE[:, 0] + np.sin(7.0 * WIDE[:, 1]) > 1.0, 0.1), tol=1e-4),
    ))  # fmt: skip


@pytest.mark.parametrize("values", [kernel_values, row_sums])
def test_the_same_bits_with_one_thread_with_two_and_with_three(spare_threads, values):
    with limit_blas_threads(), np.errstate(all="ignore"):
        spare_threads(1)
        alone = list(values())
        for count in (2, 3):
            spare_threads(count)
            for found, expected in zip(values(), alone, strict=True):
                assert found.tobytes() == expected.tobytes()


def test_a_solve_is_the_same_with_one_thread_with_two_and_with_three(spare_threads, monkeypatch):
    """With a clock that stands: where a machine is busy, an engine that falls behind hands over to another."""
    monkeypatch.setattr(Clock, "seconds", property(lambda _: 0.0))
    found = []
    for count in (1, 2, 3):
        spare_threads(count)
        found.append([part.tobytes() for parts in solutions() for part in parts])
    assert found[0] == found[1] == found[2]


def test_every_tile_once_and_in_several_threads(spare_threads):
    spare_threads(3)
    done = []
    seen = set()
    meet = threading.Barrier(3)

    def task(k):
        if k < 3:
            meet.wait(PATIENCE)  # each of the first three has a thread of its own
        seen.add(threading.get_ident())
        done.append(k)

    run_tiles(task, range(50), LONG)
    assert sorted(done) == list(range(50))
    assert len(seen) == 3
    assert threading.get_ident() in seen


def test_small_work_stays_with_the_caller():
    seen = set()
    with limit_blas_threads():
        run_tiles(lambda _: seen.add(threading.get_ident()), range(50), 1e-5)
    assert seen == {threading.get_ident()}


def test_a_task_that_asks_for_threads_itself_works_alone(spare_threads):
    spare_threads(3)
    done = []

    def record_tile(k):
        done.append((*k, threading.get_ident()))

    def run_inner_tiles(k):
        run_tiles(record_tile, [(k, j) for j in range(20)], LONG)

    run_tiles(run_inner_tiles, range(20), LONG)
    assert sorted(pair[:2] for pair in done) == [(k, j) for k in range(20) for j in range(20)]
    assert all(len({one for k, _, one in done if k == outer}) == 1 for outer in range(20))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("by_caller", [True, False])
def test_an_error_comes_back_when_nobody_works_any_more(spare_threads, error, by_caller):
    spare_threads(3)
    caller = threading.get_ident()
    running = [0]
    lock = threading.Lock()
    meet = threading.Barrier(3)

    def task(k):
        if k < 3:
            meet.wait(PATIENCE)
        with lock:
            running[0] += 1
        try:
            if (threading.get_ident() == caller) == by_caller:
                raise error("from a tile")
            time.sleep(0.005)
        finally:
            with lock:
                running[0] -= 1

    with pytest.raises(error, match="from a tile"):
        run_tiles(task, range(10_000), LONG)
    assert running == [0]
    done = []
    run_tiles(done.append, range(50), LONG)
    assert sorted(done) == list(range(50))


@pytest.mark.parametrize("by_caller", [True, False])
def test_the_key_ends_the_work_or_is_noted(spare_threads, by_caller, monkeypatch):
    spare_threads(2)
    caller = threading.get_ident()
    done = []
    meet = threading.Barrier(2)
    waits = threading.Event()
    ended = workers._wait_for_helpers
    monkeypatch.setattr(workers, "_wait_for_helpers", lambda asked: (waits.set(), ended(asked))[1])

    def task(k):
        mine = threading.get_ident() == caller
        if k < 2:
            meet.wait(PATIENCE)
            if mine == by_caller:
                os.kill(os.getpid(), signal.SIGINT)
            until = time.monotonic() + PATIENCE
            while mine and not is_interrupted() and time.monotonic() < until:
                time.sleep(0.001)
            if not mine:
                waits.wait(PATIENCE)
                time.sleep(0.05)  # the caller waits for this one
        done.append(k)

    with pytest.raises(KeyboardInterrupt):
        run_tiles(task, range(2), LONG)
    assert len(done) == 1, "that of the other one, which was waited for"
    done.clear()
    meet.reset()
    waits.clear()
    with defer_interrupt():
        run_tiles(task, range(40), LONG)
        assert is_interrupted()
    assert sorted(done) == list(range(40))


def test_the_silence_of_the_caller_is_kept(spare_threads):
    spare_threads(3)
    kept = []
    meet = threading.Barrier(3)

    def task(_):
        meet.wait(PATIENCE)
        kept.append(np.geterr())

    with np.errstate(over="ignore", invalid="raise"):
        run_tiles(task, range(3), LONG)
        assert kept == [np.geterr()] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_has_threads_of_its_own(spare_threads):
    spare_threads(3)
    run_tiles(lambda _: None, range(9), LONG)
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            seen = set()
            meet = threading.Barrier(3)

            def task(_):
                meet.wait(PATIENCE)
                seen.add(threading.get_ident())

            run_tiles(task, range(3), LONG)
            os.write(writes, bytes([len(seen)]))
        finally:
            os._exit(0)
    os.close(writes)
    assert os.read(reads, 1) == b"\3"
    os.close(reads)
    os.waitpid(child, 0)


def test_where_no_thread_can_be_had_the_caller_does_it_all(spare_threads, monkeypatch):
    spare_threads(3)

    class Full:
        def submit(self, _):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers._Pool, "threads", Full())
    monkeypatch.setattr(workers._Pool, "is_refused", False)
    done = []
    run_tiles(done.append, range(50), LONG)
    assert done == list(range(50))
    assert workers._Pool.is_refused


def test_as_many_helpers_as_blas_had_threads_less_one_for_each_solve(monkeypatch):
    class Pool:
        count = 4

        def get_num_threads(self):
            return self.count

        def set_num_threads(self, count):
            self.count = count

    pools = (Pool(), Pool())
    monkeypatch.setattr(threads, "_find_blas_pools", lambda: pools)
    assert count_spare_threads() == 0
    with limit_blas_threads():
        assert [pool.count for pool in pools] == [1, 1]
        assert count_spare_threads() == 3
        with limit_blas_threads():
            assert count_spare_threads() == 3
            seen = []

            def count_from_another():
                with limit_blas_threads():
                    seen.append(count_spare_threads())

            worker = threading.Thread(target=count_from_another)
            worker.start()
            worker.join(20)
            assert seen == [2]
        assert count_spare_threads() == 3
    assert [pool.count for pool in pools] == [4, 4]
    pools[0].count = pools[1].count = 1
    with limit_blas_threads():
        assert count_spare_threads() == 0


def test_parts_and_strips_cover_everything_once():
    for n in (0, 1, 7, 64, 1000):
        for cut in (split_range(n), split_range(n, 10), split_range(n, 1, 3), split_strips(n, 16)):
            assert np.concatenate([np.arange(n)[part] for part in cut] or [[]]).tolist() == list(range(n))
    assert len(split_range(1000, 10)) == workers.MAX_PARTS
    assert len(split_range(1000, 400)) == 2
