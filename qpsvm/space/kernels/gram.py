"""Represent the Gram matrix of a kernel as an operator, computed in blocks on demand (`KernelGram`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from qpsvm.base.arrays.frozen import freeze, multiply
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.limits import BLOCK_NUMBERS, check_memory
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import RBF, Kernel
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS
from qpsvm.space.kernels.psd_rule import check_range, check_symmetric
from qpsvm.space.operators import Operator, scale_both_sides, scale_rows

#: Rows up to which a Gram matrix is kept once it has been made (10 000 rows are 800 MB).
CACHE_ROWS = 10_000
#: Of more rows than this, products do not make the whole matrix until they have evaluated as many entries.
SMALL_ROWS = 600
#: A product with less than this share of non-zeros gathers their rows: reading and writing them costs three passes.
GATHER_SHARE = 0.3
#: Seconds of a kernel value, and of each feature in it.
VALUE_SECONDS, FEATURE_SECONDS = 7e-9, 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class KernelGram(Operator):
    """S (K + offset) S with K_ij = K(x_i, x_j) and S = diag(scale), evaluated in blocks until someone needs it whole.

    kernel: With every parameter a number.
    X (n, d)
    offset: Added to every entry: 1 for a penalised intercept (a feature of ones behind φ).
    scale (n,): The labels, for the dual's Q_ij = y_i y_j K_ij.
    blocks: Where the values of K come from: shared by all operators over the same samples, with the one copy
        that is kept.
    """

    kernel: Kernel
    X: Matrix
    offset: float = 0.0
    scale: FloatArray | None = None
    blocks: KernelBlocks = field(default=cast("KernelBlocks", None))  # made below

    def __post_init__(self) -> None:
        if self.blocks is None:
            object.__setattr__(self, "blocks", KernelBlocks(self.kernel, self.X))

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.X.shape[0], self.X.shape[0]

    @property
    def cached_matrix(self) -> FloatArray | None:
        """K, (n, n), if it has been computed; else None."""
        return self.blocks.full_matrix

    def _cache_matrix(self) -> FloatArray | None:
        """Compute and cache K if it is small enough; return it, or None."""
        if self.blocks.full_matrix is None and self.shape[0] <= CACHE_ROWS:
            self.blocks.full_matrix = freeze(self._compute_matrix())
        return self.blocks.full_matrix

    def _compute_matrix(self) -> FloatArray:
        check_memory(*self.shape, "the Gram matrix")
        with np.errstate(over="ignore", invalid="ignore"):  # looked for below, and named
            K = self.blocks.compute_symmetric(None)
            bounded = self.blocks.is_fast or bool(np.isfinite(K[-1] @ K).all())
        if not isinstance(self.kernel, BUILT_IN_KERNELS):
            check_symmetric(K, f"the kernel {self.kernel}")
            K = self.blocks.symmetrise(K)
        if not bounded:
            check_range(K, str(self.kernel))
        return K

    def __matmul__(self, x: FloatArray) -> FloatArray:
        scaled = x if self.scale is None else scale_rows(self.scale, x)
        product = self._multiply(scaled)
        if self.offset:
            product += self.offset * scaled.sum(axis=0)
        return product if self.scale is None else scale_rows(self.scale, product)

    def _multiply(self, x: FloatArray) -> FloatArray:
        """K x, with as little of K as x has entries."""
        n = self.shape[0]
        support = (x if x.ndim == 1 else np.any(x, axis=1)).nonzero()[0]
        entries = n * len(support)
        streams = n > SMALL_ROWS and self.blocks.streamed + entries <= n * n  # as much as making K once
        matrix = self.blocks.full_matrix if streams else self._cache_matrix()
        if matrix is not None:
            gathered = x.ndim == 1 and len(support) < GATHER_SHARE * n
            product: FloatArray = x[support] @ matrix[support] if gathered else matrix @ x  # K = Kᵀ
            return product
        self.blocks.streamed += entries
        if not len(support):
            return np.zeros(x.shape)
        if x.ndim == 1:
            return self.blocks.product(support, x[support], np.arange(n))
        columns = self.X[support]
        step = max(BLOCK_NUMBERS // n, 1)
        parts = (self.X[i : i + step] for i in range(0, n, step))
        return np.concatenate([self.kernel(block, columns) @ x[support] for block in parts])

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        out = self.blocks.compute_block(rows, columns)
        if self.offset:
            out = out + self.offset
        if self.scale is not None:
            out *= self.scale[rows][:, None]
            out *= self.scale[columns]
        return out

    def diagonal(self) -> FloatArray:
        matrix = (
            None if isinstance(self.kernel, BUILT_IN_KERNELS) else self.blocks.full_matrix
        )  # a function knows no diagonal of its own
        diagonal = (self.kernel.diagonal(self.X) if matrix is None else matrix.diagonal()) + self.offset
        return diagonal if self.scale is None else diagonal * self.scale**2

    def mean_diagonal(self) -> float:
        plain = isinstance(self.kernel, RBF) and self.scale is None
        return 1.0 + self.offset if plain else super().mean_diagonal()

    def dense(self) -> FloatArray:
        matrix = self._cache_matrix()
        if matrix is None:
            matrix = self._compute_matrix()
        if self.offset:
            matrix = matrix + self.offset
        return matrix if self.scale is None else scale_both_sides(matrix, self.scale)

    def congruence(self, s: FloatArray) -> Operator:
        """Return the Gram matrix with other scales; it shares the cached copy."""
        scale = s if self.scale is None else multiply(s, self.scale)
        return KernelGram(self.kernel, self.X, self.offset, scale, self.blocks)

    def describe(self) -> str:
        state = "made" if self.blocks.full_matrix is not None else "made when needed"
        return f"Gram matrix of {self.kernel}, {state}"

    @property
    def nbytes(self) -> int:
        """8n² once made, 0 before."""
        return 0 if self.blocks.full_matrix is None else self.blocks.full_matrix.nbytes


def estimate_kernel_seconds(values: int, features: int) -> float:
    """Estimate the seconds of `values` kernel values over `features` features."""
    return values * (VALUE_SECONDS + FEATURE_SECONDS * features)
