"""Our own solvers behind the contract: what they take is certified, what they cannot take they say."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.backends.external import libsvm_
from qpsvm.space.operators import LowRank

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 1.0]
Y = np.where(X[:, 0] + 0.1 * X[:, 1] - 5 + RNG.normal(size=300) > 0, "yes", "no")
WEIGHTS = RNG.uniform(0, 2, 300) * (RNG.random(300) > 0.1)

LINEAR, GAUSSIAN = qpsvm.CSVM(X, Y, 0.5), qpsvm.CSVM(X, Y, 1.0, qpsvm.RBF())
KERNEL = {
    "precomputed": qpsvm.CSVM(qpsvm.RBF(0.1)(X, X), Y, 1.0, "precomputed"),
    "callable": qpsvm.CSVM(X, Y, 1.0, lambda A, B: np.exp(-np.abs(A[:, None, 0] - B[None, :, 0]))),
    "sigmoid, clipped": qpsvm.CSVM(X, Y, 1.0, qpsvm.Sigmoid(), psd="clip"),
}
NU = {
    "rbf": qpsvm.NuSVM(X, Y, 0.4, qpsvm.RBF(0.1)),
    "largest": qpsvm.NuSVM(X, Y, 2 * min((Y == "no").mean(), (Y == "yes").mean()), qpsvm.RBF(0.1)),
    "weights": qpsvm.NuSVM(X, Y, 0.4, qpsvm.RBF(0.1), sample_weight=WEIGHTS),
    "other scale": qpsvm.NuSVM(1e6 * X, Y, 0.4, qpsvm.RBF(0.1 / 1e12)),
    "precomputed": qpsvm.NuSVM(qpsvm.RBF(0.1)(X, X), Y, 0.4, "precomputed"),
    "sigmoid, clipped": qpsvm.NuSVM(X, Y, 0.7, qpsvm.Sigmoid(), psd="clip"),
    "linear, sparse": qpsvm.NuSVM(sp.csr_array(X * (RNG.random(X.shape) > 0.5)), Y, 0.95),
}
#: Reduced hulls that meet: the optimum is 0, and LIBSVM's α/ρ has no meaning.
MEETING = {
    "rbf": qpsvm.NuSVM(X, Y, 0.4, qpsvm.RBF()),
    "small": qpsvm.NuSVM(X, Y, 0.01, qpsvm.RBF()),
}


def same_answer(problem: qpsvm.Problem, result: qpsvm.SVMResult) -> None:
    """Certified, and the same decision values as the interior point method on the dense dual."""
    reference = qpsvm.solve(problem, "cvxopt", "dual")
    assert result.status == "optimal"
    assert result.gap <= 1e-6
    assert result.primal == pytest.approx(reference.primal, rel=2e-6)
    if result.gap <= 1e-10:
        low, high = reference.b_interval  # every b in it is as good
        assert np.abs(result.yf - reference.yf).max() <= 1e-4 * np.abs(reference.yf).max() + (high - low)


@pytest.mark.slow
@for_each("name", KERNEL)
def test_kernel_problems_are_certified(name):
    same_answer(KERNEL[name], qpsvm.solve(KERNEL[name], "kernel_newton"))
    assert qpsvm.solve(KERNEL[name], "libsvm", check=False).gap <= 1e-2  # at its own stopping rule


@pytest.mark.slow
@for_each("name", NU)
@for_each("backend", ["libsvm", "auto"])
def test_nu_svms_are_certified(name, backend):
    same_answer(NU[name], qpsvm.solve(NU[name], backend))


@pytest.mark.slow
@pytest.mark.usefixtures("patient_auto")
@for_each("name", MEETING)
def test_auto_goes_on_where_the_reduced_hulls_meet(name):
    """Exactly ("small"), or to fourteen digits: then the optimum is not 0, and doubles may not be able to tell."""
    result = qpsvm.solve(MEETING[name], check=False)
    assert result.status == "optimal" if name == "small" else result.status in ("optimal", "inaccurate")
    assert abs(result.primal) <= 1e-11
    assert result.backend != "libsvm"


@for_each("name", ["rbf", "weights", "other scale"])
def test_libsvm_gives_the_multipliers_of_a_nu_svm(name):
    """+b for the row yᵀα = 0 and +ρ for −1ᵀα = −ν, and residuals as small as its own tolerance."""
    scaled = NU[name].solver_qp("dual")
    solution = qpsvm.compile(scaled.qp, "libsvm").solve(eps=1e-6)
    assert solution.primal_residual() <= 1e-9
    assert solution.dual_residual() <= 1e-3 * np.abs(scaled.qp.P @ solution.x).max()
    best = qpsvm.solve(NU[name], "cvxopt", "dual")
    np.testing.assert_allclose(scaled.unscale(solution).y, [best.b, best.rho], rtol=1e-3, atol=1e-3 * best.rho)


def test_libsvm_takes_a_linear_kernel_and_its_own_settings():
    loose = qpsvm.solve(LINEAR, "libsvm", polish=False, check=False, eps=0.1)
    tight = qpsvm.solve(LINEAR, "libsvm", polish=False, check=False, eps=1e-6)
    assert tight.gap < loose.gap
    assert tight.gap <= 1e-5


@for_each("backend", ["augmented_lagrangian", "kernel_newton", "libsvm"])
def test_raw_solutions_have_the_signs_of_qp_1(backend):
    problem = LINEAR if backend == "augmented_lagrangian" else GAUSSIAN
    scaled = problem.solver_qp("dual")
    solution = qpsvm.compile(scaled.qp, backend).solve(tol=1e-9)
    assert solution.primal_residual() <= 1e-9
    assert solution.dual_residual() <= (1e-2 if backend == "libsvm" else 1e-4)  # LIBSVM stops at violations of 1e-3
    original = scaled.unscale(solution)
    assert original.dual_residual() <= (1e-2 if backend == "libsvm" else 1e-4)


@pytest.mark.usefixtures("patient_auto")
def test_auto_goes_by_the_structure(capsys):
    """By what rule is seen in `test_auto.py`."""
    for shape, first in (((20_000, 30), "augmented_lagrangian"), ((60, 400), "kernel_newton")):
        Z = RNG.normal(size=shape)
        result = qpsvm.solve(qpsvm.CSVM(Z, np.where(Z[:, 0] + RNG.normal(size=shape[0]) > 0, 1, -1)), verbose=True)
        assert result.backend == first
        assert f"auto, in this order: {first}, " in capsys.readouterr().out


@for_each("sparse", [False, True])
@for_each("nu, who", [(0.8, "gram"), (0.2, "interior points")])
def test_a_linear_nu_svm_of_few_rows_is_certified_where_the_reduced_hulls_meet_too(nu, who, sparse):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(100) % 2, 1.0, -1.0)
    Z = rng.normal(size=(100, 3)) + 0.4 * y[:, None]
    result = qpsvm.solve(qpsvm.NuSVM(sp.csr_array(Z) if sparse else Z, y, nu), "kernel_newton", check=False)
    assert result.status == "optimal"
    assert result.gap <= 1e-6
    assert who in result.solver.status
    best = qpsvm.solve(qpsvm.NuSVM(Z, y, nu), "interior_point", check=False)
    assert result.primal == pytest.approx(best.primal, rel=1e-6, abs=1e-12)


@pytest.mark.slow
def test_a_large_linear_problem_makes_no_large_matrix():
    n = 60_000
    Z = RNG.normal(size=(n, 40)).astype(np.float64)
    y = np.where(Z[:, 0] + RNG.normal(size=n) > 0, 1, -1)
    problem = qpsvm.CSVM(Z, y)
    assert isinstance(problem.qp("dual").P, LowRank)
    assert problem.space.origin is None  # centred data need no centred copy
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    w, b = result.w, result.b
    primal = 0.5 * w @ w + np.maximum(0, 1 - y * (Z @ w + b)).sum()
    beta = Z.T @ (result.alpha * y)
    dual = result.alpha.sum() - 0.5 * beta @ beta
    assert abs(result.alpha @ y) <= 1e-9 * result.alpha.sum()
    assert primal - dual <= 1.1e-6 * primal
    structured = qpsvm.solve(qpsvm.CSVM(Z[:5000], y[:5000]), "cvxopt")
    assert structured.status == "optimal"


def test_verbose_prints_a_line_an_iteration(capsys):
    qpsvm.solve(LINEAR, "augmented_lagrangian", verbose=True)
    out = capsys.readouterr().out
    assert "augmented_lagrangian" in out
    assert len(out.splitlines()) > 4


@for_each("backend", ["libsvm", "augmented_lagrangian", "interior_point", "kernel_newton", "osqp"])
def test_sparse_samples_with_long_indices(backend):
    Z = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    Z.indices, Z.indptr = Z.indices.astype(np.int64), Z.indptr.astype(np.int64)
    result = qpsvm.solve(qpsvm.CSVM(Z, Y), backend)
    assert result.status == "optimal"
    assert Z.indices.dtype == np.int64


#: LIBSVM's loop turns in a circle here: rounding of the kernel values decides which pair violates most.
CIRCLE = qpsvm.CSVM([[294.04214297], [-1509.77251304], [644.19052319]], [-1, 1, 1], 100.0)


def test_libsvm_ends_where_its_loop_would_not(monkeypatch):
    assert libsvm_.MIN_ITERATIONS >= 10**6
    monkeypatch.setattr(libsvm_, "MIN_ITERATIONS", 50_000)
    result = qpsvm.solve(CIRCLE, "libsvm", polish=False, check=False)
    assert result.status == "iteration_limit"
    assert result.iterations == 50_000
    assert qpsvm.solve(CIRCLE).status == "optimal"


@pytest.mark.slow
@pytest.mark.parametrize("machine", [qpsvm.CSVM, qpsvm.NuSVM])
def test_libsvm_keeps_a_time_limit(machine, monkeypatch):
    """It ends in time, with what it has; the slice by which it measures its speed is short on a busy machine too."""
    monkeypatch.setattr(libsvm_, "bound_iterations", lambda *_, **__: 100)
    noise = np.tile(X, (10, 1)) + RNG.normal(size=(3000, 4))
    weight = 1e6 if machine is qpsvm.CSVM else 0.2  # LIBSVM needs minutes, or 3e5 iterations
    problem = machine(noise, RNG.random(3000) < 0.5, weight, qpsvm.RBF(1.0))
    began = time.monotonic()
    result = qpsvm.solve(problem, "libsvm", time_limit=2.0, eps=1e-15, check=False, max_iter=2**31 - 1, polish=False)
    assert result.status == "time_limit"
    assert result.gap < np.inf
    assert result.iterations > 0
    assert time.monotonic() - began < 30  # of hours
