"""Split the rows of a data file into training and test rows (`draw_held_out`, `draw_dataset_folds`, `split_dataset`).

Rows of weight 0 are used neither for training nor for testing. All that is learnt of the columns (categories, imputed
values, the day from which dates are counted, means and standard deviations) is learnt from the training rows alone.
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
from qpsvm.data.files import RawTable
from qpsvm.faces.cli.data import Dataset, parse_source, take_rows
from qpsvm.faces.cli.data_files import compute_stored_moments, describe_source, standardise_by
from qpsvm.many.grid.folds import Fold, describe_active, draw_folds

#: Default seed of the draw; it is fixed, so that the same command prints the same output.
DEFAULT_SEED = 0


def draw_held_out(dataset: Dataset, test_share: float, seed: int) -> Fold:
    """Draw test rows at random, stratified by class; a ranking with groups is split into whole groups."""
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

    rows, labels, groups = _list_active_rows(dataset)
    settings: dict[str, Any] = {"n_splits": 1, "test_size": test_share, "random_state": seed}
    if groups is not None:
        splitter = GroupShuffleSplit(**settings)
    else:
        if labels is None:
            splitter = ShuffleSplit(**settings)
        else:
            splitter = StratifiedShuffleSplit(**settings)
    try:
        train, test = next(splitter.split(rows, labels, groups))
    except ValueError as error:
        of_each_class = "" if labels is None else " of each class"
        raise DataError(
            f"training and test rows both need a row{of_each_class}: use a share other than {test_share:g} ({error})"
        ) from error
    if labels is not None:
        _check_classes_on_both_sides(labels, train, test, test_share)
    return Fold(np.sort(rows[train]), np.sort(rows[test]))


def draw_dataset_folds(dataset: Dataset, count: int, seed: int) -> Iterator[Fold]:
    """Draw folds at random, stratified by class; a ranking with groups is split into whole groups."""
    rows, labels, groups = _list_active_rows(dataset)
    folds = draw_folds(len(rows), labels, groups, count, shuffle=True, seed=seed, unit="row")
    return (Fold(rows[fold.train], rows[fold.test]) for fold in folds)


def split_dataset(dataset: Dataset, split: Fold, options: argparse.Namespace) -> tuple[Dataset, Dataset]:
    """Return the training and the test rows of a split, encoded and, if requested, standardised by the former."""
    train, test = restrict_rows(dataset, split.train), restrict_rows(dataset, split.test)
    if isinstance(dataset.table, RawTable):
        tables = dataset.table.encode_split(split.train, split.test)
        train, test = (replace(part, table=table) for part, table in zip((train, test), tables, strict=True))
    if not options.standardise:
        return train, test
    name = describe_source(parse_source(options.file))
    mean, scale = compute_stored_moments(train.table.X, name)
    train, test = (replace(part, table=standardise_by(part.table, mean, scale, name)) for part in (train, test))
    return train, test


def restrict_rows(dataset: Dataset, rows: IntArray) -> Dataset:
    """Restrict the data to some rows, in ascending order; rows in memory are copied."""
    table = dataset.table
    y, table_y, groups, weights = (
        None if column is None else column[rows] for column in (dataset.y, table.y, table.groups, table.weights)
    )
    restricted = replace(table, X=take_rows(table.X, rows), y=table_y, groups=groups, weights=weights)
    if isinstance(restricted, RawTable) and restricted.columns is not None:
        restricted = replace(restricted, columns=restricted.columns.take_rows(rows))
    return replace(dataset, table=restricted, y=y)


def _list_active_rows(dataset: Dataset) -> tuple[IntArray, NDArray[Any] | None, NDArray[Any] | None]:
    """Return the rows of positive weight, with their labels if they are classes, and the groups of a ranking."""
    weights = dataset.table.weights
    if weights is None:
        rows = np.arange(dataset.table.X.shape[0])
    else:
        rows = np.flatnonzero(weights > 0)
    labels = dataset.labels[rows] if dataset.target_kind == "labels" else None
    groups = dataset.table.groups if dataset.target_kind == "ranks" else None
    return rows, labels, None if groups is None else groups[rows]


def _check_classes_on_both_sides(labels: NDArray[Any], train: IntArray, test: IntArray, test_share: float) -> None:
    """Check that every class has training rows and test rows. Raises DataError."""
    for label, count in zip(*np.unique(labels, return_counts=True), strict=True):
        for part, verb, remedy in ((train, "trains", "smaller"), (test, "is tested", "larger")):
            if not (labels[part] == label).any():
                raise DataError(
                    f"the class {label} has {describe_active(count, 'row')}, and with a share of {test_share:g} none "
                    f"of them {verb}: use a {remedy} share, or --cv {min(count, 5)}"
                )
