"""Draw how much the decision function changes without each sample (`influence`)."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError
from qpsvm.faces.plotting.accepted import check_picture
from qpsvm.faces.plotting.labels import escape_label, finish_axes, set_labels
from qpsvm.faces.plotting.markers import make_line_proxy, make_marker_proxy
from qpsvm.faces.plotting.palette import BLACK, BLUE, CLASSES, CURVES, SHAPES, SIDES
from qpsvm.faces.plotting.picture import Axes, make_axes, picture, write_title
from qpsvm.faces.plotting.view import CURVE_POINTS, View, build_view
from qpsvm.machines import Problem
from qpsvm.many.exact.influence import Influence
from qpsvm.result.svm_result import SVMResult

#: Areas of markers in points²: of a sample without influence, and by how much that of the most influential is larger.
MIN_AREA, AREA_RANGE = 9, 420
#: Opacity of a marker, so that samples below others are seen.
OPACITY = 0.55


@picture
def influence(
    problem: Problem,
    result: SVMResult,
    found: Influence,
    *,
    lines: int = 2,
    features: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    resolution: int = 160,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw each sample with the area of its influence, and f = 0 with and without the most influential ones.

    Parameters
    ----------
    problem, result
    found : Influence
        The result of `qpsvm.influence` for them.
    lines : int, default=2
        Number of additional lines: f = 0 without the most influential sample, without the second most, and so on.
    features, names, resolution, legend, ax

    Returns
    -------
    Axes
        With two features their plane; with one, the curve f(x) over x. The area of a marker grows linearly with the
        mean of |f − f₋ᵢ|; small dots are samples without influence.

    Raises
    ------
    ParameterError
        As in `boundary`; or `lines` is negative.
    UnsupportedError
        `qpsvm.influence` does not support the machine, or the kernel is precomputed.
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    qpsvm.influence : Compute the influence of each sample.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
    >>> result = qpsvm.solve(problem)
    >>> found = qpsvm.influence(problem, result)
    >>> ax = qpsvm.plotting.influence(problem, result, found, resolution=20, names=["length", "width"])
    >>> print(ax.get_xlabel(), ax.get_ylabel())
    length width
    """
    check_picture("influence", problem, result)
    if not isinstance(found, Influence):
        raise ParameterTypeError(f"found must be what influence(problem, …) returned, got {type(found).__name__}")
    if len(found.mean) != problem.n:
        raise DataError(f"this influence is of {len(found.mean)} samples, and the problem has {problem.n}")
    if isinstance(lines, bool) or not isinstance(lines, (int, np.integer)):
        raise ParameterTypeError(f"lines must be an integer, got {type(lines).__name__}")
    if lines < 0:
        raise ParameterError(f"lines must not be negative, got {lines}")
    view = build_view("influence", problem, features, names)
    ax = make_axes(ax, view.figure_size)
    omitted = [int(row) for row in found.order[: min(int(lines), len(CURVES) - 1)]]
    # what `View.evaluate` needs of a result: the decision functions without each omitted sample, (q, len(omitted))
    refits: Any = SimpleNamespace(decision_function=lambda X: found.left_out.decision_function(X)[:, omitted])
    if view.is_plane:
        lines_drawn = _draw_plane(ax, problem, result, view, refits, omitted, resolution)
        points = view.points
    else:
        lines_drawn = _draw_curves(ax, problem, result, view, refits, omitted)
        points = np.column_stack([view.points, _compute_heights(problem, result)])
    handles = _draw_samples(ax, problem, points, found.mean[problem.active_rows])
    write_title(ax, problem, result, view.note, view.set_frame(ax) if view.is_plane else "")
    return finish_axes(ax, legend, [*handles, *lines_drawn])


def _compute_heights(problem: Problem, result: SVMResult) -> FloatArray:
    """Compute the heights at which samples are drawn over one feature, (m,): the targets of a regression, else f."""
    if problem._regression_target is not None:
        return np.asarray(problem.samples.target[problem.active_rows])
    return np.asarray(result.decision_function(problem.X[problem.active_rows]))


