"""Probabilities by folds and by exact leave-one-out, sets and intervals by the jackknife+: against refits."""

from __future__ import annotations

import itertools
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from each import for_each
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

import qpsvm
from qpsvm.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR
from qpsvm.estimators import left_out as module
from qpsvm.result.calibration import Calibration, couple_probabilities


def classes(n: int, seed: int, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes; the first 2k samples are of each twice."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, n - 2 * k)])
    return rng.normal(size=(n, 2)) + 1.2 * np.column_stack([np.cos(2.0 * y), np.sin(2.0 * y)]), y


def regression(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(3, size=n)


class Scores(ClassifierMixin, BaseEstimator):
    """Decision values that are there already."""

    def fit(self, _, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0.0).astype(int)]


def fit_calibrator(f: np.ndarray, y: np.ndarray, method: str) -> CalibratedClassifierCV:
    """Fit scikit-learn's calibrator of decision values."""
    everything = np.arange(len(f))
    scores = FrozenEstimator(Scores().fit(f[:, None], y))
    return CalibratedClassifierCV(scores, method=method, cv=[(everything, everything)], ensemble=False).fit(
        f[:, None], y
    )


MACHINES = [SVC(gamma=0.5, C=2.0), NuSVC(gamma=0.5, nu=0.4), LinearSVC(), LinearSVC(intercept_scaling=2.0)]


@pytest.mark.parametrize(("machine", "method"), [
    *zip(MACHINES, ["sigmoid", "isotonic"] * 2, strict=True), (MACHINES[0], "isotonic"), (MACHINES[1], "sigmoid"),
], ids=repr)  # fmt: skip
def test_curves_are_those_of_scikit_learn_over_refits_without_each_sample(machine, method):
    X, y = classes(36, 1)
    left_out = {"sigmoid": "leave-one-out", "isotonic": "leave-one-out-isotonic"}[method]
    full = clone(machine).set_params(probability=left_out, tol=1e-10).fit(X, y)
    size = full.result_.rho if isinstance(machine, NuSVC) else 1.0
    f = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        one = clone(machine).set_params(tol=1e-10).fit(X[rest], y[rest])
        scale = one.result_.rho if isinstance(machine, NuSVC) else 1.0
        f[i] = one.decision_function(X[[i]])[0] * scale / size
    new = classes(50, 2)[0]
    expected = fit_calibrator(f, y, method).predict_proba(full.decision_function(new)[:, None])
    if method == "isotonic":  # of Platt's targets, as the sigmoid is
        plus = int(y.sum())
        minus = int((1 - y).sum())
        low = 1.0 / (minus + 2.0)
        high = (plus + 1.0) / (plus + 2.0)
        later = low + (high - low) * expected[:, 1]
        expected = np.column_stack([1.0 - later, later])
    np.testing.assert_allclose(full.predict_proba(new), expected, atol=2e-4)
    np.testing.assert_allclose(np.exp(full.predict_log_proba(new)), full.predict_proba(new), atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_curves_of_folds_are_those_of_scikit_learns_calibrator(machine):
    X, y = classes(60, 1)
    weight = np.where(np.arange(60) % 7 == 3, 0.0, 1.0 + np.arange(60) % 3)
    there = weight > 0.0
    machine = clone(machine).set_params(tol=1e-10)
    ours = clone(machine).set_params(probability=True).fit(X, y, weight)
    theirs = CalibratedClassifierCV(machine, cv=5, ensemble=False).fit(X[there], y[there], weight[there])
    new = classes(50, 2)[0]
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=2e-4)


def test_folds_have_no_limit_of_rows_and_take_constraints_and_indefinite_kernels():
    X, y = classes(3100, 3)
    machine = SVC(kernel="linear", probability="isotonic", constraints=qpsvm.Constraints([[1.0, 0.0]], [5.0]))
    assert machine.fit(X, y).predict_proba(X).shape == (3100, 2)
    X, y = classes(30, 11)
    for psd in ("clip", "shift"):
        machine = SVC(kernel="sigmoid", gamma=1.0, coef0=1.0, psd=psd, probability=True)
        assert machine.fit(X, y).predict_proba(X).shape == (30, 2)


def test_a_fold_whose_nu_is_too_large_is_named():
    y = np.array([0] * 4 + [1] * 5)  # of 4 and 5 samples, a fold of four leaves 3 and 4 or 3
    X = np.arange(9.0)[:, None]
    with pytest.raises(qpsvm.InfeasibleNuError, match="nu") as caught:
        NuSVC(nu=8 / 9, probability=True).fit(X, y)
    assert "fold" in caught.value.__notes__[-1]


@for_each("kind, rule", [(SVC, "ovo"), (SVC, "ovr"), (NuSVC, "ovo"), (LinearSVC, "ovr")])
@pytest.mark.parametrize("probability", [True, "leave-one-out"])
def test_several_classes(probability, kind, rule):
    X, y = load_iris(return_X_y=True)
    machine = kind(probability=probability, multi_class=rule).fit(X, y)
    P = machine.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0.0).all()
    assert (P.argmax(axis=1) == machine.predict(X)).mean() > 0.95
    assert -np.log(P[np.arange(150), y]).mean() < 0.3
    assert machine.prediction_sets(X)[np.arange(150), y].mean() > 0.85


