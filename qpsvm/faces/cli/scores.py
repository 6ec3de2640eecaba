"""Score predictions for the command line: scores by name, confusion matrix, warnings (`figures`, `block`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.faces.cli.data import Dataset
from qpsvm.faces.cli.problem_options import LearningTarget
from qpsvm.many.grid.ordered_pairs import count_ordered_pairs
from qpsvm.result.hints import Hint, find_label_hints

#: Characters before the text of a printed line, as in the summary of a result.
INDENT = 14
#: Number of classes up to which each column head of a confusion matrix contains the word "predicted".
MOST_WORDS = 4
NO_PAIR = "no pair to compare"


def compute_scores(dataset: Dataset, predicted: NDArray[Any], quantile: float | None = None) -> dict[str, float]:
    """Compute the scores of predictions (n,) for the rows of a dataset, by name."""
    if dataset.target_kind == "none":
        found, known = {"share outside": float((predicted < 0).mean())}, choose_true_labels(dataset)
        return found if known is None else {**found, **score_predictions("labels", predicted, known)}
    target = dataset.labels if dataset.target_kind == "labels" else np.asarray(dataset.y, dtype=float)
    return score_predictions(dataset.target_kind, predicted, target, dataset.table.groups, quantile)


def score_predictions(
    target_kind: LearningTarget, predicted: NDArray[Any], target: NDArray[Any], groups: NDArray[Any] | None = None,
    quantile: float | None = None,
) -> dict[str, float]:  # fmt: skip
    """Compute the scores of predictions (n,) of a target (n,), by name: for labels, numbers, a quantile or ranks."""
    if target_kind == "ranks":
        right, pairs = count_ordered_pairs(target, predicted, groups)
        return {"pairs in order": right / pairs} if pairs else {}
    if target_kind != "numbers":
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


def format_scores(found: dict[str, float], spread: dict[str, float] | None = None) -> str:
    """Format scores by name in one line, with their standard deviations over the folds if there are folds."""
    said = []
    for name, value in found.items():
        form = ".4g" if name.startswith("mean ") else ".4f"
        deviation = "" if spread is None else f" ± {spread[name]:{form}}"
        said.append(f"{name} {value:{form}}{deviation}")
    return ", ".join(said) or NO_PAIR


def describe_predictions(
    target_kind: LearningTarget, predicted: NDArray[Any], target: NDArray[Any] | None, groups: NDArray[Any] | None =
    None, quantile: float | None = None,
) -> str:  # fmt: skip
    """Describe predictions (n,) whose targets (n,) may be known; "" if there is nothing to say."""
    if target_kind == "none":
        known = "" if target is None else f", accuracy {(predicted == target).mean():.4f}"
        return f"{int((predicted > 0).sum())} inside, {int((predicted < 0).sum())} outside{known}"
    if target is None:
        return ""
    if target_kind == "ranks":
        right, pairs = count_ordered_pairs(target.astype(float), predicted, groups)
        return f"{right} of {pairs} pairs in order ({right / pairs:.4f})" if pairs else NO_PAIR
    found = score_predictions(
        target_kind, predicted, target.astype(float) if target_kind == "numbers" else target, None, quantile
    )
    if target_kind == "numbers":
        return format_scores(found).replace("share below", "share of targets below the prediction")
    said = f"accuracy {found['accuracy']:.4f}"
    if "balanced accuracy" in found:
        said += f" (balanced {found['balanced accuracy']:.4f})"
    answer = find_constant_prediction(predicted) if len(np.unique(target)) > 1 else None
    return said if answer is None else f"{said}; every row is predicted {answer}"


def describe_training_scores(dataset: Dataset, predicted: NDArray[Any], quantile: float | None) -> str:
    """Describe how well a model predicts its training rows."""
    target = dataset.labels if dataset.target_kind == "labels" else dataset.y
    return describe_predictions(dataset.target_kind, predicted, target, dataset.table.groups, quantile)


def find_constant_prediction(predicted: NDArray[Any]) -> Any:
    """Return the common value of all predictions (n,); None if they differ."""
    return predicted[0] if len(predicted) and (predicted == predicted[0]).all() else None


def choose_true_labels(dataset: Dataset) -> NDArray[Any] | None:
    """Choose the labels (n,) of a confusion matrix: −1 (outside) and 1 for novelty detection; None if unknown."""
    y = dataset.y
    if dataset.target_kind == "labels":
        return dataset.labels
    if dataset.target_kind != "none" or y is None or y.dtype.kind not in "iuf" or not np.isin(y, (-1, 1)).all():
        return None
    return np.asarray(y, dtype=int)


def format_block(name: str, words: str, dataset: Dataset, predicted: NDArray[Any]) -> str:
    """Format scores as lines below a summary, with the confusion matrix if there are labels."""
    true = choose_true_labels(dataset)
    lines = [] if true is None else format_confusion(true, predicted, np.unique(np.concatenate([true, predicted])))
    return "\n".join([f"  {name:<{INDENT - 2}}{words}", *(f"{' ' * INDENT}{line}" for line in lines)])


def format_confusion(true: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> list[str]:
    """Format the confusion matrix, with the recall of each class (k,): lines of a table. Shapes: true, predicted (n,).

    With more than two classes, precision and the harmonic mean of both are added.
    """
    from sklearn import metrics

    counts = metrics.confusion_matrix(true, predicted, labels=classes)
    scores: dict[str, Any] = {"recall": metrics.recall_score}
    if len(classes) > 2:
        scores |= {"precision": metrics.precision_score, "F1": metrics.f1_score}
    each = [score(true, predicted, labels=classes, average=None, zero_division=np.nan) for score in scores.values()]
    word = "predicted " if len(classes) <= MOST_WORDS else ""
    rows = [["true" if word else "true \\ predicted", *(f"{word}{label}" for label in classes), "rows", *scores]]
    for label, row, values in zip(classes, counts, np.transpose(each), strict=True):
        shown = ("-" if np.isnan(value) else f"{value:.4f}" for value in values)
        rows.append([str(label), *map(str, row), str(row.sum()), *shown])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first = widths[0]
    return [
        "  ".join([row[0].ljust(first), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def find_warnings(dataset: Dataset, predicted: NDArray[Any], found: dict[str, float], is_weighted: bool) -> list[Hint]:
    """Find warnings: a model that gives every row the same answer, or is no better than such a model.

    If the classes are weighted, the advice does not suggest class weights.
    """
    if dataset.target_kind == "labels":
        return find_label_hints(dataset.labels, predicted, is_weighted)
    answer = find_constant_prediction(predicted) if len(predicted) > 1 else None
    said = [] if answer is None else [Hint("labels", f"every row is predicted {answer}")]
    if found.get("R²", 1.0) < 0.0:
        said.append(Hint("worse", "R² is below 0: the mean of these rows predicts them better"))
    return said


def format_notes(*found: Iterable[Hint]) -> str:
    """Format hints as the last lines of a command, the first of each kind; "" without hints."""
    kinds: dict[str, Hint] = {}
    for hint in chain(*found):
        kinds.setdefault(hint.kind, hint)
    return "\n".join(f"  {'note':<{INDENT - 2}}{hint}" for hint in kinds.values())
