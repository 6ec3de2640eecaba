"""Run scikit-learn's checks of arrays with this library's errors, or find that an array needs none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.errors import DataError, DataTypeError, QPSVMError

#: What to do about messages of scikit-learn that do not say it, by how they begin.
ADVICE = {
    "could not convert string": "{name} holds text: encode it as numbers first",
    "Unknown label type: unknown": "{name} holds objects: convert them, as by {name}.astype(int) or {name}.astype(str)",
}


@contextmanager
def translate_sklearn_errors(name: str) -> Iterator[None]:
    """Translate errors of scikit-learn's checks of an argument to errors of this library, with what to do."""
    try:
        yield
    except QPSVMError:
        raise
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:
        advice = next((f" ({advice})" for start, advice in ADVICE.items() if str(error).startswith(start)), "")
        raise DataError(f"{error}{advice.format(name=name)}") from error


def is_finite_array(X: Any) -> bool:
    """Return whether X is a matrix of doubles without NaN or very large values, which needs no further check."""
    if not (type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0):
        return False
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.dot(flat, flat) <= LARGEST_VALUE**2)  # then all values are small enough, and none is NaN
