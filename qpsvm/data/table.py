"""Turn a table with text, categories, dates and missing values into samples (`Table`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.data.files import (
    DecimalMark,
    Encoding,
    Frame,
    MissingPolicy,
    TextFormat,
    as_frame,
    describe_columns,
    read_table,
    read_with_encoding,
)
from qpsvm.data.files.frames import NO_FILE
from qpsvm.data.kinds import is_path


class Table:
    """A table as samples: text, categories, dates and missing values are converted to numbers.

    Every machine and estimator accepts it in place of X, with its target and weights. `python -m qpsvm solve` encodes a
    file in the same way. A column of numbers becomes one feature, one of text a 0/1 feature for each of its categories.
    Dates, identifiers and free text are left out unless `date` or `keep` names them. Printed, the table lists what each
    column has become.

    Parameters
    ----------
    data : data frame of pandas, Polars or pyarrow, mapping of columns, or path of a CSV, Parquet or Feather file
        With n rows.
    target : str, optional
        The column to learn: labels, or numbers.
    drop : str or sequence of str, optional
        Columns that are left out.
    keep : str or sequence of str, optional
        Columns that are features whatever they look like.
    date : str or sequence of str, optional
        Columns of dates that become year, month, weekday (Monday is 0) and days since the first of them.
    missing : {"error", "drop", "median", "most-frequent"}, default="error"
        How missing values of features are handled: they are refused, their rows are left out, or they are filled in by
        the median (the most frequent value of a text) or by the most frequent value, and a 0/1 feature
        "column=(missing)" marks them.
    na_values : str or sequence of str, optional
        Cells that mean "no value", besides None, NaN, empty texts, "NA", "null" and the like.
    decimal : {"", ".", ","}, default=""
        The decimal mark of numbers in text: with "," points may mark thousands, and with "." commas; by default there
        are no marks of thousands.
    file_encoding : str, default="utf-8"
        The character encoding of a CSV file, such as "latin-1".
    groups : str, optional
        The column of the groups of a ranking.
    weights : str, optional
        The column of the weights of the rows.
    standardise : bool, default=False
        Whether to give each feature mean 0 and deviation 1.

    Attributes
    ----------
    X : ndarray or csr_array, shape (k, d)
        The samples: the n rows without those that were left out. Sparse if 0/1 features would take too much memory.
    y : ndarray, shape (k,), or None
        The target.
    groups, weights : ndarray, shape (k,), or None
    columns : list of str
        The names of the d features, such as "age", "city=Ulm" and "signup.year".
    dropped : int
        Number of rows that were left out for missing values.
    encoding : Encoding
        How columns became features; `like` applies it to other rows, and its `to_json` writes it.

    Raises
    ------
    DataError, DataTypeError, FileFormatError, MissingFileError
        A needed value is missing or is not a number (row and column are named); there are no rows or features; or the
        data are not a table.
    UnknownOptionError, ParameterError
        There is no such column, or it cannot have the given role.

    See Also
    --------
    open_rows : Open rows of numbers that do not fit into memory.

    Examples
    --------
    >>> import qpsvm
    >>> rows = {"age": [31, 45, None, 60], "city": ["Ulm", "Bonn", "Ulm", "Bonn"]}
    >>> table = qpsvm.Table({**rows, "churned": ["no", "yes", "no", "yes"]}, target="churned", missing="median")
    >>> print(table)
    the table: 4 rows x 4 features
      column   type           encoding
      age      number         1 feature; 1 missing: median 45, and age=(missing)
      city     category of 2  2 features
      churned  target
    >>> result = qpsvm.solve(qpsvm.CSVM(table))
    >>> print(result.predict(table.like({"age": [50], "city": ["Bonn"]})))
    ['yes']
    """

    def __init__(
        self,
        data: Any,
        target: str | None = None,
        *,
        drop: str | Sequence[str] = (),
        keep: str | Sequence[str] = (),
        date: str | Sequence[str] = (),
        missing: MissingPolicy = "error",
        na_values: str | Sequence[str] = (),
        decimal: DecimalMark = "",
        file_encoding: str = "utf-8",
        groups: str | None = None,
        weights: str | None = None,
        standardise: bool = False,
    ) -> None:
        given = open_table(data, file_encoding)
        missing_cells = (na_values,) if isinstance(na_values, str) else tuple(na_values)
        self._file_encoding = file_encoding
        found = read_table(
            given, target=target, drop=drop, keep=keep, date=date, missing=missing, groups=groups, weights=weights,
            standardise=standardise, target_kind="none" if target is None else "labels",
            text_format=TextFormat(missing_cells, decimal, file_encoding),
        )  # fmt: skip
        self.X: Matrix = found.X
        self.y: NDArray[Any] | None = found.y
        self.groups = found.groups
        self.weights = found.weights
        self.dropped = found.dropped
        self.encoding: Encoding = found.encoding
        self._name = str(given.path if isinstance(given, Frame) else given)
        self._notes, self._column_summaries = found.notes, found.column_summaries

    @property
    def columns(self) -> list[str]:
        """The names of the d features."""
        return list(self.encoding.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features: (k, d)."""
        k, d = self.X.shape
        return int(k), int(d)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        dense = np.asarray(as_dense(self.X), dtype=dtype)
        return dense.copy() if copy else dense

    def like(self, data: Any) -> Table:
        """Encode other rows like these: columns are found by name, and others are ignored.

        Parameters
        ----------
        data : as for `Table`
            The other rows, with or without the target.

        Returns
        -------
        Table
            The rows, with the same features. For an unknown category they are zero, or that of rare categories if there
            is one. Printed, the table lists unknown categories.

        Raises
        ------
        DataError
            There is no such column; or a value is not a number, or is missing and cannot be filled in.

        Examples
        --------
        >>> import qpsvm
        >>> table = qpsvm.Table({"city": ["Ulm", "Bonn"], "y": [0, 1]}, "y")
        >>> table.columns, table.like({"city": ["Bonn", "Rome"]}).X.tolist()
        (['city=Bonn', 'city=Ulm'], [[1.0, 0.0], [0.0, 0.0]])
        """
        given = open_table(data, self._file_encoding)
        found = read_with_encoding(given, self.encoding, text_format=TextFormat(charset=self._file_encoding))
        table = object.__new__(type(self))
        table.__dict__.update(self.__dict__)
        notes = tuple(
            f"column {name!r} has categories not seen in training: {', '.join(map(repr, sorted(each.counts)))}"
            for name, each in found.unseen.items()
        )
        table.X = found.X
        table.y = found.y
        table.groups = found.groups
        table.weights = None
        table.dropped = 0
        table._name = str(given.path if isinstance(given, Frame) else given)
        table._notes = notes
        return table

    def with_encoding(self, model: Any) -> Any:
        """Return a model that stores how these columns became features, for `python -m qpsvm predict`.

        Parameters
        ----------
        model : Model
            `result.model` of a machine over this table.

        Returns
        -------
        Model
            The same model with the encoding in its metadata, to be saved.

        Raises
        ------
        DataError
            The model has another number of features.

        Examples
        --------
        >>> import qpsvm
        >>> table = qpsvm.Table({"city": ["Ulm", "Bonn"], "y": [0, 1]}, "y")
        >>> model = table.with_encoding(qpsvm.solve(qpsvm.CSVM(table)).model)
        >>> sorted(model.metadata)
        ['encoding']
        """
        if model.n_features != self.shape[1]:
            raise DataError(f"the model has {model.n_features} features, and the table {self.shape[1]}")
        return replace(model, metadata={**model.metadata, "encoding": self.encoding.to_json()})

    def __repr__(self) -> str:
        k, d = self.shape
        return f"<Table {self._name}: {k} rows x {d} features>"

    def __str__(self) -> str:
        k, d = self.shape
        if self.dropped:
            left_out = f"; {self.dropped} rows with missing values left out"
        else:
            left_out = ""
        notes = [f"  note: {note}" for note in self._notes]
        lines = [f"  {line}" for line in describe_columns(self._column_summaries)]
        return "\n".join([f"{self._name}: {k} rows x {d} features{left_out}", *notes, *lines])


def open_table(data: Any, charset: str = "utf-8") -> Any:
    """Return the path of a CSV file, or a `Frame` of a table in memory or in another format.

    charset: The character encoding of a CSV file; the format is detected only if it is UTF-8.

    Raises DataTypeError, FileFormatError, MissingExtraError.
    """
    if not is_path(data):
        return as_frame(data, NO_FILE)
    if charset != "utf-8":
        return data
    from qpsvm.data.sources.arrow import iter_frames
    from qpsvm.data.sources.opening import drop_empty_files, expand_paths, require_one_format

    paths = drop_empty_files(expand_paths(data))
    form = require_one_format(paths)
    if form in ("parquet", "feather"):
        return next(iter_frames(paths, form, str(data), True))
    if form != "csv" or len(paths) > 1:
        raise ParameterError(
            f"{data} is {'several files' if len(paths) > 1 else f'a {form} file'}, and a table is one CSV file, or "
            "Parquet or Feather: qpsvm.open_rows opens others"
        )
    return paths[0]
