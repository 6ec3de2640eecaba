"""Record the history of a run of a study solver (`ProgressHistory`, `Trace`).

Everything in `solvers` is arrays in, arrays out; the letters are those of the QP layer, and x is (n,) throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.shared.budget import Budget, StopReason

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


class ProgressHistory:
    """The history of one run, spaced as its printed lines are.

    name: Begins every printed line.
    measure: What the number printed after the objective is ("step", "violation").
    max_iter: The iterations allowed, at least 1; printing and history are spaced by it.
    time_limit: Seconds allowed. It is looked at between iterations, so that one iteration is always made.
    verbose: Print a line every max_iter/20 iterations and one at the end. Otherwise they are logged at DEBUG
        only.
    """

    def __init__(self, name: str, measure: str, max_iter: int, time_limit: float | None, verbose: bool) -> None:
        self._name, self._measure = name, measure
        self._budget = Budget(max_iter, time_limit, verbose)
        self._print_every = -(-max_iter // PRINTED_LINES)
        self._keep_every = -(-max_iter // HISTORY_ROWS)
        self._rows: list[tuple[int, float]] = []

    def record(self, iteration: int, objective: float, measure: float) -> None:
        """Count this iteration; keep and print it, if it is one of those kept and printed."""
        self._budget.steps = iteration
        if iteration % self._keep_every == 0:
            self._rows.append((iteration, objective))
        if iteration % self._print_every == 0:
            self._budget.report(self._name, iteration, objective=f"{objective: .9e}", **{self._measure: measure})

    def find_stop_reason(self) -> StopReason | None:
        """Return the limit reached after the iteration recorded last, if one is."""
        return self._budget.find_stop_reason()

    def finish(self, reason: StopReason, iteration: int, objective: float) -> Trace:
        """Close the history with the objective of the point returned, and print the final line."""
        self._rows.append((iteration, objective))
        seconds = self._budget.clock.seconds
        if self._budget.is_logging:
            text = f"{self._name}: {reason.replace('_', ' ')} after {iteration} iterations"
            self._budget.log(f"{text}, objective {objective:.9e}, {seconds:.2f} s")
        return Trace(iteration, reason, seconds, np.array(self._rows, dtype=np.float64))
