"""Exact paths: every piece against solves of their own, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm

TIES = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [1.0], [3.0]])
LABELS = np.array([0, 0, 0, 1, 1, 1, 0, 1])


def table(seed: int, rounded: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples with repeated rows where `rounded`, labels with noise, and numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=30) > 0.0, 1, 0)
    y[:2] = 0, 1
    X = np.round(X) if rounded else X
    return X, y, X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=30)


def machines(X: np.ndarray, y: np.ndarray, t: np.ndarray) -> list[tuple[qpsvm.Problem, str, float, float]]:
    """Every machine with a parameter that is linear in its dual."""
    rbf = qpsvm.RBF(0.5)
    weight = np.where(np.arange(len(X)) % 3, 1.0, 2.0)
    return [
        (qpsvm.CSVM(X, y, kernel=rbf, sample_weight=weight), "C", 0.01, 50.0),
        (qpsvm.CSVM(X, y), "C", 0.01, 50.0),
        (qpsvm.CSVM(X, y, kernel=rbf, intercept="penalised"), "C", 0.01, 50.0),
        (qpsvm.CSVM(X, y, kernel=rbf, intercept=None), "C", 0.01, 50.0),
        (qpsvm.PrimalHinge(X, y, kernel=rbf), "lam", 0.001, 10.0),
        (qpsvm.NuSVM(X, y, kernel=rbf, nu=0.2), "nu", 0.1, 0.5),
        (qpsvm.EpsilonSVR(X, t, kernel=rbf), "C", 0.01, 50.0),
        (qpsvm.EpsilonSVR(X, t, kernel=rbf), "epsilon", 0.0, 0.5),
        (qpsvm.EpsilonSVR(X, t, kernel=rbf, loss="squared"), "epsilon", 0.0, 0.5),
        (qpsvm.NuSVR(X, t, kernel=rbf), "C", 0.01, 50.0),
        (qpsvm.NuSVR(X, t, kernel=rbf), "nu", 0.1, 0.9),
        (qpsvm.QuantileSVR(X, t, kernel=rbf), "quantile", 0.1, 0.9),
        (qpsvm.OneClass(X, kernel=rbf), "nu", 0.1, 0.9),
        (qpsvm.SVDD(X, kernel=rbf), "nu", 0.1, 0.9),
    ]


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("which", range(14))
def test_pieces_are_what_solves_of_their_own_find(which, rounded):
    problem, name, low, high = machines(*table(which, rounded))[which]
    path = qpsvm.exact_path(problem, name, low, high)
    assert path.reached == high
    assert path.breakpoints[0] == low
    assert (np.diff(path.breakpoints) > 0.0).all()
    gaps = path.gaps[np.isfinite(path.gaps)]  # of an optimal value 0 there is no relative gap
    assert gaps.max() <= 1e-6
    assert len(gaps) == len(path) or isinstance(problem, qpsvm.NuSVM)
    rng = np.random.default_rng(0)
    for value in np.append(rng.uniform(low, high, 3), [low, high, path.breakpoints[len(path) // 2]]).tolist():
        k = min(max(int(np.searchsorted(path.breakpoints, value)) - 1, 0), len(path) - 1)
        result = path.at(value)
        own = qpsvm.solve(problem.replace(**{name: value}), tol=1e-11, check=False)
        assert result.gap <= 1e-8
        if np.isinf(path.gaps[k]):
            continue
        assert result.backend == "exact path"
        size = max(abs(own.primal), abs(own.dual))
        assert own.dual - result.dual <= (path.gaps[k] + own.gap + 1e-12) * size
        shift = path.decision(problem.X, value) - result.decision_function(problem.X)
        assert np.ptp(shift) <= 1e-7 * (1.0 + np.abs(result.yf).max())  # b may be any of an interval


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), qpsvm.RBF(1.0)])
def test_equal_samples_of_both_classes(kernel):
    """|F| > d + 1, an empty F and rows that are no other rows' combination: all of them at once."""
    path = qpsvm.exact_path(qpsvm.CSVM(TIES, LABELS, kernel=kernel), "C", 0.01, 100)
    assert path.status == "optimal"
    for value in (0.05, 1.0, 30.0):
        assert abs(path.at(value).primal - qpsvm.solve(path.problem.replace(C=value), tol=1e-12).primal) <= 1e-9


