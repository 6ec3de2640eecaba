"""Repair any numbers to a feasible α of an all-in-one machine, exactly.

Every α is a whole number of one power of 2, so small that sums of them are exact. Then bounds, sums over the rivals, β
and the balance of every class are what they say, to the last bit, and no certificate has to allow for them.

    (JREPAIR.1)  α ≥ 0, then α_ic ≤ C_i; or where the slack is shared, the nearest point with Σ_c α_ic ≤ C_i
    (JREPAIR.2)  α = g·A,  A whole,  g a power of 2 with Σ_c A_ic < 2⁵³ for every sample, and over all samples < 2⁶²
    (JREPAIR.3)  a free intercept:  α_ic is a flow from class y_i to class c, and what leaves a class has to equal what
                 arrives. Where more leaves p and more arrives at q, there is a way from p to q along which there is
                 flow, and as much as both have too much is taken from it

(JREPAIR.3) always ends: a flow is a circulation plus ways from where too much leaves to where too much arrives (the
decomposition of flows; Ahuja, Magnanti & Orlin, *Network flows* (1993), section 3.5). It takes from rows strictly
between their bounds while these have something to give, so that those at a bound stay there.

The intercepts of a joint machine with a free intercept, for given values of ⟨w_c, φ(x_i)⟩.

Any b gives a primal point; the best one minimises Σ_i L_i of (JOINT.2), a convex piecewise linear function of k numbers
of which only the differences matter.

    (JB.1)  rows with 0 < α_ic < C_i have t_ic = 0, (JOINT.6), so that b_y − b_c is known; where the slack is shared and
            Σ_c α_ic = C_i, the t_ic with α_ic > 0 are equal. The b nearest to all that is a least-squares problem
    (JB.2)  Σ_i L_i is L-convex in b: submodular, and the same for b + θ. So b is best if and only if no set S of
            classes gains by moving together, b + θ1_S, and it is reached by such moves. One class at a time stalls
    (JB.3)  along 1_S it is convex and piecewise linear, and its slope changes by C_i at one point of each row, or of
            each sample where the slack is shared; the best θ is where it passes 0
    (JB.4)  the S of steepest descent is a minimum cut: where f_c is largest for all c of a set A, moving S costs
            C_i ([S meets A] − [y_i in S]), with A the rivals that are short together, or one of them and y_i
    (JB.5)  Σ_c b_c = 0, which nothing else depends on

Source of (JB.2): Murota, *Discrete Convex Analysis* (2003), sections 7.3 and 10.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.all_in_one import AllInOneDual

#: A gap as computed above which better intercepts are looked for one by one, (JB.2).
ROUGH = 1e-9
#: A row counts as strictly between its bounds from this share of C_i on.
INSIDE = 1e-7
#: What is a tie in (JB.4), as a share of the level: first what is near one, so that moves are long.
NEAR_TIES = (1e-2, 1e-5, 1e-8, 0.0)
#: Sweeps over single classes, each of which has to gain so much of what is left for another one.
SWEEPS, SINGLE_GAIN = 10, 1e-2
#: Sets are looked for from this gap on, as a share of Σ_i L_i: farther away, b is not what it depends on.
NEARBY = 0.1
#: Moves of (JB.2) for each of these. To go on, one has to gain so much of what is left, and more than rounding.
STEPS, GAIN, ROUNDED = 100, 1e-4, 1e-15
#: Ties that can change less than this share of the remaining loss are ignored.
SMALL_PART = 1e-2
#: Values count as equal up to this many roundings of their size.
TIED = 8.0
#: What all capacities of a graph are together: they are whole numbers.
CAPACITY = 2**29
#: Bits of the whole numbers in one sample, and in all samples together.
SAMPLE_BITS, ALL_BITS = 52, 61
#: What a few roundings keep away from a bound goes there.
NEAR = 8 * float(np.finfo(float).eps)
#: Larger numbers count as this one: the sum of as many of them as there may be rows is still a number.
LARGEST = 1e290
#: All floats are multiples of 2 to this.
LEAST_EXPONENT = -1074
#: A class gives up to this share of its largest flow by one row alone; more is taken from all, in proportion.
SMALL = 1e-6


def centre_intercepts(b: FloatArray) -> FloatArray:
    """Return b centred by (JB.5): (k,)."""
    return np.asarray(b - b.mean())


def class_intercepts(
    dual: AllInOneDual, alpha: FloatArray, u: FloatArray, half_norm: float, slopes: Mapping[str, float]
) -> FloatArray:
    """b (k,) beside α (m,) and ⟨w_c, φ(x_i)⟩ (k n,): those of α where they are penalised, else the best found."""
    if dual.intercept != "free":
        return dual.extract_intercepts(slopes)
    a, values = dual.unflatten_alpha(alpha), u.reshape(dual.k, -1).T
    b = from_free_rows(dual, a, values)
    loss, worth = _loss(dual, values, b), dual.level * float(a.sum()) - half_norm
    if half_norm + loss - worth <= ROUGH * abs(half_norm + loss):
        return b
    return improve_intercepts(dual, values, b, worth - half_norm)


def from_free_rows(dual: AllInOneDual, alpha: FloatArray, u: FloatArray) -> FloatArray:
    """b of (JB.1), (k,): for α and ⟨w_c, φ(x_i)⟩, (n, k) each."""
    C = dual.upper[:, None]
    inside = alpha > INSIDE * C
    missing = dual.compute_shortfalls(u)
    normal, right = np.zeros((dual.k, dual.k)), np.zeros(dual.k)

    def add_difference(i: IntArray, j: IntArray, differences: FloatArray) -> None:
        """b of class i less b of class j is known, (r,) each."""
        for rows, columns, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
            np.add.at(normal, (rows, columns), sign)
        np.add.at(right, i, differences)
        np.add.at(right, j, -differences)

    if dual.has_shared_slack:
        full = alpha.sum(axis=1) >= (1.0 - INSIDE) * dual.upper
        free = inside & ~full[:, None]
        rows = np.flatnonzero(full & (inside.sum(axis=1) > 1))
        first = alpha[rows].argmax(axis=1)
        also = inside[rows]
        also[np.arange(len(rows)), first] = False
        place, rival = np.nonzero(also)
        add_difference(first[place], rival, missing[rows[place], rival] - missing[rows[place], first[place]])
    else:
        free = inside & (alpha < (1.0 - INSIDE) * C)
    sample, rival = np.nonzero(free)
    add_difference(dual.label[sample], rival, missing[sample, rival])
    b: FloatArray = np.linalg.lstsq(normal, right, rcond=None)[0].astype(np.float64, copy=False)
    return centre_intercepts(b)


def improve_intercepts(dual: AllInOneDual, u: FloatArray, b: FloatArray, least: float = 0.0) -> FloatArray:
    """Return b after (JB.2), (k,), while Σ_i L_i exceeds `least` noticeably: single classes first, then sets."""
    best, loss, prices = b, _loss(dual, u, b), float(dual.upper.sum())
    for _ in range(SWEEPS):
        b, before = best.copy(), loss
        for single in np.eye(dual.k, dtype=bool):
            b += _minimise_along(dual, u, b, single) * single
        new = _loss(dual, u, b)
        if new < before:
            best, loss = b, new
        if not before - new > SINGLE_GAIN * (before - least):
            break
    for near in NEAR_TIES if loss - least <= NEARBY * loss else ():
        for _ in range(STEPS):
            together = _steepest(dual, u, best, near * dual.level)
            if not together.any() or together.all():
                break
            b = best + _minimise_along(dual, u, best, together) * together
            before, new = loss, _loss(dual, u, b)
            if new < before:
                best, loss = b, new
            if not before - new > GAIN * (before - least) + ROUNDED * before:
                break
        if near * dual.level * prices <= SMALL_PART * (loss - least):
            break
    return centre_intercepts(best)


def _loss(dual: AllInOneDual, u: FloatArray, b: FloatArray) -> float:
    return float(dual.compute_losses(dual.compute_shortfalls(u + b)).sum())


def _steepest(dual: AllInOneDual, u: FloatArray, b: FloatArray, near: float) -> NDArray[np.bool_]:
    """The set S of (JB.4), a mask (k,): the source's side of the cut of a graph of classes and tied samples."""
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    k, f = dual.k, u + b
    t, own = dual.compute_shortfalls(f), np.abs(f[np.arange(dual.n), dual.label])
    rounding = np.maximum(TIED * UNIT * (own[:, None] + np.abs(f) + dual.level), near)
    single = np.zeros(k)  # what moving a class by itself costs
    edges: list[tuple[int, int, float]] = []
    if dual.has_shared_slack:
        tied = t >= t.max(axis=1)[:, None] - rounding
        several = tied.sum(axis=1) > 1
        np.add.at(single, t.argmax(axis=1)[~several], dual.upper[~several])
        np.add.at(single, dual.label, -dual.upper)
        packed = np.packbits(tied[several], axis=1)  # as text, which is told apart faster than rows are
        _, places, which = np.unique(packed.view(f"S{packed.shape[1]}"), return_index=True, return_inverse=True)
        sets = tied[several][places]
        weights = np.bincount(which.ravel(), dual.upper[several], minlength=len(sets)).tolist()
        total = float(np.abs(single).sum()) + sum(weights)
        for z, (members, weight) in enumerate(zip(sets, weights, strict=True), k):
            edges += [(int(c), z, total) for c in np.flatnonzero(members)] + [(z, k + len(sets), weight)]
        nodes = k + len(sets)
    else:
        t[dual.own_class_mask] = -math.inf
        C, at = np.broadcast_to(dual.upper[:, None], t.shape), np.broadcast_to(dual.label[:, None], t.shape)
        short, on = t > rounding, np.abs(t) <= rounding
        single += (C * short).sum(axis=0)
        np.add.at(single, at[short], -C[short])
        pairs = np.zeros((k, k))
        np.add.at(pairs, (np.nonzero(on)[1], at[on]), C[on])
        total = float(np.abs(single).sum() + pairs.sum())
        edges += [(int(c), int(p), float(pairs[c, p])) for c, p in np.argwhere(pairs)]
        nodes = k
    edges += [(c, nodes, cost) if cost > 0.0 else (nodes + 1, c, -cost) for c, cost in enumerate(single.tolist())]
    if not total:
        return np.zeros(k, dtype=bool)
    start, end, capacity = (np.array(part) for part in zip(*edges, strict=True))
    whole = np.rint(capacity * (CAPACITY / total)).astype(np.int32)
    graph = sp.csr_array((whole, (start, end)), (nodes + 2, nodes + 2))
    left = graph - maximum_flow(graph, nodes + 1, nodes).flow
    left.eliminate_zeros()
    reached = breadth_first_order(left, nodes + 1, return_predecessors=False)
    return np.isin(np.arange(k), reached)


