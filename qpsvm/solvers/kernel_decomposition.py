"""LIBSVM's loop on a growing working set: the rows that a subsample's decision function points to, then what violates.

    (KGROW.1)  W = {s_i > −r} by the subsample's s; of the rows with s_i ≤ 0 at most as many as `ROOM` allows
    (KGROW.2)  solve W by the loop on K_WW, in single precision
    (KGROW.3)  rows outside with s_i > −`LOOKAHEAD` join W, as long as more than a few violate

The loop's matrix is single precision anyway, so K_WW is made so too; what is certified is made afresh, in double
precision, on the support alone (`WorkingSet`). Source: chunking, Osuna, Freund & Girosi (1997), with a warm prediction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays import FloatArray, IntArray
from qpsvm.solvers.kernel_blocks import KernelBlocks
from qpsvm.solvers.kernel_dual import HingeDual
from qpsvm.solvers.kernel_probe import Probe
from qpsvm.solvers.kernel_working_set import LOOP_TOL, MANY_JOIN, MANY_JOIN_SHARE, ROUNDS, Effort

#: r of (KGROW.1), and how far inside their right side rows join later.
REACH, LOOKAHEAD = 0.3, 0.1
#: Rows on their right side that W may hold: a number, and a multiple of the others.
ROOM, ROOM_SHARE = 150, 0.2
#: Share of rows in W from which all are taken.
WHOLE_SHARE = 0.85
#: Tolerance of the loop while W is still growing, in units of the margin.
GROWING_TOL = 1e-2


def first_rows(slack: FloatArray, reach: float) -> NDArray[np.bool_]:
    """(KGROW.1): a mask, (n,)."""
    inside = slack > -reach
    right_side = np.flatnonzero(inside & (slack <= 0))
    room = int(ROOM + ROOM_SHARE * np.count_nonzero(slack > 0))
    if len(right_side) > room:
        order = np.argpartition(-slack[right_side], room)
        inside[right_side[order[room:]]] = False
    return inside


def growing_set(
    blocks: KernelBlocks, problem: HingeDual, look: Probe, effort: Effort
) -> tuple[FloatArray, FloatArray]:
    """Solve to the loop's own tolerance: β and a rough u = Kβ, (n,) each."""
    n = problem.n
    inside = first_rows(look.slack(blocks, problem), REACH)
    inside[look.rows[look.beta != 0]] = True
    rows: IntArray = np.flatnonzero(inside) if inside.mean() < WHOLE_SHARE else np.arange(n)
    K = blocks.rough_symmetric(rows)
    tol = GROWING_TOL if len(rows) < n else LOOP_TOL
    for turn in range(ROUNDS):
        part = problem.restricted(rows)
        beta, u = np.zeros(n), np.empty(n)
        beta[rows] = effort.loop(part, K, tol)  # (KGROW.2)
        u[rows] = K @ beta[rows]
        outside = np.setdiff1d(np.arange(n), rows, assume_unique=True)
        support = np.flatnonzero(beta)
        u[outside] = blocks.product(support, beta[support], outside, rough=True)
        slack = 1.0 - problem.y[outside] * (u[outside] + part.intercept(u[rows]))
        violators = int(np.count_nonzero(slack > tol))
        effort.report("growing set", len(rows), np.inf)
        few = violators <= max(MANY_JOIN, MANY_JOIN_SHARE * len(rows))
        if (few and tol == LOOP_TOL) or effort.late() or effort.exhausted() or turn == ROUNDS - 1:
            break
        added = outside[first_rows(slack, LOOKAHEAD)] if violators else outside[:0]
        K = blocks.grown(K, rows, added, rough=True)
        rows, tol = np.concatenate([rows, added]), LOOP_TOL
    return beta, u
