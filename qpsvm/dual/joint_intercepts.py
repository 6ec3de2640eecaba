"""The intercepts of a joint machine with a free intercept, for given values of ⟨w_c, φ(x_i)⟩.

Any b gives a primal point; the best one minimises Σ_i L_i of (JOINT.2), a convex piecewise linear function of k numbers
of which only the differences matter.

    (JB.1)  rows with 0 < α_ic < C_i have t_ic = 0, (JOINT.6), so that b_y − b_c is known; where the slack is shared and
            Σ_c α_ic = C_i, the t_ic with α_ic > 0 are equal. The b nearest to all that is a least-squares problem
    (JB.2)  for one b_c, the others held:  Σ_i L_i is convex and piecewise linear, and its slope changes by C_i at one
            point of each row; the best b_c is where it passes 0
    (JB.3)  Σ_c b_c = 0, which nothing else depends on
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.joint import JointDual

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
