"""What a QP is made of, read from what a person gives: lists, arrays and sparse matrices in, checked parts out.

What the problems of this library build is in shape already, and passes unchanged.

A small QP in numbers: what stands in P, q, G, h, A, b and the bounds, under the names of variables and rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_real, as_real_vector
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.arrays.vectors import common_value, repeated
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from qpsvm.base.resources.limits import check_memory
from qpsvm.space.operators import Dense, Diagonal, Operator, largest_asymmetry
from qpsvm.space.operators.base import as_coefficients, as_vector

#: Most variables, and most rows of G and A together, that are read at a glance; and how wide a screen is.
MOST, WIDTH = 8, 100
#: Significant digits.
DIGITS = 4

#: Letter, one entry for each variable, relation, right-hand side, and the name of the row.
Line = tuple[str, list[str], str, str, str]


def names_of(parts: Iterable[tuple[str, slice]], n: int) -> list[str]:
    """The names of n variables or rows: `b` where a part has one, else `xi[0]`, `xi[1]`, …"""
    names = [""] * n
    for name, part in parts:
        count = part.stop - part.start
        names[part] = [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
    return names


def lines_of(
    P: Operator,
    q: FloatArray,
    variables: Mapping[str, slice],
    rows: Sequence[tuple[str, Matrix | None, FloatArray | None, Sequence[tuple[str, slice]]]],
    bounds: Mapping[str, FloatArray | None],
) -> tuple[list[str], list[Line]]:
    """The names of the variables, (n,), and a line for each row of P, q, G, A and the bounds; none of a larger QP.

    Shapes: P (n, n), q (n,), bounds (n,) or None.
    """
    n = len(q)
    if max(n, sum(len(side) for _, _, side, _ in rows if side is not None)) > MOST:
        return [], []
    names, every = names_of(variables.items(), n), np.arange(n)
    lines: list[Line] = [
        _line("P" if i == 0 else "", row, name=names[i]) for i, row in enumerate(P.block(every, every))
    ]
    lines.append(_line("q", q))
    for letter, matrix, side, groups in rows:
        if matrix is None or side is None:
            continue
        entries, called = as_dense(matrix) if sp.issparse(matrix) else matrix, names_of(groups, len(side))
        relation = "≤" if letter == "G" else "="
        lines += [
            _line(letter if i == 0 else "", entries[i], relation, _number(side[i]), called[i]) for i in range(len(side))
        ]
    lines += [_line(letter, bound) for letter, bound in bounds.items() if bound is not None]
    return names, lines


def text_of(names: list[str], lines: list[Line]) -> list[str]:
    """The lines for a terminal, under their names; none where they are too wide for one."""
    if not lines:
        return []
    widths = [max(len(cell) for cell in column) for column in zip(names, *(line[1] for line in lines), strict=True)]
    side = max(len(line[3]) for line in lines)
    text = [_aligned("", names, widths)]
    for letter, entries, relation, right, name in lines:
        end = f"  {relation:1} {right:>{side}}" if side else ""
        text.append(f"{_aligned(letter, entries, widths)}{end}  {name}".rstrip())
    return text if max(map(len, text)) <= WIDTH else []


def _aligned(letter: str, cells: list[str], widths: list[int]) -> str:
    return f"  {letter:<8}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _line(letter: str, entries: FloatArray, relation: str = "", side: str = "", name: str = "") -> Line:
    return letter, [_number(entry) for entry in entries], relation, side, name


def _number(value: float) -> str:
    return f"{value + 0.0:.{DIGITS}g}"  # −0 is 0


#: Relative difference of P and Pᵀ that may be rounding.
ASYMMETRY = 1e-10


def as_operator(P: Any) -> Operator:
    """P as an operator: sparse matrices with a diagonal only become `Diagonal`, other matrices `Dense`.

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
    """A bound of every variable, (n,): one number stands for all of them."""
    if bound is None:
        return None
    if isinstance(bound, (int, float, np.number)) and not isinstance(bound, (bool, complex, np.complexfloating)):
        return repeated(float(as_real_vector(bound, name)), n)
    vector = as_vector(bound, name)
    if vector.shape != (n,):
        raise DataError(f"{name} has shape {vector.shape} where ({n},) is expected")
    return vector


