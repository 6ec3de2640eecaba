"""Newton steps of the augmented Lagrangian: three ways to solve one system, chosen by its size.

    (NEWTON.1)  H ΔW = −q,  H = R + σ Z_JᵀZ_J,  R = diag(1, …, 1, r) with r = 0 where the intercept is free
    (NEWTON.2)  (Z_JZ_Jᵀ + I/σ) u = −Z_J q + eΔb,  ΔW = −q − Z_Jᵀu,  with u = σ Z_J ΔW (|J|,)
                r = 1: leave eΔb out;  r = 0: e is the last column of Z_J, and Δb makes eᵀu = −q_b

Few columns: Cholesky of H, scaled by its diagonal so that the units of the features do not matter; Z_JᵀZ_J is kept and
updated by the rows that entered or left J. Few free rows: Cholesky of (NEWTON.2). Otherwise conjugate gradients with
the diagonal of H as preconditioner, as exact as the outer step deserves.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.solvers.linear.signed_rows import SignedRows

#: Most columns for which H is factored. Beyond, a factor costs more than some hundred products with the rows.
DIRECT_COLUMNS = 1500
#: Columns up to which H is factored even where there are fewer rows.
LEAST_COLUMNS = 100
#: Most free rows for which (NEWTON.2) is factored, where H is not.
DIRECT_ROWS = 600
#: With dense rows of k numbers, conjugate gradients cost as much as a factor of this many √k free rows.
ROWS_PER_ROOT = 35
#: Most rows in the pool of `WideNewton`; beyond, it is begun anew.
POOL_ROWS = 3000
#: Weight that an unpenalised intercept gets in H: a small share of σ|J|, and σ where J is empty and H singular in it.
INTERCEPT_SHARE = 1e-10
#: First ridge on the scaled H (unit diagonal) and its growth, until Cholesky succeeds. Duplicate columns need it.
RIDGE, RIDGE_GROWTH, RIDGE_LIMIT = 1e-14, 100.0, 1e4
#: Smallest squared pivot, on the unit diagonal, of a factor in single precision: each refinement then gains a factor of
#: a thousand or so, 10⁻⁷ over the pivot.
SINGLE_PIVOT = 1e-4
#: Z_JᵀZ_J is updated while fewer than this share of |J| change at once …
UPDATE_SHARE = 0.7
#: … and until this many times |J| have changed since it was made, which bounds the rounding that collects.
UPDATE_TOTAL = 20
#: In the first steps of a run, when J is large and far from its end, Z_JᵀZ_J is estimated from this many rows a column.
#: Later it is exact: a sample can miss the few rows of heavy tails that hold all the curvature.
ROUGH_STEPS, SAMPLE_PER_COLUMN = 4, 10
#: Most conjugate gradient iterations a step; the line search makes any descent direction useful.
CG_ITERATIONS = 300
#: After a step with more, H is too ill-conditioned for them: a factor is made wherever the pool can hold it.
CG_PATIENCE = 60
#: Loosest relative residual of the conjugate gradients.
CG_TOLERANCE = 0.1

Mask = NDArray[np.bool_]
Factor: TypeAlias = NDArray[np.floating[Any]]


class NewtonSystem(Protocol):
    """Solves (NEWTON.1)."""

    def step(self, free: Mask, sigma: float, q: FloatArray, W: FloatArray) -> FloatArray:
        """ΔW (d + 1,) for the free rows J as a mask (n,), σ, the gradient q and the point W (d + 1,)."""

    def forget(self) -> None:
        """Drop what was kept from earlier steps, with its rounding."""


def newton_system(rows: SignedRows, ridge: FloatArray) -> NewtonSystem:
    """The way to solve (NEWTON.1) for these rows and R = diag(ridge), (d + 1,)."""
    if rows.d <= min(DIRECT_COLUMNS, max(rows.n, LEAST_COLUMNS)):
        return CholeskyNewton(rows, ridge)
    return WideNewton(rows, ridge)


class CholeskyNewton:
    """H factored; Z_JᵀZ_J kept between steps."""

    def __init__(self, rows: SignedRows, ridge: FloatArray) -> None:
        self._rows, self._ridge = rows, ridge
        self._gram: FloatArray | None = None
        self._members: Mask | None = None
        self._changed = 0
        self._steps = 0

    def forget(self) -> None:
        """Make Z_JᵀZ_J anew at the next step."""
        self._gram = None

    def step(self, free: Mask, sigma: float, q: FloatArray, W: FloatArray) -> FloatArray:  # noqa: ARG002
        """ΔW by Cholesky with one step of iterative refinement."""
        H = sigma * self._updated_gram(free)
        diagonal = H.diagonal() + self._ridge
        if self._ridge[-1] == 0.0:
            diagonal[-1] += INTERCEPT_SHARE * diagonal[-1] if diagonal[-1] > 0.0 else sigma
        H.flat[:: len(q) + 1] = diagonal
        scale = 1.0 / np.sqrt(diagonal)
        H *= scale
        H *= scale[:, None]
        return scale * _solve_unit_diagonal(H, -scale * q)

    def _updated_gram(self, free: Mask) -> FloatArray:
        """Z_JᵀZ_J (d + 1, d + 1)."""
        size = int(np.count_nonzero(free))
        if self._gram is not None and self._members is not None:
            entering = np.flatnonzero(free & ~self._members)
            leaving = np.flatnonzero(self._members & ~free)
            change = len(entering) + len(leaving)
            if change < UPDATE_SHARE * size and self._changed < UPDATE_TOTAL * size:
                if len(entering):
                    self._gram += self._rows.gram(entering)
                if len(leaving):
                    self._gram -= self._rows.gram(leaving)
                self._members, self._changed = free, self._changed + change
                return self._gram
        index = np.flatnonzero(free)
        self._steps += 1
        stride = size // (SAMPLE_PER_COLUMN * len(self._ridge))
        if stride >= 2 and self._steps <= ROUGH_STEPS:
            self._gram = None
            return self._rows.gram(index[::stride]) * stride
        self._gram, self._members, self._changed = self._rows.gram(index), free, 0
        return self._gram


class WideNewton:
    """More columns than can be factored: by the free rows if they are few, else by conjugate gradients.

    Z_PZ_Pᵀ is kept for a pool P of rows that were free, and grows by those that become free.
    """

    def __init__(self, rows: SignedRows, ridge: FloatArray) -> None:
        self._rows, self._ridge = rows, ridge
        self._pool = np.empty(0, dtype=np.intp)
        self._kernel = np.empty((0, 0))
        self._direct_rows = max(DIRECT_ROWS, int(ROWS_PER_ROOT * np.sqrt(rows.row_numbers)))

    def forget(self) -> None:
        """Nothing kept is ever updated, so no rounding collects."""

    def step(self, free: Mask, sigma: float, q: FloatArray, W: FloatArray) -> FloatArray:
        """ΔW by the smaller of the two systems."""
        index = np.flatnonzero(free)
        members = self._rows.select(index)
        if 0 < len(index) <= min(self._direct_rows, POOL_ROWS):
            return _step_by_rows(members, self._pooled(index), self._ridge, sigma, q)
        step, iterations = _step_by_cg(members, self._ridge, sigma, q, W)
        if iterations > CG_PATIENCE:
            self._direct_rows = POOL_ROWS
        return step

    def _pooled(self, index: IntArray) -> FloatArray:
        """Z_JZ_Jᵀ (k, k) for J = index."""
        new = np.setdiff1d(index, self._pool, assume_unique=True)
        if len(self._pool) + len(new) > POOL_ROWS:
            self._pool, self._kernel, new = index, self._rows.kernel(index, index), index[:0]
        if len(new):
            pool = np.concatenate([self._pool, new])
            rows = self._rows.kernel(new, pool)
            old = len(self._pool)
            grown = np.empty((len(pool), len(pool)))
            grown[:old, :old], grown[old:], grown[:old, old:] = self._kernel, rows, rows[:, :old].T
            self._pool, self._kernel = pool, grown
        order = np.argsort(self._pool)
        at = order[np.searchsorted(self._pool, index, sorter=order)]
        return self._kernel.take(at, axis=0).take(at, axis=1)


def _step_by_rows(members: SignedRows, M: FloatArray, ridge: FloatArray, sigma: float, q: FloatArray) -> FloatArray:
    """(NEWTON.2) for Z_J, Z_JZ_Jᵀ (overwritten), R, σ and q (d + 1,)."""
    M.flat[:: len(M) + 1] += 1.0 / sigma
    scale = 1.0 / np.sqrt(M.diagonal())
    M *= scale
    M *= scale[:, None]
    single, e = _single_factor(M), members.y * members.unit
    factor = _factor(M) if single is None else single
    free_intercept = bool(ridge[-1] == 0.0)
    from_e = scale * _refined(factor, M, scale * e) if free_intercept else e

    def solve(r: FloatArray) -> FloatArray:
        """H⁻¹r: (d + 1,)."""
        u = scale * _refined(factor, M, scale * members.margins(r))
        intercept = 0.0
        if free_intercept:
            intercept = (float(r[-1]) - float(e @ u)) / float(e @ from_e)
            u += intercept * from_e
        step = r - members.gradient(u)
        if free_intercept:
            step[-1] = intercept
        return step

    dW = solve(-q)
    # u is σ times smaller a number than what it is made of: refine in the terms of (NEWTON.1)
    return dW + solve(-q - ridge * dW - sigma * members.gradient(members.margins(dW)))


def _step_by_cg(
    members: SignedRows, ridge: FloatArray, sigma: float, q: FloatArray, W: FloatArray
) -> tuple[FloatArray, int]:
    """(NEWTON.1) by conjugate gradients, preconditioned by the diagonal of H; and their number."""
    weights = ridge.copy()
    if ridge[-1] == 0.0:
        weights[-1] = sigma * (INTERCEPT_SHARE * members.n if members.n else 1.0)
    inverse = 1.0 / (weights + sigma * members.column_squares())
    size = float(np.linalg.norm(q))
    goal = min(CG_TOLERANCE, float(np.sqrt(size / (1.0 + np.linalg.norm(W))))) * size
    x, r = np.zeros_like(q), -q
    z = inverse * r
    p, rz = z, float(r @ z)
    for iteration in range(CG_ITERATIONS):
        if not np.linalg.norm(r) > goal:
            return x, iteration
        Hp = weights * p + sigma * members.gradient(members.margins(p))
        length = rz / float(p @ Hp)
        x += length * p
        r -= length * Hp
        z = inverse * r
        rz, previous = float(r @ z), rz
        p = z + (rz / previous) * p
    return x, CG_ITERATIONS


def _solve_unit_diagonal(H: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve Hx = rhs for a positive semidefinite H (k, k) with unit diagonal."""
    return _refined(_factor(H), H, rhs)


