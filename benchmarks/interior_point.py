"""The interior point method beside public solvers, in one run, scored by the same certificates.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.interior_point [--data DIR] [--largest 200] [--runs 9]

First the SVM class of the OSQP paper (Stellato et al. 2020, appendix A.6: m = 100 n samples, 15 % of A non-zero, no
intercept) to 1e-8, beside PIQP, Clarabel and OSQP on the paper's own sparse QP; then duals of linear C-SVMs, beside
CVXOPT with its structured KKT systems, on scikit-learn's breast cancer data and, with --data, on files in LIBSVM's
format. Runs alternate. Times are processor times of one thread, so that other work on the machine weighs less. In the
first table ours is all that a user waits for, from the QP: `compile(qp, "interior_point").solve()`, with the structure
recognised anew; of the others making the data is not counted. OSQP is slow at 1e-8, and left out above 30 features.
"""

from __future__ import annotations

import argparse
import lzma
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import clarabel
import numpy as np
import osqp
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_svmlight_file

import qpsvm
from qpsvm.backends.cvxopt_kkt import solve_structured
from qpsvm.backends.interior_point_ import SHARE
from qpsvm.operators import Diagonal
from qpsvm.qp import QP
from qpsvm.solvers.interior_point import mehrotra

TOL = 1e-8
PENALTY = 1.0
SIZES = (5, 10, 20, 30, 60, 100, 200)
FILES = ("german.numer", "spambase", "phishing.xz", "ijcnn1.xz")
#: An answer of the OSQP class: w (k,), multipliers of the rows (m,), iterations.
Answer = tuple[np.ndarray, np.ndarray, int]


