"""Every loss of a row in the linear solver: its formulas by brute force, its machines by the library's certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from judge import find_faults
from pairwise import cover_pairs
from stated_machines import StatedProblem

import qpsvm
from qpsvm import core
from qpsvm.backends.own.augmented_lagrangian_ import AugmentedLagrangianBackend
from qpsvm.backends.own.linear_rows import build_linear_rows
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.traits import find_dual_traits
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.data.rows import as_row_source
from qpsvm.program.losses import compress_constant
from qpsvm.solve.backend_order import rank_backends
from qpsvm.solvers.linear import liblinear, working_set
from qpsvm.solvers.linear.augmented_lagrangian import AugmentedLagrangian
from qpsvm.solvers.linear.label_scaled_rows import build_label_scaled_rows
from qpsvm.solvers.linear.liblinear import SQUARED_HINGE_DUAL, find_solver_type, run_liblinear, run_passes
from qpsvm.solvers.linear.newton_step import CholeskyNewton, WideNewton
from qpsvm.solvers.linear.row_problem import MultiplierResponse, RowLosses, balance_alpha
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.solve import solve_linear

INTERCEPTS = ("free", "penalised", None)
TOL = 1e-6
ROWS = 40


def losses() -> dict[str, RowLosses]:
    """Each kind, with one number for all rows and with one a row."""
    g = np.random.default_rng(0)
    level = g.standard_normal(ROWS)
    each = g.uniform(0.5, 2.0, ROWS)
    return {
        "hinge": RowLosses(1.5),
        "hinges of their own": RowLosses(each, level),
        "squared hinge": RowLosses(np.inf, curvature=0.3),
        "squared hinges of their own": RowLosses(np.inf, level, curvature=0.3 * each),
        "Huber": RowLosses(1.5, curvature=0.3),
        "bent in some rows": RowLosses(1.5, curvature=np.where(each > 1.0, 0.3, 0.0)),
        "tube": RowLosses(1.5, level, -1.5, 0.4),
        "tubes of their own": RowLosses(each, level, -2.0 * each, 0.4 * each),
        "median": RowLosses(1.5, level, -1.5),
        "quantile": RowLosses(1.8, level, -0.2),
        "squared tube": RowLosses(np.inf, level, -np.inf, 0.4, 0.3),
        "squares": RowLosses(np.inf, level, -np.inf, 0.0, 0.3 * each),
        "bent tube": RowLosses(1.5, level, -1.5, 0.4, 0.3),
    }


LOSSES = losses()
#: Candidates for α in a search by brute force.
GRID = np.linspace(-12.0, 12.0, 24_001)


def search_alpha(kind: RowLosses, r: np.ndarray, a: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Search among the candidates, row by row, for the α that maximises αr − φ*(α) − (α − a)²/2σ, and its worth."""
    found, worth = [], []
    names = ("high", "level", "low", "tube", "curvature")
    for i in range(ROWS):
        one = {name: float(np.broadcast_to(getattr(kind, name), ROWS)[i]) for name in names}
        alpha = np.clip(GRID, one["low"], one["high"])
        value = alpha * r[i] - one["tube"] * np.abs(alpha) - 0.5 * one["curvature"] * alpha**2
        value -= (alpha - a[i]) ** 2 / (2.0 * sigma)
        found.append(alpha[value.argmax()])
        worth.append(value.max())
    return np.array(found), np.array(worth)


