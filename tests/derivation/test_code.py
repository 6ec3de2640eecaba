"""The code beside an equation is the equation: it runs as displayed, is true, and has the values that were measured."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from each import for_each
from test_displayed import MANY, ONE, SEVERAL, SIGNS, X, cases, name, problem_of

import qpsvm
from qpsvm.derivation.expressions import Equation, EquationLine
from qpsvm.derivation.names import collect_names

#: Steps that count what is rounding of a level as nothing, and the blocks of a QP.
ROUNDED = {
    f"{machine}.{step}" for machine, steps in {"NUSVM": (13, 17), "NUSVR": (13, 16), "ONE": (12, 15), "SVDD": (13, 16),
                                               "QSVR": (15,), "PHINGE": (16,)}.items() for step in steps
}  # fmt: skip


def sides(equation: Equation) -> Iterator[tuple[EquationLine, Any]]:
    for each in equation.lines:
        if isinstance(each, EquationLine) and each.measured:
            yield from ((each, side) for side in each.sides)


def statements(derivation: Any) -> Iterator[tuple[str, str, Any]]:
    """Tag, code and value of each statement that is displayed, run one after another as a reader would paste them."""
    names = derivation.names()
    for step in derivation:
        if step.absent or derivation.sides()[step.tag]["reason"]:
            continue
        here = dict(names)
        for node in ast.parse(step.code).body:
            if isinstance(node, ast.Expr):
                yield step.tag, ast.unparse(node), eval(ast.unparse(node), here)
            else:
                exec(ast.unparse(node), here)


@pytest.mark.parametrize("machine", MANY | ONE | SEVERAL)
def test_what_is_displayed_can_be_pasted_is_true_and_has_the_values_that_are_measured(machine):
    for case in (case for case in cases() if case[0] == machine):
        problem = problem_of(*case)
        derivation = qpsvm.derive(problem, qpsvm.solve(problem, tol=1e-12, check=False))
        found = list(statements(derivation))
        assert len({tag for tag, _, _ in found}) >= 10
        assert [each for each in found if each[2] is not True] == [], name(case)
        if case[2] != "linear" or (machine in SEVERAL and case[1] is None):
            continue  # other coordinates of φ, or two classes with the same w, whose margin is 0/0
        wrong = list(wrong_values(derivation))
        assert not wrong, name(case) + "\n" + "\n".join(wrong)


def wrong_values(derivation: Any) -> Iterator[str]:
    """Sides of which the code has another value than the term."""
    at = derivation._quantities
    names = derivation.names()
    for step in derivation:
        if step.absent or step.tag in ROUNDED or step.measure.explain_unmeasurable(at) or "dist" in step.latex:
            continue
        for each, side in sides(step.measure):
            if not side.python() or (each.when is not None and not each.when(at)):
                continue
            point = at if each.map_point is None else each.map_point(at)
            here = names | {
                "M": getattr(each.setup_code and eval(each.setup_code[4:], dict(names)), "copy", lambda: None)()
            }
            here |= {} if each.map_point is None else collect_names([step], point)
            found = eval(side.python(), here)
            value = side.value(point)
            if not np.allclose(np.ravel(found), np.ravel(value), rtol=1e-7, atol=1e-8):
                yield f"{step.tag}: {side.python()} = {found}, {value}".replace("\n", "")


@for_each("machine", ["c", "hinge", "squared", "huber", "svr", "quantile", "nu", "one", "ball", "rank"])
def test_what_is_displayed_is_false_where_alpha_is_not_optimal(machine):
    problem = problem_of(machine, "free" if machine in MANY else "", "rbf", False, False)
    start = np.random.default_rng(2).uniform(0.2, 0.8, problem._n_dual_variables)
    found = list(statements(qpsvm.derive(problem, problem.at(start))))
    titles = {step.tag: step.title for step in qpsvm.derive(problem)}
    false = {titles[tag] for tag, _, holds in found if not holds}
    assert {"Complementary slackness", "Strong duality"} <= false
    assert not false & {"Dual feasibility", "Weak duality", "Stationarity in w"}


@for_each("options", [{"kernel": "precomputed"}, {"kernel": "sigmoid", "psd": "clip"}, {"kernel": qpsvm.Polynomial(2)}])
def test_other_kernels_have_names_too(options):
    samples = X @ X.T if options.get("kernel") == "precomputed" else X
    problem = qpsvm.CSVM(samples, SIGNS, **options)
    derivation = qpsvm.derive(problem, qpsvm.solve(problem, tol=1e-10, check=False))
    assert [each for each in statements(derivation) if not each[2]] == []


def test_names_need_a_result():
    with pytest.raises(qpsvm.ParameterTypeError, match=r"derive\(problem, solve\(problem\)\)\.names\(\)"):
        qpsvm.derive(qpsvm.CSVM).names()
