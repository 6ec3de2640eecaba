"""Open rows from a path, several paths, a pattern, a folder, an array, or a table (`open_rows`)."""

from __future__ import annotations

import glob
import numbers
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import DataTypeError, FileFormatError, MissingFileError, ParameterError, ParameterTypeError
from qpsvm.data.files.libsvm import refuse_column_options
from qpsvm.data.files.sheet import detect_format
from qpsvm.data.files.source import open_decompressed, refuse_device, translate_read_errors
from qpsvm.data.kinds import is_arrow, is_path
from qpsvm.data.rows.source import RowSource
from qpsvm.data.sources import arrays, arrow
from qpsvm.data.sources.decoder import Decoder
from qpsvm.data.sources.first_pass import run_first_pass
from qpsvm.data.sources.scratch import DecodedRows, StoredDecoder, decode_to_scratch, find_scratch_folder
from qpsvm.data.sources.stored import StoredRows
from qpsvm.data.sources.streamed import StreamedRows
from qpsvm.data.sources.text import CsvRows, LibsvmRows

#: Number of bytes that show whether a text is CSV or LIBSVM.
HEAD_BYTES = 1 << 16
#: The first bytes of the supported binary formats, and the extensions of their files.
MAGIC_BYTES = {b"\x93NUMPY": "npy", b"PAR1": "parquet", b"ARROW1": "feather"}
BINARY_EXTENSIONS = (".npy", ".parquet", ".feather", ".arrow")
#: The first bytes of unsupported formats, with a description and advice for the message.
UNSUPPORTED_MAGIC_BYTES = {
    b"PK\x03\x04": "an archive (.npz, .xlsx): take the array or the table out of it",
    b"\x89HDF": "HDF5: write its array as .npy",
}


def open_rows(
    data: Any, target: Any = None, columns: Any = None, weight: Any = None, sparse: bool | None = None,
    block_rows: int | None = None, scratch: Any = None,
) -> StoredRows:  # fmt: skip
    """Open samples that do not fit into memory, to train on one block of rows at a time.

    Parameters
    ----------
    data : path, list of paths, ndarray, pyarrow table or data set, iterator of batches, or RowSource
        A path is that of a file or of a folder, or a pattern such as ``"part-*.parquet"``. The format is detected from
        the content: .npy files are mapped; Parquet, Feather, CSV and LIBSVM text (also compressed by xz, gzip or bzip2)
        are decoded once, into an unnamed scratch file that is deleted when the process ends. Batches are X, (X, y),
        (X, y, weight), or record batches of pyarrow.
    target : str, int, or array, optional
        The column of labels or numbers to learn, by name or by index from 0; for arrays and .npy files also an array
        or the path of another .npy file. In LIBSVM text it is always the first value of a line.
    columns : sequence of str or int, optional
        The columns that are features, in this order; by default all except target and weight.
    weight : str, int, or array, optional
        The column of the samples' weights, given as `target` is.
    sparse : bool, optional
        Whether to store only nonzero entries; by default for LIBSVM text and sparse batches.
    block_rows : int, optional
        Number of rows in a block; by default a block has about 32 MB.
    scratch : path or False, optional
        The folder for the scratch file, instead of the system's. False for no scratch file: every pass decodes again.

    Returns
    -------
    StoredRows
        The rows, with `target` (n,), `weight` (n,), `feature_names` (d,) and `where(row)`. All entries have been
        checked.

    Raises
    ------
    MissingFileError
        There is no such file.
    FileFormatError
        A file cannot be read, is damaged, or has another format than the first.
    DataError, DataTypeError
        A value is missing, not finite or not a number (the message names file, row and column); a file has other
        columns than the first one; there are no rows; or a file changes while it is read.
    UnknownOptionError, ParameterError
        There is no such column, or a column is given two roles.
    TooLargeError
        There is not enough disk space for the scratch file.
    MissingExtraError
        pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import qpsvm
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "X.npy"
    >>> np.save(path, np.array([[0.0, 1.0, -1.0], [1.0, 0.0, 1.0]], dtype=np.float32))
    >>> rows = qpsvm.open_rows(path, target=-1)
    >>> rows.shape, rows.target
    ((2, 2), array([-1.,  1.], dtype=float32))
    >>> rows.where(1).endswith("X.npy, row 1")
    True
    >>> rows.margins(np.array([2.0, 1.0]))
    array([1., 2.])
    >>> folder.cleanup()
    """
    roles = {"target": target, "columns": columns, "weight": weight}
    if isinstance(data, RowSource):
        _refuse_options({**roles, "block_rows": block_rows})
        if not isinstance(data, StoredRows):  # a source of the user's own is returned unchanged
            _refuse_options({"sparse": sparse, "scratch": scratch})
            return cast("StoredRows", data)
    _check_block_rows(block_rows)
    if sparse is not None:
        sparse = as_flag(sparse, "sparse")
    rows = open_source(data, roles, block_rows)
    if isinstance(rows, StoredRows):
        if sparse is None or sparse == rows.is_sparse:
            return rows
        rows = StoredDecoder(rows)
    as_sparse = rows.is_sparse if sparse is None else sparse
    if scratch is not False:
        return decode_to_scratch(rows, find_scratch_folder(scratch), as_sparse, block_rows)
    if as_sparse != rows.is_sparse or rows.is_single_use:
        raise ParameterError("scratch=False: converting to sparse or dense, or reading only once, needs a scratch file")
    return DecodedRows(rows, run_first_pass(rows))


