"""The linear solver against cvxopt and the library's own certificate, on ordinary and on hostile data."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm.base.arrays.rounding import relative_gap
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.bounds.certificate import gap_terms
from qpsvm.data.rows import as_row_source
from qpsvm.solvers.linear import working_set
from qpsvm.solvers.linear.newton_step import CholeskyNewton, WideNewton
from qpsvm.solvers.linear.row_problem import RowLosses, balanced
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.signed_rows import SignedRows, signed_rows
from qpsvm.solvers.linear.solve import reduced, solve_linear
from qpsvm.solvers.shared.line_search import SLOPE_SHARE, Slope, find_step

INTERCEPTS = ("free", "penalised", None)
TOL = 1e-6
#: What a certificate, whose intercept and balance are its own, may add to the method's estimate.
CERTIFIED = 1.1 * TOL


def blobs(n=120, d=5, separation=1.0, seed=0, share=0.5):
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = random.standard_normal((n, d))
    X[:, 0] += separation * y
    return X, y


def problem_of(X, y, C, intercept):
    if intercept == "free":
        return qpsvm.CSVM(X, y, C)
    C = np.broadcast_to(C, len(y))
    return qpsvm.PrimalHinge(X, y, 1 / C.sum(), intercept=intercept, sample_weight=C / C.mean())


def certified_gap(X, y, C, intercept, solution):
    """The library's certificate for a free intercept; without a balance it is (CERT.2) at (w, b) or at (w, b)(α)."""
    alpha = solution.alpha
    assert np.isfinite(solution.w).all()
    assert np.isfinite(solution.b)
    assert ((alpha >= 0) & (alpha <= C)).all()
    if intercept == "free":
        return qpsvm.CSVM(X, y, C).certify(alpha, solution.w).gap
    unit = 0.0 if intercept is None else 1.0
    from_alpha, b_from_alpha = X.T @ (alpha * y), unit * float(alpha @ y)
    dual = float(alpha.sum()) - 0.5 * float(from_alpha @ from_alpha) - 0.5 * b_from_alpha**2
    gaps = []
    for w, b in ((solution.w, solution.b), (from_alpha, b_from_alpha)):
        distance = 0.5 * float(np.sum((w - from_alpha) ** 2)) + 0.5 * (b - b_from_alpha) ** 2
        terms = gap_terms(alpha, C, y * (X @ w + b), 1.0)
        gaps.append(relative_gap(distance + float(terms.sum()), dual, dual))
    return min(gaps)


def hostile():
    random = np.random.default_rng(1)
    X, y = blobs()
    constant, huge_constant = X.copy(), X.copy()
    constant[:, 1], huge_constant[:, 1] = 3.0, 1e6
    rare, few = blobs(2000, share=0.0)
    wide = sp.random_array((60, 2000), density=0.01, random_state=random, format="csr")
    return {
        "plain": (X, y),
        "column scales": (X * 10.0 ** np.linspace(-8, 8, 5), y),
        "offset": (X + 1e6, y),
        "mixed offsets": (X + np.array([1e6, 0, -1e6, 3, 1e3]), y),
        "heavy tails": (random.standard_t(1.2, X.shape) + 0.5 * y[:, None], y),
        "log-normal": (np.exp(3 * random.standard_normal(X.shape)) * (1 + 0.3 * y[:, None]), y),
        "constant column": (constant, y),
        "large constant column": (huge_constant, y),
        "duplicate columns": (np.hstack([X, X, 2 * X]), y),
        "collinear columns": (np.hstack([X, X @ random.standard_normal((5, 4))]), y),
        "duplicate rows": (np.vstack([X, X]), np.concatenate([y, y])),
        "opposite labels": (np.vstack([X, X]), np.concatenate([y, -y])),
        "imbalance": (rare, few),
        "separable": blobs(separation=8.0),
        "no signal": blobs(separation=0.0),
        "n < d": blobs(20, 50),
        "n << d": blobs(60, 300),
        "two rows": (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0])),
        "two equal rows": (np.ones((2, 2)), np.array([1.0, -1.0])),
        "one row of a class": (X[:50], np.concatenate([[1.0], -np.ones(49)])),
        "zeros": (np.zeros((30, 3)), y[:30]),
        "binary": ((X > 0).astype(float), y),
        "sparse": (sp.csr_array(X * (random.random(X.shape) < 0.3)), y),
        "sparse and wide": (wide, y[:60]),
        "tiny": (X * 1e-10, y),
    }


