"""Draw a regression with its tube (`tube`), and several quantiles (`quantiles`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError
from qpsvm.faces.plotting.accepted import build_refusal, check_machine, check_picture, suggest_alternative
from qpsvm.faces.plotting.labels import finish_axes, set_labels, set_title
from qpsvm.faces.plotting.markers import draw_kinds, name_kinds
from qpsvm.faces.plotting.palette import BLACK, BLUE, CURVES, EDGE, GREY, SAMPLE, SHADES
from qpsvm.faces.plotting.picture import Axes, make_axes, picture, write_title
from qpsvm.faces.plotting.view import CURVE_POINTS, NO_FEATURES, View, build_feature_view, build_view
from qpsvm.machines import Problem, QuantileSVR
from qpsvm.machines.problem.problem import check_result_matches
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed


@picture
def tube(
    problem: Problem,
    result: SVMResult,
    *,
    feature: int | None = None,
    names: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the curve of a regression, the tube of half width ε around it, and the samples by kind.

    Parameters
    ----------
    problem : EpsilonSVR, NuSVR or QuantileSVR
        The machine whose samples are drawn. A quantile has a tube without width.
    result : SVMResult
        Its result.
    feature : int, optional
        The column of X to show, if there are several: the others are held at their medians, and all samples are
        projected on it. Without it, targets are drawn against predictions if there are several features.
    names, legend, ax

    Returns
    -------
    Axes
        Targets over x, or over f(x).

    Raises
    ------
    MissingExtraError
    UnsupportedError
        The machine is not a regression, or `feature` is given for a precomputed kernel; the message names a suitable
        picture.
    ParameterError, ParameterTypeError
        The feature does not exist, or an argument has another type.
    DataError
        The result is not of this problem, or there are not as many names as features.

    See Also
    --------
    quantiles : Several quantiles in one picture.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.EpsilonSVR([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.8, 2.3, 2.9], epsilon=0.2)
    >>> ax = qpsvm.plotting.tube(problem, qpsvm.solve(problem), names=["hours"])
    >>> print(ax.get_xlabel(), "|", ax.get_ylabel())
    hours | target t
    """
    check_picture("tube", problem, result)
    view = _build_line_view(problem, feature, names)
    ax = make_axes(ax)
    epsilon = find_half_width(problem, result)
    rows, t = problem.active_rows, problem.t
    if view is None:
        x = result.yf[rows]  # s∘f, two values per sample for two-sided machines: the first n have s = 1
        ends = np.array([min(x.min(), t[rows].min()), max(x.max(), t[rows].max())])
        curve = ends, ends
        label = "t = f(x)"
        set_labels(ax, "prediction f(x)", "target t")
    else:
        x = view.points[:, 0]
        ticks = view.compute_grid(0, CURVE_POINTS)
        curve = ticks, view.evaluate(result, ticks[:, None])
        label = "f(x)"
        set_labels(ax, view.names[0], "target t")
    handles = _draw_tube(ax, *curve, epsilon, label)
    handles += draw_kinds(ax, np.column_stack([x, t[rows]]), result.kind[rows], name_kinds(result), BLUE)
    write_title(ax, problem, result, view.note if view is not None else "")
    return finish_axes(ax, legend, handles)


