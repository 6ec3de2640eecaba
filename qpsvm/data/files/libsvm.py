"""Read the LIBSVM format: on each line a label, an optional group `qid:3`, and index:value pairs.

scikit-learn reads it. Where it cannot, the line that is wrong is found here.
"""

from __future__ import annotations

import io
import re
import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.large_integers import has_large_integers
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, FileFormatError, ParameterError
from qpsvm.data.files.encoding import Encoding
from qpsvm.data.files.sheet import as_integers, parse_numbers
from qpsvm.data.files.source import FilePath

#: What of a LIBSVM file cannot be named, and why.
UNSUPPORTED_OPTIONS = {
    "target": "whose lines begin with the label", "drop": "whose features have numbers",
    "columns": "whose features have numbers", "keep": "whose features have numbers",
    "date": "whose features have numbers", "groups": "whose groups are the qid of its lines",
    "weights": "whose lines have no weights", "weight": "whose lines have no weights",
    "na": "whose missing values are NaN", "decimal": "whose numbers have a decimal point",
}  # fmt: skip
#: What every line is to look like, in words.
_FORM = "a LIBSVM line is: label index:value index:value ..., or label qid:group index:value ... of a ranking"
#: A group under another name, as scikit-learn takes any that begins so.
_NEARLY_QID = re.compile(rb"\sqid[^:\s]")


def refuse_column_options(path: object, get_option: Callable[[str], Any], flag: str = "") -> None:
    """Refuse options, from `get_option(name)`, that name what LIBSVM files have in its place. Raises ParameterError."""
    for name, why in UNSUPPORTED_OPTIONS.items():
        given = get_option(name)
        if given is not None and not (isinstance(given, (list, tuple, str)) and not given):
            raise ParameterError(f"{path} is a LIBSVM file, {why}: leave out {flag}{name}")


def parse_rows(path: FilePath, text: bytes, first_line: int = 1) -> tuple[Matrix, FloatArray, NDArray[Any]]:
    """Parse whole lines: rows, with columns by their indices in the text, labels, and groups if any."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y, qid = load_svmlight_file(io.BytesIO(text), zero_based=True, query_id=True)
    except (ValueError, OverflowError) as error:
        fault = find_fault(text, first_line) or f", line {first_line} or below: {error}"
        raise FileFormatError(f"{path}{fault}; {_FORM}") from None
    if len(qid) and _NEARLY_QID.search(text) and (passed := find_fault(text, first_line)):  # by scikit-learn
        raise FileFormatError(f"{path}{passed}; {_FORM}")
    check_tokens(text, y, X.data)
    return X, y, qid


class ParsedLibsvm(NamedTuple):
    """The rows of a LIBSVM text, without the incomplete ones: X (n, d), y (n,), and the groups (n,).

    first_index: The index of the first feature in the text, 0 or 1.
    is_kept: Whether each line's row is among them.
    groups: None unless every line has a qid.
    n_grouped: The number of lines with a qid.
    """

    X: Matrix
    y: NDArray[Any]
    first_index: int
    is_kept: NDArray[np.bool_]
    groups: NDArray[Any] | None
    n_grouped: int


def read_libsvm(path: FilePath, content: bytes, drop_missing: bool, encoding: Encoding | None = None) -> ParsedLibsvm:
    """Read a LIBSVM text; `encoding` is that of a model's training rows. Raises FileFormatError, DataError."""
    raw, y, qid = parse_rows(path, content)
    if encoding is not None:
        first, width = encoding.first_index, encoding.n_features
        _check_indices(path, content, raw, first, first + width - 1)
    elif raw.indices.size:
        first = int(raw.indices.min() > 0)
        width = int(raw.indices.max()) + 1 - first
    else:
        raise DataError(f"{path} has no feature in any row")
    incomplete = _find_incomplete_rows(path, content, raw, y, drop_missing)
    if first:
        raw.indices -= first  # in place: nothing else uses this array
    n = len(y)
    X = sp.csr_array((raw.data, raw.indices, raw.indptr), shape=(n, width))
    groups = qid if len(qid) == n else None
    is_kept = np.ones(n, dtype=np.bool_)
    if incomplete.size:
        is_kept[incomplete] = False
        X = X[is_kept]
        y = y[is_kept]
        groups = None if groups is None else groups[is_kept]
    return ParsedLibsvm(X, as_integers(y), first, is_kept, groups, len(qid))


