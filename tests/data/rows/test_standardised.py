"""Columns of mean 0 and deviation 1, block by block, against a standardised copy."""

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.data.rows import as_row_source, standardise_rows
from qpsvm.data.sources import open_rows

RNG = np.random.default_rng(0)
N = 230
#: Columns of very different sizes, one far from 0, one constant, one of zeros.
X = RNG.normal(size=(N, 6)) * [1.0, 1e-200, 1e140, 0.0, 0.0, 2.0**-20] + [0.0, 0.0, 0.0, 0.1, 0.0, 3.0]


def moments(X):
    """Mean and deviation of each column, divided by its largest entry first, so that squares stay in range."""
    peak = np.abs(X).max(axis=0)
    peak[peak == 0] = 1.0
    mean, scale = peak * (X / peak).mean(axis=0), peak * (X / peak).std(axis=0)
    constant = (X[0] == X).all(axis=0)
    return np.where(constant, X[0], mean), np.where(constant | (scale == 0), 1.0, scale)


@pytest.mark.parametrize("store", ["array", "blocks", "columns first"])
def test_standardised_rows_are_those_of_a_copy(store):
    mean, scale = moments(X)
    Z = (X - mean) / scale
    w = RNG.normal(size=6)
    beta = RNG.normal(size=N)
    some = RNG.permutation(N)[:20]

    def check(rows, own):
        np.testing.assert_allclose(rows.scale, scale, rtol=1e-9)
        np.testing.assert_allclose((rows.mean - mean) / scale, 0.0, atol=1e-8)
        np.testing.assert_allclose(rows.take(np.arange(rows.n)), Z[own], atol=1e-8)
        np.testing.assert_allclose(rows.margins(w), Z[own] @ w, atol=1e-7)
        np.testing.assert_allclose(rows.weights(beta[own]), Z.T @ beta, atol=1e-7)
        np.testing.assert_allclose(rows.scan(w, lambda _, margins: margins), Z.T @ (Z @ w), atol=1e-7)
        np.testing.assert_allclose(rows.means(), 0.0, atol=1e-8)
        np.testing.assert_allclose(rows.column_squares(), N * np.array([1, 1, 1, 0, 0, 1]), atol=1e-6)

    everything = slice(0, N)
    stored = {"array": X, "blocks": X.copy(), "columns first": np.asfortranarray(X)}[store]
    if store == "array":
        source = as_row_source(stored)
    else:
        source = open_rows(stored, block_rows=31)
    rows = standardise_rows(source)
    check(rows, everything)
    np.testing.assert_allclose(rows.moments(some)[0], Z[some].T @ Z[some], atol=1e-7)
    assert (rows.mean[3], rows.scale[3], rows.mean[4], rows.scale[4]) == (0.1, 1.0, 0.0, 1.0)


def test_sparse_rows_stay_sparse():
    dense = np.round(RNG.random((N, 9)) * (RNG.random((N, 9)) < 0.2), 2)
    dense[:, 4] = 3.0
    A = sp.csr_array(dense)
    for source in (as_row_source(A), open_rows(dense, sparse=True, block_rows=20)):
        rows = standardise_rows(source)
        assert rows.is_sparse
        assert not rows.mean.any()
        scale = np.where(np.arange(9) == 4, 1.0, dense.std(axis=0))
        np.testing.assert_allclose(rows.scale, scale, rtol=1e-12)
        np.testing.assert_allclose(rows.matrix().toarray(), dense / scale, rtol=1e-12)
        np.testing.assert_allclose(rows.column_squares(), ((dense / scale) ** 2).sum(axis=0), rtol=1e-12)
