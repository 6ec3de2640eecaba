"""The linear solver against cvxopt and the library's own certificate, on ordinary and on hostile data."""

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from hostile import SPOILERS, draw_samples
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import cover_pairs

import qpsvm
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.data.rows import as_row_source
from qpsvm.solvers.linear import working_set
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows
from qpsvm.solvers.linear.solve import solve_linear
from qpsvm.solvers.linear.wide_rows import reduce_wide
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


def certified_gap(X, y, C, intercept, solution):
    """By the library's certificate, once α lies in its box."""
    assert np.isfinite(solution.w).all()
    assert np.isfinite(solution.b)
    assert ((solution.alpha >= 0) & (solution.alpha <= C)).all()
    return qpsvm.CSVM(X, y, C, intercept=intercept).certify(solution.alpha, solution.w).gap


#: Beyond C·max‖x‖² of about 1e14 the rounding of α alone exceeds the tolerance; an honest reason is enough there.
ROUNDING = 1e13


@pytest.mark.slow
@for_each("spoiler, C, intercept", cover_pairs(SPOILERS, tuple(10.0 ** np.arange(-6, 9, 2)), INTERCEPTS))
def test_hostile_data_are_certified_or_honestly_given_up(spoiler, C, intercept):
    for seed in range(3):
        X, y = draw_samples(np.random.default_rng(seed), spoiler, 121)
        X = sp.csr_array(X) if seed == 2 else X
        solution = solve_linear(X, y, C, intercept=intercept, tol=TOL)
        gap = certified_gap(X, y, C, intercept, solution)
        assert solution.reason in ("converged", "numerical_error")
        if C * float(np.asarray((X * X).sum(axis=1)).max()) < ROUNDING:
            assert solution.reason == "converged"
            assert gap <= CERTIFIED


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


KINDS = ("sparse", "separable", "zeros", "one rare row", "opposite labels")


CASES = cover_pairs(KINDS, (1e-6, 1.0, 1e6), INTERCEPTS)
CASES += [("sparse", 1e-6, "free")]  # moments of sparse rows, all free


@for_each("kind, C, intercept", CASES)
def test_working_set_on_hostile_data(kind, C, intercept):
    X, y = blobs(21_000, 4, separation=9.0 if kind == "separable" else 1.0)
    assert working_set.is_large(*X.shape)
    if kind == "sparse":
        X = sp.csr_array(X * (np.random.default_rng(0).random(X.shape) < 0.2))
    elif kind == "zeros":
        X = np.zeros_like(X)
    elif kind == "one rare row":
        y[1:] = -1.0
        y[0] = 1.0
    elif kind == "opposite labels":
        X[10_500:] = X[:10_500]
        y[10_500:] = -y[:10_500]
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


@for_each("shape", [(25_000, 4), (400, 6), (30, 100)])
def test_the_interrupt_key_ends_a_run_between_steps(shape, monkeypatch):
    X, y = blobs(*shape)
    assert solve_linear(X, y, 1.0, time_limit=0.0).reason == "time_limit"
    for patience in (0, 1, 5, 20):
        looks = iter([False] * patience)
        with monkeypatch.context() as patch:
            patch.setattr("qpsvm.base.resources.clock.is_interrupted", lambda looks=looks: next(looks, True))
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


@for_each("shape, factor, intercept", cover_pairs(((3000, 8), (30_000, 8), (40, 200)), (0.5, 1.2, 3.0), INTERCEPTS))
def test_a_start_from_a_neighbouring_penalty_saves_steps(shape, factor, intercept):
    X, y = blobs(*shape)
    old = solve_linear(X, y, 1.0, intercept=intercept)
    cold = solve_linear(X, y, factor, intercept=intercept)
    alpha = old.alpha * (factor if (old.alpha == 1.0).any() else 1.0)
    warm = solve_linear(X, y, factor, intercept=intercept, start=(old.w, old.b, alpha))
    assert warm.reason == "converged"
    assert certified_gap(X, y, factor, intercept, warm) <= CERTIFIED
    assert warm.iterations < cold.iterations


@for_each("intercept", INTERCEPTS)
@for_each("offset", [0.0, 1e5])
def test_more_columns_than_rows_are_reduced(intercept, offset, monkeypatch):
    X, y = blobs(60, 400)
    X = X * 10.0 ** np.linspace(-2, 2, 400) + offset * (intercept == "free")
    assert reduce_wide(X, True) is not None
    short = solve_linear(X, y, 1.0, intercept=intercept, tol=1e-9)
    with monkeypatch.context() as patch:
        patch.setattr("qpsvm.solvers.linear.wide_rows.MAX_REDUCED_ROWS", 0)
        assert reduce_wide(X, True) is None
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


@for_each("options, error", [
    ({"intercept": "yes"}, ParameterError), ({"tol": 0.0}, ParameterError), ({"max_iter": 0}, ParameterError),
    ({"engine": "descent"}, ParameterError),
    ({"start": (np.ones(2), 0.0, np.ones(120))}, DataError),
])  # fmt: skip
def test_options_are_checked(options, error):
    X, y = blobs()
    with pytest.raises(error):
        solve_linear(X, y, 1.0, **options)


@for_each("kind", ["dense", "fortran", "centred", "sparse"])
@for_each("unit", [0.0, 1.0])
def test_rows_are_products_with_z(kind, unit):
    X, y = blobs(30, 4)
    mean = X.mean(axis=0) if kind == "centred" else None
    Z = y[:, None] * np.column_stack([X - (0.0 if mean is None else mean), np.full(30, unit)])
    stored = {"sparse": sp.csr_array(X), "fortran": np.asfortranarray(X)}.get(kind, X)
    rows = LabelScaledRows(as_row_source(stored), y, unit, mean)
    J = np.array([1, 4, 5, 20])
    L = np.array([0, 5])
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
    np.testing.assert_allclose(rows.compute_column_squares(), (Z * Z).sum(axis=0), atol=1e-10)


@for_each("scale, upper", [(1e-6, 1.0), (1.0, 1.0), (1e12, 1.0), (1.0, 1e8), (1e12, 1e8)])
def test_line_search_meets_its_promise(scale, upper):
    random = np.random.default_rng(0)
    change, t = scale * random.standard_normal(50), upper * random.standard_normal(50)
    constant = float(change @ np.clip(t, 0, upper)) - scale * upper
    slope = Slope(constant, 1e-3 * scale**2, t, change, 1.0, upper)
    step = find_step(slope, slope(0.0))
    assert slope(0.0) < 0
    assert abs(slope(step)) <= SLOPE_SHARE * abs(slope(0.0)) * (1 + 1e-9)
