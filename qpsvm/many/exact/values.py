"""f of many optima at once: coefficients and intercepts in the caller's own coordinates, and one product with K."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_matrix, column_order
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.many.exact.rows import SignedRows
from qpsvm.space.kernels.functions import Precomputed


class Decisions:
    """The decision functions of optima over the rows of one machine."""

    def __init__(self, problem: Any, rows: SignedRows) -> None:
        self.problem, self.rows = problem, rows

    def planes(self, alphas: list[FloatArray], mus: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """β (n, c) over the samples that take part, and b (c,), of α over the rows of the dual and μ (p,)."""
        return self._placed([self.problem.svm.beta(alpha) for alpha in alphas], mus)

    def _placed(self, betas: list[FloatArray], mus: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
        problem, svm = self.problem, self.problem.svm
        index = next((k for k, group in enumerate(svm.groups) if group is svm.intercept), None)
        found = [
            problem.space.plane(beta, None, 0.0 if index is None else float(mu[index]))
            for beta, mu in zip(betas, mus, strict=True)
        ]
        coef = np.array([plane.coef for plane in found]).T.reshape(svm.n, len(found))
        return problem.size_of_f * coef, problem.size_of_f * np.array([plane.b for plane in found])

    def at(self, X: Any, alphas: list[FloatArray], mus: list[FloatArray]) -> FloatArray:
        """f at samples X (q, d): (q, c)."""
        K, own = self._kernel(X)
        coef, b = self.planes(alphas, mus)
        return K @ coef + b + own

    def of_rows(self, X: Any, v: list[FloatArray], mus: list[FloatArray]) -> FloatArray:
        """The same of v (m,) each."""
        K, own = self._kernel(X)
        rows = self.rows
        betas = np.zeros((rows.n_samples, len(v)))
        if v:
            betas[rows.distinct] = rows.beta(np.column_stack(v))  # one sample stands for those that are equal
        coef, b = self._placed(list(np.ascontiguousarray(betas.T)), mus)
        return K @ coef + b + own

    def _kernel(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """K between samples and those that take part, (q, n), and what f has of K(x, x), (q, 1). Raises DataError."""
        problem = self.problem
        samples = self._checked(X)
        if isinstance(problem.kernel, Precomputed):
            K = samples[:, problem.rows] if samples.shape[1] == problem.n else samples
        else:
            K = problem.kernel(samples, problem.samples.taken)
        if problem.diagonal:
            return np.asarray(K), problem.diagonal * np.asarray(problem.kernel.diagonal(samples))[:, None]
        return np.asarray(K.toarray() if sp.issparse(K) else K), np.zeros((samples.shape[0], 1))

    def _checked(self, X: Any) -> Any:
        """Samples as a model of this problem takes them."""
        if self.problem.space.clipped:
            raise UnsupportedError("values of a kernel that was clipped are known one result at a time: use at(…)")
        order = column_order(X, self.problem.feature_names)
        columns = None if isinstance(self.problem.kernel, Precomputed) else self.problem.X.shape[1]
        samples = as_matrix(X, "X", columns)
        return samples if order is None else samples[:, order]
