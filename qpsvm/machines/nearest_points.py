"""Find the nearest points of two convex hulls by an interior-point method (`find_nearest_points`).

Exact to rounding, and linear in the rows.

    (NEAR.1)  minimise ½‖w‖²  over u, v ≥ 0  subject to  1ᵀu = 1, 1ᵀv = 1,  w = Σ u_i z_i − Σ v_j z_j
    (NEAR.2)  for every w and all such u, v:  (min₊ wᵀz − max₋ wᵀz) / ‖w‖  ≤  distance  ≤  ‖Σ u_i z_i − Σ v_j z_j‖
    (NEAR.3)  x = (u, v), D the rows y_i z_i, E the classes (n, 2):  Dw − Eλ = s ≥ 0,  Dᵀx = w,  Eᵀx = 1,  x_i s_i = 0
    (NEAR.4)  a step, with θ = x/s and B = (D, −E):  (diag(1, …, 1, 0, 0) + BᵀΘB) (dw, dλ) = …,  r + 2 unknowns

Both bounds of (NEAR.2) hold for any w, u, v: whatever the iteration does, the distance that it states is proven up to
the rounding of these sums. Where the hulls meet, w and s go to 0 together and x to the middle of the solutions.
Source: Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM J. Optimization 2 (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray

#: Iterations at most; about 15 decide where the hulls are apart or overlap, 40 where they touch to rounding.
ITERATIONS = 100
#: Iterations without better bounds, after which rounding is all that moves the point.
STALLED = 6
#: Bounds that agree to this are the distance; a distance below this share of the largest norm is none.
AGREED, NOTHING = 1e-9, 1e-14
#: Share of the way to the boundary that a step may go.
STEP = 0.995
#: Solves with the residual of a step, which takes the rounding of the factorisation away.
REFINEMENTS = 2
#: Added to the unit diagonal of (NEAR.4), where rounding made it singular.
RIDGE = 1e-14


@dataclass(frozen=True, eq=False)
class NearestPoints:
    """What is known of the distance of the hulls.

    x (n,): Convex weights within each class.
    upper, lower: (NEAR.2) in units of the coordinates; a positive `lower` means that the hulls are apart.
    w (r,): That of the lower bound.
    stopped or None: Why the run was stopped before it ended.
    """

    x: FloatArray
    upper: float
    lower: float
    w: FloatArray
    stopped: str | None = None


def find_nearest_points(Z: FloatArray, y: FloatArray, stopped: Callable[[], str | None]) -> NearestPoints:
    """Solve (NEAR.1). Shapes: Z (n, r), y (n,)."""
    E = np.column_stack([y > 0, y < 0]).astype(np.float64)
    size = float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))
    uniform: FloatArray = E @ (1.0 / E.sum(axis=0))
    if size == 0.0:
        return NearestPoints(uniform, 0.0, 0.0, np.zeros(Z.shape[1]))
    iterate = _Iterate(y[:, None] * Z / size, E, uniform)
    best = NearestPoints(uniform, *iterate.bounds(uniform), iterate.w)
    idle = 0
    for _ in range(ITERATIONS):
        why = stopped()
        if why or not iterate.step():
            best = replace(best, stopped=why)
            break
        x = iterate.normalise()
        upper, lower = iterate.bounds(x)
        idle += 1
        if upper < best.upper:
            best, idle = replace(best, x=x, upper=upper), 0
        if lower > best.lower:
            best, idle = replace(best, lower=lower, w=iterate.w), 0
        if best.upper <= NOTHING or best.upper - best.lower <= AGREED * best.upper or idle >= STALLED:
            break
    return replace(best, upper=size * best.upper, lower=size * best.lower)


class _Iterate:
    """x, s (n,), w (r,) and λ (2,) of (NEAR.3), with s = Dw − Eλ from the start."""

    def __init__(self, D: FloatArray, E: FloatArray, x: FloatArray) -> None:
        self.D, self.E, self.B = D, E, np.hstack([D, -E])
        self.x, self.w = x, D.T @ x
        values = D @ self.w
        inside = 0.1  # of the size of the coordinates, squared: neither near the boundary nor far from it
        self.lam: FloatArray = np.array([values[column > 0].min() for column in E.T]) - inside
        self.s: FloatArray = values - E @ self.lam

    def normalise(self) -> FloatArray:
        """x with weights that sum to 1 in each class."""
        out: FloatArray = self.x / (self.E @ (self.E.T @ self.x))
        return out

    def bounds(self, x: FloatArray) -> tuple[float, float]:
        """(NEAR.2): the upper bound at x, the lower one at w."""
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
        dx, ds, *_ = self._direction(factor, scale, -x * s)
        length = min(_compute_step_length(x, dx), _compute_step_length(s, ds))
        mean = float(x @ s) / len(x)
        centring = (float((x + length * dx) @ (s + length * ds)) / len(x) / mean) ** 3
        dx, ds, dw, dlam = self._direction(factor, scale, centring * mean - x * s - dx * ds)
        if not all(np.isfinite(part).all() for part in (dx, ds, dw, dlam)):
            return False
        length = min(1.0, STEP * min(_compute_step_length(x, dx), _compute_step_length(s, ds)))
        self.x, self.s = x + length * dx, s + length * ds
        self.w, self.lam = self.w + length * dw, self.lam + length * dlam
        return bool((self.x > 0).all() and (self.s > 0).all())

    def _factorise(self, theta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """The Cholesky factor of (NEAR.4), scaled to a unit diagonal, and the scale: (r + 2, r + 2) and (r + 2,)."""
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

    def _direction(
        self, factor: FloatArray, scale: FloatArray, target: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """dx, ds, dw, dλ with s dx + x ds = target, and the residuals of (NEAR.3) taken away."""
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
