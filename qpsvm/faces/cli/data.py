"""Read the data file of a command, and describe it on standard output (`read_dataset`, `Dataset`)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import join_names
from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.files import EncodedTable, StandardInput, describe_columns, read_table
from qpsvm.data.files.sheet import as_integers
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select_rows
from qpsvm.faces.cli.data_files import DataSource, describe_source, find_stored_files, read_stored
from qpsvm.faces.cli.lists import BALANCED
from qpsvm.faces.cli.problem_options import (
    VARIANTS,
    LearningTarget,
    build_problem,
    build_text_format,
    choose_missing_policy,
    choose_target_kind,
    refuse_options,
)
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.machines import Problem, registry
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult

#: Number of classes whose sizes are printed.
SHOWN_CLASSES = 6
#: Mean number of rows per class below which labels are not taken for classes.
MIN_ROWS_PER_CLASS = 2.0
#: Number of integer classes above which a note says that they are treated as classes.
MANY_INTEGER_CLASSES = 20
#: The names of the all-in-one machines, as text.
ALL_IN_ONE_NAMES = join_names(tuple(registry.ALL_IN_ONE))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data file in the form that a problem takes.

    y (n,): The labels of the file, or −1 and +1 with `--positive`; numbers; None without a target.
    classes (2,) or None: With `--positive`, the names of −1 and +1.
    against or None: The label that `--positive` sets against several others, as text.
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
        if self.is_multiclass and options.variant not in registry.ALL_IN_ONE:
            raise ParameterError(
                f"this command needs a single machine, but there are {len(self.list_labels()[0])} classes: train one "
                f"against all others with --positive LABEL, such as --positive {self.list_labels()[0][0]}; solve, "
                f"cross-validate and compare accept all of them, and --variant {ALL_IN_ONE_NAMES} trains them in one "
                "program"
            )
        X = self.table.X
        y = self.y
        groups = self.table.groups
        weights = self.table.weights
        class_weights = build_class_weights(options.class_weight, self.list_labels)
        if rows is not None:
            X = take_rows(X, rows)
            y, groups, weights = (None if each is None else each[rows] for each in (y, groups, weights))
        return build_problem(X, y, options, groups, weights, class_weights)

    @property
    def is_multiclass(self) -> bool:
        """Whether there are more than two classes to learn; False for labels on workers, which are not counted."""
        return self.target_kind == "labels" and isinstance(self.y, np.ndarray) and len(np.unique(self.y)) > 2

    def list_labels(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """List the labels as in the file, and as passed to the problem: (k,) each."""
        if self.classes is not None:
            return self.classes, np.array([-1, 1])
        y: Any = self.y
        labels = np.unique(np.asarray(y.unique() if hasattr(y, "unique") else y))  # `unique` runs on the workers
        return labels, labels

    def build_model(self, result: SVMResult, problem: Problem) -> Model:
        """Build the model. It predicts the labels of the file, and stores how a file is encoded as features."""
        classes = result.model.classes if self.classes is None else self.classes
        metadata = {**result.model.metadata, "encoding": self.table.encoding.to_json(), "learnt": self.target_kind}
        if self.against is not None:
            metadata["positive"] = self.against
        if (quantile := getattr(problem, "quantile", None)) is not None:
            metadata["quantile"] = quantile
        return replace(result.model, classes=None if classes is None else as_file_labels(classes), metadata=metadata)


def build_class_weights(
    choices: Sequence[Any] | None, list_labels: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
) -> dict[Any, float] | str | None:
    """Build the class weights of `--class-weight`, by the labels that are passed to the problem.

    choices: Of the user: "balanced", or labels with their weights.
    list_labels: Returns the labels as in the file, and as passed to the problem: (k,) each.
    """
    if not choices:
        return None
    if BALANCED in choices:
        if len(choices) > 1:
            raise ParameterError("--class-weight balanced sets the weights of all classes: leave the other weights out")
        return BALANCED
    weights: dict[Any, float] = {}
    labels, keys = list_labels()
    for label, weight in choices:
        matches = match_label(labels, label)
        if not matches.any():
            raise UnknownOptionError(
                f"no label {label!r} for --class-weight; {describe_nearest(label, map(str, labels))}"
            )
        key = keys[matches].tolist()[0]
        if key in weights:
            raise ParameterError(f"--class-weight gives two weights for {label}: leave one of them out")
        weights[key] = float(weight)
    return weights


def as_file_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels as in files: integers if all are whole."""
    return as_integers(classes) if classes.dtype.kind == "f" else classes


def parse_source(name: str | Sequence[str]) -> DataSource:
    """Return the data source of a command: a file, - for standard input, or several files."""
    names = (name,) if isinstance(name, str) else tuple(name)
    if len(names) != 1:
        return names
    return StandardInput() if names[0] == "-" else names[0]


def take_rows(X: Any, rows: IntArray) -> Any:
    """Select rows of samples, given in ascending order; rows that are not in memory stay on disk."""
    if not isinstance(X, RowSource):
        return X[rows]
    return X if len(rows) == X.n else select_rows(X, rows)


