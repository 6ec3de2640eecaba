"""Kernel C-SVMs: `qpsvm.solve` as a user calls it beside scikit-learn's `SVC.fit` at its default tolerance.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.kernel [--quick] [--large] [--data DIRECTORY]

Ours is the whole way: the problem object, its QP, the solver, the polish and the certificate. Runs alternate, and
medians are compared. `solver` is the part of our time that the solver itself took.
"""

from __future__ import annotations

import argparse
import io
import lzma
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.svm import SVC

import qpsvm

SMALL_FILES = (
    "heart_scale", "heart", "australian", "australian_scale", "breast-cancer_scale", "diabetes_scale", "german.numer",
    "german.numer_scale", "ionosphere", "sonar_scale", "splice", "fourclass", "svmguide3", "a1a",
)
LARGE_FILES = (
    "svmguide1", "svmguide1.t", "splice.t.xz", "usps.t.xz", "dna", "spambase", "satimage.xz", "usps.xz", "mushrooms",
    "phishing.xz", "letter.scale.xz", "magic04.xz",
)
PENALTIES = (0.1, 1.0, 10.0, 100.0)
#: Seconds and runs that one setting may take.
SETTING_SECONDS, MOST_RUNS = 0.3, 9


def read(directory: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    raw = (directory / name).read_bytes()
    X, y = datasets.load_svmlight_file(io.BytesIO(lzma.decompress(raw) if name.endswith(".xz") else raw))
    return X.toarray(), two_classes(y)


def two_classes(y: np.ndarray) -> np.ndarray:
    values = np.unique(y)
    return np.where(y > (values[0] if len(values) == 2 else np.median(values)), 1.0, -1.0)


def standardised(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def small_tables(directory: Path, quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name in SMALL_FILES[::4] if quick else SMALL_FILES:
        yield name, *read(directory, name)
    for n in (100, 1000) if quick else (60, 100, 200, 500, 1000, 1800):
        X, y = datasets.make_moons(n, noise=0.2, random_state=0)
        yield f"moons {n}", X, two_classes(y)
    for name, load in (("breast_cancer", datasets.load_breast_cancer), ("wine", datasets.load_wine)):
        X, y = load(return_X_y=True)
        yield name, standardised(X), np.where(y == 1, 1.0, -1.0)
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits", X, np.where(y % 2 == 1, 1.0, -1.0)


def small_settings(directory: Path, quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray, float, float]]:
    for name, X, y in small_tables(directory, quick):
        d = X.shape[1]
        for gamma in (1 / d, 1 / (d * X.var()), 10 / d):
            for C in PENALTIES[1::2] if quick else PENALTIES:
                yield name, X, y, C, gamma


def large_settings(directory: Path, quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray, float, float]]:
    for name in LARGE_FILES[:4] if quick else LARGE_FILES:
        X, y = read(directory, name)
        X = standardised(X)
        for C in (1.0, 10.0):
            yield name, X, y, C, 1 / X.shape[1]


def race(X: np.ndarray, y: np.ndarray, C: float, gamma: float) -> tuple[float, float, qpsvm.SVMResult]:
    """Median seconds of SVC and of ours, and our last result."""
    times: tuple[list[float], list[float]] = ([], [])
    peer = SVC(C=C, gamma=gamma)
    result: Any = None
    began = time.perf_counter()
    while len(times[0]) < MOST_RUNS and (len(times[0]) < 2 or time.perf_counter() - began < SETTING_SECONDS):
        start = time.perf_counter()
        peer.fit(X, y)
        times[0].append(time.perf_counter() - start)
        start = time.perf_counter()
        result = qpsvm.solve(qpsvm.CSVM(X, y, C, qpsvm.RBF(gamma)))
        times[1].append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1]), result


def table(settings: Iterator[tuple[str, np.ndarray, np.ndarray, float, float]]) -> None:
    print(
        f"{'data':<20}{'n':>6}{'d':>5}{'C':>6}{'gamma':>10}{'SVC ms':>10}{'ours ms':>10}{'solver':>8}{'ratio':>7}"
        f"{'gap':>9}  by"
    )
    ratios, gaps = [], []
    for name, X, y, C, gamma in settings:
        theirs, ours, result = race(X, y, C, gamma)
        ratios.append(theirs / ours)
        gaps.append(result.gap)
        print(
            f"{name:<20}{X.shape[0]:>6}{X.shape[1]:>5}{C:>6g}{gamma:>10.3g}{1e3 * theirs:>10.2f}{1e3 * ours:>10.2f}"
            f"{result.solve_time / ours:>8.0%}{ratios[-1]:>7.2f}{result.gap:>9.1e}  {result.solver.status}",
            flush=True,
        )
    print(
        f"{len(ratios)} settings: geometric mean {statistics.geometric_mean(ratios):.2f}, worst {min(ratios):.2f}, "
        f"below 0.9 in {sum(r < 0.9 for r in ratios)}; largest gap {max(gaps):.1e}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few settings of each table")
    parser.add_argument("--large", action="store_true", help="the table of 2000 to 20 000 rows instead")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    chosen = parser.parse_args()
    table((large_settings if chosen.large else small_settings)(chosen.data, chosen.quick))


if __name__ == "__main__":
    main()
