"""Kernel values in blocks that fit the cache: for the RBF kernel by one matrix product and an exponential in place.

    (KBLOCK.1)  −γ‖x − z‖² = aᵀc − ½‖a‖² − ½‖c‖²,  a, c = √(2γ)(x − μ), √(2γ)(z − μ)
    (KBLOCK.2)  = (a, −½‖a‖², 1)ᵀ(c, 1, −½‖c‖²):  two more columns, and the product is the exponent itself
    (KBLOCK.3)  a, c as computed are off by γ₄ of themselves, the halves by γ_d and the product by
                γ_{d+2} ½(‖a‖ + ‖c‖)²:  the exponent by at most γ_{1.5d+12} (‖a‖² + ‖c‖²)

Exponents below −40 are raised to that, where (‖a‖ + ‖c‖)² allows any (`RBF` says why).
Single precision is for prediction: which rows matter, where a solve may start. What is certified is in double.
Rows so long that (KBLOCK.1) would cancel, sparse samples too wide to store densely, and every other kernel go through
the kernel object; an explicit Gram matrix is read.

Kernel values of new samples with vectors that stay: what can be made of the vectors is made once.

For the RBF kernel that are the vectors of (KBLOCK.2), so that one matrix product gives the exponents, and exp works in
place. Rounding errs by EPS(‖a‖ + ‖c‖)² there, for a sample √(2γ)(x − μ) = a and a vector c, where μ is the mean of the
vectors. So vectors of ‖c‖ ≤ L, (2L)² EPS = `EXPONENT_ERROR`, are enough: a sample with ‖a‖ > 2L is farther than L from
each of them, L²/2 is more than 5000, and whatever rounding does to such an exponent, it stays below the lowest one.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import frozen, read_only
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.workers import in_tiles, parts_of, strips
from qpsvm.space.kernels.functions import LOWEST_EXPONENT, OWN, RBF, Kernel, exp_in_place
from qpsvm.space.kernels.kernel import squared_norms

#: Rows × columns of one block in a product: 256 × 512 entries of eight bytes stay in the second-level cache. (Smaller
#: ones would spend more time between two calls, when no other thread can run.)
STRIP, TILE = 256, 512
#: Rows of a product at a time, for each of which one number a strip is kept; and tasks for the threads to share.
AT_ONCE, TASKS = 32_768, 32
#: Rows of one strip of a symmetric matrix: short strips waste little above the diagonal.
SYMMETRIC_STRIP = 64
#: Up to here a symmetric matrix is made in one product: mirroring strips costs more than it saves.
ONE_PRODUCT_ROWS = 600
#: Relative size of a rounding, in double and in single precision.
EPS, ROUGH_EPS = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)
#: Largest error of the exponent (KBLOCK.1) in double precision, and in single, where only signs are read off.
EXPONENT_ERROR, ROUGH_EXPONENT_ERROR = 1e-11, 1e-3
#: Sparse samples are centred, μ ≠ 0, where they are more than so many times as long (squared) without. Centring makes
#: each product one of d terms, all of which may be rounded.
AS_LONG = 4.0
#: Sparse samples are stored densely if that takes at most this many bytes.
DENSE_BYTES = 4e8
#: Seconds of an entry, besides for each feature, in either precision: roughly, to tell whether threads pay.
ENTRY_SECONDS, FEATURE_SECONDS = 1.5e-9, 3e-11
#: Seconds of a number that is copied into fresh memory.
COPY_SECONDS = 5e-10


def exponent_error(d: int) -> float:
    """(KBLOCK.3) in units of ‖a‖² + ‖c‖², for products of d numbers."""
    return gamma(1.5 * d + 12.0)


class KernelBlocks:
    """The Gram matrix of n samples, by blocks.

    kernel: With every parameter a number.
    X (n, d)
    gram (n, n): The Gram matrix itself, which wins over kernel and X.
    """

    def __init__(self, kernel: Kernel, X: Matrix, gram: FloatArray | None = None) -> None:
        self.n = int(X.shape[0])
        self.kernel, self.X = kernel, X
        self.whole: FloatArray | None = None if gram is None else read_only(gram)
        self.streamed = 0  # entries evaluated for products of `KernelGram`, and not kept
        self._left: FloatArray | None = None
        self._right: FloatArray | None = None
        self._rough: tuple[Any, Any] | None = None
        self.single = False
        self.samples: FloatArray | None = None
        self.longest = 0.0  # bound of (‖a‖ + ‖c‖)² in (KBLOCK.1), where that is used
        self.floored = True  # whether an exponent may be so low that it is raised
        self.exact = False  # whether `whole` was made by differences, without cancellation
        self.terms = int(X.shape[1])  # products that are not 0 in the d of (KBLOCK.1)
        self.centre: FloatArray | None = None  # (d,) taken off the rows that `whole` was made of, if not their mean
        self.asymmetry = 0.0  # largest change that made `whole` symmetric, relative to the largest entry
        if self.whole is None and isinstance(kernel, RBF):
            self._augment(float(kernel.gamma))

    def _augment(self, gamma: float) -> None:
        """(KBLOCK.2), where rounding and memory allow."""
        X, sparse = self.X, not isinstance(self.X, np.ndarray)
        if sparse:
            if 8.0 * X.shape[0] * X.shape[1] > DENSE_BYTES:
                return
            X = X.toarray()
        origin, scale = np.add.reduce(X) / len(X), math.sqrt(2.0 * gamma)
        if sparse and squared_norms(X).max() <= AS_LONG * squared_norms(X - origin).max():
            origin = np.zeros_like(origin)  # what is not stored stays 0, which no rounding touches
            self.terms = int(np.diff(sp.csr_array(self.X).indptr).max())
        left, longest = augmented(X, origin, scale)
        if not longest * EPS <= EXPONENT_ERROR:
            return
        self._left, self._right, self.samples, self.longest = frozen(left), turned(left), read_only(X), longest
        self.single = bool(longest * ROUGH_EPS <= ROUGH_EXPONENT_ERROR)
        self.floored = longest > -LOWEST_EXPONENT

    @classmethod
    def by_differences(cls, kernel: RBF, X: Matrix) -> KernelBlocks:
        """The whole Gram matrix of an RBF kernel from ‖x − z‖² by differences: slower, and nothing cancels."""
        from scipy.spatial.distance import pdist, squareform

        exponents = squareform(pdist(as_dense(X), "sqeuclidean"))
        exponents *= -float(kernel.gamma)
        blocks = cls(kernel, X, exp_in_place(exponents))
        blocks.exact = True
        return blocks

    def restricted(self, rows: IntArray, X: Matrix) -> KernelBlocks:
        """Some of the samples, X (k, d), with their part of the whole matrix, which is kept; as exact as it is."""
        assert self.whole is not None
        part = KernelBlocks(self.kernel, X, self.whole[rows[:, None], rows])
        if self._left is not None and self._right is not None:
            part._left, part._right, part.samples = self._left[rows], self._right[rows], as_dense(X)
            part.terms = self.terms
        elif isinstance(self.kernel, RBF) and not sp.issparse(self.X):
            part.centre = self.X.mean(axis=0) if self.centre is None else self.centre
        part.longest, part.single = self.longest, self.single
        part.exact = self.exact
        if self.asymmetry and part.whole is not None and (largest := float(np.abs(part.whole).max())):
            part.asymmetry = self.asymmetry * float(np.abs(self.whole).max()) / largest
        return part

    def symmetrised(self, K: FloatArray) -> FloatArray:
        """(K + Kᵀ)/2 of a matrix (n, n) that is symmetric but for rounding; what that changed is remembered."""
        symmetric: FloatArray = (K + K.T) / 2
        largest = float(np.abs(symmetric).max())
        self.asymmetry = float(np.abs(K - symmetric).max()) / largest if largest > 0 else 0.0
        return symmetric

    @property
    def fast(self) -> bool:
        """Whether blocks come from (KBLOCK.2)."""
        return self._left is not None

    @property
    def lengths(self) -> FloatArray | None:
        """‖a‖² of (KBLOCK.1) for every row, (n,), where that is used."""
        return None if self._left is None else -2.0 * self._left[:, self.width]

    @property
    def width(self) -> int:
        """d."""
        return int(self.X.shape[1])

    def _seconds(self, entries: float) -> float:
        """What one core takes for so many entries, roughly; 0 where only one thread may ask for them."""
        if self.whole is not None or not isinstance(self.kernel, OWN):
            return 0.0
        return entry_seconds(self.width) * entries

    def _factors(self, rough: bool) -> tuple[Any, Any]:
        """Both factors of (KBLOCK.2), (n, d + 2); in single precision if `rough` and accurate enough."""
        assert self._left is not None
        assert self._right is not None
        if not (rough and self.single):
            return self._left, self._right
        if self._rough is None:
            self._rough = self._left.astype(np.float32), self._right.astype(np.float32)
        return self._rough

    def diagonal(self, rows: IntArray) -> FloatArray:
        """K_ii of some rows: (r,)."""
        if self.whole is not None:
            return np.asarray(self.whole.diagonal()[rows])
        return self.kernel.diagonal(self.X[rows])

    def all(self) -> FloatArray:
        """The whole Gram matrix, (n, n) float64, kept."""
        if self.whole is None:
            self.whole = frozen(self.symmetric(None))
        return self.whole

    def block(self, rows: IntArray, columns: IntArray, rough: bool = False) -> FloatArray:
        """K[rows][:, columns]: (r, c) float64; `rough` allows values in single precision."""
        if self.whole is not None:
            return self.whole[rows[:, None], columns]
        if not self.fast:
            return self.kernel(self.X[rows], self.X[columns])
        left, right = self._factors(rough)
        out, right = np.empty((len(rows), len(columns))), right[columns].T

        def fill(tile: slice) -> None:
            out[tile] = exp_in_place(left[rows[tile]] @ right, self.floored)

        in_tiles(fill, strips(len(rows), STRIP), self._seconds(out.size))
        return out

    def symmetric(self, rows: IntArray | None, rough: bool = False) -> FloatArray:
        """K[rows][:, rows], a new matrix: (r, r) float64; all rows where None. `rough` as for `block`."""
        if self.whole is None and self.fast:
            return _mirrored(*self._factors(rough), rows, self.floored)
        if self.whole is None and rows is None:
            return self.kernel(self.X, self.X)
        index = np.arange(self.n) if rows is None else rows
        return self.block(index, index)

    def rough(self, rows: IntArray, room: NDArray[np.float32]) -> NDArray[np.float32]:
        """K[rows][:, rows] in single precision: (r, r), in `room`, (r² or more,)."""
        out = room[: len(rows) ** 2].reshape(len(rows), len(rows))
        if self.fast and self.single and self.whole is None:
            left, right = self._factors(rough=True)
            return exp_in_place(np.matmul(left[rows], right[rows].T, out=out), self.floored)
        out[...] = self.block(rows, rows, rough=True)
        return out

    def grown(self, K: FloatArray, rows: IntArray, added: IntArray, rough: bool = False) -> FloatArray:
        """K over `rows` followed by `added`, (r + a, r + a), given K over `rows`, (r, r)."""
        r, m = len(rows), len(rows) + len(added)
        out, everything = np.empty((m, m)), np.concatenate([rows, added])

        def copy(tile: slice) -> None:
            out[tile, :r] = K[tile]

        def fill(tile: slice) -> None:
            start, stop = tile.start + r, tile.stop + r
            strip = self.block(everything[start:stop], everything[:stop], rough)
            out[start:stop, :stop] = strip
            for left in range(0, start, STRIP):  # tile by tile: a long transposed copy would miss the cache
                right = min(left + STRIP, start)
                out[left:right, start:stop] = strip[:, left:right].T

        in_tiles(copy, strips(r, STRIP), COPY_SECONDS * r * r)
        in_tiles(fill, strips(len(added), STRIP)[::-1], self._seconds(m * len(added)))
        return out

    def product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool = False) -> FloatArray:
        """Σ_j weights_j K(x_j, x_i) over j in `support` for i in `rows`: (r,) float64, streamed, nothing kept.

        `rough` allows single precision for the kernel values (relative error about 1e-6).
        """
        out = np.zeros(len(rows))
        if not len(support) or not len(rows):
            return out
        if self.whole is not None and len(rows) == self.n:
            for strip in strips(len(support), STRIP):
                out += np.dot(weights[strip], self.whole[support[strip]])
            return out[rows]
        if not self.fast or self.whole is not None:

            def multiply(tile: slice) -> None:
                out[tile] = np.dot(self.block(rows[tile], support), weights)  # `@` lets no other thread run

            in_tiles(multiply, strips(len(rows), STRIP), self._seconds(len(rows) * len(support)))
            return out
        left, right = self._factors(rough)
        left, weights = left[support], weights.astype(left.dtype, copy=False)
        for some in strips(len(rows), AT_ONCE):
            out[some] = self._streamed(left, right if len(rows) == self.n else right[rows], weights, some)
        return out

    def _streamed(self, left: Any, right: Any, weights: Any, rows: slice) -> FloatArray:
        """`product` for some rows of `right`, from sums over each strip of the support: (r,)."""
        parts, columns = strips(len(left), STRIP), right[rows].T
        sums = np.empty((len(parts), columns.shape[1]), dtype=left.dtype)
        tiles = strips(columns.shape[1], TILE)
        runs = parts_of(len(parts), 1, max(1, TASKS // len(tiles)))

        def add(task: tuple[slice, slice]) -> None:
            tile, run = task
            for k in range(run.start, run.stop):
                block = exp_in_place(left[parts[k]] @ columns[:, tile], self.floored)
                np.dot(weights[parts[k]], block, out=sums[k, tile])

        in_tiles(add, list(product(tiles, runs)), self._seconds(columns.shape[1] * len(left)))
        return np.asarray(sums.sum(axis=0, dtype=np.float64))

    def fill(self, out: NDArray[np.float32], start: int) -> None:
        """K over all columns for the len(out) rows from `start` on, in single precision, into `out` (r, n)."""
        stop = start + len(out)
        if self.fast and self.single and self.whole is None:
            left, right = self._factors(rough=True)
            exp_in_place(np.matmul(left[start:stop], right.T, out=out), self.floored)
        else:
            out[...] = self.block(np.arange(start, stop), np.arange(self.n), rough=True)


def augmented(X: FloatArray, origin: FloatArray, scale: float) -> tuple[FloatArray, float]:
    """The left vectors (a, −½‖a‖², 1) of (KBLOCK.2) for samples X (n, d), (n, d + 2), and the largest 4·½‖a‖²."""
    n, d = X.shape
    left = np.empty((n, d + 2))
    a = left[:, :d]
    np.subtract(X, origin, out=a)
    a *= scale
    np.multiply(squared_norms(a), -0.5, out=left[:, d])
    left[:, d + 1] = 1.0
    return left, -4.0 * float(left[:, d].min(initial=0.0))


def turned(left: FloatArray) -> FloatArray:
    """The right vectors (c, 1, −½‖c‖²) of (KBLOCK.2) of the same samples: (n, d + 2)."""
    right = left.copy()
    right[:, -2], right[:, -1] = left[:, -1], left[:, -2]
    return frozen(right)


def entry_seconds(width: int) -> float:
    """Seconds of an entry of an RBF Gram matrix over so many features, roughly."""
    return ENTRY_SECONDS + FEATURE_SECONDS * width


def _mirrored(left: Any, right: Any, rows: IntArray | None, floored: bool) -> FloatArray:
    """exp of left·rightᵀ over some rows, in strips below the diagonal that are mirrored: (r, r) float64."""
    if rows is not None:
        left, right = left[rows], right[rows]
    m, columns = len(left), right.T
    K = np.empty((m, m))
    height = m if m <= ONE_PRODUCT_ROWS else SYMMETRIC_STRIP

    def fill(tile: slice) -> None:
        start, stop = tile.start, tile.stop
        strip = K[start:stop, :stop]
        if left.dtype == np.float64:  # in place: the strip is still in the cache when it is mirrored
            exp_in_place(np.matmul(left[start:stop], columns[:, :stop], out=strip), floored)
        else:
            strip[...] = exp_in_place(left[start:stop] @ columns[:, :stop], floored)
        K[:start, start:stop] = strip[:, :start].T

    in_tiles(fill, strips(m, height)[::-1], 0.5 * m * m * entry_seconds(left.shape[1]))
    return K


class FixedVectors:
    """A kernel whose second argument is known.

    kernel: With every parameter a number.
    vectors (s, d): Not to be changed afterwards; s may be 0.
    """

    def __init__(self, kernel: Kernel, vectors: Matrix) -> None:
        self.kernel, self.vectors = kernel, vectors
        self._right: FloatArray | None = None
        if isinstance(kernel, RBF) and not sp.issparse(vectors) and len(vectors):
            self._origin = frozen(np.add.reduce(vectors) / len(vectors))
            self._scale = math.sqrt(2.0 * float(kernel.gamma))
            left, longest = augmented(vectors, self._origin, self._scale)
            if 2.0 * longest * EPS <= EXPONENT_ERROR:  # the module says why these are enough
                self._right = turned(left).T

    def __call__(self, X: Matrix) -> FloatArray:
        """K(x_i, v_j), a new array: X (m, d) to (m, s)."""
        if self._right is None or sp.issparse(X):
            return self.kernel(X, self.vectors)
        exponents: FloatArray = augmented(X, self._origin, self._scale)[0] @ self._right
        return exp_in_place(exponents)
