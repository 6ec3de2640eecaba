"""Draw the dual variables with their bounds (`multipliers`), and against the margins (`complementarity`).

At an optimum, complementary slackness places the pair (α, s f) of each dual variable on a path, which is the same for
all of them if α is scaled suitably. With the required level ℓ of s f, the bound U of α and the curvature δ of the loss,
(DUAL.2) and (DUAL.8):

    (PATH.1)  α = 0 and s f ≥ ℓ;  0 < α < U and s f = ℓ − δα;  α = U and s f ≤ ℓ − δU
    (PATH.2)  over α/U this is one path for all dual variables, because δU is the same: 0 for the hinge, the width h for
              Huber's
    (PATH.3)  where U = ∞, the loss C ξ² has δ = 1/(2C); over the slack δα = α/(2C) the path does not depend on C
    (PATH.4)  a regression has two dual variables per sample, one for each side of f:  β/U against t − f, with ℓ = ±ε
    (PATH.5)  with several classes there is one per sample and rival class c, against f_y − f_c; where rivals share a
              slack, Σ_c α_ic is drawn against the least f_y − f_c
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
from qpsvm.faces.plotting.predicted_classes import choose_class_look
from qpsvm.faces.plotting.view import PADDING
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.result.svm_result import SVMResult

#: Names of the kinds of dual variables of several classes.
KIND_LABELS = ("idle", "on the margin", "at the bound")


@dataclass(frozen=True, eq=False)
class DrawnMultipliers:
    """The dual variables that a picture shows, arrays of shape (m,), and the texts of the picture.

    row_indices: The row of X, or the number of the pair or dual variable.
    alpha, low, high: α, or β for a regression, and its bounds.
    share, value: The scaled α and the value s f, as in (PATH.1) to (PATH.5): the axes of `complementarity`.
    level, drop: ℓ, or ε for a regression, and δU; the drop is NaN if the share is δα.
    kind, kind_labels: The kind of each dual variable, as an index, and the names of the kinds.
    group, looks, group_labels: The class of each, as an index; marker and colour, and label, of each class.
    symbol: α in LaTeX.
    share_label, value_label, index_label: Labels of the axes.
    noun: What has one dual variable each, in the plural.
    wrong: The meaning of a value below 0, or "".
    sides: 2 for a regression, else 1.
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
    kind_labels: tuple[str, ...]
    group: NDArray[Any]
    looks: list[tuple[str, str]]
    group_labels: list[Any]
    symbol: str
    share_label: str
    value_label: str
    index_label: str = "sample (row of X)"
    noun: str = "samples"
    wrong: str = ""
    sides: int = 1

    @property
    def is_bounded(self) -> bool:
        """Whether α has upper bounds."""
        return bool(np.isfinite(self.high).all())

    def scatter(self, ax: Axes, points: FloatArray, chosen: IntArray) -> list[Any]:
        """Draw the dual variables `chosen` (k,) at points (k, 2); return handles for the legend."""
        kind, group = self.kind[chosen], self.group[chosen]
        return draw_groups(ax, points, kind, self.kind_labels, group, self.looks, self.group_labels)

    def compute_path_corners(self) -> FloatArray:
        """Return the corners of the path on which every optimum lies, with ends at infinity: (k, 2)."""
        if np.isnan(self.drop):  # (PATH.3)
            largest = float(np.abs(self.share).max(initial=0.0)) * (1.0 + PADDING) or 1.0
            corners = [(largest, largest)]  # (share, slack)
        else:  # (PATH.1), (PATH.2)
            if self.is_bounded:
                corners = [(1.0, self.drop), (1.0, np.inf)]
            else:
                corners = [(1.0, 0.0)]
        if self.sides == 1:
            return np.array([(0.0, np.inf), (0.0, self.level), *((x, self.level - slack) for x, slack in corners)])
        above = np.array([(0.0, self.level), *((x, self.level + slack) for x, slack in corners)])  # (PATH.4)
        return np.concatenate([-above[::-1], above])

    def describe_bounds(self) -> str:
        """Describe the bounds, for the legend."""
        if np.ptp(self.high) or (self.sides == 2 and (self.low != -self.high).any()):
            if self.sides == 1:
                return "upper bounds $C_i$"
            return "bounds on both sides"
        if self.sides == 1:
            return f"upper bound C = {self.high[0]:.4g}"
        return f"bounds ±C, C = {self.high[0]:.4g}"


def collect_multipliers(problem: Problem, result: SVMResult) -> DrawnMultipliers:
    """Collect the dual variables of the active samples."""
    if isinstance(problem, AllInOneProblem):
        return _collect_multiclass(problem, result)
    if problem._variables_per_sample == 2:
        return _collect_regression(problem, result)
    return _collect_one_sided(problem, result)


