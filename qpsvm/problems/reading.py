"""From a certificate over the rows that take part to a result over the caller's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.words import shown
from qpsvm.dual.certificate import Certificate
from qpsvm.errors import DataError, ParameterTypeError
from qpsvm.kernels.functions import Precomputed
from qpsvm.model import Model
from qpsvm.result import SVMResult

if TYPE_CHECKING:
    from qpsvm.problems.base import Problem

#: A slack above this share of the margin is clear, and there this share of C, a unit of slack, is nothing.
CLEAR, NOTHING = 1e-6, 1e-9
#: Nor is more than this share of C ever nothing.
SMALL = 1e-3


def svm_result(problem: Problem, certificate: Certificate, **record: Any) -> SVMResult:
    """The result with the record of how it came about; a row that takes no part has α = 0 and C = 0."""
    model = _model(problem, certificate)
    yf = _spread(problem, certificate.yf)
    if not problem.takes_all:
        absent = np.flatnonzero(problem.sample_weight == 0)
        yf[absent] = problem.y[absent] * model.decision_function(problem.X[absent])
    return SVMResult(
        alpha=_spread(problem, certificate.alpha), b=certificate.b, b_interval=certificate.b_interval,
        rho=certificate.rho, primal=certificate.primal, dual=certificate.dual, gap=certificate.gap,
        rounding=certificate.rounding,
        kind=_spread(problem, kinds(problem, certificate)), yf=yf, upper=_spread(problem, problem.upper),
        unit=certificate.unit, model=model, title=problem.title, **record,
    )  # fmt: skip


def kinds(problem: Problem, certificate: Certificate) -> NDArray[np.int8]:
    """0 zero, 1 free, 2 bound: by comparing α with the slack y f − ρ, not by a cut like 1e-5.

    α counts as 0 where the slack could not be closed by all of α, that is by K_ii α, or where the slack is clear and α
    nothing beside C; and as C the other way round. What is more than `SMALL` of C away from a bound is not at it,
    however far from the margin the row of an inaccurate point may be.
    """
    support, bounded = certificate.alpha > 0, certificate.alpha >= problem.upper
    kind: NDArray[np.int8] = 2 * (support & bounded).view(np.int8)
    inside = (support & ~bounded).nonzero()[0]
    if not len(inside):
        return kind
    alpha, upper = certificate.alpha[inside], problem.upper[inside]
    curvature = np.maximum(problem.space.curvature(inside), 1e-12 * problem.space.scale)
    slack = certificate.yf[inside] - certificate.rho
    nothing = np.where((np.abs(slack) > CLEAR * certificate.rho) & (upper < np.inf), NOTHING * upper, 0.0)
    slack *= np.maximum(1.0 / curvature, nothing)
    price = np.minimum(upper, float(certificate.alpha.max()))  # C, or of a hard margin, the largest α
    zero, full = np.minimum(slack, SMALL * price), np.minimum(-slack, SMALL * price)
    kind[inside] = np.where(alpha <= zero, 0, np.where(upper - alpha <= full, 2, 1))
    return kind


def _model(problem: Problem, certificate: Certificate) -> Model:
    d = problem.X.shape[1]
    common: dict[str, Any] = {
        "kernel": problem.kernel, "classes": problem.classes, "b": certificate.b, "n_features": d,
        "feature_names": problem.feature_names,
    }  # fmt: skip
    if certificate.w is not None:
        return Model(coef=np.zeros(0), vectors=np.zeros((0, d)), w=certificate.w, **common)
    kept = np.flatnonzero(certificate.coef)
    vectors = problem.rows[kept] if isinstance(problem.kernel, Precomputed) else problem.space.X[kept]
    return Model(coef=certificate.coef[kept], vectors=vectors, w=None, **common)


def _spread(problem: Problem, values: NDArray[Any]) -> NDArray[Any]:
    """A vector over the rows that take part on the caller's rows, (n,): 0 where a row takes no part."""
    if problem.takes_all:
        return values
    vector = np.zeros(problem.n, dtype=values.dtype)
    vector[problem.rows] = values
    return vector


def check_result(problem: Problem, result: SVMResult) -> None:
    """That a result is over the rows of a problem.

    Raises
    ------
    ParameterTypeError, DataError
        Something else, or other rows.
    """
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {shown(result)}")
    if len(result.alpha) != problem.n:
        raise DataError(f"the result is over {len(result.alpha)} rows, the problem has {problem.n}")
