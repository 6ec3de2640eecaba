"""The LIBSVM format: a label, then index:value pairs, on each line."""

from __future__ import annotations

import io
import re
import reprlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays import Matrix
from qpsvm.errors import DataError, FileFormatError
from qpsvm.files.encoding import Encoding, FilePath
from qpsvm.files.raw import numbers, whole


def read_libsvm(
    path: FilePath, content: bytes, drop_missing: bool, encoding: Encoding | None = None
) -> tuple[Matrix, NDArray[Any], int, int]:
    """Return X (n, d), y (n,), the first index and the number of dropped rows."""
    from sklearn.datasets import load_svmlight_file

    try:
        raw, y = load_svmlight_file(io.BytesIO(content), zero_based=True)
    except (ValueError, OverflowError) as error:
        fault = _libsvm_fault(content) or f": {error}"
        raise FileFormatError(f"{path}{fault}; a LIBSVM line is: label index:value index:value ...") from None
    n, indices, row_of = len(y), raw.indices.astype(np.int64), np.repeat(np.arange(len(y)), np.diff(raw.indptr))
    if encoding is not None:
        first, width = encoding.first_index, encoding.n_features
    elif indices.size:
        first = int(indices.min() > 0)
        width = int(indices.max()) + 1 - first
    else:
        raise DataError(f"{path} has no feature in any row")
    outside = np.flatnonzero((indices < first) | (indices >= first + width))
    if outside.size:
        raise DataError(
            f"{path}, line {_libsvm_line(content, row_of[outside[0]])}: feature index {indices[outside[0]]} is unknown "
            f"to the model, whose features are {first} to {first + width - 1}"
        )
    bad = np.unique(np.concatenate((row_of[~np.isfinite(raw.data)], np.flatnonzero(~np.isfinite(y)))))
    infinite = bool(np.isinf(raw.data).any() or np.isinf(y).any())
    if bad.size and (infinite or not drop_missing or bad.size == n):
        advice = "" if infinite or bad.size == n else "; --drop-missing (drop_missing=True) drops such rows"
        line = _libsvm_line(content, bad[0])
        raise DataError(f"{path}, line {line}: NaN or infinite value, the first of {bad.size} such rows of {n}{advice}")
    X = sp.csr_array((raw.data, indices - first, raw.indptr), shape=(n, width))
    keep = np.setdiff1d(np.arange(n), bad)
    return (X[keep] if bad.size else X), whole(y[keep]), first, int(bad.size)


def _libsvm_line(content: bytes, row: int) -> int:
    """The line on which a row (from 0) stands."""
    lines = (k for k, line in enumerate(content.split(b"\n"), 1) if line.split(b"#")[0].strip())
    return next(k for i, k in enumerate(lines) if i == row)


def _libsvm_fault(content: bytes) -> str | None:
    """Find the first line that cannot be read, which scikit-learn does not tell."""
    for k, line in enumerate(content.decode().split("\n"), 1):
        label, *pairs = line.split("#")[0].split() or ["0"]
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
