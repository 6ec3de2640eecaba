"""Draw the dual variables, with their bounds and slacks (`multipliers`, `complementarity`).

The path on which (α, value) of each row lies at an optimum, with the required level ℓ, the bound U and the curvature δ
of the loss, (DUAL.2) and (DUAL.8):

    (PATH.1)  α = 0 and s f ≥ ℓ;  0 < α < U and s f = ℓ − δα;  α = U and s f ≤ ℓ − δU
    (PATH.2)  over α/U this is one path for all rows, as δU is: 0 of the hinge, the width h of Huber's
    (PATH.3)  where U = ∞ the loss C ξ² has δ = 1/(2C), and over δα = α/(2C), the slack, it is one path whatever C is
    (PATH.4)  a regression has two such rows per sample, one for each side of f:  β/U against t − f, with ℓ = ±ε
    (PATH.5)  of several classes a row is a sample with a rival; where rivals share a slack, Σ_c α_ic pays for the least
              f_y − f_c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError
from qpsvm.faces.plotting.accepted import check_picture
from qpsvm.faces.plotting.labels import finish_axes, set_labels
from qpsvm.faces.plotting.markers import draw_groups, make_line_proxy, name_kinds
from qpsvm.faces.plotting.palette import BLACK, BLUE, CLASSES, GREY, PURPLE, SHAPES, SKY
from qpsvm.faces.plotting.picture import Axes, make_axes, picture, write_title
from qpsvm.faces.plotting.several import choose_class_look
from qpsvm.faces.plotting.view import ROOM
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.result.svm_result import SVMResult

#: Kinds of the rows of several classes, for people.
KINDS_OF_ROWS = ("idle", "on the margin", "at the bound")


@dataclass(frozen=True, eq=False)
class DrawnMultipliers:
    """The dual variables that a picture shows, (m,) each, and their names.

    row_indices: The row of X, or the number of the pair or row.
    alpha, low, high: α, or β of a regression, and its bounds.
    share, value: Of (PATH.1) to (PATH.5).
    level, drop: ℓ, or ε of a regression, and δU; NaN where the share is δα.
    kind, group: Places among `words` and `looks`.
    letter, against, height: What α, its share and the value are called.
    rows, in_order, wrong: What the rows are called, those in their order, and what lies below 0, or "".
    sides: 2 of a regression.
    """

    row_indices: IntArray
    alpha: FloatArray
    low: FloatArray
    high: FloatArray
    share: FloatArray
    value: FloatArray
    level: float
    drop: float
    kind: NDArray[Any]
    group: NDArray[Any]
    words: tuple[str, ...]
    looks: list[tuple[str, str]]
    labels: list[Any]
    letter: str
    against: str
    height: str
    rows: str = "samples"
    in_order: str = "sample (row of X)"
    wrong: str = ""
    sides: int = 1

    @property
    def is_bounded(self) -> bool:
        """Whether α has bounds."""
        return bool(np.isfinite(self.high).all())

    def scatter(self, ax: Axes, points: FloatArray, chosen: IntArray) -> list[Any]:
        """Draw some of the rows at points (k, 2); return handles for the legend."""
        return draw_groups(ax, points, self.kind[chosen], self.words, self.group[chosen], self.looks, self.labels)

    def compute_path_corners(self) -> FloatArray:
        """Return the corners of the path on which every optimum lies, with ends at infinity: (k, 2)."""
        if np.isnan(self.drop):  # (PATH.3)
            most = float(np.abs(self.share).max(initial=0.0)) * (1.0 + ROOM) or 1.0
            behind = [(most, most)]
        else:  # (PATH.1), (PATH.2)
            behind = [(1.0, self.drop), (1.0, np.inf)] if self.is_bounded else [(1.0, 0.0)]
        if self.sides == 1:
            return np.array([(0.0, np.inf), (0.0, self.level), *((x, self.level - slack) for x, slack in behind)])
        above = np.array([(0.0, self.level), *((x, self.level + slack) for x, slack in behind)])  # (PATH.4)
        return np.concatenate([-above[::-1], above])

    def describe_bounds(self) -> str:
        """Describe the bounds, for the legend."""
        if np.ptp(self.high) or (self.sides == 2 and (self.low != -self.high).any()):
            return "upper bounds $C_i$" if self.sides == 1 else "bounds on both sides"
        return f"upper bound C = {self.high[0]:.4g}" if self.sides == 1 else f"bounds ±C, C = {self.high[0]:.4g}"


def collect_multipliers(problem: Problem, result: SVMResult) -> DrawnMultipliers:
    """Collect the dual variables of the active samples."""
    if isinstance(problem, AllInOneProblem):
        return _collect_multiclass(problem, result)
    return (
        _collect_regression(problem, result)
        if problem._variables_per_sample == 2
        else _collect_one_sided(problem, result)
    )


def _compute_shares(alpha: FloatArray, upper: FloatArray, curvature: FloatArray) -> tuple[FloatArray, float, str]:
    """Scale α for drawing, (m,): a share of its bound, or a slack; with δU, or NaN, and the text behind α."""
    if np.isfinite(upper).all():
        share = np.divide(alpha, upper, out=np.zeros(len(alpha)), where=upper > 0.0)
        return share, float((curvature * upper).max(initial=0.0)), " / C_i"
    if curvature.any():
        return alpha * curvature, np.nan, " / (2 C_i)"
    return alpha / (alpha.max(initial=0.0) or 1.0), 0.0, " / \\max\\,\\alpha"


def _collect_one_sided(problem: Problem, result: SVMResult) -> DrawnMultipliers:
    """Collect one row per sample or pair."""
    rows = np.flatnonzero(problem._active_variables)
    alpha, upper = result.alpha[rows], result.upper[rows]
    share, drop, by = _compute_shares(alpha, upper, result.curvature[rows])
    named: dict[str, Any] = {"letter": "\\alpha_i", "height": "decision function, $f(x_i)$"}
    group, looks, labels = np.zeros(len(rows), dtype=np.intp), [("o", BLUE)], []
    if problem._target_kind == "ranks":
        named |= {"letter": "\\alpha_k", "height": "pair of samples, $f(x_i) - f(x_j)$", "rows": "pairs",
                  "in_order": "pair (row of pairs)", "wrong": "pairs out of order lie below"}  # fmt: skip
        by = by.replace("_i", "_k")
    elif problem._target_kind == "labels":
        named |= {"height": "margin of the sample, $y_i f(x_i)$", "wrong": "errors lie below"}
        group, looks = (problem.y[rows] > 0).astype(np.intp), list(zip(SHAPES, CLASSES, strict=True))
        labels = list(problem.classes)
    return DrawnMultipliers(
        row_indices=rows, alpha=alpha, low=np.zeros(len(rows)), high=upper, share=share, value=result.yf[rows],
        level=float(result.margin[rows[0]]), drop=drop, kind=result.kind[rows], group=group, words=name_kinds(result),
        looks=looks, labels=labels, against=f"dual variable, ${named['letter']}{by}$", **named,
    )  # fmt: skip


def _collect_regression(problem: Problem, result: SVMResult) -> DrawnMultipliers:
    """Collect one row per sample: β, between its bounds on both sides."""
    above, below = problem.active_rows, problem.active_rows + problem.n
    alpha, upper, curvature, margin = result.alpha, result.upper, result.curvature, result.margin
    plus, drop, by = _compute_shares(alpha[above], upper[above], curvature[above])
    minus, _, _ = _compute_shares(alpha[below], upper[below], curvature[below])
    share = "as a share of its bound" if np.isfinite(upper).all() else ""
    return DrawnMultipliers(
        row_indices=above, alpha=alpha[above] - alpha[below], low=-upper[below], high=upper[above], share=plus - minus,
        value=problem.t[above] - result.yf[above], level=-0.5 * float(margin[above[0]] + margin[below[0]]), drop=drop,
        kind=result.kind[above], group=np.zeros(len(above), dtype=np.intp), words=name_kinds(result),
        looks=[("o", BLUE)], labels=[], letter="\\beta_i", height="residual, $t_i - f(x_i)$", sides=2,
        against=f"dual variable, $\\beta_i${' ' + share}" if share else f"dual variable, $\\beta_i{by}$",
    )  # fmt: skip


def _collect_multiclass(problem: AllInOneProblem, result: SVMResult) -> DrawnMultipliers:
    """Collect one row per sample if rivals share a slack, else one per sample and rival."""
    k, label = len(problem.classes), problem.class_index
    own = label[:, None] == np.arange(k)
    apart = np.where(own, np.inf, result.yf)  # f_y − f_c
    named: dict[str, Any]
    if problem._has_shared_slack:
        place = sample = problem.active_rows
        alpha, value, kind = (each[sample] for each in (result.alpha.sum(1), apart.min(1), result.kind.max(1)))
        named = {"letter": "\\Sigma_c \\alpha_{ic}", "height": "least of $f_y(x_i) - f_c(x_i)$"}
    else:
        sample, rival = np.nonzero(~own & problem._active_variables[:, None])
        alpha, value, kind = (each[sample, rival] for each in (result.alpha, apart, result.kind))
        place = np.arange(len(sample))
        named = {"letter": "\\alpha_{ic}", "height": "$f_y(x_i) - f_c(x_i)$", "rows": "samples with a rival each",
                 "in_order": "sample with a rival, in order"}  # fmt: skip
    upper = result.upper[sample]
    share, drop, by = _compute_shares(alpha, upper, np.zeros(len(upper)))
    return DrawnMultipliers(
        row_indices=place,
        alpha=alpha,
        low=np.zeros(len(upper)),
        high=upper,
        share=share,
        value=value,
        level=result.rho,
        drop=drop,
        kind=kind,
        group=label[sample],
        words=KINDS_OF_ROWS,
        labels=list(problem.classes),
        looks=[choose_class_look(c) for c in range(k)],
        against=f"dual variable, ${named['letter']}{by}$",
        wrong="errors lie below",
        **named,
    )


@picture
def multipliers(
    problem: Problem,
    result: SVMResult,
    *,
    sort: bool = True,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the dual variable of each sample, by kind, between its bounds.

    This picture supports every machine. A regression has β_i = α⁺_i − α⁻_i, with a bound on each side; a ranking α_k of
    each pair; Crammer & Singer's machine Σ_c α_ic of each sample; Weston & Watkins' α_ic of each sample and rival.

    Parameters
    ----------
    problem, result
    sort : bool, default=True
        Whether to sort by size, the largest first. Rows of weight 0 are left out.
    legend, ax

    Returns
    -------
    Axes
        The axes, with one marker per dual variable, by kind, and the finite bounds.

    Raises
    ------
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    complementarity : The dual variables against the values that they depend on.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1])
    >>> ax = qpsvm.plotting.multipliers(problem, qpsvm.solve(problem))
    >>> ax.figure.savefig("multipliers.png")
    """
    check_picture("multipliers", problem, result)
    as_flag(sort, "sort")
    ax = make_axes(ax, (7.2, 4.4))
    every = collect_multipliers(problem, result)
    order = np.lexsort((-every.kind, -every.alpha)) if sort else np.arange(len(every.alpha))
    place = np.arange(len(order)) if sort else every.row_indices
    alpha = every.alpha[order]
    ax.vlines(place, 0.0, alpha, colors=GREY, linewidth=0.9, zorder=1)
    handles = every.scatter(ax, np.column_stack([place, alpha]), order)
    ax.axhline(0.0, color=BLACK, linewidth=1.0, zorder=2)
    if every.is_bounded:
        for end in (every.high, every.low)[: every.sides]:
            ax.hlines(end[order], place - 0.5, place + 0.5, colors=PURPLE, linestyles="-", linewidth=1.4, zorder=2)
        handles.append(make_line_proxy(PURPLE, "-", every.describe_bounds()))
    across = f"{every.rows}, largest ${every.letter}$ first" if sort else every.in_order
    set_labels(ax, across, f"dual variable ${every.letter}$")
    write_title(ax, problem, result)
    return finish_axes(ax, legend, handles)


