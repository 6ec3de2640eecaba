"""From the options to the samples and what is known of them, and which of the rows train.

Rows of weight 0 neither train nor are tested. Categories, what is filled in for missing values, first days, means and
deviations are those of the rows that train.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from qpsvm.backends.abilities import listed
from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, ParameterError, UnknownOptionError, nearest
from qpsvm.data.files import Raw, StandardInput, Table, explained, read_table
from qpsvm.data.files.sheet import whole
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select
from qpsvm.faces.cli.data_files import Given, as_stored, in_words, moments_of, read_stored, standardised_by
from qpsvm.faces.cli.lists import BALANCED
from qpsvm.faces.cli.options import VARIANTS, Learnt, missing_of, problem_of, target_of
from qpsvm.faces.cli.terminal import Ticker
from qpsvm.machines import Problem, registry
from qpsvm.many.grid.scoring import Fold, drawn, taking_part
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult

#: Classes whose sizes are printed.
SHOWN_CLASSES = 6
#: Rows of a class on the average, below which labels are no classes; and classes of numbers beyond which it is asked.
FEWEST_ROWS, MANY_NUMBERS = 2.0, 20
#: The machines of several classes in one program, in words.
IN_ONE = listed(tuple(registry.ALL_IN_ONE))


@dataclass(frozen=True, eq=False)
class Sample:
    """A data file as a problem takes it.

    y (n,): The file's labels, or −1 and +1 where `--positive` says which is which; numbers; None where there
        are none.
    classes (2,) or None: With `--positive`, the names of −1 and +1.
    against or None: The label that `--positive` sets against several others.
    learnt: What the machine learns of y.
    positive: The same label as the file has it: a number, or text.
    """

    table: Table
    y: Any
    classes: NDArray[Any] | None = None
    against: str | None = None
    learnt: Learnt = "labels"
    positive: Any = None

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row in words: (n,)."""
        return np.asarray(self.y if self.classes is None else self.classes[(self.y > 0).astype(int)])

    def problem(self, options: argparse.Namespace, rows: IntArray | None = None) -> Problem:
        """The problem that the options describe, over all rows or some. Raises ParameterError."""
        if self.is_several and options.variant not in registry.ALL_IN_ONE:
            raise ParameterError(
                f"this follows one machine, and here are {len(self.known()[0])} classes: set one against all others by "
                f"--positive LABEL, such as --positive {self.known()[0][0]}; solve, cross-validate and compare take "
                f"them all, and --variant {IN_ONE} has them in one program"
            )
        table = self.table
        factors, beside = class_weights(options.class_weight, self.known), (self.y, table.groups, table.weights)
        if rows is None:
            return problem_of(table.X, self.y, options, *beside[1:], factors)
        y, groups, weights = (None if each is None else each[rows] for each in beside)
        return problem_of(rows_of(table.X, rows), y, options, groups, weights, factors)

    @property
    def is_several(self) -> bool:
        """Whether there are more than two classes to learn; of labels that are elsewhere, nobody knows here."""
        return self.learnt == "labels" and isinstance(self.y, np.ndarray) and len(np.unique(self.y)) > 2

    def known(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The labels in words, and as the problem is given them: (k,) each."""
        if self.classes is not None:
            return self.classes, np.array([-1, 1])
        y: Any = self.y
        known = np.unique(np.asarray(y.unique() if hasattr(y, "unique") else y))  # of a data frame where it is
        return known, known

    def model(self, result: SVMResult, problem: Problem) -> Model:
        """The decision function. It predicts the file's own labels, and knows how a file becomes features."""
        classes = result.model.classes if self.classes is None else self.classes
        more = {} if self.against is None else {"positive": self.against}
        metadata = {**result.model.metadata, "encoding": self.table.encoding.to_json(), "learnt": self.learnt, **more}
        quantile = getattr(problem, "quantile", None)
        if quantile is not None:
            metadata["quantile"] = quantile
        return replace(result.model, classes=None if classes is None else as_written(classes), metadata=metadata)


def class_weights(
    given: Sequence[Any] | None, known: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
) -> dict[Any, float] | str | None:
    """The weights of classes as `--class-weight` says, by the labels that a problem is given."""
    if not given or BALANCED in given:
        if given and len(given) > 1:
            raise ParameterError("--class-weight balanced says it of all classes: leave the other weights out")
        return BALANCED if given else None
    found: dict[Any, float] = {}
    labels, keys = known()
    for label, weight in given:
        chosen = is_label(labels, label)
        if not chosen.any():
            raise UnknownOptionError(f"no label {label!r} for --class-weight; {nearest(label, map(str, labels))}")
        key = keys[chosen].tolist()[0]
        if key in found:
            raise ParameterError(f"--class-weight weighs {label} twice")
        found[key] = float(weight)
    return found


def as_written(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels as files have them: integers where all are whole."""
    return whole(classes) if classes.dtype.kind == "f" else classes


def source(name: str | Sequence[str]) -> Given:
    """The data of a command: a file, where - is standard input, or several."""
    if isinstance(name, str) or len(name) == 1:
        only = name if isinstance(name, str) else name[0]
        return StandardInput() if only == "-" else only
    return tuple(name)


def rows_of(X: Any, rows: IntArray) -> Any:
    """Some rows of samples, which stay where they are stored where they are not in memory; in ascending order."""
    if not isinstance(X, RowSource):
        return X[rows]
    return X if len(rows) == X.n else select(X, rows)


def read(options: argparse.Namespace, out: TextIO | None = None, raw: bool = False) -> Sample:
    """Read the data file and print what is in it, by default on standard output."""
    start = time.perf_counter()
    learns = VARIANTS[options.variant].learns
    of_classes = "machines of two classes"
    belongings = (("positive", "labels", of_classes), ("class_weight", "labels", of_classes),
                  ("groups", "ranks", "a ranking"))  # fmt: skip
    for option, learnt, who in belongings:
        if getattr(options, option) and learns != learnt:
            flag = f"--{option.replace('_', '-')}"
            raise ParameterError(
                f"{flag} belongs to {who}, and the variant here is {options.variant}: leave {flag} out, or "
                "choose another variant"
            )
    for flag, given in (("--weights", options.weights), ("--class-weight", options.class_weight)):
        if given and options.variant == "hard":
            raise ParameterError(f"{flag} has no effect on a hard margin, where no slack is paid for: leave it out")
    given = source(options.file)
    stream = getattr(options, "stream", False)
    found = as_stored(given, stream)
    if found is not None and (stream or not found.fits):
        with Ticker(f"reading {found.name}"):
            table = read_stored(found, options, raw)
    else:
        assert found is not None or not isinstance(given, tuple)  # several files are stored ones
        table = read_table(
            given if found is None else next(found.frames()),  # type: ignore[arg-type]
            target=options.target, drop=options.drop, standardise=options.standardise and not raw,
            wanted=target_of(options), groups=options.groups, weights=options.weights, keep=options.keep,
            date=options.date, missing=missing_of(options), raw=raw,
        )  # fmt: skip
    if options.positive is not None and table.y is not None:
        sample = _against_rest(table, table.y, options.positive)
    else:
        sample = Sample(table, table.y, learnt=learns)
    left_out = f"; {table.dropped} rows with missing values left out" if table.dropped else ""
    n, d = table.X.shape
    print(f"{in_words(given)}: {n} rows x {d} features; {_target_in_words(sample)}{left_out}", file=out)
    for note in table.notes:
        print(f"  note        {note}", file=out)
    if not raw:
        print_columns(table, out)
    if options.verbose:
        print(f"  read in     {time.perf_counter() - start:.2f} s", file=out)
    if learns == "labels":
        _check_classes(sample, in_words(given), out)
    return sample


def print_columns(table: Table, out: TextIO | None = None) -> None:
    """What each column was taken for, where columns have names."""
    for line in explained(table.taken) if table.taken else ():
        print(f"  {line}", file=out)


def _target_in_words(sample: Sample) -> str:
    """What there is to learn, for the first line that is printed."""
    y, groups = sample.y, sample.table.groups
    if sample.learnt == "none" or y is None:
        return "no target needed" if y is None else "the target is not used"
    if sample.learnt != "labels":
        within = "" if groups is None or sample.learnt != "ranks" else f", {len(np.unique(groups))} groups"
        return f"target from {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}{within}"
    classes, counts = np.unique(sample.labels, return_counts=True)
    pairs = list(zip(classes, counts, strict=True))
    balance = ", ".join(f"{label}: {count}" for label, count in pairs[:SHOWN_CLASSES])
    return f"labels {balance}{', ...' if len(pairs) > SHOWN_CLASSES else ''}"


def _check_classes(sample: Sample, name: object, out: TextIO | None) -> None:
    """Refuse labels of which nearly every row has one of its own, or that are fractions: they are no classes."""
    classes, counts = np.unique(sample.labels, return_counts=True)
    if len(classes) == 1:
        raise DataError(
            f"{name}: the target has the one label {classes[0]!s} in {counts[0]} rows, and two classes are "
            "needed: look at the file, name another column by --target, or learn what is usual by --variant one-class"
        )
    fractions, average = classes.dtype.kind == "f", float(counts.mean())
    if len(classes) <= 2:
        return
    if not fractions and average >= FEWEST_ROWS:
        if len(classes) > MANY_NUMBERS and classes.dtype.kind in "iu":
            said = f"{len(classes)} numbers are taken for classes: of a quantity, take --variant epsilon-svr"
            print(f"  note        {said}", file=out)
        return
    what = "numbers that are no whole ones" if fractions else f"{len(classes)} labels in {len(sample.labels)} rows"
    numbers = classes.dtype.kind in "iuf"
    hint = "; for a target of numbers, take a regression, such as --variant epsilon-svr" if numbers else ""
    raise DataError(
        f"{name}: the target holds {what}, which are no classes: set one against all others by --positive LABEL, such "
        f"as --positive {classes[0]}{hint}"
    )


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
    return Sample(table, signs, np.array([f"not {name}", name]), name, positive=y[chosen][0].item())


#: Of the draw of rows, where no seed is given: the same command prints the same.
SEED = 0


def held_out(sample: Sample, part: float, seeded: int) -> Fold:
    """A share of the rows, drawn at random: of each class in proportion; of a ranking with groups, whole groups."""
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

    rows, labels, groups = _drawn_from(sample)
    settings: dict[str, Any] = {"n_splits": 1, "test_size": part, "random_state": seeded}
    if groups is not None:
        splitter = GroupShuffleSplit(**settings)
    else:
        splitter = ShuffleSplit(**settings) if labels is None else StratifiedShuffleSplit(**settings)
    try:
        train, test = next(splitter.split(rows, labels, groups))
    except ValueError as error:
        each = "" if labels is None else " of each class"
        raise DataError(f"both sides need one{each}: take another share than {part:g}. ({error})") from error
    known = np.zeros(len(rows)) if labels is None else labels
    for label, count in zip(*np.unique(known, return_counts=True), strict=True):
        for side, done, way in ((train, "trains", "smaller"), (test, "is tested", "larger")):
            if not (known[side] == label).any():
                raise DataError(
                    f"the class {label} has {taking_part(count, 'row')}, and with a share of {part:g} none of them "
                    f"{done}: take a {way} share, or --cv {min(count, 5)}"
                )
    return Fold(np.sort(rows[train]), np.sort(rows[test]))


def folds(sample: Sample, count: int, seeded: int) -> Iterator[Fold]:
    """So many folds, drawn at random: of each class in proportion; of a ranking with groups, whole groups."""
    rows, labels, groups = _drawn_from(sample)
    found = drawn(len(rows), labels, groups, count, True, seeded, "row")
    return (Fold(rows[fold.train], rows[fold.test]) for fold in found)


def parts(sample: Sample, split: Fold, options: argparse.Namespace) -> tuple[Sample, Sample]:
    """The rows that train and those that are tested: all that is learnt of columns is learnt of the first."""
    train, test = some_rows(sample, split.train), some_rows(sample, split.test)
    if isinstance(sample.table, Raw):
        made = sample.table.learnt_of(split.train, split.test)
        train, test = (replace(part, table=table) for part, table in zip((train, test), made, strict=True))
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
    chosen = replace(table, X=rows_of(table.X, rows), y=labels, groups=groups, weights=weights)
    if isinstance(chosen, Raw) and chosen.columns is not None:
        chosen = replace(chosen, columns=chosen.columns.some(rows))
    return replace(sample, table=chosen, y=None if y is None else y[rows])


def _drawn_from(sample: Sample) -> tuple[IntArray, NDArray[Any] | None, NDArray[Any] | None]:
    """The rows that take part, and their labels and groups where these say how to draw them."""
    weights = sample.table.weights
    rows = np.arange(sample.table.X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    labels = sample.labels[rows] if sample.learnt == "labels" else None
    groups = sample.table.groups if sample.learnt == "ranks" else None
    return rows, labels, None if groups is None else groups[rows]
