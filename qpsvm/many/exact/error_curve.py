"""Compute the error rate along an exact path as a step function of the parameter, and its minimum.

On a piece f_i(s) = (1 − x) f_i(s₀) + x f_i(s₁), so that f_i changes its sign at one known x:

    (ERROR.1)  the steps are at x = f_i(s₀)/(f_i(s₀) − f_i(s₁)), and where b jumps between two pieces

So `find_least_error` finds the smallest error over an interval, and all values that attain it.
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
        return float(np.sqrt(low * high)) if low > 0.0 else 0.5 * (low + high)


def compute_error_curve(
    line: ParameterLine, pieces: FloatArray, first: FloatArray, second: FloatArray, target: FloatArray
) -> ErrorCurve:
    """Compute (ERROR.1) for pieces from s to an end, (k, 2), given f at both ends, (q, k) each, and targets ±1 (q,)."""
    s, ends = pieces.T
    wrong = [((values > 0.0) != (target > 0.0)[:, None]).astype(np.int64) for values in (first, second)]
    i, k = np.nonzero(wrong[0] != wrong[1])
    x = first[i, k] / (first[i, k] - second[i, k])
    crossings = s[k] + x * (ends[k] - s[k])
    jumps = wrong[0][:, 1:].sum(axis=0) - wrong[1][:, :-1].sum(axis=0)
    positions = np.concatenate([crossings, s[1:]])
    changes = np.concatenate([wrong[1][i, k] - wrong[0][i, k], jumps])
    order = np.argsort(positions, kind="stable")
    positions, changes = positions[order], changes[order]
    edges = np.concatenate([s[:1], positions, ends[-1:]])
    counts = wrong[0][:, 0].sum() + np.concatenate([[0], np.cumsum(changes)])
    is_wide = edges[1:] > edges[:-1]  # drop parts of width 0
    edges, counts = np.append(edges[:-1][is_wide], edges[-1]), counts[is_wide]
    is_step = np.append(True, counts[1:] != counts[:-1])
    edges, counts = np.append(edges[:-1][is_step], edges[-1]), counts[is_step]
    return ErrorCurve(np.asarray(line.value(edges), dtype=np.float64), counts / len(target))


def find_least_error(curve: ErrorCurve) -> LeastError:
    """Return the minimum of a curve, and where it is attained."""
    error = float(curve.values.min())
    minimal = np.flatnonzero(curve.values == error)
    runs = np.split(minimal, np.flatnonzero(np.diff(minimal) > 1) + 1)
    intervals = [sorted((float(curve.edges[run[0]]), float(curve.edges[run[-1] + 1]))) for run in runs]
    return LeastError(error, [(low, high) for low, high in sorted(intervals)])
