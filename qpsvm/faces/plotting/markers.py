"""Draw samples by class and kind, and the entries of the legend for them (`draw_samples`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.faces.plotting.labels import escape_label
from qpsvm.faces.plotting.palette import BLACK, CLASSES, EDGE, GREY, KINDS, OUTLINE, PALE, RING, SAMPLE, SHAPES, SIDES
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # for the annotations of the pictures
    Axes = Any


def draw_samples(ax: Axes, problem: Problem, result: SVMResult, points: FloatArray, rows: IntArray) -> list[Any]:
    """Draw samples by kind (outline) and class (shape and hue). Shapes: points (m, 2), rows (m,)."""
    side = (problem.y[rows] > 0).astype(np.intp)
    looks = list(zip(SHAPES, CLASSES, strict=True))
    return draw_groups(ax, points, result.kind[rows], result.kind_descriptions, side, looks, problem.classes)


def draw_groups(
    ax: Axes,
    points: FloatArray,
    kind: NDArray[Any],
    words: Sequence[str],
    group: NDArray[Any],
    looks: Sequence[tuple[str, str]],
    labels: Iterable[object],
) -> list[Any]:
    """Draw points by kind (outline) and group (shape and hue); return handles for the legend.

    Shapes: points (m, 2), kind (m,), group (m,).
    """
    for k in range(len(KINDS)):
        for place, (shape, hue) in enumerate(looks):
            _scatter(ax, points[(kind == k) & (group == place)], k, hue, shape)
    counts = np.bincount(kind, minlength=len(KINDS))
    shape, hue = looks[0] if len(looks) == 1 else ("s", GREY)
    kinds = enumerate(zip(words, counts, strict=True))
    proxies = [
        make_marker_proxy(shape, *choose_look(k, hue), f"{name} ({count})") for k, (name, count) in kinds if count
    ]
    named = zip(looks, labels, strict=True) if len(looks) > 1 else ()
    return proxies + [
        make_marker_proxy(shape, hue, hue, f"class {escape_label(label)}") for (shape, hue), label in named
    ]


def choose_look(kind: int, hue: str) -> tuple[str, str]:
    """Return outline and fill of a sample of a kind, in the hue of its class."""
    from matplotlib.colors import to_hex, to_rgb

    outline = KINDS[kind][1]
    pale = to_hex([1.0 - PALE * (1.0 - part) for part in to_rgb(hue)])
    return (hue, pale) if outline is None else (outline, hue)


def _scatter(ax: Axes, points: FloatArray, kind: int, hue: str, shape: str = "o") -> None:
    """Draw the samples (m, 2) of one kind, if there are any."""
    if len(points):
        outline, fill = choose_look(kind, hue)
        width = OUTLINE if KINDS[kind][1] else EDGE
        look: dict[str, Any] = {"s": SAMPLE, "c": fill, "marker": shape, "linewidths": width}
        ax.scatter(*points.T, zorder=3 + kind, edgecolors=outline, **look)


def draw_kinds(ax: Axes, points: FloatArray, kind: NDArray[Any], words: Sequence[str], hue: str) -> list[Any]:
    """Draw samples (m, 2) by kind (m,), shown by their outline, in one hue; return handles for the legend."""
    return draw_groups(ax, points, kind, words, np.zeros(len(kind)), [("o", hue)], [])


def name_kinds(result: SVMResult) -> tuple[str, str, str]:
    """Name the kinds of samples; without bounds on α, also of a regression, the third is at no bound."""
    idle, inner, beyond = result.kind_descriptions
    return idle, inner, beyond if np.isfinite(result.upper).all() else result.kinds.curved_description


def make_marker_proxy(marker: str, edge: str, fill: str, label: str) -> Any:
    """Return a marker for the legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"markerfacecolor": fill, "markeredgecolor": edge, "markeredgewidth": EDGE}
    return Line2D([], [], linestyle="", marker=marker, label=label, **look)


def make_side_proxies(words: Sequence[str], labels: Iterable[object]) -> list[Any]:
    """Return patches of the shading of both sides, for the legend."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=side, edgecolor=side[0], linewidth=0.5, label=f"{word}: predicts {escape_label(label)}")
        for side, word, label in zip(SIDES, words, labels, strict=True)
    ]


def shade_sides(ax: Axes, axis: str = "y") -> None:
    """Shade f < 0 and f > 0 along the axis of f, without changing its limits."""
    low, high = ax.get_ylim() if axis == "y" else ax.get_xlim()
    span = ax.axhspan if axis == "y" else ax.axvspan
    for side, (start, stop) in zip(SIDES, ((low, 0.0), (0.0, high)), strict=True):
        span(start, stop, facecolor=side, linewidth=0, zorder=0)
    (ax.set_ylim if axis == "y" else ax.set_xlim)(low, high)


def make_line_proxy(color: str, style: str, label: str) -> Any:
    """Return a line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linestyle=style, label=label)


def draw_rings(ax: Axes, points: FloatArray, label: str) -> Any:
    """Draw rings around points (m, 2)."""
    return ax.scatter(
        points[:, 0], points[:, 1], s=RING, facecolors="none", edgecolors=BLACK, linewidths=0.9, zorder=7, label=label
    )
