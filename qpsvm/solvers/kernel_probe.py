"""A cheap look at a kernel SVM: solve a stratified subsample, and see how the other rows lie to it.

What it tells decides the engine, and its decision function says which rows will matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays import FloatArray, IntArray
from qpsvm.solvers.kernel_blocks import KernelBlocks
from qpsvm.solvers.kernel_dual import HingeDual
from qpsvm.solvers.kernel_working_set import Effort

#: Tolerance of the loop on the subsample, in units of the margin: its own error is far larger.
PROBE_TOL = 1e-2
#: Unseen rows to look at: a share of ten per cent is known to two.
UNSEEN = 300


@dataclass(frozen=True, eq=False)
class Probe:
    """A solved subsample.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
    beta : ndarray, shape (m,)
    b : float
    support, free : float
        Shares of the subsample with α > 0, and with 0 < α < C.
    supporting : float
        Share of rows with s > 0 among some that the subsample has not seen: what share of all will support.
    iterations : float
        Of the loop, a row.
    """

    rows: IntArray
    beta: FloatArray
    b: float
    support: float
    free: float
    supporting: float
    iterations: float

    def slack(self, blocks: KernelBlocks, problem: HingeDual) -> FloatArray:
        """s of every row at the subsample's decision function, rough: (n,)."""
        index = np.flatnonzero(self.beta)
        u = blocks.product(self.rows[index], self.beta[index], np.arange(problem.n), rough=True)
        slack: FloatArray = 1.0 - problem.y * (u + self.b)
        return slack


def stratified_order(y: FloatArray, seed: int = 0) -> IntArray:
    """A random order of the rows of which every beginning holds both classes in proportion: (n,)."""
    rng = np.random.default_rng(seed)
    key = np.empty(len(y))
    for sign in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero(y == sign))
        key[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(key, kind="stable")


def probe(
    blocks: KernelBlocks, problem: HingeDual, rows: IntArray, unseen: IntArray, effort: Effort
) -> Probe | None:
    """Solve a subsample and look at some unseen rows; None where it holds one class only."""
    part = problem.restricted(rows)
    if not 0 < part.positives < part.n:
        return None
    K, before = blocks.symmetric(rows), effort.iterations
    beta = effort.loop(part, K, PROBE_TOL)
    support = beta != 0
    edge = 1e-9 * part.upper
    free = support & (np.abs(beta) < part.upper - edge)
    b, index = part.intercept(K @ beta), np.flatnonzero(beta)
    predicted = blocks.product(rows[index], beta[index], unseen, rough=True) + b
    return Probe(
        rows, beta, b, float(support.mean()), float(free.mean()),
        float((problem.y[unseen] * predicted < 1.0).mean()), (effort.iterations - before) / len(rows),
    )
