"""What the study solvers share: why a run stopped, its clock, its history and its printed lines.

Everything in `solvers` is arrays in, arrays out; the letters are those of the QP layer, and x is (n,) throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.errors import ParameterError
from qpsvm.solvers.shared.stopping import Clock, StopReason

#: A run prints (if verbose) and keeps at most this many lines and pairs of history, besides the last.
PRINTED_LINES = 20
HISTORY_ROWS = 200


@dataclass(frozen=True, eq=False)
class Trace:
    """How a run went: iterations made, why it stopped, seconds, and `history`.

    history: (k, 2), at most 200 pairs (iteration, objective), and at the end that of the point returned.
    """

    iterations: int
    reason: StopReason
    seconds: float
    history: FloatArray


class Product(Protocol):
    """Anything that multiplies a vector: an array, a SciPy sparse matrix, an operator."""

    def __matmul__(self, x: Any, /) -> Any:
        """The product with x (n,): (n,)."""


class Progress:
    """The clock, the history and the printed lines of one run.

    Parameters
    ----------
    name : str
        Begins every printed line.
    measure : str
        What the number printed after the objective is ("step", "violation").
    max_iter : int
        The iterations allowed, at least 1; printing and history are spaced by it.
    time_limit : float, optional
        Seconds allowed. It is looked at between iterations, so that one iteration is always made.
    verbose : bool
        Print a line every max_iter/20 iterations and one at the end. Nothing is printed otherwise.

    Raises
    ------
    ParameterError
        `max_iter` below 1, or a negative or NaN `time_limit`.
    """

    def __init__(self, name: str, measure: str, max_iter: int, time_limit: float | None, verbose: bool) -> None:
        if max_iter < 1:
            raise ParameterError(f"max_iter must be at least 1, got {max_iter}")
        self._name = name
        self._measure = measure
        self._max_iter = max_iter
        self._verbose = verbose
        self._print_every = -(-max_iter // PRINTED_LINES)
        self._keep_every = -(-max_iter // HISTORY_ROWS)
        self._rows: list[tuple[int, float]] = []
        self._clock = Clock(time_limit)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock.seconds

    def record(self, iteration: int, objective: float, measure: float) -> None:
        """Keep and print this iteration, if it is one of those kept and printed."""
        if iteration % self._keep_every == 0:
            self._rows.append((iteration, objective))
        if self._verbose and iteration % self._print_every == 0:
            print(
                f"{self._name} {iteration:8d}  objective {objective: .9e}  {self._measure} {measure:.2e}  "
                f"{self.seconds:8.2f} s",
                flush=True,
            )

    def limit(self, iteration: int) -> StopReason | None:
        """The limit reached after this iteration, if one is."""
        return self._clock.stopped() or ("iteration_limit" if iteration >= self._max_iter else None)

    def finish(self, reason: StopReason, iteration: int, objective: float) -> Trace:
        """Close the history with the objective of the point returned, and print the final line."""
        self._rows.append((iteration, objective))
        if self._verbose:
            print(
                f"{self._name}: {reason.replace('_', ' ')} after {iteration} iterations, "
                f"objective {objective:.9e}, {self.seconds:.2f} s",
                flush=True,
            )
        return Trace(iteration, reason, self.seconds, np.array(self._rows, dtype=np.float64))


def finite_vector(value: Any, n: int, name: str) -> FloatArray:
    """A copy of a starting point as float64 (n,).

    Raises
    ------
    ParameterError
        Another shape, or an entry that is not finite.
    """
    vector = np.array(value, dtype=np.float64)
    if vector.shape != (n,):
        raise ParameterError(f"{name} must have shape ({n},), got {vector.shape}")
    if not np.isfinite(vector).all():
        raise ParameterError(f"{name} must be finite, entry {int(np.argmin(np.isfinite(vector)))} is not")
    return vector
