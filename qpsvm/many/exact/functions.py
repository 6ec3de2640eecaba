"""The decision functions of the machines without each sample, for points that none of them has seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.certificate import Certificate
from qpsvm.result.model import JointModel
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear, Precomputed


class Functions:
    """f = Σ coef_i K(x_i, ·) + b of all samples, and of those without some, where that is another function.

    machine (n,): Which of the functions is without the sample; 0 is that of all samples, −1 none.
    """

    def __init__(self, problem: Any, full: SVMResult) -> None:
        self.problem = problem
        self.machine = np.zeros(problem.n, dtype=np.intp)
        self.in_space = full.model.w is not None  # w is a vector, of features or of what a map makes of them
        self.coef = [full.model.w if self.in_space else problem._gather(full.coef)]
        self.b = [full.b]

    def certified(self, rows: IntArray, certificate: Certificate) -> None:
        """The machine without some rows, as a certificate over all of them."""
        space, w, b = self.problem.space, certificate.w, certificate.b
        if w is None:
            self._add(rows, certificate.coef[: self.problem.svm.n], b)
        else:
            self._add(rows, space.moved(w), space.moved_intercept(w, b))

    def solved(self, rows: IntArray, kept: IntArray, result: SVMResult) -> None:
        """The same as a result over those that are kept."""
        if self.in_space:
            self._add(rows, result.model.w, result.b)
            return
        coef = np.zeros(len(self.problem.rows))
        coef[kept] = result.coef
        self._add(rows, coef, result.b)

    def absent(self, rows: IntArray) -> None:
        """Without some rows there is no machine."""
        self.machine[self.problem.rows[rows]] = -1

    def _add(self, rows: IntArray, coef: Any, b: float) -> None:
        self.machine[self.problem.rows[rows]] = len(self.b)
        self.coef.append(np.array(coef))
        self.b.append(b)

    def __call__(self, X: Any) -> FloatArray:
        """f without each sample at the rows of X: (m, n). Raises DataError, UnsupportedError."""
        values = self.each(X)[:, self.machine]
        values[:, self.machine < 0] = np.nan
        return values

    def each(self, X: Any) -> FloatArray:
        """All different ones: (m, functions)."""
        problem = self.problem
        if problem.diagonal:
            raise UnsupportedError(f"f of {type(problem).__name__} at new points is not kept: take a OneClass")
        kernel, samples = problem.space.kernel, problem.samples
        if isinstance(kernel, FeatureMap) and self.in_space:
            X, kernel = kernel.features(X), Linear()
        coef, b = np.array(self.coef), np.array(self.b)
        vectors = samples.rows if isinstance(kernel, Precomputed) else problem.space.X
        w = coef if self.in_space else None
        d = w.shape[1] if w is not None else samples.X.shape[1]
        model = JointModel(
            kernel=kernel, classes=np.arange(len(b)), b=b, coef=coef.T, vectors=vectors, w=w, n_features=d,
            feature_names=None if w is not None and isinstance(problem.space.kernel, FeatureMap) else samples.feature_names,
        )  # fmt: skip
        return np.asarray(model.decision_function(X))


__all__ = ["Functions"]
