"""Check arrays and numbers from the user, once, and convert them (`as_matrix`, `as_finite_vector`, `as_real`).

The columns of a data frame are matched with those of the training data by their names (`find_column_order`).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import as_read_only, freeze
from qpsvm.base.arrays.large_integers import check_not_rounded
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, ParameterTypeError

#: Larger values may overflow when they are squared and added up.
LARGEST_VALUE = 1e150
#: Up to this many values, a temporary copy takes less time than `np.einsum` needs to parse its formula.
FEW_VALUES = 10_000
#: Names that a message lists at most. It counts the rest.
MAX_LISTED = 3


def as_matrix(X: Any, name: str = "X", columns: int | None = None) -> Matrix:
    """Check a matrix of samples and return it as float64, dense C- or F-ordered, or CSR.

    Shapes: X (n, d) → (n, d). Raises DataTypeError, DataError.
    """
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size and columns in (None, X.shape[1]):
        _check_finite(X, name, None)
        return as_read_only(X)
    labels = find_column_names(X)
    if sp.issparse(X):
        _check_numeric(X.dtype, name)
        _check_two_dimensional(X.shape, name)  # older versions of SciPy make no CSR array of others
        matrix = sp.csr_array(X, dtype=np.float64)
        check_not_rounded(X, matrix, name)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # the caller's own arrays are left as they are
            matrix.sum_duplicates()
        matrix = shorten_indices(matrix)
    else:
        matrix = _as_dense(X, name, labels)
        _check_two_dimensional(matrix.shape, name)
    if min(matrix.shape) == 0:
        raise DataError(f"{name} is empty: it has shape {matrix.shape}; at least one row and one column are needed")
    if columns is not None and matrix.shape[1] != columns:
        raise DataError(f"{name} has {matrix.shape[1]} columns where {columns} are expected")
    _check_finite(matrix, name, labels)
    is_copy = isinstance(X, (list, tuple)) or getattr(X, "dtype", np.float64) != np.float64  # not the user's own memory
    if is_copy and not sp.issparse(X):
        return freeze(matrix)
    return as_read_only(matrix)


def _check_two_dimensional(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        if len(shape) == 1:
            hint = "; for one sample use X.reshape(1, -1), for one feature X.reshape(-1, 1)"
        else:
            hint = ""
        raise DataError(f"{name} must be two-dimensional (samples in rows), got shape {shape}{hint}")


def shorten_indices(matrix: Matrix) -> Matrix:
    """Return the CSR array with 32-bit indices if they fit: half the memory, and many libraries need them."""
    fits = max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max
    if not fits or (matrix.indices.dtype == np.int32 and matrix.indptr.dtype == np.int32):
        return matrix
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    short = sp.csr_array(parts, shape=matrix.shape)
    short.has_canonical_format = True
    return short


def find_column_names(X: Any) -> Sequence[Any] | None:
    """Return the column names of a data frame, text or not; None for anything else."""
    try:
        return list(X.columns)
    except (AttributeError, TypeError):  # there is nothing of that name, or it holds no names
        return None


def check_columns(X: Any, name: str = "X") -> bool:
    """Refuse the columns of a data frame whose types are in `_NO_NUMBERS`, by their names; text is refused later.

    Returns whether X is a data frame and all its columns are numbers by their types. Raises DataTypeError.
    """
    labels = find_column_names(X)
    dtypes = getattr(X, "dtypes", None)
    try:
        if labels is not None and dtypes is not None:
            kinds = [_classify_column(dtype) for dtype in dtypes]
        else:
            kinds = []
    except TypeError:  # there is no type for each column
        return False
    if len(kinds) != len(labels or ()):
        return False
    for j, kind in enumerate(kinds):
        if kind in _NO_NUMBERS:
            what, advice = _NO_NUMBERS[kind]
            raise DataTypeError(f"{name} has {what} in {_describe_column(j, labels)}; {advice}, or drop that column")
    return bool(kinds) and set(kinds) <= {*"biuf"}


#: What a column of each kind holds, and what to do about it.
_NO_NUMBERS = {
    "category": ("categories", "encode them first, by pandas.get_dummies or scikit-learn's OneHotEncoder"),
    "M": ("dates", "make numbers of them, such as the days since one of them"),
    "m": ("durations", "make numbers of them, as .dt.total_seconds() does"),
    "period": ("periods", "make numbers of them, such as the days since one of them"),
    "c": ("complex numbers", "take their real and imaginary parts as columns"),
}


def _classify_column(dtype: Any) -> str:
    """Return the kind of a column: a NumPy letter, or a word; numeric categories have that of their numbers."""
    categories = getattr(getattr(dtype, "categories", None), "dtype", None)
    if categories is not None:
        return str(categories.kind) if categories.kind in "biuf" else "category"
    if str(dtype).startswith("period"):
        return "period"
    return str(getattr(dtype, "kind", "unknown"))


def _as_dense(X: Any, name: str, labels: Sequence[Any] | None) -> FloatArray:
    if check_columns(X, name) and any(dtype.kind == "b" or not isinstance(dtype, np.dtype) for dtype in X.dtypes):
        numbers: FloatArray = X.to_numpy(dtype=np.float64, na_value=np.nan)  # of itself it would be an object array
        check_not_rounded(X, numbers, name, labels)
        return numbers
    raw = as_raw_array(X, name)
    if raw.dtype == object and raw.ndim == 2:
        _refuse_object_array(raw, name, labels)
    if raw.dtype == object and raw.ndim == 0:
        raise DataTypeError(f"{name} must be a table of numbers with samples in rows, got {format_value(X)}")
    _check_numeric(raw.dtype, name)
    with np.errstate(over="ignore"):  # a long double beyond the range becomes infinite, and is named as such
        values = raw if raw.dtype == np.float64 else raw.astype(np.float64)
    check_not_rounded(X if raw.dtype == np.float64 else raw, values, name, labels)
    return values


def check_unmasked(values: Any, name: str) -> None:
    """Check that no entry is masked, because NumPy would use the values under the mask. Raises DataError."""
    if values is np.ma.masked:
        raise DataError(f"{name} is the masked constant, not an array")
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        row, *column = (int(k) for k in np.argwhere(np.ma.getmaskarray(values))[0])
        where = f"row {row}" + (f", column {column[0]}" if column else "")
        raise DataError(f"{name} has a masked entry in {where}; fill or drop masked entries first")


def as_raw_array(values: Any, name: str) -> NDArray[Any]:
    """Return the values as an array, of any type. Raises DataError."""
    if type(values) is np.ndarray:
        return values
    check_unmasked(values, name)
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        if isinstance(values, (list, tuple)):
            reason = _describe_uneven_rows(values)
        else:
            reason = f"{error}"
        raise DataError(f"{name} cannot be read as an array: {reason}; are all rows equally long?") from None


def _describe_uneven_rows(rows: Sequence[Any]) -> str:
    """Describe where the length of rows changes; NumPy's own message speaks of its internals."""
    lengths = [_find_length(row) for row in rows]
    row = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if row is None:
        return "its rows hold something that is not a number"
    first, other = ("no list" if lengths[i] is None else f"{lengths[i]} long" for i in (0, row))
    return f"row 0 is {first}, row {row} is {other}"


