"""Write titles, labels and legends that fit into a picture (`set_title`, `finish_axes`)."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # annotations of the other modules, without an import of Matplotlib
    Axes = Any


#: Characters in a line of a user's label, about half the width of a figure, and the lines after which it is cut.
LINE_LENGTH, MAX_LINES = 30, 3
#: A number with more digits than a title needs.
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def escape_label(text: object) -> str:
    """Shorten a text, and escape what Matplotlib would not show: it reads $…$ as a formula and hides _… in legends."""
    label = str(text)
    if max(map(len, label.splitlines()), default=0) > LINE_LENGTH:
        label = "\n".join(textwrap.wrap(label, LINE_LENGTH, max_lines=MAX_LINES, placeholder=" …"))
    escaped = label.replace("$", "\\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def set_title(ax: Axes, *lines: str) -> None:
    """Set the nonempty lines as title, wrapped to the width of the figure, with numbers rounded to 4 digits."""
    rounded = [LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", line) for line in lines if line]
    title = ax.set_title("\n".join(rounded).replace("$", "\\$"), fontsize="medium")
    wrap_text(title, compute_text_width(ax))


def set_labels(ax: Axes, across: str, up: str) -> None:
    """Set the labels of both axes, wrapped to the size of the figure."""
    wrap_text(ax.set_ylabel(up), _measure_cell(ax)[1])
    wrap_text(ax.set_xlabel(across), compute_text_width(ax))


def wrap_text(text: Any, max_length: float) -> None:
    """Break the lines of a text, also a vertical one, to at most `max_length` pixels, if breaks between words can."""
    lines = text.get_text().split("\n")
    n_words = len(" ".join(lines).split())
    n_characters = max(map(len, lines))
    while (length := max(text.get_window_extent().size)) > max_length and n_characters > 1:
        n_characters = min(n_characters - 1, int(n_characters * max_length / length))
        broken = [part for line in lines for part in textwrap.wrap(line, max(n_characters, 1), break_long_words=False)]
        text.set_text("\n".join(broken))
        if len(broken) == n_words:
            return


def draw_legend_below(ax: Axes, handles: list[Any] | None = None, columns: int = 3) -> None:
    """Draw the legend below the axes and their labels, in as many columns as fit, at most `columns`."""
    from matplotlib.transforms import ScaledTranslation

    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not handles:
        return
    axis_box = ax.xaxis.get_tightbbox()  # ticks, numbers and label of the horizontal axis
    figure = ax.figure
    if axis_box is None:
        inches = 0.0
    else:
        inches = max(0.0, float(ax.bbox.y0 - axis_box.y0) / float(figure.dpi))
    below_axis = ax.transAxes + ScaledTranslation(0.0, -inches, figure.dpi_scale_trans)
    for n_columns in range(columns, 0, -1):
        legend = ax.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below_axis,
            ncols=n_columns, columnspacing=1.2, frameon=False, fontsize="small",
        )  # fmt: skip
        if legend.get_window_extent().width <= compute_text_width(ax):
            return


def finish_axes(ax: Axes, legend: bool, handles: list[Any] | None = None) -> Axes:
    """Draw the legend if requested, and return the axes."""
    if legend:
        draw_legend_below(ax, handles)
    return ax


def compute_text_width(ax: Axes) -> float:
    """Compute how wide a text above or below the axes may be, in pixels."""
    cell_width = _measure_cell(ax)[0]
    vertical_axis = ax.yaxis.get_tightbbox()
    if ax.get_subplotspec() is None or vertical_axis is None:
        return cell_width
    return cell_width - max(0.0, float(ax.bbox.x0 - vertical_axis.x0))  # the text is centred on the axes, not the cell


def _measure_cell(ax: Axes) -> tuple[float, float]:
    """Return width and height, in pixels, of the figure's grid cell that contains the axes, or else of the axes."""
    position = ax.get_subplotspec()
    if position is None:
        return float(ax.bbox.width), float(ax.bbox.height)
    cell = position.get_topmost_subplotspec()
    figure_box = ax.figure.bbox
    grid = cell.get_gridspec()
    width, height = float(figure_box.width), float(figure_box.height)
    return width * len(cell.colspan) / grid.ncols, height * len(cell.rowspan) / grid.nrows
