"""Evaluate f at many optima by one product (`Decisions`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_matrix, find_column_order
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.machines import Problem
from qpsvm.many.exact.follow import CertifiedStretch
from qpsvm.many.exact.rows import SignedRows
from qpsvm.result.model import check_kernel_diagonal
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.kernel import squared_norms


class Decisions:
    """The decision functions of optima over the rows of one machine."""

    def __init__(self, problem: Problem, rows: SignedRows) -> None:
        self.problem, self.rows = problem, rows

    def compute_planes(self, alphas: list[FloatArray], mus: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return β (n, c) over the samples of positive weight, and b (c,), for α over the rows of the dual and μ (p,).

        For a linear machine, return w (d, c) and b with respect to `FeatureSpace.rows`.
        """
        return self._build_planes([self.problem.svm.beta(alpha) for alpha in alphas], mus)

    def compute_intercept(self, alpha: FloatArray, mu: FloatArray) -> float:
        """Return b for the caller's data."""
        space, size = self.problem.space, self.problem._f_scale
        if not space.is_linear:
            return float(self.compute_planes([alpha], [mu])[1][0])
        beta = self.problem.svm.beta(alpha)
        level = self._select_intercepts([mu])[0]
        w = space.weights(beta)
        return float(size * space.to_caller_intercept(w, space.build_hyperplane(beta, w, level).b))

    def compute_norm(self, alpha: FloatArray) -> float:
        """Return ‖w(α)‖."""
        space = self.problem.space
        if space.is_linear:
            return float(np.linalg.norm(space.weights(self.problem.svm.beta(alpha))))
        v = self.rows.compute_v(alpha)
        return float(np.sqrt(max(float(self.rows.compute_beta(v) @ self.rows.compute_f(v)), 0.0)))

    @property
    def _is_simple(self) -> bool:
        """Whether f is computed as Kβ + b with kernel values."""
        space = self.problem.space
        return space.is_plain and not (space.is_linear or space.is_clipped or self.problem.intercept == "penalised")

    def _select_intercepts(self, mus: list[FloatArray]) -> list[float]:
        svm = self.problem.svm
        index = next((k for k, group in enumerate(svm.groups) if group is svm.intercept), None)
        return [0.0 if index is None else float(mu[index]) for mu in mus]

    def _build_planes(self, betas: Any, mus: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients or, if the kernel is linear, w of each point, and their intercepts."""
        problem = self.problem
        svm = problem.svm
        space = problem.space
        b = self._select_intercepts(mus)
        beta = np.asarray(betas).reshape(len(b), svm.n).T
        if space.is_linear:
            return problem._f_scale * space.weights(np.ascontiguousarray(beta)), problem._f_scale * np.array(b)
        if self._is_simple:
            return problem._f_scale * beta, problem._f_scale * np.array(b)
        hyperplanes = [space.build_hyperplane(beta, None, b_k) for beta, b_k in zip(betas, b, strict=True)]
        coef = np.array([plane.coef for plane in hyperplanes]).T.reshape(svm.n, len(hyperplanes))
        return problem._f_scale * coef, problem._f_scale * np.array([plane.b for plane in hyperplanes])

    def evaluate(self, X: Any, diagonal: Any, alphas: list[FloatArray], mus: list[FloatArray]) -> FloatArray:
        """Evaluate f at samples X (q, d): (q, c); `diagonal`, (q,), is K(x, x) for a precomputed kernel, or None."""
        K, diagonal_term = self._evaluate_kernel(X, diagonal)
        coef, b = self.compute_planes(alphas, mus)
        return np.asarray(K @ coef + b + diagonal_term)

    def evaluate_pieces(
        self, X: Any, diagonal: Any, parts: Sequence[CertifiedStretch]
    ) -> tuple[FloatArray, FloatArray]:
        """Evaluate f at samples X (q, d) at both ends of all pieces: (q, pieces) each.

        diagonal (q,): K(x, x) for a precomputed kernel, or None.
        """
        K, diagonal_term = self._evaluate_kernel(X, diagonal)
        rows, is_simple = self.rows, self._is_simple
        K_distinct = np.ascontiguousarray(K[:, rows.distinct].T) if is_simple else K
        ends: tuple[list[FloatArray], list[FloatArray]] = ([np.empty((0, K.shape[0]))], [np.empty((0, K.shape[0]))])
        for stretch in parts:
            beta = rows.compute_beta(stretch.v.T).T
            if is_simple:
                f = multiply_along(beta, stretch.s, stretch.steady, K_distinct) * self.problem._f_scale
                f += self.problem._f_scale * np.array(self._select_intercepts(list(stretch.mu)))[:, None]
            else:
                betas = np.zeros((len(beta), rows.n_samples))
                betas[:, rows.distinct] = beta  # equal samples are represented by one
                coef, b = self._build_planes(betas, list(stretch.mu))
                f = (K @ coef + b).T
            for values, indices in zip(ends, (stretch.first, stretch.second), strict=True):
                values.append(f[indices])
        first, second = (np.concatenate(each).T + diagonal_term for each in ends)
        return first, second

    def _evaluate_kernel(self, X: Any, diagonal: Any) -> tuple[Matrix, FloatArray]:
        """Return K between samples and those of positive weight, (q, n), and the term of K(x, x) in f, (q, 1).

        For a linear machine, return the features instead of K, (q, d). Raises DataError.
        """
        problem = self.problem
        samples = self._check_samples(X)
        space = problem.space
        diagonal_values = check_kernel_diagonal(
            problem.kernel, diagonal, samples.shape[0], needed=problem._diagonal_weight != 0.0
        )
        if space.is_linear:
            if isinstance(space.kernel, FeatureMap):
                features = space.kernel.features(samples)
            else:
                features = samples
            Z = features if space.origin is None else as_dense(features) - space.origin
            return Z, problem._diagonal_weight * squared_norms(Z)[:, None]
        if isinstance(problem.kernel, Precomputed):
            if samples.shape[1] == problem.n:
                K = samples[:, problem.active_rows]
            else:
                K = samples
        else:
            K = problem.kernel(samples, problem.samples.active_features)
        if problem._diagonal_weight:
            if diagonal_values is None:
                diagonal_values = np.asarray(problem.kernel.diagonal(samples))
            return np.asarray(K), problem._diagonal_weight * diagonal_values[:, None]
        return np.asarray(K.toarray() if sp.issparse(K) else K), np.zeros((samples.shape[0], 1))

    def _check_samples(self, X: Any) -> Any:
        """Return samples in the form that a model of this problem expects."""
        if self.problem.space.is_clipped:
            raise UnsupportedError("values of a kernel that was clipped are known one result at a time: use at(…)")
        order = find_column_order(X, self.problem.feature_names)
        if isinstance(self.problem.kernel, Precomputed):
            columns = None
        else:
            columns = self.problem.X.shape[1]
        samples = as_matrix(X, "X", columns)
        return samples if order is None else samples[:, order]


def multiply_along(beta: FloatArray, s: FloatArray, steady: NDArray[np.bool_], K: FloatArray) -> FloatArray:
    """Return βK for points at s (c,), where the β (c, n) of steady samples are linear in s, (BETWEEN.6): (c, q)."""
    if not s[-1] > s[0]:
        return beta @ K
    x = (s - s[0]) / (s[-1] - s[0])
    moving = np.flatnonzero(~steady)
    ends = np.where(steady, beta[[0, -1]], 0.0) @ K
    return np.asarray(beta[:, moving] @ K[moving] + np.column_stack([1.0 - x, x]) @ ends)
