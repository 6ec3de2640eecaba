"""Kernels against scikit-learn and formulas written out: far-off samples, sparse ones, blocks, and their factors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

import qpsvm
from qpsvm.space.kernels.functions import LOWEST_EXPONENT, resolve_gamma
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel_blocks import KernelBlocks
from qpsvm.space.kernels.space import pivoted_cholesky

RNG = np.random.default_rng(11)
KX, KZ = RNG.normal(size=(30, 4)), RNG.normal(size=(17, 4))
AGAINST_SKLEARN = {
    "linear": (qpsvm.Linear(), lambda X, Z: pairwise.linear_kernel(X, Z)),
    "polynomial": (qpsvm.Polynomial(3, 0.7, 0.5), lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.7, 0.5)),
    "quintic": (qpsvm.Polynomial(5, 0.1, 2), lambda X, Z: pairwise.polynomial_kernel(X, Z, 5, 0.1, 2)),
    "affine": (qpsvm.Polynomial(1, 2.0, -1), lambda X, Z: pairwise.polynomial_kernel(X, Z, 1, 2.0, -1)),
    "rbf": (qpsvm.RBF(0.4), lambda X, Z: pairwise.rbf_kernel(X, Z, 0.4)),
    "sigmoid": (qpsvm.Sigmoid(0.3, -0.2), lambda X, Z: pairwise.sigmoid_kernel(X, Z, 0.3, -0.2)),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.asfortranarray], ids=["dense", "sparse", "fortran"])
@pytest.mark.parametrize("name", AGAINST_SKLEARN)
def test_kernels_agree_with_scikit_learn(name, form):
    kernel, theirs = AGAINST_SKLEARN[name]
    X, Z = np.where(np.abs(KX) > 0.3, KX, 0.0), np.where(np.abs(KZ) > 0.3, KZ, 0.0)
    np.testing.assert_allclose(kernel(form(X), form(Z)), theirs(X, Z), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel(form(X), form(X)), theirs(X, X), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(form(X)), theirs(X, X).diagonal(), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(X, np.where(np.abs(KX) > 0.3, KX, 0.0))  # the samples are left alone


def test_mixed_dense_and_sparse():
    for kernel, theirs in AGAINST_SKLEARN.values():
        np.testing.assert_allclose(kernel(KX, sp.csr_array(KZ)), theirs(KX, KZ), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(kernel(sp.csr_array(KX), KZ), theirs(KX, KZ), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("degree", [*range(1, 18), 31, 64])
def test_whole_degrees(degree):
    """By squaring: as exact as the general power."""
    K = qpsvm.Polynomial(degree, 0.3, 0.5)(KX, KZ)
    np.testing.assert_allclose(K, (0.3 * KX @ KZ.T + 0.5) ** degree, rtol=1e-11)


def test_fractional_degrees():
    positive = np.abs(KX)
    K = qpsvm.Polynomial(1.5, 1.0, 0.1)(positive, positive)
    np.testing.assert_allclose(K, (positive @ positive.T + 0.1) ** 1.5, rtol=1e-12)
    with pytest.raises(qpsvm.DataError, match="fractional power of a negative number"):
        qpsvm.Polynomial(1.5, 1.0, 0.0)(KX, KX)


@pytest.mark.parametrize("X", [KX * 3 + 1, sp.csr_array(np.where(KX > 0, KX, 0.0))], ids=["dense", "sparse"])
def test_gamma_rules(X):
    full = X.toarray() if sp.issparse(X) else X
    assert resolve_gamma("scale", X) == pytest.approx(1 / (4 * full.var()), rel=1e-12)
    assert resolve_gamma("auto", X) == 0.25
    assert resolve_gamma(0.3, X) == 0.3
    for kind in (qpsvm.RBF, qpsvm.Sigmoid, qpsvm.Polynomial):
        assert kind(gamma="scale").resolve(X).gamma == resolve_gamma("scale", X)
        with pytest.raises(qpsvm.ParameterError, match="before the kernel has seen data"):
            kind(gamma="scale")(X, X)


def test_gamma_scale_of_constant_data():
    with pytest.raises(qpsvm.ParameterError, match="var"):
        resolve_gamma("scale", np.ones((3, 2)))
    assert resolve_gamma("scale", np.ones((1, 2))) == 1.0
    with pytest.raises(qpsvm.UnknownOptionError, match="'scale' or 'auto'"):
        qpsvm.RBF("scael")
    with pytest.raises(qpsvm.ParameterError, match="positive"):
        qpsvm.RBF(-1.0)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e8])
def test_rbf_with_an_offset(offset, as_given):
    """A common offset costs no digits: ‖x‖² + ‖z‖² − 2xᵀz would leave none at 1e8."""
    X, Z = KX + offset, KZ + offset
    for gamma in (0.01, 1.0, 30.0):
        for A, B in ((X, X), (X, Z)):
            exact = np.exp(-gamma * cdist(A, B, "sqeuclidean"))
            assert np.abs(qpsvm.RBF(gamma)(as_given(A), as_given(B)) - exact).max() <= 1e-9
    same = as_given(X)
    np.testing.assert_array_equal(qpsvm.RBF(1.0)(same, same).diagonal(), 1.0)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("distance", [1e2, 1e4, 1e6])
def test_rbf_with_two_far_clusters(distance, as_given):
    """Centring does not help here: pairs within a cluster are long vectors that nearly cancel."""
    rng = np.random.default_rng(12)
    side = np.where(np.arange(60) % 2, 1.0, -1.0)[:, None]
    X = rng.normal(size=(60, 3)) + distance * side
    Z = rng.normal(size=(20, 3)) + distance * side[:20]
    for gamma in (1e-4, 0.5, 5.0):
        for A, B in ((X, X), (X, Z), (Z, X)):
            exact = np.exp(-gamma * cdist(A, B, "sqeuclidean"))
            assert np.abs(qpsvm.RBF(gamma)(as_given(A), as_given(B)) - exact).max() <= 1e-9


def test_rbf_with_one_outlier():
    X = np.vstack([KX, KX[:2] + 1e6, KX[:1] - 1e7])
    exact = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    assert np.abs(qpsvm.RBF(0.5)(X, X) - exact).max() <= 1e-9


def test_rbf_gram_is_symmetric_and_positive_semidefinite():
    X = np.vstack([KX, KX[:5]]) + 1e6
    K = qpsvm.RBF(0.5)(X, X)
    assert np.abs(K - K.T).max() <= 1e-12
    assert np.linalg.eigvalsh(K).min() >= -1e-12


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), qpsvm.RBF(0.3), qpsvm.Polynomial(2, 1.0, 1.0)], ids=str)
def test_pivoted_cholesky(kernel):
    """L (n, r) with LLᵀ = K and r the rank: 4 for a linear kernel, 15 for the quadratic one on 4 features."""
    X = np.vstack([KX, KX[:6]])
    K = kernel(X, X)
    L = pivoted_cholesky(K)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-12 * K.max() * len(K))
    assert L.shape[1] == {"Linear": 4, "RBF": 30, "Polynomial": 15}[type(kernel).__name__]


def test_a_gram_matrix_beyond_the_cache_is_multiplied_in_blocks(monkeypatch):
    from qpsvm.space.kernels import gram

    monkeypatch.setattr(gram, "CACHE_ROWS", 10)
    monkeypatch.setattr(gram, "BLOCK_NUMBERS", 7 * 30)
    rng = np.random.default_rng(9)
    X = rng.normal(size=(30, 2))
    x = rng.normal(size=(30, 2))
    s = rng.normal(size=30)
    P = KernelGram(qpsvm.RBF(0.5), X, 1.0, s)
    M = s[:, None] * (np.exp(-0.5 * cdist(X, X, "sqeuclidean")) + 1) * s
    np.testing.assert_allclose(P @ x, M @ x, atol=1e-12)
    np.testing.assert_allclose(P @ x[:, 0], M @ x[:, 0], atol=1e-12)
    assert P.nbytes == 0
    np.testing.assert_allclose(P.dense(), M, atol=1e-12)


class Cosine(qpsvm.Kernel):
    """A kernel of a user's own, as a class: xᵀz/(‖x‖‖z‖), plus `lean` for one of its two arguments."""

    is_psd = True

    def __init__(self, lean: float = 0.0) -> None:
        self.lean = lean

    def __call__(self, X, Z):
        X, Z = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Z))
        return X @ Z.T + self.lean * X[:, :1]

    def diagonal(self, X):
        return np.ones(X.shape[0])


