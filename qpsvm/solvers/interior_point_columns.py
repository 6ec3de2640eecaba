"""The columns B = [Z, Aᵀ] of `interior_point`, touched by products alone: dense in chunks of rows, or sparse."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import FloatArray, Matrix

#: Numbers of B in a chunk: 256 kB, so that a chunk and its scaled copy stay in a core's second-level cache.
CHUNK_NUMBERS = 32_768
#: Share of non-zeros from which a sparse Z is treated as dense: vector products cost 1.2 ns a non-zero, 0.1 ns dense.
DENSE_SHARE = 0.08
#: A pair of non-zeros in a row costs about this many multiplications of the dense Gram matrix (1.3 ns against 0.03).
PAIR_COST = 40
#: Numbers up to which a sparse Z that does not pay is made dense at once, not by chunks: 8 MB.
SMALL_NUMBERS = 1_000_000
#: Pairs that are kept at most: 12 bytes each, 600 MB.
MOST_PAIRS = 50_000_000


class Columns(Protocol):
    """B (n, k + p), touched only through these products."""

    def times(self, u: FloatArray) -> FloatArray:
        """B u: (n,)."""

    def transposed_times(self, a: FloatArray) -> FloatArray:
        """Bᵀa: (k + p,)."""

    def normal(self, D: FloatArray, a: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """BᵀDB, (k + p, k + p), Bᵀa and Bᵀc, (k + p,), for D, a, c (n,)."""


class DenseColumns:
    """B kept as chunks (k + p, rows), in which scaling by D runs along the memory.

    Parameters
    ----------
    Z : ndarray or CSR, shape (n, k)
        Copied into the chunks.
    A : ndarray, shape (p, n)
    center : ndarray, shape (p, k)
        W: the chunks hold Z − AᵀW.
    """

    def __init__(self, Z: Matrix, A: FloatArray, center: FloatArray) -> None:
        n, k = Z.shape
        width = k + len(A)
        step = max(512, CHUNK_NUMBERS // max(width, 1))
        self._n, self._width = n, width
        self._parts = [slice(i, min(n, i + step)) for i in range(0, n, step)]
        self._chunks = []
        for part in self._parts:
            chunk = np.empty((width, part.stop - part.start))
            rows = Z[part]
            chunk[:k] = rows.toarray().T if sp.issparse(rows) else rows.T
            chunk[k:] = A[:, part]
            if center.any():
                chunk[:k] -= center.T @ A[:, part]
            self._chunks.append(chunk)
        self._scaled = np.empty((width, min(step, n)))

    def times(self, u: FloatArray) -> FloatArray:
        """B u: (n,)."""
        if len(self._chunks) == 1:
            return u @ self._chunks[0]
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

    def normal(self, D: FloatArray, a: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """BᵀDB, Bᵀa and Bᵀc, from one pass over the chunks."""
        root = np.sqrt(D)
        if len(self._chunks) == 1:
            (chunk,) = self._chunks
            scaled = np.multiply(chunk, root, out=self._scaled)
            return scaled @ scaled.T, chunk @ a, chunk @ c
        M, Ba, Bc = np.zeros((self._width, self._width)), np.zeros(self._width), np.zeros(self._width)
        for part, chunk in zip(self._parts, self._chunks, strict=True):
            scaled = np.multiply(chunk, root[part], out=self._scaled[:, : chunk.shape[1]])
            M += scaled @ scaled.T
            Ba += chunk @ a[part]
            Bc += chunk @ c[part]
        return M, Ba, Bc


class SparseColumns:
    """B with a sparse Z: ZᵀDZ by the products of pairs of non-zeros in a row, which are formed once.

    Entry (i, j) of ZᵀDZ is Σ_r D_r Z_ri Z_rj: a sparse matrix of all products Z_ri Z_rj, (k(k+1)/2, n), times D.

    Parameters
    ----------
    Z : csr_array, shape (n, k)
    A : ndarray, shape (p, n)
    """

    def __init__(self, Z: Matrix, A: FloatArray) -> None:
        self._k = Z.shape[1]
        self._Z, self._ZT, self._A = Z, sp.csr_array(Z.T), A
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

    def normal(self, D: FloatArray, a: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """BᵀDB, Bᵀa and Bᵀc."""
        k = self._k
        M = np.zeros((k + len(self._A), k + len(self._A)))
        M[self._upper] = self._pairs @ D
        weighted = self._A * D
        M[:k, k:] = self._ZT @ weighted.T
        M[k:, k:] = weighted @ self._A.T
        lower = np.tril_indices(len(M), -1)
        M[lower] = M.T[lower]
        return M, self.transposed_times(a), self.transposed_times(c)


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
        return Z.toarray()
    return Z


def as_columns(Z: Matrix, A: FloatArray, center: FloatArray) -> Columns:
    """The cheaper representation of B = [Z, Aᵀ], Z (n, k) dense or sparse, A (p, n), less AᵀW for W = center (p, k)."""
    if not sp.issparse(Z) or not _pays(Z):
        return DenseColumns(Z, A, center)
    Z = sp.csr_array(Z)
    if not Z.has_canonical_format:
        Z = Z.copy()
        Z.sum_duplicates()
    return SparseColumns(Z, A)


def _pays(Z: Matrix) -> bool:
    """Whether a sparse Z (n, k) pays by its zeros: in products with vectors, and in products of pairs."""
    n, k = Z.shape
    if Z.nnz > DENSE_SHARE * n * k:
        return False
    lengths = np.diff(sp.csr_array(Z).indptr).astype(np.float64)
    pairs = float(lengths @ (lengths + 1)) / 2
    return pairs <= MOST_PAIRS and PAIR_COST * pairs <= n * k * k / 2
