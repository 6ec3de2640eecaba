"""LIBSVM text as rows, some megabytes of whole lines at a time.

LIBSVM text in its plainest form as numbers, many times as fast as where every line is looked at.

Each line is `label index:value index:value …` with one blank between pairs. All that separates two numbers is then made
a line feed, and pyarrow reads one column of numbers, in several threads. The order of the separators shows whether the
text has this form. Of any other, and of anything that is wrong, this says nothing: whoever asks has another way.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, FileFormatError
from qpsvm.data.files.libsvm import check_tokens, fault_in
from qpsvm.data.files.source import readable, unpacked
from qpsvm.data.sources.decoding.batches import Batch, Decoder, Labels, Reconsidered
from qpsvm.data.sources.stored import Watch

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


#: Bytes of text that are decoded at a time.
BLOCK_BYTES = 1 << 22


class LibsvmRows(Decoder):
    """The rows of LIBSVM files, whose lines begin with the label.

    The first index is 1, or 0 if it occurs: then what was decoded before is decoded again.
    """

    kind = "LIBSVM"
    is_sparse = True

    def __init__(self, paths: Sequence[str]) -> None:
        self.names = tuple(paths)
        self.watch = Watch(paths)
        self.first_index = 1

    def batches(self) -> Iterator[Batch]:
        for path in self.names:
            start, line = 0, 1
            for text in self._blocks(path):
                batch = self._batch(path, text, start, line)
                yield batch
                start += batch.X.shape[0]
                line += text.count(b"\n")
            self.watch.check(path)

    @staticmethod
    def _blocks(path: str) -> Iterator[bytes]:
        """The text of a file in whole lines."""
        rest = b""
        with readable(path), unpacked(path) as file:
            while more := file.read(BLOCK_BYTES):
                end = more.rfind(b"\n") + 1
                if end:
                    yield (rest + more[:end]).removeprefix(b"\xef\xbb\xbf")
                    rest = more[end:]
                else:
                    rest += more
        if rest.strip():
            yield rest

    def _batch(self, path: str, text: bytes, start: int, line: int) -> Batch:
        X, y = plain_rows(text) or self._looked_at(path, text, line)
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise DataError(f"{path}, row {start + row} has the label {y[row]}; labels must be finite")
        return Batch(self._shifted(X), Labels(y), None, path, start)

    @staticmethod
    def _looked_at(path: str, text: bytes, line: int) -> tuple[Matrix, FloatArray]:
        """Rows whose text is not of the plain form: read line by line, or refused with the line that is wrong."""
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
        except (ValueError, OverflowError) as error:
            fault = fault_in(text, line) or f", line {line} or below: {error}"
            raise FileFormatError(f"{path}{fault}; a LIBSVM line is: label index:value index:value ...") from None
        check_tokens(text, y, X.data)
        return X, y

    def _shifted(self, X: Matrix) -> Matrix:
        """The same with the first index as column 0."""
        lowest = int(X.indices.min(initial=1))
        if lowest < self.first_index:
            self.first_index = 0
            raise Reconsidered
        if not self.first_index:
            return sp.csr_array(X)
        X.indices -= 1  # they are ours
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1] - 1, 0)))
