"""What the pictures share: axes, colours, and markers whose edge and shape say the class, whose fill says the kind.

Colours are those of Okabe & Ito, *Color Universal Design* (2008), which people with any colour vision tell apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.errors import MissingExtraError, ParameterTypeError, install
from qpsvm.plotting.texts import plain, set_title
from qpsvm.problems import Problem
from qpsvm.qp.solution import Status
from qpsvm.result import KINDS_IN_WORDS, SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLACK, GREY = "black", "0.45"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
#: Kinds of samples in the order of `result.kind`: name and fill. No class has these colours, and in grey print they are
#: white, black and grey.
KINDS = tuple(zip(KINDS_IN_WORDS, ("white", BLACK, ORANGE), strict=True))
#: Shapes and colours of the two classes, in sort order: of the edges of samples, and of areas.
SHAPES, CLASSES = ("^", "o"), (VERMILION, BLUE)
#: Opacity of the colour on the side of each class: in grey print the side of f > 0 is the darker one.
SHADES = (0.08, 0.16)
SIDES = tuple(zip(CLASSES, SHADES, strict=True))
#: Curves, one after the other: colour, line style, marker.
CURVES = (
    (BLUE, "-", "o"), (VERMILION, "--", "s"), (GREEN, "-.", "^"), (ORANGE, ":", "D"), (PURPLE, "-", "v"),
    (SKY, "--", "P"), (BLACK, "-.", "X"),
)  # fmt: skip
#: Sizes of markers in points²: samples, and the rings around support vectors. Width of a sample's edge, in points.
SAMPLE, RING, EDGE = 34, 120, 1.2


def new_axes(ax: Axes | None, size: tuple[float, float] = (6.4, 5.2)) -> Axes:
    """The axes given, or those of a new figure that makes room for a legend below them.

    Raises MissingExtraError, ParameterTypeError.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes as Kind
    except ImportError as error:
        raise MissingExtraError(
            f"qpsvm.plotting needs Matplotlib, which is not installed; run: {install('plot')}"
        ) from error
    if ax is None:
        created: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
        return created
    if not isinstance(ax, Kind):
        raise ParameterTypeError(f"ax must be a Matplotlib Axes, got {type(ax).__name__}; of several pass one, axes[0]")
    return ax


def say_what(ax: Axes, problem: Problem, result: SVMResult, *notes: str) -> None:
    """Write above the axes what was solved, or that it was not."""
    other = "" if result.title == problem.title else f"the numbers are those of a result of {result.title}"
    said = "" if result.status is Status.OPTIMAL else f"not solved: {result.status}"
    set_title(ax, problem.title, other, *notes, said)


def draw_samples(ax: Axes, problem: Problem, result: SVMResult, points: FloatArray, rows: IntArray) -> list[Any]:
    """Draw samples by kind (fill) and class (shape and edge).

    Shapes: points (m, 2), rows (m,).
    """
    kind, positive = result.kind[rows], problem.y[rows] > 0
    for k, (_, fill) in enumerate(KINDS):
        for side, shape in enumerate(SHAPES):
            chosen = (kind == k) & (positive == bool(side))
            if chosen.any():
                ax.scatter(
                    points[chosen, 0],
                    points[chosen, 1],
                    s=SAMPLE,
                    c=fill,
                    marker=shape,
                    linewidths=EDGE,
                    edgecolors=CLASSES[side],
                    zorder=3 + k,
                )
    counts = np.bincount(kind, minlength=len(KINDS))
    classes = [f"class {plain(label)}" for label in problem.classes]
    names = [f"{name} ({count})" for name, count in zip(result.kind_words, counts, strict=True)]
    fills = [fill for _, fill in KINDS]
    return [
        *(marker_proxy("s", GREY, fill, name) for name, fill, count in zip(names, fills, counts, strict=True) if count),
        *(
            marker_proxy(shape, edge, "white", label)
            for shape, edge, label in zip(SHAPES, CLASSES, classes, strict=True)
        ),
    ]


def marker_proxy(marker: str, edge: str, fill: str, label: str) -> Any:
    """A marker for the legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        markerfacecolor=fill,
        markeredgecolor=edge,
        markeredgewidth=EDGE,
        label=label,
    )


def side_proxies(problem: Problem) -> list[Any]:
    """The shading of both sides of the boundary, for the legend."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=side, edgecolor=side[0], linewidth=0.5, label=f"{sign}: predicts {plain(label)}")
        for side, sign, label in zip(SIDES, ("f < 0", "f > 0"), problem.classes, strict=True)
    ]


def line_proxy(color: str, style: str, label: str) -> Any:
    """A line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linestyle=style, label=label)


def draw_rings(ax: Axes, points: FloatArray, label: str) -> Any:
    """Rings around points (m, 2)."""
    return ax.scatter(
        points[:, 0], points[:, 1], s=RING, facecolors="none", edgecolors=BLACK, linewidths=0.9, zorder=7, label=label
    )
