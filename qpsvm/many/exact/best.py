"""The value of a parameter at which samples that did not train are predicted best, over all values of an interval.

On a piece f_i(s) = (1 − x) f_i(s₀) + x f_i(s₁), so that the mean loss of samples (x_i, y_i) is a known function of x:

    (BEST.1)  wrong labels: a step function, whose steps are where an f_i changes its sign
    (BEST.2)  (f − y)²: a parabola, least at −c₁/(2c₂) or at an end
    (BEST.3)  |f − y|, max(0, 1 − y f): convex, with corners where a term is 0, and least at one of them or at an end

So the least of all values is found, and the whole set of values that attain it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.many.exact.line import Line

#: What can be least on average, and which of them are about labels.
LOSSES, OF_LABELS = ("error", "squared", "absolute", "hinge"), ("error", "hinge")


@dataclass(frozen=True, eq=False)
class Curve:
    """A mean loss over an interval, on consecutive parts of it.

    edges (c + 1,): Values of the parameter, in the order of the path.
    values (c,): On each part the loss; of a loss that is no step function, the least on it.
    places (c,): Where that is attained on the part: of a step function, its middle.
    steps: Whether it is a step function.
    """

    edges: FloatArray
    values: FloatArray
    places: FloatArray
    steps: bool


@dataclass(frozen=True, eq=False)
class Best:
    """Where a mean loss is least over a whole interval.

    Attributes
    ----------
    loss : float
        The least mean loss.
    value : float
        A value of the parameter that attains it: the middle, in ratios, of the widest part of them.
    intervals : list of (float, float)
        All values that attain it, smallest first.
    curve : Curve
        The loss over the interval: `edges`, and the loss `values` between them.

    See Also
    --------
    ExactPath.best : What makes one.

    Examples
    --------
    >>> import qpsvm
    >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [1.4]], [0, 0, 1, 1, 1]), "C", 0.05, 10)
    >>> best = path.best([[1.3], [2.5]], [1, 1])
    >>> len(best.intervals), best.loss, best.intervals[0][0] <= best.value <= best.intervals[0][1]
    (2, 0.0, True)
    """

    loss: float
    value: float
    intervals: list[tuple[float, float]]
    curve: Curve

    @property
    def widest(self) -> tuple[float, float]:
        """The widest of the intervals, in ratios; one that begins at 0 is wider than any other."""
        return max(self.intervals, key=lambda pair: pair[1] / pair[0] if pair[0] > 0.0 else np.inf)

    def __repr__(self) -> str:
        return f"<Best: loss {self.loss:.6g} at {self.value:.6g}, {len(self.intervals)} interval(s)>"


def best_of(
    problem: Any, line: Line, pieces: FloatArray, first: FloatArray, second: FloatArray, y: ArrayLike,
    loss: str | None,
) -> Best:  # fmt: skip
    """Where the loss is least. Raises UnknownOptionError, UnsupportedError, DataError, DataTypeError."""
    loss = loss_of(problem, loss)
    target = target_of(problem, y, len(first), loss)
    return least(curve_of(line, pieces, first, second, target, loss))


def loss_of(problem: Any, loss: str | None) -> str:
    """The name of the loss. Raises UnknownOptionError, UnsupportedError."""
    labels = problem.samples.classes is not None
    if loss is None:
        loss = "error" if labels else "squared"
    if loss not in LOSSES:
        raise UnknownOptionError(f"unknown loss {loss!r}; {nearest(loss, LOSSES)}")
    if problem.samples.classes is None and problem.shown_target is None:
        raise UnsupportedError(
            f"{type(problem).__name__} has no target, so that nothing says which prediction is right"
        )
    if (loss in OF_LABELS) != labels:
        what = "labels" if labels else "numbers"
        raise UnsupportedError(f"{type(problem).__name__} predicts {what}, of which {loss!r} is no loss")
    return loss


def target_of(problem: Any, y: ArrayLike, count: int, loss: str) -> FloatArray:
    """−1 and +1 for labels, or numbers: (q,). Raises DataError, DataTypeError."""
    if loss not in OF_LABELS:
        return as_finite_vector(y, "y", count)
    labels, classes = np.asarray(y), problem.samples.classes
    if labels.shape != (count,):
        raise DataError(f"y must have one label for each of the {count} samples, got shape {labels.shape}")
    known = (labels == classes[0]) | (labels == classes[1])
    if not known.all():
        i = int(np.flatnonzero(~known)[0])
        raise DataError(f"y has a label in row {i} that no class has: {labels[i]!r}; classes are {list(classes)}")
    return np.where(labels == classes[1], 1.0, -1.0)


def curve_of(
    line: Line, pieces: FloatArray, first: FloatArray, second: FloatArray, target: FloatArray, loss: str
) -> Curve:
    """The mean loss over pieces from s to an end, (k, 2), for f at both, (q, k) each, and targets (q,)."""
    s, ends = pieces.T
    if loss == "error":
        return _steps(line, s, ends, first, second, target)
    lows, places = (_parabolas if loss == "squared" else _convex)(first, second, target, loss)
    edges = np.append(s, ends[-1:])
    return Curve(line.value(edges), lows, line.value(s + places * (ends - s)), False)


def _steps(line: Line, s: FloatArray, ends: FloatArray, first: FloatArray, second: FloatArray, y: FloatArray) -> Curve:
    """(BEST.1)."""
    wrong = [((values > 0.0) != (y > 0.0)[:, None]).astype(np.int64) for values in (first, second)]
    i, k = np.nonzero(wrong[0] != wrong[1])
    x = first[i, k] / (first[i, k] - second[i, k])
    inner = s[k] + x * (ends[k] - s[k])
    jumps = wrong[0][:, 1:].sum(axis=0) - wrong[1][:, :-1].sum(axis=0)  # where b moves at one value
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
    values = np.asarray(line.value(edges), dtype=np.float64)
    return Curve(values, counts / len(y), _middle(values[:-1], values[1:]), True)


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    return np.where((low > 0.0) & (high > 0.0), np.sqrt(np.maximum(low * high, 0.0)), 0.5 * (low + high))


def _parabolas(first: FloatArray, second: FloatArray, y: FloatArray, loss: str) -> tuple[FloatArray, FloatArray]:
    """(BEST.2): the least of each piece, and its x: (k,) each."""
    del loss
    a, d = first - y[:, None], second - first
    square, slope, constant = (d * d).mean(axis=0), 2.0 * (a * d).mean(axis=0), (a * a).mean(axis=0)
    x = np.clip(np.divide(-slope, 2.0 * square, out=np.zeros_like(slope), where=square > 0.0), 0.0, 1.0)
    values = constant + x * (slope + x * square)
    end = constant + slope + square
    return np.where(end < values, end, values), np.where(end < values, 1.0, x)


def _convex(first: FloatArray, second: FloatArray, y: FloatArray, loss: str) -> tuple[FloatArray, FloatArray]:
    """(BEST.3): the corner at which the slope is no longer negative, piece by piece."""
    if loss == "hinge":
        terms = [(1.0 - y[:, None] * first, 1.0 - y[:, None] * second)]
    else:
        terms = [(first - y[:, None], second - y[:, None]), (y[:, None] - first, y[:, None] - second)]
    a = np.concatenate([pair[0] for pair in terms])
    d = np.concatenate([pair[1] for pair in terms]) - a
    lows, places = np.empty(a.shape[1]), np.empty(a.shape[1])
    for k in range(a.shape[1]):
        value, slope = a[:, k], d[:, k]
        active = (value > 0.0) | ((value == 0.0) & (slope > 0.0))
        cross = np.divide(-value, slope, out=np.full(len(value), np.inf), where=slope != 0.0)
        inner = np.flatnonzero((cross > 0.0) & (cross < 1.0))
        inner = inner[np.argsort(cross[inner])]
        slopes = slope[active].sum() + np.concatenate([[0.0], np.cumsum(np.abs(slope[inner]))])
        j = int(np.searchsorted(slopes, 0.0))  # slopes rise
        x = 0.0 if j == 0 else (1.0 if j > len(inner) else float(cross[inner[j - 1]]))
        lows[k], places[k] = np.maximum(value + x * slope, 0.0).sum() / len(y), x
    return lows, places


def least(curve: Curve) -> Best:
    """Where a curve is least."""
    loss = float(curve.values.min())
    at = np.flatnonzero(curve.values == loss)
    if not curve.steps:
        value = float(curve.places[at[0]])
        return Best(loss, value, [(value, value)], curve)
    runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
    found = [tuple(sorted((float(curve.edges[run[0]]), float(curve.edges[run[-1] + 1])))) for run in runs]
    intervals = [(low, high) for low, high in sorted(found)]
    low, high = Best(loss, np.nan, intervals, curve).widest
    return Best(loss, float(_middle(np.array([low]), np.array([high]))[0]), intervals, curve)
