"""Solve a QP by SciPy's SLSQP, which many SVM texts use.

Each iteration minimises a quadratic model under the linearised constraints, as a least-squares problem, followed by a
line search towards its solution. The Hessian of the model is a BFGS estimate that starts at the identity: SLSQP cannot
be given the P of the QP. An iteration takes O(n³) time and a workspace of about 10n² numbers; a solve takes 10 s at
n = 600.

`ftol` is an absolute bound on the change of the objective: if the objective is of size 1e-5, as for ν-SVMs, `ftol` has
to be smaller accordingly. Older SciPy versions return no multipliers, so they are fitted to the active set
(`fit_multipliers`).

Source: Kraft 1988, "A software package for sequential quadratic programming", DFVLR-FB 88-28.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray, as_dense_rows
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.solvers.study.trace import Product, ProgressHistory, Trace

#: SciPy's exit modes; in all others its subproblem or line search failed, which implies nothing about the QP.
STOP_REASONS: dict[int, StopReason] = {0: "converged", 9: "iteration_limit"}
#: Relative distance up to which a bound or a row counts as active when multipliers are fitted.
ACTIVE_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class SLSQPSolution:
    """Solution of `solve_slsqp`: x and z_box (n,), z and y with an entry per row of G and of A; SciPy's message."""

    x: FloatArray
    y: FloatArray
    z: FloatArray
    z_box: FloatArray
    objective: float
    message: str
    trace: Trace


class _StoppedError(Exception):
    """Raised to leave SciPy's loop: in some supported versions a callback of SLSQP has no other way to end the run."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason


def solve_slsqp(
    P: Product, q: FloatArray, G: FloatArray | None, h: FloatArray | None, A: FloatArray | None, b: FloatArray | None,
    lb: FloatArray, ub: FloatArray, *, x0: FloatArray | None = None, max_iter: int = 1_000, ftol: float = 1e-6,
    time_limit: float | None = None, verbose: bool = False,
) -> SLSQPSolution:  # fmt: skip
    """Minimise ½xᵀPx + qᵀx subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub with `scipy.optimize.minimize(method="SLSQP")`.

    P: A matrix or operator (n, n).
    G, h, A, b: Dense, or None if there are no such rows.
    lb, ub (n,): May be infinite.
    x0 (n,): The start, which is clipped to the bounds; 0 by default.
    ftol: SciPy's absolute tolerance on the change of the objective.

    Raises ParameterError.
    """
    from scipy.optimize import Bounds, minimize

    progress = ProgressHistory("slsqp", "gradient", max_iter, time_limit, verbose)
    if np.any(lb > ub):
        raise ParameterError(f"lb must not exceed ub; entry {int(np.argmax(lb > ub))} does")
    n = len(q)
    iterations = 0
    G, h = as_dense_rows(G, h, n)
    A, b = as_dense_rows(A, b, n)
    x = np.clip(np.zeros(n) if x0 is None else as_finite_vector(x0, "x0", n), lb, ub)

    def evaluate_finite(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = _evaluate_objective(P, q, x)
        if not np.isfinite(value):
            raise _StoppedError("numerical_error")
        return value, gradient

    def record_iteration(point: FloatArray) -> None:
        nonlocal x, iterations
        iterations += 1
        value, gradient = evaluate_finite(point)
        x = np.clip(point, lb, ub)
        progress.record(iterations, value, float(np.abs(gradient).max()))
        limit = progress.find_stop_reason()
        if limit in ("time_limit", "interrupted"):  # SciPy itself stops at the iteration limit
            raise _StoppedError(limit)

    constraints = []
    if len(A):
        constraints.append({"type": "eq", "fun": lambda x: A @ x - b, "jac": lambda _: A})
    if len(G):
        constraints.append({"type": "ineq", "fun": lambda x: h - G @ x, "jac": lambda _: -G})
    with np.errstate(all="ignore"):  # evaluate_finite checks for NaN, and ends the run
        try:
            result = minimize(
                evaluate_finite, x, jac=True, method="SLSQP", bounds=Bounds(lb, ub), constraints=constraints,
                callback=record_iteration, options={"maxiter": max_iter, "ftol": ftol},
            )  # fmt: skip
        except _StoppedError as stop:
            reason = stop.reason
            message = f"stopped: {reason.replace('_', ' ')}"
        else:
            reason = _find_reason(result)
            message = result.message
            iterations = int(result.get("nit", 0))
            x = np.clip(result.x, lb, ub) if np.isfinite(result.x).all() else x
        objective, gradient = _evaluate_objective(P, q, x)
        y, z, z_box = fit_multipliers(x, gradient, G, h, A, lb, ub)
    return SLSQPSolution(x, y, z, z_box, objective, message, progress.finish(reason, iterations, objective))


def _evaluate_objective(P: Product, q: FloatArray, x: FloatArray) -> tuple[float, FloatArray]:
    """Return ½xᵀPx + qᵀx and its gradient Px + q at x: a number and (n,)."""
    Px = np.asarray(P @ x, dtype=np.float64)
    return float(0.5 * x @ Px + q @ x), Px + q


def _find_reason(result: Any) -> StopReason:
    """Return why SciPy's run ended."""
    if "status" in result:
        return STOP_REASONS.get(result.status, "numerical_error")
    return "converged" if result.success else "infeasible"  # all variables are fixed: SciPy only checks that point


def fit_multipliers(
    x: FloatArray, gradient: FloatArray, G: FloatArray, h: FloatArray, A: FloatArray, lb: FloatArray, ub: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the y, z and z_box that minimise ‖gradient + Gᵀz + Aᵀy + z_box‖ under the KKT conditions at x (n,).

    These are z ≥ 0, z_box ≤ 0 at a lower bound and z_box ≥ 0 at an upper one, and 0 for inactive rows and bounds.
    """
    from scipy.optimize import lsq_linear

    tolerance = ACTIVE_TOLERANCE * np.minimum(np.maximum(1.0, np.abs(x)), ub - lb)
    # the interval of z_box: (−∞, 0] at a lower bound, [0, ∞) at an upper one, {0} strictly between them
    z_low = np.where(x - lb <= tolerance, -np.inf, 0.0)
    z_high = np.where(ub - x <= tolerance, np.inf, 0.0)
    at_bound = z_low < z_high
    active_rows = h - G @ x <= ACTIVE_TOLERANCE * np.maximum(1.0, np.abs(h))
    z = np.zeros(len(h))
    columns = np.concatenate([A.T, G[active_rows].T, np.eye(len(x))[:, at_bound]], axis=1)
    if not columns.shape[1] or not np.isfinite(gradient).all():  # the objective may be infinite at the start
        return np.zeros(len(A)), z, np.clip(-gradient, z_low, z_high)
    p = len(A)
    n_active = int(active_rows.sum())
    lower = np.concatenate([np.full(p, -np.inf), np.zeros(n_active), z_low[at_bound]])
    upper = np.concatenate([np.full(p + n_active, np.inf), z_high[at_bound]])
    multipliers = lsq_linear(columns, -gradient, bounds=(lower, upper), method="bvls").x
    y = multipliers[:p]
    z[active_rows] = multipliers[p : p + n_active]
    return y, z, np.clip(-(gradient + G.T @ z + A.T @ y), z_low, z_high)
