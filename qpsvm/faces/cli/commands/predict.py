"""Run `predict`: labels, numbers or scores for the rows of another file.

The file is read, predicted and written in batches, so that it may be larger than memory. `_Predictor` collects, batch
by batch, what the summary at the end needs.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.atomic_files import open_output
from qpsvm.base.errors import DataError
from qpsvm.data.files import ROW, EncodedTable, Encoding, NewRows, read_with_encoding
from qpsvm.data.files.encoding import UnseenCategories
from qpsvm.faces.cli.data import match_label, parse_source
from qpsvm.faces.cli.data_files import NAMED_TABLE_FORMATS, find_stored_files, iter_encoded_parts
from qpsvm.faces.cli.predicted_labels import decode_labels
from qpsvm.faces.cli.problem_options import LearningTarget, build_text_format, refuse_options
from qpsvm.faces.cli.scores import describe_predictions
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.result.calibration import KEY
from qpsvm.result.model import NEAR_KEY, load

#: The names of the rows of a batch, and their predictions: columns of text by name.
PredictionBatch = tuple[Sequence[str], dict[str, list[str]]]
#: Name of the column of decision values next to labels.
DECISION = "decision"
#: Prediction for a row with a missing value.
NO_ANSWER = "NA"
#: Number of unknown categories of a column that are named.
MAX_NAMED = 3
#: Name of the column of decision values without labels, by the kind of target.
COLUMN_NAMES = {"numbers": "prediction", "ranks": "score"}


class ScoredBatch(NamedTuple):
    """What a batch adds to the summary.

    predicted (m,): Of the m rows without missing values.
    compared (r,): The predictions of those r rows that have a target.
    target (r,): Their target; None without a target, or if the model does not know its labels.
    groups (r,): Their groups in a ranking; None without groups.
    n_missing: Number of rows with missing values, answered NA or left out.
    """

    predicted: NDArray[Any]
    compared: NDArray[Any]
    target: NDArray[Any] | None
    groups: NDArray[Any] | None
    n_missing: int


def run(options: argparse.Namespace) -> int:
    """Print one label or number per line, or write labels and decision values as CSV, batch by batch."""
    if options.output not in (None, "-"):
        require_writable(options.output)
    model = _load_model(options)
    predictor = _Predictor(model, options)
    batches = predictor.iter_batches(_iter_parts(options, Encoding.from_json(model.metadata["encoding"])))
    row_header = options.id or (ROW if options.drop_missing else None)
    if options.output is None:
        _print_predictions(batches, options.id is not None)
    elif options.output == "-":  # the same bytes as in a file, whatever the encoding of the terminal
        sys.stdout.flush()
        _write_csv(batches, sys.stdout.buffer, row_header)
    else:
        with predictor.ticker, open_output(options.output) as file:
            _write_csv(batches, file, row_header)
    print(predictor.summarise(), file=sys.stderr)
    for note in predictor.describe_unseen():
        print(note, file=sys.stderr)
    return 0


def _load_model(options: argparse.Namespace) -> Any:
    """Load the model, and refuse one that lacks what the options need. Raises DataError."""
    model = load(options.model)
    if "encoding" not in model.metadata:
        raise DataError(
            f"{options.model} does not store how a file is encoded as features: use qpsvm.load(...) in Python"
        )
    if options.probability and KEY not in model.metadata:
        raise DataError(f"{options.model} has no probabilities: `solve --probability` saves them in a model")
    if options.bounds and NEAR_KEY not in model.metadata:
        raise DataError(f"{options.model} has no bounds: `solve --bounds` saves them in a model")
    return model


def _iter_parts(options: argparse.Namespace, encoding: Encoding) -> Iterator[NewRows]:
    """Iterate over the rows of the files, encoded like those of the model: a text at once, other files in batches."""
    source = parse_source(options.file)
    stored = find_stored_files(source, options.stream)
    if stored is None:
        frames: Iterator[Any] = iter([source])
    elif not options.stream and (
        (stored.file_format in NAMED_TABLE_FORMATS and encoding.format == "csv")
        or (stored.is_small_array and encoding.format == "npy")
    ):
        frames = stored.iter_tables(all_at_once=stored.is_small_table)
    else:
        why = f"needs columns in memory, but {stored.name} is read in blocks or has no column names: leave it out"
        refused = ["drop_missing", "na", "encoding"]
        refuse_options(options, refused if options.id == ROW else ["id", *refused], why)
        yield from iter_encoded_parts(stored, encoding)
        return
    for frame in frames:
        yield read_with_encoding(
            frame, encoding, drop_missing=options.drop_missing, keep_rows=not options.drop_missing,
            name_rows=options.id, text_format=build_text_format(options),
        )  # fmt: skip


class _Predictor:
    """Predicts the rows of a file batch by batch, and collects the data of the summary."""

    def __init__(self, model: Any, options: argparse.Namespace) -> None:
        self.ticker = Ticker("predicting")
        self._model = model
        self._options = options
        default_kind = "numbers" if model.classes is None else "labels"
        self._target_kind: LearningTarget = model.metadata.get("learnt", default_kind)
        self._scored: list[ScoredBatch] = []
        self._unseen: dict[str, UnseenCategories] = {}

    def iter_batches(self, parts: Iterable[NewRows]) -> Iterator[PredictionBatch]:
        """Yield the predictions of each part of the file."""
        start = 0
        for table in parts:
            m = table.X.shape[0]  # without incomplete rows
            n = table.X.shape[0] if table.n < 0 else table.n  # with them
            if m:
                values = self._model.decision_function(table.X)
            else:
                values = _build_empty_values(self._model)
            labels = decode_labels(self._model.classes, values)
            self._collect(table, values if labels is None else labels, n - m)
            columns = self._build_columns(table, values, labels)
            if table.ids is None:
                names = [str(start + i) for i in range(n)]
            else:
                names = list(table.ids)
            start += n
            places = np.arange(m) if table.places is None else table.places
            if self._options.drop_missing:
                yield [names[i] for i in places], columns
            else:
                yield names, {name: _insert_missing(column, places, n) for name, column in columns.items()}

    def _collect(self, table: NewRows, predicted: NDArray[Any], n_missing: int) -> None:
        """Collect what the summary needs of a part."""
        labelled = slice(None) if table.labelled is None else table.labelled
        if table.y is None:
            target = None
        else:
            target = _match_target(table.y[labelled], self._model)
        groups = None if table.groups is None else table.groups[labelled]
        self._scored.append(ScoredBatch(predicted, predicted[labelled], target, groups, n_missing))
        for name, unseen in table.unseen.items():
            if name in self._unseen:
                self._unseen[name] = self._unseen[name] + unseen
            else:
                self._unseen[name] = unseen
        self.ticker.activity = f"{self._n_predicted} rows predicted"

    def _build_columns(
        self, table: EncodedTable, values: FloatArray, labels: NDArray[Any] | None
    ) -> dict[str, list[str]]:
        """Build the output columns of a table: labels, decision values, and what else the options request."""
        model, options = self._model, self._options
        columns: dict[str, list[str]] = {} if labels is None else {"label": list(map(str, labels))}
        is_several = values.ndim > 1
        if is_several:
            columns |= _format_class_columns(DECISION, model.classes, values)
        else:
            if labels is None:
                name = COLUMN_NAMES.get(self._target_kind, "prediction")
            else:
                name = DECISION
            columns[name] = list(map(_format_number, values))
        if options.probability:
            if len(values):
                probabilities = model.predict_proba(table.X)
            else:
                probabilities = np.zeros((0, len(model.classes)))
            if is_several:
                columns |= _format_class_columns("probability", model.classes, probabilities)
            else:
                columns["probability"] = list(map(_format_number, probabilities[:, 1]))
        if options.bounds:
            return columns | _format_bounds(model, table, values)
        return columns

    @property
    def _n_predicted(self) -> int:
        """Number of rows that were predicted so far."""
        return sum(len(batch.predicted) for batch in self._scored)

    def summarise(self) -> str:
        """Describe the number of predictions, their scores, and the number of rows with missing values."""
        parts = [f"{self._n_predicted} predictions", self._describe_scores()]
        if n_missing := sum(batch.n_missing for batch in self._scored):
            how = "left out" if self._options.drop_missing else f"answered {NO_ANSWER}"
            parts.append(f"{n_missing} row{'s' * (n_missing > 1)} with missing values {how}")
        return ", ".join(filter(None, parts))

    def _describe_scores(self) -> str:
        """Describe the scores on the rows with a target; without any, what `describe_predictions` says of all rows."""
        with_target = [batch for batch in self._scored if batch.target is not None and len(batch.target)]
        if not with_target:
            predicted = np.concatenate([batch.predicted for batch in self._scored])
            return describe_predictions(self._target_kind, predicted, target=None)
        predicted = np.concatenate([batch.compared for batch in with_target])
        target = _join([batch.target for batch in with_target])
        groups = _join([batch.groups for batch in with_target])
        quantile = self._model.metadata.get("quantile")
        text = describe_predictions(self._target_kind, predicted, target, groups, quantile)
        is_part = len(predicted) < self._n_predicted
        if is_part:
            return f"{text} on the {len(predicted)} rows with a target"
        return text

    def describe_unseen(self) -> Iterator[str]:
        """Yield a note for each column with categories that are not in the training rows."""
        for name, unseen in self._unseen.items():
            categories = ", ".join(repr(text) for text, _ in unseen.counts.most_common(MAX_NAMED))
            categories += ", ..." if len(unseen.counts) > MAX_NAMED else ""
            n = unseen.counts.total()
            if n > 1:
                rows = f"{n} rows, first {unseen.position}"
            else:
                rows = f"1 row, {unseen.position}"
            yield (
                f"note: column {name!r} has categories that are not in the training rows, in {rows}: {categories}; "
                "they count as none of the known ones"
            )


def _build_empty_values(model: Any) -> FloatArray:
    """Build the decision values of zero rows: one column per class if there are more than two."""
    is_several = model.classes is not None and len(model.classes) > 2
    return np.zeros((0, len(model.classes)) if is_several else 0)


def _join(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Concatenate the values of several batches; None if a batch has none."""
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if len(present) == len(parts) else None


