"""The fast road of linear regressions: the same machine as by `solve`, and a bound that holds in fractions."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from judge import judge_dual

import qpsvm
from qpsvm import core
from qpsvm.estimators import LinearSVR
from qpsvm.many.multiclass.regression import can_solve_regression, solve_regression

USUAL = {"backend": "auto", "tol": 1e-6, "time_limit": None, "verbose": False, "max_iter": None}


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("intercept", ["free", "penalised", None])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_gap_is_no_smaller_than_the_exact_one(loss, intercept, sparse):
    certified = 0
    for seed in range(25):
        random = np.random.default_rng(seed)
        n, d = int(random.integers(2, 30)), int(random.integers(1, 8))
        X = random.standard_normal((n, d)) * 10.0 ** random.integers(-3, 4, d)
        if sparse:
            X = sp.csr_array(X * (random.random((n, d)) < 0.6))
        t = random.standard_normal(n).round(int(random.integers(0, 3))) * 10.0 ** random.integers(-2, 5)
        C = 10.0 ** random.integers(-3, 4)
        width = float(random.choice([0.0, 0.1, 1.0]))
        problem = qpsvm.EpsilonSVR(X, t, C, width, loss, intercept=intercept)
        if not can_solve_regression(problem, USUAL):
            continue
        with np.errstate(all="ignore"):
            try:
                found = solve_regression(problem, 1e-6)
            except qpsvm.SolverError:
                continue
        if found.solver.name not in ("coordinate descent", "primal newton"):
            continue
        beta = found.coef.toarray()[0]
        alpha = np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        rows = X.toarray() if sparse else X
        true = judge_dual(
            problem._dual_structure, rows, SimpleNamespace(alpha=alpha, w=found.w[0], b=float(found.b[0]))
        )
        assert true.in_box
        assert true.gap <= Fraction(float(found.gap[0])), seed
        assert found.gap[0] <= 1e-6
        certified += 1
    assert certified > 5 or (core.compiled is None and loss == "absolute")


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("scaling", [None, 1])
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_an_estimator_has_the_problems_optimum(loss, scaling, width):
    random = np.random.default_rng(0)
    X = random.standard_normal((150, 6))
    n = 150
    t = 100.0 + X @ random.standard_normal(6) + 0.5 * random.standard_normal(n)
    machine = LinearSVR(C=2.0, epsilon=width, loss=loss, intercept_scaling=scaling).fit(X, t)
    problem = qpsvm.EpsilonSVR(
        X, t, 2.0, width, loss="absolute" if loss == "epsilon_insensitive" else "squared",
        intercept="free" if scaling is None else "penalised",
    )  # fmt: skip
    reference = qpsvm.solve(problem, "cvxopt", tol=1e-9)
    result = machine.result_
    assert machine.gap_ <= 1e-6
    assert result.status is qpsvm.Status.OPTIMAL
    assert result.primal == pytest.approx(reference.primal, rel=2e-6)
    np.testing.assert_allclose(machine.coef_, reference.w, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(result.w, machine.coef_, rtol=1e-6, atol=1e-9)


def test_a_problem_within_the_tube_goes_the_way_of_any_other():
    X = np.arange(6.0)[:, None]
    machine = LinearSVR(epsilon=1.0).fit(X, np.full(6, 3.0))
    assert machine.gap_ <= 1e-6
    assert machine.coef_ == pytest.approx([0.0])
