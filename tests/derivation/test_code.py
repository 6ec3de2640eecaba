"""The code beside an equation is the equation: it runs as it is written, and has the values that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_displayed import MANY, ONE, SEVERAL, name, problem_of

import qpsvm
from qpsvm.derivation.expressions import Equation, Line
from qpsvm.derivation.steps import letters as of
from qpsvm.machines import JointProblem
from qpsvm.program.solution import primal_residual

#: What stands in code for functions of NumPy and of the library.
FUNCTIONS: dict[str, Any] = {
    "norm": np.linalg.norm, "sum": np.sum, "abs": np.abs, "maximum": np.maximum, "minimum": np.minimum,
    "sqrt": np.sqrt, "mean": np.mean, "diag": np.diag, "max": np.max, "tile": np.tile,
    "primal_residual": primal_residual,
}  # fmt: skip
CASES = [
    *((machine, intercept, "linear", weighted, rows) for machine in MANY for intercept, weighted, rows in (
        ("free", True, False), ("penalised", False, True), (None, False, False))),
    *((machine, "", "linear", machine not in ("hard", "rank"), rows) for machine in ONE
      for rows in ((False, True) if machine != "all" else (False,))),
    *((machine, intercept, "linear", True, False) for machine in SEVERAL for intercept in ("free", "penalised")),
]  # fmt: skip


class Kernel(np.ndarray):
    """K as a matrix, and of two sets of samples."""

    def __call__(self, X: Any, Z: Any) -> Any:
        return np.asarray(X) @ np.asarray(Z).T


def letters_in(derivation: Any) -> dict[str, Any]:
    """Each letter by its name in code."""
    found: dict[str, Any] = {}
    for step in derivation:
        for side in [part for each in step.measure.lines if isinstance(each, Line) for part in each.sides]:
            found |= {each.python(): each for each in side.letters() if each.python().isidentifier()}
    return found


class Bound(dict[str, Any]):
    """The names of the code: each letter has its own value, and matrices are made of the samples."""

    def __init__(self, problem: Any, at: Any, letters: dict[str, Any]) -> None:
        super().__init__(FUNCTIONS | (several if isinstance(problem, JointProblem) else one)(problem, at))
        self.at, self.letters = at, letters

    def __missing__(self, name: str) -> Any:
        return self.letters[name].value(self.at)


def several(problem: Any, at: Any) -> dict[str, Any]:
    sample, rival = np.divmod(at.dual.places, at.dual.k)
    X, w, f = np.asarray(at.X), at.result.w, at.f
    return {
        "X": X, "K": X @ X.T + float(at.absorbed), "phi": lambda X: X, "w": w, "b": at.b, "f": f, "beta": at.beta,
        "result": at.result, "qp": problem.qp("dual"), "variables": at.dual.flat(at.alpha), "v": w[1] - w[0],
        "y": at.label, "i": np.arange(len(X)), "f_y": f[sample, at.label[sample]], "f_c": f[sample, rival],
        "w_y": w[at.label[sample]], "w_c": w[rival], "w_of_alpha": at.beta.T @ X,
        "sum_over_rivals": lambda alpha: np.bincount(sample, alpha, len(X)),
    }  # fmt: skip


def one(problem: Any, at: Any) -> dict[str, Any]:
    X, ball = np.asarray(at.X), isinstance(problem, qpsvm.SVDD)
    found: dict[str, Any] = {
        "X": X, "x": at.new_samples, "K": np.asarray(X @ X.T).view(Kernel), "phi": lambda X: X, "qp": at.dual,
        "result": at.result, "variables": at.dual_point, "w": at.w, "w_of_alpha": at.w_of_alpha, "beta": at.beta,
        "u": at.u, "D": np.diag(at.svm.curvature), "c": at.w, "c_of_alpha": at.w_of_alpha,
        "f": lambda X: X @ at.w + at.b,
    }  # fmt: skip
    if at.svm.n == at.svm.m:
        found["Q"] = X @ X.T * np.outer(at.y, at.y)
    if problem.intercept == "free" or isinstance(problem, (qpsvm.HardMargin, qpsvm.NuSVM, qpsvm.NuSVR)):
        free = of.free(at)
        found["M"] = free if at.svm.n == at.svm.m else np.logical_or(*np.split(free, 2))
    if isinstance(problem, qpsvm.PrimalHinge):
        found["c_svm"] = problem.equivalent_c_svm().qp("dual")
    if ball and problem.space.origin is not None:
        found["moved_by"] = problem.space.origin
    if ball:
        found["f"] = lambda X: 2 * (X @ at.w + at.b) - np.square(X).sum(axis=1)
    if isinstance(problem, qpsvm.Ranking):
        i, j = problem.pairs.T
        found |= {"i": i, "j": j, "A": at.svm.mix, "z": X[i] - X[j]}
    if problem.constraints:
        rows, pairs = at.rows, getattr(problem, "pairs", None)
        found["rows"] = X[found["i"]] - X[found["j"]] if pairs is not None else np.tile(X, (at.svm.m // len(X), 1))
        found |= {"G": rows.Z if rows.mix is None else rows.mix @ rows.Z, "Z": rows.Z, "A": rows.mix}
    return found


#: Steps that count what is rounding of a level as nothing, and the blocks of a QP.
ROUNDED = {
    "NUSVM.13",
    "NUSVR.13",
    "ONE.12",
    "SVDD.13",
    "QSVR.15",
    "NUSVR.16",
    "NUSVM.17",
    "ONE.15",
    "SVDD.16",
    "PHINGE.16",
}


def sides(equation: Equation) -> Iterator[tuple[Line, Any]]:
    for each in equation.lines:
        if isinstance(each, Line) and each.measured:
            yield from ((each, side) for side in each.sides)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_code_is_what_is_evaluated(case):
    problem = problem_of(*case)
    derivation = qpsvm.derive(problem, qpsvm.solve(problem, tol=1e-12, check=False))
    at, wrong, letters = derivation._quantities, [], letters_in(derivation)
    for step in derivation:
        if step.absent or step.tag in ROUNDED or step.measure.missing(at) or "dist" in step.latex:
            continue
        for each, side in sides(step.measure):
            if each.when is not None and not each.when(at):
                continue
            point = at if each.at is None else each.at(at)
            value = side.value(point)
            try:
                found = eval(side.python(), {"__builtins__": {}}, Bound(problem, point, letters))
                if not np.allclose(np.ravel(found), np.ravel(value), rtol=1e-7, atol=1e-8):
                    wrong.append(f"{step.tag}: {side.python()} = {found}, {value}".replace("\n", ""))
            except Exception as error:
                wrong.append(f"{step.tag}: {side.python()!r}: {error!r}")
    assert not wrong, "\n".join(wrong)
