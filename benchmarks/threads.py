"""How many threads a process gets: one, or what a user gets who sets nothing. Imports nothing that starts any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

#: What BLAS libraries and OpenMP read, once, when they are loaded.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Which seconds count: those of all threads together, or those that a user waits.
Clock = Literal["processor", "wall"]
#: The end of the name of an entrant that is run as users run it, with no variable set.
ALL = "@all"


def use_one_thread() -> None:
    """For this process and those that it starts, unless the user said otherwise."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")


@contextmanager
def restore_default_threads() -> Iterator[None]:
    """Start processes in the block without the limits on threads of this environment."""
    kept = {name: os.environ.pop(name) for name in VARIABLES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
