"""Positive semidefinite, proven: what is claimed of a matrix is true of its exact numbers."""

from fractions import Fraction

import numpy as np
import pytest
from exact_arithmetic import is_positive_semidefinite

import qpsvm
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels import definite
from qpsvm.bounds.proof.kernels.definite import find_psd_shift, prove_definiteness
from qpsvm.bounds.proof.kernels.points import build_space_of_matrix
from qpsvm.bounds.proof.prove import ProofRequest, prove
from qpsvm.machines.problem.verify import build_registered_program


def exactly(K, sigma, offset=None):
    if offset is None:
        a = [Fraction(0)] * len(K)
    else:
        a = [Fraction(v) for v in offset.tolist()]
    rows = K.tolist()
    return [
        [Fraction(v) + a[i] + a[j] + (Fraction(sigma) if i == j else 0) for j, v in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def matrices(n=9):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    low_rank = rng.standard_normal((n, 2))
    spectra = [np.logspace(-k, 0, n) for k in (1, 10, 14, 17)]
    spectra += [np.r_[-(10.0**-k), np.ones(n - 1)] for k in (18, 16, 15, 14, 12, 9)]
    found = [(Q * s) @ Q.T for s in spectra] + [low_rank @ low_rank.T, np.ones((n, n)), np.zeros((n, n)), np.eye(n)]
    found += [scale * K for K in found[:9:3] for scale in (1e-150, 1e150)]
    return [np.tril(K) + np.tril(K, -1).T for K in found]


def test_what_is_claimed_is_true_and_no_indefinite_matrix_passes(monkeypatch):
    monkeypatch.setattr(definite, "ROWS", 4)
    passed = 0
    for K in matrices():
        sigma = find_psd_shift(K)
        assert sigma == np.inf or is_positive_semidefinite(exactly(K, sigma))
        smallest, largest = np.linalg.eigvalsh(K)[[0, -1]]
        passed += sigma == 0.0
        assert sigma == 0.0 or smallest < 1e-13 * largest  # whatever is clearly definite is proven to be so
        assert sigma <= max(-20.0 * smallest, 0.0) + 1e-13 * largest
    assert passed > 5
    assert find_psd_shift(np.diag([1.0, -1.0])) == np.inf
    assert find_psd_shift(np.array([[0.0, 1.0], [1.0, 0.0]])) == np.inf
    assert find_psd_shift(np.array([[1.0, np.nan], [np.nan, 1.0]])) == np.inf


def test_a_matrix_that_is_known_up_to_a_radius():
    assert find_psd_shift(np.eye(3), 0.5) == 0.0
    assert find_psd_shift(np.eye(3), 2.0) >= 1.0


def test_on_the_hyperplane_of_a_free_intercept():
    Z = np.random.default_rng(1).standard_normal((8, 2))
    K = -((Z[:, None] - Z) ** 2).sum(axis=2)  # positive semidefinite where 1ᵀδ = 0, and nowhere else
    known = prove_definiteness(K, has_fixed_sum=True)
    assert prove_definiteness(K).sigma == np.inf
    assert known.sigma < 1e-12
    assert is_positive_semidefinite(exactly(K, known.sigma, known.offset))
    assert not is_positive_semidefinite(exactly(K, 0))


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_what_is_said_of_kernels_that_are_not_so_by_construction(psd):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(60) > 0).astype(int)

    def claims(problem):
        proof = qpsvm.solve(problem).verify()
        return proof, [claim for claim in proof.claims if claim.kind == "kernel"]

    proof, (said,) = claims(qpsvm.CSVM(X, y, kernel=lambda A, B: np.exp(-np.abs(A[:, None] - B).sum(axis=2))))
    assert said.verdict == "proven"
    assert said.value == 0.0
    assert proof.gap < 1e-9
    singular, (said,) = claims(qpsvm.CSVM(X @ X.T, y, kernel="precomputed"))
    assert 0.0 < said.value < 1e-10
    assert 1e-13 < singular.gap < 1e-9
    treated, (said,) = claims(qpsvm.CSVM(X, y, kernel=qpsvm.Sigmoid(0.3, -1.0), psd=psd))
    assert treated.gap < 1e-9
    bent, (said,) = claims(qpsvm.SquaredHinge(X @ X.T, y, kernel="precomputed"))  # no penalty bounds α, but δ does
    assert said.value > 0.0
    assert bent.gap < 1e-9
    proof, none = claims(qpsvm.HardMargin(X @ X.T, X[:, 0] > 0.0, kernel="precomputed"))
    assert not none
    assert proof.assumptions[0].startswith("the kernel matrix is positive semidefinite")
    assert qpsvm.solve(qpsvm.CSVM(X, y, kernel="rbf")).verify().assumptions == ()


def test_a_saddle_of_an_indefinite_matrix_is_not_proven_to_be_optimal():
    """α = (½, ½) keeps every condition with a gap of 0, and is the worst of all: (1, 0) is better by ε/4."""
    lack = 2.0**-23
    K = np.array([[1.0, 1.0 + lack], [1.0 + lack, 1.0]])
    program = build_registered_program(qpsvm.OneClass(np.ones((2, 2)), nu=0.5, kernel="precomputed"))
    held = Primal(None, np.array([0.5, 0.5]), {"b": -1 - Fraction(lack) / 2})
    proof = prove(ProofRequest(program, build_space_of_matrix(K), held, np.array([0.5, 0.5])))
    assert proof.dual == pytest.approx(-0.5 - lack / 4, abs=1e-12)
    assert lack / 4 <= proof.difference <= lack
    assert proof.dual < -0.5 <= proof.primal  # the optimal value is between


def test_large_matrices_are_assumed_to_be_positive_semidefinite(monkeypatch):
    monkeypatch.setattr("qpsvm.bounds.proof.kernels.points.MAX_ROWS", 5)
    X = np.random.default_rng(3).standard_normal((12, 2))
    proof = qpsvm.solve(qpsvm.CSVM(X @ X.T, X[:, 0] > 0, kernel="precomputed")).verify()
    assert proof.gap < 1e-9
    assert proof.assumptions == ("the kernel matrix is positive semidefinite",)
