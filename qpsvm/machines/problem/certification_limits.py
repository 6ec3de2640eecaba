"""Limit the time that a problem may take to certify and polish a point (`CertificationLimits`)."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.base.resources.clock import Clock


@dataclass(frozen=True)
class CertificationLimits:
    """Time that follows a solver's run.

    certificate_seconds: Seconds that one certificate may take. Where α has too many support vectors for that, a point
        with fewer of them is certified.
    polish_clock: Limit of polishing; None for none.
    run_clock: Clock of the whole run, for what a machine has still to decide, such as whether classes can be separated;
        None for no limit.
    """

    certificate_seconds: float = float("inf")
    polish_clock: Clock | None = None
    run_clock: Clock | None = None


NO_LIMITS = CertificationLimits()
