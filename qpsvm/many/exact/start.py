"""Find the active set of an optimum that a solver found."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.errors import DataError
from qpsvm.base.resources.clock import Clock
from qpsvm.machines import Problem
from qpsvm.machines.problem.result_checks import check_point, check_result
from qpsvm.many.exact.active_set import ActiveSet, Stopped, Stuck
from qpsvm.many.exact.rows import SignedRows
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: The gap of a solve that active sets begin from.
FIRST = 1e-10
#: Seconds that a solve is given where the time is over: it ends with what it has.
LEAST_TIME = 1e-3


def exact_start(
    problem: Problem, rows: SignedRows, result: SVMResult | None, clock: Clock
) -> tuple[SVMResult, ActiveSet | None]:
    """The result of a problem, and the active set of its optimum; None where rounding keeps it from settling.

    Any point will do, unless rows may not be violated. Raises NotSeparableError, ParameterTypeError, DataError.
    """
    if result is not None:
        result = _adopt_result(problem, result)
    if result is None or not result.gap <= FIRST:
        left = None if clock.limit is None else max(clock.remaining, LEAST_TIME)
        begin = None if result is None else result.alpha
        found = solve(problem, tol=FIRST, check=False, time_limit=left, start=begin)
        result = found if result is None or found.gap < result.gap else result
        if result.error is not None and problem.svm.hard_rows is not None:
            raise result.error
    try:
        data = rows.data(problem.svm)
        engine = ActiveSet(rows, data, rows.v(problem._restrict_to_dual(result.alpha)), clock=clock).settle(data)
    except (Stuck, Stopped, np.linalg.LinAlgError):
        return result, None
    settled = problem.at(problem._expand_from_dual(rows.alpha(engine.v, problem.svm.upper)))
    return (settled if settled.gap <= max(result.gap, FIRST) else result), engine


def _adopt_result(problem: Problem, result: SVMResult) -> SVMResult:
    """Return a result as one of this problem, certified for it. Raises ParameterTypeError, DataError."""
    check_result(problem.samples, result)
    if result.problem is problem:
        return result
    check_point(problem, result)
    owner = result.problem() if callable(result.problem) else result.problem
    if owner is not None and not _is_same_data(problem.samples, owner.samples):
        raise DataError("the result is of other samples than the problem: give that of solve(problem), or none")
    found: SVMResult = problem.at(result.alpha)
    return found


def _is_same_data(one: Any, other: Any) -> bool:
    """Return whether samples are equal, in the same order."""
    if one is other:
        return True
    if one.is_sparse != other.is_sparse or one.X.shape != other.X.shape:
        return False
    equal = (one.X != other.X).nnz == 0 if sp.issparse(one.X) else np.array_equal(one.X, other.X)
    return bool(equal and np.array_equal(one.target, other.target) and np.array_equal(one.weight, other.weight))
