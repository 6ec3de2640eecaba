"""Compute the products with the rows that the linear solvers need (`build_label_scaled_rows`, `LabelScaledRows`).

The rows are those of

    (ROWS.1)  Z = diag(y) [X − 1μᵀ, e·1],  (n, d + 1)

with the column means μ, or near them (0 where nothing is centred), and e = 1, or e = 0 for a model without intercept.
A vector in the space of the columns is W = (w, b), (d + 1,). With a free intercept yᵀα = 0, so that Zᵀα does not depend
on μ, and w is that of the data as they came; b belongs to x − μ. X is a `RowSource`: products with all rows take μ off
their result, which costs nothing a row; rows that are gathered are a copy, in which it is subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qpsvm.base.arrays.checks import shorten_indices
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.data.rows import CentredRows, RowSource, as_row_source
from qpsvm.data.rows.source import Visitor, sort_by_start
from qpsvm.data.rows.transformed import select_rows

#: Above this share of the rows one pass over all of them is cheaper than gathering the selected ones.
GATHER_SHARE = 0.3
#: Share of entries from which a sparse array is stored densely: no larger then, faster, and it can be centred.
DENSE_SHARE = 0.6
#: Offset in spreads above which X@w − μᵀw has lost too many digits, and every row is centred instead: in memory, in a
#: copy.
LARGE_OFFSET = 1e3
#: Spread, as a share of the offset, below which a column is constant but for rounding: its weight is 0 either way.
CONSTANT_SPREAD = 1e-12
#: Rows from which the column means and spreads are estimated.
OFFSET_SAMPLE = 5000


class LabelScaledRows:
    """The rows Z of (ROWS.1), or some of them.

    n, d: Rows and features; Z is (n, d + 1).
    passes: How often all rows have been gone through.
    """

    def __init__(self, source: RowSource, y: FloatArray, unit: float, mean: FloatArray | None = None) -> None:
        self.source, self.y, self.unit, self.mean = source, y, unit, mean
        self.n, self.d = source.n, source.d
        self.passes = 0
        self._centred = source if mean is None else CentredRows(source, mean)

    def margins(self, W: FloatArray) -> FloatArray:
        """Z W for W (d + 1,): (n,)."""
        self.passes += 1
        m = self.source.margins(W[: self.d])
        shift = self._compute_shift(W)
        if shift:
            m += shift
        m *= self.y
        return m

    def gradient(self, a: FloatArray, index: IntArray | None = None) -> FloatArray:
        """Z_Jᵀ a, (d + 1,), for the rows J = index (k,) with a (k,), or for all with a (n,)."""
        self.passes += index is None
        beta = (self.y if index is None else self.y[index]) * a
        return self._finish_gradient(self.source.weights(beta, index), float(beta.sum()))

    def scan(self, W: FloatArray, visit: Visitor) -> FloatArray:
        """Pass over the data by blocks of rows, and return Zᵀa, (d + 1,), for the weights a that `visit` returns."""
        self.passes += 1
        shift, y = self._compute_shift(W), self.y
        totals: dict[int, float] = {}

        def signed(block: slice, m: FloatArray) -> FloatArray | None:
            m += shift
            m *= y[block]
            a = visit(block, m)
            if a is not None:
                a *= y[block]
                totals[block.start] = float(a.sum())
            return a

        g = self.source.scan(W[: self.d], signed)
        return self._finish_gradient(g, sum(sort_by_start(totals)))

    def _compute_shift(self, W: FloatArray) -> float:
        """Compute the contribution of intercept and centring to X@w."""
        return self.unit * float(W[self.d]) - (0.0 if self.mean is None else float(self.mean @ W[: self.d]))

    def _finish_gradient(self, reduced_gradient: FloatArray, total: float) -> FloatArray:
        """Zᵀa, (d + 1,), from Xᵀβ, (d,), and Σβ."""
        g = np.empty(self.d + 1)
        g[: self.d] = reduced_gradient
        if self.mean is not None:
            g[: self.d] -= total * self.mean
        g[self.d] = self.unit * total
        return g

    def gram(self, index: IntArray, weights: FloatArray | None = None) -> FloatArray:
        """Z_JᵀDZ_J for J = index (k,) and D = diag(weights), or the identity: (d + 1, d + 1)."""
        d, S = self.d, np.empty((self.d + 1, self.d + 1))
        S[:d, :d], sums = self._centred.moments(index, weights)
        S[:d, d] = S[d, :d] = self.unit * sums
        S[d, d] = self.unit**2 * (len(index) if weights is None else float(weights.sum()))
        return S

    def kernel(self, index: IntArray, other: IntArray) -> FloatArray:
        """Z_J Z_Lᵀ for J = index (k,) and L = other (l,), both few: (k, l)."""
        K = self._centred.compute_inner_products(index, other)
        K += self.unit**2
        K *= self.y[other]
        K *= self.y[index][:, None]
        return K

    def select(self, index: IntArray) -> LabelScaledRows:
        """The rows J = index (k,), ascending: gathered in memory, centred there; or, of a source beyond it, if few."""
        many = self.source.memory_matrix is None and not self.is_gather_cheap(len(index))
        part = select_rows(self._centred, index) if many else as_row_source(self._centred.take(index))
        return LabelScaledRows(part, self.y[index], self.unit)

    def select_many(self, indices: Sequence[IntArray]) -> list[LabelScaledRows]:
        """Select several sets of rows, with one pass over the data if it is not one array."""
        if self.source.memory_matrix is not None:
            return [self.select(index) for index in indices]
        every = np.unique(np.concatenate(indices))
        gathered = self.select(every)
        return [gathered.select(np.searchsorted(every, index)) for index in indices]

    def compute_column_squares(self) -> FloatArray:
        """Return the diagonal of ZᵀZ: (d + 1,)."""
        squares, n = self.source.column_squares(), self.n
        if self.mean is not None:
            squares = np.maximum(squares - n * self.mean**2, 0.0)
        return np.append(squares, self.unit**2 * n)

    def is_gather_cheap(self, count: int) -> bool:
        """Return whether products with `count` selected rows cost less than a pass over all rows."""
        return count < GATHER_SHARE * self.n


def build_label_scaled_rows(
    source: RowSource, y: FloatArray, unit: float, centred: bool
) -> tuple[LabelScaledRows, FloatArray | None]:
    """Make the rows (ROWS.1) of a source, and the μ they are centred by, (d,), or None.

    Shapes: source (n, d), y (n,).
    """
    source = _choose_storage(source)
    if not centred or source.is_sparse:
        return LabelScaledRows(source, y, unit), None
    mean, spread = _estimate_centre(source)
    offset = np.abs(mean)
    if ((offset > LARGE_OFFSET * spread) & (spread > CONSTANT_SPREAD * offset)).any():
        whole = source.memory_matrix
        near = CentredRows(source, mean) if whole is None else as_row_source(whole - mean)
        return LabelScaledRows(near, y, unit), mean
    return LabelScaledRows(source, y, unit, mean), mean


def _choose_storage(source: RowSource) -> RowSource:
    """A sparse array in memory as the products like it: dense where it hardly is sparse, and with short indices."""
    whole = source.memory_matrix
    if whole is None or not source.is_sparse:
        return source
    if source.entries > DENSE_SHARE * source.n * source.d:
        return as_row_source(whole.toarray())
    short = shorten_indices(whole.tocsr())
    return source if short is whole else as_row_source(short)


def _estimate_centre(source: RowSource) -> tuple[FloatArray, FloatArray]:
    """A point in the middle of the rows, or near it, as (ROWS.1) is exact for every μ, and their spread: (d,) each."""
    stride = max(1, source.n // OFFSET_SAMPLE)
    if source.memory_matrix is None and stride == 1:  # so few rows may be read twice, but not gathered
        mean = source.means()
        return mean, np.sqrt(CentredRows(source, mean).column_squares() / source.n)
    sample = source.take(slice(None, None, stride))
    mean = sample.sum(axis=0) / len(sample)
    away = sample - mean  # a new array: the sample may be a view of stored rows
    return mean, np.sqrt(np.einsum("ij,ij->j", away, away) / len(sample))
