"""Solve a ν-SVM whose reduced hulls seem to meet (`solve_meeting_hulls`).

If they do, the optimum is 0. No gap is then small relative to it, and methods that move two rows, or those of one split
into free and bound rows, converge slowly. But K usually has a low numerical rank, so that interior points are cheap:

    (MEETING.1)  K = LLᵀ up to rounding, L (n, r):  w(β) = 0 if and only if Lᵀβ = 0
    (MEETING.2)  minimise ½‖Lᵀβ‖²  subject to  low ≤ β ≤ high,  Eᵀβ = t:  the columns of E (n, 2) mark the two classes
    (MEETING.3)  LLᵀβ − Eν − z₋ + z₊ = 0,  z₋(β − low) = μ,  z₊(high − β) = μ,  z₋, z₊ > 0,  and μ → 0
    (MEETING.4)  its Newton step: (LLᵀ + Θ) dβ − E dν = g with Θ = z₋/(β − low) + z₊/(high − β). With A = [L, E],
                 dβ = Θ⁻¹(g − A m),  m = (Lᵀdβ, −dν),
                 (AᵀΘ⁻¹A + diag(1, …, 1, 0, 0)) m = AᵀΘ⁻¹g − (0, t − Eᵀβ)

Sources: Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2 (1992); for low
rank, Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.pivoted_cholesky import factorise_pivoted

#: From this relative gap of a rough point on, the hulls seem to meet: it is 1 for any point if the optimum is 0.
MEETING_GAP = 0.9
#: Limits of r in (MEETING.1): beyond, other methods are cheaper.
MAX_RANK, MAX_RANK_SHARE = 1000, 0.75
#: Error of ‖w(β)‖² by (MEETING.1), as a share of (Σ|β|)² max K_ii.
FACTOR_ERROR = 1e-16
#: ‖w(β)‖² counts as 0 up to this many roundings of n terms.
ZERO_ROUNDINGS = 0.1
#: Steps go on below that while each reduces ‖w(β)‖² to less than this share, as with a linear kernel.
FAST_SHARE = 0.01
#: Limit of the steps (MEETING.4); 10 to 25 are usual.
MAX_STEPS = 40
#: Share of the way to the boundary that a step may take.
TO_BOUNDARY = 0.99
#: If the optimum is not 0: the accuracy at which Newton steps on the free rows take over, and the share of an interval
#: within which β then counts as at an end of it.
START_GAP, SNAP_SHARE = 1e-4, 1e-3
#: Added to the unit diagonal of the scaled matrix of (MEETING.4).
RIDGE = 1e-15


def hulls_seem_to_meet(problem: KernelDual, point: KernelPoint) -> bool:
    """Return whether the problem is a ν-SVM, and the gap of a rough solution suggests that its optimum is 0."""
    return problem.is_nu_svm and point.gap >= MEETING_GAP


@dataclass(frozen=True, eq=False)
class MeetingPoint:
    """A feasible β (n,) of a ν-SVM, and whether w(β) is 0 up to rounding."""

    beta: FloatArray
    is_zero: bool


def solve_meeting_hulls(blocks: GramBlocks, problem: KernelDual, effort: Effort) -> MeetingPoint | None:
    """Solve (MEETING.2) for a ν-SVM; None if the rank of K is too high, time runs out, or the steps fail."""
    n = problem.n
    max_rank = min(int(MAX_RANK_SHARE * n), MAX_RANK)
    factor = factorise_pivoted(blocks, np.arange(n), problem.weight, FACTOR_ERROR, max_rank, effort.is_late)
    if factor is None or not factor.is_reached:
        return None
    iteration = _InteriorPoint(factor.L, problem)
    previous_value = iteration.value
    for _ in range(MAX_STEPS):
        if iteration.is_zero and not iteration.value < FAST_SHARE * previous_value:
            return MeetingPoint(problem.make_feasible(iteration.beta), True)
        if iteration.is_accurate:
            return MeetingPoint(problem.make_feasible(iteration.snap_to_ends()), False)
        previous_value = iteration.value
        if effort.is_over() or not iteration.step():
            return MeetingPoint(problem.make_feasible(iteration.beta), True) if iteration.is_zero else None
        effort.newton_steps += 1
    return None


class _InteriorPoint:
    """The iterate of (MEETING.3).

    beta (n,): Strictly inside its intervals, if the given start is.
    """

    def __init__(self, L: FloatArray, problem: KernelDual) -> None:
        self.problem, self.n, self.rank = problem, problem.n, L.shape[1]
        is_up = problem.sign > 0.0
        self.A, self.goal = np.column_stack([L, is_up, ~is_up]), np.array(problem.target_sums)
        self.L, self.E = self.A[:, : self.rank], self.A[:, self.rank :]
        self.beta, self.nu = problem.build_uniform_start(), np.zeros(2)
        total = float(np.abs(self.beta).sum())
        radius = float(np.linalg.norm(L - L.mean(axis=0), axis=1).max())  # 1ᵀβ = 0: the mean does not matter
        self.zero_value = ZERO_ROUNDINGS * self.n * UNIT * (radius * total) ** 2
        self._update()
        self.z_low = np.full(self.n, self.value / total)
        self.z_high = self.z_low.copy()

    def _update(self) -> None:
        """Compute the quantities that depend on β only."""
        self.below, self.above = self.beta - self.problem.low, self.problem.high - self.beta
        w = self.beta @ self.L
        self.value, self.gradient = float(w @ w), self.L @ w

    @property
    def is_zero(self) -> bool:
        """Whether ‖Lᵀβ‖² is 0 up to rounding."""
        return self.value <= self.zero_value

    @property
    def complementarity(self) -> float:
        """The sum of the products of (MEETING.3), 2nμ."""
        return float(self.z_low @ self.below + self.z_high @ self.above)

    @property
    def dual_residual(self) -> FloatArray:
        """The residual of the first equation of (MEETING.3), (n,)."""
        residual: FloatArray = self.gradient - self.E @ self.nu - self.z_low + self.z_high
        return residual

    @property
    def is_accurate(self) -> bool:
        """Whether β is optimal up to `START_GAP`: the dual residual decreases faster than the complementarity."""
        return self.complementarity <= START_GAP * self.value

    def snap_to_ends(self) -> FloatArray:
        """Return β (n,) with the entries near an end of their interval at that end."""
        margin = SNAP_SHARE * self.problem.weight
        at_low = np.where(self.below <= margin, self.problem.low, self.beta)
        return np.where(self.above <= margin, self.problem.high, at_low)

    def step(self) -> bool:
        """Take one predictor-corrector step; return False if the system has no solution, or the step no length."""
        mu = self.complementarity / (2 * self.n)
        if not (self.below.min() > 0.0 and self.above.min() > 0.0 and mu > 0.0):
            return False
        system = self._factorise()
        if system is None:
            return False
        low_products, high_products = self.z_low * self.below, self.z_high * self.above
        predicted = self._solve(*system, -low_products, -high_products)
        length = self._find_length(predicted)
        d_beta, _, d_low, d_high = predicted
        reached = (self.z_low + length * d_low) @ (self.below + length * d_beta)
        reached += (self.z_high + length * d_high) @ (self.above - length * d_beta)
        target = mu * (float(reached) / (2 * self.n * mu)) ** 3
        step = self._solve(
            *system, target - low_products - d_beta * d_low, target - high_products + d_beta * d_high
        )  # fmt: skip
        length = self._find_length(step)
        length = 1.0 if length == 1.0 else TO_BOUNDARY * length
        if not all(np.isfinite(part).all() for part in step):
            return False
        d_beta, d_nu, d_low, d_high = step
        self.beta, self.nu = self.beta + length * d_beta, self.nu + length * d_nu
        self.z_low, self.z_high = self.z_low + length * d_low, self.z_high + length * d_high
        self._update()
        return True

    def _factorise(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
        """Return Θ⁻¹ (n,), the matrix M of (MEETING.4), its scale s, and the Cholesky factor of diag(s) M diag(s)."""
        inverse_theta = 1.0 / (self.z_low / self.below + self.z_high / self.above)
        scaled_A = self.A * np.sqrt(inverse_theta)[:, None]
        M = scaled_A.T @ scaled_A
        M[np.arange(self.rank), np.arange(self.rank)] += 1.0
        scale = 1.0 / np.sqrt(M.diagonal())
        scaled_M = M * scale[:, None] * scale
        scaled_M[np.diag_indices_from(scaled_M)] += RIDGE
        factor, info = lapack.dpotrf(scaled_M, lower=1)
        return None if info else (inverse_theta, M, scale, factor)

    def _solve(
        self, inverse_theta: FloatArray, M: FloatArray, scale: FloatArray, factor: FloatArray,
        low_residual: FloatArray, high_residual: FloatArray,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:  # fmt: skip
        """Return dβ, dν, dz₋ and dz₊ of (MEETING.4) for the residuals μ − z₋(β − low) and μ − z₊(high − β), (n,)."""
        g = low_residual / self.below - high_residual / self.above - self.dual_residual
        right = (inverse_theta * g) @ self.A
        right[self.rank :] -= self.goal - self.beta @ self.E
        m = scale * lapack.dpotrs(factor, scale * right, lower=1)[0]
        m += scale * lapack.dpotrs(factor, scale * (right - M @ m), lower=1)[0]  # one step of refinement
        d_beta = inverse_theta * (g - self.A @ m)
        d_low = (low_residual - self.z_low * d_beta) / self.below
        return d_beta, -m[self.rank :], d_low, (high_residual + self.z_high * d_beta) / self.above

    def _find_length(self, step: tuple[FloatArray, FloatArray, FloatArray, FloatArray]) -> float:
        """Return the largest length up to 1 that keeps β inside and z positive."""
        d_beta, _, d_low, d_high = step
        ratios = [d_beta / self.below, -d_beta / self.above, d_low / self.z_low, d_high / self.z_high]
        return 1.0 / max(1.0, *(float(-ratio.min()) for ratio in ratios))