HOSTILE = hostile()
#: Beyond C·max‖x‖² of about 1e14 the rounding of α alone exceeds the tolerance; an honest reason is enough there.
ROUNDING = 1e13


@pytest.mark.slow
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_are_certified_or_honestly_given_up(name, intercept):
    X, y = HOSTILE[name]
    for C in 10.0 ** np.arange(-6, 9, 2):
        solution = solve_linear(X, y, C, intercept=intercept, tol=TOL)
        gap = certified_gap(X, y, C, intercept, solution)
        largest = float(np.asarray((X * X).sum(axis=1)).max())
        if solution.reason == "converged" and C * largest < ROUNDING:
            assert gap <= CERTIFIED, C
        elif C * largest < ROUNDING:
            pytest.fail(f"C = {C:g}: {solution.reason} at a gap of {gap:.1e}")
        assert solution.reason in ("converged", "numerical_error")


@pytest.mark.slow
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_values_agree_with_cvxopt(C, intercept):
    X, y = blobs(80, 4, seed=3)
    problem = problem_of(X, y, C, intercept)
    reference = qpsvm.solve(problem, backend="cvxopt", tol=1e-8)
    solution = solve_linear(X, y, C, intercept=intercept, tol=1e-9)
    decision = X @ solution.w + solution.b
    penalty = 0.5 * solution.b**2 if intercept == "penalised" else 0.0
    factor = 1.0 if intercept == "free" else problem.lam
    primal = 0.5 * solution.w @ solution.w + penalty + C * np.maximum(0, 1 - y * decision).sum()
    assert factor * primal == pytest.approx(reference.primal, rel=1e-7)
    assert certified_gap(X, y, C, intercept, solution) <= 1e-8
    np.testing.assert_allclose(decision, reference.decision_function(X), atol=1e-4)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    n=st.integers(2, 60), d=st.integers(1, 12), seed=st.integers(0, 10**6), log_C=st.floats(-4, 4),
    scale=st.floats(-3, 3), repeats=st.booleans(), rounded=st.booleans(), sparse=st.booleans(),
    intercept=st.sampled_from(INTERCEPTS),
)  # fmt: skip
def test_random_problems(n, d, seed, log_C, scale, repeats, rounded, sparse, intercept):
    X, y = blobs(n, d, seed=seed)
    X = np.round(X) if rounded else X
    X, y = (np.vstack([X, X]), np.concatenate([y, y])) if repeats else (X, y)
    X = X * 10.0**scale
    C = 10.0**log_C * (0.5 + np.random.default_rng(seed).random(len(y)))
    X = sp.csr_array(X) if sparse else X
    solution = solve_linear(X, y, C, intercept=intercept, tol=TOL)
    assert certified_gap(X, y, C, intercept, solution) <= CERTIFIED
    assert solution.reason == "converged"


@pytest.mark.slow
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("heavy", [False, True])
def test_working_set(intercept, weighted, heavy):
    X, y = blobs(25_000, 4, seed=5, share=0.3)
    X = X * np.exp(2 * np.random.default_rng(0).standard_normal((len(y), 1))) if heavy else X
    assert working_set.is_large(*X.shape)
    C = np.where(y > 0, 2.0, 0.5) if weighted else 1.0
    solution = solve_linear(X, y, C, intercept=intercept)
    assert solution.reason == "converged"
    assert certified_gap(X, y, C, intercept, solution) <= CERTIFIED


