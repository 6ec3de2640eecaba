"""Strong duality as a picture: primal values come from above, dual values from below, and both end at the optimum.

    (MEET.1)  α(t) = (1 − t) α⁰ + t α*, 0 ≤ t ≤ 1, is feasible, because the dual's feasible set is convex;
              P(t) is the primal value of w(t) = w(α(t)), or of a near multiple where that is better, with the best
              intercept; D(t) is the dual value of α(t)
    (MEET.2)  P(t) ≥ optimum ≥ D(t), weak duality; at t = 1 all three are equal, strong duality

Source: Boyd & Vandenberghe, *Convex Optimization*, section 5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.faces.plotting.style import BLACK, BLUE, GREEN, GREY, finished, new_axes, picture, say_what
from qpsvm.machines import Problem
from qpsvm.machines.problem.pairing import check_pair
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of each curve: each is certified by itself.
POINTS = 25
#: Primal values are drawn up to as many times further above the optimum as the least dual value lies below it.
ABOVE = 3.0
#: Free space above and below the curves, as a share of their range.
ROOM = 0.06
#: Where the gap is marked: the place on the way to the optimum where this share of the first gap is left.
MARKED = 0.4


@picture
def duality(
    problem: Problem, result: SVMResult, *, start: ArrayLike | None = None, legend: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw primal and dual values on the way from a feasible α to that of the result, and the gap between them.

    Parameters
    ----------
    problem : Problem
        Whose dual is walked through.
    result : SVMResult
        Of that problem. If it is not optimal, a gap is left where the curves end.
    start : array_like, shape (n,), optional
        The point α⁰, made feasible as `Problem.certify` does. By default 0: without any multiplier for a C-SVM; for a
        machine in which 0 is not feasible or has no direction, equal ones within each class.
    legend, ax

    Returns
    -------
    Axes
        Over t of (MEET.1). Where no multiple of w(t) is feasible, the primal value is infinite and not drawn.

    Raises
    ------
    ParameterError
        The result has no finite primal value, so there is nothing to meet.
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
    check_pair(problem, result)
    if not np.isfinite([result.primal, result.dual]).all():
        raise ParameterError(
            f"the result is {result.status}: its primal or dual value is infinite, so they do not meet; of classes "
            "that are not separable hulls(problem, result) draws the proof"
        )
    t = np.linspace(0.0, 1.0, POINTS)
    primal, dual = values_on_the_way(problem, result, start, t)
    ax = new_axes(ax, (6.4, 4.8))
    ax.fill_between(t, dual, primal, where=np.isfinite(primal), color=GREY, alpha=0.12, linewidth=0)
    ax.plot(t, np.where(np.isfinite(primal), primal, np.nan), color=BLUE, linewidth=2.0, label="primal value P(t)")
    ax.plot(t, dual, color=GREEN, linestyle="--", linewidth=2.0, label="dual value D(t)")
    _draw_end(ax, result)
    _draw_gap(ax, t, primal, dual)
    _frame(ax, primal, dual)
    say_what(ax, problem, result)
    return finished(ax, legend)


def values_on_the_way(
    problem: Problem, result: SVMResult, start: ArrayLike | None, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """P(t) and D(t) of (MEET.1), (k,) each, for k values of t."""
    first = np.zeros(problem.n)
    first[problem.rows] = problem.certify(first if start is None else start).alpha
    points = [problem.certify((1 - share) * first + share * result.alpha) for share in t]
    return np.array([point.primal for point in points]), np.array([point.dual for point in points])


def _draw_end(ax: Axes, result: SVMResult) -> None:
    """Where the curves end: one point at the optimum, two where a gap is left."""
    met = result.status == "optimal"
    ends = [result.primal] if met else [result.primal, result.dual]
    label = f"optimum {result.primal:.5g}, P = D" if met else f"the result, {result.primal - result.dual:.3g} apart"
    for value in ends:
        ax.axhline(value, color=BLACK, linestyle=":", linewidth=1.0, zorder=1)
    ax.plot([1.0] * len(ends), ends, "o", color=BLACK, zorder=4, clip_on=False, label=label)


def _draw_gap(ax: Axes, t: FloatArray, primal: FloatArray, dual: FloatArray) -> None:
    """A double arrow between both curves, on the way."""
    gap = primal - dual
    seen = np.flatnonzero(np.isfinite(gap) & (primal <= _top(primal, dual)))
    if len(seen) < 2:
        return
    k = seen[np.argmin(np.abs(gap[seen] - MARKED * gap[seen].max()))]
    ax.annotate("", (t[k], primal[k]), (t[k], dual[k]),
                arrowprops={"arrowstyle": "<->", "color": BLACK, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
    # left of the arrow, where the gap is wider and the text lies between the curves
    ax.annotate("gap P − D", (t[k], (primal[k] + dual[k]) / 2), (-6, 0), textcoords="offset points", ha="right",
                va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip


def _top(primal: FloatArray, dual: FloatArray) -> float:
    """The largest primal value that is drawn."""
    known = primal[np.isfinite(primal)]
    return float(min(known.max(), known[-1] + ABOVE * (known[-1] - dual.min()) or known.max()))


def _frame(ax: Axes, primal: FloatArray, dual: FloatArray) -> None:
    low, high = float(dual.min()), _top(primal, dual)
    room = ROOM * (high - low) or 1.0
    ax.set_ylim(low - room, high + room)
    ax.set_xlabel("t, with $\\alpha(t) = (1 - t)\\,\\alpha^0 + t\\,\\alpha^*$ and $w(t) = w(\\alpha(t))$")
    ax.set_ylabel("value of the objective")
