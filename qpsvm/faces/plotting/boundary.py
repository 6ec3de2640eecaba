"""The decision boundary, both margins, and the samples by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.plotting.novelty import novelty
from qpsvm.faces.plotting.style import (
    BLACK,
    BLUE,
    SIDES,
    draw_rings,
    draw_samples,
    legend_below,
    line_proxy,
    new_axes,
    say_what,
    set_labels,
    side_proxies,
)
from qpsvm.faces.plotting.view import View, check_resolution, view_of
from qpsvm.machines import SVDD, OneClass, Problem
from qpsvm.machines.problem.pairing import check_pair
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of the curve f(x) where there is one feature.
CURVE_POINTS = 400


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

    A one-class SVM and an SVDD are drawn by `novelty`.

    Parameters
    ----------
    problem : Problem
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
        With two features, f over their plane; with one, the curve f(x) over x. The plane has equal units in both
        directions, so that w is perpendicular to the boundary on the paper as well; unless one side of the picture
        would then be more than four times as long as the other, which the title says.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    ParameterError
        More than two features and no choice among them, or a resolution below 2.
    ParameterTypeError
        An argument of another type, such as text for the resolution.
    UnsupportedError
        The kernel is precomputed.
    DataError
        The result is not of this problem, or there are not as many names as features.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
    >>> ax = qpsvm.plotting.boundary(problem, qpsvm.solve(problem), names=["length", "width"], resolution=20)
    >>> print(ax.get_xlabel(), ax.get_ylabel())
    length width
    """
    if isinstance(problem, (OneClass, SVDD)):
        return novelty(problem, result, features=features, names=names, resolution=resolution, legend=legend, ax=ax)
    check_pair(problem, result)
    as_flag(legend, "legend")
    check_resolution(resolution)
    view = view_of(problem, features, names)
    plane = len(view.columns) == 2
    ax = new_axes(ax, view.size) if plane else new_axes(ax)
    lines = _plane(ax, result, view, resolution) if plane else _curve(ax, result, view)
    points = view.points
    if points.shape[1] == 1:
        points = np.column_stack([points, (problem.y * result.yf)[problem.rows]])
    handles = draw_samples(ax, problem, result, points, problem.rows)
    ringed = result.kind[problem.rows] > 0
    rings = draw_rings(ax, points[ringed], f"support vectors ({ringed.sum()})")
    if not plane:
        _sides(ax)
    say_what(ax, problem, result, view.note, view.frame(ax) if plane else "")
    if legend:
        legend_below(ax, [*handles, rings, *lines, *side_proxies(problem)])
    return ax


def _plane(ax: Axes, result: SVMResult, view: View, resolution: int) -> list[Any]:
    across, up = view.ticks(0, resolution), view.ticks(1, resolution)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    f = view.values(result, grid).reshape(len(up), len(across))
    ax.contourf(across, up, f, levels=[-np.inf, 0.0, np.inf], colors=list(SIDES), zorder=0)
    levels = [level for level in _levels(result.rho) if f.min() < level < f.max()]
    if levels:
        styles = ["-" if level == 0 else "--" for level in levels]
        widths = [1.8 if level == 0 else 1.1 for level in levels]
        ax.contour(across, up, f, levels=levels, colors=BLACK, linestyles=styles, linewidths=widths, zorder=2)
    names = {True: ("-", "boundary, f = 0"), False: ("--", f"margins, f = ±{result.rho:.3g}")}
    return [line_proxy(BLACK, *names[zero]) for zero in sorted({level == 0 for level in levels}, reverse=True)]


def _levels(rho: float) -> FloatArray:
    """−ρ, 0 and ρ, (3,); only 0, (1,), where ρ = 0."""
    return np.unique([-rho, 0.0, rho])


def _curve(ax: Axes, result: SVMResult, view: View) -> list[Any]:
    x = view.ticks(0, CURVE_POINTS)
    curve = ax.plot(x, view.values(result, x[:, None]), color=BLUE, linewidth=1.6, zorder=2, label="f(x)")
    for level in _levels(result.rho):
        ax.axhline(level, color=BLACK, linestyle="-" if level == 0 else "--", linewidth=1.0, zorder=1)
    set_labels(ax, view.names[0], "decision function f(x)")
    names = {True: ("-", "f = 0"), False: ("--", f"margins, f = ±{result.rho:.3g}")}
    return [*curve, *(line_proxy(BLACK, *names[zero]) for zero in (True, False)[: 1 + (result.rho != 0)])]


def _sides(ax: Axes) -> None:
    """Shade where f < 0 and where f > 0, on the vertical axis."""
    low, high = ax.get_ylim()
    for side, (start, stop) in zip(SIDES, ((low, 0.0), (0.0, high)), strict=True):
        ax.axhspan(start, stop, facecolor=side, linewidth=0, zorder=0)
    ax.set_ylim(low, high)
