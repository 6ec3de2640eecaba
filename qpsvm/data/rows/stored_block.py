"""A block of rows that are stored as other numbers than float64, not row by row, or with other columns between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.data.rows.blocks import Places
from qpsvm.data.rows.made import MadeBlock


def is_plain(stored: NDArray[Any]) -> bool:
    """Whether products can be made with an array (n, d) as it is stored: float64, row by row."""
    return stored.dtype == np.float64 and stored.dtype.isnative and stored.flags.c_contiguous and stored.flags.aligned


class StoredBlock(MadeBlock):
    """Rows of an array of any numbers, in any order.

    stored (k, …): Kept by reference.
    start: The first row's place in the source.
    columns (d,): Which of its columns are features.
    """

    def __init__(self, stored: NDArray[Any], start: int, columns: slice | IntArray) -> None:
        self.stored, self.columns = stored, columns
        self.n, self.d = len(stored), len(np.arange(stored.shape[1])[columns])
        self.rows = slice(start, start + self.n)

    def made(self, at: Places) -> FloatArray:
        """Some of the rows as float64, (j, d); a view where they are stored so."""
        return np.asarray(self.stored[at][:, self.columns], dtype=np.float64)
