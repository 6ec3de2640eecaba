"""Compute kernel values in blocks that fit the cache (`KernelBlocks`).

    (KBLOCK.1)  −γ‖x − z‖² = aᵀc − ½‖a‖² − ½‖c‖²,  a, c = √(2γ)(x − μ), √(2γ)(z − μ)
    (KBLOCK.2)  = (a, −½‖a‖², 1)ᵀ(c, 1, −½‖c‖²):  with two more columns, a NumPy product gives the exponent
    (KBLOCK.3)  the relative error of the computed a, c is γ₄, that of the halves γ_d, and the error of the product is
                γ_{d+2} ½(‖a‖ + ‖c‖)², in any order of summation, fused or not:  that of the exponent is at most
                γ_{1.5d+12} (‖a‖² + ‖c‖²)

The compiled core (core/c/strips.c) starts a sum with −½‖a‖² − ½‖c‖², adds the products, and computes in registers

    (KBLOCK.4)  eˣ = 2ⁿ(1 + (r + r²q)), q a polynomial (core/c/exp.h):  r = x − n ln 2 is off by less than hu,
                |r| ≤ h = .3466, the polynomial by .2u;  the roundings of q and of r², the product and the sum are .9u
                of eʳ, the last one is 1u:  within 2.5u of eˣ, of which (ACC.3) counts 8;  in either precision

Exponents below −40 are replaced by −40, if (‖a‖ + ‖c‖)² permits any (see `RBF` for the reason).
Single precision is only used to predict which rows matter, and where a solve may start. Certificates use double.
Integer powers (γxᵀz + r)^p are computed by the core, too, with (d + 3)p + p − 1 roundings, which `accuracy` counts. For
rows so long that (KBLOCK.1) would cancel, sparse samples too wide to store densely, and every other kernel, values are
computed by the kernel object; an explicit Gram matrix is read.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.frozen import as_read_only, cached, freeze
from qpsvm.base.arrays.rounding import EPS, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips
from qpsvm.space.kernels.functions import LOWEST_EXPONENT, RBF, Kernel, Polynomial, Precomputed, exp_in_place
from qpsvm.space.kernels.gram_blocks import STRIP_ROWS, GramBlocks
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS

#: Columns of one block of a product, which has `STRIP_ROWS` rows.
TILE = 512
#: Number of rows of a product processed at a time, with one partial sum per strip for each.
AT_ONCE = 32_768
#: Number of tasks for the threads.
TASKS = 32
#: Rows of one strip of a symmetric matrix; its mirror image is written this many numbers at a time.
SYMMETRIC_STRIP = 192
#: Up to this many rows, a symmetric matrix is computed in one product: mirroring would cost more than it saves.
ONE_PRODUCT_ROWS = 600
#: Relative size of a rounding in single precision.
ROUGH_EPS = float(np.finfo(np.float32).eps)
#: Largest error of the exponent (KBLOCK.1) in double precision, and in single, where only signs are read off.
EXPONENT_ERROR, ROUGH_EXPONENT_ERROR = 1e-11, 1e-3
#: Sparse samples are centred if that reduces the largest squared norm by more than this factor. After centring, each
#: product has d terms, all of which may be rounded.
AS_LONG = 4.0
#: Sparse samples are stored densely if that takes at most this many bytes.
DENSE_BYTES = 4e8
#: A multiplication of two nonzeros of a sparse product costs about as much as so many of a dense one (RBF, 4000 × 8315
#: with .5 %: 1 s, by dense products 9; 4000 × 300 with 4 %, where columns are uneven: .8 s, by dense products .45).
NONZERO_COST = 500
#: Rough estimate of the seconds of an entry, and of each of its features, to decide whether threads are worthwhile.
ENTRY_SECONDS, FEATURE_SECONDS = 1.5e-9, 3e-11
#: Entries times features (plus 32 for the exponential) of one call of the core: some milliseconds.
AT_A_TIME = 2e8
#: Largest degree of a polynomial in the core, where powers are C's `int`.
LARGEST_POWER = 1000


def bound_exponent_error(d: int) -> float:
    """Return the bound (KBLOCK.3) divided by ‖a‖² + ‖c‖², for d features."""
    return gamma(1.5 * d + 12.0)


def _is_sparse_faster(X: Matrix) -> bool:
    """Return whether the inner products of sparse rows (n, d) take less time than those of the same dense rows."""
    counts = np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
    return bool(NONZERO_COST * float(counts @ counts) < float(X.shape[0]) ** 2 * X.shape[1])


class KernelBlocks(GramBlocks):
    """The Gram matrix of n samples, by blocks.

    kernel: A kernel whose parameters are all numbers.
    X (n, d): Samples.
    gram (n, n): The Gram matrix itself, used instead of kernel and X; None if it is to be computed.
    """

    def __init__(self, kernel: Kernel, X: Matrix, gram: FloatArray | None = None) -> None:
        super().__init__(int(X.shape[0]), int(X.shape[1]), gram)
        self.kernel, self.X = kernel, X
        self.streamed = 0  # entries evaluated for products of `KernelGram`, and not kept
        self._a: FloatArray | None = None  # (n, d) of (KBLOCK.1), with −½‖a‖² (n,)
        self._half: FloatArray = freeze(np.empty(0))
        self.samples: FloatArray | None = None  # (n, d), dense, where (KBLOCK.1) is used
        self.longest = 0.0  # bound of (‖a‖ + ‖c‖)² in (KBLOCK.1), where that is used
        self.needs_floor = True  # whether an exponent may be so low that it is raised
        self.is_exact = False  # whether `full_matrix` was made by differences, without cancellation
        self.terms = self.width  # products that are not 0 in the d of (KBLOCK.1)
        self.centre: FloatArray | None = None  # (d,) subtracted from the rows of `full_matrix`, if not their mean
        self.asymmetry = 0.0  # largest change that made `full_matrix` symmetric, relative to the largest entry
        if self.full_matrix is None and isinstance(kernel, RBF):
            self._prepare_scaled(float(kernel.gamma))

    def _prepare_scaled(self, gamma: float) -> None:
        """Prepare (KBLOCK.1), if rounding and memory permit."""
        X = self.X
        sparse = not isinstance(X, np.ndarray)
        if sparse:
            if _is_sparse_faster(X) or 8.0 * X.shape[0] * X.shape[1] > DENSE_BYTES:
                return
            X = X.toarray()
        origin = np.add.reduce(X) / len(X)
        if sparse and squared_norms(X).max() <= AS_LONG * squared_norms(X - origin).max():
            origin = np.zeros_like(origin)  # what is not stored stays 0, which no rounding touches
            self.terms = int(np.diff(sp.csr_array(self.X).indptr).max())
        a, half = scale_samples(X, origin, math.sqrt(2.0 * gamma))
        longest = -4.0 * float(half.min(initial=0.0))
        if not longest * EPS <= EXPONENT_ERROR:
            self.X = X  # by differences, which the core takes of dense samples
            return
        self._a = freeze(a)
        self._half = freeze(half)
        self.samples = as_read_only(X)
        self.longest = longest
        self.allows_single = bool(longest * ROUGH_EPS <= ROUGH_EXPONENT_ERROR)
        self.needs_floor = longest > -LOWEST_EXPONENT

    @classmethod
    def from_differences(cls, kernel: RBF, X: Matrix) -> KernelBlocks:
        """Compute the full Gram matrix of an RBF kernel from ‖x − z‖² by differences: slower, without cancellation."""
        from scipy.spatial.distance import pdist, squareform

        exponents = squareform(pdist(as_dense(X), "sqeuclidean"))
        exponents *= -float(kernel.gamma)
        blocks = cls(kernel, X, exp_in_place(exponents))
        blocks.is_exact = True
        return blocks

    def restrict(self, rows: IntArray, X: Matrix) -> KernelBlocks:
        """Restrict to some samples, X (k, d), with their part of the cached matrix, which is as exact as that."""
        assert self.full_matrix is not None
        restricted = KernelBlocks(self.kernel, X, self.full_matrix[rows[:, None], rows])
        if self._a is not None:
            restricted._a = self._a[rows]
            restricted._half = self._half[rows]
            restricted.samples = as_dense(X)
            restricted.terms = self.terms
        elif isinstance(self.kernel, RBF) and not sp.issparse(self.X):
            if self.centre is None:
                restricted.centre = self.X.mean(axis=0)
            else:
                restricted.centre = self.centre
        restricted.longest, restricted.allows_single = self.longest, self.allows_single
        restricted.is_exact = self.is_exact
        if (
            self.asymmetry
            and restricted.full_matrix is not None
            and (largest_entry := float(np.abs(restricted.full_matrix).max()))
        ):
            restricted.asymmetry = self.asymmetry * float(np.abs(self.full_matrix).max()) / largest_entry
        return restricted

    def symmetrise(self, K: FloatArray) -> FloatArray:
        """(K + Kᵀ)/2 of a matrix (n, n) that is symmetric but for rounding; what that changed is remembered."""
        symmetric: FloatArray = (K + K.T) / 2
        largest_entry = float(np.abs(symmetric).max())
        if largest_entry > 0:
            self.asymmetry = float(np.abs(K - symmetric).max()) / largest_entry
        else:
            self.asymmetry = 0.0
        return symmetric

    @property
    def has_samples(self) -> bool:
        """Whether the rows of X are samples; those of a Gram matrix are not."""
        return not isinstance(self.kernel, Precomputed)

    @property
    def is_fast(self) -> bool:
        """Whether blocks come from (KBLOCK.1)."""
        return self._a is not None

    @property
    def squared_lengths(self) -> FloatArray | None:
        """‖a‖² of (KBLOCK.1) for every row, (n,), where that is used."""
        return None if self._a is None else -2.0 * self._half

    def _estimate_seconds(self, entries: float) -> float:
        """Estimate the seconds of one core for some entries; 0 if only one thread may compute them."""
        if isinstance(self.kernel, BUILT_IN_KERNELS):
            return estimate_entry_seconds(self.width) * entries
        return 0.0

    @cached
    def _core_arguments(self) -> tuple[Any, ...] | None:
        """Arguments of the compiled core: a, −½‖a‖², d, a power and γ, r of its base; None if it does not apply."""
        if core.compiled is None or not self.width:
            return None
        if self._a is not None:
            return self._a, self._half, self.width, 0, 1.0, 0.0
        kernel, X = self.kernel, self.X
        whole_power = isinstance(kernel, Polynomial) and kernel.degree == int(min(kernel.degree, LARGEST_POWER))
        if not whole_power or sp.issparse(X):
            return None
        assert isinstance(kernel, Polynomial)
        gamma = float(kernel.gamma)
        rows = np.ascontiguousarray(X, dtype=np.float64)
        return rows, b"", self.width, int(kernel.degree), gamma, float(kernel.coef0)

    @property
    def _uses_strips(self) -> bool:
        """Whether values are made in strips, by the core or from (KBLOCK.2), and not by the kernel object."""
        return self.is_fast or self._core_arguments is not None

    @cached
    def _factors(self) -> tuple[Any, Any]:
        """Both factors of (KBLOCK.2) for NumPy, (n, d + 2), in double and in single precision."""
        assert self._a is not None
        half = self._half[:, None]
        ones = np.ones((self.n, 1))
        factors = np.hstack([self._a, half, ones]), np.hstack([self._a, ones, half])
        return factors, tuple(factor.astype(np.float32) for factor in factors)

    def _choose_type(self, rough: bool) -> type[np.floating[Any]]:
        """Return the precision of values: single if `rough` and accurate enough."""
        return np.float32 if rough and self.allows_single else np.float64

    def _compute_diagonal(self, rows: IntArray) -> FloatArray:
        return self.kernel.diagonal(self.X[rows])

    def _compute_block(self, rows: IntArray, columns: IntArray, rough: bool) -> NDArray[Any]:
        if not self._uses_strips:
            return self.kernel(self.X[rows], self.X[columns])
        out = np.empty((len(rows), len(columns)), dtype=self._choose_type(rough))

        def write(strip: slice) -> None:
            self._write_block(out, rows[strip], columns, strip.start)

        run_tiles(write, split_strips(len(rows), STRIP_ROWS), self._estimate_seconds(out.size))
        return out

    def _write_block(
        self, out: NDArray[Any], rows: IntArray, columns: IntArray, top: int, mirrors: bool = False
    ) -> None:
        """Write K[rows][:, columns] to the first columns of an array, from row `top` on; `mirrors`: also its transpose.

        Values are computed in single precision if the array is float32.
        """
        single = out.dtype == np.float32
        if self._core_arguments is not None:
            sides = as_core_indices(rows), as_core_indices(columns)
            core.compiled.strip_values(self._core_arguments, *sides, single, out, out.shape[1], top, 0, mirrors)
            return
        left, right = self._factors[single]
        strip = out[top : top + len(rows), : len(columns)]
        exp_in_place(np.matmul(left[rows], right[columns].T, out=strip), self.needs_floor)
        if mirrors:  # tile by tile: a long transposed copy would miss the cache
            for tile in split_strips(top, STRIP_ROWS):
                out[tile, top : top + len(rows)] = strip[:, tile].T

    def _compute_symmetric(self, rows: IntArray | None, rough: bool, out: NDArray[Any] | None) -> NDArray[Any]:
        if not self._uses_strips:
            if rows is None:
                return self.kernel(self.X, self.X)
            return super()._compute_symmetric(rows, rough, out)
        rows = np.arange(self.n) if rows is None else rows
        if out is None:
            out = np.empty((len(rows),) * 2, dtype=self._choose_type(rough))
        self._fill_symmetric(out, rows, 0)
        return out

    def _grow_symmetric(self, out: NDArray[Any], rows: IntArray, start: int, rough: bool) -> None:
        if self._uses_strips:
            self._fill_symmetric(out, rows, start)
        else:
            super()._grow_symmetric(out, rows, start, rough)

    def _fill_symmetric(self, out: NDArray[Any], rows: IntArray, start: int) -> None:
        """Fill the leading block of an array with K over `rows`, from row `start` on."""
        m = len(rows)
        height = m if m <= ONE_PRODUCT_ROWS else SYMMETRIC_STRIP

        def write(strip: slice) -> None:
            first, end = strip.start + start, strip.stop + start
            self._write_block(out, rows[first:end], rows[:end], first, True)

        run_tiles(write, split_strips(m - start, height)[::-1], self._estimate_seconds(0.5 * (m - start) * (m + start)))

    def _compute_product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool) -> FloatArray:
        out = np.zeros(len(rows))
        if not self._uses_strips:

            def multiply(strip: slice) -> None:
                out[strip] = np.dot(self._compute_block(rows[strip], support, False), weights)  # `@` blocks threads

            run_tiles(multiply, split_strips(len(rows), STRIP_ROWS), self._estimate_seconds(len(rows) * len(support)))
            return out
        single = rough and self.allows_single
        if self._core_arguments is None:
            left, right = self._factors[single]
            weights = weights.astype(left.dtype, copy=False)
            left = left[support]
            for strip_of_rows in split_strips(len(rows), AT_ONCE):
                out[strip_of_rows] = self._stream_product(
                    left, right if len(rows) == self.n else right[rows], weights, strip_of_rows
                )
            return out

        support = as_core_indices(support)
        rows = as_core_indices(rows)
        weights = np.ascontiguousarray(weights)

        def add(tile: slice) -> None:
            core.compiled.strip_sums(self._core_arguments, support, rows[tile], single, weights, out[tile])

        width = TILE * max(1, int(AT_A_TIME / (TILE * len(support) * (self.width + 32))))
        run_tiles(add, split_strips(len(rows), width), self._estimate_seconds(len(rows) * len(support)))
        return out

    def _stream_product(self, left: Any, right: Any, weights: Any, rows: slice) -> FloatArray:
        """Return `product` for some rows of `right`, (r,), from sums over strips of the support."""
        parts = split_strips(len(left), STRIP_ROWS)
        columns = right[rows].T
        sums = np.empty((len(parts), columns.shape[1]), dtype=left.dtype)
        tiles = split_strips(columns.shape[1], TILE)
        runs = split_range(len(parts), 1, max(1, TASKS // len(tiles)))

        def add(task: tuple[slice, slice]) -> None:
            tile, run = task
            for k in range(run.start, run.stop):
                block = exp_in_place(left[parts[k]] @ columns[:, tile], self.needs_floor)
                np.dot(weights[parts[k]], block, out=sums[k, tile])

        run_tiles(add, list(product(tiles, runs)), self._estimate_seconds(columns.shape[1] * len(left)))
        return np.asarray(sums.sum(axis=0, dtype=np.float64))

    def _fill_rows(self, out: NDArray[np.float32], start: int) -> None:
        if not (self.is_fast and self.allows_single):
            super()._fill_rows(out, start)
            return

        def write(strip: slice) -> None:
            first = start + strip.start
            columns = np.arange(self.n)
            self._write_block(out, np.arange(first, start + strip.stop), columns, strip.start)

        run_tiles(write, split_strips(len(out), SYMMETRIC_STRIP), self._estimate_seconds(out.size))


def scale_samples(X: FloatArray, origin: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Return a of (KBLOCK.1) for samples X (n, d), and −½‖a‖²: (n, d) and (n,)."""
    a = np.subtract(X, origin, order="C")
    a *= scale
    return a, -0.5 * squared_norms(a)


def as_core_indices(rows: IntArray) -> NDArray[np.int64]:
    """Convert rows to the integers that the compiled core reads."""
    return np.ascontiguousarray(rows, dtype=np.int64)


def estimate_entry_seconds(width: int) -> float:
    """Estimate the seconds of an entry of an RBF Gram matrix over `width` features."""
    return ENTRY_SECONDS + FEATURE_SECONDS * width
