"""Store the arguments of `solve`, and derive the limits of each step from them (`SolveRequest`).

Certification and polishing are limited too:

| the user limits | certificate                                        | polishing                                |
|-----------------|----------------------------------------------------|------------------------------------------|
| seconds         | once; of as many rows as take so long, or a second | in what is left (few rows: a tenth more) |
| iterations      | whole                                              | as long as the solver took, or a tenth   |
| nothing         | whole                                              | three times as long, or three seconds    |
| with Ctrl-C     | once; of as many rows as take half a second        | not at all (few rows: a round)           |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from qpsvm.backends.base import Backend
from qpsvm.backends.limits import Limits
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import is_interrupted
from qpsvm.bounds.polish import FEW_ROWS as POLISHED_ROWS
from qpsvm.machines.problem.certification_limits import CertificationLimits
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: Factor on the time of the first backend that bounds all later ones together, and on the time of the solver that
#: bounds its polishing, if there is no limit; and the seconds that the time counts as at least.
FOLLOW_UP_FACTOR, MIN_COUNTED_SECONDS = 3.0, 1.0
#: Statuses after which there is no other attempt.
USER_STOP_STATUSES = (Status.TIME_LIMIT, Status.INTERRUPTED)
#: The shortest time limit that a solver is handed: 0 would mean none to some.
MIN_TIME_LIMIT = 1e-9
#: Seconds that the certificate may take however short the limit, and those that polishing of few rows may.
MIN_CERTIFICATE_SECONDS, MIN_POLISH_SECONDS = 1.0, 0.1
#: Seconds that the certificate may take after Ctrl-C.
INTERRUPTED_CERTIFICATE_SECONDS = 0.5


def bound_follow_up_time(seconds: float) -> float:
    """Return the time limit of what follows, given the time of the first solver or backend."""
    return FOLLOW_UP_FACTOR * max(seconds, MIN_COUNTED_SECONDS)


def format_time_estimate(seconds: float) -> str:
    """Format an estimate of seconds, to one digit."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"


@dataclass(frozen=True)
class SolveRequest:
    """The arguments of `solve` besides problem and backend; the clock starts with the call.

    `solver_tol` is the tolerance of the solver if it is not `tol`, which is that of the certificate.
    """

    tol: float
    polish: bool
    verbose: bool
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]
    start: FloatArray | None
    clock: Clock
    solver_tol: float | None = None

    def build_limits(
        self, backend: Backend, tol: float | None = None, max_seconds: float = math.inf, start: FloatArray | None = None
    ) -> Limits:
        """Build the limits for a backend, within `allowed` seconds; one that can refine starts at its defaults."""
        left = min(self.clock.remaining, max_seconds if "time_limit" in backend.abilities.enforced_limits else math.inf)
        seconds = None if left == math.inf else max(left, MIN_TIME_LIMIT)
        aim = tol if backend.abilities.supports_refinement else self.solver_tol or self.tol
        return Limits(aim, self.max_iter, seconds, self.verbose, start)

    @property
    def has_requirements(self) -> bool:
        """Whether a limit, start or option is given that a backend may not support."""
        limited = self.time_limit is not None or self.max_iter is not None
        return limited or self.start is not None or bool(self.options)

    def can_warm_start(self, backend: Backend, form: Form) -> bool:
        """Return whether there is a start that this backend can use."""
        return self.start is not None and backend.abilities.supports_warm_start and form == "dual"

    def forbids_retry(self, result: SVMResult) -> bool:
        """Return whether the user's limits forbid another attempt."""
        limited = self.time_limit is not None or self.max_iter is not None or bool(self.options) or not self.polish
        return limited or result.status in USER_STOP_STATUSES

    def explain_late_start(self, setup: float) -> str | None:
        """Explain why a set-up of that many seconds would exceed the time limit; None if it fits."""
        if setup < self.clock.remaining:
            return None
        return (
            "the time was over"
            if self.clock.remaining <= 0
            else f"its set-up alone takes {format_time_estimate(setup)}"
        )

    @property
    def certificate_seconds(self) -> float:
        """Seconds that the certificate may take."""
        return float("inf") if self.time_limit is None else max(self.time_limit, MIN_CERTIFICATE_SECONDS)

    def build_certification_limits(self, rows: int, solve_time: float) -> CertificationLimits:
        """Build the limits of certifying and polishing, which follow a solver that took `solve_time` seconds."""
        seconds = INTERRUPTED_CERTIFICATE_SECONDS if is_interrupted() else self.certificate_seconds
        return CertificationLimits(seconds, self.start_polish_clock(rows, solve_time), self.clock)

    def start_polish_clock(self, rows: int, solve_time: float) -> Clock:
        """Return the clock of polishing and certifying, which follow the solver."""
        if self.time_limit is not None:
            return Clock(max(self.clock.remaining, MIN_POLISH_SECONDS if rows <= POLISHED_ROWS else 0.0))
        if self.max_iter is not None:
            return Clock(max(solve_time, MIN_POLISH_SECONDS))
        return Clock(bound_follow_up_time(solve_time))
