"""Run `predict`: labels, numbers or scores for the rows of another file."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.atomic_files import open_output
from qpsvm.base.errors import DataError
from qpsvm.data.files import ROW, EncodedTable, Encoding, NewRows, read_with_encoding
from qpsvm.data.files.encoding import UnseenCategories
from qpsvm.faces.cli.data import match_label, parse_source
from qpsvm.faces.cli.data_files import FRAMES, find_stored_files, iter_encoded_parts
from qpsvm.faces.cli.problem_options import LearningTarget, build_text_format, refuse_options
from qpsvm.faces.cli.scores import describe_predictions
from qpsvm.faces.cli.several import decode_labels
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.result.calibration import KEY
from qpsvm.result.model import NEAR_KEY, load

#: The names of the rows of a part, and their answers: columns of text by name.
PredictionBatch = tuple[Sequence[str], dict[str, list[str]]]
#: For a part: the answers of the complete rows; those of the rows with a target; this target, if the model knows its
#: labels; the groups of a ranking; and the number of rows that were answered NA, or left out.
ScoredBatch = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, NDArray[Any] | None, int]
#: Name of the column of decision values next to labels.
DECISION = "decision"
#: Answer for a row with a missing value.
NO_ANSWER = "NA"
#: Number of unknown categories of a column that are named.
MAX_NAMED = 3
#: Name of the column of decision values without labels, by the kind of target.
COLUMN_NAMES = {"numbers": "prediction", "ranks": "score"}


def run(options: argparse.Namespace) -> int:
    """Print one label or number per line, or write labels and decision values as CSV, batch by batch."""
    if options.output not in (None, "-"):
        require_writable(options.output)
    model = load(options.model)
    if "encoding" not in model.metadata:
        raise DataError(
            f"{options.model} does not store how a file is encoded as features: use qpsvm.load(...) in Python"
        )
    if options.probability and KEY not in model.metadata:
        raise DataError(f"{options.model} has no probabilities: `solve --probability` saves them in a model")
    if options.bounds and NEAR_KEY not in model.metadata:
        raise DataError(f"{options.model} has no bounds: `solve --bounds` saves them in a model")
    learnt = model.metadata.get("learnt", "numbers" if model.classes is None else "labels")
    parts = _iter_parts(options, Encoding.from_json(model.metadata["encoding"]))
    seen: list[ScoredBatch] = []
    unseen: dict[str, UnseenCategories] = {}
    ticker = Ticker("predicting")
    answers = _iter_predictions(model, parts, learnt, ticker, seen, unseen, options)
    named = options.id or (ROW if options.drop_missing else None)
    if options.output is None:
        for names, columns in answers:
            shown = [column for name, column in columns.items() if not name.startswith(DECISION)]
            if options.id is None:
                print("\n".join(map(",".join, zip(*shown, strict=True))))
            else:
                csv.writer(sys.stdout, lineterminator="\n").writerows(zip(names, *shown, strict=True))
    elif options.output == "-":  # the same bytes as in a file, whatever the encoding of the terminal
        sys.stdout.flush()
        _write_csv(answers, sys.stdout.buffer, named)
    else:
        with ticker, open_output(options.output) as file:
            _write_csv(answers, file, named)
    print(_describe_scores(model, learnt, seen, options.drop_missing), file=sys.stderr)
    for name, each in unseen.items():
        words = ", ".join(repr(text) for text, _ in each.counts.most_common(MAX_NAMED))
        words += ", ..." if len(each.counts) > MAX_NAMED else ""
        n = each.counts.total()
        rows = f"{n} rows, first {each.position}" if n > 1 else f"1 row, {each.position}"
        note = f"note: column {name!r} has categories that are not in the training rows, in {rows}: {words}"
        print(f"{note}; they count as none of the known ones", file=sys.stderr)
    return 0


def _iter_parts(options: argparse.Namespace, encoding: Encoding) -> Iterator[NewRows]:
    """Iterate over the rows of the files, encoded like those of the model: a text at once, other files in batches."""
    given = parse_source(options.file)
    stored = find_stored_files(given, options.stream)
    if stored is None:
        assert not isinstance(given, tuple)  # several files are always stored files
        frames: Iterator[Any] = iter([given])
    elif not options.stream and (
        (stored.file_format in FRAMES and encoding.format == "csv")
        or (stored.is_small_array and encoding.format == "npy")
    ):
        frames = stored.iter_frames(stored.fits_in_memory)
    else:
        why = f"needs columns in memory, but {stored.name} is read in blocks or has no column names: leave it out"
        refuse_options(options, [*([] if options.id == ROW else ["id"]), "drop_missing", "na", "encoding"], why)
        yield from iter_encoded_parts(stored, encoding)
        return
    for frame in frames:
        yield read_with_encoding(
            frame,
            encoding,
            drop_missing=options.drop_missing,
            keep_rows=not options.drop_missing,
            name_rows=options.id,
            text_format=build_text_format(options),
        )


def _iter_predictions(
    model: Any, parts: Iterable[NewRows], learnt: LearningTarget, ticker: Ticker, seen: list[ScoredBatch],
    unseen: dict[str, UnseenCategories], options: argparse.Namespace,
) -> Iterator[PredictionBatch]:  # fmt: skip
    """Yield the answers for each part, and collect data for the final summary in `seen` and `unseen`."""
    start = 0
    for table in parts:
        k, n = table.X.shape[0], table.X.shape[0] if table.n < 0 else table.n
        values = model.decision_function(table.X) if k else _build_empty_values(model)
        labels = decode_labels(model.classes, values)
        answered = values if labels is None else labels
        at = slice(None) if table.labelled is None else table.labelled
        known = None if table.y is None else _match_target(table.y[at], model)
        groups = None if table.groups is None else table.groups[at]
        seen.append((answered, answered[at], known, groups, n - k))
        for name, each in table.unseen.items():
            unseen[name] = unseen[name] + each if name in unseen else each
        ticker.activity = f"{sum(len(each[0]) for each in seen)} rows predicted"
        columns = _build_columns(model, table, values, labels, learnt, options)
        names = [str(start + i) for i in range(n)] if table.ids is None else list(table.ids)
        start += n
        places = np.arange(k) if table.places is None else table.places
        if options.drop_missing:
            yield [names[i] for i in places], columns
        else:
            yield names, {name: _insert_missing(column, places, n) for name, column in columns.items()}


def _build_columns(
    model: Any, table: EncodedTable, values: FloatArray, labels: NDArray[Any] | None, learnt: LearningTarget,
    options: argparse.Namespace,
) -> dict[str, list[str]]:  # fmt: skip
    """Build the output columns of a table: labels, decision values, and what else the options request."""
    columns: dict[str, list[str]] = {} if labels is None else {"label": list(map(str, labels))}
    several = values.ndim > 1
    if several:
        columns |= _format_class_columns(DECISION, model.classes, values)
    else:
        columns[COLUMN_NAMES.get(learnt, "prediction") if labels is None else DECISION] = list(
            map(_format_number, values)
        )
    if options.probability:
        chances = model.predict_proba(table.X) if len(values) else np.zeros((0, len(model.classes)))
        columns |= _format_class_columns("probability", model.classes, chances) if several else {
            "probability": list(map(_format_number, chances[:, 1]))
        }  # fmt: skip
    return columns | _format_bounds(model, table, values) if options.bounds else columns


def _build_empty_values(model: Any) -> FloatArray:
    """Build the decision values of zero rows: one column per class if there are more than two."""
    several = model.classes is not None and len(model.classes) > 2
    return np.zeros((0, len(model.classes)) if several else 0)


def _insert_missing(words: Sequence[str], places: IntArray, n: int) -> list[str]:
    """Insert the missing answer between the words of some rows, to cover all n."""
    found = [NO_ANSWER] * n
    for i, word in zip(places.tolist(), words, strict=True):
        found[i] = word
    return found


def _format_bounds(model: Any, table: EncodedTable, values: FloatArray) -> dict[str, list[str]]:
    """Format bounds on f of every exact optimum, with all digits, and whether its label is proven."""
    low, high = model.decision_bounds(table.X) if len(values) else (values, values)
    columns = {"lower": list(map(repr, low.tolist())), "upper": list(map(repr, high.tolist()))}
    if model.classes is None:
        return columns
    proven = (low > 0.0) & (values > 0.0) | (high < 0.0) & (values <= 0.0)
    return {**columns, "proven": ["yes" if each else "no" for each in proven]}


def _describe_scores(model: Any, learnt: LearningTarget, seen: list[ScoredBatch], dropped: bool) -> str:
    """Describe the number of predictions, and their scores if the target is known."""
    answers, compared, known, groups, absent = zip(*seen, strict=True)
    some = [k for k, each in enumerate(known) if each is not None and len(each)]
    target = np.concatenate([known[k] for k in some]) if some else None
    rated = [compared[k] for k in some] if some else list(answers)
    named = [groups[k] for k in some]
    members = np.concatenate(named) if named and all(each is not None for each in named) else None
    worth = describe_predictions(learnt, np.concatenate(rated), target, members, model.metadata.get("quantile"))
    rows, total = sum(map(len, rated)), sum(map(len, answers))
    worth += f" on the {rows} rows with a target" if worth and target is not None and rows < total else ""
    if sum(absent):
        how = "left out" if dropped else f"answered {NO_ANSWER}"
        worth += f"{', ' if worth else ''}{sum(absent)} row{'s' * (sum(absent) > 1)} with missing values {how}"
    return f"{total} predictions{worth and f', {worth}'}"


def _write_csv(answers: Iterable[PredictionBatch], file: IO[bytes], named: str | None) -> None:
    """Write row names, if any, and predictions as CSV under a header; a label with a comma is quoted."""
    for number, (names, columns) in enumerate(answers):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if number == 0:
            writer.writerow([*([] if named is None else [named]), *columns])
        writer.writerows(zip(*([] if named is None else [names]), *columns.values(), strict=True))
        file.write(text.getvalue().encode())


def _format_class_columns(what: str, classes: NDArray[Any], values: FloatArray) -> dict[str, list[str]]:
    """Format values (m, k) as one column per class."""
    return {
        f"{what} {label}": list(map(_format_number, column)) for label, column in zip(classes, values.T, strict=True)
    }


def _format_number(value: float) -> str:
    return f"{value:.10g}"


def _match_target(y: NDArray[Any], model: Any) -> NDArray[Any] | None:
    """Return the target (n,) of the file in the labels of the model; None if the model has other labels."""
    if model.classes is None:
        return y if y.dtype.kind in "iuf" else None
    if "positive" in model.metadata:
        return np.asarray(model.classes[match_label(y, model.metadata["positive"]).astype(int)])
    return y if np.isin(np.unique(y), model.classes).all() else None
