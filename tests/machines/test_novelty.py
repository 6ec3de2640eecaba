"""The one-class SVM and the SVDD: at the ends of ν, exactly, and as equivalents of each other."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from judge import find_faults, judge

import qpsvm
from qpsvm import RBF, SVDD, OneClass, Polynomial
from qpsvm.base.arrays.types import FloatArray

MACHINES: tuple[Any, ...] = (OneClass, SVDD)
KERNELS = ("linear", RBF(0.5), Polynomial(2, gamma=0.5, coef0=1.0), Polynomial(3, gamma=0.5, coef0=0.0))


def cloud(n: int = 30, d: int = 2, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n, d))


def weights(n: int, seed: int = 0) -> FloatArray:
    s = np.random.default_rng(seed).uniform(0.2, 3.0, n)
    s[n // 2] = 0.0
    return s


def miniball(X: FloatArray) -> float:
    """R² of the smallest ball around points of the plane: by the circles through any two and any three of them."""
    best = np.inf
    for i, a in enumerate(X):
        for j, b in enumerate(X[:i]):
            centres = [(a + b) / 2]
            for c in X[:j]:
                M = 2.0 * np.array([b - a, c - a])
                if abs(np.linalg.det(M)) > 1e-9:
                    centres.append(np.linalg.solve(M, [b @ b - a @ a, c @ c - a @ a]))
            best = min(best, *(np.square(X - centre).sum(axis=1).max() for centre in centres))
    return float(best)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_svdd_without_anybody_outside_is_the_smallest_ball(offset):
    X = cloud(12)
    result = qpsvm.solve(SVDD(X + offset, 1e-12))
    assert result.radius**2 == pytest.approx(miniball(X + offset - offset), rel=1e-8)
    assert not len(result.at_bound)
    assert result.decision_function(X + offset).min() >= -1e-8


@for_each("machine", MACHINES)
@for_each("kernel", ["linear", RBF(0.5)])
def test_nu_bounds_the_weight_outside_and_that_of_support_vectors(machine, kernel):
    X = cloud(60) + 2.0
    s = weights(60)
    for nu in (0.1, 0.37, 0.8):
        result = qpsvm.solve(machine(X, nu, kernel, s))
        share = nu * s.sum() * (1 + 1e-9)
        assert s[result.yf < -1e-9].sum() <= share
        assert s[result.support].sum() >= share * (1 - 1e-8)
        assert set(np.unique(result.predict(X))) <= {-1, 1}


def test_where_nothing_is_left_to_choose_rho_is_anything_from_some_value_on():
    X = cloud() + 2.0
    for s in (None, weights(30)):  # with weights, Σs and ν Σs are rounded
        result = qpsvm.solve(OneClass(X, 1.0, "linear", s))
        low, high = result.intervals["rho"]
        assert high == np.inf
        assert low == pytest.approx((X @ result.w)[result.alpha > 0].max())
        ball = qpsvm.solve(SVDD(X, 1.0, "linear", s))
        assert ball.intervals["radius"][0] == 0.0
        assert ball.centre == pytest.approx(np.average(X, axis=0, weights=s))


@for_each("machine", MACHINES)
@for_each("kernel", KERNELS)
@for_each("nu", [1.0, 1e-12])
def test_both_ends_of_nu_are_ordinary(machine, kernel, nu):
    result = qpsvm.solve(machine(cloud() + 1.0, nu, kernel))
    assert result.status == "optimal"
    if nu < 1.0:  # hard: what is beyond the boundary is beyond it by rounding
        assert result.xi.max() <= 1e-9 * max(1.0, np.abs(result.yf).max())


@for_each("machine", MACHINES)
@for_each("kernel", KERNELS)
@for_each("n", [1, 2])
def test_one_sample_and_two_are_enough(machine, kernel, n):
    assert qpsvm.solve(machine(cloud(n), 0.6, kernel)).status == "optimal"


@for_each("kernel", [*KERNELS, "sparse", "precomputed"])
@for_each("nu", [1.0, 0.5, 1e-12])
def test_a_ball_around_one_place_has_radius_0(kernel, nu):
    X: Any = np.full((7, 3), 0.1)
    if kernel == "precomputed":
        X = np.full((7, 7), 3.0)
    elif kernel == "sparse":
        X = sp.csr_array(X)
        kernel = "linear"
    result = qpsvm.solve(SVDD(X, nu, kernel))
    assert result.status == "optimal"
    assert result.primal == result.dual == result.radius == result.gap == 0.0
    diagonal = X.diagonal() if kernel == "precomputed" else None
    assert np.abs(result.decision_function(X, diagonal=diagonal)).max() <= 1e-14


def test_samples_that_are_almost_one_place_are_no_ball_of_radius_0():
    X = np.full((5, 2), 1e6)
    X[0, 0] = np.nextafter(1e6, 2e6)
    result = qpsvm.solve(SVDD(X, 0.5), check=False)
    assert result.primal > 0.0
    assert find_faults(SVDD(X, 0.5), result, 1e-6) == []


@for_each("nu", [0.9, 0.5, 0.05, 1e-12])
def test_where_the_origin_is_among_the_samples_w_is_0(nu):
    X = np.vstack([cloud(20), -cloud(20)])
    for samples in (X, sp.csr_array(X)):
        problem = OneClass(samples, nu, "linear")
        result = qpsvm.solve(problem)
        assert result.status == "optimal"
        assert not result.w.any()
        assert result.primal == result.rho == 0.0
        verdict = judge(problem, result)
        assert verdict.primal - verdict.dual <= 1e-28 * verdict.scale
    odd = qpsvm.solve(OneClass(X, nu, Polynomial(3, gamma=0.5, coef0=0.0)))
    assert odd.status == "optimal"
    assert odd.primal == 0.0


@for_each("distance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_an_origin_just_outside_of_the_samples_is_outside(distance):
    """The nearest of all reduced hulls is this far from it: a value of 0 would be a false claim."""
    X = np.column_stack([np.tile([-1.0, 1.0], 5), np.full(10, distance)])
    problem = OneClass(X, 0.4, "linear")
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    assert result.w == pytest.approx([0.0, 4.0 * distance], rel=1e-6, abs=1e-6 * distance)
    assert find_faults(problem, result, 1e-6) == []


@for_each("offset", [1.0, 1e3, 1e6])
def test_a_ball_moves_with_its_samples(offset):
    X = cloud()
    moved = X + offset
    one = qpsvm.solve(SVDD(moved - offset, 0.31))
    other = qpsvm.solve(SVDD(moved, 0.31), tol=1e-9)
    assert other.status == "optimal"
    assert other.radius == pytest.approx(one.radius, rel=1e-7)
    assert other.centre - offset == pytest.approx(one.centre, abs=1e-6)
    assert other.decision_function(moved) == pytest.approx(one.yf, abs=1e-6)
    assert other.model.decision_function(sp.csr_array(moved)) == pytest.approx(one.yf, abs=1e-6)


def test_f_of_a_ball_is_the_distance_from_its_boundary_for_new_samples():
    new = cloud(9, seed=1)
    X = cloud() + 3.0
    linear = qpsvm.solve(SVDD(X, 0.31))
    assert linear.decision_function(new) == pytest.approx(
        linear.radius**2 - np.square(new - linear.centre).sum(axis=1), rel=1e-12
    )
    assert linear.decision_function(new) == pytest.approx(new @ linear.w + linear.b - np.square(new).sum(axis=1))
    problem = SVDD(X, 0.31, Polynomial(2, gamma=0.5, coef0=1.0))
    result = qpsvm.solve(problem)
    K = problem.kernel
    distance = K.diagonal(new) - 2 * K(new, X) @ result.alpha + result.alpha @ K(X, X) @ result.alpha
    assert result.decision_function(new) == pytest.approx(result.radius**2 - distance, abs=1e-9)


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=str)
def test_what_is_saved_is_what_is_loaded(kernel, tmp_path):
    X = cloud() + 1e6
    for machine in MACHINES:
        result = qpsvm.solve(machine(X, 0.31, kernel), check=False)
        result.save(tmp_path / "model.npz")
        model = qpsvm.load(tmp_path / "model.npz")
        assert (model.decision_function(X) == result.decision_function(X)).all()


@for_each("nu", [0.1, 0.5, 1.0])
def test_plane_and_ball_are_one_where_the_diagonal_is(nu):
    X = cloud()
    s = weights(30)
    plane, ball = OneClass(X, nu, RBF(0.5), s), SVDD(X, nu, RBF(0.5), s)
    assert type(plane.equivalent_svdd()) is SVDD
    assert type(ball.equivalent_one_class()) is OneClass
    one = qpsvm.solve(plane, tol=1e-9)
    other = qpsvm.solve(plane.equivalent_svdd(), tol=1e-9)
    again = qpsvm.solve(ball.equivalent_one_class(), tol=1e-9)
    unit = nu * s.sum()
    assert one.alpha / unit == pytest.approx(other.alpha, abs=1e-6)
    assert again.alpha == pytest.approx(one.alpha, abs=1e-6)
    if nu < 1.0:
        assert 2.0 * one.yf / unit == pytest.approx(other.yf, abs=1e-6)
        assert (one.kind == other.kind).all()


def test_plane_and_ball_are_not_one_elsewhere():
    for one in (OneClass(cloud(), 0.5, "linear"), SVDD(cloud(), 0.5, "linear")):
        if isinstance(one, OneClass):
            turn = one.equivalent_svdd
        else:
            turn = one.equivalent_one_class
        with pytest.raises(qpsvm.UnsupportedError, match=r"K\(x, x\) is constant; with Linear"):
            turn()


def test_variables_of_the_primal_have_the_letters_of_the_derivation():
    plane = OneClass(cloud(), 0.5, "linear").qp("primal")
    ball = SVDD(cloud(), 0.5).qp("primal")
    assert list(plane.variables) == ["w", "rho", "xi"]
    assert list(ball.variables) == ["c", "mu", "xi"]
    assert "ONE.2" in plane.title
    assert "SVDD.3" in ball.title


def test_a_primal_point_of_the_textbook_has_the_textbook_s_value():
    X = cloud() + 3.0
    problem = SVDD(X, 0.31)
    result = qpsvm.solve(problem)
    qp = problem.qp("primal")
    mu = (result.radius**2 - result.centre @ result.centre) / 2.0
    x = np.concatenate([result.centre, [mu], result.xi])
    assert qp.objective(x) == pytest.approx(result.primal)
    assert (qp.G @ x <= qp.h + 1e-9).all()


def test_a_certificate_takes_the_w_of_a_result():
    for machine in MACHINES:
        problem = machine(cloud() + 5.0, 0.31, "linear")
        result = qpsvm.solve(problem)
        assert problem.certify(result.alpha, result.w).gap <= 1e-9


@for_each("machine", [qpsvm.OneClass, qpsvm.SVDD])
def test_samples_whose_kernel_values_have_squares_beyond_all_floats(machine):
    samples = 1e100 * np.random.default_rng(0).normal(size=(7, 2))
    result = qpsvm.solve(machine(samples, nu=0.4, kernel="linear"), check=False)
    assert result.status == "optimal"


@for_each("machine", MACHINES)
@for_each("kernel", ["linear", RBF(0.5)])
def test_a_result_over_other_rows_is_a_start_that_is_near(machine, kernel):
    X = cloud(60) + 1.5
    half = qpsvm.solve(machine(X[::2], 0.31, kernel))
    problem = machine(X, 0.31, kernel)
    start = problem.start(half)
    assert problem.at(start).gap < 0.75 * problem.at(np.ones(60)).gap
    again = problem.start(qpsvm.solve(machine(X, 0.3, kernel)))
    assert problem.at(again).gap < 0.2 * problem.at(np.ones(60)).gap


@for_each("machine", [qpsvm.OneClass, qpsvm.SVDD])
def test_a_sample_on_the_margin_is_inside_alone_among_others_and_from_a_file(machine, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    result = qpsvm.solve(machine(X, nu=0.3, kernel=qpsvm.RBF(0.3)), tol=1e-12)
    result.save(tmp_path / "detector.npz")
    f = result.decision_function(X)
    assert (f == 0.0).sum() >= 3
    assert (f < 0.0).mean() <= 0.3
    for decide in (result, result.model, qpsvm.load(tmp_path / "detector.npz")):
        np.testing.assert_array_equal(decide.predict(X), np.where(f >= 0.0, 1, -1))
        np.testing.assert_array_equal([decide.predict(row[None])[0] for row in X], np.where(f >= 0.0, 1, -1))
