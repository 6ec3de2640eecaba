"""Fit the curve of (PROB.1), from decision values to probabilities, by scikit-learn (`fit_curve`).

The decision values are those of samples that did not train the machine: `fold_decisions`, `left_out`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from qpsvm.base.arrays.types import FloatArray


def fit_curve(
    method: str, f: FloatArray, positive: NDArray[np.bool_], weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fit (PROB.1) to decision values, their sides and weights, (n,) each, by scikit-learn.

    The targets are Platt's, (S₊ + 1)/(S₊ + 2) and 1/(S₋ + 2), which regularise a finite sample. If the most likely
    sigmoid is decreasing, the most likely one that is not is constant, because the likelihood is concave.
    """
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    plus = weight[positive].sum()
    minus = weight[~positive].sum()
    target = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    if method == "isotonic":
        steps = IsotonicRegression(out_of_bounds="clip").fit(f, target, sample_weight=weight)
        return np.asarray(steps.X_thresholds_), np.asarray(steps.y_thresholds_)
    size = float(np.abs(f).max())
    if np.ptp(f) > 0.0:
        inputs = np.concatenate([f, f])[:, None] / size
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(inputs, np.repeat([1, 0], len(f)), np.concatenate([weight * target, weight * (1.0 - target)]))
        if model.coef_[0, 0] > 0.0:
            return np.array([model.coef_[0, 0] / size]), np.array([model.intercept_[0]])
    return np.zeros(1), np.array([logit(float(weight @ target / weight.sum()))])
