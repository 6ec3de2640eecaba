"""A small QP in numbers: what stands in P, q, G, h, A, b and the bounds, under the names of variables and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.operators import Operator

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
