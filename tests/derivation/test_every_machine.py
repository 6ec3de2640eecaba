"""Every step of every machine: it holds at the optimum, fails where it is violated, and is what its docstring says.

The machines are those of `test_displayed`, which reads the LaTeX; here residuals are measured.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from test_displayed import INTERCEPTS, MANY, ONE, SEVERAL, cases, name, problem_of

import qpsvm
from qpsvm.derivation.source import parse_equations
from qpsvm.derivation.steps import sensitivity
from qpsvm.machines.problem import constraints
from qpsvm.result.svm_result import SVMResult

#: Steps that all machines share.
SHARED = parse_equations(sensitivity)
#: What every residual is at a polished optimum, and what it exceeds where the equation is violated.
HOLDS, FAILS = 1e-8, 1e-4
#: What one of the violations of a step of a plane or a ball exceeds, which nobody takes for rounding.
CLEARLY = 1e-3


def optimum(problem: qpsvm.Problem) -> SVMResult:
    """The optimum to the last digit, which is called one."""
    return replace(qpsvm.solve(problem, tol=1e-13, check=False), status=qpsvm.Status.OPTIMAL)


def assert_all_hold(problem: qpsvm.Problem, result: SVMResult) -> qpsvm.Derivation:
    derivation = qpsvm.derive(problem, result)
    residuals, reasons = derivation.residuals(), derivation.reasons()
    assert list(residuals) == [step.tag for step in derivation]
    assert derivation.headline.startswith("optimal")
    assert {tag for tag, residual in residuals.items() if np.isnan(residual)} == set(reasons)
    assert {tag: r for tag, r in residuals.items() if tag not in reasons and not 0 <= r <= HOLDS} == {}
    for tag, reason in reasons.items():
        assert reason.startswith(("does not exist here: ", "not measurable: ")), (tag, reason)
    return derivation


# --- what violates an equation ----------------------------------------------------------------------------------------


def less_alpha(problem: Any, result: SVMResult) -> SVMResult:
    """α of one class, or one side, made smaller."""
    return replace(result, alpha=np.where(problem.svm.sign > 0, 0.9 * result.alpha, result.alpha))


def negative_alpha(_: Any, result: SVMResult) -> SVMResult:
    """The smallest α, and of equal ones that of the row farthest from its margin, whose product is not 0."""
    alpha = result.alpha.copy()
    distance = np.abs(result.yf - result.margin)
    alpha[np.lexsort((-distance, np.where(result.upper > 0, alpha, np.inf)))[0]] = -0.1 * alpha.max()
    return replace(result, alpha=alpha)


def not_optimal(problem: Any, result: SVMResult) -> SVMResult:
    """α on the way to another feasible point."""
    start = np.random.default_rng(0).uniform(0, result.alpha.max(), len(result.alpha))
    return replace(result, alpha=0.7 * result.alpha + 0.3 * problem.at(start).alpha)


def another_w(problem: Any, result: SVMResult) -> SVMResult:
    """A decision function that α does not give."""
    model = result.model
    moved = 0.1 if isinstance(problem, qpsvm.SVDD) else 0.0
    return replace(result, model=replace(model, w=None if model.w is None else 1.1 * model.w + moved,
                                         coef=1.1 * model.coef))  # fmt: skip


def another_b(_: Any, result: SVMResult) -> SVMResult:
    """Another intercept, or radius, in the result and in its decision function."""
    b = result.b + 0.3 * (1 + abs(result.b))
    radius = result.model.radius
    radius = None if radius is None else 1.2 * radius
    return replace(result, b=b, model=replace(result.model, b=b, radius=radius))


def another_level(_: Any, result: SVMResult) -> SVMResult:
    return replace(result, rho=1.5 * result.rho, extras={key: 1.5 * value for key, value in result.extras.items()})


def less_slack(problem: Any, result: SVMResult) -> SVMResult:
    """ξ of another f."""
    more = 0.3 if problem.svm.n > problem.n else 0.1 * max(result.rho, 0.1)
    return replace(result, yf=result.yf + more)


def another_bound(_: Any, result: SVMResult) -> SVMResult:
    return replace(result, upper=1.05 * result.upper)


def other_values(_: Any, result: SVMResult) -> SVMResult:
    return replace(result, primal=1.1 * result.primal, dual=1.1 * result.dual)


VIOLATIONS: dict[str, Callable[[Any, SVMResult], SVMResult]] = {
    "less": less_alpha, "negative": negative_alpha, "feasible": not_optimal, "w": another_w, "b": another_b,
    "level": another_level, "slack": less_slack, "bound": another_bound, "values": other_values,
}  # fmt: skip
#: What violates each step, of whichever machine it is.
FAILS_AT = {
    "Margin": "w", "Order": "w", "Loss": "w b values", "Plane": "w b", "Ball": "w level", "Primal": "w values",
    "As a QP": "w b level", "Primal as a QP": "w b slack values", "Lagrangian": "w negative",
    "Stationarity in w": "w less negative", "Stationarity in c": "w less negative feasible",
    "Stationarity in b": "less negative", "Stationarity in ρ": "less negative", "Stationarity in ε": "less negative",
    "Stationarity in μ": "less negative", "Stationarity in ξ and ζ": "less negative feasible slack bound",
    "Dual feasibility": "negative", "Complementary slackness": "w negative", "Dual": "less negative values",
    "Recovering w": "w less negative", "Recovering c": "w less negative feasible",
    "Recovering f": "w b less negative feasible", "Recovering b": "b less negative feasible", "Recovering ρ": "b",
    "Recovering R": "w b level", "Recovering b and ρ": "b level less negative feasible",
    "Recovering b and ε": "b level less negative feasible", "Three kinds of samples": "w",
    "Two kinds of samples": "w b feasible", "Strong duality": "w less negative",
    "Certificate": "w less negative feasible", "w of a linear kernel": "w less negative",
    "Centre of a linear kernel": "w b level less negative feasible", "Sensitivity to C": "slack",
    "How large ν may be": "less negative", "All of the weight: ν = 1": "b less negative",
    "The same as a C-SVM": "less negative feasible values", "The same as a C-SVM of differences": "w values",
    "Multipliers of the QP": "bound", "A feature of ones": "w b less negative feasible",
    "A hard margin in a larger space": "b less negative feasible", "What τ bounds": "w b",
    "The origin among the samples": "less negative", "Translation": "w less negative feasible",
    "The one-class SVM": "less negative",
    "Weak duality": "", "Saddle": "", "Between hinge and squared hinge": "",  # of any two points, of any losses
}  # fmt: skip


def violations_of(step: Any, problem: Any, intercept: Any) -> list[str]:
    """What has to be seen by a step."""
    if step.title == "Substitution":  # without an intercept it is an identity in w, ξ and α
        if isinstance(problem, qpsvm.Ranking):
            said = ""
        elif intercept is None:
            said = "b"
        else:
            said = "less"
    elif step.title == "Stationarity in ξ":
        squared = isinstance(problem, qpsvm.SquaredHinge) or getattr(problem, "loss", "") == "squared"
        said = "less negative feasible slack" if squared else "bound"
    elif step.title == "What ν bounds":
        said = "level" if isinstance(problem, (qpsvm.NuSVM, qpsvm.NuSVR)) else ""
    else:
        said = FAILS_AT[step.title]
    return said.split()


@pytest.fixture
def changed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve each changed problem once: its optimum does not depend on the point that is measured."""
    solve_perturbed = sensitivity.solve_perturbed
    known = {}

    def find_optimum(at: Any, name: str, k: int, sign: int) -> tuple[float, float]:
        key = (at.problem, name, k, sign)
        if key not in known:
            known[key] = solve_perturbed(at, name, k, sign)
        return known[key]

    monkeypatch.setattr(sensitivity, "solve_perturbed", find_optimum)


