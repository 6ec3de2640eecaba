"""Compute products and sums over one block of rows, by functions that can be sent to the process that stores the rows.

The arguments of a task are a block; if only some of its rows are selected, their positions in it; and then vectors over
these rows. `RowSource.map_blocks` passes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.data.rows.blocks import ALL, Block, Moments, RowIndex


def margins(block: Block, w: FloatArray) -> FloatArray:
    """Return X w for w (d,) or (d, r): (k,) or (k, r)."""
    return block.margins(w)


def squared_norms(block: Block) -> FloatArray:
    """Return ‖x_i‖²: (k,)."""
    return block.squared_norms()


def weights(block: Block, beta: FloatArray) -> tuple[FloatArray]:
    """Return Xᵀβ for β (k,) or (k, r): (d,) or (d, r)."""
    return (block.weights(beta),)


def weights_of_rows(block: Block, rows: RowIndex, beta: FloatArray) -> tuple[FloatArray]:
    """Return X_Jᵀβ for β (j,): (d,)."""
    return (block.weights(beta, rows),)


def moments(block: Block, rows: RowIndex, scale: FloatArray | None = None) -> Moments:
    """Return X_JᵀDX_J, (d, d), and X_JᵀD1, (d,), for rows J (j,) and D = diag(scale); None for D = I."""
    return block.moments(rows, scale)


def column_sums(block: Block) -> tuple[FloatArray]:
    """Return Xᵀ1: (d,)."""
    return (block.column_sums(),)


def column_squares(block: Block) -> tuple[FloatArray]:
    """Return the diagonal of XᵀX: (d,)."""
    return (block.column_squares(),)


def longest_row(block: Block) -> int:
    """Return the largest number of entries that one row stores."""
    return block.longest_row


def take(block: Block, rows: RowIndex = ALL) -> Matrix:
    """Return X_J: (j, d)."""
    return block.take(rows)


@dataclass(frozen=True)
class ComposedTask:
    """A task on a transformed block."""

    transform: Callable[[Block], Block]
    task: Callable[..., Any]

    def __call__(self, block: Block, *rest: Any) -> Any:
        return self.task(self.transform(block), *rest)
