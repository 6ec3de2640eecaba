"""Read a CSV or LIBSVM file into samples and labels, and later another file in the same way.

A LIBSVM line is `label index:value index:value ...`; a CSV file has a header line, and commas, semicolons or tabs
between its cells. The content tells which it is, and whether it is packed by xz, gzip or bzip2. A CSV column of numbers
is one feature; any other column is one 0/1 feature for each of its categories. Lines are counted from 1, as in editors.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays import FloatArray, Matrix
from qpsvm.errors import DataError, FileFormatError, MissingFileError, ParameterError, UnknownOptionError, nearest

#: Cells that stand for "no value", after surrounding blanks are stripped: what R, pandas, SQL, Excel and UCI write.
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"])
#: A text column with more categories than this, and than half of the rows, identifies rows and describes nothing.
MANY_CATEGORIES = 20
#: Largest n·d that is made dense where it need not be: 5e7 numbers are 400 MB.
DENSE_LIMIT = 50_000_000

FilePath = str | PathLike[str]

_LIBSVM_LINE = re.compile(rb"(\S+\s+)?(qid|[+-]?\d+):[^,;\s]*(\s|$)")
_BARE_NUMBER = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?$")


@dataclass(frozen=True)
class Column:
    """One CSV column that is used: a number if `categories` is None, otherwise a 0/1 feature for each category."""

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The features it becomes: `("age",)`, or `("Pop=Vic", "Pop=other")`."""
        return (self.name,) if self.categories is None else tuple(f"{self.name}={c}" for c in self.categories)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How a file's columns became features: enough to encode another file in the same way.

    Attributes
    ----------
    format : str
        `"csv"` or `"libsvm"`.
    target : str or None
        CSV: the column of labels.
    columns : tuple of Column
        CSV: the columns that are used, in the order of the features.
    n_features : int
        d, the width of the encoded matrix.
    mean, scale : ndarray of shape (d,), or None
        What standardising subtracts and then divides by.
    text_labels : bool
        CSV: the labels are text, even where another file's all look like numbers.
    first_index : int
        LIBSVM: the index of the first feature, 1, or 0 if the file has an index 0 (scikit-learn writes such files).
    """

    format: str
    target: str | None
    columns: tuple[Column, ...]
    n_features: int
    mean: FloatArray | None = None
    scale: FloatArray | None = None
    text_labels: bool = False
    first_index: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d features; for LIBSVM `x` and the file's index."""
        if self.format == "csv":
            return tuple(name for column in self.columns for name in column.names)
        return tuple(f"x{j + self.first_index}" for j in range(self.n_features))

    def to_json(self) -> str:
        """Write as JSON text, which `from_json` reads back without loss."""
        return json.dumps(asdict(self), default=lambda array: array.tolist())

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """Read what `to_json` wrote.

        Raises
        ------
        FileFormatError
            Not JSON, or not of this form.
        """
        try:
            fields = json.loads(text)
            columns = (Column(c["name"], c["categories"] and tuple(c["categories"])) for c in fields["columns"])
            moments = {key: fields[key] and np.array(fields[key], dtype=np.float64) for key in ("mean", "scale")}
            encoding = cls(**{**fields, **moments, "columns": tuple(columns)})
            width = len(encoding.names) if encoding.format == "csv" else encoding.n_features
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"this does not hold the encoding of a data file: {error!r}") from error
        shapes = {None if m is None else m.shape for m in (encoding.mean, encoding.scale)}
        known = encoding.format in ("csv", "libsvm")
        if not known or encoding.n_features != width or shapes not in ({None}, {(width,)}):
            raise FileFormatError("the encoding of the data file contradicts itself; save the model again")
        return encoding


