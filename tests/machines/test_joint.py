"""Crammer-Singer and Weston-Watkins: certified optima of the textbook's program, for every backend, form and data."""

from __future__ import annotations

import html
import importlib
import os
import pickle
import signal
import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from judge import judge_classes
from textbook import solve_all_in_one

import qpsvm
from qpsvm.base.resources import clock

MACHINES = (qpsvm.CrammerSinger, qpsvm.WestonWatkins)
INTERCEPTS = ("free", "penalised", None)
BACKENDS = (
    ("sequential_dual", "dual"),
    *((name, form) for name in ("cvxopt", "osqp", "cvxpy") for form in ("dual", "primal")),
)


@cache
def samples(n=18, d=3, k=3, seed=0):
    """X (n, d) and labels (n,), overlapping."""
    rng = np.random.default_rng(seed)
    label = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return rng.normal(size=(n, d)) + 1.2 * np.eye(k, d)[label], label


def truth(problem, result):
    """P and D in exact arithmetic: α has to be feasible to the last bit, and `gap` no smaller than the truth."""
    P, D = judge_classes(problem, result)
    assert result.gap * P >= (P - D)
    assert D >= 0 or result.status != "optimal"
    return float(P), float(D)


# --- the optimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_backend_and_form_comes_to_the_optimum_of_the_textbook(machine, intercept):
    X, label = samples()
    weight = np.linspace(0.5, 2.0, len(label))
    for kernel in (qpsvm.Linear(), *([qpsvm.RBF(0.5)] if intercept == "free" else [])):
        problem = machine(X, label, C=0.8, kernel=kernel, sample_weight=weight, intercept=intercept)
        if kernel == qpsvm.Linear():
            F = X
        else:
            F = np.linalg.cholesky(kernel(X, X) + 1e-14 * np.eye(len(X)))
        P, W, b, _ = solve_all_in_one(F, label, 0.8 * weight, shared=problem._has_shared_slack, intercept=intercept)
        for backend, form in BACKENDS:
            result = qpsvm.solve(problem, backend, form=form)
            assert (result.status, result.backend, result.form) == ("optimal", backend, form)
            assert result.gap <= 1e-9
            assert result.primal == pytest.approx(P, rel=1e-7)
        values = result.decision_function(X)
        book = F @ W.T + (0.0 if intercept is None else b)
        apart = np.abs((values - values[:, :1]) - (book - book[:, :1])).max()
        assert apart <= 1e-3  # of an optimal value to 1e-9, its point is known to the root of that
        assert abs(values.sum(axis=1)).max() <= 1e-9  # Σ w_c = 0 and Σ b_c = 0
        assert (result.predict(X) == values.argmax(axis=1)).all()


@for_each("intercept", INTERCEPTS)
def test_two_classes_are_a_c_svm_with_twice_the_penalty(intercept):
    X, label = samples(k=2, n=40, d=2)
    y = np.array(["no", "yes"])[label]
    twin = qpsvm.solve(qpsvm.CSVM(X, y, C=1.4, intercept=intercept))
    for machine in MACHINES:
        result = qpsvm.solve(machine(X, y, C=0.7, intercept=intercept))
        assert 2.0 * result.primal == pytest.approx(twin.primal, rel=1e-9)
        assert np.allclose(result.w[1] - result.w[0], twin.w, atol=1e-7)
        assert np.allclose(2.0 * result.alpha.sum(axis=1), twin.alpha, atol=1e-7) or machine is qpsvm.WestonWatkins
        assert result.b[1] - result.b[0] == pytest.approx(twin.b, abs=1e-7)
        assert (result.predict(X) == twin.predict(X)).all()


def test_the_paper_of_weston_and_watkins_has_level_2_which_is_half_the_penalty_here():
    X, label = samples()
    P, W, b, _ = solve_all_in_one(X, label, np.full(len(X), 1.0), shared=False, intercept="free", level=2.0)
    result = qpsvm.solve(qpsvm.WestonWatkins(X, label, C=0.5))
    assert 4.0 * result.primal == pytest.approx(P, rel=1e-7)
    assert np.allclose(2.0 * result.w, W, atol=1e-4)
    assert np.allclose(2.0 * result.b, b - b.mean(), atol=1e-4)


