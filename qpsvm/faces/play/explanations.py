"""Explain a result in sentences: its meaning, what to try next, and the optimality condition of each sample.

At an optimum, both products of complementary slackness are 0 for each sample. A sample's sentence says which product is
not 0. If an equality couples the α, it also names the other sample whose α has to change: the change of a single α
would be undone when α is made feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play.machine_catalogue import PageMachine
from qpsvm.faces.play.moves import Move, MoveFinder
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: How the sentence of a sample begins whose violation a change of α can mend.
VIOLATED = "Violated: "
#: Smaller values are not mentioned: products as a share of the objective, changes of α as a share of its bound, and
#: widths of intervals as a share of their ends. The gap of an optimal result is smaller, too.
MIN_MENTIONED = 1e-6
#: The smallest relative gap that is shown as a number: smaller ones are rounding errors.
MIN_SHOWN_GAP = 1e-16


class SampleProducts(NamedTuple):
    """The two products of complementary slackness of sample i.

    margin: The product of α and the excess over the margin.
    slack: The product of the bound minus α and the slack.
    threshold: The products count as 0 up to this value.
    """

    i: int
    margin: float
    slack: float
    threshold: float


def explain_samples(
    result: SVMResult, machine: PageMachine, margin_product: FloatArray, slack_product: FloatArray,
    moves: MoveFinder | None = None,
) -> list[str]:  # fmt: skip
    """Write a sentence for each sample about its two products, (n,) each, in the machine's notation.

    With a finder of moves, a violation is followed by the change that increases the dual value.
    """
    objective_size = max((abs(v) for v in (result.primal, result.dual) if np.isfinite(v)), default=0.0) or 1.0
    threshold = MIN_MENTIONED * objective_size / result.unit
    explain = _choose_explainer(machine)
    sentences = []
    for i, (margin, slack) in enumerate(zip(margin_product.tolist(), slack_product.tolist(), strict=True)):
        sentence = explain(result, machine, SampleProducts(i, margin, slack, threshold))
        if moves is not None and sentence.startswith(VIOLATED):
            sentence += _suggest_direction(result, moves, i)
        sentences.append(sentence)
    return sentences


def _choose_explainer(machine: PageMachine) -> Callable[[SVMResult, PageMachine, SampleProducts], str]:
    """Choose the function that writes the sentence of a sample."""
    if machine.learnt == "numbers":
        return _explain_regression
    if machine.learnt == "none":
        return _explain_novelty
    return _explain_curved if machine.curved else _explain_two_class


def _suggest_direction(result: SVMResult, moves: MoveFinder, i: int) -> str:
    """Suggest how to change α of a violating sample, and of its partner, to increase the dual value; or ""."""
    n = len(result.kind)
    row = i + n * int(np.argmax(result.terms[i::n]))  # of the α⁺ and α⁻ of a regression, that with the larger term
    violation = result.margin[row] - result.yf[row] - result.curvature[row] * result.alpha[row]
    direction = 1 if violation > 0.0 else -1
    other = moves.find_partner(row, direction)
    if other is None:
        return ""
    symbol = _name_multiplier(row, n, len(result.alpha))
    verb = {1: "raise", -1: "lower"}
    text = f" To increase the dual value, {verb[direction]} its {symbol}"
    if other == row:
        return f"{text}."
    same_direction = moves.coefficients[row] * moves.coefficients[other] < 0.0
    partner = f"{_name_multiplier(other, n, len(result.alpha))} of sample {other % n}"
    text += f" and {partner}" if same_direction else f", and {verb[-direction]} {partner}"
    return f"{text} by as much."


def _name_multiplier(row: int, n: int, m: int) -> str:
    """Return the symbol of the dual variable `row` of m, for n samples: α, or α⁺ or α⁻ for a regression."""
    if m == n:
        return "α"
    if row < n:
        return "α⁺"
    return "α⁻"


def _describe_zero_alpha(result: SVMResult, machine: PageMachine) -> str:
    """Describe what follows from α = 0: more at an optimum, if the problem of the other samples is the same."""
    if result.status is Status.OPTIMAL and not machine.shared:
        return "Without this sample, nothing would change."
    return "It does not contribute to w."


def _explain_two_class(result: SVMResult, machine: PageMachine, products: SampleProducts) -> str:
    i = products.i
    bound, level = machine.bound, machine.level
    bounded = np.isfinite(result.upper[i])
    kind = result.kind[i]
    if bounded:
        excess, zero = f"y f − {level} + ξ", "both products are 0"
    else:
        excess = f"y f − {level}"
        zero = f"α ({excess}) is 0"
    if products.slack > products.threshold and not bounded:
        return f"y f < {level}, and a hard margin allows no slack."
    if products.slack > products.threshold:
        product = f"({bound} − α) ξ = {products.slack:.3g}"
        return f"{VIOLATED}{product}. It is inside the margin or misclassified, but α is not {bound}."
    if products.margin > products.threshold:
        product = f"α ({excess}) = {products.margin:.3g}"
        return f"{VIOLATED}{product}. It lies outside the margin, but α is not 0."
    if kind == 0:
        return f"α = 0 and y f ≥ {level}: {zero}. {_describe_zero_alpha(result, machine)}"
    if kind == 1:
        bounds = f"0 < α < {bound}" if bounded else "α > 0"
        return f"{bounds} and y f = {level}: {zero}. It is a support vector on the margin."
    return f"α = {bound} and y f ≤ {level}: both products are 0. Its slack ξ is penalised."


def _explain_curved(result: SVMResult, machine: PageMachine, products: SampleProducts) -> str:
    optimal_slack = "κα/C" if machine.bound else "α/(2C)"
    i = products.i
    alpha = result.alpha[i]
    if products.margin > products.threshold:
        return f"{VIOLATED}α (y f − 1) = {products.margin:.3g}. It lies outside the margin, but α is not 0."
    if products.slack > products.threshold:
        return f"{VIOLATED}its slack is {result.xi[i]:.3g}, but {optimal_slack} is {result.curvature[i] * alpha:.3g}."
    if result.kind[i] == 0:
        return f"α = 0 and y f ≥ 1: both products are 0. {_describe_zero_alpha(result, machine)}"
    if alpha >= result.upper[i]:
        place = "It is on the linear part of the loss, with slope C."
        return f"α = {machine.bound} and y f ≤ 1 − κ: both products are 0. {place}"
    return f"0 < α and y f = 1 − {optimal_slack}: both products are 0. Its penalty grows faster, the more slack it has."


#: Words about a sample of a regression with a tube around f, and of the quantile regression, which has none. A sample
#: with slack lies beyond the "curve"; the "multiplier" of a sample at the "zero place" should be 0.
_TUBE = {
    "curve": "the tube", "multiplier": "β", "zero place": "inside the tube", "zero residual": "|t − f| ≤ ε",
    "free residual": "t − f = {edge}, on the edge of the tube",
}  # fmt: skip
_NO_TUBE = {
    "curve": "f", "multiplier": "the other α", "zero place": "{side} f", "zero residual": "t = f",
    "free residual": "t = f, on the curve",
}  # fmt: skip


def _explain_regression(result: SVMResult, machine: PageMachine, products: SampleProducts) -> str:
    assert result.target is not None
    i, n = products.i, len(result.kind)
    beta = result.coef[i]
    residual = result.target[i] - result.yf[i]
    above = residual > 0.0
    if above:
        side, symbol, direction, edge = "above", "α⁺", "up", "ε"
    else:
        side, symbol, direction, edge = "below", "α⁻", "down", "−ε"
    upper = result.upper[i] if above else result.upper[n + i]
    words = _TUBE if machine.tube else _NO_TUBE
    bounded = np.isfinite(upper)
    bound = _name_bound(machine, above) if bounded else "2C ξ"
    slack = result.xi[i] + result.xi[n + i]
    if products.slack > products.threshold and (bounded or slack > 0.0):
        return f"{VIOLATED}it lies {side} {words['curve']} by {slack:.3g}, but {symbol} is not {bound}."
    if max(products.margin, products.slack) > products.threshold:
        return f"{VIOLATED}it lies {words['zero place'].format(side=side)}, but {words['multiplier']} is not 0."
    kind = result.kind[i]
    if kind == 0 and beta == 0.0:
        return f"β = 0 and {words['zero residual']}: both products are 0. {_describe_zero_alpha(result, machine)}"
    if kind == 1:
        place = words["free residual"].format(edge=edge)
        return f"{place}: both products are 0. Its coefficient is β = {_format_signed(beta)}."
    if bounded:
        strength = "with the largest multiplier allowed"
    else:
        strength = "in proportion to its distance"
    return f"{symbol} = {bound}, and it lies {side} {words['curve']}: it pulls f {direction} {strength}."


def _name_bound(machine: PageMachine, above: bool) -> str:
    """Name the bound of α⁺ or α⁻ in the machine's notation."""
    texts = {key: text for key, text, _ in machine.letters}
    if above:
        return texts.get("upper", "C")
    return texts.get("lower", f"−{machine.bound}").removeprefix("−")


