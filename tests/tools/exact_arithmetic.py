"""Compute with arrays in fractions: conversion, dot products, linear systems, definiteness; for the exact judges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

Vector = list[Fraction]


def as_fractions(values: Any) -> Vector:
    """Return finite numbers of any shape as a flat list of fractions; fractions stay as they are."""
    return [value if isinstance(value, Fraction) else Fraction(float(value)) for value in np.ravel(values)]


def as_fraction_rows(values: Any) -> list[Vector]:
    """Return a matrix (m, n), dense or sparse, as a list of rows of fractions; a vector becomes one row."""
    return [as_fractions(row) for row in np.atleast_2d(as_dense(values))]


def as_dense(values: Any) -> np.ndarray:
    """Return a dense or sparse array as a dense array of floats."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float)


def dot(a: Any, b: Any) -> Fraction:
    """Return aᵀb."""
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))


def solve_linear_system(table: list[Vector], defaults: Vector | None = None) -> Vector | None:
    """Solve equations given as rows [coefficients, right-hand side], by Gauss–Jordan elimination.

    Unknowns that the equations leave open take the values of `defaults`. Returns None if there is no solution, and
    without `defaults` also if there is more than one.
    """
    rows = [list(row) for row in table]
    count = len(table[0]) - 1 if table else len(defaults or ())
    pivots: list[int] = []
    for column in range(count):
        place = next((k for k in range(len(pivots), len(rows)) if rows[k][column]), None)
        if place is None:
            continue
        k = len(pivots)
        rows[k], rows[place] = rows[place], rows[k]
        pivot_row = rows[k] = [x / rows[k][column] for x in rows[k]]
        for j, row in enumerate(rows):
            if j != k and row[column]:
                rows[j] = [a - row[column] * b for a, b in zip(row, pivot_row, strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]) or (defaults is None and len(pivots) < count):
        return None
    solution = list(defaults) if defaults is not None else [Fraction(0)] * count
    for row, column in zip(rows, pivots, strict=False):
        others = (row[j] * solution[j] for j in range(count) if j not in pivots and row[j])
        solution[column] = row[-1] - sum(others, Fraction(0))
    return solution


def is_positive_semidefinite(matrix: list[Vector]) -> bool:
    """Say whether a symmetric matrix (n, n) is positive semidefinite, by elimination with the largest pivot."""
    rows = [list(row) for row in matrix]
    while rows:
        place = max(range(len(rows)), key=lambda i: rows[i][i])
        pivot = rows[place][place]
        if pivot <= 0:
            return pivot == 0 and not any(value for row in rows for value in row)
        head = rows.pop(place)
        rows = [
            [a - row[place] / pivot * b for k, (a, b) in enumerate(zip(row, head, strict=True)) if k != place]
            for row in rows
        ]
    return True
