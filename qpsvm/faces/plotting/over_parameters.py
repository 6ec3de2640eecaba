"""Draw a quantity of the solutions against a parameter (`path`), and cross-validated scores (`scores`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import (
    DataError,
    NoWeightVectorError,
    ParameterTypeError,
    UnknownOptionError,
    UnsupportedError,
    describe_nearest,
)
from qpsvm.faces.plotting.accepted import build_margin_refusal, check_machine, check_picture, has_margin
from qpsvm.faces.plotting.labels import escape_label, finish_axes, set_labels, set_title
from qpsvm.faces.plotting.markers import name_kinds
from qpsvm.faces.plotting.multipliers import KIND_LABELS
from qpsvm.faces.plotting.palette import BLACK, BLUE, CURVES, SKY, VERMILION
from qpsvm.faces.plotting.picture import Axes, make_axes, picture
from qpsvm.faces.plotting.view import build_feature_labels
from qpsvm.machines import AllInOneProblem, OneClass, Problem
from qpsvm.many.grid.cross_validation import CrossValidation
from qpsvm.many.grid.parameters import PARAMETER_SYMBOLS, check_path_values, find_path_parameter
from qpsvm.many.grid.path import path as solve_points
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear

ParameterQuantity = Literal["margin", "norm", "objective", "vectors", "coefficients"]
#: The label of the vertical axis for each of them, in the same order.
AXIS_LABELS = ("margin, 2ρ/‖w‖", "‖w‖", "objective (primal)", "number of samples", "coefficient of w")
#: Quantities that may change by orders of magnitude along a path.
LOG_QUANTITIES = ("margin", "norm", "objective")
#: An axis may be logarithmic if its largest value is at least this multiple of its smallest.
DECADE = 10.0
#: Largest number of curves for which there is a legend.
MAX_LEGEND_CURVES = len(CURVES)
#: Largest number of ticks along an axis of a map.
MAX_TICKS = 8
UNSOLVED = "not optimal in every fold"


@picture
def path(
    problem: Problem,
    values: ArrayLike,
    *,
    show: ParameterQuantity | None = None,
    results: Sequence[SVMResult] | None = None,
    names: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw a quantity of the solution against C, λ or ν.

    Parameters
    ----------
    problem : Problem
        Any machine with a parameter, all but `HardMargin`. Its own C, λ or ν is not used.
    values : array_like, shape (k,)
        Of C, λ or ν.
    show : "margin", "norm", "objective", "vectors" or "coefficients", optional
        The width 2ρ/‖w‖ of the margin, for a machine of two classes; ‖w‖; the certified primal value; the number of
        support vectors, and of each kind; or the entries of w, for a linear kernel. By default the margin if there is
        one, else the objective. For an all-in-one machine ‖w‖² is Σ_c ‖w_c‖², and each class has coefficients.
    results : sequence of SVMResult, optional
        What `qpsvm.path(problem, C=values)` returned, so that several pictures need only one path.
    names : sequence of str, optional
        Names of the d features, for "coefficients".
    legend : bool, default=True
        Whether to draw a legend below the axes, if there are several curves.
    ax : Axes, optional
        By default those of a new figure.
    **options
        For `qpsvm.solve`.

    Returns
    -------
    Axes
        C and λ are on a logarithmic axis, and so are margins, norms and objectives that are positive and change
        tenfold. Where ρ = 0, as in a ν-SVM whose hulls meet, w is 0: crosses on the horizontal axis mark these values.
        There, no margin and no kinds of samples exist, so their curves are interrupted.

    Raises
    ------
    UnsupportedError
        The machine is a hard margin, which has no parameter; or the margin is requested, and the machine does not have
        two classes. The message says what to draw instead.
    UnknownOptionError
        `show` is not a known quantity; the message names the nearest.
    NoWeightVectorError
        The coefficients are requested, and the kernel is not linear.
    ParameterError
        A value is not positive and finite, or the values are not a vector.
    DataError
        The results are not of this problem, or not one for each value; or names are not one for each feature.
    MissingExtraError

    See Also
    --------
    qpsvm.path : The results alone.

    Examples
    --------
    One path, two pictures:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1])
    >>> values = [0.1, 1.0, 10.0]
    >>> results = qpsvm.path(problem, C=values)
    >>> ax = qpsvm.plotting.path(problem, values, show="margin", results=results)
    >>> ax = qpsvm.plotting.path(problem, values, show="vectors", results=results)
    >>> ax.get_xscale()
    'log'
    """
    check_machine("path", problem)
    if show is None:
        show = "margin" if has_margin(problem) else "objective"
    _check_quantity(problem, show)
    machine: Any = problem
    name, letter = find_path_parameter(machine)
    x = check_path_values(values)
    _check_weight_vector(problem, show)
    coefficient_names = build_coefficient_names(problem, names)
    if results is not None:
        _check_results(problem, results, x, letter)
    ax = make_axes(ax, (6.4, 4.8))
    if results is None:
        arguments: dict[str, Any] = {name: x, **options}
        results = solve_points(machine, **arguments)
    curves = _compute_quantities(problem, results, show, coefficient_names)
    for k, (label, heights) in enumerate(curves.items()):
        color, style, marker = CURVES[k % len(CURVES)]
        ax.plot(x, heights, color=color, linestyle=style, marker=marker, markersize=4.5, linewidth=1.5, label=label)
    draw_crosses(ax, x[_find_zero_margin(problem, results)], "ρ = 0: w = 0, no margin")
    if letter != "ν":
        ax.set_xscale("log")
    if show in LOG_QUANTITIES and _spans_decade(np.concatenate(list(curves.values()))):
        ax.set_yscale("log")
    axis_label = dict(zip(get_args(ParameterQuantity), AXIS_LABELS, strict=True))[show]
    set_labels(ax, letter, axis_label.replace("samples", "pairs") if problem._target_kind == "ranks" else axis_label)
    set_title(ax, f"{type(problem).__name__}, kernel {problem.kernel}")
    return finish_axes(ax, legend and len(ax.lines) > 1 and len(curves) <= MAX_LEGEND_CURVES)


