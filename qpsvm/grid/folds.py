"""Folds: which samples train and which are tested, and the decision values of the tested ones.

All folds take their parts of one Gram matrix, where that fits: the part among the rows that train, and that between
these and the tested ones. So testing evaluates no kernel value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.remembered import remembered
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.arrays.words import shown
from qpsvm.errors import DataError, ParameterError, ParameterTypeError, TooLargeError
from qpsvm.grid.scoring import target_of
from qpsvm.kernels.functions import Precomputed
from qpsvm.kernels.gram import CACHE_ROWS, KernelGram
from qpsvm.problems import Problem
from qpsvm.problems.replaced import restricted
from qpsvm.resources.memory import check_memory
from qpsvm.result import SVMResult

#: The matrices that a fold needs at the same time: that of all samples, its part, and what solvers make of that.
MATRICES = 3
#: Seeds that NumPy's older generator, which scikit-learn's splitters use, can begin from.
SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that train and those that are tested, among the samples that take part."""

    train: IntArray
    test: IntArray


def folds_of(problem: Problem, folds: Any, shuffle: bool, seed: int | None) -> list[Fold]:
    """The folds asked for; where their number is given, scikit-learn's `StratifiedKFold`, or `KFold` of a regression.

    Raises ParameterTypeError, ParameterError, DataError.
    """
    target, two_classes = target_of(problem), problem.samples.classes is not None
    labels = target[problem.rows]
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        return _numbered(labels, two_classes, int(folds), shuffle, seed)
    if shuffle or seed is not None:
        raise ParameterError("shuffle and seed belong to a number of folds; what is given otherwise is taken as it is")
    splits = hasattr(folds, "split") and not isinstance(folds, str)
    pairs = folds.split(np.zeros((problem.n, 1)), target) if splits else folds
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ParameterTypeError(
            f"folds must be a number, pairs (train, test) of row numbers, or one of scikit-learn's splitters, "
            f"got {shown(folds)}"
        )
    found = [_given(problem, pair) for pair in pairs]
    for k, fold in enumerate(found):
        if two_classes and len(np.unique(labels[fold.train])) < 2:
            raise DataError(f"the rows that train fold {k} are all of one class")
    if not found:
        raise ParameterError("folds is empty: give at least one pair (train, test) of row numbers")
    return found


def _numbered(labels: NDArray[Any], stratified: bool, folds: int, shuffle: bool, seed: int | None) -> list[Fold]:
    from sklearn.model_selection import KFold, StratifiedKFold

    if folds < 2:
        raise ParameterError(f"folds must be at least 2, got {folds}")
    if seed is not None and not shuffle:
        raise ParameterError("a seed has no effect without shuffle=True")
    if seed is not None and (not isinstance(seed, (int, np.integer)) or not 0 <= seed < SEEDS):
        raise ParameterError(f"seed must be a whole number from 0 to 2³² − 1, got {shown(seed)}")
    smallest = int(np.unique(labels, return_counts=True)[1].min()) if stratified else len(labels)
    if smallest < folds:
        whose = "the smaller class has" if stratified else "there are"
        raise DataError(f"{whose} {smallest} samples that take part, too few for {folds} folds")
    kind = StratifiedKFold if stratified else KFold
    split = kind(folds, shuffle=shuffle, random_state=seed).split(np.zeros((len(labels), 1)), labels)
    return [Fold(train, test) for train, test in split]


def _given(problem: Problem, pair: Any) -> Fold:
    """A pair of the caller's row numbers, or masks, as places among the samples that take part."""
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise ParameterTypeError(f"a fold must be a pair (train, test) of row numbers, got {shown(pair)}")
    parts = []
    for rows, name in zip(pair, ("train", "test"), strict=True):
        index = np.asarray(rows)
        if index.dtype == bool and index.shape == (problem.n,):
            index = np.flatnonzero(index)
        if index.ndim != 1 or not len(index) or index.dtype.kind not in "iu":
            raise DataError(f"the {name} rows of a fold must be a vector of at least one row number, got {shown(rows)}")
        if index.min() < 0 or index.max() >= problem.n:
            raise DataError(f"the {name} rows of a fold go from {index.min()} to {index.max()}; X has {problem.n} rows")
        place = np.full(problem.n, -1)
        place[problem.rows] = np.arange(len(problem.rows))
        parts.append(place[index][place[index] >= 0])
    train, test = parts
    if len(np.intersect1d(train, test)):
        raise DataError(f"row {problem.rows[np.intersect1d(train, test)[0]]} of a fold trains and is tested")
    if len(np.unique(train)) < len(train):
        raise DataError("a row trains twice in a fold: give it the weight 2 instead")
    return Fold(train, test)


def share_gram(problem: Problem) -> None:
    """Make the Gram matrix that all folds take their parts of, where it is the kernel's own and fits."""
    space = problem.space
    if space.is_linear or space.n > CACHE_ROWS or not space.is_plain or not isinstance(space.gram, KernelGram):
        return
    try:
        check_memory(MATRICES * space.n, space.n, "the Gram matrices of the folds")
    except TooLargeError:
        return
    space.gram.dense()


class Part:
    """The problem of one fold, and the tested samples as it sees them.

    problem: Over all samples.
    """

    def __init__(self, problem: Problem, fold: Fold) -> None:
        self.problem, self.fold, self.space = restricted(problem, fold.train), fold, problem.space
        rows = problem.rows
        self.train_rows, self.test_rows = rows[fold.train], rows[fold.test]
        self.target = target_of(problem)[self.test_rows]
        X = problem.samples.X[self.test_rows]
        self.X = X[:, self.train_rows] if isinstance(problem.kernel, Precomputed) else X

    @remembered
    def _between(self) -> FloatArray | None:
        """K between the tested rows and those that train, (t, k), where the whole is there."""
        gram = None if self.space.is_linear else self.space.gram
        kept = gram.kept if isinstance(gram, KernelGram) and self.space.is_plain else None
        return None if kept is None else kept[self.fold.test[:, None], self.fold.train]

    def values(self, results: Sequence[SVMResult]) -> FloatArray:
        """f at the tested samples: (t, r) for r results."""
        K = self._between
        columns = [None if K is None else _coefficients(result) for result in results]
        known = [j for j, column in enumerate(columns) if column is not None]
        values = np.empty((len(self.fold.test), len(results)))
        if known:
            assert K is not None
            coef = np.column_stack([column for column in columns if column is not None])
            values[:, known] = K @ coef + [results[j].b for j in known]
        for j in set(range(len(results))) - set(known):
            values[:, j] = results[j].decision_function(self.X)
        return values


def _coefficients(result: SVMResult) -> FloatArray | None:
    """c of f = Kc + b over the samples that train, (k,); None where the model has others than those with c ≠ 0."""
    support = np.flatnonzero(result.coef)
    if result.model.w is not None or len(support) != len(result.model.coef):
        return None
    coef = np.zeros(len(result.coef))
    coef[support] = result.model.coef
    return coef
