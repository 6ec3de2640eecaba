"""Vectors and matrices of numbers that are no samples: what a QP and its operators are made of, read from outside.

What is an array of float64 already passes unchanged.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.checks import as_real_vector
from qpsvm.arrays.doubles import refuse_rounded
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.arrays.words import shown
from qpsvm.errors import DataError, DataTypeError


def is_ready(values: Any) -> TypeGuard[FloatArray]:
    """Whether values are an array of floats already."""
    return type(values) is np.ndarray and values.dtype == np.float64


def as_vector(values: Any, name: str) -> FloatArray:
    """A vector of real numbers as float64.

    Raises DataTypeError, DataError.
    """
    if not is_ready(values):
        if values is None or isinstance(values, (str, bytes)) or sp.issparse(values):
            raise DataTypeError(f"{name} must be a vector of numbers, got {shown(values)}")
        values = as_real_vector(values, name)
    vector: FloatArray = values
    if vector.ndim != 1:
        hint = f"; pass {name}.ravel()" if vector.ndim == 2 and 1 in vector.shape else ""
        raise DataError(f"{name} must be one-dimensional, got shape {vector.shape}{hint}")
    return vector


def as_coefficients(matrix: Any, name: str) -> Matrix:
    """A matrix of real numbers as float64: dense, or sparse in compressed columns or rows, without duplicates.

    Raises DataTypeError, DataError.
    """
    if is_ready(matrix):
        values = matrix
    elif not sp.issparse(matrix):
        if matrix is None or isinstance(matrix, (str, bytes)):
            raise DataTypeError(f"{name} must be a matrix of numbers, got {shown(matrix)}")
        values = as_real_vector(matrix, name)
    elif matrix.dtype.kind not in "biuf":
        raise DataTypeError(f"{name} must hold real numbers, got {matrix.dtype}")
    else:
        values = matrix
    if values.ndim != 2:
        hint = f"; for one row pass {name}.reshape(1, -1)" if values.ndim == 1 else ""
        raise DataError(f"{name} has shape {values.shape}; it must have two dimensions{hint}")
    if not sp.issparse(values):
        return values
    if not isinstance(values, (sp.csc_array, sp.csr_array)) or values.dtype != np.float64:
        refuse_rounded(matrix, values, name)
        values = sp.csc_array(values, dtype=np.float64)
    if not values.has_canonical_format:
        values = values.copy()  # the caller's own arrays are left as they are
        values.sum_duplicates()
    return values
