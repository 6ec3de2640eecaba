"""Describe the QP of a problem for the page: its formula, and its matrices, averaged if large (`describe_qp`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.faces.play.checks import to_json_list, to_json_number
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.request import PageState
from qpsvm.machines import Problem
from qpsvm.program.qp import QP
from qpsvm.result.svm_result import SVMResult

#: Largest number of variables for which every number is shown, and of cells per side of the heat map of a larger P.
MAX_VARIABLES, MAX_CELLS = 14, 48
#: Largest number of samples for which the primal is written out: with a kernel, each drag takes a Cholesky factor.
MAX_PRIMAL_SAMPLES = 120


def describe_qp(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """Describe the dual of a problem, with the values of its rows at the result's α."""
    qp = problem.qp("dual")
    machine = MACHINES[state.machine].select_notation(state.parameters)
    is_small = qp.n <= MAX_VARIABLES
    P = qp.P.dense()
    lower, upper = qp.bounds
    box = {
        "text": machine.box,
        "tag": machine.tags.get("box", ""),
        "lower": to_json_list(lower) if is_small else None,
        "upper": to_json_list(upper) if is_small and np.isfinite(upper).any() else None,
    }
    return {
        "form": "dual",
        "text": str(qp),
        "variables": _name_variables(qp.n, machine.kind._variables_per_sample),
        "objective": qp.formula,
        "n": qp.n,
        "P": to_json_list(P) if is_small else None,
        "heat": None if is_small else _average_blocks(P),
        "q": to_json_list(qp.q) if is_small else None,
        "rows": _describe_rows(qp, machine.tags, result.alpha, is_small),
        "box": box,
        "objective_tag": problem._dual_tag,
        "primal": str(problem.qp("primal")) if problem.n <= MAX_PRIMAL_SAMPLES else "",
    }


def _describe_rows(qp: QP, tags: Mapping[str, str], alpha: FloatArray, is_small: bool) -> list[dict[str, Any]]:
    """Describe the equalities of a dual, with their left sides at α (n,); the coefficients only if it is small."""
    if qp.A is None or qp.b is None:
        return []
    A = as_dense(qp.A)
    return [
        {
            "name": name,
            "text": group.formula,
            "tag": tags.get(name, ""),
            "coefficients": to_json_list(A[k]) if is_small else None,
            "sense": "=",
            "right": to_json_number(float(qp.b[k])),
            "left": to_json_number(float(A[k] @ alpha)),
        }
        for name, group in qp.constraints.items()
        for k in range(group.rows.start, group.rows.stop)
    ]


def _name_variables(n: int, variables_per_sample: int) -> list[str]:
    """Return the names of all α; those of a regression are the α⁺ of all samples, then the α⁻."""
    signs = ("",) if variables_per_sample == 1 else ("⁺", "⁻")
    return [f"α{sign}{i}" for sign in signs for i in range(n // variables_per_sample)]


def _average_blocks(P: FloatArray) -> dict[str, Any]:
    """Average P over blocks of nearly equal size, at most `MAX_CELLS` per side."""
    n = len(P)
    k = min(n, MAX_CELLS)
    starts = np.arange(k) * n // k
    sizes = np.diff(np.append(starts, n))
    sums = np.add.reduceat(np.add.reduceat(P, starts, axis=0), starts, axis=1)
    return {"n": k, "values": to_json_list((sums / np.outer(sizes, sizes)).ravel())}
