"""The one dual of every machine: its gap as an identity in fractions; losses, multipliers and repair by brute force.

The duals are drawn with what no machine of the library has yet: levels of any sign, upper bounds that are infinite in
some rows, curvatures that are 0 in some, groups of every kind, and two rows of the dual for one sample.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from each import for_each
from exact_arithmetic import as_fractions, dot
from judge import build_row_points, compute_loss, compute_objectives, find_faults, judge_dual
from scipy.optimize import minimize_scalar
from stated_machines import StatedProblem, draw_stated, examine_stated_seed

import qpsvm
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds import levels
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.certify import certify
from qpsvm.bounds.gap_refiner import GapRefiner
from qpsvm.bounds.polish import polish
from qpsvm.bounds.repair import balance_sides, make_feasible
from qpsvm.program import losses
from qpsvm.program.svm_dual import DualGroup, DualPart, SVMDual, build_intercept_groups
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.space import FeatureSpace
from qpsvm.space.operators import LowRank

GROUPS = ("none", "free", "penalised", "balance and total", "total", "doubled", "doubled and total")


def draw_bounds(rng: np.random.Generator, m: int, size: float = 1.0) -> tuple[Any, Any]:
    """U and δ: each finite, infinite or mixed, and 0, positive or mixed; no row is hard."""
    upper = rng.choice([0.5, 1.0, 4.0], m) * size
    curvature = rng.choice([0.125, 1.0, 3.0], m) / size
    kind = int(rng.integers(4))
    if kind == 0:
        curvature = np.zeros(m)
    elif kind == 1:
        upper = np.full(m, np.inf)
    elif kind == 2:
        endless = rng.random(m) < 0.5
        upper = np.where(endless, np.inf, upper)
        curvature = np.where(~endless & (rng.random(m) < 0.5), 0.0, curvature)
    return upper, curvature


def drawn_dual(seed: int, kind: str, size: float = 1.0) -> tuple[SVMDual, Any, FeatureSpace]:
    """A dual with groups of a kind over small integers, the samples, and their feature space."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    X = rng.integers(-4, 5, (n, d)).astype(float)
    rows = np.tile(np.arange(n), 2) if kind.startswith("doubled") else None
    m = n if rows is None else 2 * n
    if rows is None:
        sign = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    else:
        sign = np.repeat([1.0, -1.0], n)
    level = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], m)
    if seed % 3 == 0:
        level = repeat_value(float(rng.choice([0.0, 1.0])), m)
    upper, curvature = draw_bounds(rng, m, size)
    free = (DualGroup("balance", "b", sign),)
    mass = float(0.25 * np.where(np.isfinite(upper), upper, size)[sign > 0].min())
    total = DualGroup("nu", "rho", repeat_value(-1.0, m), -mass)
    groups = {
        "none": (),
        "free": free,
        "penalised": build_intercept_groups(sign, "penalised"),
        "balance and total": (*free, total),
        "total": (total,),
        "doubled": free,
        "doubled and total": (*free, total),
    }[kind]
    if kind == "penalised" and seed % 2:
        groups = (replace(groups[0], ridge=0.375),)
    intercept: Any
    if kind == "penalised":
        intercept = "penalised"
    elif groups and groups[0] is free[0]:
        intercept = "free"
    else:
        intercept = None
    space = FeatureSpace(Linear(), X, intercept, "raise")
    return SVMDual(space.centred_gram, sign, level, upper, curvature, groups, rows), X, space


# --- (GAP.1) ----------------------------------------------------------------------------------------------------------


def exact_terms(svm: SVMDual, X: Any, alpha: list[Fraction], w: list[Fraction], mu: dict[str, Fraction]) -> list[Any]:
    """t and g of every row, (CERT.1)."""
    found = []
    for k, z in enumerate(build_row_points(X, svm)):
        t = Fraction(float(svm.level[k])) - Fraction(float(svm.sign[k])) * dot(w, z)
        t -= sum((Fraction(float(g.column[k])) * mu[g.multiplier] for g in svm.groups), Fraction(0))
        bend = Fraction(float(svm.curvature[k]))
        found.append((t, compute_loss(t, float(svm.upper[k]), bend) + bend * alpha[k] ** 2 / 2 - alpha[k] * t))
    return found


