"""Prediction: the values are those of the formula to rounding, wherever samples are and however many come at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from sklearn.datasets import load_iris
from sklearn.utils.multiclass import _ovr_decision_function

from qpsvm.base.errors import DataError
from qpsvm.estimators import SVC, SVR, LinearSVC
from qpsvm.result import votes as voting
from qpsvm.space.kernels.fixed_vectors import FixedVectors
from qpsvm.space.kernels.functions import RBF, Polynomial, Sigmoid
from qpsvm.space.kernels.scores import ScoreFunctions

X, y = load_iris(return_X_y=True)


@for_each("unit", [1e-149, 1e76, 1e149])
@for_each("kind, parameters", [(SVC, {"C": 10.0}), (SVR, {"kernel": "poly", "coef0": 1.0})])
def test_gamma_by_scale_makes_predictions_independent_of_the_unit(kind, parameters, unit):
    expected = kind(**parameters).fit(X, y).predict(X)
    np.testing.assert_allclose(kind(**parameters).fit(X * unit, y).predict(X * unit), expected, atol=1e-6)


def rbf(X, Z, gamma):
    """By differences, in extended precision."""
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


@for_each(
    "offset, spread, gamma",
    [(0.0, 1.0, 0.5), (1e6, 1.0, 2.0), (-3e8, 1e3, 1e-6), (0.0, 1e7, 1e-3), (0.0, 0.0, 1.0)],
)
def test_kernel_values_with_fixed_vectors_are_those_of_differences(offset, spread, gamma):
    """Far from the origin, of vectors far from each other too, of one vector, and of samples out of the world."""
    rng = np.random.default_rng(0)
    for s in (1, 9):
        V = offset + spread * rng.normal(size=(s, 3))
        Z = np.concatenate([V[:1], offset + spread * rng.normal(size=(20, 3)), V + 1e-3, V * 1e5, V + 1e150])
        found = FixedVectors(RBF(gamma), V)(Z)
        exact = rbf(Z, V, gamma)
        assert np.isfinite(found).all()
        assert np.abs(found - exact).max() <= 3e-11


@for_each("kernel", [RBF(0.3), Polynomial(3, 0.5, 1.0), Sigmoid(0.1, 0.2)])
def test_the_values_of_pairs_are_those_of_their_coefficients(kernel):
    """From k − 1 rows class after class, of which one has no support vector; for one row and for many."""
    rng = np.random.default_rng(1)
    ends = np.array([0, 3, 3, 5, 9])
    V = rng.normal(size=(9, 2))
    D = rng.normal(size=(3, 9))
    b = rng.normal(size=6)
    Z = rng.normal(size=(40, 2))
    for some in (ends, np.array([0, 3, 4, 5, 9])):
        of = np.searchsorted(some, np.arange(9), side="right") - 1  # the class of each vector
        coef = np.zeros((6, 9))
        for p, (i, j) in enumerate(combinations(range(4), 2)):
            coef[p, of == i] = D[j - 1, of == i]
            coef[p, of == j] = D[i, of == j]
        scores = ScoreFunctions(kernel, np.arange(9), V, D, b, None, some)
        plain = ScoreFunctions(kernel, np.arange(9), V, coef, b)
        expected = kernel(Z, V) @ coef.T + b
        assert np.allclose(scores(Z), expected, rtol=1e-12, atol=1e-12)
        assert np.allclose(plain(Z), expected, rtol=1e-12, atol=1e-12)
        assert np.allclose(np.concatenate([scores(z[None, :]) for z in Z[:5]]), expected[:5], rtol=1e-12, atol=1e-12)
    assert np.allclose(ScoreFunctions(kernel, np.arange(0), V[:0], D[:1, :0], b[:1])(Z), b[0])


def test_votes_and_scores_are_those_of_counting():
    rng = np.random.default_rng(2)
    for k in (3, 4, 7):
        values = rng.integers(-2, 3, size=(200, k * (k - 1) // 2)) / 2.0  # with many ties
        votes = np.zeros((len(values), k))
        for p, (i, j) in enumerate(combinations(range(k), 2)):
            votes[:, i] += values[:, p] > 0
            votes[:, j] += values[:, p] <= 0
        assert np.array_equal(voting.find_winners(values, k), votes.argmax(axis=1))
        assert np.allclose(voting.compute_scores(values, k), _ovr_decision_function(values < 0, -values, k), atol=1e-12)


@for_each("shape", ["ovo", "ovr"])
def test_however_samples_come_the_values_are_the_same(shape):
    """One row, many rows, another order in memory, single precision, whole numbers, lists, CSR."""
    ours = SVC(decision_function_shape=shape).fit(X, y)
    whole = ours.decision_function(X)
    few = np.round(X[:7])
    for same, expected in (
        (X[3:4], whole[3:4]),
        (np.tile(X, (40, 1)), np.tile(whole, (40, 1))),
        (np.asfortranarray(X), whole),
        (X[::-1], whole[::-1]),
        (X.tolist(), whole),
        (few.astype(np.float32), ours.decision_function(few)),
        (few.astype(int), ours.decision_function(few)),
    ):
        assert np.allclose(ours.decision_function(same), expected, rtol=0, atol=1e-10)
    sparse = SVC(decision_function_shape=shape).fit(sp.csr_array(X), y)
    assert np.allclose(sparse.decision_function(sp.csr_array(X)), whole, rtol=0, atol=1e-10)


@for_each("estimator", [SVC(), SVR(), LinearSVC()])
def test_what_cannot_be_predicted_is_refused_however_it_comes(estimator):
    """A plain array is not checked by scikit-learn, and is refused all the same."""
    fitted = estimator.fit(X, y)
    for wrong in (X[:, :3], X[0], X[:0], X * np.inf, np.where(X[4, 2] == X, np.nan, X), X * 1e200):
        with pytest.raises(DataError):
            fitted.predict(wrong)


def test_values_that_overflow_are_refused():
    fitted = SVR(kernel="poly", degree=9, gamma=0.1).fit(X[::10] - X[75], y[::10])
    with pytest.raises(DataError, match="overflow"):
        fitted.predict(X * 1e60)