def _compute_shares(alpha: FloatArray, upper: FloatArray, curvature: FloatArray) -> tuple[FloatArray, float, str]:
    """Scale α for drawing: (m,), the drop δU or NaN, and the divisor in LaTeX.

    It is a share of the bound, (PATH.2); without bounds the slack δα, (PATH.3), or a share of the largest α.
    """
    if np.isfinite(upper).all():
        share = np.divide(alpha, upper, out=np.zeros(len(alpha)), where=upper > 0.0)
        return share, float((curvature * upper).max(initial=0.0)), " / C_i"
    if curvature.any():
        return alpha * curvature, np.nan, " / (2 C_i)"
    return alpha / (alpha.max(initial=0.0) or 1.0), 0.0, " / \\max\\,\\alpha"


def _collect_one_sided(problem: Problem, result: SVMResult) -> DrawnMultipliers:
    """Collect one dual variable per sample or pair."""
    rows = np.flatnonzero(problem._active_variables)
    alpha, upper = result.alpha[rows], result.upper[rows]
    share, drop, divisor = _compute_shares(alpha, upper, result.curvature[rows])
    texts: dict[str, Any] = {"symbol": "\\alpha_i", "value_label": "decision function, $f(x_i)$"}
    group = np.zeros(len(rows), dtype=np.intp)
    looks = [("o", BLUE)]
    group_labels = []
    if problem._target_kind == "ranks":
        texts |= {"symbol": "\\alpha_k", "value_label": "pair of samples, $f(x_i) - f(x_j)$", "noun": "pairs",
                  "index_label": "pair (row of pairs)", "wrong": "pairs out of order lie below"}  # fmt: skip
        divisor = divisor.replace("_i", "_k")
    elif problem._target_kind == "labels":
        texts |= {"value_label": "margin of the sample, $y_i f(x_i)$", "wrong": "errors lie below"}
        group = (problem.y[rows] > 0).astype(np.intp)
        looks = list(zip(SHAPES, CLASSES, strict=True))
        group_labels = list(problem.classes)
    return DrawnMultipliers(
        row_indices=rows, alpha=alpha, low=np.zeros(len(rows)), high=upper, share=share, value=result.yf[rows],
        level=float(result.margin[rows[0]]), drop=drop, kind=result.kind[rows], kind_labels=name_kinds(result),
        group=group, looks=looks, group_labels=group_labels,
        share_label=f"dual variable, ${texts['symbol']}{divisor}$", **texts,
    )  # fmt: skip


def _collect_regression(problem: Problem, result: SVMResult) -> DrawnMultipliers:
    """Collect one β per sample, between its bounds on both sides."""
    above = problem.active_rows
    below = problem.active_rows + problem.n
    alpha = result.alpha
    upper = result.upper
    curvature = result.curvature
    margin = result.margin
    plus, drop, divisor = _compute_shares(alpha[above], upper[above], curvature[above])
    minus, _, _ = _compute_shares(alpha[below], upper[below], curvature[below])
    scaled = " as a share of its bound" if np.isfinite(upper).all() else ""
    return DrawnMultipliers(
        row_indices=above, alpha=alpha[above] - alpha[below], low=-upper[below], high=upper[above], share=plus - minus,
        value=problem.t[above] - result.yf[above], level=-0.5 * float(margin[above[0]] + margin[below[0]]), drop=drop,
        kind=result.kind[above], kind_labels=name_kinds(result), group=np.zeros(len(above), dtype=np.intp),
        looks=[("o", BLUE)], group_labels=[], symbol="\\beta_i", value_label="residual, $t_i - f(x_i)$", sides=2,
        share_label=f"dual variable, $\\beta_i${scaled}" if scaled else f"dual variable, $\\beta_i{divisor}$",
    )  # fmt: skip


