"""Define rows that are read one block at a time, and the products that a linear machine needs (`RowSource`).

    (SOURCE.1)  Xw,  Xᵀβ = Σ_B X_Bᵀβ_B,  X_JᵀDX_J = Σ_B …,  ‖x_i‖²,  Σ_i x_i,  X_J    over the blocks B of rows

Each is a sum or a sequence over blocks. They are implemented once, in `RowSource`, by one primitive, `map_blocks`,
which subclasses may override. An array in memory is one block, so that a product is one call of the BLAS; other rows
are read or computed when they are needed; to rows on a cluster, tasks are sent. Operators, certificates and linear
solvers use only these methods. Only the rows of a working set, or the support vectors, are gathered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import FastABCMeta, cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.limits import check_memory
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips
from qpsvm.data.rows import tasks
from qpsvm.data.rows.blocks import ALL, READ_SECONDS, Block, Moments, RowIndex, sum_arrays

T = TypeVar("T")

#: Cost of `RowSource.scan`, two products and the visitor, relative to reading every number once.
FUSED_PASS_COST = 3.0
#: Function of a range of rows and of X w there (k,), which it may overwrite; returns β (k,) there, or None for 0.
Visitor: TypeAlias = Callable[[slice, FloatArray], FloatArray | None]
#: Number of rows that a visitor gets at a time from a remote source: 1 MB of margins.
VISITED_ROWS = 1 << 17
#: Function of a block, of positions in it if only some of its rows are selected, and of vectors over its rows; see
#: `qpsvm.data.rows.tasks`.
Task: TypeAlias = Callable[..., Any]
#: Selected rows of a block: the block, their positions in it, and their positions in the selection.
BlockRows: TypeAlias = tuple[Block, RowIndex, RowIndex]


class RowMap(Protocol):
    """Map from rows to features."""

    @property
    def width(self) -> int:
        """Number r of features."""

    def features(self, X: Matrix) -> FloatArray:
        """Return φ(x_i) for the rows of X (k, d): (k, r), a new array."""

    @property
    def row_seconds(self) -> float:
        """Approximate seconds of one core for the features of one row."""


class RowSource(metaclass=FastABCMeta):
    """The rows of X, (n, d). A subclass yields them in blocks; this class computes products from blocks.

    n, d: Number of rows and columns.
    is_sparse: Whether the blocks are sparse.
    feature_names: The names of the columns; None if unknown.
    """

    n: int
    d: int
    is_sparse: bool
    feature_names: tuple[str, ...] | None = None
    #: The map that computed the rows from samples; None if there is none.
    row_map: RowMap | None = None
    #: Whether the rows are in other processes, so that every pass over them is slow.
    is_remote: bool = False

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, in blocks. May be called repeatedly."""

    def map_blocks(
        self, task: Task, *vectors: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        """Apply a task to each block, in order, and yield its rows with each result.

        Parameters
        ----------
        task : callable
            See `tasks`. It must be picklable, because it may be sent to other processes.
        *vectors : ndarray of shape (n, …), or (j, …) with `rows`
            Vectors over the rows; a task gets the entries of its rows.
        rows : ndarray of shape (j,), optional
            The selected rows, in any order. A task then gets their positions in the block, and their positions in
            `rows` are yielded with its result.
        add : bool
            Whether results, tuples of arrays, may be summed before they are sent here, if they are computed elsewhere.
        """
        del add
        if rows is None:
            for block in self.blocks():
                yield block.rows, task(block, *(values[block.rows] for values in vectors))
            return
        for block, block_rows, positions in self.locate_rows(rows):
            yield positions, task(block, block_rows, *(values[positions] for values in vectors))

    def sum_blocks(
        self, task: Task, *vectors: FloatArray, shapes: tuple[tuple[int, ...], ...], rows: IntArray | None = None,
        add: bool = False,
    ) -> list[FloatArray]:  # fmt: skip
        """Sum the results of a task, tuples of arrays of these shapes, over the blocks; see `map_blocks`."""
        return sum_arrays((result for _, result in self.map_blocks(task, *vectors, rows=rows, add=add)), *shapes)

    @property
    @abstractmethod
    def entries(self) -> int:
        """Number of stored entries: nd for dense rows."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the source holds in memory."""

    @property
    def memory_matrix(self) -> Matrix | None:
        """X (n, d), if it is one array in memory; else None."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.n, self.d

    def check(self) -> None:
        """Raise a `DataError` if the origin of the rows is known to have changed since it was opened."""

    def start_run(self) -> None:
        """Check the source at the start of a run, before anything is computed from the rows."""
        self.check()

    def end_run(self) -> None:
        """End the run."""

    def __getitem__(self, rows: IntArray | slice) -> Matrix:
        """Return the selected rows as `take` does, so that sources and arrays are indexed in the same way."""
        return self.take(rows if isinstance(rows, slice) else np.asarray(rows))

    def __repr__(self) -> str:
        kind = f"sparse, {self.entries} non-zeros" if self.is_sparse else "dense"
        return f"<{type(self).__name__} {self.n} × {self.d}: {kind}>"

    # --- maps: one result per row ---

    def margins(self, w: FloatArray) -> FloatArray:
        """Return X w for w (d,) or (d, r): (n,) or (n, r), a new array."""
        return self._map_rows(partial(tasks.margins, w=w), w.shape[1:])

    def squared_norms(self) -> FloatArray:
        """Return ‖x_i‖²: (n,)."""
        return self._map_rows(tasks.squared_norms)

    def _map_rows(self, task: Task, shape: tuple[int, ...] = ()) -> FloatArray:
        """Compute an array over the rows, (n, …), block by block; the result of a single block is not copied.

        shape: The shape of the result for one row.
        """
        out: FloatArray | None = None
        for rows, values in self.map_blocks(task):
            if len(values) == self.n:
                all_values: FloatArray = values
                return all_values
            out = np.empty((self.n, *shape)) if out is None else out
            out[rows] = values
        return np.empty((self.n, *shape)) if out is None else out

    # --- sums over the rows ---

    def sum_of_squares(self) -> float:
        """Return Σ ‖x_i‖²."""
        return float(self.column_squares().sum())

    def means(self) -> FloatArray:
        """Return the means of the columns: (d,)."""
        means: FloatArray = self.sum_blocks(tasks.column_sums, shapes=((self.d,),))[0] / self.n
        return means

    @cached
    def longest_row(self) -> int:
        """Largest number of stored entries in a row: the number of terms of a product with it."""
        return int(max((longest for _, longest in self.map_blocks(tasks.longest_row)), default=0))

    def weights(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return Xᵀβ for β (n,) or (n, r); or X_Jᵀβ for J = rows (j,) and β (j,): (d,) or (d, r)."""
        task = tasks.weights if rows is None else tasks.weights_of_rows
        return self.sum_blocks(task, beta, rows=rows, shapes=((self.d, *beta.shape[1:]),))[0]

    def scan(self, w: FloatArray, visit: Visitor) -> FloatArray:
        """Compute two products in one pass: Xᵀβ, (d,), for the β that the visitor returns for X w, block by block.

        The visitor may be called for several blocks at once, in any order. For a remote source, X w is fetched first.
        """
        if self.is_remote:
            values = self.margins(w)
            beta = np.zeros(self.n)
            has_weights = False
            for strip in split_strips(self.n, VISITED_ROWS):
                strip_beta = visit(strip, values[strip])
                if strip_beta is not None:
                    beta[strip] = strip_beta
                    has_weights = True
            return self.weights(beta) if has_weights else np.zeros(self.d)
        return sum_arrays(((_scan_block(block, w, visit),) for block in self.blocks()), (self.d,))[0]

    def moments(self, rows: IntArray, scale: FloatArray | None = None) -> Moments:
        """Return X_JᵀDX_J, (d, d), and X_JᵀD1, (d,), for J = rows (j,) and D = diag(scale), or the identity."""
        vectors = () if scale is None else (scale,)
        shapes = (self.d, self.d), (self.d,)
        S, s = self.sum_blocks(tasks.moments, *vectors, rows=rows, shapes=shapes, add=True)
        return S, s

    def column_squares(self) -> FloatArray:
        """Return the diagonal of XᵀX: (d,)."""
        return self.sum_blocks(tasks.column_squares, shapes=((self.d,),))[0]

    # --- selected rows ---

    def persist(self, task: Task, index: IntArray | None = None) -> RowSource:
        """Compute rows from all rows, or from some, by a task, and store them in the processes of a remote source.

        index (j,): The selected rows, ascending; None for all.
        """
        raise NotImplementedError(f"{type(self).__name__} keeps nothing elsewhere")

    def take(self, rows: IntArray | slice) -> Matrix:
        """Return X_J, (j, d), dense or sparse, for J = rows (j,) from 0 to n − 1, in a new array; or for a slice."""
        if isinstance(rows, slice):
            if self.memory_matrix is not None:
                return self.memory_matrix[rows]
            rows = np.arange(self.n)[rows]
        blocks = self.map_blocks(tasks.take, rows=rows)  # the selected rows of each block, with their positions
        if not self.is_sparse:
            out: FloatArray | None = None
            for positions, matrix in blocks:
                if len(matrix) == len(rows) and isinstance(positions, slice):
                    return np.asarray(matrix)
                out = np.empty((len(rows), self.d)) if out is None else out
                out[positions] = matrix
            return np.empty((0, self.d)) if out is None else out
        sparse_blocks = list(blocks)
        if len(sparse_blocks) == 1 and isinstance(sparse_blocks[0][0], slice):
            return sparse_blocks[0][1]
        if not sparse_blocks:
            return sp.csr_array((0, self.d))
        order = np.concatenate([np.arange(len(rows))[positions] for positions, _ in sparse_blocks])
        return sp.vstack([matrix for _, matrix in sparse_blocks], format="csr")[np.argsort(order)]

    def compute_inner_products(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Return X_J X_Lᵀ for J = rows (j,) and L = others (l,): (j, l)."""
        left = self.take(rows)
        right = left if others is rows else self.take(others)
        return as_dense(left @ right.T)

    def matrix(self) -> Matrix:
        """Return X as one array, dense or sparse: (n, d), possibly a copy. For solvers that need an array.

        Raises
        ------
        TooLargeError
            It does not fit into memory.
        """
        if self.memory_matrix is not None:
            return self.memory_matrix
        if not self.is_sparse:
            check_memory(self.n, self.d, "the samples as one array", "Take a solver that goes by blocks of rows")
        parts = [part for _, part in self.map_blocks(tasks.take)]
        if self.is_sparse:
            if parts:
                return sp.vstack(parts, format="csr")
            return sp.csr_array((0, self.d))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.empty((0, self.d)), *parts])

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Yield the blocks that contain selected rows (j,), in any order: each row once."""
        order = sorted_rows = None
        n_done = 0
        for block in self.blocks():
            if block.n == self.n:
                yield block, rows, ALL
                return
            if sorted_rows is None:
                if bool((rows[1:] >= rows[:-1]).all()):
                    order = None
                else:
                    order = np.argsort(rows, kind="stable")
                sorted_rows = rows if order is None else rows[order]
            if n_done == len(rows):
                return
            end = int(np.searchsorted(sorted_rows, block.rows.stop))
            if end > n_done:
                positions: RowIndex = slice(n_done, end) if order is None else order[n_done:end]
                yield block, sorted_rows[n_done:end] - block.rows.start, positions
                n_done = end


def sort_by_start(results: dict[int, T]) -> list[T]:
    """Return the results of visitors by the first rows of their blocks, the keys, in order, whichever ran first."""
    return [results[start] for start in sorted(results)]


def _scan_block(block: Block, w: FloatArray, visit: Visitor) -> FloatArray:
    """Run `RowSource.scan` on one block: (d,). In each of several ranges of tiles, the tiles are summed in order."""
    tiles = block.tiles()
    ranges = split_range(len(tiles))
    sums = np.zeros((len(ranges), block.d))

    def scan_range(k: int) -> None:
        for tile in map(block.take_tile, tiles[ranges[k]]):
            beta = visit(tile.rows, tile.margins(w))
            if beta is not None:
                sums[k] += tile.weights(beta)

    run_tiles(scan_range, range(len(ranges)), FUSED_PASS_COST * READ_SECONDS * block.entries)
    return sum_arrays(zip(sums), (block.d,))[0]
