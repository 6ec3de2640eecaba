"""How good a decision function is where the target is known, in the words that suit what was learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.cli.variants import Learnt

#: Pairs that are compared at a time: 8 MB of answers.
BLOCK_PAIRS = 8_000_000
NO_PAIR = "no pair to compare"


def figures(
    learnt: Learnt, predicted: NDArray[Any], target: NDArray[Any], groups: NDArray[Any] | None = None,
    quantile: float | None = None,
) -> dict[str, float]:  # fmt: skip
    """The scores by name of predictions (n,) of a target (n,): of labels, numbers, a quantile or an order."""
    if learnt == "ranks":
        right, pairs = ordered_pairs(target, predicted, groups)
        return {"pairs in order": right / pairs} if pairs else {}
    if learnt != "numbers":
        hits, labels = predicted == target, np.unique(target)
        found = {"accuracy": float(hits.mean())}
        if len(labels) > 1 and np.isin(predicted, labels).all():
            found["balanced accuracy"] = float(np.mean([hits[target == label].mean() for label in labels]))
        return found
    missed = target - predicted
    if quantile is not None:
        loss = float(np.maximum(quantile * missed, (quantile - 1.0) * missed).mean())
        return {"mean pinball loss": loss, "share below": float((missed < 0).mean())}
    spread = float(np.square(target - target.mean()).sum())
    found = {"R²": 1.0 - float(np.square(missed).sum()) / spread} if spread > 0.0 else {}
    return {**found, "mean absolute error": float(np.abs(missed).mean())}


def named(found: dict[str, float], spread: dict[str, float] | None = None) -> str:
    """Scores by name in one line, each with its standard deviation over the folds where there are folds."""
    said = []
    for name, value in found.items():
        form = ".4g" if name.startswith("mean ") else ".4f"
        deviation = "" if spread is None else f" ± {spread[name]:{form}}"
        said.append(f"{name} {value:{form}}{deviation}")
    return ", ".join(said) or NO_PAIR


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


def only_answer(predicted: NDArray[Any]) -> Any:
    """The one answer that all predictions (n,) are; None where there are several."""
    return predicted[0] if len(predicted) and (predicted == predicted[0]).all() else None


def in_words(
    learnt: Learnt, predicted: NDArray[Any], target: NDArray[Any] | None, groups: NDArray[Any] | None = None,
    quantile: float | None = None,
) -> str:  # fmt: skip
    """What is known of predictions (n,) whose targets (n,) may be known, or "".

    Shapes: predicted (n,), target (n,) or None, groups (n,).
    """
    if learnt == "none":
        known = "" if target is None else f", accuracy {(predicted == target).mean():.4f}"
        return f"{int((predicted > 0).sum())} inside, {int((predicted < 0).sum())} outside{known}"
    if target is None:
        return ""
    if learnt == "ranks":
        right, pairs = ordered_pairs(target.astype(float), predicted, groups)
        return f"{right} of {pairs} pairs in order ({right / pairs:.4f})" if pairs else NO_PAIR
    found = figures(learnt, predicted, target.astype(float) if learnt == "numbers" else target, None, quantile)
    if learnt == "numbers":
        return named(found).replace("share below", "share of targets below the prediction")
    said = f"accuracy {found['accuracy']:.4f}"
    if "balanced accuracy" in found:
        said += f" (balanced {found['balanced accuracy']:.4f})"
    answer = only_answer(predicted) if len(np.unique(target)) > 1 else None
    return said if answer is None else f"{said}; every row is predicted {answer}"
