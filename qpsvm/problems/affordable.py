"""A point whose certificate can be afforded: where time is over, an α with fewer support vectors.

A certificate over a kernel costs n × (support vectors) kernel values. Any feasible α can be certified; of the rows that
a solver left above 0, those with the largest α are kept, equally many of each class. The gap shows what that costs.
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.costs import FEATURE_SECONDS, VALUE_SECONDS
from qpsvm.dual.repair import feasible
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.kernels.space import FeatureSpace


def affordable_alpha(space: FeatureSpace, svm: SVMDual, alpha: FloatArray, seconds: float) -> FloatArray:
    """An α (m,) near this one whose certificate takes at most so many seconds, where the machine has one.

    Shapes: alpha (m,).
    """
    if seconds == float("inf") or space.is_linear:
        return alpha
    most = int(min(seconds / _row_seconds(space), float(svm.m)))
    whole = feasible(svm, alpha)
    if not whole.any() and svm.all_hard:  # nothing bounds the direction from one class to another
        return _largest(np.ones(svm.m), svm.sign, 2)
    if np.count_nonzero(whole) <= most:
        return alpha
    part = _largest(whole, svm.sign, most)
    return part if np.count_nonzero(feasible(svm, part)) < np.count_nonzero(whole) else alpha


def certificate_seconds(space: FeatureSpace, alpha: FloatArray) -> float:
    """Seconds of a certificate of α (m,), where the kernel is not linear."""
    return float(np.count_nonzero(alpha)) * _row_seconds(space)


def _row_seconds(space: FeatureSpace) -> float:
    """Seconds of the kernel values of one support vector."""
    n, d = space.samples.shape
    return float(n * (VALUE_SECONDS + FEATURE_SECONDS * d))


def _largest(alpha: FloatArray, y: FloatArray, most: int) -> FloatArray:
    """α with only so many entries left, the largest of each class: (n,)."""
    part = np.zeros(len(alpha))
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero((y == sign) & (alpha > 0))
        kept = max(most // 2, 1)
        if len(rows) > kept:
            rows = rows[np.argpartition(alpha[rows], len(rows) - kept)[len(rows) - kept :]]
        part[rows] = alpha[rows]
    return part
