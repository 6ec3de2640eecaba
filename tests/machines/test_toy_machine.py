"""A machine that the library does not know, in thirty lines: everything else works on it unchanged.

It is the walk-through of "How to add a machine" in CONTRIBUTING.md: the squared hinge loss,

    minimise ½‖w‖² + Σ C_i ξ_i²  subject to  y_i f(x_i) ≥ 1 − ξ_i,

whose dual has no upper bound, and a curvature 1/(2C_i).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from each import for_each
from numpy.typing import ArrayLike

import qpsvm
from qpsvm.base.arrays.checks import as_penalties
from qpsvm.data.samples import build_binary_samples
from qpsvm.program.specification import Specification


class SquaredHinge(qpsvm.Problem):
    """Soft-margin SVM with the squared hinge loss."""

    _primal_notation = ("", "½ {norm} + Σ C_i ξ_i²", "y_i {f} ≥ 1 − ξ_i")

    def __init__(self, X: Any, y: ArrayLike, C: float | ArrayLike = 1.0, kernel: Any = "linear") -> None:
        super().__init__(build_binary_samples(X, y), kernel, "free", "raise")
        self.C = as_penalties(C, self.n)

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"squared hinge, C = {self.C.max():g}, kernel {self.kernel}"

    def _build_specification(self) -> Specification:
        return Specification(self._active_target, 1.0, np.inf, 0.5 / self.C)


# --- thirty lines so far, and nothing below is about how it is solved -------------------------------------------------

RNG = np.random.default_rng(12)
X = RNG.normal(size=(60, 4))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.8 * RNG.normal(size=60) > 0, "yes", "no")
SIGN = np.where(Y == "yes", 1.0, -1.0)
KERNELS = {"linear": "linear", "rbf": qpsvm.RBF(0.3)}
BACKENDS = ("auto", "cvxopt", "osqp", "cvxpy", "interior_point")
C = 3.0


def objective(problem: SquaredHinge, result: qpsvm.SVMResult) -> float:
    """½‖w‖² + Σ C_i ξ_i², from nothing but f at the samples and the kernel."""
    f = result.decision_function(problem.X)
    beta = result.alpha * SIGN
    K = problem.kernel(problem.X, problem.X)
    return float(0.5 * beta @ K @ beta + problem.C @ np.maximum(1.0 - SIGN * f, 0.0) ** 2)


@pytest.mark.parametrize("backend", BACKENDS)
@for_each("form", ["dual", "primal"])
@for_each("kernel", KERNELS.values())
def test_every_backend_solves_it_and_the_certificate_says_so(kernel: Any, backend: str, form: Any) -> None:
    problem = SquaredHinge(X, Y, C, kernel)
    result = qpsvm.solve(problem, backend, form, tol=1e-8)
    assert result.status == "optimal"
    assert result.gap <= 1e-8
    assert result.primal == pytest.approx(objective(problem, result), rel=1e-8)
    assert result.primal >= result.dual
    # stationarity, row by row: α_i = 2 C ξ_i, which is also what the solver's own multiplier says
    np.testing.assert_allclose(result.alpha, 2 * C * result.xi, rtol=1e-5, atol=1e-5 * result.alpha.max())
    assert abs(result.alpha @ SIGN) <= 1e-9 * result.alpha.sum()


@for_each("kernel", KERNELS.values())
def test_the_optimum_is_that_of_an_independent_solver(kernel: Any) -> None:
    cp = pytest.importorskip("cvxpy")
    problem = SquaredHinge(X, Y, C, kernel)
    K = problem.kernel(X, X)
    root = np.linalg.cholesky(K + 1e-11 * np.eye(len(K)))
    w = cp.Variable(len(K))
    b = cp.Variable()
    loss = cp.sum_squares(cp.pos(1 - cp.multiply(SIGN, root @ w + b)))
    known = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * loss)).solve(solver="CLARABEL")
    assert qpsvm.solve(problem).primal == pytest.approx(known, rel=1e-6)


@for_each("kernel", KERNELS.values())
def test_the_terms_of_the_gap_are_public_and_add_up(kernel: Any) -> None:
    problem = SquaredHinge(X, Y, C, kernel)
    alpha = RNG.random(len(X))
    certificate = problem.certify(alpha)
    assert (certificate.terms >= 0).all()
    total = float(certificate.terms.sum()) + 0.5 * certificate.weight_distance**2
    assert certificate.primal - certificate.dual == pytest.approx(total, rel=1e-9)
    result = qpsvm.solve(problem, max_iter=2, polish=False, backend="interior_point", check=False)
    if kernel != "linear":
        distance = 0.0
    else:
        distance = 0.5 * float(np.sum((result.w - X.T @ (result.alpha * SIGN)) ** 2))
    assert result.kkt["gap"].sum() + distance == pytest.approx(result.primal - result.dual, rel=1e-6)


def test_it_is_printed_saved_and_loaded(tmp_path: Any) -> None:
    problem = SquaredHinge(X, Y, C, "rbf")
    assert "squared hinge" in repr(problem)
    assert "½ ‖w‖² + Σ C_i ξ_i²" in str(problem.qp("primal"))
    assert "δ_i α_i²" in str(problem.qp("dual"))
    result = qpsvm.solve(problem)
    assert "squared hinge" in result.summary()
    assert "0 on the margin" in result.summary()
    assert "inside the margin" in result.summary()
    assert set(result.kkt["kind"]) <= {"non-support", "violator"}
    result.save(tmp_path / "model.npz")
    loaded = qpsvm.load(tmp_path / "model.npz")
    assert (loaded.predict(X) == result.predict(X)).all()
    np.testing.assert_array_equal(loaded.decision_function(X), result.decision_function(X))


def test_it_starts_from_a_neighbour() -> None:
    near = qpsvm.solve(SquaredHinge(X, Y, 0.9 * C, "rbf"))
    again = qpsvm.solve(SquaredHinge(X, Y, C, "rbf"), start=near)
    assert again.status == "optimal"
