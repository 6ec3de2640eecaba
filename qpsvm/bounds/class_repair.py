"""Repair α of an all-in-one machine exactly (`repair_classes`).

Every repaired α is an integer multiple of one power of 2, chosen so that sums of them are exact. So the bounds, the
sums over classes, β and the balance of every class hold exactly, and certificates need no allowance for them.

    (JREPAIR.1)  α ≥ 0, then α_ic ≤ C_i; or with a shared slack, the nearest point with Σ_c α_ic ≤ C_i
    (JREPAIR.2)  α = g·A,  A integer,  g a power of 2 with Σ_c A_ic < 2⁵³ for every sample, and over all samples < 2⁶²
    (JREPAIR.3)  a free intercept:  α_ic is a flow from class y_i to class c, and the outflow of each class has to equal
                 its inflow. If class p has too much outflow and q too much inflow, there is a path from p to q with
                 positive flow, from which the smaller of both surpluses is subtracted, as far as its flow permits

(JREPAIR.3) always ends: a flow is a circulation plus paths from classes with too much outflow to classes with too much
inflow (flow decomposition; Ahuja, Magnanti & Orlin, *Network flows* (1993), section 3.5). It subtracts from free rows
first, so that rows at a bound stay there if possible.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.all_in_one import AllInOneDual

#: Bits of the sum of integers of one sample, and of all samples.
SAMPLE_BITS, ALL_BITS = 52, 61
#: Relative distance from a bound that counts as rounding.
NEAR = 8 * EPS
#: Larger numbers are replaced by this one: sums over any number of rows stay finite.
LARGEST = 1e290
#: All floats are multiples of 2 to this power.
LEAST_EXPONENT = -1074
#: Amounts up to this share of the largest flow are subtracted from one row; larger ones from all rows, in proportion.
SMALL = 1e-6

Integers = NDArray[np.int64]


def repair_classes(dual: AllInOneDual, alpha: FloatArray) -> FloatArray:
    """Return a feasible α near any (n, k) numbers, exact in the sense of (JREPAIR.2)."""
    a = np.clip(np.nan_to_num(alpha, nan=0.0, posinf=LARGEST), 0.0, LARGEST)
    a[dual.own_class_mask] = 0.0
    caps = dual.upper[:, None]
    a = _cap_row_sums(a, dual) if dual.has_shared_slack else np.where(a >= caps * (1.0 - NEAR), caps, a)  # (JREPAIR.1)
    sums = a.sum(axis=1)
    free = dual.intercept == "free"
    unit = _unit(sums, free)
    A: Integers = np.floor(a / unit).astype(np.int64)  # (JREPAIR.2)
    with np.errstate(over="ignore"):
        max_units = np.minimum(np.floor(dual.upper / unit[:, 0]), 2.0**62).astype(np.int64)
    if dual.has_shared_slack:  # the sum of a was rounded
        excess = np.maximum(A.sum(axis=1) - max_units, 0)
        A[np.arange(dual.n), A.argmax(axis=1)] -= excess
    else:
        A = np.minimum(A, max_units[:, None])
    if free:
        _balance(A, max_units, dual)
    return A * unit


def _cap_row_sums(a: FloatArray, dual: AllInOneDual) -> FloatArray:
    """Return the nearest α ≥ 0 with Σ_c α_ic ≤ C_i, (JREPAIR.1): (n, k), with 0 for the class of each sample."""
    sums = a.sum(axis=1)
    too_large = np.flatnonzero(sums > dual.upper)
    if len(too_large):
        a = a.copy()
        a[too_large] = project_on_simplex(a[too_large], dual.upper[too_large])
    almost_full = (sums < dual.upper) & (sums >= dual.upper * (1.0 - NEAR))
    if almost_full.any():
        a = a.copy()
        a[almost_full] *= (dual.upper[almost_full] / sums[almost_full])[:, None]
    return a


def project_on_simplex(a: FloatArray, mass: FloatArray) -> FloatArray:
    """Project each row of a (r, k) on {x ≥ 0, Σx = mass}, mass (r,): max(a − θ, 0), with θ found by sorting."""
    ordered = -np.sort(-a, axis=1)
    levels = (np.cumsum(ordered, axis=1) - mass[:, None]) / np.arange(1, a.shape[1] + 1)
    last = np.maximum((ordered > levels).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(a - levels[np.arange(len(a)), last][:, None], 0.0))


def _unit(sums: FloatArray, free: bool) -> FloatArray:
    """Return g of (JREPAIR.2), (n, 1); the same for all samples if the intercept is free."""
    if not free:
        exponents = np.frexp(sums)[1] - SAMPLE_BITS
        return np.asarray(np.ldexp(1.0, np.maximum(exponents, LEAST_EXPONENT)))[:, None]
    exponent = math.frexp(float(sums.max()))[1] - SAMPLE_BITS
    exponent = max(exponent, math.frexp(float(sums.sum()))[1] - ALL_BITS, LEAST_EXPONENT)
    return np.full((len(sums), 1), math.ldexp(1.0, exponent))


def _balance(A: Integers, max_units: Integers, dual: AllInOneDual) -> None:
    """Balance the flows of all classes in place, (JREPAIR.3)."""
    if dual.has_shared_slack:
        full = (A.sum(axis=1) >= max_units)[:, None]
    else:
        full = max_units[:, None] <= A
    for givers in (~full & (A > 0), A > 0):
        cancelled = _cancel_surplus(_flows(np.where(givers, A, 0), dual), _surplus(A, dual))
        for p, c in np.argwhere(cancelled):
            rows = np.flatnonzero((dual.label == p) & givers[:, c])
            A[rows, c] -= _shares(A[rows, c], int(cancelled[p, c]))


def _flows(A: Integers, dual: AllInOneDual) -> Integers:
    """Return the flow from every class to every other: (k, k)."""
    flows = np.zeros((dual.k, dual.k), dtype=np.int64)
    np.add.at(flows, dual.label, A)
    return flows


def _surplus(A: Integers, dual: AllInOneDual) -> Integers:
    """Return the flow out of each class minus the flow into it: (k,)."""
    flows = _flows(A, dual)
    return np.asarray(flows.sum(axis=1) - flows.sum(axis=0))


def _cancel_surplus(flows: Integers, surplus: Integers) -> Integers:
    """Return the amounts to subtract from each flow (k, k) to cancel the surplus (k,), as far as paths exist."""
    remaining, excess = flows.copy(), surplus.copy()
    for p in np.flatnonzero(surplus > 0):
        while excess[p] > 0:
            path = _find_path(remaining, int(p), excess < 0)
            if path is None:
                break
            amount = min(int(excess[p]), -int(excess[path[-1]]), *(int(remaining[i, j]) for i, j in _steps(path)))
            for i, j in _steps(path):
                remaining[i, j] -= amount
            excess[p] -= amount
            excess[path[-1]] += amount
    return np.asarray(flows - remaining)


def _steps(path: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(path))


def _find_path(flows: Integers, start: int, ends: NDArray[np.bool_]) -> list[int] | None:
    """Return the shortest path with positive flow from a class to one of the ends, a mask (k,); None without one."""
    from scipy.sparse.csgraph import breadth_first_order

    order, predecessors = breadth_first_order(sp.csr_array(flows > 0), start)
    path = order[ends[order]][:1].tolist()
    while path and path[-1] != start:
        path.append(int(predecessors[path[-1]]))
    return path[::-1] or None


def _shares(values: IntArray, amount: int) -> Integers:
    """Split an amount over integers (r,): a small amount comes from the largest one, a larger amount from all."""
    index_of_largest = int(values.argmax())
    cut: Integers = np.zeros(len(values), dtype=np.int64)
    if amount <= SMALL * int(values[index_of_largest]):
        cut[index_of_largest] = amount
        return cut
    cut = np.minimum(np.floor(values * (amount / float(values.sum()))).astype(np.int64), values)
    remainder = amount - int(cut.sum())  # rounding of the quotients: a few units per number
    for capacity, sign in ((values - cut, 1), (cut.copy(), -1)):
        cut += sign * np.clip(max(sign * remainder, 0) - (np.cumsum(capacity) - capacity), 0, capacity)
    return cut
