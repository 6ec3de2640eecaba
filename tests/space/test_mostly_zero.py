"""Dense samples that are mostly zero: a linear machine computes with them as CSR, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.base.arrays.compression import compress_mostly_zero

RNG = np.random.default_rng(5)
X = np.where(RNG.random((700, 200)) < 0.05, RNG.normal(size=(700, 200)), 0.0)
Y = np.where(X[:, :5].sum(axis=1) + 0.1 * RNG.normal(size=700) > 0.0, "yes", "no")


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
def test_the_optimum_is_that_of_the_dense_rows(intercept: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = qpsvm.CSVM(X, Y, C=0.5, intercept=intercept)
    assert problem.space.rows.is_sparse
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    assert result.verify().gap <= result.gap * (1 + 1e-9)
    monkeypatch.setattr("qpsvm.base.arrays.compression.MIN_ENTRIES", X.size + 1)
    dense_problem = qpsvm.CSVM(X, Y, C=0.5, intercept=intercept)
    assert not dense_problem.space.rows.is_sparse
    dense = qpsvm.solve(dense_problem)
    assert dense.dual * (1 - 1e-12) <= result.primal * (1 + 1e-12)
    assert result.dual * (1 - 1e-12) <= dense.primal * (1 + 1e-12)
    assert isinstance(problem.X, np.ndarray)
    assert isinstance(result.support_vectors, np.ndarray)
    np.testing.assert_allclose(result.decision_function(X), X @ result.w + result.b, rtol=1e-9, atol=1e-12)


def test_it_is_what_scipy_makes() -> None:
    for order in ("C", "F"):
        rows = compress_mostly_zero(np.asarray(X, order=order))
        assert rows is not None
        assert rows.has_canonical_format
        assert (rows != sp.csr_array(X)).nnz == 0


def test_others_stay_dense() -> None:
    assert compress_mostly_zero(X[:400]) is None  # small
    assert compress_mostly_zero(np.where(RNG.random(X.shape) < 0.3, 1.0, 0.0)) is None
    first_rows_zero = np.ones(X.shape)
    first_rows_zero[::14] = 0.0
    assert compress_mostly_zero(first_rows_zero) is None
    for problem in (qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(1.0)), qpsvm.SVDD(X, nu=0.5)):
        assert problem.space._compressed_rows is None
