"""LIBSVM text as rows, some megabytes of whole lines at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.files.libsvm import parsed
from qpsvm.data.files.source import readable, unpacked
from qpsvm.data.sources.decoding.batches import Batch, Decoder, Reconsidered
from qpsvm.data.sources.stored import Watch

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
        X, y, _ = parsed(path, text, line)
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise DataError(f"{path}, row {start + row} has the label {y[row]}; labels must be finite")
        return Batch(self._shifted(X), y, None, path, start)

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
