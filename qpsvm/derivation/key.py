"""Build the key of a derivation: every symbol with its meaning, shape and value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.display import Symbol
from qpsvm.derivation.expressions import Equation, EquationLine
from qpsvm.derivation.letter_builder import latex_to_text
from qpsvm.derivation.step import Step
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.terms import Term

TOKEN = re.compile(r"\\[a-zA-Z]+|[a-zA-Z]")
#: Indices, words, and what a number is raised to: none of them is a symbol.
NO_SYMBOL = re.compile(r"_(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?\w+?)|\\(?:text|operatorname|mathrm|begin|end)\{[^}]*\}")
#: A letter with an index or a mark, and no more.
LETTER = re.compile(r"(\\?[a-zA-Z]+)(?:\^[-+*])?(?:_(?:\{\w+\}|\w))?")


def iter_symbols(steps: Iterable[Step], meanings: Mapping[str, Meaning], at: Any = None) -> Iterator[Symbol]:
    """Yield the symbols that occur in steps, in the order of the table of meanings, with what they are at a point."""
    steps = [step for step in steps if not step.absent]
    found = set(TOKEN.findall(NO_SYMBOL.sub(" ", " ".join(step.latex for step in steps))))
    values = {} if at is None else collect_values(steps, at)
    for latex, meaning in meanings.items():
        if latex in found:
            value = None if at is None else values.get(latex) if meaning.value is None else meaning.value(at)
            value = None if value is None else np.asarray(value, dtype=float)
            yield Symbol(latex_to_text(latex), latex, meaning.text, meaning.shape, _format_range(value), value)


def iter_letters(steps: Iterable[Step]) -> Iterator[Term]:
    """Yield the letters of the equations."""
    for step in steps:
        lines = step.measure.lines if isinstance(step.measure, Equation) else ()
        for each in [each for each in lines if isinstance(each, EquationLine)]:
            for side in (*each.sides, *(each.premise.sides if each.premise else ())):
                yield from side.letters()


def collect_values(steps: Iterable[Step], at: Any) -> dict[str, Any]:
    """Collect the values of the letters; those of one letter with several marks, such as ξ and ξ*, are joined."""
    found: dict[str, dict[str, Any]] = {}
    for term in iter_letters(steps):
        letter = LETTER.fullmatch(term.latex())
        if letter and term.latex() not in found.setdefault(letter[1], {}):
            found[letter[1]][term.latex()] = term.value(at)
    return {
        name: next(iter(each.values())) if len(each) == 1 else np.concatenate([np.atleast_1d(v) for v in each.values()])
        for name, each in found.items()
    }


def _format_range(value: FloatArray | None) -> str:
    """Format a number, or the smallest and the largest of several."""
    if value is None or not value.size:
        return ""
    low, high = float(value.min()), float(value.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"