@for_each("kind", GROUPS)
@for_each("seed", range(12))
def test_the_gap_is_a_sum_of_terms_that_are_not_negative(seed: int, kind: str) -> None:
    svm, X, _ = drawn_dual(seed, kind)
    rng = np.random.default_rng(seed)
    a = np.minimum(rng.choice([0.0, 0.25, 0.375, 9.0], svm.m), np.where(np.isfinite(svm.upper), svm.upper, 2.0))
    # any α is feasible for the totals that it has
    svm = replace(svm, groups=tuple(replace(g, total=float(g.column @ a)) if not g.ridge else g for g in svm.groups))
    alpha = as_fractions(a)
    w = as_fractions(rng.integers(-6, 7, X.shape[1]) / 4)
    mu = {group.multiplier: Fraction(float(rng.integers(-9, 10))) / 7 for group in svm.groups}
    beta = [x * Fraction(float(s)) for x, s in zip(alpha, svm.sign, strict=True)]
    own = [dot(beta, column) for column in zip(*build_row_points(X, svm), strict=True)]
    apart = [x - y for x, y in zip(w, own, strict=True)]
    terms = exact_terms(svm, X, alpha, w, mu)
    difference = dot(apart, apart) / 2 + sum(g for _, g in terms)
    for group in svm.penalised_groups:
        ridge = Fraction(group.ridge)
        slope = (dot(as_fractions(group.column), alpha) - Fraction(group.total)) / ridge
        difference += ridge * (mu[group.multiplier] - slope) ** 2 / 2
    assert all(g >= 0 for _, g in terms)
    primal, dual = compute_objectives(svm, X, alpha, w, mu)
    assert primal - dual == difference
    t = np.array([float(t) for t, _ in terms])
    computed = losses.compute_gap_term(a, t, svm.upper, svm.curvature)
    np.testing.assert_allclose(computed, [float(g) for _, g in terms], rtol=1e-12, atol=1e-15)


def with_rounding_bound(svm: SVMDual, space: FeatureSpace, alpha: Any, tol: float = 0.0) -> Certificate:
    """As `Problem.certify` does."""
    return GapRefiner(Accuracy(space), svm).refine(certify(space, svm, alpha), tol)


@pytest.mark.parametrize("kind", GROUPS)
@for_each("seed", range(12))
def test_any_alpha_becomes_a_pair_whose_gap_is_no_less_than_the_exact_one(seed: int, kind: str) -> None:
    size = (1.0, 1e-6, 1e6)[seed % 3]
    svm, X, space = drawn_dual(seed, kind, size)
    rng = np.random.default_rng(seed)
    with np.errstate(invalid="raise"):
        alpha = make_feasible(svm, rng.uniform(-0.5, 1.5, svm.m) * size)
        measured = certify(space, svm, alpha)
        certificate = with_rounding_bound(svm, space, alpha)
    for point in (measured, certificate):
        verdict = judge_dual(svm, X, point)
        assert verdict.in_box
        assert verdict.imbalance <= 1e-12
        assert verdict.gap >= 0
        assert point.primal == pytest.approx(float(verdict.primal), rel=1e-9, abs=1e-12 * size)
        assert point.dual == pytest.approx(float(verdict.dual), rel=1e-6, abs=1e-9 * abs(float(verdict.primal)))
        assert point.primal >= point.dual
    assert certificate.gap >= verdict.gap
    difference = float(measured.terms.sum()) + 0.5 * measured.weight_distance**2
    for group in svm.penalised_groups:
        slope = (float(group.column @ measured.alpha) - group.total) / group.ridge
        difference += 0.5 * group.ridge * (measured.centred_b - slope) ** 2
    assert measured.primal - measured.dual == pytest.approx(difference, rel=1e-9, abs=1e-12 * abs(measured.primal))