def _find_length(row: Any) -> int | None:
    try:
        return len(row)
    except TypeError:
        return None


def _check_numeric(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind == "c":
        raise DataTypeError(f"{name} is complex; samples must be real: pass {name}.real if the imaginary part is zero")
    if dtype.kind not in "biuf":
        raise DataTypeError(
            f"{name} has entries of type {dtype}; samples must be numbers: encode text columns first, or open a file "
            "by open_rows"
        )


def _refuse_object_array(raw: NDArray[Any], name: str, labels: Sequence[Any] | None) -> None:
    """Raise the DataTypeError about the first entry, column by column, that is not a real number."""
    for j in range(raw.shape[1]):
        for i, value in enumerate(raw[:, j]):
            missing = value is None or type(value).__name__ in ("NAType", "NaTType")
            if (
                missing
                or not isinstance(value, (int, float, np.number, np.bool_))
                or isinstance(value, np.complexfloating)
            ):
                if missing:
                    advice = "which is missing: impute or drop such rows first"
                else:
                    advice = "and samples must be real numbers: encode or drop that column first"
                raise DataTypeError(f"{name} holds {value!r} in {_describe_entry(i, j, labels)}, {advice}")
    raise DataTypeError(f"{name} is an object array; convert it with {name}.astype(float)")


def _describe_entry(row: int, column: int, labels: Sequence[Any] | None) -> str:
    return f"row {row}, {_describe_column(column, labels)}"


def _describe_column(column: int, labels: Sequence[Any] | None) -> str:
    if labels is not None and column < len(labels):
        named = f" ({labels[column]!r})"
    else:
        named = ""
    return f"column {column}{named}"


def _check_finite(matrix: Matrix, name: str, labels: Sequence[Any] | None) -> None:
    """Refuse NaN, infinity, and numbers whose sum of squares overflows. Raises DataError."""
    if isinstance(matrix, np.ndarray) and matrix.size <= FEW_VALUES:
        low, high = np.minimum.reduce(matrix, axis=None), np.maximum.reduce(matrix, axis=None)
        if low > -LARGEST_VALUE and high < LARGEST_VALUE:  # false for NaN
            return

    def describe_position(row: int, column: int, what: str) -> str:
        return f"{name} has {what} in {_describe_entry(row, column, labels)}"

    if compute_sum_of_squares(matrix, describe_position) == math.inf:
        sizes = np.abs(matrix if isinstance(matrix, np.ndarray) else matrix.data)
        raise _build_number_error(matrix, sizes < sizes.max(), describe_position)  # no square overflows alone


def compute_sum_of_squares(matrix: Matrix, describe_entry: Callable[[int, int, str], str], where: str = "") -> float:
    """Return Σ x_ij², which is finite only if all numbers are; infinity if the sum overflows, but no square does.

    describe_entry: Formats the row, the column and the fault of the first number that is NaN, infinite or too large.
    where: Text after the count of further such numbers: the part of the samples in which they were counted.

    Raises DataError about such numbers.
    """
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):  # np.dot would wake BLAS's threads, which spin for 40 ms
        square_sum = float(np.add.reduce(flat * flat) if len(flat) <= FEW_VALUES else np.einsum("i,i", flat, flat))
        if math.isfinite(square_sum):
            return square_sum
        is_good = np.abs(values) < LARGEST_VALUE  # false for NaN too
    if is_good.all():
        return math.inf
    raise _build_number_error(matrix, is_good, describe_entry, where)


