"""List the equations of a derivation for the page, and measure them at a result (`list_equations`)."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import MissingExtraError
from qpsvm.derivation import Step, derive
from qpsvm.derivation.written.page import mathml
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import build_toy_problem
from qpsvm.faces.play.request import PageState
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Machines with their parameters and kernels whose equations are kept.
CACHE_SIZE = 64


def measure_equations(problem: Problem, result: SVMResult, alpha: FloatArray | None = None) -> dict[str, Any]:
    """Measure both sides of each equation, by tag, at a result or at an α (n,), feasible or not."""
    if alpha is None:
        derivation = derive(problem, result)
    else:
        derivation = derive(problem, alpha=alpha)
    return {"headline": derivation.headline, "trusted": derivation.trusted, "steps": derivation.sides()}


def list_equations(state: PageState) -> dict[str, Any]:
    """List the equations, which depend on machine and kernel only."""
    values = {name: value for name, value in state.parameters.items() if name != "nu"}  # any ν has the same equations
    known = _derive_equations(
        state.machine, json.dumps(values), state.kernel, json.dumps(dict(state.kernel_parameters))
    )
    return {"machine": state.machine, "steps": list(known)}


@lru_cache(maxsize=CACHE_SIZE)
def _derive_equations(machine: str, parameters: str, kernel: str, kernel_parameters: str) -> tuple[dict[str, Any], ...]:
    values = json.loads(kernel_parameters)
    problem = build_toy_problem(
        machine, json.loads(parameters), KERNELS[kernel].build_kernel(values), values.get("psd", "raise")
    )
    return tuple(_step_to_json(step) for step in derive(problem))


def _step_to_json(step: Step) -> dict[str, Any]:
    shown = step.shown()
    code = shown.code.excerpt or shown.code
    return {
        "tag": step.tag, "title": step.title, "text": step.text, "statement": step.statement, "latex": step.latex,
        "mathml": "" if step.absent else _render_mathml(step.latex), "absent": step.absent,
        "construction": shown.by_construction, "where": shown.code.where, "code": code.text, "lines": list(code.lines),
    }  # fmt: skip


def _render_mathml(latex: str) -> str:
    """Render the equation as MathML; "" if the required package is not installed."""
    try:
        return mathml(latex)
    except MissingExtraError:
        return ""