@pytest.mark.slow
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kind", ["sparse", "separable", "zeros", "one rare row", "opposite labels"])
def test_working_set_on_hostile_data(kind, intercept):
    X, y = blobs(21_000, 4, separation=9.0 if kind == "separable" else 1.0)
    if kind == "sparse":
        X = sp.csr_array(X * (np.random.default_rng(0).random(X.shape) < 0.2))
    elif kind == "zeros":
        X = np.zeros_like(X)
    elif kind == "one rare row":
        y[1:], y[0] = -1.0, 1.0
    elif kind == "opposite labels":
        X[10_500:], y[10_500:] = X[:10_500], -y[:10_500]
    for C in (1e-6, 1.0, 1e6):
        solution = solve_linear(X, y, C, intercept=intercept)
        assert certified_gap(X, y, C, intercept, solution) <= CERTIFIED


def test_forms_of_the_same_data_agree():
    X, y = blobs(200, 6)
    X = np.round(X, 1).astype(np.float32)
    forms = [X, np.asfortranarray(X), X.astype(float), np.asfortranarray(X.astype(float)), sp.csr_array(X)]
    solutions = [solve_linear(form, y, 1.0, tol=1e-10) for form in forms]
    for other in solutions[1:]:
        np.testing.assert_allclose(other.w, solutions[0].w, atol=1e-5)
        assert other.b == pytest.approx(solutions[0].b, abs=1e-5)


def test_scale_of_the_data_does_not_matter():
    X, y = blobs(200, 6)
    steps = {solve_linear(X * s, y, 1.0 / s**2).iterations for s in (1e-6, 1.0, 1e6)}
    assert max(steps) - min(steps) <= 3


def test_limits_return_the_best_point():
    X, y = blobs(400, 6)
    few = solve_linear(X, y, 100.0, max_iter=3)
    assert (few.reason, few.iterations) == ("iteration_limit", 3)
    assert solve_linear(X, y, 100.0, time_limit=0.0).reason == "time_limit"
    for solution in (few, solve_linear(X, y, 100.0, time_limit=0.0)):
        assert np.isfinite(solution.alpha).all()
        assert solution.alpha.shape == y.shape


def test_limits_in_the_working_set():
    X, y = blobs(25_000, 4)
    for limit in range(1, 40, 6):
        solution = solve_linear(X, y, 1.0, max_iter=limit)
        assert solution.iterations <= limit
        assert solution.alpha.shape == y.shape
        assert np.isfinite(solution.w).all()


@pytest.mark.parametrize("shape", [(25_000, 4), (400, 6), (30, 100)])
def test_the_interrupt_key_ends_a_run_between_steps(shape, monkeypatch):
    X, y = blobs(*shape)
    assert solve_linear(X, y, 1.0, time_limit=0.0).reason == "time_limit"
    for patience in (0, 1, 5, 20):
        looks = iter([False] * patience)
        monkeypatch.setattr("qpsvm.base.resources.progress.noted", lambda looks=looks: next(looks, True))
        solution = solve_linear(X, y, 100.0)
        assert solution.reason in ("interrupted", "converged")
        assert patience or solution.reason == "interrupted"
        assert np.isfinite(solution.alpha).all()
        assert np.isfinite(solution.w).all()
        assert ((solution.alpha >= 0) & (solution.alpha <= 100.0)).all()


