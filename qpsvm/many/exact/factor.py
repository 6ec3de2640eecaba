"""Update the inverse of the optimality system when rows enter or leave the free set (`InverseFactor`).

In (SIGNED.1), the v of the free rows F, strictly between their bounds, and the multipliers μ solve a linear system:

    (FACTOR.1)  M = [−R, E_Fᵀ; E_F, K_FF + Δ_F],  M [μ; v_F] = [e − E_Bᵀv_B; t_F − K_FB v_B];  B at bounds
    (FACTOR.2)  row i enters with x = M⁻¹c, c = [E_i; K_Fi], pivot κ = K_ii + Δ_i − cᵀx:  M⁻¹ grows by [x; −1][x; −1]ᵀ/κ
    (FACTOR.3)  the last row leaves:  M⁻¹ − ccᵀ/c_q for its column c of M⁻¹

κ = 0 means that the larger system is singular, with null vector [x; −1]. Each change is O(f²) for f free rows.

Source: bordered inverses; Cauwenberghs & Poggio, *Incremental and decremental support vector machine learning* (2000).
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.many.exact.rows import SignedRows

#: A pivot below this share of its terms counts as 0; `ActiveSet` raises the share, up to the second, if M is
#: ill-conditioned.
PIVOT_TOLERANCE, MAX_PIVOT_TOLERANCE = 1e-14, 1e-8
#: The terms of a pivot count as at least this share of the largest K_ii.
MIN_PIVOT_SCALE = 1e-4
#: A row whose diagonal entry of M⁻¹ is below this, in units of 1/max K_ii, cannot leave: M would be singular.
MIN_INVERSE_DIAGONAL = 1e-9
#: With fewer free rows than this, `replace` inverts M from scratch.
FEW_FREE = 30
#: Rows to spare when the arrays are allocated.
EXTRA_ROWS = 16


class InverseFactor:
    """M⁻¹ of (FACTOR.1), the equalities first, then the free rows in the order of `free`.

    count: Number of free rows, f.
    free_buffer, inverse_buffer, kernel_buffer: `free`, `inverse` and `K_free` with space for more rows; compiled code
        changes them, too.
    """

    def __init__(self, rows: SignedRows, pivot_tolerance: float = PIVOT_TOLERANCE) -> None:
        self.rows = rows
        self.pivot_tolerance = pivot_tolerance
        self.count = 0
        self.free_buffer: IntArray = np.zeros(0, dtype=np.int64)
        self.inverse_buffer: FloatArray = np.zeros((rows.p, rows.p))
        self.kernel_buffer: FloatArray = np.zeros((0, len(rows.K)))

    @property
    def free(self) -> IntArray:
        """F, (f,): rows of the dual."""
        return self.free_buffer[: self.count]

    @property
    def inverse(self) -> FloatArray:
        """M⁻¹: (p + f, p + f)."""
        q = self.rows.p + self.count
        return self.inverse_buffer[:q, :q]

    @property
    def K_free(self) -> FloatArray:
        """The rows of K of the samples of F: (f, n)."""
        return self.kernel_buffer[: self.count]

    def _ensure_capacity(self, count: int) -> None:
        """Grow the arrays to hold this many free rows."""
        p = self.rows.p
        if len(self.inverse_buffer) < p + count:
            inverse = self.inverse
            free = self.free
            K_free = self.K_free
            size = 2 * (p + count) + EXTRA_ROWS
            self.inverse_buffer = np.zeros((size, size))
            self.free_buffer = np.zeros(size, dtype=np.int64)
            self.kernel_buffer = np.zeros((size, len(self.rows.K)))
            self.inverse[:] = inverse
            self.free[:] = free
            self.K_free[:] = K_free

    @property
    def n_spare_rows(self) -> int:
        """Number of rows that fit before the arrays grow."""
        return len(self.free_buffer) - self.rows.p - self.count - 1

    def grow(self, count: int) -> None:
        """Grow the arrays for this many more rows."""
        self._ensure_capacity(self.count + count + 1)

    def invert(self, free: IntArray) -> None:
        """Compute M⁻¹ of these free rows. Raises LinAlgError."""
        rows = self.rows
        p = rows.p
        m = len(free)
        free = np.array(free, dtype=np.int64)
        self.count = 0
        self._ensure_capacity(m + 1)
        r = rows.sample[free]
        M = np.zeros((p + m, p + m))
        M[:p, :p] = -np.diag(rows.ridge)
        M[:p, p:] = rows.E[free].T
        M[p:, :p] = rows.E[free]
        M[p:, p:] = rows.K[np.ix_(r, r)] + np.diag(rows.curvature[free])
        if p + m:
            W = np.linalg.inv(M)
            self.inverse_buffer[: p + m, : p + m] = (W + W.T) / 2.0
        self.free_buffer[:m] = free
        self.kernel_buffer[:m] = rows.K[r]
        self.count = m

    def compute_border(self, i: int) -> tuple[FloatArray, float, float]:
        """Return x and κ of (FACTOR.2) for row i, and κ as a share of its terms. x is refined once."""
        rows = self.rows
        p = rows.p
        free = self.free
        k, r = rows.sample[i], rows.sample[free]
        c = np.concatenate([rows.E[i], self.K_free[:, k]])
        W = self.inverse
        x = W @ c
        residual = np.empty_like(c)
        residual[:p] = c[:p] - rows.E[free].T @ x[p:] + rows.ridge * x[:p]
        residual[p:] = c[p:] - (x[p:] @ self.K_free)[r] - rows.E[free] @ x[:p] - rows.curvature[free] * x[p:]
        x += W @ residual
        diagonal = float(rows.diagonal[i])
        pivot = diagonal - float(c @ x)
        size = diagonal + float(np.square(x[p:]) @ rows.diagonal[free])
        return x, pivot, pivot / max(size, MIN_PIVOT_SCALE * rows.max_diagonal)

    def append(self, i: int, x: FloatArray, pivot: float) -> None:
        """Add row i by (FACTOR.2)."""
        self._ensure_capacity(self.count + 1)
        q = self.rows.p + self.count
        W = self.inverse_buffer
        W[:q, :q] += np.multiply.outer(x, x / pivot)
        W[q, :q] = W[:q, q] = -x / pivot
        W[q, q] = 1.0 / pivot
        self.kernel_buffer[self.count] = self.rows.K[self.rows.sample[i]]
        self.free_buffer[self.count] = i
        self.count += 1

    def can_leave(self, j: int) -> bool:
        """Return whether M stays regular without position j of F."""
        a = self.rows.p + j
        return bool(self.inverse_buffer[a, a] * self.rows.max_diagonal > MIN_INVERSE_DIAGONAL)

    def delete(self, j: int) -> None:
        """Remove position j of F by (FACTOR.3), after swapping it with the last one."""
        last = self.count - 1
        p = self.rows.p
        W = self.inverse_buffer
        q, a = p + last, p + j
        if j != last:
            W[[a, q], : q + 1] = W[[q, a], : q + 1]
            W[: q + 1, [a, q]] = W[: q + 1, [q, a]]
            self.free_buffer[j], self.kernel_buffer[j] = self.free_buffer[last], self.kernel_buffer[last]
        self.count = last
        column = W[:q, q].copy()
        W[:q, :q] -= np.multiply.outer(column, column / W[q, q])

    def replace(self, j: int, i: int) -> None:
        """Replace the row at position j of F by row i."""
        free = self.free.copy()
        free[j] = i
        if len(free) >= FEW_FREE and self.can_leave(j):
            self.delete(j)
            x, pivot, share = self.compute_border(i)
            if share > 1e3 * self.pivot_tolerance:
                self.append(i, x, pivot)
                return
        self.invert(free)

    def copy(self) -> InverseFactor:
        """Return an independent copy."""
        new = InverseFactor(self.rows, self.pivot_tolerance)
        new._ensure_capacity(self.count + EXTRA_ROWS)
        new.count = self.count
        new.inverse[:] = self.inverse
        new.free[:] = self.free
        new.K_free[:] = self.K_free
        return new