# --- what is claimed is true ------------------------------------------------------------------------------------------


def hostile():
    """Name, X, label, C and weights of samples that are hard on numbers."""
    X, label = samples(n=7, d=2, k=3)
    rng = np.random.default_rng(1)
    yield "twice", np.vstack([X, X]), np.concatenate([label, label]), 1.0, None
    yield "contradictory", np.vstack([X, X]), np.concatenate([label, np.roll(label, 1)]), 1.0, None
    yield "large C", X, label, 1e8, None
    yield "small C", X, label, 1e-8, None
    yield "smallest C", X, label, 1e-200, None
    yield "far away", X + 1e6, label, 1.0, None
    yield "large", 1e6 * X, label, 1e-6, None
    yield "small", 1e-6 * X, label, 1.0, None
    yield "weights", X, label, 1.0, 10.0 ** rng.integers(-6, 7, len(label))
    yield "without weight", X, label, 1.0, (np.arange(7) < 6).astype(float)
    yield "one point", np.ones((6, 2)), np.arange(6) % 3, 1.0, None
    yield "nothing", np.zeros((6, 2)), np.arange(6) % 3, 1.0, None
    yield "integers", np.round(X), label, 1.0, None
    yield "two samples", np.array([[0.0], [1.0]]), np.array([0, 1]), 1.0, None


@pytest.mark.parametrize("machine", MACHINES)
def test_no_gap_is_smaller_than_the_truth(machine):
    optimal = 0
    for name, X, label, C, weight in hostile():
        for intercept in INTERCEPTS if name not in ("far away", "large") else ("free",):
            problem = machine(X, label, C=C, sample_weight=weight, intercept=intercept)
            result = qpsvm.solve(problem, check=False)
            P, _ = truth(problem, result)
            assert result.primal == pytest.approx(P, rel=max(1e-9, 2 * result.gap)), name
            optimal += result.status == "optimal"
            if C == 1.0:
                assert (result.status, name) == ("optimal", name)
    assert optimal >= 32


@for_each("machine", MACHINES)
def test_what_a_penalty_is_rounded_by_is_counted(machine):
    """C·s is no float, (RECORD.3): P and D are those of C·s, and α is made feasible for it."""
    X, label = samples(n=7, d=2)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 7)
    for C in (0.1, 3e7):
        penalty = [Fraction(C) * Fraction(value) for value in weight.tolist()]
        for intercept in INTERCEPTS:
            problem = machine(X, label, C=C, sample_weight=weight, intercept=intercept)
            assert problem.svm.upper_radius.any()
            result = qpsvm.solve(problem, check=False)
            alpha = [Fraction(value) * (1 - Fraction(1, 2**52)) for value in result.alpha.ravel().tolist()]
            P, D = judge_classes(problem, result, alpha, penalty)
            assert Fraction(result.gap) * P >= P - D


@for_each("machine", MACHINES)
def test_a_kernel_of_numbers_is_judged_exactly_too(machine):
    X, label = samples(n=7, d=2, k=3)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for C in (1.0, 1e8):  # with a large C the hyperplanes are stretched until rounding is no slack
        for intercept in INTERCEPTS:
            problem = machine(K, label, C=C, kernel="precomputed", intercept=intercept)
            result = qpsvm.solve(problem)
            truth(problem, result)
            assert (result.predict(K) == label).all() or C == 1.0


@for_each("machine", MACHINES)
def test_any_alpha_gives_bounds_on_the_optimum(machine):
    X, label = samples(n=12)
    rng = np.random.default_rng(2)
    for intercept in INTERCEPTS:
        problem = machine(X, label, intercept=intercept)
        best = qpsvm.solve(problem)
        for size in (0.0, 0.1, 1e300):
            candidate = problem.at(size * rng.normal(size=(12, 3)))
            truth(problem, candidate)
            assert candidate.dual <= best.primal * (1 + 1e-12)
            assert candidate.primal >= best.dual * (1 - 1e-12)
            assert candidate.status == "candidate"
        again = problem.at(best.alpha)
        assert (again.status, again.gap <= 1e-9) == ("optimal", True)


