"""Machines without some samples, led from one tableau, against the optimality conditions and solves of the others."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.base.resources.clock import Clock
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.many.exact.leave_one_out import list_groups
from qpsvm.many.exact.left_out import LeaveOutSolver


def machine(which: str, seed: int = 0, rounded: bool = False, n: int = 22) -> qpsvm.Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.0, 1, 0)
    y[:4] = 0, 1, 0, 1
    t = X[:, 0] + 0.3 * rng.normal(size=n)
    X = np.round(X) if rounded else X
    rbf = qpsvm.RBF(0.5)
    weight = np.where(np.arange(n) % 3, 1.0, 2.0)
    return {
        "plain": lambda: qpsvm.CSVM(X, y, C=2.0, kernel=rbf),
        "weights": lambda: qpsvm.CSVM(X, y, C=2.0, kernel=rbf, sample_weight=weight),
        "bounded": lambda: qpsvm.CSVM(X, y, C=1e-3, kernel=rbf),
        "linear": lambda: qpsvm.CSVM(X, y, C=5.0),
        "penalised": lambda: qpsvm.CSVM(X, y, C=2.0, kernel=rbf, intercept="penalised"),
        "none": lambda: qpsvm.CSVM(X, y, C=2.0, kernel=rbf, intercept=None),
        "lam": lambda: qpsvm.PrimalHinge(X, y, lam=0.02, kernel=rbf),
        "nu": lambda: qpsvm.NuSVM(X, y, nu=0.3, kernel=rbf),
        "nu weights": lambda: qpsvm.NuSVM(X, y, nu=0.3, kernel=rbf, sample_weight=weight),
        "squared": lambda: qpsvm.SquaredHinge(X, y, C=2.0, kernel=rbf),
        "tube": lambda: qpsvm.EpsilonSVR(X, t, C=3.0, kernel=rbf),
        "nu tube": lambda: qpsvm.NuSVR(X, t, C=3.0, kernel=rbf),
        "one": lambda: qpsvm.OneClass(X, nu=0.3, kernel=rbf),
        "ball": lambda: qpsvm.SVDD(X, nu=0.3, kernel=rbf),
    }[which]()


KINDS = ["plain", "weights", "bounded", "linear", "penalised", "none", "lam", "nu", "nu weights", "squared", "tube",
         "nu tube", "one", "ball"]  # fmt: skip


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("which", KINDS)
def test_points_of_the_tableau_are_optima(which, rounded):
    """g = 0 on rows inside, ≥ 0 at lo, ≤ 0 at hi, and Eᵀv = e: without what a certificate says."""
    problem = machine(which, rounded=rounded)
    out = LeaveOutSolver(problem, None, 1e-6, Clock(None))
    changes = [change for rows in list_groups(problem, None) if (change := out.removals.build(rows)) is not None]
    led = out.tableau.find_optima([(change.rows_to_pin, change.goal) for change in changes])
    assert sum(point is not None for point in led) >= 0.5 * len(changes)
    rows = out.signed_rows
    for change, point in zip(changes, led, strict=True):
        if point is None:
            continue
        v, mu = point
        goal = change.goal
        size = 1e-9 * max(1.0, np.abs(point[0]).max())
        assert (v >= goal.lo - size).all()
        assert (v <= goal.hi + size).all()
        np.testing.assert_allclose(rows.E.T @ v - rows.ridge * mu, goal.e, atol=100 * size)
        g = rows.at_rows(rows.compute_f(v)) + rows.E @ mu + rows.curvature * v - goal.t
        room = goal.hi > goal.lo
        assert (g[room & (v < goal.hi - size)] >= -1e-8).all()
        assert (g[room & (v > goal.lo + size)] <= 1e-8).all()


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("which", ["plain", "weights", "bounded", "linear", "lam", "nu", "tube", "squared", "one"])
def test_b_is_the_one_that_a_solve_takes(which, rounded):
    """Where no sample is on the margin b may be any of an interval: the same is taken."""
    problem = machine(which, 1, rounded)
    found = qpsvm.leave_one_out(problem)
    for i in range(0, problem.n, 2):
        own = qpsvm.solve(restrict_to_rows(problem, np.delete(np.arange(problem.n), i)), tol=1e-12, check=False)
        assert abs(found.decision[i] - own.decision_function(problem.X[[i]])[0]) <= 1e-6
        assert found.gap[i] <= 1e-6


@pytest.mark.parametrize("which", ["plain", "bounded", "lam", "nu", "one", "tube"])
def test_groups_of_equal_and_other_samples(which):
    problem = machine(which, 2, rounded=True)
    groups = np.arange(problem.n) % 5
    found = qpsvm.leave_one_out(problem, groups=groups)
    for group in range(5):
        own = qpsvm.solve(restrict_to_rows(problem, np.flatnonzero(groups != group)), tol=1e-12, check=False)
        at = problem.X[groups == group]
        np.testing.assert_allclose(found.decision[groups == group], own.decision_function(at), atol=1e-6)


def test_two_samples_and_three():
    assert np.isnan(qpsvm.leave_one_out(qpsvm.CSVM([[0.0], [1.0]], [0, 1])).decision).all()
    found = qpsvm.leave_one_out(qpsvm.CSVM([[0.0], [1.0], [4.0]], [0, 1, 1], C=100.0))
    np.testing.assert_allclose(found.decision[1:], [-0.5, 7.0], atol=1e-9)
    two = qpsvm.leave_one_out(qpsvm.OneClass([[0.0], [1.0]], nu=0.5, kernel=qpsvm.RBF(1.0)))
    np.testing.assert_allclose(two.decision, 0.5 * (np.exp(-1.0) - 1.0), atol=1e-9)


def test_a_stop_keeps_what_was_found(monkeypatch):
    """What the tableau has led to is there, and `moved` counts nothing else."""
    problem = machine("plain")
    monkeypatch.setattr(LeaveOutSolver, "evaluate_without", lambda *_: pytest.fail("stopped"))
    whole = LeaveOutSolver.evaluate_batch

    def stop_after(self: LeaveOutSolver, sets: list) -> list:
        found = whole(self, sets)
        self.clock.find_stop_reason = lambda: "time_limit"
        return found

    monkeypatch.setattr(LeaveOutSolver, "evaluate_batch", stop_after)
    found = qpsvm.leave_one_out(problem)
    assert found.status == "time_limit"
    assert found.moved == np.isfinite(found.decision).sum() > 0
