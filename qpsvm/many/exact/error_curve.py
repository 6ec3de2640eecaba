"""Compute the error rate along an exact path as a step function of the parameter, and its minimum.

On a piece from s₀ to s₁, f of sample i at s = (1 − x) s₀ + x s₁ is (1 − x) f_i(s₀) + x f_i(s₁). So the number of
samples on the wrong side of f = 0 changes where one f_i does its sign, and from a piece to the next:

    (ERROR.1)  the steps are at x = f_i(s₀)/(f_i(s₀) − f_i(s₁)), and where b jumps between two pieces

`compute_error_curve` finds the steps, and `find_least_error` the smallest error and all values that attain it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.many.exact.line import ParameterLine


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Error rate over an interval, as a step function.

    edges (c + 1,): Values of the parameter, in the order of the path.
    values (c,): The error rate between two edges.
    """

    edges: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class LeastError:
    """Minimum of an error curve.

    error: The smallest error rate.
    intervals: All values of the parameter that attain it, smallest first.
    """

    error: float
    intervals: list[tuple[float, float]]

    @property
    def widest(self) -> tuple[float, float]:
        """The widest of the intervals, by the ratio of its ends; one that starts at 0 is wider than any other."""
        return max(self.intervals, key=lambda pair: pair[1] / pair[0] if pair[0] > 0.0 else np.inf)

    @property
    def value(self) -> float:
        """Geometric mean of the ends of the widest interval; their mean if it starts at 0."""
        low, high = self.widest
        if low > 0.0:
            return float(np.sqrt(low * high))
        return 0.5 * (low + high)


def compute_error_curve(
    line: ParameterLine, ends: FloatArray, f_start: FloatArray, f_end: FloatArray, target: FloatArray
) -> ErrorCurve:
    """Compute (ERROR.1) from s (k, 2) and f (q, k) at the start and the end of each piece, and targets ±1 (q,)."""
    s0, s1 = ends.T
    wrong0, wrong1 = (((f > 0.0) != (target > 0.0)[:, None]).astype(np.int64) for f in (f_start, f_end))
    i, k = np.nonzero(wrong0 != wrong1)
    x = f_start[i, k] / (f_start[i, k] - f_end[i, k])
    crossings = s0[k] + x * (s1[k] - s0[k])
    jumps = wrong0[:, 1:].sum(axis=0) - wrong1[:, :-1].sum(axis=0)
    positions = np.concatenate([crossings, s0[1:]])
    changes = np.concatenate([wrong1[i, k] - wrong0[i, k], jumps])
    order = np.argsort(positions, kind="stable")
    edges = np.concatenate([s0[:1], positions[order], s1[-1:]])
    counts = wrong0[:, 0].sum() + np.concatenate([[0], np.cumsum(changes[order])])
    is_wide = edges[1:] > edges[:-1]  # drop parts of width 0
    edges = np.append(edges[:-1][is_wide], edges[-1])
    counts = counts[is_wide]
    is_step = np.append(True, counts[1:] != counts[:-1])  # join equal parts
    edges = np.append(edges[:-1][is_step], edges[-1])
    counts = counts[is_step]
    return ErrorCurve(np.asarray(line.value(edges), dtype=np.float64), counts / len(target))


def find_least_error(curve: ErrorCurve) -> LeastError:
    """Find the minimum of a curve, and where it is attained."""
    error = float(curve.values.min())
    minimal = np.flatnonzero(curve.values == error)
    runs = np.split(minimal, np.flatnonzero(np.diff(minimal) > 1) + 1)  # adjacent parts are one interval
    intervals = [sorted((float(curve.edges[run[0]]), float(curve.edges[run[-1] + 1]))) for run in runs]
    return LeastError(error, [(low, high) for low, high in sorted(intervals)])
