"""Compute Newton steps of the augmented Lagrangian, (ALM.4), by one of three methods (`choose_newton_system`).

    (NEWTON.1)  H ΔW = −q,  H = R + Z_JᵀDZ_J,  R = diag(1, …, 1, r) with r = 0 where the intercept is free
    (NEWTON.2)  (Z_JZ_Jᵀ + D⁻¹) u = −Z_J q + eΔb,  ΔW = −q − Z_Jᵀu,  with u = D Z_J ΔW (|J|,)
                r = 1: leave eΔb out;  r = 0: e is the last column of Z_J, and Δb makes eᵀu = −q_b

q is the gradient, J are the free rows, and D is diagonal, with the slopes of their α (`MultiplierResponse.slope`): σ if
losses are piecewise linear. The method depends on the smaller dimension of Z_J:

- few columns: Cholesky of H, with a ridge relative to its diagonal, so that the units of the features do not matter.
  Z_JᵀZ_J is cached, and updated by the rows that enter or leave J; if D differs by row, Z_JᵀDZ_J while D is the same.
- few free rows: Cholesky of the matrix of (NEWTON.2).
- else conjugate gradients, preconditioned by the diagonal of H, only as exact as an outer step needs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.losses import PerRow, take_rows
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows
from qpsvm.solvers.linear.row_problem import compute_mean
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.shared.cholesky import Cholesky

Mask = NDArray[np.bool_]


class NewtonSystem(Protocol):
    """Solver of (NEWTON.1) at successive points; `free_count` is |J| of the last step."""

    free_count: int

    def step(self, free: Mask, slope: PerRow, q: FloatArray, W: FloatArray) -> FloatArray:
        """Return ΔW (d + 1,) for J as a mask (n,), the slopes of all rows, q (d + 1,) and W (d + 1,)."""

    def reset_cache(self) -> None:
        """Clear the cache of earlier steps, in which rounding errors accumulate."""


def choose_newton_system(rows: LabelScaledRows, ridge: FloatArray) -> NewtonSystem:
    """Choose the method for (NEWTON.1) with these rows and R = diag(ridge), (d + 1,)."""
    if rows.d <= min(SETTINGS.max_factored_columns, rows.n):
        return CholeskyNewton(rows, ridge)
    return WideNewton(rows, ridge)


class CholeskyNewton:
    """Solver for few columns, by Cholesky factors of H."""

    def __init__(self, rows: LabelScaledRows, ridge: FloatArray) -> None:
        self._rows, self._ridge = rows, ridge
        self._gram: FloatArray | None = None  # Z_JᵀZ_J or Z_JᵀDZ_J, for J = `_gram_rows` and D = diag(`_weights`)
        self._gram_rows: Mask | None = None
        self._weights: FloatArray | None = None
        self.free_count = 0

    def reset_cache(self) -> None:
        """Clear Z_JᵀZ_J, so that the next step computes it from the rows."""
        self._gram = None

    def step(self, free: Mask, slope: PerRow, q: FloatArray, W: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return ΔW by Cholesky."""
        factor, weights = (slope, None) if isinstance(slope, float) else (1.0, slope)
        H = factor * self._update_gram(free, weights)
        self.free_count = int(np.count_nonzero(free))
        diagonal = H.diagonal() + self._ridge
        if self._ridge[-1] == 0.0:
            mean_slope = 0.0 if diagonal[-1] > 0.0 else compute_mean(slope)
            diagonal[-1] += mean_slope or SETTINGS.intercept_share * diagonal[-1]
        H.flat[:: len(q) + 1] = diagonal
        return Cholesky(H, SETTINGS.min_ridge).solve(-q)

    def _update_gram(self, free: Mask, weights: FloatArray | None) -> FloatArray:
        """Return Z_JᵀZ_J, or Z_JᵀDZ_J for D = diag(weights), (n,): (d + 1, d + 1)."""
        size = int(np.count_nonzero(free))
        if self._gram is not None and self._gram_rows is not None and self._weights is weights:
            entering = np.flatnonzero(free & ~self._gram_rows)
            leaving = np.flatnonzero(self._gram_rows & ~free)
            if len(entering) + len(leaving) < size:
                if len(entering):
                    self._gram += self._rows.gram(entering, _take_weights(weights, entering))
                if len(leaving):
                    self._gram -= self._rows.gram(leaving, _take_weights(weights, leaving))
                self._gram_rows = free
                return self._gram
        index = np.flatnonzero(free)
        self._gram = self._rows.gram(index, _take_weights(weights, index))
        self._gram_rows, self._weights = free, weights
        return self._gram


