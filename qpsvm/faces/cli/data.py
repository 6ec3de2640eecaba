"""Read data files for the command line, and split them (`read_dataset`, `draw_held_out`, `draw_dataset_folds`).

Rows of weight 0 are used neither for training nor for testing. Categories, imputed values, first days, means and
standard deviations are computed from the training rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from qpsvm.backends.abilities import join_names
from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.files import EncodedTable, RawTable, StandardInput, describe_columns, read_table
from qpsvm.data.files.sheet import as_integers
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select_rows
from qpsvm.faces.cli.data_files import (
    DataSource,
    compute_stored_moments,
    describe_source,
    find_stored_files,
    read_stored,
    standardise_by,
)
from qpsvm.faces.cli.lists import BALANCED
from qpsvm.faces.cli.problem_options import (
    VARIANTS,
    LearningTarget,
    build_problem,
    build_text_format,
    choose_missing,
    choose_target,
    refuse_options,
)
from qpsvm.faces.cli.terminal import Ticker
from qpsvm.machines import Problem, registry
from qpsvm.many.grid.folds import Fold, describe_active, draw_folds
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult

#: Number of classes whose sizes are printed.
SHOWN_CLASSES = 6
#: Mean number of rows per class below which labels are not classes; number of integer classes above which a note is
#: printed.
FEWEST_ROWS, MANY_NUMBERS = 2.0, 20
#: The names of the all-in-one machines, as text.
ALL_IN_ONE_NAMES = join_names(tuple(registry.ALL_IN_ONE))
#: Default seed of the draw of rows: the same command prints the same output.
SEED = 0


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data file in the form that a problem takes.

    y (n,): The labels of the file, or −1 and +1 with `--positive`; numbers; None without a target.
    classes (2,) or None: With `--positive`, the names of −1 and +1.
    against or None: The label that `--positive` sets against several others.
    target_kind: How the machine uses y.
    positive: The same label as in the file: a number, or text.
    """

    table: EncodedTable
    y: Any
    classes: NDArray[Any] | None = None
    against: str | None = None
    target_kind: LearningTarget = "labels"
    positive: Any = None

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row as in the file: (n,)."""
        return np.asarray(self.y if self.classes is None else self.classes[(self.y > 0).astype(int)])

    def build_problem(self, options: argparse.Namespace, rows: IntArray | None = None) -> Problem:
        """Build the problem that the options describe, over all rows or some. Raises ParameterError."""
        if self.is_several and options.variant not in registry.ALL_IN_ONE:
            raise ParameterError(
                f"this command needs a single machine, but there are {len(self.list_labels()[0])} classes: train one "
                f"against all others with --positive LABEL, such as --positive {self.list_labels()[0][0]}; solve, "
                f"cross-validate and compare accept all of them, and --variant {ALL_IN_ONE_NAMES} trains them in one "
                "program"
            )
        table = self.table
        factors, beside = (
            build_class_weights(options.class_weight, self.list_labels),
            (self.y, table.groups, table.weights),
        )
        if rows is None:
            return build_problem(table.X, self.y, options, *beside[1:], factors)
        y, groups, weights = (None if each is None else each[rows] for each in beside)
        return build_problem(take_rows(table.X, rows), y, options, groups, weights, factors)

    @property
    def is_several(self) -> bool:
        """Whether there are more than two classes to learn; False for labels on workers, which are not counted."""
        return self.target_kind == "labels" and isinstance(self.y, np.ndarray) and len(np.unique(self.y)) > 2

    def list_labels(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """List the labels as in the file, and as passed to the problem: (k,) each."""
        if self.classes is not None:
            return self.classes, np.array([-1, 1])
        y: Any = self.y
        known = np.unique(np.asarray(y.unique() if hasattr(y, "unique") else y))  # of a data frame on its workers
        return known, known

    def build_model(self, result: SVMResult, problem: Problem) -> Model:
        """Build the model. It predicts the labels of the file, and stores how a file is encoded as features."""
        classes = result.model.classes if self.classes is None else self.classes
        more = {} if self.against is None else {"positive": self.against}
        metadata = {
            **result.model.metadata,
            "encoding": self.table.encoding.to_json(),
            "learnt": self.target_kind,
            **more,
        }
        quantile = getattr(problem, "quantile", None)
        if quantile is not None:
            metadata["quantile"] = quantile
        return replace(result.model, classes=None if classes is None else as_file_labels(classes), metadata=metadata)


def build_class_weights(
    given: Sequence[Any] | None, list_labels: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
) -> dict[Any, float] | str | None:
    """Build the class weights of `--class-weight`, by the labels that are passed to the problem."""
    if not given or BALANCED in given:
        if given and len(given) > 1:
            raise ParameterError("--class-weight balanced sets the weights of all classes: leave the other weights out")
        return BALANCED if given else None
    found: dict[Any, float] = {}
    labels, keys = list_labels()
    for label, weight in given:
        chosen = match_label(labels, label)
        if not chosen.any():
            raise UnknownOptionError(
                f"no label {label!r} for --class-weight; {describe_nearest(label, map(str, labels))}"
            )
        key = keys[chosen].tolist()[0]
        if key in found:
            raise ParameterError(f"--class-weight gives two weights for {label}: leave one of them out")
        found[key] = float(weight)
    return found


def as_file_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels as in files: integers if all are whole."""
    return as_integers(classes) if classes.dtype.kind == "f" else classes


