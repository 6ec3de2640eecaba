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

#: How many lists of equations are cached: each machine with its parameters and kernel has one.
CACHE_SIZE = 64


def measure_equations(problem: Problem, result: SVMResult, alpha: FloatArray | None = None) -> dict[str, Any]:
    """Measure both sides of each equation, by tag, at a result or at an α (m,), feasible or not."""
    if alpha is None:
        derivation = derive(problem, result)
    else:
        derivation = derive(problem, alpha=alpha)
    return {"headline": derivation.headline, "trusted": derivation.trusted, "steps": derivation.sides()}


def list_equations(state: PageState) -> dict[str, Any]:
    """List the equations, which depend on machine and kernel only."""
    values = {name: value for name, value in state.parameters.items() if name != "nu"}  # any ν has the same equations
    kernel_values = json.dumps(dict(state.kernel_parameters))
    steps = _derive_equations(state.machine, json.dumps(values), state.kernel, kernel_values)
    return {"machine": state.machine, "steps": list(steps)}


@lru_cache(maxsize=CACHE_SIZE)
def _derive_equations(machine: str, values: str, kernel_name: str, kernel_values: str) -> tuple[dict[str, Any], ...]:
    """Derive the equations of a machine over a toy problem; the values are JSON, which a cache can have as keys."""
    parameters = json.loads(kernel_values)
    kernel = KERNELS[kernel_name].build_kernel(parameters)
    problem = build_toy_problem(machine, json.loads(values), kernel, parameters.get("psd", "raise"))
    return tuple(_step_to_json(step) for step in derive(problem))


def _step_to_json(step: Step) -> dict[str, Any]:
    """Return a step for the page, with its code; of long code only the lines around the equation."""
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
