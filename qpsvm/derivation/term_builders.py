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
