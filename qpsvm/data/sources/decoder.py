"""Define how rows are decoded from files, batch by batch (`Decoder`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.data.sources.stored import FileWatch


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of one file.

    X (k, d): The features.
    labels (k,) or None: Numbers or text.
    weight (k,) or None: The weights.
    name: The name of the file.
    start: The position of the first row in the file.
    """

    X: Matrix
    labels: NDArray[Any] | None
    weight: FloatArray | None
    name: str
    start: int


class DecoderRestart(Exception):
    """Raised by a decoder that has to start again, because it has learnt more about the files."""


class Decoder(ABC):
    """Rows in a format that has to be decoded.

    kind: The name of the format.
    names: The names of the files.
    watch: Detects changes of the files while they are in use.
    is_sparse: Whether batches are sparse.
    dtype: The dtype of dense batches: float32 if it represents every column exactly, else float64.
    is_single_use: Whether the rows can be read only once.
    """

    kind: str
    names: tuple[str, ...]
    watch: FileWatch
    feature_names: tuple[str, ...] | None = None
    is_sparse: bool = False
    dtype: np.dtype[Any] = np.dtype(np.float64)
    is_single_use: bool = False

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Yield all rows, in order. Call it once only if `is_single_use`. Raises DecoderRestart."""

    def shape(self) -> tuple[int, int] | None:
        """Return (n, d), or None if it is unknown before decoding."""
        return None


def normalise_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Convert labels (k,) that are not numbers to text."""
    return y if y.dtype.kind in "biuf" else y.astype(np.str_)


def describe_files(decoder: Decoder) -> str:
    """Describe the files for a message."""
    first, *others = [name for name in decoder.names if name] or [decoder.kind]
    return f"{first} and {len(others)} more" if others else first
