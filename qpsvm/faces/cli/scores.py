"""What a model is worth on rows that did not train it: scikit-learn's metrics, the confusion matrix, plain warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.faces.cli import measures
from qpsvm.faces.cli.data import Sample

#: Letters before what is said of a result, as in its summary.
INDENT = 14
#: What a machine without a target predicts.
OUTSIDE, INSIDE = -1, 1


def figures(sample: Sample, predicted: NDArray[Any], quantile: float | None = None) -> dict[str, float]:
    """The scores of predictions (n,) for the rows of a sample, by name. Shapes: predicted (n,)."""
    if sample.learnt == "none":
        found = {"share outside": float((predicted < 0).mean())}
        known = known_sides(sample)
        return found if known is None else {**found, **measures.figures("labels", predicted, known)}
    target = sample.labels if sample.learnt == "labels" else np.asarray(sample.y, dtype=float)
    return measures.figures(sample.learnt, predicted, target, sample.table.groups, quantile)


def known_sides(sample: Sample) -> NDArray[Any] | None:
    """The target of a machine that needs none, (n,), where it is −1 (outside) and 1 (inside)."""
    y = sample.y
    if sample.learnt != "none" or y is None or y.dtype.kind not in "iuf" or not np.isin(y, (OUTSIDE, INSIDE)).all():
        return None
    return y.astype(int)


def compared_labels(sample: Sample) -> NDArray[Any] | None:
    """The labels (n,) that predictions are set against in a table; None of numbers, and where nothing is known."""
    return sample.labels if sample.learnt == "labels" else known_sides(sample)


def confusion(true: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> list[str]:
    """The confusion matrix, with the recall of each class: lines of a table.

    Shapes: true, predicted (n,), classes (k,).
    """
    from sklearn import metrics

    counts = metrics.confusion_matrix(true, predicted, labels=classes)
    recalls = metrics.recall_score(true, predicted, labels=classes, average=None, zero_division=np.nan)
    rows = [["true", *(f"predicted {label}" for label in classes), "rows", "recall"]]
    for label, row, recall in zip(classes, counts, recalls, strict=True):
        rows.append([str(label), *map(str, row), str(row.sum()), "-" if np.isnan(recall) else f"{recall:.4f}"])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    first = widths[0]
    return [
        "  ".join([row[0].ljust(first), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def warnings(sample: Sample, predicted: NDArray[Any], found: dict[str, float], weighed: bool) -> list[str]:
    """What nobody should have to find out alone: a model that gives every row the same answer, or is no better.

    Where its classes are `weighed`, weights for them are no advice.
    """
    said = []
    answer = measures.only_answer(predicted)
    if answer is not None and len(predicted) > 1:
        what = "predicted" if sample.learnt == "labels" else "given"
        said.append(f"every row is {what} {answer}{_what_that_means(sample, found, weighed)}")
    if found.get("R²", 1.0) < 0.0:
        said.append("R² is below 0: the mean of these rows predicts them better")
    return said


def _what_that_means(sample: Sample, found: dict[str, float], weighed: bool) -> str:
    if sample.learnt != "labels":
        return ""
    advice = "another C or kernel" if weighed else "--class-weight balanced, a larger C, or another kernel"
    return f": the accuracy of {found['accuracy']:.4f} is the share of that class. Try {advice}"


def block(name: str, first: str, lines: Sequence[str], notes: Sequence[str]) -> str:
    """Scores under the summary of a result, with a table and notes below them."""
    text = [f"  {name:<{INDENT - 2}}{first}", *(f"{' ' * INDENT}{line}" for line in lines)]
    return "\n".join([*text, *(f"  {'note':<{INDENT - 2}}{note}" for note in notes)])