def test_a_row_at_its_bound_is_settled_from_the_knee_on_even_where_others_have_no_bound() -> None:
    """The row with α = U = 1 falls short by less than δU = 8, and costs (t − 8)²/16 there: that was left out."""
    problem = StatedProblem([[1.0], [-1.0]], [1, -1], 5.0, upper=[1.0, np.inf], curvature=[8.0, 1.0])
    certificate = problem.certify([1.0, 1.0])
    assert 0.0 < certificate.violation[0] < 8.0
    assert certificate.gap >= judge_dual(problem.svm, problem.X, certificate).gap > 0.01


@for_each("intercept", ["free", "penalised"])
def test_a_vanishing_w_is_no_excuse_for_an_alpha_that_costs_by_itself(intercept: str) -> None:
    """Levels 0, and one sample in both classes: w(α) = 0, but D(α) = −½Σδα², which is 100 % off."""
    problem = StatedProblem([[1.0], [1.0]], [1, -1], level=0.0, curvature=1.0, intercept=intercept)
    certificate = problem.certify([1.0, 1.0])
    assert judge_dual(problem.svm, problem.X, certificate).gap == 1
    assert certificate.gap >= 1
    assert certificate.dual == -1.0


def test_the_dual_value_counts_the_penalised_multiplier() -> None:
    svm, X, space = drawn_dual(6, "penalised")
    svm = replace(svm, level=repeat_value(0.0, svm.m))
    point = certify(space, svm, np.arange(svm.m) / 8.0)
    assert point.dual == pytest.approx(float(judge_dual(svm, X, point).dual), rel=1e-12)


def test_alpha_is_zero_and_so_is_the_optimum() -> None:
    """Every level is below 0, so that w = 0 costs nothing: like a regression whose tube holds all targets."""
    problem = StatedProblem([[1.0], [2.0], [4.0]], [1, -1, 1], level=-1.0, curvature=0.5)
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    assert (result.primal, result.dual, result.gap) == (0.0, 0.0, 0.0)


@for_each("factor", [0.125, 8.0, 0.1])
def test_the_column_of_a_group_may_have_any_size(factor: float) -> None:
    """What a surplus of column·α is repaired by is column times as much α."""
    svm, X, space = drawn_dual(1, "total")
    column = repeat_value(-factor, svm.m)
    svm = replace(svm, groups=(DualGroup("nu", "rho", column, factor * svm.groups[0].total),))
    for step in (0.0, 1e-12, 1e-9):
        certificate = certify(space, svm, np.full(svm.m, 0.1))
        off = replace(certificate, alpha=np.maximum(certificate.alpha * (1.0 + step), 0.0))
        checked = GapRefiner(Accuracy(space), svm).refine(off, 0.0)
        assert checked.gap >= judge_dual(svm, X, checked).gap


def test_groups_that_cannot_be_told_apart_are_refused() -> None:
    ones = repeat_value(1.0, 4)
    columns = np.array([1.0, 1.0, 2.0, 2.0])
    svm = SVMDual(
        LowRank(np.ones((4, 1))), ones, ones, ones, repeat_value(0.0, 4),
        (DualGroup("one", "a", columns, 1.0), DualGroup("other", "c", 2.0 * columns, 2.0)),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="one, other"):
        _ = svm.parts


