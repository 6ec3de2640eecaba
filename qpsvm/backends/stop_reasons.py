"""Translate why a built-in solver stopped into a status (`translate_stop_reason`, `find_run_status`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qpsvm.base.resources.clock import Clock
from qpsvm.program.status import Status

if TYPE_CHECKING:
    from qpsvm.solvers.shared.time_slices import LoopOutcome


#: Stop reasons of the built-in solvers, and the statuses that they claim.
STATUS_OF_REASON = {
    "converged": Status.OPTIMAL,
    "iteration_limit": Status.ITERATION_LIMIT,
    "time_limit": Status.TIME_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "numerical_error": Status.NUMERICAL_ERROR,
    "infeasible": Status.INFEASIBLE,
}


def translate_stop_reason(reason: str) -> tuple[Status, str]:
    """Return the status that a built-in solver claims by its stop reason, and the reason as text."""
    return STATUS_OF_REASON[reason], reason.replace("_", " ")


def find_run_status(run: LoopOutcome, max_iter: int, clock: Clock) -> tuple[Status, str]:
    """Return the status of a loop without a clock: converged, or out of iterations or time."""
    if run.converged:
        return translate_stop_reason("converged")
    return translate_stop_reason(
        "iteration_limit" if run.iterations >= max_iter else clock.find_stop_reason() or "time_limit"
    )