def test_coupled_pairs_are_a_least_squares_solution():
    rng = np.random.default_rng(0)
    later = rng.uniform(size=(4, 6))
    first, second = np.triu_indices(4, 1)
    for r, p in zip(later, couple_probabilities(later), strict=True):

        def loss(q, r=r):
            q = np.abs(q) / np.abs(q).sum()
            return float(((r * q[first] - (1.0 - r) * q[second]) ** 2).sum())

        best = min(minimize(loss, np.ones(4), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}).fun,
                   min(loss(q) for q in rng.uniform(size=(200, 4))))  # fmt: skip
        assert p.min() >= 0.0
        assert loss(p) <= best + 1e-9
    np.testing.assert_allclose(couple_probabilities(np.array([[0.3]])), [[0.7, 0.3]])
    np.testing.assert_allclose(couple_probabilities(np.array([[0.0, 0.0, 1.0]])).sum(), 1.0)


@for_each("seed, method", [(seed, ("sigmoid", "isotonic")[seed % 2]) for seed in range(8)])
def test_probabilities_never_fall_with_f(seed, method):
    """Nor where the labels are noise, whose leave-one-out decisions are on the wrong side more often than not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) % 2
    machine = SVC(probability=method).fit(X, y)
    other = SVC(probability=method, random_state=7).fit(X, y)  # nothing is random, and the machine stays
    np.testing.assert_array_equal(machine.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(machine.decision_function(X), SVC().fit(X, y).decision_function(X))
    new = rng.normal(size=(100, 3))
    order = np.argsort(machine.decision_function(new))
    assert (np.diff(machine.predict_proba(new)[order, 1]) >= 0.0).all()


def test_a_sample_of_weight_0_is_not_there():
    X, y = classes(50, 4)
    weight = np.where(np.arange(50) % 5 == 4, 0.0, 1.0 + np.arange(50) % 3)
    there = weight > 0.0
    for probability in (True, "leave-one-out"):
        machine = SVC(gamma=0.5, probability=probability, tol=1e-10)
        one = clone(machine).fit(X, y, weight)
        other = clone(machine).fit(X[there], y[there], weight[there])
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(one.prediction_sets(X), other.prediction_sets(X))
    for regressor in (SVR(gamma=0.5, tol=1e-10), LinearSVR(tol=1e-10)):
        low, high = clone(regressor).fit(X, X[:, 0] + y, weight).prediction_intervals(X)
        same = clone(regressor).fit(X[there], (X[:, 0] + y)[there], weight[there]).prediction_intervals(X)
        np.testing.assert_allclose([low, high], same, atol=1e-5)


def test_a_kernel_in_any_form():
    X, y = classes(40, 5, 3)
    kernel = qpsvm.RBF(0.5)
    forms = [(SVC(gamma=0.5), X), (SVC(kernel=kernel), X), (SVC(kernel="precomputed"), kernel(X, X)),
             (SVC(kernel=lambda A, B: kernel(A, B)), X)]  # fmt: skip
    for probability in (True, "leave-one-out"):
        found = [machine.set_params(probability=probability, tol=1e-10).fit(A, y) for machine, A in forms]
        for machine, (_, A) in zip(found, forms, strict=True):
            np.testing.assert_allclose(machine.predict_proba(A), found[0].predict_proba(X), atol=1e-6)
    for machine, (_, A) in zip(found, forms, strict=True):
        np.testing.assert_array_equal(machine.prediction_sets(A), found[0].prediction_sets(X))


def test_a_dask_collection_is_asked_where_it_is():
    array = pytest.importorskip("dask.array")
    X, y = classes(60, 13, 3)
    machine = LinearSVC(probability=True).fit(X, y)
    spread = array.from_array(X, chunks=(25, 2))
    np.testing.assert_allclose(machine.predict_proba(spread).compute(), machine.predict_proba(X), atol=1e-12)
    with pytest.raises(qpsvm.UnsupportedError, match="Dask"):
        machine.prediction_sets(spread)
    with pytest.raises(qpsvm.UnsupportedError, match="in memory"):
        LinearSVC(probability="leave-one-out").fit(spread, array.from_array(y, chunks=25))
    stored = LinearSVC(probability=True).fit(spread, array.from_array(y, chunks=25))
    np.testing.assert_allclose(stored.predict_proba(X), machine.predict_proba(X), atol=1e-4)


# --- coverage ---------------------------------------------------------------------------------------------------------


SHARES = (0.1, 0.3)


def check_covered(inside: list[list[np.ndarray]]) -> None:
    """What is proven, and what is usual, of each of the `SHARES`."""
    for alpha, found in zip(SHARES, zip(*inside, strict=True), strict=True):
        assert np.mean(found) >= 1.0 - 2.0 * alpha
        assert abs(np.mean(found) - (1.0 - alpha)) < 0.07


@pytest.mark.parametrize("machine", [SVR(gamma=1.0), NuSVR(gamma=1.0), LinearSVR()], ids=repr)
def test_intervals_cover(machine):
    inside = []
    for seed in range(25):
        X, t = regression(120, seed)
        fitted = clone(machine).fit(X[:40], t[:40])
        found = [fitted.prediction_intervals(X[40:], alpha) for alpha in SHARES]
        inside.append([(low <= t[40:]) & (t[40:] <= high) for low, high in found])
        assert all((low <= high).all() for low, high in found)
        assert (found[0][0] <= found[1][0]).all()
        assert (found[0][1] >= found[1][1]).all()
    check_covered(inside)


@pytest.mark.parametrize(("machine", "k"), [
    (SVC(gamma=0.5), 2), (SVC(gamma=0.5), 3), (LinearSVC(), 2), (SVC(gamma=0.5, multi_class="ovr"), 3),
], ids=repr)  # fmt: skip
def test_sets_cover(machine, k):
    inside = []
    for seed in range(20):
        X, y = classes(120, seed, k)
        order = np.random.default_rng(seed).permutation(120)
        X, y = X[order], y[order]
        fitted = clone(machine).fit(X[:40], y[:40])
        found = [fitted.prediction_sets(X[40:], alpha) for alpha in SHARES]
        inside.append([sets[np.arange(80), y[40:]] for sets in found])
        assert (found[0] >= found[1]).all()
    check_covered(inside)


def test_intervals_are_those_of_refits():
    X, t = regression(25, 0)
    new = regression(6, 1)[0]
    machine = SVR(gamma=0.5, tol=1e-10).fit(X, t)
    f = np.empty((6, 25))
    residual = np.empty(25)
    for i in range(25):
        rest = np.arange(25) != i
        one = clone(machine).fit(X[rest], t[rest])
        f[:, i] = one.predict(new)
        residual[i] = abs(t[i] - one.predict(X[[i]])[0])
    for alpha in (0.1, 0.25, 0.5):
        low, high = machine.prediction_intervals(new, alpha)
        rank = -int(-(1 - Fraction(str(alpha))) * 26 // 1)
        np.testing.assert_allclose(high, np.sort(f + residual, axis=1)[:, rank - 1], atol=1e-6)
        np.testing.assert_allclose(low, np.sort(f - residual, axis=1)[:, 25 - rank], atol=1e-6)
    low, high = machine.prediction_intervals(new, 0.01)
    assert (high == np.inf).all()
    assert (low == -np.inf).all()


@for_each("rule", ["ovo", "ovr"])
def test_sets_are_those_of_refits(rule):
    X, y = classes(30, 0, 3)
    new = classes(8, 1, 3)[0]
    machine = SVC(gamma=0.5, tol=1e-10, multi_class=rule, decision_function_shape="ovo").fit(X, y)

    def scores(one: SVC, X: np.ndarray) -> np.ndarray:
        f = one.decision_function(X)
        if rule == "ovr":
            return np.column_stack([np.delete(f, c, axis=1).max(axis=1) - f[:, c] for c in range(3)])
        return np.column_stack([-np.minimum(f[:, 0], f[:, 1]), np.maximum(f[:, 0], -f[:, 2]), f[:, 1:].max(axis=1)])

    beyond = np.zeros((8, 3))
    for i in range(30):
        rest = np.arange(30) != i
        one = clone(machine).fit(X[rest], y[rest])
        beyond += scores(one, X[[i]])[0, y[i]] < scores(one, new) - 1e-9
    for alpha in (0.1, 0.2, 0.5):
        np.testing.assert_array_equal(machine.prediction_sets(new, alpha), beyond < (1.0 - alpha) * 31)


def test_the_last_sample_of_a_class_counts_against_none():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    machine = SVC(kernel="linear").fit(X, [0, 1, 1, 1, 1])
    with pytest.warns(qpsvm.estimators.GapWarning, match="no other sample of its class"):
        sets = machine.prediction_sets(X, 0.2)
    assert sets[:, 1].all()
    with pytest.raises(qpsvm.DataError, match="the class 0 has one sample"):
        SVC(probability=True).fit(X, [0, 1, 1, 1, 1])


# --- files, pickles, refusals -----------------------------------------------------------------------------------------


@for_each("machine, k", itertools.product([SVC(), SVC(multi_class="ovr"), NuSVC(nu=0.3), LinearSVC()], [2, 3]))
def test_a_file_has_the_probabilities(machine, k, tmp_path):
    X, y = classes(40, 6, k)
    for method in ("sigmoid", "isotonic"):
        fitted = clone(machine).set_params(probability=method).fit(X, y)
        fitted.save(tmp_path / "model.npz")
        model = qpsvm.load(tmp_path / "model.npz")
        np.testing.assert_allclose(model.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    clone(machine).fit(X, y).save(tmp_path / "model.npz")
    with pytest.raises(qpsvm.AbsentError, match="probability=True"):
        qpsvm.load(tmp_path / "model.npz").predict_proba(X)


def test_a_damaged_calibration_is_refused():
    good = Calibration("sigmoid", "two", ((np.ones(1), np.zeros(1)),)).to_record()
    assert Calibration.from_record(good, 1).to_record() == good
    for change in ({"method": "magic"}, {"coupling": "none"}, {"curves": []}, {"curves": [[[1.0], []]]},
                   {"curves": [[[float("nan")], [0.0]]]}, {"curves": 7}):  # fmt: skip
        with pytest.raises(qpsvm.FileFormatError):
            Calibration.from_record({**good, **change}, 1)
    with pytest.raises(qpsvm.FileFormatError):
        Calibration.from_record("sigmoid", 1)


def test_a_pickle_keeps_what_was_asked_for():
    X, y = classes(30, 7)
    machine = SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).predict_proba(X), machine.predict_proba(X))
    with pytest.raises(qpsvm.UnsupportedError, match="pickle"):
        pickle.loads(pickle.dumps(machine)).prediction_sets(X)
    sets = machine.prediction_sets(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).prediction_sets(X), sets)
    for regressor in (SVR(), LinearSVR()):
        regressor.fit(*regression(30, 0))
        with pytest.raises(qpsvm.UnsupportedError, match="pickle"):
            pickle.loads(pickle.dumps(regressor)).prediction_intervals(X)
        low, _ = regressor.prediction_intervals(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(regressor)).prediction_intervals(X)[0], low)


def test_without_probabilities_there_are_none():
    X, y = classes(30, 8)
    for kind in (SVC, NuSVC, LinearSVC):
        assert not hasattr(kind(), "predict_proba")
        assert hasattr(kind(probability=True), "predict_log_proba")
        with pytest.raises(NotFittedError):
            kind(probability=True).predict_proba(X)
        machine = kind(probability=False).fit(X, y).set_params(probability=True)
        with pytest.raises(NotFittedError, match="fit again"):
            machine.predict_proba(X)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_logarithm_of_a_probability_of_0_is_without_a_warning():
    X, y = classes(30, 9)
    machine = LinearSVC(probability=True).fit(X, y)
    assert np.isneginf(machine.predict_log_proba(1e18 * X)).any()


def test_what_is_not_fitted_or_no_share_is_refused():
    X, y = classes(30, 9)
    with pytest.raises(NotFittedError):
        SVC().prediction_sets(X)
    with pytest.raises(NotFittedError):
        SVR().prediction_intervals(X)
    for machine, ask in ((SVC().fit(X, y), "prediction_sets"), (SVR().fit(X, y), "prediction_intervals"),
                         (LinearSVR().fit(X, y), "prediction_intervals")):  # fmt: skip
        for alpha in (0.0, 1.0, -0.1, 2.0, np.nan):
            with pytest.raises(qpsvm.ParameterError, match="alpha"):
                getattr(machine, ask)(X, alpha)
        for alpha in ("much", None):
            with pytest.raises(qpsvm.ParameterTypeError, match="alpha"):
                getattr(machine, ask)(X, alpha)
        with pytest.raises(qpsvm.DataError):
            getattr(machine, ask)(X[:, :1])


def test_what_cannot_be_left_out_is_refused_before_it_is_solved(monkeypatch):
    X, y = classes(30, 10)
    with pytest.raises(qpsvm.UnknownOptionError, match="isotonic"):
        SVC(probability="isotone").fit(X, y)
    with pytest.raises(qpsvm.ParameterTypeError):
        SVC(probability=1.5).fit(X, y)
    for probability in (True, "leave-one-out"):
        with pytest.raises(qpsvm.UnsupportedError, match="multi_class='crammer_singer'"):
            SVC(probability=probability, multi_class="crammer_singer").fit(X, y)
    fair = qpsvm.Constraints([[1.0, 0.0]], [5.0])
    with pytest.raises(qpsvm.UnsupportedError, match="constraints"):
        LinearSVC(probability="leave-one-out", constraints=fair).fit(X, y)
    with pytest.raises(qpsvm.UnsupportedError, match="constraints"):
        LinearSVC(constraints=fair).fit(X, y).prediction_sets(X)
    with pytest.raises(qpsvm.UnsupportedError, match="multi_class"):
        SVC(multi_class="crammer_singer").fit(*classes(30, 1, 3)).prediction_sets(X)
    monkeypatch.setattr(module, "MAX_LEFT_OUT", 20)
    with pytest.raises(qpsvm.UnsupportedError, match=r"20 of a machine.*30.*probability=True fits five folds"):
        SVC(probability="leave-one-out").fit(X, y)
    with pytest.raises(qpsvm.UnsupportedError, match="hold some samples out"):
        SVR().fit(X, y).prediction_intervals(X)
    X, y = classes(30, 10, 4)  # pairs are smaller
    assert SVC(probability="leave-one-out").fit(X, y).predict_proba(X).shape == (30, 4)


def test_indefinite_kernels_are_refused():
    X, y = classes(30, 11)
    for psd in ("clip", "shift"):
        machine = SVC(kernel="sigmoid", gamma=1.0, coef0=1.0, psd=psd)
        with pytest.raises(qpsvm.UnsupportedError, match="indefinite"):
            clone(machine).set_params(probability="leave-one-out").fit(X, y)
        with pytest.raises(qpsvm.UnsupportedError, match="indefinite"):
            clone(machine).fit(X, y).prediction_sets(X)
    with pytest.raises(qpsvm.UnsupportedError, match="indefinite"):
        SVR(kernel="sigmoid", gamma=1.0, coef0=1.0, psd="clip").fit(X, X[:, 0]).prediction_intervals(X)


def test_a_time_limit_is_said():
    X, y = classes(60, 12)
    machine = SVC(time_limit=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X, y)
        with pytest.raises(qpsvm.SolverError, match="time_limit"):
            machine.prediction_sets(X)
        with pytest.raises(qpsvm.SolverError, match="time_limit"):
            SVC(time_limit=1e-9, probability=True).fit(X, y)
        with pytest.raises(qpsvm.SolverError, match="time_limit"):
            SVC(time_limit=1e-9, probability="leave-one-out").fit(X, y)
