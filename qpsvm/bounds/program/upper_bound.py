"""Bound the optimum of a QP from above, by a feasible point near a given one: (PROGRAM.3) to (PROGRAM.5).

`bound_above` is the entry point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import dot_with_bound, sum_with_bound
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.program.enclosures import (
    Enclosure,
    Inverse,
    as_exact,
    holds_exactly,
    multiply_enclosed,
    select_independent_columns,
)
from qpsvm.bounds.program.qp_bounds import OVERFLOW, REFINEMENT_ROUNDS, QPBounds

#: Steps t of (PROGRAM.5) that are tried, in turn.
INTERIOR_STEPS = (0.0, *(10.0**-k for k in range(14, 0, -1)))


class UpperBound(NamedTuple):
    """Upper bound of the optimum, (PROGRAM.3), and a point within `radius` of a feasible one.

    reason: Why the bound is ∞; empty otherwise.
    """

    value: float
    x: FloatArray
    radius: float
    reason: str = ""


class Face(NamedTuple):
    """Face of the box and rows that contains all feasible points.

    interior_point (n,): A point with slack in every bound and row that is not fixed or tight.
    fixed: Indices of the variables fixed at a bound.
    equalities (r, n), rhs (r,): Rows that hold with equality, independent over the variables that are not fixed.
    slack_rows: Indices of the rows of G with slack.
    """

    interior_point: FloatArray
    fixed: IntArray
    equalities: FloatArray
    rhs: FloatArray
    slack_rows: IntArray


class MovedPoint(NamedTuple):
    """A point (n,) within `reach`, in each of the moved entries, of one where all equalities hold, (PROGRAM.3)."""

    x: FloatArray
    moved_entries: IntArray
    reach: float


def bound_above(
    program: QPBounds, x: FloatArray, interior: FloatArray | Face | None, g_change: float = 0.0
) -> UpperBound:
    """Bound the optimum from above by (PROGRAM.3) at x (n,), moved towards `interior` if needed, (PROGRAM.5).

    interior: An interior point (n,), or a face with a point inside it; None if unknown.
    g_change: The point is feasible for every G that differs by at most this relative change.
    """
    nearest = np.clip(x, program.lb, program.ub)
    if g_change and isinstance(interior, Face):  # the entries of rows that hold as equalities must not change
        return UpperBound(math.inf, nearest, math.inf, "rows without slack cannot be moved")
    reason = ""
    for point in _iter_points(program, x, interior):
        bound = _bound_above_at(program, point, interior if isinstance(interior, Face) else None, g_change)
        if isinstance(bound, UpperBound):
            return bound
        reason = bound
    return UpperBound(math.inf, nearest, math.inf, reason)


def _iter_points(program: QPBounds, x: FloatArray, interior: FloatArray | Face | None) -> Iterator[FloatArray]:
    """Yield points (n,) within the bounds: x, and those of (PROGRAM.5) if there is an interior point or face."""
    yield _correct_point(program, x, interior)
    if interior is None:
        return
    target = interior.interior_point if isinstance(interior, Face) else interior
    for t in INTERIOR_STEPS[1:]:
        yield _correct_point(program, x + t * (target - x), interior)


def _correct_point(program: QPBounds, x: FloatArray, interior: FloatArray | Face | None) -> FloatArray:
    """Return the point within the bounds that is nearest to x (n,), on the face, or with slack variables adjusted."""
    point: FloatArray = np.clip(x, program.lb, program.ub)
    if not isinstance(interior, Face):
        return program.adjust_slack_variables(point)
    point[interior.fixed] = interior.interior_point[interior.fixed]
    return point


def _bound_above_at(program: QPBounds, x: FloatArray, face: Face | None, g_change: float) -> UpperBound | str:
    """Return the upper bound at a point within lb and ub, or the reason why there is none."""
    equalities: Matrix = program.A
    rhs = program.b
    G = program.G
    h = program.h
    if face is not None:
        equalities = face.equalities
        rhs = face.rhs
        G = sp.csr_array(G)[face.slack_rows]
        h = h[face.slack_rows]
    if not np.isfinite(x).all():
        return OVERFLOW
    moved = MovedPoint(x, np.zeros(0, dtype=np.intp), 0.0)
    if len(rhs) and not holds_exactly(equalities, x, rhs, equal=True):
        solved = _solve_equalities(program, x, equalities, rhs)
        if isinstance(solved, str):
            return solved
        moved = solved
    x, moved_entries, reach = moved
    values = multiply_enclosed(G, as_exact(x))
    needed_slack = reach * (1.0 + gamma(len(rhs) + 4)) * np.asarray(abs(G)[:, moved_entries].sum(axis=1)).ravel()
    if g_change:
        entry_slack = g_change * (abs(G) @ np.abs(x)) * (1.0 + gamma(program.qp.n + 4))
        needed_slack = needed_slack + entry_slack + g_change * needed_slack
    violation = values.value + values.radius + needed_slack * FEW_ROUNDINGS - h
    undecided = np.flatnonzero(~(violation + 2.0 * UNIT * (np.abs(h) + values.size) <= 0.0))  # NaN: after overflow
    if len(undecided):
        is_moved = len(moved_entries) or g_change
        if is_moved or not holds_exactly(G[undecided], x, h[undecided], equal=False):
            return f"row {int(np.argmax(violation))} of G has no slack"
    value = _bound_objective(program, moved)
    return UpperBound(value, x, reach) if math.isfinite(value) else OVERFLOW


def _solve_equalities(program: QPBounds, x: FloatArray, equalities: Matrix, rhs: FloatArray) -> MovedPoint | str:
    """Move p entries of x (n,) so that all p equalities almost hold, (PROGRAM.4); or return why that fails."""
    p = len(rhs)
    A = as_dense(equalities)
    width = np.minimum(np.minimum(x - program.lb, program.ub - x), 1.0 + np.abs(x))
    moved_entries = select_independent_columns(A * width)
    if moved_entries is None:
        return f"no {p} entries of x can move so that all equalities hold"
    try:
        inverse = Inverse(A[:, moved_entries])
    except np.linalg.LinAlgError:
        return "the equalities are too ill-conditioned for floats"

    def solve_residual() -> tuple[FloatArray, float]:
        residual = multiply_enclosed(equalities, as_exact(x)).add(as_exact(-rhs))
        return inverse.solve(Enclosure(-residual.value, residual.radius))

    x = x.copy()
    for _ in range(REFINEMENT_ROUNDS):
        x[moved_entries] += solve_residual()[0]
    reach = solve_residual()[1]
    if not (np.minimum(x - program.lb, program.ub - x)[moved_entries] >= reach * FEW_ROUNDINGS).all():
        return "the equalities leave no slack between the bounds"
    return MovedPoint(x, moved_entries, reach)


def _bound_objective(program: QPBounds, moved: MovedPoint) -> float:
    """Bound f from above at all points that differ from `moved.x` by at most `reach` in each of the moved entries."""
    x, moved_entries, reach = moved
    qp = program.qp
    Px = program.hessian.apply(x)
    square, square_error = dot_with_bound(x, Px.value)
    linear, linear_error = dot_with_bound(qp.q, x)
    error = 0.5 * (square_error + float(np.abs(x) @ Px.radius)) + linear_error
    if reach:
        gradient_size = float(Px.add(as_exact(qp.q)).size[moved_entries].sum())
        change = program.hessian.bound_change(gradient_size, len(moved_entries), reach)
        error += (1.0 + gamma(len(moved_entries) + 4)) * change
    value, sum_error = sum_with_bound(np.array([0.5 * square, linear, qp.r]))
    error += sum_error + 4.0 * UNIT * (abs(square) + abs(linear) + abs(qp.r))
    return value + error * FEW_ROUNDINGS
