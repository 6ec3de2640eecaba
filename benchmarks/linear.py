"""Linear machines: `solve` beside scikit-learn's LinearSVC, in one run, on generated and (with --data) real tables.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.linear --data ../shared/data --peer
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.linear --growth 1e7

LinearSVC (hinge loss) solves a neighbouring problem, with a penalised intercept. Its error is measured on that problem,
against the optimum that this library certifies; it is run at tightening tolerances until it is within 1e-4, or stops.
A million rows are not for it: there the peer is cvxopt, with the structure of the machine. Our time is that of `solve`,
with certificate and polishing. Medians of three runs.

--growth: generated tables of 34 columns and 1e4 rows up to the number given, ten times more each; the exponent of time
in rows, fitted, and the peak of memory beside the size of X.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qpsvm
from qpsvm.files import read_table

TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
GOOD = 1e-4
#: Seconds from which a competitor is not run at a tighter tolerance.
PATIENCE = 5.0
#: Passes over the samples that LinearSVC gets at the most (its own default).
MOST_ITERATIONS = 1000
#: Rows from which the peer is cvxopt.
MANY_ROWS = 1_000_000
#: Rows of a generated table that are shifted at a time.
MADE_ROWS = 100_000
#: Columns of the tables whose size grows, their least rows, and the rows from which they are solved only once.
GROWING_COLUMNS, LEAST_ROWS, ONCE_ROWS = 34, 10_000, 10_000_000
FILES = ("german.numer", "spambase", "phishing.xz", "ijcnn1.xz", "a9a.xz", "w8a.xz", "reuters.xz")
DENSE = frozenset({"german.numer", "spambase", "phishing.xz", "ijcnn1.xz"})


def gaussian(n: int, d: int) -> tuple[Any, Any]:
    """Two overlapping clouds with 5 % of the labels flipped."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    direction = rng.standard_normal(d)
    direction /= np.linalg.norm(direction)
    X = rng.standard_normal((n, d))
    for i in range(0, n, MADE_ROWS):  # a second table of this size would hide the solver's memory
        X[i : i + MADE_ROWS] += y[i : i + MADE_ROWS, None] * direction
    y[rng.random(n) < 0.05] *= -1
    return X, y


def tables(data: Path | None, quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Name, samples and labels of each table."""
    yield "gaussian 1e5 x 50", *gaussian(100_000, 50)
    if not quick:
        X, y = gaussian(100_000, 50)
        rng = np.random.default_rng(1)
        yield "the same, raw scales", X * 10 ** rng.uniform(-2, 3, 50) + 10 ** rng.uniform(-1, 3, 50), y
        yield "gaussian 1e6 x 34", *gaussian(1_000_000, 34)
    for name in FILES if data is not None else ():
        assert data is not None
        table = read_table(data / name)
        yield name, table.X.toarray() if name in DENSE else table.X, table.y


def timed(run: Callable[[], Any], times: int) -> tuple[float, Any]:
    """Median seconds of some runs, and what the last one returned."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def linear_svc(X: Any, y: Any, C: float) -> tuple[float, float]:
    """Seconds and relative error of LinearSVC at the first tolerance that is good, or the last that it had time for."""
    from scipy.sparse import csr_matrix, issparse
    from sklearn.svm import LinearSVC

    if issparse(X):
        X = csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    best = qpsvm.solve(qpsvm.PrimalHinge(X, y, 1 / (C * len(y)), intercept="penalised"), check=False)
    optimum = best.dual * C * len(y)
    seconds, error = 0.0, np.inf
    for tol in TOLERANCES:
        machine = LinearSVC(C=C, loss="hinge", dual=True, tol=tol, max_iter=MOST_ITERATIONS)
        start = time.perf_counter()
        machine.fit(X, y)
        seconds = time.perf_counter() - start
        w, b = machine.coef_[0], float(machine.intercept_[0])
        value = 0.5 * (w @ w + b * b) + C * np.maximum(0.0, 1 - signs * (X @ w + b)).sum()
        error = (value - optimum) / abs(optimum)
        if error <= GOOD or seconds > PATIENCE:
            break
    return seconds, float(error)


def cvxopt(problem: qpsvm.CSVM) -> tuple[float, float]:
    """Seconds of cvxopt with the structure of the machine, and its certified gap."""
    seconds, result = timed(lambda: qpsvm.solve(problem, backend="cvxopt", polish=False, check=False), 1)
    return seconds, result.gap


def growth(most: int) -> None:
    """Seconds of `solve` by rows, the exponent, and the peak of memory."""
    sizes = [n for n in (LEAST_ROWS * 10**k for k in range(10)) if n <= most]
    print(f"{'rows':>10}{'seconds':>10}{'gap':>10}{'peak / X':>10}")
    measured = []
    for n in sizes:
        X, y = gaussian(n, GROWING_COLUMNS)
        seconds, result = timed(lambda X=X, y=y: qpsvm.solve(qpsvm.CSVM(X, y, 1.0)), 1 if n >= ONCE_ROWS else 5)
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / X.nbytes  # Linux counts in KiB
        print(f"{n:>10}{seconds:>10.4f}{result.gap:>10.1e}{peak:>10.2f}", flush=True)
        measured.append(seconds)
        del X, y, result
    if len(sizes) > 1:
        print(f"exponent {np.polyfit(np.log(sizes), np.log(measured), 1)[0]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with LIBSVM files")
    parser.add_argument("--quick", action="store_true", help="one generated table only, besides the files")
    parser.add_argument("--peer", action="store_true", help="run LinearSVC too (slow on dense tables)")
    parser.add_argument("--C", type=float, nargs="+", default=[0.01, 1.0, 100.0])
    parser.add_argument("--growth", type=float, help="time and memory up to so many rows, and nothing else")
    options = parser.parse_args()
    if options.growth is not None:
        growth(int(options.growth))
        return
    warnings.simplefilter("ignore")
    print(f"{'table':<24}{'C':>8}{'seconds':>10}{'gap':>10}{'peer':>12}{'its error':>11}{'ratio':>8}")
    for name, X, y in tables(options.data, options.quick):
        for C in options.C:
            problem = qpsvm.CSVM(X, y, C)
            seconds, result = timed(lambda problem=problem: qpsvm.solve(problem, check=False), 3)
            peer = "{:>12}{:>11}{:>8}".format("-", "-", "-")
            if options.peer:
                other, error = linear_svc(X, y, C) if len(y) < MANY_ROWS else cvxopt(problem)
                peer = f"{other:>12.3f}{error:>11.1e}{other / seconds:>8.2f}"
            print(f"{name:<24}{C:>8g}{seconds:>10.3f}{result.gap:>10.1e}{peer}", flush=True)


if __name__ == "__main__":
    main()