def _build_number_error(
    matrix: Matrix, is_good: NDArray[np.bool_], describe_entry: Callable[[int, int, str], str], where: str = ""
) -> DataError:
    """Build the error about the first stored number, row by row, that is not good."""
    values: NDArray[Any] = matrix.data if sp.issparse(matrix) else matrix
    position = int(np.argmin(is_good.ravel()))
    value = float(values.ravel()[position])
    count = int((~is_good).sum())
    if math.isnan(value):
        fault = "NaN"
    elif math.isinf(value):
        fault = "an infinite value"
    else:
        fault = f"{value:.1e}"
    count_text = "" if count == 1 else f" (and {count - 1} more{where})"
    if math.isfinite(value):
        advice = ", whose square overflows: rescale"
    else:
        advice = "; impute or drop such rows first"
    return DataError(f"{describe_entry(*find_index(matrix, position), fault)}{count_text}{advice}")


def find_index(X: Matrix, position: int) -> tuple[int, int]:
    """Return row and column of a number from its position among those stored, row by row."""
    if sp.issparse(X):
        return int(np.searchsorted(X.indptr, position, side="right")) - 1, int(X.indices[position])
    row, column = np.unravel_index(position, X.shape)
    return int(row), int(column)


def is_all_finite(values: FloatArray) -> bool:
    """Return whether all values are finite. A finite sum shows it in one pass; otherwise the values are checked."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values, axis=None)) or bool(np.isfinite(values).all())


def as_real_vector(values: Any, name: str) -> FloatArray:
    """Check an array of real numbers, of any shape, and return a copy as float64. Raises DataTypeError, DataError."""
    raw = as_raw_array(values, name)
    if raw.dtype.kind not in "biuf":
        raise DataTypeError(describe_wrong_type(raw.dtype, name))
    with np.errstate(over="ignore"):
        numbers: FloatArray = raw.astype(np.float64)
    check_not_rounded(values if raw.dtype == np.float64 else raw, numbers, name)
    return numbers


def describe_wrong_type(dtype: Any, name: str) -> str:
    """Return the message on an array of a type that is not of real numbers."""
    if dtype.kind == "O":
        return f"{name} must hold real numbers, got objects: pass an array of numbers, such as np.array({name}, float)"
    return f"{name} must hold real numbers, got {dtype}"


def as_finite_vector(values: Any, name: str, n: int) -> FloatArray:
    """Check n finite numbers and return them as float64, (n,). Raises DataTypeError, DataError."""
    vector = as_real_vector(values, name)
    if vector.shape != (n,):
        raise DataError(f"{name} must be {n} finite numbers, got shape {vector.shape}")
    if not np.isfinite(vector).all():
        i = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise DataError(f"{name} must be {n} finite numbers, got {name}[{i}] = {vector[i]}")
    return vector


def as_positive(value: Any, name: str) -> float:
    """Check a finite number above zero. Raises ParameterTypeError, ParameterError."""
    number = as_real(value, name)
    if not number > 0:
        raise ParameterError(f"{name} must be positive, got {value!r}")
    return number


def as_tolerance(value: Any) -> float:
    """Check the target of the relative gap. Raises ParameterTypeError, ParameterError."""
    number = as_positive(value, "tol")
    if not number < 1.0:
        raise ParameterError(
            f"tol must be below 1, got {value!r}: the relative duality gap (P - D)/max(|P|, |D|) is 1 of any "
            "point beside D = 0; 1e-6 is usual"
        )
    return number


def as_real(value: Any, name: str) -> float:
    """Check a finite real number. Raises ParameterTypeError, ParameterError."""
    if type(value) is float and math.isfinite(value):
        return value
    is_excluded = isinstance(value, (bool, np.bool_, np.timedelta64))  # numbers for Python or NumPy, but not here
    if is_excluded or not isinstance(value, (int, float, np.integer, np.floating)):
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf":
            return as_real(value.item(), name)
        raise ParameterTypeError(f"{name} must be a number, got {format_value(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not np.isfinite(number):
        raise ParameterError(f"{name} must be finite, got {format_value(value)}")
    if number != (int(value) if isinstance(value, np.integer) else value):
        raise ParameterError(f"{name} = {value} is no double; the nearest, which may be given instead, is {number!r}")
    return number


def as_flag(value: Any, name: str) -> bool:
    """Check True or False; 1 and 0 are accepted too. Raises ParameterTypeError."""
    if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
        raise ParameterTypeError(f"{name} must be True or False, got {format_value(value)}")
    return bool(value)


def as_penalties(C: Any, n: int) -> FloatArray:
    """Check C, one number or one per sample, and return it as (n,). Raises ParameterTypeError, ParameterError."""
    if isinstance(C, (str, bytes)) or not hasattr(C, "__len__") or getattr(C, "ndim", 1) == 0:
        return repeat_value(as_positive(C, "C"), n)
    try:
        values = as_real_vector(C, "C")
    except DataTypeError as error:
        raise ParameterTypeError(str(error)) from None
    except DataError as error:
        raise ParameterError(str(error)) from None
    if values.shape != (n,):
        raise ParameterError(f"C must be a number or an array of shape ({n},), got shape {values.shape}")
    if not (np.isfinite(values) & (values > 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(values) & (values > 0)))[0])
        raise ParameterError(f"C must be positive and finite, got C[{row}] = {values[row]:g}")
    return values


def find_feature_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame if all are text and all different; else None."""
    names = None if type(X) is np.ndarray else find_column_names(X)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return tuple(str(name) for name in names)


