"""A result in one or two sentences: what it means, and what to try next.

What went wrong, as a page can show it: a sentence, the field, what would work, and the proof where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.base.arrays.vectors import EPS
from qpsvm.base.errors import (
    IndefiniteKernelError,
    InfeasibleNuError,
    MarginNotFoundError,
    NotSeparableError,
    QPSVMError,
)
from qpsvm.faces.play.finite import numbers
from qpsvm.faces.play.machines import Machine
from qpsvm.faces.play.reply.checks import RequestError
from qpsvm.faces.play.reply.plane import proof_plane
from qpsvm.faces.play.request import Request
from qpsvm.machines import Problem
from qpsvm.program.solution import Status
from qpsvm.result.svm_result import SVMResult

#: Digits of a ν that is offered in place of one that is too large.
DIGITS = 4


def failure(
    number: int | None, error: QPSVMError, request: Request | None = None, problem: Problem | None = None
) -> dict[str, Any]:
    """The answer where there is no result."""
    answer: dict[str, Any] = {
        "id": number,
        "error": {"kind": type(error).__name__, "sentence": _sentence(error), "field": _field(error)},
    }
    if isinstance(error, InfeasibleNuError):
        scale = 10**DIGITS
        rounded = math.floor(error.nu_max * scale) / scale
        answer["hint"] = {"nu": rounded if rounded > 0.0 else error.nu_max}
    elif isinstance(error, IndefiniteKernelError):
        answer["hint"] = {"psd": "clip"}
    elif isinstance(error, MarginNotFoundError):
        answer["hint"] = {"machine": "c"}  # and no common point to draw
    elif isinstance(error, NotSeparableError):
        answer["hint"] = {"machine": "c"}
        state = None if request is None else request.state
        if request is not None and state is not None and problem is not None:
            answer["plane"] = proof_plane(request, state, problem, error)
            answer["samples"] = _proof_samples(error)
    return answer


def fault(number: int | None) -> dict[str, Any]:
    """The answer to a request that showed a fault of ours."""
    sentence = "The library failed on this request: what the server printed says where. Undo the last change."
    return {"id": number, "error": {"kind": "Fault", "sentence": sentence, "field": None}}


def _sentence(error: QPSVMError) -> str:
    """The error for somebody who looks at a page, on one line with a full stop."""
    if isinstance(error, NotSeparableError):
        plus, minus = int((error.u > 0).sum()), int((error.v > 0).sum())
        return (
            f"The classes cannot be separated: their hulls meet. A mixture of {_count(plus, 'positive')} is the same "
            f"point as a mixture of {_count(minus, 'negative')}. Choose the C-SVM, or another kernel."
        )
    if isinstance(error, MarginNotFoundError):
        known = "can be separated, but by a margin" if error.separable else "may be separated, but only by a margin"
        return f"The classes {known} too narrow for doubles. Choose the C-SVM, or another kernel."
    if isinstance(error, InfeasibleNuError):
        return (
            f"ν = {error.nu:g} is too large: with these classes it is {error.nu_max:.4g} at the most, twice the share "
            "of the smaller class. Lower ν, or add samples to the smaller class."
        )
    if isinstance(error, IndefiniteKernelError):
        return (
            f"The kernel matrix is indefinite: it has the eigenvalue {error.eigenvalue:.4g} {error.where}, so the dual "
            "is not convex. Set psd to clip or shift, or choose other kernel parameters."
        )
    line = " ".join(str(error).split())
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _count(number: int, sign: str) -> str:
    return f"{number} {sign} sample{'' if number == 1 else 's'}"


def _field(error: QPSVMError) -> str | None:
    if isinstance(error, RequestError):
        return error.field
    if isinstance(error, InfeasibleNuError):
        return "nu"
    if isinstance(error, IndefiniteKernelError):
        return "psd"
    return "machine" if isinstance(error, (NotSeparableError, MarginNotFoundError)) else None


def _proof_samples(error: NotSeparableError) -> Mapping[str, Any]:
    """The weights of the common point, and a sentence for each sample."""
    share = error.u + error.v
    verdict = [
        f"The point where the hulls meet takes {weight:.3g} of this sample." if weight > 0.0
        else "This sample has no part in the point where the hulls meet."
        for weight in share
    ]  # fmt: skip
    return {"share": numbers(share), "verdict": verdict}


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
