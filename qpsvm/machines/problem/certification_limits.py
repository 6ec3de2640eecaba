"""Time limits for polishing and certifying a solver's point (`CertificationLimits`)."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.base.resources.clock import Clock


@dataclass(frozen=True)
class CertificationLimits:
    """Time limits of the work that follows a solver's run.

    certificate_seconds: Maximum seconds of one certificate. If that of α would take longer, a point with fewer support
        vectors is certified.
    polish_clock: Clock that limits polishing; None for no limit.
    run_clock: Clock of the whole run, which limits what else a machine decides, such as whether the classes can be
        separated; None for no limit.
    """

    certificate_seconds: float = float("inf")
    polish_clock: Clock | None = None
    run_clock: Clock | None = None


NO_LIMITS = CertificationLimits()
