"""What the solvers share about how a run ends: its clock, and the words for why."""

from __future__ import annotations

from typing import Literal, TypeAlias

from qpsvm.resources.clock import Clock

#: Why a run ended. It is the method's own word: how good the point is, a certificate says.
#: ``infeasible`` is said only where it is proven (the rows cannot be met within the box).
StopReason: TypeAlias = Literal[
    "converged", "iteration_limit", "time_limit", "interrupted", "numerical_error", "infeasible"
]

__all__ = ["Clock", "StopReason"]
