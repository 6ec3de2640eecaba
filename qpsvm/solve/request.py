"""Store the arguments of `solve`, and derive the limits of each step from them (`SolveRequest`).

Certification and polishing are limited too; of two times joined by "or", the larger is the limit:

| the user limits | certificate                                     | polishing                                    |
|-----------------|-------------------------------------------------|----------------------------------------------|
| seconds         | once; of as many rows as fit into them, or 1 s  | in the remaining time (few rows: ≥ 0.1 s)    |
| iterations      | of all rows                                     | as long as the solver took, or 0.1 s         |
| nothing         | of all rows                                     | three times the solver's time, or 3 s        |
| (rough point)   | as above                                        | at most twice the solver's time, or 0.1 s    |
| (on Ctrl-C)     | once; of as many rows as fit into half a second | none (few rows: one round)                   |

A rough point is one from which the solver continues at a smaller tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qpsvm.backends.base import Backend
from qpsvm.backends.limits import Limits
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import is_interrupted
from qpsvm.bounds.polish import FEW_ROWS
from qpsvm.machines.problem.certification_limits import CertificationLimits
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.status import Status

#: If the user sets no limit: the multiple of the first backend's time that all later backends together may take, and of
#: the solver's time that polishing may take; and the seconds that a shorter time counts as.
FOLLOW_UP_FACTOR, MIN_COUNTED_SECONDS = 3.0, 1.0
#: Statuses of runs that the user ended: there is no further attempt.
USER_STOP_STATUSES = (Status.TIME_LIMIT, Status.INTERRUPTED)
#: The shortest time limit that a solver receives: for some solvers 0 means no limit.
MIN_TIME_LIMIT = 1e-9
#: Minimum seconds for the certificate, and for polishing few rows, however short the time limit.
MIN_CERTIFICATE_SECONDS, MIN_POLISH_SECONDS = 1.0, 0.1
#: Time for polishing a rough point, as a multiple of the solver's time.
ROUGH_POLISH_FACTOR = 2.0
#: Seconds that the certificate may take after Ctrl-C.
INTERRUPTED_CERTIFICATE_SECONDS = 0.5


def bound_follow_up_time(seconds: float) -> float:
    """Return the time limit of later attempts, or of polishing, given the time of the first attempt."""
    return FOLLOW_UP_FACTOR * max(seconds, MIN_COUNTED_SECONDS)


def format_time_estimate(seconds: float) -> str:
    """Format an estimated number of seconds with one significant digit, such as "20 s" or "3 hours"."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"


@dataclass(frozen=True)
class SolveRequest:
    """The arguments of `solve` except problem and backend; the clock starts with the call.

    tol: The tolerance of the certificate.
    start: The initial α, checked and feasible; None for the solver's default.
    solver_tol: The tolerance of the solver; None for `tol`.
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
        self, backend: Backend, tol: float | None = None, max_seconds: float = math.inf, max_iter: int | None = None,
        start: FloatArray | None = None, start_multipliers: Mapping[str, float] | None = None,
    ) -> Limits:  # fmt: skip
        """Build the limits for a backend.

        tol: The tolerance of this run, for a backend that runs at several tolerances; None for the backend's default.
            Any other backend receives `solver_tol`.
        max_seconds: A further time limit, which is ignored if the backend does not enforce time limits.
        max_iter: Limit on the iterations; None for the limit of the request.
        """
        remaining = self.clock.remaining
        if "time_limit" in backend.abilities.enforced_limits:
            remaining = min(remaining, max_seconds)
        seconds = None if remaining == math.inf else max(remaining, MIN_TIME_LIMIT)
        if len(backend.abilities.tolerances) > 1:
            solver_tol = tol
        else:
            solver_tol = self.solver_tol or self.tol
        return Limits(solver_tol, max_iter or self.max_iter, seconds, self.verbose, start, start_multipliers)

    @property
    def has_requirements(self) -> bool:
        """Whether a limit, a start or an option is given, which some backends do not support."""
        has_limit = self.time_limit is not None or self.max_iter is not None
        return has_limit or self.start is not None or bool(self.options)

    def can_warm_start(self, backend: Backend, form: Form) -> bool:
        """Return whether there is a start and this backend can use it for this form."""
        return self.start is not None and backend.abilities.supports_warm_start and form == "dual"

    def forbids_retry(self, result: Any) -> bool:
        """Return whether an error, a stop by the user, or an argument meant for one solver forbids another attempt."""
        is_over = result.status in USER_STOP_STATUSES or result.error is not None
        return is_over or self.max_iter is not None or bool(self.options) or not self.polish

    def explain_late_start(self, setup_seconds: float) -> str | None:
        """Explain why a backend whose set-up takes this long cannot start; None if the time limit allows it."""
        if setup_seconds < self.clock.remaining:
            return None
        if self.clock.remaining <= 0:
            return "the time was over"
        return f"its set-up alone takes {format_time_estimate(setup_seconds)}"

    @property
    def certificate_seconds(self) -> float:
        """Seconds that the certificate may take; ∞ without a time limit."""
        if self.time_limit is None:
            return math.inf
        return max(self.time_limit, MIN_CERTIFICATE_SECONDS)

    def build_certification_limits(self, rows: int, solve_time: float, is_rough: bool = False) -> CertificationLimits:
        """Build the limits of certifying and polishing the point of a solver that took `solve_time` seconds.

        rows: Number of rows.
        is_rough: Whether it is a rough point.
        """
        if is_interrupted():
            seconds = INTERRUPTED_CERTIFICATE_SECONDS
        else:
            seconds = self.certificate_seconds
        return CertificationLimits(seconds, self.start_polish_clock(rows, solve_time, is_rough), self.clock)

    def start_polish_clock(self, rows: int, solve_time: float, is_rough: bool = False) -> Clock:
        """Return the clock of polishing the point of a solver that took `solve_time` seconds."""
        rough_limit = max(ROUGH_POLISH_FACTOR * solve_time, MIN_POLISH_SECONDS)
        if self.time_limit is not None:
            remaining = max(self.clock.remaining, MIN_POLISH_SECONDS if rows <= FEW_ROWS else 0.0)
            return Clock(min(remaining, rough_limit) if is_rough else remaining)
        if self.max_iter is not None:
            return Clock(max(solve_time, MIN_POLISH_SECONDS))
        return Clock(rough_limit if is_rough else bound_follow_up_time(solve_time))
