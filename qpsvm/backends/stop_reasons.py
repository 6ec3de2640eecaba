"""Translate a solver's reason to stop into a status (`translate_stop_reason`, `find_run_status`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qpsvm.base.resources.clock import Clock
from qpsvm.program.status import Status

if TYPE_CHECKING:
    from qpsvm.solvers.shared.timed_loop import LoopOutcome


#: The status that a built-in solver claims with each stop reason.
STATUS_OF_REASON = {
    "converged": Status.OPTIMAL,
    "iteration_limit": Status.ITERATION_LIMIT,
    "time_limit": Status.TIME_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "numerical_error": Status.NUMERICAL_ERROR,
    "infeasible": Status.INFEASIBLE,
}


def translate_stop_reason(reason: str) -> tuple[Status, str]:
    """Return the status that a built-in solver claims with its stop reason, and the reason as text."""
    return STATUS_OF_REASON[reason], reason.replace("_", " ")


def find_run_status(run: LoopOutcome, max_iter: int, clock: Clock) -> tuple[Status, str]:
    """Return the status, and its text, of a loop that does not check a clock itself."""
    if run.converged:
        return translate_stop_reason("converged")
    reason = clock.find_stop_reason()
    if run.iterations >= max_iter and reason != "interrupted":
        return translate_stop_reason("iteration_limit")
    return translate_stop_reason(reason or "time_limit")
