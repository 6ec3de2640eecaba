"""Solve the points of one kernel in order, each started from the previous ones (`walk`, `run_tasks`).

Between two values of C at which the same samples are free, α is linear in C: where that held for the last two points,
the next one follows exactly. Where samples change sides, most of the changes still follow.

    (WALK.1)  α(C) = α₂ + (C − C₂)/(C₂ − C₁) (α₂ − α₁),  brought into its box
    (WALK.2)  after the first point, C/C₁ α₁:  where C is small, α is nearly proportional to it

Where another parameter of the machine changes, C starts again, from what was found for the same C before.

Tasks of many points each: one after the other, or several at a time in processes of their own, with a bar.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

import numpy as np

from qpsvm import backends
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, ParameterError
from qpsvm.base.resources.messages import log_done, log_message
from qpsvm.machines import Problem
from qpsvm.many.grid.parameters import FALLING, RISING, replace_own
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

T = TypeVar("T")
#: Relative difference of two C from which on a third is extrapolated.
LEAST_STEP = 1e-9


def run_tasks(
    task: Callable[..., Iterable[T]],
    arguments: Sequence[tuple[Any, ...]],
    sizes: Sequence[int],
    n_jobs: int | None,
    verbose: bool,
    unit: str = "point",
) -> Iterator[list[T]]:
    """Yield the output of each task as a list, in order. Raises ParameterError."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise ParameterError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    with closing(bar_of(sum(sizes), verbose, unit)) as bar:
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
        for found, size in zip(run(delayed(_collect_results)(task, given) for given in arguments), sizes, strict=True):
            bar.update(size)
            yield found


def _collect_results(task: Callable[..., Iterable[T]], given: tuple[Any, ...]) -> list[T]:
    return list(task(*given))


class Lines:
    """A message at every tenth of the way, for its listeners; and each step to the logger of progress."""

    def __init__(self, total: int, verbose: bool, unit: str) -> None:
        self.total, self.verbose, self.unit, self.done, self.said = total, verbose, unit, 0, 0
        log_done(0, total, unit)

    def update(self, n: int) -> None:
        """Count, and say so where another tenth is done."""
        self.done += n
        log_done(self.done, self.total, self.unit)
        if 10 * self.done // self.total > self.said:
            self.said = 10 * self.done // self.total
            log_message(f"{self.done} of {self.total} {self.unit}s", self.verbose)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def bar_of(total: int, verbose: bool, unit: str) -> Any:
    """A progress bar, or where tqdm is not installed, or nothing is displayed, lines."""
    if not verbose or importlib.util.find_spec("tqdm") is None:
        return Lines(total, verbose, unit)
    return importlib.import_module("tqdm.auto").tqdm(total=total, unit=unit)


def walk(
    problem: Problem, points: Sequence[Mapping[str, Any]], options: Mapping[str, Any], refuse: bool = True
) -> Iterator[SVMResult | InfeasibleNuError]:
    """Solve the points in this order. Raises KeyboardInterrupt."""
    name = options.get("backend", "auto")
    begins = (
        name == "auto" or backends.get(name).abilities.supports_warm_start
    )  # a named one that cannot refuses a start
    past: list[tuple[float | None, SVMResult]] = []
    beside: Mapping[str, Any] | None = None
    before: dict[float, SVMResult] = {}
    for point in points:
        try:
            step = replace_own(problem, point)
        except InfeasibleNuError as error:
            if refuse:
                raise
            yield error
            continue
        penalty = penalty_of(point)
        others = {name: value for name, value in point.items() if name not in (*RISING, *FALLING)}
        if penalty is not None and others != beside:
            past = [(None, before[penalty])] if penalty in before else []
            beside = others
        start = {} if "start" in options or not past or not begins else {"start": _start(penalty, past)}
        result = solve(step, **{**start, **options})
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # it was meant for all points, not for one of them
        if result.gap < np.inf:
            past = [*past[-1:], (penalty, result)]
            if penalty is not None:
                before[penalty] = result
        yield result


def penalty_of(point: Mapping[str, Any]) -> float | None:
    """Return the factor of every upper bound along the path: C, or 1/λ; None if there is neither."""
    for name, value in point.items():
        if name in RISING:
            return float(value)
        if name in FALLING:
            return 1.0 / float(value)
    return None


def _start(penalty: float | None, past: Sequence[tuple[float | None, SVMResult]]) -> SVMResult | FloatArray:
    """Return the start: the extrapolation of the last two results, or the last one."""
    (before, first), (last, second) = past[0], past[-1]
    if penalty is None or last is None:
        return second
    if len(past) == 1 or before is None or abs(last - before) <= LEAST_STEP * last:
        return penalty / last * second.alpha  # (WALK.2)
    return second.alpha + (penalty - last) / (last - before) * (second.alpha - first.alpha)  # (WALK.1)