def _factor(H: FloatArray) -> FloatArray:
    """The Cholesky factor of H + ridge, with the smallest ridge that succeeds; NaN if none does."""
    ridge = RIDGE
    while ridge < RIDGE_LIMIT:
        shifted = H.copy()
        shifted.flat[:: len(H) + 1] += ridge
        factor, info = lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)  # shifted.T is in Fortran's order
        if info == 0:
            return np.asarray(factor)
        ridge *= RIDGE_GROWTH
    return np.full_like(H, np.nan)


def _single_factor(H: FloatArray) -> Factor | None:
    """The Cholesky factor in single precision, at half the cost; None where refinement might not make up for it."""
    factor, info = lapack.spotrf(H.T.astype(np.float32, order="F"), lower=1, overwrite_a=1, clean=0)
    if info != 0 or not float(factor.diagonal().min()) ** 2 > SINGLE_PIVOT:
        return None
    return np.asarray(factor)


def _refined(factor: Factor, H: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve Hx = rhs, (k,), by its factor, with one step of iterative refinement, or two of one in single precision."""
    single = factor.dtype == np.float32
    solve = lapack.spotrs if single else lapack.dpotrs
    x: FloatArray = np.asarray(solve(factor, rhs, lower=1)[0], dtype=np.float64)
    for _ in range(2 if single else 1):
        x += solve(factor, rhs - H @ x, lower=1)[0]
    return x
