"""Check and convert the arguments of a QP: lists, arrays and sparse matrices (`as_operator`, `as_constraints`, …).

The arguments of QPs that this library builds are valid already, and pass unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_real, as_real_vector
from qpsvm.base.arrays.coefficients import as_coefficients, as_vector
from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from qpsvm.base.resources.limits import check_memory
from qpsvm.space.operators import Dense, Diagonal, Operator, find_largest_asymmetry

#: Relative difference of P and Pᵀ that may be rounding.
MAX_ASYMMETRY = 1e-10


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
    else:
        operator = _build_operator(as_coefficients(P, "P"))
    if isinstance(operator, Dense):
        _check_numbers(operator.matrix)
        _check_symmetric(operator.matrix)
    elif isinstance(operator, Diagonal):
        _check_numbers(operator.d)
    return operator


def as_bound(bound: Any, name: str, n: int) -> FloatArray | None:
    """Return a bound of every variable, (n,); one number is repeated. Raises DataTypeError, DataError."""
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


def as_constraints(matrix: Any, vector: Any, n: int, names: tuple[str, str]) -> tuple[Matrix | None, FloatArray | None]:
    """Return a matrix (m, n) and its right-hand side (m,); None and None if there are no rows.

    Raises DataError, DataTypeError.
    """
    if (matrix is None) != (vector is None):
        raise DataError(f"{names[0]} and {names[1]} go together: give both or neither")
    if matrix is None:
        return None, None
    rhs, rows = as_vector(vector, names[1]), as_coefficients(matrix, names[0])
    if rows.shape != (len(rhs), n):
        raise DataError(f"{names[0]} has shape {rows.shape} where ({len(rhs)}, {n}) is expected")
    if not _is_finite(rhs):
        i = int(np.flatnonzero(~np.isfinite(rhs))[0])
        raise DataError(f"{names[1]} is {rhs[i]:g} in entry {i}; a constraint without a limit has to be left out")
    if not _is_finite(rows.data if sp.issparse(rows) else rows):
        entries = sp.coo_array(rows)
        k = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        i, j = (int(index[k]) for index in entries.coords)
        raise DataError(f"{names[0]} is {entries.data[k]:g} in row {i}, column {j}; its entries must be finite")
    return (rows, rhs) if len(rhs) else (None, None)


def check_finite(vector: FloatArray, name: str) -> None:
    """Check that all entries are finite. Raises DataError, which names the first other one."""
    if not _is_finite(vector):
        raise DataError(f"{name} is not finite in entry {int(np.flatnonzero(~np.isfinite(vector))[0])}")


def check_bounds(lb: FloatArray | None, ub: FloatArray | None) -> None:
    """Check that no bound is NaN or infinite on the wrong side, and that lb ≤ ub. Raises DataError."""
    low = -np.inf if lb is None else _compress_constant(lb)
    high = np.inf if ub is None else _compress_constant(ub)
    if np.all((low <= high) & (low < np.inf) & (high > -np.inf)):  # false if one is NaN
        return
    for name, bound in (("lb", lb), ("ub", ub)):
        if bound is not None and np.isnan(bound).any():
            raise DataError(f"{name} has a NaN in entry {int(np.flatnonzero(np.isnan(bound))[0])}")
        impossible = np.inf if name == "lb" else -np.inf
        if bound is not None and (bound == impossible).any():
            i = int(np.flatnonzero(bound == impossible)[0])
            raise DataError(f"{name} is {impossible:g} in entry {i}: no x satisfies that; no bound is {-impossible:g}")
    if lb is not None and ub is not None:
        i = int(np.flatnonzero(lb > ub)[0])
        raise DataError(f"lb > ub in entry {i}: {lb[i]:g} > {ub[i]:g}")


def check_texts(**texts: Any) -> None:
    """Check that all values are text. Raises DataTypeError."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise DataTypeError(f"{name} must be text, got {format_value(text)}")


def as_mapping(parts: Any, argument: str, kind: type) -> dict[str, Any]:
    """Return a mapping of names to values of one type. Raises DataTypeError."""
    if not isinstance(parts, Mapping):
        raise DataTypeError(f"{argument} must be a mapping of names to {kind.__name__}s, got {format_value(parts)}")
    for name, value in parts.items():
        if not isinstance(name, str) or not isinstance(value, kind):
            raise DataTypeError(
                f"{argument} must map names to {kind.__name__}s, got {format_value(name)}: {format_value(value)}"
            )
    return dict(parts)