@pytest.mark.parametrize("kind", GROUPS)
@for_each("seed", [0, 3, 156])
def test_over_a_kernel_matrix_too(seed: int, kind: str) -> None:
    """K = XXᵀ of small integers is exact, and so is w = Σ coef_i x_i. At seed 156, ½βᵀKβ was below 0 by rounding."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(-8, 9)
    svm, X, space = drawn_dual(seed, kind, size)
    if rng.random() < 0.3 and kind in ("free", "none", "penalised"):
        hard = rng.random(svm.m) < 0.3
        svm = replace(
            svm, upper=np.where(hard, np.inf, svm.upper), curvature=np.where(hard, 0.0, svm.curvature),
            level=rng.choice([0.5, 1.0, 2.0], svm.m),
        )  # fmt: skip
    space = FeatureSpace(Precomputed(), X @ X.T, space.intercept, "raise")
    svm = replace(svm, gram=space.centred_gram)
    start = certify(space, svm, rng.uniform(-0.5, 1.5, svm.m) * size)
    for point in (start, polish(svm, start, lambda a: certify(space, svm, a))):
        found = GapRefiner(Accuracy(space), svm).refine(point, 0.0)
        w = [dot(as_fractions(found.coef), as_fractions(column)) for column in X.T]
        verdict = judge_dual(svm, X, SimpleNamespace(alpha=found.alpha, w=w, b=found.b, multipliers=found.multipliers))
        assert verdict.primal >= verdict.dual
        if math.isfinite(found.gap):
            assert found.gap * verdict.size >= (verdict.primal - verdict.dual) * (1 - Fraction(1e-9))


# --- one multiplier ---------------------------------------------------------------------------------------------------


def draw_one_group(seed: int) -> tuple[SVMDual, DualPart, Any]:
    """Draw a dual with one group, whose column has any numbers and zeros, a ridge or none, a total, some hard rows."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    if seed % 2:
        column = rng.choice([-1.0, 1.0], m)
    else:
        column = rng.choice([-2.0, -0.5, 0.0, 1.0, 3.0], m)
    column[:2] = [1.0, -1.0]
    upper, curvature = draw_bounds(rng, m)
    if seed % 5 == 0:
        column[column == 3.0] = 4.0  # so that the ends are floats
        hard = (rng.random(m) < 0.4) & (column != 0.0)
        upper = np.where(hard, np.inf, upper)
        curvature = np.where(hard, 0.0, curvature)
    ridge = float(rng.choice([0.0, 0.25, 1.0, 3.0]))
    weights = np.where(np.isfinite(upper), upper, 1.0) * np.abs(column)
    total = float(rng.choice([0.0, 0.5])) * float(min(weights[column > 0].sum(), weights[column < 0].sum()))
    svm = SVMDual(
        LowRank(np.zeros((m, 1))), np.where(np.arange(m) % 2, 1.0, -1.0), rng.choice([-1.0, 0.0, 0.5, 2.0], m),
        upper, curvature, (DualGroup("one", "mu", column, total, ridge),),
    )  # fmt: skip
    return svm, svm.parts[0], rng.integers(-8, 9, m) / 4.0


def cost(svm: SVMDual, u: Any, theta: Fraction) -> Fraction | float:
    """h of (LEVEL.1)."""
    (group,) = svm.groups
    value: Any = Fraction(group.total) * theta + Fraction(group.ridge) * theta * theta / 2
    for k in range(svm.m):
        t = Fraction(float(svm.level[k])) - Fraction(float(svm.sign[k])) * Fraction(float(u[k]))
        value += compute_loss(
            t - Fraction(float(group.column[k])) * theta, float(svm.upper[k]), Fraction(svm.curvature[k])
        )
    return value


def knots(svm: SVMDual, u: Any) -> list[Fraction]:
    """Where h changes its formula."""
    found = set()
    for k, c in enumerate(as_fractions(svm.groups[0].column)):
        p = Fraction(float(svm.level[k])) - Fraction(float(svm.sign[k])) * Fraction(float(u[k]))
        if c:
            ends = [Fraction(0)]
            if math.isfinite(svm.upper[k]):
                ends.append(Fraction(float(svm.upper[k])) * Fraction(float(svm.curvature[k])))
            found |= {(p - end) / c for end in ends}
    return sorted(found)


