"""Find the nearest points of two convex hulls by an interior-point method (`find_nearest_points`).

Each iteration is a Newton step (predictor and corrector) on the optimality conditions with x_i s_i = μ in place of 0,
for a decreasing μ. It eliminates x and s, so that a system of r + 2 unknowns is left, and its time is linear in n.

    (NEAR.1)  minimise ½‖w‖²  over u, v ≥ 0  subject to  1ᵀu = 1, 1ᵀv = 1,  w = Σ u_i z_i − Σ v_j z_j
    (NEAR.2)  for every w and all such u, v:  (min₊ wᵀz − max₋ wᵀz) / ‖w‖  ≤  distance  ≤  ‖Σ u_i z_i − Σ v_j z_j‖
    (NEAR.3)  x = (u, v), D the rows y_i z_i, E the classes (n, 2):  Dw − Eλ = s ≥ 0,  Dᵀx = w,  Eᵀx = 1,  x_i s_i = 0
    (NEAR.4)  a step, with θ = x/s and B = (D, −E):  (diag(1, …, 1, 0, 0) + BᵀΘB) (dw, dλ) = …,  r + 2 unknowns

Both bounds of (NEAR.2) hold for any w, u, v, so the reported distance is proven up to the rounding of these sums. If
the hulls meet, w and s converge to 0 together, and x to the centre of the solution set.
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
#: Stop after this many iterations without better bounds, since the rest is rounding.
MAX_STALLED = 6
#: Stop if the bounds differ by at most this share of the distance,
GAP_SHARE = 1e-9
#: or if the distance is below this share of the largest norm.
MIN_DISTANCE_SHARE = 1e-14
#: Share of the distance to the boundary that a step may take.
STEP_SHARE = 0.995
#: Number of iterative refinements of a step, which remove the rounding of the factorisation.
REFINEMENTS = 2
#: Added to the unit diagonal of (NEAR.4) if it is numerically singular.
RIDGE = 1e-14


@dataclass(frozen=True, eq=False)
class NearestPoints:
    """Nearest points of two hulls, and bounds of their distance.

    x (n,): Weights of the nearest points, which sum to 1 in each class.
    upper, lower: Bounds (NEAR.2) in units of the coordinates; if `lower` is positive, the hulls are separated.
    w (r,): The direction of the lower bound.
    stopped: Reason why the run was stopped early; None if it ended by itself.
    """

    x: FloatArray
    upper: float
    lower: float
    w: FloatArray
    stopped: str | None = None


def find_nearest_points(Z: FloatArray, y: FloatArray, stopped: Callable[[], str | None]) -> NearestPoints:
    """Find the nearest points of the hulls of two classes, (NEAR.1).

    Z (n, r), y (n,): Coordinates of the samples, and −1 or +1.
    stopped: Returns a reason to stop, or None.
    """
    E = np.column_stack([y > 0, y < 0]).astype(np.float64)
    size = float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))
    uniform: FloatArray = E @ (1.0 / E.sum(axis=0))
    if size == 0.0:
        return NearestPoints(uniform, 0.0, 0.0, np.zeros(Z.shape[1]))
    iterate = _Iterate(y[:, None] * Z / size, E, uniform)
    best = NearestPoints(uniform, *iterate.compute_bounds(uniform), iterate.w)
    stalled = 0
    for _ in range(MAX_ITERATIONS):
        reason = stopped()
        if reason or not iterate.step():
            best = replace(best, stopped=reason)
            break
        x = iterate.normalise()
        upper, lower = iterate.compute_bounds(x)
        stalled += 1
        if upper < best.upper:
            best, stalled = replace(best, x=x, upper=upper), 0
        if lower > best.lower:
            best, stalled = replace(best, lower=lower, w=iterate.w), 0
        if (
            best.upper <= MIN_DISTANCE_SHARE
            or best.upper - best.lower <= GAP_SHARE * best.upper
            or stalled >= MAX_STALLED
        ):
            break
    return replace(best, upper=size * best.upper, lower=size * best.lower)


class _Iterate:
    """Point x, s (n,), w (r,) and λ (2,) of (NEAR.3), which each step improves; s = Dw − Eλ from the start."""

    def __init__(self, D: FloatArray, E: FloatArray, x: FloatArray) -> None:
        self.D, self.E, self.B = D, E, np.hstack([D, -E])
        self.x, self.w = x, D.T @ x
        values = D @ self.w
        slack = 0.1  # the coordinates have size 1: s is neither near the boundary nor far from it
        self.lam: FloatArray = np.array([values[column > 0].min() for column in E.T]) - slack
        self.s: FloatArray = values - E @ self.lam

    def normalise(self) -> FloatArray:
        """Return x with weights scaled to sum to 1 in each class."""
        weights: FloatArray = self.x / (self.E @ (self.E.T @ self.x))
        return weights

    def compute_bounds(self, x: FloatArray) -> tuple[float, float]:
        """Return the bounds (NEAR.2): the upper one at x, the lower one at w."""
        values, length = self.D @ self.w, float(np.linalg.norm(self.w))
        lower = sum(float(values[column > 0].min()) for column in self.E.T)
        return float(np.linalg.norm(self.D.T @ x)), lower / length if length > 0 else -np.inf

    def step(self) -> bool:
        """Take a predictor and corrector step; return False if (NEAR.4) can no longer be factorised or solved."""
        x, s = self.x, self.s
        system = self._factorise(x / s)
        if system is None:
            return False
        factor, scale = system
        dx, ds, *_ = self._compute_direction(factor, scale, -x * s)
        length = min(_compute_step_length(x, dx), _compute_step_length(s, ds))
        mean = float(x @ s) / len(x)
        centring = (float((x + length * dx) @ (s + length * ds)) / len(x) / mean) ** 3
        dx, ds, dw, dlam = self._compute_direction(factor, scale, centring * mean - x * s - dx * ds)
        if not all(np.isfinite(vector).all() for vector in (dx, ds, dw, dlam)):
            return False
        length = min(1.0, STEP_SHARE * min(_compute_step_length(x, dx), _compute_step_length(s, ds)))
        self.x, self.s = x + length * dx, s + length * ds
        self.w, self.lam = self.w + length * dw, self.lam + length * dlam
        return bool((self.x > 0).all() and (self.s > 0).all())

    def _factorise(self, theta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the Cholesky factor of (NEAR.4), scaled to a unit diagonal, and the scale; None if it fails.

        Shapes: (r + 2, r + 2) and (r + 2,).
        """
        half = np.sqrt(theta)[:, None] * self.B
        M = half.T @ half
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
        """Return dx, ds, dw, dλ with s dx + x ds = target, which also remove the residuals of (NEAR.3)."""
        D, E, B, x, s, r = self.D, self.E, self.B, self.x, self.s, len(self.w)
        theta = x / s
        residual = np.concatenate([D.T @ x - self.w, 1.0 - E.T @ x])
        right = target / x - (D @ self.w - E @ self.lam - s)
        q, dx = np.zeros(r + 2), theta * right
        for _ in range(1 + REFINEMENTS):
            missing = B.T @ dx + residual
            missing[:r] -= q[:r]
            change = scale * lapack.dpotrs(factor, scale * missing, lower=0)[0]
            q = q + change
            dx = dx - theta * (B @ change)
        ds: FloatArray = (target - s * dx) / x
        return dx, ds, q[:r], q[r:]


def _compute_step_length(v: FloatArray, dv: FloatArray) -> float:
    """Return the largest step, up to 1, that keeps v + step·dv ≥ 0."""
    falling = dv < 0
    return min(1.0, float((-v[falling] / dv[falling]).min())) if falling.any() else 1.0
