"""How much memory can still be had: the machine's, the container's, and the address space of the process.

Compiled solvers end the process where memory runs out in the wrong place. So what they will need is compared, before
they start, with what there is.
"""

from __future__ import annotations

import os
from pathlib import Path

from qpsvm.errors import TooLargeError

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
#: Share of the machine's memory that one dense matrix may take.
MEMORY_SHARE = 0.4
#: Bytes up to which nobody asks whether they are there.
LITTLE = 1e8
#: What to do instead of a matrix that is too large.
SMALLER = "Use fewer rows, or form='primal' where the kernel is linear"


def total_memory() -> float:
    """Bytes of this machine's memory."""
    if not hasattr(os, "sysconf"):
        return float(UNKNOWN)
    return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))


def available_memory() -> float:
    """Bytes that can still be had: the least of what the machine, the container and the process's limit leave."""
    return max(min(_machine(), _container(), address_space()), 0.0)


def address_space() -> float:
    """Bytes of address space that the process may still map; infinite where nothing limits it."""
    if resource is None:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    words = _text(STATM).split()
    mapped = float(words[0]) * os.sysconf("SC_PAGE_SIZE") if words else 0.0
    return float(limit) - mapped


def check_memory(n: int, m: int, what: str, instead: str = SMALLER) -> None:
    """Refuse a dense (n, m) matrix that would take too much of this machine's memory.

    Raises TooLargeError.
    """
    size, total = 8.0 * n * m, total_memory()
    if size <= LITTLE:
        return
    there = available_memory()
    if size > min(MEMORY_SHARE * total, there):
        short = size > MEMORY_SHARE * total
        has = f"this machine has {in_words(total)}" if short else f"{in_words(there)} are available"
        raise TooLargeError(f"{what} would be a dense {n} × {m} matrix of {in_words(size)}; {has}. {instead}")


def in_words(size: float) -> str:
    """A number of bytes, for people."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{max(size, 0.0) / 2**20:.0f} MiB"


def _machine() -> float:
    for line in _text(MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    return total_memory()


def _container() -> float:
    limit, used = _text(CONTAINER_LIMIT).strip(), _text(CONTAINER_USE).strip()
    return float(limit) - float(used) if limit.isdecimal() and used.isdecimal() else float("inf")


def _text(path: Path) -> str:
    """What a file of the system says, or "" where there is none."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
