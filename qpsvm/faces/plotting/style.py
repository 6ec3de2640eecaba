"""Shared style of the pictures: axes, colours, legends, markers by class (hue, shape) and kind (outline).

Colours are those of Okabe & Ito, *Color Universal Design* (2008), which people with any colour vision tell apart.

Texts that fit: titles and labels are broken where they are too long, and a legend stands below what it explains.

The one or two features that a picture shows, and where the others are held.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import (
    DataError,
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
    describe_install,
)
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.faces.plotting.accepted import build_refusal, suggest_alternative
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.program.status import Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import KINDS_IN_WORDS, SVMResult
from qpsvm.space.kernels.functions import Precomputed

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # for the annotations of the pictures
    Axes = Any

#: Characters in a line of somebody else's label, and the lines after which it is cut: about half a page across.
LINE_LENGTH, MAX_LINES = 30, 3
#: A number with more digits than a title needs.
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")
P = ParamSpec("P")
R = TypeVar("R")
#: What several pictures take and raise, for their documentation.
SHARED_PARAMETERS = {
    "problem": ("Problem", "Whose samples are drawn."),
    "result": ("SVMResult", "Of that problem."),
    "features": (
        "(int, int), optional",
        "The columns of X to show, needed where there are more than two. The others are held at their medians: the "
        "lines are those of this one slice, and all samples are projected on it.",
    ),
    "names": ("sequence of str, optional", "Names of all d features."),
    "resolution": ("int, default=200", "Points of the grid in each direction, at least 2."),
    "legend": ("bool, default=True", "Whether a legend stands below the axes."),
    "ax": ("Axes, optional", "By default those of a new figure."),
    "DataError": ("", "The result is not of this problem, or there are not as many names as features."),
    "ParameterTypeError": ("", "An argument of another type."),
    "MissingExtraError": ("", "Matplotlib is not installed."),
}  # fmt: skip
BLACK, GREY = "black", "0.45"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
#: Kinds of samples in the order of `result.kind`: name and outline; None stands for a pale marker in its own hue.
#: No class has these colours, and in grey print one is pale, one outlined in black, and one in a lighter grey.
KINDS = tuple(zip(KINDS_IN_WORDS, (None, BLACK, ORANGE), strict=True))
#: How much of its hue a pale marker has.
PALE = 0.35
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
#: Sizes of markers in points²: samples, and the rings around support vectors. Widths of edges and outlines, in points.
SAMPLE, RING, EDGE, OUTLINE = 44, 130, 1.0, 1.5
#: Units are equal in both directions unless one side of the picture would then be more than so many times the other.
SLIVER = 4.0
#: Points of a curve over one feature.
CURVE_POINTS = 400
#: Said where a kernel is precomputed.
NO_FEATURES = "a precomputed kernel has no features to draw"
#: Said above a picture whose units differ.
DISTORTED = "units differ: right angles do not look right"
#: Inches: width of a picture and of its plane, and what title, labels and legend take above and below it.
WIDTH, PLANE, AROUND = 6.4, 5.4, 1.9
#: Inches: the least and greatest height of the plane.
HEIGHTS = (2.0, 4.6)
#: Free space around the samples, as a share of their range.
ROOM = 0.12


def escape_label(text: object) -> str:
    """A label that shows somebody else's text as it is. Matplotlib reads $…$ as a formula and hides _… in legends."""
    shown = str(text)
    if max(map(len, shown.splitlines()), default=0) > LINE_LENGTH:
        shown = "\n".join(textwrap.wrap(shown, LINE_LENGTH, max_lines=MAX_LINES, placeholder=" …"))
    escaped = shown.replace("$", "\\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def set_title(ax: Axes, *lines: str) -> None:
    """Write the lines that are not empty above the axes, broken where the figure ends, long numbers cut to 4 digits."""
    shown = [LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", line) for line in lines if line]
    title = ax.set_title("\n".join(shown).replace("$", "\\$"), fontsize="medium")
    wrap_text(title, compute_text_width(ax))


def set_labels(ax: Axes, across: str, up: str) -> None:
    """Name both axes, broken where the figure ends."""
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
    """Draw the legend below the axes and their labels, in as many columns as there is room for."""
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
            ncols=count, frameon=False, fontsize="small",
        )  # fmt: skip
        if legend.get_window_extent().width <= compute_text_width(ax):
            return


def finish_axes(ax: Axes, legend: bool, handles: list[Any] | None = None) -> Axes:
    """The axes of a picture, with their legend where one is wanted."""
    if legend:
        draw_legend_below(ax, handles)
    return ax


def compute_text_width(ax: Axes) -> float:
    """Compute the width of a text over or below the axes, in pixels: their cell of the figure, less the labels."""
    columns = _measure_cell(ax)[0]
    beside = ax.yaxis.get_tightbbox()  # what lies left of the axes moves their centre, at which the text stands
    if ax.get_subplotspec() is None or beside is None:
        return columns
    return columns - max(0.0, float(ax.bbox.x0 - beside.x0))


def _measure_cell(ax: Axes) -> tuple[float, float]:
    """Width and height of the cell of the figure in which the axes stand, in pixels; of axes without one, their own."""
    place = ax.get_subplotspec()
    if place is None:
        return float(ax.bbox.width), float(ax.bbox.height)
    top, whole = place.get_topmost_subplotspec(), ax.figure.bbox
    grid = top.get_gridspec()
    return float(whole.width) * len(top.colspan) / grid.ncols, float(whole.height) * len(top.rowspan) / grid.nrows


def picture(draw: Callable[P, R]) -> Callable[P, R]:
    """A picture that checks its `legend`, and whose documentation says in full what it shares with others.

    A line of names of `SHARED_PARAMETERS` stands for their entries.
    """

    @wraps(draw)
    def drawn(*args: P.args, **named: P.kwargs) -> R:
        as_flag(named.get("legend", True), "legend")
        return draw(*args, **named)

    lines = []
    for line in (draw.__doc__ or "").splitlines():
        names = line.strip().split(", ")
        if not all(name in SHARED_PARAMETERS for name in names):
            lines.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        for name in names:
            kind, text = SHARED_PARAMETERS[name]
            lines.append(f"{indent}{name} : {kind}" if kind else f"{indent}{name}")
            lines += textwrap.wrap(text, 112, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    ")
    drawn.__doc__ = "\n".join(lines)
    return drawn


def make_axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """The axes given, or those of a new figure that makes room for a legend below them."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes as Kind
    except ImportError as error:
        raise MissingExtraError(
            f"qpsvm.plotting needs Matplotlib, which is not installed; run: {describe_install('plot')}"
        ) from error
    if ax is None:
        created: Axes = pyplot.subplots(figsize=size or (6.4, 5.2), layout="constrained")[1]
        return created
    if not isinstance(ax, Kind):
        raise ParameterTypeError(f"ax must be a Matplotlib Axes, got {type(ax).__name__}; of several pass one, axes[0]")
    return ax


def describe_run(problem: Problem | AllInOneProblem, result: SVMResult | AllInOneResult) -> tuple[str, str, str]:
    """Describe the problem, a result that is of another problem, and a failure to solve: "" where none."""
    other = "" if result.title == problem.title else f"the numbers are those of a result of {result.title}"
    return problem.title, other, "" if result.status is Status.OPTIMAL else f"not solved: {result.status}"


def write_title(ax: Axes, problem: Problem | AllInOneProblem, result: SVMResult | AllInOneResult, *notes: str) -> None:
    """Write above the axes what was solved, or that it was not."""
    title, other, said = describe_run(problem, result)
    set_title(ax, title, other, *notes, said)


def draw_samples(ax: Axes, problem: Problem, result: SVMResult, points: FloatArray, rows: IntArray) -> list[Any]:
    """Draw samples by kind (outline) and class (shape and hue). Shapes: points (m, 2), rows (m,)."""
    side, looks = (problem.y[rows] > 0).astype(np.intp), list(zip(SHAPES, CLASSES, strict=True))
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
    """Draw points by kind (outline) and group (shape and hue); their handles for the legend.

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
    """Outline and fill of a sample of a kind, in the hue of its class."""
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
    """Draw samples (m, 2) by kind (m,), which is their outline, in one hue; their handles for the legend."""
    return draw_groups(ax, points, kind, words, np.zeros(len(kind)), [("o", hue)], [])


def name_kinds(result: SVMResult) -> tuple[str, str, str]:
    """Name the kinds of samples; without bounds on α, also of a regression, the third is at no bound."""
    idle, inner, beyond = result.kind_descriptions
    return idle, inner, beyond if np.isfinite(result.upper).all() else result.kinds.curved_description


def make_marker_proxy(marker: str, edge: str, fill: str, label: str) -> Any:
    """A marker for the legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"markerfacecolor": fill, "markeredgecolor": edge, "markeredgewidth": EDGE}
    return Line2D([], [], linestyle="", marker=marker, label=label, **look)


def make_side_proxies(words: Sequence[str], labels: Iterable[object]) -> list[Any]:
    """The shading of both sides of the boundary, for the legend."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=side, edgecolor=side[0], linewidth=0.5, label=f"{word}: predicts {escape_label(label)}")
        for side, word, label in zip(SIDES, words, labels, strict=True)
    ]


def shade_sides(ax: Axes, axis: str = "y") -> None:
    """Shade where f < 0 and where f > 0, f being on an axis whose limits stay."""
    low, high = ax.get_ylim() if axis == "y" else ax.get_xlim()
    span = ax.axhspan if axis == "y" else ax.axvspan
    for side, (start, stop) in zip(SIDES, ((low, 0.0), (0.0, high)), strict=True):
        span(start, stop, facecolor=side, linewidth=0, zorder=0)
    (ax.set_ylim if axis == "y" else ax.set_xlim)(low, high)


def make_line_proxy(color: str, style: str, label: str) -> Any:
    """A line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linestyle=style, label=label)


def draw_rings(ax: Axes, points: FloatArray, label: str) -> Any:
    """Rings around points (m, 2)."""
    return ax.scatter(
        points[:, 0], points[:, 1], s=RING, facecolors="none", edgecolors=BLACK, linewidths=0.9, zorder=7, label=label
    )


@dataclass(frozen=True, eq=False)
class View:
    """A line or plane through the space of the samples.

    columns: The features shown, one or two.
    base (d,): The medians of all features, at which those not shown are held.
    points (m, len(columns)): The m samples that take part, projected.
    names: Of the features shown.
    note: What is held, for the title.
    """

    columns: tuple[int, ...]
    base: FloatArray
    points: FloatArray
    names: list[str]
    note: str

    def compute_ticks(self, axis: int, count: int) -> FloatArray:
        """Evenly spaced values of a feature, over the range of the samples and some room around it: (count,)."""
        low, high = float(self.points[:, axis].min()), float(self.points[:, axis].max())
        room = ROOM * (high - low) or ROOM * abs(high) or 1.0
        return np.linspace(low - room, high + room, count)

    @property
    def is_plane(self) -> bool:
        """Whether two features are shown."""
        return len(self.columns) == 2

    @property
    def shape(self) -> float:
        """Height over width of the plane in the features' own units."""
        (left, right), (low, high) = self.compute_ticks(0, 2), self.compute_ticks(1, 2)
        return float((high - low) / (right - left))

    @property
    def has_equal_units(self) -> bool:
        """Whether one unit is to be as long across as up, so that w is perpendicular to the boundary on the paper."""
        return 1 / SLIVER <= self.shape <= SLIVER

    @property
    def figure_size(self) -> tuple[float, float] | None:
        """A figure into which the plane fits, in inches; None over one feature."""
        if not self.is_plane:
            return None
        least, most = HEIGHTS
        return WIDTH, (min(max(PLANE * self.shape, least), most) if self.has_equal_units else 0.6 * PLANE) + AROUND

    def set_frame(self, ax: Axes) -> str:
        """Set limits, units and names of both axes. What a reader must know of the units, or "", comes back."""
        ax.set_xlim(*self.compute_ticks(0, 2))
        ax.set_ylim(*self.compute_ticks(1, 2))
        ax.set_aspect("equal" if self.has_equal_units else "auto")
        set_labels(ax, *self.names)
        return "" if self.has_equal_units else DISTORTED

    def evaluate(self, result: SVMResult, at: FloatArray) -> FloatArray:
        """f at k points of the view, `at` (k, len(columns)): (k,)."""
        step = max(1, BLOCK_NUMBERS // len(self.base))
        return np.concatenate([self._evaluate_block(result, at[i : i + step]) for i in range(0, len(at), step)])

    def _evaluate_block(self, result: SVMResult, at: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):  # what overflows is not drawn
            return result.decision_function(self.embed_points(at))

    def embed_points(self, points: FloatArray) -> FloatArray:
        """Points of the view (k, len(columns)) in the space of the samples: (k, d)."""
        X = np.tile(self.base, (len(points), 1))
        X[:, list(self.columns)] = points
        return X


def check_resolution(resolution: int) -> None:
    """Check that a grid has at least two points in each direction. Raises ParameterError, ParameterTypeError."""
    if isinstance(resolution, bool) or not isinstance(resolution, (int, np.integer)):
        raise ParameterTypeError(f"resolution must be an integer, got {format_value(resolution)}")
    if resolution < 2:
        raise ParameterError(f"resolution must be at least 2 points in each direction, got {resolution}")


def build_view(name: str, problem: Problem, features: Sequence[int] | None, names: Sequence[str] | None) -> View:
    """The view that `features` asks for, in the picture of a name.

    Raises UnsupportedError, ParameterError, ParameterTypeError, DataError.
    """
    return build_feature_view(problem, check_features(name, problem, features), names)


def check_features(name: str, problem: Problem | AllInOneProblem, features: Sequence[int] | None) -> tuple[int, ...]:
    """The one or two features that the picture of a name shows. Raises UnsupportedError, ParameterError."""
    if isinstance(problem.kernel, Precomputed):
        raise build_refusal(name, problem, NO_FEATURES)
    otherwise = f"; {suggest_alternative(name, problem)} without a choice" if features is None else ""
    return choose_features(int(problem.X.shape[1]), features, otherwise)


def build_feature_view(problem: Problem, columns: tuple[int, ...], names: Sequence[str] | None) -> View:
    """The view of one or two features that exist. Raises ParameterTypeError, DataError."""
    return build_sample_view(as_dense(problem.X[problem.active_rows]), columns, names)


def build_sample_view(dense: FloatArray, columns: tuple[int, ...], names: Sequence[str] | None) -> View:
    """The view of one or two features of samples (n, d). Raises ParameterTypeError, DataError."""
    d = int(dense.shape[1])
    texts = build_feature_labels(names, d)
    held = d - len(columns)
    labels = [texts[j] if texts is not None else f"feature {j}" if d > 2 else f"$x_{j + 1}$" for j in columns]
    note = f"{held} other feature{'s' if held > 1 else ''} held at the median" if held else ""
    return View(columns, np.median(dense, axis=0), dense[:, list(columns)], labels, note)


def build_feature_labels(names: Sequence[str] | None, d: int) -> list[str] | None:
    """The names of d features as labels, or None where none are given. Raises ParameterTypeError, DataError."""
    if names is None:
        return None
    if isinstance(names, (str, bytes)) or not (hasattr(names, "__len__") and hasattr(names, "__getitem__")):
        raise ParameterTypeError(f"names must be a sequence with one text for each feature, got {format_value(names)}")
    if np.ndim(names) != 1 or len(names) != d:
        count = len(names) if np.ndim(names) == 1 else f"shape {np.shape(names)}"
        raise DataError(f"names must have one entry for each of the {d} features, got {count}")
    return [escape_label(name) for name in names]


def choose_features(d: int, features: Sequence[int] | None, otherwise: str = "") -> tuple[int, ...]:
    """The one or two features that a picture shows; what else to do is the end of a message. Raises ParameterError."""
    if features is None:
        if d > 2:
            raise ParameterError(
                f"the samples have {d} features and a picture shows two: pass features=(i, j) with 0 <= i, j < {d}; "
                f"the others are held at their medians{otherwise}"
            )
        return tuple(range(d))
    chosen = np.atleast_1d(np.asarray(features))
    wanted = min(d, 2)
    whole = chosen.dtype.kind in "iu" and chosen.shape == (wanted,) and len(set(chosen.tolist())) == wanted
    if not whole or chosen.min() < 0 or chosen.max() >= d:
        what = "(0,)" if d == 1 else f"two different integers from 0 to {d - 1}"
        raise ParameterError(f"features must be {what}, got {format_value(features)}")
    return tuple(int(j) for j in chosen)
