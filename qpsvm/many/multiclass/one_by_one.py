"""Solve every machine by `qpsvm.solve`, with one Gram matrix for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray
from qpsvm.machines import Problem
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.many.grid.walk import run_tasks
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.status import Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: What a machine gets when the time of all is over: enough for a first point, which is certified.
MIN_SECONDS = 1e-3

#: The relative gap of `qpsvm.solve` where none is asked for.
DEFAULT_TOLERANCE = 1e-6
#: α up to this share of the largest are rounding.
ROUNDING_SHARE = float(np.finfo(np.float64).eps)


def solve_each(
    split: Split, starts: Sequence[FloatArray | None], n_jobs: int | None, options: Mapping[str, Any]
) -> BinaryMachines:
    """Solve the machines one by one. Shapes: starts (n,) or None."""
    problems = [split.build_problem(p) for p in range(len(split.pairs))]
    P = len(problems)
    verbose = P > 1 and bool(options.get("verbose"))  # then a bar says how far it is, in place of every solve
    options = {**options, "verbose": bool(options.get("verbose")) and not verbose}
    limit = options.get("time_limit")
    deadline = None if limit is None or P == 1 else monotonic() + limit
    workers = _count_workers(n_jobs)
    tasks = [
        (problem, _build_start(split, p, starts[p]), options, deadline, -(-(P - p) // workers))
        for p, problem in enumerate(problems)
    ]
    found = [result for (result,) in run_tasks(_solve_in_time, tasks, [1] * P, n_jobs, verbose, "machine")]
    return combine_results(split, found)


def _solve_in_time(
    problem: Problem, start: FloatArray | None, options: Mapping[str, Any], deadline: float | None, n_remaining: int
) -> list[SVMResult]:
    """Solve one machine, in its part of the time that is left for this one and later ones."""
    return [solve_machine(problem, start, limit_time(options, deadline, n_remaining))]


def limit_time(options: Mapping[str, Any], deadline: float | None, n_remaining: int) -> Mapping[str, Any]:
    """Return the options of a machine with its share of the time that is left for all remaining ones.

    Where no time is left they are only certified: the tenth of a second that `solve` polishes for would add up.
    """
    if deadline is None:
        return options
    seconds = deadline - monotonic()
    over = {"polish": False} if seconds <= 0.0 else {}
    return {**options, **over, "time_limit": max(seconds / n_remaining, MIN_SECONDS)}


def solve_machine(problem: Problem, start: FloatArray | None, options: Mapping[str, Any]) -> SVMResult:
    """The result of one machine, from a start (m,) over its rows or none; what is short of the tolerance says so.

    Raises QPSVMError, KeyboardInterrupt.
    """
    result = solve(problem, start=start, **{**options, "check": False})
    if result.error is not None:
        raise result.error
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return remove_rounding_alpha(problem, result, float(options.get("tol", DEFAULT_TOLERANCE)))


Result = TypeVar("Result", SVMResult, AllInOneResult)


def remove_rounding_alpha(problem: BaseProblem[Result], result: Result, tol: float) -> Result:
    """The result without the α that are rounding beside the largest, so that their samples are no support vectors.

    Where C is large even these count: what is left is certified by itself, and the result stays where that is worse.
    """
    noise = (result.alpha > 0.0) & (result.alpha <= ROUNDING_SHARE * result.alpha.max(initial=0.0))
    if not noise.any() or getattr(result, "constraints", None) is not None:
        return result
    other = problem.at(np.where(noise, 0.0, result.alpha), tol)
    if not other.gap <= (tol if result.gap <= tol else result.gap):
        return result
    recorded = (
        "status",
        "message",
        "backend",
        "form",
        "iterations",
        "build_time",
        "solve_time",
        "solver",
        "solver_gap",
    )
    same: Result = replace(other, **{name: getattr(result, name) for name in recorded})
    return same


def _count_workers(n_jobs: int | None) -> int:
    if n_jobs in (None, 1):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _build_start(split: Split, p: int, coef: FloatArray | None) -> FloatArray | None:
    """α over the rows of a machine."""
    if coef is None:
        return None
    places, signs = split.locate_rows(p)
    return np.maximum(coef[split.order[places]] * signs, 0.0)


def combine_results(split: Split, results: Sequence[SVMResult]) -> BinaryMachines:
    """Combine the results of single machines."""
    P = len(results)
    values, columns, lengths = [], [], [0]
    for p, result in enumerate(results):
        places, _ = split.locate_rows(p)
        kept = np.flatnonzero(result.coef)
        rows = split.order[places[kept]]
        increasing = np.argsort(rows)
        values.append(result.coef[kept][increasing])
        columns.append(rows[increasing])
        lengths.append(len(kept))
    coef = sp.csr_array((np.concatenate(values), np.concatenate(columns), np.cumsum(lengths)), shape=(P, split.n))
    messages = {result.message: p for p, result in reversed(list(enumerate(results))) if result.message}
    known = dict(enumerate(results))
    if P > 1:  # each machine would keep samples of its own
        known = {p: replace(result, problem=partial(split.build_separate_problem, p)) for p, result in known.items()}
    w = None if results[0].model.w is None else np.array([result.w for result in results])
    return BinaryMachines(
        classes=split.labels, machines=split.pairs, coef=coef, b=np.array([result.b for result in results]),
        rho=np.array([result.rho for result in results]), w=w,
        gap=np.array([result.gap for result in results]), status=[result.status for result in results],
        iterations=np.array([result.iterations or 0 for result in results]), solver=results[0].solver,
        message="; ".join(f"{split.describe_machine(p)}: {text}" for text, p in messages.items()),
        results=LazyResults(P, None, known), caveats=tuple(each for result in results for each in result.caveats),
    )  # fmt: skip
