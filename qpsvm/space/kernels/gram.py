"""Represent the Gram matrix of a kernel as an operator (`KernelGram`): blocks on demand, the full matrix once needed.

Gram matrices that are not positive semidefinite by construction: tested, and refused, clipped or shifted.

K₊, the positive part of an indefinite matrix: what its floats are made of, and how far they may be from it.

With K ≈ VΛVᵀ, all computed, and r_j ≥ ‖Kv_j − λ_jv_j‖:  whatever rounding has made of λ_j and v_j,

    (CLIP.1)  w = Σ c_iφ₊(x_i) with c = VVᵀβ over the kept columns is near w(α) = Σ β_iφ₊(x_i), ⟨φ₊(x_i), φ₊(x_j)⟩ = K₊
    (CLIP.2)  β − c = Σ a_jv_j + x + s, for any numbers a and any vector x of those v_j with λ_j near 0, so that
              ‖w − w(α)‖ ≤ Σ |a_j| ‖K₊^½v_j‖ + (‖x‖ ‖Kx‖)^½ + ‖K₊‖^½ ‖s‖
    (CLIP.3)  λ_j < 0:  ‖K₊^½v_j‖ ≤ r_j/(2√|λ_j|);  any λ_j ≤ 0:  ≤ √r_j;  λ_j > 0:  ≤ √(λ_j + 2r_j)

Derivation of (CLIP.3), ‖v_j‖ = 1: in K's own eigenvectors q, (λ(q) − λ_j)⟨q, v_j⟩ = ⟨q, Kv_j − λ_jv_j⟩. For
λ(q) > 0 ≥ λ_j the factor is at least λ(q), and at least 2√(λ(q)|λ_j|): sum λ(q)⟨q, v_j⟩². For λ_j > 0,
v_jᵀK₊v_j = v_jᵀKv_j + v_jᵀK₋v_j with K₋ = K₊ − K, and ‖K₋v_j‖ ≤ r_j in the same way. Of x in (CLIP.2):
xᵀK₊x ≤ ‖x‖ ‖K₊x‖ ≤ ‖x‖ ‖Kx‖, for all v_j near 0 at once, where the sum of their lengths is √n times as large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from scipy.linalg import eigh, lapack

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.arrays.frozen import as_read_only, cached, freeze, multiply
from qpsvm.base.arrays.rounding import FEW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import BLOCK_NUMBERS, check_memory
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import BUILT_IN_KERNELS, RBF, Kernel
from qpsvm.space.operators import Operator, find_largest_asymmetry, scale_both_sides, scale_rows


class PositivePart:
    """The positive part of a symmetric matrix.

    K (n, n): Each entry within a rounding of what it stands for.
    tolerance: Eigenvalues up to this are taken for 0.
    """

    def __init__(self, K: FloatArray, tolerance: float) -> None:
        self.K = as_read_only(K)
        self.values, self.vectors = freeze(eigh(K))
        self.positive_vectors = freeze(self.vectors[:, self.values > tolerance])
        self._tolerance = tolerance

    @property
    def matrix(self) -> FloatArray:
        """K₊ as computed: (n, n)."""
        found: FloatArray = (
            self.positive_vectors * self.values[self.values > self._tolerance]
        ) @ self.positive_vectors.T
        return found

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """c of (CLIP.1), (n,) or (n, k): f of new samples is Σ c_i K(x_i, x) + b.

        Twice: what is rounded the first time is as large as the rounding of β.
        """
        for _ in range(2):
            beta = self.positive_vectors @ (self.positive_vectors.T @ beta)
        return beta

    @cached
    def _lengths(self) -> FloatArray:
        """‖K₊^½v_j‖ of (CLIP.3) from above: (n,); NaN where λ_j is near 0."""
        left = self.K @ self.vectors
        left -= self.vectors * self.values
        r = np.linalg.norm(left, axis=0) + self._product_error
        below, kept = np.maximum(-self.values, 0.0), self.values > self._tolerance
        found = np.full(len(below), np.nan)
        np.sqrt(self.values + 2.0 * r, out=found, where=kept)
        np.divide(r, 2.0 * np.sqrt(below), out=found, where=4.0 * below > r)  # else √r is less
        return found * FEW

    @cached
    def _product_error(self) -> float:
        """Bound of the rounding error of K times a vector of length 1."""
        return gamma(2 * len(self.K) + 16) * float(np.linalg.norm(self.K))

    def bound_distance(self, coef: FloatArray, beta: FloatArray) -> float:
        """‖w − w(α)‖ of (CLIP.2) from above, for coefficients c and β: (n,) each."""
        n, difference = len(beta), beta - coef
        a, near = self.vectors.T @ difference, np.isnan(self._lengths)
        x, far = self.vectors @ np.where(near, a, 0.0), np.where(near, 0.0, a)
        rest = difference - x - self.vectors @ far
        size = float(np.linalg.norm(difference)) + float(np.linalg.norm(a))
        rounded = gamma(n + 8) * math.sqrt(n) * size + UNIT * float(np.linalg.norm(np.abs(beta) + np.abs(coef)))
        longest = math.sqrt(float(np.linalg.norm(self.K))) * FEW
        length = float(np.linalg.norm(x))
        distance = math.sqrt(length * (float(np.linalg.norm(self.K @ x)) + self._product_error * length)) * FEW
        distance += float(np.abs(far) @ np.where(near, 0.0, self._lengths))
        return (distance + longest * (float(np.linalg.norm(rest)) + rounded)) * FEW


#: Rows up to which a Gram matrix is kept once it has been made (10 000 rows are 800 MB).
CACHE_ROWS = 10_000
#: Of more rows than this, products do not make the whole matrix until they have evaluated as many entries.
SMALL_ROWS = 600
#: A product with less than this share of non-zeros gathers their rows: reading and writing them costs three passes.
GATHER_SHARE = 0.3
#: Relative difference of K and Kᵀ that may be rounding.
ASYMMETRY = 1e-8
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
        whole = self.blocks.full_matrix if streams else self._cache_matrix()
        if whole is not None:
            gathered = x.ndim == 1 and len(support) < GATHER_SHARE * n
            product: FloatArray = x[support] @ whole[support] if gathered else whole @ x  # K = Kᵀ
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
        whole = (
            None if isinstance(self.kernel, BUILT_IN_KERNELS) else self.blocks.full_matrix
        )  # a function knows no diagonal of its own
        diagonal = (self.kernel.diagonal(self.X) if whole is None else whole.diagonal()) + self.offset
        return diagonal if self.scale is None else diagonal * self.scale**2

    def mean_diagonal(self) -> float:
        plain = isinstance(self.kernel, RBF) and self.scale is None
        return 1.0 + self.offset if plain else super().mean_diagonal()

    def dense(self) -> FloatArray:
        whole = self._cache_matrix()
        if whole is None:
            whole = self._compute_matrix()
        if self.offset:
            whole = whole + self.offset
        return whole if self.scale is None else scale_both_sides(whole, self.scale)

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


def check_symmetric(K: FloatArray, what: str) -> None:
    """Check K = Kᵀ up to rounding. Raises DataError."""
    i, j, difference = find_largest_asymmetry(K)
    if difference > ASYMMETRY:
        raise DataError(
            f"{what} is not symmetric: entry ({i}, {j}) is {K[i, j]:.6g} and ({j}, {i}) is {K[j, i]:.6g}; "
            "a kernel has K(x, z) = K(z, x)"
        )


def check_range(K: FloatArray, what: str) -> None:
    """Check that K and its products are finite in double precision. Raises DataError."""
    largest = float(np.abs(K).max())
    if not largest < LARGEST_VALUE:
        raise DataError(f"the Gram matrix of {what} has entries up to {largest:.1e}, which overflow; standardise X")


Intercept = Literal["free", "penalised"] | None
PSDRule = Literal["raise", "clip", "shift"]


@dataclass(frozen=True, eq=False)
class TreatedGram:
    """A Gram matrix made positive semidefinite.

    gram, centred (n, n): As in `FeatureSpace`.
    positive_part or None: Where `gram` is the positive part of a matrix (psd="clip").
    shift: σ added to the diagonal (psd="shift").
    smallest_eigenvalue: The smallest eigenvalue where it matters, of a matrix that was clipped or shifted; else 0.
    with_ones: It is K + 1 that was treated: the penalised intercept is part of it.
    asymmetry: The largest change, relative to the largest entry, that made the kernel's own matrix symmetric.
    largest: A bound on the numbers that it was made of, of which much may have cancelled: |K_ij|, and 1 with
        ones.
    """

    gram: Operator
    centred: Operator
    positive_part: PositivePart | None = None
    shift: float = 0.0
    smallest_eigenvalue: float = 0.0
    with_ones: bool = False
    asymmetry: float = 0.0
    largest: float = 0.0


def centre_twice(K: FloatArray) -> FloatArray:
    """HKH with H = I − 11ᵀ/n: (n, n)."""
    row = K.mean(axis=0)
    H: FloatArray = K - row
    H -= row[:, None]
    H += row.mean()
    return H


def is_psd(K: FloatArray, tolerance: float) -> bool:
    """Return whether no eigenvalue of K (n, n) is below −tolerance, by Cholesky of K + tolerance·I."""
    if not K.any():
        return True  # which a factorisation with nothing added to it does not see
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += tolerance
    return bool(lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)[1] == 0)  # K = Kᵀ, in LAPACK's order


def estimate_kernel_seconds(values: int, features: int) -> float:
    """Estimate the seconds of `values` kernel values over `features` features."""
    return values * (VALUE_SECONDS + FEATURE_SECONDS * features)
