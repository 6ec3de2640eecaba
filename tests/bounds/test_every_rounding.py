"""Each part of the counted gap bounds its exact value by itself, where rounding is what decides.

The whole bound is loose by an order of magnitude, so that the loss of one part of it is not seen in a gap. Here every
part is held against rational numbers alone.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from each import for_each
from exact_arithmetic import as_fractions, dot
from judge import build_row_points, compute_loss, judge_dual
from stated_machines import StatedProblem

import qpsvm
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS
from qpsvm.bounds.certificate import EvaluatedViolations, PrimalPoint
from qpsvm.bounds.certify import DualPoint, certify
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.levels import find_primal_points
from qpsvm.bounds.repair import make_feasible
from qpsvm.bounds.restoration import FullPoint

INTERCEPTS = (None, "free", "penalised")
#: Upper bounds and curvatures: a hinge, Huber's, the squared hinge, and rows that nothing may fall short of.
LOSSES = {
    "hinge": (0.7, 0.0), "huber": (0.7, 0.3), "squared": (np.inf, 0.3), "hard": (np.inf, 0.0),
    "hinges, and one of Huber's": (0.7, [0.3, *[0.0] * 39]),
}  # fmt: skip


def draw_far_rows(seed: int) -> StatedProblem:
    """Draw rows far from the origin, and penalties at which what is rounded in y f is more than the norm."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 3.0 * y[:, None] + rng.choice([0.0, 1e3, 1e6, 1e9]) / 3.0
    C = 10.0 ** rng.uniform(6, 14)
    return StatedProblem(X, y, 1.0, C, float(rng.choice([0.0, 1.0 / C])), INTERCEPTS[seed % 3])


@for_each("seed", [9, 16, 28, 31, 37, 41, 51, 56])
def test_difference_and_size_are_bounds_each(seed: int) -> None:
    """That of the size is at the losses for t − r: with those for t it is more than the objective of each of these."""
    problem = draw_far_rows(seed)
    result = qpsvm.solve(problem, "interior_point", check=False, polish=False)
    bounds = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm)
    point = certify(problem.space, problem.svm, result.alpha)
    found = bounds.bound_gap(point)
    true = judge_dual(problem.svm, problem.X, point)
    assert found.difference >= true.primal - true.dual
    assert found.size <= max(abs(true.primal), abs(true.dual))


@for_each("curvature", [0.0, 0.3])
def test_rows_that_are_left_out_contribute_nothing(curvature: float) -> None:
    """Rows with α at either bound, and slacks on both sides of 0 and of the knee, within the radius and beyond it."""
    t = np.tile([-2.0, -0.5, 0.5, 2.0], 4) * 0.01
    r = np.full(16, 0.01)
    t[8:] += 0.7 * curvature
    problem = StatedProblem(np.eye(16), np.resize([1, -1], 16), upper=0.7, curvature=curvature)
    point = certify(problem.space, problem.svm, np.zeros(16))
    point = point.replace(alpha=np.tile(np.repeat([0.0, 0.7], 4), 2), evaluated=EvaluatedViolations(t, r))
    bounds = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm)
    rest = np.setdiff1d(np.arange(16), bounds.bound_gap(point).rows)
    assert len(rest)
    assert bounds.sum_terms_of_rows(point, rest, t[rest], r[rest]) == 0.0


@for_each("kind", LOSSES)
@for_each("seed", range(6))
def test_the_terms_are_no_less_than_their_sum(seed: int, kind: str) -> None:
    """(BOUND.2), where slacks are exactly these, so that all is the rounding of products and sums; and at both ends."""
    rng = np.random.default_rng(seed)
    m = 40
    upper, curvature = LOSSES[kind]
    problem = StatedProblem(rng.standard_normal((m, 2)), np.resize([1.0, -1.0], m), 1.0, upper, curvature, None)
    a = rng.uniform(0.0, min(upper, 2.0), m)
    t = rng.standard_normal(m) * 10.0 ** rng.uniform(-8, 0, m)
    t = -np.abs(t) if kind == "hard" else t
    point = replace(certify(problem.space, problem.svm, a), alpha=a)
    bends = as_fractions(np.full(m, curvature))
    for r in np.zeros(m), np.where(t > 0.0, 0.25, 0.1 * np.abs(t)):
        gap_bounder = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm)
        found = gap_bounder.sum_terms_of_rows(point, np.arange(m), t, r)
        ends = [
            [
                compute_loss(T, upper, bend) + bend * alpha**2 / 2 - alpha * T
                for alpha, T, bend in zip(as_fractions(a), as_fractions(end), bends, strict=True)
            ]
            for end in (t - r, t + r)
        ]
        assert found >= sum(max(pair) for pair in zip(*ends, strict=True))


