"""A function in a process of its own, with so many threads for BLAS: nothing that ran before is in its way."""

from __future__ import annotations

import multiprocessing as mp
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.threads import VARIABLES


def run_in_process(function: Callable[..., dict[str, Any]], *arguments: Any, threads: int = 1) -> dict[str, Any]:
    """Call a function in a process of its own; return its result, or its error as text.

    Parameters
    ----------
    function : callable
        Of a module, so that the process finds it.
    *arguments
        For it.
    threads : int
        Of BLAS there, and so of ours.

    Returns
    -------
    dict
        With "outcome": "ran", "error" or "crash".
    """
    context = mp.get_context("spawn")  # libraries that are loaded have made up their mind about threads
    here, there = context.Pipe(duplex=False)
    with _set_threads(threads):
        process = context.Process(target=_run_and_send, args=(there, function, arguments))
        process.start()
    there.close()
    try:
        found: dict[str, Any] = here.recv()
    except EOFError:
        found = {"outcome": "crash"}
    process.join()
    return found


def _run_and_send(there: Connection, function: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> None:
    try:
        there.send({"outcome": "ran", **function(*arguments)})
    except Exception as error:
        there.send({"outcome": "error", "error": f"{type(error).__name__}: {error}"[:300]})
    there.close()


@contextmanager
def _set_threads(count: int) -> Iterator[None]:
    """Start processes in the block with this many threads."""
    kept = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, str(count)))
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
