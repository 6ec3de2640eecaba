"""Where to begin: an α for one problem from the result of another that is close to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.arrays.columns import order_of
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.errors import DataError
from qpsvm.kernels.functions import Precomputed
from qpsvm.result import SVMResult
from qpsvm.rows import as_row_source
from qpsvm.samples import Samples

#: Rows this close to the margin of the other result start between 0 and C, in units of the margin level or, where rows
#: have levels of their own, of what is usually missing.
BAND = 0.1
#: The kind of a sample whose α is at its bound.
FULL = 2


def neighbouring_alpha(problem: Any, result: SVMResult) -> FloatArray:
    """An α over the rows of the dual, (m,), not yet feasible.

    Over the same number of rows it keeps the other result's split: what is at its bound goes to the new bound. Over
    other rows of the same features it follows from what the f of the other result leaves missing at these rows.
    (`problems.base` imports this file, so a problem is any object here.)

    Raises DataError.
    """
    samples, svm = problem.samples, problem.svm if problem.svm.users is None else problem.svm.users.own
    margin = result.margin
    level = result.rho if result.rho > 0 and len(margin) and (margin == result.rho).all() else 1.0
    bounded = np.isfinite(svm.upper)
    if len(result.alpha) == problem.alphas and len(result.coef) == samples.n:
        alpha = problem.in_own_units(problem._gather(result.alpha / level))
        full = problem._gather((result.alpha > 0.0) & (result.alpha >= result.upper))
        if len(result.kind) == len(result.alpha):
            full = problem._gather((result.kind == FULL) & np.isfinite(result.upper))
        kept: FloatArray = np.where(full & bounded, svm.upper, alpha)
        return kept
    if result.model.n_features != samples.X.shape[1] or isinstance(problem.kernel, Precomputed):
        raise DataError(
            f"start is a result over {len(result.coef)} rows of {result.model.n_features} features, this problem has "
            f"{samples.n} rows of {samples.X.shape[1]}; give the same rows, or the same features"
        )
    f = samples.taking_part(result.decision_function(_features(samples, result))) / level
    short = svm.level - svm.sign * svm.at_rows(f)
    if problem.diagonal:  # f has the level in it
        short = -svm.at_rows(f) / problem.size_of_f
    width = 1.0 if svm.common_level == 1.0 else float(np.abs(short).mean()) or 1.0
    share: FloatArray = np.clip(0.5 + short / (BAND * width), 0.0, 1.0)
    return np.where(bounded, svm.upper, 0.0) * share


def _features(samples: Samples, result: SVMResult) -> Matrix:
    """X with its columns in the order of the other result, where both have names."""
    given, known = samples.feature_names, result.model.feature_names
    order = None if given is None or known is None else order_of(given, known, "this problem, unlike that of start,")
    return samples.X if order is None else as_row_source(samples.X).matrix()[:, order]
