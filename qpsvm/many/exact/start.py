"""The active set of an optimum that a solver found, and the certified result of what it settles at."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.resources.progress import Clock
from qpsvm.machines.problem.reading import check_result
from qpsvm.many.exact.active_set import ActiveSet, Stuck
from qpsvm.many.exact.rows import SignedRows
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: The gap of a solve that active sets begin from.
FIRST = 1e-10
#: Seconds that a solve is given where the time is over: it ends with what it has.
LEAST_TIME = 1e-3


def exact_start(
    problem: Any, rows: SignedRows, result: SVMResult | None, clock: Clock
) -> tuple[SVMResult, ActiveSet | None]:
    """The result of a problem, and the active set of its optimum; None where rounding keeps it from settling.

    Any point will do, unless rows may not be violated. Raises NotSeparableError, ParameterTypeError, DataError.
    """
    if result is not None:
        check_result(problem.samples, result)
    if result is None or not result.gap <= FIRST:
        left = None if clock.limit is None else max(clock.left, LEAST_TIME)
        begin = None if result is None else result.alpha
        found = solve(problem, tol=FIRST, check=False, time_limit=left, start=begin)
        result = found if result is None or found.gap < result.gap else result
        if result.error is not None and problem.svm.hard is not None:
            raise result.error
    try:
        data = rows.data(problem.svm)
        engine = ActiveSet(rows, data, rows.v(problem._gather(result.alpha)), clock=clock).settle(data)
    except (Stuck, np.linalg.LinAlgError):
        return result, None
    settled = problem.at(problem._spread(rows.alpha(engine.v, problem.svm.upper)))
    return (settled if settled.gap <= max(result.gap, FIRST) else result), engine
