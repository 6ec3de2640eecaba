"""Draw exact paths and exact validation curves over an interval (`exact_path`, `validation`)."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterTypeError, UnknownOptionError, describe_nearest
from qpsvm.faces.plotting.accepted import build_margin_refusal, has_margin
from qpsvm.faces.plotting.labels import finish_axes, set_labels, set_title
from qpsvm.faces.plotting.markers import make_line_proxy
from qpsvm.faces.plotting.over_parameters import DECADE
from qpsvm.faces.plotting.palette import BLACK, BLUE, CURVES, SKY, VERMILION
from qpsvm.faces.plotting.picture import Axes, make_axes, picture
from qpsvm.many.exact.error_curve import ErrorCurve, LeastError
from qpsvm.many.exact.path_result import ExactPath
from qpsvm.many.exact.validation import ValidationCurves
from qpsvm.many.grid.parameters import PARAMETER_SYMBOLS

PathQuantity = Literal["multipliers", "margin"]
#: Values between the ends at which curves are evaluated, besides the breakpoints.
POINTS = 400
#: Breakpoints above which their marks are thinner.
MANY_MARKS = 60


@picture
def exact_path(
    path: ExactPath,
    *,
    show: PathQuantity = "multipliers",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a quantity of all optima of an exact path against its parameter.

    Parameters
    ----------
    path : ExactPath
        A result of `qpsvm.exact_path`.
    show : "multipliers" or "margin"
        The multiplier α of each sample, or α/C if the parameter is C; or the width 2ρ/‖w‖ of the margin, for a machine
        of two classes.
    legend, ax
        As in `path`.

    Returns
    -------
    Axes
        The axes; marks at the bottom are the breakpoints.

    Raises
    ------
    UnknownOptionError
        `show` is not a known quantity; the message names the nearest.
    DataError
        The path has no pieces.
    UnsupportedError
        The margin is requested, but the machine does not have two classes.
    ParameterTypeError
        `path` is not an exact path.
    MissingExtraError

    See Also
    --------
    qpsvm.exact_path : Compute the path.
    path : The same for values that are solved one by one.
    validation : The error on other samples.

    Examples
    --------
    >>> import qpsvm
    >>> found = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
    >>> ax = qpsvm.plotting.exact_path(found, show="margin")
    >>> ax.get_xscale(), ax.get_ylabel()
    ('log', 'margin, 2ρ/‖w‖')
    """
    if not isinstance(path, ExactPath):
        raise ParameterTypeError(f"path must be what exact_path(problem, …) returned, got {_describe_kind(path)}")
    if not isinstance(show, str) or show not in get_args(PathQuantity):
        raise UnknownOptionError(
            f"show cannot be {_describe_kind(show)}; {describe_nearest(str(show), get_args(PathQuantity))}"
        )
    if show == "margin" and not has_margin(path.problem):
        raise build_margin_refusal(path.problem, "exact_path(path, show='multipliers')")
    if not len(path):
        raise DataError(f"this path has no pieces to draw: {path.message}")
    ax = make_axes(ax, (6.4, 4.8))
    letter = PARAMETER_SYMBOLS.get(path.parameter, path.parameter)
    x = _choose_values(path)
    if show == "multipliers":
        handles, y_label = _draw_multipliers(ax, path, x, letter)
    else:
        (line,) = ax.plot(x, [2.0 * path.margin(value) for value in x.tolist()], color=BLUE, label="margin")
        handles = [line]
        y_label = "margin, 2ρ/‖w‖"
    handles += _draw_breakpoints(ax, path.breakpoints)
    _set_scale(ax, path.breakpoints[0], path.reached)
    set_labels(ax, letter, y_label)
    set_title(ax, f"{type(path.problem).__name__}, kernel {path.problem.kernel}, {len(path)} pieces")
    return finish_axes(ax, legend, handles)


def _describe_kind(given: Any) -> str:
    """Describe an argument of a wrong type by its type, or by its value if it is a text."""
    if isinstance(given, str):
        return format_value(given)
    return type(given).__name__


def _choose_values(path: ExactPath) -> FloatArray:
    """Return the breakpoints, and values between them, in increasing order: (k,)."""
    low = float(path.breakpoints[0])
    high = path.reached
    if low > 0.0:
        between = np.geomspace(low, high, POINTS)
    else:
        between = np.linspace(low, high, POINTS)
    return np.unique(np.clip(np.concatenate([path.breakpoints, between]), low, high))


def _draw_multipliers(ax: Axes, path: ExactPath, x: FloatArray, letter: str) -> tuple[list[Any], str]:
    """Draw α of each sample, or α/C, at parameter values x (k,); return handles and the label of the axis."""
    alpha = np.array([path.alpha(value) for value in x.tolist()])
    is_share = path.parameter == "C"
    heights = alpha / x[:, None] if is_share else alpha
    is_positive = (alpha > 0.0).any(axis=0)
    label = f"α of each sample, {int(is_positive.sum())} of {alpha.shape[1]} support somewhere"
    for k, column in enumerate(heights[:, is_positive].T):
        color, style, _ = CURVES[k % len(CURVES)]
        ax.plot(x, column, color=color, linestyle=style, linewidth=0.9, alpha=0.75)
    return [make_line_proxy(BLUE, "-", label)], f"α/{letter}" if is_share else "α"


