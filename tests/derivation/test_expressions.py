"""One expression for an equation: what is displayed is what is measured, at an optimum, at any α and at any w, b, ξ.

`test_displayed` reads the LaTeX with a parser of its own, `test_mutants` changes terms; here they are evaluated against
the QPs at random points.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from each import for_each
from test_displayed import BALL_ROWS, INTERCEPTS, MANY, problem_of

import qpsvm
from qpsvm.derivation.constraint_quantities import build_quantities
from qpsvm.derivation.expressions import line
from qpsvm.derivation.letter_builder import latex_to_text, letter
from qpsvm.derivation.registry import STEPS
from qpsvm.derivation.term_builders import HALF, dot, total
from qpsvm.derivation.terms import SUM

# --- a term -----------------------------------------------------------------------------------------------------------


def test_a_term_is_written_and_evaluated_from_the_same_parts():
    C, xi = letter("C_i"), letter(r"\xi_i")
    f = letter(r"f(x_i)-f(x_j)", "f", "f", rank=SUM)

    class Point:
        C = np.array([1.0, 2.0])
        xi = np.array([3.0, 0.5])
        f = np.array([1.0, -1.0])

    whole = HALF * total(C * (1 - xi) ** 2) - f / (2 * C)
    assert whole.latex() == (r"\tfrac12\sum_iC_i {(1-\xi_i)}^2-\tfrac{f(x_i)-f(x_j)}{2C_i}")
    assert whole.text() == "½Σ C_i (1 − ξ_i)² − (f(x_i) − f(x_j))/(2C_i)"
    assert whole.python() == "0.5 * sum(C * (1 - xi)**2) - (f) / (2 * C)"
    assert whole.value(Point) == pytest.approx(eval(whole.python(), vars(Point) | {"sum": np.sum}))
    assert (C - (C - xi)).latex() == r"C_i-(C_i-\xi_i)"
    assert (C + -xi).text() == "C_i − ξ_i"
    assert dot(1, C).latex() == r"1^{\top}C"
    assert latex_to_text(r"\langle w,\varphi(x_i)\rangle") == "⟨w, φ(x_i)⟩"


def test_a_line_is_measured_where_it_is_displayed():
    a, b = letter("a_i"), letter("b_i")

    class Point:
        a, b = np.array([1.0, 5.0]), np.array([1.0, 4.0])

        def name_entry(self, place, i, _):
            return f"{place} {i}"

    (sides,) = line(a, "≤", b, place="entry").iter_sides(Point())
    assert (sides.left, sides.right, sides.relation, sides.residual) == (5.0, 4.0, "≤", 0.25)
    assert sides.description == "a_i, and b_i, of entry 1"
    assert not list(line(a, "≤", b, rows=lambda at: at.a > 9).iter_sides(Point()))


# --- every machine ----------------------------------------------------------------------------------------------------


@for_each("machine, intercept", [(machine, intercept) for machine in MANY for intercept in INTERCEPTS])
def test_primal_and_dual_are_the_qps_at_random_points(machine, intercept):
    problem = problem_of(machine, intercept, "linear", True, False)
    rng = np.random.default_rng(4)
    own = build_terms_of(problem)
    at = build_quantities(problem, qpsvm.solve(problem))
    for _ in range(3):
        qp = problem.qp("primal")
        x = rng.normal(size=qp.n)
        given = {key: x[part] for key, part in qp.variables.items()}
        b = float(given["b"][0]) if "b" in given else 0.0
        slack = np.concatenate([given[key] for key in ("xi", "xi_star") if key in given])
        zeta = given.get("zeta", np.zeros(len(slack)))
        w = given["w"]
        point = at.with_symbols(values=problem.X @ w + b, b=b, square_of_w=float(w @ w), xi=slack + zeta, zeta=zeta)
        point.__dict__["zeta"] = zeta if machine == "huber" else slack
        assert own.objective.value(point) == pytest.approx(qp.objective(x), rel=1e-10)
        rooms = [rows.constraint.sides for rows in own.rows]
        room = [(r.value(point) - f.value(point)) * (1 if rows.constraint.relations[0] == "≤" else -1)
                for (f, r), rows in zip(rooms, own.rows, strict=True)]  # fmt: skip
        assert np.concatenate(room) == pytest.approx(qp.h - qp.G @ x, rel=1e-9, abs=1e-9)
        alpha = rng.normal(size=len(at.alpha))
        other = build_quantities(problem, replace(at.result, alpha=alpha))
        assert own.build_dual_value().value(other) == pytest.approx(-problem.qp("dual").objective(alpha), rel=1e-10)
        assert own.dual_objective.value(other) == pytest.approx(problem.qp("dual").objective(alpha), rel=1e-10)


def build_terms_of(problem: Any) -> Any:
    return inspect.getmodule(STEPS[type(problem)]).build_terms(problem)


def test_rows_of_a_user_are_terms_too():
    problem = qpsvm.SVDD(problem_of("ball", "", "linear", False, False).X, nu=0.4, constraints=BALL_ROWS)
    shown = {step.tag: step for step in qpsvm.derive(problem)}
    assert r"\sum_l A_{jl}K(z_l,z_l)" in shown["OWN.4"].latex
    assert not any("<function" in text for step in shown.values() for text in (step.latex, step.measure.python("")))


@for_each("kernel", ["linear", "rbf"])
def test_sums_over_other_coefficients_are_made_anew(kernel):
    problem = problem_of("c", "free", kernel, False, False)
    at = build_quantities(problem, qpsvm.solve(problem))
    assert at.sum_kernels(2 * at.beta) == pytest.approx(2 * at.u, rel=1e-9)