@dataclass(frozen=True, eq=False)
class Table:
    """Samples and labels from a file.

    Attributes
    ----------
    X : ndarray or csr_array of float64, shape (n, d)
        Samples: CSR from LIBSVM (and from a CSV file whose 0/1 features would be too large), dense if standardised.
    y : ndarray of shape (n,), or None
        Labels: integers if all are whole numbers, other numbers, or text. None if the file has none.
    encoding : Encoding
        How it was read.
    dropped : int
        How many rows were dropped for missing values.
    """

    X: Matrix
    y: NDArray[Any] | None
    encoding: Encoding
    dropped: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d features."""
        return self.encoding.names


def read_table(
    path: FilePath,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    standardise: bool = False,
) -> Table:
    """Read a CSV or LIBSVM file.

    Parameters
    ----------
    path : path
        The file, possibly compressed by xz, gzip or bzip2.
    target : str, optional
        CSV: the column of labels, required. A LIBSVM file has its labels in front.
    drop : sequence of str
        CSV: columns that are not used.
    drop_missing : bool
        Drop the rows with a missing value in a column that is used, instead of refusing the file.
    standardise : bool
        Give every feature mean 0 and standard deviation 1 (a constant one: only mean 0).

    Raises
    ------
    MissingFileError
        No such file.
    FileFormatError
        Not text, damaged, a row of another length, a malformed line, no rows.
    DataError
        A missing or infinite value, no column left, a column that identifies rows, decimal commas.
    ParameterError
        No target for CSV, target or drop for LIBSVM, or a sparse matrix too large to be standardised.
    UnknownOptionError
        `target` or `drop` names no column.
    """
    content, drop = _read_bytes(path), (drop,) if isinstance(drop, str) else tuple(drop)
    if _format(content) == "libsvm":
        for option, given in (("target", target is not None), ("drop", bool(drop))):
            if given:
                raise ParameterError(f"{path} is a LIBSVM file, whose lines begin with the label: leave out {option}")
        X, y, first, dropped = _read_libsvm(path, content, drop_missing)
        table = Table(X, y, Encoding("libsvm", None, (), X.shape[1], first_index=first), dropped)
    else:
        sheet = _parse(path, content)
        names = _feature_columns(sheet, target, drop)
        sheet, dropped = sheet.without_missing([*names, str(target)], drop_missing)
        columns = tuple(_column(sheet, name) for name in names)
        text = _numbers(sheet.cells(str(target))) is None
        encoding = Encoding("csv", target, columns, sum(len(c.names) for c in columns), text_labels=text)
        table = Table(_encode(sheet, encoding), _csv_labels(sheet, encoding), encoding, dropped)
    if standardise:
        mean, scale = _moments(_as_dense(table.X, path))
        table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
    return _standardised(table, path)


def read_like(path: FilePath, encoding: Encoding, *, drop_missing: bool = False) -> Table:
    """Read a further file as `read_table` read the one that `encoding` is from.

    CSV columns are found by name, in any order; others are ignored. `y` is None if the target column is absent or
    holds no value at all, as in a file that waits for its predictions.

    Raises
    ------
    MissingFileError, FileFormatError, DataError, ParameterError
        As in `read_table`; also for a file of the other format, a column that is absent, a category or a feature
        index that the first file did not have.
    """
    content = _read_bytes(path)
    found = _format(content) or encoding.format
    if found != encoding.format:
        raise FileFormatError(f"{path} is a {found} file, but the model was trained on a {encoding.format} file")
    if encoding.format == "libsvm":
        X, y, _, dropped = _read_libsvm(path, content, drop_missing, encoding)
        table = Table(X, y, encoding, dropped)
    else:
        sheet = _parse(path, content)
        used = [column.name for column in encoding.columns]
        absent = [name for name in used if name not in sheet.header]
        if absent:
            raise DataError(f"{path} has no column {', '.join(map(repr, absent))}, which the model needs")
        labelled = encoding.target in sheet.header and not MISSING.issuperset(sheet.cells(str(encoding.target)))
        sheet, dropped = sheet.without_missing([*used, str(encoding.target)] if labelled else used, drop_missing)
        table = Table(_encode(sheet, encoding), _csv_labels(sheet, encoding) if labelled else None, encoding, dropped)
    return _standardised(table, path)


# From a path to the bytes of a text, and to its format ------------------------------------------------------------


def _read_bytes(path: FilePath) -> bytes:
    """Return the content, unpacked, as UTF-8 without a byte order mark and with line ends \\n."""
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path} does not exist (seen from {Path.cwd()})") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}") from error
    content = _unpack(path, content)
    if b"\0" in content:
        raise FileFormatError(f"{path} is not a text file; export it as CSV or LIBSVM text in UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(f"{path}, line {line} is not UTF-8 text; save the file in UTF-8") from None
    if not content.strip():
        raise FileFormatError(f"{path} is empty")
    return content


def _unpack(path: FilePath, content: bytes) -> bytes:
    import bz2
    import gzip
    import lzma
    import zlib

    unpackers: dict[bytes, Callable[[bytes], bytes]] = {
        rb"\xfd7zXZ\0": lzma.decompress,
        rb"\x1f\x8b": gzip.decompress,
        rb"BZh[1-9](1AY&SY|\x17rE8P)": bz2.decompress,
    }
    for magic, unpack in unpackers.items():
        if re.match(magic, content):
            try:
                return unpack(content)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise FileFormatError(f"{path} is a damaged compressed file: {error}") from error
    return content


def _format(content: bytes) -> str | None:
    """Tell the format by the first line that can: not a comment, and not a label alone (a LIBSVM row of zeros)."""
    for line in io.BytesIO(content):
        text = line.strip()
        if text and not text.startswith(b"#") and not _BARE_NUMBER.match(text):
            return "libsvm" if _LIBSVM_LINE.match(text) else "csv"
    return None


# LIBSVM -----------------------------------------------------------------------------------------------------------


def _read_libsvm(
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
    return (X[keep] if bad.size else X), _whole(y[keep]), first, int(bad.size)


def _libsvm_line(content: bytes, row: int) -> int:
    """The line on which a row (from 0) stands."""
    lines = (k for k, line in enumerate(content.split(b"\n"), 1) if line.split(b"#")[0].strip())
    return next(k for i, k in enumerate(lines) if i == row)


def _libsvm_fault(content: bytes) -> str | None:
    """Find the first line that cannot be read, which scikit-learn does not tell."""
    for k, line in enumerate(content.decode().split("\n"), 1):
        label, *pairs = line.split("#")[0].split() or ["0"]
        if _numbers([label]) is None:
            return f", line {k}: the label {reprlib.repr(label)} is not a number"
        last = -1
        for pair in pairs:
            index, colon, value = pair.partition(":")
            if index == "qid":
                continue
            if not colon or not re.fullmatch(r"\+?\d{1,10}", index) or _numbers([value]) is None:
                return f", line {k}: {reprlib.repr(pair)} is not a feature index and a number"
            if int(index) <= last or int(index) >= 2**31 - 1:
                why = f"comes after {last}; indices must increase" if int(index) <= last else "is too large"
                return f", line {k}: feature index {index} {why}"
            last = int(index)
    return None


# CSV --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sheet:
    """The cells of a CSV file, stripped; the place of each column; the line of the file on which each row begins."""

    path: FilePath
    header: dict[str, int]
    rows: list[list[str]]
    lines: list[int]

    @property
    def hint(self) -> str:
        return "" if _numbers(list(self.header)) is None else "; is the line of column names missing?"

    def cells(self, name: str) -> list[str]:
        j = self.header[name]
        return [row[j] for row in self.rows]

    def at(self, i: int, name: str) -> str:
        return f"{self.path}, line {self.lines[i]}, column {name!r}"

    def without_missing(self, names: Sequence[str], drop_missing: bool) -> tuple[_Sheet, int]:
        """Drop the rows with a missing value in one of the columns, or refuse them."""
        used = [(name, self.header[name]) for name in names]
        holes = [(i, name) for i, row in enumerate(self.rows) for name, j in used if row[j] in MISSING]
        bad = {i for i, _ in holes}
        if bad and not drop_missing:
            i, name = holes[0]
            raise DataError(
                f"{self.at(i, name)} is missing ({self.cells(name)[i]!r}), the first of {len(holes)} missing cells in "
                f"{len(bad)} rows; --drop-missing (drop_missing=True) drops those rows"
            )
        if len(bad) == len(self.rows):
            [(worst, _)] = Counter(name for _, name in holes).most_common(1)
            raise DataError(f"{self.path}: every row has a missing value, most of them in column {worst!r}")
        keep = [i for i in range(len(self.rows)) if i not in bad]
        return replace(self, rows=[self.rows[i] for i in keep], lines=[self.lines[i] for i in keep]), len(bad)


def _parse(path: FilePath, content: bytes) -> _Sheet:
    """Split into cells and check that they make a table under a header."""
    text = content.decode()
    head = re.match(r'\n*((?:"[^"]*"|[^"\n]+)*)', text)
    delimiter = max(",;\t", key=re.sub(r'"[^"]*"', "", head[1] if head else "").count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    sheet, line = _Sheet(path, {}, [], []), 1
    try:
        for record in reader:
            cells = [cell.strip() for cell in record]
            if not sheet.header:
                sheet.header.update(_checked_header(path, [" ".join(cell.split()) for cell in cells]))
            elif len(cells) > 1 or any(cells):
                if len(cells) != len(sheet.header):
                    raise FileFormatError(
                        f"{path}, line {line} has {len(cells)} cells where the header has {len(sheet.header)}; "
                        f"quote a cell that contains {delimiter!r}"
                    )
                sheet.rows.append(cells)
                sheet.lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {line}: {error}; look for a quote that is not closed") from None
    if not sheet.rows:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def _checked_header(path: FilePath, names: Sequence[str]) -> dict[str, int]:
    header: dict[str, int] = {}
    for j, name in enumerate(names):
        if not name or name in header:
            fault = f"the same name {name!r} as column {header[name] + 1}" if name else "no name"
            hint = "give it its own name" if _numbers(names) is None else "is the line of column names missing?"
            raise FileFormatError(f"{path}: column {j + 1} has {fault}; {hint}")
        header[name] = j
    return header


def _feature_columns(sheet: _Sheet, target: str | None, drop: Sequence[str]) -> list[str]:
    if target is None:
        advice = f"name the column of labels by --target COLUMN (target=); columns: {_listing(list(sheet.header))}"
        raise ParameterError(f"{sheet.path}: {advice}")
    for option, names in (("target", [target]), ("drop", drop)):
        for name in names:
            if name not in sheet.header:
                listing = nearest(name, sheet.header) + sheet.hint
                raise UnknownOptionError(f"{option}: {sheet.path} has no column {name!r}; {listing}")
    if target in drop:
        raise ParameterError(f"column {target!r} is the target and cannot be dropped")
    names = [name for name in sheet.header if name != target and name not in drop]
    if not names:
        raise DataError(f"{sheet.path} has no feature column beside the target {target!r} and those dropped")
    return names


def _column(sheet: _Sheet, name: str) -> Column:
    """Decide what a column holds: numbers, or text with few enough categories."""
    cells = sheet.cells(name)
    if _numbers(cells) is not None:
        return Column(name)
    odd = next(i for i, cell in enumerate(cells) if _numbers([cell]) is None)
    if _numbers([cell.replace(",", ".") for cell in cells]) is not None:
        raise DataError(
            f"{sheet.at(odd, name)}: {reprlib.repr(cells[odd])} has a comma; write decimal points, no thousands marks"
        )
    categories = sorted(set(cells))
    if len(categories) > max(MANY_CATEGORIES, len(cells) / 2):
        raise DataError(
            f"{sheet.at(odd, name)}: {reprlib.repr(cells[odd])} is not a number, and the column has {len(categories)} "
            f"categories in {len(cells)} rows, like a name or an id; leave it out by --drop {name!r}"
        )
    return Column(name, tuple(categories))


def _encode(sheet: _Sheet, encoding: Encoding) -> Matrix:
    """Turn the columns into X (n, d): dense, or CSR where 0/1 features would make it too large."""
    n = len(sheet.rows)
    blocks: list[Any] = []
    for column in encoding.columns:
        if column.categories is None:
            blocks.append(_finite_numbers(sheet, column.name)[:, None])
            continue
        place = {category: k for k, category in enumerate(column.categories)}
        cells = sheet.cells(column.name)
        unknown = next((i for i, cell in enumerate(cells) if cell not in place), None)
        if unknown is not None:
            at, cell = sheet.at(unknown, column.name), reprlib.repr(cells[unknown])
            known = _listing([reprlib.repr(category) for category in column.categories])
            raise DataError(f"{at}: {cell} is unknown to the model; known: {known}")
        codes = np.array([place[cell] for cell in cells])
        blocks.append(sp.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(place))))
    if n * encoding.n_features > DENSE_LIMIT and any(sp.issparse(block) for block in blocks):
        return sp.csr_array(sp.hstack(blocks))
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")


def _csv_labels(sheet: _Sheet, encoding: Encoding) -> NDArray[Any]:
    target = str(encoding.target)
    return np.array(sheet.cells(target)) if encoding.text_labels else _whole(_finite_numbers(sheet, target))


# Numbers ----------------------------------------------------------------------------------------------------------


def _numbers(cells: Sequence[str]) -> FloatArray | None:
    """Read all as numbers (n,), or none. `1_000`, which Python takes for a number, is text."""
    try:
        return None if "_" in " ".join(cells) else np.array(list(map(float, cells)))
    except ValueError:
        return None


def _finite_numbers(sheet: _Sheet, name: str) -> FloatArray:
    cells = sheet.cells(name)
    values = _numbers(cells)
    if values is not None and np.isfinite(values).all():
        return values
    i = next(i for i, cell in enumerate(cells) if (v := _numbers([cell])) is None or not np.isfinite(v[0]))
    raise DataError(f"{sheet.at(i, name)}: {reprlib.repr(cells[i])} is not a finite number, which this column needs")


def _whole(values: FloatArray) -> NDArray[Any]:
    """Turn labels (n,) into integers if all are."""
    exact = np.abs(values) < 2.0**53
    return values.astype(np.int64) if (exact & (values == np.floor(values))).all() else values


def _as_dense(X: Matrix, path: FilePath) -> FloatArray:
    n, d = X.shape
    if sp.issparse(X) and n * d > DENSE_LIMIT:
        raise ParameterError(
            f"{path}: {n} rows × {d} features cannot be standardised: subtracting the mean would fill in the zeros "
            f"({8e-9 * n * d:.1f} GB); leave out standardise, or scale the file's columns without shifting them"
        )
    dense: FloatArray = X.toarray() if sp.issparse(X) else X
    return dense


def _moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (d,), by columns divided by their largest entry, whose squares stay in range."""
    peak = np.abs(X).max(axis=0)
    peak[peak == 0] = 1.0
    mean, scale = peak * (X / peak).mean(axis=0), peak * (X / peak).std(axis=0)
    constant = (X[0] == X).all(axis=0)
    return np.where(constant, X[0], mean), np.where(constant | (scale == 0), 1.0, scale)


def _standardised(table: Table, path: FilePath) -> Table:
    mean, scale = table.encoding.mean, table.encoding.scale
    if mean is None or scale is None:
        return table
    with np.errstate(over="ignore"):
        X = (_as_dense(table.X, path) - mean) / scale
    if not np.isfinite(X).all():
        name = table.names[int(np.argwhere(~np.isfinite(X))[0, 1])]
        raise DataError(f"{path}: feature {name!r} has values too large to be standardised; divide them by a constant")
    return replace(table, X=X)
