"""One expression for an equation: what is displayed is what is measured, at an optimum, at any α and at any w, b, ξ.

`test_displayed` reads the LaTeX with a parser of its own; here the terms themselves are evaluated, against the QPs and
at random points, and changed: a factor or a sign that is wrong in any term of a machine has to be seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from test_displayed import BALL_ROWS, MANY, ONE, cases, name, problem_of

import qpsvm
from qpsvm.derivation.constraint_quantities import letters_of
from qpsvm.derivation.expressions import line
from qpsvm.derivation.registry import STEPS, steps_of
from qpsvm.derivation.residual import NotMeasurable
from qpsvm.derivation.terms import HALF, SUM, Term, dot, letter, plain, total

HOLDS, SEEN = 1e-8, 1e-6
IDENTITIES = ("Substitution", "Weak duality")


# --- a term -----------------------------------------------------------------------------------------------------------


def test_a_term_is_written_and_evaluated_from_the_same_parts():
    C, xi = letter("C_i"), letter(r"\xi_i")
    f = letter(r"f(x_i)-f(x_j)", "f", "f", rank=SUM)

    class Point:
        C, xi, f = np.array([1.0, 2.0]), np.array([3.0, 0.5]), np.array([1.0, -1.0])

    whole = HALF * total(C * (1 - xi) ** 2) - f / (2 * C)
    assert whole.latex() == (r"\tfrac12\sum_iC_i {(1-\xi_i)}^2-\tfrac{f(x_i)-f(x_j)}{2C_i}")
    assert whole.text() == "½Σ C_i (1 − ξ_i)² − (f(x_i) − f(x_j))/(2C_i)"
    assert whole.python() == "0.5 * sum(C * (1 - xi)**2) - (f) / (2 * C)"
    assert whole.value(Point) == pytest.approx(eval(whole.python(), vars(Point) | {"sum": np.sum}))
    assert (C - (C - xi)).latex() == r"C_i-(C_i-\xi_i)"
    assert (C + -xi).text() == "C_i − ξ_i"
    assert dot(1, C).latex() == r"1^{\top}C"
    assert plain(r"\langle w,\varphi(x_i)\rangle") == "⟨w, φ(x_i)⟩"


def test_a_line_is_measured_where_it_is_displayed():
    a, b = letter("a_i"), letter("b_i")

    class Point:
        a, b = np.array([1.0, 5.0]), np.array([1.0, 4.0])

        def name(self, place, i, _):
            return f"{place} {i}"

    (sides,) = line(a, "≤", b, place="entry").found(Point())
    assert (sides.left, sides.right, sides.relation, sides.residual) == (5.0, 4.0, "≤", 0.25)
    assert sides.of == "a_i, and b_i, of entry 1"
    assert not list(line(a, "≤", b, rows=lambda at: at.a > 9).found(Point()))


# --- every machine ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in cases() if case[0] in MANY | ONE], ids=name)
def test_what_is_measured_holds_at_the_optimum_and_identities_do_at_any_point(case):
    problem = problem_of(*case)
    result = qpsvm.solve(problem, tol=1e-13, check=False)
    residuals = qpsvm.derive(problem, result).residuals()
    assert {tag: r for tag, r in residuals.items() if r > HOLDS} == {}
    rng = np.random.default_rng(2)
    start = rng.uniform(0.0, 1.0, len(result.alpha)) * np.minimum(result.upper, 2.0)
    if case[4]:
        return
    feasible = problem.at(start)
    moved = replace(feasible.model, b=feasible.model.b + 0.3)
    other = replace(feasible, b=feasible.b + 0.3, model=moved)
    for point in (feasible, other) if case[1] == "free" else (feasible,):
        for step in qpsvm.derive(problem):
            if step.title in IDENTITIES and not (problem.intercept == "penalised" and step.title == "Substitution"):
                found = step.residual(problem, point)
                assert found <= HOLDS or np.isnan(found), (step.tag, found)


@pytest.mark.parametrize("machine", ["c", "hinge", "squared", "huber", "svr", "svr2", "quantile"])
@pytest.mark.parametrize("intercept", ["free", "penalised", None])
def test_primal_and_dual_are_the_qps_at_random_points(machine, intercept):
    problem, rng = problem_of(machine, intercept, "linear", True, False), np.random.default_rng(4)
    own, at = argument_of(problem), letters_of(problem, qpsvm.solve(problem))
    for _ in range(3):
        qp = problem.qp("primal")
        x = rng.normal(size=qp.n)
        given = {key: x[part] for key, part in qp.variables.items()}
        b = float(given["b"][0]) if "b" in given else 0.0
        slack = np.concatenate([given[key] for key in ("xi", "xi_star") if key in given])
        zeta = given.get("zeta", np.zeros(len(slack)))
        w = given["w"]
        point = at.changed(values=problem.X @ w + b, b=b, square_of_w=float(w @ w), xi=slack + zeta, zeta=zeta)
        point.__dict__["zeta"] = zeta if machine == "huber" else slack
        assert own.objective.value(point) == pytest.approx(qp.objective(x), rel=1e-10)
        rooms = [rows.asked.sides for rows in own.rows]
        room = [(r.value(point) - f.value(point)) * (1 if rows.asked.relations[0] == "≤" else -1)
                for (f, r), rows in zip(rooms, own.rows, strict=True)]  # fmt: skip
        assert np.concatenate(room) == pytest.approx(qp.h - qp.G @ x, rel=1e-9, abs=1e-9)
        alpha = rng.normal(size=len(at.alpha))
        other = letters_of(problem, replace(at.result, alpha=alpha))
        assert own.value().value(other) == pytest.approx(-problem.qp("dual").objective(alpha), rel=1e-10)
        assert own.minimised.value(other) == pytest.approx(problem.qp("dual").objective(alpha), rel=1e-10)


# --- mutants ----------------------------------------------------------------------------------------------------------


def argument_of(problem: Any) -> Any:
    return inspect.getmodule(STEPS[type(problem)]).argument(problem)


def mutants(whole: Term) -> Iterator[Term]:
    """The term with one of its parts twice as large, or of a sum with the other sign."""
    for k, part in enumerate(whole.parts):
        changed = [2 * part] + ([-part] if whole.rank == SUM else [])
        for other in (*changed, *mutants(part)):
            yield replace(whole, parts=(*whole.parts[:k], other, *whole.parts[k + 1 :]))


def changed_arguments(whole: Any) -> Iterator[tuple[str, Any]]:
    """The argument of a machine with one of its terms changed."""
    for field in fields(whole):
        value = getattr(whole, field.name)
        if isinstance(value, Term):
            options = ((other.latex(), other) for other in mutants(value))
        elif isinstance(value, tuple):
            options = (
                (said, (*value[:k], other, *value[k + 1 :]))
                for k, part in enumerate(value)
                for said, other in ([(m.latex(), m) for m in mutants(part)] if isinstance(part, Term) else
                                    changed_arguments(part) if is_dataclass(part) else [])
            )  # fmt: skip
        else:
            continue
        for said, other in options:
            yield f"{field.name}: {said}", replace(whole, **{field.name: other})


def found(steps: Any, at: Any) -> list[float]:
    """The residuals of all that the steps compare at a point; NaN where nothing is to compare."""
    residuals = []
    for step in steps:
        try:
            with np.errstate(all="ignore"):
                residuals += [sides.residual for sides in step.measure(at)] if not step.absent else []
        except NotMeasurable:
            residuals += [float("nan")]
    return residuals


MUTATED = [("c", "free"), ("c", "penalised"), ("hinge", "penalised"), ("squared", "free"), ("huber", "free"),
           ("svr", "free"), ("svr2", "penalised"), ("quantile", "free"), ("hard", ""), ("nu", ""), ("nusvr", ""),
           ("one", ""), ("ball", ""), ("rank", "")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "intercept"), MUTATED)
def test_one_changed_term_of_a_machine_is_seen(machine, intercept, monkeypatch):
    problem, rng = (
        problem_of(machine, intercept, "linear", machine not in ("hard", "rank"), False),
        np.random.default_rng(6),
    )
    result = qpsvm.solve(problem, tol=1e-13, check=False)
    some = rng.uniform(0.1, 1.0, len(result.alpha)) * np.minimum(result.upper, 2.0)
    points = [letters_of(problem, result), letters_of(problem, problem.at(some)),
              letters_of(problem, replace(problem.at(some), alpha=some + 0.1))]  # fmt: skip
    own, module = argument_of(problem), inspect.getmodule(STEPS[type(problem)])
    usual = [found(steps_of(problem), at) for at in points]
    unseen, count = [], 0
    for said, changed in changed_arguments(own):
        if rng.uniform() > 0.7:
            continue
        monkeypatch.setattr(module, "argument", lambda _, changed=changed: changed)
        count += 1
        steps = module.steps(problem)
        for before, at in zip(usual, points, strict=True):
            after = found(steps, at)
            if len(after) != len(before) or any(a <= HOLDS and b > SEEN for a, b in zip(before, after, strict=True)):
                break
        else:
            unseen.append(said)
    assert count >= 3
    assert not unseen, "\n".join(unseen)


def test_rows_of_a_user_are_terms_too():
    problem = qpsvm.SVDD(problem_of("ball", "", "linear", False, False).X, nu=0.4, constraints=BALL_ROWS)
    shown = {step.tag: step for step in qpsvm.derive(problem)}
    assert r"\sum_l A_{jl}K(z_l,z_l)" in shown["OWN.4"].latex
    assert not any("<function" in text for step in shown.values() for text in (step.latex, step.measure.python("")))
