"""Rows as a decoder hands them out, a batch after the other; and what reads them while others are worked on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataTypeError
from qpsvm.data.files.sheet import whole
from qpsvm.data.sources.stored import Watch

T = TypeVar("T")

#: Batches that are decoded while another is worked on.
AHEAD = 2


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of some rows, (k,): numbers, or places (k,) among different texts."""

    values: NDArray[Any]
    texts: tuple[str, ...] | None = None

    @classmethod
    def of(cls, y: NDArray[Any]) -> Labels:
        """Those that stand in an array (k,)."""
        if y.dtype.kind in "biuf":
            return cls(y)
        texts, places = np.unique(y.astype(np.str_), return_inverse=True)
        return cls(places, tuple(texts.tolist()))


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of one file.

    X (k, d)
    weight (k,) or None
    name: The file.
    start: The first row's place in the file.
    """

    X: Matrix
    labels: Labels | None
    weight: FloatArray | None
    name: str
    start: int


class Reconsidered(Exception):
    """A decoder has learnt late what it should have known from the beginning, and knows it now: begin again."""


class Decoder(ABC):
    """Rows in a format that has to be decoded.

    kind: The format in words.
    names: The files.
    is_sparse: Whether batches are.
    dtype: Of the numbers of dense batches: float32 where that holds every column exactly, else float64.
    once: Whether they can be handed out only once.
    """

    kind: str
    names: tuple[str, ...]
    watch: Watch
    feature_names: tuple[str, ...] | None = None
    is_sparse: bool = False
    dtype: np.dtype[Any] = np.dtype(np.float64)
    once: bool = False

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows, in order; as often as it is asked for.

        Raises Reconsidered.
        """

    def shape(self) -> tuple[int, int] | None:
        """(n, d), where it is known before anything is decoded."""
        return None


class LabelsOfAll:
    """Labels of batches, one behind the other."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []
        self._places: dict[str, int] = {}
        self._is_text = False

    def add(self, labels: Labels) -> None:
        """Those of the next batch.

        Raises DataTypeError.
        """
        if self._parts and self._is_text != (labels.texts is not None):
            raise DataTypeError("the target is text in some files and numbers in others; make it one of the two")
        self._is_text = labels.texts is not None
        if labels.texts is None:
            self._parts.append(labels.values)
            return
        places = [self._places.setdefault(text, len(self._places)) for text in labels.texts]
        self._parts.append(np.array(places, dtype=np.int32)[labels.values])

    def joined(self) -> NDArray[Any]:
        """All of them, (n,): text, or numbers; integers if all are whole."""
        codes: NDArray[Any] = np.concatenate(self._parts)
        if self._is_text:
            codes = np.array(list(self._places))[codes]
        if codes.dtype.kind == "f":
            codes = whole(codes)
        return codes


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same, made in a thread of its own a few ahead, so that two cores decode and write at once."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "qpsvm-decode") as thread:
        made = deque(thread.submit(next, items, None) for _ in range(AHEAD))
        try:
            while (item := made.popleft().result()) is not None:
                made.append(thread.submit(next, items, None))
                yield item
        finally:
            for later in made:
                later.cancel()