def _check_indices(path: FilePath, content: bytes, raw: Matrix, first: int, last: int) -> None:
    """Check that a model with features `first` to `last` knows all indices. Raises DataError."""
    indices = raw.indices
    if not indices.size or (indices.min() >= first and indices.max() <= last):
        return
    unknown = np.flatnonzero((indices < first) | (indices > last))[:1]
    line = _find_line(content, _find_rows(unknown, raw)[0])
    raise DataError(
        f"{path}, line {line}: feature index {indices[unknown[0]]} is unknown to the model, whose features are {first} "
        f"to {last}"
    )


def _find_incomplete_rows(path: FilePath, content: bytes, raw: Matrix, y: FloatArray, drop_missing: bool) -> IntArray:
    """Find the rows with NaN, (k,), if they may be dropped. Raises DataError if not, and for infinite values."""
    bad = np.union1d(_find_rows(np.flatnonzero(~np.isfinite(raw.data)), raw), np.flatnonzero(~np.isfinite(y)))
    if not bad.size:
        return bad
    can_drop = bad.size < len(y) and not (np.isinf(raw.data).any() or np.isinf(y).any())
    if not (can_drop and drop_missing):
        if can_drop:
            advice = "; --drop-missing (missing='drop') drops such rows"
        else:
            advice = ""
        place = f"{path}, line {_find_line(content, bad[0])}"
        raise DataError(f"{place}: NaN or infinite value, the first of {bad.size} such rows of {len(y)}{advice}")
    return bad


def check_tokens(content: bytes, *values: NDArray[Any]) -> None:
    """Refuse a text with a whole number that no double is equal to; `values` are the numbers that were read."""
    if any(has_large_integers(read) for read in values):
        for token in content.decode().replace(":", " ").split():
            parse_numbers([token])


def _find_rows(entries: IntArray, raw: Matrix) -> IntArray:
    """Find the rows of stored entries of a CSR matrix, by the entries' positions (k,): (k,)."""
    return np.searchsorted(raw.indptr, entries, side="right") - 1


def _find_line(content: bytes, row: int) -> int:
    """Find the line, from 1, of a row, from 0."""
    lines = (k for k, line in enumerate(io.BytesIO(content), 1) if line.split(b"#")[0].strip())
    return next(k for i, k in enumerate(lines) if i == row)


def find_fault(content: bytes, first_line: int = 1) -> str | None:
    """Describe the first line that cannot be read, which scikit-learn does not tell."""
    for k, line in enumerate(io.BytesIO(content), first_line):
        text = line.decode().split("#")[0]
        tokens = list(re.finditer(r"\S+", text))
        if tokens and parse_numbers([tokens[0].group()]) is None:
            return f", line {k}: the label {reprlib.repr(tokens[0].group())} is not a number"
        last = -1
        for place, token in enumerate(tokens[1:]):
            index, colon, value = token.group().partition(":")
            message = reprlib.repr(token.group())
            if index == "qid":
                if place or not re.fullmatch(r"[+-]?\d{1,18}", value):
                    if place:
                        why = "must come directly after the label"
                    else:
                        why = "is not a group that is a whole number"
                    return f", line {k}, column {token.start() + 1}: {message} {why}"
                continue
            if not colon or not re.fullmatch(r"\+?\d{1,10}", index) or parse_numbers([value]) is None:
                return f", line {k}: {message} is not a feature index and a number"
            if int(index) <= last or int(index) >= 2**31 - 1:
                if int(index) <= last:
                    why = f"comes after {last}; indices must increase"
                else:
                    why = "is too large"
                return f", line {k}: feature index {index} {why}"
            last = int(index)
    return None
