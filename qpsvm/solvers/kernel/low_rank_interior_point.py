"""Solve a ν-SVM or one-class SVM whose optimum seems to be 0 (`solve_with_low_rank`).

It is if the reduced hulls of the two classes meet, or the origin is in the reduced hull of the samples. No gap is then
small relative to the optimum, and methods that move two rows, or those of one split into free and bound rows, converge
slowly. But K usually has a low numerical rank, so that interior points are cheap:

    (KLOW.1)  K = LLᵀ up to rounding, L (n, r):  w(β) = 0 if and only if Lᵀβ = 0
    (KLOW.2)  minimise ½‖Lᵀβ‖²  subject to  low ≤ β ≤ high,  Eᵀβ = t,  E (n, q):  the sum of each class, or of all β
    (KLOW.3)  LLᵀβ − Eν − z₋ + z₊ = 0,  z₋(β − low) = μ,  z₊(high − β) = μ,  z₋, z₊ > 0,  and μ → 0
    (KLOW.4)  its Newton step: (LLᵀ + Θ) dβ − E dν = g with Θ = z₋/(β − low) + z₊/(high − β). With A = [L, E],
              dβ = Θ⁻¹(g − A m),  m = (Lᵀdβ, −dν),
              (AᵀΘ⁻¹A + diag(1, …, 1, 0, …, 0)) m = AᵀΘ⁻¹g − (0, t − Eᵀβ)

Sources: Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2 (1992); for low
rank, Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.newton_step import build_sum_columns
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.pivoted_cholesky import ROUNDED_ERROR, factorise_pivoted

#: From this relative gap of a rough point on, w seems to be 0 at the optimum: if it is, the gap of any point is 1.
VANISHING_GAP = 0.9
#: Limits of r in (KLOW.1), as a share of n, and of the n r² products of a step, which take .3 s: beyond, other methods
#: are cheaper.
MAX_RANK_SHARE, MAX_PRODUCTS = 0.9, 5e9
#: ‖w(β)‖² counts as 0 up to this share of the rounding error of its n terms, (VANISH.2).
ZERO_SHARE = 0.9
#: Steps go on below that while each reduces ‖w(β)‖² to less than this share, as with a linear kernel.
FAST_SHARE = 0.01
#: Limit of the steps (KLOW.4); 10 to 25 are usual.
MAX_STEPS = 40
#: Share of the way to the boundary that a step may take.
TO_BOUNDARY = 0.99
#: If the optimum is not 0: the accuracy at which Newton steps on the free rows take over, and the share of an interval
#: within which β then counts as at an end of it.
START_GAP, SNAP_SHARE = 1e-4, 1e-3
#: Added to the unit diagonal of the scaled matrix of (KLOW.4).
RIDGE = 1e-15


def seems_to_vanish(problem: KernelDual, point: KernelPoint) -> bool:
    """Return whether the optimum may be 0, and the gap of a rough solution suggests that it is."""
    return problem.is_homogeneous and point.gap >= VANISHING_GAP


@dataclass(frozen=True, eq=False)
class LowRankPoint:
    """A feasible β (n,), and whether w(β) is 0 up to rounding."""

    beta: FloatArray
    is_zero: bool


def solve_with_low_rank(blocks: GramBlocks, problem: KernelDual, effort: Effort) -> LowRankPoint | None:
    """Solve (KLOW.2) for a homogeneous problem; None if the rank is too high, time runs out, or the steps fail."""
    n = problem.n
    max_rank = int(min(MAX_RANK_SHARE * n, math.sqrt(MAX_PRODUCTS / n)))
    factor = factorise_pivoted(blocks, np.arange(n), problem.weight, ROUNDED_ERROR, max_rank, effort.is_late)
    if factor is None or not factor.is_reached:
        return None
    iteration = _InteriorPoint(factor.L, problem)
    previous_value = iteration.value
    for _ in range(MAX_STEPS):
        if iteration.is_zero and not iteration.value < FAST_SHARE * previous_value:
            return LowRankPoint(problem.make_feasible(iteration.beta), True)
        if iteration.is_accurate:
            return LowRankPoint(problem.make_feasible(iteration.snap_to_ends()), False)
        previous_value = iteration.value
        if effort.is_over() or not iteration.step():
            return LowRankPoint(problem.make_feasible(iteration.beta), True) if iteration.is_zero else None
        effort.newton_steps += 1
    return None


class _InteriorPoint:
    """The iterate of (KLOW.3): β and ν, and z₋ and z₊ as `z_low` and `z_high`, (n,).

    value, gradient: ‖Lᵀβ‖², and LLᵀβ (n,).
    below, above (n,): β − low and high − β.
    """

    def __init__(self, L: FloatArray, problem: KernelDual) -> None:
        self.problem, self.n, self.rank = problem, problem.n, L.shape[1]
        columns, self.t = build_sum_columns(problem, np.arange(self.n), np.zeros(self.n), None)
        self.A = np.hstack([L, columns])
        self.L, self.E = self.A[:, : self.rank], self.A[:, self.rank :]
        self._move_to(problem.build_uniform_start())
        self.nu = np.zeros(len(self.t))
        self.z_low = np.full(self.n, self.value / float(np.abs(self.beta).sum()))
        self.z_high = self.z_low.copy()

    def _move_to(self, beta: FloatArray) -> None:
        """Set β (n,), and compute what depends on it."""
        self.beta, self.below, self.above = beta, beta - self.problem.low, self.problem.high - beta
        w = beta @ self.L
        self.value, self.gradient = float(w @ w), self.L @ w

    @property
    def is_zero(self) -> bool:
        """Whether ‖Lᵀβ‖² is 0 up to the rounding of a sum of this size, (VANISH.2)."""
        sizes = np.abs(self.beta)
        centre = self.L[sizes.argmax()] if self.problem.is_nu_svm else 0.0  # if 1ᵀβ = 0, the origin does not matter
        size = float(sizes.sum()) * float(np.linalg.norm(self.L - centre, axis=1).mean())
        return self.value <= ZERO_SHARE * self.n * UNIT * size * size

    @property
    def is_accurate(self) -> bool:
        """Whether β is optimal up to `START_GAP`. The residual of (KLOW.3) decreases faster than the products."""
        return self._sum_products() <= START_GAP * self.value

    def _sum_products(self) -> float:
        """Sum the products of (KLOW.3): 2nμ."""
        return float(self.z_low @ self.below + self.z_high @ self.above)

    def snap_to_ends(self) -> FloatArray:
        """Return β (n,) with the entries near an end of their interval at that end."""
        margin = SNAP_SHARE * self.problem.weight
        at_low = np.where(self.below <= margin, self.problem.low, self.beta)
        return np.where(self.above <= margin, self.problem.high, at_low)

    def step(self) -> bool:
        """Take one predictor-corrector step; return False if (KLOW.4) has no solution in floating point."""
        mu = self._sum_products() / (2 * self.n)
        if not (self.below.min() > 0.0 and self.above.min() > 0.0 and mu > 0.0):
            return False
        system = self._factorise()
        if system is None:
            return False
        low_products, high_products = self.z_low * self.below, self.z_high * self.above
        predicted = self._solve(system, -low_products, -high_products)
        length = self._find_length(predicted)
        products = (self.z_low + length * predicted.z_low) @ (self.below + length * predicted.beta)
        products += (self.z_high + length * predicted.z_high) @ (self.above - length * predicted.beta)
        centred_mu = mu * (float(products) / (2 * self.n * mu)) ** 3
        step = self._solve(
            system, centred_mu - low_products - predicted.beta * predicted.z_low,
            centred_mu - high_products + predicted.beta * predicted.z_high,
        )  # fmt: skip
        if not np.isfinite(step.beta).all():
            return False
        length = self._find_length(step)
        length = length if length == 1.0 else TO_BOUNDARY * length
        self._move_to(self.beta + length * step.beta)
        self.nu = self.nu + length * step.nu
        self.z_low, self.z_high = self.z_low + length * step.z_low, self.z_high + length * step.z_high
        return True

    def _factorise(self) -> _NewtonSystem | None:
        """Factorise the matrix of (KLOW.4); None if it is not positive definite in floating point."""
        inverse_theta = 1.0 / (self.z_low / self.below + self.z_high / self.above)
        scaled_A = self.A * np.sqrt(inverse_theta)[:, None]
        M = scaled_A.T @ scaled_A
        M[np.arange(self.rank), np.arange(self.rank)] += 1.0
        scale = 1.0 / np.sqrt(M.diagonal())
        scaled_M = M * scale[:, None] * scale
        scaled_M[np.diag_indices_from(scaled_M)] += RIDGE
        factor, info = lapack.dpotrf(scaled_M, lower=1)
        return None if info else _NewtonSystem(inverse_theta, M, scale, factor)

    def _solve(self, system: _NewtonSystem, low_residual: FloatArray, high_residual: FloatArray) -> _Step:
        """Solve (KLOW.4) for the residuals μ − z₋(β − low) and μ − z₊(high − β), (n,)."""
        dual_residual = self.gradient - self.E @ self.nu - self.z_low + self.z_high
        g = low_residual / self.below - high_residual / self.above - dual_residual
        right = (system.inverse_theta * g) @ self.A
        right[self.rank :] -= self.t - self.beta @ self.E
        m = system.solve(right)
        d_beta = system.inverse_theta * (g - self.A @ m)
        d_low = (low_residual - self.z_low * d_beta) / self.below
        return _Step(d_beta, -m[self.rank :], d_low, (high_residual + self.z_high * d_beta) / self.above)

    def _find_length(self, step: _Step) -> float:
        """Return the largest length up to 1 that keeps β inside its intervals and z positive."""
        shrinks = (
            step.beta / self.below, -step.beta / self.above, step.z_low / self.z_low, step.z_high / self.z_high
        )  # fmt: skip
        return 1.0 / max(1.0, *(-float(shrink.min()) for shrink in shrinks))


@dataclass(frozen=True, eq=False)
class _Step:
    """The changes dβ (n,), dν (q,), dz₋ and dz₊ (n,)."""

    beta: FloatArray
    nu: FloatArray
    z_low: FloatArray
    z_high: FloatArray


@dataclass(frozen=True, eq=False)
class _NewtonSystem:
    """Θ⁻¹ (n,), the matrix M of (KLOW.4), s = 1/√M_ii, and the Cholesky factor of diag(s) M diag(s)."""

    inverse_theta: FloatArray
    M: FloatArray
    scale: FloatArray
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve M m = right, (r + q,), with one step of iterative refinement."""
        m: FloatArray = self._solve_roughly(right)
        return m + self._solve_roughly(right - self.M @ m)

    def _solve_roughly(self, right: FloatArray) -> FloatArray:
        solution: FloatArray = self.scale * lapack.dpotrs(self.factor, self.scale * right, lower=1)[0]
        return solution