def _draw_plane(
    ax: Axes, problem: Problem, result: SVMResult, view: View, refits: Any, omitted: list[int], resolution: int
) -> list[Any]:
    """Draw the lines f = 0 of the machine with all samples, and of those without each omitted one.

    For a regression they are the lines where f is the median of the targets. Returns handles for the legend.
    """
    across, up = view.compute_grid(0, resolution), view.compute_grid(1, resolution)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    f = view.evaluate(result, grid)
    if problem._regression_target is None:
        level = 0.0
    else:
        level = float(np.median(_compute_heights(problem, result)))
    equation = "f = 0" if level == 0.0 else f"f = {level:.3g}"
    if problem._regression_target is None:
        ax.contourf(across, up, f.reshape(len(up), -1), levels=[-np.inf, 0.0, np.inf], colors=list(SIDES), zorder=0)
    others = view.evaluate(refits, grid) if omitted else np.zeros((len(grid), 0))
    handles = []
    for values, (color, style, label) in zip([f, *others.T], _choose_looks(omitted, equation), strict=True):
        if values.min() < level < values.max():
            look: dict[str, Any] = {"colors": color, "linestyles": style, "linewidths": 1.8 if color == BLACK else 1.3}
            ax.contour(across, up, values.reshape(len(up), -1), levels=[level], zorder=5, **look)
            handles.append(make_line_proxy(color, style, label))
    return handles


def _draw_curves(
    ax: Axes, problem: Problem, result: SVMResult, view: View, refits: Any, omitted: list[int]
) -> list[Any]:
    """Draw f over the one feature, with all samples and without each omitted one; return handles for the legend."""
    x = view.compute_grid(0, CURVE_POINTS)
    if omitted:
        others = view.evaluate(refits, x[:, None])
    else:
        others = np.zeros((len(x), 0))
    looks = _choose_looks(omitted, "f")
    for values, (color, style, _) in zip([view.evaluate(result, x[:, None]), *others.T], looks, strict=True):
        ax.plot(x, values, color=color, linestyle=style, linewidth=1.8 if color == BLACK else 1.3, zorder=2)
    if problem._regression_target is None:
        ax.axhline(0.0, color=BLACK, linewidth=0.6, zorder=1)
    set_labels(ax, view.names[0], "f(x)" if problem._regression_target is None else "target, f(x)")
    return [make_line_proxy(*look) for look in looks]


def _choose_looks(omitted: list[int], name: str) -> list[tuple[str, str, str]]:
    """Return colour, style and label of each line: that of all samples, and one per omitted sample.

    The first and the last of `CURVES` are left out, as samples are blue and the line of all samples is black and solid.
    """
    looks = [(color, style if style != "-" else "--") for color, style, _ in CURVES[1:-1]]
    without = [(*looks[k % len(looks)], f"{name} without row {row}") for k, row in enumerate(omitted)]
    return [(BLACK, "-", f"{name}, all samples"), *without]


def _draw_samples(ax: Axes, problem: Problem, points: FloatArray, influences: FloatArray) -> list[Any]:
    """Draw samples (m, 2) by class, with areas by influences (m,), NaN if unknown; return handles for the legend."""
    largest = float(np.nanmax(influences, initial=0.0))
    area = np.where(influences > 0.0, MIN_AREA + AREA_RANGE * np.nan_to_num(influences) / (largest or 1.0), MIN_AREA)
    look: dict[str, Any] = {"alpha": OPACITY, "edgecolors": BLACK, "linewidths": 0.7, "zorder": 4}
    handles = list[Any]()
    fill = BLUE
    if problem.samples.classes is None:
        ax.scatter(points[:, 0], points[:, 1], s=area, c=BLUE, marker="o", **look)
    else:
        is_positive = problem.y[problem.active_rows] > 0
        fill = "white"
        for side, (shape, color, name) in enumerate(zip(SHAPES, CLASSES, problem.classes, strict=True)):
            in_class = is_positive == bool(side)
            ax.scatter(points[in_class, 0], points[in_class, 1], s=area[in_class], c=color, marker=shape, **look)
            handles.append(make_marker_proxy(shape, BLACK, color, f"class {escape_label(name)}"))
    label = f"area: mean $|f - f_{{-i}}|$ ≤ {largest:.3g} ({(influences > 0.0).sum()})"
    handles.append(make_marker_proxy("o", BLACK, fill, label))
    handles.append(make_marker_proxy(".", BLACK, fill, f"no influence ({(influences == 0.0).sum()})"))
    return handles
