"""Rows that do not train: which they are, and the same rows of the data as a problem takes them.

Rows of weight 0 neither train nor are tested. Where columns are standardised, that is by the rows that train.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError
from qpsvm.data.files import Table
from qpsvm.faces.cli.data import Sample, rows_of, source
from qpsvm.faces.cli.data_files import in_words, moments_of, standardised_by
from qpsvm.many.grid.scoring import SEEDS, Fold

#: Of the draw of rows, where no seed is given: the same command prints the same.
SEED = 0
#: A whole part of a hundred that is taken for a share is meant as per cent.
PER_CENT = 100.0


def share(text: str) -> float:
    """A share of the rows: more than none, and less than all. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0.0 < value < 1.0:
        return value
    hint = f"; {text} per cent are {value / PER_CENT:g}" if 1.0 < value < PER_CENT else ""
    raise argparse.ArgumentTypeError(f"expected a share between 0 and 1, such as 0.25, got {text!r}{hint}")


def fold_count(text: str) -> int:
    """A number of folds. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"expected a whole number of folds, 2 or more, got {text!r}")
    return int(text)


def seed(text: str) -> int:
    """A number that a random draw begins from. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) >= SEEDS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {SEEDS - 1}, got {text!r}")
    return int(text)


def held_out(sample: Sample, part: float, seeded: int) -> Fold:
    """A share of the rows, drawn at random: of each class in proportion; of a ranking with groups, whole groups.

    Raises DataError.
    """
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

    rows, labels, groups = _drawn_from(sample)
    _check_share(labels, groups, part, len(rows))
    settings: dict[str, Any] = {"n_splits": 1, "test_size": part, "random_state": seeded}
    if groups is not None:
        splitter = GroupShuffleSplit(**settings)
    else:
        splitter = ShuffleSplit(**settings) if labels is None else StratifiedShuffleSplit(**settings)
    train, test = next(splitter.split(rows, labels, groups))
    if labels is not None:
        _check_classes(labels, train, test, part)
    return Fold(np.sort(rows[train]), np.sort(rows[test]))


def folds(sample: Sample, count: int, seeded: int) -> Iterator[Fold]:
    """So many folds, drawn at random: of each class in proportion; of a ranking with groups, whole groups.

    Raises DataError.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    rows, labels, groups = _drawn_from(sample)
    what, fewest = f"the file has {_rows(len(rows))}", len(rows)
    if groups is not None:
        fewest = len(np.unique(groups))
        what = f"there are {fewest} groups"
    elif labels is not None:
        label, fewest = _smallest(labels)
        what = f"the class {label} has {_rows(fewest)}"
    if fewest < count:
        more = f"; {fewest} folds are the most" if fewest >= 2 else ""
        raise DataError(f"{what}, too few for {count} folds, each of which needs one{more}")
    if groups is not None:
        splitter = GroupKFold(count)
    else:
        splitter = (KFold if labels is None else StratifiedKFold)(count, shuffle=True, random_state=seeded)
    return (Fold(rows[train], rows[test]) for train, test in splitter.split(rows, labels, groups))


def parts(sample: Sample, split: Fold, options: argparse.Namespace) -> tuple[Sample, Sample]:
    """The rows that train and those that are tested, both standardised by the first where that is asked for."""
    train, test = some_rows(sample, split.train), some_rows(sample, split.test)
    if not options.standardise:
        return train, test
    name = in_words(source(options.file))
    mean, scale = moments_of(train.table.X, name)
    first, second = (replace(part, table=standardised_by(part.table, mean, scale, name)) for part in (train, test))
    return first, second


def some_rows(sample: Sample, rows: IntArray) -> Sample:
    """The same data with some of its rows only, ascending, which are copied where they are in memory."""
    table, y = sample.table, sample.y
    beside = (None if each is None else each[rows] for each in (table.y, table.groups, table.weights))
    labels, groups, weights = beside
    chosen = Table(rows_of(table.X, rows), labels, table.encoding, table.dropped, table.notes, groups, weights)
    return replace(sample, table=chosen, y=None if y is None else y[rows])


def _drawn_from(sample: Sample) -> tuple[IntArray, NDArray[Any] | None, NDArray[Any] | None]:
    """The rows that take part, and their labels and groups where these say how to draw them."""
    weights = sample.table.weights
    rows = np.arange(sample.table.X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    labels = sample.labels[rows] if sample.learnt == "labels" else None
    groups = sample.table.groups if sample.learnt == "ranks" else None
    return rows, labels, None if groups is None else groups[rows]


def _smallest(labels: NDArray[Any]) -> tuple[Any, int]:
    classes, counts = np.unique(labels, return_counts=True)
    k = int(counts.argmin())
    return classes[k], int(counts[k])


def _rows(count: int) -> str:
    return "1 row that takes part" if count == 1 else f"{count} rows that take part"


def _check_share(labels: NDArray[Any] | None, groups: NDArray[Any] | None, part: float, n: int) -> None:
    """That both sides get a row, or one of each class, or a group."""
    if labels is not None:
        label, fewest = _smallest(labels)
        if fewest < 2:
            raise DataError(f"the class {label} has {_rows(fewest)}, and one is to train and another to be tested")
    least = 1 if labels is None else 2
    units, what = (n, "rows") if groups is None else (len(np.unique(groups)), "groups")
    tested = int(np.ceil(part * units))
    if min(tested, units - tested) < least:
        each = " of each class" if labels is not None else ""
        raise DataError(
            f"a share of {part:g} of {units} {what} leaves {units - tested} to train and {tested} to be tested, and "
            f"both sides need one{each}: take another share"
        )


def _check_classes(labels: NDArray[Any], train: IntArray, test: IntArray, part: float) -> None:
    for label in np.unique(labels):
        count = int((labels == label).sum())
        for rows, done, way in ((train, "trains", "smaller"), (test, "is tested", "larger")):
            if not (labels[rows] == label).any():
                raise DataError(
                    f"the class {label} has {_rows(count)}, and with a share of {part:g} none of them {done}: take a "
                    f"{way} share, or --cv {min(count, 5)}"
                )
