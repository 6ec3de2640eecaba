"""Compute the error rate along an exact path as a step function of the parameter, and its minimum.

On a piece f_i(s) = (1 − x) f_i(s₀) + x f_i(s₁), so that f_i changes its sign at one known x:

    (ERROR.1)  the steps are at x = f_i(s₀)/(f_i(s₀) − f_i(s₁)), and where b jumps between two pieces

So the least error of all values of an interval is found, and the whole set of values that attain it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.many.exact.line import ParameterLine


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """A share of wrong labels over an interval, constant on consecutive parts of it.

    edges (c + 1,): Values of the parameter, in the order of the path.
    values (c,): The share on each part.
    """

    edges: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class LeastError:
    """Where an error curve is least.

    error: The least share of wrong labels.
    intervals: All values of the parameter that attain it, smallest first.
    """

    error: float
    intervals: list[tuple[float, float]]

    @property
    def widest(self) -> tuple[float, float]:
        """The widest of the intervals, in ratios; one that begins at 0 is wider than any other."""
        return max(self.intervals, key=lambda pair: pair[1] / pair[0] if pair[0] > 0.0 else np.inf)

    @property
    def value(self) -> float:
        """The middle of the widest, in ratios."""
        low, high = self.widest
        return float(np.sqrt(low * high)) if low > 0.0 else 0.5 * (low + high)


def error_curve(
    line: ParameterLine, pieces: FloatArray, first: FloatArray, second: FloatArray, target: FloatArray
) -> ErrorCurve:
    """(ERROR.1) of pieces from s to an end, (k, 2), for f at both, (q, k) each, and targets ±1 (q,)."""
    s, ends = pieces.T
    wrong = [((values > 0.0) != (target > 0.0)[:, None]).astype(np.int64) for values in (first, second)]
    i, k = np.nonzero(wrong[0] != wrong[1])
    x = first[i, k] / (first[i, k] - second[i, k])
    inner = s[k] + x * (ends[k] - s[k])
    jumps = wrong[0][:, 1:].sum(axis=0) - wrong[1][:, :-1].sum(axis=0)
    places = np.concatenate([inner, s[1:]])
    changes = np.concatenate([wrong[1][i, k] - wrong[0][i, k], jumps])
    order = np.argsort(places, kind="stable")
    places, changes = places[order], changes[order]
    edges = np.concatenate([s[:1], places, ends[-1:]])
    counts = wrong[0][:, 0].sum() + np.concatenate([[0], np.cumsum(changes)])
    kept = edges[1:] > edges[:-1]  # a part of no width has no value inside
    edges, counts = np.append(edges[:-1][kept], edges[-1]), counts[kept]
    new = np.append(True, counts[1:] != counts[:-1])
    edges, counts = np.append(edges[:-1][new], edges[-1]), counts[new]
    return ErrorCurve(np.asarray(line.value(edges), dtype=np.float64), counts / len(target))


def least_error(curve: ErrorCurve) -> LeastError:
    """Return the minimum of a curve, and where it is attained."""
    error = float(curve.values.min())
    at = np.flatnonzero(curve.values == error)
    runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
    found = [sorted((float(curve.edges[run[0]]), float(curve.edges[run[-1] + 1]))) for run in runs]
    return LeastError(error, [(low, high) for low, high in sorted(found)])
