"""Draw samples by class and kind, and the entries of the legend (`draw_samples`, `draw_groups`, `draw_kinds`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.faces.plotting.labels import Axes, escape_label
from qpsvm.faces.plotting.palette import BLACK, CLASSES, EDGE, GREY, KINDS, OUTLINE, PALE, RING, SAMPLE, SHAPES, SIDES
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult


def draw_samples(ax: Axes, problem: Problem, result: SVMResult, points: FloatArray, rows: IntArray) -> list[Any]:
    """Draw samples by kind (outline) and class (shape and hue); return handles for the legend.

    Shapes: points (m, 2), rows (m,).
    """
    group = (problem.y[rows] > 0).astype(np.intp)
    looks = list(zip(SHAPES, CLASSES, strict=True))
    return draw_groups(ax, points, result.kind[rows], result.kind_descriptions, group, looks, problem.classes)


def draw_groups(
    ax: Axes,
    points: FloatArray,
    kind: NDArray[Any],
    kind_labels: Sequence[str],
    group: NDArray[Any],
    looks: Sequence[tuple[str, str]],
    group_labels: Iterable[object],
) -> list[Any]:
    """Draw points by kind (outline) and group (shape and hue); return handles for the legend.

    looks: Shape and hue of each group. With only one group, the legend has its kinds only.

    Shapes: points (m, 2), kind (m,), group (m,).
    """
    for k in range(len(KINDS)):
        for g, (shape, hue) in enumerate(looks):
            _scatter(ax, points[(kind == k) & (group == g)], k, shape, hue)
    has_one_group = len(looks) == 1
    shape, hue = looks[0] if has_one_group else ("s", GREY)
    counts = np.bincount(kind, minlength=len(KINDS))
    handles = [
        make_marker_proxy(shape, *choose_outline_and_fill(k, hue), f"{label} ({count})")
        for k, (label, count) in enumerate(zip(kind_labels, counts, strict=True))
        if count
    ]
    if has_one_group:
        return handles
    return handles + [
        make_marker_proxy(shape, hue, hue, f"class {escape_label(label)}")
        for (shape, hue), label in zip(looks, group_labels, strict=True)
    ]


def draw_kinds(ax: Axes, points: FloatArray, kind: NDArray[Any], kind_labels: Sequence[str], hue: str) -> list[Any]:
    """Draw samples (m, 2) by kind (m,), shown by their outline, in one hue; return handles for the legend."""
    return draw_groups(ax, points, kind, kind_labels, np.zeros(len(kind)), [("o", hue)], [])


def _scatter(ax: Axes, points: FloatArray, kind: int, shape: str, hue: str) -> None:
    """Draw the samples (m, 2) of one kind and group, if there are any."""
    if len(points):
        outline, fill = choose_outline_and_fill(kind, hue)
        width = OUTLINE if KINDS[kind][1] else EDGE
        x, y = points.T
        ax.scatter(x, y, s=SAMPLE, c=fill, marker=shape, linewidths=width, edgecolors=outline, zorder=3 + kind)


def choose_outline_and_fill(kind: int, hue: str) -> tuple[str, str]:
    """Return the colours of the outline and the fill of a sample of a kind, in the hue of its class."""
    from matplotlib.colors import to_hex, to_rgb

    outline = KINDS[kind][1]
    if outline is not None:
        return outline, hue
    return hue, to_hex([1.0 - PALE * (1.0 - channel) for channel in to_rgb(hue)])  # mixed with white


def name_kinds(result: SVMResult) -> tuple[str, str, str]:
    """Name the kinds of samples; if an α has no bound, also in a regression, the third is not called at the bound."""
    zero, free, at_bound = result.kind_descriptions
    return zero, free, at_bound if np.isfinite(result.upper).all() else result.kinds.curved_description


def make_marker_proxy(marker: str, edge: str, fill: str, label: str) -> Any:
    """Make the legend's handle of a marker."""
    from matplotlib.lines import Line2D

    colors: dict[str, Any] = {"markerfacecolor": fill, "markeredgecolor": edge}
    return Line2D([], [], linestyle="", marker=marker, label=label, markeredgewidth=EDGE, **colors)


def make_side_proxies(side_names: Sequence[str], labels: Iterable[object]) -> list[Any]:
    """Make the legend's handles of the areas f < 0 and f > 0, with the label that is predicted there."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=color, edgecolor=color[0], linewidth=0.5, label=f"{name}: predicts {escape_label(label)}")
        for color, name, label in zip(SIDES, side_names, labels, strict=True)
    ]


def shade_sides(ax: Axes, axis: str = "y") -> None:
    """Shade f < 0 and f > 0 along the axis of f, without changing its limits."""
    if axis == "y":
        low, high = ax.get_ylim()
        shade: Any = ax.axhspan
    else:
        low, high = ax.get_xlim()
        shade = ax.axvspan
    for color, (start, stop) in zip(SIDES, ((low, 0.0), (0.0, high)), strict=True):
        shade(start, stop, facecolor=color, linewidth=0, zorder=0)
    ax.set(**{f"{axis}lim": (low, high)})


def make_line_proxy(color: str, style: str, label: str) -> Any:
    """Make the legend's handle of a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linestyle=style, label=label)


def draw_rings(ax: Axes, points: FloatArray, label: str) -> Any:
    """Draw rings around points (m, 2); return the handle for the legend."""
    x, y = points.T
    return ax.scatter(x, y, s=RING, facecolors="none", edgecolors=BLACK, linewidths=0.9, zorder=7, label=label)
