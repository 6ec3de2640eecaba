"""From an approximate α of a joint machine to the exact split of its rows, and from there to full precision.

The split says of every row whether α_ic is 0, free or at its bound, and of every sample whose rivals share a slack
whether Σ_c α_ic = C_i. With it known, the optimum is one linear system. A free variable v moves β of its sample i by
+1 at a class p and −1 at a class q:

    (JPOL.1)  (p, q) = (y, c) for a free row;  where Σ_c α_ic = C_i, the largest α of it makes up for the others,
              (p, q) = (that rival, c)
    (JPOL.2)  Σ_v′ K_ii′ (e_p − e_q)ᵀ(e_p′ − e_q′) δ_v′ + b_p − b_q = r_v − ⟨w_p − w_q, φ(x_i)⟩,  r_v = ℓ or 0,
              and the balance of every class, as in (POL.1)
    (JPOL.3)  the split is predicted from a step of projected gradient, α + τt, as in (POL.2)

Each round ends in a certificate, so that a wrong split can never make the answer worse. Sources: as for `polish`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.progress import Clock
from qpsvm.bounds.all_in_one_certificate import JointPoint
from qpsvm.bounds.all_in_one_repair import capped
from qpsvm.bounds.polish import bordered_solve
from qpsvm.program.all_in_one import JointDual
from qpsvm.space.operators import Operator

#: Rounds of (JPOL.2) for each step length, and how often variables that leave their bounds are held in one round.
ROUNDS, HOLDS = 15, 8
#: A measured gap below this is rounding; below the second one the split is right.
FINISHED, POLISHED = 1e-13, 1e-10
#: Most free variables of one system, and seconds of its solution in units of their third power.
MOST_FREE, SOLVE_SECONDS = 5000, 4e-11

Mask = NDArray[np.bool_]


def polish(
    gram: Operator,
    dual: JointDual,
    start: JointPoint,
    certify: Callable[[FloatArray], JointPoint],
    clock: Clock,
    lengths: int | None = None,
) -> JointPoint:
    """The best point that splits of the rows lead to, `start` included.

    Shapes: gram (n, n).
    """
    best = start
    for tau in list(_step_lengths(gram, dual))[:lengths]:
        best = _rounds(gram, dual, start, best, certify, tau, clock)
        if best.measured <= POLISHED or clock.stopped():
            break
    return best


def _step_lengths(gram: Operator, dual: JointDual) -> Iterator[FloatArray]:
    """The τ of (JPOL.3), (n,)."""
    curvature = 2.0 * gram.diagonal()
    curvature = np.maximum(curvature, max(1e-6 * float(curvature.mean()), np.finfo(float).tiny))
    yield 1.0 / curvature
    yield dual.upper
    yield np.sqrt(dual.upper / curvature)
    yield 100.0 / curvature
    yield np.zeros(dual.n)


def _rounds(
    gram: Operator,
    dual: JointDual,
    start: JointPoint,
    best: JointPoint,
    certify: Callable[[FloatArray], JointPoint],
    tau: FloatArray,
    clock: Clock,
) -> JointPoint:
    point, seen = start, set[bytes]()
    for _ in range(ROUNDS):
        if clock.stopped() or not np.isfinite(point.missing).all():
            break
        split = _split(dual, point.alpha + tau[:, None] * point.missing)
        key = split.tobytes()
        repeated = key in seen
        seen.add(key)
        alpha = _solved(gram, dual, point.alpha, split, clock)
        if alpha is None:
            break
        point = certify(alpha)
        if point.measured < best.measured:
            best = point
        elif repeated:
            break
        if best.measured <= FINISHED:
            break
    return best


def _split(dual: JointDual, predicted: FloatArray) -> NDArray[np.int8]:
    """0 zero, 1 free, 2 at the bound: (n, k); of a shared slack, 2 at the own class says that Σ_c α_ic = C_i."""
    v = np.where(dual.own, 0.0, np.maximum(predicted, 0.0))
    if not dual.shared:
        return np.where(v <= 0.0, 0, np.where(v >= dual.upper[:, None], 2, 1)).astype(np.int8)
    full = v.sum(axis=1) >= dual.upper
    if full.any():
        v[full] = capped(v[full], dual.upper[full])
        v[dual.own] = 0.0
    split = (v > 0.0).astype(np.int8)
    split[np.flatnonzero(full), dual.label[full]] = 2
    return split


def _solved(
    gram: Operator, dual: JointDual, alpha: FloatArray, split: NDArray[np.int8], clock: Clock
) -> FloatArray | None:
    """(JPOL.2) for a split, with what it takes out of its bounds held there; None where it has no solution."""
    found: FloatArray | None = alpha
    for _ in range(HOLDS):
        found = _free_solved(gram, dual, alpha, split, clock)
        if found is None:
            return None
        held = _held(dual, found, split)
        if held is None:
            break
        split = held
    return found


def _held(dual: JointDual, found: FloatArray, split: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """The split with whatever left its bounds put there; None where nothing did."""
    below = (found < 0.0) & ~dual.own
    if not dual.shared:
        above = found > dual.upper[:, None]
        if not (below.any() or above.any()):
            return None
        return np.where(below, 0, np.where(above, 2, split)).astype(np.int8)
    full = split[np.arange(dual.n), dual.label] == 2
    over = ~full & (np.maximum(found, 0.0).sum(axis=1) > dual.upper)
    if not (below.any() or over.any()):
        return None
    held = np.where(below, 0, split).astype(np.int8)
    held[np.flatnonzero(over), dual.label[over]] = 2
    return held


def _free_solved(
    gram: Operator, dual: JointDual, alpha: FloatArray, split: NDArray[np.int8], clock: Clock
) -> FloatArray | None:
    """The solution of (JPOL.2), wherever it lies."""
    snapped, sample, p, q, wanted = _variables(dual, alpha, split)
    m = len(sample)
    if not m:
        return snapped
    if m > MOST_FREE or SOLVE_SECONDS * m**3 > clock.left:
        return None
    rows, place = np.unique(sample, return_inverse=True)
    beta = dual.beta(snapped)
    u = np.asarray(gram @ beta)
    residual = wanted - (u[sample, p] - u[sample, q])
    E = np.zeros((m, dual.k))
    E[np.arange(m), p] = 1.0
    E[np.arange(m), q] -= 1.0
    K = gram.block(rows, rows)
    if dual.intercept == "free":  # a constant changes b alone; a sample at the centre has K_ii = 0 without it
        K = K + float(K.diagonal().mean())
    Q = K[np.ix_(place, place)] * (E @ E.T)  # (JPOL.2)
    if dual.intercept is None:
        E = E[:, :0]
    ridge = np.full(E.shape[1], 1.0 if dual.intercept == "penalised" else 0.0)
    step = bordered_solve(Q, E, ridge, residual, -beta.sum(axis=0)[: E.shape[1]])
    if step is None or not np.isfinite(step).all():
        return None
    out = snapped.copy()
    np.add.at(out, (sample, q), step)
    other = p != dual.label[sample]
    np.add.at(out, (sample[other], p[other]), -step[other])
    return out


def _variables(
    dual: JointDual, alpha: FloatArray, split: NDArray[np.int8]
) -> tuple[FloatArray, IntArray, IntArray, IntArray, FloatArray]:
    """α with all but the free rows where the split has them, and the variables of (JPOL.1): i, p, q and r_v."""
    each = np.arange(dual.n)
    free: Mask = (split == 1) & ~dual.own
    snapped = np.where(free, alpha, 0.0)
    if not dual.shared:
        snapped = np.where((split == 2) & ~dual.own, dual.upper[:, None], snapped)
        sample, q = np.nonzero(free)
        return snapped, sample, dual.label[sample], q, np.full(len(sample), dual.level)
    full = np.flatnonzero((split[each, dual.label] == 2) & free.any(axis=1))
    largest = np.where(free, alpha, -np.inf).argmax(axis=1)
    snapped[full, largest[full]] = 0.0
    snapped[full, largest[full]] = dual.upper[full] - snapped[full].sum(axis=1)
    variable = free.copy()
    variable[full, largest[full]] = False
    sample, q = np.nonzero(variable)
    is_full = np.zeros(dual.n, dtype=bool)
    is_full[full] = True
    capped_row = is_full[sample]
    p = np.where(capped_row, largest[sample], dual.label[sample])
    return snapped, sample, p, q, np.where(capped_row, 0.0, dual.level)