def _collect_multiclass(problem: AllInOneProblem, result: SVMResult) -> DrawnMultipliers:
    """Collect one dual variable per sample if rivals share a slack, else one per sample and rival."""
    k = len(problem.classes)
    class_index = problem.class_index
    is_own = class_index[:, None] == np.arange(k)
    differences = np.where(is_own, np.inf, result.yf)  # f_y − f_c, (n, k)
    texts: dict[str, Any]
    if problem._has_shared_slack:
        indices = sample = problem.active_rows
        alpha, value, kind = (each[sample] for each in (result.alpha.sum(1), differences.min(1), result.kind.max(1)))
        texts = {"symbol": "\\Sigma_c \\alpha_{ic}", "value_label": "least of $f_y(x_i) - f_c(x_i)$"}
    else:
        sample, rival = np.nonzero(~is_own & problem._active_variables[:, None])
        alpha, value, kind = (each[sample, rival] for each in (result.alpha, differences, result.kind))
        indices = np.arange(len(sample))
        texts = {"symbol": "\\alpha_{ic}", "value_label": "$f_y(x_i) - f_c(x_i)$",
                 "noun": "samples with a rival each", "index_label": "sample with a rival, in order"}  # fmt: skip
    upper = result.upper[sample]
    share, drop, divisor = _compute_shares(alpha, upper, np.zeros(len(upper)))
    return DrawnMultipliers(
        row_indices=indices, alpha=alpha, low=np.zeros(len(upper)), high=upper, share=share, value=value,
        level=result.rho, drop=drop, kind=kind, kind_labels=KIND_LABELS, group=class_index[sample],
        looks=[choose_class_look(c) for c in range(k)], group_labels=list(problem.classes),
        share_label=f"dual variable, ${texts['symbol']}{divisor}$", wrong="errors lie below", **texts,
    )  # fmt: skip


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

    This picture supports every machine. A regression has β_i = α⁺_i − α⁻_i, with a bound on each side; a ranking has
    α_k for each pair; Crammer & Singer's machine Σ_c α_ic for each sample; Weston & Watkins' α_ic for each sample and
    rival.

    Parameters
    ----------
    problem, result
    sort : bool, default=True
        Whether to sort by size, the largest first. Samples of weight 0 are left out.
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
    complementarity : The dual variables against the margins or residuals of their samples.

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
    drawn = collect_multipliers(problem, result)
    if sort:
        order = np.lexsort((-drawn.kind, -drawn.alpha))
    else:
        order = np.arange(len(drawn.alpha))
    x = np.arange(len(order)) if sort else drawn.row_indices
    alpha = drawn.alpha[order]
    ax.vlines(x, 0.0, alpha, colors=GREY, linewidth=0.9, zorder=1)
    handles = drawn.scatter(ax, np.column_stack([x, alpha]), order)
    ax.axhline(0.0, color=BLACK, linewidth=1.0, zorder=2)
    if drawn.is_bounded:
        for bound in (drawn.high, drawn.low)[: drawn.sides]:
            ax.hlines(bound[order], x - 0.5, x + 0.5, colors=PURPLE, linestyles="-", linewidth=1.4, zorder=2)
        handles.append(make_line_proxy(PURPLE, "-", drawn.describe_bounds()))
    if sort:
        x_label = f"{drawn.noun}, largest ${drawn.symbol}$ first"
    else:
        x_label = drawn.index_label
    set_labels(ax, x_label, f"dual variable ${drawn.symbol}$")
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
    on it, α = C below. For a squared loss the path is y_i f(x_i) = 1 − α_i/(2C_i), without an end, over α_i/(2C_i); for
    Huber's hinge it is y_i f(x_i) = 1 − κα_i/C_i up to α_i = C_i. A regression has residuals t_i − f(x_i) against β_i
    as a share of its bound; one-class SVM and SVDD f(x_i); a ranking the difference of f in each pair; several classes
    f_y − f_c for each rival c, or for Crammer & Singer's machine the least of them, against Σ_c α_ic.

    Parameters
    ----------
    problem : Problem
        The problem whose samples are drawn.
    result : SVMResult
        Its result. A sample is as far from the path as it is from its optimality condition.
    legend, ax

    Returns
    -------
    Axes
        A hard margin has no C, so its horizontal axis is α_i/max α. Samples of weight 0 are left out.

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
    drawn = collect_multipliers(problem, result)
    chosen = np.flatnonzero(drawn.high > 0.0)  # a result for other weights may have bounds of 0 here
    if not len(chosen):
        raise DataError("no row of positive weight takes part in the result: give the result of solve(problem)")
    ax = make_axes(ax)
    points = np.column_stack([drawn.share, drawn.value])[chosen]
    corners = drawn.compute_path_corners()
    heights = np.concatenate([points[:, 1], corners[np.isfinite(corners[:, 1]), 1]])
    low, high = float(heights.min()), float(heights.max())
    padding = PADDING * (high - low) or 1.0
    low, high = low - padding, high + padding
    ax.plot(corners[:, 0], np.clip(corners[:, 1], low, high), color=SKY, linewidth=7, alpha=0.5, zorder=1,
            solid_joinstyle="miter", label="optimal")  # fmt: skip
    ax.axhline(0.0, color=BLACK, linewidth=0.8, linestyle=":", zorder=0)
    handles = drawn.scatter(ax, points, chosen)
    ax.set_ylim(low, high)
    set_labels(ax, drawn.share_label, drawn.value_label)
    write_title(ax, problem, result)
    if drawn.wrong:
        where = "margin at "
    elif drawn.sides == 1:
        where = "boundary at "
    else:
        where = "tube at ±"
    handles.append(make_line_proxy(SKY, "-", f"optimal, {where}{drawn.level + 0.0:.3g}"))
    handles += [make_line_proxy(BLACK, ":", drawn.wrong)] if drawn.wrong and low < 0 else []
    return finish_axes(ax, legend, handles)