def test_two_samples():
    path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [2.0]], [0, 1]), "C", 0.01, 10)
    np.testing.assert_allclose(path.breakpoints, [0.01, 0.5, 10.0], rtol=1e-9)
    np.testing.assert_allclose(path.alpha(0.25), [0.25, 0.25])
    np.testing.assert_allclose(path.alpha(5.0), [0.5, 0.5])


def test_a_step_is_where_a_sample_changes_sides():
    X, y, _ = table(5, False)
    path = qpsvm.exact_path(qpsvm.CSVM(X[:20], y[:20], kernel=qpsvm.RBF(0.5)), "C", 0.05, 20)
    curve = path._compute_error_curve(X[20:], np.where(y[20:] == 1, 1.0, -1.0))
    for low, high, value in zip(curve.edges[:-1], curve.edges[1:], curve.values, strict=True):
        if high > low * (1.0 + 1e-6):
            f = path.decision(X[20:], 0.5 * (low + high))
            assert np.mean((f > 0.0) != (y[20:] == 1)) == pytest.approx(value)


def test_a_time_limit_leaves_what_was_reached():
    X, y, _ = table(1, False)
    path = qpsvm.exact_path(qpsvm.CSVM(np.vstack([X, X + 0.1]), np.append(y, y), kernel=qpsvm.RBF(1.0)), "C", 0.01, 1e3,
                            time_limit=1e-9)  # fmt: skip
    assert path.status == "time_limit"
    assert path.reached < 1e3
    assert path.at(10.0).gap <= 1e-6 or path.at(10.0).status == "optimal"


def test_what_no_path_goes_through():
    with pytest.raises(qpsvm.UnsupportedError, match="bends the loss"):
        qpsvm.exact_path(qpsvm.SquaredHinge(TIES, LABELS), "C", 0.1, 1.0)
    with pytest.raises(qpsvm.UnsupportedError, match="pairs"):
        qpsvm.exact_path(qpsvm.Ranking(TIES, [0, 1, 2, 0, 1, 2, 0, 1]), "C", 0.1, 1.0)
    with pytest.raises(qpsvm.ParameterTypeError):
        qpsvm.exact_path(TIES, "C", 0.1, 1.0)
    path = qpsvm.exact_path(qpsvm.CSVM(TIES, LABELS), "C", 0.1, 1.0)
    with pytest.raises(qpsvm.ParameterError, match="not on this path"):
        path.alpha(2.0)
    with pytest.raises(qpsvm.ParameterError, match=r"C = 1.0000000000000002 is not on this path, .* from 0.1 to 1$"):
        path.at(np.nextafter(1.0, 2.0))


def cases_of_a_sample():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(45, 3))
    labels = (X[:, 0] + 0.7 * rng.normal(size=45) > 0).astype(int)
    numbers = X[:, 0] + 0.3 * rng.normal(size=45)
    weights = rng.uniform(0.5, 2.0, 45)
    weights[7] = 0.0
    made = qpsvm.RBF(0.4)

    def vary_weight(machine, y, **options):
        def make(value, row):
            return machine(X, y, kernel=made, sample_weight=np.where(np.arange(45) == row, value, weights), **options)

        return make

    def vary_target(machine, **options):
        def make(value, row):
            y = np.where(np.arange(45) == row, value, numbers)
            return machine(X, y, kernel=made, sample_weight=weights, **options)

        return make

    return [
        ("sample_weight", vary_weight(qpsvm.CSVM, labels, C=2.0), 0.01, 8.0),
        ("sample_weight", vary_weight(qpsvm.EpsilonSVR, numbers, C=2.0, epsilon=0.1), 0.01, 8.0),
        ("sample_weight", vary_weight(qpsvm.QuantileSVR, numbers, C=2.0, quantile=0.3), 0.01, 8.0),
        ("y", vary_target(qpsvm.EpsilonSVR, C=2.0, epsilon=0.1), -4.0, 4.0),
        ("y", vary_target(qpsvm.EpsilonSVR, C=2.0, epsilon=0.1, loss="squared"), -4.0, 4.0),
        ("y", vary_target(qpsvm.QuantileSVR, C=2.0, quantile=0.3), -4.0, 4.0),
    ]


