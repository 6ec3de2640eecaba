"""Store the solution of a solver that takes a machine's dual, (DUAL.1), and not a QP (`DualSolution`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.status import Solver, Status


@dataclass(slots=True)
class DualSolution:
    """A point of (DUAL.1), in the units of the machine.

    reported: What the solver claims: nothing here is certified.
    alpha (m,) or None: None where the solver gave no point.
    w: What stands in for w(α), where that is not it: coefficients (n,) of a kernel that is not linear.
    multipliers: μ by name.
    """

    reported: Status
    solver: Solver
    alpha: FloatArray | None = None
    iterations: int | None = None
    w: FloatArray | None = None
    multipliers: Mapping[str, float] = field(default_factory=dict)
    solve_time: float = 0.0
