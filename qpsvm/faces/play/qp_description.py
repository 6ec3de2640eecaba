"""Describe the QP of a problem for the page: its formula, and its matrices, averaged if large (`describe_qp`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.faces.play.checks import to_json_list, to_json_number
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.request import PageState
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Variables up to which every number is shown; and cells of the heat map a side.
MOST_SHOWN, MOST_CELLS = 14, 48
#: Samples up to which the primal is written out, too: of a kernel that takes a Cholesky factor, at every drag.
MOST_WRITTEN = 120


def describe_qp(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """Describe the dual of a problem, with the values of its rows at the result's α."""
    qp, machine = problem.qp("dual"), MACHINES[state.machine].select_notation(state.parameters)
    n, small = qp.n, qp.n <= MOST_SHOWN
    P = qp.P.dense()
    lower, upper = qp.bounds
    A = None if qp.A is None else as_dense(qp.A)
    rows = []
    for name, group in qp.constraints.items():
        if A is None or qp.b is None:
            continue
        for k in range(group.rows.start, group.rows.stop):
            rows.append(
                {
                    "name": name,
                    "text": group.formula,
                    "tag": machine.tags.get(name, ""),
                    "coefficients": to_json_list(A[k]) if small else None,
                    "sense": "=",
                    "right": to_json_number(float(qp.b[k])),
                    "left": to_json_number(float(A[k] @ result.alpha)),
                }
            )
    box = {"text": machine.box, "tag": machine.tags.get("box", ""), "lower": to_json_list(lower) if small else None,
           "upper": to_json_list(upper) if small and np.isfinite(upper).any() else None}  # fmt: skip
    return {
        "form": "dual",
        "text": str(qp),
        "variables": _name_variables(n, machine.kind._variables_per_sample),
        "objective": qp.formula,
        "n": n,
        "P": to_json_list(P) if small else None,
        "heat": None if small else _average_blocks(P),
        "q": to_json_list(qp.q) if small else None,
        "rows": rows,
        "box": box,
        "objective_tag": problem._dual_tag,
        "primal": str(problem.qp("primal")) if problem.n <= MOST_WRITTEN else "",
    }


def _name_variables(n: int, sides: int) -> list[str]:
    """Name n α; for a regression those above f, then those below."""
    signs = ("",) if sides == 1 else ("⁺", "⁻")
    return [f"α{sign}{i}" for sign in signs for i in range(n // sides)]


def _average_blocks(P: FloatArray) -> dict[str, Any]:
    """Average P over blocks of nearly equal size, at most `MOST_CELLS` per side."""
    n = len(P)
    k = min(n, MOST_CELLS)
    starts = np.arange(k) * n // k
    sizes = np.diff(np.append(starts, n))
    sums = np.add.reduceat(np.add.reduceat(P, starts, axis=0), starts, axis=1)
    return {"n": k, "values": to_json_list((sums / np.outer(sizes, sizes)).ravel())}