def as_constant(r: Any) -> float:
    """The constant of the objective.

    Raises DataTypeError, DataError.
    """
    try:
        return as_real(r, "r")
    except ParameterTypeError as error:
        raise DataTypeError(str(error)) from None
    except ParameterError as error:
        raise DataError(str(error)) from None


def as_rows(matrix: Any, vector: Any, n: int, names: tuple[str, str]) -> tuple[Matrix | None, FloatArray | None]:
    """A matrix (m, n) and its right-hand side (m,); None and None where there are no rows.

    Raises DataError, DataTypeError.
    """
    if (matrix is None) != (vector is None):
        raise DataError(f"{names[0]} and {names[1]} go together: give both or neither")
    if matrix is None:
        return None, None
    side, left = as_vector(vector, names[1]), as_coefficients(matrix, names[0])
    if left.shape != (len(side), n):
        raise DataError(f"{names[0]} has shape {left.shape} where ({len(side)}, {n}) is expected")
    if not (_finite(left.data if sp.issparse(left) else left) and _finite(side)):
        raise DataError(
            f"{names[0]} or {names[1]} holds a number that is not finite; a row without a limit is left out"
        )
    return (left, side) if len(side) else (None, None)


def check_finite(vector: FloatArray, name: str) -> None:
    """Refuse NaN and infinity, naming the entry."""
    if not _finite(vector):
        raise DataError(f"{name} is not finite in entry {int(np.flatnonzero(~np.isfinite(vector))[0])}")


def check_bounds(lb: FloatArray | None, ub: FloatArray | None) -> None:
    """NaN, infinities on the wrong side, and lb ≤ ub: two passes where nothing is wrong."""
    low, high = -np.inf if lb is None else _shared(lb), np.inf if ub is None else _shared(ub)
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


def as_names(parts: Any, what: str, kind: type) -> dict[str, Any]:
    """A mapping of names to values of one type.

    Raises DataTypeError.
    """
    if not isinstance(parts, Mapping):
        raise DataTypeError(f"{what} must be a mapping of names to {kind.__name__}s, got {shown(parts)}")
    for name, value in parts.items():
        if not isinstance(name, str) or not isinstance(value, kind):
            raise DataTypeError(f"{what} must map names to {kind.__name__}s, got {shown(name)}: {shown(value)}")
    return dict(parts)


def as_extent(part: slice, count: int, what: str) -> slice:
    """A slice with its two ends written out.

    Raises DataTypeError, DataError.
    """
    ends = (0 if part.start is None else part.start, count if part.stop is None else part.stop)
    if not all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends):
        raise DataTypeError(f"{what} must be a slice with whole numbers, got {part}")
    if part.step is not None and part.step != 1:
        raise DataError(f"{what} must be a slice without steps, got {part}")
    return slice(int(ends[0]), int(ends[1]))


def tile(parts: Iterable[slice], count: int) -> bool:
    """Whether slices cover 0 to count in order, each beginning where the one before it ends."""
    place = 0
    for part in parts:
        if part.start != place or part.stop < place:
            return False
        place = part.stop
    return place == count


def _check_numbers(values: FloatArray) -> None:
    if not _finite(values):
        raise DataError("P holds a number that is not finite")


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise DataError(f"P has shape {shape}; it must be square")


def _finite(values: FloatArray) -> bool:
    """Whether all values are finite: a finite sum shows it in one pass, another one has to be looked into."""
    common = common_value(values) if values.ndim == 1 else None
    if common is not None:
        return math.isfinite(common)
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values, axis=None)) or bool(np.isfinite(values).all())


def _check_symmetric(P: FloatArray) -> None:
    """Of xᵀPx only the symmetric part counts, but solvers read one triangle."""
    i, j, difference = largest_asymmetry(P)
    if difference > ASYMMETRY:
        raise DataError(f"P is not symmetric: P[{i}, {j}] = {P[i, j]:g} and P[{j}, {i}] = {P[j, i]:g}; use (P + Pᵀ)/2")


def _shared(vector: FloatArray) -> float | FloatArray:
    """The one number of a `repeated` vector, or the vector."""
    value = common_value(vector)
    return vector if value is None else value
