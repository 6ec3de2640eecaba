"""What general solvers say of the quadratic program of an SVM."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from exhibits import Shown, exhibit, issue, solved, timed
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import qpsvm


@exhibit(issue(158, "osqp/osqp"), 2019, "ours", package="osqp", seen=("1.1.3",))
def osqp_solved() -> Shown:
    """`solved`, at the defaults, on the textbook dual of the README's example."""
    X, y = load_breast_cancer(return_X_y=True)
    return by_osqp(qpsvm.CSVM(StandardScaler().fit_transform(X), y, 100, qpsvm.RBF(1 / 30)))


@exhibit(issue(225, "osqp/osqp"), 2019, "ours", package="osqp", seen=("1.1.3",))
def osqp_at_once() -> Shown:
    """The dual of a ν-SVM, whose α are at most 1/n: what is tolerated is more than what they are."""
    X = np.random.default_rng(100).normal(size=(100, 2))
    return by_osqp(qpsvm.NuSVM(X, np.arange(100) % 2, 0.9, qpsvm.RBF(0.5)))


def by_osqp(problem: qpsvm.Problem) -> Shown:
    """OSQP at its defaults on the textbook dual, as it is."""
    import osqp

    qp = problem.qp("dual")
    (lb, ub) = qp.bounds
    rows = sp.vstack([sp.csc_matrix(qp.A), sp.eye_array(qp.n)]).tocsc()

    def run() -> object:
        solver = osqp.OSQP()
        solver.setup(
            sp.csc_matrix(np.triu(qp.P.dense())), qp.q, rows, np.append(qp.b, lb), np.append(qp.b, ub), verbose=False
        )  # fmt: skip
        return solver.solve()

    answer, seconds = timed(run)
    ours, our_seconds = solved(problem)
    gap = float(problem.at(answer.x).gap)
    said = f"'{answer.info.status}' after {answer.info.iter} iterations"
    return Shown(answer.info.status == "solved" and gap > 0.01, said, gap, seconds, ours, our_seconds)


def dual_in_cvxpy(
    X: np.ndarray, y: np.ndarray, C: float | None, solver: str, **settings: float
) -> tuple[str, float, np.ndarray | None]:
    """The dual of a linear machine as a user of CVXPY writes it down: its status, its value, and α."""
    import cvxpy as cp

    if solver not in cp.installed_solvers():
        pytest.skip(f"cvxpy {cp.__version__} does not know {solver}")
    s = np.where(y > 0, 1.0, -1.0)
    alpha = cp.Variable(len(s))
    rows = [alpha >= 0, s @ alpha == 0, *([alpha <= C] if C is not None else [])]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares((X * s[:, None]).T @ alpha) - cp.sum(alpha)), rows)
    problem.solve(solver=solver, **settings)
    return problem.status, float(problem.value), alpha.value


@exhibit(issue(498, "cvxpy/cvxpy"), 2018, "of that kind", package="clarabel", seen=("0.11.1",))
def clarabel_unbounded() -> Shown:
    """A soft margin, whose α lie in a box, is called `unbounded` after one step."""
    X, y = load_iris(return_X_y=True)
    X, y, C = X[y > 0, :2], y[y > 0] - 1, 1e6
    (status, value, _), seconds = timed(lambda: dual_in_cvxpy(X, y, C, "CLARABEL"))
    strict, _, _ = dual_in_cvxpy(X, y, C, "CLARABEL", tol_infeas_rel=1e-12)
    ours, our_seconds = solved(qpsvm.CSVM(X, y, C))
    return Shown(
        status == "unbounded", f"'{status}', value {value:g}", float("nan"), seconds, ours, our_seconds,
        right=bool(np.isfinite(ours.primal)), because=strict == "optimal",
    )  # fmt: skip


@exhibit(issue(847, "ERGO-Code/HiGHS"), 2022, "of that kind", package="highspy", seen=("1.15.1",))
def highs_optimal() -> Shown:
    """A hard margin of classes that meet has a dual without bound; HiGHS stops somewhere and says `optimal`."""
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    (status, value, alpha), seconds = timed(lambda: dual_in_cvxpy(X, y, None, "HIGHS"))
    turned = 4e6 * np.array([1.0, 3.0, 3.0, 1.0])  # where 8t − ½·1e-7·20t² is largest, along the ray of no curvature

    def refused() -> qpsvm.SVMResult | qpsvm.QPSVMError:
        try:
            return qpsvm.solve(qpsvm.HardMargin(X, y))
        except qpsvm.NotSeparableError as error:
            return error

    ours, our_seconds = timed(refused)
    said = f"'{status}', value {value:.3g}"
    return Shown(
        status == "optimal", said, float("inf"), seconds, ours, our_seconds,
        right=isinstance(ours, qpsvm.NotSeparableError),
        because=alpha is not None and np.allclose(alpha, turned, rtol=1e-3),
    )  # fmt: skip
