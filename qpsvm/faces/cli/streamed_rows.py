"""Rows to predict from stored files, a batch at a time in one pass: nothing is kept, and nothing is written to scratch.

A batch is checked and made features as the model's own file was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError, FileFormatError
from qpsvm.data.files import Encoding, Table
from qpsvm.data.files.encoding import standardised
from qpsvm.data.files.sheet import whole
from qpsvm.data.sources.batches import Batch, Decoder, Reconsidered, check_values
from qpsvm.data.sources.opening import found, open_rows
from qpsvm.data.sources.stored import at_row
from qpsvm.data.sources.text import LibsvmRows
from qpsvm.faces.cli.data_files import Stored

#: Features of some rows, and the target of each where the file has one.
Part = tuple[Matrix, NDArray[Any] | None]
#: Kinds of files whose columns have names.
NAMED = ("csv", "parquet", "feather")


def parts_of(stored: Stored, encoding: Encoding) -> Iterator[Part]:
    """The rows of some files, a batch at a time. Raises FileFormatError, DataError, QPSVMError."""
    form = "csv" if stored.form in NAMED else stored.form
    if form != encoding.format:
        raise FileFormatError(f"{stored.name} is a {stored.form} file, but the model was trained on {_words(encoding)}")
    given = _array_parts(stored, encoding) if form == "npy" else _decoded_parts(stored, encoding)
    for X, labels in given:
        yield standardised(Table(X, labels, encoding), stored.name).X, labels


def _words(encoding: Encoding) -> str:
    return {"csv": "a table with named columns", "npy": "an array"}.get(encoding.format, f"a {encoding.format} file")


def _array_parts(stored: Stored, encoding: Encoding) -> Iterator[Part]:
    """Of .npy files: the columns that the model knows by their place."""
    names, columns = stored.names(), [int(column.name) for column in encoding.columns]
    if len(names) <= max(columns):
        raise DataError(f"{stored.name} has {len(names)} columns, and the model needs column {max(columns)}, from 0 on")
    known = encoding.target if encoding.target in names else None
    source = open_rows(list(stored.paths), None if known is None else int(known), columns)
    for block in source.blocks():
        labels = None if source.target is None else whole(np.asarray(source.target[block.rows], dtype=np.float64))
        yield block.matrix, labels


def _decoded_parts(stored: Stored, encoding: Encoding) -> Iterator[Part]:
    """Of files that are decoded: with their target, as long as every row has one."""
    done = 0
    for with_target in (True, False):
        decoder = _decoder(stored, encoding, with_target)
        if decoder is None:
            continue
        while True:
            row = 0
            try:
                for batch in decoder.batches():
                    n = batch.X.shape[0]
                    if row >= done and n:
                        yield _made(batch, encoding, decoder)
                        done += n
                    row += n
                return
            except Reconsidered:  # what it took for numbers is text
                if encoding.format == "libsvm":
                    raise DataError(f"{stored.name}: feature index 0 is unknown to the model") from None
            except DataError:
                if not with_target or encoding.format == "libsvm":
                    raise
                break  # a row without a target is predicted like any other


def _decoder(stored: Stored, encoding: Encoding, with_target: bool) -> Decoder | None:
    """What decodes the files; None where there is no target to be decoded with."""
    if encoding.format == "libsvm":
        decoder: Any = LibsvmRows(stored.paths)
        decoder.first_index = encoding.first_index
        return decoder if with_target else None
    names = stored.names()
    absent = [column.name for column in encoding.columns if column.name not in names]
    if absent:
        raise DataError(f"{stored.name} has no column {', '.join(map(repr, absent))}, which the model needs")
    text = next((column for column in encoding.columns if column.categories is not None), None)
    if text is not None:
        raise DataError(
            f"{stored.name}: the model makes 0/1 features of the text in column {text.name!r}, which is done in memory "
            "only: leave --stream out, or write the rows as several CSV files"
        )
    if with_target and encoding.target not in names:
        return None
    columns = [column.name for column in encoding.columns]
    decoder = found(list(stored.paths), encoding.target if with_target else None, columns, None, None)
    assert isinstance(decoder, Decoder)
    return decoder


def _made(batch: Batch, encoding: Encoding, decoder: Decoder) -> Part:
    """The features and targets of a batch, checked."""
    check_values(batch.X, lambda row: at_row(batch.name, batch.start + row), decoder.feature_names)
    X = batch.X
    if sp.issparse(X):
        if X.shape[1] > encoding.n_features:
            wide = _first_beyond(X, encoding.n_features)
            raise DataError(
                f"{at_row(batch.name, batch.start + wide)} has a feature that is unknown to the model, whose features "
                f"are {encoding.first_index} to {encoding.n_features - 1 + encoding.first_index}"
            )
        X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], encoding.n_features))
    else:
        X = np.asarray(X, dtype=np.float64)
    y = batch.labels
    return X, whole(y.astype(np.float64)) if y is not None and y.dtype.kind == "f" else y


def _first_beyond(X: Matrix, d: int) -> int:
    """The first row with a feature beyond the d first."""
    return int(np.searchsorted(X.indptr, int(np.argmax(X.indices >= d)), side="right")) - 1
