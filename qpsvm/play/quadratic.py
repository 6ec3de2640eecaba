"""The dual QP as numbers: P, q, rows and box of a small problem, a heat map of P where it is larger; and the primal."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray, as_dense
from qpsvm.play.finite import number, numbers
from qpsvm.play.machines import MACHINES
from qpsvm.play.request import State
from qpsvm.problems import Problem
from qpsvm.result import SVMResult

#: Variables up to which every number is shown; and cells of the heat map a side.
MOST_SHOWN, MOST_CELLS = 14, 48
#: Samples up to which the primal is written out, too: of a kernel that takes a Cholesky factor, at every drag.
MOST_WRITTEN = 120


def quadratic(state: State, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """The dual of a problem, with what its rows are at the result's α."""
    qp, machine = problem.qp("dual"), MACHINES[state.machine].under(state.parameters)
    n, small = qp.n, qp.n <= MOST_SHOWN
    P = qp.P.dense()
    lower, upper = qp.bounds
    A = None if qp.A is None else as_dense(qp.A)
    rows = []
    for name, group in qp.constraints.items():
        if A is None or qp.b is None:
            continue
        for k in range(group.rows.start, group.rows.stop):
            rows.append({
                "name": name, "text": group.formula, "tag": machine.tags.get(name, ""),
                "coefficients": numbers(A[k]) if small else None, "sense": "=", "right": number(float(qp.b[k])),
                "left": number(float(A[k] @ result.alpha)),
            })  # fmt: skip
    box = {"text": machine.box, "tag": machine.tags.get("box", ""), "lower": numbers(lower) if small else None,
           "upper": numbers(upper) if small and np.isfinite(upper).any() else None}  # fmt: skip
    return {
        "form": "dual", "text": str(qp), "variables": _variables(n, machine.kind.sides), "objective": qp.formula,
        "n": n, "P": numbers(P) if small else None, "heat": None if small else _heat(P),
        "q": numbers(qp.q) if small else None, "rows": rows, "box": box, "objective_tag": problem.dual_tag,
        "primal": str(problem.qp("primal")) if problem.n <= MOST_WRITTEN else "",
    }  # fmt: skip


def _variables(n: int, sides: int) -> list[str]:
    """The names of n α; of a regression, those above f and then those below."""
    signs = ("",) if sides == 1 else ("⁺", "⁻")
    return [f"α{sign}{i}" for sign in signs for i in range(n // sides)]


def _heat(P: FloatArray) -> dict[str, Any]:
    """P in blocks of nearly equal size, each with the mean of its entries: at most `MOST_CELLS` a side."""
    n = len(P)
    k = min(n, MOST_CELLS)
    starts = np.arange(k) * n // k
    sizes = np.diff(np.append(starts, n))
    sums = np.add.reduceat(np.add.reduceat(P, starts, axis=0), starts, axis=1)
    return {"n": k, "values": numbers((sums / np.outer(sizes, sizes)).ravel())}