def test_a_start_at_the_solution_is_kept():
    X, y = blobs(400, 6)
    cold = solve_linear(X, y, 1.0, tol=1e-8)
    warm = solve_linear(X, y, 1.0, start=(cold.w, cold.b, cold.alpha))
    assert warm.reason == "converged"
    assert warm.iterations <= 2
    near = solve_linear(X, y, 1.3, start=(cold.w, cold.b, cold.alpha))
    assert certified_gap(X, y, 1.3, "free", near) <= CERTIFIED


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3000, 8), (30_000, 8), (40, 200)])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_start_from_a_neighbouring_penalty_saves_steps(shape, intercept):
    X, y = blobs(*shape)
    old = solve_linear(X, y, 1.0, intercept=intercept)
    for factor in (0.5, 1.2, 3.0):
        cold = solve_linear(X, y, factor, intercept=intercept)
        alpha = old.alpha * (factor if (old.alpha == 1.0).any() else 1.0)
        warm = solve_linear(X, y, factor, intercept=intercept, start=(old.w, old.b, alpha))
        assert warm.reason == "converged"
        assert certified_gap(X, y, factor, intercept, warm) <= CERTIFIED
        assert warm.iterations < cold.iterations


@pytest.mark.parametrize("size", [21_000, 300])
def test_any_start_will_do(size):
    X, y = blobs(size, 4)
    random = np.random.default_rng(0)
    for scale in (0.0, 1.0, 1e6):
        start = (scale * random.standard_normal(4), scale, scale * random.standard_normal(size))
        solution = solve_linear(X, y, 1.0, start=start)
        assert certified_gap(X, y, 1.0, "free", solution) <= CERTIFIED


def test_fewer_rows_are_a_start():
    X, y = blobs(3000, 6)
    part = solve_linear(X[:2900], y[:2900], 1.0)
    whole = solve_linear(X, y, 1.0, start=(part.w, part.b, np.append(part.alpha, np.zeros(100))))
    assert certified_gap(X, y, 1.0, "free", whole) <= CERTIFIED
    assert whole.iterations < solve_linear(X, y, 1.0).iterations


@pytest.mark.slow
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_more_columns_than_rows_are_reduced(intercept, offset, monkeypatch):
    X, y = blobs(60, 400)
    X = X * 10.0 ** np.linspace(-2, 2, 400) + offset * (intercept == "free")
    assert reduced(X, True) is not None
    short = solve_linear(X, y, 1.0, intercept=intercept, tol=1e-9)
    monkeypatch.setattr("qpsvm.solvers.linear.solve.MOST_ROWS", 0)
    assert reduced(X, True) is None
    full = solve_linear(X, y, 1.0, intercept=intercept, tol=1e-9)
    np.testing.assert_allclose(short.w, full.w, atol=1e-5 * np.abs(full.w).max())
    assert certified_gap(X, y, 1.0, intercept, short) <= CERTIFIED


def test_numbers_that_are_not_finite_end_the_run():
    X, y = blobs(50, 3)
    X[0, 0] = np.nan
    assert solve_linear(X, y, 1.0).reason == "numerical_error"
    X[0, 0] = 1e300
    assert solve_linear(X, y, 1.0, max_iter=500).reason in ("numerical_error", "iteration_limit", "converged")


def test_verbose_prints_a_line_an_outer_iteration(capsys):
    X, y = blobs()
    solve_linear(X, y, 1.0)
    assert capsys.readouterr().out == ""
    solve_linear(X, y, 1.0, verbose=True, engine="newton")
    assert 2 <= len(capsys.readouterr().out.splitlines()) <= 20


@pytest.mark.parametrize(("options", "error"), [
    ({"intercept": "yes"}, ParameterError), ({"tol": 0.0}, ParameterError), ({"max_iter": 0}, ParameterError),
    ({"start": (np.ones(2), 0.0, np.ones(120))}, DataError),
])  # fmt: skip
def test_options_are_checked(options, error):
    X, y = blobs()
    with pytest.raises(error):
        solve_linear(X, y, 1.0, **options)


