"""Split the active samples into folds, by scikit-learn's splitters or as the caller says (`build_folds`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError
from qpsvm.machines import Problem
from qpsvm.many.grid.scorers import get_target

#: Number of valid seeds of NumPy's older generator, which scikit-learn's splitters use.
N_SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows, as indices among the active samples."""

    train: IntArray
    test: IntArray


def build_folds(problem: Problem, folds: Any, shuffle: bool, seed: int | None) -> list[Fold]:
    """Build the folds: a number of them, the caller's pairs (train, test), or those of a scikit-learn splitter.

    A number is split by `StratifiedKFold`, or `KFold` for a regression. Raises DataError, ParameterError,
    ParameterTypeError.
    """
    target = get_target(problem)
    labels = target[problem.active_rows]
    has_classes = problem.samples.classes is not None
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        _check_draw(int(folds), shuffle, seed)
        return list(draw_folds(len(labels), labels if has_classes else None, None, int(folds), shuffle, seed))
    if shuffle or seed is not None:
        raise ParameterError("shuffle and seed belong to a number of folds; what is given otherwise is taken as it is")
    pairs = _split_by(folds, problem.n, target) if hasattr(folds, "split") and not isinstance(folds, str) else folds
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ParameterTypeError(
            f"folds must be a number, pairs (train, test) of row numbers, or one of scikit-learn's splitters, "
            f"got {format_value(folds)}"
        )
    active_index = np.full(problem.n, -1)  # of each row; −1 for weight 0
    active_index[problem.active_rows] = np.arange(len(problem.active_rows))
    fold_list = [_read_fold(problem, active_index, pair) for pair in pairs]
    if not fold_list:
        raise ParameterError("folds is empty: give at least one pair (train, test) of row numbers")
    for k, fold in enumerate(fold_list):
        if has_classes and len(np.unique(labels[fold.train])) < 2:
            raise DataError(f"the rows that train fold {k} are all of one class")
    return fold_list


def _split_by(splitter: Any, n: int, target: NDArray[Any]) -> list[Any]:
    """Return the pairs (train, test) of a scikit-learn splitter. Raises ParameterError."""
    try:
        return list(splitter.split(np.zeros((n, 1)), target))
    except ValueError as error:
        raise ParameterError(
            f"folds={format_value(splitter)} cannot split these samples: {error} If it needs groups, give folds its "
            "pairs, list(splitter.split(X, y, groups))"
        ) from error


def _check_draw(n_folds: int, shuffle: bool, seed: int | None) -> None:
    """Check the arguments of a number of folds. Raises ParameterError."""
    if n_folds < 2:
        raise ParameterError(f"folds must be at least 2, got {n_folds}")
    if seed is not None and not shuffle:
        raise ParameterError("a seed has no effect without shuffle=True")
    if seed is not None and (not isinstance(seed, (int, np.integer)) or not 0 <= seed < N_SEEDS):
        raise ParameterError(f"seed must be a whole number from 0 to 2³² − 1, got {format_value(seed)}")


def draw_folds(
    n: int, labels: NDArray[Any] | None, groups: NDArray[Any] | None, n_folds: int, shuffle: bool, seed: int | None,
    unit: str = "sample",
) -> Iterator[Fold]:  # fmt: skip
    """Draw folds of n rows by scikit-learn: without dividing groups if there are any, else stratified by labels.

    Raises DataError if there are too few rows, of a class or in all, or too few groups; a message calls a row `unit`.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if groups is not None:
        n_smallest = len(np.unique(groups))
        subject = f"there are {n_smallest} groups"
    elif labels is not None:
        label, n_smallest = find_smallest_class(labels)
        subject = f"the class {label} has {describe_active(n_smallest, unit)}"
    else:
        n_smallest = n
        subject = f"there are {describe_active(n, unit)}"
    if n_smallest < n_folds:
        hint = f"; {n_smallest} folds are the most" if n_smallest >= 2 else ""
        raise DataError(f"{subject}, too few for {n_folds} folds, each of which needs one{hint}")
    if groups is not None:
        splitter = GroupKFold(n_folds)
    else:
        splitter = (KFold if labels is None else StratifiedKFold)(n_folds, shuffle=shuffle, random_state=seed)
    return (Fold(train, test) for train, test in splitter.split(np.zeros((n, 1)), labels, groups))


def find_smallest_class(labels: NDArray[Any]) -> tuple[Any, int]:
    """Return the class with the fewest rows, and their number."""
    classes, counts = np.unique(labels, return_counts=True)
    k = int(counts.argmin())
    return classes[k], int(counts[k])


def describe_active(count: int, unit: str) -> str:
    """Describe a number of active rows, or samples."""
    if count == 1:
        return f"1 {unit} that takes part"
    return f"{count} {unit}s that take part"


def _read_fold(problem: Problem, active_index: IntArray, pair: Any) -> Fold:
    """Return a pair of the caller's row numbers, or masks, as indices among the active samples; see `build_folds`."""
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise ParameterTypeError(f"a fold must be a pair (train, test) of row numbers, got {format_value(pair)}")
    parts = []
    for rows, name in zip(pair, ("train", "test"), strict=True):
        index = np.asarray(rows)
        if index.dtype == bool and index.shape == (problem.n,):
            index = np.flatnonzero(index)
        if index.ndim != 1 or not len(index) or index.dtype.kind not in "iu":
            raise DataError(
                f"the {name} rows of a fold must be a vector of at least one row number, got {format_value(rows)}"
            )
        if index.min() < 0 or index.max() >= problem.n:
            raise DataError(f"the {name} rows of a fold go from {index.min()} to {index.max()}; X has {problem.n} rows")
        parts.append(active_index[index[active_index[index] >= 0]])
    train, test = parts
    if len(common := np.intersect1d(train, test)):
        raise DataError(f"row {problem.active_rows[common[0]]} of a fold trains and is tested")
    if len(np.unique(train)) < len(train):
        raise DataError("a row trains twice in a fold: give it the weight 2 instead")
    return Fold(train, test)
