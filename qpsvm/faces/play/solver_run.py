"""Run one solver for the page, and return its certified values after 1, 2, 3, … iterations (`run_solver`).

Each value comes from a separate run, which is limited to k iterations and returns the point of the solver without
polishing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.base.resources.clock import Clock
from qpsvm.faces.play.backend_catalogue import list_solvers
from qpsvm.faces.play.checks import to_json_list, to_json_number
from qpsvm.faces.play.explanations import format_gap
from qpsvm.machines import Problem
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: About how many points a run has.
RUN_POINTS = 40
#: Iteration limit of the last point.
MAX_RUN_ITERATIONS = 1000
#: Seconds for the runs of all points together, and for the optimum that is shown beside them.
RUN_SECONDS, OPTIMUM_SECONDS = 2.5, 2.0
#: The shortest time limit of a run, in seconds: what it has after one step.
MIN_RUN_SECONDS = 0.01
#: The relative gap at which a run has converged.
CONVERGED_GAP = 1e-8


def run_solver(problem: Problem, name: str) -> dict[str, Any]:
    """Return the certified values of a solver at increasing numbers of iterations. Raises QPSVMError."""
    optimum = solve(problem, check=False, time_limit=OPTIMUM_SECONDS)
    if optimum.error is not None:
        raise optimum.error
    points, note = _collect_points(problem, name)
    choice = list_solvers()[name]
    return {
        "solver": name,
        "title": choice["title"],
        "about": choice["about"],
        "points": points,
        "note": note,
        "optimum": _list_values(optimum),
    }


def _collect_points(problem: Problem, name: str) -> tuple[list[dict[str, Any]], str]:
    """Run the solver with increasing iteration limits; return the points, and why there are no more, or ""."""
    points: list[dict[str, Any]] = []
    clock = Clock(RUN_SECONDS)
    has_time_limit = backends.get(name).abilities.supports("time_limit")
    for k in _list_iteration_limits():
        limit = max(clock.remaining, MIN_RUN_SECONDS) if has_time_limit else None
        result = solve(problem, name, check=False, polish=False, max_iter=k, tol=CONVERGED_GAP, time_limit=limit)
        if points and (clock.find_stop_reason() or result.status is Status.TIME_LIMIT):
            return points, f"Ended here: {RUN_SECONDS:g} seconds are over."
        iteration = k if result.iterations is None else min(k, result.iterations)
        if not points or points[-1]["iteration"] < iteration:
            state = {"status": str(result.status), "alpha": to_json_list(result.alpha)}
            points.append({"iteration": iteration, **_list_values(result), **state})
        if result.gap <= CONVERGED_GAP:
            return points, ""
        if iteration < k:
            return points, f"Its own test ends it after {iteration} iterations, at a gap of {format_gap(result.gap)}."
    return points, f"Ended here, after {MAX_RUN_ITERATIONS} iterations."


def _list_iteration_limits() -> list[int]:
    """List about `RUN_POINTS` iteration limits: 1, 2, 3, …, then further apart, up to `MAX_RUN_ITERATIONS`."""
    limits = np.geomspace(1, MAX_RUN_ITERATIONS, RUN_POINTS + 8)  # + 8, because the first ones are equal when rounded
    return [int(limit) for limit in np.unique(np.round(limits))]


def _list_values(result: SVMResult) -> dict[str, float | None]:
    """List the objective values and the gap of a result, by name."""
    return {name: to_json_number(getattr(result, name)) for name in ("primal", "dual", "gap")}
