"""The certificate's tools, each against brute force: projections, quantiles, intercepts, the terms of the gap."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.bounds.certificate import sum_gap_terms
from qpsvm.bounds.repair import balance_sides, project_on_capped_simplex
from qpsvm.program.losses import compute_gap_term
from qpsvm.program.svm_dual import SVMDual, build_intercept_groups
from qpsvm.space.operators import LowRank


def projection_by_bisection(a: np.ndarray, caps: np.ndarray, mass: float) -> np.ndarray:
    low = (a - caps).min() - 1.0
    high = a.max() + 1.0
    for _ in range(200):
        tau = (low + high) / 2
        if np.clip(a - tau, 0, caps).sum() > mass:
            low, high = tau, high
        else:
            low, high = low, tau
    return np.clip(a - (low + high) / 2, 0, caps)


@pytest.mark.slow
@for_each("seed", range(40))
def test_capped_simplex_is_the_projection(seed):
    """Random, tied, and at the ends: compared with bisection on τ."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    if seed % 2:
        a = rng.normal(size=m)
    else:
        a = rng.integers(-2, 3, m).astype(float)
    caps = rng.uniform(0, 1, m) if seed % 3 else np.ones(m)
    for share in (1e-9, 0.1, 0.5, 0.9, 1 - 1e-12, 1.0):
        mass = share * caps.sum()
        x = project_on_capped_simplex(a, caps, mass)
        assert (x >= 0).all()
        assert (x <= caps).all()
        assert x.sum() == pytest.approx(mass, rel=1e-12, abs=1e-15)
        np.testing.assert_allclose(x, projection_by_bisection(a, caps, mass), atol=1e-9)


def test_capped_simplex_takes_a_mass_that_exceeds_the_caps_by_rounding():
    caps = np.full(3, 0.1)
    np.testing.assert_array_equal(project_on_capped_simplex(np.zeros(3), caps, caps.sum() * (1 + 1e-15)), caps)


@for_each("largest", [1e9, 1e17, 1e200, 1e290])
def test_capped_simplex_keeps_its_mass_beside_an_entry_that_is_far_larger(largest):
    for caps in (np.full(4, 1.0), np.array([0.5, np.inf, 1.0, 0.1])):
        x = project_on_capped_simplex(np.array([largest, 3.0, 1.0, -largest]), caps, 1.3)
        assert (x >= 0).all()
        assert (x <= caps).all()
        assert x.sum() == pytest.approx(1.3, rel=1e-14)


def test_capped_simplex_of_a_feasible_point_is_that_point():
    rng = np.random.default_rng(4)
    caps = rng.uniform(0.5, 1, 30)
    x = caps * rng.choice([0.0, 0.3, 1.0], 30)
    np.testing.assert_allclose(project_on_capped_simplex(x, caps, x.sum()), x, atol=1e-15)
    np.testing.assert_array_equal(project_on_capped_simplex(x, caps, x.sum()), x)


@for_each("shift", [1e-13, 1e-9, 1e-3, -1e-4])
def test_capped_simplex_leaves_what_belongs_at_a_bound_there(shift):
    """A shift of all entries is projected away, but for rounding: none of it may lift an entry off 0 or its cap."""
    rng = np.random.default_rng(7)
    for m in (5, 60, 900):
        caps = rng.uniform(0.5, 1, m) / m
        x = caps * rng.choice([0.0, 0.4, 1.0], m)
        near = project_on_capped_simplex(x + shift, caps, x.sum())
        np.testing.assert_array_equal(near == 0.0, x == 0.0)
        np.testing.assert_array_equal(near == caps, x == caps)
        assert near.sum() == pytest.approx(x.sum(), rel=1e-14)


def test_capped_simplex_keeps_a_small_entry_and_a_small_cap():
    """Where nothing has to be projected, what is small is no rounding; nor is it under a cap that is as small."""
    caps = np.array([1.0, 1.0, np.inf, 1e-20])
    x = np.array([0.3, 0.7, 5e-21, 1e-20])
    near = project_on_capped_simplex(x, caps, 1.0)
    np.testing.assert_allclose(near, x, rtol=1e-12)
    assert project_on_capped_simplex(np.array([0.5, 1.0, -1.0, 0.5]), caps, 1.0)[3] == 1e-20


