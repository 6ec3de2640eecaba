"""Any numbers turned into a feasible α of a joint machine, without any rounding left in what has to hold.

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
    (JB.2)  for one b_c, the others held:  Σ_i L_i is convex and piecewise linear, and its slope changes by C_i at one
            point of each row; the best b_c is where it passes 0
    (JB.3)  Σ_c b_c = 0, which nothing else depends on
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.all_in_one import JointDual

#: A row counts as strictly between its bounds from this share of C_i on.
INSIDE = 1e-7
#: How often (JB.2) goes over all classes, and what of the loss it has to gain to go on.
SWEEPS, GAIN = 4, 1e-12


def centred(b: FloatArray) -> FloatArray:
    """b with (JB.3): (k,)."""
    return np.asarray(b - b.mean())


def from_free_rows(dual: JointDual, alpha: FloatArray, u: FloatArray) -> FloatArray:
    """b of (JB.1), (k,): for α and ⟨w_c, φ(x_i)⟩, (n, k) each."""
    C = dual.upper[:, None]
    inside = alpha > INSIDE * C
    missing = dual.missing(u)
    normal, right = np.zeros((dual.k, dual.k)), np.zeros(dual.k)

    def known(i: IntArray, j: IntArray, differences: FloatArray) -> None:
        """b of class i less b of class j is known, (r,) each."""
        for rows, columns, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
            np.add.at(normal, (rows, columns), sign)
        np.add.at(right, i, differences)
        np.add.at(right, j, -differences)

    if dual.shared:
        full = alpha.sum(axis=1) >= (1.0 - INSIDE) * dual.upper
        free = inside & ~full[:, None]
        rows = np.flatnonzero(full & (inside.sum(axis=1) > 1))
        first = alpha[rows].argmax(axis=1)
        also = inside[rows]
        also[np.arange(len(rows)), first] = False
        place, rival = np.nonzero(also)
        known(first[place], rival, missing[rows[place], rival] - missing[rows[place], first[place]])
    else:
        free = inside & (alpha < (1.0 - INSIDE) * C)
    sample, rival = np.nonzero(free)
    known(dual.label[sample], rival, missing[sample, rival])
    b: FloatArray = np.linalg.lstsq(normal, right, rcond=None)[0].astype(np.float64, copy=False)
    return centred(b)


def improved(dual: JointDual, u: FloatArray, b: FloatArray) -> FloatArray:
    """b after some rounds of (JB.2): (k,)."""
    best, least = b, _loss(dual, u, b)
    for _ in range(SWEEPS):
        b = best.copy()
        for c in range(dual.k):
            b[c] = _best(dual, u, b, c)
        loss = _loss(dual, u, b)
        if not loss < least * (1.0 - GAIN):
            break
        best, least = b, loss
    return centred(best)


def _loss(dual: JointDual, u: FloatArray, b: FloatArray) -> float:
    return float(dual.losses(dual.missing(u + b)).sum())


def _best(dual: JointDual, u: FloatArray, b: FloatArray, c: int) -> float:
    """The b_c of (JB.2)."""
    f = u + b
    own, mine = f[np.arange(dual.n), dual.label], dual.label == c
    if dual.shared:
        others = f.copy()
        others[:, c] = -np.inf
        others[dual.own] = -np.inf
        others = others.max(axis=1)
        falling = (dual.level + others - u[:, c])[mine]  # from here on the sample has no slack
        floor = np.maximum(others - own + dual.level, 0.0)
        rising = (floor - dual.level + own - u[:, c])[~mine]  # from here on the rival c is the one that costs
        prices = dual.upper[mine]
    else:
        rivals = np.arange(dual.k) != c
        falling = (dual.level + f[mine][:, rivals] - u[mine, c][:, None]).ravel()
        rising = (own - dual.level - u[:, c])[~mine]
        prices = np.repeat(dual.upper[mine], dual.k - 1)
    points = np.concatenate([falling, rising])
    weights = np.concatenate([prices, dual.upper[~mine]])
    order = np.argsort(points)
    slopes = np.cumsum(weights[order]) - prices.sum()
    k = min(int(np.searchsorted(slopes, 0.0)), len(points) - 1)
    low = float(points[order[k]])
    if slopes[k] == 0.0 and k + 1 < len(points):  # flat as far as the next: the middle
        return 0.5 * (low + float(points[order[k + 1]]))
    return low


#: Bits of the whole numbers in one sample, and in all samples together.
SAMPLE_BITS, ALL_BITS = 52, 61
#: What a few roundings keep away from a bound goes there.
NEAR = 8 * float(np.finfo(float).eps)
#: Numbers of an α beyond this count as this one.
LARGEST = 1e290
#: All floats are multiples of 2 to this.
LEAST_EXPONENT = -1074
#: A class gives up to this share of its largest flow by one row alone; more is taken from all, in proportion.
SMALL = 1e-6

Whole = NDArray[np.int64]


def feasible(dual: JointDual, alpha: FloatArray) -> FloatArray:
    """A feasible α near any (n, k) numbers: exact in the sense of (JREPAIR.2)."""
    a = np.clip(np.nan_to_num(alpha, nan=0.0, posinf=LARGEST), 0.0, LARGEST)
    a[dual.own] = 0.0
    caps = dual.upper[:, None]
    a = _under(a, dual) if dual.shared else np.where(a >= caps * (1.0 - NEAR), caps, a)  # (JREPAIR.1)
    sums = a.sum(axis=1)
    free = dual.intercept == "free"
    unit = _unit(sums, free)
    A: Whole = np.floor(a / unit).astype(np.int64)  # (JREPAIR.2)
    with np.errstate(over="ignore"):
        most = np.minimum(np.floor(dual.upper / unit[:, 0]), 2.0**62).astype(np.int64)
    if dual.shared:  # the sum of a was rounded
        over = np.maximum(A.sum(axis=1) - most, 0)
        A[np.arange(dual.n), A.argmax(axis=1)] -= over
    else:
        A = np.minimum(A, most[:, None])
    if free:
        _balance(A, most, dual)
    return A * unit


def _under(a: FloatArray, dual: JointDual) -> FloatArray:
    """The nearest α ≥ 0 with Σ_c α_ic ≤ C_i, by (JREPAIR.1): rows (n, k) of which the own class is 0."""
    sums = a.sum(axis=1)
    beyond = np.flatnonzero(sums > dual.upper)
    if len(beyond):
        a = a.copy()
        a[beyond] = capped(a[beyond], dual.upper[beyond])
    near = (sums < dual.upper) & (sums >= dual.upper * (1.0 - NEAR))
    if near.any():
        a = a.copy()
        a[near] *= (dual.upper[near] / sums[near])[:, None]
    return a


def capped(a: FloatArray, mass: FloatArray) -> FloatArray:
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


def _balance(A: Whole, most: Whole, dual: JointDual) -> None:
    """(JREPAIR.3), in place."""
    full = (A.sum(axis=1) >= most)[:, None] if dual.shared else most[:, None] <= A
    for givers in (~full & (A > 0), A > 0):
        taken = _taken(_flows(np.where(givers, A, 0), dual), _surplus(A, dual))
        for p, c in np.argwhere(taken):
            rows = np.flatnonzero((dual.label == p) & givers[:, c])
            A[rows, c] -= _shares(A[rows, c], int(taken[p, c]))


def _flows(A: Whole, dual: JointDual) -> Whole:
    """The flow from every class to every other: (k, k)."""
    flows = np.zeros((dual.k, dual.k), dtype=np.int64)
    np.add.at(flows, dual.label, A)
    return flows


def _surplus(A: Whole, dual: JointDual) -> Whole:
    """What leaves each class beyond what arrives: (k,)."""
    flows = _flows(A, dual)
    return np.asarray(flows.sum(axis=1) - flows.sum(axis=0))


def _taken(flows: Whole, surplus: Whole) -> Whole:
    """What to take from each flow (k, k) so that nothing is left of the surplus (k,), as far as there are ways."""
    left, excess = flows.copy(), surplus.copy()
    for p in np.flatnonzero(surplus > 0):
        while excess[p] > 0:
            way = _way(left, int(p), excess < 0)
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


def _way(flows: Whole, start: int, ends: NDArray[np.bool_]) -> list[int] | None:
    """The shortest way from a class to one of the ends along which there is flow."""
    before = {start: start}
    front = [start]
    while front:
        reached = []
        for i in front:
            for j in np.flatnonzero(flows[i]):
                if int(j) in before:
                    continue
                before[int(j)] = i
                if ends[j]:
                    way = [int(j)]
                    while way[-1] != start:
                        way.append(before[way[-1]])
                    return way[::-1]
                reached.append(int(j))
        front = reached
    return None


def _shares(values: IntArray, amount: int) -> Whole:
    """What each of some whole numbers (r,) gives of an amount: a little comes from the largest, more from all."""
    largest = int(values.argmax())
    cut: Whole = np.zeros(len(values), dtype=np.int64)
    if amount <= SMALL * int(values[largest]):
        cut[largest] = amount
        return cut
    cut = np.minimum(np.floor(values * (amount / float(values.sum()))).astype(np.int64), values)
    rest = amount - int(cut.sum())
    while rest > 0:  # rounding in the quotient: a few units a number
        room = values - cut
        most = int(room.argmax())
        step = min(rest, int(room[most]))
        cut[most] += step
        rest -= step
    while rest < 0:
        most = int(cut.argmax())
        step = min(-rest, int(cut[most]))
        cut[most] -= step
        rest += step
    return cut
