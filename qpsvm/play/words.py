"""A result in one or two sentences: what it means, and what to try next."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.quantile import EPS
from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult


def sentence(result: SVMResult, tighter: str, norm: float) -> str:
    """What a solved result means; `tighter` is what makes the margin narrower, such as "raise C", `norm` is ‖w‖."""
    if result.status is not Status.OPTIMAL:
        known = f" The gap proven is {_gap(result)}." if np.isfinite(result.gap) else ""
        return f"{result.status.sentence}{known}"
    low, high = result.b_interval
    within = max(result.gap, EPS)  # less than one rounding of the objective is not worth telling
    parts = [f"Optimal, and proven: no other α or (w, b) is better by more than {within:.1g} of the objective."]
    if result.rho == 0.0:
        parts.append("The reduced hulls meet, so w = 0: choose a larger ν.")
    elif not len(result.support):
        parts.append("Every α is 0, so that f is constant.")
    elif norm == 0.0:
        parts.append("The classes pull w both ways, and it is 0: f is constant, so there is no boundary.")
    elif not len(result.on_margin) and low < high:
        parts.append(f"No sample is on the margin: any b from {low:.4g} to {high:.4g} is as good.")
    elif tighter and len(result.at_bound) > len(result.alpha) / 2:
        parts.append(f"More than half of the samples pay for slack: {tighter} for a narrower margin.")
    return " ".join(parts)


def verdict_on_yours(result: SVMResult) -> str:
    """What the certificate says of an α that the user holds."""
    if result.status is Status.OPTIMAL:
        return f"This α is optimal: the gap is {_gap(result)}."
    if not np.isfinite(result.gap):
        return "This α proves nothing yet: f separates no classes, so no primal point comes with it."
    worst = int(np.argmax(result.terms))
    return (
        f"The gap is {_gap(result)}: so far may this α be from the optimum. Sample {worst} has the largest share "
        "of it; its sentence says which way to move its α."
    )


def _gap(result: SVMResult) -> str:
    return f"{100 * result.gap:.3g} %" if result.gap >= 1e-4 else f"{result.gap:.1g}"