def _insert_missing(words: Sequence[str], places: IntArray, n: int) -> list[str]:
    """Return the words of all n rows: those of the rows at `places`, and NA for the others."""
    column = [NO_ANSWER] * n
    for i, word in zip(places.tolist(), words, strict=True):
        column[i] = word
    return column


def _format_bounds(model: Any, table: EncodedTable, values: FloatArray) -> dict[str, list[str]]:
    """Format bounds on f of every exact optimum, with all digits, and whether its label is proven."""
    low, high = model.decision_bounds(table.X) if len(values) else (values, values)
    columns = {"lower": list(map(repr, low.tolist())), "upper": list(map(repr, high.tolist()))}
    if model.classes is None:
        return columns
    proven = (low > 0.0) & (values > 0.0) | (high < 0.0) & (values <= 0.0)
    return {**columns, "proven": ["yes" if is_proven else "no" for is_proven in proven]}


def _print_predictions(batches: Iterable[PredictionBatch], has_ids: bool) -> None:
    """Print one row per line, without decision values next to labels; with identifiers, as CSV."""
    for names, columns in batches:
        shown = [column for name, column in columns.items() if not name.startswith(DECISION)]
        if has_ids:
            csv.writer(sys.stdout, lineterminator="\n").writerows(zip(names, *shown, strict=True))
        else:
            print("\n".join(map(",".join, zip(*shown, strict=True))))


def _write_csv(batches: Iterable[PredictionBatch], file: IO[bytes], row_header: str | None) -> None:
    """Write predictions as CSV under a header; the names of rows come first if they have a header."""
    for number, (names, columns) in enumerate(batches):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if number == 0:
            writer.writerow([*([] if row_header is None else [row_header]), *columns])
        writer.writerows(zip(*([] if row_header is None else [names]), *columns.values(), strict=True))
        file.write(text.getvalue().encode())


def _format_class_columns(prefix: str, classes: NDArray[Any], values: FloatArray) -> dict[str, list[str]]:
    """Format values (m, k) as one column per class."""
    return {
        f"{prefix} {label}": list(map(_format_number, column)) for label, column in zip(classes, values.T, strict=True)
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