@for_each("seed", [24, 127, 249, 270, None])
def test_a_surplus_is_paid_for(seed: int | None) -> None:
    """(COUNT.1), where Eᵀα is far from e: for what it moves w, and, of samples next to 0, for what falls short."""
    rng = np.random.default_rng(seed or 0)
    if seed is None:  # the surplus of the one class can only be taken from it: the other is at its bound
        X = 1e-3 * np.array([[1, 0], [-1, 0], [0, 0], [0, 1], [0, -1]])
        y = np.array([1.0, 1, 1, -1, -1])
        a = None
        off = np.array([1.5, 1.5, 1.3, 2.0, 2.0])
    else:
        n = int(rng.integers(2, 5))
        X = rng.standard_normal((n, 2)) + rng.choice([0, 2, 10])
        y = np.resize([1.0, -1.0], n)
    problem = StatedProblem(X, y, 1.0, 2.0, 0.0, "free")
    if seed is not None:
        a = make_feasible(problem.svm, rng.uniform(0, 1.5, n))
        off = a.copy()
        k = int(rng.integers(n))
        off[k] = np.clip(off[k] + rng.choice([0.3, -0.3]), 0, 2)
    point = certify(problem.space, problem.svm, off if a is None else a)
    apart = float(np.linalg.norm(((off - point.alpha) * y) @ problem.space.rows.matrix()))
    point = point.replace(alpha=off, weight_distance=apart * FEW_ROUNDINGS)
    if seed is None:  # where nothing has reached its level
        point = point.replace(b=0.0, centred_b=0.0, yf=point.yf - y * point.centred_b)
    true = judge_dual(problem.svm, problem.X, point)
    found = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm).bound_gap(point)
    assert found.difference >= true.primal - true.dual