def test_the_kinds_are_those_of_the_optimality_conditions():
    X, label = samples()
    for machine in MACHINES:
        problem = machine(X, label)
        result = qpsvm.solve(problem)
        rivals = np.arange(3) != label[:, None]
        missing = 1.0 - (result.decision_function(X)[np.arange(18), label][:, None] - result.decision_function(X))
        worst = np.maximum(np.where(rivals, missing, -np.inf).max(axis=1), 0.0)
        if problem._has_shared_slack:
            used = result.alpha.sum(axis=1)[:, None]
        else:
            used = result.alpha
        assert (result.alpha[result.kind == 0] <= 1e-9).all()
        assert np.abs(missing[result.kind == 1]).max() <= 1e-9
        assert np.allclose(np.broadcast_to(used, rivals.shape)[result.kind == 2], 1.0)
        full = result.kind == 2
        floor = worst[:, None] if problem._has_shared_slack else missing
        assert (np.abs(missing - floor)[full] <= 1e-9).all()
        assert (missing[full] >= -1e-9).all()
        table = result.kkt
        assert (len(table), set(table["kind"]) <= {"idle", "margin", "bound"}) == (36, True)
        assert table["gap"].sum() == pytest.approx(result.primal - result.dual, abs=1e-12 * result.primal)


@for_each("machine", MACHINES)
def test_problem_and_result_are_those_of_any_machine(machine):
    X, label = samples()
    problem = machine(X, label, C=0.5, sample_weight=np.arange(18) % 3)
    result = qpsvm.solve(problem)
    assert isinstance(problem, qpsvm.Problem)
    assert isinstance(result, qpsvm.SVMResult)
    f = result.decision_function(X)
    own = np.eye(3, dtype=bool)[label]
    np.testing.assert_allclose(result.yf, f[own][:, None] - f, atol=1e-12)
    np.testing.assert_array_equal(result.margin, 1.0 - own)
    np.testing.assert_allclose(result.support_vectors, X[result.coef.any(axis=1)])
    if machine is qpsvm.CrammerSinger:
        used = result.alpha.sum(axis=1)
    else:
        used = result.alpha.max(axis=1)
    assert (used[result.on_margin] < result.upper[result.on_margin]).all()
    np.testing.assert_allclose(used[result.at_bound], result.upper[result.at_bound])
    assert sorted([*result.on_margin, *result.at_bound]) == result.support.tolist()
    assert result.counts == (18 - len(result.support), len(result.on_margin), len(result.at_bound))
    assert f"{len(result.support)} support = {result.counts[1]} on the margin" in result.summary()
    loss = 0.5 * problem.sample_weight[:, None] * np.maximum(result.margin - result.yf, 0.0)
    loss = loss.max(axis=1) if machine is qpsvm.CrammerSinger else loss
    assert 0.5 * np.square(result.w).sum() + loss.sum() == pytest.approx(result.primal)


@for_each("machine", MACHINES)
@for_each("intercept", INTERCEPTS)
def test_weights_of_a_better_point_give_a_better_bound(machine, intercept):
    X, label = samples()
    problem = machine(X, label, intercept=intercept)
    best = qpsvm.solve(problem, tol=1e-9)
    own = problem.certify(0.9 * best.alpha)
    given = problem.certify(0.9 * best.alpha, best.w)
    assert best.dual <= given.primal <= own.primal
    assert given.dual == pytest.approx(own.dual, rel=1e-12)
    if intercept != "penalised":  # there b of both points follows from α
        assert given.primal == pytest.approx(best.primal, rel=1e-9)
    with pytest.raises(qpsvm.DataError, match="w must be finite, of shape"):
        problem.certify(best.alpha, best.w[:, :2])
    with pytest.raises(qpsvm.UnsupportedError, match="linear kernel only"):
        problem.replace(kernel="rbf").certify(best.alpha, best.w)


