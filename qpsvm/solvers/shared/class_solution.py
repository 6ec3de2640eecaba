"""Define the solution of a machine that learns several classes in one program (`ClassSolution`)."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.shared.budget import StopReason


@dataclass(frozen=True, eq=False)
class ClassSolution:
    """α (n, k), b (k,), the reason to stop, and the number of steps."""

    alpha: FloatArray
    b: FloatArray
    reason: StopReason
    iterations: int
