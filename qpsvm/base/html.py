"""Render small tables as plain HTML for a notebook: no script, and no colours but the notebook's (`render_table`).

All text is escaped here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

#: Numbers are right-aligned with digits of equal width, and text is left-aligned.
NUMBER = "text-align: right; font-variant-numeric: tabular-nums; padding: 0.1em 0.5em"
WORDS = "text-align: left; padding: 0.1em 0.5em"
#: The caption looks like the first line of the table.
CAPTION = "caption-side: top; text-align: left; padding: 0.3em 0.5em; white-space: nowrap"


@dataclass(frozen=True)
class Cell:
    """The text of a cell, whether it is a number, and how many columns it spans."""

    text: str
    is_number: bool = False
    n_columns: int = 1


def render_table(rows: Sequence[Sequence[Cell]], head: Sequence[str] = (), title: str = "", caption: str = "") -> str:
    """Render a table whose rows are each headed by the first cell."""
    text = f"<b>{escape(title)}</b>" if title else ""
    text += f"{' ' if title and caption else ''}{escape(caption)}"
    parts = [f'<caption style="{CAPTION}">{text}</caption>'] if text else []
    if head:
        flush = [cell.is_number for cell in rows[0]] if rows else [False] * len(head)
        cells = [_render_cell("th", Cell(name, number), "col") for name, number in zip(head, flush, strict=True)]
        parts.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    lines = [
        "".join([_render_cell("th", row[0], "row"), *(_render_cell("td", cell) for cell in row[1:])]) for row in rows
    ]
    parts.append(f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody>")
    return f"<table>{''.join(parts)}</table>"


def _render_cell(tag: str, cell: Cell, scope: str = "") -> str:
    attributes = f' scope="{scope}"' if scope else ""
    attributes += f' colspan="{cell.n_columns}"' if cell.n_columns > 1 else ""
    return f'<{tag}{attributes} style="{NUMBER if cell.is_number else WORDS}">{escape(cell.text)}</{tag}>'