def _minimise_along(dual: AllInOneDual, u: FloatArray, b: FloatArray, together: NDArray[np.bool_]) -> float:
    """Return the minimiser θ of (JB.3) for a set of classes, a mask (k,), from the breakpoints of the loss."""
    t, own = dual.compute_shortfalls(u + b), together[dual.label]
    if dual.has_shared_slack:
        points = np.where(together, -np.inf, t).max(axis=1) - np.where(together, t, -np.inf).max(axis=1)
        weights, falling = dual.upper, float(dual.upper[own].sum())
    else:
        out, into = own[:, None] & ~together, ~own[:, None] & together
        C = np.broadcast_to(dual.upper[:, None], t.shape)
        points = np.concatenate([t[out], -t[into]])
        weights, falling = np.concatenate([C[out], C[into]]), float(C[out].sum())
    order = np.argsort(points)
    slopes = np.cumsum(weights[order]) - falling
    j = min(int(np.searchsorted(slopes, 0.0)), len(points) - 1)
    low = float(points[order[j]])
    if slopes[j] == 0.0 and j + 1 < len(points):  # flat as far as the next: the middle
        return 0.5 * (low + float(points[order[j + 1]]))
    return low


Whole = NDArray[np.int64]


def feasible(dual: AllInOneDual, alpha: FloatArray) -> FloatArray:
    """A feasible α near any (n, k) numbers: exact in the sense of (JREPAIR.2)."""
    a = np.clip(np.nan_to_num(alpha, nan=0.0, posinf=LARGEST), 0.0, LARGEST)
    a[dual.own_class_mask] = 0.0
    caps = dual.upper[:, None]
    a = _cap_row_sums(a, dual) if dual.has_shared_slack else np.where(a >= caps * (1.0 - NEAR), caps, a)  # (JREPAIR.1)
    sums = a.sum(axis=1)
    free = dual.intercept == "free"
    unit = _unit(sums, free)
    A: Whole = np.floor(a / unit).astype(np.int64)  # (JREPAIR.2)
    with np.errstate(over="ignore"):
        most = np.minimum(np.floor(dual.upper / unit[:, 0]), 2.0**62).astype(np.int64)
    if dual.has_shared_slack:  # the sum of a was rounded
        over = np.maximum(A.sum(axis=1) - most, 0)
        A[np.arange(dual.n), A.argmax(axis=1)] -= over
    else:
        A = np.minimum(A, most[:, None])
    if free:
        _balance(A, most, dual)
    return A * unit


