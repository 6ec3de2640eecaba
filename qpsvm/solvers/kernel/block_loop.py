"""Run the working-set loop on one block of rows after the other.

A block holds the free rows and those that violate most. The compiled loop runs on its Gram matrix, which fits the
cache: an iteration costs a tenth of one over all rows, and what it changed reaches the others in one product, which
evaluates kernel values several times as fast as row by row, in tiles, and keeps none.

    (KBLOCKS.1)  v_i = max(up_i − b, b − down_i),  b = ½(max up + min down):  by how much a row violates, with
                 the rates up and down of core/c/loop.h
    (KBLOCKS.2)  W = the free rows, and of those with v_i ≥ −δ max v the largest;  on it until max up − min down is a
                 tenth of that over all rows
    (KBLOCKS.3)  u_R + K_RW Δβ_W for the rows R outside

Where all rows react to each other alike, a block undoes what the one before did: then it becomes larger. Given up where
too many rows are free for a block, or too much has been evaluated: the loop over all rows goes on from there.
Sources: Joachims, *Making large-scale SVM learning practical* (1999); Wen et al., *ThunderSVM*, JMLR 19 (2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.libsvm import LoopResult
from qpsvm.space.kernels.blocks import KernelBlocks


@dataclass(frozen=True)
class BlockLoopSettings:
    """Constants of the blocks."""

    #: Rows at first, and a free one; and the most, or this share of all, up to a last most; and never more than half.
    rows: int = 1000
    room: float = 1.5
    most: int = 2000
    share: float = 0.25
    largest: int = 4000
    half: float = 0.5
    #: δ, and what is left of the violation, of (KBLOCKS.2).
    near: float = 0.1
    left: float = 0.1
    #: After so many rounds that have not brought the violation to this share, a block has so many times as many rows.
    patience: int = 5
    gain: float = 0.5
    wider: float = 1.5
    #: Values that may be evaluated, in units of n².
    values: float = 3.0


SETTINGS = BlockLoopSettings()


class BlockLoop:
    """Where the loop stands: β and u, (n,).

    can_continue: Whether blocks are worth going on with.
    """

    def __init__(self, blocks: KernelBlocks, problem: KernelDual, effort: Effort) -> None:
        self.blocks, self.problem, self.effort, self.can_continue = blocks, problem, effort, True
        self.beta = self.u = np.zeros(problem.n)
        n = problem.n
        self._most = int(min(max(SETTINGS.most, min(SETTINGS.share * n, SETTINGS.largest)), SETTINGS.half * n))
        self._rows, self._values, self._lowest, self._rounds = SETTINGS.rows, SETTINGS.values * n * n, np.inf, 0
        self._memory: NDArray[np.floating] | None = None

    def run(self, tol: float, beta: FloatArray, u: FloatArray) -> LoopResult:
        """Run from a feasible β with its u, (n,), until violations are at most tol, time is over, or blocks fail."""
        before, finished = self.effort.iterations, False
        self.beta, self.u = beta.copy(), u.copy()
        while self.can_continue and not self.effort.is_over():
            rows, violation = self._select_block()
            finished = not violation >= tol
            if finished or not len(rows):
                break
            self._solve_block(rows, max(SETTINGS.left * violation, 0.5 * tol))
        return LoopResult(self.problem.make_feasible(self.beta), self.effort.iterations - before, finished, self.u)

    def _select_block(self) -> tuple[IntArray, float]:
        """Return the block (KBLOCKS.2) and the violation of all rows; the block is empty if blocks are given up."""
        problem, beta, g = self.problem, self.beta, self.problem.level - self.u
        tube = problem.tube if problem.has_kink else 0.0
        up = np.where(beta < problem.high, g - np.where(beta < 0.0, -tube, tube), -np.inf)
        down = np.where(beta > problem.low, g + np.where(beta > 0.0, -tube, tube), np.inf)
        most, least = float(up.max()), float(down.min())
        violation, b = most - least, 0.5 * (most + least)
        reach, free = np.maximum(up - b, b - down), problem.find_free(beta)
        count = SETTINGS.room * np.count_nonzero(free)
        self._rounds = 0 if violation <= SETTINGS.gain * self._lowest else self._rounds + 1
        self._lowest = min(self._lowest, violation)
        stuck = self._rounds >= SETTINGS.patience
        self.can_continue = bool(count <= self._most and self._values > 0.0) and not (
            stuck and self._rows >= self._most
        )
        if stuck:
            self._rows, self._rounds = int(SETTINGS.wider * self._rows), 0
        if not self.can_continue or not np.isfinite(violation):
            return np.empty(0, dtype=np.intp), violation
        size = int(min(max(self._rows, count), self._most))
        if beta.any():
            reach[free] = np.inf
            rows = np.flatnonzero(reach > -SETTINGS.near * violation)
        else:  # all violate alike
            generator = np.random.default_rng(0)
            halves = [generator.permutation(np.flatnonzero(side)) for side in (up > b, down < b)]
            rows = np.unique(np.concatenate([half[: size // 2] for half in halves]))
        if len(rows) > size:
            rows = np.sort(rows[np.argpartition(-reach[rows], size)[:size]])
        return rows, violation

    def _solve_block(self, rows: IntArray, tol: float) -> None:
        """The loop on a block, and (KBLOCKS.3)."""
        problem, beta, n = self.problem, self.beta[rows], self.problem.n
        outside = np.ones(n, dtype=bool)
        outside[rows] = False
        others = np.flatnonzero(outside)
        K = self._compute_block(rows)
        found = self.effort.run_loop(problem.restrict(rows, self.beta[others], 1.0), K, tol, beta, self.u[rows])
        change = found.beta - beta
        moved = np.flatnonzero(change)
        self.u[others] += self.blocks.product(rows[moved], change[moved], others, rough=True)
        assert found.u is not None
        self.beta[rows], self.u[rows] = found.beta, found.u
        self._values -= len(moved) * len(others) + 0.5 * len(rows) ** 2

    def _compute_block(self, rows: IntArray) -> NDArray[np.floating]:
        """K of a block, in memory that was touched before: (w, w)."""
        w = len(rows)
        if self._memory is None or self._memory.size < w * w:
            self._memory = np.empty(w * w, dtype=np.float32 if self.blocks.allows_single else np.float64)
        return self.blocks.compute_symmetric(rows, rough=True, out=self._memory[: w * w].reshape(w, w))
