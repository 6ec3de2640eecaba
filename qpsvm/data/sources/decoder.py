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

    X (k, d)
    labels (k,) or None: Numbers, or text.
    weight (k,) or None
    name: The file.
    start: The first row's place in the file.
    """

    X: Matrix
    labels: NDArray[Any] | None
    weight: FloatArray | None
    name: str
    start: int


class DecoderRestart(Exception):
    """A decoder has learnt late what it should have known from the beginning, and knows it now: begin again."""


class Decoder(ABC):
    """Rows in a format that has to be decoded.

    kind: The format in words.
    names: The files.
    is_sparse: Whether batches are.
    dtype: Of the numbers of dense batches: float32 where that holds every column exactly, else float64.
    is_single_use: Whether they can be handed out only once.
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
        """Yield all rows, in order; it may be called repeatedly. Raises Reconsidered."""

    def shape(self) -> tuple[int, int] | None:
        """Return (n, d), if it is known before anything is decoded."""
        return None


def normalise_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Convert labels (k,) of batches to numbers or text."""
    return y if y.dtype.kind in "biuf" else y.astype(np.str_)


def describe_files(decoder: Decoder) -> str:
    """Describe the files for a message."""
    first, *others = [name for name in decoder.names if name] or [decoder.kind]
    return f"{first} and {len(others)} more" if others else first
