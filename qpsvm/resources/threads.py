"""One thread for BLAS while a solve runs.

Our solvers multiply strips and small blocks, thousands of times. For these, BLAS's threads cost more than they bring:
NumPy and SciPy have a pool each, and the threads of one spin while the other works. As many threads as BLAS had work
on tiles instead (`workers`).

The number of threads belongs to the process. So the first solve to begin, of all threads, remembers the number and sets
it to one, and the last one to end restores it. Solves in several threads run side by side as before, on one core each.

Newer versions of threadpoolctl let only one thread at a time change the number. While solves run, this is the thread of
the first one, and that of the last one takes over at the end. Where the user has set the number in another thread, for
a block that is still running, it stays as the user set it.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Pools:
    """What is known of the process. `_lock` guards it.

    found: The pools of the BLAS libraries that were loaded when they were last looked for.
    modules: How many modules were loaded then.
    inside: The blocks that are running, by `id`, and the threads that entered them.
    before: The numbers of threads to restore, from the last to the first.
    threads: The largest number that a library had when the first of these blocks was entered.
    """

    found: tuple[Any, ...] = ()
    modules: int = 0
    inside: dict[int, int] = field(default_factory=dict)
    before: list[tuple[Any, int]] = field(default_factory=list)
    threads: int = 1


_pools = _Pools()
#: Reentrant, because a lost block may be collected while another one is entered.
_lock = threading.RLock()


class one_thread:
    """Limit BLAS to one thread while the block runs, in all threads of the process.

    Blocks may be nested, and blocks of several threads may overlap. A library that is loaded within a block is limited
    from the next block on, which may be a nested one. The interrupt key may end a block before its first or after its
    last line; such a block counts as running until it is collected.
    """

    def __enter__(self) -> None:
        entered = False
        try:
            with _lock:
                if not _pools.inside:
                    _pools.threads = max([1, *(number for _, number in _pools.before)])  # some are left in a fork
                _pools.inside[id(self)] = threading.get_ident()
                for pool in _loaded():
                    threads = pool.get_num_threads()
                    if threads is not None and threads > 1:
                        _pools.threads = max(_pools.threads, threads)
                        _pools.before.append((pool, threads))
                        pool.set_num_threads(1)
                        if pool.get_num_threads() != 1:  # only another thread may change it now
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
        """Restore the numbers if this was the last block. It may be called twice, or while it is running."""
        with _lock:
            _pools.inside.pop(id(self), None)
            while _pools.before and not _pools.inside:
                pool, threads = _pools.before[-1]
                _restore(pool, threads)
                _pools.before.pop()


def _forked() -> None:
    """In a fork there is no other thread: its blocks are over, and nobody holds the lock. The next block restores."""
    global _lock
    _lock = threading.RLock()
    own = threading.get_ident()
    for block in [block for block, thread in _pools.inside.items() if thread != own]:
        del _pools.inside[block]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def spare_threads() -> int:
    """How many threads may help the one that asks, within its block: those that BLAS had, less one for each solve.

    0 outside all blocks, where BLAS has its threads.
    """
    with _lock:
        return _pools.threads - len(set(_pools.inside.values())) if _pools.inside else 0


def _restore(pool: Any, threads: int) -> None:
    """Set the number of threads, even if another thread set it last, and let any thread set it next."""
    let_go = getattr(pool, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)
    pool.set_num_threads(threads)
    if let_go is not None:
        let_go()


def _loaded() -> tuple[Any, ...]:
    """The pools of the BLAS libraries. They are looked for again, which takes milliseconds, after further imports."""
    if len(sys.modules) != _pools.modules:
        try:
            import threadpoolctl
        except ImportError:  # it comes with scikit-learn; without it the threads stay as they are
            return ()
        controller = threadpoolctl.ThreadpoolController()
        _pools.found = tuple(pool for pool in controller.lib_controllers if pool.user_api == "blas")
        _pools.modules = len(sys.modules)
    return _pools.found


__all__ = ["one_thread", "spare_threads"]
