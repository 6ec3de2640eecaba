"""Format a QP as text or HTML: its parts and their sizes, and the numbers of a small one (`as_text`, `as_html`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.html import Cell, render_table

#: Most variables, and most rows of G and A together, of a QP whose numbers are displayed; and the width of a terminal.
MAX_SIZE, MAX_WIDTH = 8, 100
#: Significant digits of a number.
DIGITS = 4
#: A line of numbers: its label, one entry per variable, relation, right-hand side, and the name of the row.
Line = tuple[str, list[str], str, str, str]


def as_text(qp: Any) -> str:
    """Format a QP for a terminal."""
    lines = [qp.title, f"  minimise    {qp.formula}"]
    for k, (text, name, count) in enumerate(_list_constraints(qp)):
        lines.append(f"  {'' if k else 'subject to':<12}{text:<33} {name:<10}{count:>8} row{'s' if count != 1 else ''}")
    lines += [f"  {label:<12}{text}" for label, text in _describe_sizes(qp)]
    numbers = _align_lines(*_format_numbers(qp))
    return "\n".join([*lines, *([""] if numbers else []), *numbers])


def as_html(qp: Any) -> str:
    """Format a QP for a notebook, as HTML."""
    rows = [[Cell("minimise"), Cell(qp.formula)]]
    for k, (text, name, count) in enumerate(_list_constraints(qp)):
        message = f"{text}  ({name}, {count} row{'s' if count != 1 else ''})"
        rows.append([Cell("" if k else "subject to"), Cell(message)])
    rows += [[Cell(label), Cell(text)] for label, text in _describe_sizes(qp)]
    summary = render_table(rows, title=qp.title)
    names, lines = _format_numbers(qp)
    if not lines:
        return summary
    numbers = [
        [Cell(label), *(Cell(entry, True) for entry in entries), Cell(relation), Cell(side, True), Cell(name)]
        for label, entries, relation, side, name in lines
    ]
    return summary + render_table(numbers, head=["", *names, "", "", ""])


def _list_constraints(qp: Any) -> list[tuple[str, str, int]]:
    """Return formula, name and number of rows of each group of constraints, and of each bounded group of variables."""
    groups = [(group.formula, name, group.rows.stop - group.rows.start) for name, group in qp.constraints.items()]
    boxes = [(_describe_box(qp, name, part), "box", part.stop - part.start) for name, part in qp.variables.items()]
    return groups + [box for box in boxes if box[0]]


def _describe_sizes(qp: Any) -> list[tuple[str, str]]:
    """Return label and description of the variables, the matrices and the memory."""
    listing = ", ".join(f"{name} {part.stop - part.start}" for name, part in qp.variables.items())
    sizes = [("variables", f"{qp.n}: {listing}"), ("P", f"{qp.n} × {qp.n}, {qp.P.describe()}")]
    for name, matrix in (("G", qp.G), ("A", qp.A)):
        if matrix is not None:
            nonzeros = matrix.nnz if sp.issparse(matrix) else np.count_nonzero(matrix)
            kind = "sparse" if sp.issparse(matrix) else "dense"
            sizes.append((name, f"{matrix.shape[0]} × {matrix.shape[1]}, {kind}, {nonzeros} non-zeros"))
    return [*sizes, ("memory", _format_bytes(qp.nbytes))]


def _format_numbers(qp: Any) -> tuple[list[str], list[Line]]:
    """Return the names of the variables, and the lines of numbers, of a QP; both are empty for a larger one."""
    n = qp.n
    n_rows = sum(len(side) for side in (qp.h, qp.b) if side is not None)
    if max(n, n_rows) > MAX_SIZE:
        return [], []
    names = _list_names(qp.variables.items(), n)
    P = qp.P.block(np.arange(n), np.arange(n))
    lines = [_build_line("" if i else "P", row, name=names[i]) for i, row in enumerate(P)]
    lines.append(_build_line("q", qp.q))
    for label, matrix, relation, side in (("G", qp.G, "≤", qp.h), ("A", qp.A, "=", qp.b)):
        if matrix is None or side is None:
            continue
        groups = [(name, group.rows) for name, group in qp.constraints.items() if group.matrix == label]
        row_names = _list_names(groups, len(side))
        lines += [
            _build_line("" if i else label, row, relation, _format_number(side[i]), row_names[i])
            for i, row in enumerate(as_dense(matrix) if sp.issparse(matrix) else matrix)
        ]
    lines += [_build_line(label, bound) for label, bound in (("lb", qp.lb), ("ub", qp.ub)) if bound is not None]
    return names, lines


def _describe_box(qp: Any, name: str, part: slice) -> str:
    """Describe the bounds of a group of variables; as an empty text if there are none."""
    lb, ub = (bound[part] for bound in qp.bounds)
    if not (np.isfinite(lb).any() or np.isfinite(ub).any()):
        return ""
    low = f"{_format_bound(lb, 'lb')} ≤ " if np.isfinite(lb).any() else ""
    high = f" ≤ {_format_bound(ub, 'ub')}" if np.isfinite(ub).any() else ""
    return f"{low}{name}{high}"


def _format_bound(bound: FloatArray, label: str) -> str:
    if (bound == bound[0]).all():
        return f"{bound[0]:.6g}"
    return f"{label}_i ({bound.min():.4g} … {bound.max():.4g})"


def _format_bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.{0 if unit == 'B' else 1}f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _list_names(parts: Iterable[tuple[str, slice]], n: int) -> list[str]:
    """Return the names of n variables or rows: `b` if a part has one entry, else `xi[0]`, `xi[1]`, …"""
    names = [""] * n
    for name, part in parts:
        count = part.stop - part.start
        names[part] = [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
    return names


def _align_lines(names: list[str], lines: list[Line]) -> list[str]:
    """Align the lines in columns under the names of the variables; return none if they are too wide for a terminal."""
    if not lines:
        return []
    widths = [max(map(len, column)) for column in zip(names, *(entries for _, entries, *_ in lines), strict=True)]
    side_width = max(len(side) for *_, side, _ in lines)
    text = [_align_cells("", names, widths)]
    for label, entries, relation, side, name in lines:
        end = f"  {relation:1} {side:>{side_width}}" if side_width else ""
        text.append(f"{_align_cells(label, entries, widths)}{end}  {name}".rstrip())
    return text if max(map(len, text)) <= MAX_WIDTH else []


def _align_cells(label: str, cells: list[str], widths: list[int]) -> str:
    return f"  {label:<8}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _build_line(label: str, entries: FloatArray, relation: str = "", side: str = "", name: str = "") -> Line:
    return label, [_format_number(entry) for entry in entries], relation, side, name


def _format_number(value: float) -> str:
    return f"{value + 0.0:.{DIGITS}g}"  # turns −0 into 0


__all__ = ["as_html", "as_text"]
