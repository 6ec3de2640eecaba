"""Limit memory (`find_available_memory`) and BLAS threads (`limit_blas_threads`).

Compiled solvers end the process where memory runs out in the wrong place. So what they will need is compared, before
they start, with what there is.

One thread for BLAS while a solve runs.

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
from pathlib import Path
from typing import Any

from qpsvm.base.errors import TooLargeError

try:  # it exists on Unix only
    import resource
except ImportError:  # pragma: no cover
    resource = None  # type: ignore[assignment]

#: Where Linux says how much memory is available, and how much this process has mapped.
MEMINFO, STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
#: Where it says how much the container may use, and how much it uses.
CONTAINER_LIMIT, CONTAINER_USE = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
#: Bytes that a machine is assumed to have where its system does not say.
UNKNOWN = 16 * 2**30
#: Share of the memory that one dense matrix may take, or features, or a collection, that are kept.
MEMORY_SHARE = 0.4
#: Numbers that pass through memory at a time, where there may be more than it holds: 32 MB.
BLOCK_NUMBERS = 4_000_000
#: Bytes up to which availability is not checked.
SMALL_BYTES = 1e8
#: What to do instead of a matrix that is too large.
SMALLER = "Use fewer rows, or form='primal' where the kernel is linear"


def find_total_memory() -> float:
    """Return the bytes of this machine's memory."""
    if not hasattr(os, "sysconf"):
        return float(UNKNOWN)
    return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))


def find_available_memory() -> float:
    """Return the bytes still available: the least of the machine's, the container's and the process's limit."""
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


def check_memory(n: int, m: int, what: str, instead: str = SMALLER) -> None:
    """Refuse a dense (n, m) matrix that would take too much of this machine's memory. Raises TooLargeError."""
    size, total = 8.0 * n * m, find_total_memory()
    if size <= SMALL_BYTES:
        return
    there = find_available_memory()
    if size > min(MEMORY_SHARE * total, there):
        short = size > MEMORY_SHARE * total
        has = f"this machine has {format_bytes(total)}" if short else f"{format_bytes(there)} are available"
        raise TooLargeError(f"{what} would be a dense {n} × {m} matrix of {format_bytes(size)}; {has}. {instead}")


def format_bytes(size: float) -> str:
    """Format a number of bytes."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{max(size, 0.0) / 2**20:.0f} MiB"


def _find_machine_memory() -> float:
    for line in _read_text(MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    return find_total_memory()


def _find_container_memory() -> float:
    limit, used = _read_text(CONTAINER_LIMIT).strip(), _read_text(CONTAINER_USE).strip()
    return float(limit) - float(used) if limit.isdecimal() and used.isdecimal() else float("inf")


def _read_text(path: Path) -> str:
    """Return the content of a system file, or "" if there is none."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


@dataclass
class _BlasPools:
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
                    _pools.threads = max([1, *(number for _, number in _pools.before)])  # some are left in a fork
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
    own = threading.get_ident()
    for block in [block for block, thread in _pools.inside.items() if thread != own]:
        del _pools.inside[block]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def count_spare_threads() -> int:
    """Return the number of helper threads within a block: the threads BLAS had, less one for each solve.

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


def _find_blas_pools() -> tuple[Any, ...]:
    """Return the pools of the BLAS libraries; searched again after further imports, which takes milliseconds."""
    if len(sys.modules) != _pools.modules:
        try:
            import threadpoolctl
        except ImportError:  # it comes with scikit-learn; without it the threads stay as they are
            return ()
        controller = threadpoolctl.ThreadpoolController()
        _pools.found = tuple(pool for pool in controller.lib_controllers if pool.user_api == "blas")
        _pools.modules = len(sys.modules)
    return _pools.found


__all__ = ["count_spare_threads", "limit_blas_threads"]
