"""Squared hinge and Huber's hinge: against CVXPY's primal, scikit-learn, each other and the C-SVM; and hostile data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hostile import SPOILERS, draw_samples
from judge import find_faults
from sklearn.svm import LinearSVC

import qpsvm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.where(X @ [1.0, 2.0, -1.0] + RNG.normal(0.0, 1.5, 50) > 0, 1.0, -1.0)
S = RNG.uniform(0.2, 2.0, 50)
S[[3, 7]] = 0.0


def by_cvxpy(loss: str, C: float, intercept: Any, width: float = 0.5) -> float:
    """The textbook's primal, written as it is in books: ½‖w‖² + Σ C s_i ψ(1 − y_i f(x_i))."""
    import cvxpy as cp

    w, b = cp.Variable(3), cp.Variable()
    short = cp.pos(1 - cp.multiply(Y, X @ w + (0 if intercept is None else b)))
    paid = cp.square(short) if loss == "squared" else cp.huber(short, width) / (2 * width)
    norm = cp.sum_squares(w) + (cp.square(b) if intercept == "penalised" else 0)
    problem = cp.Problem(cp.Minimize(norm / 2 + C * S @ paid))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL")
    return float(problem.value)


def pose(loss: str, **options: Any) -> qpsvm.Problem:
    machine = qpsvm.SquaredHinge if loss == "squared" else qpsvm.HuberHinge
    return machine(**({"X": X, "y": Y, "sample_weight": S} | options))


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
@pytest.mark.parametrize("C", [0.05, 3.0])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_optimum_is_cvxpy_s(loss: str, C: float, intercept: Any) -> None:
    result = qpsvm.solve(pose(loss, C=C, intercept=intercept))
    assert result.primal == pytest.approx(by_cvxpy(loss, C, intercept), rel=1e-6)
    assert result.dual == pytest.approx(result.primal, rel=1e-6)


