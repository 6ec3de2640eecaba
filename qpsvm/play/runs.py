"""A solver's way to the optimum: certified values after 1, 2, 3, … iterations, each of a run of its own.

A run that is ended after k iterations gives the point that the solver had there. Its values are those of the
certificate, not the solver's own, and nothing is polished.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.play.catalogue import solvers
from qpsvm.play.finite import number, numbers
from qpsvm.problems import Problem
from qpsvm.qp.solution import Status
from qpsvm.resources.clock import Clock
from qpsvm.result import SVMResult
from qpsvm.solve import solve

#: Points of a run, and the iterations of the last one.
POINTS, LAST = 40, 3000
#: Seconds for all runs together; and for the optimum beside them.
SECONDS, SOLVING = 4.0, 2.0
#: The relative gap at which a run has arrived.
ARRIVED = 1e-8


def run(problem: Problem, name: str) -> dict[str, Any]:
    """The certified values of a solver at increasing counts of iterations.

    Raises
    ------
    QPSVMError
        The solver does not take this problem, or the problem has no solution.
    """
    best = solve(problem, check=False, time_limit=SOLVING)
    if best.error is not None:
        raise best.error
    clock, points, note = Clock(SECONDS), [], ""
    limited = backends.get(name).abilities.grants("time_limit")
    for k in _counts():
        result = _after(problem, name, k, clock if limited else None)
        points.append(_point(k, result))
        if result.gap <= ARRIVED or result.status is Status.OPTIMAL and result.gap <= ARRIVED:
            break
        if result.iterations is not None and result.iterations < k:
            note = f"It ended by itself after {result.iterations} iterations."
            break
        if clock.stopped():
            note = f"Ended here: its runs took {SECONDS:g} seconds."
            break
    choice = solvers()[name]
    return {
        "solver": name, "title": choice.title, "about": choice.about, "points": points, "note": note,
        "optimum": {"primal": number(best.primal), "dual": number(best.dual), "gap": number(best.gap)},
    }  # fmt: skip


def _counts() -> list[int]:
    """1, 2, 3, …, then ever further apart, up to `LAST`: about `POINTS` of them."""
    spread = np.unique(np.round(np.geomspace(1, LAST, POINTS + 8)).astype(int))
    return [int(k) for k in spread]


def _after(problem: Problem, name: str, iterations: int, clock: Clock | None) -> SVMResult:
    """What a fresh run has after so many iterations."""
    limit = None if clock is None else max(clock.left, 0.0)
    return solve(problem, name, check=False, polish=False, max_iter=iterations, tol=ARRIVED, time_limit=limit)


def _point(k: int, result: SVMResult) -> dict[str, Any]:
    return {
        "iteration": k, "primal": number(result.primal), "dual": number(result.dual), "gap": number(result.gap),
        "status": str(result.status), "alpha": numbers(result.alpha),
    }  # fmt: skip
