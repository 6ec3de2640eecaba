"""How good a decision function is where the target is known, in the words that suit what was learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.cli.variants import Learnt

#: Pairs that are compared at a time: 8 MB of answers.
BLOCK_PAIRS = 8_000_000


def regression_in_words(t: FloatArray, f: FloatArray, quantile: float | None = None) -> str:
    """Of predictions f of numbers t, (n,) each: R² and mean absolute error; of a quantile, its loss and its share."""
    missed = t - f
    if quantile is not None:
        loss = float(np.maximum(quantile * missed, (quantile - 1.0) * missed).mean())
        return f"mean pinball loss {loss:.4g}, share of targets below the prediction {(missed < 0).mean():.4f}"
    spread = float(np.square(t - t.mean()).sum())
    share = f"R² {1.0 - float(np.square(missed).sum()) / spread:.4f}, " if spread > 0.0 else ""
    return f"{share}mean absolute error {np.abs(missed).mean():.4g}"


def ordered_pairs(y: FloatArray, f: FloatArray, groups: NDArray[Any] | None) -> tuple[int, int]:
    """How many pairs of a group, one better than the other, f has in this order, and how many there are."""
    names = np.zeros(len(y)) if groups is None else groups
    right = pairs = 0
    for name in np.unique(names):
        members = np.flatnonzero(names == name)
        step = max(1, BLOCK_PAIRS // len(members))
        for i in range(0, len(members), step):
            rows = members[i : i + step, None]
            better = y[rows] > y[members]
            pairs += int(better.sum())
            right += int((better & (f[rows] > f[members])).sum())
    return right, pairs


def ranking_in_words(y: FloatArray, f: FloatArray, groups: NDArray[Any] | None) -> str:
    """The share of the pairs of a group, one better than the other, that f has in this order."""
    right, pairs = ordered_pairs(y, f, groups)
    return f"{right} of {pairs} pairs in order ({right / pairs:.4f})" if pairs else "no pair to compare"


def only_answer(predicted: NDArray[Any]) -> Any:
    """The one answer that all predictions (n,) are; None where there are several."""
    return predicted[0] if len(predicted) and (predicted == predicted[0]).all() else None


def labels_in_words(target: NDArray[Any], predicted: NDArray[Any]) -> str:
    """The accuracy, the mean of it over the classes where there are several, and whether only one is ever predicted."""
    right, labels = predicted == target, np.unique(target)
    said = f"accuracy {right.mean():.4f}"
    if len(labels) > 1:
        said += f" (balanced {np.mean([right[target == label].mean() for label in labels]):.4f})"
        answer = only_answer(predicted)
        said += "" if answer is None else f"; every row is predicted {answer}"
    return said


def sides_in_words(labels: NDArray[Any]) -> str:
    """How many of the rows (n,), −1 or +1 each, are outside and inside."""
    return f"{int((labels > 0).sum())} inside, {int((labels < 0).sum())} outside"


def in_words(
    learnt: Learnt, predicted: NDArray[Any], target: NDArray[Any] | None, groups: NDArray[Any] | None = None,
    quantile: float | None = None,
) -> str:  # fmt: skip
    """What is known of predictions (n,) whose targets (n,) may be known, or "".

    Shapes: predicted (n,), target (n,) or None, groups (n,).
    """
    if learnt == "none":
        known = "" if target is None else f", accuracy {(predicted == target).mean():.4f}"
        return sides_in_words(predicted) + known
    if target is None:
        return ""
    if learnt == "labels":
        return labels_in_words(target, predicted)
    numbers = target.astype(float)
    if learnt == "ranks":
        return ranking_in_words(numbers, predicted, groups)
    return regression_in_words(numbers, predicted, quantile)
