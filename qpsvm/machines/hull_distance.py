"""Decide whether two classes can be separated, with a proof either way (`find_nearest_hulls`).

    (SEP.1)  u, v ≥ 0, 1ᵀu = 1, 1ᵀv = 1 with Σ u_i z_i = Σ v_j z_j:  no hyperplane separates the classes (theorem of the
             alternative, Bennett & Mangasarian 1992). Else the difference of the nearest points is a direction that
             does, `find_nearest_points`
    (SEP.2)  on rows S: the hulls of S meet, and with them those of all rows; or w separates S. Then S grows by the rows
             that w puts on the wrong side of its margin, until there are none

Of very many rows only those that matter are read, by (SEP.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.machines.nearest_points import find_nearest_points
from qpsvm.space.kernels.space import FeatureSpace, pivoted_cholesky

#: Hulls closer than this share of the largest centred norm meet at working precision.
MEETING = 1e-8
#: Hulls whose least distance is known to be this share of what it is at most are apart, however near.
APART = 0.1
#: Up to so many times as far apart they are looked at again: what coordinates leave out of K is as large.
NEARLY = 100.0
#: Squared norms that centring brings down to this share of what they were are rounding.
ROUNDING = 8.0 * float(np.finfo(float).eps)
#: Rows that are taken all at once; of more, S begins with so many, and grows by at least so many.
WHOLE_ROWS, FEWEST_ADDED = 1500, 200
#: A margin over all rows that is this share of the margin over S is as good; and how often S may grow.
AS_GOOD, ROUNDS = 1.0 - 1e-6, 100


@dataclass(frozen=True, eq=False)
class HullDistance:
    """Points of the two convex hulls and how far apart they are.

    u, v (n,): Convex weights over the positive and the negative rows, zero elsewhere.
    distance: ‖Σ u_i z_i − Σ v_j z_j‖ / max_i ‖z_i − z̄‖.
    direction (r,): A direction that separates where the hulls do not meet, in the coordinates given; empty
        where it is only known as Σ u_i z_i − Σ v_j z_j.
    undecided or None: Why the search ended before it knew ("time_limit", "interrupted", "iteration_limit");
        then the weights and the distance are the best that it had.
    is_separated: Whether the direction separates, however near they are.
    """

    u: FloatArray
    v: FloatArray
    distance: float
    direction: FloatArray
    undecided: str | None = None
    is_separated: bool = False

    def __repr__(self) -> str:
        return build_repr("HullDistance", **vars(self))

    @property
    def meet(self) -> bool:
        """Whether the hulls meet as far as doubles tell: no proof that they do."""
        return self.distance < MEETING and not self.is_separated


def find_shared_sample(X: Matrix, y: FloatArray) -> HullDistance | None:
    """Find a sample that is in both classes, which decides the question for any kernel; None if there is none.

    Shapes: X (n, d), y (n,).
    """
    keys = list(_iter_row_keys(X))
    negative = {keys[j]: j for j in np.flatnonzero(y < 0).tolist()}
    for i in np.flatnonzero(y > 0).tolist():
        if keys[i] in negative:
            u, v = np.zeros(len(y)), np.zeros(len(y))
            u[i] = v[negative[keys[i]]] = 1.0
            return HullDistance(u, v, 0.0, np.zeros(0))
    return None


def _iter_row_keys(X: Matrix) -> Iterator[bytes]:
    """Iterate over the bytes of each row, equal for 0 and −0; sparse rows include their column indices."""
    step = max(BLOCK_NUMBERS // max(X.shape[1], 1), 1)
    for start in range(0, X.shape[0], step):
        if not sp.issparse(X):
            yield from (row.tobytes() for row in X[start : start + step] + 0.0)
            continue
        part = sp.csr_array(X[start : start + step])
        part.eliminate_zeros()
        part.sort_indices()
        for first, last in pairwise(part.indptr.tolist()):
            yield part.indices[first:last].tobytes() + part.data[first:last].tobytes()


def find_nearest_hulls(
    space: FeatureSpace, y: FloatArray, hint: FloatArray, stopped: Callable[[], str | None]
) -> HullDistance:
    """Find the nearest points of the hulls, (SEP.2), on a growing set of rows if there are many.

    Shapes: y (n,), hint (n,).
    """
    rows = _select_first_rows(y, hint)
    for _ in range(ROUNDS):
        why = stopped()
        if why:
            return _build_undecided(y, why)
        Z = _compute_coordinates(space, rows)
        points = find_nearest_points(Z, y[rows], stopped)
        beta = np.zeros(len(y))
        beta[rows] = points.x * y[rows]
        if points.stopped or points.upper < MEETING * _compute_longest_row(Z) or len(rows) == len(y):
            found = _measure_distance(space, y, beta, points.upper, points.stopped)
            apart = space.is_linear and len(rows) == len(y) and points.lower > APART * points.upper
            if apart:  # by what is not Σβ_i x_i with its rounding
                return replace(
                    found, is_separated=True, direction=points.w if len(points.w) == space.rows.d else np.zeros(0)
                )
            return _refine_hulls(space, y, rows, found, stopped)
        added = _find_misplaced_rows(space.centred_gram @ beta, y, rows)
        if not len(added):
            return _measure_distance(space, y, beta, points.upper, None)
        rows = np.union1d(rows, added)
    return _measure_distance(space, y, beta, points.upper, "iteration_limit")


def _refine_hulls(
    space: FeatureSpace, y: FloatArray, rows: IntArray, found: HullDistance, stopped: Callable[[], str | None]
) -> HullDistance:
    """Refine hulls near the limit of rounding with coordinates that truncate less of K, and return the closer."""
    if found.meet or found.undecided or space.is_linear or found.distance >= NEARLY * MEETING:
        return found
    points = find_nearest_points(_compute_coordinates(space, rows, finest=True), y[rows], stopped)
    beta = np.zeros(len(y))
    beta[rows] = points.x * y[rows]
    finer = _measure_distance(space, y, beta, points.upper, points.stopped)
    return finer if finer.distance < found.distance else found


def _select_first_rows(y: FloatArray, hint: FloatArray) -> IntArray:
    """Select the initial S: the largest entries of the hint, and every k-th row of each class."""
    if len(y) <= WHOLE_ROWS:
        return np.arange(len(y))
    order = np.argsort(-hint, kind="stable")[: min(WHOLE_ROWS, int(np.count_nonzero(hint > 0)))]
    rest = max(WHOLE_ROWS - len(order), FEWEST_ADDED)
    parts = [np.flatnonzero(y == sign) for sign in (1.0, -1.0)]
    return np.unique(np.concatenate([order, *(part[:: max(2 * len(part) // rest, 1)] for part in parts)]))


def _find_misplaced_rows(values: FloatArray, y: FloatArray, rows: IntArray) -> IntArray:
    """The rows that a direction puts furthest on the wrong side of its margin over S, at most half as many as S has.

    None where the margin over all rows is as good as that over S.
    """
    signed = y * values
    levels = np.where(y > 0, signed[rows][y[rows] > 0].min(), signed[rows][y[rows] < 0].min())
    margin = float(levels[y > 0][0] + levels[y < 0][0])
    everywhere = float(signed[y > 0].min() + signed[y < 0].min())
    if everywhere >= AS_GOOD * margin > 0:
        return np.zeros(0, dtype=np.intp)
    excess = levels - signed
    outside = np.flatnonzero(excess > 0)
    most = max(len(rows) // 2, FEWEST_ADDED)
    return outside[np.argsort(-excess[outside], kind="stable")[:most]]


def _compute_coordinates(space: FeatureSpace, rows: IntArray, finest: bool = False) -> FloatArray:
    """Compute centred explicit coordinates of some rows, in as few dimensions as they span: (s, r)."""
    if space.is_linear and space.rows.d <= len(rows):
        Z = as_dense(space.rows.take(rows))
    elif space.is_linear and space.samples.is_sparse and space.rows.d * len(rows) <= BLOCK_NUMBERS:
        part = as_dense(space.rows.take(rows))
        part -= part.mean(axis=0)
        Z = pivoted_cholesky(part @ part.T, finest)
    else:
        Z = pivoted_cholesky(space.centred_gram.block(rows, rows), finest)
    centred: FloatArray = Z - Z.mean(axis=0)
    return centred


def _compute_longest_row(Z: FloatArray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))


def _build_undecided(y: FloatArray, why: str) -> HullDistance:
    """Build an undecided answer: the means of the classes replace their nearest points."""
    u, v = (y > 0) / (y > 0).sum(), (y < 0) / (y < 0).sum()
    return HullDistance(u, v, float("inf"), np.zeros(0), why)


def _measure_distance(
    space: FeatureSpace, y: FloatArray, beta: FloatArray, distance: float, why: str | None
) -> HullDistance:
    """The weights with their distance, measured over all rows: in the coordinates of w, else by the Gram matrix."""
    n = len(y)
    u, v = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    if space.is_linear and space.samples.is_sparse:
        w, squares = _centre_by_blocks(space, beta)
        distance = float(np.linalg.norm(w))
    elif space.is_linear:
        w = space.weights(beta)
        mean = space.rows.means()
        squares = space.centred_gram.diagonal() - 2.0 * space.rows.margins(mean) + float(mean @ mean)
        distance = float(np.linalg.norm(w))
    else:
        w = np.zeros(0)
        central = space.centred_gram @ np.full(n, 1.0 / n)
        squares = space.centred_gram.diagonal() - 2.0 * central + central.mean()
        distance = max(distance, math.sqrt(max(float(beta @ (space.centred_gram @ beta)), 0.0)))
    size = 0.0 if space.is_linear else float(space.centred_gram.diagonal().max())
    return HullDistance(u, v, _compute_relative_distance(distance, float(np.max(squares)), size), w, why)


def _centre_by_blocks(space: FeatureSpace, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Σβ_i (x_i − x̄), (d,), and ‖x_i − x̄‖², (n,), of sparse rows that are centred some at a time."""
    mean, squares = space.samples.means(), np.zeros(space.n)
    w, step = np.zeros(len(mean)), max(BLOCK_NUMBERS // (10 * len(mean)), 1)
    for i in range(0, space.n, step):
        part = as_dense(space.samples.take(slice(i, i + step))) - mean
        squares[i : i + step] = np.einsum("ij,ij->i", part, part)
        w += beta[i : i + step] @ part
    return w, squares


def _compute_relative_distance(distance: float, reach: float, size: float) -> float:
    """Return a distance in units of the data: of the largest squared norm after centring, `reach`, and before, `size`.

    What centring leaves of samples that are all one point is rounding: they are nowhere near or far from each other.
    """
    if reach <= ROUNDING * size:
        return ROUNDING if reach > 0 else 0.0
    return distance / math.sqrt(reach) if reach > 0 else 0.0
