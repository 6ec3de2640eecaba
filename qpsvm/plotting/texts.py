"""Texts that fit: titles and labels are broken where they are too long, and a legend stands below what it explains."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters in a line of somebody else's label, and the lines after which it is cut: about half a page across.
LINE, LINES = 30, 3
#: A number with more digits than a title needs.
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def plain(text: object) -> str:
    """A label that shows somebody else's text as it is. Matplotlib reads $…$ as a formula and hides _… in legends."""
    shown = str(text)
    if max(map(len, shown.splitlines()), default=0) > LINE:
        shown = "\n".join(textwrap.wrap(shown, LINE, max_lines=LINES, placeholder=" …"))
    escaped = shown.replace("$", "\\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def set_title(ax: Axes, *lines: str) -> None:
    """Write the lines that are not empty above the axes, broken where the figure ends, long numbers cut to 4 digits."""
    shown = [LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", line) for line in lines if line]
    title = ax.set_title("\n".join(shown).replace("$", "\\$"), fontsize="medium")
    fit(title, room_across(ax))


def set_labels(ax: Axes, across: str, up: str) -> None:
    """Name both axes, broken where the figure ends."""
    fit(ax.set_ylabel(up), room_up(ax))
    fit(ax.set_xlabel(across), room_across(ax))


def fit(text: Any, room: float) -> None:
    """Break lines between words until the text is no longer than `room`, in pixels, or no further break helps."""
    lines = text.get_text().split("\n")
    longest = max(map(len, lines))
    while (length := max(text.get_window_extent().size)) > room and longest > 1:
        longest = min(longest - 1, int(longest * room / length))
        broken = [part for line in lines for part in textwrap.wrap(line, max(longest, 1), break_long_words=False)]
        if len(broken) == len(" ".join(lines).split()):
            longest = 1
        text.set_text("\n".join(broken))


def legend_below(ax: Axes, handles: list[Any] | None = None, columns: int = 3) -> None:
    """Draw the legend below the axes and their labels, in as many columns as there is room for."""
    from matplotlib.transforms import ScaledTranslation

    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not handles:
        return
    figure = ax.figure
    drop = ScaledTranslation(0.0, -depth_of_labels(ax), figure.dpi_scale_trans)
    for count in range(columns, 0, -1):
        legend = ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=ax.transAxes + drop,
            ncols=count,
            frameon=False,
            fontsize="small",
        )
        if legend.get_window_extent().width <= room_across(ax):
            return


def depth_of_labels(ax: Axes) -> float:
    """How far ticks, numbers and label of the horizontal axis reach below the axes: in inches."""
    box = ax.xaxis.get_tightbbox()
    return 0.0 if box is None else max(0.0, float(ax.bbox.y0 - box.y0) / float(ax.figure.dpi))


def room_across(ax: Axes) -> float:
    """How wide a text over or below the axes may be, in pixels: as their columns of the figure, but for the labels."""
    place = ax.get_subplotspec()
    if place is None:
        return float(ax.bbox.width)
    top = place.get_topmost_subplotspec()
    beside = ax.yaxis.get_tightbbox()  # what lies left of the axes moves their centre, at which the text stands
    columns = float(ax.figure.bbox.width) * len(top.colspan) / top.get_gridspec().ncols
    return columns - (0.0 if beside is None else max(0.0, float(ax.bbox.x0 - beside.x0)))


def room_up(ax: Axes) -> float:
    """How long a text beside the axes may be: as their rows of the figure, in pixels."""
    place = ax.get_subplotspec()
    if place is None:
        return float(ax.bbox.height)
    top = place.get_topmost_subplotspec()
    return float(ax.figure.bbox.height) * len(top.rowspan) / top.get_gridspec().nrows
