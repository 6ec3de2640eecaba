"""Score predictions for the command line, and format the scores (`score_dataset`, `format_block`, `find_warnings`)."""

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
#: Number of classes up to which each column heading of a confusion matrix contains the word "predicted".
MAX_LONG_HEADINGS = 4
#: Text in place of the score of a ranking in which no two rows can be compared.
NO_PAIR = "no pair to compare"


def score_dataset(dataset: Dataset, predicted: NDArray[Any], quantile: float | None = None) -> dict[str, float]:
    """Compute the scores of predictions (n,) for the rows of a dataset, by name."""
    if dataset.target_kind == "none":
        scores = {"share outside": float((predicted < 0).mean())}
        labels = choose_true_labels(dataset)
        if labels is None:
            return scores
        return {**scores, **_score_labels(predicted, labels)}
    if dataset.target_kind == "labels":
        target = dataset.labels
    else:
        target = np.asarray(dataset.y, dtype=float)
    return _score_predictions(dataset.target_kind, predicted, target, dataset.table.groups, quantile)


def _score_predictions(
    target_kind: LearningTarget, predicted: NDArray[Any], target: NDArray[Any], groups: NDArray[Any] | None = None,
    quantile: float | None = None,
) -> dict[str, float]:  # fmt: skip
    """Compute the scores of predictions (n,) of a target (n,), by name; a ranking compares rows only within groups."""
    if target_kind == "ranks":
        n_ordered, n_pairs = count_ordered_pairs(target, predicted, groups)
        return {"pairs in order": n_ordered / n_pairs} if n_pairs else {}
    if target_kind == "numbers":
        return _score_numbers(predicted, target, quantile)
    return _score_labels(predicted, target)


def _score_labels(predicted: NDArray[Any], target: NDArray[Any]) -> dict[str, float]:
    """Compute the accuracy, and the balanced accuracy if that is defined: the mean recall of the classes."""
    is_correct = predicted == target
    labels = np.unique(target)
    scores = {"accuracy": float(is_correct.mean())}
    if len(labels) > 1 and np.isin(predicted, labels).all():
        scores["balanced accuracy"] = float(np.mean([is_correct[target == label].mean() for label in labels]))
    return scores


def _score_numbers(predicted: NDArray[Any], target: NDArray[Any], quantile: float | None) -> dict[str, float]:
    """Compute R², unless the target is constant, and the mean absolute error; or the scores of a predicted quantile."""
    residual = target - predicted
    if quantile is not None:
        loss = float(np.maximum(quantile * residual, (quantile - 1.0) * residual).mean())
        return {"mean pinball loss": loss, "share below": float((residual < 0).mean())}
    scores = {}
    total_squares = float(np.square(target - target.mean()).sum())
    if total_squares > 0.0:
        scores["R²"] = 1.0 - float(np.square(residual).sum()) / total_squares
    return {**scores, "mean absolute error": float(np.abs(residual).mean())}


def format_scores(scores: dict[str, float], deviations: dict[str, float] | None = None) -> str:
    """Format scores by name in one line, with their standard deviations over the folds if there are folds."""
    texts = []
    for name, value in scores.items():
        digits = ".4g" if name.startswith("mean ") else ".4f"  # a mean loss has the unit of the target
        deviation = "" if deviations is None else f" ± {deviations[name]:{digits}}"
        texts.append(f"{name} {value:{digits}}{deviation}")
    return ", ".join(texts) or NO_PAIR


def describe_predictions(
    target_kind: LearningTarget, predicted: NDArray[Any], target: NDArray[Any] | None,
    groups: NDArray[Any] | None = None, quantile: float | None = None,
) -> str:  # fmt: skip
    """Describe predictions (n,), with scores if the target (n,) is known; "" without one, except novelty detection."""
    if target_kind == "none":
        accuracy = "" if target is None else f", accuracy {(predicted == target).mean():.4f}"
        return f"{int((predicted > 0).sum())} inside, {int((predicted < 0).sum())} outside{accuracy}"
    if target is None:
        return ""
    if target_kind == "ranks":
        n_ordered, n_pairs = count_ordered_pairs(target.astype(float), predicted, groups)
        return f"{n_ordered} of {n_pairs} pairs in order ({n_ordered / n_pairs:.4f})" if n_pairs else NO_PAIR
    if target_kind == "numbers":
        scores = _score_numbers(predicted, target.astype(float), quantile)
        return format_scores(scores).replace("share below", "share of targets below the prediction")
    return _describe_predicted_labels(predicted, target)