def _cap_row_sums(a: FloatArray, dual: AllInOneDual) -> FloatArray:
    """The nearest α ≥ 0 with Σ_c α_ic ≤ C_i, by (JREPAIR.1): rows (n, k) of which the own class is 0."""
    sums = a.sum(axis=1)
    beyond = np.flatnonzero(sums > dual.upper)
    if len(beyond):
        a = a.copy()
        a[beyond] = project_on_simplex(a[beyond], dual.upper[beyond])
    near = (sums < dual.upper) & (sums >= dual.upper * (1.0 - NEAR))
    if near.any():
        a = a.copy()
        a[near] *= (dual.upper[near] / sums[near])[:, None]
    return a


def project_on_simplex(a: FloatArray, mass: FloatArray) -> FloatArray:
    """The nearest point of {x ≥ 0, Σx = mass} to each row: max(a − θ, 0), θ by sorting; (r, k) and (r,)."""
    ordered = -np.sort(-a, axis=1)
    levels = (np.cumsum(ordered, axis=1) - mass[:, None]) / np.arange(1, a.shape[1] + 1)
    last = np.maximum((ordered > levels).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(a - levels[np.arange(len(a)), last][:, None], 0.0))


def _unit(sums: FloatArray, free: bool) -> FloatArray:
    """g of (JREPAIR.2), (n, 1): one for all samples where they have to balance."""
    if not free:
        exponents = np.frexp(sums)[1] - SAMPLE_BITS
        return np.asarray(np.ldexp(1.0, np.maximum(exponents, LEAST_EXPONENT)))[:, None]
    exponent = math.frexp(float(sums.max()))[1] - SAMPLE_BITS
    exponent = max(exponent, math.frexp(float(sums.sum()))[1] - ALL_BITS, LEAST_EXPONENT)
    return np.full((len(sums), 1), math.ldexp(1.0, exponent))


