"""The columns B = [Z, Aᵀ] of `interior_point`, touched by products alone: dense in chunks of rows, or sparse."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix

#: Numbers of B in a chunk: 256 kB, so that a chunk and its scaled copy stay in a core's second-level cache.
CHUNK_NUMBERS = 32_768
#: Columns up to which BᵀDB costs less as a product (DB)ᵀB than as the half (√D B)ᵀ(√D B) of a symmetric one, whose
#: BLAS kernels want wide matrices: 0.15 against 0.23 ms at 3000 x 30, 0.85 against 0.70 at 5000 x 50.
MOST_GENERAL = 40
#: Share of non-zeros from which a sparse Z is treated as dense: vector products cost 1.2 ns a non-zero, 0.1 ns dense.
DENSE_SHARE = 0.08
#: The same where Z is larger than a core's own caches (4 MB): a dense number costs 0.3 to 0.6 ns, a non-zero 0.8.
DENSE_SHARE_OUTSIDE, CACHED_NUMBERS = 0.25, 500_000
#: Rows are gathered for BᵀDB where less than this share of them is wanted.
GATHERED_SHARE = 0.7
#: A pair of non-zeros in a row costs about this many multiplications of the dense Gram matrix (1.3 ns against 0.03).
PAIR_COST = 40
#: Numbers up to which a sparse Z that does not pay is made dense at once, not by chunks: 8 MB.
SMALL_NUMBERS = 1_000_000
#: Pairs that are kept at most: 12 bytes each, 600 MB.
MOST_PAIRS = 50_000_000


class Columns(Protocol):
    """B (n, k + p), touched only through these products."""

    exact: bool  # whether the last `normal` left nothing out

    def times(self, u: FloatArray) -> FloatArray:
        """B u: (n,)."""

    def transposed_times(self, a: FloatArray) -> FloatArray:
        """Bᵀa: (k + p,)."""

    def normal(
        self, D: FloatArray, x: FloatArray, rho: FloatArray, spare: float = 0.0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """BᵀDB, (k + p, k + p), Bᵀx and BᵀDρ, (k + p,), for D, x, ρ (n,).

        Rows may be left out of ZᵀDZ if their terms together have a trace of at most `spare`. That trace is put back,
        evenly over the diagonal.
        """


class DenseColumns:
    """B kept as chunks (k + p, rows), in which scaling by D runs along the memory.

    Z (n, k): Copied into the chunks.
    A (p, n)
    center (p, k): W: the chunks hold Z − AᵀW.
    """

    def __init__(self, Z: Matrix, A: FloatArray, center: FloatArray) -> None:
        n, k = Z.shape
        width = k + len(A)
        step = max(512, CHUNK_NUMBERS // max(width, 1))
        self._n, self._k, self._width, self.exact = n, k, width, True
        self._sizes: FloatArray | None = None  # ‖z_i‖², once it is asked for
        self._parts = [slice(i, min(n, i + step)) for i in range(0, n, step)]
        self._chunks = []
        for part in self._parts:
            if not len(A) and not sp.issparse(Z):
                self._chunks.append(np.ascontiguousarray(Z[part].T))  # shared, where it has that order
                continue
            chunk = np.empty((width, part.stop - part.start))
            if sp.issparse(Z):
                _scatter(Z, part, chunk[:k])
            else:
                chunk[:k] = Z[part].T
            chunk[k:] = A[:, part]
            if center.any():
                chunk[:k] -= center.T @ A[:, part]
            self._chunks.append(chunk)
        self._scaled = np.empty((width, min(step, n)))

    def times(self, u: FloatArray) -> FloatArray:
        """B u: (n,)."""
        if len(self._chunks) == 1:
            only: FloatArray = u @ self._chunks[0]
            return only
        out = np.empty(self._n)
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            np.matmul(u, chunk, out=out[part])
        return out

    def transposed_times(self, a: FloatArray) -> FloatArray:
        """Bᵀa: (k + p,)."""
        if len(self._chunks) == 1:
            return self._chunks[0] @ a
        out = np.zeros(self._width)
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            out += chunk @ a[part]
        return out

    def normal(
        self, D: FloatArray, x: FloatArray, rho: FloatArray, spare: float = 0.0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """BᵀDB, Bᵀx and BᵀDρ, from one pass over the chunks."""
        if len(self._chunks) == 1 and self._width <= MOST_GENERAL:
            (chunk,) = self._chunks
            scaled = np.multiply(chunk, D, out=self._scaled)
            return scaled @ chunk.T, chunk @ x, scaled @ rho
        M, (Bx, BDrho) = self.gram(D, spare, np.stack([x, D * rho]))
        return M, Bx, BDrho

    def gram(self, D: FloatArray, spare: float, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """BᵀDB, with its `spare`, and right @ B for `right` (r, n)."""
        width, k, general = self._width, self._k, self._width <= MOST_GENERAL
        kept, mean = (None, 0.0) if general else self._kept(D, spare)
        weights = D if general else np.sqrt(D)
        M, products, rows = np.zeros((width, width)), np.zeros((len(right), width)), np.zeros((width - k, width))
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            products += right[:, part] @ chunk.T
            if kept is None:
                scaled = np.multiply(chunk, weights[part], out=self._scaled[:, : chunk.shape[1]])
                M += scaled @ (chunk if general else scaled).T
                continue
            scaled = chunk[:, np.flatnonzero(kept[part])]
            scaled *= weights[part][kept[part]]
            M += scaled @ scaled.T
            rows += (chunk[k:] * D[part]) @ chunk.T
        if kept is not None:
            M.ravel()[: k * width : width + 1] += mean  # what was left out, as if it were the same in all directions
            M[k:], M[:, k:] = rows, rows.T  # the rows of A have no identity beside them: nothing is left out there
        self.exact = kept is None
        return M, products

    def _kept(self, D: FloatArray, spare: float) -> tuple[NDArray[np.bool_] | None, float]:
        """The rows of Z but for the lightest, with Σ D_i‖z_i‖² ≤ spare, and that sum over k; None where all stay."""
        if spare <= 0.0:
            return None, 0.0
        if self._sizes is None:
            self._sizes = np.concatenate([np.einsum("ij,ij->j", Z, Z) for Z in (c[: self._k] for c in self._chunks)])
        weights = D * self._sizes
        ordered = np.sort(weights)
        sums = np.cumsum(ordered)
        left_out = min(int(np.searchsorted(sums, spare)), self._n - 1)
        if left_out < (1.0 - GATHERED_SHARE) * self._n:
            return None, 0.0
        return weights >= ordered[left_out], float(sums[left_out - 1]) / self._k


def _scatter(Z: Matrix, part: slice, chunk: FloatArray) -> None:
    """The rows `part` of Z (n, k), canonical CSR, as the columns of `chunk` (k, rows)."""
    ends = Z.indptr[part.start : part.stop + 1]
    entries = slice(ends[0], ends[-1])
    chunk[:] = 0.0
    chunk[Z.indices[entries], np.repeat(np.arange(len(ends) - 1), np.diff(ends))] = Z.data[entries]


class SparseColumns:
    """B with a sparse Z: ZᵀDZ by the products of pairs of non-zeros in a row, which are formed once.

    Entry (i, j) of ZᵀDZ is Σ_r D_r Z_ri Z_rj: a sparse matrix of all products Z_ri Z_rj, (k(k+1)/2, n), times D.

    Z (n, k)
    A (p, n)
    dense: The same columns, where BᵀDB costs less by these: then only products with vectors are sparse.
    """

    def __init__(self, Z: Matrix, A: FloatArray, dense: DenseColumns | None = None) -> None:
        self._k, self.exact = Z.shape[1], True
        self._Z, self._ZT, self._A = Z, sp.csr_array(Z.T), A
        self._dense = dense
        if dense is None:
            self._pairs = row_pairs(Z)
            self._upper = np.triu_indices(self._k)

    def times(self, u: FloatArray) -> FloatArray:
        """B u: (n,)."""
        out: FloatArray = self._Z @ u[: self._k]
        if len(self._A):
            out += u[self._k :] @ self._A
        return out

    def transposed_times(self, a: FloatArray) -> FloatArray:
        """Bᵀa: (k + p,)."""
        return np.concatenate([self._ZT @ a, self._A @ a])

    def normal(
        self, D: FloatArray, x: FloatArray, rho: FloatArray, spare: float = 0.0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """BᵀDB, Bᵀx and BᵀDρ."""
        if self._dense is None:
            M = self._paired(D)
        else:
            M, _ = self._dense.gram(D, spare, np.zeros((0, len(D))))
            self.exact = self._dense.exact
        return M, self.transposed_times(x), self.transposed_times(D * rho)

    def _paired(self, D: FloatArray) -> FloatArray:
        """BᵀDB from the pairs."""
        k = self._k
        M = np.zeros((k + len(self._A), k + len(self._A)))
        M[self._upper] = self._pairs @ D
        weighted = self._A * D
        M[:k, k:] = self._ZT @ weighted.T
        M[k:, k:] = weighted @ self._A.T
        lower = np.tril_indices(len(M), -1)
        M[lower] = M.T[lower]
        return M


def row_pairs(Z: Matrix) -> Matrix:
    """The products of pairs of non-zeros in each row of Z (n, k), as CSR (k(k + 1)/2, n) in the order of `triu`."""
    n, k = Z.shape
    lengths = np.diff(Z.indptr)
    values, places, rows = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for length in np.unique(lengths[lengths > 0]):
        which = np.flatnonzero(lengths == length)
        entries = Z.indptr[which][:, None] + np.arange(length)
        first, second = np.triu_indices(length)
        columns, data = Z.indices[entries].astype(np.int64), Z.data[entries]
        i, j = columns[:, first], columns[:, second]
        places.append((i * (2 * k - i - 1) // 2 + j).ravel())
        values.append((data[:, first] * data[:, second]).ravel())
        rows.append(np.repeat(which, len(first)))
    triplets = (np.concatenate(values), (np.concatenate(places), np.concatenate(rows)))
    return sp.csr_array(triplets, shape=(k * (k + 1) // 2, n))


def small_dense(Z: Matrix) -> Matrix:
    """Z (n, k), dense if it is sparse but small and full enough to be better so."""
    if sp.issparse(Z) and Z.shape[0] * Z.shape[1] <= SMALL_NUMBERS and not _pays(Z):
        return Z.toarray(order="F")  # the order of the chunks
    return Z


def as_columns(Z: Matrix, A: FloatArray, center: FloatArray) -> Columns:
    """The cheaper representation of B = [Z, Aᵀ], Z (n, k) dense or sparse, A (p, n), less AᵀW for W = center (p, k)."""
    if not sp.issparse(Z):
        return DenseColumns(Z, A, center)
    Z = sp.csr_array(Z)
    if not Z.has_canonical_format:
        Z = Z.copy()
        Z.sum_duplicates()
    if _pays(Z):
        return SparseColumns(Z, A)
    dense = DenseColumns(Z, A, center)
    share = DENSE_SHARE_OUTSIDE if Z.shape[0] * Z.shape[1] > CACHED_NUMBERS else DENSE_SHARE
    return SparseColumns(Z, A, dense) if Z.nnz <= share * Z.shape[0] * Z.shape[1] else dense


def _pays(Z: Matrix) -> bool:
    """Whether a sparse Z (n, k) pays by its zeros: in products with vectors, and in products of pairs."""
    n, k = Z.shape
    if Z.nnz > DENSE_SHARE * n * k:
        return False
    lengths = np.diff(sp.csr_array(Z).indptr).astype(np.float64)
    pairs = float(lengths @ (lengths + 1)) / 2
    return pairs <= MOST_PAIRS and PAIR_COST * pairs <= n * k * k / 2