@pytest.mark.usefixtures("changed_once")
@pytest.mark.parametrize("machine", MANY | ONE)
def test_every_equation_holds_and_fails_where_it_is_violated(machine):
    for case in (case for case in cases() if case[0] == machine):
        problem = problem_of(*case)
        result = optimum(problem)
        derivation = assert_all_hold(problem, result)
        if case[4]:
            continue  # its steps are those of rows: `test_derived_rows`
        found = {key: qpsvm.derive(problem, violate(problem, result)).residuals()
                 for key, violate in VIOLATIONS.items()}  # fmt: skip
        assert not [key for key, residuals in found.items() if min(residuals.values()) < 0], name(case)
        for step in derivation:
            if step.tag in derivation.reasons():
                continue
            assert step.residual(problem, result) == derivation.residuals()[step.tag]
            seen = {key: found[key][step.tag] for key in violations_of(step, problem, case[1])}
            assert not [key for key, residual in seen.items() if not residual > FAILS], (name(case), step.tag, seen)
            if seen and machine in ("one", "all", "ball"):
                assert max(seen.values()) > CLEARLY, (name(case), step.tag, seen)
            if step.title == "Weak duality":
                assert not [key for key in ("w", "level", "feasible") if found[key][step.tag] > HOLDS], name(case)
        assert_identities(case, problem, result)


