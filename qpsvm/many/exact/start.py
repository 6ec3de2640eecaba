"""Find the active set from which exact methods start, from the solution of a solver (`find_start`)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.resources.clock import Clock
from qpsvm.machines import Problem
from qpsvm.machines.problem.result_checks import check_point, check_result, check_samples
from qpsvm.many.exact.active_set import ActiveSet, PathBreakdown, Stopped
from qpsvm.many.exact.rows import SignedRows
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Target gap of the solve whose result determines the initial active set.
START_TOL = 1e-10
#: Time limit of a solve in seconds if none remain: the solver returns its first point.
MIN_SECONDS = 1e-3


def find_start(
    problem: Problem, rows: SignedRows, result: SVMResult | None, clock: Clock
) -> tuple[SVMResult, ActiveSet | None]:
    """Return the result of a problem, and the active set of its optimum, or None if rounding prevents it.

    A result that did not converge suffices, except with hard rows.

    Raises NotSeparableError, ParameterTypeError, DataError.
    """
    if result is not None:
        result = _adopt_result(problem, result)
    if result is None or not result.gap <= START_TOL:
        seconds = None if clock.limit is None else max(clock.remaining, MIN_SECONDS)
        start = None if result is None else result.alpha
        new_result = solve(problem, tol=START_TOL, check=False, time_limit=seconds, start=start)
        result = new_result if result is None or new_result.gap < result.gap else result
        if result.error is not None and problem.svm.hard_rows is not None:
            raise result.error
    try:
        data = rows.build_data(problem.svm)
        active_set = ActiveSet(
            rows, data, rows.compute_v(problem._restrict_to_dual(result.alpha)), clock=clock
        ).move_to(data)
    except (PathBreakdown, Stopped, np.linalg.LinAlgError):
        return result, None
    exact_result = problem.at(problem._expand_from_dual(rows.compute_alpha(active_set.v, problem.svm.upper)))
    return (exact_result if exact_result.gap <= max(result.gap, START_TOL) else result), active_set


def _adopt_result(problem: Problem, result: SVMResult) -> SVMResult:
    """Return a result certified for this problem. Raises ParameterTypeError, DataError."""
    check_result(problem.samples, result)
    if result.problem is problem:
        return result
    check_point(problem, result)
    check_samples(problem, result)
    adopted: SVMResult = problem.at(result.alpha)
    return adopted
