"""Run independent tiles of work in several threads while BLAS has one (`run_tiles`).

The caller splits the work into tiles by its size alone (`split_range`, `split_strips`). Each tile writes to memory of
its own, and sums over tiles are added in their order. So the result has the same bits for any number of threads.

There are as many threads as BLAS had before the solve, but at most one per core of this process. A user who gives BLAS
one thread, by OMP_NUM_THREADS or threadpoolctl, has one. The calling thread works, too, and waits only for tiles that
have been started, so nothing blocks if all threads are busy. A task that itself calls `run_tiles` works alone. An error
in a tile, or an interrupt, is raised in the caller as soon as no other tile is running.

A tile should spend its time in code that releases the interpreter's lock. `X @ v` does not if the result is short
(NumPy counts the numbers of the result, not those that are read); `np.dot` always does.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from qpsvm.base.resources.limits import count_spare_threads

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")
#: Minimal seconds of work per thread. Waking one and waiting for it takes .05 ms on an idle machine, and
#: several times as much on a busy one.
MIN_THREADED_SECONDS = 4e-4
#: Limit of the parts of a sum over rows: two for each of 16 cores. Each part takes as much memory as the sum.
MAX_PARTS = 32
#: Limit of the helper threads, for all solves of the process together; one is started only if none is idle.
MAX_THREADS = 64


class _ThreadState(threading.local):
    """Whether this thread is working on tiles."""

    is_working = False


class _Pool:
    """The helper threads of this process; None until they are needed, or if they cannot be created."""

    threads: ThreadPoolExecutor | None = None
    is_refused = sys.platform == "emscripten"  # a browser's Python has no threads
    lock = threading.Lock()


_this_thread = _ThreadState()


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_tiles(task: Callable[[T], object], tiles: Sequence[T], seconds: float) -> None:
    """Call `task` once for each tile, in several threads if that is worthwhile.

    seconds: Estimated time of all tiles in one thread.

    Raises what a task raises.
    """
    helpers = _count_helpers(len(tiles), seconds)
    if helpers < 1:
        for tile in tiles:
            task(tile)
        return
    remaining = deque(tiles)
    error_settings = np.geterr()  # NumPy's settings are separate for each thread

    def iter_remaining() -> Iterator[T]:
        with suppress(IndexError):
            while True:
                yield remaining.popleft()

    def work() -> None:
        _this_thread.is_working = True
        try:
            with np.errstate(**error_settings):
                for tile in iter_remaining():
                    task(tile)
        finally:
            remaining.clear()  # after an error no other tile is started
            _this_thread.is_working = False

    submitted: list[Future[None]] = []
    try:
        _submit_helpers(work, helpers, submitted)
        work()
    finally:
        remaining.clear()
        interrupt = _wait_for_helpers(submitted)
    if interrupt is not None:
        raise interrupt
    for future in submitted:
        if not future.cancelled():
            future.result()  # raises its error


def split_range(n: int, min_size: int = 1, max_parts: int = MAX_PARTS) -> list[slice]:
    """Split 0 to n − 1 into at most `max_parts` almost equal parts of at least `min_size` numbers, if n is as large."""
    count = max(1, min(max_parts, n // max(min_size, 1)))
    bounds = [n * k // count for k in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def split_strips(n: int, height: int) -> list[slice]:
    """Split 0 to n − 1 into parts of `height` numbers, of which the last may be shorter."""
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _count_helpers(n_tiles: int, seconds: float) -> int:
    """Return how many threads are to help the calling one."""
    if seconds < 2.0 * MIN_THREADED_SECONDS or n_tiles < 2 or _this_thread.is_working or _Pool.is_refused:
        return 0
    return min(count_spare_threads(), count_cores() - 1, n_tiles - 1, int(seconds / MIN_THREADED_SECONDS) - 1)


def _submit_helpers(work: Callable[[], None], helpers: int, submitted: list[Future[None]]) -> None:
    """Submit the work to helper threads, or to fewer if they cannot be created, and append their futures."""
    try:
        pool = _get_pool()
        for _ in range(helpers):
            submitted.append(pool.submit(work))
    except RuntimeError:  # the system refuses another thread, or the interpreter is about to end
        _Pool.is_refused = not submitted


def _wait_for_helpers(submitted: list[Future[None]]) -> KeyboardInterrupt | None:
    """Wait until all helpers have ended; return an interrupt that occurred meanwhile."""
    from concurrent.futures import wait

    interrupt = None
    running = [future for future in submitted if not future.cancel()]
    while any(not future.done() for future in running):
        try:
            wait(running)
        except KeyboardInterrupt as error:  # raised later: the last tiles take milliseconds
            interrupt = error
    return interrupt


def _get_pool() -> ThreadPoolExecutor:
    """Return the thread pool, which starts a thread only if none is idle, and ends them with the interpreter."""
    with _Pool.lock:
        if _Pool.threads is None:
            from concurrent.futures import ThreadPoolExecutor

            _Pool.threads = ThreadPoolExecutor(MAX_THREADS, "qpsvm")
        return _Pool.threads


def _drop_pool() -> None:
    """Reset the pool in a forked child, which has none of the threads."""
    _Pool.threads = None
    _Pool.lock = threading.Lock()
    _this_thread.is_working = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_pool)

__all__ = ["count_cores", "run_tiles", "split_range", "split_strips"]
