"""The interior point method of machines of several classes: its points satisfy the optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solve.backend_order import rank_backends
from qpsvm.solvers.class_interior_point import solve_classes_by_interior_point
from qpsvm.solvers.shared.budget import Budget


def overlapping(n=120, d=4, k=4, scale=1.0, seed=0):
    """X (n, d) and labels (n,), of classes that overlap."""
    rng = np.random.default_rng(seed)
    label = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return scale * (rng.normal(size=(n, d)) + np.eye(k, d)[label] + 3.0), label


def build_dual(label, C, shared, intercept):
    return AllInOneDual(label, int(label.max()) + 1, np.full(len(label), C), 1.0, shared, intercept)


@for_each("shared", [True, False])
@for_each("intercept", ["free", "penalised", None])
@for_each("C, scale", [(0.01, 1.0), (1.0, 1.0), (100.0, 1.0), (1.0, 100.0), (1e-3, 1e-3)])
def test_primal_and_dual_value_are_the_same(shared, intercept, C, scale):
    X, label = overlapping(scale=scale)
    dual = build_dual(label, C, shared, intercept)
    found = solve_classes_by_interior_point(X, dual, 1e-9, Budget(200))
    assert found.reason == "converged"
    alpha = found.alpha
    own = dual.own_class_mask
    assert (alpha[~own] > 0.0).all()
    assert (alpha[own] == 0.0).all()
    used = alpha.sum(axis=1) if shared else alpha.max(axis=1)
    assert (used <= C * (1 + 1e-9)).all()
    beta = -alpha
    beta[np.arange(len(X)), label] = alpha.sum(axis=1)
    W = beta.T @ X
    net = beta.sum(axis=0)
    if intercept == "free":
        assert np.abs(net).max() <= 1e-6 * alpha.sum()
    square_of_b = float(found.b @ found.b) if intercept == "penalised" else 0.0
    if intercept != "free":
        np.testing.assert_allclose(found.b, net if intercept else 0.0, rtol=1e-5, atol=1e-7 * (1 + np.abs(net).max()))
    f = X @ W.T + found.b
    missing = np.where(own, 0.0, 1.0 - f[np.arange(len(X)), label][:, None] + f)
    loss = np.maximum(missing, 0.0)
    loss = loss.max(axis=1).sum() if shared else loss.sum()
    half_norm = 0.5 * float(np.square(W).sum()) + 0.5 * square_of_b
    P = half_norm + C * loss
    D = float(alpha.sum()) - half_norm
    assert abs(P - D) <= 1e-6 * P


@pytest.mark.parametrize("machine", [qpsvm.CrammerSinger, qpsvm.WestonWatkins])
def test_classes_that_overlap_are_solved_by_it(machine):
    X, label = overlapping(n=600)
    result = qpsvm.solve(machine(X, label, sample_weight=np.arange(600) % 3))
    assert (result.status, result.backend) == ("optimal", "interior_point")
    other = qpsvm.solve(result.problem, "sequential_dual")
    assert result.primal == pytest.approx(other.primal, rel=2e-6)


@pytest.mark.parametrize("machine", [qpsvm.CrammerSinger, qpsvm.WestonWatkins])
@for_each("intercept", ["free", "penalised", None])
@for_each("kernel", [qpsvm.RBF(0.02), qpsvm.RBF(2.0), qpsvm.Polynomial(2, 0.5, 1.0), "precomputed"])
def test_a_kernel_matrix_is_replaced_by_its_factor(machine, intercept, kernel):
    X, label = overlapping(n=60)
    X = X @ X.T if kernel == "precomputed" else X
    weight = 1.0 + np.arange(60) % 3
    result = qpsvm.solve(
        machine(X, label, C=10.0, kernel=kernel, intercept=intercept, sample_weight=weight), "interior_point"
    )
    assert result.status == "optimal"
    assert result.solver.name == "interior_point"
    other = qpsvm.solve(result.problem, "cvxopt", form="dual")
    assert result.primal == pytest.approx(other.primal, rel=2e-6)


@for_each("gamma, first", [(0.05, "interior_point"), (5.0, "sequential_dual")])
def test_a_kernel_matrix_of_low_rank_begins_with_it(gamma, first):
    X, label = overlapping(n=400, d=2)
    problem = qpsvm.CrammerSinger(X, label, kernel=qpsvm.RBF(gamma))
    assert next(rank_backends(problem)).backend == first
    assert problem.svm.gram.base.blocks.low_rank_factor is not None  # kept for the solver


def test_limits_end_with_a_point():
    X, label = overlapping()
    dual = build_dual(label, 1.0, True, "free")
    for budget, reason in ((Budget(3), "iteration_limit"), (Budget(time_limit=0.0), "time_limit")):
        found = solve_classes_by_interior_point(X, dual, 1e-9, budget)
        assert (found.reason, found.iterations) == (reason, budget.steps)
        assert np.isfinite(found.alpha).all()
        assert (found.alpha >= 0.0).all()
    assert qpsvm.solve(qpsvm.CrammerSinger(X, label), "interior_point", max_iter=4, check=False).status == (
        "iteration_limit"
    )


def test_what_it_cannot_take_is_said():
    X, label = overlapping()
    indefinite = qpsvm.CrammerSinger(X - 3.0, label, kernel=qpsvm.Sigmoid(1.0, 0.5), psd="clip")
    with pytest.raises(qpsvm.UnsupportedError, match="of a factor of the kernel matrix; use sequential_dual"):
        qpsvm.solve(indefinite, "interior_point")
    with pytest.raises(qpsvm.UnsupportedError, match="on the primal form; use cvxopt"):
        qpsvm.solve(qpsvm.CrammerSinger(X, label), "interior_point", form="primal")


def test_features_of_any_scale_end_with_an_optimum():
    X, label = overlapping(n=80, d=3)
    X = X * np.array([1e-3, 1.0, 1e4])
    for machine in (qpsvm.CrammerSinger, qpsvm.WestonWatkins):
        for C in (1e-4, 1.0, 1e3):
            result = qpsvm.solve(machine(X, label, C=C), "interior_point", check=False)
            assert result.gap <= 1e-6 or result.status != "optimal"
            assert result.dual <= result.primal * (1 + 1e-12)
    constant = np.ones((6, 2))
    result = qpsvm.solve(qpsvm.CrammerSinger(constant, [0, 1, 2, 0, 1, 2]), "interior_point")
    assert result.status == "optimal"
    assert np.abs(result.w).max() <= 1e-6