def _format_signed(value: float) -> str:
    """Format a number with a true minus sign."""
    return f"{value:.3g}".replace("-", "−")


def _explain_novelty(result: SVMResult, machine: PageMachine, products: SampleProducts) -> str:
    i, bound = products.i, machine.bound
    f_is_zero = not np.any(np.abs(result.yf) > products.threshold)
    if result.status is Status.OPTIMAL and "radius" not in result.extras and f_is_zero:
        return "f = 0, as it is everywhere: w is 0, so that there is no boundary, and no sample is outside."
    if products.slack > products.threshold:
        return f"{VIOLATED}({bound} − α) ξ = {products.slack:.3g}. It is outside, but α is not {bound}."
    if products.margin > products.threshold:
        return f"{VIOLATED}α f = {products.margin:.3g}. It is inside, but α is not 0."
    if result.kind[i] == 0:
        return f"α = 0 and f ≥ 0: both products are 0. {_describe_zero_alpha(result, machine)}"
    if result.kind[i] == 1:
        return f"0 < α < {bound} and f = 0: both products are 0. It is a support vector on the boundary."
    if result.xi[i] <= products.threshold:
        return f"α = {bound} and f = 0: both products are 0. It is on the boundary, with α at its bound."
    return f"α = {bound} and f ≤ 0: both products are 0. It is outside, and its slack is penalised."


