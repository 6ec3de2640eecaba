"""Record the history of a run of a study solver (`ProgressHistory`, `Trace`).

All solvers take and return arrays; symbols are those of the QP, and x is (n,) throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.shared.budget import Budget, StopReason

#: Limits of the lines that a run prints (if verbose), and of the pairs in its history, not counting the last.
PRINTED_LINES = 20
HISTORY_ROWS = 200


@dataclass(frozen=True, eq=False)
class Trace:
    """Summary of a run: iterations, reason to stop, seconds, and `history`.

    history: (k, 2), at most 200 pairs (iteration, objective), plus a last one for the returned point.
    """

    iterations: int
    reason: StopReason
    seconds: float
    history: FloatArray


class Product(Protocol):
    """Anything that multiplies a vector: an array, a SciPy sparse matrix, an operator."""

    def __matmul__(self, x: Any, /) -> Any:
        """Return the product with x (n,): (n,)."""


class ProgressHistory:
    """History of one run, recorded and printed at regular intervals.

    name: First word of every printed line.
    measure: Name of the number printed after the objective ("step", "violation").
    max_iter: Limit of the iterations, at least 1; it also determines the intervals.
    time_limit: Time limit in seconds, checked between iterations, so that at least one iteration is made.
    verbose: Print a line every max_iter/20 iterations and one at the end; otherwise they are only logged at DEBUG.
    """

    def __init__(self, name: str, measure: str, max_iter: int, time_limit: float | None, verbose: bool) -> None:
        self._name, self._measure = name, measure
        self._budget = Budget(max_iter, time_limit, verbose)
        self._print_every = -(-max_iter // PRINTED_LINES)
        self._keep_every = -(-max_iter // HISTORY_ROWS)
        self._rows: list[tuple[int, float]] = []

    def record(self, iteration: int, objective: float, measure: float) -> None:
        """Count this iteration, and store and print it if its interval is over."""
        self._budget.steps = iteration
        if iteration % self._keep_every == 0:
            self._rows.append((iteration, objective))
        if iteration % self._print_every == 0:
            self._budget.report(self._name, iteration, objective=f"{objective: .9e}", **{self._measure: measure})

    def find_stop_reason(self) -> StopReason | None:
        """Return the reason to stop after the last recorded iteration, or None."""
        return self._budget.find_stop_reason()

    def finish(self, reason: StopReason, iteration: int, objective: float) -> Trace:
        """Close the history with the objective of the point returned, and print the final line."""
        self._rows.append((iteration, objective))
        seconds = self._budget.clock.seconds
        if self._budget.is_logging:
            text = f"{self._name}: {reason.replace('_', ' ')} after {iteration} iterations"
            self._budget.log(f"{text}, objective {objective:.9e}, {seconds:.2f} s")
        return Trace(iteration, reason, seconds, np.array(self._rows, dtype=np.float64))
