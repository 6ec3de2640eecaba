"""Read CSV and LIBSVM text as rows, in blocks (`CsvRows`, `LibsvmRows`).

The format of some files is known only after a part of them has been read: whether the target of a CSV file is text,
and whether the indices of a LIBSVM file start at 0. Decoding begins with the common case, numbers and 1. At the first
value that contradicts it, the decoder notes the other case and raises `DecoderRestart`, and all files are read again.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.files.libsvm import parse_rows
from qpsvm.data.files.sheet import MISSING, UNNAMED, Mask, Sheet, open_sheet, parse_numbers
from qpsvm.data.files.source import open_decompressed, open_text, translate_read_errors
from qpsvm.data.sources.chosen_columns import check_names, choose_columns
from qpsvm.data.sources.decoder import Batch, Decoder, DecoderRestart
from qpsvm.data.sources.stored import IN_MEMORY, FileWatch

#: Approximate number of bytes of LIBSVM text that are decoded at a time.
LIBSVM_BYTES = 1 << 22


class CsvRows(Decoder):
    """The rows of CSV files with the same columns.

    target, columns, weight: As in `open_rows`.
    """

    kind = "CSV"

    def __init__(self, paths: Sequence[str], target: Any, columns: Any, weight: Any) -> None:
        self.watch = FileWatch(paths)
        self.names = tuple(paths)
        self._sheets = [open_csv(path) for path in paths]
        first = self._sheets[0].names
        self._columns = choose_columns(first, paths[0], target, columns, weight)
        for path, sheet in zip(paths[1:], self._sheets[1:], strict=True):
            check_names(sheet.names, first, self._columns, columns is None, path, paths[0])
        self.feature_names = self._columns.features
        self._is_target_text = False

    def batches(self) -> Iterator[Batch]:
        target, weight = str(self._columns.target), str(self._columns.weight)
        for path, sheet in zip(self.names, self._sheets, strict=True):
            start = 0
            for records in sheet.blocks():
                cells = dict(zip(sheet.header, zip(*records, strict=True), strict=True))
                if UNNAMED in cells:  # not a feature: it must count the rows
                    found = sheet.parse_cells(UNNAMED, cells[UNNAMED], start)
                    sheet.check_index(None if found is None else found[0], start)
                column = {name: self._read_column(sheet, name, cells[name], start) for name in self._columns.all_names}
                X = np.column_stack([column[name] for name in self._columns.features])
                yield Batch(X, column.get(target), column.get(weight), path, start)
                start += len(records)
            self.watch.check(path)

    def _read_column(self, sheet: Sheet, name: str, cells: Sequence[str], start: int) -> NDArray[Any]:
        """Convert the cells of a column, from row `start` on, to numbers, or to text if the target is text: (k,)."""
        is_target = name == self._columns.target
        if is_target and self._is_target_text:
            texts = [cell.strip() for cell in cells]
            missing: Mask | None = np.array([text in MISSING for text in texts])
            values: NDArray[Any] = np.array(texts)
        else:
            found = sheet.parse_cells(name, cells, start)
            if found is None and is_target:
                self._is_target_text = True
                raise DecoderRestart
            if found is None:
                present = (i for i, cell in enumerate(cells) if cell.strip() not in MISSING)
                i = next(i for i in present if parse_numbers([cells[i]]) is None)
                has_comma = parse_numbers([cells[i].replace(",", ".")]) is not None
                raise DataError(
                    f"{_describe_cell(sheet, name, start + i)}: {reprlib.repr(cells[i].strip())} "
                    + (
                        "has a comma; write decimal points, no thousands marks" if has_comma else
                        "is not a number; leave out columns that are not features by columns= (--drop), or encode them "
                        f"first; {IN_MEMORY}"
                    )
                )  # fmt: skip
            values, missing = found
        if missing is not None and missing.any():
            raise DataError(
                f"{_describe_cell(sheet, name, start + int(missing.argmax()))} has no value ({missing.sum()} such "
                f"cells near it); impute or drop such rows first; {IN_MEMORY}"
            )
        return values


def open_csv(path: str) -> Sheet:
    """Open a CSV file and read its header. Raises FileFormatError."""
    return open_sheet(path, partial(open_text, path))


def _describe_cell(sheet: Sheet, name: str, row: int) -> str:
    """Describe the position of a cell."""
    return f"{sheet.path}, line {sheet.find_cell(row, name)[0]}, row {row}, column {name!r}"


class LibsvmRows(Decoder):
    """The rows of LIBSVM files, whose lines begin with the label."""

    kind = "LIBSVM"
    is_sparse = True

    def __init__(self, paths: Sequence[str]) -> None:
        self.names = tuple(paths)
        self.watch = FileWatch(paths)
        self.first_index = 1

    def batches(self) -> Iterator[Batch]:
        for path in self.names:
            start, line = 0, 1
            for text in self._iter_texts(path):
                yield (batch := self._decode_batch(path, text, start, line))
                start += batch.X.shape[0]
                line += text.count(b"\n")
            self.watch.check(path)

    @staticmethod
    def _iter_texts(path: str) -> Iterator[bytes]:
        """Yield the text of a file in pieces of whole lines."""
        with translate_read_errors(path), open_decompressed(path) as file:
            while lines := file.readlines(LIBSVM_BYTES):
                yield b"".join(lines).removeprefix(b"\xef\xbb\xbf")  # the byte order mark of UTF-8

    def _decode_batch(self, path: str, text: bytes, start: int, line: int) -> Batch:
        """Decode text whose first row and line are row `start`, from 0, and line `line`, from 1, of a file."""
        X, y, _ = parse_rows(path, text, line)
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise DataError(f"{path}, row {start + row} has the label {y[row]}; labels must be finite")
        return Batch(self._shift_indices(X), y, None, path, start)

    def _shift_indices(self, X: Matrix) -> Matrix:
        """Make the first index column 0. Raises DecoderRestart at the first index 0."""
        lowest = int(X.indices.min(initial=1))
        if lowest < self.first_index:
            self.first_index = 0
            raise DecoderRestart
        if not self.first_index:
            return sp.csr_array(X)
        X.indices -= 1  # in place: no one else holds X
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1] - 1, 0)))
