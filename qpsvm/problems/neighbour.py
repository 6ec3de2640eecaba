"""Where to begin: an α for one problem from the result of another that is close to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qpsvm.arrays.columns import order_of
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.errors import DataError
from qpsvm.kernels.functions import Precomputed
from qpsvm.result import SVMResult

if TYPE_CHECKING:
    from qpsvm.problems.base import Problem

#: Rows this close to the margin of the other result start between 0 and C.
BAND = 0.1


def neighbouring_alpha(problem: Problem, result: SVMResult) -> FloatArray:
    """An α over the rows that take part, (m,), not yet feasible.

    Over the same number of rows it keeps the other result's split: what is at its bound goes to the new bound. Over
    other rows of the same features it follows from the margins y_i f(x_i) that the other result gives these.

    Raises
    ------
    DataError
        Other rows, and other features too.
    """
    level = result.rho if result.rho > 0 else 1.0
    bounded = np.isfinite(problem.upper)
    if len(result.alpha) == problem.n:
        alpha = problem.in_own_units(problem.taking_part(result.alpha) / level)
        at_bound = (problem.taking_part(result.kind) == 2) & bounded
        kept: FloatArray = np.where(at_bound, problem.upper, alpha)
        return kept
    if result.model.n_features != problem.X.shape[1] or isinstance(problem.kernel, Precomputed):
        raise DataError(
            f"start is a result over {len(result.alpha)} rows of {result.model.n_features} features, this problem has "
            f"{problem.n} rows of {problem.X.shape[1]}; give the same rows, or the same features"
        )
    yf = problem.taking_part(problem.y * result.decision_function(_samples(problem, result))) / level
    share: FloatArray = np.clip(0.5 + (1.0 - yf) / BAND, 0.0, 1.0)
    return np.where(bounded, problem.upper, 0.0) * share


def _samples(problem: Problem, result: SVMResult) -> Matrix:
    """X with its columns in the order of the other result, where both have names."""
    given, known = problem.feature_names, result.model.feature_names
    order = None if given is None or known is None else order_of(given, known, "this problem, unlike that of start,")
    return problem.X if order is None else problem.X[:, order]
