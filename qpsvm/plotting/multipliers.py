"""The dual variables, sample by sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qpsvm.arrays.checks import as_flag
from qpsvm.plotting.style import BLACK, GREY, PURPLE, draw_samples, line_proxy, new_axes, say_what
from qpsvm.plotting.texts import legend_below
from qpsvm.problems import Problem
from qpsvm.problems.pairing import check_pair
from qpsvm.result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def multipliers(
    problem: Problem, result: SVMResult, *, sort: bool = True, legend: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw α_i for each sample, by kind, between the lines 0 and C_i.

    Parameters
    ----------
    problem : Problem
        Whose samples are drawn.
    result : SVMResult
        Of that problem.
    sort : bool, default=True
        The largest α first; otherwise in the order of the rows. Rows of weight 0 are left out.
    legend : bool, default=True
        Whether a legend stands below the axes.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        One marker a sample, by kind.

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
    >>> ax = qpsvm.plotting.multipliers(problem, qpsvm.solve(problem))
    >>> ax.figure.savefig("multipliers.png")
    """
    check_pair(problem, result)
    as_flag(sort, "sort")
    as_flag(legend, "legend")
    ax = new_axes(ax, (7.2, 4.4))
    rows = problem.rows
    if sort:
        rows = rows[np.lexsort((-result.kind[rows], -result.alpha[rows]))]
    place = np.arange(len(rows)) if sort else rows
    alpha, upper = result.alpha[rows], result.upper[rows]
    ax.vlines(place, 0.0, alpha, colors=GREY, linewidth=0.9, zorder=1)
    handles = draw_samples(ax, problem, result, np.column_stack([place, alpha]), rows)
    ax.axhline(0.0, color=BLACK, linewidth=1.0, zorder=2)
    if np.isfinite(upper).all():
        common = np.ptp(upper) == 0
        ax.hlines(upper, place - 0.5, place + 0.5, colors=PURPLE, linestyles="-", linewidth=1.4, zorder=2)
        label = f"upper bound C = {upper[0]:.4g}" if common else "upper bounds $C_i$"
        handles.append(line_proxy(PURPLE, "-", label))
    ax.set_xlabel("samples, largest $\\alpha_i$ first" if sort else "sample (row of X)")
    ax.set_ylabel("dual variable $\\alpha_i$")
    say_what(ax, problem, result)
    if legend:
        legend_below(ax, handles)
    return ax
