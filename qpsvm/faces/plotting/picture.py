"""Shared parts of the functions that draw pictures: documentation (`picture`), axes, title and checks."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import MissingExtraError, ParameterError, ParameterTypeError, describe_install
from qpsvm.faces.plotting.labels import set_title
from qpsvm.machines import Problem
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # for the annotations of the pictures
    Axes = Any


P = ParamSpec("P")
R = TypeVar("R")
#: Limits on the points of a grid in each direction: the values of f at 4000 × 4000 points take 128 MB.
MIN_RESOLUTION, MAX_RESOLUTION = 2, 4000
#: Type and text of the parameters and errors that several pictures share, for their documentation.
SHARED_PARAMETERS = {
    "problem": ("Problem", "The problem whose samples are drawn."),
    "result": ("SVMResult", "Its result."),
    "features": (
        "(int, int), optional",
        "The columns of X to show, required if there are more than two. The others are held at their medians: the "
        "lines are those of this one slice, and all samples are projected on it.",
    ),
    "names": ("sequence of str, optional", "Names of all d features."),
    "resolution": ("int, default=200", "Points of the grid in each direction, from 2 to 4000."),
    "legend": ("bool, default=True", "Whether to draw a legend below the axes."),
    "ax": ("Axes, optional", "The axes to draw on; by default those of a new figure."),
    "DataError": ("", "The result is not of this problem, or there are not as many names as features."),
    "ParameterTypeError": ("", "An argument has another type."),
    "MissingExtraError": ("", "Matplotlib is not installed."),
}


def picture(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorate a picture: check its `legend` and `resolution`, and complete its documentation by the shared parameters.

    In its docstring, a line of names of `SHARED_PARAMETERS` is replaced by their entries.
    """

    @wraps(draw)
    def check_and_draw(*args: P.args, **named: P.kwargs) -> R:
        as_flag(named.get("legend", True), "legend")
        _check_resolution(named.get("resolution", MIN_RESOLUTION))
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
    check_and_draw.__doc__ = "\n".join(lines)
    return check_and_draw


def make_axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the given axes, or those of a new figure with space for a legend below."""
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
    if ax.name in ("3d", "polar"):
        raise ParameterTypeError(f"ax must be plain axes of two dimensions, got {ax.name} axes: omit projection=")
    return ax


def describe_run(problem: Problem, result: SVMResult) -> tuple[str, str, str]:
    """Return the problem's title, and notes on a result of another problem and on a failure, "" if there is none."""
    if result.title == problem.title:
        other = ""
    else:
        other = f"the numbers are those of a result of {result.title}"
    failure = "" if result.status is Status.OPTIMAL else f"not solved: {result.status}"
    return problem.title, other, failure


def write_title(ax: Axes, problem: Problem, result: SVMResult, *notes: str) -> None:
    """Set the title: the problem, notes, and the status if it is not optimal."""
    title, other, failure = describe_run(problem, result)
    set_title(ax, title, other, *notes, failure)


def _check_resolution(resolution: Any) -> None:
    """Check the number of points of a grid in each direction. Raises ParameterError, ParameterTypeError."""
    if isinstance(resolution, bool) or not isinstance(resolution, (int, np.integer)):
        raise ParameterTypeError(f"resolution must be an integer, got {format_value(resolution)}")
    if not MIN_RESOLUTION <= resolution <= MAX_RESOLUTION:
        limits = f"from {MIN_RESOLUTION} to {MAX_RESOLUTION}"
        raise ParameterError(f"resolution must be {limits} points in each direction, got {resolution}")
