"""Write a term of an equation as LaTeX, text and Python, and evaluate it from its parts (`Term`).

A term is a symbol or an expression of symbols. Python's operators combine terms, so 2 * C * xi is a term again: the
three notations and the value of an equation all follow from one expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Ranks of terms: a term gets brackets inside an operation that needs a higher rank.
SUM, PRODUCT, ATOM = 1, 2, 3
#: Indices of LaTeX, text and Python in `Term.written`.
LATEX, TEXT, PYTHON = 0, 1, 2
#: Numbers that are written before a letter without a space.
NUMERALS = {"½", "2", "4", "¼"}


@dataclass(frozen=True, eq=False)
class Term:
    """A symbol, a number, or an operation on other terms.

    The rank of a term says how tightly it binds: `SUM`, `PRODUCT` or `ATOM`.

    written: LaTeX, text and Python, with %s for each part.
    function: Computes the value from the point and the values of the parts.
    parts: The terms that the operation combines.
    needs: For each part the rank below which it is written in brackets; by default `SUM`.
    rank: The rank of the term itself.
    loose: Whether LaTeX needs no brackets, as in a fraction.
    """

    written: tuple[str, str, str]
    function: Callable[..., Any]
    parts: tuple[Term, ...] = ()
    needs: tuple[int, ...] = ()
    rank: int = ATOM
    loose: bool = False

    def value(self, at: Any) -> Any:
        """Evaluate the term at a point: a number, or an array."""
        return self.function(at, *(part.value(at) for part in self.parts))

    def _write(self, notation: int) -> str:
        """Write the term in a notation: LATEX, TEXT or PYTHON."""
        written_parts = []
        for part, needed_rank in zip(self.parts, self.needs or (SUM,) * len(self.parts), strict=True):
            written = part._write(notation)
            if part.rank < needed_rank and not (notation == LATEX and self.loose):
                if notation == LATEX:
                    written = add_latex_brackets(written)
                else:
                    written = f"({written})"
            written_parts.append(written)
        if written_parts:
            return self.written[notation] % tuple(written_parts)
        return self.written[notation]

    def latex(self) -> str:
        """Return the term as LaTeX."""
        return self._write(LATEX)

    def text(self) -> str:
        """Return the term as text for a sentence."""
        return self._write(TEXT)

    def python(self) -> str:
        """Return the term as code."""
        return self._write(PYTHON)

    def letters(self) -> Iterator[Term]:
        """Yield the parts that have no parts themselves, also those of renamed terms."""
        renamed_term = getattr(self.function, "__self__", None)
        parts = self.parts or ((renamed_term,) if isinstance(renamed_term, Term) else ())
        for part in parts:
            yield from part.letters()
        if not self.parts:
            yield self

    def with_name(self, text: str, latex: str = "") -> Term:
        """Return the same value with another name in sentences, or in LaTeX too."""
        python = self.python() if self.rank == ATOM else f"({self.python()})"
        return Term((latex or self.latex(), text, python), self.value)

    def __neg__(self) -> Term:
        if self.negative:
            return self.parts[0]
        return Term(("-%s", "−%s", "-%s"), lambda _, a: -a, (self,), (PRODUCT,), SUM)

    @property
    def negative_form(self) -> Term:
        """The negative; for a difference, the difference in the opposite order."""
        if self.written[LATEX] == "%s-%s":
            return self.parts[1] - self.parts[0]
        return -self

    @property
    def negative(self) -> bool:
        """Whether this is the negative of another term."""
        return self.written[LATEX] == "-%s"

    def add_term(self, other: Term | float | None, broken: str = "") -> Term:
        """Return the sum with a term, written as a difference if that is a negative; None adds nothing.

        broken: LaTeX in front of the sign, such as a line break.
        """
        if other is None:
            return self
        other = term(other)
        if other.negative:
            written = (f"%s{broken}-%s", "%s − %s", "%s - %s")
            return Term(written, lambda _, a, b: a - b, (self, other.parts[0]), (SUM, PRODUCT), SUM)
        return Term((f"%s{broken}+%s", "%s + %s", "%s + %s"), lambda _, a, b: a + b, (self, other), (SUM, SUM), SUM)

    def __add__(self, other: Term | float | None) -> Term:
        return self.add_term(other)

    def __sub__(self, other: Term | float | None) -> Term:
        return self if other is None else self.add_term(-term(other))

    def __rsub__(self, other: float) -> Term:
        return term(other) - self

    def __mul__(self, other: Term | float) -> Term:
        other = term(other)
        text_space = "" if self.written[TEXT] in NUMERALS else " "
        latex_space = text_space and (r"\," if other.rank < ATOM else text_space)
        written = (f"%s{latex_space}%s", f"%s{text_space}%s", "%s * %s")
        return Term(written, lambda _, a, b: a * b, (self, other), (PRODUCT, PRODUCT), PRODUCT)

    def __rmul__(self, other: float) -> Term:
        return term(other) * self

    def __truediv__(self, other: Term | float) -> Term:
        return Term(
            (r"\tfrac{%s}{%s}", "%s/%s", "%s / %s"), lambda _, a, b: np.divide(a, b), (self, term(other)),
            (PRODUCT, ATOM), PRODUCT, loose=True
        )  # fmt: skip

    def __rtruediv__(self, other: float) -> Term:
        return term(other) / self

    def __pow__(self, exponent: int) -> Term:
        """Return the square, the only power that is used."""
        latex = "{%s}^2" if "^" in self.latex() or self.rank < ATOM else "%s^2"
        return Term((latex, "%s²", "%s**2"), lambda _, a: a**exponent, (self,), (ATOM,))


def add_latex_brackets(latex: str) -> str:
    """Return LaTeX in brackets, which are large around sums and fractions."""
    if re.search(r"\\sum|frac|\\\\", latex):
        return rf"\Bigl({latex}\Bigr)"
    if "(" in latex or "^" in latex:
        return rf"\bigl({latex}\bigr)"
    return f"({latex})"


def term(value: Term | float) -> Term:
    """Convert a number to a term."""
    if isinstance(value, Term):
        return value
    return Term((f"{value:g}",) * 3, lambda _: float(value))
