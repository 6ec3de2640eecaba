"""`predict`: labels for the rows of another file."""

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
from qpsvm.cli.writing import require_writable
from qpsvm.errors import DataError
from qpsvm.files import Encoding, read_like
from qpsvm.model import Model, load
from qpsvm.saving.writing import write_text


def run(options: argparse.Namespace) -> int:
    """Print one label a line, or write labels and decision values as CSV.

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
    if "encoding" not in model.metadata:
        raise DataError(f"{options.model} does not say how a file becomes features; use qpsvm.load(...) in Python")
    encoding = Encoding.from_json(model.metadata["encoding"])
    table = read_like(source(options.file), encoding, drop_missing=options.drop_missing)
    values = model.decision_function(table.X)
    labels = values if model.classes is None else model.classes[(values > 0).astype(int)]
    if options.output is None:
        print("\n".join(map(str, labels)))
    elif to_output:  # the same bytes as in a file, whatever the encoding of the terminal
        sys.stdout.flush()
        sys.stdout.buffer.write(_as_csv(labels, values).encode())
    else:
        write_text(options.output, _as_csv(labels, values))
    known = None if table.y is None else _known(table.y, model)
    accuracy = "" if known is None else f", accuracy {(labels == known).mean():.4f}"
    left_out = f", {table.dropped} rows with missing values left out" if table.dropped else ""
    print(f"{len(labels)} predictions{accuracy}{left_out}", file=sys.stderr)
    return 0


def _as_csv(labels: NDArray[Any], values: FloatArray) -> str:
    """Labels and decision values, (n,) each, as CSV under a header. A label with a comma or quote is quoted."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("label", "decision"))
    writer.writerows((str(label), f"{value:.10g}") for label, value in zip(labels, values, strict=True))
    return text.getvalue()


def _known(y: NDArray[Any], model: Model) -> NDArray[Any] | None:
    """The file's labels (n,) as the model calls them, or None where it knows other labels."""
    if model.classes is None:
        return None
    if "positive" in model.metadata:
        return np.asarray(model.classes[is_label(y, model.metadata["positive"]).astype(int)])
    return y if np.isin(np.unique(y), model.classes).all() else None
