"""Certified gap against iterations: how solvers approach the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.checks import as_flag, as_real_vector, as_tolerance
from qpsvm.arrays.types import FloatArray
from qpsvm.errors import DataError
from qpsvm.plotting.style import CURVES, GREY, new_axes
from qpsvm.plotting.texts import legend_below, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Smaller gaps are rounding, and are drawn at this value, because a logarithmic axis has no 0.
SMALLEST = float(np.finfo(float).eps)
#: Markers along a curve.
MARKERS = 12


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
    history : array_like, shape (k, 2), or mapping of name to such
        Rows (iteration, gap). Infinite gaps are left out: no feasible point was known yet. Gaps below 2e-16 are drawn
        at 2e-16.
    tol : float, optional
        The tolerance that was asked for, drawn as a line.
    legend : bool, default=True
        Whether a legend stands below the axes, where there is more than one line.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        With a logarithmic vertical axis.

    Raises
    ------
    DataError
        A history has another shape or type, or there is none; an iteration is not finite; a gap is NaN or negative.
    ParameterError
        A tolerance that is not positive and finite.
    MissingExtraError
        Matplotlib is not installed.

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
    as_flag(legend, "legend")
    rows = {str(name): _rows(run, str(name)) for name, run in runs.items()}
    ax = new_axes(ax, (6.4, 4.4))
    for k, (name, pairs) in enumerate(rows.items()):
        color, style, marker = CURVES[k % len(CURVES)]
        pairs = pairs[np.isfinite(pairs[:, 1])]
        ax.plot(
            pairs[:, 0],
            np.maximum(pairs[:, 1], SMALLEST),
            color=color,
            linestyle=style,
            marker=marker,
            markersize=5,
            markevery=max(1, len(pairs) // MARKERS),
            linewidth=1.5,
            label=plain(name),
        )
    if tol is not None:
        ax.axhline(tol, color=GREY, linestyle=(0, (1, 1)), linewidth=1.2, label=f"tolerance {tol:g}")
    ax.set_yscale("log")
    ax.set_xlabel("iterations")
    ax.set_ylabel("certified relative gap")
    if legend and (len(rows) > 1 or tol is not None):
        legend_below(ax)
    return ax


def _rows(run: ArrayLike, name: str) -> FloatArray:
    """A history as rows (iteration, gap), checked: (k, 2)."""
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
