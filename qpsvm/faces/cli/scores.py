"""How good predictions are where the target is known: scores by name, their words, the confusion matrix, warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.faces.cli.data import Sample
from qpsvm.faces.cli.options import Learnt
from qpsvm.many.grid.scoring import ordered_pairs

#: Letters before what is said of a result, as in its summary.
INDENT = 14
NO_PAIR = "no pair to compare"


def figures(sample: Sample, predicted: NDArray[Any], quantile: float | None = None) -> dict[str, float]:
    """The scores of predictions (n,) for the rows of a sample, by name."""
    if sample.learnt == "none":
        found, known = {"share outside": float((predicted < 0).mean())}, compared_labels(sample)
        return found if known is None else {**found, **measured("labels", predicted, known)}
    target = sample.labels if sample.learnt == "labels" else np.asarray(sample.y, dtype=float)
    return measured(sample.learnt, predicted, target, sample.table.groups, quantile)


def measured(
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


def in_words(
    learnt: Learnt, predicted: NDArray[Any], target: NDArray[Any] | None, groups: NDArray[Any] | None = None,
    quantile: float | None = None,
) -> str:  # fmt: skip
    """What is known of predictions (n,) whose targets (n,) may be known, or ""."""
    if learnt == "none":
        known = "" if target is None else f", accuracy {(predicted == target).mean():.4f}"
        return f"{int((predicted > 0).sum())} inside, {int((predicted < 0).sum())} outside{known}"
    if target is None:
        return ""
    if learnt == "ranks":
        right, pairs = ordered_pairs(target.astype(float), predicted, groups)
        return f"{right} of {pairs} pairs in order ({right / pairs:.4f})" if pairs else NO_PAIR
    found = measured(learnt, predicted, target.astype(float) if learnt == "numbers" else target, None, quantile)
    if learnt == "numbers":
        return named(found).replace("share below", "share of targets below the prediction")
    said = f"accuracy {found['accuracy']:.4f}"
    if "balanced accuracy" in found:
        said += f" (balanced {found['balanced accuracy']:.4f})"
    answer = only_answer(predicted) if len(np.unique(target)) > 1 else None
    return said if answer is None else f"{said}; every row is predicted {answer}"


def training(sample: Sample, predicted: NDArray[Any], quantile: float | None) -> str:
    """How well a model does on the rows that trained it, in words."""
    target = sample.labels if sample.learnt == "labels" else sample.y
    return in_words(sample.learnt, predicted, target, sample.table.groups, quantile)


def only_answer(predicted: NDArray[Any]) -> Any:
    """The one answer that all predictions (n,) are; None where there are several."""
    return predicted[0] if len(predicted) and (predicted == predicted[0]).all() else None


def compared_labels(sample: Sample) -> NDArray[Any] | None:
    """The labels (n,) that predictions are set against in a table: of novelty −1 (outside) and 1; None if unknown."""
    y = sample.y
    if sample.learnt == "labels":
        return sample.labels
    if sample.learnt != "none" or y is None or y.dtype.kind not in "iuf" or not np.isin(y, (-1, 1)).all():
        return None
    return np.asarray(y, dtype=int)


def block(
    name: str, words: str, sample: Sample, predicted: NDArray[Any], found: dict[str, float], weighed: bool
) -> str:
    """Scores under the summary of a result, with the confusion matrix, where there are labels, and warnings below."""
    true = compared_labels(sample)
    lines = [] if true is None else confusion(true, predicted, np.unique(np.concatenate([true, predicted])))
    text = [f"  {name:<{INDENT - 2}}{words}", *(f"{' ' * INDENT}{line}" for line in lines)]
    notes = warnings(sample, predicted, found, weighed)
    return "\n".join([*text, *(f"  {'note':<{INDENT - 2}}{note}" for note in notes)])


def confusion(true: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> list[str]:
    """The confusion matrix, with the recall of each class (k,): lines of a table. Shapes: true, predicted (n,)."""
    from sklearn import metrics

    counts = metrics.confusion_matrix(true, predicted, labels=classes)
    recalls = metrics.recall_score(true, predicted, labels=classes, average=None, zero_division=np.nan)
    rows = [["true", *(f"predicted {label}" for label in classes), "rows", "recall"]]
    for label, row, recall in zip(classes, counts, recalls, strict=True):
        rows.append([str(label), *map(str, row), str(row.sum()), "-" if np.isnan(recall) else f"{recall:.4f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first = widths[0]
    return [
        "  ".join([row[0].ljust(first), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def warnings(sample: Sample, predicted: NDArray[Any], found: dict[str, float], weighed: bool) -> list[str]:
    """What nobody should have to find out alone: a model that gives every row the same answer, or is no better.

    Where its classes are `weighed`, weights for them are no advice.
    """
    said, answer = [], only_answer(predicted)
    if answer is not None and len(predicted) > 1 and sample.learnt == "labels":
        advice = "another C or kernel" if weighed else "--class-weight balanced, a larger C, or another kernel"
        share = f"the accuracy of {found['accuracy']:.4f} is the share of that class"
        said.append(f"every row is predicted {answer}: {share}. Try {advice}")
    elif answer is not None and len(predicted) > 1:
        said.append(f"every row is given {answer}")
    if found.get("R²", 1.0) < 0.0:
        said.append("R² is below 0: the mean of these rows predicts them better")
    return said
