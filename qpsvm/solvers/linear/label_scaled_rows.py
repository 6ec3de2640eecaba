"""Compute the matrix products that the linear solvers need (`build_label_scaled_rows`, `LabelScaledRows`).

The products are with the rows of

    (ROWS.1)  Z = diag(y) [X − 1μᵀ, e·1],  (n, d + 1)

where μ are the column means or an estimate of them (0 if the rows are not centred), and e = 1, or e = 0 for a model
without intercept. A vector in the space of the columns is W = (w, b), (d + 1,). With a free intercept yᵀα = 0, so Zᵀα
does not depend on μ, and w is the same as for the original data; b is the intercept for x − μ. X is a `RowSource`:
products with all rows are computed with X and corrected for μ, at almost no cost per row; selected rows are a copy from
which μ is subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qpsvm.base.arrays.checks import shorten_indices
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.data.rows import CentredRows, RowSource, as_row_source
from qpsvm.data.rows.source import Visitor, sort_by_start
from qpsvm.data.rows.transformed import select_rows

#: Share of the rows above which one pass over all rows is cheaper than gathering the selected ones.
GATHER_SHARE = 0.3
#: Share of nonzero entries above which a sparse array is stored densely: hardly larger, faster, and it can be centred.
DENSE_SHARE = 0.6
#: Ratio of a column's |mean| to its spread above which Xw − μᵀw loses too many digits: then μ is subtracted from the
#: rows before each product, in memory once, in a copy.
LARGE_OFFSET = 1e3
#: Ratio of spread to |mean| below which a column is constant up to rounding: its weight is 0 with either method.
CONSTANT_SPREAD = 1e-12
#: Z is stored up to this number of entries, because a product with so small a Z is faster than a call of the source.
MAX_STORED = 200_000
#: Minimum number of rows from which the column means and spreads are estimated, if there are as many.
MIN_CENTRE_ROWS = 5000


class LabelScaledRows:
    """The rows Z of (ROWS.1), or a subset of them.

    n, d: Number of rows and features; Z is (n, d + 1).
    unit: e of (ROWS.1).
    mean: μ of (ROWS.1), (d,); None if the products are not centred, or the source is centred already.
    passes: Number of passes over all rows so far.
    """

    def __init__(self, source: RowSource, y: FloatArray, unit: float, mean: FloatArray | None = None) -> None:
        self.source = source
        self.y = y
        self.unit = unit
        self.mean = mean
        self.n, self.d = source.n, source.d
        self.passes = 0
        self._centred = source if mean is None else CentredRows(source, mean)
        X = source.memory_matrix
        is_small = self.n * (self.d + 1) <= MAX_STORED
        self._stored = self._build_stored(X) if is_small and isinstance(X, np.ndarray) else None

    def _build_stored(self, X: FloatArray) -> FloatArray:
        """Return Z itself, (n, d + 1), for samples X (n, d) in memory."""
        Z = np.empty((self.n, self.d + 1))
        np.multiply(X if self.mean is None else X - self.mean, self.y[:, None], out=Z[:, : self.d])
        Z[:, self.d] = self.unit * self.y
        return Z

    def margins(self, W: FloatArray) -> FloatArray:
        """Return Z W for W (d + 1,): (n,)."""
        self.passes += 1
        if self._stored is not None:
            return np.asarray(np.dot(self._stored, W))
        m = self.source.margins(W[: self.d])
        shift = self._compute_shift(W)
        if shift:
            m += shift
        m *= self.y
        return m

    def gradient(self, a: FloatArray, index: IntArray | None = None) -> FloatArray:
        """Return Z_Jᵀ a, (d + 1,), for the rows J = index (k,) with a (k,), or for all with a (n,)."""
        self.passes += index is None
        if self._stored is not None:
            return np.asarray(np.dot(a, self._stored if index is None else self._stored.take(index, axis=0)))
        beta = (self.y if index is None else self.y[index]) * a
        return self._finish_gradient(self.source.weights(beta, index), float(beta.sum()))

    def scan(self, W: FloatArray, visit: Visitor) -> FloatArray:
        """Pass over the data in blocks of rows, and return Zᵀa, (d + 1,).

        `visit` receives the slice of a block and Z W of its rows, and returns a of these rows, or None for a = 0.
        """
        self.passes += 1
        shift = self._compute_shift(W)
        y = self.y
        totals: dict[int, float] = {}  # by first row: blocks may be visited in any order, and are summed in one

        def visit_label_scaled(block: slice, m: FloatArray) -> FloatArray | None:
            m += shift
            m *= y[block]
            a = visit(block, m)
            if a is not None:
                a *= y[block]
                totals[block.start] = float(a.sum())
            return a

        g = self.source.scan(W[: self.d], visit_label_scaled)
        return self._finish_gradient(g, sum(sort_by_start(totals)))

    def _compute_shift(self, W: FloatArray) -> float:
        """Compute the contribution e b − μᵀw of intercept and centring to each row of Z W, without its label."""
        return self.unit * float(W[self.d]) - (0.0 if self.mean is None else float(self.mean @ W[: self.d]))

    def _finish_gradient(self, uncentred_gradient: FloatArray, total: float) -> FloatArray:
        """Return Zᵀa, (d + 1,), from Xᵀβ, (d,), and the total Σβ, where β = y∘a."""
        g = np.empty(self.d + 1)
        g[: self.d] = uncentred_gradient
        if self.mean is not None:
            g[: self.d] -= total * self.mean
        g[self.d] = self.unit * total
        return g

    def gram(self, index: IntArray, weights: FloatArray | None = None) -> FloatArray:
        """Return Z_JᵀDZ_J for J = index (k,) and D = diag(weights), or the identity: (d + 1, d + 1)."""
        if self._stored is not None:
            Z = self._stored.take(index, axis=0)
            return np.asarray(np.dot(Z.T, Z if weights is None else weights[:, None] * Z))
        d = self.d
        S = np.empty((d + 1, d + 1))
        S[:d, :d], sums = self._centred.moments(index, weights)
        S[:d, d] = S[d, :d] = self.unit * sums
        S[d, d] = self.unit**2 * (len(index) if weights is None else float(weights.sum()))
        return S

    def kernel(self, index: IntArray, columns: IntArray) -> FloatArray:
        """Return Z_J Z_Lᵀ for J = index (k,) and L = columns (l,), both small sets: (k, l)."""
        K = self._centred.compute_inner_products(index, columns)
        K += self.unit**2
        K *= self.y[columns]
        K *= self.y[index][:, None]
        return K

    def select(self, index: IntArray) -> LabelScaledRows:
        """Return the rows J = index (k,), ascending: a centred copy in memory.

        If the source is not in memory and the rows are many, each pass reads them from the source instead.
        """
        keep_on_disk = self.source.memory_matrix is None and not self.is_gather_cheap(len(index))
        if keep_on_disk:
            subset = select_rows(self._centred, index)
        else:
            subset = as_row_source(self._centred.take(index))
        return LabelScaledRows(subset, self.y[index], self.unit)

    def select_many(self, indices: Sequence[IntArray]) -> list[LabelScaledRows]:
        """Select several sets of rows, with one pass over the data if the source is not in memory."""
        if self.source.memory_matrix is not None:
            return [self.select(index) for index in indices]
        union = np.unique(np.concatenate(indices))
        gathered = self.select(union)
        return [gathered.select(np.searchsorted(union, index)) for index in indices]

    def compute_column_squares(self) -> FloatArray:
        """Return the diagonal of ZᵀZ: (d + 1,); an approximation if μ was estimated from a sample of the rows."""
        squares = self.source.column_squares()
        n = self.n
        if self.mean is not None:
            squares = np.maximum(squares - n * self.mean**2, 0.0)
        return np.append(squares, self.unit**2 * n)

    def is_gather_cheap(self, count: int) -> bool:
        """Return whether products with `count` selected rows cost less than a pass over all rows."""
        return count < GATHER_SHARE * self.n


def build_label_scaled_rows(
    source: RowSource, y: FloatArray, unit: float, is_centred: bool
) -> tuple[LabelScaledRows, FloatArray | None]:
    """Build the rows (ROWS.1) of a source, and return them with μ (d,), or None if they are not centred.

    unit: e of (ROWS.1).
    is_centred: Whether to centre the rows; sparse rows never are, because that would make them dense.

    Shapes: source (n, d), y (n,).
    """
    source = _choose_storage(source)
    if not is_centred or source.is_sparse:
        return LabelScaledRows(source, y, unit), None
    mean, spread = _estimate_centre(source)
    offset = np.abs(mean)
    if ((offset > LARGE_OFFSET * spread) & (spread > CONSTANT_SPREAD * offset)).any():
        full_matrix = source.memory_matrix
        centred_source = CentredRows(source, mean) if full_matrix is None else as_row_source(full_matrix - mean)
        return LabelScaledRows(centred_source, y, unit), mean
    return LabelScaledRows(source, y, unit, mean), mean


def _choose_storage(source: RowSource) -> RowSource:
    """Return a sparse array in memory as a dense array if most entries are nonzero, else as CSR.

    The indices of the CSR array are 32-bit integers if they fit. Any other source is returned as it is.
    """
    full_matrix = source.memory_matrix
    if full_matrix is None or not source.is_sparse:
        return source
    if source.entries > DENSE_SHARE * source.n * source.d:
        return as_row_source(full_matrix.toarray())
    with_short_indices = shorten_indices(full_matrix.tocsr())
    if with_short_indices is full_matrix:
        return source
    return as_row_source(with_short_indices)


def _estimate_centre(source: RowSource) -> tuple[FloatArray, FloatArray]:
    """Estimate mean and standard deviation of the columns, (d,) each; estimates suffice, as any μ suits (ROWS.1)."""
    stride = max(1, source.n // MIN_CENTRE_ROWS)
    if source.memory_matrix is None and stride == 1:  # two passes over so few rows are cheap, and need no copy
        mean = source.means()
        return mean, np.sqrt(CentredRows(source, mean).column_squares() / source.n)
    sample = source.take(slice(None, None, stride))
    mean = sample.sum(axis=0) / len(sample)
    deviation = sample - mean  # a new array, because the sample may be a view of the source
    return mean, np.sqrt(np.einsum("ij,ij->j", deviation, deviation) / len(sample))
