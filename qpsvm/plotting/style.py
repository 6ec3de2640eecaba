"""What the pictures share: axes, colours, markers, and a legend that covers no data.

Colours are those of Okabe & Ito, *Color Universal Design* (2008), which people with any colour vision tell apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.errors import MissingExtraError, ParameterTypeError, install
from qpsvm.problems import Problem
from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLACK, GREY = "black", "0.45"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
#: Kinds of samples in the order of `result.kind`: name and fill. In grey print the fills are white, dark and light.
KINDS = (("peripheral", "white"), ("on the margin", BLUE), ("at the bound", ORANGE))
#: Shapes of the two classes, in sort order, and their colours where an area stands for a class.
SHAPES, AREAS = ("^", "o"), (VERMILION, BLUE)
#: Curves, one after the other: colour, line style, marker.
CURVES = (
    (BLUE, "-", "o"), (VERMILION, "--", "s"), (GREEN, "-.", "^"), (ORANGE, ":", "D"), (PURPLE, "-", "v"),
    (SKY, "--", "P"), (BLACK, "-.", "X"),
)  # fmt: skip
#: A number with more digits than a title needs.
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")
#: Sizes of markers in points²: samples, and the rings around support vectors.
SAMPLE, RING = 32, 120


def new_axes(ax: Axes | None, size: tuple[float, float] = (6.4, 5.2)) -> Axes:
    """The axes given, or those of a new figure that makes room for a legend below them.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    ParameterTypeError
        Something else was given.
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


def plain(text: object) -> str:
    """A label that shows somebody else's text as it is. Matplotlib reads $…$ as a formula and hides _… in legends."""
    escaped = str(text).replace("$", "\\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def set_title(ax: Axes, *lines: str) -> None:
    """Write the lines that are not empty above the axes, with long numbers cut to four digits."""
    text = plain("\n".join(line for line in lines if line))
    ax.set_title(LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", text), fontsize="medium")


def say_what(ax: Axes, problem: Problem, result: SVMResult, note: str = "") -> None:
    """Write above the axes what was solved, or that it was not."""
    set_title(ax, problem.title, note, "" if result.status is Status.OPTIMAL else f"not solved: {result.status}")


def legend_below(ax: Axes, handles: list[Any] | None = None, columns: int = 3) -> None:
    """Draw the legend below the axes, where it covers nothing."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if handles:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            ncols=columns,
            frameon=False,
            fontsize="small",
        )


def draw_samples(ax: Axes, problem: Problem, result: SVMResult, points: FloatArray, rows: IntArray) -> list[Any]:
    """Draw samples by kind (fill) and class (shape).

    Parameters
    ----------
    points : ndarray, shape (m, 2)
    rows : ndarray, shape (m,)
        The samples drawn, as rows of the problem.

    Returns
    -------
    list
        Their handles for the legend.
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
                    linewidths=0.8,
                    edgecolors=GREY if k == 0 else BLACK,
                    zorder=3 + k,
                )
    counts = np.bincount(kind, minlength=len(KINDS))
    classes = [f"class {plain(label)}" for label in problem.classes]
    names = [f"{name} ({count})" for (name, _), count in zip(KINDS, counts, strict=True)]
    fills = [fill for _, fill in KINDS]
    return [
        *(marker_proxy("s", fill, name) for name, fill, count in zip(names, fills, counts, strict=True) if count),
        *(marker_proxy(shape, "0.8", label) for shape, label in zip(SHAPES, classes, strict=True)),
    ]


def marker_proxy(marker: str, fill: str, label: str) -> Any:
    """A marker for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=marker, markerfacecolor=fill, markeredgecolor=BLACK, label=label)


def line_proxy(color: str, style: str, label: str) -> Any:
    """A line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linestyle=style, label=label)


def draw_rings(ax: Axes, points: FloatArray, label: str) -> Any:
    """Rings around points (m, 2)."""
    return ax.scatter(
        points[:, 0], points[:, 1], s=RING, facecolors="none", edgecolors=BLACK, linewidths=1.1, zorder=7, label=label
    )
