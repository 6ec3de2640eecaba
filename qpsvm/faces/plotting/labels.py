"""Write titles, labels and legends that fit into a picture (`set_title`, `finish_axes`)."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # for the annotations of the pictures
    Axes = Any


#: Characters in a line of a user's label, and the lines after which it is cut: about half a page across.
LINE_LENGTH, MAX_LINES = 30, 3
#: A number with more digits than a title needs.
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def escape_label(text: object) -> str:
    """Escape a text so that Matplotlib shows it literally: it reads $…$ as a formula and hides _… in legends."""
    shown = str(text)
    if max(map(len, shown.splitlines()), default=0) > LINE_LENGTH:
        shown = "\n".join(textwrap.wrap(shown, LINE_LENGTH, max_lines=MAX_LINES, placeholder=" …"))
    escaped = shown.replace("$", "\\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def set_title(ax: Axes, *lines: str) -> None:
    """Set the nonempty lines as title, wrapped to the width of the figure, with numbers rounded to 4 digits."""
    shown = [LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", line) for line in lines if line]
    title = ax.set_title("\n".join(shown).replace("$", "\\$"), fontsize="medium")
    wrap_text(title, compute_text_width(ax))


def set_labels(ax: Axes, across: str, up: str) -> None:
    """Set the labels of both axes, wrapped to the width of the figure."""
    wrap_text(ax.set_ylabel(up), _measure_cell(ax)[1])
    wrap_text(ax.set_xlabel(across), compute_text_width(ax))


def wrap_text(text: Any, max_width: float) -> None:
    """Break lines between words until the text is no longer than `room`, in pixels, or no further break helps."""
    lines = text.get_text().split("\n")
    longest = max(map(len, lines))
    while (length := max(text.get_window_extent().size)) > max_width and longest > 1:
        longest = min(longest - 1, int(longest * max_width / length))
        broken = [part for line in lines for part in textwrap.wrap(line, max(longest, 1), break_long_words=False)]
        if len(broken) == len(" ".join(lines).split()):
            longest = 1
        text.set_text("\n".join(broken))


def draw_legend_below(ax: Axes, handles: list[Any] | None = None, columns: int = 3) -> None:
    """Draw the legend below the axes and their labels, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not handles:
        return
    box, figure = ax.xaxis.get_tightbbox(), ax.figure  # ticks, numbers and label of the horizontal axis
    depth = 0.0 if box is None else max(0.0, float(ax.bbox.y0 - box.y0) / float(figure.dpi))
    drop = ScaledTranslation(0.0, -depth, figure.dpi_scale_trans)
    for count in range(columns, 0, -1):
        legend = ax.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=ax.transAxes + drop,
            ncols=count, columnspacing=1.2, frameon=False, fontsize="small",
        )  # fmt: skip
        if legend.get_window_extent().width <= compute_text_width(ax):
            return


def finish_axes(ax: Axes, legend: bool, handles: list[Any] | None = None) -> Axes:
    """Return the axes of a picture, with a legend if requested."""
    if legend:
        draw_legend_below(ax, handles)
    return ax


def compute_text_width(ax: Axes) -> float:
    """Compute the width of a text over or below the axes, in pixels: their cell of the figure without the labels."""
    columns = _measure_cell(ax)[0]
    beside = ax.yaxis.get_tightbbox()  # what lies left of the axes moves their centre, at which the text stands
    if ax.get_subplotspec() is None or beside is None:
        return columns
    return columns - max(0.0, float(ax.bbox.x0 - beside.x0))


def _measure_cell(ax: Axes) -> tuple[float, float]:
    """Measure the figure's cell that contains the axes, or else the axes: width and height in pixels."""
    place = ax.get_subplotspec()
    if place is None:
        return float(ax.bbox.width), float(ax.bbox.height)
    top, whole = place.get_topmost_subplotspec(), ax.figure.bbox
    grid = top.get_gridspec()
    return float(whole.width) * len(top.colspan) / grid.ncols, float(whole.height) * len(top.rowspan) / grid.nrows
