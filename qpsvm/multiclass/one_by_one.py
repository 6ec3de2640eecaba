"""The road that every machine can take: one `qpsvm.solve` each, with one Gram matrix for all, in processes if asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray
from qpsvm.grid.progress import run_tasks
from qpsvm.multiclass.split import Split
from qpsvm.multiclass.together import Results, Together
from qpsvm.problems import Problem
from qpsvm.qp.solution import Status
from qpsvm.resources.clock import Clock
from qpsvm.result import SVMResult
from qpsvm.solve import solve

#: Seconds for a machine whose turn comes when none are left: `solve` takes no limit of 0, and ends at once.
NO_TIME = 1e-9


def solve_each(
    split: Split, starts: Sequence[FloatArray | None], n_jobs: int | None, options: Mapping[str, Any]
) -> Together:
    """Solve the machines one by one.

    Parameters
    ----------
    split : Split
    starts : sequence of ndarray, shape (n,), or None
        Of each machine, coefficients over the caller's rows to begin with.
    n_jobs : int, optional
        Processes, by joblib.
    options : mapping
        For `qpsvm.solve`; its `time_limit` is for all of them.

    Returns
    -------
    Together
        All of whose results are made.
    """
    clock = Clock(options.get("time_limit"))
    problems = [split.problem(p) for p in range(len(split.pairs))]
    alphas = [_start(split, p, starts[p]) for p in range(len(problems))]
    if n_jobs in (None, 1):
        many = len(problems)
        found = [
            result_of(problem, alpha, limited(options, clock, many - done))
            for done, (problem, alpha) in enumerate(zip(problems, alphas, strict=True))
        ]
    else:
        options = limited(options, clock, len(problems), processes(n_jobs) if clock.limit is not None else 1)
        tasks = [(problem, alpha, options) for problem, alpha in zip(problems, alphas, strict=True)]
        found = [result for (result,) in run_tasks(_solved, tasks, [1] * len(tasks), n_jobs, False)]
    return gathered(split, found)


def processes(n_jobs: int) -> int:
    """How many there are of so many asked for: joblib's −1 is one for each core."""
    from joblib import effective_n_jobs

    found: int = effective_n_jobs(n_jobs)
    return found


def limited(options: Mapping[str, Any], clock: Clock, machines: int, processes: int = 1) -> Mapping[str, Any]:
    """The options of each of the machines that are left: a limit of time is its share of what is left of it.

    Where nothing is left they are only certified: to polish each for the tenth of a second that `solve` allows would add
    up.
    """
    if clock.limit is None:
        return options
    left = clock.left
    spent = {} if left > 0.0 else {"polish": False}
    return {**options, **spent, "time_limit": max(left * min(processes / machines, 1.0), NO_TIME)}


def _solved(problem: Problem, start: FloatArray | None, options: Mapping[str, Any]) -> list[SVMResult]:
    return [result_of(problem, start, options)]


def result_of(problem: Problem, start: FloatArray | None, options: Mapping[str, Any]) -> SVMResult:
    """The result of one machine, from a start (m,) over its rows or none; what is short of the tolerance says so.

    Raises
    ------
    QPSVMError
        What `solve` raises, or has in its result.
    KeyboardInterrupt
        Ctrl-C ended it: the machines that were to follow have no result.
    """
    result = solve(problem, start=start, **{**options, "check": False})
    if result.error is not None:
        raise result.error
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _start(split: Split, p: int, coef: FloatArray | None) -> FloatArray | None:
    """α over the rows of a machine."""
    if coef is None:
        return None
    places, signs = split.places(p)
    return np.maximum(coef[split.order[places]] * signs, 0.0)


def gathered(split: Split, results: Sequence[SVMResult]) -> Together:
    """Results of machines side by side."""
    P = len(results)
    values, columns, lengths = [], [], [0]
    for p, result in enumerate(results):
        places, _ = split.places(p)
        kept = np.flatnonzero(result.coef)
        rows = split.order[places[kept]]
        increasing = np.argsort(rows)
        values.append(result.coef[kept][increasing])
        columns.append(rows[increasing])
        lengths.append(len(kept))
    coef = sp.csr_array((np.concatenate(values), np.concatenate(columns), np.cumsum(lengths)), shape=(P, split.n))
    messages = {result.message: p for p, result in reversed(list(enumerate(results))) if result.message}
    w = None if results[0].model.w is None else np.array([result.w for result in results])
    return Together(
        classes=split.labels, machines=split.pairs, coef=coef, b=np.array([result.b for result in results]),
        rho=np.array([result.rho for result in results]), w=w,
        gap=np.array([result.gap for result in results]), status=[result.status for result in results],
        iterations=np.array([result.iterations or 0 for result in results]), solver=results[0].solver,
        message="; ".join(f"{split.named(p)}: {text}" for text, p in messages.items()),
        results=Results(P, None, dict(enumerate(results))),
    )  # fmt: skip
