"""Write a term of an equation as LaTeX, text and Python, and evaluate it from its parts (`Term`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Who needs brackets within whom: a sum, a product, a letter.
SUM, PRODUCT, ATOM = 1, 2, 3
#: The places of LaTeX, text and Python among what is written of a term.
LATEX, TEXT, PYTHON = 0, 1, 2
#: What stands before a letter without a space.
NUMERALS = {"½", "2", "4", "¼"}


@dataclass(frozen=True, eq=False)
class Term:
    """A symbol, a number, or an operation on other terms.

    written: LaTeX, text and Python, with %s for each part.
    function: From the point and the values of the parts to the value.
    needs: The rank of each part, below which it stands in brackets; `loose` where LaTeX needs none.
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

    def _write(self, kind: int) -> str:
        each = []
        for part, needed in zip(self.parts, self.needs or (SUM,) * len(self.parts), strict=True):
            inside = part._write(kind)
            if part.rank < needed and not (kind == LATEX and self.loose):
                big = (
                    "Big" if re.search(r"\\sum|frac|\\\\", inside) else "big" if "(" in inside or "^" in inside else ""
                )
                inside = rf"\{big}l({inside}\{big}r)" if kind == LATEX and big else f"({inside})"
            each.append(inside)
        return self.written[kind] % tuple(each) if each else self.written[kind]

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
        inside = getattr(self.function, "__self__", None)
        inner = self.parts or ((inside,) if isinstance(inside, Term) else ())
        for part in inner:
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
        """Return the negative; that of a difference is the difference in the opposite order."""
        return self.parts[1] - self.parts[0] if self.written[LATEX] == "%s-%s" else -self

    @property
    def negative(self) -> bool:
        """Whether this is the negative of another term."""
        return self.written[LATEX] == "-%s"

    def add_term(self, other: Term | float | None, broken: str = "") -> Term:
        """Add a term, or subtract it if it is a negative; `broken` goes before the sign in LaTeX."""
        if other is None:
            return self
        other = term(other)
        if other.negative:
            written, other = (f"%s{broken}-%s", "%s − %s", "%s - %s"), other.parts[0]
            return Term(written, lambda _, a, b: a - b, (self, other), (SUM, PRODUCT), SUM)
        return Term((f"%s{broken}+%s", "%s + %s", "%s + %s"), lambda _, a, b: a + b, (self, other), (SUM, SUM), SUM)

    def __add__(self, other: Term | float | None) -> Term:
        return self.add_term(other)

    def __sub__(self, other: Term | float | None) -> Term:
        return self if other is None else self.add_term(-term(other))

    def __rsub__(self, other: float) -> Term:
        return term(other) - self

    def __mul__(self, other: Term | float) -> Term:
        other, apart = term(other), "" if self.written[TEXT] in NUMERALS else " "
        space = apart and (r"\," if other.rank < ATOM else apart)
        return Term(
            (f"%s{space}%s", f"%s{apart}%s", "%s * %s"), lambda _, a, b: a * b, (self, other), (PRODUCT, PRODUCT),
            PRODUCT,
        )  # fmt: skip

    def __rmul__(self, other: float) -> Term:
        return term(other) * self

    def __truediv__(self, other: Term | float) -> Term:
        return Term(
            (r"\tfrac{%s}{%s}", "%s/%s", "%s / %s"), lambda _, a, b: np.divide(a, b), (self, term(other)),
            (PRODUCT, ATOM), PRODUCT, loose=True
        )  # fmt: skip

    def __rtruediv__(self, other: float) -> Term:
        return term(other) / self

    def __pow__(self, two: int) -> Term:
        latex = "{%s}^2" if "^" in self.latex() or self.rank < ATOM else "%s^2"
        return Term((latex, "%s²", "%s**2"), lambda _, a: a**two, (self,), (ATOM,))


def term(value: Term | float) -> Term:
    """Convert a number to a term."""
    if isinstance(value, Term):
        return value
    return Term((f"{value:g}",) * 3, lambda _: float(value))
