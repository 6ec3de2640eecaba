"""Build the key of a derivation: every symbol with its meaning, shape and value (`iter_symbols`).

A symbol belongs to the key if it occurs in the LaTeX of a step, other than in a subscript. Its value is taken from the
terms of the equations, unless its `Meaning` has a function that computes it.
"""

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

#: A symbol in LaTeX: a command or a letter.
TOKEN = re.compile(r"\\[a-zA-Z]+|[a-zA-Z]")
#: Parts of LaTeX that contain no symbols of the key: subscripts, words and environments.
NO_SYMBOL = re.compile(r"_(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?\w+?)|\\(?:text|operatorname|mathrm|begin|end)\{[^}]*\}")
#: A whole term that is one letter, with or without a mark (ξ^*) and a subscript; group 1 is the letter.
LETTER = re.compile(r"(\\?[a-zA-Z]+)(?:\^[-+*])?(?:_(?:\{\w+\}|\w))?")


def iter_symbols(steps: Iterable[Step], meanings: Mapping[str, Meaning], at: Any = None) -> Iterator[Symbol]:
    """Yield the symbols that occur in steps, in the order of the table `meanings` of LaTeX to meaning.

    at: The point at which the symbols have their values, a `Quantities`; None to yield them without values.
    """
    steps = [step for step in steps if not step.absent]
    occurring = set(TOKEN.findall(NO_SYMBOL.sub(" ", " ".join(step.latex for step in steps))))
    values = {} if at is None else collect_values(steps, at)
    for latex, meaning in meanings.items():
        if latex in occurring:
            if at is None or meaning.value is None:
                value = values.get(latex)
            else:
                value = meaning.value(at)
            value = None if value is None else np.asarray(value, dtype=float)
            yield Symbol(latex_to_text(latex), latex, meaning.text, meaning.shape, _format_range(value), value)


def iter_letters(steps: Iterable[Step]) -> Iterator[Term]:
    """Yield the letters and numbers in the equations and their premises, each as often as it occurs."""
    for step in steps:
        lines = step.measure.lines if isinstance(step.measure, Equation) else ()
        for line in [line for line in lines if isinstance(line, EquationLine)]:
            for side in (*line.sides, *(line.premise.sides if line.premise else ())):
                yield from side.letters()


def collect_values(steps: Iterable[Step], at: Any) -> dict[str, Any]:
    """Collect the values of the letters; the values of a letter with several marks, ξ and ξ*, are concatenated."""
    values_by_letter: dict[str, dict[str, Any]] = {}  # letter -> its term in LaTeX, with mark and subscript -> value
    for term in iter_letters(steps):
        latex = term.latex()
        letter = LETTER.fullmatch(latex)
        if letter and latex not in values_by_letter.setdefault(letter[1], {}):
            values_by_letter[letter[1]][latex] = term.value(at)
    return {
        base: values[0] if len(values) == 1 else np.concatenate([np.atleast_1d(value) for value in values])
        for base, values in ((base, [*by_mark.values()]) for base, by_mark in values_by_letter.items())
    }


def _format_range(value: FloatArray | None) -> str:
    """Format a number, or the smallest and the largest entry of an array; "" without a value."""
    if value is None or not value.size:
        return ""
    low, high = float(value.min()), float(value.max())
    if low == high:
        return f"{low:.4g}"
    return f"{low:.4g} … {high:.4g}"
