"""The exact judge, judged itself: optima that are known, planes that are wrong, and a textbook beside it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from exact_arithmetic import as_fractions
from judge import exact_gram, find_faults, judge, judge_dual, judge_plane
from textbook_gap import CLASSIFIERS, REGRESSIONS, TextbookMachine, compute_textbook_objectives

import qpsvm

X, Y = np.array([[0.0], [2.0]]), [-1, 1]


@pytest.mark.parametrize(("problem", "alpha", "w", "optimum"), [
    (qpsvm.CSVM(X, Y), 0.5, 1.0, 0.5),
    (qpsvm.CSVM(X, Y, 0.25), 0.25, 0.5, 0.375),
    (qpsvm.CSVM(X, Y, 2.0**-20), 2.0**-20, 2.0**-19, 2.0**-19 - 2.0**-39),
    (qpsvm.HardMargin(X, Y), 0.5, 1.0, 0.5),
    (qpsvm.NuSVM(X, Y, 0.25), 0.125, 0.25, -0.03125),
])  # fmt: skip
def test_it_knows_the_optimum_of_two_samples(problem, alpha, w, optimum):
    multipliers = {"b": -w, "rho": w} if isinstance(problem, qpsvm.NuSVM) else {"b": -w}
    verdict = judge_plane(problem, [alpha, alpha], {"w": [w], "multipliers": multipliers})
    assert verdict.gap == 0
    assert verdict.primal == verdict.dual == Fraction(optimum)


@pytest.mark.parametrize(("intercept", "w", "b", "alpha"), [
    ("free", 1.0, -1.0, [0.5, 0.5]), ("penalised", 1.0, -1.0, [1.5, 0.5]), (None, 0.5, 0.0, [1.0, 0.25]),
])  # fmt: skip
def test_it_knows_the_three_intercepts(intercept, w, b, alpha):
    """By hand; without an intercept f(0) = 0, and its α is at the bound, C = 1/(2λ)."""
    problem = qpsvm.PrimalHinge(X, Y, 0.25 if intercept else 0.5, intercept=intercept)
    plane = {"w": [w], "multipliers": {"b": b} if intercept else {}}
    assert judge_plane(problem, alpha, plane).gap == 0


def test_it_sees_a_wrong_plane_and_a_wrong_alpha():
    problem = qpsvm.CSVM(X, Y)

    def gap(w=1.0, b=-1.0, alpha=(0.5, 0.5)):
        return judge_plane(problem, alpha, {"w": [w], "multipliers": {"b": b}}).gap

    assert gap() == 0
    assert min(gap(w=1.001), gap(b=-1.00001), gap(alpha=(0.499, 0.499))) > 1e-7
    slanted = judge_plane(problem, (0.5, 0.5 - 1e-10), {"w": [1.0], "multipliers": {"b": -1.0}})
    assert slanted.gap == 0  # after the repair,
    assert slanted.imbalance > 1e-11  # which is said
    assert not judge_plane(problem, (1.5, 1.5), {"w": [1.0], "multipliers": {"b": -1.0}}).in_box


RNG = np.random.default_rng(0)
SAMPLES = RNG.normal(size=(14, 3))
LABELS = np.where(SAMPLES[:, 0] + 0.5 * RNG.normal(size=14) > 0.0, 1, -1)
TARGET = SAMPLES[:, 0] + 0.1 * RNG.normal(size=14)


@pytest.mark.parametrize("kind", [*CLASSIFIERS[:3], *CLASSIFIERS[4:], *REGRESSIONS, "one"])
def test_it_says_what_a_textbook_says(kind):
    machine = TextbookMachine(kind, SAMPLES, TARGET if "t" in kind and kind in REGRESSIONS else LABELS)
    problem = machine.problem
    result = qpsvm.solve(problem, tol=1e-4, polish=False, check=False)
    verdict = judge(problem, result)
    point = result.verify().record["point"]
    P, _ = compute_textbook_objectives(machine, result, [point[k] for k in range(len(point.alpha))])
    unit = Fraction(machine.lam) if kind == "hinge" else Fraction(1)
    assert abs(verdict.primal - unit * P) <= Fraction(1, 10**12) * abs(verdict.primal)
    assert not find_faults(problem, result, 1e-4)


@pytest.mark.parametrize("problem", [
    qpsvm.CSVM(SAMPLES, LABELS, kernel=qpsvm.RBF(0.5)), qpsvm.EpsilonSVR(SAMPLES, TARGET, 2.0, 0.1),
    qpsvm.NuSVM(SAMPLES, LABELS, 0.3, qpsvm.Polynomial(2, 1.0, 1.0)), qpsvm.SVDD(SAMPLES, 0.3),
])  # fmt: skip
def test_faults_of_every_kind_have_words(problem):
    result = qpsvm.solve(problem)
    assert find_faults(problem, result, 1e-6) == []
    wrong = {
        "false": {"alpha": 0.9 * result.alpha}, "low": {"gap": 0.0, "alpha": 0.99 * result.alpha},
        "status": {"gap": 1e-3}, "infeasible": {"alpha": 2.0 * result.alpha}, "values": {"primal": 2.0 * result.primal},
        "nan": {"b": np.nan},
    }  # fmt: skip
    for word, change in wrong.items():
        found = [line.partition(":")[0] for line in find_faults(problem, replace(result, **change), 1e-6)]
        assert word in found, (word, found)


def test_kernel_values_agree_with_long_doubles():
    far = SAMPLES.astype(np.longdouble)
    squares = ((far[:, None] - far[None]) ** 2).sum(axis=2)
    for kernel, true in (
        (qpsvm.RBF(0.7), np.exp(-np.longdouble(0.7) * squares)),
        (qpsvm.Polynomial(3, 0.3, 1.0), (np.longdouble(0.3) * (far @ far.T) + 1) ** 3),
        (qpsvm.Sigmoid(0.2, -0.1), np.tanh(np.longdouble(0.2) * (far @ far.T) - np.longdouble(0.1))),
    ):
        found = np.array([[float(value) for value in row] for row in exact_gram(kernel, SAMPLES)])
        np.testing.assert_allclose(found, true.astype(float), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("seed", range(20))
def test_no_point_beats_weak_duality(seed):
    """Any α is repaired to a feasible one; P ≥ D at every plane then, which is a theorem."""
    rng = np.random.default_rng(seed)
    upper = float(10.0 ** rng.uniform(-4, 4))
    problem = qpsvm.CSVM(SAMPLES, LABELS, upper)
    alpha = upper * rng.choice([0.0, 1.0, rng.random()], 14)
    point = SimpleNamespace(alpha=alpha, w=rng.normal(size=3), b=float(rng.normal()))
    verdict = judge_dual(problem._dual_structure, SAMPLES, point)
    assert verdict.gap >= 0
    assert verdict.primal >= sum(x * x for x in as_fractions(point.w)) / 2
