"""Second moments of sparse rows, compiled: against NumPy, duplicates counted, and buffers that do not fit refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

from qpsvm import core
from qpsvm.data.rows.sparse_block import SparseBlock

pytestmark = pytest.mark.skipif(core.compiled is None, reason="the compiled core is not there")


def rows(n, d, index, seed=0):
    random = np.random.default_rng(seed)
    X = sp.csr_array(random.standard_normal((n, d)) * (random.random((n, d)) < 0.3))
    return sp.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)


@for_each("index", [np.int32, np.int64])
@for_each("shape", [(0, 3), (3, 0), (1, 1), (40, 17)])
def test_they_are_those_of_numpy(shape, index):
    X = rows(*shape, index)
    random = np.random.default_rng(1)
    for at in (np.arange(0), np.arange(shape[0]), random.integers(0, max(shape[0], 1), 3 * (shape[0] > 0))):
        for scale in (None, random.random(len(at))):
            S, s = SparseBlock(X)._compute_pair_moments(at, scale)
            A = X.toarray()[at]
            by = np.ones(len(at)) if scale is None else scale
            np.testing.assert_allclose(S, A.T @ (by[:, None] * A), atol=1e-12)
            np.testing.assert_allclose(s, A.T @ by, atol=1e-12)


def test_a_column_that_stands_twice_in_a_row_is_added_up():
    S = np.zeros((3, 3))
    s = np.zeros(3)
    parts = np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 3])
    core.compiled.moments(*parts, 8, np.array([0]), b"", S, s)
    x = np.array([5.0, 3.0, 0.0])
    np.testing.assert_array_equal(S, np.outer(x, x))
    np.testing.assert_array_equal(s, x)


def bad_calls():
    X = rows(6, 4, np.int64)
    good = [X.data, X.indices, X.indptr, 8, np.arange(6), np.ones(6), np.zeros((4, 4)), np.zeros(4)]
    outside, backwards, far = X.indices.copy(), X.indptr.copy(), X.indptr.copy()
    outside[0] = 4
    backwards[1] = 10**6
    far[-1] = 10**6
    for place, value in (
        (1, outside), (1, -outside - 1), (1, X.indices[1:].copy()), (2, backwards), (2, far), (3, 4), (3, 2),
        (4, np.array([6])), (4, np.array([-1])), (5, np.ones(5)), (6, np.zeros((4, 3))), (6, np.zeros((3, 3))),
        (7, np.zeros(5)), (0, X.data[1:].copy()), (0, b"123"),
    ):  # fmt: skip
        yield good, place, value


@for_each("call, place, value", list(bad_calls()))
def test_what_does_not_fit_is_refused(call, place, value):
    with pytest.raises(ValueError):  # noqa: PT011
        core.compiled.moments(*call[:place], value, *call[place + 1 :])