def _balance(A: Whole, most: Whole, dual: AllInOneDual) -> None:
    """(JREPAIR.3), in place."""
    full = (A.sum(axis=1) >= most)[:, None] if dual.has_shared_slack else most[:, None] <= A
    for givers in (~full & (A > 0), A > 0):
        taken = _cancel_surplus(_flows(np.where(givers, A, 0), dual), _surplus(A, dual))
        for p, c in np.argwhere(taken):
            rows = np.flatnonzero((dual.label == p) & givers[:, c])
            A[rows, c] -= _shares(A[rows, c], int(taken[p, c]))


def _flows(A: Whole, dual: AllInOneDual) -> Whole:
    """The flow from every class to every other: (k, k)."""
    flows = np.zeros((dual.k, dual.k), dtype=np.int64)
    np.add.at(flows, dual.label, A)
    return flows


def _surplus(A: Whole, dual: AllInOneDual) -> Whole:
    """Return the flow out of each class minus the flow into it: (k,)."""
    flows = _flows(A, dual)
    return np.asarray(flows.sum(axis=1) - flows.sum(axis=0))


def _cancel_surplus(flows: Whole, surplus: Whole) -> Whole:
    """Return the amounts to subtract from each flow (k, k) to cancel the surplus (k,), as far as paths exist."""
    left, excess = flows.copy(), surplus.copy()
    for p in np.flatnonzero(surplus > 0):
        while excess[p] > 0:
            way = _find_path(left, int(p), excess < 0)
            if way is None:
                break
            amount = min(int(excess[p]), -int(excess[way[-1]]), *(int(left[i, j]) for i, j in _steps(way)))
            for i, j in _steps(way):
                left[i, j] -= amount
            excess[p] -= amount
            excess[way[-1]] += amount
    return np.asarray(flows - left)


def _steps(way: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(way))


def _find_path(flows: Whole, start: int, ends: NDArray[np.bool_]) -> list[int] | None:
    """The shortest way from a class to one of the ends along which there is flow."""
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(sp.csr_array(flows > 0), start)
    way = order[ends[order]][:1].tolist()
    while way and way[-1] != start:
        way.append(int(before[way[-1]]))
    return way[::-1] or None


def _shares(values: IntArray, amount: int) -> Whole:
    """Split an amount over whole numbers (r,): a small amount comes from the largest, a larger one from all."""
    largest = int(values.argmax())
    cut: Whole = np.zeros(len(values), dtype=np.int64)
    if amount <= SMALL * int(values[largest]):
        cut[largest] = amount
        return cut
    cut = np.minimum(np.floor(values * (amount / float(values.sum()))).astype(np.int64), values)
    rest = amount - int(cut.sum())  # rounding in the quotient: a few units a number
    for part, sign in ((values - cut, 1), (cut.copy(), -1)):
        cut += sign * np.clip(max(sign * rest, 0) - (np.cumsum(part) - part), 0, part)
    return cut