@pytest.mark.parametrize("kind", ["dense", "fortran", "centred", "sparse"])
@pytest.mark.parametrize("unit", [0.0, 1.0])
def test_rows_are_products_with_z(kind, unit):
    X, y = blobs(30, 4)
    mean = X.mean(axis=0) if kind == "centred" else None
    Z = y[:, None] * np.column_stack([X - (0.0 if mean is None else mean), np.full(30, unit)])
    stored = {"sparse": sp.csr_array(X), "fortran": np.asfortranarray(X)}.get(kind, X)
    rows = SignedRows(as_row_source(stored), y, unit, mean)
    J, L = np.array([1, 4, 5, 20]), np.array([0, 5])
    a = np.linspace(0, 1, 30)
    np.testing.assert_allclose(rows.margins(Z[3]), Z @ Z[3], atol=1e-12)
    np.testing.assert_allclose(rows.gradient(a), Z.T @ a, atol=1e-12)
    np.testing.assert_allclose(rows.gradient(a[J], J), Z[J].T @ a[J], atol=1e-12)
    np.testing.assert_allclose(rows.gram(J), Z[J].T @ Z[J], atol=1e-12)
    np.testing.assert_allclose(rows.kernel(J, L), Z[J] @ Z[L].T, atol=1e-12)
    np.testing.assert_allclose(rows.select(J).margins(Z[3]), Z[J] @ Z[3], atol=1e-12)
    seen = np.empty(30)

    def visit(block, m):
        seen[block] = m
        return a[block].copy()

    np.testing.assert_allclose(rows.scan(Z[3], visit), Z.T @ a, atol=1e-12)
    np.testing.assert_allclose(seen, Z @ Z[3], atol=1e-12)
    assert not rows.scan(Z[3], lambda _block, _m: None).any()
    np.testing.assert_allclose(rows.column_squares(), (Z * Z).sum(axis=0), atol=1e-10)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("free_intercept", [True, False])
def test_all_newton_systems_give_the_same_step(sigma, free_intercept, monkeypatch):
    X, y = blobs(40, 8)
    rows, _ = signed_rows(as_row_source(X), y, 1.0, free_intercept)
    ridge = np.append(np.ones(8), 0.0 if free_intercept else 1.0)
    q = np.random.default_rng(0).standard_normal(9)
    q[-1] = 0.1
    direct, wide = CholeskyNewton(rows, ridge), WideNewton(rows, ridge)
    for start in (0, 3, 10):  # entering and leaving rows
        free = np.zeros(40, dtype=bool)
        free[start : start + 12] = True
        expected = direct.step(free, sigma, q, q)
        np.testing.assert_allclose(wide.step(free, sigma, q, q), expected, rtol=1e-6, atol=1e-8)
    by_iteration = replace(SETTINGS, cg_tolerance=1e-12, direct_rows=0)
    monkeypatch.setattr("qpsvm.solvers.linear.newton_step.SETTINGS", by_iteration)
    np.testing.assert_allclose(WideNewton(rows, ridge).step(free, sigma, q, q), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("scale", "upper"), [(1e-6, 1.0), (1.0, 1.0), (1e12, 1.0), (1.0, 1e8), (1e12, 1e8)])
def test_line_search_meets_its_promise(scale, upper):
    random = np.random.default_rng(0)
    change, t = scale * random.standard_normal(50), upper * random.standard_normal(50)
    constant = float(change @ np.clip(t, 0, upper)) - scale * upper
    slope = Slope(constant, 1e-3 * scale**2, t, change, 1.0, upper)
    step = find_step(slope, slope(0.0))
    assert slope(0.0) < 0
    assert abs(slope(step)) <= SLOPE_SHARE * abs(slope(0.0)) * (1 + 1e-9)


def test_balanced_moves_only_free_alpha():
    y = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    alpha = np.array([0.0, 2.0, 1.3, 0.4, 0.2])
    result = balanced(alpha, y, RowLosses(2.0))
    assert y @ result == pytest.approx(0.0, abs=1e-15)
    assert (result[:2] == alpha[:2]).all()
