"""Evaluate a displayed equation from its LaTeX, at given values of its symbols (`evaluate_display`).

A display is split into statements (`displayed_tokens`). Both sides of every relation are evaluated
(`displayed_parser`), and the statements that are false are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from displayed_arrays import Tensor, align, combine, to_single_tensor
from displayed_parser import Parser, Symbols, align_sides, evaluate_condition, evaluate_sides
from displayed_tokens import ARROWS, OPEN, find_group_end, split, split_list, split_statements, split_words

#: How far two sides of a true relation may differ, relative to the largest value or 1.
HOLDS = 2e-7


@dataclass
class DisplayReport:
    """The outcome of a display: false statements, skipped lines, and the number of evaluated statements."""

    failures: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    evaluated: int = 0


@dataclass
class Failure:
    """A statement that is false."""

    statement: str
    left: float
    right: float

    def __str__(self) -> str:
        return f"{self.statement}:  {self.left:.9g} against {self.right:.9g}"


def evaluate_display(
    latex: str, names: Symbols, optimum: Callable[[list[str]], float], skip: tuple[str, ...] = ()
) -> DisplayReport:
    """Evaluate every statement of a display at the values of its symbols.

    Parameters
    ----------
    latex : str
    names : Symbols
    optimum : callable
        From the symbols that a minimum is taken over to the value of its objective.
    skip : tuple of str
        Statements that contain one of these texts are skipped: they have no numerical content.
    """
    for written, reads in names.rewrites.items():
        latex = latex.replace(written, reads)
    lines = split_statements(latex)
    report = DisplayReport()
    sets = find_index_sets(lines, names)
    for line in lines:
        text = "".join(line)
        words, line = split_words(line)
        if words and words != "subjectto":
            report.skipped.append(text)
        elif r"\{i:" in text:
            continue  # an index set
        elif any(silent in "".join(line) for silent in skip):
            report.skipped.append(text)
        elif line := check_optimum(line, names, optimum, report):
            check_line(line, names, sets, report)
    return report


def find_index_sets(lines: list[list[str]], names: Symbols) -> dict[str, Tensor]:
    """Return the masks of the index sets that are defined by lines M = {i: …}."""
    sets = {}
    for line in lines:
        if len(line) > 4 and line[1] == "=" and line[2] == r"\{":
            inside = split(line[3 : find_group_end(line, 2)], {":"})[0][1]
            sets[line[0]] = evaluate_condition(inside, names)
    return sets


def check_optimum(
    line: list[str], names: Symbols, optimum: Callable[[list[str]], float], report: DisplayReport
) -> list[str]:
    """Check the value of a leading objective, as in "min_w ½‖w‖², w ≥ 0"; return what follows it, or the whole line."""
    if line[0] not in {r"\min", r"\max"} or line[1] != "_" or "=" in split(line, {","})[0][0]:
        return line
    end = find_group_end(line, 2) if line[2] in OPEN else 2
    over = line[2 : end + 1]
    objective = line[end + 1 :]
    first, *rest = split(objective, {","})[0]
    value = float(to_single_tensor(Parser(first, names).evaluate(first)).a)
    wanted = optimum(over)
    report.evaluated += 1
    if abs(value - wanted) > HOLDS * max(1.0, abs(wanted)):
        report.failures.append(Failure("".join(line), value, wanted))
    return [token for part in rest for token in (*part, ",")]


def check_line(line: list[str], names: Symbols, sets: dict[str, Tensor], report: DisplayReport) -> None:
    """Check the relations of a line where its premise holds, if it has one; "⟹" also claims the premise."""
    is_hypothetical = r"\nu=1" in "".join(line)
    parts, arrows = split(line, ARROWS)
    where: Tensor | None = None
    if arrows:
        premise = parts[0]
        line = parts[-1]
        if r"\partial" not in premise:
            where = evaluate_condition(premise, names, sets)
            if arrows[-1] == r"\Longrightarrow" and not is_hypothetical:
                for piece in split_list(premise):
                    report.failures += check_statement(piece, names, None, sets)
                where = None
    for piece in split_list(line):
        if any(f"\\in{name}" in "".join(piece) and not mask.a.any() for name, mask in sets.items()):
            continue  # the mean over an empty set
        report.failures += check_statement(piece, names, where, sets)
        report.evaluated += 1


def check_statement(piece: list[str], names: Symbols, where: Tensor | None, sets: dict[str, Tensor]) -> list[Failure]:
    """Check a chain of relations at the entries of `where`; list its worst violations."""
    failures = []
    for left, relation, right in evaluate_sides(piece, names, sets):
        a, b, axes = align_sides(left, right)
        a, b = np.broadcast_arrays(a, b)
        finite = np.abs(np.stack([a, b]))
        scale = HOLDS * max(1.0, float(finite[np.isfinite(finite)].max(initial=0.0)))
        off = {"=": np.abs(a - b), "≤": a - b, "≥": b - a, "<": a - b, ">": b - a}[relation] - scale
        about = where
        if names.mask is not None and set(names.mask.axes) <= set(axes):
            if where is None:
                about = names.mask
            else:
                about = combine(where, np.logical_and, names.mask)
        if about is not None:
            off, mask, _ = align(Tensor(off, axes), about)
            a, b = (np.broadcast_to(align(Tensor(v, axes), about)[0], off.shape) for v in (a, b))
            off, mask = np.broadcast_arrays(off, mask)
            off = np.where(mask, off, -1.0)
        if off.size and not (off <= 0).all():
            a, b = (np.broadcast_to(v, off.shape) for v in (a, b))
            k = int(np.nanargmax(off)) if not np.isnan(off).all() else 0
            failures.append(Failure("".join(piece), float(a.ravel()[k]), float(b.ravel()[k])))
    return failures
