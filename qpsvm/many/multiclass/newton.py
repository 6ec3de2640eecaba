"""Minimise primals with squared losses by Newton's method (`minimise_by_newton`).

ℓ_i is the level of row i, its margin or its target, y_i its sign and δ_i its curvature. t_i = ℓ_i − y_i f(x_i), and
S_ε(t) is the part of t that has a loss: max(0, t) for hinges, and for a regression what exceeds the tube of width ε. R
is 1 if the intercept is penalised, else 0:

    (SQNEWTON.1)  over v = (w, b):  minimise ½‖w‖² + ½Rb² + Σ S_ε(t_i)²/(2δ_i)
    (SQNEWTON.2)  with A the rows that have a loss, and s_i = ±1 the side of each, the sign of S_ε(t_i):
                  (diag(1, …, 1, R) + Z_Aᵀ D Z_A) v = Z_Aᵀ D y_A(ℓ − sε)_A,  Z with a column of ones, D = diag(1/δ_A)

If the rows that have a loss at v are A again, on the same sides, v is the optimum. A step that does not decrease the
objective is halved until it does. Z_AᵀDZ_A is updated by the rows that entered or left A.

Source: Keerthi & DeCoste, *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6 (2005).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm import core
from qpsvm.backends.own.row_descent import estimate_pass_seconds
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.program.losses import Loss

#: Limits of the steps, of which ten are usual, and of the halvings of a step.
MAX_STEPS, MAX_HALVINGS = 40, 20
#: Numbers of dense rows that are copied at a time: they fit into the cache.
CHUNK_ENTRIES = 60_000
#: Columns of dense rows up to which Newton steps, which take d² products per row, are faster than coordinate descent.
MAX_DENSE_COLUMNS = 100
#: Estimated times of a step over sparse rows with d columns: seconds per product of two numbers of a row, and the
#: seconds of its factorisation divided by d³.
SECONDS_PER_PRODUCT, SECONDS_PER_CUBE = 5e-10, 1.5e-11
#: A step over sparse rows is worthwhile if it takes at most as long as this many passes of coordinate descent.
MAX_PASSES = 20.0


class AffineRows:
    """Rows Z (n, d) with a column of ones if there is an intercept; `width` is the number of columns with it."""

    def __init__(self, Z: Matrix, has_intercept: bool) -> None:
        self.is_sparse, self.n, self.d, self.has_intercept = sp.issparse(Z), Z.shape[0], Z.shape[1], has_intercept
        self.width = self.d + has_intercept
        if self.is_sparse:
            self.Z = Z.tocsr()
        else:
            self.Z = np.column_stack([Z, np.ones(self.n)]) if has_intercept else np.ascontiguousarray(Z)
        self.transposed = self.Z.T

    def multiply(self, v: FloatArray) -> FloatArray:
        """Return Zv: (n,)."""
        if not self.is_sparse:
            return np.asarray(self.Z @ v)
        product = np.asarray(self.Z @ v[: self.d])
        return product + v[-1] if self.has_intercept else product

    def multiply_transposed(self, a: FloatArray) -> FloatArray:
        """Return Zᵀa: (width,)."""
        product = np.asarray(self.transposed @ a)
        return np.append(product, a.sum()) if self.is_sparse and self.has_intercept else product

    def compute_gram(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """Return Z_JᵀDZ_J of the rows J, with the weights D (j,): (width, width)."""
        if not self.is_sparse:
            return self._compute_dense_gram(rows, weight)
        gram = np.zeros((self.width, self.width))
        products, sums = self._compute_moments(rows, weight)
        gram[: self.d, : self.d] = products
        if self.has_intercept:
            gram[-1, : self.d] = gram[: self.d, -1] = sums
            gram[-1, -1] = weight.sum()
        return gram

    def _compute_dense_gram(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """Return Z_JᵀDZ_J of dense rows, by chunks: (width, width)."""
        gram = np.zeros((self.width, self.width))
        is_constant, step = bool((weight == weight[:1]).all()), max(CHUNK_ENTRIES // max(self.width, 1), 16)
        for k in range(0, len(rows), step):
            chunk = self.Z[rows[k : k + step]]
            if not is_constant:
                chunk *= np.sqrt(weight[k : k + step])[:, None]
            gram += chunk.T @ chunk
        return weight[0] * gram if is_constant and len(rows) else gram

    def _compute_moments(self, rows: IntArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted products of the columns of sparse rows, (d, d), and their weighted sums, (d,)."""
        Z = self.Z
        if core.compiled is None:
            chosen = Z[rows]
            weighted = chosen.multiply(weight[:, None]).tocsr()
            return (chosen.T @ weighted).toarray(), np.asarray(chosen.T @ weight)
        products, sums = np.zeros((self.d, self.d)), np.zeros(self.d)
        core.compiled.moments(
            Z.data, Z.indices, Z.indptr, Z.indices.itemsize, rows.astype(np.int64), np.ascontiguousarray(weight),
            products, sums,
        )  # fmt: skip
        return products, sums


