"""Draw the decision function f over a plane or a line (`boundary`, `novelty`), and its distribution (`decisions`).

`decisions` works with any number of features, where no plane can show the boundary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.plotting.accepted import check_picture
from qpsvm.faces.plotting.labels import escape_label, finish_axes, set_labels
from qpsvm.faces.plotting.markers import (
    draw_kinds,
    draw_rings,
    draw_samples,
    make_line_proxy,
    make_marker_proxy,
    make_side_proxies,
    shade_sides,
)
from qpsvm.faces.plotting.palette import BLACK, BLUE, CLASSES, GREY, SIDES
from qpsvm.faces.plotting.picture import Axes, describe_run, make_axes, picture, write_title
from qpsvm.faces.plotting.predicted_classes import regions
from qpsvm.faces.plotting.view import CURVE_POINTS, View, build_view, check_features
from qpsvm.machines import SVDD, AllInOneProblem, Problem
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear

#: Levels of the thin lines, as shares of the largest f inside and of the smallest f outside.
CONTOUR_SHARES = (1 / 3, 2 / 3)
#: Limits on the number of bins, which is the larger one of Freedman and Diaconis's rule and Sturges's.
MIN_BINS, MAX_BINS = 8, 60
#: Hatching that tells the classes apart in grey, and the opacity of their areas.
HATCHES, OPACITY = ("//", ".."), 0.35


@picture
def boundary(
    problem: Problem,
    result: SVMResult,
    *,
    features: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    resolution: int = 200,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw where f = 0 and f = ±ρ, both sides, the samples by class and kind, and rings around the support vectors.

    This is for machines of two classes. `novelty` draws a one-class SVM or an SVDD, and `regions` the predictions of an
    all-in-one machine. A regression and a ranking have no boundary.

    Parameters
    ----------
    problem, result, features, names, resolution, legend, ax

    Returns
    -------
    Axes
        With two features, f over their plane; with one, the curve f(x) over x. The plane has equal units in both
        directions, so that w is perpendicular to the boundary on the paper as well; unless one side of the picture
        would then be more than four times as long as the other, which the title says.

    Raises
    ------
    ParameterError
        More than two features and no choice among them, or a resolution out of its range.
    UnsupportedError
        A regression or a ranking, or a precomputed kernel; names a picture that draws it.
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    decisions : Of any number of features.
    regions : Of any model of several classes.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
    >>> ax = qpsvm.plotting.boundary(problem, qpsvm.solve(problem), names=["length", "width"], resolution=20)
    >>> print(ax.get_xlabel(), ax.get_ylabel())
    length width
    """
    check_picture("boundary", problem, result)
    arguments: dict[str, Any] = {
        "features": features,
        "names": names,
        "resolution": resolution,
        "legend": legend,
        "ax": ax,
    }
    if isinstance(problem, AllInOneProblem):
        check_features("boundary", problem, features)
        return _draw_all_in_one(problem, result, **arguments)
    if problem._target_kind == "none":
        return novelty(problem, result, **arguments)
    return _draw_two_class(problem, result, **arguments)


def _draw_all_in_one(problem: AllInOneProblem, result: SVMResult, **arguments: Any) -> Axes:
    """Draw the regions of several classes; the arguments are those of `regions`."""
    rows = problem.active_rows
    X = problem.X[rows]
    y = problem.classes[problem.class_index[rows]]
    title = "\n".join(filter(None, describe_run(problem, result)))
    return regions(result, X, y, support=np.isin(rows, result.support), title=title, **arguments)


