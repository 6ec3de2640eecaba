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
from benchmarks.solvers.machines import libsvm_alpha
from benchmarks.tasks import Machine
from qpsvm.base.arrays.types import as_dense

#: Of so many rows, one is held out.
HELD_OUT = 5


def fitted_part(machine: Machine) -> Machine:
    """The rows that are fitted."""
    rows = np.flatnonzero(~_held_out(machine))
    return replace(machine, X=machine.X[rows], y=machine.y[rows])


def held_out_part(machine: Machine) -> tuple[Any, FloatArray]:
    """The rows that are predicted, X (m, d) and y (m,)."""
    rows = np.flatnonzero(_held_out(machine))
    return machine.X[rows], machine.y[rows]


def _held_out(machine: Machine) -> NDArray[np.bool_]:
    return np.asarray(np.random.default_rng(0).permutation(len(machine.y)) % HELD_OUT == 0)


def rows_of(part: Machine) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Of each machine: its rows, and their target, which of two classes is −1 and +1."""
    y, everything = part.y, np.arange(len(part.y))
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


def machines_of(part: Machine) -> Iterator[Machine]:
    """Each of the machines that the estimator consists of."""
    task = replace(part.task, estimator=None)
    for rows, target in rows_of(part):
        yield Machine(task, part.X[rows], target, part.gamma)


def points_of(part: Machine, estimator: Any) -> tuple[Point, ...]:
    """What the attributes that scikit-learn gives an estimator say of each machine: whoever wrote it, read alike."""
    if part.task.estimator in ("LinearSVC", "LinearSVR"):
        weights, intercepts = np.atleast_2d(estimator.coef_), np.ravel(estimator.intercept_)
        return tuple(Point(w=w, b=float(b)) for w, b in zip(weights, intercepts, strict=True))
    support, coef = np.asarray(estimator.support_, dtype=np.int64), as_dense(estimator.dual_coef_)
    if part.is_regression or part.task.variant == "one-class":
        return (libsvm_alpha(part, support, coef.ravel()),)
    found = tuple(_pairs(part, support, coef))
    if part.task.kernel != "linear":
        return found
    weights = as_dense(estimator.coef_) * (1.0 if len(found) == 1 else -1.0)  # of pairs, f is positive for the first
    return tuple(replace(point, w=w) for point, w in zip(found, weights, strict=True))


def _pairs(part: Machine, support: NDArray[np.int64], coef: FloatArray) -> Iterator[Point]:
    """LIBSVM keeps a vector's coefficient against each other class in a row, its own class left out."""
    classes = np.unique(part.y)
    whole = np.zeros((len(classes) - 1, len(part.y)))
    whole[:, support] = coef
    task = replace(part.task, estimator=None)
    for (one, other), (rows, target) in zip(combinations(range(len(classes)), 2), rows_of(part), strict=True):
        values = np.where(target < 0, whole[other - 1, rows], whole[one, rows])
        yield libsvm_alpha(Machine(task, part.X[rows], target, part.gamma), np.arange(len(rows)), values)
