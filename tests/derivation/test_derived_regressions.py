"""The derivations of the regressions: every equation holds at an optimum, and fails at what it forbids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm.derivation.source import statements
from qpsvm.derivation.steps import sensitivity
from qpsvm.machines import epsilon_svr, nu_svr, quantile_svr
from qpsvm.result.svm_result import SVMResult

#: Steps that all machines share.
SHARED = statements(sensitivity)
#: What every residual is at a polished optimum, and what it exceeds where the equation is violated.
HOLDS, FAILS = 1e-8, 1e-4
RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
T = 2.0 * np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.4 * RNG.normal(size=40) + 7.0
WEIGHT = np.where(np.arange(40) % 9 == 0, 0.0, RNG.uniform(0.3, 2.0, 40))
MACHINES: dict[str, Callable[..., Any]] = {
    "absolute": lambda **k: qpsvm.EpsilonSVR(X, T, 2.0, 0.4, **k),
    "absolute, penalised": lambda **k: qpsvm.EpsilonSVR(X, T, 2.0, 0.4, intercept="penalised", **k),
    "absolute, none": lambda **k: qpsvm.EpsilonSVR(X, T, 2.0, 0.4, intercept=None, **k),
    "squared": lambda **k: qpsvm.EpsilonSVR(X, T, 2.0, 0.4, "squared", **k),
    "wide": lambda **k: qpsvm.EpsilonSVR(X, T, 2.0, 40.0, **k),
    "nu": lambda **k: qpsvm.NuSVR(X, T, 2.0, 0.4, **k),
    "nu = 1": lambda **k: qpsvm.NuSVR(X, T, 2.0, 1.0, **k),
    "quantile": lambda **k: qpsvm.QuantileSVR(X, T, 2.0, 0.3, **k),
    "quantile, none": lambda **k: qpsvm.QuantileSVR(X, T, 2.0, 0.3, intercept=None, **k),
}
KERNELS = {"linear": qpsvm.Linear(), "rbf": qpsvm.RBF(0.4)}
MODULES = {qpsvm.EpsilonSVR: epsilon_svr, qpsvm.NuSVR: nu_svr, qpsvm.QuantileSVR: quantile_svr}


@cache
def solved(name: str, kernel: str, weights: bool = False) -> tuple[Any, SVMResult]:
    problem = MACHINES[name](kernel=KERNELS[kernel], sample_weight=WEIGHT if weights else None)
    result = qpsvm.solve(problem, "cvxopt", tol=1e-13, check=False)
    return problem, replace(result, status=qpsvm.Status.OPTIMAL)


@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MACHINES)
def test_every_equation_holds(name: str, kernel: str, weights: bool) -> None:
    problem, result = solved(name, kernel, weights)
    derivation = qpsvm.derive(problem, result)
    residuals, reasons = derivation.residuals(), derivation.reasons()
    assert derivation.headline.startswith("optimal")
    assert {tag: r for tag, r in residuals.items() if tag not in reasons and not 0 <= r <= HOLDS} == {}
    assert all(reason.startswith("does not exist here: ") for reason in reasons.values())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MACHINES)
def test_the_steps_are_those_of_the_docstring_and_show_their_lines(name: str, kernel: str) -> None:
    problem, result = solved(name, kernel)
    derivation = qpsvm.derive(problem, result)
    says = statements(MODULES[type(problem)])
    assert [step.tag for step in derivation if step.tag not in SHARED] == list(says)
    assert [int(tag.split(".")[1]) for tag in says] == list(range(1, len(says) + 1))
    for step in derivation:
        assert step.statement == (says | SHARED)[step.tag]
        if not step.absent:
            assert step.lines, f"{step.tag} has no line in {step.where}"
            marked = [step.code.splitlines()[line].partition("#")[2] for line in step.lines]
            assert any(f"({step.tag})" in line for line in marked)
            assert step.code == step.measure.python(step.tag)  # the expression itself is the code
    assert "<math" in derivation._repr_html_()
    assert max(len(line) for line in str(derivation).splitlines()) <= 100


def shifted_b(result: SVMResult) -> SVMResult:
    b = result.b + 1.0
    return replace(result, b=b, model=replace(result.model, b=b))


def another_w(result: SVMResult) -> SVMResult:
    return replace(result, model=replace(result.model, w=1.05 * result.w))


def one_side_less(result: SVMResult) -> SVMResult:
    n = len(result.coef)
    return replace(result, alpha=np.concatenate([0.9 * result.alpha[:n], result.alpha[n:]]))


def outside_the_box(result: SVMResult) -> SVMResult:
    alpha = result.alpha.copy()
    alpha[np.argmin(alpha)] = -0.1
    return replace(result, alpha=alpha)


def another_bound(result: SVMResult) -> SVMResult:
    return replace(result, upper=1.01 * result.upper)


def less_slack(result: SVMResult) -> SVMResult:
    return replace(result, yf=result.yf + 0.3)


def wider(result: SVMResult) -> SVMResult:
    return replace(result, extras={"epsilon": 1.5 * result.epsilon})


ESVR = {1: another_w, 2: less_slack, 3: one_side_less, 4: another_w, 5: one_side_less, 6: another_bound,
        7: outside_the_box, 8: shifted_b, 9: one_side_less, 10: one_side_less, 11: another_w, 12: shifted_b,
        13: shifted_b, 14: one_side_less, 15: another_w}  # fmt: skip
NUSVR = {1: wider, 2: less_slack, 3: one_side_less, 4: another_w, 5: one_side_less, 6: one_side_less,
         7: another_bound, 8: outside_the_box, 9: shifted_b, 10: one_side_less, 11: one_side_less, 12: another_w,
         13: wider, 14: shifted_b, 15: one_side_less, 16: wider, 17: another_w}  # fmt: skip
QSVR = {1: another_w, 2: less_slack, 3: one_side_less, 4: another_w, 5: one_side_less, 6: another_bound,
        7: outside_the_box, 8: shifted_b, 9: one_side_less, 10: one_side_less, 11: another_w, 12: shifted_b,
        13: shifted_b, 14: one_side_less, 15: shifted_b, 16: another_w}  # fmt: skip
#: Where α > 0, a squared slack is what is missing, whatever α is: only an α where none belongs moves L.
SQUARED = {**ESVR, 3: outside_the_box, 6: one_side_less}
CASES = [
    (name, f"{prefix}.{number}", spoil)
    for name, prefix, table in (("absolute", "ESVR", ESVR), ("squared", "ESVR", SQUARED), ("nu", "NUSVR", NUSVR),
                                ("quantile", "QSVR", QSVR))
    for number, spoil in table.items()
]  # fmt: skip


@for_each("name, tag, spoil", CASES)
def test_every_equation_fails_where_it_is_violated(name: str, tag: str, spoil: Any) -> None:
    problem, result = solved(name, "linear")
    step = qpsvm.derive(problem)[tag]
    assert step.residual(problem, result) <= HOLDS
    assert step.residual(problem, spoil(result)) > FAILS


def test_weak_duality_holds_at_any_feasible_pair_and_the_headline_says_what_a_point_is_worth() -> None:
    for name, tag in (("absolute", "ESVR.16"), ("squared", "ESVR.16"), ("nu", "NUSVR.18"), ("quantile", "QSVR.17")):
        problem, result = solved(name, "linear")
        derivation = qpsvm.derive(problem, alpha=problem.at(0.5 * result.alpha).alpha)
        assert derivation.headline.startswith("NOT OPTIMAL: the α given is feasible")
        assert derivation.residuals()[tag] <= HOLDS
        assert qpsvm.derive(problem, alpha=result.alpha + 9.0).headline.startswith("NOT FEASIBLE")
        moved = MACHINES[name](sample_weight=None)
        moved.samples = replace(moved.samples, target=T + np.arange(40.0))
        assert qpsvm.derive(moved, result).residuals()[tag.split(".")[0] + ".2"] > FAILS
