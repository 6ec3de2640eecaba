"""Minimise the hinge form of a primal SVM by subgradient descent (`hinge_subgradient`).

    minimise  F(u) = ½uᵀDu + qᵀu + Σ_i c_i max(0, h_i − (Mu)_i)        D = diag(d), d ≥ 0, c ≥ 0

For the C-SVM u = (w, b), d = (1, 0), h = 1, M has the rows y_i(x_i, 1) and c is C; for the ν-SVM u = (w, b, ρ) with
q_ρ = −ν, h = 0.

Derivation. With z_i = c_i where h_i > (Mu)_i and 0 elsewhere, g = Du + q − Mᵀz is a subgradient of F at u. The step of
iteration t depends on the coordinate:

- d_j > 0: u_j ← u_j − g_j/(d_j(t+1)/2). This is the step 1/(μt) of Pegasos, with the factor that suits averages with
  weights t. Equivalently, u_j ← (1 − τ)u_j + τ(Mᵀz − q)_j/d_j with τ = 2/(t+1). So u_j belongs to the running average
  z̄ ← (1 − τ)z̄ + τz: (Du + q − Mᵀz̄)_j = 0 exactly (Bach 2015: Frank–Wolfe on the dual).
- d_j = 0 (b, ρ): u_j ← u_j − r_j g_j/√Σg_j². This is the diminishing step r/(G√t), with the measured G instead of a
  bound, and r_j the largest distance from the start so far, as that to the solution is unknown (Ivgi et al. 2023).

If `learning_rate` is given, the step is u ← u − ηg, as in published codes. Then the iterates converge only to a
neighbourhood of the solution, which shrinks with η.

Why z̄ approximates the multipliers of Mu ≥ h − ξ. 0 ≤ z̄ ≤ c by construction, and z_i is c_i or 0 as row i is violated
or not, so the averages tend to complementarity. The residual of stationarity, Dū + q − Mᵀz̄, is the weighted average of
the subgradients. For steps u_{s+1} = u_s − ηg_s the sum Σ s g_s = Σ s(u_s − u_{s+1})/η over s ≤ t telescopes to
t(mean u_s − u_{t+1})/η. Divided by Σ s = t(t+1)/2, it vanishes like 1/(ηt). With steps that diminish like 1/√t, Abel
summation gives 1/√t.

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

#: The first r_j, in units of `_estimate_step_unit`. It is short, because r_j grows with the distance from the start.
FIRST_STEP = 0.01
#: Number of iterations before the run can end as converged.
MIN_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class HingeSolution:
    """Solution of `hinge_subgradient`.

    u (k,): The best of all iterates and their running averages.
    z (m,): The average z̄ over the run, 0 ≤ z ≤ c, which approximates the multipliers of the rows; not computed from u.
    objective: F(u).
    is_average: Whether u is an average.
    """

    u: FloatArray
    z: FloatArray
    objective: float
    is_average: bool
    trace: Trace


class _Hinge:
    """F and its subgradients. They take the product Mu, so that the caller computes it only once."""

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

    def compute_objective(self, u: FloatArray, Mu: FloatArray) -> float:
        return float(0.5 * u @ (self.d * u) + self.q @ u + self.c @ np.maximum(0.0, self.h - Mu))

    def compute_multipliers(self, Mu: FloatArray) -> FloatArray:
        """Return z: c_i for violated rows, 0 elsewhere: (m,)."""
        return np.where(Mu < self.h, self.c, 0.0)

    def compute_gradient(self, u: FloatArray, z: FloatArray) -> FloatArray:
        """Return g of the multipliers z at u: (k,)."""
        return np.asarray(self.d * u + self.q - self.M.T @ z, dtype=np.float64)


class _StepSizes:
    """Step sizes of the coordinates, as in the module docstring: `curvature` is d_j, and `radius` r_j."""

    def __init__(self, hinge: _Hinge, u0: FloatArray, learning_rate: float | None) -> None:
        self.learning_rate = learning_rate
        self.has_curvature = hinge.d > 0
        self.curvature = np.where(self.has_curvature, hinge.d, 1.0)
        self.u0 = u0
        self.sum_of_squares = np.zeros(len(u0))
        self.radius = FIRST_STEP * _estimate_step_unit(hinge, self.has_curvature, self.curvature)

    def advance(self, u: FloatArray, g: FloatArray, t: int) -> FloatArray:
        """Return the iterate after u in iteration t = 1, 2, …, for the subgradient g: (k,)."""
        if self.learning_rate is not None:
            return u - self.learning_rate * g
        self.sum_of_squares += g * g
        self.radius = np.maximum(self.radius, np.abs(u - self.u0))
        root = np.sqrt(np.where(self.sum_of_squares > 0, self.sum_of_squares, 1.0))
        step = np.where(self.has_curvature, 2.0 / ((t + 1) * self.curvature), self.radius / root)
        return np.asarray(u - step * g)


def _estimate_step_unit(hinge: _Hinge, has_curvature: NDArray[np.bool_], curvature: FloatArray) -> FloatArray:
    """Estimate the change of each coordinate with d_j = 0 that shifts the entries of Mu by a margin, max|h|: (k,)."""
    margin = float(np.abs(hinge.h).max(initial=0.0))
    if margin == 0:  # then take the size of Mu, at the u that belongs to z = c
        u = np.where(has_curvature, -hinge.compute_gradient(np.zeros(len(hinge.d)), hinge.c) / curvature, 0.0)
        margin = float(np.linalg.norm(hinge.M @ u)) / max(1.0, np.sqrt(len(hinge.h))) or 1.0
    mean_entry = np.asarray(abs(hinge.M).T @ hinge.c) / (hinge.c.sum() or 1.0)  # mean |M_ij| of a column, weighted by c
    return margin / np.where(mean_entry > 0, mean_entry, 1.0)


def hinge_subgradient(
    M: Any, h: FloatArray, c: FloatArray, d: FloatArray, q: FloatArray | None = None, *,
    u0: FloatArray | None = None, learning_rate: float | None = None, max_iter: int = 5_000, tol: float = 1e-6,
    time_limit: float | None = None, verbose: bool = False,
) -> HingeSolution:  # fmt: skip
    """Minimise F of the module docstring by subgradient steps on all rows at once.

    M (m, k), h (m,), c (m,), d (k,), q (k,): The data of F; q is 0 if None.
    u0 (k,): The start; 0 if None. Raises ParameterError.
    """
    progress = ProgressHistory("subgradient", "average − best", max_iter, time_limit, verbose)
    if learning_rate is not None and not 0 < learning_rate < np.inf:
        raise ParameterError(f"learning_rate must be a positive number or None, got {learning_rate}")
    hinge = _Hinge(M, h, c, d, q)
    u = np.zeros(len(hinge.d)) if u0 is None else as_finite_vector(u0, "u0", len(hinge.d))
    u_mean, Mu_mean, z_mean = np.zeros_like(u), np.zeros_like(hinge.h), np.zeros_like(hinge.h)  # with weights t
    best, best_u, is_average = np.inf, u, False
    best_values: list[float] = []  # the smallest F so far, after each iteration
    reason: StopReason | None = None
    with np.errstate(all="ignore"):  # non-finite values are detected, and end the run
        steps = _StepSizes(hinge, u, learning_rate)
        while reason is None:
            t = len(best_values) + 1
            tau = 2.0 / (t + 1)
            Mu = np.asarray(hinge.M @ u)
            value = hinge.compute_objective(u, Mu)
            z = hinge.compute_multipliers(Mu)
            u_mean, Mu_mean = u_mean + tau * (u - u_mean), Mu_mean + tau * (Mu - Mu_mean)
            mean_value = hinge.compute_objective(u_mean, Mu_mean)
            if not np.isfinite(value):
                reason = "numerical_error"
                break
            z_mean = z_mean + tau * (z - z_mean)
            if min(value, mean_value) < best:
                is_average = mean_value < value
                best, best_u = (mean_value, u_mean) if is_average else (value, u)
            best_values.append(best)
            excess = mean_value - best
            progress.record(t, best, excess)
            decrease = best_values[t // 2 - 1] - best  # in the second half of the run
            allowed = tol * abs(best)
            has_converged = t >= MIN_ITERATIONS and decrease <= allowed and excess <= allowed
            reason = "converged" if has_converged else progress.find_stop_reason()
            u = steps.advance(u, hinge.compute_gradient(u, z), t)
    trace = progress.finish(reason, len(best_values), best)
    return HingeSolution(best_u, z_mean, best, is_average, trace)
