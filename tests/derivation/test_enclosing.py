"""The derivations of the one-class SVM and the SVDD: equations hold at an optimum, and fail where violated."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import RBF, SVDD, OneClass, Polynomial
from qpsvm.derivation.display import HOLDS
from qpsvm.derivation.source import statements
from qpsvm.derivation.steps import sensitivity
from qpsvm.machines import one_class, svdd
from qpsvm.result.svm_result import SVMResult

#: Steps that all machines share.
SHARED = statements(sensitivity)
MODULES = {OneClass: one_class, SVDD: svdd}
KERNELS = ("linear", RBF(0.5), Polynomial(2, gamma=0.5, coef0=1.0))
#: A residual that nobody takes for rounding.
FAILS = 1e-3


def cloud(n: int = 30) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, 2))


def weights(n: int = 30) -> np.ndarray:
    s = np.random.default_rng(1).uniform(0.2, 2.0, n)
    s[4] = 0.0
    return s


def solved(machine: Any, X: Any, nu: float, kernel: Any, s: Any = None) -> tuple[Any, SVMResult]:
    problem = machine(X, nu, kernel, s)
    return problem, qpsvm.solve(problem, tol=1e-12, check=False)


def assert_all_hold(problem: Any, result: SVMResult) -> None:
    derivation = qpsvm.derive(problem, result)
    assert derivation.headline.startswith("optimal")
    assert {tag: r for tag, r in derivation.residuals().items() if r > HOLDS} == {}


@pytest.mark.parametrize("machine", [OneClass, SVDD])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("nu", [1e-12, 0.33, 1.0])
def test_every_equation_holds(machine, kernel, nu):
    assert_all_hold(*solved(machine, cloud() + 1.5, nu, kernel, weights()))


def test_every_equation_holds_on_odd_data():
    for machine in (OneClass, SVDD):
        assert_all_hold(*solved(machine, sp.csr_array(cloud() + 2.0), 0.31, "linear"))
        assert_all_hold(*solved(machine, cloud(1), 0.5, "linear"))
        assert_all_hold(*solved(machine, np.full((4, 2), 0.1), 0.5, RBF(1.0)))
    assert_all_hold(*solved(OneClass, cloud(), 0.31, "linear"))  # w = 0
    problem = SVDD(cloud() + 1e6, 0.31)
    assert_all_hold(problem, qpsvm.solve(problem))


@pytest.mark.parametrize("machine", [OneClass, SVDD])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_steps_are_the_equations_of_the_docstring_in_order(machine, kernel):
    says = statements(MODULES[machine])
    derivation = qpsvm.derive(machine(cloud(), 0.31, kernel))
    assert [step.tag for step in derivation if step.tag not in SHARED] == list(says)
    for step in derivation:
        assert step.statement == (says | SHARED)[step.tag]
        assert step.function is step.measure or step.function.__qualname__ in step.where
        if getattr(step.function, "__name__", "") == "_record":
            assert f"({step.tag})" in step.code


def another_f(_: Any, result: SVMResult) -> SVMResult:
    """A decision function that α does not give."""
    model = result.model
    w = None if model.w is None else 1.1 * model.w + 0.1
    return replace(result, model=replace(model, w=w, coef=1.1 * model.coef))


def another_level(_: Any, result: SVMResult) -> SVMResult:
    """A plane further out, or a larger ball."""
    model = result.model
    radius = None if model.radius is None else 1.2 * model.radius
    extras = {name: 1.2 * value for name, value in result.extras.items()}
    b = result.b + 0.2 * (abs(result.b) + 0.1)
    return replace(result, b=b, rho=1.2 * result.rho, extras=extras, model=replace(model, b=b, radius=radius))


def off_the_total(_: Any, result: SVMResult) -> SVMResult:
    """α that add up to less."""
    return replace(result, alpha=0.97 * result.alpha)


def outside_the_box(problem: Any, result: SVMResult) -> SVMResult:
    """One α negative."""
    alpha = result.alpha.copy()
    alpha[np.argmin(np.where(problem.sample_weight > 0, alpha, np.inf))] = -0.05 * alpha.max()
    return replace(result, alpha=alpha)


def feasible_but_not_optimal(problem: Any, result: SVMResult) -> SVMResult:
    """α on the way to another feasible point."""
    other = problem.start(np.random.default_rng(0).uniform(0, result.alpha.max(), problem.n))
    alpha = result.alpha.copy()
    alpha[problem.rows] = 0.7 * alpha[problem.rows] + 0.3 * other
    return replace(result, alpha=alpha)


def another_bound(_: Any, result: SVMResult) -> SVMResult:
    """η of another price."""
    return replace(result, upper=1.05 * result.upper)


ONE = {
    1: another_level, 2: another_level, 3: feasible_but_not_optimal, 4: another_f, 5: off_the_total, 6: another_bound,
    7: outside_the_box, 8: feasible_but_not_optimal, 9: off_the_total, 10: feasible_but_not_optimal, 11: another_f,
    12: another_level, 13: another_level, 14: feasible_but_not_optimal, 16: another_f,
}  # fmt: skip
BALL = {
    1: another_level, 2: another_level, 3: another_level, 4: feasible_but_not_optimal, 5: off_the_total, 6: another_f,
    7: another_bound, 8: outside_the_box, 9: feasible_but_not_optimal, 10: off_the_total, 11: feasible_but_not_optimal,
    12: another_f, 13: another_level, 14: another_level, 15: feasible_but_not_optimal, 17: another_f,
    19: another_f,
}  # fmt: skip
PERTURBED: dict[Any, dict[int, Callable[[Any, SVMResult], SVMResult]]] = {OneClass: ONE, SVDD: BALL}


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=str)
@pytest.mark.parametrize("machine", [OneClass, SVDD])
def test_every_equation_fails_where_it_is_violated(machine, kernel):
    problem, result = solved(machine, cloud() + 1.5, 0.33, kernel, weights())
    derivation = qpsvm.derive(problem)
    prefix = "ONE" if machine is OneClass else "SVDD"
    for number, perturb in PERTURBED[machine].items():
        step = derivation[f"{prefix}.{number}"]
        if step.absent:
            continue
        assert step.residual(problem, result) <= HOLDS
        assert step.residual(problem, perturb(problem, result)) > FAILS, step.tag


@pytest.mark.parametrize("machine", [OneClass, SVDD])
def test_weak_duality_holds_far_from_the_optimum_too(machine):
    problem, result = solved(machine, cloud() + 1.5, 0.33, "linear")
    tag = "ONE.17" if machine is OneClass else "SVDD.18"
    step = qpsvm.derive(problem)[tag]
    for perturb in (another_f, another_level, feasible_but_not_optimal):
        assert step.residual(problem, perturb(problem, result)) <= HOLDS


def test_plane_and_ball_are_one_step_where_they_are_one():
    X = cloud()
    assert qpsvm.derive(SVDD(X, 0.31, RBF(0.5)))["SVDD.20"].absent == ""
    assert "differs" in qpsvm.derive(SVDD(X, 0.31))["SVDD.20"].absent