def describe_result(result: SVMResult, machine: PageMachine, norm: float) -> str:
    """Describe the meaning of a solved result; `norm` is ‖w‖."""
    if result.status is not Status.OPTIMAL:
        if np.isfinite(result.gap):
            return f"{result.status.sentence} The certified gap is {_format_gap_percent(result)}."
        return result.status.sentence
    gap = max(result.gap, 2.0 * UNIT)  # at least one rounding error of the objective
    if "radius" in result.extras:
        point = "(c, R)"
    else:
        point = "(w, ρ)" if machine.learnt == "none" else "(w, b)"
    certified = f"Optimal, and certified: no other α or {point} is better by more than {gap:.1g} of the objective."
    describe_meaning = {"labels": _describe_two_class, "numbers": _describe_regression, "none": _describe_novelty}
    return f"{certified} {describe_meaning[machine.learnt](result, machine, norm)}".rstrip()


def _describe_two_class(result: SVMResult, machine: PageMachine, norm: float) -> str:
    low, high = result.b_interval
    if result.rho == 0.0:
        return "The reduced hulls meet, so w = 0: choose a larger ν."
    if not len(result.support):
        return "Every α is 0, so f is constant."
    if norm == 0.0:
        return "The contributions of the two classes cancel, so w = 0: f is constant, and there is no boundary."
    if not machine.curved and not len(result.on_margin) and low < high:
        return f"No sample is on the margin: every b from {low:.4g} to {high:.4g} is optimal."
    if machine.tighter and len(result.at_bound) > len(result.alpha) / 2:
        return f"More than half of the samples have slack: {machine.tighter} for a narrower margin."
    return ""