@for_each("seed", range(120))
def test_the_interval_of_a_multiplier_is_the_set_of_its_minimisers(seed: int) -> None:
    svm, part, u = draw_one_group(seed)
    found = levels.find_minimisers(svm, part, levels.compute_thetas(svm, part, u))
    points = knots(svm, u)
    inner = [(a + b) / 2 for a, b in zip(points[1:], points[:-1], strict=True)]
    tried = [*points, *inner, points[0] - 1, points[-1] + 1]
    feasible_ones = [theta for theta in tried if cost(svm, u, theta) < math.inf]
    if found is None:
        assert not feasible_ones
        return
    low, high = found
    assert low <= high
    assert low > -math.inf
    best = float(cost(svm, u, Fraction(low)))
    scale = 1.0 + abs(best)
    assert math.isfinite(best)
    assert all(best <= float(cost(svm, u, theta)) + 1e-12 * scale for theta in feasible_ones)
    middle = Fraction(low) if math.isinf(high) else (Fraction(low) + Fraction(high)) / 2
    assert float(cost(svm, u, middle)) <= best + 1e-12 * scale
    for outside in (low - 1e-3, high + 1e-3):
        if math.isfinite(outside):
            assert float(cost(svm, u, Fraction(outside))) > best
    if svm.hard_rows is None:
        near = minimize_scalar(lambda x: float(cost(svm, u, Fraction(x))), bracket=(low - 1.0, low + 1.0))
        assert best <= near.fun + 1e-9 * scale


def test_hard_rows_alone_leave_the_multiplier_to_its_total() -> None:
    """Nothing but eθ is left between two hard rows: it is least at an end."""
    for total, expected in ((0.0, (-1.0, 2.0)), (1.0, (-1.0, -1.0)), (-1.0, (2.0, 2.0))):
        group = DualGroup("one", "mu", np.array([1.0, -1.0]), total)
        svm = SVMDual(
            LowRank(np.zeros((2, 1))),
            repeat_value(1.0, 2),
            np.array([-1.0, -2.0]),
            repeat_value(np.inf, 2),
            repeat_value(0.0, 2),
            (group,),
        )
        assert (
            levels.find_minimisers(svm, svm.parts[0], levels.compute_thetas(svm, svm.parts[0], np.zeros(2))) == expected
        )


def test_hard_rows_that_touch_meet_in_a_point_and_those_that_cross_in_none() -> None:
    for missing, expected in ((0.0, (1.0, 1.0)), (0.5, None)):
        svm = SVMDual(
            LowRank(np.zeros((2, 1))), np.array([1.0, -1.0]), np.array([1.0 + missing, -1.0]), repeat_value(np.inf, 2),
            repeat_value(0.0, 2), (DualGroup("one", "mu", np.array([1.0, -1.0])),),
        )  # fmt: skip
        assert (
            levels.find_minimisers(svm, svm.parts[0], levels.compute_thetas(svm, svm.parts[0], np.zeros(2))) == expected
        )


@for_each("total", [-5.0, 7.0])
def test_soft_rows_that_give_way_leave_the_multiplier_to_the_hard_ones(total: float) -> None:
    """e is more than the soft rows can hold: θ goes as far as the hard rows let it."""
    column = np.array([1.0, -1.0, 1.0, -1.0])
    svm = SVMDual(
        LowRank(np.zeros((4, 1))), repeat_value(1.0, 4), np.array([-3.0, -4.0, 0.0, 0.0]),
        np.array([np.inf, np.inf, 1.0, 1.0]), repeat_value(0.0, 4), (DualGroup("one", "mu", column, total),),
    )  # fmt: skip
    end = -3.0 if total > 0 else 4.0
    assert levels.find_minimisers(svm, svm.parts[0], levels.compute_thetas(svm, svm.parts[0], np.zeros(4))) == (
        end,
        end,
    )


def test_averaging_leaves_out_rows_that_the_group_has_no_part_in() -> None:
    svm, part, u = draw_one_group(0)
    column = np.where(np.arange(svm.m) < 2, part.column, 0.0)
    svm = replace(svm, groups=(DualGroup("one", "mu", column),))
    alpha = np.where(np.isfinite(svm.upper), 0.5 * svm.upper, 1.0)
    found = levels.average_free_rows(svm, svm.parts[0], levels.compute_thetas(svm, svm.parts[0], u), alpha)
    assert found is not None
    assert math.isfinite(found)


