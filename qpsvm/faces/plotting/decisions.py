"""How the decision values are spread: for samples of any number of features, where no plane can show the boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.faces.plotting.style import (
    BLACK,
    BLUE,
    CLASSES,
    finished,
    line_proxy,
    new_axes,
    picture,
    plain,
    say_what,
    set_labels,
    shade_sides,
)
from qpsvm.machines import SVDD, OneClass, Problem
from qpsvm.machines.problem.pairing import check_pair
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Bins of a histogram: by Freedman and Diaconis or by Sturges, whichever are more, but no more and no fewer than these.
FEWEST_BINS, MOST_BINS = 8, 60
#: Hatching that tells the classes apart in grey, and the opacity of their areas.
HATCHES, SHADE = ("//", ".."), 0.35


@picture
def decisions(problem: Problem, result: SVMResult, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """Draw how the decision values f of the samples are spread, class by class, around f = 0 and the margins.

    Each class has an area of one, however few samples it has: so a rare class that lies on the wrong side is seen.

    Parameters
    ----------
    problem : Problem
        Of two classes, a one-class SVM or an SVDD, of any number of features.
    result : SVMResult
        Of that problem.
    legend, ax

    Returns
    -------
    Axes
        The share of a class's samples over f. Samples of weight 0 are left out.

    Raises
    ------
    UnsupportedError
        The machine predicts numbers or an order.
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    boundary : The samples themselves, where two features are to be shown.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = qpsvm.CSVM(X / X.max(axis=0), y)
    >>> ax = qpsvm.plotting.decisions(problem, qpsvm.solve(problem))
    >>> ax.get_xlabel()
    'decision function f(x)'
    """
    check_pair(problem, result)
    novelty = isinstance(problem, (OneClass, SVDD))
    if problem.samples.classes is None and not novelty:
        other = "tube(problem, result) draws a regression" if problem.shown_target is not None else "of an order: none"
        raise UnsupportedError(
            f"decisions are of two classes, or inside and outside, and {type(problem).__name__} has neither; {other}"
        )
    ax = new_axes(ax)
    rows = problem.rows
    f = result.decision_function(problem.X[rows])
    edges = _edges(f)
    handles = _inside(ax, f, edges) if novelty else _classes(ax, problem, f, edges)
    handles += _levels(ax, 0.0 if novelty else result.rho)
    set_labels(ax, "decision function f(x)", "share of the samples" if novelty else "share of the class's samples")
    say_what(ax, problem, result)
    return finished(ax, legend, handles)


def _edges(f: FloatArray) -> FloatArray:
    """Edges of bins that f = 0 is one of, so that no bin is on both sides: (k,)."""
    low, high = min(float(f.min()), 0.0), max(float(f.max()), 0.0)
    if low == high:
        low, high = -1.0, 1.0
    count = len(np.histogram_bin_edges(f, "auto")) - 1
    width = (high - low) / min(max(count, FEWEST_BINS), MOST_BINS)
    edges = width * np.arange(np.floor(low / width), np.ceil(high / width) + 1.0)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # which rounding may leave outside
    return edges


def _classes(ax: Axes, problem: Problem, f: FloatArray, edges: FloatArray) -> list[Any]:
    sides = problem.y[problem.rows]
    handles = []
    for sign, label, color, hatch in zip((-1.0, 1.0), problem.classes, CLASSES, HATCHES, strict=True):
        own = f[sides == sign]
        wrong = int(((own > 0) != (sign > 0)).sum())
        name = f"class {plain(label)} ({len(own)}, {wrong} on the wrong side)"
        handles.append(_area(ax, own, edges, color, hatch, name))
    return handles


def _inside(ax: Axes, f: FloatArray, edges: FloatArray) -> list[Any]:
    return [_area(ax, f, edges, BLUE, HATCHES[0], f"samples ({len(f)}, {int((f < 0).sum())} outside)")]


def _area(ax: Axes, f: FloatArray, edges: FloatArray, color: str, hatch: str, name: str) -> Any:
    share = np.histogram(f, edges)[0] / len(f)
    ax.stairs(share, edges, fill=True, facecolor=color, alpha=SHADE, zorder=1)
    return ax.stairs(share, edges, color=color, hatch=hatch, linewidth=1.4, zorder=2, label=name, fill=False)


def _levels(ax: Axes, rho: float) -> list[Any]:
    """Both sides shaded, and the lines f = 0 and f = ±ρ."""
    left, right = ax.get_xlim()
    left, right = min(left, -1.1 * rho), max(right, 1.1 * rho)
    ax.set_xlim(left, right)
    shade_sides(ax, "x")
    ax.axvline(0.0, color=BLACK, linewidth=1.8, zorder=3)
    handles = [line_proxy(BLACK, "-", "boundary, f = 0")]
    if rho > 0.0:
        for level in (-rho, rho):
            ax.axvline(level, color=BLACK, linestyle="--", linewidth=1.1, zorder=3)
        handles.append(line_proxy(BLACK, "--", f"margins, f = ±{rho:.3g}"))
    return handles