@pytest.mark.parametrize("kind", ["CSVM", "weighted", "EpsilonSVR", "NuSVM", "NuSVR", "OneClass", "SVDD"])
@for_each("n", [60, 5000])
def test_a_repaired_alpha_leaves_no_surplus(kind: str, n: int) -> None:
    """(REPAIR.9): the sums are the totals in rational numbers, and nothing is paid for them."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    y = np.resize([1.0, -1.0], n)
    weight = rng.uniform(0.5, 2.0, n)
    problem = {
        "CSVM": lambda: qpsvm.CSVM(X, y, C=0.3), "weighted": lambda: qpsvm.CSVM(X, y, C=0.3, sample_weight=weight),
        "EpsilonSVR": lambda: qpsvm.EpsilonSVR(X, y, C=0.3), "NuSVM": lambda: qpsvm.NuSVM(X, y, nu=0.37),
        "NuSVR": lambda: qpsvm.NuSVR(X, y, C=0.3, nu=0.37), "SVDD": lambda: qpsvm.SVDD(X, nu=0.37),
        "OneClass": lambda: qpsvm.OneClass(X, nu=0.37, kernel="linear"),
    }[kind]()  # fmt: skip
    svm = problem.svm
    a = make_feasible(svm, svm.upper * rng.uniform(-0.5, 1.5, svm.m))
    assert ((a >= 0.0) & (a <= svm.upper)).all()
    for part in svm.parts:
        surplus = dot(as_fractions(a), as_fractions(part.column)) - Fraction(part.total) - Fraction(part.low)
        if kind == "NuSVR":  # no α may have digits as fine as those of νΣC
            assert abs(surplus) <= abs(Fraction(part.low))
            continue
        assert surplus == 0
    point = certify(problem.space, svm, a)
    bounds = GapBounder(problem._certifier.gap_refiner.accuracy, svm)
    found = bounds.find_feasible(point)
    assert found is not None
    assert (found.alpha is point.alpha) == (kind != "NuSVR")


@for_each("kind", ["weighted", "NuSVM", "weighted NuSVM", "OneClass", "SVDD", "QuantileSVR", "EpsilonSVR"])
def test_the_alpha_of_a_result_is_exactly_feasible(kind: str) -> None:
    """GapBounder are rounded down and totals are two floats, so that a proof has nothing to repair."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((70, 3))
    weight = rng.uniform(0.5, 2.0, 70)
    y = np.where(X[:, 0] + rng.standard_normal(70) > 0.0, 1, -1)
    t = X[:, 0] + 0.3 * rng.standard_normal(70)
    how = {"kernel": "rbf"}
    problem = {
        "weighted": lambda: qpsvm.CSVM(X, y, C=0.3, sample_weight=weight, **how),
        "NuSVM": lambda: qpsvm.NuSVM(X, y, nu=0.37, **how),
        "weighted NuSVM": lambda: qpsvm.NuSVM(X, y, nu=0.37, sample_weight=weight, **how),
        "OneClass": lambda: qpsvm.OneClass(X, nu=0.37, **how), "SVDD": lambda: qpsvm.SVDD(X, nu=0.37, **how),
        "QuantileSVR": lambda: qpsvm.QuantileSVR(X, t, C=0.3, quantile=0.7, **how),
        "EpsilonSVR": lambda: qpsvm.EpsilonSVR(X, t, C=0.3, sample_weight=weight, **how),
    }[kind]()  # fmt: skip
    assert "it is within 0 of the one that was given" in str(qpsvm.solve(problem).verify())


def test_a_total_that_no_alpha_has_makes_no_bound() -> None:
    problem = StatedProblem(np.eye(4), [1, -1, 1, -1], upper=1.0, intercept="free")
    point = certify(problem.space, problem.svm, np.full(4, 0.5))
    for total in (0.5, 2.5):
        svm = replace(problem.svm, groups=(replace(problem.svm.groups[0], total=total),))
        bounds = GapBounder(problem._certifier.gap_refiner.accuracy, svm)
        assert (bounds.find_feasible(point) is None) == (total > 2.0)
        assert (bounds.bound_gap(point).gap == np.inf) == (total > 2.0)


def test_equalities_are_charged_for_their_radius() -> None:
    """(COUNT.5)"""
    problem = StatedProblem(np.eye(4), [1, -1, 1, -1], upper=np.inf, intercept=None)
    bounds = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm, np.ones(4, dtype=bool))
    a = np.array([1.0, 2.0, 0.0, 3.0])
    t = np.array([0.0, -1e-9, 0.0, 1e-9])
    r = np.full(4, 1e-9)
    point = certify(problem.space, problem.svm, np.ones(4)).replace(alpha=a)
    assert bounds.sum_terms_of_rows(point, np.arange(4), t, r) >= float(a @ (np.abs(t) + r))
    assert bounds.sum_terms_of_rows(point, np.arange(4), 9.0 * r, r) == np.inf


def test_an_objective_that_is_a_norm_is_that_of_its_alpha() -> None:
    """½‖w(α)‖² from below, where the w in hand is longer."""
    problem = qpsvm.OneClass(np.random.default_rng(0).standard_normal((9, 2)) + 3.0, nu=0.3, kernel="linear")
    own = problem.space.weights(problem.svm.beta(qpsvm.solve(problem).alpha))
    point = certify(problem.space, problem.svm, qpsvm.solve(problem).alpha, 2.0 * own, np.inf)
    found = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm).bound_gap(point)
    assert 0.4 * float(own @ own) < found.size < 0.5 * float(own @ own)