@picture
def quantiles(
    problems: Sequence[Problem],
    results: Sequence[SVMResult],
    *,
    feature: int | None = None,
    names: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw several quantiles of the same samples, with the number of samples below each.

    Parameters
    ----------
    problems : sequence of QuantileSVR
        Over the same samples.
    results : sequence of SVMResult
        One for each.
    feature : int, optional
        The column of X to show, required if there are several: the others are held at their medians.
    names, legend, ax

    Returns
    -------
    Axes
        Targets over x, with a curve for each quantile and the band between the outermost.

    Raises
    ------
    MissingExtraError
    UnsupportedError
        A machine is not a `QuantileSVR`, or its kernel is precomputed; the message names a suitable picture.
    ParameterError, ParameterTypeError
        There is no problem, or there are several features and `feature` is not given; or an argument has another type.
    DataError
        There are not as many results as problems, a result is of another problem, or the samples differ.

    See Also
    --------
    tube : One regression with its tube.

    Examples
    --------
    >>> import qpsvm
    >>> X, t = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.0, 3.0]
    >>> problems = [qpsvm.QuantileSVR(X, t, C=10, quantile=tau) for tau in (0.1, 0.5, 0.9)]
    >>> ax = qpsvm.plotting.quantiles(problems, [qpsvm.solve(problem) for problem in problems])
    >>> print([line.get_label() for line in ax.lines])
    ['τ = 0.1, 0 % below', 'τ = 0.5, 25 % below', 'τ = 0.9, 50 % below']
    """
    machines = _check_quantiles(problems, results)
    first = machines[0]
    view = _build_line_view(first, feature, names)
    if view is None:
        raise ParameterError(
            f"the samples have {first.X.shape[1]} features and the picture shows one: pass feature=j with 0 <= j < "
            f"{first.X.shape[1]}; the others are held at their medians; {suggest_alternative('quantiles', first)} "
            f"without a choice"
        )
    ax = make_axes(ax)
    x = view.compute_grid(0, CURVE_POINTS)
    t = first.t
    rows = first.active_rows
    ax.scatter(view.points[:, 0], t[rows], s=SAMPLE / 2, c="white", edgecolors=GREY, linewidths=EDGE / 2, zorder=2)
    curves, handles = list[FloatArray](), list[Any]()
    order = np.argsort([machine.quantile for machine in machines], kind="stable")
    for rank, k in enumerate(order):
        color, style, _ = CURVES[rank % len(CURVES)]
        f = view.evaluate(results[k], x[:, None])
        label = f"τ = {machines[k].quantile:g}, {_compute_percentage_below(first, results[k]):.0f} % below"
        handles += ax.plot(x, f, color=color, linestyle=style, linewidth=1.6, zorder=3, label=label)
        curves.append(f)
    if len(curves) > 1:
        ax.fill_between(x, curves[0], curves[-1], color=BLUE, alpha=SHADES[1], linewidth=0, zorder=1)
    set_labels(ax, view.names[0], "target t")
    titles = {machine.title.split(", τ")[0] + f", kernel {machine.kernel}" for machine in machines}
    set_title(ax, *sorted(titles), view.note)
    return finish_axes(ax, legend, handles)


def find_half_width(problem: Problem, result: SVMResult) -> float:
    """Return ε, given or optimised: |f − t| up to ε is not penalised. 0 for a quantile."""
    return max(float(result.extras.get("epsilon", getattr(problem, "epsilon", 0.0))), 0.0)


def _compute_percentage_below(problem: QuantileSVR, result: SVMResult) -> float:
    """Return the share of samples clearly below the quantile, t < f by more than rounding, in percent of the weight."""
    rows, t = problem.active_rows, problem.t
    weight = problem.sample_weight[rows]
    below = float(weight[t[rows] < result.yf[rows] - EPS**0.5 * np.abs(t).max()].sum())
    return 100 * below / float(weight.sum())


def _check_quantiles(problems: Sequence[Any], results: Sequence[SVMResult]) -> list[QuantileSVR]:
    """Check that the problems are quantiles of the same samples, with one result each; return them as a list.

    Raises ParameterTypeError, UnsupportedError, ParameterError, DataError.
    """
    if isinstance(problems, Problem) or isinstance(results, SVMResult):
        raise ParameterTypeError("quantiles takes a sequence of problems and one of their results")
    for problem in problems:
        check_machine("quantiles", problem)
        if isinstance(problem.kernel, Precomputed):
            raise build_refusal("quantiles", problem, NO_FEATURES)
    machines: list[QuantileSVR] = [*problems]
    if not machines:
        raise ParameterError("there is no quantile to draw")
    if len(machines) != len(results):
        raise DataError(f"there are {len(machines)} problems and {len(results)} results")
    for machine, result in zip(machines, results, strict=True):
        check_result_matches(machine, result)
        if machine.n != machines[0].n or not np.array_equal(machine.t, machines[0].t):
            raise DataError("quantiles in one picture must be of the same samples and targets")
    return machines


def _build_line_view(problem: Problem, feature: int | None, names: Sequence[str] | None) -> View | None:
    """Build the view of one feature; None if there are several and none is chosen, or the kernel is precomputed."""
    d = int(problem.X.shape[1])
    if feature is None:
        is_line = d == 1 and not isinstance(problem.kernel, Precomputed)
        return build_view("tube", problem, None, names) if is_line else None
    if isinstance(feature, bool) or not isinstance(feature, (int, np.integer)):
        raise ParameterTypeError(f"feature must be an integer, got {format_value(feature)}")
    if not 0 <= feature < d:
        raise ParameterError(f"feature must be from 0 to {d - 1}, got {feature}")
    if isinstance(problem.kernel, Precomputed):
        raise build_refusal("tube", problem, f"{NO_FEATURES}: leave `feature` out, or")
    return build_feature_view(problem, (int(feature),), names)


def _draw_tube(ax: Axes, x: FloatArray, f: FloatArray, epsilon: float, label: str) -> list[Any]:
    """Draw the curve, and the tube around it if it has a width; return handles for the legend."""
    handles: list[Any] = [*ax.plot(x, f, color=BLUE, linewidth=1.8, zorder=2, label=label)]
    if epsilon > 0.0:
        band = ax.fill_between(x, f - epsilon, f + epsilon, color=BLUE, alpha=SHADES[1], linewidth=0, zorder=0)
        band.set_label(f"tube, ε = {epsilon:.3g}")
        for edge in (f - epsilon, f + epsilon):
            ax.plot(x, edge, color=BLACK, linestyle="--", linewidth=0.9, zorder=1)
        handles.append(band)
    return handles
