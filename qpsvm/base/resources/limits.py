"""Limit memory (`find_available_memory`) and BLAS threads (`limit_blas_threads`).

Compiled solvers may abort the process if memory runs out. So the memory that they need is compared, before they start,
with the available memory.

BLAS uses one thread while a solve runs. The built-in solvers multiply strips and small blocks, thousands of times. For
these, BLAS's threads cost more than they gain: NumPy and SciPy have a pool each, and the threads of one spin while the
other works. Instead, as many threads as BLAS had work on tiles (`workers`).

The number of threads is a setting of the process. So the first solve to start, in any thread, saves the number and sets
it to one, and the last one to end restores it. Solves in several threads run in parallel, on one core each.

Newer versions of threadpoolctl let only one thread at a time change the number. While solves run, this is the thread of
the first one, and that of the last one restores it. If the user has set the number in another thread, within a block
that is still running, it is not changed.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qpsvm.base.errors import TooLargeError

try:  # on Unix only
    import resource
except ImportError:  # pragma: no cover
    resource = None  # type: ignore[assignment]

#: Linux files with the available memory, and with the memory mapped by this process.
MEMINFO, STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
#: Linux files with the memory limit and the memory use of the container.
CONTAINER_LIMIT, CONTAINER_USE = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
#: Assumed bytes of memory if the system does not provide them.
UNKNOWN = 16 * 2**30
#: Limit of one stored dense matrix, feature matrix or collection, as a share of the memory.
MEMORY_SHARE = 0.4
#: Numbers per block, 32 MB, in passes over data that may not fit into memory.
BLOCK_NUMBERS = 4_000_000
#: Bytes up to which availability is not checked.
SMALL_BYTES = 1e8
#: Advice if a matrix is too large.
SMALLER = "Use fewer rows, or form='primal' where the kernel is linear"


def find_total_memory() -> float:
    """Return the bytes of this machine's memory."""
    if not hasattr(os, "sysconf"):
        return float(UNKNOWN)
    return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))


def find_available_memory() -> float:
    """Return the bytes still available: the smallest limit of machine, container and process."""
    return max(min(_find_machine_memory(), _find_container_memory(), find_free_address_space()), 0.0)


def find_free_address_space() -> float:
    """Return the bytes of address space that the process may still map; infinite if unlimited."""
    if resource is None:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    words = _read_text(STATM).split()
    mapped = float(words[0]) * os.sysconf("SC_PAGE_SIZE") if words else 0.0
    return float(limit) - mapped


def check_memory(n: int, m: int, noun: str, instead: str = SMALLER) -> None:
    """Refuse a dense (n, m) matrix that would take too much of this machine's memory. Raises TooLargeError."""
    size = 8.0 * n * m
    total = find_total_memory()
    if size <= SMALL_BYTES:
        return
    available = find_available_memory()
    if size > min(MEMORY_SHARE * total, available):
        exceeds_share = size > MEMORY_SHARE * total
        if exceeds_share:
            has = f"this machine has {format_bytes(total)}"
        else:
            has = f"{format_bytes(available)} are available"
        raise TooLargeError(f"{noun} would be a dense {n} × {m} matrix of {format_bytes(size)}; {has}. {instead}")


def format_bytes(size: float) -> str:
    """Format a number of bytes."""
    if size >= 2**30:
        return f"{size / 2**30:.1f} GiB"
    return f"{max(size, 0.0) / 2**20:.0f} MiB"


def _find_machine_memory() -> float:
    for line in _read_text(MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    return find_total_memory()


def _find_container_memory() -> float:
    limit, used = _read_text(CONTAINER_LIMIT).strip(), _read_text(CONTAINER_USE).strip()
    if limit.isdecimal() and used.isdecimal():
        return float(limit) - float(used)
    return float("inf")


def _read_text(path: Path) -> str:
    """Return the content of a system file, or "" if there is none."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


@dataclass
class _BlasPools:
    """State of the BLAS pools of the process, guarded by `_lock`.

    found: The pools of the BLAS libraries at the last search.
    modules: Number of modules imported then.
    inside: The running blocks, by `id`, and the threads that entered them.
    before: The numbers of threads to restore, in reverse order.
    threads: The largest number of threads of a library when the first of these blocks was entered.
    """

    found: tuple[Any, ...] = ()
    modules: int = 0
    inside: dict[int, int] = field(default_factory=dict)
    before: list[tuple[Any, int]] = field(default_factory=list)
    threads: int = 1


_pools = _BlasPools()
#: Reentrant, because a lost block may be collected while another one is entered.
_lock = threading.RLock()


class limit_blas_threads:
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
                    # in a fork, some are not restored yet
                    _pools.threads = max([1, *(number for _, number in _pools.before)])
                _pools.inside[id(self)] = threading.get_ident()
                for pool in _find_blas_pools():
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


def _reset_after_fork() -> None:
    """Reset the state after a fork: no other thread exists, so their blocks are over; the next block restores."""
    global _lock
    _lock = threading.RLock()
    this_thread = threading.get_ident()
    for block in [block for block, thread in _pools.inside.items() if thread != this_thread]:
        del _pools.inside[block]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def count_spare_threads() -> int:
    """Return the number of helper threads within a block: the threads BLAS had, less one for each solve.

    0 outside all blocks, where BLAS has its threads.
    """
    with _lock:
        if _pools.inside:
            return _pools.threads - len(set(_pools.inside.values()))
        return 0


def _restore(pool: Any, threads: int) -> None:
    """Set the number of threads, even if another thread set it last, and let any thread set it next."""
    release = getattr(pool, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    pool.set_num_threads(threads)
    if release is not None:
        release()


def _find_blas_pools() -> tuple[Any, ...]:
    """Return the pools of the BLAS libraries; searched again after further imports, which takes milliseconds."""
    if len(sys.modules) != _pools.modules:
        try:
            import threadpoolctl
        except ImportError:  # it is a requirement of scikit-learn; without it threads are not limited
            return ()
        controller = threadpoolctl.ThreadpoolController()
        _pools.found = tuple(pool for pool in controller.lib_controllers if pool.user_api == "blas")
        _pools.modules = len(sys.modules)
    return _pools.found


__all__ = ["count_spare_threads", "limit_blas_threads"]