def _describe_regression(result: SVMResult, machine: PageMachine, norm: float) -> str:
    low, high = result.b_interval
    if not np.any(result.coef):
        return "Every sample is inside the tube, so every α is 0 and f is constant."
    if norm == 0.0:
        return "The contributions of the samples cancel, so w = 0: f is constant."
    if result.extras.get("epsilon", 1.0) <= 0.0:
        return "ε is 0, so the tube is f itself: a smaller ν gives it a width."
    if not machine.curved and not len(result.on_margin) and high - low > MIN_MENTIONED * (abs(low) + abs(high)):
        return f"No sample is on the edge of the tube: every b from {low:.4g} to {high:.4g} is optimal."
    if machine.tube and len(result.at_bound) > len(result.kind) / 2:
        return "More than half of the samples are beyond the tube: raise C, or ε, or choose a nonlinear kernel."
    return ""


def _describe_novelty(result: SVMResult, machine: PageMachine, norm: float) -> str:
    del machine
    if "radius" in result.extras:
        if result.radius == 0.0:
            return "The ball is one point: every sample has slack, or all are equal."
        return ""
    if norm == 0.0:
        return "The origin is a mixture of the samples, so w = 0: lower ν, or choose the RBF kernel."
    low, high = result.intervals.get("rho", (0.0, 0.0))
    if low < high == np.inf:
        return "Every sample is at its bound: every larger ρ is optimal, too."
    return ""


def describe_user_alpha(result: SVMResult, machine: PageMachine, is_changed: bool, move: Move | None) -> str:
    """Describe the certificate of the user's α, or of the feasible α that replaced it, and suggest a move."""
    point = "the feasible α" if is_changed else "this α"
    if result.status is Status.OPTIMAL:
        return f"{point.capitalize()} is optimal: the gap is {_format_gap_percent(result)}."
    if not np.isfinite(result.gap):
        why = ": f does not separate the classes" if machine.learnt == "labels" else ""
        return f"{point.capitalize()} gives no primal point yet{why}."
    n = len(result.kind)
    gap_terms = result.terms.reshape(-1, n).sum(axis=0)
    if move is None:
        advice = ""
    else:
        start = ", from there" if is_changed else ""
        advice = f" Next{start}: {_describe_move(move, n, len(result.alpha))}."
    return (
        f"The gap is {_format_gap_percent(result)}: the objective at {point} is within this distance of the optimum. "
        f"Sample {int(np.argmax(gap_terms))} has the largest share of the gap.{advice}"
    )


def _describe_move(move: Move, n: int, m: int) -> str:
    """Describe a move in words, for n samples with m dual variables, with its gain."""
    verbs = ["raise" if change > 0.0 else "lower" for change in move.change]
    sizes = [f"{abs(change):.3g}" for change in move.change]
    names = [f"{_name_multiplier(row, n, m)} of sample {row % n}" for row in move.rows]
    if len(names) == 1:
        text = f"{verbs[0]} {names[0]} by {sizes[0]}"
    elif verbs[0] == verbs[1]:
        text = f"{verbs[0]} {names[0]} and {names[1]} by {sizes[0]} each"
    else:
        text = f"{verbs[0]} {names[0]} and {verbs[1]} {names[1]} by {sizes[0]}"
    return f"{text}: the dual value gains {move.gain:.3g}"


def _format_gap_percent(result: SVMResult) -> str:
    """Format the gap, as a percentage if it is not small."""
    if result.gap >= 1e-4:
        return f"{100 * result.gap:.3g} %"
    return format_gap(result.gap)


def format_gap(gap: float) -> str:
    """Format a relative gap; below `MIN_SHOWN_GAP` it is rounding, and not shown as a number."""
    return f"{gap:.1g}" if gap >= MIN_SHOWN_GAP else f"< {MIN_SHOWN_GAP:.0e}"
