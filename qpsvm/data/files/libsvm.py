"""The LIBSVM format: on each line a label, then index:value pairs, and before these perhaps a group: qid:3.

Text in its plainest form, `label index:value index:value …` with one blank between pairs, is read many times as fast as
where every line is looked at. All that separates two numbers is then made a line feed, and pyarrow reads one column of
numbers, in several threads. The order of the separators shows whether the text has this form. Of any other, and of
anything that is wrong, this says nothing: then scikit-learn reads it, or the line that is wrong is found.
"""

from __future__ import annotations

import io
import re
import reprlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import reaches
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, FileFormatError
from qpsvm.data.files.columns import Encoding
from qpsvm.data.files.sheet import numbers, whole
from qpsvm.data.files.source import FilePath

BLANK, COLON, LINE = b" :\n"
#: What separates numbers, as what separates lines.
ONE_A_LINE = bytes.maketrans(b" :", b"\n\n")
#: Indices from here on are too large for the format.
LARGEST_INDEX = 2**31 - 1
#: From 10 on a whole number has two digits, from 100 on three, …
TENS = 10.0 ** np.arange(1, 11)


def plain_rows(text: bytes) -> tuple[Matrix, FloatArray] | None:
    """The rows of a text in whole lines, their columns by the indices as they stand there, and the labels."""
    if not text.endswith(b"\n"):
        text += b"\n"
    if b"#" in text or b"q" in text:
        return None
    found = _marks(text)
    if found is None:
        text = text.replace(b"\r\n", b"\n").replace(b" \n", b"\n")
        found = _marks(text)
    values = None if found is None else _numbers(text)
    if found is None or values is None or len(values) != len(found[0]):
        return None
    check_tokens(text, values)
    marks, lengths = found
    ends = np.flatnonzero(marks == LINE)  # every number ends at a mark
    labels = np.concatenate([[0], ends[:-1] + 1])
    is_label = np.zeros(len(values), dtype=np.bool_)
    is_label[labels] = True
    pairs = values[~is_label].reshape(-1, 2)
    indptr = np.concatenate([[0], np.cumsum((ends - labels) // 2)])
    if not _are_indices(pairs[:, 0], lengths[marks == COLON], indptr):
        return None
    shape = (len(ends), int(pairs[:, 0].max(initial=-1.0)) + 1)
    return sp.csr_array((pairs[:, 1].copy(), pairs[:, 0].astype(np.int32), indptr), shape=shape), values[is_label]


def _marks(text: bytes) -> tuple[NDArray[np.uint8], NDArray[np.intp]] | None:
    """What ends each number, and how long the number is, (m,), if that is the order in which a line has them."""
    letters = np.frombuffer(text, dtype=np.uint8)
    places = np.flatnonzero((letters == BLANK) | (letters == COLON) | (letters == LINE))
    marks: NDArray[np.uint8] = letters[places]
    lengths = np.diff(places, prepend=-1) - 1
    if not lengths.all() or marks[0] == COLON or not np.array_equal(marks[:-1] == BLANK, marks[1:] == COLON):
        return None
    return marks, lengths


def _are_indices(indices: FloatArray, lengths: NDArray[np.intp], indptr: NDArray[np.intp]) -> bool:
    """Whether all are whole numbers, written with so many digits and no sign, and each is above the one before it."""
    if not len(indices):
        return True
    if not np.array_equal(np.searchsorted(TENS, indices, side="right") + 1, lengths):
        return False
    steps = np.diff(indices, prepend=-1.0)
    steps[indptr[:-1][indptr[:-1] < len(indices)]] = 1.0  # the first of a row has none before it
    return bool((steps > 0.0).all() and indices.max() < LARGEST_INDEX and (indices % 1.0 == 0.0).all())


def _unsigned(text: bytes) -> bytes:
    """The text without the + that many programs write before labels, and that Arrow does not know."""
    if b"+" not in text or b"+-" in text or b"++" in text:
        return text
    return text.replace(b"\n+", b"\n").removeprefix(b"+")


def _numbers(text: bytes) -> FloatArray | None:
    """All numbers of the text, in order."""
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    try:
        read: Any = csv.read_csv(
            pyarrow.BufferReader(_unsigned(text).translate(ONE_A_LINE)),
            csv.ReadOptions(column_names=["number"]),
            convert_options=csv.ConvertOptions(column_types={"number": pyarrow.float64()}, null_values=["nan", "NaN"]),
        )
    except ValueError:  # Arrow's errors of what cannot be read are this
        return None
    values: FloatArray = read.column(0).to_numpy()
    return values


def parsed(path: FilePath, text: bytes, first_line: int = 1) -> tuple[Matrix, FloatArray, NDArray[Any]]:
    """The rows of whole lines, their columns by the indices as they stand there, the labels, and the groups if any.

    Raises FileFormatError, DataError.
    """
    from sklearn.datasets import load_svmlight_file

    plain = plain_rows(text)
    if plain is not None:
        return *plain, np.empty(0, dtype=np.int64)
    try:
        X, y, qid = load_svmlight_file(io.BytesIO(text), zero_based=True, query_id=True)
    except (ValueError, OverflowError) as error:
        fault = fault_in(text, first_line) or f", line {first_line} or below: {error}"
        raise FileFormatError(f"{path}{fault}; a LIBSVM line is: label index:value index:value ...") from None
    check_tokens(text, y, X.data)
    return X, y, qid


def read_libsvm(
    path: FilePath, content: bytes, drop_missing: bool, encoding: Encoding | None = None
) -> tuple[Matrix, NDArray[Any], int, int, NDArray[Any]]:
    """Read a LIBSVM text. Raises FileFormatError, DataError."""
    raw, y, qid = parsed(path, content)
    n, indices = len(y), raw.indices
    if encoding is not None:
        first, width = encoding.first_index, encoding.n_features
    elif indices.size:
        first = int(indices.min() > 0)
        width = int(indices.max()) + 1 - first
    else:
        raise DataError(f"{path} has no feature in any row")
    if indices.size and (indices.min() < first or indices.max() >= first + width):
        outside = np.flatnonzero((indices < first) | (indices >= first + width))[:1]
        raise DataError(
            f"{path}, line {_libsvm_line(content, _rows_of(outside, raw)[0])}: feature index {indices[outside[0]]} is "
            f"unknown to the model, whose features are {first} to {first + width - 1}"
        )
    bad = np.union1d(_rows_of(np.flatnonzero(~np.isfinite(raw.data)), raw), np.flatnonzero(~np.isfinite(y)))
    infinite = bool(bad.size) and bool(np.isinf(raw.data).any() or np.isinf(y).any())
    if bad.size and (infinite or not drop_missing or bad.size == n):
        advice = "" if infinite or bad.size == n else "; --drop-missing (drop_missing=True) drops such rows"
        line = _libsvm_line(content, bad[0])
        raise DataError(f"{path}, line {line}: NaN or infinite value, the first of {bad.size} such rows of {n}{advice}")
    if first:
        indices -= first  # in place, because they are ours
    X = sp.csr_array((raw.data, indices, raw.indptr), shape=(n, width))
    if not bad.size:
        return X, whole(y), first, 0, qid
    keep = np.setdiff1d(np.arange(n), bad)
    return X[keep], whole(y[keep]), first, int(bad.size), qid[keep] if len(qid) == n else qid


def check_tokens(content: bytes, *values: NDArray[Any]) -> None:
    """Refuse a text with a whole number that no double is equal to; `values` are the numbers that were read.

    Raises DataError.
    """
    if any(reaches(read) for read in values):
        for token in content.decode().replace(":", " ").split():
            numbers([token])


def _rows_of(entries: IntArray, raw: Matrix) -> IntArray:
    """The rows of a CSR matrix in which its stored entries are, by the entries' places (k,): (k,)."""
    rows: IntArray = np.searchsorted(raw.indptr, entries, side="right") - 1
    return rows


def _libsvm_line(content: bytes, row: int) -> int:
    """The line, from 1, on which a row, from 0, stands."""
    lines = (k for k, line in enumerate(io.BytesIO(content), 1) if line.split(b"#")[0].strip())
    return next(k for i, k in enumerate(lines) if i == row)


def fault_in(content: bytes, first_line: int = 1) -> str | None:
    """The first line that cannot be read, and why, in words. scikit-learn does not tell."""
    for k, line in enumerate(io.BytesIO(content), first_line):
        label, *pairs = line.decode().split("#")[0].split() or ["0"]
        if numbers([label]) is None:
            return f", line {k}: the label {reprlib.repr(label)} is not a number"
        last = -1
        for pair in pairs:
            index, colon, value = pair.partition(":")
            if index == "qid":
                continue
            if not colon or not re.fullmatch(r"\+?\d{1,10}", index) or numbers([value]) is None:
                return f", line {k}: {reprlib.repr(pair)} is not a feature index and a number"
            if int(index) <= last or int(index) >= 2**31 - 1:
                why = f"comes after {last}; indices must increase" if int(index) <= last else "is too large"
                return f", line {k}: feature index {index} {why}"
            last = int(index)
    return None