class OsqpClass:
    """minimise ½wᵀw + 1ᵀt subject to diag(b)Aw − t ≤ −1, t ≥ 0."""

    def __init__(self, n: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.m = n, 100 * n
        self.b = np.repeat([1.0, -1.0], self.m // 2)
        A = sp.random_array((self.m, n), density=0.15, rng=rng, format="csr", data_sampler=rng.standard_normal)
        A.data = A.data / np.sqrt(n) + np.repeat(self.b, np.diff(A.indptr)) / n
        self.F = sp.csr_array(sp.diags_array(self.b) @ A)
        self.d = np.append(np.ones(n), np.zeros(self.m))
        self.q = np.append(np.zeros(n), np.full(self.m, PENALTY))
        self.P = sp.csc_matrix(sp.diags_array(self.d))
        self.G = sp.csc_matrix(sp.hstack([self.F, -sp.eye_array(self.m)]))
        self.h = -np.ones(self.m)
        self.lb = np.append(np.full(n, -np.inf), np.zeros(self.m))
        self.ub = np.full(n + self.m, np.inf)
        self.low_rows = sp.hstack([sp.csc_array((self.m, n)), sp.eye_array(self.m)], format="csc")
        self.qp = QP(Diagonal(self.d), self.q, G=self.G, h=self.h, lb=self.lb, ub=self.ub)

    def gap(self, answer: Answer) -> float:
        """Relative gap of the feasible primal point at w, or at w(α) if that is better, and the feasible dual point."""
        w, alpha, _ = answer
        alpha = np.clip(alpha, 0.0, PENALTY)
        own = -(self.F.T @ alpha)
        primal = min(0.5 * v @ v + PENALTY * np.maximum(0.0, self.F @ v + 1.0).sum() for v in (w, own))
        dual = alpha.sum() - 0.5 * own @ own
        return float((primal - dual) / max(abs(primal), abs(dual)))

    def ours(self) -> Answer:
        found = qpsvm.compile(self.qp, "interior_point").solve(tol=TOL / SHARE)  # so that the solver stops at TOL
        return found.x[: self.n], found.z, found.iterations

    def piqp(self) -> Answer:
        import piqp

        solver = piqp.SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = 1e-30
        solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = TOL
        solver.settings.check_duality_gap = True
        solver.setup(self.P, self.q, None, None, self.G, None, self.h, self.lb, self.ub)
        solver.solve()
        return solver.result.x[: self.n], solver.result.z_u, solver.result.info.iter

    def clarabel(self) -> Answer:
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = 1e-30, TOL, TOL
        rows = sp.csc_matrix(sp.vstack([self.G, -self.low_rows]))
        h = np.append(self.h, np.zeros(self.m))
        cones = [clarabel.NonnegativeConeT(2 * self.m)]
        found = clarabel.DefaultSolver(self.P, self.q, rows, h, cones, settings).solve()
        return np.array(found.x)[: self.n], np.array(found.z)[: self.m], found.iterations

    def osqp(self) -> Answer:
        solver = osqp.OSQP()
        low = np.append(np.full(self.m, -np.inf), np.zeros(self.m))
        high = np.append(self.h, np.full(self.m, np.inf))
        settings = {"eps_abs": TOL, "eps_rel": TOL, "max_iter": 100_000, "verbose": False}
        solver.setup(self.P, self.q, sp.csc_matrix(sp.vstack([self.G, self.low_rows])), low, high, **settings)
        found = solver.solve(raise_error=False)
        return found.x[: self.n], found.y[: self.m], found.info.iter


def alternate(solvers: dict[str, Callable[[], Answer]], runs: int) -> dict[str, tuple[float, Answer]]:
    """Median processor time and the last answer of each, after one run that does not count."""
    times: dict[str, list[float]] = {name: [] for name in solvers}
    answers: dict[str, Answer] = {}
    for _ in range(runs + 1):
        for name, solve in solvers.items():
            start = time.process_time()
            answers[name] = solve()
            times[name].append(time.process_time() - start)
    return {name: (statistics.median(times[name][1:]), answers[name]) for name in solvers}


def osqp_table(largest: int, runs: int) -> None:
    print(f"{'OSQP class':<14}{'solver':<12}{'ms':>10}{'/ ours':>9}{'iterations':>12}{'relative gap':>14}")
    for n in SIZES:
        if n > largest:
            break
        problem = OsqpClass(n)
        solvers = {"ours": problem.ours, "PIQP": problem.piqp, "Clarabel": problem.clarabel}
        if n <= 30:
            solvers["OSQP"] = problem.osqp
        for name, (seconds, answer) in (found := alternate(solvers, max(1, min(runs, 3000 // n**2)))).items():
            print(f"{f'n = {n}':<14}{name:<12}{1e3 * seconds:>10.2f}{seconds / found['ours'][0]:>9.2f}{answer[2]:>12}"
                  f"{problem.gap(answer):>14.1e}", flush=True)


def samples(data: Path | None) -> list[tuple[str, np.ndarray, np.ndarray]]:
    X, y = load_breast_cancer(return_X_y=True)
    sets = [("breast_cancer", X, np.where(y > 0, 1.0, -1.0))]
    for name in FILES if data else ():
        path = data / name
        if path.suffix == ".xz":
            with lzma.open(path) as file:
                X, y = load_svmlight_file(file)
        else:
            X, y = load_svmlight_file(str(path))
        sets.append((path.stem if path.suffix == ".xz" else name, X.toarray(), np.where(y == y.max(), 1.0, -1.0)))
    return sets


def dual_table(data: Path | None, runs: int) -> None:
    """Standardised samples, certified gap 1e-6; both solvers receive the same QP, K with mean diagonal 1."""
    print(f"\n{'C-SVM dual':<16}{'n':>7}{'d':>5}{'C':>6}  {'solver':<9}{'ms':>9}{'/ ours':>9}{'iterations':>12}"
          f"{'gap':>10}")
    for name, X, y in samples(data):
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        for C in (1.0, 100.0):
            problem = qpsvm.CSVM(X, y, C)
            qp = problem.qp("dual")
            kappa = float(qp.P.diagonal().mean())
            qp = qp.scaled({"alpha": 1.0 / kappa}, {}, kappa)
            Z, d = qp.P.factor()
            lb, ub = qp.bounds

            def ours(qp=qp) -> Answer:
                found = mehrotra(qp.P, qp.q, qp.A, qp.b, qp.lb, qp.ub, tol=1e-7)
                return found.x, found.y, found.iterations

            def cvxopt(qp=qp, Z=Z, d=d, lb=lb, ub=ub) -> Answer:
                options = {"show_progress": False, "abstol": 1e-30, "reltol": 1e-6, "feastol": 1e-7}
                A = qp.A.toarray() if sp.issparse(qp.A) else qp.A
                found = solve_structured(Z, d, qp.q, lb, ub, A, qp.b, options)
                return np.array(found["x"]).ravel(), np.array(found["y"]).ravel(), found["iterations"]

            found = alternate({"ours": ours, "cvxopt": cvxopt}, runs)
            for solver, (seconds, (x, _, iterations)) in found.items():
                gap = problem.certify(x / kappa).gap
                print(f"{name:<16}{len(y):>7}{X.shape[1]:>5}{C:>6g}  {solver:<9}{1e3 * seconds:>9.1f}"
                      f"{seconds / found['ours'][0]:>9.2f}{iterations:>12}{gap:>10.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with " + ", ".join(FILES))
    parser.add_argument("--largest", type=int, default=200, help=f"most features of the OSQP class {SIZES}")
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    osqp_table(arguments.largest, arguments.runs)
    dual_table(arguments.data, arguments.runs)


if __name__ == "__main__":
    main()