def _draw_steps(ax: Axes, curve: ErrorCurve, label: str, color: str, width: float, style: str = "-") -> list[Any]:
    """Draw an error curve, which is constant between its edges."""
    heights = np.append(curve.values, curve.values[-1:])
    look: dict[str, Any] = {"color": color, "linewidth": width, "linestyle": style, "drawstyle": "steps-post"}
    return list(ax.plot(curve.edges, heights, label=label, **look))


def _draw_minimum(ax: Axes, best: LeastError) -> list[Any]:
    """Draw all parameter values that minimise an error."""
    handles: list[Any] = []
    low, high = best.widest
    label = f"least: {best.error:.3g}, from {low:.3g} to {high:.3g}"
    look: dict[str, Any] = {"color": VERMILION, "linewidth": 3.0, "solid_capstyle": "butt"}
    for low, high in best.intervals:
        handles += ax.plot([low, high], [best.error, best.error], label=label, **look)
    return handles[:1]


def _draw_breakpoints(ax: Axes, breakpoints: FloatArray) -> list[Any]:
    """Mark breakpoints (k,) on the horizontal axis."""
    look: dict[str, Any] = {"color": BLACK, "transform": ax.get_xaxis_transform(), "linestyle": "", "clip_on": False}
    width = 0.5 if len(breakpoints) > MANY_MARKS else 1.0
    label = f"{len(breakpoints)} breakpoints, both ends included"
    return list(ax.plot(breakpoints, np.zeros(len(breakpoints)), "|", ms=9, mew=width, label=label, **look))


def _set_scale(ax: Axes, low: float, high: float) -> None:
    """Limit the horizontal axis to the interval, and make it logarithmic if that spans decades."""
    if low > 0.0 and high >= DECADE * low:
        ax.set_xscale("log")
    if high > low:
        ax.set_xlim(low, high)


@picture
def validation(found: ValidationCurves, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """Draw exact validation errors over an interval.

    Parameters
    ----------
    found : ValidationCurves
        A result of `qpsvm.cross_validate` over an `Interval`.
    legend, ax

    Returns
    -------
    Axes
        The mean error over the folds, and the error of each fold; with a grid of other parameters, the mean error of
        each grid point. The values with the smallest mean error are highlighted.

    Raises
    ------
    UnsupportedError
        No path has pieces in every fold.
    ParameterTypeError
        `found` is not a set of validation curves.
    MissingExtraError

    See Also
    --------
    qpsvm.cross_validate : Compute the curves.
    scores : The same for a grid.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
    >>> found = qpsvm.cross_validate(qpsvm.CSVM(X, y), C=qpsvm.Interval(0.01, 1.0), folds=3)
    >>> ax = qpsvm.plotting.validation(found)
    >>> ax.get_xscale(), ax.get_ylabel()
    ('log', 'mean share of wrong labels')
    """
    if not isinstance(found, ValidationCurves):
        raise ParameterTypeError(
            f"found must be what cross_validate(problem, C=Interval(…)) returned, got {_describe_kind(found)}"
        )
    best: Any = found.bests[found.best_index]  # raises UnsupportedError if there is none
    ax = make_axes(ax, (6.4, 4.8))
    handles = _draw_grid_means(ax, found) if found.axes else _draw_folds(ax, found)
    handles += _draw_minimum(ax, best)
    _set_scale(ax, found.interval.low, found.interval.high)
    letter = PARAMETER_SYMBOLS.get(found.parameter, found.parameter)
    set_labels(ax, letter, "mean share of wrong labels")
    kernel = type(found.problem.kernel).__name__
    set_title(ax, f"{type(found.problem).__name__}, kernel {kernel}, {found.folds} folds, every {letter}")
    return finish_axes(ax, legend, handles)


def _draw_grid_means(ax: Axes, found: ValidationCurves) -> list[Any]:
    """Draw the mean error of each point of the grid of other parameters; return handles for the legend."""
    handles: list[Any] = []
    for k, index in enumerate(np.ndindex(found.mean.shape)):
        curve: Any = found.mean[index]
        color, style, _ = CURVES[k % len(CURVES)]
        values = (
            f"{PARAMETER_SYMBOLS.get(name, name)} = {found.axes[name][i]:.3g}"
            for name, i in zip(found.axes, index, strict=True)
        )
        if len(curve.values):
            handles += _draw_steps(ax, curve, ", ".join(values), color, 1.5, style)
    return handles


def _draw_folds(ax: Axes, found: ValidationCurves) -> list[Any]:
    """Draw the error of each fold, and their mean; return handles for the legend."""
    for curve in found.curves:
        if len(curve.values):
            fold = _draw_steps(ax, curve, "a fold", SKY, 0.8)
    return _draw_steps(ax, found.mean[found.best_index], "mean of the folds", BLUE, 1.8) + fold
