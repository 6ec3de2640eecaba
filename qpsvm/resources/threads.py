"""One thread for BLAS while a solve runs.

Our solvers multiply strips and small blocks, thousands of times. Over those, BLAS's threads cost more than they bring:
NumPy and SciPy each bring a pool of their own, and the threads of one spin while the other works.

The number of threads belongs to the process. So the first solve in, of all threads, remembers it and sets it to one,
and the last one out restores it. Solves in several threads run side by side as before, on one core each. Newer
versions of threadpoolctl let one thread at a time change the number: while solves run, the first one's does, and the
last one out takes over. Where the user has set it in another thread, for a block that is still running, it stays.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Pools:
    """What is known of the process: guarded by `_lock`.

    Attributes
    ----------
    found : tuple
        The pools of the BLAS libraries that were loaded when so many `modules` were.
    modules : int
    inside : set of int
        The blocks that are being run.
    before : list of (pool, int)
        The numbers to restore, the last one first.
    """

    found: tuple[Any, ...] = ()
    modules: int = 0
    inside: set[int] = field(default_factory=set)
    before: list[tuple[Any, int]] = field(default_factory=list)


_pools = _Pools()
#: Reentrant, as a block that was lost may be collected while another one is entered.
_lock = threading.RLock()


class one_thread:
    """Limit BLAS to one thread while the block runs, in all threads of the process.

    Blocks may be nested, and overlap between threads. What a library is loaded within a block is limited from the next
    one on, which may be a nested one. A block that an exception tears before its first or after its last line, as the
    interrupt key may, counts until it is collected.
    """

    def __enter__(self) -> None:
        entered = False
        try:
            with _lock:
                _pools.inside.add(id(self))
                for pool in _loaded():
                    threads = pool.get_num_threads()
                    if threads is not None and threads > 1:
                        _pools.before.append((pool, threads))
                        pool.set_num_threads(1)
                        if pool.get_num_threads() != 1:  # another thread has the say
                            _pools.before.pop()
            entered = True
        finally:
            if not entered:
                self._leave()

    def __exit__(self, *error: object) -> None:
        self._leave()

    def __del__(self) -> None:
        if id(self) in _pools.inside:
            self._leave()

    def _leave(self) -> None:
        """Harmless if done twice, or in the middle of itself."""
        with _lock:
            _pools.inside.discard(id(self))
            while _pools.before and not _pools.inside:
                pool, threads = _pools.before[-1]
                _restore(pool, threads)
                _pools.before.pop()


def _restore(pool: Any, threads: int) -> None:
    """Set a number, though another thread may have set the one before, and leave the next one to anybody."""
    let_go = getattr(pool, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)
    pool.set_num_threads(threads)
    if let_go is not None:
        let_go()


def _loaded() -> tuple[Any, ...]:
    """The pools of the BLAS libraries, looked for again, in some milliseconds, when modules have been imported."""
    if len(sys.modules) != _pools.modules:
        try:
            import threadpoolctl
        except ImportError:  # it comes with scikit-learn: without either, NumPy is all there is
            return ()
        controller = threadpoolctl.ThreadpoolController()
        _pools.found = tuple(pool for pool in controller.lib_controllers if pool.user_api == "blas")
        _pools.modules = len(sys.modules)
    return _pools.found


__all__ = ["one_thread"]
