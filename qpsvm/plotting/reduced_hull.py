"""Reduced convex hulls in the plane: a vertex is found from a direction, and an edge from two vertices.

    (HULL.1)  reduced hull:  {Σ a_i x_i : Σ a_i = 1, 0 ≤ a_i ≤ μ_i}, the convex hull where no μ_i is below 1
    (HULL.2)  furthest point in a direction: fill a_i up to μ_i, in the order of how far the x_i reach, until the sum
              is 1
    (HULL.3)  w = A (p − m) with p = Σ₊ a_i x_i, m = Σ₋ a_i x_i, a_i = α_i/A and A = Σ₊ α_i = Σ₋ α_i: p and m are the
              closest points of the reduced hulls with μ_i = C_i/A, and ‖w‖ = A ‖p − m‖
    (HULL.4)  for a hard margin ‖p − m‖ = 2/‖w‖, the margin, and f = 0 bisects the segment; otherwise
              f(p) = ρ − Σ₊ a_iξ_i and f(m) = −(ρ − Σ₋ a_iξ_i): f = 0 is perpendicular to the segment but need not
              bisect it

Sources: Bennett & Bredensteiner, *Duality and geometry in SVM classifiers*, ICML (2000); Crisp & Burges, *A geometric
interpretation of ν-SVM classifiers*, NIPS (2000).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray

#: A point is a vertex, and not rounding, where it reaches beyond an edge by this share of the samples' range.
NOTICED = 1e-9


def furthest(points: FloatArray, caps: FloatArray, directions: FloatArray) -> FloatArray:
    """Where the reduced hull of points (n, 2) with caps μ (n,) reaches furthest in one direction (2,), or in k of them.

    Shapes: points (n, 2), caps (n,), directions (2,).
    """
    order = np.argsort(-(points @ np.atleast_2d(directions).T), axis=0, kind="stable")
    filled = np.minimum(np.cumsum(caps[order], axis=0), 1.0)  # (HULL.2)
    weights = filled.copy()
    weights[1:] -= filled[:-1]
    reached = [(weights * points[order, j]).sum(axis=0) / filled[-1] for j in range(2)]
    vertices: FloatArray = np.column_stack(reached).reshape(directions.shape)
    return vertices


def reduced_hull(points: FloatArray, caps: FloatArray, noticed: float = NOTICED) -> FloatArray:
    """The vertices of (HULL.1), counterclockwise.

    Shapes: points (n, 2), caps (n,) → (v, 2).
    """
    tolerance = noticed * float(np.ptp(points, axis=0).max())
    origin = points.mean(axis=0)  # an offset would take the digits that the shape needs
    points = points - origin
    vertices = furthest(points, caps, np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]))
    waiting = np.ones(len(vertices), dtype=np.bool_)  # edges to look behind, by the vertex at which they begin
    while waiting.any():
        rows = np.flatnonzero(waiting)
        beyond, found = _beyond(points, caps, vertices[rows], np.roll(vertices, -1, axis=0)[rows], tolerance)
        waiting[rows] = beyond
        vertices = np.insert(vertices, rows[beyond] + 1, found[beyond], axis=0)
        waiting = np.insert(waiting, rows[beyond] + 1, True)
    apart = np.abs(vertices - np.roll(vertices, 1, axis=0)).max(axis=1) > tolerance
    hull: FloatArray = (vertices[apart] if apart.any() else vertices[:1]) + origin
    return hull


def _beyond(
    points: FloatArray, caps: FloatArray, start: FloatArray, stop: FloatArray, tolerance: float
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Which edges from `start` to `stop`, (k, 2) each, have a vertex behind them, (k,), and those vertices, (k, 2)."""
    edge = stop - start
    length = np.hypot(*edge.T)
    outward = np.column_stack([edge[:, 1], -edge[:, 0]])
    found = furthest(points, caps, outward)
    reach = np.einsum("kj,kj->k", outward, found - start)
    new = (found != start).any(axis=1) & (found != stop).any(axis=1)
    return (length > tolerance) & (reach > tolerance * length) & new, found