def parse_source(name: str | Sequence[str]) -> DataSource:
    """Return the data of a command: a file, - for standard input, or several files."""
    if isinstance(name, str) or len(name) == 1:
        only = name if isinstance(name, str) else name[0]
        return StandardInput() if only == "-" else only
    return tuple(name)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Select rows of samples, given in ascending order; rows that are not in memory stay on disk."""
    if not isinstance(X, RowSource):
        return X[rows]
    return X if len(rows) == X.n else select_rows(X, rows)


def read_dataset(options: argparse.Namespace, out: TextIO | None = None, raw: bool = False) -> Dataset:
    """Read the data file and describe its content, by default on standard output."""
    start, learns = time.perf_counter(), VARIANTS[options.variant]._target_kind
    _check_variant_options(options)
    given = parse_source(options.file)
    table = _read_source(given, options, raw)
    if options.positive is not None and table.y is not None:
        sample = _set_against_rest(table, table.y, options.positive)
    else:
        sample = Dataset(table, table.y, target_kind=learns)
    left_out = f"; {table.dropped} rows with missing values left out" if table.dropped else ""
    n, d = table.X.shape
    print(f"{describe_source(given)}: {n} rows x {d} features; {_describe_target(sample)}{left_out}", file=out)
    for note in table.notes:
        print(f"  note        {note}", file=out)
    if not raw:
        print_columns(table, out)
    if options.verbose:
        print(f"  read in     {time.perf_counter() - start:.2f} s", file=out)
    if learns == "labels":
        _check_classes(sample, describe_source(given), out)
    return sample


def _check_variant_options(options: argparse.Namespace) -> None:
    """Refuse options of the data that the variant has no use for. Raises ParameterError."""
    learns = VARIANTS[options.variant]._target_kind
    of_classes = "two-class machines"
    belongings = (("positive", "labels", of_classes), ("class_weight", "labels", of_classes),
                  ("groups", "ranks", "a ranking"))  # fmt: skip
    for option, learnt, who in belongings:
        if getattr(options, option) and learns != learnt:
            flag = f"--{option.replace('_', '-')}"
            raise ParameterError(
                f"{flag} belongs to {who}, but the variant is {options.variant}: leave {flag} out, or choose another "
                "variant"
            )
    for flag, given in (("--weights", options.weights), ("--class-weight", options.class_weight)):
        if given and options.variant == "hard":
            raise ParameterError(f"{flag} has no effect on a hard margin, which has no slack: leave it out")


def _read_source(given: Any, options: argparse.Namespace, raw: bool) -> EncodedTable:
    """Read a file, several files, or standard input; rows that do not fit into memory stay in their files."""
    stream = getattr(options, "stream", False)
    found = find_stored_files(given, stream)
    if found is not None and (stream or not found.fits_in_memory):
        with Ticker(f"reading {found.name}"):
            return read_stored(found, options, raw)
    assert found is not None or not isinstance(given, tuple)  # several files are always stored files
    if found is not None:
        refuse_options(options, ["encoding"], f"is for text files, and {found.name} is not one: leave it out")
    return read_table(
        given if found is None else next(found.iter_frames()),
        target=options.target, drop=options.drop, standardise=options.standardise and not raw,
        wanted=choose_target(options), groups=options.groups, weights=options.weights, keep=options.keep,
        date=options.date, missing=choose_missing(options), text_format=build_text_format(options), raw=raw,
    )  # fmt: skip


def print_columns(table: EncodedTable, out: TextIO | None = None) -> None:
    """Print how each column was interpreted, if columns have names."""
    for line in describe_columns(table.column_summaries) if table.column_summaries else ():
        print(f"  {line}", file=out)


def _describe_target(dataset: Dataset) -> str:
    """Describe the target, for the first line that is printed."""
    y, groups = dataset.y, dataset.table.groups
    if dataset.target_kind == "none" or y is None:
        return "no target needed" if y is None else "the target is not used"
    if dataset.target_kind != "labels":
        within = "" if groups is None or dataset.target_kind != "ranks" else f", {len(np.unique(groups))} groups"
        return f"target from {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}{within}"
    classes, counts = np.unique(dataset.labels, return_counts=True)
    pairs = list(zip(classes, counts, strict=True))
    balance = ", ".join(f"{label}: {count}" for label, count in pairs[:SHOWN_CLASSES])
    return f"labels {balance}{', ...' if len(pairs) > SHOWN_CLASSES else ''}"


def _check_classes(dataset: Dataset, name: object, out: TextIO | None) -> None:
    """Refuse labels that are not classes: fractions, or nearly as many distinct labels as rows."""
    classes, counts = np.unique(dataset.labels, return_counts=True)
    if len(classes) == 1:
        raise DataError(
            f"{name}: the target has the single label {classes[0]!s} in {counts[0]} rows, but two classes are needed: "
            "check the file, name another column with --target, or detect novelties with --variant one-class"
        )
    fractions, average = classes.dtype.kind == "f", float(counts.mean())
    if len(classes) <= 2:
        return
    if not fractions and average >= FEWEST_ROWS:
        if len(classes) > MANY_NUMBERS and classes.dtype.kind in "iu":
            said = f"{len(classes)} numbers are treated as classes: for a quantity, use --variant epsilon-svr"
            print(f"  note        {said}", file=out)
        return
    what = "fractions" if fractions else f"{len(classes)} labels in {len(dataset.labels)} rows"
    numbers = classes.dtype.kind in "iuf"
    hint = "; for a numeric target, use a regression, such as --variant epsilon-svr" if numbers else ""
    raise DataError(
        f"{name}: the target contains {what}, which are not classes: train one against all others with --positive "
        f"LABEL, such as --positive {classes[0]}{hint}"
    )


def match_label(y: NDArray[Any], label: str) -> NDArray[np.bool_]:
    """Mark the labels (n,) that equal the label that a user wrote, (n,): numbers by value, text by spelling."""
    if y.dtype.kind not in "iuf":
        return np.asarray(y.astype(str) == label)
    try:
        return np.asarray(y == float(label))
    except ValueError:
        return np.zeros(len(y), dtype=np.bool_)


def _set_against_rest(table: EncodedTable, y: NDArray[Any], positive: str) -> Dataset:
    """Put the label `positive` on the positive side, and the other label, or all others, on the negative side."""
    labels, chosen = np.unique(y), match_label(y, positive)
    if not chosen.any():
        raise UnknownOptionError(f"no label {positive!r}; {describe_nearest(positive, map(str, labels))}")
    rest = np.unique(y[~chosen])
    signs = np.where(chosen, 1, -1)
    if len(rest) == 1:
        return Dataset(table, signs, np.array([rest[0], y[chosen][0]], dtype=y.dtype))
    name = str(y[chosen][0])
    return Dataset(table, signs, np.array([f"not {name}", name]), name, positive=y[chosen][0].item())


def draw_held_out(dataset: Dataset, test_share: float, seed: int) -> Fold:
    """Draw a share of the rows at random, stratified by class; a ranking with groups is split into whole groups."""
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

    rows, labels, groups = _list_active_rows(dataset)
    settings: dict[str, Any] = {"n_splits": 1, "test_size": test_share, "random_state": seed}
    if groups is not None:
        splitter = GroupShuffleSplit(**settings)
    else:
        splitter = ShuffleSplit(**settings) if labels is None else StratifiedShuffleSplit(**settings)
    try:
        train, test = next(splitter.split(rows, labels, groups))
    except ValueError as error:
        each = "" if labels is None else " of each class"
        raise DataError(
            f"training and test rows both need a row{each}: use a share other than {test_share:g} ({error})"
        ) from error
    known = np.zeros(len(rows)) if labels is None else labels
    for label, count in zip(*np.unique(known, return_counts=True), strict=True):
        for side, done, way in ((train, "trains", "smaller"), (test, "is tested", "larger")):
            if not (known[side] == label).any():
                raise DataError(
                    f"the class {label} has {describe_active(count, 'row')}, and with a share of {test_share:g} none "
                    f"of them {done}: use a {way} share, or --cv {min(count, 5)}"
                )
    return Fold(np.sort(rows[train]), np.sort(rows[test]))


def draw_dataset_folds(dataset: Dataset, count: int, seed: int) -> Iterator[Fold]:
    """Draw folds at random, stratified by class; a ranking with groups is split into whole groups."""
    rows, labels, groups = _list_active_rows(dataset)
    found = draw_folds(len(rows), labels, groups, count, True, seed, "row")
    return (Fold(rows[fold.train], rows[fold.test]) for fold in found)


def split_dataset(dataset: Dataset, split: Fold, options: argparse.Namespace) -> tuple[Dataset, Dataset]:
    """Split into training and test rows; the encoding of columns is learnt from the training rows only."""
    train, test = restrict_rows(dataset, split.train), restrict_rows(dataset, split.test)
    if isinstance(dataset.table, RawTable):
        made = dataset.table.encode_split(split.train, split.test)
        train, test = (replace(part, table=table) for part, table in zip((train, test), made, strict=True))
    if not options.standardise:
        return train, test
    name = describe_source(parse_source(options.file))
    mean, scale = compute_stored_moments(train.table.X, name)
    first, second = (replace(part, table=standardise_by(part.table, mean, scale, name)) for part in (train, test))
    return first, second


def restrict_rows(dataset: Dataset, rows: IntArray) -> Dataset:
    """Restrict the data to some rows, in ascending order; rows in memory are copied."""
    table, y = dataset.table, dataset.y
    beside = (None if each is None else each[rows] for each in (table.y, table.groups, table.weights))
    labels, groups, weights = beside
    chosen = replace(table, X=take_rows(table.X, rows), y=labels, groups=groups, weights=weights)
    if isinstance(chosen, RawTable) and chosen.columns is not None:
        chosen = replace(chosen, columns=chosen.columns.take_rows(rows))
    return replace(dataset, table=chosen, y=None if y is None else y[rows])


def _list_active_rows(dataset: Dataset) -> tuple[IntArray, NDArray[Any] | None, NDArray[Any] | None]:
    """Return the rows of positive weight, with their labels and groups if these determine the draw."""
    weights = dataset.table.weights
    rows = np.arange(dataset.table.X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    labels = dataset.labels[rows] if dataset.target_kind == "labels" else None
    groups = dataset.table.groups if dataset.target_kind == "ranks" else None
    return rows, labels, None if groups is None else groups[rows]
