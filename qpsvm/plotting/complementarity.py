"""Complementary slackness as one picture: every sample lies on a path of three straight pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qpsvm.arrays.checks import as_flag
from qpsvm.errors import DataError
from qpsvm.plotting.style import BLACK, SKY, draw_samples, line_proxy, new_axes, say_what
from qpsvm.plotting.texts import legend_below
from qpsvm.problems import Problem
from qpsvm.problems.pairing import check_pair
from qpsvm.result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Free space above and below the samples, as a share of their range.
ROOM = 0.08


def complementarity(problem: Problem, result: SVMResult, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """Draw y_i f(x_i) against α_i/C_i: α = 0 above the margin, α between 0 and C on it, α = C below.

    Parameters
    ----------
    problem : Problem
        Whose samples are drawn.
    result : SVMResult
        Of that problem. A sample is as far from the path as it is from its optimality condition.
    legend : bool, default=True
        Whether a legend stands below the axes.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        A hard margin has no C, so its horizontal axis is α_i/max α. Rows of weight 0 are left out.

    Raises
    ------
    DataError
        The result is not of this problem.
    ParameterTypeError
        An argument of another type.
    MissingExtraError
        Matplotlib is not installed.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1])
    >>> ax = qpsvm.plotting.complementarity(problem, qpsvm.solve(problem))
    >>> ax.figure.savefig("complementarity.png")
    """
    check_pair(problem, result)
    as_flag(legend, "legend")
    ax = new_axes(ax)
    rows = problem.rows[result.upper[problem.rows] > 0]  # under other weights, other rows may take part
    if not len(rows):
        raise DataError("no row of positive weight takes part in the result: give the result of solve(problem)")
    alpha, upper, yf = result.alpha[rows], result.upper[rows], result.yf[rows]
    bounded = bool(np.isfinite(upper).all())
    share = alpha / upper if bounded else alpha / (alpha.max() or 1.0)
    low, high = min(float(yf.min()), result.rho), max(float(yf.max()), result.rho)
    room = ROOM * (high - low) or 1.0
    corners = [(0.0, high + room), (0.0, result.rho), (1.0, result.rho), (1.0, low - room)]
    ax.plot(*zip(*(corners if bounded else corners[:3]), strict=True), color=SKY, linewidth=7, alpha=0.5, zorder=1,
            solid_joinstyle="miter")  # fmt: skip
    ax.axhline(0.0, color=BLACK, linewidth=0.8, linestyle=":", zorder=0)
    handles = draw_samples(ax, problem, result, np.column_stack([share, yf]), rows)
    ax.set_ylim(low - room, high + room)
    ax.set_xlabel("dual variable, $\\alpha_i / C_i$" if bounded else "dual variable, $\\alpha_i / \\max\\,\\alpha$")
    ax.set_ylabel("margin of the sample, $y_i f(x_i)$")
    say_what(ax, problem, result)
    if legend:
        path = line_proxy(SKY, "-", f"optimal, margin at {result.rho:.3g}")
        below = [line_proxy(BLACK, ":", "errors lie below")] if low - room < 0 else []
        legend_below(ax, [*handles, path, *below])
    return ax
