"""Pack vectors over rows into few bytes, to send them to workers (`pack`, `unpack`).

    (PACK.1)  if most entries are the minimum, the maximum or 0, as in β if most α are at a bound: two bits per row, and
              the other entries one by one

Other vectors are sent unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray

#: Shorter vectors are not packed.
MIN_PACKED_ROWS = 1000
#: Bytes of one of the other entries: an index and a float. They may take at most this share of the vector's bytes.
OTHER_BYTES, MAX_PACKED_SHARE = 12, 0.5


@dataclass(frozen=True)
class PackedVector:
    """A vector (n,) as two bits per row and a few entries, (PACK.1).

    ends: The minimum and the maximum.
    at_low, at_high: Bit masks of the rows that have them.
    other_rows (k,), other_values (k,): The rows with another value that is not 0, and these values.
    """

    n: int
    ends: tuple[float, float]
    at_low: NDArray[np.uint8]
    at_high: NDArray[np.uint8]
    other_rows: IntArray
    other_values: FloatArray

    def unpack(self) -> FloatArray:
        """Return the vector: (n,)."""
        values = np.where(np.unpackbits(self.at_low, count=self.n), self.ends[0], 0.0)
        values[np.unpackbits(self.at_high, count=self.n).astype(bool)] = self.ends[1]
        values[self.other_rows] = self.other_values
        return values


def pack(values: FloatArray) -> FloatArray | PackedVector:
    """Pack a vector (n,); return it unchanged if packing does not pay."""
    n = len(values)
    if values.ndim != 1 or n < MIN_PACKED_ROWS:
        return values
    low, high = float(values.min()), float(values.max())
    at_low, at_high = values == low, values == high
    other_rows = np.flatnonzero(~(at_low | at_high | (values == 0.0)))
    if OTHER_BYTES * len(other_rows) > MAX_PACKED_SHARE * values.nbytes:
        return values
    bits = np.packbits(at_low), np.packbits(at_high)
    return PackedVector(n, (low, high), *bits, other_rows.astype(np.int32), values[other_rows])


def unpack(value: Any) -> Any:
    """Return the vector that `pack` was given."""
    return value.unpack() if isinstance(value, PackedVector) else value
