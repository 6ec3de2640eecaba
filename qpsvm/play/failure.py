"""What went wrong, as a page can show it: a sentence, the field, what would work, and the proof where there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from qpsvm.errors import IndefiniteKernelError, InfeasibleNuError, NotSeparableError, QPSVMError
from qpsvm.play.checks import RequestError
from qpsvm.play.finite import numbers
from qpsvm.play.plane import proof_plane
from qpsvm.play.request import Request, State
from qpsvm.problems import Problem

#: Digits of a ν that is offered in place of one that is too large.
DIGITS = 4


def failure(
    number: int | None, error: QPSVMError, request: Request | None = None, problem: Problem | None = None
) -> dict[str, Any]:
    """The answer where there is no result."""
    answer: dict[str, Any] = {
        "id": number,
        "error": {"kind": type(error).__name__, "sentence": _sentence(str(error)), "field": _field(error)},
    }
    if isinstance(error, InfeasibleNuError):
        scale = 10**DIGITS
        rounded = math.floor(error.nu_max * scale) / scale
        answer["hint"] = {"nu": rounded if rounded > 0.0 else error.nu_max}
    elif isinstance(error, IndefiniteKernelError):
        answer["hint"] = {"psd": "clip"}
    elif isinstance(error, NotSeparableError):
        answer["hint"] = {"machine": "c"}
        state = None if request is None else request.state
        if request is not None and state is not None and problem is not None:
            answer["plane"] = proof_plane(request, state, problem, error)
            answer["samples"] = _proof_samples(state, error)
    return answer


def fault(number: int | None) -> dict[str, Any]:
    """The answer to a request that showed a fault of ours."""
    sentence = "The library failed on this request: what the server printed says where. Undo the last change."
    return {"id": number, "error": {"kind": "Fault", "sentence": sentence, "field": None}}


def _sentence(text: str) -> str:
    """On one line, with a capital and a full stop, as the page shows it."""
    line = " ".join(text.split())
    return f"{line[:1].upper()}{line[1:]}{'' if line.endswith(('.', '!', '?')) else '.'}"


def _field(error: QPSVMError) -> str | None:
    if isinstance(error, RequestError):
        return error.field
    if isinstance(error, InfeasibleNuError):
        return "nu"
    if isinstance(error, IndefiniteKernelError):
        return "psd"
    return "machine" if isinstance(error, NotSeparableError) else None


def _proof_samples(state: State, error: NotSeparableError) -> Mapping[str, Any]:
    """The weights of the common point, and a sentence for each sample."""
    share = error.u + error.v
    verdict = [
        f"The point where the hulls meet takes {weight:.3g} of this sample." if weight > 0.0
        else "This sample has no part in the point where the hulls meet."
        for weight in share
    ]  # fmt: skip
    return {"share": numbers(share), "label": [int(label) for label in state.labels], "verdict": verdict}