def test_a_kernel_class_of_a_users_own_is_solved_and_certified():
    """Without a bound of its own it is judged by its matrix as computed, as that of a function is."""
    y = (KX[:, 0] > 0).astype(int)
    result = qpsvm.solve(qpsvm.CSVM(KX, y, kernel=Cosine()))
    assert result.status == "optimal"
    by_function = qpsvm.solve(qpsvm.CSVM(KX, y, kernel=lambda X, Z: Cosine()(X, Z)))
    np.testing.assert_allclose(result.alpha, by_function.alpha, atol=1e-8)
    assert result.title == "C-SVM, C = 1, kernel Cosine(lean=0.0)"


def test_a_kernel_class_of_a_users_own_has_to_be_symmetric():
    problem = qpsvm.CSVM(KX, (KX[:, 0] > 0).astype(int), kernel=Cosine(lean=0.5))
    with pytest.raises(qpsvm.DataError, match=r"Cosine\(lean=0.5\) is not symmetric.*use \(K \+ Kᵀ\)/2"):
        qpsvm.solve(problem)


ROADS = {
    "kernel": lambda kernel, X, rows: kernel(X, X)[rows],
    "sparse": lambda kernel, X, rows: kernel(*[sp.csr_array(X)] * 2)[rows],
    "block": lambda kernel, X, rows: KernelBlocks(kernel, X).compute_block(rows, np.arange(len(X))),
    "rough block": lambda kernel, X, rows: KernelBlocks(kernel, X).compute_block(rows, np.arange(len(X)), rough=True),
    "symmetric": lambda kernel, X, rows: KernelBlocks(kernel, X).compute_symmetric(None)[rows],
    "rough symmetric": lambda kernel, X, rows: KernelBlocks(kernel, X).compute_symmetric(None, rough=True)[rows],
    "differences": lambda kernel, X, rows: KernelBlocks.from_differences(kernel, X).compute_full_matrix()[rows],
    "product": lambda kernel, X, rows: (
        np.array([KernelBlocks(kernel, X).compute_product(np.array([j]), np.ones(1), rows) for j in range(len(X))]).T
    ),
    "fill": lambda kernel, X, rows: _fill_matrix(KernelBlocks(kernel, X))[rows],
}