# --- repair -----------------------------------------------------------------------------------------------------------


@for_each("kind", GROUPS)
@for_each("seed", range(10))
def test_repair_ends_in_the_set_and_stays_there(seed: int, kind: str) -> None:
    svm, _, _ = drawn_dual(seed, kind)
    rng = np.random.default_rng(seed)
    for start in (rng.normal(size=svm.m) * 3, np.zeros(svm.m), np.full(svm.m, 1e9), np.full(svm.m, -1.0)):
        with np.errstate(all="raise", under="ignore"):
            alpha = make_feasible(svm, start)
            again = make_feasible(svm, alpha)
        assert (alpha >= 0).all()
        assert (alpha <= svm.upper).all()
        for part in svm.parts:
            if not part.ridge:
                assert part.column @ alpha == pytest.approx(part.total, rel=1e-12, abs=1e-14 * (1 + alpha.sum()))
        np.testing.assert_allclose(again, alpha, rtol=1e-12, atol=1e-14)


@for_each("sign", [-1.0, 1.0])
@for_each("caps", [1.0, np.inf])
def test_a_mass_is_reached_from_below_whatever_the_sign_of_its_column(sign: float, caps: float) -> None:
    """1ᵀα = 2 and −1ᵀα = −2 are one equality."""
    ones = repeat_value(1.0, 5)
    svm = SVMDual(
        LowRank(np.ones((5, 1))), ones, repeat_value(0.0, 5), repeat_value(caps, 5), repeat_value(0.0, 5),
        (DualGroup("total", "rho", repeat_value(sign, 5), 2.0 * sign),),
    )  # fmt: skip
    for start in (np.zeros(5), np.arange(5.0), np.full(5, 0.1)):
        alpha = make_feasible(svm, start)
        assert alpha.sum() == pytest.approx(2.0, rel=1e-14)
        assert (alpha >= 0).all()
        assert (alpha <= caps).all()


@for_each("mass", [-3.0, 0.0, 3.0])
def test_the_lighter_side_is_raised_where_emptying_the_heavier_one_is_not_enough(mass: float) -> None:
    column = np.array([1.0, 2.0, 0.0, -1.0, -0.5])
    for upper in (np.full(5, 4.0), np.full(5, np.inf)):
        for start in (np.zeros(5), np.ones(5), np.array([3.0, 3.0, 0.0, 0.0, 0.5])):
            alpha = balance_sides(start, column, upper, mass)
            assert (alpha >= 0).all()
            assert (alpha <= upper).all()
            assert column @ alpha == pytest.approx(mass, abs=1e-13)


# --- losses -----------------------------------------------------------------------------------------------------------

SIZES = (1e-150, 1e-8, 1.0, 3.0, 1e8, 1e150)


def test_losses_and_terms_are_those_of_fractions_at_any_size() -> None:
    """ψ and g to a few roundings wherever they are floats; what is beyond the largest is infinite, and never NaN."""
    rng = np.random.default_rng(0)
    for upper in (*SIZES, math.inf):
        for bend in (0.0, *SIZES):
            if math.isfinite(upper):
                near = [bend * upper, 0.999 * bend * upper]
            else:
                near = [bend]
            for t in (0.0, *SIZES, *(-size for size in SIZES), *near):
                share = float(rng.choice([0.0, 0.25, 1.0]))
                if math.isfinite(upper):
                    alpha = share * upper
                else:
                    alpha = share * (abs(t / bend) if bend else 1.0)
                if not (math.isfinite(t) and math.isfinite(alpha)):
                    continue
                vectors = [np.array([value]) for value in (t, upper, bend, alpha)]
                with np.errstate(over="ignore"):
                    psi = float(losses.compute_loss(*vectors[:3])[0])
                    g = float(losses.compute_gap_term(vectors[3], vectors[0], *vectors[1:3])[0])
                exact = compute_loss(Fraction(t), upper, Fraction(bend))
                a = Fraction(alpha)
                term = exact + Fraction(bend) * a * a / 2 - a * Fraction(t)
                parts = max(abs(a * Fraction(t)), Fraction(bend) * a * a)  # g is 0 but for the rounding of α
                assert term >= 0
                for computed, true, room in ((psi, exact, Fraction(0)), (g, term, parts * Fraction(1e-30))):
                    assert computed >= 0
                    if true > 10**300:
                        assert computed > 1e299
                    elif true > Fraction(1, 10**290):
                        assert abs(Fraction(computed) - true) <= Fraction(1e-12) * true + room
                    else:
                        assert computed < 1e-280


