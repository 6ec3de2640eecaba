"""Decide whether two classes can be separated, by the nearest points of their convex hulls (`find_nearest_hulls`).

    (SEP.1)  u, v ≥ 0, 1ᵀu = 1, 1ᵀv = 1 with Σ u_i z_i = Σ v_j z_j:  no hyperplane separates the classes (theorem of the
             alternative, Bennett & Mangasarian 1992). Otherwise the difference of the nearest points is a direction
             that separates them, `find_nearest_points`
    (SEP.2)  for a subset S of the rows, either the hulls of S meet, and so do those of all rows; or w separates S. Then
             the rows on the wrong side of its margin are added to S, until there are none

With few rows, S is all rows. With many, S usually stays small, and only f of all rows is computed in each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.machines.nearest_points import find_nearest_points
from qpsvm.space.kernels.space import FeatureSpace, pivoted_cholesky

#: Hulls closer than this share of the largest centred norm meet up to rounding.
MEETING_SHARE = 1e-8
#: If the lower bound of the distance is at least this share of the upper bound, the hulls are separated.
SEPARATION_SHARE = 0.1
#: Hulls closer than this many times `MEETING_SHARE` are computed again, since the truncation of K may be as large.
REFINEMENT_FACTOR = 100.0
#: Squared norms that centring reduces to below this share are rounding.
ROUNDING = 8.0 * EPS
#: Up to this many rows S is all rows; with more, it starts with about this many.
MAX_INITIAL_ROWS = 1500
#: S grows by at most this many rows, or by half its size if that is more.
MIN_ADDED_ROWS = 200
#: A margin over all rows of at least this share of the margin over S is good enough.
GOOD_MARGIN_SHARE = 1.0 - 1e-6
#: Largest number of times that S grows.
MAX_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class HullDistance:
    """Points of the two convex hulls, and their distance.

    u, v (n,): Convex weights over the positive and the negative rows, zero elsewhere.
    distance: ‖Σ u_i z_i − Σ v_j z_j‖ / max_i ‖z_i − z̄‖.
    direction (r,): A separating direction in the given coordinates if the hulls do not meet; empty if it is only
        known as Σ u_i z_i − Σ v_j z_j.
    undecided: Reason why the search ended undecided ("time_limit", "interrupted", "iteration_limit"), with the best
        weights and distance so far; None if it was decided.
    is_separated: Whether the direction separates the hulls, however close they are.
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
        """Whether the hulls meet up to rounding, which is not a proof."""
        return self.distance < MEETING_SHARE and not self.is_separated


