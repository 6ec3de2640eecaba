"""Draw the predicted classes over a plane of two features (`regions`), and the confusion matrix (`confusion`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_raw_array
from qpsvm.base.arrays.types import as_dense
from qpsvm.base.errors import DataError
from qpsvm.data.labels import find_class_indices, refuse_missing, sort_labels
from qpsvm.faces.plotting.accepted import check_machine
from qpsvm.faces.plotting.labels import escape_label, finish_axes, set_labels, set_title
from qpsvm.faces.plotting.markers import draw_rings, make_marker_proxy
from qpsvm.faces.plotting.palette import BLACK, CURVES, EDGE, SAMPLE
from qpsvm.faces.plotting.picture import Axes, make_axes, picture
from qpsvm.faces.plotting.view import View, build_sample_view, check_features, choose_features
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Markers of the classes, in sort order, and the opacity of their regions.
CLASS_MARKERS, REGION_OPACITY = ("^", "o", "s", "D", "v", "P", "X", "<", ">"), 0.18
#: Largest number of classes for which a confusion matrix has a number in every cell.
MAX_NUMBERED_CLASSES = 20


def choose_class_look(c: int) -> tuple[str, str]:
    """Return the marker and the colour of class number c; they repeat if there are many classes."""
    return CLASS_MARKERS[c % len(CLASS_MARKERS)], CURVES[c % len(CURVES)][0]


@picture
def regions(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    features: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    support: ArrayLike | None = None,
    title: str = "",
    resolution: int = 200,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the regions of the predicted classes, the samples by class, and rings around the support vectors.

    The model may be anything that predicts classes: a result of `CrammerSinger` or `WestonWatkins`, a result with two
    classes, or a classifier of `qpsvm.estimators`, which may combine pairs of classes.

    Parameters
    ----------
    model : AllInOneResult, AllInOneModel, PairsModel, SVMResult or estimator
        An object whose `predict` returns classes.
    X : array_like or SciPy sparse, shape (n, d)
        Samples.
    y : array_like, shape (n,)
        Their labels.
    features, names
    support : array_like of bool, shape (n,), optional
        Mask of the samples that get a ring; by default none.
    title : str, optional
        The title.
    resolution, legend, ax

    Returns
    -------
    Axes
        The plane of two features or the line of one, with all other features at their medians.

    Raises
    ------
    ParameterError
        There are more than two features, and `features` is not given.
    UnsupportedError
        The model is the result of a regression or a ranking; the message names a suitable picture.
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    boundary : The decision function of two classes, with the margin.
    confusion : The confusion matrix, for any number of features.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]], ["a", "b", "c"]
    >>> result = qpsvm.solve(qpsvm.CrammerSinger(X, y))
    >>> ax = qpsvm.plotting.regions(result, X, y, names=["length", "width"], resolution=20)
    >>> print(ax.get_xlabel(), ax.get_ylabel())
    length width
    """
    problem = model.problem if isinstance(model, SVMResult) else None
    if isinstance(problem, Problem):  # not so for other models, and for a result from a file
        check_machine("regions", problem)
        check_features("regions", problem, features)
    dense = np.asarray(as_dense(X), dtype=np.float64)
    if dense.ndim != 2:
        raise DataError(f"X must have two dimensions, got shape {dense.shape}")
    labels, classes = sort_labels(y, len(dense))
    view = build_sample_view(dense, choose_features(dense.shape[1], features), names)
    ax = make_axes(ax, view.figure_size)
    points = view.points if view.is_plane else np.column_stack([view.points, np.zeros(len(dense))])  # at height 0
    _shade_regions(ax, model, view, classes, resolution)
    handles = []
    for c, label in enumerate(classes):
        marker, color = choose_class_look(c)
        x, height = points[labels == label].T
        ax.scatter(x, height, s=SAMPLE, marker=marker, c="white", edgecolors=color, linewidths=EDGE, zorder=3)
        handles.append(make_marker_proxy(marker, color, "white", f"class {escape_label(label)} ({len(x)})"))
    if support is not None:
        ringed = points[np.asarray(support, dtype=bool)]
        handles.append(draw_rings(ax, ringed, f"support vectors ({len(ringed)})"))
    scale_note = view.set_frame(ax) if view.is_plane else ""
    if not view.is_plane:
        set_labels(ax, view.names[0], "")
        ax.set_yticks([])
    set_title(ax, title, view.note, scale_note)
    return finish_axes(ax, legend, handles)