def test_a_term_is_not_lost_where_its_square_would_be() -> None:
    """(t − δα)² underflows, and (t − δα)²/(2δ) is an ordinary number."""
    t = np.array([1e-170])
    upper = np.array([np.inf])
    bend = np.array([1e-200])
    assert losses.compute_gap_term(np.zeros(1), t, upper, bend)[0] == pytest.approx(5e-141, rel=1e-12, abs=0.0)


@for_each("upper", [0.5, 3.0])
@for_each("bend", [1e-6, 1.0, 1e6])
def test_the_loss_is_continuous_at_its_knee(upper: float, bend: float) -> None:
    knee = upper * bend
    sides = np.array([np.nextafter(knee, 0.0), knee, np.nextafter(knee, np.inf)])
    values = losses.compute_loss(sides, np.full(3, upper), np.full(3, bend))
    np.testing.assert_allclose(values, 0.5 * upper * knee, rtol=1e-14)
    terms = losses.compute_gap_term(np.full(3, upper), sides, np.full(3, upper), np.full(3, bend))
    assert (terms <= 1e-28 * upper * knee).all()


# --- machines that the library has not --------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", range(4))
def test_a_stated_machine_is_called_optimal_only_where_it_is(batch: int) -> None:
    wrong = {seed: found for seed in range(25 * batch, 25 * (batch + 1)) if (found := examine_stated_seed(seed))}
    assert not wrong


@for_each("seed", [1286, 2524, 3191, 3216, 3271])
def test_seeds_that_were_called_optimal_and_were_not(seed: int) -> None:
    assert not examine_stated_seed(seed)


@for_each("seed", [32, 47, 311, 489, 779])
def test_points_whose_gap_was_printed_below_the_truth(seed: int) -> None:
    problem, _ = draw_stated(seed)
    rng = np.random.default_rng(seed + 10**6)
    size = np.minimum(problem.svm.upper, 1 / np.maximum(problem.svm.curvature, 1e-12))
    for alpha in (size * rng.choice([0.0, 0.3, 1.0], problem.n), size, size * rng.uniform(-0.2, 1.2, problem.n)):
        certificate = problem.certify(alpha)
        assert certificate.gap >= judge_dual(problem.svm, problem.X, certificate).gap


@pytest.mark.parametrize("backend", ["auto", "cvxopt", "interior_point"])
def test_hard_rows_may_have_levels_of_their_own(backend: str) -> None:
    """A point that is on them up to rounding is pushed until it is beyond: P was infinite."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0, 1.0, -1.0)
    level = rng.uniform(0.2, 2.0, 30)
    curvature = np.full(30, 0.05)
    soft = qpsvm.solve(StatedProblem(X, y, level, np.inf, curvature))
    hard = np.flatnonzero((soft.yf < 0.95 * level) & (soft.yf > 0.2 * level))[:3]
    curvature[hard] = 0.0
    problem = StatedProblem(X, y, level, np.inf, curvature)
    result = qpsvm.solve(problem, backend, tol=1e-8)
    assert result.status == "optimal"
    assert not find_faults(problem, result, 1e-8)
    assert (y * result.decision_function(X) >= level - 1e-12)[hard].all()
    assert np.count_nonzero(result.alpha[hard]) > 0
