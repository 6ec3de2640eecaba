"""Convert the vectors and matrices of QPs and operators to float64, and check them (`as_vector`, `as_coefficients`)."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_real_vector, describe_wrong_type
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.large_integers import check_not_rounded
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError


def is_float64_array(values: Any) -> TypeGuard[FloatArray]:
    """Return whether values are a NumPy array of float64, which needs no conversion."""
    return type(values) is np.ndarray and values.dtype == np.float64


def as_vector(values: Any, name: str) -> FloatArray:
    """Return a vector of real numbers as float64, (n,).

    name: Its name in messages.

    Raises DataTypeError, DataError.
    """
    if sp.issparse(values):
        raise DataTypeError(f"{name} must be a vector of numbers, got {format_value(values)}")
    vector = _as_float64(values, name, "vector")
    if vector.ndim != 1:
        hint = f"; pass {name}.ravel()" if vector.ndim == 2 and 1 in vector.shape else ""
        raise DataError(f"{name} must be one-dimensional, got shape {vector.shape}{hint}")
    return vector


def as_coefficients(matrix: Any, name: str) -> Matrix:
    """Return a matrix of real numbers as float64: dense, or sparse in compressed columns or rows, without duplicates.

    name: Its name in messages.

    Raises DataTypeError, DataError.
    """
    if not sp.issparse(matrix):
        values = _as_float64(matrix, name, "matrix")
    elif matrix.dtype.kind in "biuf":
        values = matrix
    else:
        raise DataTypeError(describe_wrong_type(matrix.dtype, name))
    if values.ndim != 2:
        hint = f"; for one row pass {name}.reshape(1, -1)" if values.ndim == 1 else ""
        raise DataError(f"{name} has shape {values.shape}; it must have two dimensions{hint}")
    return _as_canonical_sparse(values, name) if sp.issparse(values) else values


def _as_float64(values: Any, name: str, kind: str) -> FloatArray:
    """Return dense values as float64, of any number of dimensions. Raises DataTypeError, DataError."""
    if is_float64_array(values):
        return values
    if values is None or isinstance(values, (str, bytes)):
        raise DataTypeError(f"{name} must be a {kind} of numbers, got {format_value(values)}")
    return as_real_vector(values, name)


def _as_canonical_sparse(matrix: Matrix, name: str) -> Matrix:
    """Return a sparse matrix as float64 in CSC or CSR, without duplicates. Raises DataError."""
    if not isinstance(matrix, (sp.csc_array, sp.csr_array)) or matrix.dtype != np.float64:
        check_not_rounded(matrix, matrix, name)
        matrix = sp.csc_array(matrix, dtype=np.float64)
    if matrix.dtype.byteorder != "=":  # an explicit byte order, as from a MATLAB file, is rejected by CVXOPT
        matrix = type(matrix)((matrix.data.astype(np.float64), matrix.indices, matrix.indptr), shape=matrix.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's own arrays are left as they are
        matrix.sum_duplicates()
    return matrix
