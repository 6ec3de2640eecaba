"""The derivation of rows of a user's: every equation holds at an optimum, and fails where a price or w is altered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.derivation.source import statements
from qpsvm.derivation.steps import sensitivity
from qpsvm.machines.problem import constraints
from qpsvm.result.svm_result import SVMResult

#: Steps that all machines share.
SHARED = statements(sensitivity)
#: What every residual is at a polished optimum, and what it exceeds where the equation is violated.
HOLDS, FAILS = 1e-8, 1e-4
RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
Y = np.where(X @ [1.0, -1.0, 0.3] + 0.4 * RNG.normal(size=40) > 0, 1, 0)
T = X @ [1.0, -0.5, 0.0] + 0.3 * RNG.normal(size=40)
WEIGHT = np.where(np.arange(40) % 9 == 0, 0.0, RNG.uniform(0.3, 2.0, 40))
MACHINES: dict[str, Callable[..., Any]] = {
    "C": lambda **k: qpsvm.CSVM(X, Y, C=2.0, sample_weight=WEIGHT, **k),
    "hard": lambda **k: qpsvm.HardMargin(X + 4.0 * (2 * Y - 1)[:, None], Y, **k),
    "nu": lambda **k: qpsvm.NuSVM(X, Y, nu=0.4, **k),
    "primal, penalised": lambda **k: qpsvm.PrimalHinge(X, Y, intercept="penalised", **k),
    "squared hinge": lambda **k: qpsvm.SquaredHinge(X, Y, **k),
    "regression": lambda **k: qpsvm.EpsilonSVR(X, T, 2.0, 0.2, **k),
    "one-class": lambda **k: qpsvm.OneClass(X + 4.0, nu=0.3, **k),
    "ball": lambda **k: qpsvm.SVDD(X, nu=0.3, **k),
    "ranking": lambda **k: qpsvm.Ranking(X, np.round(T), **k),
}
#: Rows at which every machine here ends, with units far apart and a part of b; and combinations of values.
OVER_W = qpsvm.Constraints(
    [[1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1e4]], [0.1, -0.3, 0.5], c=[0.5, 0.0, 0.0],
    names=["<b>first & b", "second", "third"],
)  # fmt: skip
OVER_F = qpsvm.ValueConstraints(X[:3] + 0.1, [[1.0, 0, 0], [0, -1.0, 0], [1.0, 1.0, -2.0]], [-0.1, 0.2, 0.1])
KINDS = {
    "w": (OVER_W, qpsvm.Linear()),
    "f": (OVER_F, qpsvm.Linear()),
    "f, rbf": (OVER_F, qpsvm.RBF(0.4)),
    "both": ([OVER_F, qpsvm.Constraints([[0.0, 1.0, 0.0]], 0.2, names=["w1"])], qpsvm.Linear()),
}


@cache
def solved(name: str, kind: str) -> tuple[Any, SVMResult]:
    rows, kernel = KINDS[kind]
    problem = MACHINES[name](constraints=rows, kernel=kernel)
    result = qpsvm.solve(problem, tol=1e-13, check=False)
    assert result.gap < 1e-9
    assert (result.constraints["price"] > 0.0).any() or (name, kind) == ("ball", "f")
    return problem, replace(result, status=qpsvm.Status.OPTIMAL)


@pytest.mark.parametrize("kind", ["w", "f", "f, rbf"])
@pytest.mark.parametrize("name", MACHINES)
def test_every_equation_holds(name: str, kind: str) -> None:
    problem, result = solved(name, kind)
    derivation = qpsvm.derive(problem, result)
    residuals, reasons = derivation.residuals(), derivation.reasons()
    assert derivation.headline.startswith("optimal")
    assert {tag: r for tag, r in residuals.items() if tag not in reasons and not 0 <= r <= HOLDS} == {}
    assert all(reason.startswith("does not exist here: ") for reason in reasons.values())
    assert ("OWN.6" in reasons) == (name == "ranking")


@pytest.mark.parametrize("kind", KINDS)
def test_the_steps_are_those_of_the_docstring_and_show_their_lines(kind: str) -> None:
    problem, result = solved("C", kind)
    derivation = qpsvm.derive(problem, result)
    says = statements(constraints)
    assert (
        [step.tag for step in derivation if step.tag not in SHARED]
        == list(says)
        == [f"OWN.{k + 1}" for k in range(len(says))]
    )
    for step in derivation:
        assert step.statement == (says | SHARED)[step.tag]
        marked = [step.code.splitlines()[line].partition("#")[2] for line in step.lines]
        assert any(f"({step.tag})" in line or (step.general and f"({step.general})" in line) for line in marked)
    page = derivation._repr_html_()
    assert "<math" in page
    assert "<b>first" not in page
    assert max(len(line) for line in str(derivation).splitlines()) <= 100
    assert derivation.to_text(verbose=True).count("(CSVM.1)") == 1  # the machine's own steps are those without rows
    assert set(derivation.sides()) - set(SHARED) == set(says)
    assert {step.tag for step in qpsvm.derive(MACHINES["C"](kernel=problem.kernel))} & set(says) == set()


def dearer(result: SVMResult) -> SVMResult:
    table = result.constraints.copy()
    table["price"][int(table["price"].argmax())] += 1.0
    return replace(result, constraints=table)


def negative(result: SVMResult) -> SVMResult:
    table = result.constraints.copy()
    table["price"][int(table["price"].argmin())] = -0.1 * table["price"].max()
    return replace(result, constraints=table)


def moved_w(result: SVMResult) -> SVMResult:
    model = result.model
    if model.w is not None:
        return replace(result, model=replace(model, w=model.w * 1.1))
    return replace(result, model=replace(model, coef=model.coef * 1.1))


def said_otherwise(result: SVMResult) -> SVMResult:
    table = result.constraints.copy()
    table["value"] -= 1.0 + np.abs(table["bound"])
    return replace(result, constraints=table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["w", "f", "f, rbf"])
@pytest.mark.parametrize("name", ["C", "regression", "one-class", "ranking"])
def test_an_equation_fails_where_it_is_violated(name: str, kind: str) -> None:
    problem, result = solved(name, kind)
    rows = "OWN.1" if kind == "w" else "OWN.2"
    for altered, failing in (
        (dearer, {"OWN.5", "OWN.10"}),
        (negative, {"OWN.7"}),
        (moved_w, {"OWN.3", "OWN.5", "OWN.11"}),
        (said_otherwise, {rows}),
    ):
        residuals = qpsvm.derive(problem, altered(result)).residuals()
        assert {tag for tag in failing if not residuals[tag] > FAILS} == set(), altered.__name__
        assert not qpsvm.derive(problem, altered(result)).headline.startswith("optimal"), altered.__name__


def test_a_price_that_pulls_at_b_is_missed_in_the_balance() -> None:
    problem, result = solved("C", "w")
    assert qpsvm.derive(problem, dearer(result)).residuals()["OWN.6"] > FAILS
    assert qpsvm.derive(problem, result)["OWN.6"].residual(problem, result) < HOLDS


def test_complementary_slackness_counts_an_idle_row_with_a_price() -> None:
    problem, result = solved("C", "w")
    table = result.constraints.copy()
    idle = int((table["bound"] - table["value"]).argmax())
    assert table["price"][idle] < HOLDS
    table["price"][idle] = 1.0
    measured = qpsvm.derive(problem, replace(result, constraints=table))
    assert measured.residuals()["OWN.8"] > FAILS
    said = qpsvm.derive(problem, result).sides()["OWN.8"]["of"]
    assert all(name in said for name in OVER_W.names)


def test_without_a_result_the_steps_stand_there_and_an_alpha_needs_its_prices() -> None:
    problem, result = solved("C", "w")
    assert qpsvm.derive(problem).residuals() == {}
    with pytest.raises(qpsvm.UnsupportedError, match=r"problem\.at"):
        qpsvm.derive(problem, alpha=result.alpha)
    at = problem.at(np.concatenate([result.alpha, result.constraints["price"]]))
    assert max(r for r in qpsvm.derive(problem, at).residuals().values() if r == r) < HOLDS
