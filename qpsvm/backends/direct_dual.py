"""Solve the dual of a machine by a backend that takes it without a QP (`solve_dual_directly`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.foreign_errors import NOT_FINITE, NUMERICAL_ERRORS, describe_breakdown, translate_errors
from qpsvm.backends.limits import Limits
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual


def solve_dual_directly(backend: Any, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
    """Solve a machine's dual by a backend that accepts it, and drop the point if it is not finite."""
    start_time = time.perf_counter()

    def run() -> DualSolution:
        try:
            return backend.solve_dual(svm, limits, options)  # type: ignore[no-any-return]
        except NUMERICAL_ERRORS as error:
            return DualSolution(Status.NUMERICAL_ERROR, backend.describe_solver(describe_breakdown(error, options)))

    solution = translate_errors(backend.name, svm.m, options, run)
    vectors = [vector for vector in (solution.alpha, solution.w) if vector is not None]
    if not all(np.isfinite(vector).all() for vector in vectors):
        solution.alpha = solution.w = None
        if solution.reported in (Status.OPTIMAL, Status.INACCURATE):
            solution.solver = solution.solver._replace(status=NOT_FINITE)
            solution.reported = Status.NUMERICAL_ERROR
    solution.solve_time = time.perf_counter() - start_time
    return solution