def _describe_predicted_labels(predicted: NDArray[Any], target: NDArray[Any]) -> str:
    """Describe predicted labels (n,) by their scores, and whether all are the same although the target (n,) differs."""
    scores = _score_labels(predicted, target)
    text = f"accuracy {scores['accuracy']:.4f}"
    if "balanced accuracy" in scores:
        text += f" (balanced {scores['balanced accuracy']:.4f})"
    constant = find_constant_prediction(predicted)
    if constant is None or len(np.unique(target)) == 1:
        return text
    return f"{text}; every row is predicted {constant}"


def describe_training_scores(dataset: Dataset, predicted: NDArray[Any], quantile: float | None) -> str:
    """Describe how well a model predicts its training rows."""
    target = dataset.labels if dataset.target_kind == "labels" else dataset.y
    return describe_predictions(dataset.target_kind, predicted, target, dataset.table.groups, quantile)


def find_constant_prediction(predicted: NDArray[Any]) -> Any:
    """Return the common value of all predictions (n,); None if they differ or there are none."""
    if len(predicted) and (predicted == predicted[0]).all():
        return predicted[0]
    return None


def choose_true_labels(dataset: Dataset) -> NDArray[Any] | None:
    """Return the true labels (n,), or the target of novelty detection if it is −1 (outside) and 1; None without any."""
    if dataset.target_kind == "labels":
        return dataset.labels
    y = dataset.y
    if dataset.target_kind != "none" or y is None or y.dtype.kind not in "iuf" or not np.isin(y, (-1, 1)).all():
        return None
    return np.asarray(y, dtype=int)


def format_block(heading: str, text: str, dataset: Dataset, predicted: NDArray[Any]) -> str:
    """Format the text of scores as lines below a summary, with the confusion matrix if there are true labels."""
    lines = [f"  {heading:<{INDENT - 2}}{text}"]
    true = choose_true_labels(dataset)
    if true is not None:
        table = format_confusion(true, predicted, np.unique(np.concatenate([true, predicted])))
        lines += [f"{' ' * INDENT}{row}" for row in table]
    return "\n".join(lines)


def format_confusion(true: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> list[str]:
    """Format the confusion matrix, with the recall of each class, as lines of a table.

    With more than two classes, precision and the harmonic mean of both (F1) are added.

    Shapes: true, predicted (n,), classes (k,).
    """
    from sklearn import metrics

    counts = metrics.confusion_matrix(true, predicted, labels=classes)
    scores: dict[str, Any] = {"recall": metrics.recall_score}
    if len(classes) > 2:
        scores |= {"precision": metrics.precision_score, "F1": metrics.f1_score}
    values = [score(true, predicted, labels=classes, average=None, zero_division=np.nan) for score in scores.values()]
    prefix = "predicted " if len(classes) <= MAX_LONG_HEADINGS else ""
    rows = [["true" if prefix else "true \\ predicted", *(f"{prefix}{label}" for label in classes), "rows", *scores]]
    for label, row, class_scores in zip(classes, counts, np.transpose(values), strict=True):
        score_cells = ("-" if np.isnan(score) else f"{score:.4f}" for score in class_scores)
        rows.append([str(label), *map(str, row), str(row.sum()), *score_cells])
    name_width, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "  ".join([row[0].ljust(name_width), *(cell.rjust(width) for cell, width in zip(row[1:], widths, strict=True))])
        for row in rows
    ]


def find_warnings(dataset: Dataset, predicted: NDArray[Any], scores: dict[str, float], is_weighted: bool) -> list[Hint]:
    """Find warnings: the model predicts the same value for every row, or is no better than a constant prediction.

    is_weighted: Whether the classes are weighted already, so that the advice does not suggest class weights.
    """
    if dataset.target_kind == "labels":
        return find_label_hints(dataset.labels, predicted, is_weighted)
    hints = []
    constant = find_constant_prediction(predicted) if len(predicted) > 1 else None
    if constant is not None:
        hints.append(Hint("labels", f"every row is predicted {constant}"))
    if scores.get("R²", 1.0) < 0.0:
        hints.append(Hint("worse", "R² is below 0: the mean of these rows predicts them better"))
    return hints


def format_notes(*hints: Iterable[Hint]) -> str:
    """Format hints as the last lines of a command, of each kind only the first hint; "" without hints."""
    first_of_kind: dict[str, Hint] = {}
    for hint in chain(*hints):
        first_of_kind.setdefault(hint.kind, hint)
    return "\n".join(f"  {'note':<{INDENT - 2}}{hint}" for hint in first_of_kind.values())