def assert_identities(case: Any, problem: Any, result: SVMResult) -> None:
    """The substitution and weak duality hold at any α, and with a free b at any b."""
    start = np.random.default_rng(2).uniform(0.0, 1.0, len(result.alpha)) * np.minimum(result.upper, 2.0)
    feasible = problem.at(start)
    moved = replace(feasible, b=feasible.b + 0.3, model=replace(feasible.model, b=feasible.model.b + 0.3))
    if problem.intercept == "penalised":
        titles = ("Weak duality",)
    else:
        titles = "Substitution", "Weak duality"
    for point in (feasible, moved) if case[1] == "free" else (feasible,):
        for step in qpsvm.derive(problem):
            if step.title in titles:
                assert not step.residual(problem, point) > HOLDS, (name(case), step.tag)


@for_each("machine", ["svr", "svr2", "nusvr", "quantile"])
def test_the_headline_of_a_regression_says_what_a_point_is_worth(machine):
    problem = problem_of(machine, "free" if machine in MANY else "", "linear", False, False)
    result = optimum(problem)
    derivation = qpsvm.derive(problem, alpha=problem.at(0.5 * result.alpha).alpha)
    assert derivation.headline.startswith("NOT OPTIMAL: the α given is feasible")
    assert qpsvm.derive(problem, alpha=result.alpha + 9.0).headline.startswith("NOT FEASIBLE")
    moved = copy(problem)
    vars(moved)["samples"] = replace(problem.samples, target=problem.samples.target + np.arange(float(problem.n)))
    residuals = qpsvm.derive(moved, result).residuals()
    assert next(r for tag, r in residuals.items() if tag.endswith(".2")) > FAILS


# --- problems that are special ----------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2)) + 1.5
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 1.5, 1, 0)
SOME = np.where(np.arange(40) % 9 == 0, 0.0, RNG.uniform(0.3, 2.0, 40))
SQUARE = np.repeat([[1.0, 2.0], [3.0, 1.0]], 4, axis=0)
SPECIAL: dict[str, Callable[[], Any]] = {
    "weights, some of them 0": lambda: qpsvm.CSVM(X, Y, 1.0, "rbf", SOME),
    "ν-SVM, weights": lambda: qpsvm.NuSVM(X, Y, 0.4, sample_weight=SOME),
    "regression, weights": lambda: qpsvm.EpsilonSVR(X, X[:, 0], 2.0, 0.1, sample_weight=SOME),
    "a matrix": lambda: qpsvm.CSVM(qpsvm.RBF(1.0)(X, X), Y, 1.0, "precomputed", SOME),
    "clipped": lambda: qpsvm.CSVM(X, Y, kernel=qpsvm.Sigmoid(0.5, -0.5), psd="clip"),
    "shifted": lambda: qpsvm.NuSVM(X, Y, 0.5, qpsvm.Sigmoid(0.5, -0.5), psd="shift"),
    "positive semidefinite where it counts": lambda: qpsvm.CSVM(X, Y, kernel=qpsvm.Polynomial(1, 1.0, -1.0)),
    "indefinite but for b": lambda: qpsvm.PrimalHinge(X, Y, 0.02, lambda A, B: A @ B.T - 0.5, "penalised"),
    "tiny": lambda: qpsvm.CSVM(1e-6 * X, Y, 1e12),
    "huge": lambda: qpsvm.NuSVM(1e8 * X, Y, 0.5),
    "far from the origin": lambda: qpsvm.CSVM(X + 1e4, Y),
    "sparse": lambda: qpsvm.CSVM(sp.csr_array(np.where(np.abs(X) > 1.3, X, 0)), Y),
    "w = 0": lambda: qpsvm.CSVM(SQUARE, np.arange(8) % 2),
    "a wide tube": lambda: qpsvm.EpsilonSVR(X, X[:, 0], 2.0, 40.0),
    "ν = 1": lambda: qpsvm.NuSVR(X, X[:, 0] + X[:, 1] ** 2, 2.0, 1.0),
    **{f"{kind.__name__}, {said}": (lambda kind=kind, make=make: make(kind))
       for kind in (qpsvm.OneClass, qpsvm.SVDD) for said, make in {
        "tiny ν": lambda kind: kind(X, 1e-12, "linear", SOME),
        "all outside": lambda kind: kind(X, 1.0, qpsvm.Polynomial(2, 0.5, 1.0), SOME),
        "sparse": lambda kind: kind(sp.csr_array(X + 1.0), 0.31, "linear"),
        "one sample": lambda kind: kind(X[:1], 0.5, "linear"),
        "one place": lambda kind: kind(np.full((4, 2), 0.1), 0.5, qpsvm.RBF(1.0)),
       }.items()},
    "a plane with w = 0": lambda: qpsvm.OneClass(X - X.mean(axis=0), 0.31, "linear"),
    "a ball far away": lambda: qpsvm.SVDD(X + 1e6, 0.31),
}  # fmt: skip


