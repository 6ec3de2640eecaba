"""Define equations as expressions, which are displayed as LaTeX, text or Python and evaluated.

A `EquationLine` compares terms, and an `Equation` is the lines of one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from qpsvm.derivation.relative_size import VANISHING, reference_size
from qpsvm.derivation.residual import BothSides, NotMeasurableError, Relation, find_worst_entry
from qpsvm.derivation.terms import Term, term

#: Columns of code, beyond which a comparison is written in several lines.
MAX_COLUMNS = 100
#: What a side is called in code that stands in several lines and is longer than this.
NAME, SHORT = "value", 30
#: Relations in LaTeX and in Python, and how they are measured: what is inside of its bounds may be next to them.
RELATIONS: dict[str, tuple[str, str, Relation]] = {
    "=": ("=", "==", "="), "≤": (r"\le ", "<=", "≤"), "≥": (r"\ge ", ">=", "≥"), "<": ("<", "<", "≤"),
    ">": (">", ">", "≥"), ":": (r":\ ", "==", "="),
}  # fmt: skip


@dataclass(frozen=True)
class Subset:
    """The entries to which a line applies.

    code: A mask, as code.
    mask: The same as a function of the point.
    """

    code: str
    mask: Callable[[Any], Any]

    def __call__(self, at: Any) -> Any:
        return self.mask(at)


@dataclass(frozen=True, eq=False)
class EquationLine:
    """Terms, and the relations between them.

    scale: What their difference is relative to: an attribute of the point, or a function of it; None for the last term.
    before: LaTeX in front, which says nothing in numbers; `after` behind.
    joined: Whether it follows the previous line without a break.
    at: From the point that is given to that where the line is about.
    rows: Of which entries it is said: None of all.
    place: What the entries are: rows of the dual or samples, "entry", or another word.
    shown: Whether it is displayed, or measured only.
    premise: Of the same entries, which stands in front with an arrow.
    left: LaTeX in place of the first side, where that stands above.
    measured: Whether it is measured: a definition need not be.
    when: At which points it is measured; as code, where it is not.
    setup_code: Code of a name that the sides have.
    caption: What is said of the two numbers, where that depends on the point.
    """

    sides: tuple[Term, ...]
    relations: tuple[str, ...]
    scale: str | Callable[[Any], Any] | None = None
    before: str = ""
    after: str = ""
    joined: bool = False
    at: Callable[[Any], Any] | None = None
    rows: Subset | None = None
    place: str = ""
    shown: bool = True
    premise: EquationLine | None = None
    left: str | None = None
    measured: bool = True
    when: Subset | None = None
    setup_code: str = ""
    caption: Callable[[Any], str] | None = None

    def latex(self) -> str:
        """Return the line as LaTeX, with the text around it."""
        chain = self.sides[0].latex() if self.left is None else self.left
        for relation, side in zip(self.relations, self.sides[1:], strict=True):
            chain += RELATIONS[relation][0] + side.latex()
        given = "" if self.premise is None else rf"{self.premise.latex()} &\;\Rightarrow\; "
        return self.before + given + chain + self.after

    def python(self, first: str = "") -> list[str]:
        """Return code that is true at an optimum: a statement for each relation; `first` is a name for the first side.

        Nothing where a side has no code.
        """
        sides = [
            first or strip_brackets(self.sides[0].python()),
            *(strip_brackets(side.python()) for side in self.sides[1:]),
        ]
        if not all(sides):
            return []
        mask, unless = self.rows.code if self.rows else "", f"{self.when.code} or " if self.when else ""
        found = [] if self.premise is None else replace(self.premise, rows=self.rows).python()
        equal = set(self.relations) == {"="}
        for k, relation in enumerate(self.relations):
            left, right = sides[0 if equal else k], sides[k + 1]
            found += [unless + build_comparison(left, relation, right, mask)] * (left != right)
        return found

    def iter_sides(self, at: Any) -> Iterator[BothSides]:
        """Yield both sides of each relation at a point. In a chain of equalities each is compared with the first."""
        at = at if self.at is None else self.at(at)
        rows = None if self.rows is None else np.flatnonzero(self.rows(at))
        if (rows is not None and not len(rows)) or (self.when is not None and not self.when(at)):
            return
        values = [side.value(at) for side in self.sides]
        scale = getattr(at, self.scale) if isinstance(self.scale, str) else self.scale(at) if self.scale else None
        equal = set(self.relations) == {"="}
        for k in sorted(range(len(self.relations)), reverse=equal):
            first = 0 if equal else k
            of = self.caption(at) if self.caption else f"{self.sides[first].text()}, and {self.sides[k + 1].text()}"
            how, preferred = RELATIONS[self.relations[k]][2], None if equal else self._mask_inside(values, scale)
            yield self._compare(at, values[first], how, values[k + 1], of, scale, rows, preferred)
        if self.premise is not None:
            yield from replace(self.premise, rows=self.rows, at=None).iter_sides(at)

    def _mask_inside(self, values: Any, scale: Any) -> Any:
        """Mark the entries that are strictly inside all inequalities."""
        least = VANISHING * np.asarray(1.0 if scale is None else scale)
        apart = [
            (b - a) * (-1 if how in "≥>" else 1)
            for a, b, how in zip(values[:-1], values[1:], self.relations, strict=True)
        ]
        return np.logical_and.reduce(np.broadcast_arrays(*(each > least for each in apart)))

    def _compare(
        self, at: Any, one: Any, how: Relation, other: Any, of: str, scale: Any, rows: Any, preferred: Any
    ) -> BothSides:
        scale = (reference_size(np.atleast_1d(other)) or 1.0) if scale is None else scale
        if np.ndim(one) == np.ndim(other) == 0:
            return BothSides(float(one), how, float(other), of, float(scale))
        one, other, scale = np.broadcast_arrays(np.asarray(one, dtype=float), other, scale)
        count = len(one)
        if rows is not None:
            one, other, scale, preferred = one[rows], other[rows], scale[rows], None
        return find_worst_entry(
            one, how, other, of.replace("{", "{{").replace("}", "}}") + ", of {i}", scale,
            lambda i: at.name(self.place, int(i if rows is None else rows[i]), count), preferred,
        )  # fmt: skip


def build_comparison(left: str, relation: str, right: str, mask: str = "") -> str:
    """Build code that is true if a relation holds, up to `tol`, at all entries or at those of a mask."""
    if left == "0":
        left, relation, right = right, {"≤": "≥", "<": ">"}.get(relation, relation), left
    if relation in "=:":
        function, sides = "isclose" if mask else "allclose", [f"{left},", f"{right}, atol=tol"]
    else:
        below = relation in "<≤"
        function, sides = "", [left, f"<= {shift_by_tol(right, '+')}" if below else f">= {shift_by_tol(right, '-')}"]
    inside = " ".join(sides)
    if len(inside) > MAX_COLUMNS:
        inside = "".join(f"\n    {each}" for side in sides for each in split_long_sum(side))
    if not mask:
        return f"{function or 'all'}({inside})"
    return f"all({function}({inside})[{mask}])"


def shift_by_tol(code: str, sign: str) -> str:
    """Return the code of a bound that is shifted by `tol`."""
    if code == "0":
        return "tol" if sign == "+" else "-tol"
    return f"{code} {sign} tol"


def split_long_sum(code: str) -> list[str]:
    """Split a long sum into lines, which break before a sign outside of brackets."""
    if len(code) <= MAX_COLUMNS:
        return [code]
    depth, found, start = 0, [], 0
    for k, letter in enumerate(code):
        depth += (letter in "([") - (letter in ")]")
        if not depth and letter in "+-" and code[k - 1 : k + 2] == f" {letter} ":
            found.append(code[start : k - 1])
            start = k
    return [*found, code[start:]]


def strip_brackets(code: str) -> str:
    """Strip the brackets around one name, or around all of the code."""
    code = re.sub(r"(?<![\w)\]])\((\w+)\)", r"\1", code)
    opened = [code[: k + 1].count("(") - code[: k + 1].count(")") for k in range(len(code))]
    return code[1:-1] if code.startswith("(") and 0 not in opened[:-1] else code


def line(first: Term | float, *rest: Any, **more: Any) -> EquationLine:
    """Build a line of terms with the relations between them: line(a, "=", b, "≤", c)."""
    return EquationLine((term(first), *map(term, rest[1::2])), tuple(rest[::2]), **more)


@dataclass(frozen=True, eq=False)
class Equation:
    """The lines of one step: what it displays, and what is measured of it.

    layout: "alone" behind each other, "below" each other, or "aligned" where the lines say themselves.
    lines: Text among them is LaTeX that says nothing in numbers.
    missing: Why there is nothing to measure it on at a point, or "".
    origin: What makes it again, which is what a pickle has of it.
    """

    layout: str
    lines: tuple[EquationLine | str, ...]
    missing: Callable[[Any], str] = field(default=lambda _: "")
    origin: partial[Equation] | None = None

    def __reduce__(self) -> Any:
        if self.origin is None:
            return super().__reduce__()
        return self.origin.func, self.origin.args

    def latex(self) -> str:
        """Return the display."""
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
        """Return the evaluated code: statements that are true at an optimum, and names of shared expressions."""
        stated = [each for each in self.lines if isinstance(each, EquationLine) and each.measured]
        firsts = [strip_brackets(each.sides[0].python()) for each in stated]
        long = next((each for each in firsts if firsts.count(each) > 1 and len(each) > SHORT), None)
        lines = [] if long is None else [f"{NAME} = {long}"]
        if long is not None and len(long) > MAX_COLUMNS:
            lines = ["\n    ".join([f"{NAME} = (", *split_long_sum(long)]) + ")"]
        for each, one in zip(stated, firsts, strict=True):
            found = each.python(NAME if one == long else "")
            lines += [each.setup_code] * bool(each.setup_code and found) + found
        return "\n".join(f"{each}  # ({tag})" for each in dict.fromkeys(lines))

    def __call__(self, at: Any) -> tuple[BothSides, ...]:
        """Return both sides of all its lines at a point."""
        reason = self.missing(at)
        if reason:
            raise NotMeasurableError(reason)
        return tuple(
            found
            for each in self.lines
            if isinstance(each, EquationLine) and each.measured
            for found in each.iter_sides(at)
        )


def flat_in(*letters: str) -> str:
    """Return the LaTeX of ∂L/∂(letter) = 0 with an arrow, to precede what follows."""
    slopes = "=".join(rf"\frac{{\partial L}}{{\partial {latex}}}" for latex in letters)
    return rf"{slopes}=0\quad\Longrightarrow\quad "


def subject(*lines: EquationLine | None) -> Iterator[EquationLine]:
    """Yield lines in sequence, as the constraints of a program."""
    for k, each in enumerate(each for each in lines if each is not None):
        yield replace(each, before=r",\ " if k else r"\text{subject to}\ ", joined=bool(k))


def display(whole: Term, before: str = "", after: str = "") -> EquationLine:
    """Build a line of one term."""
    return EquationLine((whole,), (), before=before, after=after, measured=False)
