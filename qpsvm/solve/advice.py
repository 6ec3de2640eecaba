"""Raise or warn if a result is not optimal, and suggest remedies (`check_status`)."""

from __future__ import annotations

import warnings

from qpsvm import backends
from qpsvm.base.arrays.formatting import join_names
from qpsvm.base.errors import InaccurateWarning, SolverError
from qpsvm.program.status import Status
from qpsvm.result.qp_result import QPResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.request import SolveRequest
from qpsvm.space.kernels.functions import Precomputed


def check_status(result: SVMResult | QPResult, request: SolveRequest, backend: str) -> None:
    """Raise or warn if the result is not optimal, as documented for `check=True`.

    Raises SolverError, and the error of the result if there is one.
    """
    if result.error is not None:
        raise result.error
    if result.status is Status.OPTIMAL:
        return
    solver_status = f"{result.solver.name} ended with {result.solver.status!r}"
    if isinstance(result, QPResult):
        advice = result.explanation
    else:
        remedies = _suggest_remedies(result, request, backend)
        advice = " ".join(f"{result.status.sentence} {remedies} {result.message}".split())
    if not isinstance(result, QPResult) and result.gap == float("inf"):
        raise SolverError(f"{result.status}: no point could be certified ({solver_status}). {advice}")
    warnings.warn(
        f"{result.status}: the certified relative gap is {result.gap:.2g}, above tol = {request.tol:g} "
        f"({solver_status}). {advice}",
        InaccurateWarning,
        stacklevel=3,
    )


def _suggest_remedies(result: SVMResult, request: SolveRequest, backend: str) -> str:
    """Return what to try if rounding limits the gap, except what has been tried; "" for any other status."""
    if result.status not in (Status.INACCURATE, Status.NUMERICAL_ERROR):
        return ""
    remedies = [] if request.polish else ["leave polish=True"]
    if backend != "auto":
        if backend in backends.names() and backends.get(backend).options():
            remedies.append("tighten the solver's own tolerances")
        remedies.append("choose another backend")
    problem = result._require_problem(None)
    if not isinstance(problem.kernel, Precomputed):
        remedies.append("standardise the features")
    remedies.append("lower C" if "C" in problem._hyperparameters else "choose another kernel")
    return f"Try this: {join_names(remedies)}."
