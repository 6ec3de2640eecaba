"""Define rows that are read one block at a time, and the products that a linear machine needs (`RowSource`).

    (SOURCE.1)  Xw,  Xᵀβ = Σ_B X_Bᵀβ_B,  X_JᵀDX_J = Σ_B …,  ‖x_i‖²,  Σ_i x_i,  X_J    over the blocks B of rows

Each is a sum or a sequence over blocks. They are written once, in `RowSource`, by one primitive, `each`: for an array
in memory (one block, so that a product is one call of the BLAS), for rows that are made as they are needed, and for
rows on a cluster, to which a task travels. Operators, certificates and linear solvers use these and nothing else; only
the rows of a working set, or the support vectors, are ever gathered.
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

#: What a fused pass takes, in those that read every number once: two products and the visitor.
FUSED_PASS_COST = 3.0
#: Takes a range of rows and X w there (k,), its own to change; answers with weights β (k,), or None for 0.
Visitor: TypeAlias = Callable[[slice, FloatArray], FloatArray | None]
#: Rows that the visitor of a fused pass is handed at a time, where they are elsewhere: 1 MB of margins.
VISITED_ROWS = 1 << 17
#: A function of a block, of places in it where some of its rows are meant, and of what belongs to these rows.
Task: TypeAlias = Callable[..., Any]
#: Rows of a block as (block, their places in it, their places among those asked for).
BlockRows: TypeAlias = tuple[Block, RowIndex, RowIndex]


class RowMap(Protocol):
    """Map from rows to features."""

    @property
    def width(self) -> int:
        """r, how many features it makes."""

    def features(self, X: Matrix) -> FloatArray:
        """Return φ(x_i) for the rows of X (k, d): (k, r), a new array."""

    @property
    def row_seconds(self) -> float:
        """Approximate seconds of one core for the features of one row."""


class RowSource(metaclass=FastABCMeta):
    """The rows of X, (n, d). A leaf says how they come in blocks; what is computed from blocks is here.

    n, d: Rows and columns.
    is_sparse: Whether the blocks are.
    feature_names or None: What the columns are called, where that is known.
    """

    n: int
    d: int
    is_sparse: bool
    feature_names: tuple[str, ...] | None = None
    #: What has made the rows of others, where that is so.
    row_map: RowMap | None = None
    #: Whether the rows are elsewhere, so that one look at them takes long, whatever it looks at.
    is_remote: bool = False

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield all rows, in order, in blocks; it may be called repeatedly."""

    def map_blocks(
        self, task: Task, *along: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        """Apply a task to each block, in order, and yield its rows with each result.

        Parameters
        ----------
        task : callable
            See `tasks`. One that can be pickled, because it goes where the rows are.
        *along : ndarray of shape (n, …), or (j, …) beside `rows`
            What belongs to rows: a task is given its own part.
        rows : ndarray of shape (j,), optional
            Which rows are meant, in any order. A task is then given their places in the block, and what comes with its
            answer are their places in `rows`.
        add : bool
            Whether answers, tuples of arrays, may be added up before they come, where that is less to send.
        """
        del add
        if rows is None:
            for block in self.blocks():
                yield block.rows, task(block, *(values[block.rows] for values in along))
            return
        for block, at, where in self.locate_rows(rows):
            yield where, task(block, at, *(values[where] for values in along))

    def sum_blocks(
        self,
        task: Task,
        *along: FloatArray,
        shapes: tuple[tuple[int, ...], ...],
        rows: IntArray | None = None,
        add: bool = False,
    ) -> list[FloatArray]:
        """Sum the results of a task over the blocks: arrays of these shapes."""
        return sum_arrays((found for _, found in self.map_blocks(task, *along, rows=rows, add=add)), *shapes)

    @property
    @abstractmethod
    def entries(self) -> int:
        """Numbers stored: nd where the rows are dense."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the source holds in memory."""

    @property
    def memory_matrix(self) -> Matrix | None:
        """X, where it is one array in memory already; else None."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.n, self.d

    def check(self) -> None:
        """Raise a `DataError` where what the rows come from is known to have changed since it was opened."""

    def start_run(self) -> None:
        """Check the source at the start of a run, before anything is computed from the rows."""
        self.check()

    def end_run(self) -> None:
        """End the run."""

    def __getitem__(self, rows: IntArray | slice) -> Matrix:
        """`take`, so that some samples of a problem are asked for in one way, wherever they are."""
        return self.take(rows if isinstance(rows, slice) else np.asarray(rows))

    def __repr__(self) -> str:
        kind = f"sparse, {self.entries} non-zeros" if self.is_sparse else "dense"
        return f"<{type(self).__name__} {self.n} × {self.d}: {kind}>"

    # --- maps: a number a row ---

    def margins(self, w: FloatArray) -> FloatArray:
        """Return X w for w (d,) or (d, r): (n,) or (n, r), a new array."""
        return self._map_rows(partial(tasks.margins, w=w), w.shape[1:])

    def squared_norms(self) -> FloatArray:
        """Return ‖x_i‖²: (n,)."""
        return self._map_rows(tasks.squared_norms)

    def _map_rows(self, task: Task, shape: tuple[int, ...] = ()) -> FloatArray:
        """Compute an array over the rows block by block; the result of a single block is not copied."""
        out: FloatArray | None = None
        for rows, values in self.map_blocks(task):
            if len(values) == self.n:
                found: FloatArray = values
                return found
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
        """The most numbers that one row stores: the terms of a product with it."""
        return int(max((longest for _, longest in self.map_blocks(tasks.longest_row)), default=0))

    def weights(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return Xᵀβ for β (n,) or (n, r); or X_Jᵀβ for J = rows (j,) and β (j,): (d,) or (d, r)."""
        shape = (self.d, *beta.shape[1:])
        task = tasks.weights if rows is None else tasks.weights_of_rows
        return self.sum_blocks(task, beta, rows=rows, shapes=(shape,))[0]

    def scan(self, w: FloatArray, visit: Visitor) -> FloatArray:
        """Compute two products in one pass: Xᵀβ, (d,), for the β that the visitor returns for X w, block by block.

        The visitor may be called for several blocks at once, in any order. Of rows elsewhere, X w comes here first.
        """
        if self.is_remote:
            m, beta, any_weight = self.margins(w), np.zeros(self.n), False
            for some in split_strips(self.n, VISITED_ROWS):
                found = visit(some, m[some])
                if found is not None:
                    beta[some], any_weight = found, True
            return self.weights(beta) if any_weight else np.zeros(self.d)
        return sum_arrays(((_scan_block(block, w, visit),) for block in self.blocks()), (self.d,))[0]

    def moments(self, rows: IntArray, scale: FloatArray | None = None) -> Moments:
        """Return X_JᵀDX_J, (d, d), and X_JᵀD1, (d,), for J = rows (j,) and D = diag(scale), or the identity."""
        along = () if scale is None else (scale,)
        shapes = (self.d, self.d), (self.d,)
        S, s = self.sum_blocks(tasks.moments, *along, rows=rows, shapes=shapes, add=True)
        return S, s

    def column_squares(self) -> FloatArray:
        """Return the diagonal of XᵀX: (d,)."""
        return self.sum_blocks(tasks.column_squares, shapes=((self.d,),))[0]

    # --- some rows ---

    def persist(self, task: Task, index: IntArray | None = None) -> RowSource:
        """Store the rows that a task makes of these, or of some, ascending, where they are, outside this process."""
        raise NotImplementedError(f"{type(self).__name__} keeps nothing elsewhere")

    def take(self, rows: IntArray | slice) -> Matrix:
        """Return X_J, (j, d), dense or sparse, for J = rows (j,) from 0 to n − 1, in a new array; or for a slice."""
        if isinstance(rows, slice):
            if self.memory_matrix is not None:
                return self.memory_matrix[rows]
            rows = np.arange(self.n)[rows]
        parts = ((part, where) for where, part in self.map_blocks(tasks.take, rows=rows))
        if not self.is_sparse:
            out: FloatArray | None = None
            for part, where in parts:
                if len(part) == len(rows) and isinstance(where, slice):
                    return np.asarray(part)
                out = np.empty((len(rows), self.d)) if out is None else out
                out[where] = part
            return np.empty((0, self.d)) if out is None else out
        found = list(parts)
        if len(found) == 1 and isinstance(found[0][1], slice):
            return found[0][0]
        if not found:
            return sp.csr_array((0, self.d))
        places = np.concatenate([np.arange(len(rows))[where] for _, where in found])
        return sp.vstack([part for part, _ in found], format="csr")[np.argsort(places)]

    def compute_inner_products(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Return X_J X_Lᵀ for J = rows (j,) and L = others (l,): (j, l)."""
        left = self.take(rows)
        right = left if others is rows else self.take(others)
        return as_dense(left @ right.T)

    def matrix(self) -> Matrix:
        """Return X as one array, dense or sparse: (n, d). It may be a copy, for solvers that need an array.

        Raises
        ------
        TooLargeError
            There is no memory for it.
        """
        if self.memory_matrix is not None:
            return self.memory_matrix
        if not self.is_sparse:
            check_memory(self.n, self.d, "the samples as one array", "Take a solver that goes by blocks of rows")
        parts = [part for _, part in self.map_blocks(tasks.take)]
        if self.is_sparse:
            return sp.vstack(parts, format="csr") if parts else sp.csr_array((0, self.d))
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self.d)), *parts])

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Yield the blocks that contain the given rows (j,), in any order: each row once."""
        order = bounds = None
        done = 0
        for block in self.blocks():
            if block.n == self.n:
                yield block, rows, ALL
                return
            if bounds is None:
                order = None if bool((rows[1:] >= rows[:-1]).all()) else np.argsort(rows, kind="stable")
                bounds = rows if order is None else rows[order]
            if done == len(rows):
                return
            end = int(np.searchsorted(bounds, block.rows.stop))
            if end > done:
                where: RowIndex = slice(done, end) if order is None else order[done:end]
                yield block, bounds[done:end] - block.rows.start, where
                done = end


def sort_by_start(found: dict[int, T]) -> list[T]:
    """Sort results by the first row of their block."""
    return [found[start] for start in sorted(found)]


def _scan_block(block: Block, w: FloatArray, visit: Visitor) -> FloatArray:
    """Run `RowSource.scan` on one block: its tiles in parts, in each of which they are summed in order."""
    tiles = block.tiles()
    parts = split_range(len(tiles))
    sums = np.zeros((len(parts), block.d))

    def multiply(k: int) -> None:
        for piece in map(block.take_tile, tiles[parts[k]]):
            beta = visit(piece.rows, piece.margins(w))
            if beta is not None:
                sums[k] += piece.weights(beta)

    run_tiles(multiply, range(len(parts)), FUSED_PASS_COST * READ_SECONDS * block.entries)
    return sum_arrays(zip(sums), (block.d,))[0]
