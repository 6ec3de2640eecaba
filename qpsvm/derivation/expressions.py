"""Define equations as expressions, which are displayed as LaTeX, text or Python and evaluated.

An `EquationLine` compares terms, as in 0 ≤ α ≤ C, and an `Equation` is the lines of one step. Both sides of a line are
evaluated at a point, a `Quantities`. The same terms give the display and the residual: no equation is written twice.
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

#: Code of a comparison that is longer than this is split into several lines.
MAX_COLUMNS = 100
#: In code a side that several lines share gets this name if it is longer than this.
SHARED_NAME, MAX_UNNAMED = "value", 30
#: Relations in LaTeX and in Python, and the relation that is measured: a strict inequality is measured as a weak one.
RELATIONS: dict[str, tuple[str, str, Relation]] = {
    "=": ("=", "==", "="), "≤": (r"\le ", "<=", "≤"), "≥": (r"\ge ", ">=", "≥"), "<": ("<", "<", "≤"),
    ">": (">", ">", "≥"),
}  # fmt: skip


@dataclass(frozen=True)
class Subset:
    """The entries to which a line applies, as a mask.

    code: The mask as code.
    mask: Function of the point that computes it.
    """

    code: str
    mask: Callable[[Any], Any]

    def __call__(self, at: Any) -> Any:
        return self.mask(at)


@dataclass(frozen=True, eq=False)
class EquationLine:
    """Terms, and the relations between them: sides[0] relations[0] sides[1] relations[1] sides[2] and so on.

    scale: What a difference of the sides is divided by: an attribute of the point, or a function of it; None for the
        size of the last term.
    before, after: LaTeX in front of the line and after it, which is displayed only.
    joined: Whether the line follows the previous one without a break.
    map_point: Function from the given point to the point at which the line is evaluated; None for the given point.
    rows: The entries to which the line applies; None for all.
    place: What the entries are, for messages: "sample", "constraint", "entry" and so on; "" for rows of the dual.
    shown: Whether the line is displayed; otherwise it is only measured.
    premise: A line about the same entries that implies this one; it is displayed in front, with an arrow.
    left: LaTeX in place of the first side, if that is displayed in the line above.
    measured: Whether the line is measured: a definition need not be.
    when: The points at which the line is measured, and code that is true at all others; None for all points. Unlike in
        `rows`, its mask is one bool.
    setup_code: Code that defines a name in the sides.
    caption: Function of the point that describes both sides in words; None to describe them by their terms.
    """

    sides: tuple[Term, ...]
    relations: tuple[str, ...]
    scale: str | Callable[[Any], Any] | None = None
    before: str = ""
    after: str = ""
    joined: bool = False
    map_point: Callable[[Any], Any] | None = None
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
        if self.premise is None:
            premise = ""
        else:
            premise = rf"{self.premise.latex()} &\;\Rightarrow\; "
        return self.before + premise + chain + self.after

    def python(self, first: str = "") -> list[str]:
        """Return code that is true at an optimum: one expression per relation, none if a side has no code.

        first: A name for the first side; "" for its own code.
        """
        sides = [strip_brackets(side.python()) for side in self.sides]
        sides[0] = first or sides[0]
        if not all(sides):
            return []
        mask = self.rows.code if self.rows else ""
        unless = f"{self.when.code} or " if self.when else ""
        if self.premise is None:
            code = []
        else:
            code = replace(self.premise, rows=self.rows).python()
        for k, relation in enumerate(self.relations):
            left = sides[0 if self._is_equality_chain else k]
            right = sides[k + 1]
            if left != right:
                code.append(unless + build_comparison(left, relation, right, mask))
        return code

    def iter_sides(self, at: Any) -> Iterator[BothSides]:
        """Yield both sides of each relation at a point. In a chain of equalities each is compared with the first."""
        if self.map_point is not None:
            at = self.map_point(at)
        rows = None if self.rows is None else np.flatnonzero(self.rows(at))
        if (rows is not None and not len(rows)) or (self.when is not None and not self.when(at)):
            return
        values = [side.value(at) for side in self.sides]
        scale = self._evaluate_scale(at)
        if self._is_equality_chain:
            preferred = None
        else:
            preferred = self._mark_inside(values, scale)
        for k in sorted(range(len(self.relations)), reverse=self._is_equality_chain):
            first = 0 if self._is_equality_chain else k
            terms = f"{self.sides[first].text()}, and {self.sides[k + 1].text()}"
            caption = self.caption(at) if self.caption else terms
            relation = RELATIONS[self.relations[k]][2]
            yield self._compare(at, values[first], relation, values[k + 1], caption, scale, rows, preferred)
        if self.premise is not None:
            yield from replace(self.premise, rows=self.rows, map_point=None).iter_sides(at)

    @property
    def _is_equality_chain(self) -> bool:
        return set(self.relations) == {"="}

    def _evaluate_scale(self, at: Any) -> Any:
        """Return what differences of the sides are divided by; None for the size of the last term."""
        if isinstance(self.scale, str):
            return getattr(at, self.scale)
        return self.scale(at) if self.scale else None

    def _mark_inside(self, values: Any, scale: Any) -> Any:
        """Mark the entries that are strictly inside all inequalities."""
        min_difference = VANISHING * np.asarray(1.0 if scale is None else scale)
        differences = [
            (right - left) * (-1 if relation in "≥>" else 1)
            for left, right, relation in zip(values[:-1], values[1:], self.relations, strict=True)
        ]
        return np.logical_and.reduce(np.broadcast_arrays(*(difference > min_difference for difference in differences)))

    def _compare(
        self, at: Any, left: Any, relation: Relation, right: Any, caption: str, scale: Any, rows: Any, preferred: Any
    ) -> BothSides:
        """Return both sides of a relation; of arrays those of the worst entry.

        rows: Indices of the entries that count; None for all.
        preferred: Mask of the entries to show if all satisfy the relation; None without a preference.
        """
        if scale is None:
            scale = reference_size(np.atleast_1d(right)) or 1.0
        if np.ndim(left) == np.ndim(right) == 0:
            return BothSides(float(left), relation, float(right), caption, float(scale))
        left, right, scale = np.broadcast_arrays(np.asarray(left, dtype=float), right, scale)
        count = len(left)
        if rows is not None:
            left = left[rows]
            right = right[rows]
            scale = scale[rows]
            preferred = None
        return find_worst_entry(
            left, relation, right, caption.replace("{", "{{").replace("}", "}}") + ", of {i}", scale,
            lambda i: at.name_entry(self.place, int(i if rows is None else rows[i]), count), preferred,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Equation:
    """The lines of one step, which are displayed and measured.

    layout: "alone" for lines next to each other, "below" for lines below each other, and "aligned" for lines below each
        other that are aligned at the & in their LaTeX.
    lines: Text among them is LaTeX that is displayed only.
    explain_unmeasurable: Function of a point: explains why the lines cannot be measured there, or returns "".
    origin: Call that builds the equation again, which a pickle stores in place of it; None to pickle the fields.
    """

    layout: str
    lines: tuple[EquationLine | str, ...]
    explain_unmeasurable: Callable[[Any], str] = field(default=lambda _: "")
    origin: partial[Equation] | None = None

    def __reduce__(self) -> Any:
        if self.origin is None:
            return super().__reduce__()
        return self.origin.func, self.origin.args

    def latex(self) -> str:
        """Return the displayed lines as LaTeX."""
        lines: list[str] = []
        for item in self.lines:
            if isinstance(item, str):
                lines.append(item)
            elif item.joined and item.shown:
                lines[-1] += item.latex()
            elif item.shown:
                lines.append(item.latex())
        if self.layout == "alone":
            return "".join(lines)
        if self.layout == "below":
            lines = [f"&{latex}" for latex in lines]
        return r"\begin{align*}" + r"\\ ".join(lines) + r"\end{align*}"

    def python(self, tag: str) -> str:
        """Return code with the tag in comments: expressions that are true at an optimum, one per statement.

        A long first side that several lines share is assigned to a name first.
        """
        measured = [item for item in self.lines if isinstance(item, EquationLine) and item.measured]
        first_sides = [strip_brackets(item.sides[0].python()) for item in measured]
        shared = next((code for code in first_sides if first_sides.count(code) > 1 and len(code) > MAX_UNNAMED), None)
        statements: list[str] = []
        if shared is not None and len(shared) > MAX_COLUMNS:
            statements = ["\n    ".join([f"{SHARED_NAME} = (", *split_long_sum(shared)]) + ")"]
        elif shared is not None:
            statements = [f"{SHARED_NAME} = {shared}"]
        for item, first_side in zip(measured, first_sides, strict=True):
            code = item.python(SHARED_NAME if first_side == shared else "")
            if item.setup_code and code:
                statements.append(item.setup_code)
            statements += code
        return "\n".join(f"{statement}  # ({tag})" for statement in dict.fromkeys(statements))

    def __call__(self, at: Any) -> tuple[BothSides, ...]:
        """Evaluate all lines at a point: both sides of each relation. Raises NotMeasurableError."""
        reason = self.explain_unmeasurable(at)
        if reason:
            raise NotMeasurableError(reason)
        return tuple(
            sides
            for item in self.lines
            if isinstance(item, EquationLine) and item.measured
            for sides in item.iter_sides(at)
        )


def line(first: Term | float, *rest: Any, **fields: Any) -> EquationLine:
    """Build a line of terms with the relations between them: line(a, "=", b, "≤", c)."""
    return EquationLine((term(first), *map(term, rest[1::2])), tuple(rest[::2]), **fields)


def display(value: Term, before: str = "", after: str = "") -> EquationLine:
    """Build a line of one term, which is displayed and not measured."""
    return EquationLine((value,), (), before=before, after=after, measured=False)


def join_lines(before: str, *lines: EquationLine, separator: str = r",\quad ") -> Iterator[EquationLine]:
    """Yield lines that are displayed next to each other; `before` is LaTeX in front of the first."""
    for k, item in enumerate(lines):
        yield replace(item, before=separator if k else before, joined=bool(k))


def iter_constraints(*lines: EquationLine | None) -> Iterator[EquationLine]:
    """Yield the lines that are not None, displayed next to each other as the constraints of a program."""
    constraints = (item for item in lines if item is not None)
    return join_lines(r"\text{subject to}\ ", *constraints, separator=r",\ ")


def write_stationarity(*letters: str) -> str:
    """Return the LaTeX of ∂L/∂(letter) = 0 for each letter, with an arrow to the equation that follows."""
    derivatives = "=".join(rf"\frac{{\partial L}}{{\partial {latex}}}" for latex in letters)
    return rf"{derivatives}=0\quad\Longrightarrow\quad "


def build_comparison(left: str, relation: str, right: str, mask: str = "") -> str:
    """Build code that is true if a relation holds, up to `tol`, at all entries or at those of a mask."""
    if left == "0":
        left, relation, right = right, {"≤": "≥", "<": ">"}.get(relation, relation), left
    function = ""
    if relation == "=":
        function = "isclose" if mask else "allclose"
        sides = [f"{left},", f"{right}, atol=tol"]
    elif relation in "<≤":
        sides = [left, f"<= {shift_by_tol(right, '+')}"]
    else:
        sides = [left, f">= {shift_by_tol(right, '-')}"]
    arguments = " ".join(sides)
    if len(arguments) > MAX_COLUMNS:
        arguments = "".join(f"\n    {summand}" for side in sides for summand in split_long_sum(side))
    if not mask:
        return f"{function or 'all'}({arguments})"
    return f"all({function}({arguments})[{mask}])"


def shift_by_tol(code: str, sign: str) -> str:
    """Return the code of a bound that is shifted by `tol`."""
    if code == "0":
        return "tol" if sign == "+" else "-tol"
    return f"{code} {sign} tol"


def split_long_sum(code: str) -> list[str]:
    """Split a long sum into lines, which break before a sign outside of brackets."""
    if len(code) <= MAX_COLUMNS:
        return [code]
    lines = []
    start = 0  # of the current line
    depth = 0  # of brackets
    for k, character in enumerate(code):
        depth += (character in "([") - (character in ")]")
        if not depth and character in "+-" and code[k - 1 : k + 2] == f" {character} ":
            lines.append(code[start : k - 1])
            start = k
    return [*lines, code[start:]]


def strip_brackets(code: str) -> str:
    """Strip the brackets around single names, and those around all of the code."""
    code = re.sub(r"(?<![\w)\]])\((\w+)\)", r"\1", code)
    depths = [code[: k + 1].count("(") - code[: k + 1].count(")") for k in range(len(code))]
    if code.startswith("(") and 0 not in depths[:-1]:
        return code[1:-1]
    return code
