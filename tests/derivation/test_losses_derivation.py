"""The derivations of squared hinge, Huber's hinge and ranking: every equation at an optimum, and where it is broken."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.derivation.source import statements
from qpsvm.derivation.steps import sensitivity
from qpsvm.machines import huber_hinge, ranking, squared_hinge

#: Steps that all machines share.
SHARED = statements(sensitivity)
HOLDS, FAILS = 1e-8, 1e-4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.sign(X[:, 0] + RNG.normal(size=40))
GRADES = np.round(X @ [1.0, 2.0, 0.0] + RNG.normal(0.0, 0.5, 40))
WEIGHTS = RNG.uniform(0.5, 2.0, 40)
WEIGHTS[[1, 5]] = 0.0

MACHINES: dict[str, Any] = {
    "squared": lambda k, s: qpsvm.SquaredHinge(X, Y, 2.0, k, s),
    "squared, penalised": lambda k, s: qpsvm.SquaredHinge(X, Y, 2.0, k, s, intercept="penalised"),
    "squared, no intercept": lambda k, s: qpsvm.SquaredHinge(X, Y, 2.0, k, s, intercept=None),
    "huber": lambda k, s: qpsvm.HuberHinge(X, Y, 2.0, 0.5, k, s),
    "huber, penalised": lambda k, s: qpsvm.HuberHinge(X, Y, 2.0, 0.5, k, s, intercept="penalised"),
    "huber, no intercept": lambda k, s: qpsvm.HuberHinge(X, Y, 2.0, 0.5, k, s, intercept=None),
    "ranking": lambda k, s: qpsvm.Ranking(
        X[:16], GRADES[:16], 0.5, kernel=k, sample_weight=None if s is None else s[:16]
    ),
}
PAGES = {"squared": squared_hinge, "huber": huber_hinge, "ranking": ranking}


def optimum(problem: qpsvm.Problem) -> qpsvm.SVMResult:
    result = qpsvm.solve(problem, "cvxopt")
    return replace(qpsvm.solve(problem, "cvxopt", tol=1e-14, check=False), status=result.status)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", MACHINES)
def test_every_equation_holds_at_an_optimum(name: str, kernel: str, weights: Any) -> None:
    problem = MACHINES[name](kernel, weights)
    derivation = qpsvm.derive(problem, optimum(problem))
    assert derivation.headline.startswith("optimal")
    reasons = derivation.reasons()
    assert {tag: r for tag, r in derivation.residuals().items() if tag not in reasons and not 0 <= r <= HOLDS} == {}
    absent = {"SQHINGE.5", "SQHINGE.12", "HUBER.5", "HUBER.12"} if problem.intercept is None else set()
    absent |= set() if kernel == "linear" else {"SQHINGE.15", "HUBER.15", "RANK.13"}
    assert set(reasons) <= absent
    assert str(derivation)


@pytest.mark.parametrize("name", PAGES)
def test_the_steps_are_the_equations_of_the_docstring_in_order(name: str) -> None:
    says, derivation = statements(PAGES[name]), qpsvm.derive(MACHINES[name]("linear", None))
    assert [step.tag for step in derivation if step.tag not in SHARED] == list(says)
    assert [int(tag.split(".")[1]) for tag in says] == list(range(1, len(says) + 1))
    for step in derivation:
        assert step.statement == (says | SHARED)[step.tag]
        assert 1 <= len(re.findall(r"[.:] |\.$", step.text)) <= 6
        if step.title in ("Primal", "Dual"):
            assert f"({step.tag})" in step.code


#: What breaks which equations: the fields of the result that are changed, and how.
BROKEN: dict[str, tuple[Any, dict[str, tuple[str, ...]]]] = {
    "α moved": (
        lambda r: {"alpha": r.alpha + 0.1 * r.alpha.max() * (np.arange(len(r.alpha)) % 2)},
        {"squared": ("SQHINGE.4", "SQHINGE.5", "SQHINGE.6", "SQHINGE.10", "SQHINGE.11"),
         "huber": ("HUBER.4", "HUBER.5", "HUBER.6", "HUBER.10", "HUBER.11"),
         "ranking": ("RANK.4", "RANK.9", "RANK.10")},
    ),
    "α negative": (
        lambda r: {"alpha": r.alpha - 0.1 * r.alpha.max()},
        {"squared": ("SQHINGE.7",), "huber": ("HUBER.7",), "ranking": ("RANK.6",)},
    ),
    "less slack": (
        lambda r: {"yf": r.yf + 0.1 * (r.alpha > 0)},
        {"squared": ("SQHINGE.2", "SQHINGE.3", "SQHINGE.6", "SQHINGE.8"),
         "huber": ("HUBER.2", "HUBER.3", "HUBER.6", "HUBER.8"), "ranking": ("RANK.2", "RANK.3", "RANK.7")},
    ),
    "b moved": (
        lambda r: {"b": r.b + 0.3, "model": replace(r.model, b=r.model.b + 0.3)},
        {"squared": ("SQHINGE.12", "SQHINGE.13", "SQHINGE.14"), "huber": ("HUBER.12", "HUBER.13", "HUBER.14")},
    ),
    "w longer": (
        lambda r: {"model": replace(r.model, w=1.3 * r.model.w)},
        {"squared": ("SQHINGE.1", "SQHINGE.4", "SQHINGE.14", "SQHINGE.15"), "huber": ("HUBER.1", "HUBER.4", "HUBER.14"),
         "ranking": ("RANK.4", "RANK.11", "RANK.12", "RANK.13", "RANK.15")},
    ),
    "values claimed": (
        lambda r: {"primal": 1.1 * r.primal, "dual": 1.1 * r.dual},
        {"squared": ("SQHINGE.2", "SQHINGE.10"), "huber": ("HUBER.2", "HUBER.10"),
         "ranking": ("RANK.2", "RANK.9", "RANK.15")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("breach", "name"), [(b, n) for b, (_, found) in BROKEN.items() for n in found])
def test_a_broken_equation_is_seen(breach: str, name: str) -> None:
    problem = MACHINES[name]("linear", None)
    result = optimum(problem)
    change, expected = BROKEN[breach][0], BROKEN[breach][1][name]
    residuals = qpsvm.derive(problem, replace(result, **change(result))).residuals()
    assert {tag: residuals[tag] for tag in expected if not residuals[tag] > FAILS} == {}
