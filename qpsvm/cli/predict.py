"""`predict`: labels, numbers or scores for the rows of another file."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray
from qpsvm.cli.data import is_label, source
from qpsvm.cli.measures import in_words
from qpsvm.cli.writing import require_writable
from qpsvm.errors import DataError
from qpsvm.files import Encoding, read_like
from qpsvm.model import Model, load
from qpsvm.saving.writing import write_text

#: The column of decision values that stand alone, by what was learnt.
ALONE = {"numbers": "prediction", "ranks": "score"}


def run(options: argparse.Namespace) -> int:
    """Print one label or number a line, or write labels and decision values as CSV.

    Raises
    ------
    DataError
        The model was not trained on a file, so it does not say how this one becomes features.
    FileFormatError, FileAccessError
        The output cannot be written; what was there is as it was.
    """
    to_output = options.output == "-"
    if not to_output:
        require_writable(options.output)
    model = load(options.model)
    if not isinstance(model, Model) or "encoding" not in model.metadata:
        raise DataError(f"{options.model} does not say how a file becomes features; use qpsvm.load(...) in Python")
    encoding = Encoding.from_json(model.metadata["encoding"])
    table = read_like(source(options.file), encoding, drop_missing=options.drop_missing)
    values = model.decision_function(table.X)
    labels = None if model.classes is None else model.classes[(values > 0).astype(int)]
    learnt = model.metadata.get("learnt", "numbers" if labels is None else "labels")
    if options.output is None:
        print("\n".join(map(_number, values) if labels is None else map(str, labels)))
    elif to_output:  # the same bytes as in a file, whatever the encoding of the terminal
        sys.stdout.flush()
        sys.stdout.buffer.write(_as_csv(labels, values, learnt).encode())
    else:
        write_text(options.output, _as_csv(labels, values, learnt))
    known = None if table.y is None else _known(table.y, model)
    quantile = model.metadata.get("quantile")
    worth = in_words(learnt, values if labels is None else labels, known, table.groups, quantile)
    left_out = f", {table.dropped} rows with missing values left out" if table.dropped else ""
    print(f"{len(values)} predictions{worth and f', {worth}'}{left_out}", file=sys.stderr)
    return 0


def _as_csv(labels: NDArray[Any] | None, values: FloatArray, learnt: str) -> str:
    """Labels, where there are any, and decision values, (n,) each, as CSV under a header.

    A label with a comma or quote is quoted.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if labels is None:
        writer.writerow((ALONE.get(learnt, "prediction"),))
        writer.writerows((_number(value),) for value in values)
    else:
        writer.writerow(("label", "decision"))
        writer.writerows((str(label), _number(value)) for label, value in zip(labels, values, strict=True))
    return text.getvalue()


def _number(value: float) -> str:
    return f"{value:.10g}"


def _known(y: NDArray[Any], model: Model) -> NDArray[Any] | None:
    """The file's target (n,) as the model calls it, or None where it knows other labels."""
    if model.classes is None:
        return y if y.dtype.kind in "iuf" else None
    if "positive" in model.metadata:
        return np.asarray(model.classes[is_label(y, model.metadata["positive"]).astype(int)])
    return y if np.isin(np.unique(y), model.classes).all() else None