def as_full_slice(part: slice, count: int, argument: str) -> slice:
    """Return a slice of `count` items with both ends written out. Raises DataTypeError, DataError."""
    ends = (0 if part.start is None else part.start, count if part.stop is None else part.stop)
    if not all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends):
        raise DataTypeError(f"{argument} must be a slice with whole numbers, got {part}")
    if part.step is not None and part.step != 1:
        raise DataError(f"{argument} must be a slice without steps, got {part}")
    return slice(int(ends[0]), int(ends[1]))


def is_partition(parts: Iterable[slice], count: int) -> bool:
    """Return whether slices cover 0 to count in order, each starting at the end of the previous one."""
    end = 0
    for part in parts:
        if part.start != end or part.stop < end:
            return False
        end = part.stop
    return end == count


def as_variable_slices(variables: Any, n: int) -> dict[str, slice]:
    """Return the slice of each named block of variables; one block "x" without names. Raises as `as_full_slice`."""
    parts = as_mapping(variables, "variables", slice) or {"x": slice(0, n)}
    slices = {name: as_full_slice(part, n, f"the variables {name!r}") for name, part in parts.items()}
    if not is_partition(slices.values(), n):
        raise DataError(f"the variables' slices must cover 0 to {n} in order, got {dict(variables)}")
    return slices


def as_row_groups(constraints: Any, h: FloatArray | None, b: FloatArray | None) -> dict[str, Rows]:
    """Return the named groups of rows, with one group for a matrix that has none; they must cover all of its rows.

    Raises DataError, DataTypeError.
    """
    counts = {"G": 0 if h is None else len(h), "A": 0 if b is None else len(b)}
    given = as_mapping(constraints, "constraints", Rows)
    groups = {name: _check_group(name, group, counts) for name, group in given.items()}
    sides: tuple[tuple[Literal["G", "A"], str], ...] = (("G", "Gx ≤ h"), ("A", "Ax = b"))
    for matrix, formula in sides:
        ends = sorted((group.rows.start, group.rows.stop) for group in groups.values() if group.matrix == matrix)
        if counts[matrix] and not ends:
            name: str = matrix
            while name in groups:
                name += "_"
            groups[name] = Rows(matrix, slice(0, counts[matrix]), formula)
        elif not is_partition((slice(*pair) for pair in ends), counts[matrix]):
            raise DataError(
                f"{matrix} has {counts[matrix]} rows, but the constraint groups name "
                f"{', '.join(f'{start} to {stop}' for start, stop in ends)}; name all of them, each once, or none"
            )
    return groups


def _check_group(name: str, group: Rows, counts: Mapping[str, int]) -> Rows:
    """Check a group of rows, given the number of rows of each matrix, and return it with both ends of its slice."""
    if not isinstance(group.matrix, str) or group.matrix not in counts or not isinstance(group.formula, str):
        raise DataError(f"the constraints {name!r} must be rows of 'G' or 'A' and a text, got {format_value(group)}")
    if not isinstance(group.rows, slice):
        raise DataTypeError(f"the constraints {name!r} must name rows by a slice, got {format_value(group.rows)}")
    return replace(group, rows=as_full_slice(group.rows, counts[group.matrix], f"the constraints {name!r}"))


def _build_operator(matrix: Matrix) -> Operator:
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"P has shape {matrix.shape}; it must be square")
    if not sp.issparse(matrix):
        return Dense(matrix)
    entries = sp.coo_array(matrix)
    if (entries.coords[0] == entries.coords[1]).all():
        return Diagonal(np.asarray(matrix.diagonal()))
    check_memory(matrix.shape[0], matrix.shape[1], "a sparse P with entries beside the diagonal")
    return Dense(as_dense(matrix))


def _check_numbers(values: FloatArray) -> None:
    if not _is_finite(values):
        raise DataError("P holds a number that is not finite")


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
    if difference > MAX_ASYMMETRY:
        one, other = (f"{value:.15g}" for value in (P[i, j], P[j, i]))
        advice = "use (P + Pᵀ)/2"
        if not (np.tril(P, -1).any() and np.triu(P, 1).any()):
            advice = "if this triangle stands for both, as in OSQP, use P + Pᵀ − diag(P), otherwise (P + Pᵀ)/2"
        raise DataError(f"P is not symmetric: P[{i}, {j}] = {one} and P[{j}, {i}] = {other}; {advice}")


def _compress_constant(vector: FloatArray) -> float | FloatArray:
    """Return the number that a vector of `repeat_value` repeats; any other vector as it is."""
    value = find_common_value(vector)
    return vector if value is None else value
