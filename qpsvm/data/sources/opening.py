"""One call that opens rows wherever they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from qpsvm.base.errors import DataTypeError, ParameterError
from qpsvm.data.kinds import is_arrow, is_path
from qpsvm.data.rows.source import RowSource
from qpsvm.data.sources import arrays
from qpsvm.data.sources.checks import tallied
from qpsvm.data.sources.decoding import arrow
from qpsvm.data.sources.decoding.arrow import StreamedRows
from qpsvm.data.sources.decoding.batches import Decoder
from qpsvm.data.sources.decoding.decoded import Decoded
from qpsvm.data.sources.decoding.delimited import CsvRows
from qpsvm.data.sources.decoding.libsvm import LibsvmRows
from qpsvm.data.sources.decoding.spool import Place, Stored, spooled
from qpsvm.data.sources.paths import expanded, one_format, with_content
from qpsvm.data.sources.stored import StoredRows


def open_rows(
    data: Any,
    target: Any = None,
    columns: Any = None,
    weight: Any = None,
    sparse: bool | None = None,
    block_rows: int | None = None,
    scratch: Any = None,
) -> StoredRows:
    """Open samples that are too many for memory, to be trained on a block of rows at a time.

    Parameters
    ----------
    data : path, list of paths, ndarray, pyarrow table or data set, iterator of batches, or RowSource
        A path is that of a file, of a folder, or a pattern such as ``"part-*.parquet"``. Formats are told by content:
        .npy is mapped; Parquet, Feather, CSV and LIBSVM text (packed by xz, gzip or bzip2, too) are decoded once, into
        a scratch file that has no name and ends with the process. Batches are X, (X, y), (X, y, weight), or record
        batches of pyarrow.
    target : str, int, or array, optional
        The column of labels or numbers to learn, by name or by place from 0; for arrays and .npy files also an array or
        a .npy file of its own. A LIBSVM line begins with it.
    columns : sequence of str or int, optional
        The columns that are features, in this order; all others by default.
    weight : str, int, or array, optional
        The column of the samples' weights, as `target`.
    sparse : bool, optional
        Keep only numbers that are not zero; by default where the format does, which is LIBSVM.
    block_rows : int, optional
        Rows in a block. By default a block has some 32 MB.
    scratch : path or False, optional
        The folder for the scratch file, instead of the system's. False for none: then every pass decodes anew.

    Returns
    -------
    StoredRows
        Rows, with `target` (n,), `weight` (n,), `feature_names` (d,) and `where(row)`. All numbers have been checked.

    Raises
    ------
    MissingFileError
        There is no such file.
    FileFormatError
        A file cannot be read, is damaged, or has another format than the first.
    DataError, DataTypeError
        A value is missing, not finite or no number (file, row and column are named); a file has other columns than the
        first; there are no rows; or a file changes while it is read.
    UnknownOptionError, ParameterError
        There is no such column, or it is to be two things.
    TooLargeError
        The scratch file does not fit on its disk.
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
    """
    if isinstance(data, RowSource):
        given = {"target": target, "columns": columns, "weight": weight, "block_rows": block_rows}
        late = [option for option, value in given.items() if value is not None]
        if late:
            raise ParameterError(
                f"the rows are open already: leave out {late[0]}, or open them from where they are stored"
            )
        if not isinstance(data, StoredRows):
            return cast("StoredRows", data)
    if block_rows is not None and block_rows < 1:
        raise ParameterError(f"block_rows must be positive, got {block_rows}")
    rows = found(data, target, columns, weight, block_rows)
    if isinstance(rows, StoredRows):
        if sparse is None or sparse == rows.is_sparse:
            return rows
        rows = Stored(rows)
    as_sparse = rows.is_sparse if sparse is None else sparse
    if scratch is not False:
        return spooled(rows, Place.of(scratch), as_sparse, block_rows)
    if as_sparse != rows.is_sparse or rows.once:
        raise ParameterError("scratch=False: rows that are kept in another way, or come only once, need a scratch file")
    return Decoded(rows, tallied(rows))


def found(data: Any, target: Any, columns: Any, weight: Any, block_rows: int | None) -> StoredRows | Decoder:
    """Rows as they are stored, or what decodes them."""
    if isinstance(data, StoredRows):
        return data
    if isinstance(data, np.ndarray):
        return arrays.from_array(data, target, columns, weight, block_rows)
    if isinstance(data, Iterator) or (isinstance(data, (list, tuple)) and data and all(map(is_arrow, data))):
        return StreamedRows(data, target, columns, weight)
    if is_arrow(data):
        dataset = data if hasattr(data, "get_fragments") else arrow.of_table(data)
        return arrow.ArrowRows(dataset, False, f"pyarrow {type(data).__name__}", target, columns, weight)
    if not (is_path(data) or (isinstance(data, (list, tuple)) and data and all(map(is_path, data)))):
        raise DataTypeError(
            f"rows cannot be opened from {type(data).__name__}: give a path, several, an array, or a table of pyarrow"
        )
    paths = with_content(expanded(data))
    form = one_format(paths)
    if form == "npy":
        return arrays.from_files(paths, target, columns, weight, block_rows)
    if form == "csv":
        return CsvRows(paths, target, columns, weight)
    if form == "libsvm":
        for option, given in (("target", target), ("columns", columns), ("weight", weight)):
            if given is not None:
                raise ParameterError(
                    f"{paths[0]} is a LIBSVM file, whose lines are a label and features by number: leave out {option}"
                )
        return LibsvmRows(paths)
    return arrow.ArrowRows(arrow.files(paths, form), True, form.capitalize(), target, columns, weight)