@for_each("name", LOSSES)
def test_the_answer_is_that_of_a_search(name):
    kind = LOSSES[name]
    g = np.random.default_rng(1)
    r = g.standard_normal(ROWS)
    a = kind.clip_to_box(g.standard_normal(ROWS))
    for sigma in (0.1, 1.0, 10.0):
        response = MultiplierResponse(kind, sigma)
        t = response.compute_arguments(a, r)
        np.testing.assert_allclose(response.compute_alpha(t), search_alpha(kind, r, a, sigma)[0], atol=2e-3)
        step = 1e-7  # the slope of a free row is d, that of another 0
        slope = (response.compute_alpha(t + step) - response.compute_alpha(t)) / step
        np.testing.assert_allclose(slope, response.find_free(t).astype(float), atol=1e-6)
    alpha, loss = search_alpha(kind, r, np.zeros(ROWS), np.inf)
    np.testing.assert_allclose(kind.compute_optimal_dual(r), alpha, atol=2e-3)
    assert kind.sum_losses(r) == pytest.approx(loss.sum(), abs=1e-4)


@for_each("name", LOSSES)
def test_a_share_of_the_gap_is_never_negative_and_vanishes_at_the_answer(name):
    kind = LOSSES[name]
    g = np.random.default_rng(2)
    r = g.standard_normal(ROWS)
    assert kind.compute_gap(kind.compute_optimal_dual(r), r) == pytest.approx(0.0, abs=1e-12)
    for _ in range(20):
        a = kind.clip_to_box(2.0 * g.standard_normal(ROWS))
        parts = [kind.restrict_rows(np.array([i])).compute_gap(a[[i]], r[[i]]) for i in range(ROWS)]
        assert min(parts) >= -1e-14
        assert sum(parts) == pytest.approx(kind.compute_gap(a, r))
        level = np.broadcast_to(kind.level, ROWS)
        assert kind.compute_dual_value(a) == pytest.approx(float(level @ a) - kind.sum_conjugates(a))


@for_each("name", LOSSES)
def test_no_kink_is_nearer_than_the_distance(name):
    kind = LOSSES[name]
    r = np.random.default_rng(3).standard_normal(ROWS)
    distance, answer = kind.measure_kink_distance(r), kind.compute_optimal_dual(r)
    for share in (-0.999, 0.999):
        np.testing.assert_array_equal(kind.compute_optimal_dual(r + share * distance), answer)
        assert not kind.find_changed(answer, r + share * distance).any()


@for_each("name", LOSSES)
def test_a_row_with_a_factor_is_as_many_rows(name):
    kind = LOSSES[name]
    r = np.random.default_rng(4).standard_normal(ROWS)
    assert kind.scale_by(3.0).sum_losses(r) == pytest.approx(3.0 * kind.sum_losses(r))
    each = np.random.default_rng(5).integers(1, 4, ROWS)
    several = np.repeat(np.arange(ROWS), each)
    assert kind.scale_by(each.astype(float)).sum_losses(r) == pytest.approx(
        kind.restrict_rows(several).sum_losses(r[several])
    )


@for_each("name", LOSSES)
def test_balanced_multipliers_stay_in_the_box_and_at_their_kinks(name):
    kind = LOSSES[name]
    g = np.random.default_rng(6)
    y = np.where(g.random(ROWS) < 0.5, 1.0, -1.0)
    alpha = kind.clip_to_box(np.where(g.random(ROWS) < 0.6, g.uniform(-1.0, 1.0, ROWS), 0.0))
    result = balance_alpha(alpha, y, kind)
    assert y @ result == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(result, kind.clip_to_box(result))
    resting = (alpha == kind.low) | (alpha == kind.high)
    if kind.is_one_sided or not np.all(kind.tube == 0.0):
        resting |= alpha == 0.0
    np.testing.assert_array_equal(result[resting], alpha[resting])


def test_equal_numbers_are_one():
    assert compress_constant(2) == compress_constant(np.full(3, 2.0)) == compress_constant(repeat_value(2.0, 3)) == 2.0
    assert isinstance(compress_constant(np.array([1.0, 2.0])), np.ndarray)


