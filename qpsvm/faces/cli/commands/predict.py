"""`predict`: labels, numbers or scores for the rows of another file."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError
from qpsvm.base.writing import written
from qpsvm.data.files import Encoding, Table, read_like
from qpsvm.faces.cli.data import is_label, source
from qpsvm.faces.cli.data_files import as_stored, parts_of
from qpsvm.faces.cli.options import Learnt
from qpsvm.faces.cli.scores import in_words
from qpsvm.faces.cli.terminal import Ticker, require_writable
from qpsvm.result.calibration import KEY
from qpsvm.result.model import NEAR, Model, load

#: Labels, where there are any, decision values, and what else is asked for: columns of text by name.
Answers = tuple[NDArray[Any] | None, FloatArray, dict[str, list[str]]]
#: Of a part: labels or values, the target where it is known, groups of a ranking, and how many rows were left out.
Seen = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None, int]
#: The column of decision values that stand alone, by what was learnt.
ALONE = {"numbers": "prediction", "ranks": "score"}


def run(options: argparse.Namespace) -> int:
    """Print one label or number a line, or write labels and decision values as CSV: a batch of rows after the other."""
    if options.output not in (None, "-"):
        require_writable(options.output)
    model = load(options.model)
    if not isinstance(model, Model) or "encoding" not in model.metadata:
        raise DataError(f"{options.model} does not say how a file becomes features; use qpsvm.load(...) in Python")
    if options.probability and KEY not in model.metadata:
        raise DataError(f"{options.model} has no probabilities: `solve --probability` keeps them with a model")
    if options.bounds and NEAR not in model.metadata:
        raise DataError(f"{options.model} has no bounds: `solve --bounds` keeps them with a model")
    learnt = model.metadata.get("learnt", "numbers" if model.classes is None else "labels")
    parts = _parts(options, Encoding.from_json(model.metadata["encoding"]))
    seen: list[Seen] = []
    ticker = Ticker("predicting")
    answers = _answers(model, parts, ticker, seen, options)
    if options.output is None:
        for labels, values, more in answers:
            words = map(_number, values) if labels is None else map(str, labels)
            print("\n".join(map(",".join, zip(words, *more.values(), strict=True))))
    elif options.output == "-":  # the same bytes as in a file, whatever the encoding of the terminal
        sys.stdout.flush()
        _write(answers, sys.stdout.buffer, learnt)
    else:
        with ticker, written(options.output) as file:
            _write(answers, file, learnt)
    print(_worth(model, learnt, seen), file=sys.stderr)
    return 0


def _parts(options: argparse.Namespace, encoding: Encoding) -> Iterator[Table]:
    """The rows of the files, as encoded as those of the model: all at once of a text, else in batches."""
    given = source(options.file)
    stored = as_stored(given, options.stream)
    if stored is None:
        assert not isinstance(given, tuple)  # several files are stored ones
        yield read_like(given, encoding, drop_missing=options.drop_missing)
        return
    stored.refuse_drop_missing(options)
    yield from parts_of(stored, encoding)


def _answers(
    model: Model, parts: Iterable[Table], ticker: Ticker, seen: list[Seen], options: argparse.Namespace
) -> Iterator[Answers]:
    """The answers for each part; what is to be known of them in the end is added to `seen`."""
    for table in parts:
        values = model.decision_function(table.X)
        labels = None if model.classes is None else model.classes[(values > 0).astype(int)]
        known = None if table.y is None else _known(table.y, model)
        seen.append((values if labels is None else labels, known, table.groups, table.dropped))
        ticker.doing = f"{sum(len(each[0]) for each in seen)} rows predicted"
        more = {}
        if options.probability:
            more["probability"] = list(map(_number, model.predict_proba(table.X)[:, 1]))
        if options.bounds:
            more |= _bounded(model, table, values)
        yield labels, values, more


def _bounded(model: Model, table: Table, values: FloatArray) -> dict[str, list[str]]:
    """Between what f of every exact optimum lies, in every digit; and whether its label is proven."""
    low, high = model.decision_bounds(table.X)
    columns = {"lower": list(map(repr, low.tolist())), "upper": list(map(repr, high.tolist()))}
    if model.classes is None:
        return columns
    proven = (low > 0.0) & (values > 0.0) | (high < 0.0) & (values <= 0.0)
    return {**columns, "proven": ["yes" if each else "no" for each in proven]}


def _worth(model: Model, learnt: Learnt, seen: list[Seen]) -> str:
    """How many predictions there were, and how good they are where the target is known."""
    answers, known, groups, dropped = zip(*seen, strict=True)
    target = None if any(each is None for each in known) else np.concatenate(known)
    # only a text that is read at once has any groups
    worth = in_words(learnt, np.concatenate(answers), target, groups[-1], model.metadata.get("quantile"))
    left_out = f", {sum(dropped)} rows with missing values left out" if any(dropped) else ""
    return f"{sum(map(len, answers))} predictions{worth and f', {worth}'}{left_out}"


def _write(answers: Iterable[Answers], file: IO[bytes], learnt: str) -> None:
    """Labels, where there are any, and decision values, as CSV under a header; a label with a comma is quoted."""
    for number, (labels, values, more) in enumerate(answers):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if number == 0:
            head = (ALONE.get(learnt, "prediction"),) if labels is None else ("label", "decision")
            writer.writerow((*head, *more))
        first = () if labels is None else (map(str, labels),)
        writer.writerows(zip(*first, map(_number, values), *more.values(), strict=True))
        file.write(text.getvalue().encode())


def _number(value: float) -> str:
    return f"{value:.10g}"


def _known(y: NDArray[Any], model: Model) -> NDArray[Any] | None:
    """The file's target (n,) as the model calls it, or None where it knows other labels."""
    if model.classes is None:
        return y if y.dtype.kind in "iuf" else None
    if "positive" in model.metadata:
        return np.asarray(model.classes[is_label(y, model.metadata["positive"]).astype(int)])
    return y if np.isin(np.unique(y), model.classes).all() else None