# --- what surrounds it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_every_equation_of_the_derivation_holds(machine):
    X, label = samples()
    for kernel in ("linear", "rbf"):
        for intercept in INTERCEPTS if kernel == "linear" else (None,):
            weight = np.where(np.arange(18) == 7, 0.0, 1.0)
            problem = machine(X, label, kernel=kernel, intercept=intercept, sample_weight=weight)
            derivation = qpsvm.derive(problem, qpsvm.solve(problem))
            assert derivation.headline.startswith("optimal")
            residuals, reasons = derivation.residuals(), derivation.reasons()
            assert {tag for tag, residual in residuals.items() if not residual <= 1e-8} == set(reasons)
            assert all(step.statement for step in derivation)
            assert len(derivation) == 15
    assert all(step.lines for step in derivation)
    wrong = problem.at(0.5 * qpsvm.solve(problem).alpha)
    assert qpsvm.derive(problem, wrong).headline.startswith("NOT OPTIMAL")
    other = machine(X[::-1], label, kernel="rbf", intercept=None, sample_weight=weight)
    assert qpsvm.derive(other, qpsvm.solve(problem)).headline.startswith("NOT OF THIS PROBLEM")
    assert "nan" not in qpsvm.derive(problem, qpsvm.solve(problem))._repr_html_()


def test_models_are_saved_and_read_back(tmp_path):
    X, label = samples()
    names = np.array(["ash", "elm", "oak"])[label]
    for data, kernel in ((X, "linear"), (X, "rbf"), (sp.csr_array(X), "rbf"), (X @ X.T, "precomputed")):
        result = qpsvm.solve(qpsvm.CrammerSinger(data, names, kernel=kernel))
        result.save(tmp_path / "model.npz")
        model = qpsvm.load(tmp_path / "model.npz")
        assert isinstance(model, qpsvm.AllInOneModel)
        assert (model.decision_function(data) == result.decision_function(data)).all()
        assert (model.predict(data) == result.predict(data)).all()
    same = pickle.loads(pickle.dumps(result))
    assert (same.alpha == result.alpha).all()
    assert repr(same) == repr(result)


def test_sparse_samples_labels_and_weights_of_classes():
    X, label = samples()
    dense = qpsvm.solve(qpsvm.CrammerSinger(X, label, intercept=None))
    sparse = qpsvm.solve(qpsvm.CrammerSinger(sp.csr_array(X), label.astype(object), intercept=None))
    assert np.allclose(dense.w, sparse.w, atol=1e-8)
    doubled = qpsvm.solve(qpsvm.WestonWatkins(X, label, class_weight={0: 2.0}))
    by_hand = qpsvm.solve(qpsvm.WestonWatkins(X, label, sample_weight=np.where(label == 0, 2.0, 1.0)))
    assert doubled.primal == pytest.approx(by_hand.primal, rel=1e-9)
    started = qpsvm.solve(qpsvm.WestonWatkins(X, label, class_weight={0: 2.0}), start=by_hand)
    assert started.primal == pytest.approx(by_hand.primal, rel=1e-9)


def test_limits_end_with_a_certified_point():
    X, label = samples(n=80, d=10, seed=1)
    problem = qpsvm.CrammerSinger(X, label, C=100.0, kernel="rbf")
    with pytest.warns(qpsvm.InaccurateWarning, match="iteration_limit"):
        result = qpsvm.solve(problem, max_iter=3, polish=False)
    assert result.status == "iteration_limit"
    assert result.dual <= qpsvm.solve(problem).primal <= result.primal
    for backend in ("auto", "osqp"):
        assert qpsvm.solve(problem, backend, time_limit=1e-9, polish=False, check=False).status == "time_limit"


