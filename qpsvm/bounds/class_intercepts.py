"""Find the best intercepts of an all-in-one machine for given w_c (`find_class_intercepts`).

The values ⟨w_c, φ(x_i)⟩ are given. Any b gives a primal point; the best one minimises Σ_i L_i of (JOINT.2), a convex
piecewise linear function of k numbers that depends on their differences only.

    (JB.1)  rows with 0 < α_ic < C_i have t_ic = 0, (JOINT.6), which determines b_y − b_c; with a shared slack and
            Σ_c α_ic = C_i, the t_ic with α_ic > 0 are equal. The b that fits best is a least-squares solution
    (JB.2)  Σ_i L_i is L-convex in b: submodular, and invariant under b + θ1. So b is optimal if and only if no set S of
            classes improves it by moving together, b + θ1_S, and such moves reach it. Moving one class at a time stalls
    (JB.3)  along 1_S it is convex and piecewise linear, and its slope changes by C_i at one breakpoint of each row, or
            of each sample if the slack is shared; the best θ is where the slope changes its sign
    (JB.4)  the S of steepest descent is a minimum cut: if f_c is largest for all c of a set A, moving S costs
            C_i ([S meets A] − [y_i in S]), with A the classes that violate the margin together, or one of them and y_i
    (JB.5)  Σ_c b_c = 0, a normalisation

Source of (JB.2): Murota, *Discrete Convex Analysis* (2003), sections 7.3 and 10.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.all_in_one import AllInOneDual

#: Intercepts are improved by (JB.2) if the computed gap is above this.
ROUGH = 1e-9
#: A row is free if α is more than this share of C_i from both bounds.
INSIDE = 1e-7
#: Widths of a tie in (JB.4), as shares of the level: wide ones first, so that moves are long.
NEAR_TIES = (1e-2, 1e-5, 1e-8, 0.0)
#: Largest number of sweeps over single classes; a sweep has to gain SINGLE_GAIN of the remaining loss for another one.
SWEEPS, SINGLE_GAIN = 10, 1e-2
#: Sets are searched only below this gap, as a share of Σ_i L_i: above it, b is not what limits the gap.
NEARBY = 0.1
#: Largest number of moves (JB.2) for each width; each has to gain GAIN of the remaining loss, and more than rounding.
STEPS, GAIN, ROUNDED = 100, 1e-4, 1e-15
#: Ties that can change less than this share of the remaining loss are ignored.
SMALL_PART = 1e-2
#: Values count as equal up to this many roundings of their size.
TIED = 8.0
#: Sum of the integer capacities of a graph.
CAPACITY = 2**29


def _centre(b: FloatArray) -> FloatArray:
    """Return b centred by (JB.5): (k,)."""
    return np.asarray(b - b.mean())


def find_class_intercepts(
    dual: AllInOneDual, alpha: FloatArray, u: FloatArray, half_norm: float, slopes: Mapping[str, float]
) -> FloatArray:
    """Return b (k,) for α (m,) and ⟨w_c, φ(x_i)⟩ (k n,): that of α if it is penalised, else the best one found."""
    if dual.intercept != "free":
        return dual.extract_intercepts(slopes)
    a, values = dual.unflatten_alpha(alpha), u.reshape(dual.k, -1).T
    b = fit_free_rows(dual, a, values)
    loss, worth = _loss(dual, values, b), dual.level * float(a.sum()) - half_norm
    if half_norm + loss - worth <= ROUGH * abs(half_norm + loss):
        return b
    return improve_intercepts(dual, values, b, worth - half_norm)


def fit_free_rows(dual: AllInOneDual, alpha: FloatArray, u: FloatArray) -> FloatArray:
    """Return b of (JB.1), (k,), for α and ⟨w_c, φ(x_i)⟩, (n, k) each."""
    C = dual.upper[:, None]
    positive = alpha > INSIDE * C
    missing = dual.compute_shortfalls(u)
    normal, right = np.zeros((dual.k, dual.k)), np.zeros(dual.k)

    def add_difference(i: IntArray, j: IntArray, differences: FloatArray) -> None:
        """Add the equations b_i − b_j = differences, (r,) each."""
        for rows, columns, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
            np.add.at(normal, (rows, columns), sign)
        np.add.at(right, i, differences)
        np.add.at(right, j, -differences)

    if dual.has_shared_slack:
        full = alpha.sum(axis=1) >= (1.0 - INSIDE) * dual.upper
        free = positive & ~full[:, None]
        rows = np.flatnonzero(full & (positive.sum(axis=1) > 1))
        first = alpha[rows].argmax(axis=1)
        others = positive[rows]
        others[np.arange(len(rows)), first] = False
        position, rival = np.nonzero(others)
        add_difference(
            first[position], rival, missing[rows[position], rival] - missing[rows[position], first[position]]
        )
    else:
        free = positive & (alpha < (1.0 - INSIDE) * C)
    sample, rival = np.nonzero(free)
    add_difference(dual.label[sample], rival, missing[sample, rival])
    b: FloatArray = np.linalg.lstsq(normal, right, rcond=None)[0].astype(np.float64, copy=False)
    return _centre(b)


def improve_intercepts(dual: AllInOneDual, u: FloatArray, b: FloatArray, min_loss: float = 0.0) -> FloatArray:
    """Improve b (k,) by (JB.2) while Σ_i L_i is noticeably above `min_loss`: single classes first, then sets."""
    best, loss, total_penalty = b, _loss(dual, u, b), float(dual.upper.sum())
    for _ in range(SWEEPS):
        b, previous_loss = best.copy(), loss
        for single in np.eye(dual.k, dtype=bool):
            b += _minimise_along(dual, u, b, single) * single
        new_loss = _loss(dual, u, b)
        if new_loss < previous_loss:
            best, loss = b, new_loss
        if not previous_loss - new_loss > SINGLE_GAIN * (previous_loss - min_loss):
            break
    for tie_width in NEAR_TIES if loss - min_loss <= NEARBY * loss else ():
        for _ in range(STEPS):
            moving = _steepest(dual, u, best, tie_width * dual.level)
            if not moving.any() or moving.all():
                break
            b = best + _minimise_along(dual, u, best, moving) * moving
            previous_loss, new_loss = loss, _loss(dual, u, b)
            if new_loss < previous_loss:
                best, loss = b, new_loss
            if not previous_loss - new_loss > GAIN * (previous_loss - min_loss) + ROUNDED * previous_loss:
                break
        if tie_width * dual.level * total_penalty <= SMALL_PART * (loss - min_loss):
            break
    return _centre(best)


def _loss(dual: AllInOneDual, u: FloatArray, b: FloatArray) -> float:
    return float(dual.compute_losses(dual.compute_shortfalls(u + b)).sum())


def _steepest(dual: AllInOneDual, u: FloatArray, b: FloatArray, tie_width: float) -> NDArray[np.bool_]:
    """Return S of (JB.4), a mask (k,): the source side of the minimum cut of a graph of classes and tied samples."""
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    k, f = dual.k, u + b
    t, own_size = dual.compute_shortfalls(f), np.abs(f[np.arange(dual.n), dual.label])
    rounding = np.maximum(TIED * UNIT * (own_size[:, None] + np.abs(f) + dual.level), tie_width)
    single = np.zeros(k)  # cost of moving one class alone
    edges: list[tuple[int, int, float]] = []
    if dual.has_shared_slack:
        tied = t >= t.max(axis=1)[:, None] - rounding
        several = tied.sum(axis=1) > 1
        np.add.at(single, t.argmax(axis=1)[~several], dual.upper[~several])
        np.add.at(single, dual.label, -dual.upper)
        packed = np.packbits(tied[several], axis=1)  # as text: np.unique is faster for text than for rows
        _, places, set_index = np.unique(packed.view(f"S{packed.shape[1]}"), return_index=True, return_inverse=True)
        sets = tied[several][places]
        weights = np.bincount(set_index.ravel(), dual.upper[several], minlength=len(sets)).tolist()
        total = float(np.abs(single).sum()) + sum(weights)
        for z, (members, weight) in enumerate(zip(sets, weights, strict=True), k):
            edges += [(int(c), z, total) for c in np.flatnonzero(members)] + [(z, k + len(sets), weight)]
        nodes = k + len(sets)
    else:
        t[dual.own_class_mask] = -math.inf
        C, own_class = np.broadcast_to(dual.upper[:, None], t.shape), np.broadcast_to(dual.label[:, None], t.shape)
        violated, tied_rows = t > rounding, np.abs(t) <= rounding
        single += (C * violated).sum(axis=0)
        np.add.at(single, own_class[violated], -C[violated])
        pairs = np.zeros((k, k))
        np.add.at(pairs, (np.nonzero(tied_rows)[1], own_class[tied_rows]), C[tied_rows])
        total = float(np.abs(single).sum() + pairs.sum())
        edges += [(int(c), int(p), float(pairs[c, p])) for c, p in np.argwhere(pairs)]
        nodes = k
    edges += [(c, nodes, cost) if cost > 0.0 else (nodes + 1, c, -cost) for c, cost in enumerate(single.tolist())]
    if not total:
        return np.zeros(k, dtype=bool)
    start, end, capacity = (np.array(values) for values in zip(*edges, strict=True))
    int_capacity = np.rint(capacity * (CAPACITY / total)).astype(np.int32)
    graph = sp.csr_array((int_capacity, (start, end)), (nodes + 2, nodes + 2))
    residual_graph = graph - maximum_flow(graph, nodes + 1, nodes).flow
    residual_graph.eliminate_zeros()
    reached = breadth_first_order(residual_graph, nodes + 1, return_predecessors=False)
    return np.isin(np.arange(k), reached)


def _minimise_along(dual: AllInOneDual, u: FloatArray, b: FloatArray, moving: NDArray[np.bool_]) -> float:
    """Return the minimiser θ of (JB.3) for a set of classes, a mask (k,), from the breakpoints of the loss."""
    t, own_moves = dual.compute_shortfalls(u + b), moving[dual.label]
    if dual.has_shared_slack:
        points = np.where(moving, -np.inf, t).max(axis=1) - np.where(moving, t, -np.inf).max(axis=1)
        weights, falling = dual.upper, float(dual.upper[own_moves].sum())
    else:
        out, into = own_moves[:, None] & ~moving, ~own_moves[:, None] & moving
        C = np.broadcast_to(dual.upper[:, None], t.shape)
        points = np.concatenate([t[out], -t[into]])
        weights, falling = np.concatenate([C[out], C[into]]), float(C[out].sum())
    order = np.argsort(points)
    slopes = np.cumsum(weights[order]) - falling
    j = min(int(np.searchsorted(slopes, 0.0)), len(points) - 1)
    low = float(points[order[j]])
    if slopes[j] == 0.0 and j + 1 < len(points):  # flat up to the next breakpoint: take the middle
        return 0.5 * (low + float(points[order[j + 1]]))
    return low
