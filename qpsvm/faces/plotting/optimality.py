"""Draw strong duality, and the certified gap of solvers against iterations (`duality`, `gap`).

Along a segment of dual points that ends at an optimal one, primal values bound the optimal value from above, and dual
values bound it from below. Both curves end at the optimal value:

    (MEET.1)  α(t) = (1 − t) α⁰ + t α*, 0 ≤ t ≤ 1, is feasible, because the dual's feasible set is convex;
              P(t) is the primal value of w(t) = w(α(t)), or of a multiple of it if that is better, with the best
              intercept; D(t) is the dual value of α(t)
    (MEET.2)  P(t) ≥ optimum ≥ D(t), weak duality; at t = 1 all three are equal, strong duality

Source: Boyd & Vandenberghe, *Convex Optimization*, section 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_real_vector, as_tolerance
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.faces.plotting.accepted import check_picture, suggest_alternative
from qpsvm.faces.plotting.hulls import ERRORS
from qpsvm.faces.plotting.labels import escape_label, finish_axes, set_labels
from qpsvm.faces.plotting.palette import BLACK, BLUE, CURVES, GREEN, GREY
from qpsvm.faces.plotting.picture import Axes, make_axes, picture, write_title
from qpsvm.faces.plotting.view import PADDING
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Number of points of each curve; each is certified.
POINTS = 25
#: Primal values are drawn up to the one at t = 1 plus this multiple of its distance from the smallest dual value.
MAX_HEIGHT_RATIO = 3.0
#: The gap is marked with an arrow at the t where it is about this share of the largest gap that is drawn.
MARKED_GAP_SHARE = 0.4
#: Smaller gaps are rounding. They are drawn at this value, because a logarithmic axis has no 0.
MIN_DRAWN_GAP = EPS
#: Approximate number of markers along a curve.
MARKERS = 12


@picture
def duality(
    problem: Problem, result: SVMResult, *, start: ArrayLike | None = None, legend: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw primal and dual values on the segment from a feasible α to the α of the result, and the gap between them.

    This picture supports every machine, if the values of the result are finite.

    Parameters
    ----------
    problem : Problem
        The problem whose dual feasible set contains the segment.
    result : SVMResult
        The result of the problem. If it is not optimal, the curves end with a gap between them.
    start : array_like, of the shape of `result.alpha`, optional
        The point α⁰, made feasible as `Problem.certify` does. By default 0, which is feasible for a C-SVM; for a
        machine where 0 is not feasible, or w(0) = 0 has no direction, a vector that is constant within each class.
    legend, ax

    Returns
    -------
    Axes
        Over t of (MEET.1). Where no multiple of w(t) is feasible, the primal value is infinite and not drawn.

    Raises
    ------
    ParameterError
        The result has no finite primal or dual value; the message names a suitable picture.
    DataError
        The result is not of this problem, or the start has another shape.
    ParameterTypeError, MissingExtraError

    Examples
    --------
    From α = 0, where the dual value is 0, to the optimum ½:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> ax = qpsvm.plotting.duality(problem, qpsvm.solve(problem))
    >>> ax.figure.savefig("duality.png")
    """
    check_picture("duality", problem, result)
    if not np.isfinite([result.primal, result.dual]).all():
        preferred = ("hulls",) if isinstance(result.error, ERRORS) else ()
        raise ParameterError(
            f"the result is {result.status}: its primal or dual value is infinite, so they do not meet; "
            f"{suggest_alternative('duality', problem, *preferred)}"
        )
    t = np.linspace(0.0, 1.0, POINTS)
    primal, dual = evaluate_on_segment(problem, result, start, t)
    ax = make_axes(ax, (6.4, 4.8))
    ax.fill_between(t, dual, primal, where=np.isfinite(primal), color=GREY, alpha=0.12, linewidth=0)
    ax.plot(t, np.where(np.isfinite(primal), primal, np.nan), color=BLUE, linewidth=2.0, label="primal value P(t)")
    ax.plot(t, dual, color=GREEN, linestyle="--", linewidth=2.0, label="dual value D(t)")
    _draw_end(ax, result)
    _draw_gap(ax, t, primal, dual)
    _set_frame(ax, primal, dual)
    write_title(ax, problem, result)
    return finish_axes(ax, legend)


