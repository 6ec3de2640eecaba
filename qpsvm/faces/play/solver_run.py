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
from qpsvm.solve.call import solve

#: Points of a run, and the iterations of the last one.
RUN_POINTS, MAX_RUN_ITERATIONS = 40, 1000
#: Seconds for all runs together; and for the optimum beside them.
RUN_SECONDS, OPTIMUM_SECONDS = 2.5, 2.0
#: The shortest time limit of a run, in seconds: what it has after one step.
MIN_RUN_SECONDS = 0.01
#: The relative gap at which a run has arrived.
CONVERGED_GAP = 1e-8


def run_solver(problem: Problem, name: str) -> dict[str, Any]:
    """Return the certified values of a solver at increasing numbers of iterations. Raises QPSVMError."""
    best = solve(problem, check=False, time_limit=OPTIMUM_SECONDS)
    if best.error is not None:
        raise best.error
    points: list[dict[str, Any]] = []
    clock = Clock(RUN_SECONDS)
    note = f"Ended here, after {MAX_RUN_ITERATIONS} iterations."
    limited = backends.get(name).abilities.supports("time_limit")
    # 1, 2, 3, …, then further apart, up to `MAX_RUN_ITERATIONS`: about `RUN_POINTS`, since the first ones are rounded
    for k in map(int, np.unique(np.round(np.geomspace(1, MAX_RUN_ITERATIONS, RUN_POINTS + 8)))):
        limit = max(clock.remaining, MIN_RUN_SECONDS) if limited else None
        result = solve(problem, name, check=False, polish=False, max_iter=k, tol=CONVERGED_GAP, time_limit=limit)
        if points and (clock.find_stop_reason() or result.status is Status.TIME_LIMIT):
            note = f"Ended here: {RUN_SECONDS:g} seconds are over."
            break
        by_itself = result.iterations is not None and result.iterations < k
        iteration = k if result.iterations is None else min(k, result.iterations)
        if not points or points[-1]["iteration"] < iteration:
            values = {each: to_json_number(getattr(result, each)) for each in ("primal", "dual", "gap")}
            alpha = to_json_list(result.alpha)
            points.append({"iteration": iteration, **values, "status": str(result.status), "alpha": alpha})
        if result.gap <= CONVERGED_GAP:
            note = ""
            break
        if by_itself:
            note = f"Its own test ends it after {result.iterations} iterations, at a gap of {format_gap(result.gap)}."
            break
    choice = list_solvers()[name]
    return {
        "solver": name,
        "title": choice["title"],
        "about": choice["about"],
        "points": points,
        "note": note,
        "optimum": {
            "primal": to_json_number(best.primal),
            "dual": to_json_number(best.dual),
            "gap": to_json_number(best.gap),
        },
    }