def _spans_decade(heights: FloatArray) -> bool:
    """Return whether finite values are positive and change tenfold."""
    known = heights[np.isfinite(heights)]
    return bool(len(known) and known.min() > 0 and known.max() >= DECADE * known.min())


def _check_quantity(problem: Problem, show: str) -> None:
    """Check that the quantity exists for this machine. Raises UnknownOptionError, UnsupportedError."""
    if not isinstance(show, str) or show not in get_args(ParameterQuantity):
        raise UnknownOptionError(
            f"show cannot be {format_value(show)}; {describe_nearest(show, get_args(ParameterQuantity))}"
        )
    if show == "margin" and not has_margin(problem):
        raise build_margin_refusal(problem, "path(problem, values, show='objective')")


def _check_weight_vector(problem: Problem, show: str) -> None:
    """Check that w has coefficients if they are to be shown. Raises NoWeightVectorError."""
    if show == "coefficients" and not isinstance(problem.kernel, Linear):
        raise NoWeightVectorError(
            f"w of {problem.kernel} lies in its feature space, not in that of the samples; choose another show=, or "
            "Linear() as kernel"
        )


def _check_results(problem: Problem, results: Sequence[SVMResult], values: FloatArray, letter: str) -> None:
    """Check that there is one result of this problem for each value. Raises ParameterTypeError, DataError."""
    if not isinstance(results, Sequence):
        raise ParameterTypeError(f"results must be what qpsvm.path returned, got {format_value(results)}")
    if len(results) != len(values):
        raise DataError(f"there are {len(results)} results for {len(values)} values of {letter}")
    for result in results:
        check_picture("path", problem, result)


