"""Pack vectors over rows into few bytes, to send them to workers (`pack`, `unpack`).

    (PACK.1)  β with few values besides its minimum, its maximum and 0, as if many α are at a bound: two bits per row,
              and the other values one by one

Other vectors are sent unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray

#: Smallest number of rows that is packed; bytes of a value stored by itself; largest fraction of the size that pays.
MIN_PACKED_ROWS, OTHER_BYTES, MAX_PACKED_SHARE = 1000, 12, 0.5


@dataclass(frozen=True)
class Packed:
    """A packed vector, (PACK.1).

    ends: The minimum and the maximum.
    at_low, at_high: Bit masks of the rows that have them.
    places (k,), others (k,): The rows with another value that is not 0, and these values.
    """

    n: int
    ends: tuple[float, float]
    at_low: NDArray[np.uint8]
    at_high: NDArray[np.uint8]
    places: IntArray
    others: FloatArray

    def unpack(self) -> FloatArray:
        """Return the vector: (n,)."""
        out = np.where(np.unpackbits(self.at_low, count=self.n), self.ends[0], 0.0)
        out[np.unpackbits(self.at_high, count=self.n).astype(bool)] = self.ends[1]
        out[self.places] = self.others
        return out


def pack(values: FloatArray) -> FloatArray | Packed:
    """Pack a vector (n,) for sending; return it as it is if packing does not pay."""
    n = len(values)
    if values.ndim != 1 or n < MIN_PACKED_ROWS:
        return values
    low, high = float(values.min()), float(values.max())
    at_low, at_high = values == low, values == high
    places = np.flatnonzero(~(at_low | at_high | (values == 0.0)))
    if OTHER_BYTES * len(places) > MAX_PACKED_SHARE * values.nbytes:
        return values
    return Packed(n, (low, high), np.packbits(at_low), np.packbits(at_high), places.astype(np.int32), values[places])


def unpack(value: Any) -> Any:
    """Restore a vector that `pack` returned."""
    return value.unpack() if isinstance(value, Packed) else value