def _check_block_rows(block_rows: Any) -> None:
    """Check the number of rows of a block. Raises ParameterTypeError, ParameterError."""
    if block_rows is None:
        return
    if not isinstance(block_rows, numbers.Integral) or isinstance(block_rows, bool):
        raise ParameterTypeError(f"block_rows must be a whole number, got {format_value(block_rows)}")
    if block_rows < 1:
        raise ParameterError(f"block_rows must be positive, got {block_rows}")


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse options for rows that are open already. Raises ParameterError."""
    for option, value in options.items():
        if value is not None:
            advice = f"leave out {option}, or open them from where they are stored"
            raise ParameterError(f"the rows are open already: {advice}")


def open_source(data: Any, roles: Mapping[str, Any], block_rows: int | None) -> StoredRows | Decoder:
    """Open arrays as rows, and other formats as a decoder.

    roles: The options "target", "columns" and "weight" of `open_rows`.
    """
    if isinstance(data, StoredRows):
        return data
    if isinstance(data, np.ndarray):
        return arrays.open_array(data, block_rows=block_rows, **roles)
    if isinstance(data, Iterator) or _is_list_of(data, is_arrow):
        return StreamedRows(data, **roles)
    if is_arrow(data):
        is_dataset = hasattr(data, "get_fragments")  # which tables and record batches lack
        if is_dataset:
            dataset = data
        else:
            dataset = arrow.import_arrow("a table of pyarrow").dataset(data)
        return arrow.ArrowRows(dataset, per_file_schema=False, kind=f"pyarrow {type(data).__name__}", **roles)
    if is_path(data) or _is_list_of(data, is_path):
        return _open_files(drop_empty_files(expand_paths(data)), roles, block_rows)
    raise DataTypeError(
        f"rows cannot be opened from {type(data).__name__}: give a path, several, an array, or a table of pyarrow"
    )


def _is_list_of(data: Any, is_item: Callable[[Any], bool]) -> bool:
    """Return whether the data are a list or tuple of such items, with at least one."""
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(map(is_item, data))


def _open_files(paths: Sequence[str], roles: Mapping[str, Any], block_rows: int | None) -> StoredRows | Decoder:
    """Open files, which must have one format, as `open_source` does. Raises FileFormatError."""
    file_format = require_one_format(paths)
    if file_format == "npy":
        return arrays.open_npy_files(paths, block_rows=block_rows, **roles)
    if file_format == "csv":
        return CsvRows(paths, **roles)
    if file_format == "libsvm":
        refuse_column_options(paths[0], roles.get)
        return LibsvmRows(paths)
    dataset = arrow.open_dataset(paths, file_format)
    return arrow.ArrowRows(dataset, per_file_schema=True, kind=file_format.capitalize(), **roles)


def expand_paths(data: Any) -> list[str]:
    """Return the paths of all files, sorted within a pattern or a folder. Raises MissingFileError, FileFormatError."""
    if not is_path(data):
        return [path for item in data for path in expand_paths(item)]
    name = os.fspath(data)
    if os.path.isdir(name):
        paths = sorted(glob.glob(os.path.join(glob.escape(name), "**"), recursive=True))
        # without hidden files, and markers as Spark's _SUCCESS
        paths = [path for path in paths if os.path.isfile(path) and os.path.basename(path)[0] not in "._"]
        if not paths:
            raise FileFormatError(f"{name} is a folder without files")
        return paths
    if os.path.exists(name):
        return [name]
    if glob.has_magic(name):
        paths = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        if not paths:
            raise MissingFileError(f"no file matches {name!r} (seen from {Path.cwd()})")
        return paths
    raise MissingFileError(f"{name} does not exist (relative to {Path.cwd()})")


def drop_empty_files(paths: Sequence[str]) -> list[str]:
    """Return the paths of the files that are not empty. Raises FileFormatError."""
    try:
        for path in paths:
            refuse_device(path, seekable=True)
        nonempty = [path for path in paths if os.path.getsize(path)]
    except OSError as error:
        raise FileFormatError(f"{error.filename} cannot be read: {error.strerror}") from error
    if not nonempty:
        raise FileFormatError(f"{paths[0]} is empty")
    return nonempty


def require_one_format(paths: Sequence[str]) -> str:
    """Return the common format of all files: "npy", "parquet", "feather", "csv" or "libsvm". Raises FileFormatError."""
    formats = [detect_file_format(path) for path in paths]
    for path, file_format in zip(paths, formats, strict=True):
        if file_format != formats[0]:
            raise FileFormatError(
                f"{path} is a {file_format} file, but {paths[0]} is a {formats[0]} file; open those of one format"
            )
    return formats[0]


def is_binary(path: str) -> bool:
    """Return whether a file has the extension or the first bytes of a supported binary format. Raises OSError."""
    if path.endswith(BINARY_EXTENSIONS):
        return True
    with open(path, "rb") as file:
        return file.read(8).startswith(tuple(MAGIC_BYTES))


def detect_file_format(path: str) -> str:
    """Detect the format of a file by its first bytes. Raises FileFormatError."""
    try:
        with open(path, "rb") as file:
            first_bytes = file.read(8)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from error
    for magic, file_format in MAGIC_BYTES.items():
        if first_bytes.startswith(magic):
            return file_format
    for magic, advice in UNSUPPORTED_MAGIC_BYTES.items():
        if first_bytes.startswith(magic):
            raise FileFormatError(f"{path} is {advice}")
    extension = os.path.splitext(path)[1]
    if extension in BINARY_EXTENSIONS:
        raise FileFormatError(f"{path} is not a {extension} file, or it is damaged: it does not begin like one")
    with translate_read_errors(path), open_decompressed(path) as text:
        head = text.read(HEAD_BYTES)
    if b"\0" in head:
        raise FileFormatError(
            f"{path} is neither text in UTF-8 nor one of the binary formats that are read: .npy, Parquet, Feather"
        )
    return detect_format(head) or "libsvm"
