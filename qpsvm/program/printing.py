"""Format a QP for people: its parts and their sizes, and the numbers of a small one (`as_text`, `as_html`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.html import Cell, render_table
from qpsvm.space.operators import Operator

#: Limit of the variables, and of the rows of G and A together, for displaying numbers; and the width of a screen.
MAX_SIZE, MAX_WIDTH = 8, 100
#: Significant digits.
DIGITS = 4


def as_text(qp: Any) -> str:
    """Format a QP for a terminal."""
    lines = [qp.title, f"  minimise    {qp.formula}"]
    lead = "  subject to  "
    for text, name, count in _list_restrictions(qp):
        lines.append(f"{lead}{text:<33} {name:<10}{count:>8} row{'s' if count != 1 else ''}")
        lead = " " * len(lead)
    lines += [f"  {label:<12}{text}" for label, text in _describe_sizes(qp)]
    numbers = format_lines(*_format_numbers(qp))
    return "\n".join([*lines, *([""] if numbers else []), *numbers])


def as_html(qp: Any) -> str:
    """Format a QP for a notebook, as HTML."""
    rows = [[Cell("minimise"), Cell(qp.formula)]]
    for k, (text, name, count) in enumerate(_list_restrictions(qp)):
        message = f"{text}  ({name}, {count} row{'s' if count != 1 else ''})"
        rows.append([Cell("" if k else "subject to"), Cell(message)])
    rows += [[Cell(label), Cell(text)] for label, text in _describe_sizes(qp)]
    summary = render_table(rows, title=qp.title)
    names, lines = _format_numbers(qp)
    if not lines:
        return summary
    numbers = [
        [Cell(letter), *(Cell(entry, True) for entry in entries), Cell(relation), Cell(side, True), Cell(name)]
        for letter, entries, relation, side, name in lines
    ]
    return summary + render_table(numbers, head=["", *names, "", "", ""])


def _list_restrictions(qp: Any) -> list[tuple[str, str, int]]:
    """Return formula, name and number of rows of each group of constraints, and of each box."""
    rows = [(group.formula, name, group.rows.stop - group.rows.start) for name, group in qp.constraints.items()]
    box = [(text, "box", part.stop - part.start) for name, part in qp.variables.items()
           if (text := _describe_box(qp, name, part))]  # fmt: skip
    return rows + box


def _describe_sizes(qp: Any) -> list[tuple[str, str]]:
    """Return the description and size of each part, by its letter."""
    listing = ", ".join(f"{name} {part.stop - part.start}" for name, part in qp.variables.items())
    sizes = [("variables", f"{qp.n}: {listing}"), ("P", f"{qp.n} × {qp.n}, {qp.P.describe()}")]
    for name, matrix in (("G", qp.G), ("A", qp.A)):
        if matrix is not None:
            nonzeros = matrix.nnz if sp.issparse(matrix) else np.count_nonzero(matrix)
            kind = "sparse" if sp.issparse(matrix) else "dense"
            sizes.append((name, f"{matrix.shape[0]} × {matrix.shape[1]}, {kind}, {nonzeros} non-zeros"))
    return [*sizes, ("memory", _format_bytes(qp.nbytes))]


def _format_numbers(qp: Any) -> tuple[list[str], list[Line]]:
    """Return the numbers of a small QP."""
    groups = {
        letter: [(name, group.rows) for name, group in qp.constraints.items() if group.matrix == letter]
        for letter in "GA"
    }
    rows = [("G", qp.G, qp.h, groups["G"]), ("A", qp.A, qp.b, groups["A"])]
    return build_lines(qp.P, qp.q, qp.variables, rows, {"lb": qp.lb, "ub": qp.ub})


def _describe_box(qp: Any, name: str, part: slice) -> str:
    lb, ub = (bound[part] for bound in qp.bounds)
    if not (np.isfinite(lb).any() or np.isfinite(ub).any()):
        return ""
    low = f"{_format_bound(lb, 'lb')} ≤ " if np.isfinite(lb).any() else ""
    high = f" ≤ {_format_bound(ub, 'ub')}" if np.isfinite(ub).any() else ""
    return f"{low}{name}{high}"


def _format_bound(bound: FloatArray, letter: str) -> str:
    if (bound == bound[0]).all():
        return f"{bound[0]:.6g}"
    return f"{letter}_i ({bound.min():.4g} … {bound.max():.4g})"


def _format_bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            if unit == "B":
                return f"{size:.0f} {unit}"
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


#: Letter, one entry for each variable, relation, right-hand side, and the name of the row.
Line = tuple[str, list[str], str, str, str]


def list_names(parts: Iterable[tuple[str, slice]], n: int) -> list[str]:
    """Return the names of n variables or rows: `b` if a part has one entry, else `xi[0]`, `xi[1]`, …"""
    names = [""] * n
    for name, part in parts:
        count = part.stop - part.start
        if count == 1:
            names[part] = [name]
        else:
            names[part] = [f"{name}[{i}]" for i in range(count)]
    return names


def build_lines(
    P: Operator,
    q: FloatArray,
    variables: Mapping[str, slice],
    rows: Sequence[tuple[str, Matrix | None, FloatArray | None, Sequence[tuple[str, slice]]]],
    bounds: Mapping[str, FloatArray | None],
) -> tuple[list[str], list[Line]]:
    """Return the variables' names, (n,), and lines for P, q, G, A and the bounds; both are empty for a larger QP.

    Shapes: P (n, n), q (n,), bounds (n,) or None.
    """
    n = len(q)
    if max(n, sum(len(side) for _, _, side, _ in rows if side is not None)) > MAX_SIZE:
        return [], []
    names = list_names(variables.items(), n)
    every = np.arange(n)
    lines: list[Line] = [
        _build_line("P" if i == 0 else "", row, name=names[i]) for i, row in enumerate(P.block(every, every))
    ]
    lines.append(_build_line("q", q))
    for letter, matrix, side, groups in rows:
        if matrix is None or side is None:
            continue
        entries = as_dense(matrix) if sp.issparse(matrix) else matrix
        called = list_names(groups, len(side))
        relation = "≤" if letter == "G" else "="
        lines += [
            _build_line(letter if i == 0 else "", entries[i], relation, _format_number(side[i]), called[i])
            for i in range(len(side))
        ]
    lines += [_build_line(letter, bound) for letter, bound in bounds.items() if bound is not None]
    return names, lines


def format_lines(names: list[str], lines: list[Line]) -> list[str]:
    """Return the lines for a terminal, under their names; none if they are too wide for one."""
    if not lines:
        return []
    widths = [max(len(cell) for cell in column) for column in zip(names, *(line[1] for line in lines), strict=True)]
    side = max(len(line[3]) for line in lines)
    text = [_align_line("", names, widths)]
    for letter, entries, relation, right, name in lines:
        end = f"  {relation:1} {right:>{side}}" if side else ""
        text.append(f"{_align_line(letter, entries, widths)}{end}  {name}".rstrip())
    return text if max(map(len, text)) <= MAX_WIDTH else []


def _align_line(letter: str, cells: list[str], widths: list[int]) -> str:
    return f"  {letter:<8}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _build_line(letter: str, entries: FloatArray, relation: str = "", side: str = "", name: str = "") -> Line:
    return letter, [_format_number(entry) for entry in entries], relation, side, name


def _format_number(value: float) -> str:
    return f"{value + 0.0:.{DIGITS}g}"  # turns −0 into 0


__all__ = ["as_html", "as_text"]
