"""Minimise primals with squared losses by Newton's method.

    (SQNEWTON.1)  over v = (w, b):  minimise ½‖w‖² + ½Rb² + Σ S_ε(ℓ_i − y_i f(x_i))²/(2δ_i),  R = 0 or 1;  S_ε(r) is
                  max(0, r) of hinges, and what is beyond the tube of a regression
    (SQNEWTON.2)  with A the rows beyond, and s_i the side of each:
                  (diag(1, …, 1, R) + Z_Aᵀ D Z_A) v = Z_Aᵀ D y_A(ℓ − sε)_A,  Z with a column of ones, D = diag(1/δ_A)

Where the rows beyond at v are A again, on the same sides, v is the optimum. A step that does not lower the objective is
halved until it does. Z_AᵀDZ_A is kept, and changed by the rows that entered or left A.

Source: Keerthi & DeCoste, *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6 (2005).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from qpsvm import core
from qpsvm.backends.own.row_descent import estimate_pass_seconds
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.program.losses import Loss

#: Steps, of which ten are usual; and halvings of one.
MAX_STEPS, MAX_HALVINGS = 40, 20
#: Numbers that are gathered at once: they stay in the cache.
CHUNK_ENTRIES = 60_000
#: Columns of dense rows up to which a step, which takes d² products a row, is the shorter road.
MAX_DENSE_COLUMNS = 100
#: Seconds of a step over sparse rows: of a product of two numbers of a row, and of columns cubed; and how many passes
#: of coordinate descent it may take.
SECONDS_PER_PRODUCT, SECONDS_PER_CUBE, MAX_PASSES = 5e-10, 1.5e-11, 20.0


class AffineRows:
    """Rows (n, d), and one of ones where there is an intercept: products, and Z_JᵀDZ_J."""

    def __init__(self, Z: Matrix, ones: bool) -> None:
        self.sparse, self.n, self.d, self.ones = sp.issparse(Z), Z.shape[0], Z.shape[1], ones
        self.width = self.d + ones
        if self.sparse:
            self.Z = Z.tocsr()
            self.transposed = self.Z.T
        else:
            self.Z = np.column_stack([Z, np.ones(self.n)]) if ones else np.ascontiguousarray(Z)
            self.transposed = self.Z.T

    def multiply(self, v: FloatArray) -> FloatArray:
        """Z v: (n,)."""
        if not self.sparse:
            return np.asarray(self.Z @ v)
        found = np.asarray(self.Z @ v[: self.d])
        return found + v[-1] if self.ones else found

    def multiply_transposed(self, a: FloatArray) -> FloatArray:
        """Return Zᵀa: (d + 1,)."""
        found = np.asarray(self.transposed @ a)
        return np.append(found, a.sum()) if self.sparse and self.ones else found

    def compute_gram(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """Z_JᵀDZ_J of some rows, D by rows (j,): (d + 1, d + 1)."""
        H = np.zeros((self.width, self.width))
        if not self.sparse:
            alike, step = bool((weight == weight[:1]).all()), max(CHUNK_ENTRIES // max(self.width, 1), 16)
            for k in range(0, len(rows), step):
                part = self.Z[rows[k : k + step]]
                if not alike:
                    part *= np.sqrt(weight[k : k + step])[:, None]
                H += part.T @ part
            return weight[0] * H if alike and len(rows) else H
        S, sums = self._compute_moments(rows, weight)
        H[: self.d, : self.d] = S
        if self.ones:
            H[-1, : self.d] = H[: self.d, -1] = sums
            H[-1, -1] = weight.sum()
        return H

    def _compute_moments(self, rows: IntArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        Z = self.Z
        if core.compiled is None:
            part = Z[rows]
            weighted = part.multiply(weight[:, None]).tocsr()
            return (part.T @ weighted).toarray(), np.asarray(part.T @ weight)
        S, sums = np.zeros((self.d, self.d)), np.zeros(self.d)
        core.compiled.moments(
            Z.data,
            Z.indices,
            Z.indptr,
            Z.indices.itemsize,
            rows.astype(np.int64),
            np.ascontiguousarray(weight),
            S,
            sums,
        )
        return S, sums


def is_worthwhile(X: Matrix) -> bool:
    """Return whether Newton steps over rows X (n, d) are predicted to be the fastest for squared losses."""
    n, d = X.shape
    if not sp.issparse(X):
        return bool(d <= MAX_DENSE_COLUMNS)
    step = SECONDS_PER_PRODUCT * X.nnz * (X.nnz / max(n, 1)) + SECONDS_PER_CUBE * float(d) ** 3
    return bool(step <= MAX_PASSES * estimate_pass_seconds(n, X.nnz))


def minimise_by_newton(
    Z: AffineRows, y: FloatArray, losses: Loss, weight: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, int] | None:
    """v of (SQNEWTON.2) and the number of steps, or None. Shapes: y, weight (n,), penalty (d + 1,)."""
    v, t = np.zeros(Z.width), np.broadcast_to(losses.level, Z.n)
    past = _apply_soft_threshold(losses, t)
    side, value = np.sign(past), float(weight @ (past * past))
    H, last = np.zeros((Z.width, Z.width)), np.zeros(Z.n, dtype=np.bool_)
    goal = y * losses.level
    for step in range(1, MAX_STEPS + 1):
        now = side != 0.0
        entering, leaving = (now & ~last).nonzero()[0], (last & ~now).nonzero()[0]
        if 2 * (len(entering) + len(leaving)) > np.count_nonzero(now):
            H, entering, leaving = np.zeros_like(H), now.nonzero()[0], leaving[:0]
        if len(entering):
            H += Z.compute_gram(entering, weight[entering])
        if len(leaving):
            H -= Z.compute_gram(leaving, weight[leaving])
        last, system = now, H.copy()
        system.flat[:: Z.width + 1] += penalty
        wanted = goal if losses.is_one_sided else goal - side * losses.tube
        _, target, failed = lapack.dposv(system.T, Z.multiply_transposed(weight * wanted * now), lower=1, overwrite_a=1)
        if failed:
            return None
        aimed = losses.level - y * Z.multiply(target)
        past = _apply_soft_threshold(losses, aimed)
        if np.array_equal(np.sign(past), side):
            return target, step
        next_v, next_t, share = target, aimed, 1.0
        for _ in range(MAX_HALVINGS):  # twice the objective of (SQNEWTON.1)
            lower = float(penalty @ (next_v * next_v) + weight @ (past * past))
            if lower < value:
                break
            share *= 0.5
            next_v, next_t = v + share * (target - v), t + share * (aimed - t)
            past = _apply_soft_threshold(losses, next_t)
        else:
            return None
        v, t, value, side = next_v, next_t, lower, np.sign(past)
    return None


def _apply_soft_threshold(losses: Loss, t: FloatArray) -> FloatArray:
    """Return S_ε(t): (n,)."""
    return np.maximum(t, 0.0) if losses.is_one_sided else losses.compute_tube_excess(t)
