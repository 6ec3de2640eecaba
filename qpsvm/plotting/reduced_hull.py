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

from qpsvm.arrays.types import FloatArray

#: A point is a vertex, and not rounding, where it reaches beyond an edge by this share of the samples' range.
NOTICED = 1e-9


def furthest(points: FloatArray, caps: FloatArray, direction: FloatArray) -> FloatArray:
    """The point of the reduced hull of points (n, 2) with caps μ (n,) that reaches furthest in a direction (2,)."""
    order = np.argsort(-(points @ direction), kind="stable")
    filled = np.minimum(np.cumsum(caps[order]), 1.0)  # (HULL.2)
    weights = np.diff(filled, prepend=0.0)
    vertex: FloatArray = weights @ points[order] / filled[-1]
    return vertex


def reduced_hull(points: FloatArray, caps: FloatArray) -> FloatArray:
    """The vertices of (HULL.1), counterclockwise.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
    caps : ndarray, shape (n,)
        μ_i, with Σμ_i ≥ 1 up to rounding.

    Returns
    -------
    ndarray, shape (v, 2)
        At least one vertex, no two alike.
    """
    tolerance = NOTICED * float(np.ptp(points, axis=0).max())
    origin = points.mean(axis=0)  # an offset would take the digits that the shape needs
    points = points - origin
    corners = [furthest(points, caps, np.array(d)) for d in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))]
    vertices: list[FloatArray] = []
    for start, stop in zip(corners, [*corners[1:], corners[0]], strict=True):
        vertices += [start, *_between(points, caps, start, stop, tolerance)]
    apart = [v for v, before in zip(vertices, [vertices[-1], *vertices[:-1]], strict=True)
             if np.abs(v - before).max() > tolerance]  # fmt: skip
    hull: FloatArray = np.array(apart or vertices[:1]) + origin
    return hull


def _between(
    points: FloatArray, caps: FloatArray, start: FloatArray, stop: FloatArray, tolerance: float
) -> list[FloatArray]:
    """The vertices after `start` and before `stop`, counterclockwise."""
    found: list[FloatArray] = []
    waiting = [(start, stop)]  # the next edge to look at is the last one
    while waiting:
        a, b = waiting.pop()
        edge = b - a
        length = float(np.hypot(*edge))
        outward = np.array([edge[1], -edge[0]])
        vertex = furthest(points, caps, outward) if length > tolerance else a
        beyond = outward @ (vertex - a) > tolerance * length
        if beyond and (vertex != a).any() and (vertex != b).any():
            waiting += [(vertex, b), (a, vertex)]
        elif b is not stop:
            found.append(b)
    return found
