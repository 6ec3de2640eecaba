"""Gram matrices that are made from another one: by blocks what they are as a whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from pairwise import cover_pairs

import qpsvm
from qpsvm import RBF, Polynomial
from qpsvm.space.kernels.combined_blocks import CombinedBlocks
from qpsvm.space.kernels.extended_blocks import ExtendedBlocks
from qpsvm.space.kernels.functions import Precomputed, Sigmoid
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

N = 40
KERNELS = (RBF(0.3), Polynomial(2, 0.5, 1.0), Sigmoid(0.1, 0.2), Precomputed())


def build_blocks(kernel):
    """Return the blocks of a kernel matrix, and the matrix."""
    X = np.random.default_rng(0).normal(size=(N, 3))
    K = X @ X.T if isinstance(kernel, Precomputed) else kernel(X, X)
    return KernelBlocks(kernel, X, K if isinstance(kernel, Precomputed) else None), K


def check_blocks(blocks, expected):
    """Check every way to ask for values."""
    rng = np.random.default_rng(1)
    n = blocks.n
    assert n == len(expected)
    rows, columns = rng.permutation(n)[:25], rng.permutation(n)[:30]
    beta = rng.normal(size=len(columns))
    block, symmetric = expected[np.ix_(rows, columns)], expected[np.ix_(rows, rows)]
    for rough, atol in ((False, 1e-12), (True, 1e-5)):
        out = np.empty(symmetric.shape, dtype=np.float32 if rough and blocks.allows_single else np.float64)
        for found, of in (
            (blocks.compute_block(rows, columns, rough), block),
            (blocks.compute_symmetric(rows, rough), symmetric),
            (blocks.compute_symmetric(rows, rough, out), symmetric),
            (blocks.compute_symmetric(None, rough), expected),
            (blocks.compute_product(columns, beta, rows, rough), block @ beta),
            (blocks.compute_diagonal(rows), expected.diagonal()[rows]),
            (blocks.grow_symmetric(blocks.compute_symmetric(rows[:9], rough), rows[:9], rows[9:], rough), symmetric),
        ):
            np.testing.assert_allclose(found, of, rtol=atol, atol=atol)
    single = np.empty((7, n), dtype=np.float32)
    blocks.fill_rows(single, n - 7)
    np.testing.assert_allclose(single, expected[-7:], rtol=1e-5, atol=1e-5)
    assert blocks.full_matrix is None
    assert blocks.compute_full_matrix() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(blocks.compute_symmetric(rows), symmetric, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(blocks.compute_product(columns, beta, rows), block @ beta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(blocks.compute_diagonal(rows), expected.diagonal()[rows], rtol=1e-12)


@for_each("kernel, has_diagonal, corner", cover_pairs(KERNELS, (False, True), (None, 0.0, 2.0)))
def test_a_diagonal_and_a_further_row(kernel, has_diagonal, corner):
    blocks, K = build_blocks(kernel)
    added = np.linspace(0.1, 2.0, N) if has_diagonal else None
    expected = K if added is None else K + np.diag(added)
    if corner is not None:
        expected = np.pad(expected, (0, 1))
        expected[-1, -1] = corner
    check_blocks(ExtendedBlocks(blocks, added, corner), expected)


@for_each("kernel", KERNELS)
def test_combinations_of_samples(kernel):
    blocks, K = build_blocks(kernel)
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, N, (2, 60))
    mix = sp.csr_array(np.eye(N)[first] - 0.5 * np.eye(N)[second])
    check_blocks(CombinedBlocks(blocks, mix), mix @ K @ mix.T)


def test_rows_with_few_nonzeros_stay_sparse():
    """As texts: inner products of the nonzeros take a fraction of the time of dense ones."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 5000), density=0.004, random_state=rng, format="csr")
    blocks = KernelBlocks(RBF(0.5), X)
    assert blocks.samples is None
    np.testing.assert_allclose(blocks.compute_full_matrix(), RBF(0.5)(X.toarray(), X.toarray()), rtol=1e-12)
    result = qpsvm.solve(qpsvm.CSVM(X, np.arange(300) % 2, C=1.0, kernel=RBF(0.5)))
    assert result.verify().gap <= 1e-6
