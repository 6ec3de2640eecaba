"""`LinearSVC(penalty="l1")`: its gap against rational numbers, its answer against a general solver."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm.estimators import GapWarning, LinearSVC
from qpsvm.estimators.l1_penalty import bound_l1_gap


def exact_primal(X: np.ndarray, y: np.ndarray, C: np.ndarray, w: np.ndarray, b: float, s: float) -> Fraction:
    """Evaluate (L1.1) in rational numbers."""
    total = sum(map(abs, map(Fraction, w.tolist())), Fraction(0)) + (abs(Fraction(b)) / Fraction(s) if s else 0)
    for row, label, penalty in zip(X.tolist(), y.tolist(), C.tolist(), strict=True):
        f = sum((Fraction(x) * Fraction(z) for x, z in zip(row, w.tolist(), strict=True)), Fraction(b))
        total += Fraction(penalty) * max(Fraction(0), 1 - Fraction(label) * f) ** 2
    return total


def exact_dual(X: np.ndarray, y: np.ndarray, C: np.ndarray, w: np.ndarray, b: float, s: float) -> Fraction:
    """Evaluate (L1.2) at the best of the α of (L1.3), in rational numbers."""
    beta = []
    for row, label, penalty in zip(X.tolist(), y.tolist(), C.tolist(), strict=True):
        f = sum((Fraction(x) * Fraction(z) for x, z in zip(row, w.tolist(), strict=True)), Fraction(b))
        beta.append(2 * Fraction(penalty) * max(Fraction(0), 1 - Fraction(label) * f))
    sums = [sum(a * Fraction(label) * Fraction(x) for a, label, x in zip(beta, y.tolist(), column, strict=True))
            for column in X.T.tolist()]  # fmt: skip
    sums.append(Fraction(s) * sum(a * Fraction(label) for a, label in zip(beta, y.tolist(), strict=True)))
    linear = sum(beta, Fraction(0))
    square = sum((a**2 / (4 * Fraction(c)) for a, c in zip(beta, C.tolist(), strict=True) if c), Fraction(0))
    tau = max([Fraction(1), *map(abs, sums), *([2 * square / linear] if linear else [])])
    return linear / tau - square / tau**2


@pytest.mark.parametrize("seed", range(30))
def test_the_gap_is_not_below_the_exact_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 9), rng.integers(1, 6)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, d)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    C = 10.0 ** rng.uniform(-3, 3, n)
    s = [0.0, 1.0, 7.0][seed % 3]
    how = {"C": 1.0, "penalty": "l1", "tol": 1e-9, "fit_intercept": s > 0.0, "intercept_scaling": s or 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        fitted = LinearSVC(**how).fit(X, y, C).coef_[0]
    for w, b in ((fitted, 0.3 * (s > 0)), (rng.normal(size=d) / np.abs(X).max(axis=0), 0.0), (np.zeros(d), 0.0)):
        gap = bound_l1_gap(X, y, C, w, b, s)
        primal, dual = exact_primal(X, y, C, w, b, s), exact_dual(X, y, C, w, b, s)
        exact = (primal - dual) / max(primal, dual)
        assert math.isinf(gap) or Fraction(gap) >= exact
        assert gap <= 1.0001 * float((primal - dual) / dual) + 1e-10 or dual <= 0


def test_the_optimum_is_that_of_the_quadratic_program() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:200, :8]
    y = np.where(y[:200], 1.0, -1.0)
    C = 0.5
    n, d = X.shape
    rows = sp.hstack([y[:, None] * X, -y[:, None] * X, y[:, None], -y[:, None], sp.eye(n)])
    q = np.append(np.ones(2 * d + 2), np.zeros(n))
    P = sp.diags(np.append(np.zeros(2 * d + 2), np.full(n, 2.0 * C)))
    result = qpsvm.solve(qpsvm.QP(sp.csc_array(P), q, G=-sp.csr_array(rows), h=-np.ones(n), lb=np.zeros(len(q))))
    machine = LinearSVC(penalty="l1", C=C, tol=1e-8).fit(X, y)
    assert machine.gap_ <= 1e-8
    w = result.x[:d] - result.x[d : 2 * d]
    np.testing.assert_allclose(machine.coef_[0], w, atol=1e-3)
    assert (machine.coef_ == 0.0).any()
    sparse = LinearSVC(penalty="l1", C=C, tol=1e-8).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, machine.coef_, atol=1e-3)


def test_several_classes_weights_files_and_what_there_is_not(tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    machine = LinearSVC(penalty="l1", class_weight={0: 2.0}).fit(X, y, weight)
    other = clone(machine).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(machine.coef_, other.coef_, atol=1e-3)
    assert machine.coef_.shape == (3, 4)
    assert machine.gap_ <= machine.tol
    assert machine.fit_status_ == 0
    machine.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(qpsvm.load(tmp_path / "m.npz").predict(X), machine.predict(X))
    assert machine.results_ == ()
    assert machine.notes_ == ()
    with pytest.raises(AttributeError, match="penalty='l1'"):
        _ = machine.result_
    for ask in (machine.decision_bounds, machine.prediction_sets, machine.proven):
        with pytest.raises(qpsvm.UnsupportedError, match="penalty='l1'"):
            ask(X)
    for how in ({"probability": True}, {"backend": "osqp"}, {"constraints": qpsvm.Constraints([[1.0] * 4], [5.0])}):
        with pytest.raises(qpsvm.UnsupportedError, match="penalty='l1'"):
            LinearSVC(penalty="l1", **how).fit(X, y)
    with pytest.warns(GapWarning, match="gap"):
        assert LinearSVC(penalty="l1", max_iter=1).fit(X, y).fit_status_ == 1
