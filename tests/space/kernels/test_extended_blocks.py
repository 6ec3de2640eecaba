"""A Gram matrix with a diagonal added and one more row: by blocks what it is as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs

from qpsvm import RBF, Polynomial
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.extended_blocks import ExtendedBlocks
from qpsvm.space.kernels.functions import Precomputed, Sigmoid

N = 40
KERNELS = (RBF(0.3), Polynomial(2, 0.5, 1.0), Sigmoid(0.1, 0.2), Precomputed())


@for_each("kernel, has_diagonal, corner", cover_pairs(KERNELS, (False, True), (None, 0.0, 2.0)))
def test_every_block_is_that_of_the_whole_matrix(kernel, has_diagonal, corner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    gram = X @ X.T if isinstance(kernel, Precomputed) else None
    inner, added = KernelBlocks(kernel, X, gram), rng.random(N) if has_diagonal else None
    expected = (kernel(X, X) if gram is None else gram) + (0.0 if added is None else np.diag(added))
    if corner is not None:
        expected = np.block([[expected, np.zeros((N, 1))], [np.zeros((1, N)), np.array([[corner]])]])
    blocks = ExtendedBlocks(inner, added, corner)
    n = blocks.n
    assert n == len(expected)
    rows, columns = rng.permutation(n)[:25], rng.permutation(n)[:30]
    beta = rng.normal(size=len(columns))
    for rough, atol in ((False, 1e-13), (True, 1e-5)):
        close = {"rtol": atol, "atol": atol}
        for found, of in (
            (blocks.compute_block(rows, columns, rough), expected[np.ix_(rows, columns)]),
            (blocks.compute_symmetric(rows, rough), expected[np.ix_(rows, rows)]),
            (blocks.compute_symmetric(None, rough), expected),
            (blocks.product(columns, beta, rows, rough), expected[np.ix_(rows, columns)] @ beta),
            (blocks.diagonal(rows), expected.diagonal()[rows]),
        ):
            np.testing.assert_allclose(found, of, **close)
        out = np.empty((len(rows), len(rows)), dtype=np.float32 if rough and blocks.allows_single else np.float64)
        np.testing.assert_allclose(blocks.compute_symmetric(rows, rough, out), expected[np.ix_(rows, rows)], **close)
        grown = blocks.grow_symmetric(blocks.compute_symmetric(rows[:10], rough), rows[:10], rows[10:], rough)
        np.testing.assert_allclose(grown, expected[np.ix_(rows, rows)], **close)
    single = np.empty((7, n), dtype=np.float32)
    blocks.fill(single, n - 7)
    np.testing.assert_allclose(single, expected[-7:], rtol=1e-5, atol=1e-5)
    assert blocks.full_matrix is None
    assert blocks.all() == pytest.approx(expected, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(blocks.product(columns, beta, rows), expected[np.ix_(rows, columns)] @ beta, atol=1e-12)
