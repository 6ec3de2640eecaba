"""Represent the Gram matrix of a kernel as an operator, computed in blocks on demand (`KernelGram`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.limits import BLOCK_NUMBERS, check_memory
from qpsvm.space.kernels.functions import RBF, Kernel
from qpsvm.space.kernels.kernel_blocks import KernelBlocks
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS
from qpsvm.space.kernels.psd_rule import check_range, check_symmetric
from qpsvm.space.operators import Operator, scale_both_sides, scale_rows

#: Largest number of rows for which a computed Gram matrix is cached (10 000 rows are 800 MB).
CACHE_ROWS = 10_000
#: With more rows, products do not compute the full matrix until they have evaluated as many entries as it has.
SMALL_ROWS = 600
#: If a smaller share of a vector is nonzero, a product uses a copy of their rows, which takes three passes over these.
GATHER_SHARE = 0.3
#: Estimated seconds of a kernel value without its features, and of each feature in it.
VALUE_SECONDS, FEATURE_SECONDS = 7e-9, 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class KernelGram(Operator):
    """S (K + offset) S with K_ij = K(x_i, x_j) and S = diag(scale), computed in blocks until the full matrix is needed.

    kernel: The kernel, with a number for every parameter.
    X (n, d): The samples.
    offset: Added to every entry: 1 for a penalised intercept, which is one more feature that is 1.
    scale (n,): The labels, for Q_ij = y_i y_j K_ij of the dual; None for ones.
    blocks: Computes values of K, and caches the full matrix; shared by all operators over the same samples.
    """

    kernel: Kernel
    X: Matrix
    offset: float = 0.0
    scale: FloatArray | None = None
    blocks: KernelBlocks = field(default=cast("KernelBlocks", None))  # set by `__post_init__`

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
        """Compute K, and check the values of a third-party kernel: (n, n)."""
        check_memory(*self.shape, "the Gram matrix")
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            K = self.blocks.compute_symmetric(None)
            is_finite = self.blocks.is_fast or bool(np.isfinite(K[-1] @ K).all())
        if not isinstance(self.kernel, BUILT_IN_KERNELS):
            check_symmetric(K, f"the kernel {self.kernel}")
            K = self.blocks.symmetrise(K)
        if not is_finite:
            check_range(K, str(self.kernel))
        return K

    def __matmul__(self, x: FloatArray) -> FloatArray:
        scaled = x if self.scale is None else scale_rows(self.scale, x)
        product = self._multiply(scaled)
        if self.offset:
            product += self.offset * scaled.sum(axis=0)
        if self.scale is None:
            return product
        return scale_rows(self.scale, product)

    def _multiply(self, x: FloatArray) -> FloatArray:
        """Return K x for x (n,) or (n, r), using only the rows of K at nonzero entries of x."""
        n = self.shape[0]
        support = (x if x.ndim == 1 else np.any(x, axis=1)).nonzero()[0]
        entries = n * len(support)
        is_cheap = n > SMALL_ROWS and self.blocks.streamed + entries <= n * n  # with all before, at most the full K
        K = self.blocks.full_matrix if is_cheap else self._cache_matrix()
        if K is not None:
            gathers_rows = x.ndim == 1 and len(support) < GATHER_SHARE * n
            product: FloatArray = x[support] @ K[support] if gathers_rows else K @ x  # K = Kᵀ
            return product
        self.blocks.streamed += entries
        if not len(support):
            return np.zeros(x.shape)
        if x.ndim == 1:
            return self.blocks.compute_product(support, x[support], np.arange(n))
        columns = self.X[support]
        step = max(BLOCK_NUMBERS // n, 1)
        blocks = (self.X[i : i + step] for i in range(0, n, step))
        return np.concatenate([self.kernel(block, columns) @ x[support] for block in blocks])

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        block = self.blocks.compute_block(rows, columns)
        if self.offset:
            block = block + self.offset
        if self.scale is not None:
            block *= self.scale[rows][:, None]
            block *= self.scale[columns]
        return block

    def diagonal(self) -> FloatArray:
        # a third-party kernel may have no fast diagonal
        if isinstance(self.kernel, BUILT_IN_KERNELS):
            matrix = None
        else:
            matrix = self.blocks.full_matrix
        diagonal = (self.kernel.diagonal(self.X) if matrix is None else matrix.diagonal()) + self.offset
        return diagonal if self.scale is None else diagonal * self.scale**2

    def mean_diagonal(self) -> float:
        is_constant = isinstance(self.kernel, RBF) and self.scale is None
        return 1.0 + self.offset if is_constant else super().mean_diagonal()

    def dense(self) -> FloatArray:
        matrix = self._cache_matrix()
        if matrix is None:
            matrix = self._compute_matrix()
        if self.offset:
            matrix = matrix + self.offset
        if self.scale is None:
            return matrix
        return scale_both_sides(matrix, self.scale)

    def congruence(self, s: FloatArray) -> Operator:
        """Return the operator with other scales, which shares the cached matrix."""
        scale = s if self.scale is None else multiply(s, self.scale)
        return KernelGram(self.kernel, self.X, self.offset, scale, self.blocks)

    def describe(self) -> str:
        state = "made" if self.blocks.full_matrix is not None else "made when needed"
        return f"Gram matrix of {self.kernel}, {state}"

    @property
    def nbytes(self) -> int:
        """Bytes of the cached matrix, 8n²; 0 if it is not cached."""
        if self.blocks.full_matrix is None:
            return 0
        return self.blocks.full_matrix.nbytes


def estimate_kernel_seconds(values: int, features: int) -> float:
    """Estimate the seconds of `values` kernel values over `features` features."""
    return values * (VALUE_SECONDS + FEATURE_SECONDS * features)
