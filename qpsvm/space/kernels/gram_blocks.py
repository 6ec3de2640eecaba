"""Compute a Gram matrix K in blocks, or read them from the full matrix if that is cached (`GramBlocks`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import as_read_only, freeze
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.workers import run_tiles, split_strips

#: Rows of one block of a product: 256 × 512 entries of eight bytes fit in the second-level cache. (With smaller ones,
#: more time is spent between calls, when no other thread can run.)
STRIP_ROWS = 256
#: An array for a growing matrix is allocated with this many times the rows that are needed.
GROWTH = 1.25
#: Seconds to copy a number to newly allocated memory.
COPY_SECONDS = 5e-10


class GramBlocks:
    """A symmetric matrix K (n, n) that is computed in blocks.

    A public method reads the full matrix if that is cached, else calls the private one of the same name. Subclasses
    define `_compute_diagonal` and `_compute_block`, and the other private methods where there is a faster way.

    n, width: The number of rows, and that of the features of a sample, on which the time for an entry depends.
    full_matrix (n, n): The cached full matrix; None if it is not known.
    allows_single: Whether `rough` entries may be computed in single precision (relative error about 1e-6).
    low_rank_factor (n, r): L with K = LLᵀ up to rounding, if `find_low_rank_factor` has found it; else None.
    """

    def __init__(self, n: int, width: int, full_matrix: FloatArray | None = None) -> None:
        self.n, self.width = n, width
        self.full_matrix: FloatArray | None = None if full_matrix is None else as_read_only(full_matrix)
        self.allows_single = False
        self.low_rank_factor: FloatArray | None = None

    def compute_diagonal(self, rows: IntArray) -> FloatArray:
        """Compute K_ii of some rows: (r,)."""
        if self.full_matrix is not None:
            return np.asarray(self.full_matrix.diagonal()[rows])
        return self._compute_diagonal(rows)

    def compute_full_matrix(self) -> FloatArray:
        """Compute and cache the full matrix, (n, n) float64."""
        if self.full_matrix is None:
            self.full_matrix = freeze(self._compute_full_matrix())
        return self.full_matrix

    def compute_block(self, rows: IntArray, columns: IntArray, rough: bool = False) -> NDArray[Any]:
        """Compute K[rows][:, columns]: (r, c) float64, or float32 if `rough` and accurate enough."""
        if self.full_matrix is not None:
            return self.full_matrix[rows[:, None], columns]
        return self._compute_block(rows, columns, rough)

    def compute_symmetric(
        self, rows: IntArray | None, rough: bool = False, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Compute K[rows][:, rows], (r, r), in `out` or a new array; all rows if None; `rough`: see `compute_block`."""
        if self.full_matrix is None:
            return self._compute_symmetric(rows, rough, out)
        rows = np.arange(self.n) if rows is None else rows
        return self.full_matrix[rows[:, None], rows]

    def grow_symmetric(self, K: NDArray[Any], rows: IntArray, added: IntArray, rough: bool = False) -> NDArray[Any]:
        """Extend K over `rows`, (r, r), to K over `rows` followed by `added`, (r + a, r + a).

        If K is the leading block of an array that is large enough, this array is used; else a larger one is allocated.
        """
        r = len(rows)
        all_rows = np.concatenate([rows, added])
        m = len(all_rows)
        out = K if K.base is None else K.base
        fits = out.ndim == 2 and min(out.shape) >= m and out.flags.writeable and out.flags.c_contiguous
        if not fits or K.strides != out.strides or not np.may_share_memory(out[:1, :1], K[:1, :1]):
            out = np.empty((int(GROWTH * m),) * 2, dtype=K.dtype)

            def copy(strip: slice) -> None:
                out[strip, :r] = K[strip]

            run_tiles(copy, split_strips(r, STRIP_ROWS), COPY_SECONDS * r * r)
        if self.full_matrix is None:
            self._grow_symmetric(out, all_rows, r, rough)
        else:  # not the faster way of a subclass, as entries are read
            GramBlocks._grow_symmetric(self, out, all_rows, r, rough)
        return out[:m, :m]

    def compute_product(
        self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool = False
    ) -> FloatArray:
        """Compute Σ_j weights_j K_ij over j in `support` for i in `rows`: (r,); `rough`: see `compute_block`."""
        if not len(support) or not len(rows):
            return np.zeros(len(rows))
        if self.full_matrix is None:
            return self._compute_product(support, weights, rows, rough)
        out = np.zeros(len(rows))
        if len(rows) == self.n:
            for strip in split_strips(len(support), STRIP_ROWS):
                out += np.dot(weights[strip], self.full_matrix[support[strip]])
            return out[rows]
        for strip in split_strips(len(rows), STRIP_ROWS):
            out[strip] = np.dot(self.full_matrix[rows[strip][:, None], support], weights)
        return out

    def fill_rows(self, out: NDArray[np.float32], start: int) -> None:
        """Fill `out` (r, n) with r rows of K from `start` on, in single precision."""
        if self.full_matrix is None:
            self._fill_rows(out, start)
        else:
            out[...] = self.full_matrix[start : start + len(out)]

    def _compute_diagonal(self, rows: IntArray) -> FloatArray:
        raise NotImplementedError

    def _compute_block(self, rows: IntArray, columns: IntArray, rough: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _compute_full_matrix(self) -> FloatArray:
        return self._compute_symmetric(None, False, None)

    def _compute_symmetric(self, rows: IntArray | None, rough: bool, out: NDArray[Any] | None) -> NDArray[Any]:
        rows = np.arange(self.n) if rows is None else rows
        K = self._compute_block(rows, rows, rough)
        if out is None:
            return K
        out[...] = K
        return out

    def _grow_symmetric(self, out: NDArray[Any], rows: IntArray, start: int, rough: bool) -> None:
        """Write K over `rows` to the leading block of an array that has it over rows[:start]."""
        m = len(rows)
        out[start:m, :m] = self.compute_block(rows[start:], rows, rough)
        out[:start, start:m] = out[start:m, :start].T

    def _compute_product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool) -> FloatArray:
        return np.asarray(self._compute_block(rows, support, rough) @ weights)

    def _fill_rows(self, out: NDArray[np.float32], start: int) -> None:
        rows = np.arange(start, start + len(out))
        columns = np.arange(self.n)
        for strip in split_strips(len(rows), STRIP_ROWS):
            out[strip] = self._compute_block(rows[strip], columns, True)
