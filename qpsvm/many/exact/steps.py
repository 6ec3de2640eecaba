"""Record the steps of a parametric active set (`Steps`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray


class Steps:
    """Record of at most `limit` successive steps: one row of each array per step, `count` of them filled.

    numbers (limit, 2 + 2p + 2 width): s at the start and the end, μ, dμ/ds, v_F and dv_F/ds; the last two are padded.
    rows (limit, 1 + width): The size of F, and F, padded to `width`.
    kinds (limit, m): `kind` of all rows, as in `ActiveSet`.
    """

    def __init__(self, limit: int, m: int, p: int, width: int) -> None:
        self.numbers: FloatArray = np.empty((limit, 2 + 2 * p + 2 * width))
        self.rows: IntArray = np.empty((limit, 1 + width), dtype=np.int64)
        self.kinds: NDArray[np.int8] = np.empty((limit, m), dtype=np.int8)
        self.p = p
        self.width = width
        self.count = 0

    @classmethod
    def from_step(
        cls, ends: tuple[float, float], free: IntArray, kind: NDArray[np.int8], values: tuple[FloatArray, ...]
    ) -> Steps:
        """Build the record of a single step; `values` are μ, dμ/ds, v_F and dv_F/ds."""
        steps = cls(1, len(kind), len(values[0]), len(free))
        steps.count = 1
        steps.numbers[0] = np.concatenate([ends, *values])
        steps.rows[0, 0] = len(free)
        steps.rows[0, 1:] = free
        steps.kinds[0] = kind
        return steps


#: Callback that receives steps; it must copy their arrays, which are reused.
Record = Callable[[Steps], None]
