"""Check and convert the arguments of a QP: lists, arrays and sparse matrices (`as_operator`, `as_rows`, `as_bound`).

QPs built by the problems of this library are valid already, and pass unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_real, as_real_vector
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import find_common_value, repeat_value
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from qpsvm.base.resources.limits import check_memory
from qpsvm.space.operators import Dense, Diagonal, Operator, find_largest_asymmetry
from qpsvm.space.operators.base import as_coefficients, as_vector

#: Relative difference of P and Pᵀ that may be rounding.
ASYMMETRY = 1e-10


@dataclass(frozen=True)
class Rows:
    """A named group of constraint rows.

    Attributes
    ----------
    matrix : "G" or "A"
        Inequalities Gx ≤ h or equalities Ax = b.
    rows : slice
        Rows of that matrix.
    formula : str
        The constraint as text.

    Examples
    --------
    >>> import qpsvm
    >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("dual")
    >>> qp.constraints["balance"]
    Rows(matrix='A', rows=slice(0, 1, None), formula='yᵀα = 0')
    """

    matrix: Literal["G", "A"]
    rows: slice
    formula: str


def as_operator(P: Any) -> Operator:
    """Return P as an operator: sparse matrices with a diagonal only become `Diagonal`, other matrices `Dense`.

    Raises DataTypeError, DataError, TooLargeError.
    """
    if isinstance(P, Operator):
        operator = P
    elif sp.issparse(P):
        matrix = as_coefficients(P, "P")
        _check_square(matrix.shape)
        entries = sp.coo_array(matrix)
        if (entries.coords[0] == entries.coords[1]).all():
            operator = Diagonal(np.asarray(matrix.diagonal()))
        else:
            check_memory(matrix.shape[0], matrix.shape[1], "a sparse P with entries beside the diagonal")
            operator = Dense(as_dense(matrix))
    else:
        matrix = as_coefficients(P, "P")
        _check_square(matrix.shape)
        operator = Dense(matrix)
    if isinstance(operator, Dense):
        _check_numbers(operator.matrix)
        _check_symmetric(operator.matrix)
    elif isinstance(operator, Diagonal):
        _check_numbers(operator.d)
    return operator


def as_bound(bound: Any, name: str, n: int) -> FloatArray | None:
    """Return a bound of every variable, (n,); one number is repeated."""
    if bound is None:
        return None
    if isinstance(bound, (int, float, np.number)) and not isinstance(bound, (bool, complex, np.complexfloating)):
        return repeat_value(float(as_real_vector(bound, name)), n)
    vector = as_vector(bound, name)
    if vector.shape != (n,):
        raise DataError(f"{name} has shape {vector.shape} where ({n},) is expected")
    return vector


def as_constant(r: Any) -> float:
    """Return the constant of the objective. Raises DataTypeError, DataError."""
    try:
        return as_real(r, "r")
    except ParameterTypeError as error:
        raise DataTypeError(str(error)) from None
    except ParameterError as error:
        raise DataError(str(error)) from None


def as_rows(matrix: Any, vector: Any, n: int, names: tuple[str, str]) -> tuple[Matrix | None, FloatArray | None]:
    """Return a matrix (m, n) and its right-hand side (m,); None and None if there are no rows.

    Raises DataError, DataTypeError.
    """
    if (matrix is None) != (vector is None):
        raise DataError(f"{names[0]} and {names[1]} go together: give both or neither")
    if matrix is None:
        return None, None
    side, left = as_vector(vector, names[1]), as_coefficients(matrix, names[0])
    if left.shape != (len(side), n):
        raise DataError(f"{names[0]} has shape {left.shape} where ({len(side)}, {n}) is expected")
    if not (_is_finite(left.data if sp.issparse(left) else left) and _is_finite(side)):
        raise DataError(
            f"{names[0]} or {names[1]} holds a number that is not finite; a row without a limit is left out"
        )
    return (left, side) if len(side) else (None, None)


def check_finite(vector: FloatArray, name: str) -> None:
    """Refuse NaN and infinity, naming the entry."""
    if not _is_finite(vector):
        raise DataError(f"{name} is not finite in entry {int(np.flatnonzero(~np.isfinite(vector))[0])}")


def check_bounds(lb: FloatArray | None, ub: FloatArray | None) -> None:
    """Refuse NaN, infinities on the wrong side, and lb > ub: two passes if nothing is wrong."""
    low, high = -np.inf if lb is None else _compress_constant(lb), np.inf if ub is None else _compress_constant(ub)
    if np.all((low <= high) & (low < np.inf) & (high > -np.inf)):
        return
    for name, bound in (("lb", lb), ("ub", ub)):
        if bound is not None and np.isnan(bound).any():
            raise DataError(f"{name} has a NaN in entry {int(np.flatnonzero(np.isnan(bound))[0])}")
        if bound is not None and (bound == (np.inf if name == "lb" else -np.inf)).any():
            raise DataError(f"{name} is infinite on the wrong side: no x can satisfy it")
    if lb is not None and ub is not None:
        i = int(np.flatnonzero(lb > ub)[0])
        raise DataError(f"lb > ub in entry {i}: {lb[i]:g} > {ub[i]:g}")


def check_texts(**texts: Any) -> None:
    """Check that all values are text. Raises DataTypeError."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise DataTypeError(f"{name} must be text, got {format_value(text)}")


