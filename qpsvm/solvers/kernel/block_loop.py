"""Run the working-set loop on one block of rows after the other.

A block of `BlockLoop` holds the free rows and those that violate most. The compiled loop runs on its Gram matrix, which
fits the cache: an iteration costs a tenth of one over all rows. One product then updates u of the other rows; in tiles
it evaluates kernel values several times as fast as row by row, and it stores none.

    (KBLOCKS.1)  v_i = max(up_i − b, b − down_i),  b = ½(max up + min down):  by how much a row violates, with
                 the rates up and down of core/c/loop.h
    (KBLOCKS.2)  W = the free rows, and of those with v_i ≥ −δ max v the largest;  on it until max up − min down is a
                 tenth of that over all rows
    (KBLOCKS.3)  u_R + K_RW Δβ_W for the rows R outside

If all rows influence each other equally, a block undoes the changes of the previous one: then blocks become larger.
Blocks are given up if too many rows are free, or too many kernel values have been evaluated: the loop over all rows
resumes from the last point.
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
from qpsvm.space.kernels.gram_blocks import GramBlocks


@dataclass(frozen=True)
class BlockLoopSettings:
    """Constants of the blocks."""

    #: Initial size of a block, and rows per free row.
    rows: int = 1000
    rows_per_free_row: float = 1.5
    #: Limits of the size: a number of rows, and a share of all rows.
    max_rows: int = 2000
    max_share: float = 0.5
    #: δ of (KBLOCKS.2), and the share of the violation at which a block is left.
    delta: float = 0.1
    remaining_violation: float = 0.1
    #: After `patience` rounds that have not reduced the violation to the share `gain`, blocks grow by this factor.
    patience: int = 5
    gain: float = 0.5
    growth: float = 1.5
    #: Limit of the kernel values that are evaluated, in units of n².
    max_values: float = 3.0


SETTINGS = BlockLoopSettings()


class BlockLoop:
    """State of the loop: β and u, (n,).

    can_continue: Whether blocks still pay.
    """

    def __init__(self, blocks: GramBlocks, problem: KernelDual, effort: Effort) -> None:
        self.blocks = blocks
        self.problem = problem
        self.effort = effort
        self.can_continue = True
        self.beta = self.u = np.zeros(problem.n)
        n = problem.n
        self._max_rows = int(min(SETTINGS.max_rows, SETTINGS.max_share * n))
        self._rows = SETTINGS.rows
        self._remaining_values = SETTINGS.max_values * n * n
        self._lowest_violation = np.inf
        self._rounds_without_gain = 0
        self._buffer: NDArray[np.floating] | None = None

    def run(self, tol: float, beta: FloatArray, u: FloatArray) -> LoopResult:
        """Run from a feasible β with its u, (n,), until violations are at most tol, time is over, or blocks fail."""
        first_iteration = self.effort.iterations
        converged = False
        self.beta, self.u = beta.copy(), u.copy()
        while self.can_continue and not self.effort.is_over():
            rows, violation = self._select_block()
            converged = not violation >= tol
            if converged or not len(rows):
                break
            self._solve_block(rows, max(SETTINGS.remaining_violation * violation, 0.5 * tol))
        return LoopResult(
            self.problem.make_feasible(self.beta), self.effort.iterations - first_iteration, converged, self.u
        )

    def _select_block(self) -> tuple[IntArray, float]:
        """Return the block (KBLOCKS.2) and the violation of all rows; the block is empty if blocks are given up."""
        problem = self.problem
        beta = self.beta
        g = problem.level - self.u
        tube = problem.tube if problem.has_kink else 0.0
        up = np.where(beta < problem.high, g - np.where(beta < 0.0, -tube, tube), -np.inf)
        down = np.where(beta > problem.low, g + np.where(beta > 0.0, -tube, tube), np.inf)
        max_up, min_down = float(up.max()), float(down.min())
        violation = max_up - min_down
        b = 0.5 * (max_up + min_down)
        row_violation = np.maximum(up - b, b - down)
        free = problem.find_free(beta)
        needed_rows = SETTINGS.rows_per_free_row * np.count_nonzero(free)
        if violation <= SETTINGS.gain * self._lowest_violation:
            self._rounds_without_gain = 0
        else:
            self._rounds_without_gain += 1
        self._lowest_violation = min(self._lowest_violation, violation)
        is_stuck = self._rounds_without_gain >= SETTINGS.patience
        self.can_continue = bool(needed_rows <= self._max_rows and self._remaining_values > 0.0) and not (
            is_stuck and self._rows >= self._max_rows
        )
        if is_stuck:
            self._rows = int(SETTINGS.growth * self._rows)
            self._rounds_without_gain = 0
        if not self.can_continue or not np.isfinite(violation):
            return np.empty(0, dtype=np.intp), violation
        size = int(min(max(self._rows, needed_rows), self._max_rows))
        if beta.any():
            row_violation[free] = np.inf
            rows = np.flatnonzero(row_violation > -SETTINGS.delta * violation)
        else:  # at β = 0 the violations say little: take a random half from each side
            generator = np.random.default_rng(0)
            halves = [generator.permutation(np.flatnonzero(side)) for side in (up > b, down < b)]
            rows = np.unique(np.concatenate([half[: size // 2] for half in halves]))
        if len(rows) > size:
            rows = np.sort(rows[np.argpartition(-row_violation[rows], size)[:size]])
        return rows, violation

    def _solve_block(self, rows: IntArray, tol: float) -> None:
        """Run the loop on a block, then update u outside, (KBLOCKS.3)."""
        problem = self.problem
        beta = self.beta[rows]
        n = problem.n
        is_outside = np.ones(n, dtype=bool)
        is_outside[rows] = False
        outside_rows = np.flatnonzero(is_outside)
        K = self._compute_block(rows)
        result = self.effort.run_loop(problem.restrict(rows, self.beta[outside_rows], 1.0), K, tol, beta, self.u[rows])
        change = result.beta - beta
        changed = np.flatnonzero(change)
        self.u[outside_rows] += self.blocks.compute_product(rows[changed], change[changed], outside_rows, rough=True)
        assert result.u is not None
        self.beta[rows], self.u[rows] = result.beta, result.u
        self._remaining_values -= len(changed) * len(outside_rows) + 0.5 * len(rows) ** 2

    def _compute_block(self, rows: IntArray) -> NDArray[np.floating]:
        """Compute K of a block in a reused buffer: (w, w)."""
        w = len(rows)
        if self._buffer is None or self._buffer.size < w * w:
            self._buffer = np.empty(w * w, dtype=np.float32 if self.blocks.allows_single else np.float64)
        return self.blocks.compute_symmetric(rows, rough=True, out=self._buffer[: w * w].reshape(w, w))
