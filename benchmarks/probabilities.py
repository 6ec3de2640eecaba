"""`python -m benchmarks.probabilities [FILE ...]`: how good probabilities, sets and intervals are on samples held out.

Scikit-learn's bundled tables, and LIBSVM files that are named. Of each, half the samples train (at most `TRAIN`), the
features scaled by them; the others are asked, five times. All probabilities are of the same machine, an `SVC` with its
default C and γ; what differs is which scores the curve is fitted to.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets, svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from qpsvm import estimators

TRAIN, SEEDS, ALPHA = 600, 5, 0.1
CLASSES = ("breast_cancer", "iris", "wine", "digits")
NUMBERS = ("diabetes",)

Table = tuple[str, Any, NDArray[Any]]

#: Who gives probabilities, by the heads of the columns.
ASKED: dict[str, Callable[[int], Any]] = {
    "`SVC(probability=True)`": lambda _: estimators.SVC(probability=True),
    "`\"isotonic\"`": lambda _: estimators.SVC(probability="isotonic"),
    "`\"leave-one-out\"`": lambda _: estimators.SVC(probability="leave-one-out"),
    "scikit-learn's": lambda seed: svm.SVC(probability=True, random_state=seed),
    "`CalibratedClassifierCV`": lambda _: CalibratedClassifierCV(svm.SVC(), ensemble=False),
    "of five": lambda _: CalibratedClassifierCV(svm.SVC(), ensemble=True),
}  # fmt: skip


def iter_tables(files: list[str], numbers: bool) -> Iterator[Table]:
    """Name, samples (n, d) and target (n,) of each table of classes, or of numbers."""
    for name in NUMBERS if numbers else CLASSES:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, X, y / y.std() if numbers else y
    for file in files:
        X, y = datasets.load_svmlight_file(file)
        few = len(np.unique(y)) <= 20
        if few != numbers:
            yield Path(file).name.partition(".")[0], X.toarray(), y / y.std() if numbers else y


def split_halves(X: Any, y: NDArray[Any], seed: int, numbers: bool) -> list[Any]:
    """Samples that train and others, scaled, and their targets."""
    size = min(TRAIN, len(y) // 2)
    X, Z, y, z = train_test_split(X, y, train_size=size, random_state=seed, stratify=None if numbers else y)
    scaler = StandardScaler().fit(X)
    return [scaler.transform(X), scaler.transform(Z), y, z]


def measure_losses(table: Table, seeds: int = SEEDS) -> dict[str, tuple[float, float]]:
    """The mean log loss and the mean seconds of a fit, of each of `ASKED`."""
    _, X, y = table
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ASKED}
    for seed in range(seeds):
        A, B, a, b = split_halves(X, y, seed, False)
        for name, make in ASKED.items():
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # scikit-learn's is deprecated
                machine = make(seed).fit(A, a)
            seconds = time.process_time() - began
            found[name].append((log_loss(b, machine.predict_proba(B), labels=machine.classes_), seconds))
    return {name: (float(np.mean([v for v, _ in each])), float(np.mean([s for _, s in each])))
            for name, each in found.items()}  # fmt: skip


def measure_coverage(table: Table, numbers: bool, seeds: int = SEEDS) -> tuple[float, float]:
    """The share of true targets within sets or intervals of α = .1, and their mean size; of intervals by deviation."""
    _, X, y = table
    inside, size = [], []
    for seed in range(seeds):
        A, B, a, b = split_halves(X, y, seed, numbers)
        if numbers:
            low, high = estimators.SVR(gamma=1.0 / A.shape[1]).fit(A, a).prediction_intervals(B, ALPHA)
            inside.append((low <= b) & (b <= high))
            size.append(high - low)
        else:
            machine = estimators.SVC(gamma=1.0 / A.shape[1]).fit(A, a)
            sets = machine.prediction_sets(B, ALPHA)
            inside.append(sets[np.arange(len(b)), np.searchsorted(machine.classes_, b)])
            size.append(sets.sum(axis=1))
    return float(np.mean(np.concatenate(inside))), float(np.mean(np.concatenate(size)))


def main(files: list[str]) -> None:
    """Print the tables as Markdown."""
    print("| table | rows |", " | ".join(ASKED), "| seconds |")
    print("|---|---|" + "---|" * (len(ASKED) + 1))
    for table in iter_tables(files, False):
        found = measure_losses(table)
        best = min(value for value, _ in found.values())
        cells = [f"**{value:.3f}**" if value <= best + 5e-4 else f"{value:.3f}" for value, _ in found.values()]
        seconds = " / ".join(f"{seconds:.2f}" for _, seconds in found.values())
        print(f"| {table[0]} | {min(TRAIN, len(table[2]) // 2)} | {' | '.join(cells)} | {seconds} |", flush=True)
    print("\n| table | covered | size |\n|---|---|---|")
    for numbers in (False, True):
        for table in iter_tables(files, numbers):
            covered, size = measure_coverage(table, numbers)
            print(f"| {table[0]} | {covered:.3f} | {size:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
