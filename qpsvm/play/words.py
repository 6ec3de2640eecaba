"""A result in one or two sentences: what it means, and what to try next."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.quantile import EPS
from qpsvm.play.machines import Machine
from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult

#: The width of an interval, as a share of its ends, that is worth telling.
SEEN = 1e-6


def sentence(result: SVMResult, machine: Machine, norm: float) -> str:
    """What a solved result means; `norm` is ‖w‖."""
    if result.status is not Status.OPTIMAL:
        known = f" The certified gap is {_gap(result)}." if np.isfinite(result.gap) else ""
        return f"{result.status.sentence}{known}"
    within = max(result.gap, EPS)  # less than one rounding of the objective is not worth telling
    point = {"labels": "(w, b)", "numbers": "(w, b)", "none": "(w, ρ)"}[machine.learnt]
    point = "(c, R)" if "radius" in result.extras else point
    certified = f"Optimal, and certified: no other α or {point} is better by more than {within:.1g} of the objective."
    meaning = _MEANINGS[machine.learnt](result, machine, norm)
    return f"{certified} {meaning}".rstrip()


def _of_classes(result: SVMResult, machine: Machine, norm: float) -> str:
    low, high = result.b_interval
    if result.rho == 0.0:
        return "The reduced hulls meet, so w = 0: choose a larger ν."
    if not len(result.support):
        return "Every α is 0, so that f is constant."
    if norm == 0.0:
        return "The classes pull w both ways, and it is 0: f is constant, so there is no boundary."
    if not machine.curved and not len(result.on_margin) and low < high:
        return f"No sample is on the margin: any b from {low:.4g} to {high:.4g} is as good."
    if machine.tighter and len(result.at_bound) > len(result.alpha) / 2:
        return f"More than half of the samples pay for slack: {machine.tighter} for a narrower margin."
    return ""


def _of_regression(result: SVMResult, machine: Machine, norm: float) -> str:
    low, high = result.b_interval
    if not np.any(result.coef):
        return "Every sample is inside the tube, so that no α is needed and f is constant."
    if norm == 0.0:
        return "The samples pull w both ways, and it is 0: f is constant."
    if result.extras.get("epsilon", 1.0) <= 0.0:
        return "ε is 0, so the tube is f itself: a smaller ν gives it a width."
    if not machine.curved and not len(result.on_margin) and high - low > SEEN * (abs(low) + abs(high)):
        return f"No sample holds the curve: any b from {low:.4g} to {high:.4g} is as good."
    if machine.tube and len(result.at_bound) > len(result.kind) / 2:
        return "More than half of the samples are beyond the tube: raise C, or ε, or choose a kernel that bends."
    return ""


def _of_novelty(result: SVMResult, machine: Machine, norm: float) -> str:
    del machine
    if "radius" in result.extras:
        return "The ball is one point: every sample is paid for, or all are alike." if result.radius == 0.0 else ""
    if norm == 0.0:
        return "The origin is a mixture of the samples, so w = 0: lower ν, or choose the RBF kernel."
    low, high = result.intervals.get("rho", (0.0, 0.0))
    if low < high == np.inf:
        return "Every sample is at its bound: any larger ρ is as good."
    return ""


_MEANINGS = {"labels": _of_classes, "numbers": _of_regression, "none": _of_novelty}


def verdict_on_yours(result: SVMResult, machine: Machine, changed: bool) -> str:
    """What the certificate says of an α that the user holds, or of what it was `changed` to, to be compared."""
    this = "What came of this α" if changed else "This α"
    if result.status is Status.OPTIMAL:
        return f"{this} is optimal: the gap is {_gap(result)}."
    if not np.isfinite(result.gap):
        said = "f separates no classes, so " if machine.learnt == "labels" else ""
        return f"{this} bounds nothing yet: {said}no primal point comes with it."
    this = this[0].lower() + this[1:]
    terms = result.terms.reshape(-1, len(result.kind)).sum(axis=0)
    return (
        f"The gap is {_gap(result)}: so far may {this} be from the optimum. Sample {int(np.argmax(terms))} has "
        "the largest share of it; its sentence says which way to move its α."
    )


def _gap(result: SVMResult) -> str:
    return f"{100 * result.gap:.3g} %" if result.gap >= 1e-4 else f"{result.gap:.1g}"