@for_each("seed", range(4))
def test_a_penalised_intercept_is_as_far_as_it_may_be(seed: int) -> None:
    """(CERT.2) at both ends of what the level may be, for a ridge of any size."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.permutation(9) < 4, 1.0, -1.0)
    problem = StatedProblem(rng.standard_normal((9, 2)), y, 1.0, 3.0, 0.0, "penalised")
    (group,) = problem.svm.penalised_groups
    group = replace(group, ridge=10.0 ** rng.uniform(-3, 3))
    point = certify(problem.space, problem.svm, rng.uniform(0.0, 3.0, 9))
    slope = dot(as_fractions(point.alpha), as_fractions(y)) / Fraction(group.ridge)
    bounds = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm)
    for level in (0.1, float(slope), 3.0):
        for off in (0.0, 1e-12, 0.5):
            moved = point.replace(centred_b=level, centred_b_radius=off)
            apart, least = bounds.bound_multiplier_distance(moved, bounds.find_feasible(moved), group)
            ends = [Fraction(level) - Fraction(off), Fraction(level) + Fraction(off)]
            assert all(apart >= abs(end - slope) for end in ends)
            assert all(least <= abs(end) * Fraction(FEW_ROUNDINGS) for end in ends)


@for_each("off", [0.0, 1e-12, 0.25])
def test_a_ball_is_as_small_as_it_may_be(off: float) -> None:
    """½R² + Σ C t of the smallest ball that the level may stand for is no less than the size: of one around all."""
    problem = qpsvm.SVDD([[0.0, 0.1], [2.0, 0.3], [1.0, 0.7]], nu=0.1)
    point = certify(problem.space, problem.svm, np.array([0.5, 0.5, 0.0]))
    w = as_fractions(point.w)
    level = Fraction(point.centred_b + 1.0)
    U = as_fractions(problem.svm.upper)
    X = [as_fractions(x) for x in problem.X]
    centre = as_fractions(problem.space.to_caller_weights(point.w))
    square = dot(w, w) + 2 * level
    known = point.replace(centred_b=float(level), centred_b_radius=off, evaluated=None)
    size = GapBounder(problem._certifier.gap_refiner.accuracy, problem.svm).bound_gap(known).size
    for end in (square - 2 * Fraction(off), square + 2 * Fraction(off)):
        t = [(dot(z, z) - end) / 2 for z in ([a - c for a, c in zip(x, centre, strict=True)] for x in X)]
        assert size <= end / 2 + sum(C * max(part, Fraction(0)) for C, part in zip(U, t, strict=True))


@for_each("kernel", ["linear", qpsvm.RBF(0.5)])
def test_a_w_that_is_not_of_its_alpha_pays_for_it(kernel: Any) -> None:
    """(GAP.1) has ½‖w − w(α)‖²."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 2))
    y = np.resize([1.0, -1.0], 12)
    problem = qpsvm.CSVM(X, y, C=2.0, kernel=kernel)
    svm, space = problem.svm, problem.space
    alpha = qpsvm.solve(problem).alpha
    own = svm.beta(alpha)
    K = svm.gram.dense()
    if kernel == "linear":
        other = space.weights(own) + 0.3
        f = space.rows.margins(other)
        square = float(other @ other)
        apart = 2 * 0.3**2
    else:
        other = np.where(own, own + 0.2, 0.0)
        f = K @ other
        square = float(other @ K @ other)
        apart = float((other - own) @ K @ (other - own))
    point = certify(space, svm, alpha, other, np.inf)
    primal = 0.5 * square + 2.0 * np.maximum(1.0 - y * (f + point.centred_b), 0.0).sum()
    assert point.weight_distance == pytest.approx(np.sqrt(apart), rel=1e-6)
    assert point.gap == pytest.approx((primal - alpha.sum() + 0.5 * own @ K @ own) / primal, rel=1e-6)