def compute_weight_norm(problem: Problem, result: SVMResult) -> float:
    """Return ‖w‖, or √Σ‖w_c‖² for several classes. In feature space ‖w‖² = Σ_i coef_i ⟨w, φ(x_i)⟩."""
    model: Any = result.model
    if model.w is not None:
        return float(np.linalg.norm(model.w))
    if getattr(model, "diagonal", 0.0):
        model = replace(model, diagonal=0.0)
    rows = np.flatnonzero(result.coef.reshape(len(result.coef), -1).any(axis=1))
    if not len(rows):
        return 0.0
    coef = result.coef[rows]
    square = float((coef * (model.decision_function(problem.X[rows]) - model.b)).sum())
    square += problem.space.shift * float((coef**2).sum())
    return float(np.sqrt(max(square, 0.0)))


def build_coefficient_names(problem: Problem, names: Sequence[str] | None) -> list[str]:
    """Return the names of the entries of w, class by class. Raises ParameterTypeError, DataError."""
    d = int(problem.X.shape[1])
    labels = build_feature_labels(names, d) or [f"$w_{{{j + 1}}}$" for j in range(d)]
    if isinstance(problem, AllInOneProblem):
        return [f"{escape_label(label)}: {name}" for label in problem.classes for name in labels]
    return labels


def _compute_quantities(
    problem: Problem, results: Sequence[Any], show: ParameterQuantity, coefficient_names: list[str]
) -> dict[str, FloatArray]:
    """Return the curves by name, (k,) each, for k results."""
    if show == "objective":
        return {"objective": np.array([result.primal for result in results])}
    if show == "vectors":
        if isinstance(problem, AllInOneProblem):
            kinds = KIND_LABELS
        else:
            kinds = name_kinds(results[0])
        counts: dict[str, list[int]] = {"support vectors": [], kinds[1]: [], kinds[2]: []}
        for result in results:
            for name, rows in zip(counts, (result.support, result.on_margin, result.at_bound), strict=True):
                counts[name].append(len(rows))
        has_kinds = ~_find_zero_margin(problem, results)  # where ρ = 0, y f = 0 at every sample
        return {name: np.where(has_kinds, count, np.nan) for name, count in counts.items()}
    if show == "coefficients":
        W = np.array([result.w.ravel() for result in results])
        return {label: W[:, j] for j, label in enumerate(coefficient_names)}
    norms = np.array([compute_weight_norm(problem, result) for result in results])
    if show == "norm":
        return {"norm": norms}
    rho = np.array([result.rho for result in results])
    return {"margin": np.divide(2 * rho, norms, out=np.full(len(norms), np.nan), where=norms > 0)}


def _find_zero_margin(problem: Problem, results: Sequence[Any]) -> NDArray[np.bool_]:
    """Mark results of a ν-SVM or one-class SVM without a margin, w = 0 and ρ = 0: (k,)."""
    may_vanish = has_margin(problem) or isinstance(problem, OneClass)
    return np.array([may_vanish and result.rho == 0 for result in results])