class ActiveGram:
    """Z_AᵀDZ_A of (SQNEWTON.2), updated as rows enter and leave A."""

    def __init__(self, Z: AffineRows, weight: FloatArray) -> None:
        self.Z, self.weight = Z, weight
        self.gram, self.is_active = np.zeros((Z.width, Z.width)), np.zeros(Z.n, dtype=np.bool_)

    def update(self, is_active: NDArray[np.bool_]) -> FloatArray:
        """Return the matrix of the rows A in a mask (n,); computed anew if more than half of them change."""
        entering = (is_active & ~self.is_active).nonzero()[0]
        leaving = (self.is_active & ~is_active).nonzero()[0]
        if 2 * (len(entering) + len(leaving)) > np.count_nonzero(is_active):
            self.gram, entering, leaving = np.zeros_like(self.gram), is_active.nonzero()[0], leaving[:0]
        if len(entering):
            self.gram += self.Z.compute_gram(entering, self.weight[entering])
        if len(leaving):
            self.gram -= self.Z.compute_gram(leaving, self.weight[leaving])
        self.is_active = is_active
        return self.gram


def is_worthwhile(X: Matrix) -> bool:
    """Return whether Newton steps over rows X (n, d) are predicted to be the fastest for squared losses."""
    n, d = X.shape
    if not sp.issparse(X):
        return bool(d <= MAX_DENSE_COLUMNS)
    seconds = SECONDS_PER_PRODUCT * X.nnz * (X.nnz / max(n, 1)) + SECONDS_PER_CUBE * float(d) ** 3
    return bool(seconds <= MAX_PASSES * estimate_pass_seconds(n, X.nnz))


def minimise_by_newton(
    Z: AffineRows, y: FloatArray, losses: Loss, weight: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, int] | None:
    """Return v of (SQNEWTON.2) and the number of steps; None if the steps do not converge.

    y, weight (n,): The signs of the rows, and 1/δ.
    penalty (width,): diag(1, …, 1, R).
    """
    active_gram = ActiveGram(Z, weight)
    v, t = np.zeros(Z.width), np.broadcast_to(losses.level, Z.n)
    excess = _apply_soft_threshold(losses, t)
    side, objective = np.sign(excess), float(weight @ (excess * excess))  # twice that of (SQNEWTON.1), here and below
    goal = y * losses.level
    for step in range(1, MAX_STEPS + 1):
        is_active = side != 0.0
        system = active_gram.update(is_active).copy()
        system.flat[:: Z.width + 1] += penalty
        reached = goal if losses.is_one_sided else goal - side * losses.tube
        right = Z.multiply_transposed(weight * reached * is_active)
        _, target, failed = lapack.dposv(system.T, right, lower=1, overwrite_a=1)
        if failed:
            return None
        t_at_target = losses.level - y * Z.multiply(target)
        excess = _apply_soft_threshold(losses, t_at_target)
        if np.array_equal(np.sign(excess), side):
            return target, step
        next_v, next_t, share = target, t_at_target, 1.0
        for _ in range(MAX_HALVINGS):
            next_objective = float(penalty @ (next_v * next_v) + weight @ (excess * excess))
            if next_objective < objective:
                break
            share *= 0.5
            next_v, next_t = v + share * (target - v), t + share * (t_at_target - t)
            excess = _apply_soft_threshold(losses, next_t)
        else:
            return None
        v, t, objective, side = next_v, next_t, next_objective, np.sign(excess)
    return None


def _apply_soft_threshold(losses: Loss, t: FloatArray) -> FloatArray:
    """Return S_ε(t): (n,)."""
    return np.maximum(t, 0.0) if losses.is_one_sided else losses.compute_tube_excess(t)
