"""Combine terms: sums, products, sums over an index, maxima (`add`, `multiply`, `total`, `dot`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.derivation.terms import ATOM, PRODUCT, PYTHON, Term, term

HALF = Term((r"\tfrac12", "½", "0.5"), lambda _: 0.5)


def operation(latex: str, text: str, python: str, function: Callable[..., Any], *parts: Term | float) -> Term:
    """Build an operation with its own notation, with %s for its parts."""
    return Term((latex, text, python), function, tuple(map(term, parts)))


def add(*terms: Term | None, broken: str = "") -> Term:
    """Add the terms that are not None; without any, return 0.

    broken: LaTeX of a line break, which a long sum may have; "" for none.
    """
    result, *rest = [summand for summand in terms if summand is not None] or [term(0.0)]
    for summand in rest:
        result = result.add_term(summand, broken)
    return result


def multiply(*factors: Term | float | None) -> Term:
    """Multiply the factors that are not None."""
    result, *rest = [term(factor) for factor in factors if factor is not None]
    for factor in rest:
        result = result * factor
    return result


def negate(value: Term | None) -> Term | None:
    """Return the negative of a term; None for None."""
    return None if value is None else -value


def total(summand: Term, index: str = "i") -> Term:
    """Sum a term over an index."""
    return Term((rf"\sum_{index}%s", "Σ %s", "sum(%s)"), lambda _, a: float(np.sum(a)), (summand,), (PRODUCT,), PRODUCT)


def reindex(value: Term, index: str = "") -> Term:
    """Replace the index _i or _k in a term by another, such as "_j"; "" removes it, so that a letter is a vector."""
    latex, text = (re.sub("_[ik](?![a-z])", index, name) for name in value.written[:PYTHON])
    return replace(
        value, written=(latex, text, value.written[PYTHON]), parts=tuple(reindex(part, index) for part in value.parts)
    )


def dot(row: Term | float, column: Term) -> Term:
    """Return the product of a row and a column, as vectors; the row 1 is a row of ones."""
    if row == 1:
        return Term(
            (r"1^{\top}%s", "1ᵀ%s", "sum(%s)"), lambda _, a: float(np.sum(a)), (reindex(column),), (ATOM,), PRODUCT
        )
    parts = (reindex(term(row)), reindex(column))
    return Term(
        (r"%s^{\top}%s", "%sᵀ%s", "%s @ %s"), lambda _, a, b: float(np.sum(a * b)), parts, (ATOM, ATOM), PRODUCT
    )


def largest_of(*parts: Term | float) -> Term:
    """Return the maximum of several terms."""
    slots = ", ".join(["%s"] * len(parts))
    return operation(
        r"\max\bigl(" + r",\,".join(["%s"] * len(parts)) + r"\bigr)", f"max({slots})", f"maximum({slots})",
        lambda _, *values: np.maximum.reduce(np.broadcast_arrays(*values)), *parts,
    )  # fmt: skip


def magnitude(value: Term) -> Term:
    """Return the absolute value of a term."""
    return operation("|%s|", "|%s|", "abs(%s)", lambda _, a: np.abs(a), value)
