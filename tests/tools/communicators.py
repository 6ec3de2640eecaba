"""A communicator of threads: what several processes would do, in one, with the same messages in the same order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from qpsvm.base.resources.communicator import Communicator, Way, combined

T = TypeVar("T")


class _Table:
    """Where the members lay down what they say."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.said: list[Any] = [None] * size
        self.asked: list[Any] = [None] * size
        self.messages = 0
        self.numbers = 0


class ThreadCommunicator(Communicator):
    """One member of a communicator of threads; it checks that all ask for the same thing."""

    def __init__(self, table: _Table, rank: int, size: int) -> None:
        self.table, self.rank, self.size = table, rank, size

    def _told(self, way: Way, values: list[Any]) -> list[Any]:
        table = self.table
        table.said[self.rank], table.asked[self.rank] = values, (way, len(values))
        table.barrier.wait(60)
        if len(set(table.asked)) > 1:
            table.barrier.abort()
            raise AssertionError(f"the members ask for different things: {table.asked}")
        told = combined(way, list(table.said))
        if self.rank == 0:
            table.messages += 1
            table.numbers += sum(getattr(value, "size", 1) for value in values)
        table.barrier.wait(60)
        return told


def together(size: int, program: Callable[[Communicator], T]) -> list[T]:
    """What a program returns on each of so many members; the first error of any."""
    table = _Table(size)
    found: list[Any] = [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            found[rank] = program(ThreadCommunicator(table, rank, size))
        except BaseException as error:
            if not isinstance(error, threading.BrokenBarrierError):
                errors.append(error)
            table.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found