@picture
def complementarity(
    problem: Problem,
    result: SVMResult,
    *,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw each dual variable against the value of its sample, and the path on which every optimum lies.

    This picture supports every machine. For a C-SVM it is y_i f(x_i) against α_i/C_i: α = 0 above the margin, 0 < α < C
    on it, α = C below. For a squared loss the path is y_i f(x_i) = 1 − α_i/(2C_i), without an end, over α_i/(2C_i);
    Huber's hinge: y_i f(x_i) = 1 − κα_i/C_i up to α_i = C_i. A regression has residuals t_i − f(x_i) against β_i as a
    share of its bound; one-class SVM and SVDD f(x_i); a ranking the difference of f in each pair; several classes the
    difference of f_y and a rival's, of which Crammer & Singer's machine has the least, against Σ_c α_ic.

    Parameters
    ----------
    problem : Problem
        Whose samples are drawn.
    result : SVMResult
        Of that problem. A sample is as far from the path as it is from its optimality condition.
    legend, ax

    Returns
    -------
    Axes
        A hard margin has no C, so its horizontal axis is α_i/max α. Rows of weight 0 are left out.

    Raises
    ------
    DataError, ParameterTypeError, MissingExtraError

    See Also
    --------
    multipliers : The dual variables alone.

    Notes
    -----
    A certified gap P − D bounds how far points are from the path: over a share of C_i no further than √((P − D)/C_i),
    in the units of the axes.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1])
    >>> ax = qpsvm.plotting.complementarity(problem, qpsvm.solve(problem))
    >>> ax.figure.savefig("complementarity.png")
    """
    check_picture("complementarity", problem, result)
    every = collect_multipliers(problem, result)
    chosen = np.flatnonzero(every.high > 0.0)  # under other weights, other rows may take part
    if not len(chosen):
        raise DataError("no row of positive weight takes part in the result: give the result of solve(problem)")
    ax = make_axes(ax)
    points, corners = np.column_stack([every.share, every.value])[chosen], every.compute_path_corners()
    heights = np.concatenate([points[:, 1], corners[np.isfinite(corners[:, 1]), 1]])
    low, high = float(heights.min()), float(heights.max())
    room = ROOM * (high - low) or 1.0
    low, high = low - room, high + room
    ax.plot(corners[:, 0], np.clip(corners[:, 1], low, high), color=SKY, linewidth=7, alpha=0.5, zorder=1,
            solid_joinstyle="miter", label="optimal")  # fmt: skip
    ax.axhline(0.0, color=BLACK, linewidth=0.8, linestyle=":", zorder=0)
    handles = every.scatter(ax, points, chosen)
    ax.set_ylim(low, high)
    set_labels(ax, every.against, every.height)
    write_title(ax, problem, result)
    where = "margin at " if every.wrong else "boundary at " if every.sides == 1 else "tube at ±"
    handles.append(make_line_proxy(SKY, "-", f"optimal, {where}{every.level + 0.0:.3g}"))
    handles += [make_line_proxy(BLACK, ":", every.wrong)] if every.wrong and low < 0 else []
    return finish_axes(ax, legend, handles)
