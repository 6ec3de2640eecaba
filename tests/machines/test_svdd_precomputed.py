"""An SVDD of a precomputed kernel: f of new samples needs their K(x, x), and says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qpsvm
from qpsvm.estimators import SVDD

KERNEL = qpsvm.Polynomial(2, gamma=1.0, coef0=1.0)
RNG = np.random.default_rng(0)
NU = 0.37  # no share of samples, where R would be any of an interval
X, FEW, MANY = (RNG.normal(size=(n, 2)) for n in (12, 5, 20))


@pytest.fixture(scope="module")
def results() -> tuple[qpsvm.SVMResult, qpsvm.SVMResult]:
    """By the kernel, and by its matrix."""
    K = KERNEL(X, X)
    return qpsvm.solve(qpsvm.SVDD(X, NU, kernel=KERNEL)), qpsvm.solve(qpsvm.SVDD(K, NU, kernel="precomputed"))


@pytest.mark.parametrize("new", [FEW, X, MANY])
def test_f_is_that_of_the_kernel_itself(results, new, tmp_path):
    direct, result = results
    K = KERNEL(new, X)
    own = KERNEL.diagonal(new)
    result.save(tmp_path / "model.npz")
    path = qpsvm.exact_path(result.problem, "nu", 0.3, 0.8)
    for f in (
        result.decision_function(K, diagonal=own),
        qpsvm.load(tmp_path / "model.npz").decision_function(K, diagonal=own),
        path.decision(K, NU, diagonal=own),
        SVDD(kernel="precomputed", nu=NU).fit(KERNEL(X, X)).decision_function(K, diagonal=own),
        SVDD(kernel=lambda A, B: (A @ B.T + 1.0) ** 2, nu=NU).fit(X).decision_function(new),
    ):
        np.testing.assert_allclose(f, direct.decision_function(new), atol=1e-4)
    assert (result.predict(K, diagonal=own) == direct.predict(new)).all()


def test_bounds_hold_f(results):
    direct, result = results
    near = direct.build_near_function().record()
    model = replace(result.model, metadata={"near": near})
    low, high = model.decision_bounds(KERNEL(MANY, X), diagonal=KERNEL.diagonal(MANY))
    f = qpsvm.solve(direct.problem, tol=1e-12).decision_function(MANY)
    assert (low <= f).all()
    assert (f <= high).all()
    with pytest.raises(qpsvm.ParameterError, match="needs diagonal="):
        model.decision_bounds(KERNEL(MANY, X))


def test_what_is_missing_is_named(results):
    direct, result = results
    K = KERNEL(MANY, X)
    asked = [
        result.decision_function, result.predict, result.model.decision_function, result.model.predict,
        SVDD(kernel="precomputed").fit(KERNEL(X, X)).predict,
        lambda K: qpsvm.exact_path(result.problem, "nu", 0.3, 0.8).decision(K, 0.5),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(qpsvm.ParameterError, match="needs diagonal="):
            ask(K)
    with pytest.raises(qpsvm.DataError, match="diagonal must be 20 finite numbers"):
        result.decision_function(K, diagonal=[1.0])
    with pytest.raises(qpsvm.ParameterError, match="diagonal= is for a precomputed kernel"):
        direct.decision_function(MANY, diagonal=np.ones(20))


def test_samples_of_no_weight_and_samples_left_out():
    weight = np.append(np.ones(11), 0.0)
    own = qpsvm.SVDD(KERNEL(X, X), NU, kernel="precomputed", sample_weight=weight)
    other = qpsvm.SVDD(X, NU, kernel=KERNEL, sample_weight=weight)
    np.testing.assert_allclose(qpsvm.solve(own, tol=1e-9).yf, qpsvm.solve(other, tol=1e-9).yf, atol=1e-6)
    loo = [qpsvm.leave_one_out(each, tol=1e-9).decision for each in (own, other)]
    np.testing.assert_allclose(loo[0], loo[1], atol=1e-6)
