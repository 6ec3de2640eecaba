"""Operators are the matrices that they stand for, and make none that is not asked for."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import qpsvm
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel_registry import as_kernel
from qpsvm.space.operators import Dense, Diagonal, LowRank, Operator


def operators() -> dict[str, tuple[Operator, np.ndarray]]:
    """Each operator with the matrix it stands for."""
    rng = np.random.default_rng(5)
    n = 9
    X = rng.normal(size=(n, 3))
    d = rng.uniform(0.1, 1, n)
    s = rng.uniform(-2, 2, n)
    thin = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    S = np.diag(s)
    symmetric = X @ X.T + np.diag(d)
    K = np.exp(-0.3 * cdist(X, X, "sqeuclidean"))
    T = thin.toarray()
    kernel = qpsvm.RBF(0.3)
    return {
        "dense": (Dense(symmetric), symmetric),
        "diagonal": (Diagonal(d), np.diag(d)),
        "low rank": (LowRank(X), X @ X.T),
        "low rank, d": (LowRank(X, d), X @ X.T + np.diag(d)),
        "low rank, scale": (LowRank(X, None, s), S @ X @ X.T @ S),
        "low rank, d, scale": (LowRank(X, d, s), S @ X @ X.T @ S + np.diag(d)),
        "low rank, sparse": (LowRank(thin), T @ T.T),
        "low rank, sparse, d, scale": (LowRank(thin, d, s), S @ T @ T.T @ S + np.diag(d)),
        "kernel": (KernelGram(kernel, X), K),
        "kernel, offset": (KernelGram(kernel, X, 1.0), K + 1),
        "kernel, offset, scale": (KernelGram(kernel, X, 1.0, s), S @ (K + 1) @ S),
        "kernel, sparse": (KernelGram(qpsvm.Polynomial(2, 0.5, 1.0), thin, 0.0, s), S @ (0.5 * T @ T.T + 1) ** 2 @ S),
        "kernel, callable": (KernelGram(as_kernel(lambda A, B: A @ B.T + 2.0), X, 0.0, s), S @ (X @ X.T + 2) @ S),
    }


@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "made"])
@pytest.mark.parametrize("name", operators())
def test_operators_are_the_matrices_they_stand_for(name, kept):
    P, M = operators()[name]
    n = len(M)
    if kept:
        P.dense()
    rng = np.random.default_rng(6)
    x = rng.normal(size=n)
    B = rng.normal(size=(n, 4))
    near = {"rtol": 1e-12, "atol": 1e-12}
    assert P.shape == M.shape
    rows = np.array([4, 0, 4, 7])
    columns = np.array([1, 4])
    np.testing.assert_allclose(P.block(rows, columns), M[np.ix_(rows, columns)], **near)
    np.testing.assert_allclose(P.block(rows, rows), M[np.ix_(rows, rows)], **near)
    np.testing.assert_allclose(P.rows(rows), M[rows], **near)
    np.testing.assert_allclose(P.rows(slice(2, 5)), M[2:5], **near)
    np.testing.assert_allclose(P.rows(3), M[3:4], **near)
    np.testing.assert_allclose(P.rows(slice(0, 0)), M[:0], **near)
    np.testing.assert_allclose(P.diagonal(), M.diagonal(), **near)
    np.testing.assert_allclose(P @ x, M @ x, **near)
    np.testing.assert_allclose(P @ B, M @ B, **near)
    np.testing.assert_allclose(P.dense(), M, **near)
    np.testing.assert_allclose(np.asarray(P), M, **near)
    assert np.asarray(P, dtype=np.float32).dtype == np.float32
    assert P.nbytes > 0
    assert f"{n} × {n}" in repr(P)

    s = rng.uniform(0.5, 2, n)
    both = P.congruence(s)
    np.testing.assert_allclose(both.dense(), s[:, None] * M * s, **near)
    np.testing.assert_allclose(both @ x, s * (M @ (s * x)), **near)
    assert type(both) is type(P)
    np.testing.assert_allclose(P.dense(), M, **near)  # the original has not changed

    factor = P.factor()
    assert (factor is None) == isinstance(P, (Dense, KernelGram))
    if factor is not None:
        Z, d = factor
        np.testing.assert_allclose((Z @ Z.T + np.zeros(M.shape)) + np.diag(d), M, **near)


def test_changing_what_an_operator_returned_changes_nothing():
    """`dense()` may be shared, everything else is the caller's."""
    for name, (P, M) in operators().items():
        P.dense()
        everything = np.arange(len(M))
        for values in (P.diagonal(), P.block(everything, everything), P.rows(slice(0, 3)), P @ np.eye(len(M))):
            values *= 0.0
        np.asarray(P)[...] = 0.0
        np.testing.assert_allclose(P @ np.eye(len(M)), M, atol=1e-12, err_msg=name)


def test_a_matrix_beyond_the_memory_is_refused():
    n = 2_000_000
    with pytest.raises(qpsvm.TooLargeError, match="GiB") as caught:
        LowRank(np.zeros((n, 1))).dense()
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(qpsvm.TooLargeError):
        Diagonal(np.zeros(n)).dense()


@pytest.mark.parametrize("P", [Dense([[1.0, 0.0], [0.0, 3.0]]), Diagonal([1.0, 3.0]), LowRank(np.diag([1.0, 3**0.5]))])
def test_an_operator_multiplies_a_list_of_numbers(P):
    np.testing.assert_allclose(P @ [2, 1], [2.0, 3.0])
    np.testing.assert_allclose(P @ [[2], [1]], [[2.0], [3.0]])


@pytest.mark.slow
def test_the_dual_of_100_000_rows_is_made_at_once_and_makes_no_square_matrix():
    """n = 100 000, d = 50: in a second of processor time (0.1 s is meant), within 100 MB beyond X."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50))
    y = np.where(rng.random(100_000) < 0.5, "no", "yes")
    start = time.process_time()
    qpsvm.CSVM(X, y).qp("dual")
    assert time.process_time() - start < 1.0

    tracemalloc.start()
    problem = qpsvm.CSVM(X, y)
    qp = problem.qp("dual")
    problem.solver_qp("dual")
    qp.P @ np.ones(qp.n)
    str(qp)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert isinstance(qp.P, LowRank)
    assert np.shares_memory(qp.P.Z, X)
