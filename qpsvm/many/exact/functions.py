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

    rows: Indices of the samples of positive weight.
    function_index (n,): For each sample, index of the function trained without it; 0 is that of all samples, −1 means
        none.
    """

    def __init__(self, problem: Problem, full: SVMResult) -> None:
        samples, space = problem.samples, problem.space
        self.space, self.kernel, self.diagonal = space, space.kernel, problem._diagonal_weight
        self.rows: IntArray = np.asarray(problem.active_rows)
        self.vectors = samples.active_rows if isinstance(space.kernel, Precomputed) else space.X
        self.width, self.names = samples.X.shape[1], samples.feature_names
        self.function_index = np.zeros(problem.n, dtype=np.intp)
        self.has_weights = full.model.w is not None  # a linear kernel, or a feature map
        self.coef: list[Any] = [full.model.w if self.has_weights else full.coef[self.rows]]
        self.b = [full.b]

    def add_certified(self, rows: IntArray, certificate: Certificate) -> None:
        """Add the model trained without some rows, from a certificate over all rows."""
        w, b = certificate.w, certificate.b
        if w is None:
            self._add(rows, certificate.coef[: len(self.rows)], b)
        else:
            self._add(rows, self.space.to_caller_weights(w), self.space.to_caller_intercept(w, b))

    def add_coefficients(self, rows: IntArray, coef: FloatArray, b: float) -> None:
        """Add the model trained without some rows, from coefficients of the samples of positive weight."""
        self._add(rows, coef, b)

    def add_result(self, rows: IntArray, remaining: IntArray, result: SVMResult) -> None:
        """Add the model trained without some rows, from a result over the remaining ones."""
        if self.has_weights:
            self._add(rows, result.model.w, result.b)
            return
        coef = np.zeros(len(self.rows))
        coef[remaining] = result.coef
        self._add(rows, coef, result.b)

    def mark_missing(self, rows: IntArray) -> None:
        """Record that there is no model without some rows."""
        self.function_index[self.rows[rows]] = -1

    def _add(self, rows: IntArray, coef: Any, b: float) -> None:
        self.function_index[self.rows[rows]] = len(self.b)
        self.coef.append(np.array(coef))
        self.b.append(b)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the kernel matrix."""
        return {**self.__dict__, "space": None}

    def __call__(self, X: Any) -> FloatArray:
        """Evaluate the functions without each sample at the rows of X: (m, n). Raises DataError, UnsupportedError."""
        return self.select_values(self.evaluate_distinct(X))

    def select_values(self, distinct_values: FloatArray) -> FloatArray:
        """Return the values of the function without each sample (m, n), from those of the distinct functions."""
        values = distinct_values[:, self.function_index]
        values[:, self.function_index < 0] = np.nan
        return values

    def evaluate_distinct(self, X: Any) -> FloatArray:
        """Evaluate all distinct functions: (m, functions). Raises DataError, UnsupportedError."""
        if self.diagonal:
            raise UnsupportedError(
                "decision functions of leave-one-out SVDDs are not available at new points: use OneClass"
            )
        kernel, names, d = self.kernel, self.names, self.width
        coef, b = np.array(self.coef), np.array(self.b)
        if isinstance(kernel, FeatureMap) and self.has_weights:
            X, kernel, names, d = kernel.features(X), Linear(), None, coef.shape[1]
        w = coef if self.has_weights else None
        model = AllInOneModel(
            kernel=kernel, classes=np.arange(len(b)), b=b, coef=coef.T, vectors=self.vectors, w=w, n_features=d,
            feature_names=names,
        )  # fmt: skip
        return np.asarray(model.decision_function(X))


__all__ = ["LeaveOneOutFunctions"]