def test_a_penalised_intercept_is_liblinear_s() -> None:
    result = qpsvm.solve(qpsvm.SquaredHinge(X, Y, 0.7, intercept="penalised"), tol=1e-10)
    peer = LinearSVC(loss="squared_hinge", C=0.7, dual=True, tol=1e-9, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(result.w, peer.coef_[0], atol=1e-5)
    assert result.b == pytest.approx(peer.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_duplicated_row_is_a_weight_of_two(loss: str, kernel: str) -> None:
    gamma = qpsvm.RBF(0.3) if kernel == "rbf" else kernel
    twice = np.append(np.arange(50), [4, 9])
    weights = np.ones(50)
    weights[[4, 9]] = 2.0
    one = qpsvm.solve(pose(loss, X=X[twice], y=Y[twice], sample_weight=None, kernel=gamma), tol=1e-9)
    other = qpsvm.solve(pose(loss, sample_weight=weights, kernel=gamma), tol=1e-9)
    assert one.primal == pytest.approx(other.primal, rel=1e-8)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


def test_a_width_of_nearly_nothing_is_the_c_svm() -> None:
    """The losses differ by C h/2 a sample at the most."""
    huber, hinge = (
        qpsvm.solve(pose("huber", C=2.0, width=1e-6)),
        qpsvm.solve(qpsvm.CSVM(X, Y, 2.0, sample_weight=S)),
    )
    assert hinge.dual - 2.0 * S.sum() * 0.5e-6 * 1.001 <= huber.primal
    assert huber.dual <= hinge.primal * (1 + 1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_width_above_every_slack_is_the_squared_hinge(kernel: str) -> None:
    """(HUBER.17): C ξ²/(2κ) with C = 2κ C′ costs C′ξ²."""
    squared = qpsvm.solve(pose("squared", C=1.5, kernel=kernel), tol=1e-9)
    width = 1.5 * float(squared.xi.max())
    huber = qpsvm.solve(pose("huber", C=2 * width * 1.5, width=width, kernel=kernel), tol=1e-9)
    assert huber.primal == pytest.approx(squared.primal, rel=1e-8)
    np.testing.assert_allclose(huber.alpha, squared.alpha, atol=1e-4 * squared.alpha.max())


def test_the_squared_hinge_is_a_hard_margin_in_a_larger_space() -> None:
    """(SQHINGE.17): K + D, by the machine without slack."""
    C = 1.5
    squared = qpsvm.solve(qpsvm.SquaredHinge(X, Y, C), tol=1e-9)
    hard = qpsvm.solve(qpsvm.HardMargin(X @ X.T + np.eye(50) / (2 * C), Y, kernel=qpsvm.Precomputed()), tol=1e-9)
    assert hard.primal == pytest.approx(squared.primal, rel=1e-8)
    np.testing.assert_allclose(hard.alpha, squared.alpha, atol=1e-5 * squared.alpha.max())


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_turned_labels_turn_f(loss: str) -> None:
    one, other = qpsvm.solve(pose(loss), tol=1e-9), qpsvm.solve(pose(loss, y=-Y), tol=1e-9)
    np.testing.assert_allclose(one.w, -other.w, atol=1e-6)
    assert one.b == pytest.approx(-other.b, abs=1e-6)


def test_kinds_say_where_the_loss_is_and_starts_keep_them() -> None:
    problem = pose("huber", C=1.0, width=0.4)
    result = qpsvm.solve(problem, tol=1e-10)
    C = 1.0 * S
    assert set(np.unique(result.kind)) == {0, 1, 2}
    taken = S > 0
    curve, slope = (result.kind == 1) & taken, (result.kind == 2) & taken
    np.testing.assert_allclose(result.alpha[slope], C[slope], rtol=1e-9)
    np.testing.assert_allclose(result.xi[curve], 0.4 * result.alpha[curve] / C[curve], atol=1e-5)
    assert (result.xi[slope] >= 0.4 - 1e-5).all()
    assert (result.xi[(result.kind == 0) & taken] <= 1e-5).all()
    # What is on the curve does not begin at its bound: the optimum is where a neighbour begins.
    np.testing.assert_allclose(problem.start(result), problem._restrict_to_dual(result.alpha), rtol=1e-9, atol=1e-12)
    squared = qpsvm.solve(pose("squared", C=1.0))
    assert (squared.kind[squared.alpha > 1e-9] == 2).all()
    begun = problem.start(squared)
    assert (begun < problem.upper * 0.999).any()


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_sparse_samples_and_a_kernel_matrix_are_the_same_problem(loss: str) -> None:
    result = qpsvm.solve(pose(loss), tol=1e-9)
    for other in (pose(loss, X=sp.csr_array(X)), pose(loss, X=X @ X.T, kernel=qpsvm.Precomputed())):
        assert qpsvm.solve(other, tol=1e-9).primal == pytest.approx(result.primal, rel=1e-8)


@pytest.mark.parametrize("spoiler", SPOILERS)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_what_is_claimed_of_spoilt_samples_is_true(loss: str, spoiler: str) -> None:
    """Certified where doubles can hold the answer; and in rational numbers, no claim is wrong."""
    rng = np.random.default_rng(SPOILERS.index(spoiler))
    for C in (1e-4, 1.0, 1e5):
        spoilt, y = draw_samples(rng, spoiler)
        size = float(np.abs(spoilt).max()) ** 2
        options = {"width": float(10.0 ** rng.uniform(-3, 1))} if loss == "huber" else {}
        problem = pose(loss, X=spoilt, y=y, C=C / size, sample_weight=None, **options)
        result = qpsvm.solve(problem, check=False)
        assert result.status == "optimal", (C, result.gap)
        if len(y) * spoilt.shape[1] < 300:
            assert not find_faults(problem, result, 1e-6)


def test_many_free_rows_without_bounds_are_not_factored_for_more_than_was_asked(monkeypatch: Any) -> None:
    def refuse_factor(*_: object, **__: object) -> None:
        raise AssertionError("the gap is below what was asked for")

    monkeypatch.setattr("qpsvm.machines.problem.certifier.polish", refuse_factor)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = X[:, 0] + 0.5 * rng.normal(size=1000) > 0
    result = qpsvm.solve(qpsvm.SquaredHinge(X, y))
    assert result.status == "optimal"


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize(("C", "copies"), [(1.0, 1), (0.1, 10), (1.0 / 3.0, 3)])
def test_b_is_any_of_an_interval_where_both_sides_are_at_their_bounds(offset, C, copies):
    X = np.repeat([[2.0], [-2.0], [1.0]], copies, axis=0) + offset
    y = np.repeat([1, 0, 0], copies)
    result = qpsvm.solve(qpsvm.HuberHinge(X, y, C, width=0.1), tol=1e-10)
    assert result.w == pytest.approx([1.0])  # α is C at 2 and at 1, whose distance is 1
    low, high = (b + offset for b in result.b_interval)
    assert (low, high) == pytest.approx((-1.9, -1.1), abs=1e-9 if offset else 1e-12)
