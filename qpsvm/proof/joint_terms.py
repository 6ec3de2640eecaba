"""(JOINT.5) from above and from below, of decision values that are known with a radius.

    (JBOUND.1)  t_ic = 1 − (v_iy + b_y) + (v_ic + b_c) as a sum of two doubles, v = ⟨w, φ(x_i)⟩ with the radii of both
                classes and what is rounded here
    (JBOUND.2)  with a slack for every rival, each (i, c) is a row of the hinge loss, (BOUND.2)
    (JBOUND.3)  with one for all, T_i − t_ic = max(0 − t_ic, max over other rivals of t_ic′ − t_ic, 0): between what the
                ends of the t make of it
    (JBOUND.4)  P − D = ½Σ_c ‖w_c − w_c(α)‖² + Σ g_i + ½Σ_c (b_c − Σ_i β_ic)², the last of penalised intercepts

Sums and steps outwards are those of `proof.terms`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.rounding import UNDERFLOW, UNIT, two_sum
from qpsvm.arrays.types import FloatArray
from qpsvm.proof.joint_dual import FeasibleJoint
from qpsvm.proof.spaces import Values
from qpsvm.proof.terms import IN, OUT, Rows, Sums, straight_terms, total

#: Rows (i, c) that are worked on at a time: they stay in the cache.
AT_A_TIME = 65_536


def summed(point: FeasibleJoint, values: Sequence[Values], b: FloatArray) -> Sums:
    """The terms and losses of all samples.

    Shapes: b (k,).
    """
    program = point.program
    upper, parts = np.empty(program.n), []
    step = max(AT_A_TIME // program.k, 1)
    for start in range(0, program.n, step):
        some = slice(start, min(start + step, program.n))
        t = shortfalls(point, values, b, some)
        prices = program.prices[0][some], program.prices[1][some]
        terms = _shared(point, t, prices, some) if program.shared else _apart(point, t, prices, some)
        losses = _losses(t, prices, program.shared)
        upper[some] = terms[1]
        parts.append([total(ends[k], up=bool(k)) for ends in (terms, losses) for k in (0, 1)])
    sums = np.array(parts).T
    g, losses_of_all = ((max(total(sums[k], up=False), 0.0), total(sums[k + 1], up=True)) for k in (0, 2))
    return Sums(upper, g, losses_of_all)


def shortfalls(
    point: FeasibleJoint, values: Sequence[Values], b: FloatArray, some: slice
) -> tuple[FloatArray, FloatArray]:
    """(JBOUND.1) of some samples from below and from above, (s, k) each; 0 at the own class."""
    dual = point.program.floats
    each, label, own = np.arange(some.stop - some.start), dual.label[some], dual.own[some]
    high, low, radius = (
        np.column_stack([getattr(part, name)[some] for part in values]) for name in ("high", "low", "radius")
    )
    with np.errstate(invalid="ignore", over="ignore"):
        high, error = two_sum(high, np.broadcast_to(b, high.shape))
        size = np.abs(low) + np.abs(error)
        low = low + error
        mine = tuple(part[each, label][:, None] for part in (high, low, radius, size))
        start, first = two_sum(np.ones_like(mine[0]), -mine[0])
        t, second = two_sum(np.broadcast_to(start, high.shape), high)
        size = size + mine[3] + np.abs(first) + np.abs(second)
        rest = low - mine[1] + first + second
        slack = (radius + mine[2] + 16.0 * UNIT * size) * OUT
        slack += 4.0 * UNIT * (np.abs(t) + np.abs(rest)) + 8.0 * UNDERFLOW
        middle = t + rest
        ends = middle - slack, middle + slack
    return np.where(own, 0.0, ends[0]), np.where(own, 0.0, ends[1])


def _apart(
    point: FeasibleJoint, t: tuple[FloatArray, FloatArray], prices: tuple[FloatArray, FloatArray], some: slice
) -> tuple[FloatArray, FloatArray]:
    """(JBOUND.2) of some samples from below and from above: (s,) each."""
    alpha, k = point.alpha[some].ravel(), point.program.k
    nothing = np.zeros(1)
    rows = Rows((alpha, alpha), (np.repeat(prices[0], k), np.repeat(prices[1], k)), (nothing, nothing))
    high, low = straight_terms(rows, (t[0].ravel(), t[1].ravel()))
    return low.reshape(-1, k).sum(axis=1) * IN**k, high.reshape(-1, k).sum(axis=1) * OUT**k


def _shared(
    point: FeasibleJoint, t: tuple[FloatArray, FloatArray], prices: tuple[FloatArray, FloatArray], some: slice
) -> tuple[FloatArray, FloatArray]:
    """(JBOUND.3) of some samples from below and from above: (s,) each."""
    alpha, own = point.alpha[some], point.program.floats.own[some]
    taken, k = alpha.sum(axis=1), point.program.k  # exact, (JFEAS.1)
    with np.errstate(invalid="ignore", over="ignore"):
        below, above = (np.maximum(end.max(axis=1), 0.0) for end in t)  # T: of the own class t is 0
        beyond = np.maximum(_others(t[1], own), 0.0) - t[0]
        short = np.maximum(np.maximum(_others(t[0], own), 0.0) - t[1], 0.0)
        high = np.where(alpha > 0.0, alpha * np.maximum(beyond, 0.0), 0.0).sum(axis=1) * OUT**k
        low = (alpha * short).sum(axis=1) * IN**k
        room = np.maximum(prices[1] - taken, 0.0), np.maximum(prices[0] - taken, 0.0)
        high = (high + np.where(room[0] > 0.0, room[0] * above, 0.0)) * OUT + (k + 2) * UNDERFLOW
        low = (low + np.where(room[1] > 0.0, room[1] * below, 0.0)) * IN - (k + 2) * UNDERFLOW
    unknown = np.isnan(t[0]).any(axis=1) | np.isnan(t[1]).any(axis=1)
    return np.fmax(low, 0.0), np.where(unknown, np.inf, high)


def _others(t: FloatArray, own: NDArray[np.bool_]) -> FloatArray:
    """The largest t of the rivals but one, for each of them: (s, k); −∞ where there is no other."""
    each, reach = np.arange(len(t)), np.where(own, -np.inf, t)
    first = reach.argmax(axis=1)
    highest = reach[each, first]
    reach[each, first] = -np.inf
    found: FloatArray = np.where(np.arange(t.shape[1]) == first[:, None], reach.max(axis=1)[:, None], highest[:, None])
    return found


def _losses(
    t: tuple[FloatArray, FloatArray], prices: tuple[FloatArray, FloatArray], shared: bool
) -> tuple[FloatArray, FloatArray]:
    """L of (JOINT.2) of some samples from below and from above: (s,) each."""
    k = t[0].shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        short = [np.maximum(end, 0.0) for end in t]
        low, high = (end.max(axis=1) if shared else end.sum(axis=1) for end in short)
        low, high = prices[0] * low * IN**k - UNDERFLOW, prices[1] * high * OUT**k + UNDERFLOW
    return np.fmax(low, 0.0), high
