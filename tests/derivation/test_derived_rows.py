"""The derivation of linear constraints: equations hold at an optimum, and fail if a multiplier or w is altered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_every_machine import FAILS, HOLDS, assert_all_hold

import qpsvm
from qpsvm.result.svm_result import SVMResult

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


@cache
def solve_machine(name: str, kind: str) -> tuple[Any, SVMResult]:
    rows = {"w": OVER_W, "f": OVER_F, "both": [OVER_F, qpsvm.Constraints([[0.0, 1.0, 0.0]], 0.2, names=["w1"])]}
    if kind == "f" and name in ("C", "ranking", "ball"):
        kernel = qpsvm.RBF(0.4)
    else:
        kernel = qpsvm.Linear()
    problem = MACHINES[name](constraints=rows[kind], kernel=kernel)
    result = qpsvm.solve(problem, tol=1e-13, check=False)
    assert result.gap < 1e-9
    assert (result.constraints["multiplier"] > 0.0).any()
    return problem, replace(result, status=qpsvm.Status.OPTIMAL)


def raise_multiplier(result: SVMResult) -> SVMResult:
    table = result.constraints.copy()
    table["multiplier"][int(table["multiplier"].argmax())] += 1.0
    return replace(result, constraints=table)


def negative(result: SVMResult) -> SVMResult:
    table = result.constraints.copy()
    table["multiplier"][int(table["multiplier"].argmin())] = -0.1 * table["multiplier"].max()
    return replace(result, constraints=table)


def moved_w(result: SVMResult) -> SVMResult:
    model = result.model
    if model.w is not None:
        return replace(result, model=replace(model, w=model.w * 1.1))
    return replace(result, model=replace(model, coef=model.coef * 1.1))


def shift_values(result: SVMResult) -> SVMResult:
    table = result.constraints.copy()
    table["value"] -= 1.0 + np.abs(table["bound"])
    return replace(result, constraints=table)


@pytest.mark.parametrize(("name", "kind"), [*((name, "w") for name in MACHINES), ("C", "f"), ("regression", "f"),
                                            ("ranking", "f"), ("ball", "f"), ("C", "both")])  # fmt: skip
def test_every_equation_holds_and_fails_where_it_is_violated(name: str, kind: str) -> None:
    problem, result = solve_machine(name, kind)
    derivation = assert_all_hold(problem, result)
    assert ("OWN.6" in derivation.reasons()) == (name == "ranking")
    pulling = {"OWN.6"} if kind == "w" and name == "C" else set()  # the multiplier of a row with a part of b
    for altered, failing in (
        (raise_multiplier, {"OWN.5", "OWN.10"} | pulling),
        (negative, {"OWN.7"}),
        (moved_w, {"OWN.3", "OWN.5", "OWN.11"}),
        (shift_values, {"OWN.1" if kind == "w" else "OWN.2"}),
    ):
        moved = qpsvm.derive(problem, altered(result))
        assert {tag for tag in failing if not moved.residuals()[tag] > FAILS} == set(), altered.__name__
        assert not moved.headline.startswith("optimal"), altered.__name__


def test_steps_of_rows_are_those_that_rows_add() -> None:
    problem, result = solve_machine("C", "both")
    derivation = qpsvm.derive(problem, result)
    assert derivation.to_text(verbose=True).count("(CSVM.1)") == 1  # the machine's own steps are those without rows
    assert max(len(line) for line in str(derivation).splitlines()) <= 100
    without = {step.tag for step in qpsvm.derive(MACHINES["C"](kernel=problem.kernel))}
    assert {tag.split(".")[0] for tag in set(derivation.sides()) - without} == {"OWN", "PRICE"}
    page = qpsvm.derive(*solve_machine("C", "w"))._repr_html_()
    assert "<math" in page
    assert "<b>first" not in page


def test_complementary_slackness_counts_an_idle_row_with_a_multiplier() -> None:
    problem, result = solve_machine("C", "w")
    table = result.constraints.copy()
    idle = int((table["bound"] - table["value"]).argmax())
    assert table["multiplier"][idle] < HOLDS
    table["multiplier"][idle] = 1.0
    measured = qpsvm.derive(problem, replace(result, constraints=table))
    assert measured.residuals()["OWN.8"] > FAILS
    said = qpsvm.derive(problem, result).sides()["OWN.8"]["description"]
    assert all(name in said for name in OVER_W.names)


def test_without_a_result_the_steps_stand_there_and_an_alpha_needs_its_multipliers() -> None:
    problem, result = solve_machine("C", "w")
    assert qpsvm.derive(problem).residuals() == {}
    with pytest.raises(qpsvm.UnsupportedError, match=r"problem\.at"):
        qpsvm.derive(problem, alpha=result.alpha)
    at = problem.at(np.concatenate([result.alpha, result.constraints["multiplier"]]))
    assert max(r for r in qpsvm.derive(problem, at).residuals().values() if r == r) < HOLDS
