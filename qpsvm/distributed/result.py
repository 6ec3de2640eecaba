"""The result of a solve whose rows stay where they are: numbers here, and what each row has when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray
from qpsvm.result import SVMResult

#: What a result has for each row, or for each α.
ROW_BY_ROW = frozenset({"alpha", "coef", "kind", "yf", "margin", "upper", "curvature", "target"})


class SpreadResult(SVMResult):
    """An `SVMResult` whose vectors over the rows are gathered when somebody looks at them.

    w, b, the values, the gap and the counts are here. Written to a file, or pickled, it has the vectors with it, and
    knows nothing of the cluster any more.
    """

    @cached_property
    def target(self) -> FloatArray | None:
        """t of a regression: (n,)."""
        found: FloatArray | None = self.__dict__["gather"]("target")
        return found

    def __getattr__(self, name: str) -> Any:
        gather: Callable[[str], NDArray[Any]] | None = self.__dict__.get("gather")
        if name not in ROW_BY_ROW or gather is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = values = gather(name)
        return values

    def __getstate__(self) -> dict[str, Any]:
        for name in ROW_BY_ROW:
            getattr(self, name)
        return {name: value for name, value in vars(self).items() if name not in ("gather", "problem")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def cut(values: NDArray[Any], lengths: list[int]) -> list[NDArray[Any]]:
    """A vector over the rows of one member as one for each of its partitions, (sides, k).

    Shapes: values (n,).
    """
    sides = values.reshape(-1, sum(lengths))
    return np.split(sides, np.cumsum(lengths)[:-1], axis=1)


def in_order(pieces: list[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
    """One vector from the partitions', (sides, k) each with its first row: (n,) or (2n,)."""
    return np.concatenate([part for _, part in sorted(pieces, key=itemgetter(0))], axis=1).ravel()


__all__ = ["ROW_BY_ROW", "SpreadResult", "cut", "in_order"]
