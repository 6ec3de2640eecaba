"""The task of an estimator: rows to fit, rows to predict, and the machines of one or two classes that it consists of.

Of several classes it is, as in LIBSVM, a machine for every two of them, or, as in LIBLINEAR, one for each against all
others. Each is a machine of the benchmarks, so that the judge of these scores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.samples import FloatArray
from benchmarks.solvers.base import Point
from benchmarks.solvers.machines import compute_libsvm_alpha
from benchmarks.tasks import BenchmarkMachine
from qpsvm.base.arrays.types import as_dense

#: Of so many rows, one is held out.
HELD_OUT = 5


def take_fitted_rows(machine: BenchmarkMachine) -> BenchmarkMachine:
    """The rows that are fitted."""
    rows = np.flatnonzero(~_mask_held_out(machine))
    return replace(machine, X=machine.X[rows], y=machine.y[rows])


def take_held_out_rows(machine: BenchmarkMachine) -> tuple[Any, FloatArray]:
    """The rows that are predicted, X (m, d) and y (m,)."""
    rows = np.flatnonzero(_mask_held_out(machine))
    return machine.X[rows], machine.y[rows]


def _mask_held_out(machine: BenchmarkMachine) -> NDArray[np.bool_]:
    return np.asarray(np.random.default_rng(0).permutation(len(machine.y)) % HELD_OUT == 0)


def iter_machine_rows(part: BenchmarkMachine) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Iterate over the machines: the rows of each, and their target, of two classes −1 and +1."""
    y = part.y
    everything = np.arange(len(y))
    classes = np.unique(y)
    if part.is_regression or part.task.variant == "one-class":
        yield everything, y
    elif part.task.estimator == "LinearSVC":
        for label in classes[1:] if len(classes) == 2 else classes:
            yield everything, np.where(y == label, 1.0, -1.0)
    else:
        for one, other in combinations(classes, 2):
            rows = np.flatnonzero((y == one) | (y == other))
            yield rows, np.where(y[rows] == other, 1.0, -1.0)


def iter_machines(part: BenchmarkMachine) -> Iterator[BenchmarkMachine]:
    """Iterate over the machines of the estimator."""
    task = replace(part.task, estimator=None)
    for rows, target in iter_machine_rows(part):
        yield BenchmarkMachine(task, part.X[rows], target, part.gamma)


def extract_points(part: BenchmarkMachine, estimator: Any) -> tuple[Point, ...]:
    """Extract the point of each machine from the attributes that scikit-learn gives an estimator."""
    if part.task.estimator in ("LinearSVC", "LinearSVR"):
        weights, intercepts = np.atleast_2d(estimator.coef_), np.ravel(estimator.intercept_)
        return tuple(Point(w=w, b=float(b)) for w, b in zip(weights, intercepts, strict=True))
    support = np.asarray(estimator.support_, dtype=np.int64)
    coef = as_dense(estimator.dual_coef_)
    if part.is_regression or part.task.variant == "one-class":
        return (compute_libsvm_alpha(part, support, coef.ravel()),)
    found = tuple(_iter_pair_points(part, support, coef))
    if part.task.kernel != "linear":
        return found
    weights = as_dense(estimator.coef_) * (1.0 if len(found) == 1 else -1.0)  # of pairs, f is positive for the first
    return tuple(replace(point, w=w) for point, w in zip(found, weights, strict=True))


def _iter_pair_points(part: BenchmarkMachine, support: NDArray[np.int64], coef: FloatArray) -> Iterator[Point]:
    """LIBSVM keeps a vector's coefficient against each other class in a row, its own class left out."""
    classes = np.unique(part.y)
    whole = np.zeros((len(classes) - 1, len(part.y)))
    whole[:, support] = coef
    task = replace(part.task, estimator=None)
    for (one, other), (rows, target) in zip(combinations(range(len(classes)), 2), iter_machine_rows(part), strict=True):
        values = np.where(target < 0, whole[other - 1, rows], whole[one, rows])
        yield compute_libsvm_alpha(
            BenchmarkMachine(task, part.X[rows], target, part.gamma), np.arange(len(rows)), values
        )