class WideNewton:
    """Solver for many columns: Cholesky of (NEWTON.2) if few rows are free, else conjugate gradients.

    Z_PZ_Pᵀ, `_kernel`, is cached for a pool P of rows that were free, to which rows that become free are added.
    """

    def __init__(self, rows: LabelScaledRows, ridge: FloatArray) -> None:
        self._rows, self._ridge = rows, ridge
        self._pool = np.empty(0, dtype=np.intp)
        self._kernel = np.empty((0, 0))
        self._max_factored_rows = SETTINGS.max_factored_rows
        self.free_count = 0

    def reset_cache(self) -> None:
        """Do nothing: values are added to the cache but never updated, so no rounding accumulates."""

    def step(self, free: Mask, slope: PerRow, q: FloatArray, W: FloatArray) -> FloatArray:
        """Return ΔW by (NEWTON.2) or conjugate gradients."""
        index = np.flatnonzero(free)
        D = take_rows(slope, index)
        free_rows = self._rows.select(index)
        self.free_count = free_rows.n
        if 0 < self.free_count <= self._max_factored_rows:
            return _solve_by_rows(free_rows, self._take_kernel(index), self._ridge, D, q)
        step, iterations = _solve_by_cg(free_rows, self._ridge, D, compute_mean(slope), q, W)
        if iterations > SETTINGS.max_cheap_cg_iterations:
            self._max_factored_rows = SETTINGS.max_pool_rows
        return step

    def _take_kernel(self, index: IntArray) -> FloatArray:
        """Return a copy of Z_JZ_Jᵀ (k, k) for J = index, after adding J to the pool, or replacing the pool by J."""
        new = np.setdiff1d(index, self._pool, assume_unique=True)
        if len(self._pool) + len(new) > SETTINGS.max_pool_rows:
            new = index[:0]
            self._kernel = self._rows.kernel(index, index)
            self._pool = index
        if len(new):
            pool = np.concatenate([self._pool, new])
            rows = self._rows.kernel(new, pool)
            old = len(self._pool)
            grown = np.empty((len(pool), len(pool)))
            grown[:old, :old] = self._kernel
            grown[old:] = rows
            grown[:old, old:] = rows[:, :old].T
            self._pool, self._kernel = pool, grown
        order = np.argsort(self._pool)
        positions = order[np.searchsorted(self._pool, index, sorter=order)]
        return self._kernel.take(positions, axis=0).take(positions, axis=1)


def _take_weights(weights: FloatArray | None, index: IntArray) -> FloatArray | None:
    """Take the weights of some rows; None if there are none."""
    return None if weights is None else weights[index]


def _multiply_hessian(free_rows: LabelScaledRows, D: PerRow, p: FloatArray) -> FloatArray:
    """Return Z_JᵀDZ_J p, (d + 1,)."""
    m = free_rows.margins(p)
    if isinstance(D, float):
        return D * free_rows.gradient(m)
    return free_rows.gradient(D * m)


def _solve_by_rows(
    free_rows: LabelScaledRows, M: FloatArray, ridge: FloatArray, D: PerRow, q: FloatArray
) -> FloatArray:
    """Solve (NEWTON.2) for Z_J, M = Z_JZ_Jᵀ (overwritten), R, D and q (d + 1,)."""
    M.flat[:: len(M) + 1] += 1.0 / D
    factor = Cholesky(M, SETTINGS.min_ridge, single=True)
    e = free_rows.y * free_rows.unit
    has_free_intercept = bool(ridge[-1] == 0.0)
    M_inverse_e = factor.solve(e) if has_free_intercept else e

    def solve(r: FloatArray) -> FloatArray:
        """Return H⁻¹r, (d + 1,), by (NEWTON.2) with r for −q."""
        u = factor.solve(free_rows.margins(r))
        if not has_free_intercept:
            return r - free_rows.gradient(u)
        db = (float(r[-1]) - float(e @ u)) / float(e @ M_inverse_e)
        u += db * M_inverse_e
        step = r - free_rows.gradient(u)
        step[-1] = db
        return step

    dW = solve(-q)
    # u is smaller by a factor of D than the terms it is computed from: refine with (NEWTON.1)
    return dW + solve(-q - ridge * dW - _multiply_hessian(free_rows, D, dW))


def _solve_by_cg(
    free_rows: LabelScaledRows, ridge: FloatArray, D: PerRow, mean_slope: float, q: FloatArray, W: FloatArray
) -> tuple[FloatArray, int]:
    """Solve (NEWTON.1) by conjugate gradients, preconditioned by diag H for the mean slope; also count iterations."""
    R = ridge.copy()
    if ridge[-1] == 0.0:
        R[-1] = mean_slope * (SETTINGS.intercept_share * free_rows.n if free_rows.n else 1.0)
    inverse = 1.0 / (R + mean_slope * free_rows.compute_column_squares())
    q_norm = float(np.linalg.norm(q))
    goal = min(SETTINGS.max_cg_tolerance, float(np.sqrt(q_norm / (1.0 + np.linalg.norm(W))))) * q_norm
    x = np.zeros_like(q)
    r = -q
    z = inverse * r
    p = z
    rz = float(r @ z)
    for iteration in range(SETTINGS.max_cg_iterations):
        if not np.linalg.norm(r) > goal:
            return x, iteration
        Hp = R * p + _multiply_hessian(free_rows, D, p)
        length = rz / float(p @ Hp)
        x += length * p
        r -= length * Hp
        z = inverse * r
        previous = rz
        rz = float(r @ z)
        p = z + (rz / previous) * p
    return x, SETTINGS.max_cg_iterations
