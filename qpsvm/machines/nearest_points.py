"""Find the nearest points of two convex hulls by an interior-point method (`find_nearest_points`).

The samples z_i (r,) have classes y_i = ±1; u are convex weights of the positive samples, v of the negative ones.

    (NEAR.1)  minimise ½‖w‖²  over u, v ≥ 0  subject to  1ᵀu = 1, 1ᵀv = 1,  w = Σ u_i z_i − Σ v_j z_j
    (NEAR.2)  for every w and all such u, v:  (min₊ wᵀz − max₋ wᵀz) / ‖w‖  ≤  distance  ≤  ‖Σ u_i z_i − Σ v_j z_j‖
    (NEAR.3)  optimality:  Dw − Eλ = s ≥ 0,  Dᵀx = w,  Eᵀx = 1,  x_i s_i = 0,  where x (n,) joins u and v, D (n, r) has
              the rows y_i z_i, and E (n, 2) has the columns [y > 0] and [y < 0], with multipliers λ
    (NEAR.4)  Newton step:  (diag(1, …, 1, 0, 0) + BᵀΘB) (dw, dλ) = right-hand side,  B = (D, −E),  Θ = diag(x_i/s_i)

Each iteration is a predictor-corrector Newton step on (NEAR.3) with x_i s_i = μ in place of 0, for a decreasing μ. As
dx and ds are eliminated, (NEAR.4) has r + 2 unknowns, and the time is linear in n. As (NEAR.2) holds for any w, u, v,
the reported bounds are proven up to the rounding of these sums. If the hulls meet, w and s converge to 0 together, and
x converges to the centre of the solution set.
Source: Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM J. Optimization 2 (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray

#: Largest number of iterations; about 15 suffice for separated or overlapping hulls, 40 if they touch up to rounding.
MAX_ITERATIONS = 100
#: Stop after this many successive iterations without a better bound, as only rounding remains.
MAX_STALLED = 6
#: Stop if the bounds differ by at most this share of the upper bound.
GAP_SHARE = 1e-9
#: Stop if the upper bound is at most this share of the largest ‖z_i‖.
MIN_DISTANCE_SHARE = 1e-14
#: A step goes at most this share of the way to the point where an x_i or s_i is 0.
STEP_SHARE = 0.995
#: Number of iterative refinements of a step, which remove the rounding of the factorisation.
REFINEMENTS = 2
#: Added to the unit diagonal of (NEAR.4) if it is numerically singular.
RIDGE = 1e-14


@dataclass(frozen=True, eq=False)
class NearestPoints:
    """Nearest points of two hulls, and bounds on their distance.

    x (n,): Weights of the nearest points, which sum to 1 in each class.
    upper, lower: Bounds (NEAR.2) in units of the coordinates; if `lower` is positive, the hulls are separated.
    w (r,): The direction of the lower bound.
    stop_reason: Why the caller stopped the run; None if it ended by itself.
    """

    x: FloatArray
    upper: float
    lower: float
    w: FloatArray
    stop_reason: str | None = None


def find_nearest_points(Z: FloatArray, y: FloatArray, find_stop_reason: Callable[[], str | None]) -> NearestPoints:
    """Find the nearest points of the hulls of two classes, (NEAR.1).

    Z (n, r), y (n,): Coordinates of the samples, and their classes −1 or +1.
    find_stop_reason: Called before each iteration; returns a reason to stop, or None.
    """
    E = np.column_stack([y > 0, y < 0]).astype(np.float64)
    size = float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))
    uniform: FloatArray = E @ (1.0 / E.sum(axis=0))
    if size == 0.0:
        return NearestPoints(uniform, 0.0, 0.0, np.zeros(Z.shape[1]))
    iterate = _Iterate(y[:, None] * Z / size, E, uniform)
    best = NearestPoints(uniform, *iterate.compute_bounds(uniform), iterate.w)
    n_stalled = 0
    for _ in range(MAX_ITERATIONS):
        reason = find_stop_reason()
        if reason or not iterate.step():  # a failed step ends the run by itself, with reason None
            best = replace(best, stop_reason=reason)
            break
        x = iterate.normalise()
        upper, lower = iterate.compute_bounds(x)
        n_stalled += 1
        if upper < best.upper:
            best = replace(best, x=x, upper=upper)
            n_stalled = 0
        if lower > best.lower:
            best = replace(best, lower=lower, w=iterate.w)
            n_stalled = 0
        if (
            best.upper <= MIN_DISTANCE_SHARE
            or best.upper - best.lower <= GAP_SHARE * best.upper
            or n_stalled >= MAX_STALLED
        ):
            break
    return replace(best, upper=size * best.upper, lower=size * best.lower)


class _Iterate:
    """Point x, s (n,), w (r,) and λ (2,) of (NEAR.3), improved by each step; up to rounding s = Dw − Eλ."""

    def __init__(self, D: FloatArray, E: FloatArray, x: FloatArray) -> None:
        self.D = D
        self.E = E
        self.B = np.hstack([D, -E])
        self.x = x
        self.w = D.T @ x
        margins = D @ self.w  # y_i wᵀz_i
        min_slack = 0.1  # the largest ‖z_i‖ is 1, so s starts neither near 0 nor far from it
        self.lam: FloatArray = np.array([margins[column > 0].min() for column in E.T]) - min_slack
        self.s: FloatArray = margins - E @ self.lam

    def normalise(self) -> FloatArray:
        """Return x with weights scaled to sum to 1 in each class."""
        weights: FloatArray = self.x / (self.E @ (self.E.T @ self.x))
        return weights

    def compute_bounds(self, x: FloatArray) -> tuple[float, float]:
        """Return the bounds (NEAR.2): the upper one at x, the lower one at w."""
        margins = self.D @ self.w
        norm = float(np.linalg.norm(self.w))
        separation = sum(float(margins[column > 0].min()) for column in self.E.T)  # min₊ wᵀz − max₋ wᵀz
        return float(np.linalg.norm(self.D.T @ x)), separation / norm if norm > 0 else -np.inf

    def step(self) -> bool:
        """Take a predictor-corrector step; return False if rounding spoils (NEAR.4), x or s."""
        x, s = self.x, self.s
        system = self._factorise(x / s)
        if system is None:
            return False
        factor, scale = system
        dx, ds, *_ = self._compute_direction(factor, scale, -x * s)
        step_length = min(_compute_step_length(x, dx), _compute_step_length(s, ds))  # of the predictor
        mu = float(x @ s) / len(x)
        centring = (float((x + step_length * dx) @ (s + step_length * ds)) / len(x) / mu) ** 3
        dx, ds, dw, dlam = self._compute_direction(factor, scale, centring * mu - x * s - dx * ds)
        if not all(np.isfinite(vector).all() for vector in (dx, ds, dw, dlam)):
            return False
        step_length = min(1.0, STEP_SHARE * min(_compute_step_length(x, dx), _compute_step_length(s, ds)))
        self.x, self.s = x + step_length * dx, s + step_length * ds
        self.w, self.lam = self.w + step_length * dw, self.lam + step_length * dlam
        return bool((self.x > 0).all() and (self.s > 0).all())

    def _factorise(self, theta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Factorise the matrix of (NEAR.4), scaled to a unit diagonal; None if it is numerically singular.

        Returns the Cholesky factor, (r + 2, r + 2), and the scale, (r + 2,).
        """
        scaled_B = np.sqrt(theta)[:, None] * self.B
        M = scaled_B.T @ scaled_B
        r = len(self.w)
        M[np.arange(r), np.arange(r)] += 1.0
        scale = 1.0 / np.sqrt(M.diagonal())
        M *= scale
        M *= scale[:, None]
        for ridge in (0.0, RIDGE, 100.0 * RIDGE):
            M[np.diag_indices_from(M)] += ridge
            factor, info = lapack.dpotrf(M, lower=0, clean=0)
            if info == 0:
                return factor, scale
        return None

    def _compute_direction(
        self, factor: FloatArray, scale: FloatArray, target: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return dx, ds, dw, dλ with s dx + x ds = target (n,), which also remove the residuals of (NEAR.3)."""
        D = self.D
        E = self.E
        B = self.B
        x = self.x
        s = self.s
        r = len(self.w)
        theta = x / s
        residual = np.concatenate([D.T @ x - self.w, 1.0 - E.T @ x])
        dw_dlam = np.zeros(r + 2)
        dx = theta * (target / x - (D @ self.w - E @ self.lam - s))  # at dw = dλ = 0, with ds eliminated
        for _ in range(1 + REFINEMENTS):
            remaining = B.T @ dx + residual  # what the step so far leaves of the residual
            remaining[:r] -= dw_dlam[:r]
            correction = scale * lapack.dpotrs(factor, scale * remaining, lower=0)[0]
            dw_dlam = dw_dlam + correction
            dx = dx - theta * (B @ correction)
        ds: FloatArray = (target - s * dx) / x
        return dx, ds, dw_dlam[:r], dw_dlam[r:]


def _compute_step_length(v: FloatArray, dv: FloatArray) -> float:
    """Return the largest step length up to 1 with v + step_length·dv ≥ 0, for v > 0."""
    falling = dv < 0
    if falling.any():
        return min(1.0, float((-v[falling] / dv[falling]).min()))
    return 1.0