def test_a_limit_that_passes_while_a_point_is_polished_is_a_limit(monkeypatch):
    """The next stage was asked for in no time at all, which was a ParameterError."""
    turns = []
    now = time.perf_counter

    def slow(svm, point, certify, **options):  # noqa: ARG001
        turns.append(point.gap)
        monkeypatch.setattr(clock.time, "perf_counter", lambda: now() + 60.0 * len(turns))
        return point

    monkeypatch.setattr(importlib.import_module("qpsvm.machines.problem.all_in_one"), "polish", slow)
    X = np.random.default_rng(1).normal(size=(80, 10))
    problem = qpsvm.CrammerSinger(X, np.arange(80) % 3, C=100.0, kernel="rbf")
    result = qpsvm.solve(problem, "sequential_dual", time_limit=60.0, check=False)
    assert turns
    assert result.status == "time_limit"


def test_a_press_while_a_rough_point_is_polished_keeps_the_point(monkeypatch):
    module = importlib.import_module("qpsvm.machines.problem.all_in_one")
    polish = module.polish
    presses = []

    def press(*arguments, **options):
        presses.append(os.kill(os.getpid(), signal.SIGINT))
        return polish(*arguments, **options)

    monkeypatch.setattr(module, "polish", press)
    X = np.random.default_rng(1).normal(size=(300, 6))
    problem = qpsvm.CrammerSinger(X, np.arange(300) % 3, C=100.0, kernel="rbf")
    result = qpsvm.solve(problem, "sequential_dual", check=False)
    assert (result.status, len(presses)) == ("interrupted", 1)
    assert result.dual < result.primal < np.inf


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"backend": "libsvm"}, qpsvm.UnsupportedError, "sequential_dual"),
        ({"backend": "sequentual_dual"}, qpsvm.UnknownOptionError, "'sequential_dual'"),
        ({"backend": "sequential_dual", "form": "primal"}, qpsvm.UnsupportedError, "cvxopt"),
        ({"sweeps": 3}, qpsvm.UnknownOptionError, "sweeps"),
        ({"start": np.zeros(3)}, qpsvm.DataError, r"\(18, 3\)"),
    ],
)
def test_what_cannot_be_done_is_said(options, error, words):
    X, label = samples()
    with pytest.raises(error, match=words):
        qpsvm.solve(qpsvm.CrammerSinger(X, label), **options)


def test_a_problem_describes_its_classes():
    X, label = samples(k=4)
    problem = qpsvm.CrammerSinger(X, np.array(["a", "b", "c", "d"])[label])
    counts = np.bincount(label)
    for shown in (str(problem), html.unescape(problem._repr_html_())):
        assert all(f"'{name}' ({count})" in shown for name, count in zip("abcd", counts, strict=True))
    assert "4 classes" in repr(problem)


def test_samples_that_cannot_be_learnt_are_refused():
    X, label = samples()
    for kwargs, error in (
        ({"y": np.zeros(18)}, qpsvm.DataError), ({"y": label[:5]}, qpsvm.DataError), ({"C": 0.0}, qpsvm.ParameterError),
        ({"sample_weight": label > 0}, qpsvm.DataError), ({"intercept": "none"}, qpsvm.UnknownOptionError),
        ({"class_weight": {9: 1.0}}, qpsvm.UnknownOptionError), ({"psd": "no"}, qpsvm.UnknownOptionError),
    ):  # fmt: skip
        with pytest.raises(error):
            qpsvm.CrammerSinger(**{"X": X, "y": label, **kwargs})


def test_printed_values_are_as_exact_as_the_gap():
    """Where only twice the precision certifies the gap, P is of these digits too."""
    rng = np.random.default_rng(36)
    X = rng.normal(size=(7, 2))
    y = np.arange(7) % 3
    K = X @ X.T + 1000.0
    K = (K + K.T) / 2.0
    problem = qpsvm.CrammerSinger(K, y, C=1e7, kernel="precomputed", intercept=None)
    result = problem.at(qpsvm.solve(problem, "osqp", check=False).alpha)
    P, D = judge_classes(problem, result)
    assert result.gap * P >= P - D
    assert abs(P - result.primal) <= result.gap * P
    assert abs(D - result.dual) <= 2 * result.gap * P
