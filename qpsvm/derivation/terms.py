"""Terms of equations: each is written as LaTeX, text and Python, and has a value, all of them from its parts.

So no display can say anything else than what is measured. What depends on the intercept, the loss or the kernel is a
term that is there, or None: a sum leaves it out. Values of terms with an index are arrays, one entry for each; a point
is an object that has the letters as attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: Who needs brackets within whom: a sum, a product, a letter.
SUM, PRODUCT, ATOM = 1, 2, 3
#: The places of LaTeX, text and Python among what is written of a term.
LATEX, TEXT, PYTHON = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Term:
    """A letter, a number, or what an operation makes of its parts.

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
        """Its negative, which of a difference is that the other way round."""
        return self.parts[1] - self.parts[0] if self.written[LATEX] == "%s-%s" else -self

    @property
    def negative(self) -> bool:
        """Whether it is the negative of another one."""
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


#: What stands before a letter without a space.
NUMERALS = {"½", "2", "4", "¼"}
HALF = Term((r"\tfrac12", "½", "0.5"), lambda _: 0.5)


def term(value: Term | float) -> Term:
    """Convert a number to a term."""
    if isinstance(value, Term):
        return value
    return Term((f"{value:g}",) * 3, lambda _: float(value))


#: What stands in a sentence for LaTeX.
PLAIN = (
    (r"\\([bB]ig[lr]|[,{}]|quad|text)|[{}]", ""), (r"\^\\top", "ᵀ"), (r"\\\|", "‖"), (r"\\langle ?", "⟨"),
    (r"\\rangle", "⟩"), (r"\^2", "²"), (r"\^\+", "⁺"), (r"\^-", "⁻"), (r"\^\*", "*"), (r"\\pm", "±"),
    (r"\\sum_?", "Σ_"), (r",", ", "), (r"(?<=.)([-+])", r" \1 "), ("-", "−"), (r" ?\\le ?", " ≤ "),
    (r" ?\\ge ?", " ≥ "), (r"\\max", "max"), ("  +", " ")
)  # fmt: skip
GREEK: dict[str, str] = dict(zip(
    re.findall(r"\w+", "alpha beta zeta eta xi rho mu nu lambda pi kappa Delta delta tau varepsilon varphi psi "
               "Sigma ell"), "αβζηξρμνλπκΔδτεφψΣℓ", strict=True,
))  # fmt: skip


def latex_to_text(latex: str) -> str:
    """Convert LaTeX of a few letters to text."""
    for pattern, instead in PLAIN:
        latex = re.sub(pattern, instead, latex)
    return re.sub(r"\\([a-zA-Z]+)", lambda found: GREEK.get(found[1], found[1]), latex)


def to_identifier(latex: str) -> str:
    """Convert a letter to a name in Python."""
    stem, *marks = re.sub(r"_(\{\w+\}|\w)", "", latex.replace("\\", "").replace("var", "")).split("^")
    return "_".join([stem, *({"+": "above", "-": "below", "*": "star"}.get(mark, mark) for mark in marks)])


def letter(
    latex: str, value: Callable[[Any], Any] | str = "", python: str = "", text: str = "", rank: int = ATOM
) -> Term:  # fmt: skip
    """Build a letter, whose value is an attribute of the point or is computed from it; its name by default."""
    python = python or to_identifier(latex)
    name = value or python
    find = (lambda at: getattr(at, name)) if isinstance(name, str) else name
    return Term((latex, text or latex_to_text(latex), python), find, rank=rank)


def operation(latex: str, text: str, python: str, function: Callable[..., Any], *parts: Term | float) -> Term:
    """Build an operation with its own notation, with %s for its parts."""
    return Term((latex, text, python), function, tuple(map(term, parts)))


def add(*terms: Term | None, broken: str = "") -> Term:
    """Add the terms that are not None."""
    first, *rest = [each for each in terms if each is not None] or [term(0.0)]
    for each in rest:
        first = first.add_term(each, broken)
    return first


def multiply(*factors: Term | float | None) -> Term:
    """Multiply the factors that are not None."""
    first, *rest = [term(each) for each in factors if each is not None]
    for each in rest:
        first = first * each
    return first


def total(each: Term, index: str = "i") -> Term:
    """Sum a term over an index."""
    return Term((rf"\sum_{index}%s", "Σ %s", "sum(%s)"), lambda _, a: float(np.sum(a)), (each,), (PRODUCT,), PRODUCT)


def reindex(each: Term, index: str = "") -> Term:
    """Replace the index i or k by another; without one, write a letter as a vector."""
    latex, text = (re.sub("_[ik](?![a-z])", index, name) for name in each.written[:PYTHON])
    return replace(
        each, written=(latex, text, each.written[PYTHON]), parts=tuple(reindex(p, index) for p in each.parts)
    )


def dot(one: Term | float, other: Term) -> Term:
    """Return the product of a row and a column."""
    if one == 1:
        return Term(
            (r"1^{\top}%s", "1ᵀ%s", "sum(%s)"), lambda _, a: float(np.sum(a)), (reindex(other),), (ATOM,), PRODUCT
        )
    parts = (reindex(term(one)), reindex(other))
    return Term(
        (r"%s^{\top}%s", "%sᵀ%s", "%s @ %s"), lambda _, a, b: float(np.sum(a * b)), parts, (ATOM, ATOM), PRODUCT
    )  # fmt: skip


def largest_of(*parts: Term | float) -> Term:
    """Return the maximum of several terms."""
    slots = ", ".join(["%s"] * len(parts))
    return operation(
        r"\max\bigl(" + r",\,".join(["%s"] * len(parts)) + r"\bigr)", f"max({slots})", f"maximum({slots})",
        lambda _, *values: np.maximum.reduce(np.broadcast_arrays(*values)), *parts,
    )  # fmt: skip


def magnitude(each: Term) -> Term:
    """Return the absolute value of a term."""
    return operation("|%s|", "|%s|", "abs(%s)", lambda _, a: np.abs(a), each)


#: A sum that is at most this share of its terms is 0 but for rounding. No equation can be checked relative to it.
VANISHING = 1e-8


def relative_to(part: float, whole: float) -> float:
    """Divide a violation by the size of what is violated, with 0/0 = 0. Neither is negative."""
    return float(part / whole if whole > 0 else part)


def reference_size(whole: FloatArray, terms: float = 0.0) -> float:
    """Return max |whole_i|, the scale of differences; if it vanishes next to its terms, return these."""
    size = float(np.abs(whole).max())
    return size if size > VANISHING * terms else terms
