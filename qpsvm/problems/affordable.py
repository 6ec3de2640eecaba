"""A point whose certificate can be afforded: where time is over, an α with fewer support vectors.

A certificate over a kernel costs n × (support vectors) kernel values. Any feasible α can be certified; of the rows that
a solver left above 0, those with the largest α are kept, equally many of each class. What that loses the gap shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.costs import FEATURE_SECONDS, VALUE_SECONDS

if TYPE_CHECKING:
    from qpsvm.problems.base import Problem


def affordable_alpha(problem: Problem, alpha: FloatArray, seconds: float) -> FloatArray:
    """An α (n,) near this one that is certified in so many seconds, where the variant has such a one.

    Parameters
    ----------
    problem : Problem
    alpha : ndarray, shape (n,)
        Over the rows that take part; finite.
    seconds : float
        Infinite: α itself.
    """
    if seconds == float("inf") or problem.space.is_linear:
        return alpha
    n, d = problem.space.X.shape
    most = int(seconds / (n * (VALUE_SECONDS + FEATURE_SECONDS * d)))
    whole = problem._feasible(alpha)
    if not whole.any() and not np.isfinite(problem.upper[0]):  # nothing bounds the direction from one class to another
        return _largest(np.ones(n), problem.labels, 2)
    if np.count_nonzero(whole) <= most:
        return alpha
    part = _largest(whole, problem.labels, most)
    return part if np.count_nonzero(problem._feasible(part)) < np.count_nonzero(whole) else alpha


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
