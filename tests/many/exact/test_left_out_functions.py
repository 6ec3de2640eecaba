"""Leave-one-out machines at points that none of them has seen, against solves of the others."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.machines.problem.derived_problems import restrict_to_rows


def machine(which: str, n: int = 20) -> qpsvm.Problem:
    rng = np.random.default_rng(len(which))
    X = rng.normal(size=(n, 2)) + 3.0
    y = X[:, 0] + 0.7 * rng.normal(size=n) > 3.0
    y[:2] = False, True
    rbf = qpsvm.RBF(0.5)
    weight = np.where(np.arange(n) % 4, 1.0, 0.0)
    return {
        "linear": lambda: qpsvm.CSVM(X, y, C=3.0),
        "penalised": lambda: qpsvm.SquaredHinge(X, y, C=3.0, intercept="penalised"),
        "rbf": lambda: qpsvm.CSVM(X, y, C=3.0, kernel=rbf),
        "precomputed": lambda: qpsvm.CSVM(rbf(X, X), y, C=3.0, kernel="precomputed"),
        "map": lambda: qpsvm.CSVM(X, y, C=3.0, kernel=qpsvm.Nystroem(rbf, 8)),
        "nu": lambda: qpsvm.NuSVM(X, y, nu=0.4, kernel=rbf),
        "hard": lambda: qpsvm.HardMargin(X, y, kernel=qpsvm.RBF(5.0)),
        "absent": lambda: qpsvm.CSVM(X, y, C=3.0, kernel=rbf, sample_weight=weight),
        "absent tube": lambda: qpsvm.EpsilonSVR(X, X[:, 0] ** 2, C=3.0, kernel=rbf, sample_weight=weight),
        "tube": lambda: qpsvm.EpsilonSVR(X, X[:, 0] ** 2, C=3.0, kernel=rbf),
    }[which]()


KINDS = ["linear", "penalised", "rbf", "precomputed", "map", "nu", "hard", "absent", "absent tube", "tube"]


@pytest.mark.parametrize("which", KINDS)
def test_functions_are_those_of_the_others(which):
    problem = machine(which)
    found = qpsvm.leave_one_out(problem)
    if which == "precomputed":
        new = problem.X[:7]
    else:
        new = np.random.default_rng(1).normal(size=(7, 2)) + 3.0
    values = found.decision_function(new)
    assert values.shape == (7, problem.n)
    for place, i in enumerate(problem.active_rows[:8]):
        others = np.delete(np.arange(len(problem.active_rows)), place)
        own = qpsvm.solve(restrict_to_rows(problem, others), tol=1e-12, check=False)
        width = own.b_interval[1] - own.b_interval[0]
        seen = new[:, problem.active_rows[others]] if which == "precomputed" else new
        np.testing.assert_allclose(values[:, i], own.decision_function(seen), atol=1e-5 + 1.001 * width)
    own = found.decision_function(problem.X).diagonal()
    np.testing.assert_allclose(own, found.decision, atol=1e-9)


def test_where_there_is_no_machine_there_is_no_function():
    found = qpsvm.leave_one_out(qpsvm.CSVM([[0.0], [1.0], [2.0]], [0, 1, 1]))
    values = found.decision_function([[0.5], [7.0]])
    assert np.isnan(values[:, 0]).all()
    assert np.isfinite(values[:, 1:]).all()


def test_what_is_refused_of_functions():
    found = qpsvm.leave_one_out(machine("rbf"))
    with pytest.raises(qpsvm.DataError):
        found.decision_function([[1.0, 2.0, 3.0]])
    with pytest.raises(qpsvm.UnsupportedError, match="OneClass"):
        qpsvm.leave_one_out(qpsvm.SVDD([[0.0], [1.0], [3.0]], nu=0.5)).decision_function([[0.0]])