def find_column_order(X: Any, known: Sequence[str] | None) -> IntArray | None:
    """Return the positions in X of the columns with known names, (d,); None if they are to be matched by position.

    Raises DataError.
    """
    names = find_column_names(X) or []
    if known is None or not any(isinstance(name, str) for name in names):
        return None
    column_names = find_feature_names(X)
    if column_names is None:
        bad_name = next(name for i, name in enumerate(names) if not isinstance(name, str) or name in names[:i])
        shown = format_value(bad_name)
        if isinstance(bad_name, str):
            fault = f"the column {shown} twice"
        else:
            fault = f"{shown} for the name of a column"
        raise DataError(
            f"X has {fault}, so that its columns cannot be matched with the model's by name; rename them, or pass "
            "X.to_numpy() to go by position"
        )
    return find_order(column_names, known, "X")


def find_order(names: Sequence[str], known: Sequence[str], owner: str) -> IntArray | None:
    """Return the positions of known names among the given ones, (d,), or None if the order is the same.

    Raises DataError.
    """
    if tuple(names) == tuple(known):
        return None
    positions = {name: j for j, name in enumerate(names)}
    known_set = set(known)
    missing = [name for name in known if name not in positions]
    extra = [name for name in names if name not in known_set]
    if missing:
        too_many = f" and has {_join_first_names(extra)} too many" if extra else ""
        raise DataError(
            f"{owner} has no column {_join_first_names(missing, extra)}{too_many}: columns are matched by the names "
            "that the model was trained on; rename them, or pass an array to go by position"
        )
    if extra:
        raise DataError(
            f"{owner} has {_join_first_names(extra)} too many: columns are matched by the names that the model was "
            "trained on; pass X[list(model.feature_names)]"
        )
    return np.array([positions[name] for name in known], dtype=np.intp)


def _join_first_names(names: Sequence[str], candidates: Sequence[str] = ()) -> str:
    """Return the first names, each with the nearest candidate, and the number of the others."""
    texts = []
    for name in names[:MAX_LISTED]:
        close = difflib.get_close_matches(name, candidates, n=1)
        texts.append(format_value(name) + (f" (is it {format_value(close[0])}?)" if close else ""))
    return ", ".join(texts) + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
