"""What the library costs on top of the solver: the same QP handed to CVXOPT or OSQP directly, and through `solve`.

    OMP_NUM_THREADS=1 python -m benchmarks.overhead

Both sides make the Gram matrix and the solver's data and use the same solver settings; the library's side adds checks,
scaling, the certificate and polishing. Runs alternate, and medians are compared. The last lines measure building the
dual of a large linear problem, and importing the package.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

import qpsvm
from qpsvm.backends.external.osqp_ import extract_upper_triangle
from qpsvm.space.operators import Dense

GAMMA = 0.1


def draw_data(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def solve_with_cvxopt(X: np.ndarray, y: np.ndarray) -> None:
    from cvxopt import matrix, solvers, spmatrix

    n = len(y)
    P = matrix(np.outer(y, y) * qpsvm.RBF(GAMMA)(X, X))
    ones, index = np.ones(n), np.arange(n)
    G = spmatrix(np.r_[-ones, ones], np.arange(2 * n), np.r_[index, index])
    h = matrix(np.r_[np.zeros(n), ones])
    settings = {"show_progress": False, "abstol": 1e-30, "reltol": 1e-7, "feastol": 1e-7}
    solvers.qp(P, matrix(-ones), G, h, matrix(y[None]), matrix(0.0), options=settings)


def solve_with_osqp(X: np.ndarray, y: np.ndarray) -> None:
    import osqp

    n = len(y)
    P = extract_upper_triangle(Dense(np.outer(y, y) * qpsvm.RBF(GAMMA)(X, X)))
    A = sp.csc_matrix(sp.vstack([sp.csc_array(y[None]), sp.eye_array(n, format="csc")], format="csc"))
    solver = osqp.OSQP()
    solver.setup(P, -np.ones(n), A, np.zeros(n + 1), np.append(0.0, np.ones(n)), verbose=False)
    solver.solve(raise_error=False)


def make_library_solver(backend: str) -> Callable[[np.ndarray, np.ndarray], None]:
    def run(X: np.ndarray, y: np.ndarray) -> None:
        result = qpsvm.solve(qpsvm.CSVM(X, y, 1.0, qpsvm.RBF(GAMMA)), backend, "dual")
        assert result.gap <= 1e-6

    return run


def measure_medians(first: Callable[..., None], second: Callable[..., None], n: int, runs: int) -> tuple[float, float]:
    X, y = draw_data(n)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs + 1):
        for run, record in zip((first, second), times, strict=True):
            start = time.perf_counter()
            run(X, y)
            record.append(time.perf_counter() - start)
    return statistics.median(times[0][1:]), statistics.median(times[1][1:])


def main() -> None:
    print(f"{'solver':<9}{'n':>6}{'direct':>12}{'library':>12}{'more':>12}{'ratio':>8}")
    for n, runs in ((100, 60), (1000, 15)):
        for name, direct in (("cvxopt", solve_with_cvxopt), ("osqp", solve_with_osqp)):
            alone, library = measure_medians(direct, make_library_solver(name), n, runs)
            more = library - alone
            figures = "".join(f"{1e3 * seconds:>9.2f} ms" for seconds in (alone, library, more))
            print(f"{name:<9}{n:>6}{figures}{library / alone:>8.2f}")
    X, y = draw_data(100_000, 50)
    tracemalloc.start()
    start = time.perf_counter()
    qp = qpsvm.CSVM(X, y).qp("dual")
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    print(f"linear dual, n = {qp.n}, d = 50: {1e3 * seconds:.0f} ms, {peak / 1e6:.0f} MB beyond X")
    imports = [measure_import_seconds("numpy, scipy.sparse, scipy.linalg"), measure_import_seconds("qpsvm")]
    print(f"import qpsvm: {imports[1] - imports[0]:.2f} s beyond NumPy and SciPy ({imports[0]:.2f} s)")


def measure_import_seconds(modules: str) -> float:
    code = f"import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
    runs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
            for _ in range(5)]  # fmt: skip
    return statistics.median(runs)


if __name__ == "__main__":
    main()