def evaluate_on_segment(
    problem: Problem, result: SVMResult, start: ArrayLike | None, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return P(t) and D(t) of (MEET.1), (k,) each, for k values of t."""
    first = _append_multipliers(problem.at(np.zeros(result.alpha.shape) if start is None else start))
    last = _append_multipliers(result)
    points = [problem.at((1 - share) * first + share * last) for share in t]
    return np.array([point.primal for point in points]), np.array([point.dual for point in points])


def _append_multipliers(result: SVMResult) -> FloatArray:
    """Return α followed by the multipliers of linear constraints."""
    table = getattr(result, "constraints", None)
    return np.asarray(result.alpha if table is None else np.concatenate([result.alpha, table["multiplier"]]))


def _draw_end(ax: Axes, result: SVMResult) -> None:
    """Draw the ends of the curves: one point if the result is optimal, two otherwise."""
    ends = [result.primal, result.dual]
    label = f"the result, {result.primal - result.dual:.3g} apart"
    if result.status == "optimal":
        ends = [result.primal]
        label = f"optimum {result.primal:.5g}, P = D"
    for value in ends:
        ax.axhline(value, color=BLACK, linestyle=":", linewidth=1.0, zorder=1)
    ax.plot([1.0] * len(ends), ends, "o", color=BLACK, zorder=4, clip_on=False, label=label)


def _draw_gap(ax: Axes, t: FloatArray, primal: FloatArray, dual: FloatArray) -> None:
    """Draw a double arrow between the two curves, unless fewer than two of the points (k,) are in the picture."""
    gap = primal - dual
    visible = np.flatnonzero(np.isfinite(gap) & (primal <= _find_top(primal, dual)))
    if len(visible) < 2:
        return
    k = visible[np.argmin(np.abs(gap[visible] - MARKED_GAP_SHARE * gap[visible].max()))]
    ax.annotate("", (t[k], primal[k]), (t[k], dual[k]),
                arrowprops={"arrowstyle": "<->", "color": BLACK, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
    # left of the arrow, where the gap is wider and the text lies between the curves
    ax.annotate("gap P − D", (t[k], (primal[k] + dual[k]) / 2), (-6, 0), textcoords="offset points", ha="right",
                va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip


def _find_top(primal: FloatArray, dual: FloatArray) -> float:
    """Return the largest primal value that is drawn: the largest one, limited by `MAX_HEIGHT_RATIO`."""
    finite = primal[np.isfinite(primal)]
    return float(min(finite.max(), finite[-1] + MAX_HEIGHT_RATIO * (finite[-1] - dual.min()) or finite.max()))


def _set_frame(ax: Axes, primal: FloatArray, dual: FloatArray) -> None:
    """Set the vertical limits and the labels of the axes."""
    low = float(dual.min())
    high = _find_top(primal, dual)
    padding = PADDING * (high - low) or 1.0
    ax.set_ylim(low - padding, high + padding)
    label_of_t = "t, with $\\alpha(t) = (1 - t)\\,\\alpha^0 + t\\,\\alpha^*$ and $w(t) = w(\\alpha(t))$"
    set_labels(ax, label_of_t, "value of the objective")


@picture
def gap(
    history: ArrayLike | Mapping[str, ArrayLike],
    *,
    tol: float | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the relative gap against iterations, for one or several named runs.

    Parameters
    ----------
    history : array_like, shape (k, 2), or mapping of names to such arrays
        One run, or several by name: rows (iteration, gap). Infinite gaps, from before the first feasible point, are
        left out. Gaps below 2e-16 are drawn at 2e-16.
    tol : float, optional
        The requested tolerance, drawn as a line.
    legend : bool, default=True
        Whether to draw a legend below the axes, if there is more than one line.
    ax : Axes, optional
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    Axes
        The axes; the vertical one is logarithmic.

    Raises
    ------
    DataError
        A history has another shape or type, or there is none; an iteration is not finite; a gap is NaN or negative.
    ParameterError
        `tol` is not positive and finite.
    MissingExtraError

    Examples
    --------
    The gap of a textbook method after 1, 2, 4, … steps:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
    >>> steps = [1, 2, 4, 8]
    >>> runs = [qpsvm.solve(problem, "dual_ascent", max_iter=k, polish=False, check=False) for k in steps]
    >>> ax = qpsvm.plotting.gap({"dual ascent": [(k, run.gap) for k, run in zip(steps, runs)]}, tol=1e-6)
    >>> ax.get_yscale()
    'log'
    """
    runs = history if isinstance(history, Mapping) else {"gap": history}
    if not runs:
        raise DataError("there is no run to draw: history is an empty mapping")
    if tol is not None:
        tol = as_tolerance(tol)
    rows = {str(name): _check_history(run, str(name)) for name, run in runs.items()}
    ax = make_axes(ax, (6.4, 4.4))
    for k, (name, pairs) in enumerate(rows.items()):
        color, style, marker = CURVES[k % len(CURVES)]
        pairs = pairs[np.isfinite(pairs[:, 1])]  # rows (iteration, gap)
        ax.plot(
            pairs[:, 0], np.maximum(pairs[:, 1], MIN_DRAWN_GAP), color=color, linestyle=style, marker=marker,
            markersize=5, markevery=max(1, len(pairs) // MARKERS), linewidth=1.5, label=escape_label(name),
        )  # fmt: skip
    if tol is not None:
        ax.axhline(tol, color=GREY, linestyle=(0, (1, 1)), linewidth=1.2, label=f"tolerance {tol:g}")
    ax.set_yscale("log")
    set_labels(ax, "iterations", "certified relative gap")
    return finish_axes(ax, legend and (len(rows) > 1 or tol is not None))


def _check_history(run: ArrayLike, name: str) -> FloatArray:
    """Check a history, and return it as rows (iteration, gap): (k, 2)."""
    pairs = as_real_vector(run, f"history {name!r}")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise DataError(f"{name}: a history has rows (iteration, gap), shape (k, 2); got shape {pairs.shape}")
    wrong = ~np.isfinite(pairs[:, 0]) | ~(pairs[:, 1] >= 0)
    if wrong.any():
        k = int(wrong.argmax())
        raise DataError(
            f"{name}: row {k} is ({pairs[k, 0]:g}, {pairs[k, 1]:g}); iterations must be finite, gaps neither NaN nor "
            "negative"
        )
    return pairs
