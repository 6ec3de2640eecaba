"""What is inside and what is outside: the boundary of a one-class SVM or the ball of an SVDD, and samples by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.faces.plotting.style import (
    BLACK,
    BLUE,
    EDGE,
    GREY,
    KINDS,
    SAMPLE,
    SIDES,
    legend_below,
    line_proxy,
    marker_proxy,
    new_axes,
    plain,
    say_what,
    set_labels,
)
from qpsvm.faces.plotting.view import View, check_resolution, view_of
from qpsvm.machines import SVDD, OneClass, Problem
from qpsvm.machines.problem.pairing import check_pair
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of the curve f(x) where there is one feature.
CURVE_POINTS = 400
#: Where the thin lines run: at these shares of the way from f = 0 to the largest f inside, and to the smallest outside.
SHARES = (1 / 3, 2 / 3)


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
    """Draw where f = 0, inside and outside, lines of equal f, and the samples by kind; of a ball, centre and radius.

    Parameters
    ----------
    problem : OneClass or SVDD
        Whose samples are drawn.
    result : SVMResult
        Of that problem.
    features : (int, int), optional
        The columns of X to show, needed where there are more than two. The others are held at their medians: the lines
        are those of this one slice, and all samples are projected on it.
    names : sequence of str, optional
        Names of all d features.
    resolution : int, default=200
        Points of the grid in each direction, at least 2.
    legend : bool, default=True
        Whether a legend stands below the axes.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        With two features, f over their plane; with one, the curve f(x) over x. Centre and radius are drawn where an
        SVDD has a linear kernel and two features, and R² ≥ 0.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    ParameterError, ParameterTypeError
        As in `boundary`.
    UnsupportedError
        Another machine, or a precomputed kernel.
    DataError
        The result is not of this problem, or there are not as many names as features.

    See Also
    --------
    boundary : Of two classes.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SVDD([[0.0, 0.0], [2.0, 0.0], [1.0, 1.5], [1.0, 0.4]], nu=0.1)
    >>> ax = qpsvm.plotting.novelty(problem, qpsvm.solve(problem), names=["length", "width"], resolution=20)
    >>> print(ax.get_xlabel(), ax.get_ylabel())
    length width
    """
    if not isinstance(problem, (OneClass, SVDD)):
        raise UnsupportedError(f"novelty draws OneClass and SVDD; {type(problem).__name__} is drawn by boundary")
    check_pair(problem, result)
    as_flag(legend, "legend")
    check_resolution(resolution)
    view = view_of(problem, features, names)
    plane = len(view.columns) == 2
    round_one = plane and isinstance(problem, SVDD) and isinstance(problem.kernel, Linear) and problem.X.shape[1] == 2
    round_one = round_one and np.isfinite(result.radius)
    own = view
    if round_one:  # the whole of it is to be seen
        corners = result.centre + result.radius * np.array([[-1.0, -1.0], [1.0, 1.0]])
        view = replace(view, points=np.vstack([view.points, corners[:, list(view.columns)]]))
    ax = new_axes(ax, view.size) if plane else new_axes(ax)
    lines = _plane(ax, result, view, resolution) if plane else _curve(ax, result, view)
    points, kind = own.points, result.kind[problem.rows]
    if not plane:
        points = np.column_stack([points, result.yf[problem.rows]])
    handles = _samples(ax, points, kind, problem.kinds.words)
    if round_one:
        handles += _ball(ax, result, result.centre[list(view.columns)], points[kind == 1])
    say_what(ax, problem, result, view.note, view.frame(ax) if plane else "")
    if legend:
        legend_below(ax, [*handles, *lines, *_side_proxies(result)])
    return ax


def _plane(ax: Axes, result: SVMResult, view: View, resolution: int) -> list[Any]:
    across, up = view.ticks(0, resolution), view.ticks(1, resolution)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    f = view.values(result, grid).reshape(len(up), len(across))
    ax.contourf(across, up, f, levels=[-np.inf, 0.0, np.inf], colors=list(SIDES), zorder=0)
    ends = [float(end) for end in (f.min(), f.max())]
    thin = np.unique([share * end for end in ends for share in SHARES if share * end])
    handles = []
    if len(thin) and ends[0] < ends[1]:
        ax.contour(across, up, f, levels=thin, colors=GREY, linestyles=":", linewidths=0.9, zorder=1)
        handles.append(line_proxy(GREY, ":", "equal f"))
    if ends[0] < 0.0 < ends[1]:
        ax.contour(across, up, f, levels=[0.0], colors=BLACK, linestyles="-", linewidths=1.8, zorder=2)
        handles.insert(0, line_proxy(BLACK, "-", "boundary, f = 0"))
    return handles


def _curve(ax: Axes, result: SVMResult, view: View) -> list[Any]:
    x = view.ticks(0, CURVE_POINTS)
    curve = ax.plot(x, view.values(result, x[:, None]), color=BLUE, linewidth=1.6, zorder=2, label="f(x)")
    ax.axhline(0.0, color=BLACK, linestyle="-", linewidth=1.0, zorder=1)
    low, high = ax.get_ylim()
    for side, (start, stop) in zip(SIDES, ((low, 0.0), (0.0, high)), strict=True):
        ax.axhspan(start, stop, facecolor=side, linewidth=0, zorder=0)
    ax.set_ylim(low, high)
    set_labels(ax, view.names[0], "decision function f(x)")
    return [*curve, line_proxy(BLACK, "-", "f = 0")]


def _samples(ax: Axes, points: FloatArray, kind: Any, words: tuple[str, str, str]) -> list[Any]:
    """Draw samples by kind, which is their fill, and return their handles for the legend."""
    handles = []
    for k, (name, (_, fill)) in enumerate(zip(words, KINDS, strict=True)):
        chosen = points[kind == k]
        if len(chosen):
            ax.scatter(chosen[:, 0], chosen[:, 1], s=SAMPLE, c=fill, linewidths=EDGE, edgecolors=BLUE, zorder=3 + k)
            handles.append(marker_proxy("o", BLUE, fill, f"{name} ({len(chosen)})"))
    return handles


def _ball(ax: Axes, result: SVMResult, centre: FloatArray, on_it: FloatArray) -> list[Any]:
    """Draw the centre, and the radius towards a sample on the boundary where there is one."""
    radius = result.radius
    way = on_it[0] - centre if len(on_it) else np.array([1.0, 0.0])
    length = float(np.linalg.norm(way))
    end = centre + (radius / length * way if length else way * radius)
    ax.plot([centre[0], end[0]], [centre[1], end[1]], color=BLACK, linestyle="--", linewidth=1.1, zorder=2)
    ax.scatter(centre[0], centre[1], marker="+", s=110, c=BLACK, linewidths=1.8, zorder=6)
    return [marker_proxy("+", BLACK, BLACK, "centre c"), line_proxy(BLACK, "--", f"radius R = {radius:.4g}")]


def _side_proxies(result: SVMResult) -> list[Any]:
    """The shading inside and outside, for the legend."""
    from matplotlib.patches import Patch

    assert result.model.classes is not None
    return [
        Patch(facecolor=side, edgecolor=side[0], linewidth=0.5, label=f"{word}: predicts {plain(label)}")
        for side, word, label in zip(SIDES, ("f < 0, outside", "f > 0, inside"), result.model.classes, strict=True)
    ]
