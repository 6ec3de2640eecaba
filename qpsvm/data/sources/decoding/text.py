"""CSV files as rows, read by pyarrow a few megabytes at a time: the same headers, delimiters and gaps as in `files`.

Every feature is read as a number. The target is read as numbers as long as it is some, and from the beginning as text
where it is not.

LIBSVM text as rows, some megabytes of whole lines at a time.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rounding import reaches
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError, FileFormatError
from qpsvm.data.files.libsvm import parsed
from qpsvm.data.files.sheet import MISSING, UNNAMED, Sheet, headed, numbers
from qpsvm.data.files.source import HEAD_BYTES, readable, unpacked
from qpsvm.data.sources.decoding.arrow import Columns, needed
from qpsvm.data.sources.decoding.batches import Batch, Decoder, Reconsidered
from qpsvm.data.sources.stored import Watch, at_row, check_names, chosen

#: Bytes of text that are decoded at a time.
CSV_BYTES = 1 << 23


class CsvRows(Decoder):
    """The rows of CSV files of the same columns.

    target, columns, weight: As in `open_rows`.
    """

    kind = "CSV"

    def __init__(self, paths: Sequence[str], target: Any, columns: Any, weight: Any) -> None:
        needed(f"{paths[0]}, read in blocks,")
        self.watch = Watch(paths)
        sheets = [(path, *head_of(path)) for path in paths]
        self._sheets = [(path, sheet, line) for path, sheet, line in sheets if line is not None]
        self.names = tuple(paths)
        first = sheets[0][1]
        self._columns = chosen(first.names, paths[0], target, columns, weight)
        for path, sheet, _ in sheets[1:]:
            check_names(sheet.names, first.names, self._columns, columns is None, path, paths[0])
        self.feature_names = self._columns.features
        self._text = False

    def batches(self) -> Iterator[Batch]:
        made = Columns(self._columns, self.dtype, stripped=True)
        for path, sheet, line in self._sheets:
            start, looked_at = 0, False
            try:
                for record in self._records(path, sheet, line, self._types()):
                    _check_index(record, path, start)
                    if not looked_at and (looked_at := _has_large(record)):
                        fault = self._fault(path, sheet, line)
                        if fault is not None:
                            raise fault
                    yield made.batch(record, path, start)
                    start += record.num_rows
            except (ValueError, OSError) as error:  # errors of Arrow are one of the two, or both
                if isinstance(error, (DataError, FileFormatError)):
                    raise
                raise self._fault(path, sheet, line, error) or error from error
            self.watch.check(path)

    def _types(self) -> dict[str, str]:
        """What each column is read as."""
        types = dict.fromkeys(self._columns.used, "float64")
        if self._text and self._columns.target is not None:
            types[self._columns.target] = "string"
        return types

    def _records(self, path: str, sheet: Sheet, line: int, types: dict[str, str]) -> Iterator[Any]:
        import pyarrow
        from pyarrow import csv

        counting = {UNNAMED: "float64"} if UNNAMED in sheet.header else {}
        types = types | counting
        with readable(path), unpacked(path) as text, csv.open_csv(
            pyarrow.PythonFile(text, "r"),
            csv.ReadOptions(column_names=list(sheet.header), skip_rows=line - 1, block_size=CSV_BYTES),
            csv.ParseOptions(delimiter=sheet.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                column_types={name: pyarrow.type_for_alias(kind) for name, kind in types.items()},
                include_columns=list(types), null_values=sorted(MISSING), strings_can_be_null=True,
            ),
        ) as reader:  # fmt: skip
            yield from reader

    def _fault(self, path: str, sheet: Sheet, line: int, error: Exception | None = None) -> Exception | None:
        """What is wrong with the cells of a file, as text: the first that is no number, or that no double is equal to.

        Where there is none, it is what Arrow says.
        """
        target, start = self._columns.target, 0
        try:
            for record in self._records(path, sheet, line, dict.fromkeys(self._columns.used, "string")):
                for name in self._columns.used:
                    cells = [cell or "0" for cell in record.column(name).to_pylist()]
                    found = None if self._text and name == target else _first_fault(cells)
                    if found is not None and found[1] is None and name == target:
                        self._text = True
                        return Reconsidered()
                    if found is not None:
                        at = f"{at_row(path, start + found[0])}, column {name!r}"
                        return _no_number(at, cells[found[0]]) if found[1] is None else DataError(f"{at}: {found[1]}")
                start += record.num_rows
        except (ValueError, OSError) as other:
            error = other
        return None if error is None else FileFormatError(f"{path}, below row {start}: {error}")


def _first_fault(cells: Sequence[str]) -> tuple[int, DataError | None] | None:
    """The first cell that is no number, or the one that no double is equal to, with what is wrong."""
    try:
        if numbers(cells) is not None:
            return None
    except DataError as error:
        return next(i for i, cell in enumerate(cells) if str(error).startswith(f"a cell is {cell.strip()}")), error
    return next(i for i, cell in enumerate(cells) if numbers([cell]) is None), None


def _has_large(record: Any) -> bool:
    """Whether some number of a record batch is so large that its text has to be looked at."""
    columns = [column for column in record.columns if str(column.type) == "double"]
    return any(reaches(column.to_numpy(zero_copy_only=False)) for column in columns)


def head_of(path: str) -> tuple[Sheet, int | None]:
    """The header of a file, and the line on which the first row begins."""
    with readable(path), unpacked(path) as file:
        head = file.read(HEAD_BYTES)
        while len(head) % HEAD_BYTES == 0 and head.count(b"\n") < 2 and (more := file.read(HEAD_BYTES)):
            head += more  # a header of many columns
        if len(head) % HEAD_BYTES == 0:
            head = head[: head.rfind(b"\n") + 1]
    head = head.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not head.strip():
        raise FileFormatError(f"{path} is empty")
    try:
        return headed(path, head)
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8 text; save the file in UTF-8") from None


def _check_index(record: Any, path: str, start: int) -> None:
    """Take a first column without a name for an index if it counts the rows. Raises FileFormatError."""
    if UNNAMED not in record.schema.names:
        return
    values = record.column(UNNAMED).to_numpy(zero_copy_only=False)
    count = np.arange(start, start + len(values))
    if not (np.array_equal(values, count) or np.array_equal(values, count + 1)):
        raise FileFormatError(
            f"{path}: column 1 has no name and does not count the rows; give it a name in the header, or write "
            "the file without it (pandas: to_csv(index=False), R: row.names = FALSE)"
        )


def _no_number(at: str, cell: str) -> DataError:
    if numbers([cell.replace(",", ".")]) is not None:
        return DataError(f"{at}: {reprlib.repr(cell)} has a comma; write decimal points, no thousands marks")
    return DataError(
        f"{at}: {reprlib.repr(cell)} is not a number; leave out a column that is no feature by columns= (--drop), or "
        "encode it as numbers first"
    )


#: Bytes of text that are decoded at a time.
LIBSVM_BYTES = 1 << 22


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
            while more := file.read(LIBSVM_BYTES):
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
