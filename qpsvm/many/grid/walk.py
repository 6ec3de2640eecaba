"""Solve the points of one kernel in order, each started from the previous ones (`solve_points`, `run_tasks`).

α is linear in C as long as the same samples are free. If that holds for the last two points, extrapolation gives the
next one exactly; if samples change sides, it is still a good start.

    (WALK.1)  α(C) = α₂ + (C − C₂)/(C₂ − C₁) (α₂ − α₁),  clipped to its box
    (WALK.2)  after the first point, C/C₁ α₁:  for small C, α is nearly proportional to it

If another parameter of the machine changes, the first C starts from the previous result for the same C.

`run_tasks` runs tasks of many points each in sequence or in parallel processes, with a progress bar.
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
from qpsvm.many.grid.parameters import FALLING_PENALTIES, RISING_PENALTIES, replace_hyperparameters
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

T = TypeVar("T")
#: Minimal relative difference of two C from which a third is extrapolated.
MIN_STEP = 1e-9


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
    with closing(build_progress_bar(sum(sizes), verbose, unit)) as bar:
        if n_jobs in (None, 1) or len(arguments) == 1:
            for task_arguments in arguments:
                outputs = []
                for output in task(*task_arguments):
                    outputs.append(output)
                    bar.update(1)
                yield outputs
            return
        from joblib import Parallel, delayed

        run = Parallel(n_jobs=n_jobs, return_as="generator")
        for outputs, size in zip(
            run(delayed(_collect_results)(task, task_arguments) for task_arguments in arguments), sizes, strict=True
        ):
            bar.update(size)
            yield outputs


def _collect_results(task: Callable[..., Iterable[T]], task_arguments: tuple[Any, ...]) -> list[T]:
    return list(task(*task_arguments))


class ProgressLines:
    """Progress as messages, one for every tenth of the work; each step is also logged."""

    def __init__(self, total: int, verbose: bool, unit: str) -> None:
        self.total = total
        self.verbose = verbose
        self.unit = unit
        self.done = 0
        self.tenths_shown = 0
        log_done(0, total, unit)

    def update(self, n: int) -> None:
        """Count n steps, and print a message if another tenth is done."""
        self.done += n
        log_done(self.done, self.total, self.unit)
        if 10 * self.done // self.total > self.tenths_shown:
            self.tenths_shown = 10 * self.done // self.total
            log_message(f"{self.done} of {self.total} {self.unit}s", self.verbose)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def build_progress_bar(total: int, verbose: bool, unit: str) -> Any:
    """Build a progress bar; without tqdm, or if nothing is to be displayed, progress by messages."""
    if not verbose or importlib.util.find_spec("tqdm") is None:
        return ProgressLines(total, verbose, unit)
    return importlib.import_module("tqdm.auto").tqdm(total=total, unit=unit)


def solve_points(
    problem: Problem, points: Sequence[Mapping[str, Any]], options: Mapping[str, Any], raise_infeasible: bool = True
) -> Iterator[SVMResult | InfeasibleNuError]:
    """Solve the points in this order.

    An infeasible ν raises InfeasibleNuError if `raise_infeasible`, else the error is yielded. Raises KeyboardInterrupt.
    """
    name = options.get("backend", "auto")
    # a named backend without warm starts would refuse a start
    can_start = name == "auto" or backends.get(name).abilities.supports_warm_start
    past: list[tuple[float | None, SVMResult]] = []
    last_others: Mapping[str, Any] | None = None
    results_by_penalty: dict[float, SVMResult] = {}
    for point in points:
        try:
            step = replace_hyperparameters(problem, point)
        except InfeasibleNuError as error:
            if raise_infeasible:
                raise
            yield error
            continue
        penalty = get_penalty(point)
        other_values = {
            name: value for name, value in point.items() if name not in (*RISING_PENALTIES, *FALLING_PENALTIES)
        }
        if penalty is not None and other_values != last_others:
            if penalty in results_by_penalty:
                past = [(None, results_by_penalty[penalty])]
            else:
                past = []
            last_others = other_values
        if "start" in options or not past or not can_start:
            start = {}
        else:
            start = {"start": _choose_start(penalty, past)}
        result = solve(step, **{**start, **options})
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # Ctrl-C ends all points, not just this one
        if result.gap < np.inf:
            past = [*past[-1:], (penalty, result)]
            if penalty is not None:
                results_by_penalty[penalty] = result
        yield result


def get_penalty(point: Mapping[str, Any]) -> float | None:
    """Return the factor of every upper bound along the path: C, or 1/λ; None if there is neither."""
    for name, value in point.items():
        if name in RISING_PENALTIES:
            return float(value)
        if name in FALLING_PENALTIES:
            return 1.0 / float(value)
    return None


def _choose_start(penalty: float | None, past: Sequence[tuple[float | None, SVMResult]]) -> SVMResult | FloatArray:
    """Return the start: the extrapolation of the last two results, or the last one."""
    previous, first = past[0]
    last, second = past[-1]
    if penalty is None or last is None:
        return second
    if len(past) == 1 or previous is None or abs(last - previous) <= MIN_STEP * last:
        return penalty / last * second.alpha  # (WALK.2)
    return second.alpha + (penalty - last) / (last - previous) * (second.alpha - first.alpha)  # (WALK.1)