@pytest.mark.parametrize(("name", "of", "low", "high"), cases_of_a_sample())
@pytest.mark.parametrize("row", [3, 7, 44])
def test_the_weight_or_the_target_of_a_sample_moves_the_optimum_linearly(name, of, low, high, row):
    """Against machines that are solved on their own; row 7 has no weight at first."""
    path = qpsvm.exact_path(of(1.0, row) if row != 7 else of(0.0 if name == "sample_weight" else 1.0, 7), name, low,
                            high, row=row)  # fmt: skip
    assert path.status == "optimal"
    assert path.gaps.max() < 1e-9
    for value in np.linspace(low, high, 9):
        known = qpsvm.solve(of(value, row), tol=1e-11)
        found = path.at(value)
        assert found.gap < 1e-9
        assert found.primal == pytest.approx(known.primal, rel=1e-9)
        X = known.problem().X if callable(known.problem) else known.problem.X
        np.testing.assert_allclose(path.decision(X, value), known.decision_function(X), atol=2e-4)


def test_a_row_that_is_none_is_refused():
    X = np.arange(6.0)[:, None]
    y = [0, 0, 1, 0, 1, 1]
    t = np.arange(6.0)
    labels, numbers = qpsvm.CSVM(X, y), qpsvm.EpsilonSVR(X, t)
    for problem, name, options, error in (
        (labels, "sample_weight", {}, qpsvm.ParameterError),
        (labels, "sample_weight", {"row": 6}, qpsvm.DataError),
        (labels, "sample_weight", {"row": -1}, qpsvm.DataError),
        (labels, "sample_weight", {"row": 1.5}, qpsvm.ParameterTypeError),
        (labels, "C", {"row": 1}, qpsvm.ParameterError),
        (labels, "y", {"row": 1}, qpsvm.UnsupportedError),
        (qpsvm.OneClass(X), "y", {"row": 1}, qpsvm.UnsupportedError),
        (qpsvm.NuSVM(X, y), "sample_weight", {"row": 1}, qpsvm.UnsupportedError),
        (numbers, "y", {"row": 1, "low": 3.0, "high": 3.0}, qpsvm.ParameterError),
        (numbers, "y", {"row": 1, "low": -np.inf}, qpsvm.QPSVMError),
        (numbers, "sample_weight", {"row": 1, "low": 0.0}, qpsvm.ParameterError),
    ):
        with pytest.raises(error):
            qpsvm.exact_path(problem, name, **{"low": 0.5, "high": 2.0, **options})


@pytest.mark.parametrize("intercept", ["free", None, "penalised"])
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_linear_path_and_its_certified_results_are_one_function(intercept, make, offset):
    X, y, _ = table(3, rounded=False)
    X = X + offset
    path = qpsvm.exact_path(qpsvm.CSVM(make(X), y, intercept=intercept), "C", 0.01, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", qpsvm.InaccurateWarning
        )  # without a free intercept 1e6 costs a solve its digits
        for value in [0.02, 0.3, 0.9]:
            result = path.at(value)
            f = result.decision_function(make(X[:8]))
            assert np.allclose(path.decision(make(X[:8]), value), f, rtol=0.0, atol=1e-9 * np.abs(f).max())
            assert path.b(value) == pytest.approx(result.b, rel=1e-9)
            assert path.margin(value) == pytest.approx(1.0 / np.linalg.norm(result.w), rel=1e-2 if offset else 1e-9)
            k = int(np.searchsorted(path.breakpoints, value)) - 1
            if path.gaps[k] <= 1e-6:
                share = (value - path.breakpoints[k]) / np.diff(path.breakpoints)[k]
                first, second = (end[:, k] for end in path.pieces_at(X[:8]))
                assert np.allclose((1.0 - share) * first + share * second, f, rtol=0.0, atol=1e-9 * np.abs(f).max())


def test_a_free_intercept_over_features_of_a_map():
    X, y, _ = table(3, rounded=False)
    kernel = qpsvm.Nystroem(qpsvm.RBF(0.5), components=8)
    path = qpsvm.exact_path(qpsvm.CSVM(X, y, kernel=kernel), "C", 0.01, 1.0)
    np.testing.assert_allclose(path.decision(X, 0.3), path.at(0.3).decision_function(X), atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_ball_far_from_the_origin(offset):
    X = table(3, rounded=False)[0] + offset
    path = qpsvm.exact_path(qpsvm.SVDD(X), "nu", 0.2, 0.8)
    np.testing.assert_allclose(path.decision(X, 0.37), path.at(0.37).decision_function(X), atol=1e-8)
