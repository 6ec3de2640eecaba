"""Where to begin: an α for one problem from the result of another that is close to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.arrays.columns import order_of
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.errors import DataError
from qpsvm.kernels.functions import Kernel, Precomputed
from qpsvm.result import SVMResult
from qpsvm.samples import Samples

#: Rows this close to the margin of the other result start between 0 and C.
BAND = 0.1


def neighbouring_alpha(
    samples: Samples, kernel: Kernel, svm: SVMDual, result: SVMResult, in_own_units: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """An α over the rows that take part, (m,), not yet feasible.

    Over the same number of rows it keeps the other result's split: what is at its bound goes to the new bound. Over
    other rows of the same features it follows from the margins y_i f(x_i) that the other result gives these.

    Raises
    ------
    DataError
        Other rows, and other features too.
    """
    level = result.rho if result.rho > 0 else 1.0
    bounded = np.isfinite(svm.upper)
    if len(result.alpha) == samples.n:
        alpha = in_own_units(samples.taking_part(result.alpha) / level)
        at_bound = (samples.taking_part(result.kind) == 2) & bounded
        kept: FloatArray = np.where(at_bound, svm.upper, alpha)
        return kept
    if result.model.n_features != samples.X.shape[1] or isinstance(kernel, Precomputed):
        raise DataError(
            f"start is a result over {len(result.alpha)} rows of {result.model.n_features} features, this problem has "
            f"{samples.n} rows of {samples.X.shape[1]}; give the same rows, or the same features"
        )
    yf = samples.taking_part(samples.target * result.decision_function(_features(samples, result))) / level
    share: FloatArray = np.clip(0.5 + (1.0 - yf) / BAND, 0.0, 1.0)
    return np.where(bounded, svm.upper, 0.0) * share


def _features(samples: Samples, result: SVMResult) -> Matrix:
    """X with its columns in the order of the other result, where both have names."""
    given, known = samples.feature_names, result.model.feature_names
    order = None if given is None or known is None else order_of(given, known, "this problem, unlike that of start,")
    return samples.X if order is None else samples.X[:, order]
