"""Equations as expressions: what is displayed, as LaTeX, text or Python, is what is evaluated.

A `Line` compares terms, and an `Equation` is the lines of one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from qpsvm.derivation.residual import BothSides, NotMeasurable, Relation, worst
from qpsvm.derivation.terms import Term, size_of, term

#: Columns of code, beyond which both sides stand below each other.
WIDE = 100
#: What a side is called in code that stands in several lines and is longer than this.
NAME, SHORT = "value", 30
#: Relations in LaTeX and in Python, and how they are measured: what is inside of its bounds may be next to them.
RELATIONS: dict[str, tuple[str, str, Relation]] = {
    "=": ("=", "==", "="), "≤": (r"\le ", "<=", "≤"), "≥": (r"\ge ", ">=", "≥"), "<": ("<", "<", "≤"),
    ">": (">", ">", "≥"), ":": (r":\ ", "==", "="),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Line:
    """Terms, and how they stand to each other.

    scale: What their difference is relative to: an attribute of the point, or a function of it; None for the last term.
    before: LaTeX in front, which says nothing in numbers; `after` behind.
    joined: Whether it stands behind the line before.
    at: From the point that is given to that where the line is about.
    rows: Of which entries it is said: None of all.
    place: What the entries are: rows of the dual or samples, "entry", or another word.
    shown: Whether it is displayed, or measured only.
    premise: Of the same entries, which stands in front with an arrow.
    left: LaTeX in place of the first side, where that stands above.
    measured: Whether it is measured: a definition need not be.
    when: At which points it is measured.
    told: What is said of the two numbers, where that depends on the point.
    """

    sides: tuple[Term, ...]
    relations: tuple[str, ...]
    scale: str | Callable[[Any], Any] | None = None
    before: str = ""
    after: str = ""
    joined: bool = False
    at: Callable[[Any], Any] | None = None
    rows: Callable[[Any], Any] | None = None
    place: str = ""
    shown: bool = True
    premise: Line | None = None
    left: str | None = None
    measured: bool = True
    when: Callable[[Any], bool] | None = None
    told: Callable[[Any], str] | None = None

    def latex(self) -> str:
        """As LaTeX, with what stands around."""
        chain = self.sides[0].latex() if self.left is None else self.left
        for relation, side in zip(self.relations, self.sides[1:], strict=True):
            chain += RELATIONS[relation][0] + side.latex()
        given = "" if self.premise is None else rf"{self.premise.latex()} &\;\Rightarrow\; "
        return self.before + given + chain + self.after

    def python(self, first: str = "") -> str:
        """As code; `first` is a name for the first side."""
        chain = first or unbracketed(self.sides[0].python())
        for relation, side in zip(self.relations, self.sides[1:], strict=True):
            chain += f" {RELATIONS[relation][1]} {unbracketed(side.python())}"
        return chain if self.premise is None else f"{self.premise.python()} implies {chain}"

    def found(self, at: Any) -> Iterator[BothSides]:
        """Both sides of each relation at a point. Of a chain of equalities each is compared with the first."""
        at = at if self.at is None else self.at(at)
        rows = None if self.rows is None else np.flatnonzero(self.rows(at))
        if (rows is not None and not len(rows)) or (self.when is not None and not self.when(at)):
            return
        values = [side.value(at) for side in self.sides]
        scale = getattr(at, self.scale) if isinstance(self.scale, str) else self.scale(at) if self.scale else None
        equal = set(self.relations) == {"="}
        for k in sorted(range(len(self.relations)), reverse=equal):
            first = 0 if equal else k
            of = self.told(at) if self.told else f"{self.sides[first].text()}, and {self.sides[k + 1].text()}"
            yield self._sides(at, values[first], RELATIONS[self.relations[k]][2], values[k + 1], of, scale, rows)
        if self.premise is not None:
            yield from replace(self.premise, rows=self.rows, at=None).found(at)

    def _sides(self, at: Any, one: Any, how: Relation, other: Any, of: str, scale: Any, rows: Any) -> BothSides:
        scale = (size_of(np.atleast_1d(other)) or 1.0) if scale is None else scale
        if np.ndim(one) == np.ndim(other) == 0:
            return BothSides(float(one), how, float(other), of, float(scale))
        one, other, scale = np.broadcast_arrays(np.asarray(one, dtype=float), other, scale)
        count = len(one)
        if rows is not None:
            one, other, scale = one[rows], other[rows], scale[rows]
        return worst(
            one, how, other, of.replace("{", "{{").replace("}", "}}") + ", of {i}", scale,
            lambda i: at.name(self.place, int(i if rows is None else rows[i]), count),
        )  # fmt: skip


def unbracketed(code: str) -> str:
    """Code without brackets around one name, or around all of it."""
    code = re.sub(r"(?<![\w)\]])\((\w+)\)", r"\1", code)
    opened = [code[: k + 1].count("(") - code[: k + 1].count(")") for k in range(len(code))]
    return code[1:-1] if code.startswith("(") and 0 not in opened[:-1] else code


def line(first: Term | float, *rest: Any, **more: Any) -> Line:
    """Terms with the relations between them: line(a, "=", b, "≤", c)."""
    return Line((term(first), *map(term, rest[1::2])), tuple(rest[::2]), **more)


@dataclass(frozen=True, eq=False)
class Equation:
    """The lines of one step: what it displays, and what is measured of it.

    layout: "alone" behind each other, "below" each other, or "aligned" where the lines say themselves.
    lines: Text among them is LaTeX that says nothing in numbers.
    missing: Why there is nothing to measure it on at a point, or "".
    origin: What makes it again, which is what a pickle has of it.
    """

    layout: str
    lines: tuple[Line | str, ...]
    missing: Callable[[Any], str] = field(default=lambda _: "")
    origin: partial[Equation] | None = None

    def __reduce__(self) -> Any:
        if self.origin is None:
            return super().__reduce__()
        return self.origin.func, self.origin.args

    def latex(self) -> str:
        """The display."""
        found: list[str] = []
        for each in self.lines:
            if isinstance(each, str):
                found.append(each)
            elif each.joined and each.shown:
                found[-1] += each.latex()
            elif each.shown:
                found.append(each.latex())
        if self.layout == "alone":
            return "".join(found)
        lines = found if self.layout == "aligned" else [f"&{each}" for each in found]
        return r"\begin{align*}" + r"\\ ".join(lines) + r"\end{align*}"

    def python(self, tag: str) -> str:
        """What is evaluated, line by line, as code."""
        stated = [each for each in self.lines if isinstance(each, Line) and each.measured]
        firsts = [unbracketed(each.sides[0].python()) for each in stated]
        long = next((each for each in firsts if firsts.count(each) > 1 and len(each) > SHORT), "")
        lines = [f"{NAME} = {long}  # ({tag})"] if long else []
        lines += [f"{each.python(NAME * (one == long))}  # ({tag})" for each, one in zip(stated, firsts, strict=True)]
        return "\n".join(each if len(each) <= WIDE else each.replace(" == ", "\n    == ") for each in lines)

    def __call__(self, at: Any) -> tuple[BothSides, ...]:
        """Both sides of all that it says at a point."""
        reason = self.missing(at)
        if reason:
            raise NotMeasurable(reason)
        return tuple(
            found for each in self.lines if isinstance(each, Line) and each.measured for found in each.found(at)
        )


def flat_in(*letters: str) -> str:
    """LaTeX of where the Lagrangian is flat in letters, to stand before what follows."""
    slopes = "=".join(rf"\frac{{\partial L}}{{\partial {latex}}}" for latex in letters)
    return rf"{slopes}=0\quad\Longrightarrow\quad "


def subject(*lines: Line | None) -> Iterator[Line]:
    """Lines behind each other, as the constraints of a program."""
    for k, each in enumerate(each for each in lines if each is not None):
        yield replace(each, before=r",\ " if k else r"\text{subject to}\ ", joined=bool(k))


def display(whole: Term, before: str = "", after: str = "") -> Line:
    """A term that stands alone."""
    return Line((whole,), (), before=before, after=after, measured=False)