def as_names(parts: Any, argument: str, kind: type) -> dict[str, Any]:
    """Return a mapping of names to values of one type. Raises DataTypeError."""
    if not isinstance(parts, Mapping):
        raise DataTypeError(f"{argument} must be a mapping of names to {kind.__name__}s, got {format_value(parts)}")
    for name, value in parts.items():
        if not isinstance(name, str) or not isinstance(value, kind):
            raise DataTypeError(
                f"{argument} must map names to {kind.__name__}s, got {format_value(name)}: {format_value(value)}"
            )
    return dict(parts)


def as_extent(extent: slice, count: int, argument: str) -> slice:
    """Return a slice with both ends written out. Raises DataTypeError, DataError."""
    ends = (0 if extent.start is None else extent.start, count if extent.stop is None else extent.stop)
    if not all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends):
        raise DataTypeError(f"{argument} must be a slice with whole numbers, got {extent}")
    if extent.step is not None and extent.step != 1:
        raise DataError(f"{argument} must be a slice without steps, got {extent}")
    return slice(int(ends[0]), int(ends[1]))


def is_partition(parts: Iterable[slice], count: int) -> bool:
    """Return whether slices cover 0 to count in order, each starting at the end of the previous one."""
    end = 0
    for part in parts:
        if part.start != end or part.stop < end:
            return False
        end = part.stop
    return end == count


def name_variables(variables: Any, n: int) -> dict[str, slice]:
    """Return the variables' names, or "x" for all of them."""
    named = as_names(variables, "variables", slice) or {"x": slice(0, n)}
    extents = {name: as_extent(part, n, f"the variables {name!r}") for name, part in named.items()}
    if not is_partition(extents.values(), n):
        raise DataError(f"the variables' slices must cover 0 to {n} in order, got {dict(variables)}")
    return extents


def name_rows(constraints: Any, h: FloatArray | None, b: FloatArray | None) -> dict[str, Rows]:
    """Return the groups, with names for a matrix whose rows have none; names for some rows only are an error."""
    groups_by_name: dict[str, Rows] = {}
    counts = {"G": 0 if h is None else len(h), "A": 0 if b is None else len(b)}
    for name, group in as_names(constraints, "constraints", Rows).items():
        if not isinstance(group.matrix, str) or group.matrix not in counts or not isinstance(group.formula, str):
            raise DataError(
                f"the constraints {name!r} must be rows of 'G' or 'A' and a text, got {format_value(group)}"
            )
        if not isinstance(group.rows, slice):
            raise DataTypeError(f"the constraints {name!r} must name rows by a slice, got {format_value(group.rows)}")
        groups_by_name[name] = replace(
            group, rows=as_extent(group.rows, counts[group.matrix], f"the constraints {name!r}")
        )
    sides: tuple[tuple[Literal["G", "A"], str], ...] = (("G", "Gx ≤ h"), ("A", "Ax = b"))
    for matrix, formula in sides:
        groups = sorted(
            (group.rows.start, group.rows.stop) for group in groups_by_name.values() if group.matrix == matrix
        )
        if counts[matrix] and not groups:
            name = matrix
            while name in groups_by_name:
                name += "_"
            groups_by_name[name] = Rows(matrix, slice(0, counts[matrix]), formula)
        elif not is_partition((slice(*ends) for ends in groups), counts[matrix]):
            raise DataError(
                f"{matrix} has {counts[matrix]} rows, but the constraint groups name "
                f"{', '.join(f'{start} to {stop}' for start, stop in groups)}; name all of them, each once, or none"
            )
    return groups_by_name


def _check_numbers(values: FloatArray) -> None:
    if not _is_finite(values):
        raise DataError("P holds a number that is not finite")


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise DataError(f"P has shape {shape}; it must be square")


def _is_finite(values: FloatArray) -> bool:
    """Return whether all values are finite: a finite sum shows it in one pass, otherwise the values are checked."""
    common = find_common_value(values) if values.ndim == 1 else None
    if common is not None:
        return math.isfinite(common)
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values, axis=None)) or bool(np.isfinite(values).all())


def _check_symmetric(P: FloatArray) -> None:
    """Check that P is symmetric: xᵀPx depends on the symmetric part only, but solvers read one triangle."""
    i, j, difference = find_largest_asymmetry(P)
    if difference > ASYMMETRY:
        raise DataError(f"P is not symmetric: P[{i}, {j}] = {P[i, j]:g} and P[{j}, {i}] = {P[j, i]:g}; use (P + Pᵀ)/2")


def _compress_constant(vector: FloatArray) -> float | FloatArray:
    """Return the one number of a `repeat_value` vector, or the vector."""
    value = find_common_value(vector)
    return vector if value is None else value
