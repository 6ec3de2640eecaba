"""What general solvers say of the quadratic program of an SVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from exhibits import Shown, exhibit, issue, solve_timed, time_call
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.upper_bound import bound_above


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

    answer, seconds = time_call(run)
    gap = float(problem.at(answer.x).gap)
    said = f"'{answer.info.status}' after {answer.info.iter} iterations"
    return Shown(answer.info.status == "solved" and gap > 0.01, said, gap, seconds, *solve_timed(problem))


@exhibit(issue(790, "osqp/osqp"), 2026, "published", package="osqp", seen=("1.1.3",))
def osqp_polished() -> Shown:
    """`solved`, and polished with success: the point moved from the optimum to one whose dual residual is .2."""
    import osqp

    P = np.array(
        [
            [4.1808645950911965, 0.44690128191460515, 1.8366797318100276, 1.790246466328951],
            [0.44690128191460515, 1.0017895414423332, 0.36306796713298567, -1.7084875079784945],
            [1.8366797318100276, 0.36306796713298567, 1.2136981891025493, 0.5144624591668353],
            [1.790246466328951, -1.7084875079784945, 0.5144624591668353, 5.390092402940427],
        ]
    )
    q = np.array([2.5229445413976057, -0.7641899948191101, 0.6813963386073322, -1.580571417946669])
    row = np.array([[6802.195057324533, 859169.6071018894, 1307081.4281253067, 881514.7112147971]])
    low = np.array([-490209.4743924113])
    high = np.array([724880.97957331])
    qp = qpsvm.QP(P=P, q=q, G=np.vstack([row, -row]), h=np.append(high, -low))
    program = QPBounds(qp)

    def run(polishing: bool) -> Any:
        solver = osqp.OSQP()
        exact = {"eps_abs": 1e-9, "eps_rel": 1e-9, "verbose": False}
        solver.setup(sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(row), low, high, polishing=polishing, **exact)
        return solver.solve()

    def gap(answer: Any, best: qpsvm.QPResult) -> float:
        """What the point costs above the least that any can, as a share."""
        above = bound_above(program, answer.x, np.zeros(4)).value  # 0 has room in both rows
        return (above - best.dual) / max(1.0, abs(above), abs(best.dual))

    (plain, polished), seconds = time_call(lambda: (run(False), run(True)))
    ours, our_seconds = time_call(lambda: qpsvm.solve(qp))
    info = polished.info
    residual = float(np.abs(P @ polished.x + q + row[0] * polished.y[0]).max())
    said = f"'{info.status}', polished: {info.status_polish == 1}, dual residual {residual:.3f}"
    fails = info.status == "solved" and info.status_polish == 1 and residual > 0.1
    because = plain.info.dual_res < 1e-10 and info.prim_res < plain.info.prim_res
    because &= gap(plain, ours) < 1e-3 * gap(polished, ours)
    return Shown(fails, said, gap(polished, ours), seconds, ours, our_seconds, because=because)


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
    X = X[y > 0, :2]
    y = y[y > 0] - 1
    C = 1e6
    (status, value, _), seconds = time_call(lambda: dual_in_cvxpy(X, y, C, "CLARABEL"))
    strict, _, _ = dual_in_cvxpy(X, y, C, "CLARABEL", tol_infeas_rel=1e-12)
    ours, our_seconds = solve_timed(qpsvm.CSVM(X, y, C))
    return Shown(
        status == "unbounded", f"'{status}', value {value:g}", float("nan"), seconds, ours, our_seconds,
        right=bool(np.isfinite(ours.primal)), because=strict == "optimal",
    )  # fmt: skip


@exhibit(issue(847, "ERGO-Code/HiGHS"), 2022, "of that kind", package="highspy", seen=("1.15.1",))
def highs_optimal() -> Shown:
    """A hard margin of classes that meet has a dual without bound; HiGHS stops somewhere and says `optimal`."""
    X = np.arange(4.0)[:, None]
    y = np.array([0, 1, 0, 1])
    (status, value, alpha), seconds = time_call(lambda: dual_in_cvxpy(X, y, None, "HIGHS"))
    turned = 4e6 * np.array([1.0, 3.0, 3.0, 1.0])  # where 8t − ½·1e-7·20t² is largest, along the ray of no curvature

    def solve_hard_margin() -> qpsvm.SVMResult | qpsvm.QPSVMError:
        try:
            return qpsvm.solve(qpsvm.HardMargin(X, y))
        except qpsvm.NotSeparableError as error:
            return error

    ours, our_seconds = time_call(solve_hard_margin)
    said = f"'{status}', value {value:.3g}"
    judged = qpsvm.solve(qpsvm.HardMargin(X, y).qp("dual"), check=False)
    return Shown(
        status == "optimal", said, float("inf"), seconds, ours, our_seconds,
        right=isinstance(ours, qpsvm.NotSeparableError) and judged.status == "unbounded",
        because=alpha is not None and np.allclose(alpha, turned, rtol=1e-3),
    )  # fmt: skip
