"""ν-SVMs whose reduced hulls meet, or nearly: interior points over a low-rank factor of K."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from sklearn.datasets import make_moons

import qpsvm
from qpsvm import RBF, Linear, NuSVM, OneClass, Polynomial
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.low_rank_interior_point import solve_with_low_rank
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

KERNELS = (RBF(0.1), Polynomial(3, 0.5, 1.0), Linear())


def noisy_labels(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds that overlap, with a third of the labels exchanged."""
    rng = np.random.default_rng(n)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + 0.5 * y[:, None]
    return X, np.where(rng.random(n) < 0.3, -y, y)


def build_nu_dual(y: np.ndarray, nu: float, weight: np.ndarray | None = None) -> KernelDual:
    """The dual of a ν-SVM over β = y α."""
    upper = (np.ones(len(y)) if weight is None else weight) / len(y)
    return KernelDual(np.maximum(y * upper, 0.0), 0.0 * y, np.minimum(y * upper, 0.0), mass=nu)


@for_each("kernel", KERNELS)
@for_each("n", [100, 300, 1300])
def test_meeting_hulls_are_found_and_proven(kernel, n):
    X, y = noisy_labels(n)
    result = qpsvm.solve(NuSVM(X, y, 0.2, kernel), "kernel_newton")
    assert result.status == "optimal"
    assert result.primal == result.rho == 0.0
    assert result.alpha.sum() == pytest.approx(0.2, rel=1e-12)
    assert abs(result.alpha @ y) <= 1e-15
    assert result.iterations <= 10_000
    assert result.verify()


@for_each("kernel", [Linear(), Polynomial(3, 0.5, 0.0)])
@for_each("nu", [0.05, 0.5])
def test_an_origin_inside_the_samples_is_found_and_proven(kernel, nu):
    X = np.random.default_rng(0).normal(size=(200, 2))
    result = qpsvm.solve(OneClass(X, nu, kernel), "kernel_newton")
    assert result.status == "optimal"
    assert result.primal == result.rho == 0.0
    assert result.alpha.sum() == pytest.approx(200 * nu, rel=1e-12)
    assert result.verify()


@for_each("kernel", KERNELS)
@for_each("weighted", [False, True])
def test_the_point_is_feasible_and_has_no_w(kernel, weighted):
    X, y = noisy_labels(200)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 200) if weighted else None
    dual = build_nu_dual(y, 0.2, weight)
    found = solve_with_low_rank(KernelBlocks(kernel, X), dual, Effort(None, None))
    assert found is not None
    assert found.has_zero_w
    assert ((dual.low <= found.beta) & (found.beta <= dual.high)).all()
    assert np.abs(found.beta).sum() == pytest.approx(0.2, rel=1e-12)
    assert abs(found.beta.sum()) <= 1e-15
    K = kernel(X, X)
    assert found.beta @ K @ found.beta <= 1e-13 * 0.2**2 * K.diagonal().max()


def test_hulls_that_are_barely_apart_are_not_said_to_meet():
    """The optimum is 1e-11 of the size of its terms: the point is a start for Newton steps."""
    X, labels = make_moons(300, noise=0.3, random_state=0)
    y = np.where(labels, 1.0, -1.0)
    kernel = RBF(1.0)
    dual = build_nu_dual(y, 0.1)
    found = solve_with_low_rank(KernelBlocks(kernel, X), dual, Effort(None, None))
    assert found is not None
    assert not found.has_zero_w
    result = qpsvm.solve(NuSVM(X, y, 0.1, kernel), "kernel_newton", check=False)
    assert 0.0 < result.rho < 1e-6
    assert result.gap <= 1e-4
    assert found.beta @ kernel(X, X) @ found.beta <= 1.01 * (result.alpha * y) @ kernel(X, X) @ (result.alpha * y)


def test_a_kernel_matrix_of_high_rank_and_a_time_limit_are_left_to_other_methods():
    X, y = noisy_labels(60)
    blocks = KernelBlocks(RBF(50.0), X)
    assert solve_with_low_rank(blocks, build_nu_dual(y, 0.2), Effort(None, None)) is None
    late = Effort(1e-9, None)
    assert solve_with_low_rank(KernelBlocks(RBF(0.5), X), build_nu_dual(y, 0.2), late) is None


def test_no_other_backend_follows_a_gap_that_is_rounding(capsys):
    X, y = make_moons(300, noise=0.3, random_state=0)
    result = qpsvm.solve(NuSVM(X, y, 0.05, RBF(1.0)), tol=1e-14, check=False, verbose=True)
    assert result.status == "inaccurate"
    assert result.backend == "kernel_newton"
    assert "backend interior_point" not in capsys.readouterr().out


def test_an_ordinary_gap_is_not_rounding():
    problem = qpsvm.CSVM(*make_moons(300, noise=0.3, random_state=0), 1.0, RBF(1.0))
    certifier = problem._certifier
    optimum = qpsvm.solve(problem, tol=1e-12)
    for alpha, expected in ((np.full(300, 0.5), False), (0.999 * optimum.alpha, False), (optimum.alpha, True)):
        point = certifier.with_rounding_bound(certifier.certify(alpha), 1e-6)
        assert certifier.gap_refiner.is_rounding(point) == expected