def _fill_matrix(blocks):
    out = np.empty((blocks.n, blocks.n), np.float32)
    blocks.fill_rows(out, 0)
    return out


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("gamma", [0.02, 1.0, 40.0, 3000.0])
def test_rbf_values_are_never_denormal(road, gamma):
    """Values below e⁻⁴⁰ are e⁻⁴⁰ on every road, so that training and predicting agree, and nothing underflows."""
    K = ROADS[road](qpsvm.RBF(gamma), KX, np.arange(2, 30))
    rows = np.arange(2, 30)
    exponents = np.maximum(-gamma * cdist(KX, KX, "sqeuclidean"), LOWEST_EXPONENT)
    rough = K.dtype == np.float32 or "rough" in road
    np.testing.assert_allclose(K, np.exp(exponents)[rows], rtol=3e-2 if rough else 1e-9)
    assert K.min() >= np.exp(LOWEST_EXPONENT) * (1 - 1e-6)
    if road in ("kernel", "sparse", "differences"):
        assert (K[:, 2:].diagonal() == 1.0).all()


def test_rbf_exponents_are_compared_only_where_some_may_be_low():
    assert not KernelBlocks(qpsvm.RBF(0.01), KX).needs_floor
    assert KernelBlocks(qpsvm.RBF(100.0), KX).needs_floor


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("gamma", [5e-324, np.float64(1e-305)])
def test_a_gamma_that_is_almost_0_makes_every_rbf_value_1(gamma):
    assert (qpsvm.RBF(gamma)(KX, KZ) == 1.0).all()
