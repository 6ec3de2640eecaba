"""How far apart two values are that should meet, whatever the unit they are in."""

from __future__ import annotations

import math


def relative_gap(difference: float, primal: float, dual: float, floor: float = 0.0) -> float:
    """(CERT.3): P − D over max(|P|, |D|, floor); 0 where all are 0, infinite where P is."""
    scale = max(abs(primal), abs(dual), floor)
    if difference == 0.0:
        return 0.0
    if not math.isfinite(difference) or not math.isfinite(scale):
        return float("inf")
    return difference / scale if scale > 0 else float("inf")
