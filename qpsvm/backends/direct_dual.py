"""Solve the dual of a machine by a backend that takes it without a QP (`solve_dual_directly`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual

if TYPE_CHECKING:
    pass

from qpsvm.backends.foreign_errors import NOT_FINITE, NUMERICAL_ERRORS, describe_breakdown, translate_errors
from qpsvm.backends.limits import Limits


def solve_dual_directly(backend: Any, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
    """Solve a machine's dual by a backend that accepts it; drops a point that is not finite."""
    began = time.perf_counter()

    def run() -> DualSolution:
        try:
            return backend.solve_dual(svm, limits, options)  # type: ignore[no-any-return]
        except NUMERICAL_ERRORS as error:
            return DualSolution(Status.NUMERICAL_ERROR, backend.describe_solver(describe_breakdown(error, options)))

    answer = translate_errors(backend.name, svm.m, options, run)
    parts = [part for part in (answer.alpha, answer.w) if part is not None]
    if not all(np.isfinite(part).all() for part in parts):
        answer.alpha = answer.w = None
        if answer.reported in (Status.OPTIMAL, Status.INACCURATE):
            answer.reported, answer.solver = Status.NUMERICAL_ERROR, answer.solver._replace(status=NOT_FINITE)
    answer.solve_time = time.perf_counter() - began
    return answer