def _draw_two_class(
    problem: Problem,
    result: SVMResult,
    features: Sequence[int] | None,
    names: Sequence[str] | None,
    resolution: int,
    legend: bool,
    ax: Axes | None,
) -> Axes:
    """Draw the boundary of two classes."""
    view = build_view("boundary", problem, features, names)
    ax = make_axes(ax, view.figure_size)
    levels = np.unique([-result.rho, 0.0, result.rho])
    if view.is_plane:
        lines = _draw_boundaries(ax, result, view, resolution, levels)
    else:
        lines = _draw_curve(ax, result, view, levels)
    points = view.points
    if not view.is_plane:
        points = np.column_stack([points, (problem.y * result.yf)[problem.active_rows]])
    handles = draw_samples(ax, problem, result, points, problem.active_rows)
    ringed = result.kind[problem.active_rows] > 0
    rings = draw_rings(ax, points[ringed], f"support vectors ({ringed.sum()})")
    if not view.is_plane:
        shade_sides(ax)
    write_title(ax, problem, result, view.note, view.set_frame(ax) if view.is_plane else "")
    return finish_axes(ax, legend, [*handles, rings, *lines, *make_side_proxies(("f < 0", "f > 0"), problem.classes)])


def _shade_grid(ax: Axes, result: SVMResult, view: View, resolution: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shade both sides; return the ticks of both axes, (r,) each, and f at every pair of them, (r, r)."""
    across, up = view.compute_grid(0, resolution), view.compute_grid(1, resolution)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    f = view.evaluate(result, grid).reshape(len(up), len(across))
    ax.contourf(across, up, f, levels=[-np.inf, 0.0, np.inf], colors=list(SIDES), zorder=0)
    return across, up, f


def _draw_boundaries(ax: Axes, result: SVMResult, view: View, resolution: int, levels: FloatArray) -> list[Any]:
    """Draw f = 0 and the margins over the plane; return handles for the legend."""
    across, up, f = _shade_grid(ax, result, view, resolution)
    visible = [level for level in levels if f.min() < level < f.max()]
    if visible:
        styles = ["-" if level == 0 else "--" for level in visible]
        widths = [1.8 if level == 0 else 1.1 for level in visible]
        ax.contour(across, up, f, levels=visible, colors=BLACK, linestyles=styles, linewidths=widths, zorder=2)
    handles = [make_line_proxy(BLACK, "-", "boundary, f = 0")] if 0.0 in visible else []
    if any(level != 0.0 for level in visible):
        handles.append(make_line_proxy(BLACK, "--", f"margins, f = ±{result.rho:.3g}"))
    return handles


def _draw_curve(ax: Axes, result: SVMResult, view: View, levels: FloatArray) -> list[Any]:
    """Draw f over the one feature, with lines at its levels; return handles for the legend."""
    x = view.compute_grid(0, CURVE_POINTS)
    curve = ax.plot(x, view.evaluate(result, x[:, None]), color=BLUE, linewidth=1.6, zorder=2, label="f(x)")
    for level in levels:
        ax.axhline(level, color=BLACK, linestyle="-" if level == 0 else "--", linewidth=1.0, zorder=1)
    set_labels(ax, view.names[0], "decision function f(x)")
    if len(levels) > 1:
        margins = [make_line_proxy(BLACK, "--", f"margins, f = ±{result.rho:.3g}")]
    else:
        margins = []
    return [*curve, make_line_proxy(BLACK, "-", "f = 0"), *margins]


@picture
def novelty(
    problem: Problem,
    result: SVMResult,
    *,
    features: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    resolution: int = 200,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the boundary f = 0, lines of equal f, and the samples by kind; for a ball also centre and radius.

    Parameters
    ----------
    problem, result, features, names, resolution, legend, ax

    Returns
    -------
    Axes
        With two features, f over their plane; with one, the curve f(x) over x. Centre and radius are drawn where an
        SVDD has a linear kernel and two features, and R² ≥ 0.

    Raises
    ------
    ParameterError
        As in `boundary`.
    UnsupportedError
        The machine is not `OneClass` or `SVDD`, or the kernel is precomputed; the message names a suitable picture.
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    boundary : The same for two classes.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SVDD([[0.0, 0.0], [2.0, 0.0], [1.0, 1.5], [1.0, 0.4]], nu=0.1)
    >>> ax = qpsvm.faces.plotting.novelty(problem, qpsvm.solve(problem), names=["length", "width"], resolution=20)
    >>> print(ax.get_xlabel(), ax.get_ylabel())
    length width
    """
    check_picture("novelty", problem, result)
    view = build_view("novelty", problem, features, names)
    points = view.points
    kind = result.kind[problem.active_rows]
    plane = view.is_plane
    is_ball = isinstance(problem, SVDD) and isinstance(problem.kernel, Linear) and problem.X.shape[1] == 2
    shows_ball = plane and is_ball and bool(np.isfinite(result.radius))
    if shows_ball:  # make the whole ball visible
        corners = result.centre + result.radius * np.array([[-1.0, -1.0], [1.0, 1.0]])
        view = replace(view, points=np.vstack([points, corners[:, list(view.columns)]]))
    ax = make_axes(ax, view.figure_size)
    if plane:
        lines = _draw_contours(ax, result, view, resolution)
    else:
        lines = _draw_curve(ax, result, view, np.zeros(1))
    if not plane:
        shade_sides(ax)
        points = np.column_stack([points, result.yf[problem.active_rows]])
    handles = draw_kinds(ax, points, kind, problem._kind_labels.descriptions, BLUE)
    if shows_ball:
        handles += _draw_ball(ax, result, result.centre[list(view.columns)], points[kind == 1])
    write_title(ax, problem, result, view.note, view.set_frame(ax) if plane else "")
    assert result.model.classes is not None
    sides = make_side_proxies(("f < 0, outside", "f > 0, inside"), result.model.classes)
    return finish_axes(ax, legend, [*handles, *lines, *sides])


def _draw_contours(ax: Axes, result: SVMResult, view: View, resolution: int) -> list[Any]:
    """Draw f = 0 and lines of equal f over the plane; return handles for the legend."""
    across, up, f = _shade_grid(ax, result, view, resolution)
    low, high = float(f.min()), float(f.max())
    levels = np.unique([share * end for end in (low, high) for share in CONTOUR_SHARES if share * end])
    handles = []
    if len(levels) and low < high:
        ax.contour(across, up, f, levels=levels, colors=GREY, linestyles=":", linewidths=0.9, zorder=1)
        handles.append(make_line_proxy(GREY, ":", "equal f"))
    if low < 0.0 < high:
        ax.contour(across, up, f, levels=[0.0], colors=BLACK, linestyles="-", linewidths=1.8, zorder=2)
        handles.insert(0, make_line_proxy(BLACK, "-", "boundary, f = 0"))
    return handles


def _draw_ball(ax: Axes, result: SVMResult, centre: FloatArray, on_boundary: FloatArray) -> list[Any]:
    """Draw the centre (2,), and the radius towards the first sample on the boundary, (k, 2), if there is one."""
    radius = result.radius
    direction = on_boundary[0] - centre if len(on_boundary) else np.array([1.0, 0.0])
    length = float(np.linalg.norm(direction))
    end = centre + (radius / length * direction if length else direction * radius)
    ax.plot([centre[0], end[0]], [centre[1], end[1]], color=BLACK, linestyle="--", linewidth=1.1, zorder=2)
    ax.scatter(centre[0], centre[1], marker="+", s=110, c=BLACK, linewidths=1.8, zorder=6)
    return [make_marker_proxy("+", BLACK, BLACK, "centre c"), make_line_proxy(BLACK, "--", f"radius R = {radius:.4g}")]


@picture
def decisions(problem: Problem, result: SVMResult, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the decision values of each class, with f = 0 and the margins.

    The area of each class is 1, so that a small class on the wrong side is visible.

    Parameters
    ----------
    problem : Problem
        A machine of two classes, a one-class SVM or an SVDD, with any number of features.
    result : SVMResult
        Its result.
    legend, ax

    Returns
    -------
    Axes
        The density of each class over f. Samples of weight 0 are left out.

    Raises
    ------
    UnsupportedError
        The machine predicts numbers, an order or one of several classes; the message names a suitable picture.
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    boundary : The samples in the plane of two features.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = qpsvm.CSVM(X / X.max(axis=0), y)
    >>> ax = qpsvm.plotting.decisions(problem, qpsvm.solve(problem))
    >>> ax.get_xlabel()
    'decision function f(x)'
    """
    check_picture("decisions", problem, result)
    has_classes = problem._target_kind == "labels"
    ax = make_axes(ax)
    rows = problem.active_rows
    f = result.decision_function(problem.X[rows], diagonal=problem._take_kernel_diagonal(rows))
    edges = _compute_bin_edges(f)
    if has_classes:
        handles = _draw_class_histograms(ax, problem, f, edges)
    else:
        label = f"samples ({len(f)}, {int((f < 0).sum())} outside)"
        handles = [_draw_histogram(ax, f, edges, BLUE, HATCHES[0], label)]
    handles += _draw_levels(ax, result.rho if has_classes else 0.0)
    set_labels(ax, "decision function f(x)", "share of the class's samples" if has_classes else "share of the samples")
    write_title(ax, problem, result)
    return finish_axes(ax, legend, handles)


def _compute_bin_edges(f: FloatArray) -> FloatArray:
    """Return edges of bins, with f = 0 among them, so that no bin is on both sides: (k,)."""
    low, high = min(float(f.min()), 0.0), max(float(f.max()), 0.0)
    if low == high:
        low = -1.0
        high = 1.0
    count = len(np.histogram_bin_edges(f, "auto")) - 1
    width = (high - low) / min(max(count, MIN_BINS), MAX_BINS)
    edges = width * np.arange(np.floor(low / width), np.ceil(high / width) + 1.0)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # in spite of rounding
    return edges


def _draw_class_histograms(ax: Axes, problem: Problem, f: FloatArray, edges: FloatArray) -> list[Any]:
    """Draw a histogram of f (m,) for each class; return handles for the legend."""
    y = problem.y[problem.active_rows]
    handles = []
    for sign, name, color, hatch in zip((-1.0, 1.0), problem.classes, CLASSES, HATCHES, strict=True):
        values = f[y == sign]
        n_wrong = int(((values > 0) != (sign > 0)).sum())
        label = f"class {escape_label(name)} ({len(values)}, {n_wrong} on the wrong side)"
        handles.append(_draw_histogram(ax, values, edges, color, hatch, label))
    return handles


def _draw_histogram(ax: Axes, f: FloatArray, edges: FloatArray, color: str, hatch: str, label: str) -> Any:
    """Draw the share of the values f (m,) in each bin."""
    share = np.histogram(f, edges)[0] / len(f)
    ax.stairs(share, edges, fill=True, facecolor=color, alpha=OPACITY, zorder=1)
    return ax.stairs(share, edges, color=color, hatch=hatch, linewidth=1.4, zorder=2, label=label, fill=False)


def _draw_levels(ax: Axes, rho: float) -> list[Any]:
    """Shade both sides, and draw the lines f = 0 and f = ±ρ."""
    left, right = ax.get_xlim()
    left = min(left, -1.1 * rho)
    right = max(right, 1.1 * rho)
    ax.set_xlim(left, right)
    shade_sides(ax, "x")
    ax.axvline(0.0, color=BLACK, linewidth=1.8, zorder=3)
    handles = [make_line_proxy(BLACK, "-", "boundary, f = 0")]
    if rho > 0.0:
        for level in (-rho, rho):
            ax.axvline(level, color=BLACK, linestyle="--", linewidth=1.1, zorder=3)
        handles.append(make_line_proxy(BLACK, "--", f"margins, f = ±{rho:.3g}"))
    return handles