@for_each("special", SPECIAL)
def test_every_equation_holds_in_special_cases(special):
    problem = SPECIAL[special]()
    result = qpsvm.solve(problem, tol=1e-6 if "far away" in special else 1e-15, check=False)
    assert_all_hold(problem, replace(result, status=qpsvm.Status.OPTIMAL))


# --- steps and statements ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MANY | ONE | SEVERAL)
def test_the_steps_are_the_equations_of_the_docstring_and_show_their_lines(machine):
    intercepts = INTERCEPTS if machine not in ONE else ("",)
    for intercept, kernel, rows in [(i, k, False) for i in intercepts for k in ("linear", "rbf")] + [
        (intercepts[0], kernel, True) for kernel in ("linear", "rbf") if machine not in (*SEVERAL, "all")
    ]:
        problem = problem_of(machine, intercept, kernel, False, rows)
        derivation = qpsvm.derive(problem)
        says = parse_equations(constraints if rows else inspect.getmodule(type(problem)))
        assert [step.tag for step in derivation if step.tag not in SHARED] == list(says)
        assert [int(tag.split(".")[1]) for tag in says] == list(range(1, len(says) + 1))
        for step in derivation:
            assert step.statement == (says | SHARED)[step.tag]
            assert step.title
            assert 1 <= len(re.findall(r"[.:] |\.$", step.text)) <= 6
            assert derivation[step.tag] is derivation[f"({step.tag})"] is step
            assert_shows_its_line(step)
        stated = [step for step in derivation if getattr(step.function, "__name__", "") == "_build_specification"]
        assert rows or machine in SEVERAL or {"Dual"} <= {step.title for step in stated}
        assert all(f"({step.tag})" in step.shown().library.text for step in stated)


def assert_shows_its_line(step: Any) -> None:
    """The expression itself is the code; the line that is the equation is marked, and so is the library's own."""
    lines = step.code.splitlines()
    shown = step.shown()
    assert step.code == step.measure.python(step.tag)
    assert len(lines) <= (22 if step.tag.startswith(("HARD", "CSVM", "NUSVM", "PHINGE")) else 32), "a few lines"
    assert re.search(r"qpsvm/\S+\.py:\d+$", step.where) or step.function is step.measure
    if not step.absent:
        marked = [lines[number].partition("#")[2] for number in step.lines]
        assert any(f"({step.tag})" in line or (step.general and f"({step.general})" in line) for line in marked)
        assert shown.lines == step.lines
        if shown.code.excerpt is not None:
            excerpt = shown.code.excerpt.text.splitlines()
            assert [excerpt[k] for k in shown.code.excerpt.lines] == [lines[k] for k in step.lines]
    if shown.library is not None:
        assert shown.library.lines
        assert shown.library.text.splitlines()[-1].strip() in inspect.getsource(step.function)
        assert step.function.__qualname__ in step.where
        assert step.tag.startswith("OWN") or len(shown.library.text.splitlines()) <= 50


def test_plane_and_ball_are_one_step_where_they_are_one():
    assert qpsvm.derive(qpsvm.SVDD(X, 0.31, qpsvm.RBF(0.5)))["SVDD.20"].absent == ""
    assert "differs" in qpsvm.derive(qpsvm.SVDD(X, 0.31))["SVDD.20"].absent
