"""Numbers as JSON can hold them: null for what is not finite.

A solver's way to the optimum: certified values after 1, 2, 3, … iterations, each of a run of its own.

A run that is ended after k iterations gives the point that the solver had there. Its values are those of the
certificate, not the solver's own, and nothing is polished.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm import backends
from qpsvm.base.resources.progress import Clock
from qpsvm.faces.play.catalogue import solvers
from qpsvm.machines import Problem
from qpsvm.program.solution import Status
from qpsvm.solve.call import solve


def number(value: float | None) -> float | None:
    """A finite number, or None."""
    return None if value is None or not math.isfinite(value) else float(value)


def numbers(values: ArrayLike) -> list[Any]:
    """An array of any shape as nested lists, with None for what is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if np.isfinite(array).all():
        listed: list[Any] = array.tolist()
        return listed
    if array.ndim > 1:
        return [numbers(row) for row in array]
    return [value if math.isfinite(value) else None for value in array.tolist()]


#: Points of a run, and the iterations of the last one.
POINTS, LAST = 40, 1000
#: Seconds for all runs together; and for the optimum beside them.
SECONDS, SOLVING = 2.5, 2.0
#: The shortest time limit of a run, in seconds: what it has after one step.
SHORTEST = 0.01
#: The relative gap at which a run has arrived.
ARRIVED = 1e-8


def run(problem: Problem, name: str) -> dict[str, Any]:
    """The certified values of a solver at increasing counts of iterations. Raises QPSVMError."""
    best = solve(problem, check=False, time_limit=SOLVING)
    if best.error is not None:
        raise best.error
    points: list[dict[str, Any]] = []
    clock, note = Clock(SECONDS), f"Ended here, after {LAST} iterations."
    limited = backends.get(name).abilities.grants("time_limit")
    # 1, 2, 3, …, then ever further apart, up to `LAST`: about `POINTS` of them, since the first ones are rounded
    for k in map(int, np.unique(np.round(np.geomspace(1, LAST, POINTS + 8)))):
        limit = max(clock.left, SHORTEST) if limited else None
        result = solve(problem, name, check=False, polish=False, max_iter=k, tol=ARRIVED, time_limit=limit)
        if points and (clock.stopped() or result.status is Status.TIME_LIMIT):
            note = f"Ended here: {SECONDS:g} seconds are over."
            break
        by_itself = result.iterations is not None and result.iterations < k
        iteration = k if result.iterations is None else min(k, result.iterations)
        if not points or points[-1]["iteration"] < iteration:
            values = {each: number(getattr(result, each)) for each in ("primal", "dual", "gap")}
            alpha = numbers(result.alpha)
            points.append({"iteration": iteration, **values, "status": str(result.status), "alpha": alpha})
        if result.gap <= ARRIVED:
            note = ""
            break
        if by_itself:
            note = f"Its own test ends it after {result.iterations} iterations, at a gap of {result.gap:.1g}."
            break
    choice = solvers()[name]
    return {
        "solver": name, "title": choice.title, "about": choice.about, "points": points, "note": note,
        "optimum": {"primal": number(best.primal), "dual": number(best.dual), "gap": number(best.gap)},
    }  # fmt: skip
