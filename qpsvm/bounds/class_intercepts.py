"""Find the best intercepts of an all-in-one machine for given w_c (`find_class_intercepts`).

The values u_ic = ⟨w_c, φ(x_i)⟩ are given. Any b gives a primal point; the best one minimises Σ_i L_i of (JOINT.2), a
convex piecewise linear function of k numbers that depends on their differences only.

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
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.all_in_one import AllInOneDual

#: Intercepts are improved by (JB.2) if the computed gap is above this.
GOOD_GAP = 1e-9
#: A row is free if α is more than this share of C_i from both bounds.
FREE_SHARE = 1e-7
#: Limit of the sweeps over single classes, and the share of the remaining loss that each has to gain for another one.
MAX_SWEEPS, MIN_SWEEP_GAIN = 10, 1e-2
#: Sets are searched only if the remaining loss is at most this share of Σ_i L_i: above it, b does not limit the gap.
MAX_REMAINING_SHARE = 0.1
#: Widths of a tie in (JB.4), as shares of the level: wide ones first, so that moves are long.
TIE_WIDTHS = (1e-2, 1e-5, 1e-8, 0.0)
#: Limit of the moves (JB.2) for each width, and the share of the remaining loss, and of all, that each has to gain.
MAX_MOVES, MIN_MOVE_GAIN, MIN_LOSS_CHANGE = 100, 1e-4, 1e-15
#: Ties that can change less than this share of the remaining loss are ignored.
MIN_TIE_SHARE = 1e-2
#: Values count as equal up to this many roundings of their size.
TIE_ROUNDINGS = 8.0
#: Sum of the integer capacities of a graph.
TOTAL_CAPACITY = 2**29


def find_class_intercepts(
    dual: AllInOneDual, alpha: FloatArray, u: FloatArray, half_norm: float, slopes: Mapping[str, float]
) -> FloatArray:
    """Return b (k,) for α (m,) and u, class by class, (k n,): that of α if it is penalised, else the best one found."""
    if dual.intercept != "free":
        return dual.extract_intercepts(slopes)
    a = dual.unflatten_alpha(alpha)
    u = u.reshape(dual.k, -1).T
    b = fit_free_rows(dual, a, u)
    primal_value = half_norm + _sum_losses(dual, u, b)
    dual_value = dual.level * float(a.sum()) - half_norm
    if primal_value - dual_value <= GOOD_GAP * abs(primal_value):
        return b
    return improve_class_intercepts(dual, u, b, dual_value - half_norm)


def fit_free_rows(dual: AllInOneDual, alpha: FloatArray, u: FloatArray) -> FloatArray:
    """Return b of (JB.1), (k,), for α and u, (n, k) each."""
    C = dual.upper[:, None]
    positive = alpha > FREE_SHARE * C
    shortfalls = dual.compute_shortfalls(u)
    normal_matrix = np.zeros((dual.k, dual.k))
    right_side = np.zeros(dual.k)

    def add_equations(i: IntArray, j: IntArray, differences: FloatArray) -> None:
        """Add the equations b_i − b_j = differences, (r,) each, to the normal equations."""
        for rows, columns, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
            np.add.at(normal_matrix, (rows, columns), sign)
        np.add.at(right_side, i, differences)
        np.add.at(right_side, j, -differences)

    if dual.has_shared_slack:
        is_full = alpha.sum(axis=1) >= (1.0 - FREE_SHARE) * dual.upper
        is_free = positive & ~is_full[:, None]
        full = np.flatnonzero(is_full & (positive.sum(axis=1) > 1))
        first = alpha[full].argmax(axis=1)
        others = positive[full]
        others[np.arange(len(full)), first] = False
        index, rival = np.nonzero(others)
        sample, first_rival = full[index], first[index]
        add_equations(first_rival, rival, shortfalls[sample, rival] - shortfalls[sample, first_rival])
    else:
        is_free = positive & (alpha < (1.0 - FREE_SHARE) * C)
    sample, rival = np.nonzero(is_free)
    add_equations(dual.label[sample], rival, shortfalls[sample, rival])
    b: FloatArray = np.linalg.lstsq(normal_matrix, right_side, rcond=None)[0].astype(np.float64, copy=False)
    return _centre(b)


def improve_class_intercepts(dual: AllInOneDual, u: FloatArray, b: FloatArray, min_loss: float) -> FloatArray:
    """Improve b (k,) by (JB.2) while Σ_i L_i is noticeably above `min_loss`: single classes first, then sets."""
    best = b
    loss = _sum_losses(dual, u, b)
    total_penalty = float(dual.upper.sum())
    for _ in range(MAX_SWEEPS):
        b = best.copy()
        for single in np.eye(dual.k, dtype=bool):
            b += _minimise_along(dual, u, b, single) * single
        new_loss = _sum_losses(dual, u, b)
        is_worthwhile = loss - new_loss > MIN_SWEEP_GAIN * (loss - min_loss)
        if new_loss < loss:
            best, loss = b, new_loss
        if not is_worthwhile:
            break
    for tie_width in TIE_WIDTHS if loss - min_loss <= MAX_REMAINING_SHARE * loss else ():
        for _ in range(MAX_MOVES):
            moving = _find_steepest_set(dual, u, best, tie_width * dual.level)
            if not moving.any() or moving.all():
                break
            b = best + _minimise_along(dual, u, best, moving) * moving
            new_loss = _sum_losses(dual, u, b)
            is_worthwhile = loss - new_loss > MIN_MOVE_GAIN * (loss - min_loss) + MIN_LOSS_CHANGE * loss
            if new_loss < loss:
                best, loss = b, new_loss
            if not is_worthwhile:
                break
        if tie_width * dual.level * total_penalty <= MIN_TIE_SHARE * (loss - min_loss):
            break
    return _centre(best)


def _centre(b: FloatArray) -> FloatArray:
    """Return b centred by (JB.5): (k,)."""
    return np.asarray(b - b.mean())


def _sum_losses(dual: AllInOneDual, u: FloatArray, b: FloatArray) -> float:
    """Return Σ_i L_i at b (k,), given u, (n, k)."""
    return float(dual.compute_losses(dual.compute_shortfalls(u + b)).sum())


class _CutGraph(NamedTuple):
    """A graph of (JB.4): its first k nodes are the classes.

    single_costs (k,): The cost of moving one class alone.
    edges: The other edges: start, end and capacity.
    n_nodes: The number of nodes, without source and sink.
    total: The sum of all costs.
    """

    single_costs: FloatArray
    edges: list[tuple[int, int, float]]
    n_nodes: int
    total: float


def _find_steepest_set(dual: AllInOneDual, u: FloatArray, b: FloatArray, tie_width: float) -> NDArray[np.bool_]:
    """Return S of (JB.4), a mask (k,): the source side of the minimum cut of a graph of classes and tied samples."""
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    f = u + b
    t = dual.compute_shortfalls(f)
    own_size = np.abs(f[np.arange(dual.n), dual.label])
    tie = np.maximum(TIE_ROUNDINGS * UNIT * (own_size[:, None] + np.abs(f) + dual.level), tie_width)
    if dual.has_shared_slack:
        graph = _build_shared_graph(dual, t, tie)
    else:
        graph = _build_pair_graph(dual, t, tie)
    if not graph.total:
        return np.zeros(dual.k, dtype=bool)
    sink = graph.n_nodes
    source = graph.n_nodes + 1
    class_edges = [
        (c, sink, cost) if cost > 0.0 else (source, c, -cost) for c, cost in enumerate(graph.single_costs.tolist())
    ]
    start, end, capacity = (np.array(values) for values in zip(*graph.edges, *class_edges, strict=True))
    int_capacity = np.rint(capacity * (TOTAL_CAPACITY / graph.total)).astype(np.int32)
    capacities = sp.csr_array((int_capacity, (start, end)), (source + 1, source + 1))
    residual_graph = capacities - maximum_flow(capacities, source, sink).flow
    residual_graph.eliminate_zeros()
    reached = breadth_first_order(residual_graph, source, return_predecessors=False)
    return np.isin(np.arange(dual.k), reached)


def _build_shared_graph(dual: AllInOneDual, t: FloatArray, tie: FloatArray) -> _CutGraph:
    """Build the graph for a shared slack, given the shortfalls t and the widths of ties, (n, k) each.

    The set of classes that attain the largest shortfall of a sample is a node of its own.
    """
    k = dual.k
    single_costs = np.zeros(k)
    is_tied = t >= t.max(axis=1)[:, None] - tie
    several = is_tied.sum(axis=1) > 1
    np.add.at(single_costs, t.argmax(axis=1)[~several], dual.upper[~several])
    np.add.at(single_costs, dual.label, -dual.upper)
    packed = np.packbits(is_tied[several], axis=1)  # as text: np.unique is faster for text than for rows
    _, first, set_index = np.unique(packed.view(f"S{packed.shape[1]}"), return_index=True, return_inverse=True)
    sets = is_tied[several][first]
    weights = np.bincount(set_index.ravel(), dual.upper[several], minlength=len(sets)).tolist()
    total = float(np.abs(single_costs).sum()) + sum(weights)
    edges: list[tuple[int, int, float]] = []
    n_nodes = k + len(sets)
    for node, (members, weight) in enumerate(zip(sets, weights, strict=True), k):
        edges += [(int(c), node, total) for c in np.flatnonzero(members)] + [(node, n_nodes, weight)]
    return _CutGraph(single_costs, edges, n_nodes, total)


def _build_pair_graph(dual: AllInOneDual, t: FloatArray, tie: FloatArray) -> _CutGraph:
    """Build the graph for one slack per row, given t and the widths of ties, (n, k) each: its nodes are the classes."""
    k = dual.k
    single_costs = np.zeros(k)
    pair_costs = np.zeros((k, k))
    t[dual.own_class_mask] = -math.inf
    C, own_class = np.broadcast_to(dual.upper[:, None], t.shape), np.broadcast_to(dual.label[:, None], t.shape)
    is_violated = t > tie
    is_tied = np.abs(t) <= tie
    single_costs += (C * is_violated).sum(axis=0)
    np.add.at(single_costs, own_class[is_violated], -C[is_violated])
    np.add.at(pair_costs, (np.nonzero(is_tied)[1], own_class[is_tied]), C[is_tied])
    edges = [(int(c), int(p), float(pair_costs[c, p])) for c, p in np.argwhere(pair_costs)]
    return _CutGraph(single_costs, edges, k, float(np.abs(single_costs).sum() + pair_costs.sum()))


def _minimise_along(dual: AllInOneDual, u: FloatArray, b: FloatArray, moving: NDArray[np.bool_]) -> float:
    """Return the minimiser θ of (JB.3) for a set of classes, a mask (k,), from the breakpoints of the loss."""
    t = dual.compute_shortfalls(u + b)
    own_moves = moving[dual.label]
    if dual.has_shared_slack:
        breakpoints = np.where(moving, -np.inf, t).max(axis=1) - np.where(moving, t, -np.inf).max(axis=1)
        weights = dual.upper
        descent = float(dual.upper[own_moves].sum())
    else:
        out = own_moves[:, None] & ~moving
        into = ~own_moves[:, None] & moving
        C = np.broadcast_to(dual.upper[:, None], t.shape)
        breakpoints = np.concatenate([t[out], -t[into]])
        weights = np.concatenate([C[out], C[into]])
        descent = float(C[out].sum())
    order = np.argsort(breakpoints)
    slopes = np.cumsum(weights[order]) - descent  # after each breakpoint; −descent before the first
    j = min(int(np.searchsorted(slopes, 0.0)), len(order) - 1)
    low = float(breakpoints[order[j]])
    if slopes[j] == 0.0 and j + 1 < len(order):  # flat up to the next breakpoint: take the middle
        return 0.5 * (low + float(breakpoints[order[j + 1]]))
    return low
