"""Solve Newton systems of the interior-point method, for P with a factor or dense (`FactoredNewton`, `DenseNewton`).

The QP is to minimise ½xᵀPx + qᵀx subject to Ax = b and bounds on x (n,). With a factor, P = ZZᵀ + diag(d), Z (n, k),
and v = Zᵀx joins the unknowns: then no matrix of a system is larger than (k + p, k + p). With B = [Z, Aᵀ] (n, k + p),
R = diag(1_k, 0_p) and u = (v, y), the conditions of optimality are m + d∘x + q = f and Bᵀx − Ru = g, where m = Bu,
g = (0, b), and f collects the forces of the bounds. A Newton step with weights θ > 0 (the curvature of the bounds, plus
d) is

    (IPM.1)  θ∘dx + B du = ρ,  Bᵀdx − R du = −r,  r = Bᵀx − Ru − g
    (IPM.2)  (R + BᵀD B) du = BᵀDρ + r,  dx = D(ρ − B du),  D = diag(1/θ)

(IPM.2) costs O(n (k + p)²) for BᵀDB, which is accumulated over chunks of rows; besides B, which is stored dense in
chunks or sparse (`build_columns`), it needs memory for one chunk. One system is factored per iteration.
Without a factor, (P + diag(θ)) takes the place of diag(θ) and u = y:

    (IPM.3)  H dx + Aᵀdy = ρ − γAᵀr,  A dx = −r,  H = P + diag(θ) + γAᵀA:  A H⁻¹Aᵀ dy = A H⁻¹(ρ − γAᵀr) + r

whose solution does not depend on γ; γ > 0 gives curvature to variables that only the equality rows determine.

Source: Ferris & Munson (2002), *Interior-point methods for massive support vector machines*; Fine & Scheinberg (2001).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.solvers.shared.cholesky import Cholesky

#: Entries of B per chunk: 256 kB, so that a chunk and its scaled copy stay in a core's second-level cache.
CHUNK_ENTRIES = 32_768
#: Minimal number of rows per chunk, however many columns B has.
MIN_CHUNK_ROWS = 512
#: Columns up to which BᵀDB is cheaper as a general product (DB)ᵀB than as a symmetric one (√D B)ᵀ(√D B), whose BLAS
#: kernels need wide matrices: 0.15 against 0.23 ms at 3000 x 30, 0.85 against 0.70 at 5000 x 50.
MAX_GENERAL_WIDTH = 40
#: A pair of nonzeros in a row costs as much as about this many multiplications in the dense product (1.3 ns to 0.03).
PAIR_COST = 40
#: Limit of the stored pairs: 12 bytes each, 600 MB in total.
MAX_ROW_PAIRS = 50_000_000


class NewtonSolver(Protocol):
    """Solver of a Newton system (IPM.1): `factorise` once per iteration, `solve` for each right-hand side."""

    residual: FloatArray  # r
    needs_refinement: bool  # whether to refine solutions; the caller sets it when the residual grows

    def factorise(self, theta: FloatArray, rho: FloatArray, x: FloatArray, u: FloatArray) -> None:
        """Factorise the matrix for θ (n,), and compute r at x (n,), u. ρ (n,) is the right-hand side solved first."""

    def update_residual(self, x: FloatArray, u: FloatArray) -> None:
        """Compute r at x (n,), u, without a new factor."""

    def solve(self, rho: FloatArray, with_residual: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return dx (n,), du and dm = B du (n,) for ρ (n,) and r; r is taken as 0 if not `with_residual`."""

    def compute_quadratic_term(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """Return ½xᵀPx without the term of d, at x (n,), u and the coupled gradient m (n,)."""

    def compute_coupled_gradient(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return m (n,) at x (n,), u: the gradient of the Lagrangian without q, d∘x and f, which are separable."""


class FactoredNewton:
    """Solver of (IPM.2), for P = ZZᵀ + diag(d); B = [Z, Aᵀ] (n, k + p), with k columns in Z, and g (k + p,)."""

    def __init__(self, B: NewtonColumns, k: int, g: FloatArray) -> None:
        self._B = B
        self._g = g
        self._R = np.where(np.arange(len(g)) < k, 1.0, 0.0)  # the diagonal of R
        self.residual = np.zeros(len(g))
        self.needs_refinement = False

    def factorise(self, theta: FloatArray, rho: FloatArray, x: FloatArray, u: FloatArray) -> None:
        """Factorise R + BᵀDB, and compute BᵀDρ and Bᵀx, in one pass over B."""
        self._D = 1.0 / theta
        M, BTx, BTDrho = self._B.build_normal_equations(self._D, x, rho)
        M.flat[:: len(M) + 1] += self._R
        self.residual = BTx - self._R * u - self._g
        self._first_rho = rho  # `solve` recognises this array, and does not compute its BᵀDρ again
        self._first_BTDrho = BTDrho
        self._M = Cholesky(M)

    def update_residual(self, x: FloatArray, u: FloatArray) -> None:
        """Update the residual by one product with B."""
        self.residual = self._B.multiply_transposed(x) - self._R * u - self._g

    def solve(self, rho: FloatArray, with_residual: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve (IPM.2): two products with B, one if ρ is that of `factorise`, and three more with refinement."""
        BTDrho = self._first_BTDrho if rho is self._first_rho else self._B.multiply_transposed(self._D * rho)
        r = self.residual if with_residual else 0.0
        du = self._M.solve(BTDrho + r)
        dm = self._B.multiply(du)
        dx = rho - dm
        dx *= self._D
        if not self.needs_refinement:
            return dx, du, dm
        # refine (IPM.1) as a whole, because D may be 1e12 and multiply rounding errors
        rho_error = rho - dm - dx / self._D
        r_error = r + self._B.multiply_transposed(dx) - self._R * du
        du_change = self._M.solve(self._B.multiply_transposed(self._D * rho_error) + r_error)
        dm_change = self._B.multiply(du_change)
        return dx + self._D * (rho_error - dm_change), du + du_change, dm + dm_change

    def compute_quadratic_term(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """Return ½‖Zᵀx‖², with Zᵀx = v + r_v."""
        del x, m
        ZTx = self._R * (u + self.residual)  # padded with zeros for the rows of A
        return 0.5 * float(ZTx @ ZTx)

    def compute_coupled_gradient(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return Bu: (n,). x enters only through v = Zᵀx, a part of u."""
        del x
        return self._B.multiply(u)


class DenseNewton:
    """Solver of (IPM.3), for a dense P (n, n) of moderate size, A (p, n) and b (p,)."""

    def __init__(self, P: FloatArray, A: FloatArray, b: FloatArray) -> None:
        self._P = P
        self._A = A
        self._b = b
        trace = float(np.vdot(A, A))  # of AᵀA: γ gives γAᵀA the trace of P
        self._gamma = (float(P.trace()) or 1.0) / trace if trace else 0.0
        self._augmented = P + self._gamma * (A.T @ A) if len(A) else P
        self.residual = np.zeros(len(b))
        self.needs_refinement = False

    def factorise(self, theta: FloatArray, rho: FloatArray, x: FloatArray, u: FloatArray) -> None:
        """Factorise H and its Schur complement A H⁻¹Aᵀ by Cholesky."""
        del rho
        H = self._augmented.copy()
        H.flat[:: len(H) + 1] += theta
        self._H = Cholesky(H)
        self.update_residual(x, u)
        self._H_inverse_AT = self._H.solve(self._A.T) if len(self._A) else self._A.T
        self._schur_complement = Cholesky(self._A @ self._H_inverse_AT)

    def update_residual(self, x: FloatArray, u: FloatArray) -> None:
        """Update the residual A x − b."""
        del u
        self.residual = self._A @ x - self._b

    def solve(self, rho: FloatArray, with_residual: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve (IPM.3)."""
        r = self.residual if with_residual else np.zeros(len(self._b))
        dx = self._H.solve(rho - self._gamma * (r @ self._A))
        dy = self._schur_complement.solve(self._A @ dx + r)
        dx -= self._H_inverse_AT @ dy
        return dx, dy, self.compute_coupled_gradient(dx, dy)

    def compute_quadratic_term(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """Return ½xᵀ(m − Aᵀy)."""
        return 0.5 * float(x @ m - u @ (self._A @ x))

    def compute_coupled_gradient(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return Px + Aᵀy: (n,)."""
        return self._P @ x + u @ self._A


def build_columns(Z: Matrix, A: FloatArray, center: FloatArray) -> NewtonColumns:
    """Store B = [Z − AᵀW, Aᵀ] in the cheaper way: Z (n, k), A (p, n), W = center (p, k), 0 if Z is sparse."""
    Z = choose_storage(Z)
    return SparseColumns(Z, A) if sp.issparse(Z) else DenseColumns(Z, A, center)


def choose_storage(Z: Matrix) -> Matrix:
    """Return Z (n, k) as CSR, or dense if sparse products would cost more."""
    if not sp.issparse(Z):
        return Z
    Z = sp.csr_array(Z)
    if not Z.has_canonical_format:
        Z = Z.copy()
        Z.sum_duplicates()
    n, k = Z.shape
    lengths = np.diff(Z.indptr).astype(np.float64)
    pairs = float(lengths @ (lengths + 1)) / 2
    sparse_is_cheaper = pairs <= MAX_ROW_PAIRS and PAIR_COST * pairs <= n * k * k / 2
    return Z if sparse_is_cheaper else Z.toarray(order="F")  # the memory order of the chunks


class NewtonColumns(Protocol):
    """The products with B (n, k + p) that a Newton system needs."""

    def multiply(self, u: FloatArray) -> FloatArray:
        """Return Bu: (n,)."""

    def multiply_transposed(self, a: FloatArray) -> FloatArray:
        """Return Bᵀa: (k + p,)."""

    def build_normal_equations(
        self, D: FloatArray, x: FloatArray, rho: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the parts of (IPM.2): BᵀDB (k + p, k + p), Bᵀx and BᵀDρ (k + p,), for D, x, ρ (n,)."""


class DenseColumns:
    """B stored as chunks (k + p, rows), in which scaling by D reads contiguous memory.

    Z (n, k), A (p, n), center (p, k): The parts of B = [Z − AᵀW, Aᵀ], with W = center.
    """

    def __init__(self, Z: FloatArray, A: FloatArray, center: FloatArray) -> None:
        n, k = Z.shape
        self._n = n
        self._width = k + len(A)
        step = max(MIN_CHUNK_ROWS, CHUNK_ENTRIES // max(self._width, 1))
        self._parts = [slice(i, min(n, i + step)) for i in range(0, n, step)]
        self._chunks = []
        for part in self._parts:
            if not len(A):
                self._chunks.append(np.ascontiguousarray(Z[part].T))  # a view if Z[part].T is contiguous
                continue
            chunk = np.concatenate([Z[part].T, A[:, part]])
            if center.any():
                chunk[:k] -= center.T @ A[:, part]
            self._chunks.append(chunk)
        self._scaled = np.empty((self._width, min(step, n)))

    def multiply(self, u: FloatArray) -> FloatArray:
        """Return Bu: (n,)."""
        if len(self._chunks) == 1:
            product: FloatArray = u @ self._chunks[0]
            return product
        out = np.empty(self._n)
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            np.matmul(u, chunk, out=out[part])
        return out

    def multiply_transposed(self, a: FloatArray) -> FloatArray:
        """Return Bᵀa: (k + p,)."""
        if len(self._chunks) == 1:
            return self._chunks[0] @ a
        out = np.zeros(self._width)
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            out += chunk @ a[part]
        return out

    def build_normal_equations(
        self, D: FloatArray, x: FloatArray, rho: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute BᵀDB, Bᵀx and BᵀDρ in one pass over the chunks."""
        is_general = self._width <= MAX_GENERAL_WIDTH
        weights = D if is_general else np.sqrt(D)
        if len(self._chunks) == 1:
            (chunk,) = self._chunks
            scaled = np.multiply(chunk, weights, out=self._scaled)
            return scaled @ (chunk if is_general else scaled).T, chunk @ x, chunk @ (D * rho)
        vectors = np.stack([x, D * rho])
        M = np.zeros((self._width, self._width))
        products = np.zeros((2, self._width))
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            products += vectors[:, part] @ chunk.T
            scaled = np.multiply(chunk, weights[part], out=self._scaled[:, : chunk.shape[1]])
            M += scaled @ (chunk if is_general else scaled).T
        return M, products[0], products[1]


class SparseColumns:
    """B = [Z, Aᵀ] with Z (n, k) in CSR and A (p, n): the products of pairs of nonzeros in a row of Z are stored.

    Entry (i, j) of ZᵀDZ is Σ_r D_r Z_ri Z_rj: a sparse matrix of all products Z_ri Z_rj, (k(k+1)/2, n), times D.
    """

    def __init__(self, Z: Matrix, A: FloatArray) -> None:
        self._Z = Z
        self._ZT = sp.csr_array(Z.T)
        self._A = A
        self._k = Z.shape[1]
        self._pairs = compute_row_pairs(Z)
        self._upper = np.triu_indices(self._k)

    def multiply(self, u: FloatArray) -> FloatArray:
        """Return Bu: (n,)."""
        out: FloatArray = self._Z @ u[: self._k]
        if len(self._A):
            out += u[self._k :] @ self._A
        return out

    def multiply_transposed(self, a: FloatArray) -> FloatArray:
        """Return Bᵀa: (k + p,)."""
        return np.concatenate([self._ZT @ a, self._A @ a])

    def build_normal_equations(
        self, D: FloatArray, x: FloatArray, rho: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute BᵀDB, Bᵀx and BᵀDρ."""
        k = self._k
        M = np.zeros((k + len(self._A), k + len(self._A)))
        M[self._upper] = self._pairs @ D
        AD = self._A * D
        M[:k, k:] = self._ZT @ AD.T
        M[k:, k:] = AD @ self._A.T
        lower = np.tril_indices(len(M), -1)
        M[lower] = M.T[lower]
        return M, self.multiply_transposed(x), self.multiply_transposed(D * rho)


def compute_row_pairs(Z: Matrix) -> Matrix:
    """Return the products Z_ri Z_rj of the nonzeros per row of Z (n, k): CSR (k(k + 1)/2, n), ordered as by `triu`."""
    n, k = Z.shape
    lengths = np.diff(Z.indptr)
    values = [np.zeros(0)]
    positions = [np.zeros(0, dtype=np.int64)]
    rows = [np.zeros(0, dtype=np.int64)]
    for length in np.unique(lengths[lengths > 0]):
        rows_of_length = np.flatnonzero(lengths == length)
        entries = Z.indptr[rows_of_length][:, None] + np.arange(length)
        first, second = np.triu_indices(length)
        columns = Z.indices[entries].astype(np.int64)
        data = Z.data[entries]
        i, j = columns[:, first], columns[:, second]
        positions.append((i * (2 * k - i - 1) // 2 + j).ravel())
        values.append((data[:, first] * data[:, second]).ravel())
        rows.append(np.repeat(rows_of_length, len(first)))
    triplets = (np.concatenate(values), (np.concatenate(positions), np.concatenate(rows)))
    return sp.csr_array(triplets, shape=(k * (k + 1) // 2, n))
