"""Raise or warn if a result is not optimal, and suggest remedies (`check_status`)."""

from __future__ import annotations

import warnings

from qpsvm import backends
from qpsvm.base.errors import (
    InaccurateWarning,
    SolverError,
)
from qpsvm.program.status import Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.request import SolveRequest


def check_status(result: SVMResult | AllInOneResult, request: SolveRequest, backend: str) -> None:
    """Raise or warn as `check=True` promises."""
    if result.error is not None:
        raise result.error
    if result.status is Status.OPTIMAL:
        return
    said = f"{result.solver.name} ended with {result.solver.status!r}"
    what_to_do = " ".join(
        f"{result.status.sentence} {_suggest_remedies(result, request, backend)} {result.message}".split()
    )
    if result.gap == float("inf"):
        raise SolverError(f"{result.status}: no point could be certified ({said}). {what_to_do}")
    warnings.warn(
        f"{result.status}: the certified relative gap is {result.gap:.2g}, above tol = {request.tol:g} ({said}). "
        f"{what_to_do}",
        InaccurateWarning,
        stacklevel=3,
    )


def _suggest_remedies(result: SVMResult | AllInOneResult, request: SolveRequest, backend: str) -> str:
    """Return what to try after an inaccurate result, without what has been tried; "" after any other."""
    if result.status is not Status.INACCURATE:
        return ""
    ways = [] if request.polish else ["leave polish=True"]
    if backend != "auto":
        own = backend in backends.names() and backends.get(backend).options()
        ways += [*(["tighten the solver's own tolerances"] if own else []), "choose another backend"]
    ways += ["standardise the features", "lower C"]
    return f"Try this: {', '.join(ways[:-1])} or {ways[-1]}."
