"""Evaluate the decision functions of leave-one-out models at new points (`LeaveOneOutFunctions`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines import Problem
from qpsvm.result.model import AllInOneModel
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear, Precomputed


class LeaveOneOutFunctions:
    """Decision functions f = Σ coef_i K(x_i, ·) + b of the models trained with all samples, and without some of them.

    Samples that are not support vectors share the function of all samples, so there are fewer functions than samples.

    active_samples (k,): Indices of the samples of positive weight. Methods get samples as positions in it.
    function_index (n,): For each sample, index of the function trained without it; 0 is that of all samples, −1 means
        none.
    has_weights: Whether functions have an explicit w: with a linear kernel, or a feature map.
    w_or_coef, b: For each function w (d,), or without explicit w its coefficients (k,), and its intercept.
    """

    def __init__(self, problem: Problem, full: SVMResult) -> None:
        samples, space = problem.samples, problem.space
        self.space = space
        self.kernel = space.kernel
        self.diagonal_weight = problem._diagonal_weight
        self.active_samples: IntArray = np.asarray(problem.active_rows)
        # new samples of a precomputed kernel are rows of kernel values, and these are the columns to take
        if isinstance(space.kernel, Precomputed):
            self.vectors = samples.active_rows
        else:
            self.vectors = space.X
        self.width = samples.X.shape[1]
        self.names = samples.feature_names
        self.function_index = np.zeros(problem.n, dtype=np.intp)
        self.has_weights = full.model.w is not None
        self.w_or_coef: list[Any] = [full.model.w if self.has_weights else full.coef[self.active_samples]]
        self.b = [full.b]

    def add_certified(self, left_out: IntArray, certificate: Certificate) -> None:
        """Add the model trained without some samples, from a certificate of a dual over all active samples."""
        w, b = certificate.w, certificate.b
        if w is None:
            self.add_coefficients(left_out, certificate.coef, b)
        else:
            self.add_coefficients(left_out, self.space.to_caller_weights(w), self.space.to_caller_intercept(w, b))

    def add_result(self, left_out: IntArray, remaining: IntArray, result: SVMResult) -> None:
        """Add the model trained without some samples, from a result over the remaining active samples only."""
        if self.has_weights:
            self.add_coefficients(left_out, result.model.w, result.b)
            return
        coef = np.zeros(len(self.active_samples))
        coef[remaining] = result.coef
        self.add_coefficients(left_out, coef, result.b)

    def add_coefficients(self, left_out: IntArray, w_or_coef: Any, b: float) -> None:
        """Add the model trained without some samples, from its w (d,), or its coefficients (k,), and its b."""
        self.function_index[self.active_samples[left_out]] = len(self.b)
        self.w_or_coef.append(np.array(w_or_coef))
        self.b.append(b)

    def mark_missing(self, left_out: IntArray) -> None:
        """Record that there is no model without some samples."""
        self.function_index[self.active_samples[left_out]] = -1

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the kernel matrix."""
        return {**self.__dict__, "space": None}

    def __call__(self, X: Any) -> FloatArray:
        """Evaluate for each sample the function without it, at the rows of X: (m, n). Raises as `evaluate_distinct`."""
        return self.select_values(self.evaluate_distinct(X))

    def select_values(self, distinct_values: FloatArray) -> FloatArray:
        """Return the values of the function of each left-out sample, (m, n), from those of the distinct functions."""
        values = distinct_values[:, self.function_index]
        values[:, self.function_index < 0] = np.nan
        return values

    def evaluate_distinct(self, X: Any) -> FloatArray:
        """Evaluate all distinct functions, first that of all samples: (m, p). Raises DataError, UnsupportedError."""
        if self.diagonal_weight:
            raise UnsupportedError(
                "decision functions of leave-one-out SVDDs are not available at new points: use OneClass"
            )
        kernel = self.kernel
        names = self.names
        d = self.width
        w_or_coef, b = np.array(self.w_or_coef), np.array(self.b)
        if isinstance(kernel, FeatureMap) and self.has_weights:
            X = kernel.features(X)
            kernel = Linear()
            names = None
            d = w_or_coef.shape[1]
        model = AllInOneModel(  # evaluates many functions over the same samples, which it calls classes
            kernel=kernel, classes=np.arange(len(b)), b=b, coef=w_or_coef.T, vectors=self.vectors,
            w=w_or_coef if self.has_weights else None, n_features=d, feature_names=names,
        )  # fmt: skip
        return np.asarray(model.decision_function(X))


__all__ = ["LeaveOneOutFunctions"]
