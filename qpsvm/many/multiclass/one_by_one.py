"""Solve every machine by `qpsvm.solve`, with one Gram matrix for all (`solve_each`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.limits import DEFAULT_TOLERANCE
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.machines import Problem
from qpsvm.many.grid.walk import run_tasks
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Time limit of a machine after the time limit of all: enough for a first point, which is certified.
MIN_SECONDS = 1e-3
#: α up to this share of the largest are rounding and set to 0, so that their samples are no support vectors.
ROUNDING_SHARE = EPS


def solve_each(
    split: Split, starts: Sequence[FloatArray | None], n_jobs: int | None, options: Mapping[str, Any]
) -> BinaryMachines:
    """Solve the machines one by one.

    starts: For each machine coefficients (n,) to start from, or None.
    """
    problems = [split.build_problem(p) for p in range(len(split.pairs))]
    n_machines = len(problems)
    is_verbose = bool(options.get("verbose"))
    has_progress_bar = n_machines > 1 and is_verbose  # instead of the log of every solve
    options = {**options, "verbose": is_verbose and not has_progress_bar}
    limit = options.get("time_limit")
    deadline = None if limit is None or n_machines == 1 else monotonic() + limit
    n_workers = _count_workers(n_jobs)
    tasks = [
        (problem, _build_start(split, p, starts[p]), options, deadline, -(-(n_machines - p) // n_workers))
        for p, problem in enumerate(problems)
    ]
    solved = run_tasks(_solve_in_time, tasks, [1] * n_machines, n_jobs, has_progress_bar, "machine")
    return combine_results(split, [result for (result,) in solved])


def _solve_in_time(
    problem: Problem, start: FloatArray | None, options: Mapping[str, Any], deadline: float | None, n_remaining: int
) -> list[SVMResult]:
    """Solve one machine, in its share of the remaining time."""
    return [solve_machine(problem, start, limit_time(options, deadline, n_remaining))]


def limit_time(options: Mapping[str, Any], deadline: float | None, n_remaining: int) -> Mapping[str, Any]:
    """Return the options of a machine with its share of the time that remains before the deadline.

    After the deadline points are not polished: the tenth of a second that `solve` takes for that would add up.

    n_remaining: How many machines, this one included, have to share the time.
    """
    if deadline is None:
        return options
    seconds = deadline - monotonic()
    late_options = {"polish": False} if seconds <= 0.0 else {}
    return {**options, **late_options, "time_limit": max(seconds / n_remaining, MIN_SECONDS)}


def solve_machine(problem: Problem, start: FloatArray | None, options: Mapping[str, Any]) -> SVMResult:
    """Solve one machine, from α (m,) of its rows or None; the status says whether the tolerance was reached.

    Raises QPSVMError, KeyboardInterrupt.
    """
    result = solve(problem, start=start, **{**options, "check": False})
    if result.error is not None:
        raise result.error
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return remove_rounding_alpha(problem, result, float(options.get("tol", DEFAULT_TOLERANCE)))


#: The fields of a result that tell how it was found, not what it is.
RECORD_OF_SOLVE = (
    "status", "message", "backend", "form", "iterations", "build_time", "solve_time", "solver", "solver_gap",
)  # fmt: skip


def remove_rounding_alpha(problem: Problem, result: SVMResult, tol: float) -> SVMResult:
    """Return the result without those α that are rounding errors, so that their samples are no support vectors.

    If C is large, even these α may matter: the new point is certified, and if its gap is worse, the result is returned
    unchanged.
    """
    is_rounding = (result.alpha > 0.0) & (result.alpha <= ROUNDING_SHARE * result.alpha.max(initial=0.0))
    if not is_rounding.any() or result.constraints is not None:
        return result
    cleaned = problem.at(np.where(is_rounding, 0.0, result.alpha), tol)
    if not cleaned.gap <= (tol if result.gap <= tol else result.gap):
        return result
    return replace(cleaned, **{name: getattr(result, name) for name in RECORD_OF_SOLVE})


def _count_workers(n_jobs: int | None) -> int:
    """Return the number of processes that `n_jobs` means."""
    if n_jobs in (None, 1):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _build_start(split: Split, p: int, coef: FloatArray | None) -> FloatArray | None:
    """Return α (m,) of the rows of a machine, given coefficients α∘y (n,) of the caller's rows."""
    if coef is None:
        return None
    positions, signs = split.locate_rows(p)
    return np.maximum(coef[split.order[positions]] * signs, 0.0)


def combine_results(split: Split, results: Sequence[SVMResult]) -> BinaryMachines:
    """Combine the results of single machines."""
    n_machines = len(results)
    first_with_message = {result.message: p for p, result in reversed(list(enumerate(results))) if result.message}
    solved = dict(enumerate(results))
    if n_machines > 1:  # otherwise each result would hold a copy of its samples
        solved = {p: replace(result, problem=partial(split.build_separate_problem, p)) for p, result in solved.items()}
    if results[0].model.w is None:
        w = None
    else:
        w = np.array([result.w for result in results])
    return BinaryMachines(
        classes=split.labels, machines=split.pairs, coef=_combine_coef(split, results),
        b=np.array([result.b for result in results]),
        rho=np.array([result.rho for result in results]), w=w,
        gap=np.array([result.gap for result in results]), status=[result.status for result in results],
        iterations=np.array([result.iterations or 0 for result in results]), solver=results[0].solver,
        message="; ".join(f"{split.describe_machine(p)}: {text}" for text, p in first_with_message.items()),
        results=LazyResults(n_machines, None, solved),
        caveats=tuple(caveat for result in results for caveat in result.caveats),
    )  # fmt: skip


def _combine_coef(split: Split, results: Sequence[SVMResult]) -> sp.csr_array:
    """Return the coefficients of all machines over the caller's rows, (P, n)."""
    values = []
    columns = []
    lengths = [0]
    for p, result in enumerate(results):
        positions, _ = split.locate_rows(p)
        support = np.flatnonzero(result.coef)
        rows = split.order[positions[support]]
        increasing = np.argsort(rows)
        values.append(result.coef[support][increasing])
        columns.append(rows[increasing])
        lengths.append(len(support))
    return sp.csr_array(
        (np.concatenate(values), np.concatenate(columns), np.cumsum(lengths)), shape=(len(results), split.n)
    )