def read_dataset(options: argparse.Namespace, out: TextIO | None = None, raw: bool = False) -> Dataset:
    """Read the data file and describe its content, by default on standard output.

    raw: Leave the columns as in the file, to be encoded after the rows are split.
    """
    start = time.perf_counter()
    target_kind = VARIANTS[options.variant]._target_kind
    _check_variant_options(options)
    source = parse_source(options.file)
    table = _read_source(source, options, raw)
    if options.positive is not None and table.y is not None:
        dataset = _set_against_rest(table, table.y, options.positive)
    else:
        dataset = Dataset(table, table.y, target_kind=target_kind)
    if table.dropped:
        dropped = f"; {table.dropped} rows with missing values left out"
    else:
        dropped = ""
    n, d = table.X.shape
    print(f"{describe_source(source)}: {n} rows x {d} features; {_describe_target(dataset)}{dropped}", file=out)
    for note in table.notes:
        print(f"  note        {note}", file=out)
    if not raw:
        print_columns(table, out)
    if options.verbose:
        print(f"  read in     {time.perf_counter() - start:.2f} s", file=out)
    if target_kind == "labels":
        _check_classes(dataset, describe_source(source), out)
    return dataset


def _check_variant_options(options: argparse.Namespace) -> None:
    """Refuse options of the data that the variant has no use for. Raises ParameterError."""
    target_kind = VARIANTS[options.variant]._target_kind
    owners = (
        ("positive", "labels", "two-class machines"),
        ("class_weight", "labels", "two-class machines"),
        ("groups", "ranks", "a ranking"),
    )
    for option, required_kind, owner in owners:
        if getattr(options, option) and target_kind != required_kind:
            flag = f"--{option.replace('_', '-')}"
            raise ParameterError(
                f"{flag} belongs to {owner}, but the variant is {options.variant}: leave {flag} out, or choose another "
                "variant"
            )
    for flag, value in (("--weights", options.weights), ("--class-weight", options.class_weight)):
        if value and options.variant == "hard":
            raise ParameterError(f"{flag} has no effect on a hard margin, which has no slack: leave it out")


def _read_source(source: DataSource, options: argparse.Namespace, raw: bool) -> EncodedTable:
    """Read a file, several files, or standard input; rows that do not fit into memory stay in their files."""
    stream = getattr(options, "stream", False)
    stored = find_stored_files(source, stream)
    if stored is not None and (stream or not stored.is_small_table):
        with Ticker(f"reading {stored.name}"):
            return read_stored(stored, options, raw)
    content: Any = source
    if stored is not None:
        refuse_options(options, ["encoding"], f"is for text files, and {stored.name} is not one: leave it out")
        content = next(stored.iter_tables())
    return read_table(
        content,
        target=options.target, drop=options.drop, standardise=options.standardise and not raw,
        target_kind=choose_target_kind(options), groups=options.groups, weights=options.weights, keep=options.keep,
        date=options.date, missing=choose_missing_policy(options), text_format=build_text_format(options), raw=raw,
    )  # fmt: skip


def print_columns(table: EncodedTable, out: TextIO | None = None) -> None:
    """Print how each column was interpreted, if columns have names."""
    for line in describe_columns(table.column_summaries) if table.column_summaries else ():
        print(f"  {line}", file=out)


def _describe_target(dataset: Dataset) -> str:
    """Describe the target, for the first line that is printed."""
    y = dataset.y
    groups = dataset.table.groups
    if dataset.target_kind == "none" or y is None:
        return "no target needed" if y is None else "the target is not used"
    if dataset.target_kind != "labels":
        if groups is None or dataset.target_kind != "ranks":
            within = ""
        else:
            within = f", {len(np.unique(groups))} groups"
        return f"target from {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}{within}"
    classes, counts = np.unique(dataset.labels, return_counts=True)
    shown = zip(classes[:SHOWN_CLASSES], counts[:SHOWN_CLASSES], strict=True)
    sizes = ", ".join(f"{label}: {count}" for label, count in shown)
    return f"labels {sizes}{', ...' if len(classes) > SHOWN_CLASSES else ''}"


def _check_classes(dataset: Dataset, name: object, out: TextIO | None) -> None:
    """Refuse a single label, and labels that are not classes: fractions, or nearly as many distinct labels as rows.

    Print a note if there are so many integer labels that they may be numbers. Raises DataError.
    """
    classes, counts = np.unique(dataset.labels, return_counts=True)
    if len(classes) == 1:
        raise DataError(
            f"{name}: the target has the single label {classes[0]!s} in {counts[0]} rows, but two classes are needed: "
            "check the file, name another column with --target, or detect novelties with --variant one-class"
        )
    if len(classes) <= 2:
        return
    has_fractions = classes.dtype.kind == "f"
    if not has_fractions and float(counts.mean()) >= MIN_ROWS_PER_CLASS:
        if len(classes) > MANY_INTEGER_CLASSES and classes.dtype.kind in "iu":
            note = f"{len(classes)} numbers are treated as classes: for a quantity, use --variant epsilon-svr"
            print(f"  note        {note}", file=out)
        return
    if has_fractions:
        what = "fractions"
    else:
        what = f"{len(classes)} labels in {len(dataset.labels)} rows"
    is_numeric = classes.dtype.kind in "iuf"
    if is_numeric:
        hint = "; for a numeric target, use a regression, such as --variant epsilon-svr"
    else:
        hint = ""
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
    is_positive = match_label(y, positive)
    if not is_positive.any():
        raise UnknownOptionError(f"no label {positive!r}; {describe_nearest(positive, map(str, np.unique(y)))}")
    label = y[is_positive][0]
    rest = np.unique(y[~is_positive])
    signs = np.where(is_positive, 1, -1)
    if len(rest) == 1:
        return Dataset(table, signs, np.array([rest[0], label], dtype=y.dtype))
    name = str(label)
    return Dataset(table, signs, np.array([f"not {name}", name]), name, positive=label.item())