def _shade_regions(ax: Axes, model: Any, view: View, classes: NDArray[Any], resolution: int) -> None:
    """Shade the region of each class, with black lines between the regions."""
    x = view.compute_grid(0, resolution)
    y = view.compute_grid(1, resolution) if view.is_plane else np.array([-1.0, 1.0])  # no feature: only heights
    grid = np.column_stack([values.ravel() for values in np.meshgrid(x, y)])
    predicted = model.predict(view.embed_points(grid[:, : len(view.columns)])).reshape(len(y), len(x))
    for c, label in enumerate(classes):
        region = (predicted == label).astype(float)
        if region.any():
            color = choose_class_look(c)[1]
            ax.contourf(x, y, region, levels=[0.5, 1.5], colors=[color], alpha=REGION_OPACITY, zorder=0)
            if not region.all():
                ax.contour(x, y, region, levels=[0.5], colors=BLACK, linewidths=0.9, zorder=1)


@picture
def confusion(y: ArrayLike, predicted: ArrayLike, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the confusion matrix: one row per true class, shaded by fractions of its samples.

    Parameters
    ----------
    y, predicted : array_like, shape (n,)
        True and predicted labels.
    title : str, optional
        The title.
    ax

    Returns
    -------
    Axes
        The axes, with the number of samples in each cell if there are at most 20 classes.

    Raises
    ------
    DataError, DataTypeError
        A missing label, other numbers of labels, or labels that cannot be compared.
    ParameterTypeError, MissingExtraError

    See Also
    --------
    regions : The predicted classes over a plane of two features.

    Examples
    --------
    >>> import qpsvm
    >>> ax = qpsvm.plotting.confusion(["a", "b", "c", "c"], ["a", "b", "b", "c"])
    >>> print([text.get_text() for text in ax.texts])
    ['1', '0', '0', '0', '1', '0', '0', '1', '1']
    """
    from sklearn.metrics import confusion_matrix

    true, guessed = as_raw_array(y, "y"), as_raw_array(predicted, "predicted")
    if true.ndim != 1 or true.shape != guessed.shape or not len(true):
        raise DataError(f"y {true.shape} and predicted {guessed.shape} must have as many labels, one or more")
    pair = [refuse_missing(true), refuse_missing(guessed, "predicted")]
    if true.dtype.kind != guessed.dtype.kind:  # or NumPy would convert numbers to text
        pair = [labels.astype(object) for labels in pair]
    labels, classes = sort_labels(np.concatenate(pair), 2 * len(true))
    counts = confusion_matrix(*find_class_indices(labels, classes).reshape(2, -1), labels=np.arange(len(classes)))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = make_axes(ax)
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    names = [escape_label(label) for label in classes]
    ticks = np.arange(len(classes))
    ax.set_xticks(ticks, names, rotation=45 if max(map(len, names)) > 4 else 0, ha="center")
    ax.set_yticks(ticks, names)
    if len(classes) <= MAX_NUMBERED_CLASSES:
        for i, j in np.ndindex(counts.shape):
            color = "white" if shares[i, j] > 0.5 else BLACK
            ax.text(j, i, str(counts[i, j]), ha="center", va="center", color=color, fontsize="small")
    set_labels(ax, "predicted", "true")
    set_title(ax, title, f"accuracy {np.trace(counts) / len(true):.4f} of {len(true)} samples")
    return ax
