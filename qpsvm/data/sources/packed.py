"""Pack vectors over rows into few bytes, to send them to workers.

    (PACK.1)  β with few values besides its least, its largest and 0, as where α is at a bound: two bits a row, and the
              others one by one

Numbers of any other kind travel as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray

#: Rows below which nothing is gained; bytes of a number by itself, and the share of all bytes that pays.
MIN_PACKED_ROWS, OTHER_BYTES, MAX_PACKED_SHARE = 1000, 12, 0.5


@dataclass(frozen=True)
class Packed:
    """(PACK.1).

    ends: The least and the largest value. at_low, at_high: Which rows have them, a bit each.
    places (k,), others (k,): Which rows have another value that is not 0, and these.
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
    """Restore what was packed."""
    return value.unpack() if isinstance(value, Packed) else value
