"""What went wrong, as a page can show it: a sentence, the field, what would work, and the proof where there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from qpsvm.errors import IndefiniteKernelError, InfeasibleNuError, MarginNotFoundError, NotSeparableError, QPSVMError
from qpsvm.play.checks import RequestError
from qpsvm.play.finite import numbers
from qpsvm.play.plane import proof_plane
from qpsvm.play.request import Request
from qpsvm.problems import Problem

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