def test_the_distance_of_a_point_that_is_stretched() -> None:
    """½‖(1 + g)w − w(α)‖², or what it is at most where w has coefficients of its own."""
    w = np.array([3.0, 4.0])
    own = np.array([1.0, 5.0])
    growth = 0.5
    apart = float(np.linalg.norm(w - own))
    explicit = PrimalPoint(np.zeros(2), w, 12.5, w - own)
    assert PrimalPoint(np.zeros(2), w, 12.5).bound_half_distance(growth) == 0.5 * (growth * 5.0) ** 2
    assert explicit.bound_half_distance(growth) == pytest.approx(0.5 * float(np.square(1.5 * w - own).sum()))
    spanned = PrimalPoint(np.zeros(2), None, 12.5, coef=w, distance=apart)
    assert spanned.bound_half_distance(growth) >= explicit.bound_half_distance(growth)
    assert spanned.bound_half_distance() == pytest.approx(0.5 * apart**2)


# --- a user's rows ----------------------------------------------------------------------------------------------------


def draw_bands(seed: int) -> tuple[Any, Any, DualPoint, FullPoint]:
    """Draw bands that hold f from both sides, off the origin: a restoration, and the points that it is to restore."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3)) + rng.choice([0.0, 10.0, 1e4]) / 3.0
    score = X @ [1.0, -1.0, 0.5]
    points = np.vstack([X[:3], X[:3]])
    sides = np.repeat([1.0, -1.0], 3)
    rows = qpsvm.ValueConstraints(points, np.diag(sides), rng.uniform(0.1, 0.6, 6) + 0.7 * sides)  # f is about 0.7
    problem = qpsvm.CSVM(X, np.where(score > np.median(score), 1, 0), C=1.0, constraints=rows)
    alpha = make_feasible(problem.svm, rng.uniform(0.0, 1.0, problem.svm.m))
    beta = problem.svm.beta(alpha)
    point = next(find_primal_points(problem.space, beta, None)[1])
    dual = DualPoint(alpha, beta, {}, 0.0, 0.0)
    return problem, problem._certifier.restoration, dual, FullPoint(point, {"b": 0.3 / 7.0}, {})


@for_each("seed", range(6))
def test_at_the_ends_of_what_the_rows_allow_they_are_kept_for_certain(seed: int) -> None:
    """(RESTORE.1): b goes twice the radius inside."""
    _, restoration, dual, start = draw_bands(seed)
    t, r = restoration._enclose_violations(dual, start)
    assert (restoration._find_violated(t, r) == (t + r > 0.0)).all()
    assert restoration._find_violated(-0.5 * r, r).all()
    low, high = restoration._bound_intercept(dual, start)
    assert np.isfinite([low, high]).all()
    column = restoration.column[restoration.rows]
    for end, is_limiting in ((low, column > 0), (high, column < 0)):
        t, r = restoration._enclose_violations(dual, start._replace(mu={"b": end}))
        assert not restoration._find_violated(t, r)[is_limiting].any()


@for_each("seed", range(6))
def test_rows_that_are_brought_to_their_bound_are_kept_for_certain(seed: int) -> None:
    """(RESTORE.2) goes twice the radius inside, so that the rounding of its step breaks none."""
    _, restoration, dual, start = draw_bands(seed)
    t, r = restoration._enclose_violations(dual, start)
    worst = t == t.max()
    assert t[worst][0] > 0.0
    moved = restoration._correct_rows(dual, start, mask=worst, t=t, r=r)
    assert not restoration._find_violated(*restoration._enclose_violations(dual, moved))[worst].any()


@for_each("seed", range(6))
def test_the_room_of_a_point_inside_is_there(seed: int) -> None:
    """(RESTORE.4) shrinks towards it by as much: exactly what the rows leave, or less."""
    problem, restoration, _, _ = draw_bands(seed)
    inner, b, room = restoration._interior_point
    w = as_fractions(inner.w)
    Z = build_row_points(problem.space.rows.matrix(), problem.svm)
    for k, row in enumerate(restoration.rows):
        sign, column = (Fraction(float(part[row])) for part in (problem.svm.sign, restoration.column))
        assert room[k] <= sign * dot(w, Z[row]) + column * Fraction(b) - Fraction(float(problem.svm.level[row]))
