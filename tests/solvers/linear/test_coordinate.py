"""LIBLINEAR's loop as an engine and as a backend: its multipliers, when it goes first, and what is made of its word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from hostile import store
from pairwise import cover_pairs

import qpsvm
from qpsvm import core
from qpsvm.base.arrays.quantiles import find_crossing
from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.linear import liblinear
from qpsvm.solvers.linear.descent import DescentResult
from qpsvm.solvers.linear.liblinear import append_diagonal, find_compiled_train, run_liblinear, run_passes
from qpsvm.solvers.linear.row_problem import RowLosses
from qpsvm.solvers.linear.solve import solve_linear

INTERCEPTS = ("free", "penalised", None)
TOL = 1e-6


def draw_texts(n=120, d=400, k=12, seed=0):
    """Draw rows of k terms and length 1; most of them tell their class."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    columns = np.where(random.random((n, k)) < 0.3, random.integers(0, d // 4, (n, k)) + (y[:, None] > 0) * (d // 4), 0)
    columns = np.where(columns > 0, columns, random.integers(d // 2, d, (n, k)))
    X = sp.csr_array((random.uniform(0.5, 2.0, n * k), (np.repeat(np.arange(n), k), columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    return sp.csr_array(sp.diags_array(1.0 / np.sqrt((X * X).sum(axis=1))) @ X), y


def problem_of(X, y, C, intercept):
    return qpsvm.CSVM(X, y, C, intercept=intercept)


@pytest.mark.skipif(core.compiled is None, reason="descent needs the compiled core")
@for_each("C, intercept, sparse", cover_pairs((0.01, 1.0, 1e3, "each"), INTERCEPTS, (True, False)))
def test_what_begins_with_it_is_solved(C, intercept, sparse):
    X, y = draw_texts()
    C = np.random.default_rng(1).uniform(0.1, 20.0, len(y)) if C == "each" else C
    result = qpsvm.solve(problem_of(X if sparse else X.toarray(), y, C, intercept), "augmented_lagrangian",
                         engine="coordinate", polish=False)  # fmt: skip
    assert result.status == "optimal"
    assert result.solver.status.startswith("converged (coordinate")
    assert result.primal == pytest.approx(
        qpsvm.solve(problem_of(X, y, C, intercept), "augmented_lagrangian", engine="newton").primal, rel=2 * TOL
    )


@pytest.mark.skipif(core.compiled is None, reason="descent needs the compiled core")
def test_centring_is_that_of_the_rows():
    random = np.random.default_rng(0)
    X = random.standard_normal((80, 3)) + np.array([100.0, -50.0, 0.0])
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    X[:, 0] += y
    answer = solve_linear(X, y, 0.1, engine="coordinate")
    assert answer.reason == "converged"
    assert answer.engine.startswith("coordinate")
    assert qpsvm.CSVM(X, y, 0.1).certify(answer.alpha, answer.w).gap <= 1.1 * TOL


X, Y = draw_texts(40, 60, 5)
EMPTY = sp.csr_array(X.multiply((np.arange(40) % 3 > 0)[:, None]).multiply(np.arange(60) % 2 > 0))
HOSTILE = {
    "two rows": (X[:2], Y[:2], 1.0),
    "empty rows and columns": (EMPTY, Y, 1.0),
    "nothing at all": (sp.csr_array((40, 60)), Y, 1.0),
    "duplicate rows": (sp.vstack([X[:5]] * 8, format="csr"), np.resize([1.0, -1.0, 1.0], 40), 1.0),
    "tiny C": (X, Y, 1e-8),
    "large C": (X, Y, 1e8),
    "long indices": (sp.csr_array((X.data, *map(np.int64, (X.indices, X.indptr))), shape=X.shape), Y, 1.0),
    "one feature": (X[:, [50]], Y, 1.0),
    **{how: (store(X.toarray(), how), Y, 1.0) for how in ("float64", "fortran", "csr with zeros")},  # and unsorted
    "large numbers": (1e60 * X, Y, 1.0),
    "small numbers": (1e-60 * X, Y, 1.0),
}


@for_each("intercept", INTERCEPTS)
@for_each("name", HOSTILE)
def test_hostile_tables(name, intercept):
    samples, y, C = HOSTILE[name]
    problem = problem_of(samples, y, C, intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = qpsvm.solve(problem, "augmented_lagrangian", engine="coordinate", check=False)
        plain = qpsvm.solve(problem, "augmented_lagrangian", engine="newton", check=False)
    assert result.gap <= max(TOL, plain.gap)
    if intercept != "free":
        peer = qpsvm.solve(problem, "liblinear", check=False)
        assert np.isfinite(peer.gap)
        assert (peer.status == "optimal") == (peer.gap <= TOL)


def test_rows_of_weight_zero_take_no_part():
    weight = np.where(np.arange(40) % 4, 1.0, 0.0)
    problem = qpsvm.PrimalHinge(X, Y, 0.02, intercept="penalised", sample_weight=weight)
    for backend, options in (("liblinear", {}), ("augmented_lagrangian", {"engine": "coordinate"})):
        result = qpsvm.solve(problem, backend, **options)
        assert result.status == "optimal"
        assert not result.alpha[::4].any()


# --- its word is not taken --------------------------------------------------------------------------------------------


@for_each("wrong", ["zeros", "noise", "not a number", "nothing done"])
def test_a_wrong_answer_is_found_out(monkeypatch, wrong):
    def return_wrong(X, _, losses, *__):
        n, d = X.shape
        if wrong == "noise":
            alpha = np.random.default_rng(0).random(n) * losses.high
        else:
            alpha = np.zeros(n)
        w = np.full(d, np.nan if wrong == "not a number" else 1.0)
        return DescentResult(w, 0.0, alpha, 0 if wrong == "nothing done" else 7, True)

    monkeypatch.setattr(liblinear, "run_passes", return_wrong)
    for intercept in INTERCEPTS:
        result = qpsvm.solve(problem_of(X, Y, 1.0, intercept), "augmented_lagrangian", engine="coordinate")
        assert result.status == "optimal"
    problem = problem_of(X, Y, 1.0, "penalised")
    assert problem.certify(qpsvm.solve(problem).alpha).gap <= TOL
    peer = qpsvm.solve(problem, "liblinear", polish=False, check=False)
    assert peer.status != "optimal"
    assert peer.gap > TOL


@pytest.mark.parametrize("wrong", ["sign", "shape", "argument"])
def test_a_compiled_function_that_answers_wrongly_is_not_used(monkeypatch, wrong):
    from sklearn.svm import _liblinear

    before = _liblinear.train_wrap

    def answer_wrongly(*arguments):
        if wrong == "argument":
            raise TypeError
        raw, made = before(*arguments)
        if wrong == "sign":
            return -raw, made
        return raw[:, :-1], made

    find_compiled_train.cache_clear()
    monkeypatch.setattr(_liblinear, "train_wrap", answer_wrongly)
    try:
        assert find_compiled_train() is None
    finally:
        find_compiled_train.cache_clear()
    monkeypatch.undo()
    assert find_compiled_train() is before


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_long_run_is_made_apart_and_ends_as_it_would_here(monkeypatch, capfd):
    C = np.full(len(Y), 2.0)
    here = run_liblinear(X, Y, RowLosses(C), True, eps=1e-8, max_passes=500)
    monkeypatch.setattr(liblinear, "ENTRY_SECONDS", 1.0)
    apart = run_liblinear(X, Y, RowLosses(C), True, eps=1e-8, max_passes=500)
    np.testing.assert_array_equal(here.alpha, apart.alpha)
    none = run_liblinear(X, Y, RowLosses(C), True, eps=1e-8, max_passes=500, clock=Clock(0.0))
    assert none.iterations == 0
    assert not none.alpha.any()
    said = capfd.readouterr()
    assert said.out + said.err == ""


def test_limits_are_kept_and_said():
    problem = problem_of(*draw_texts(400, 3000, 30), 50.0, "penalised")
    few = qpsvm.solve(problem, "liblinear", max_iter=2, polish=False, check=False)
    assert few.iterations == 2
    assert few.status == "iteration_limit"
    assert few.gap > TOL
    assert qpsvm.solve(problem, "liblinear", time_limit=20.0).status == "optimal"
    with pytest.raises(qpsvm.UnsupportedError, match="liblinear"):
        qpsvm.solve(problem, "liblinear", start=np.zeros(400))
    with pytest.raises(qpsvm.UnsupportedError, match="yᵀα"):
        qpsvm.solve(qpsvm.CSVM(X, Y), "liblinear")


def test_under_a_time_limit_the_passes_that_surely_fit_are_made(monkeypatch):
    C = np.full(len(Y), 2.0)
    made = []
    monkeypatch.setattr(liblinear, "ENTRY_SECONDS", 1e-4)

    def record_passes(*arguments):
        made.append(arguments[-1])
        return run_passes(*arguments)

    monkeypatch.setattr(liblinear, "run_passes", record_passes)
    found = run_liblinear(X, Y, RowLosses(C), True, eps=0.1, max_passes=5000, clock=Clock(100.0))
    assert found.iterations > 0
    assert len(made) == 1
    assert 5 <= made[0] < 5000


def test_who_limits_the_steps_gets_newton_steps():
    result = qpsvm.solve(problem_of(X, Y, 1.0, "penalised"), "augmented_lagrangian", max_iter=50)
    assert result.solver.status == "converged (newton)"


def test_more_than_liblinear_can_count_is_refused(monkeypatch):
    monkeypatch.setattr(liblinear, "MAX_ITERATIONS", 50)
    with pytest.raises(qpsvm.UnsupportedError, match="32 bits"):
        qpsvm.solve(problem_of(X, Y, 1.0, "penalised"), "liblinear")


def test_without_the_compiled_core_newton_steps_begin(monkeypatch):
    monkeypatch.setattr(core, "compiled", None)
    answer = solve_linear(X, Y, 1.0, intercept="penalised", engine="coordinate")
    assert (answer.reason, answer.engine) == ("converged", "newton")


def test_one_pair_prints_nothing(capfd):
    result = qpsvm.solve(qpsvm.Ranking([[0.0], [1.0]], [0, 1]), "augmented_lagrangian")
    assert result.status == "optimal"
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(core.compiled is None, reason="descent needs the compiled core")
def test_with_a_start_there_are_newton_steps_only():
    wide, y = draw_texts(500, 4000)
    first = solve_linear(wide, y, 1.0, intercept="penalised")
    assert first.engine == "coordinate"
    again = solve_linear(wide, y, 1.1, intercept="penalised", start=(first.w, first.b, first.alpha))
    assert (again.reason, again.engine) == ("converged", "newton")


# --- what it made visible ---------------------------------------------------------------------------------------------


def test_lengthened_rows():
    for samples in (X, X.toarray()):
        Z = append_diagonal(samples, 0.5)
        np.testing.assert_array_equal(Z.toarray(), np.hstack([X.toarray(), 0.5 * np.eye(40)]))
        assert Z.indices.dtype == Z.indptr.dtype == np.int32


@for_each("weights", ["one", "each"])
@for_each("ridge", [1e-6, 1.0, 1e6])
def test_a_penalised_intercept_of_many_rows_is_that_of_sorting_them(monkeypatch, weights, ridge):
    random = np.random.default_rng(0)
    points = random.standard_t(2.0, 30_000).round(3)
    mass = np.ones(30_000) if weights == "one" else random.exponential(size=30_000)
    for level in (1.0, 7_000.0, 29_000.0):
        found = find_crossing(points, mass, level, ridge=ridge)
        with monkeypatch.context() as patch:
            patch.setattr("qpsvm.base.arrays.quantiles.SAMPLE", 10**9)
            assert found == pytest.approx(find_crossing(points, mass, level, ridge=ridge), rel=1e-9, abs=1e-9)
        below = float(mass[points < found].sum())
        assert ridge * found + below <= level * (1 + 1e-9) + 1e-6
        assert ridge * found + below + float(mass[points == found].sum()) >= level * (1 - 1e-9) - 1e-6
