"""Compute the decision values of several machines from shared kernel values (`ScoreFunctions`).

    (SCORES.1)  F = K(X, S) Aᵀ + 1bᵀ:  (m, P) for m samples, support vectors S (s, d), coefficients A (P, s), b (P,)
    (SCORES.2)  F = X Wᵀ + 1bᵀ  for a linear kernel, with W (P, d)
    (SCORES.3)  F_ij = K(X, S_i) D_{j−1, S_i}ᵀ + K(X, S_j) D_{i, S_j}ᵀ + b_ij  for classes i < j

In one-vs-one multiclass, the machine of classes i and j has coefficients only for their support vectors S_i and S_j. So
LIBSVM's matrix D (k − 1, s) holds the coefficients of all machines, and (SCORES.3) is k small products instead
of a large one with mostly zeros. X is processed in tiles of rows, so that the kernel values stay in the cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.base.resources.workers import run_tiles, split_strips
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.blocks import compute_tile_rows
from qpsvm.space.kernels.fixed_vectors import FixedVectors
from qpsvm.space.kernels.functions import LOWEST_EXPONENT, RBF, Kernel, Precomputed
from qpsvm.space.kernels.kernel_blocks import estimate_entry_seconds
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS

#: Threads are used if the estimated time is at least this long, since limiting BLAS to one thread takes some 0.1 ms.
MIN_THREADED_SECONDS = 5e-3


@dataclass(frozen=True, eq=False)
class ScoreFunctions:
    """Coefficients of several decision functions with shared support vectors.

    kernel: The kernel, with a number for every parameter.
    support (s,): Indices of the support vectors among the training rows; a precomputed kernel selects these columns.
    vectors (s, d): The support vectors.
    coef (P, s): A of (SCORES.1); or D (k − 1, s) of (SCORES.3).
    b (P,): Intercepts.
    w (P, d): Weights for a linear kernel; None for another kernel.
    class_boundaries (k + 1,): Where the support vectors of each class begin and end, if there is one function per pair
        of k > 2 classes, positive for the first class of the pair; None otherwise.
    """

    kernel: Kernel
    support: NDArray[Any]
    vectors: Matrix
    coef: FloatArray
    b: FloatArray
    w: FloatArray | None = None
    class_boundaries: IntArray | None = None

    def __call__(self, X: Matrix | RowSource) -> FloatArray:
        """Return the values of all functions at checked samples (m, d): (m, P). Raises DataError."""
        if isinstance(X, RowSource):
            return self._score_stream(X)
        if self.w is not None:  # (SCORES.2)
            values = np.asarray(X @ self.w.T)
            values += self.b
        else:
            values = self._score_by_kernel(X)
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():  # the sum is a fast first test
            raise DataError("decision values overflow: X has values too large for this kernel; rescale the features")
        return values

    def _score_stream(self, X: RowSource) -> FloatArray:
        """Evaluate the functions at the rows of a source, one block at a time: (m, P)."""
        if self.w is not None:
            return X.margins(np.ascontiguousarray(self.w.T)) + self.b
        return np.concatenate([self(tile.matrix) for block in X.blocks() for tile in block.iter_tiles()])

    def score_for_signs(self, X: Matrix | RowSource) -> FloatArray:
        """Evaluate the functions for their signs, (m, P): an |f| up to `value_floor` is noise, and f is set to 0."""
        values = self(X)
        if self.value_floor is not None:
            values[np.abs(values) <= self.value_floor] = 0.0
        return values

    def _score_by_kernel(self, X: Matrix) -> FloatArray:
        """Evaluate (SCORES.1) or (SCORES.3) at X (m, d), tile by tile: (m, P)."""
        m = X.shape[0]
        s = self.coef.shape[1]
        values = np.empty((m, len(self.b)))
        if not s:
            values[...] = self.b
            return values
        make_dense = sp.issparse(X) and not sp.issparse(self.vectors)
        tiles = split_strips(m, compute_tile_rows(max(s, X.shape[1]) if make_dense else s))

        def fill(tile: slice) -> None:
            samples = X[tile].toarray() if make_dense else X[tile]
            values[tile] = self._combine_values(self._compute_kernel_values(samples))

        is_thread_safe = isinstance(self.kernel, BUILT_IN_KERNELS)  # a third-party kernel need not be
        seconds = estimate_entry_seconds(X.shape[1]) * m * s if is_thread_safe else 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for overflow
            if seconds < MIN_THREADED_SECONDS:
                for tile in tiles:
                    fill(tile)
            else:
                with limit_blas_threads():
                    run_tiles(fill, tiles, seconds)
        values += self.b
        return values

    def _compute_kernel_values(self, X: Matrix) -> FloatArray:
        """Return the kernel values of samples X (r, d) with the support vectors: (r, s)."""
        if isinstance(self.kernel, Precomputed):  # X is a matrix of kernel values
            return np.asarray(X[:, self.support])
        return self._kernel_with_vectors(X)

    @cached
    def _kernel_with_vectors(self) -> FixedVectors:
        return FixedVectors(self.kernel, self.vectors)

    @cached
    def _pairs(self) -> PairSums | None:
        if self.class_boundaries is None:
            return None
        return PairSums(self.coef, self.class_boundaries)

    def _combine_values(self, K: FloatArray) -> FloatArray:
        """Return f − b of each function, from the kernel values K (r, s): (r, P)."""
        if self._pairs is None:
            return np.asarray(K @ self.coef.T)
        return self._pairs(K)

    def compute_weights(self) -> FloatArray:
        """Compute w for a linear kernel, as f − b at the d unit vectors: (P, d)."""
        return np.ascontiguousarray(self._combine_values(as_dense(self.vectors).T).T)

    @cached
    def value_floor(self) -> FloatArray | None:
        """Bound of |f − b| at a sample far from all support vectors, (P,), for an RBF kernel; None for another.

        Exponents below `LOWEST_EXPONENT` are raised to it, so f − b does not vanish there.
        """
        if not isinstance(self.kernel, RBF):
            return None
        sums = replace(self, coef=np.abs(self.coef))._combine_values(np.ones((1, self.coef.shape[1])))[0]  # Σ|coef|
        return np.asarray(math.exp(LOWEST_EXPONENT) * sums)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without cached values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class PairSums:
    """Multiply kernel values by LIBSVM's matrix of coefficients: (SCORES.3) without b.

    coef (k − 1, s): The coefficients D.
    class_boundaries (k + 1,): Where the support vectors of each class begin and end.
    """

    def __init__(self, coef: FloatArray, class_boundaries: IntArray) -> None:
        self.coef = coef
        self.class_slices = [slice(start, stop) for start, stop in pairwise(class_boundaries.tolist())]
        has_empty_class = not (np.diff(class_boundaries) > 0).all()  # `reduceat` does not allow empty sums
        self.starts = None if has_empty_class else class_boundaries[:-1]
        self.first, self.second = np.triu_indices(len(self.class_slices), 1)

    def __call__(self, K: FloatArray) -> FloatArray:
        """Return the sum for each pair of classes, from K (r, s): (r, P)."""
        first, second = self.first, self.second
        if len(K) == 1 and self.starts is not None:  # for one row, calls of `dot` take longer than the products
            sums = np.add.reduceat(K * self.coef, self.starts, axis=1)
            return np.asarray((sums[second - 1, first] + sums[first, second])[None, :])
        class_sums = np.empty((len(self.class_slices), len(K), len(self.coef)))
        for columns, out in zip(self.class_slices, class_sums, strict=True):
            np.dot(K[:, columns], self.coef[:, columns].T, out=out)
        return np.asarray((class_sums[first, :, second - 1] + class_sums[second, :, first]).T)
