"""The suite of estimators: scikit-learn's classes beside ours of the same names, on tables of several classes too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn import datasets

from benchmarks.samples import Samples, Source, scale_table
from benchmarks.suite import Suite
from benchmarks.summary import ESTIMATORS
from benchmarks.tasks import Task, Variant
from qpsvm.data.files import read_table


@dataclass(frozen=True)
class LabelledTable:
    """A standardised table with its own labels, as numbers from 0 on, or with a target of mean 0 and deviation 1.

    Attributes
    ----------
    name : str
        Of a table that comes with scikit-learn; or of a file, whose folder is `data`.
    data : Path or None
    target : "classes" or "numbers"
    rows : int or None
        Take so many, drawn once and for all.
    """

    name: str
    data: Path | None = None
    target: Literal["classes", "numbers"] = "classes"
    rows: int | None = None

    def load(self) -> Samples:
        if self.data is None:
            X, y = getattr(datasets, f"load_{self.name}")(return_X_y=True)
        else:
            table = read_table(self.data / self.name)
            X = table.X.toarray()
            y = np.asarray(table.y, dtype=float)
        if self.rows is not None:
            drawn = np.random.default_rng(0).permutation(len(y))[: self.rows]
            X, y = X[drawn], y[drawn]
        X = scale_table(np.asarray(X, dtype=float), "standardised")
        if self.target == "numbers":
            return X, (y - y.mean()) / y.std()
        return X, np.unique(y, return_inverse=True)[1].astype(float)


#: Class, its machine, kernel, C and ν.
Kind = tuple[str, Variant, str, float, float]
#: Of tables with classes.
CLASSIFIERS: tuple[Kind, ...] = (
    ("SVC", "c", "rbf", 1.0, 0.5), ("SVC", "c", "rbf", 100.0, 0.5), ("SVC", "c", "linear", 1.0, 0.5),
    ("NuSVC", "nu", "rbf", 1.0, 0.1), ("LinearSVC", "squared-hinge", "linear", 1.0, 0.5),
    ("LinearSVC", "hinge", "linear", 1.0, 0.5),
)  # fmt: skip
#: And of tables with numbers.
REGRESSORS: tuple[Kind, ...] = (
    ("SVR", "epsilon-svr", "rbf", 1.0, 0.5), ("SVR", "epsilon-svr", "rbf", 100.0, 0.5),
    ("NuSVR", "nu-svr", "rbf", 1.0, 0.5), ("LinearSVR", "epsilon-svr", "linear", 1.0, 0.5),
    ("OneClassSVM", "one-class", "rbf", 1.0, 0.1),
)  # fmt: skip
#: Tables of scikit-learn's own, with rows and classes (0 where the target is a number).
BUNDLED = (("iris", 150, 3), ("wine", 178, 3), ("breast_cancer", 569, 2), ("digits", 1797, 10), ("diabetes", 442, 0))
#: Files, with the rows that are taken, and classes.
FILES = (
    ("dna", 3186, 3), ("satimage.xz", 6435, 6), ("usps.xz", 7291, 10), ("letter.xz", 6000, 26),
    ("housing_scale", 506, 0), ("abalone_scale", 4177, 0), ("cpusmall", 8192, 0),
)  # fmt: skip
#: What --quick takes: a small table of each kind, and these of its machines.
QUICK = {"wine": (CLASSIFIERS[0], CLASSIFIERS[4]), "diabetes": (REGRESSORS[0], REGRESSORS[2])}


def build_estimators_suite(data: Path, quick: bool) -> Suite:
    """(i) Estimators, fitted and asked to predict."""
    tables = [(LabelledTable(name, target="numbers" if not k else "classes"), name, n, k) for name, n, k in BUNDLED]
    if quick:
        tables = [table for table in tables if table[1] in QUICK]
    else:
        tables += [
            (LabelledTable(name, data, "numbers" if not k else "classes", n), name.partition(".")[0], n, k)
            for name, n, k in FILES
            if (data / name).exists()
        ]
    tasks = []
    for source, name, n, k in tables:
        kinds = QUICK[name] if quick else CLASSIFIERS if k else REGRESSORS
        tasks += [_build_task(source, name, n, k, kind) for kind in kinds]
    return Suite(
        "estimators", "Estimators with scikit-learn's names: four fifths of a standardised table are fitted, the rest "
        "is predicted.",
        tuple(tasks), ESTIMATORS, goal=0.0, seconds=20.0, budget=30.0,
        files=() if quick else tuple(name for name, _, _ in FILES),
    )  # fmt: skip


def _build_task(source: Source, name: str, n: int, classes: int, of: Kind) -> Task:
    kind, variant, kernel, C, nu = of
    facts: dict[str, Any] = {"data": name, "n": n, "classes": classes or None, "estimator": kind, "variant": variant,
                             "kernel": kernel}  # fmt: skip
    facts |= {} if variant in ("nu", "one-class") else {"C": C}
    intercept: Any = "penalised" if kind.startswith("Linear") else "free"
    told = [f"{name}, {kind}", *([variant] if kind == "LinearSVC" else [kernel])]
    told += [f"C = {C:g}"] if "C" in facts else [f"nu = {nu:g}"]
    machine: Any = {"kernel": kernel, "gamma": "scale", "intercept": intercept}
    return Task(", ".join(told), source, facts, variant, C=C, nu=nu, estimator=kind, **machine)
