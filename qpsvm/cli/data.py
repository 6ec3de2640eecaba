"""From the options to the samples, the labels and the problem."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.errors import DataError, ParameterError, UnknownOptionError, nearest
from qpsvm.files import StandardInput, Table, read_table
from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.model import Model
from qpsvm.problems import CSVM, HardMargin, NuSVM, PrimalHinge, Problem
from qpsvm.result import SVMResult

#: Classes whose sizes are printed.
SHOWN_CLASSES = 6


@dataclass(frozen=True, eq=False)
class Sample:
    """A data file as a problem takes it.

    Attributes
    ----------
    table : Table
    y : ndarray, shape (n,)
        The file's labels, or −1 and +1 where `--positive` says which is which.
    classes : ndarray, shape (2,), or None
        With `--positive`, the names of −1 and +1.
    against : str or None
        The label that `--positive` sets against several others.
    """

    table: Table
    y: NDArray[Any]
    classes: NDArray[Any] | None = None
    against: str | None = None

    def model(self, result: SVMResult) -> Model:
        """The decision function. It predicts the file's own labels, and knows how a file becomes features."""
        metadata = {**result.model.metadata, "encoding": self.table.encoding.to_json()}
        if self.against is not None:
            metadata["positive"] = self.against
        classes = result.model.classes if self.classes is None else self.classes
        return replace(result.model, classes=classes, metadata=metadata)

    def accuracy(self, model: Model) -> float:
        """The share of the training rows that the model gets right."""
        names = self.y if self.classes is None else self.classes[(self.y > 0).astype(int)]
        return float((model.predict(self.table.X) == names).mean())


def source(name: str) -> str | StandardInput:
    """The data file of a command, where - is standard input."""
    return StandardInput() if name == "-" else name


def read(options: argparse.Namespace) -> Sample:
    """Read the data file and print what is in it.

    Raises
    ------
    DataError
        It has no labels, or more than two that nobody sets against each other; and what `read_table` raises.
    UnknownOptionError
        `--positive` names no label.
    """
    start = time.perf_counter()
    table = read_table(
        source(options.file), target=options.target, drop=options.drop, drop_missing=options.drop_missing,
        standardise=options.standardise,
    )  # fmt: skip
    if table.y is None:
        raise DataError(f"{source(options.file)} has no labels")
    sample = Sample(table, table.y) if options.positive is None else _against_rest(table, table.y, options.positive)
    labels = table.y if sample.classes is None else sample.classes[(sample.y > 0).astype(int)]
    classes, counts = np.unique(labels, return_counts=True)
    pairs = list(zip(classes, counts, strict=True))
    balance = ", ".join(f"{label}: {count}" for label, count in pairs[:SHOWN_CLASSES])
    balance += ", ..." if len(pairs) > SHOWN_CLASSES else ""
    left_out = f"; {table.dropped} rows with missing values left out" if table.dropped else ""
    n, d = table.X.shape
    print(f"{source(options.file)}: {n} rows x {d} features; labels {balance}{left_out}")
    for note in table.notes:
        print(f"  note        {note}")
    if options.verbose:
        print(f"  read in     {time.perf_counter() - start:.2f} s")
    if len(pairs) > 2:
        raise DataError(
            f"a machine takes two classes, and {source(options.file)} has {len(pairs)}: set one against all others by "
            f"--positive LABEL, such as --positive {classes[0]}"
        )
    return sample


def is_label(y: NDArray[Any], label: str) -> NDArray[np.bool_]:
    """Which of the labels (n,) are the one that a user wrote, (n,): numbers by value, text by its letters."""
    if y.dtype.kind not in "iuf":
        return np.asarray(y.astype(str) == label)
    try:
        return np.asarray(y == float(label))
    except ValueError:
        return np.zeros(len(y), dtype=np.bool_)


def _against_rest(table: Table, y: NDArray[Any], positive: str) -> Sample:
    """Put the label `positive` on the positive side, and the other label, or all others, on the negative side."""
    labels, chosen = np.unique(y), is_label(y, positive)
    if not chosen.any():
        raise UnknownOptionError(f"no label {positive!r}; {nearest(positive, map(str, labels))}")
    rest = np.unique(y[~chosen])
    signs = np.where(chosen, 1, -1)
    if len(rest) == 1:
        return Sample(table, signs, np.array([rest[0], y[chosen][0]], dtype=y.dtype))
    name = str(y[chosen][0])
    return Sample(table, signs, np.array([f"not {name}", name]), name)


def few_rows(X: Any, y: NDArray[Any], each: int) -> tuple[Any, NDArray[Any]]:
    """The first rows of each class (up to `each`): X (m, d), y (m,)."""
    rows = np.concatenate([np.flatnonzero(y == label)[:each] for label in np.unique(y)])
    return X[rows], y[rows]


def problem_of(X: Any, y: Any, options: argparse.Namespace) -> Problem:
    """The problem that the options describe, over the samples X (n, d) with labels y (n,).

    Raises
    ------
    ParameterError
        `--psd` for a kernel that is never indefinite; and what the problem's class raises.
    """
    kernel = _kernel(options)
    if options.psd is not None and kernel.is_psd:
        raise ParameterError(
            f"--psd is for an indefinite kernel, and {kernel} is positive semidefinite by construction: leave it out"
        )
    psd: Any = options.psd or "raise"
    if options.variant == "c":
        return CSVM(X, y, options.C, kernel, psd=psd)
    if options.variant == "nu":
        return NuSVM(X, y, options.nu, kernel, psd=psd)
    if options.variant == "hard":
        return HardMargin(X, y, kernel, psd=psd)
    intercept = None if options.intercept == "none" else options.intercept
    return PrimalHinge(X, y, options.lam, kernel, intercept, psd=psd)


def _kernel(options: argparse.Namespace) -> Kernel:
    try:
        gamma: Any = float(options.gamma)
    except ValueError:
        gamma = options.gamma
    if options.kernel == "rbf":
        return RBF(gamma)
    if options.kernel == "polynomial":
        return Polynomial(options.degree, gamma, options.coef0)
    if options.kernel == "sigmoid":
        return Sigmoid(gamma, options.coef0)
    return Linear()
