"""Minimise the hinge form of a primal SVM by subgradient descent (`hinge_subgradient`).

    minimise  F(u) = ½uᵀDu + qᵀu + Σ_i c_i max(0, h_i − (Mu)_i)        D = diag(d), d ≥ 0, c ≥ 0

For the C-SVM u = (w, b), d = (1, 0), h = 1, M has the rows y_i(x_i, 1) and c is C; for the ν-SVM u = (w, b, ρ) with
q_ρ = −ν, h = 0.

Derivation. With z_i = c_i where h_i > (Mu)_i and 0 elsewhere, g = Du + q − Mᵀz is a subgradient of F at u. The steps:

- d_j > 0: u_j ← u_j − g_j/(d_j(t+1)/2), the 1/(μt) of Pegasos with the factor that goes with averaging by weights
  t. Equivalently, u_j ← (1 − ρ)u_j + ρ(Mᵀz − q)_j/d_j with ρ = 2/(t+1): each u_j belongs to the running
  average z̄ ← (1 − ρ)z̄ + ρz: Du + q − Mᵀz̄ = 0 exactly (Bach 2015: Frank–Wolfe on the dual).
- d_j = 0 (intercept, ρ): u_j ← u_j − r_j g_j/√Σg_j², the diminishing r/(G√t) with G measured, not bounded, and r_j the
  distance from the start so far, since the distance to the solution is unknown (Ivgi et al. 2023).
- `learning_rate`: u ← u − ηg, as in published codes. It converges to a neighbourhood of the solution that shrinks with
η.

Why z̄ approximates the multipliers of Mu ≥ h − ξ. 0 ≤ z̄ ≤ c by construction, and z_i is c_i or 0 as row i is violated
or not, so the averages tend to complementarity. Stationarity Dū + q − Mᵀz̄ is the weighted average of subgradients. For
steps u − u⁺ = ηg the sum Σ s g_s = Σ s(u_s − u_{s+1})/η telescopes to t(mean u − u⁺)/η, while Σ s = t(t+1)/2: the
average vanishes like 1/(ηt). With steps that diminish like 1/√t, Abel summation gives 1/√t.

Sources: Shalev-Shwartz et al. 2011 (Pegasos); Lacoste-Julien, Schmidt and Bach 2012 (weights t, gap O(1/t)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.solvers.study.trace import ProgressHistory, Trace

#: The first step of a coordinate with d_j = 0, in margins: short, because the radius grows with the distance covered.
FIRST_STEP = 0.01
#: Iterations before the run can converge.
MIN_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class HingeSolution:
    """Solution of `hinge_subgradient`.

    u (k,) is the best of all iterates and their running averages (`averaged` if it is an average), and `objective` its
    value; z (m,), 0 ≤ z ≤ c, approximates the multipliers of the rows. z is the average over the run, not a
    function of u.
    """

    u: FloatArray
    z: FloatArray
    objective: float
    averaged: bool
    trace: Trace


class _Hinge:
    """F and its subgradients; the caller computes the products with M, so that each is computed once."""

    def __init__(self, M: Any, h: Any, c: Any, d: Any, q: Any) -> None:
        self.M = M if sp.issparse(M) else np.asarray(M, dtype=np.float64)
        self.h, self.c, self.d = (np.asarray(vector, dtype=np.float64) for vector in (h, c, d))
        self.q = np.zeros(len(self.d)) if q is None else np.asarray(q, dtype=np.float64)
        if self.M.shape != (len(self.h), len(self.d)) or self.c.shape != self.h.shape or self.q.shape != self.d.shape:
            raise ParameterError(
                f"M {self.M.shape} must have one row for each entry of h {self.h.shape} and c {self.c.shape} and one "
                f"column for each of d {self.d.shape} and q {self.q.shape}"
            )
        if np.any(self.d < 0) or np.any(self.c < 0):
            raise ParameterError("d and c must be nonnegative: the objective is not convex otherwise")

    def value(self, u: FloatArray, Mu: FloatArray) -> float:
        loss = self.c @ np.maximum(0.0, self.h - Mu)
        return float(0.5 * u @ (self.d * u) + self.q @ u + loss)

    def compute_multipliers(self, Mu: FloatArray) -> FloatArray:
        """Return z: c_i for violated rows, 0 elsewhere: (m,)."""
        return np.where(Mu < self.h, self.c, 0.0)

    def compute_gradient(self, u: FloatArray, z: FloatArray) -> FloatArray:
        return np.asarray(self.d * u + self.q - self.M.T @ z, dtype=np.float64)


class _StepSizes:
    """Step sizes per coordinate; see the module docstring."""

    def __init__(self, hinge: _Hinge, u0: FloatArray, learning_rate: float | None) -> None:
        self.learning_rate = learning_rate
        self.strong = hinge.d > 0
        self.curvature = np.where(self.strong, hinge.d, 1.0)
        self.u0 = u0
        self.squares = np.zeros(len(u0))
        self.radius = FIRST_STEP * _estimate_step_unit(hinge, self.strong, self.curvature)

    def advance(self, u: FloatArray, g: FloatArray, t: int) -> FloatArray:
        """Return the iterate after u in iteration t = 1, 2, …, for the subgradient g: (k,)."""
        if self.learning_rate is not None:
            return u - self.learning_rate * g
        self.squares += g * g
        self.radius = np.maximum(self.radius, np.abs(u - self.u0))
        free = self.radius / np.sqrt(np.where(self.squares > 0, self.squares, 1.0))
        return np.asarray(u - np.where(self.strong, 2.0 / ((t + 1) * self.curvature), free) * g)


def _estimate_step_unit(hinge: _Hinge, strong: NDArray[np.bool_], curvature: FloatArray) -> FloatArray:
    """Estimate the change of a coordinate with d_j = 0 that shifts rows by a margin, max|h|, or Mu at z = c: (k,)."""
    margin = float(np.abs(hinge.h).max(initial=0.0))
    if margin == 0:
        u = np.where(strong, -hinge.compute_gradient(np.zeros(len(hinge.d)), hinge.c) / curvature, 0.0)
        margin = float(np.linalg.norm(hinge.M @ u)) / max(1.0, np.sqrt(len(hinge.h))) or 1.0
    reach = np.asarray(abs(hinge.M).T @ hinge.c) / (hinge.c.sum() or 1.0)
    return margin / np.where(reach > 0, reach, 1.0)


def hinge_subgradient(
    M: Any, h: FloatArray, c: FloatArray, d: FloatArray, q: FloatArray | None = None, *,
    u0: FloatArray | None = None, learning_rate: float | None = None, max_iter: int = 5_000, tol: float = 1e-6,
    time_limit: float | None = None, verbose: bool = False,
) -> HingeSolution:  # fmt: skip
    """Minimise ½uᵀdiag(d)u + qᵀu + Σ c_i max(0, h_i − (Mu)_i) over u by subgradient steps on all rows at once.

    Raises ParameterError.
    """
    progress = ProgressHistory("subgradient", "average − best", max_iter, time_limit, verbose)
    if learning_rate is not None and not 0 < learning_rate < np.inf:
        raise ParameterError(f"learning_rate must be a positive number or None, got {learning_rate}")
    hinge = _Hinge(M, h, c, d, q)
    u = np.zeros(len(hinge.d)) if u0 is None else as_finite_vector(u0, "u0", len(hinge.d))
    u_mean, Mu_mean, z_mean = np.zeros_like(u), np.zeros_like(hinge.h), np.zeros_like(hinge.h)
    best, best_u, averaged = np.inf, u, False
    lowest: list[float] = []  # after each iteration
    reason: StopReason | None = None
    with np.errstate(all="ignore"):  # non-finite values are detected, and end the run
        steps = _StepSizes(hinge, u, learning_rate)
        while reason is None:
            t = len(lowest) + 1
            weight = 2.0 / (t + 1)
            Mu = np.asarray(hinge.M @ u)
            value, z = hinge.value(u, Mu), hinge.compute_multipliers(Mu)
            u_mean, Mu_mean = u_mean + weight * (u - u_mean), Mu_mean + weight * (Mu - Mu_mean)
            mean_value = hinge.value(u_mean, Mu_mean)
            if not np.isfinite(value):
                reason = "numerical_error"
                break
            z_mean = z_mean + weight * (z - z_mean)
            if min(value, mean_value) < best:
                averaged = mean_value < value
                best, best_u = (mean_value, u_mean) if averaged else (value, u)
            lowest.append(best)
            progress.record(t, best, mean_value - best)
            settled = t >= MIN_ITERATIONS and lowest[t // 2 - 1] - best <= tol * abs(best) >= mean_value - best
            reason = "converged" if settled else progress.find_stop_reason()
            u = steps.advance(u, hinge.compute_gradient(u, z), t)
    trace = progress.finish(reason, len(lowest), best)
    return HingeSolution(best_u, z_mean, best, averaged, trace)