def find_shared_sample(X: Matrix, y: FloatArray) -> HullDistance | None:
    """Find a sample that is in both classes, so that the hulls meet for every kernel; None if there is none.

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
        block = sp.csr_array(X[start : start + step])
        block.eliminate_zeros()
        block.sort_indices()
        for first, last in pairwise(block.indptr.tolist()):
            yield block.indices[first:last].tobytes() + block.data[first:last].tobytes()


def find_nearest_hulls(
    space: FeatureSpace, y: FloatArray, hint: FloatArray, stopped: Callable[[], str | None]
) -> HullDistance:
    """Find the nearest points of the hulls, (SEP.2), on a growing set of rows if there are many.

    hint (n,): Values that are large for rows near the other class, such as α; S starts with these rows.
    stopped: Returns a reason to stop, or None.
    """
    rows = _select_first_rows(y, hint)
    for _ in range(MAX_ROUNDS):
        reason = stopped()
        if reason:
            return _build_undecided(y, reason)
        Z = _compute_coordinates(space, rows)
        points = find_nearest_points(Z, y[rows], stopped)
        beta = _expand_weights(points.x, rows, y)
        do_meet = points.upper < MEETING_SHARE * _compute_longest_row(Z)
        if points.stop_reason or do_meet or len(rows) == len(y):
            hulls = _measure_distance(space, y, beta, points.upper, points.stop_reason)
            is_separated = space.is_linear and len(rows) == len(y) and points.lower > SEPARATION_SHARE * points.upper
            if is_separated:  # the direction of the lower bound has less rounding than Σ β_i x_i
                direction = points.w if len(points.w) == space.rows.d else np.zeros(0)
                return replace(hulls, is_separated=True, direction=direction)
            return _refine_hulls(space, y, rows, hulls, stopped)
        added = _find_misplaced_rows(space.centred_gram @ beta, y, rows)
        if not len(added):
            return _measure_distance(space, y, beta, points.upper, None)
        rows = np.union1d(rows, added)
    return _measure_distance(space, y, beta, points.upper, "iteration_limit")


def _refine_hulls(
    space: FeatureSpace, y: FloatArray, rows: IntArray, hulls: HullDistance, stopped: Callable[[], str | None]
) -> HullDistance:
    """Recompute hulls that nearly meet, with coordinates that truncate less of K; return the closer of both results."""
    is_clear = hulls.distance >= REFINEMENT_FACTOR * MEETING_SHARE
    if hulls.meet or hulls.undecided or space.is_linear or is_clear:
        return hulls
    points = find_nearest_points(_compute_coordinates(space, rows, finest=True), y[rows], stopped)
    refined = _measure_distance(space, y, _expand_weights(points.x, rows, y), points.upper, points.stop_reason)
    return refined if refined.distance < hulls.distance else hulls


def _expand_weights(x: FloatArray, rows: IntArray, y: FloatArray) -> FloatArray:
    """Return β = y x over all rows, (n,), for the convex weights x (s,) of some rows; 0 elsewhere."""
    beta = np.zeros(len(y))
    beta[rows] = x * y[rows]
    return beta


def _select_first_rows(y: FloatArray, hint: FloatArray) -> IntArray:
    """Select the initial S: the largest entries of the hint, and every k-th row of each class."""
    if len(y) <= MAX_INITIAL_ROWS:
        return np.arange(len(y))
    n_hinted = min(MAX_INITIAL_ROWS, int(np.count_nonzero(hint > 0)))
    hinted = np.argsort(-hint, kind="stable")[:n_hinted]
    n_others = max(MAX_INITIAL_ROWS - n_hinted, MIN_ADDED_ROWS)
    rows_by_class = [np.flatnonzero(y == sign) for sign in (1.0, -1.0)]
    return np.unique(
        np.concatenate(
            [hinted, *(class_rows[:: max(2 * len(class_rows) // n_others, 1)] for class_rows in rows_by_class)]
        )
    )


def _find_misplaced_rows(values: FloatArray, y: FloatArray, rows: IntArray) -> IntArray:
    """Find the rows furthest on the wrong side of the margin over S; none if the margin over all rows is as wide.

    values (n,): f of all rows, up to the intercept.
    """
    signed = y * values
    levels = np.where(y > 0, signed[rows][y[rows] > 0].min(), signed[rows][y[rows] < 0].min())
    margin = float(levels[y > 0][0] + levels[y < 0][0])
    full_margin = float(signed[y > 0].min() + signed[y < 0].min())
    if full_margin >= GOOD_MARGIN_SHARE * margin > 0:
        return np.zeros(0, dtype=np.intp)
    excess = levels - signed
    misplaced = np.flatnonzero(excess > 0)
    max_rows = max(len(rows) // 2, MIN_ADDED_ROWS)
    return misplaced[np.argsort(-excess[misplaced], kind="stable")[:max_rows]]


def _compute_coordinates(space: FeatureSpace, rows: IntArray, finest: bool = False) -> FloatArray:
    """Compute centred explicit coordinates of some rows, in as few dimensions as they span: (s, r)."""
    if space.is_linear and space.rows.d <= len(rows):
        Z = as_dense(space.rows.take(rows))
    elif space.is_linear and space.samples.is_sparse and space.rows.d * len(rows) <= BLOCK_NUMBERS:
        samples = as_dense(space.rows.take(rows))
        samples -= samples.mean(axis=0)
        Z = pivoted_cholesky(samples @ samples.T, finest)
    else:
        Z = pivoted_cholesky(space.centred_gram.block(rows, rows), finest)
    centred: FloatArray = Z - Z.mean(axis=0)
    return centred


def _compute_longest_row(Z: FloatArray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))


def _build_undecided(y: FloatArray, reason: str) -> HullDistance:
    """Build an undecided result, with the means of the classes as their nearest points."""
    u, v = (y > 0) / (y > 0).sum(), (y < 0) / (y < 0).sum()
    return HullDistance(u, v, float("inf"), np.zeros(0), reason)


def _measure_distance(
    space: FeatureSpace, y: FloatArray, beta: FloatArray, distance: float, reason: str | None
) -> HullDistance:
    """Measure the distance for weights β over all rows: in coordinates if the machine is linear, else by K.

    distance: The distance in the coordinates of S; with a kernel, the result is at least that.
    reason: Why the search was stopped; None if it was not.
    """
    n = len(y)
    u = np.maximum(beta, 0.0)
    v = np.maximum(-beta, 0.0)
    if space.is_linear and space.samples.is_sparse:
        w, squares = _compute_centred_sums(space, beta)  # ‖z_i − z̄‖²
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
    square = 0.0 if space.is_linear else float(space.centred_gram.diagonal().max())
    return HullDistance(u, v, _compute_relative_distance(distance, float(np.max(squares)), square), w, reason)


def _compute_centred_sums(space: FeatureSpace, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σβ_i (x_i − x̄), (d,), and ‖x_i − x̄‖², (n,), of sparse rows, centred in blocks."""
    mean = space.samples.means()
    squares = np.zeros(space.n)
    w = np.zeros(len(mean))
    step = max(BLOCK_NUMBERS // (10 * len(mean)), 1)
    for i in range(0, space.n, step):
        block = as_dense(space.samples.take(slice(i, i + step))) - mean
        squares[i : i + step] = np.einsum("ij,ij->i", block, block)
        w += beta[i : i + step] @ block
    return w, squares


def _compute_relative_distance(distance: float, centred_square: float, square: float) -> float:
    """Return a distance relative to the largest norm after centring.

    square, centred_square: The largest squared norm before and after centring. If the latter is only rounding of the
        former, all samples are the same point.
    """
    if centred_square <= ROUNDING * square:
        return ROUNDING if centred_square > 0 else 0.0
    return distance / math.sqrt(centred_square) if centred_square > 0 else 0.0