def tied(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Points and weights: continuous, or with ties in both."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    if seed % 2:
        return rng.normal(size=m), rng.uniform(0.1, 2, m), rng
    return rng.integers(0, 4, m).astype(float), rng.integers(1, 4, m).astype(float), rng


@for_each("seed", range(60))
def test_quantile_interval_is_the_set_of_minimisers(seed):
    """Σ w_i (t − p_i)₊ − level·t is convex and piecewise linear: its minimisers lie between breakpoints."""
    points, weights, rng = tied(seed)
    total = weights.sum()
    levels = [rng.uniform(0, total), float(weights[0]), float(weights[:2].sum()), total]
    for level in levels:
        low, high = find_quantile_interval(points, weights, level)

        def value(t, level=level):
            return float(weights @ np.maximum(t - points, 0.0) - level * t)

        best = min(value(t) for t in points)
        minimisers = [t for t in points if value(t) <= best + 1e-9]
        assert low == pytest.approx(min(minimisers))
        if level == total:
            assert high == np.inf
        else:
            assert high == pytest.approx(max(minimisers))
            assert value(high + 1e-3) > best
        assert value(low - 1e-3) > best


@for_each("seed", range(10))
def test_balanced_is_feasible_and_leaves_feasible_points_alone(seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(12) % 3, 1.0, -1.0)
    upper = rng.uniform(0.5, 2, 12)
    a = balance_sides(rng.normal(size=12) * 2, y, upper)
    assert (a >= 0).all()
    assert (a <= upper).all()
    assert abs(y @ a) <= 1e-14
    np.testing.assert_allclose(balance_sides(a, y, upper), a, rtol=1e-14)


@for_each("seed", range(10))
def test_the_terms_of_the_gap_sum_to_it(seed):
    """(GAP.1): P(w, b) − D(α) = ½‖w − w(α)‖² + Σ g_i, for any w, b and any feasible α."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, 3))
    y = np.where(np.arange(15) % 2, 1.0, -1.0)
    C = rng.uniform(0.5, 2, 15)
    alpha = balance_sides(rng.uniform(-1, 2, 15), y, C)
    w = rng.normal(size=3)
    b = rng.normal()
    own = X.T @ (alpha * y)
    yf = y * (X @ w + b)
    terms = compute_gap_term(alpha, 1.0 - yf, C, np.zeros(15))
    loss = C @ np.maximum(1 - yf, 0)
    primal = 0.5 * w @ w + loss
    dual = alpha.sum() - 0.5 * own @ own
    assert (terms >= 0).all()
    ones = repeat_value(1.0, 15)
    svm = SVMDual(LowRank(X), y, ones, C, repeat_value(0.0, 15), build_intercept_groups(y, "free"))
    assert sum_gap_terms(svm, alpha, X @ w, b, ones) == pytest.approx((terms.sum(), loss), rel=1e-12)
    assert primal - dual == pytest.approx(0.5 * (w - own) @ (w - own) + terms.sum(), rel=1e-12)


def test_gap_terms_of_a_hard_margin():
    alpha, yf = np.array([1.0, 0.0, 0.0]), np.array([1.5, 2.0, 0.5])
    terms = compute_gap_term(alpha, 1.0 - yf, np.full(3, np.inf), np.zeros(3))
    np.testing.assert_array_equal(terms, [0.5, 0.0, np.inf])


def test_relative_gap_is_relative():
    """(CERT.3): with max(1, |D|) below, C = 1e-8 at α = 0 would score 1e-6 while being 100 % off."""
    assert compute_relative_gap(1e-6, 1e-6, 0.0) == 1.0
    assert compute_relative_gap(0.0, 0.0, 0.0) == 0.0
    assert compute_relative_gap(1.0, 0.0, 0.0) == np.inf
    assert compute_relative_gap(np.inf, np.inf, 1.0) == np.inf
    assert compute_relative_gap(1e-12, 1e-12, 0.0, floor=1e-3) == pytest.approx(1e-9)


def test_a_quantile_of_equal_weights_needs_no_sorting() -> None:
    rng = np.random.default_rng(3)
    for m in (1, 2, 7, 200):
        points = np.round(rng.normal(size=m), 1)  # with ties
        for level in (0.0, 0.3 * (m // 2), 0.3 * (m // 2) + 0.1, 0.3 * m):
            shared = find_quantile_interval(points, repeat_value(0.3, m), level)
            assert shared == find_quantile_interval(points, np.full(m, 0.3), level)


@pytest.mark.filterwarnings("error")
def test_an_alpha_whose_sums_are_beyond_all_floats_is_no_optimum():
    """∞ − ∞ is a sum that bounds nothing, and no error of another library."""
    X = [[8.41734471e99, -1.62879615e99], [4.46504232e99, 8.56490158e99]]
    problem = qpsvm.SquaredHinge(X, [0, 1], C=114.852)
    alpha = [3.86607881e138, 8.13391688e138]
    assert problem.at(alpha).status == "candidate"
    assert not problem.certify(alpha).gap <= 1.0


def test_a_point_with_another_alpha_does_not_keep_its_kinds():
    """What a sweep has found of the kinds of rows is not handed on to a point of which it may not be true."""
    problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    known = problem.certify([0.0, 0.5, 0.5, 0.0]).replace(kind=np.array([0, 1, 1, 0], dtype=np.int8))
    assert known.replace(gap=0.5).kind is known.kind
    for name in ("alpha", "yf", "margin"):
        assert known.replace(**{name: np.ones(4)}).kind is None


@for_each("make", [np.array, sp.csr_array])
def test_a_point_whose_correction_leaves_no_support_vector(make):
    result = qpsvm.NuSVR(make(np.eye(2)), [0.0, 0.0], C=1.0, nu=1.0).at([0.5, 0.4, 0.4, 0.5])
    assert result.primal == result.dual == result.gap == 0.0
    assert result.verify().gap == 0.0