@for_each("sigma", [1e-3, 1.0, 1e4])
@for_each("free_intercept", [True, False])
def test_all_newton_systems_take_a_weight_a_row(free_intercept, sigma, monkeypatch):
    g = np.random.default_rng(0)
    X = g.standard_normal((40, 8))
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    rows, mean = build_label_scaled_rows(as_row_source(X), y, 1.0, free_intercept)
    ridge = np.append(np.ones(8), 0.0 if free_intercept else 1.0)
    q = g.standard_normal(9)
    D = sigma * g.uniform(0.5, 5.0, 40)
    Z = y[:, None] * np.column_stack([X - (0.0 if mean is None else mean), np.ones(40)])
    direct, wide = CholeskyNewton(rows, ridge), WideNewton(rows, ridge)
    for start in (0, 3, 10):  # entering and leaving rows
        free = np.zeros(40, dtype=bool)
        free[start : start + 14] = True
        H = np.diag(ridge) + Z[free].T @ (D[free][:, None] * Z[free])
        expected = np.linalg.solve(H, -q)
        np.testing.assert_allclose(direct.step(free, D, q, q), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(wide.step(free, D, q, q), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(direct.step(free, 2.0 * D, q, q), wide.step(free, 2.0 * D, q, q), rtol=1e-6, atol=1e-8)
    with monkeypatch.context() as patch:
        by_iteration = replace(SETTINGS, max_cg_tolerance=1e-12, max_factored_rows=0)
        patch.setattr("qpsvm.solvers.linear.newton_step.SETTINGS", by_iteration)
        np.testing.assert_allclose(WideNewton(rows, ridge).step(free, D, q, q), expected, rtol=1e-5, atol=1e-7)


# --- machines ---------------------------------------------------------------------------------------------------------


def table(n: int = 150, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, two classes, and a target."""
    g = np.random.default_rng(seed)
    X = g.standard_normal((n, d))
    t = X @ g.standard_normal(d) + g.standard_normal(n) + 3.0
    return X, np.where(t > np.median(t), 1.0, -1.0), t


def machines(X: Any, y: Any, t: Any, C: float = 1.0, **options: Any) -> dict[str, qpsvm.Problem]:
    """All that are sums of losses, by name."""
    return {
        "hinge": qpsvm.CSVM(X, y, C, **options),
        "absolute": qpsvm.EpsilonSVR(X, t, C, **options),
        "squared": qpsvm.EpsilonSVR(X, t, C, loss="squared", **options),
        "quantile": qpsvm.QuantileSVR(X, t, C, quantile=0.8, **options),
        "squared hinge": qpsvm.SquaredHinge(X, y, C, **options),
        "narrow Huber": qpsvm.HuberHinge(X, y, C, width=0.01, **options),
        "wide Huber": qpsvm.HuberHinge(X, y, C, width=5.0, **options),
    }


NAMES = tuple(machines(*table(5)))


def solve_unpolished(problem: qpsvm.Problem, **options: Any) -> qpsvm.SVMResult:
    """Solve by Newton steps or coordinates alone: nothing polishes."""
    return qpsvm.solve(problem, "augmented_lagrangian", polish=False, **options)


@for_each("name, C, intercept", cover_pairs(NAMES, (1e-8, 1e-2, 1.0, 100.0), INTERCEPTS))
def test_values_are_those_of_interior_points(name, C, intercept):
    problem = machines(*table(), C, intercept=intercept)[name]
    result = solve_unpolished(problem)
    assert result.status == "optimal"
    assert result.primal == pytest.approx(qpsvm.solve(problem, "interior_point").primal, rel=2 * TOL)


HOSTILE = ("weights", "sparse", "wide", "offset", "scales", "raw", "two", "three")


CASES = cover_pairs(HOSTILE, NAMES, (1e-4, 1.0, 1e3))
CASES += [("scales", "wide Huber", 1e3)]  # where nothing is left to polish


@for_each("kind, name, C", CASES)
def test_ordinary_hostile_problems(kind, name, C):
    X, y, t = table()
    options: dict[str, Any] = {}
    if kind == "weights":
        options["sample_weight"] = np.random.default_rng(1).exponential(size=len(t)) * (np.arange(len(t)) % 5 > 0)
    elif kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    elif kind == "wide":
        X = np.random.default_rng(1).standard_normal((len(t), 400))
    elif kind == "offset":
        X = np.column_stack([X + 1e6, np.full(len(t), 3.0)])
    elif kind == "scales":
        X = X * 10.0 ** np.linspace(-6, 6, 4)
    elif kind == "raw":
        t = 1e6 + 1e4 * t
    else:
        n = {"two": 2, "three": 3}[kind]
        X = X[:n]
        y = np.resize([1.0, -1.0, 1.0], n)
        t = t[:n]
    result = qpsvm.solve(machines(X, y, t, C, **options)[name], "augmented_lagrangian", check=False)
    assert result.status == "optimal"


@for_each("intercept", INTERCEPTS)
@for_each("loss", ["absolute", "squared"])
def test_one_sample(loss, intercept):
    result = solve_unpolished(qpsvm.EpsilonSVR([[2.0, 1.0]], [3.0], loss=loss, intercept=intercept))
    assert result.status == "optimal"


@for_each("loss", ["absolute", "squared"])
def test_a_tube_that_holds_everything(loss):
    X, _, t = table()
    result = solve_unpolished(qpsvm.EpsilonSVR(X, t, epsilon=float(np.ptp(t)), loss=loss))
    assert result.status == "optimal"
    assert not result.w.any()
    assert not result.alpha.any()
    equal = solve_unpolished(qpsvm.EpsilonSVR(X, np.full(len(t), 3.7), loss=loss))
    assert equal.status == "optimal"
    assert equal.b == pytest.approx(3.7, abs=0.1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_rows(name):
    """Of an own weight each, and with heavy tails."""
    X, y, t = table(21_000)
    assert working_set.is_large(*X.shape)
    weight = np.where(np.arange(len(t)) % 3, 1.0, 0.25)
    for intercept in INTERCEPTS:
        assert solve_unpolished(machines(X, y, t, intercept=intercept, sample_weight=weight)[name]).status == "optimal"
    g = np.random.default_rng(0)
    X = g.standard_t(1.5, (21_000, 4))
    t = X @ g.standard_normal(4) + g.standard_t(1.5, len(X))
    assert solve_unpolished(machines(X, np.sign(t), t, 10.0)[name]).status == "optimal"


def test_a_band_is_all_that_a_tube_needs_of_many_rows(monkeypatch):
    """Rows inside the tube and beyond it rest: the plain method is never asked."""
    X, _, t = table(30_000)
    seen = []
    plain = AugmentedLagrangian.__init__

    def record_rows(self, problem, *arguments, **options):
        seen.append(problem.rows.n)
        plain(self, problem, *arguments, **options)

    monkeypatch.setattr(AugmentedLagrangian, "__init__", record_rows)
    assert solve_unpolished(qpsvm.EpsilonSVR(X, t)).status == "optimal"
    assert max(seen) < 15_000


@for_each("intercept", INTERCEPTS)
def test_levels_and_losses_that_differ_by_row(intercept):
    g = np.random.default_rng(0)
    X, y, _ = table(12)
    X = np.round(4.0 * X)
    level = g.choice([0.25, 1.0, 2.0, -1.0], 12)
    upper = g.uniform(0.1, 2.0, 12)
    curvature = np.where(np.arange(12) % 2, 0.5, 0.0)
    for bent, most in ((0.0, upper), (curvature, upper), (0.5 + curvature, np.where(np.arange(12) % 3, np.inf, 1.0))):
        problem = StatedProblem(X, y, level, most, bent, intercept)
        result = solve_unpolished(problem)
        assert result.status == "optimal"
        assert find_faults(problem, result, TOL) == []


# --- starts and limits ------------------------------------------------------------------------------------------------


@for_each("name", NAMES)
@for_each("rows", [600, 21_000])
def test_a_neighbour_is_a_start(name, rows):
    X, y, t = table(rows)
    near = solve_unpolished(machines(X, y, t)[name])
    problem = machines(X, y, t, 1.3)[name]
    warm = solve_unpolished(problem, start=near)
    cold = solve_unpolished(problem)
    assert warm.status == cold.status == "optimal"
    if name in ("absolute", "quantile"):  # of smooth losses a few steps are all in any case
        assert warm.iterations <= cold.iterations
    if name == "absolute":
        wider = solve_unpolished(qpsvm.EpsilonSVR(X, t, epsilon=0.13), start=near)
        assert wider.status == "optimal"
        assert wider.iterations <= cold.iterations
    assert solve_unpolished(machines(X, y, t)[name], start=near).status == "optimal"


@for_each("rows", [400, 21_000])
def test_any_start_will_do(rows):
    X, y, t = table(rows)
    for name, problem in machines(X, y, t).items():
        start = 1e3 * np.random.default_rng(0).standard_normal(problem._n_dual_variables)
        assert solve_unpolished(problem, start=start).status == "optimal", name


@pytest.mark.filterwarnings("ignore::qpsvm.QPSVMWarning")
@pytest.mark.parametrize("name", NAMES)
def test_limits_return_the_best_point(name, monkeypatch):
    for rows in (400, 21_000):
        problem = machines(*table(rows), 10.0)[name]
        few = solve_unpolished(problem, max_iter=2, check=False)
        assert few.iterations == 2
        assert few.status == "iteration_limit"
        assert np.isfinite(few.gap)
        with monkeypatch.context() as patch:
            patch.setattr("qpsvm.base.resources.clock.is_interrupted", lambda: True)
            answer = solve_linear(problem.X, np.ones(rows), RowLosses(1.0, table(rows)[2], -1.0, 0.1))
        assert answer.reason == "interrupted"
        assert np.isfinite(answer.w).all()
    assert solve_linear(problem.X, np.ones(rows), RowLosses(1.0, table(rows)[2], -1.0), time_limit=0.0).reason == (
        "time_limit"
    )


# --- the rows of a dual -----------------------------------------------------------------------------------------------


def test_two_rows_of_a_sample_are_one():
    X, _, t = table(50)
    problem = qpsvm.EpsilonSVR(X, 1e6 + t, C=2.0, epsilon=0.1)
    rows = build_linear_rows(problem.svm)
    assert rows.is_folded
    assert rows.source is problem.svm.gram.source, "X is not doubled"
    assert rows.losses.tube == pytest.approx(0.1, abs=1e-9), "one number, though levels of a million are rounded"
    assert (rows.losses.high, rows.losses.low) == (2.0, -2.0)
    alpha = rows.to_alpha(np.linspace(-1.0, 1.0, 50))
    assert (np.minimum(alpha[:50], alpha[50:]) == 0.0).all()
    np.testing.assert_array_equal(rows.from_alpha(alpha), np.linspace(-1.0, 1.0, 50))


def test_sides_that_bend_unequally_are_taken_row_by_row():
    X, _, t = table(50)
    problem = qpsvm.EpsilonSVR(X, t, loss="squared")
    bend = np.where(np.arange(100) < 50, 0.5, 2.0)
    svm = replace(problem.svm, curvature=bend)
    rows = build_linear_rows(svm)
    assert not rows.is_folded
    answer = solve_linear(rows.source, rows.sign, rows.losses, intercept="free", tol=1e-9, engine="newton")
    Z = rows.source.matrix()
    short = svm.level - svm.sign * (Z @ answer.w + answer.b)
    np.testing.assert_allclose(answer.alpha, np.maximum(short, 0.0) / bend, atol=1e-4)
    np.testing.assert_allclose(Z.T @ (svm.sign * answer.alpha), answer.w, atol=1e-4)
    assert svm.sign @ answer.alpha == pytest.approx(0.0, abs=1e-9)


def test_rows_that_nothing_may_fall_short_of_are_left_to_others():
    X, y, _ = table(12)
    backend = AugmentedLagrangianBackend()
    hard = np.where(np.arange(12) % 2, np.inf, 1.0)
    for upper, curvature in ((np.inf, 0.0), (hard, 0.0), (np.inf, np.where(np.isinf(hard), 0.0, 1.0))):
        svm = StatedProblem(X, y, 1.0, upper, curvature).svm
        assert backend.explain_refusal(find_dual_traits(svm, True), svm.m, "dual") is not None
    with pytest.raises(qpsvm.UnsupportedError, match="nu"):
        qpsvm.solve(qpsvm.NuSVM(X, y, nu=0.5), "augmented_lagrangian")


def test_auto_takes_it_first_where_rows_are_many():
    X, y, t = table(4000, 10)
    novelty = [qpsvm.OneClass(X, kernel="linear"), qpsvm.SVDD(X, kernel="linear")]
    pairs = qpsvm.Ranking(X[:200], t[:200])
    assert measure_size(pairs).rows == len(pairs.pairs) == 19_900
    for problem in (*machines(X, y, t).values(), *novelty, pairs):
        assert next(rank_backends(problem)).backend == "augmented_lagrangian"


# --- coordinate descent -----------------------------------------------------------------------------------------------


def draw_wide_rows(n: int = 60, d: int = 2000) -> tuple[Any, np.ndarray]:
    """Draw sparse rows with more columns than a Newton step factors."""
    g = np.random.default_rng(0)
    X = sp.csr_array(sp.random_array((n, d), density=0.01, random_state=g, format="csr"))
    return X, np.where(np.arange(n) % 2, 1.0, -1.0)


PEERS = {
    "hinge": RowLosses(np.random.default_rng(1).uniform(0.1, 20.0, 60)),
    "squared hinge": RowLosses(np.inf, curvature=0.5),
    "tube": RowLosses(1.0, np.linspace(-1.0, 2.0, 60), -1.0, 0.1),
    "squared tube": RowLosses(np.inf, np.linspace(-1.0, 2.0, 60), -np.inf, 0.1, 0.5),
}


@for_each("intercept", [True, False])
@for_each("sparse", [True, False])
@for_each("name", PEERS)
def test_its_multipliers_are_those_that_w_is_made_of(name, sparse, intercept, monkeypatch):
    """By the compiled function and by the public class of scikit-learn."""
    X, y = draw_wide_rows()
    X = X if sparse else X.toarray()
    kind = PEERS[name]
    y = y if PEERS[name].is_one_sided else np.ones(60)
    found = run_passes(X, y, kind, intercept, 1e-8, None, 1000)
    assert found.converged
    np.testing.assert_array_equal(found.alpha, kind.clip_to_box(found.alpha))
    np.testing.assert_allclose(found.w, X.T @ (y * found.alpha), atol=1e-12)
    assert found.b == pytest.approx(float(y @ found.alpha) if intercept else 0.0, abs=1e-12)
    assert kind.compute_gap(found.alpha, kind.compute_residuals(y * (X @ found.w + found.b))) < 1e-5
    with monkeypatch.context() as patch:
        patch.setattr(liblinear, "find_compiled_train", lambda: None)
        public = run_passes(X, y, kind, intercept, 1e-8, None, 1000)
    for mine, its in ((found.w, public.w), (found.alpha, public.alpha), (found.b, public.b)):
        np.testing.assert_allclose(mine, its, atol=1e-5)


def test_rows_of_one_sign_are_turned():
    X, y = draw_wide_rows()
    kind = RowLosses(1.0)
    turned = run_liblinear(sp.csr_array(y[:, None] * X.toarray()), np.ones(60), kind, False, eps=1e-9, max_passes=1000)
    plain = run_liblinear(X, y, kind, False, eps=1e-9, max_passes=1000)
    np.testing.assert_allclose(turned.w, plain.w, atol=1e-6)
    np.testing.assert_allclose(turned.alpha, plain.alpha, atol=1e-5)


def test_what_it_does_not_have():
    y = draw_wide_rows()[1]
    one = np.ones(60)
    assert find_solver_type(PEERS["squared hinge"], y, True) == SQUARED_HINGE_DUAL
    assert find_solver_type(RowLosses(1.0, curvature=0.1), y, True) is None
    assert find_solver_type(RowLosses(1.0, level=2.0), y, True) is None
    assert find_solver_type(RowLosses(1.0), one, True) is None
    assert find_solver_type(RowLosses(0.9, 0.0, -0.1), one, True) is None
    assert find_solver_type(RowLosses(1.0, 0.0, -1.0, np.linspace(0.1, 0.2, 60)), one, True) is None
    X, _, t = table()
    with pytest.raises(qpsvm.UnsupportedError, match="cost the same on both sides"):
        qpsvm.solve(qpsvm.QuantileSVR(X, t, quantile=0.8, intercept="penalised"), "liblinear")


@pytest.mark.skipif(core.compiled is None, reason="descent needs the compiled core")
@for_each("name", ["squared hinge", "absolute", "squared"])
@for_each("intercept", INTERCEPTS)
def test_it_goes_first_on_wide_sparse_rows(name, intercept):
    X, y = draw_wide_rows()
    t = X @ np.random.default_rng(1).standard_normal(2000) + y
    problem = machines(X, y, t, intercept=intercept)[name]
    result = solve_unpolished(problem)
    assert result.status == "optimal"
    assert result.solver.status.startswith("converged (coordinate")
    assert result.primal == pytest.approx(solve_unpolished(problem, engine="newton").primal, rel=2 * TOL)
    if intercept != "free":
        assert qpsvm.solve(problem, "liblinear").primal == pytest.approx(result.primal, rel=2 * TOL)


# --- a sum that is given ----------------------------------------------------------------------------------------------


@for_each("nu", [0.02, 0.3, 1.0])
@for_each("rows", [60, 21_000])
def test_novelty(nu, rows):
    X = np.random.default_rng(0).standard_normal((rows, 4)) + 1.0
    for problem in (qpsvm.OneClass(X, nu=nu, kernel="linear"), qpsvm.SVDD(X, nu=nu, kernel="linear")):
        result = solve_unpolished(problem)
        assert result.status == "optimal"
        reference = qpsvm.solve(problem, "interior_point")
        assert result.primal == pytest.approx(reference.primal, rel=2 * TOL)
        again = solve_unpolished(problem, start=result)
        assert again.status == "optimal"


def test_a_sum_of_the_rows_own_column():
    """Of an equality whose column is −2 times the sign: Σα = 3."""
    X = np.random.default_rng(0).standard_normal((30, 3)) + 1.0
    plain = qpsvm.OneClass(X, nu=0.1, kernel="linear").svm
    group = replace(plain.groups[0], column=-2.0 * plain.sign, total=-6.0)
    rows = build_linear_rows(replace(plain, groups=(group,)))
    assert (rows.total, rows.factor) == (3.0, -2.0)
    answer = solve_linear(rows.source, rows.sign, rows.losses, total=rows.total)
    assert answer.reason == "converged"
    assert answer.alpha.sum() == pytest.approx(3.0)
    same = qpsvm.solve(qpsvm.OneClass(X, nu=0.1, kernel="linear"))
    np.testing.assert_allclose(answer.w, same.w, rtol=1e-3)


@for_each("n", [300, 20_000])
@for_each("nu", [0.05, 0.5])
def test_an_origin_inside_the_samples_takes_few_steps(n, nu):
    """The optimum is 0, so that no gap is small relative to it: the run ends where w(α) is rounding."""
    X = np.random.default_rng(0).normal(size=(n, 5))
    result = qpsvm.solve(qpsvm.OneClass(X, nu, qpsvm.Linear()), "augmented_lagrangian")
    assert result.status == "optimal"
    assert result.primal == 0.0
    assert result.iterations <= 50  # 200 and more if the run goes on
