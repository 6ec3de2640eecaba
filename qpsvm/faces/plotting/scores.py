"""Which parameters predict best: a cross-validated curve with its spread, or a map over two parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import ParameterTypeError, UnsupportedError
from qpsvm.faces.plotting.path import DECADE
from qpsvm.faces.plotting.style import BLACK, BLUE, SKY, VERMILION, finished, new_axes, picture, set_title
from qpsvm.many.grid.cross_validation import CrossValidation
from qpsvm.many.grid.parameters import LETTERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Numbers beside an axis: more are left out.
MOST_TICKS = 8


@picture
def scores(found: CrossValidation, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """Draw cross-validated scores.

    Parameters
    ----------
    found : CrossValidation
        Over one parameter or two.
    legend, ax

    Returns
    -------
    Axes
        Over one parameter the mean score, with one standard deviation on both sides, and each fold; over two a map of
        the mean, the first parameter across. A ring marks the best, a cross what is not optimal in every fold.

    Raises
    ------
    UnsupportedError
        More than two parameters.
    ParameterTypeError
        Something else than a cross-validation.
    MissingExtraError

    See Also
    --------
    qpsvm.cross_validate : What is drawn.

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
        raise ParameterTypeError(f"found must be what cross_validate(problem, …) returned, got {shown(found)}")
    if len(found.axes) > 2:
        raise UnsupportedError(f"a picture shows one parameter or two, not {len(found.axes)}: {', '.join(found.axes)}")
    ax = new_axes(ax, (6.4, 4.8))
    handles = _curve(ax, found) if len(found.axes) == 1 else _map(ax, found)
    set_title(ax, f"{type(found.problem).__name__}, kernel {type(found.problem.kernel).__name__}, {found.folds} folds")
    return finished(ax, legend, handles)


def _unsolved(found: CrossValidation) -> NDArray[np.bool_]:
    """The points that are not optimal in every fold."""
    return np.asarray((found.status != "optimal").any(axis=0))


def _name(parameter: str) -> str:
    return LETTERS.get(parameter, parameter)


def _curve(ax: Axes, found: CrossValidation) -> list[Any]:
    (parameter, at), = found.axes.items()  # fmt: skip
    order = np.argsort(at)
    at, mean, std = at[order], found.mean[order], found.std[order]
    band = ax.fill_between(at, mean - std, mean + std, color=SKY, alpha=0.35, linewidth=0, label="± one deviation")
    (line,) = ax.plot(at, mean, color=BLUE, marker="o", markersize=4.5, label="mean of the folds")
    dots = [ax.plot(at, fold[order], ".", color=SKY, markersize=4, label="a fold")[0] for fold in found.scores]
    handles = [line, band, dots[0]]
    if not np.isnan(found.mean).all():
        (best,) = found.best.values()
        handles += ax.plot(best, found.best_score, "o", markersize=11, markerfacecolor="none",
                           markeredgecolor=VERMILION, markeredgewidth=1.8, label=f"best: {best:.3g}")  # fmt: skip
    wrong = _unsolved(found)[order]
    if wrong.any():
        handles += ax.plot(at[wrong], np.zeros(wrong.sum()), "x", color=BLACK, transform=ax.get_xaxis_transform(),
                           clip_on=False, label="not optimal in every fold")  # fmt: skip
    if at[0] > 0 and at[-1] >= DECADE * at[0]:
        ax.set_xscale("log")
    ax.set_xlabel(_name(parameter))
    ax.set_ylabel(found.scoring)
    return handles


def _map(ax: Axes, found: CrossValidation) -> list[Any]:
    (first, across), (second, up) = found.axes.items()
    columns, rows = np.argsort(across), np.argsort(up)
    image = ax.imshow(found.mean[np.ix_(columns, rows)].T, origin="lower", aspect="auto", cmap="cividis")
    ax.figure.colorbar(image, ax=ax, label=f"mean {found.scoring}")
    for axis, values in ((ax.xaxis, across[columns]), (ax.yaxis, up[rows])):
        every = -(-len(values) // MOST_TICKS)
        axis.set_ticks(np.arange(0, len(values), every), [f"{value:.3g}" for value in values[::every]])
    handles: list[Any] = []
    if not np.isnan(found.mean).all():
        i, j = found.best_index
        place = int(np.flatnonzero(columns == i)[0]), int(np.flatnonzero(rows == j)[0])
        words = ", ".join(f"{_name(name)} = {value:.3g}" for name, value in found.best.items())
        handles += ax.plot(*place, "o", markersize=13, markerfacecolor="none", markeredgecolor=VERMILION,
                           markeredgewidth=2.2, linestyle="", label=f"best: {words}")  # fmt: skip
    wrong = np.argwhere(_unsolved(found)[np.ix_(columns, rows)])
    if len(wrong):
        handles += ax.plot(*wrong.T, "x", color=BLACK, linestyle="", label="not optimal in every fold")
    ax.set_xlabel(_name(first))
    ax.set_ylabel(_name(second))
    return handles
