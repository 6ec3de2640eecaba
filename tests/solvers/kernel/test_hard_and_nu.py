"""Hard margins by a penalty that no α reaches or an active set, and ν-SVMs: the exact split, or no claim."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from pairwise import cover_pairs

import qpsvm
from qpsvm import RBF, HardMargin, Linear, NuSVM, Polynomial
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.hard_active_set import solve_active_set
from qpsvm.solvers.kernel.hard_margin import compute_hard_gap, solve_kernel_hard
from qpsvm.solvers.kernel.solve import solve_kernel
from qpsvm.space.kernels.kernel_blocks import KernelBlocks


def clouds(n: int, d: int, apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two normal clouds, `apart` along the diagonal."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + y[:, None] * apart / np.sqrt(d), y


def solve_hard(kernel, X, y, **given):
    """Run the engine with everything else at its default."""
    K = kernel(X, X)
    given = {"tol": 1e-8, "time_limit": None, "max_iter": None, "start": None, **given}
    return solve_kernel_hard(kernel, X, y, float(K.trace()) / len(y), **given), K


SEPARATED = [(RBF(gamma), apart, "gram") for gamma, apart in ((0.1, 1.0), (0.02, 1.0), (3.0, 1.0), (0.1, 4.0))]
SEPARATED += [(Polynomial(3, 0.1, 1.0), 6.0, "gram"), (Linear(), 6.0, "active set")]


@for_each("kernel, apart, engine", SEPARATED)
@for_each("n", [2, 40, 200])
def test_the_conditions_of_the_hard_margin_hold(n, kernel, apart, engine):
    X, y = clouds(n, 6, apart)
    found, K = solve_hard(kernel, X, y)
    alpha = y * found.beta
    f = y * (K @ found.beta + found.b)
    assert found.reason == "converged"
    assert found.engine == engine
    assert (alpha >= 0).all()
    assert abs(found.beta.sum()) <= 1e-12 * alpha.sum()
    assert f.min() >= 1 - 1e-6
    np.testing.assert_allclose(f[alpha > 0], 1.0, atol=1e-6)
    assert compute_hard_gap(y, found.beta, K @ found.beta) <= 1e-8


def test_equal_rows_of_a_label_are_one():
    X, y = clouds(600, 3, 1.0)
    X = np.round(X)
    label = {tuple(x): sign for x, sign in zip(X, y, strict=True)}
    y = np.array([label[tuple(x)] for x in X])
    found, _ = solve_hard(RBF(0.5), X, y)
    assert found.reason == "converged"
    assert len({tuple(x) for x in X[(y * found.beta) > 0]}) == np.count_nonzero(y * found.beta)


@for_each("kernel", [RBF(0.05), Polynomial(2, 1.0, 1.0), Linear()])
@for_each("kind", ["one sample in both classes", "overlap"])
def test_what_is_not_separated_is_not_claimed(kernel, kind):
    X, y = clouds(300, 2, 0.5)
    if kind != "overlap":
        X[1] = X[0]
    found, _ = solve_hard(kernel, X, y)
    assert found.reason == "numerical_error"
    assert np.isfinite(y * found.beta).all()
    result = qpsvm.solve(HardMargin(X, y, kernel), "kernel_newton", check=False)
    assert result.status != "optimal"
    assert result.gap == np.inf or result.gap > 1e-6


def test_a_time_that_is_over_and_one_iteration_claim_nothing_false():
    X, y = clouds(300, 4, 1.0)
    for limits in ({"time_limit": 1e-9}, {"max_iter": 1}):
        for problem in (HardMargin(X, y, RBF(0.3)), NuSVM(X, y, 0.3, RBF(0.3))):
            result = qpsvm.solve(problem, "kernel_newton", check=False, **limits)
            assert result.status != "optimal" or problem.certify(result.alpha).gap <= 1e-6


def test_the_active_set_says_where_the_hulls_meet():
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    K = square @ square.T
    found = solve_active_set(lambda j: K[j], K.diagonal(), y, (0, 2))
    assert found.hulls_meet
    assert not found.found


@pytest.mark.usefixtures("patient_auto")
@for_each("scale", [1e-6, 1.0, 1e6])
def test_a_linear_hard_margin_needs_as_many_steps_as_rows_support(scale):
    X, y = clouds(1000, 10, 6.0)
    result = qpsvm.solve(HardMargin(scale * X, y), "kernel_newton")
    assert result.status == "optimal"
    assert "active set" in result.solver.status
    assert result.gap <= 1e-10
    assert result.iterations <= 60


def nu_svm(y, upper, nu):
    """Its dual, over intervals of β."""
    return KernelDual(np.maximum(y * upper, 0.0), 0.0 * y, np.minimum(y * upper, 0.0), mass=nu)


# --- ν-SVM ------------------------------------------------------------------------------------------------------------


@for_each("nu, n, weighted", cover_pairs((0.1, 0.3, 0.9, 1.0), (2, 60, 300), (False, True)))
def test_the_conditions_of_the_nu_svm_hold(nu, n, weighted):
    X, y = clouds(n, 6, 1.0)
    if weighted:
        upper = np.where(np.arange(n) % 4 < 2, 1.0, 3.0)
    else:
        upper = np.ones(n)
    upper /= upper.sum()
    K = RBF(0.2)(X, X)
    found = solve_kernel(KernelBlocks(RBF(0.2), X), nu_svm(y, upper, nu), tol=1e-8)
    alpha = y * found.beta
    slack = -found.tube - y * (K @ (y * alpha) + found.b)
    assert found.reason == "converged"
    assert alpha.sum() == pytest.approx(nu, rel=1e-12)
    assert abs(alpha @ y) <= 1e-12
    assert ((alpha >= 0) & (alpha <= upper)).all()
    assert slack[alpha < upper].max(initial=-1.0) <= 1e-10
    assert slack[alpha > 0].min(initial=1.0) >= -1e-10


@for_each("rounded", [False, True])
def test_a_nu_svm_is_certified_with_and_without_equal_rows(rounded):
    X, y = clouds(600, 3, 1.5)
    X = np.round(X) if rounded else X
    problem = NuSVM(X, y, 0.6, RBF(0.4))
    result = qpsvm.solve(problem, "kernel_newton")
    assert result.status == "optimal"
    again = qpsvm.solve(problem, "kernel_newton", start=result)
    assert again.primal == pytest.approx(result.primal, rel=2e-6)
    assert qpsvm.solve(problem, "libsvm").primal == pytest.approx(result.primal, rel=2e-6)


@for_each("kind, kernel, nu", cover_pairs(("one-hot", "rounded"), (RBF(0.2), Linear()), (0.2, 0.4)))
def test_rows_of_both_classes_are_not_made_one(kind, kernel, nu):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, size=(600, 3 if kind == "one-hot" else 5))
    if kind == "one-hot":
        X = np.eye(4)[codes].reshape(600, -1)
    else:
        X = codes.astype(float)
    y = np.where(codes[:, 0] + codes[:, 1] - 3.0 + 0.3 * rng.normal(size=600) > 0, 1, -1)
    result = qpsvm.solve(NuSVM(X, y, nu, kernel), time_limit=10)
    assert result.status == "optimal"
    assert result.gap <= 1e-6
    if kernel != Linear():
        assert result.solver.name == "kernel_newton"
        assert result.rho > 0.0


KERNELS = (RBF(0.2), Polynomial(2, 1.0, 1.0), Linear())


@for_each("kernel, kind, n, weighted", cover_pairs(KERNELS, (np.asarray, sp.csr_array), (60, 2501), (False, True)))
def test_equal_rows_of_both_labels_make_the_hulls_meet(kernel, kind, n, weighted):
    rng = np.random.default_rng(2)
    X = np.eye(4)[rng.integers(0, 4, size=(n, 2))].reshape(n, -1)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    result = qpsvm.solve(NuSVM(kind(X), y, 0.5, kernel, sample_weight=weight), time_limit=10)
    assert result.status == "optimal"
    assert result.gap <= 1e-20
    assert result.rho == result.primal == 0.0
    assert not result.decision_function(X).any()
    assert result.alpha.sum() == pytest.approx(0.5, rel=1e-12)
    if kernel != Linear():
        assert "equal rows" in result.solver.status


def test_equal_rows_of_hundreds_of_kinds_meet_to_rounding():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, size=(3000, 5)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] - 3.0 + rng.normal(size=3000) > 0, 1, -1)
    result = qpsvm.solve(NuSVM(X, y, 0.2, "rbf"))
    assert result.status == "optimal"
    assert result.gap <= 1e-25


@for_each("given", [False, True])
def test_equal_rows_that_are_too_few_leave_a_margin(given):
    X = np.array([[0.0], [0.0], [1.0], [2.0], [-1.0], [-2.0]])
    y = np.array([1, -1, 1, 1, -1, -1])
    X, kernel = (RBF(1.0)(X, X), "precomputed") if given else (X, RBF(1.0))
    met, apart = (qpsvm.solve(NuSVM(X, y, nu, kernel), "kernel_newton") for nu in (1 / 3, 0.35))
    assert met.status == apart.status == "optimal"
    assert met.rho == 0.0 < apart.rho
    np.testing.assert_allclose(met.alpha, [1 / 6, 1 / 6, 0, 0, 0, 0], atol=1e-15)


def test_groups_without_a_free_row_have_a_margin_in_the_middle():
    """ν = ν_max: every row of the smaller class is at its bound, and any θ between its neighbours is as good."""
    X, y = clouds(40, 2, 1.0)
    y[: len(y) // 2] = -1.0
    upper = np.full(40, 1 / 40)
    nu = 2 * np.count_nonzero(y > 0) / 40
    blocks = KernelBlocks(RBF(0.5), X)
    found = solve_kernel(blocks, nu_svm(y, upper, nu), tol=1e-9)
    assert found.reason == "converged"
    assert ((y * found.beta)[y > 0] == 1 / 40).all()
    assert NuSVM(X, y, nu, RBF(0.5)).certify(y * found.beta).gap <= 1e-9
