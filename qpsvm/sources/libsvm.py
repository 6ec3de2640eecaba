"""LIBSVM text as rows, some megabytes of whole lines at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.errors import DataError, FileFormatError
from qpsvm.files.libsvm import check_tokens, fault_in
from qpsvm.files.source import readable, unpacked
from qpsvm.sources.batches import Batch, Decoder, Labels, Reconsidered
from qpsvm.sources.libsvm_text import plain_rows
from qpsvm.sources.watch import Watch

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
        """The rows of each file."""
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
