"""Measure the violation of an equation relative to its terms (`relative_to`)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: A sum that is at most this share of its terms is 0 but for rounding. No equation can be checked relative to it.
VANISHING = 1e-8


def relative_to(part: float, whole: float) -> float:
    """Divide a violation by the size of what is violated, with 0/0 = 0. Neither is negative."""
    return float(part / whole if whole > 0 else part)


def reference_size(whole: FloatArray, terms: float = 0.0) -> float:
    """Return max |whole_i|, the scale of differences; if it vanishes next to its terms, return these."""
    size = float(np.abs(whole).max())
    return size if size > VANISHING * terms else terms
