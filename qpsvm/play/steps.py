"""The equations of a machine with their code, and the residual of each at a result."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from qpsvm.arrays.types import FloatArray
from qpsvm.derivation import Step, derive
from qpsvm.derivation.page import mathml
from qpsvm.errors import MissingExtraError
from qpsvm.play.catalogue import KERNELS
from qpsvm.play.machines import toy
from qpsvm.play.request import State
from qpsvm.problems import Problem
from qpsvm.result import SVMResult

#: Machines with their parameters and kernels whose equations are kept.
KEPT = 64


def measured(problem: Problem, result: SVMResult, alpha: FloatArray | None = None) -> dict[str, Any]:
    """Both sides of each equation by its tag, at a result; or at an α (n,) as it stands, feasible or not."""
    derivation = derive(problem, result) if alpha is None else derive(problem, alpha=alpha)
    return {"headline": derivation.headline, "trusted": derivation.shown().trusted, "steps": derivation.sides()}


def equations(state: State) -> dict[str, Any]:
    """The equations, which change only with machine and kernel."""
    values = {name: value for name, value in state.parameters.items() if name != "nu"}  # any ν has the same equations
    known = _equations(state.machine, json.dumps(values), state.kernel, json.dumps(dict(state.kernel_parameters)))
    return {"machine": state.machine, "steps": list(known)}


@lru_cache(maxsize=KEPT)
def _equations(machine: str, parameters: str, kernel: str, kernel_parameters: str) -> tuple[dict[str, Any], ...]:
    values = json.loads(kernel_parameters)
    problem = toy(machine, json.loads(parameters), KERNELS[kernel].make(values), values.get("psd", "raise"))
    return tuple(_shown(step) for step in derive(problem))


def _shown(step: Step) -> dict[str, Any]:
    shown = step.shown()
    code = shown.code.excerpt or shown.code
    return {
        "tag": step.tag, "title": step.title, "text": step.text, "statement": step.statement, "latex": step.latex,
        "mathml": "" if step.absent else _mathml(step.latex), "absent": step.absent,
        "construction": shown.by_construction, "where": shown.code.where, "code": code.text, "lines": list(code.lines),
    }  # fmt: skip


def _mathml(latex: str) -> str:
    """The equation for a browser, "" where the package that makes it is not installed."""
    try:
        return mathml(latex)
    except MissingExtraError:
        return ""
