"""Tasks of many points each: one after the other, or several at a time in processes of their own, with a bar."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol, TypeVar

from qpsvm.errors import ParameterError
from qpsvm.resources.log import heard, say

T = TypeVar("T")


class Bar(Protocol):
    """What is asked of a progress bar."""

    def update(self, n: int) -> object:
        """Count so many points as done."""

    def close(self) -> None:
        """End the line."""


def run_tasks(
    task: Callable[..., Iterable[T]],
    arguments: Sequence[tuple[Any, ...]],
    sizes: Sequence[int],
    n_jobs: int | None,
    verbose: bool,
    unit: str = "point",
) -> Iterator[list[T]]:
    """What each task yields, as a list, in their order.

    Raises ParameterError.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise ParameterError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    with closing(_bar(sum(sizes), verbose, unit)) as bar:
        if n_jobs in (None, 1) or len(arguments) == 1:
            for given in arguments:
                found = []
                for each in task(*given):
                    found.append(each)
                    bar.update(1)
                yield found
            return
        from joblib import Parallel, delayed

        run = Parallel(n_jobs=n_jobs, return_as="generator")
        for found, size in zip(run(delayed(_listed)(task, given) for given in arguments), sizes, strict=True):
            bar.update(size)
            yield found


def _listed(task: Callable[..., Iterable[T]], given: tuple[Any, ...]) -> list[T]:
    return list(task(*given))


class Silent:
    """No bar."""

    def update(self, n: int) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Nothing to end."""


class Lines:
    """A message at every tenth of the way."""

    def __init__(self, total: int, verbose: bool, unit: str) -> None:
        self.total, self.verbose, self.unit, self.done, self.said = total, verbose, unit, 0, 0

    def update(self, n: int) -> None:
        """Count, and say so where another tenth is done."""
        self.done += n
        if 10 * self.done // self.total > self.said:
            self.said = 10 * self.done // self.total
            say(f"{self.done} of {self.total} {self.unit}s", self.verbose)

    def close(self) -> None:
        """Nothing to end."""


def _bar(total: int, verbose: bool, unit: str) -> Bar:
    if not heard(verbose):
        return Silent()
    if not verbose or importlib.util.find_spec("tqdm") is None:
        return Lines(total, verbose, unit)
    bar: Bar = importlib.import_module("tqdm.auto").tqdm(total=total, unit=unit)
    return bar