@picture
def scores(found: CrossValidation, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """Draw cross-validated scores.

    Parameters
    ----------
    found : CrossValidation
        Scores over one parameter or two.
    legend, ax

    Returns
    -------
    Axes
        Over one parameter, the mean score with a band of one standard deviation, and each fold; over two, a map of the
        mean, with the first parameter on the horizontal axis. A ring marks the best point, crosses those that are not
        optimal in every fold.

    Raises
    ------
    UnsupportedError
        There are more than two parameters.
    ParameterTypeError
        `found` is not a cross-validation.
    MissingExtraError

    See Also
    --------
    qpsvm.cross_validate : Compute the scores.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
    >>> found = qpsvm.cross_validate(qpsvm.CSVM(X, y), C=[0.01, 0.1, 1.0], folds=3)
    >>> ax = qpsvm.plotting.scores(found)
    >>> ax.get_xscale(), ax.get_ylabel()
    ('log', 'accuracy')
    """
    if not isinstance(found, CrossValidation):
        raise ParameterTypeError(f"found must be what cross_validate(problem, …) returned, got {format_value(found)}")
    if len(found.axes) > 2:
        raise UnsupportedError(f"a picture shows one parameter or two, not {len(found.axes)}: {', '.join(found.axes)}")
    ax = make_axes(ax, (6.4, 4.8))
    handles = _draw_curve(ax, found) if len(found.axes) == 1 else _draw_map(ax, found)
    set_title(ax, f"{type(found.problem).__name__}, kernel {type(found.problem.kernel).__name__}, {found.folds} folds")
    return finish_axes(ax, legend, handles)


def _find_unsolved(found: CrossValidation) -> NDArray[np.bool_]:
    """Mark the points of the grid that are not optimal in every fold."""
    return np.asarray((found.status != "optimal").any(axis=0))


def _draw_curve(ax: Axes, found: CrossValidation) -> list[Any]:
    """Draw the scores over the one parameter; return handles for the legend."""
    ((parameter, x),) = found.axes.items()
    order = np.argsort(x)
    x = x[order]
    mean = found.mean[order]
    std = found.std[order]
    band = ax.fill_between(x, mean - std, mean + std, color=SKY, alpha=0.35, linewidth=0, label="± one deviation")
    (line,) = ax.plot(x, mean, color=BLUE, marker="o", markersize=4.5, label="mean of the folds")
    dots = [ax.plot(x, fold[order], ".", color=SKY, markersize=4, label="a fold")[0] for fold in found.scores]
    handles = [line, band, dots[0]]
    if not np.isnan(found.mean).all():
        (best,) = found.best.values()
        handles += draw_ring(ax, best, found.best_score, 11.0, f"best: {best:.3g}")
    handles += draw_crosses(ax, x[_find_unsolved(found)[order]], UNSOLVED)
    if x[0] > 0 and x[-1] >= DECADE * x[0]:
        ax.set_xscale("log")
    set_labels(ax, PARAMETER_SYMBOLS.get(parameter, parameter), found.scoring)
    return handles


def _draw_map(ax: Axes, found: CrossValidation) -> list[Any]:
    """Draw the mean score over two parameters; return handles for the legend."""
    (first, across), (second, up) = found.axes.items()
    columns, rows = np.argsort(across), np.argsort(up)
    image = ax.imshow(found.mean[np.ix_(columns, rows)].T, origin="lower", aspect="auto", cmap="cividis")
    ax.figure.colorbar(image, ax=ax, label=f"mean {found.scoring}")
    for axis, values in ((ax.xaxis, across[columns]), (ax.yaxis, up[rows])):
        step = -(-len(values) // MAX_TICKS)
        axis.set_ticks(np.arange(0, len(values), step), [f"{value:.3g}" for value in values[::step]])
    handles: list[Any] = []
    if not np.isnan(found.mean).all():
        i, j = found.best_index
        place = int(np.flatnonzero(columns == i)[0]), int(np.flatnonzero(rows == j)[0])
        best = ", ".join(f"{PARAMETER_SYMBOLS.get(name, name)} = {value:.3g}" for name, value in found.best.items())
        handles += draw_ring(ax, *place, 13.0, f"best: {best}")
    unsolved = np.argwhere(_find_unsolved(found)[np.ix_(columns, rows)])
    if len(unsolved):
        handles += ax.plot(*unsolved.T, "x", color=BLACK, linestyle="", label=UNSOLVED)
    set_labels(ax, PARAMETER_SYMBOLS.get(first, first), PARAMETER_SYMBOLS.get(second, second))
    return handles


def draw_crosses(ax: Axes, x: FloatArray, label: str) -> list[Any]:
    """Draw crosses on the horizontal axis, at values x (k,)."""
    look: dict[str, Any] = {"color": BLACK, "transform": ax.get_xaxis_transform(), "clip_on": False}
    if len(x):
        return list(ax.plot(x, np.zeros(len(x)), "x", label=label, **look))
    return []


def draw_ring(ax: Axes, x: float, y: float, size: float, label: str) -> list[Any]:
    """Draw a ring around the best point."""
    look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": VERMILION, "markeredgewidth": size / 6}
    return list(ax.plot(x, y, "o", markersize=size, linestyle="", label=label, **look))
