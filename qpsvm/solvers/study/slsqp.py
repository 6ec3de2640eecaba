"""Solve a QP by SciPy's SLSQP, which many SVM texts use.

Each iteration minimises a quadratic model under the linearised constraints, by least squares, and searches along the
line to its solution. The model's Hessian is a BFGS estimate that starts at the identity, although a QP knows its own P.
One iteration is O(n³) and the workspace about 10n² numbers: 10 s at n = 600.

`ftol` is absolute: it bounds the change of the objective, so an objective of size 1e-5 (the ν-SVM's) needs its square.
Older SciPy versions return no multipliers, so they are fitted to the active set here.

Source: Kraft 1988, "A software package for sequential quadratic programming", DFVLR-FB 88-28.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray, as_dense_rows
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.solvers.study.trace import Product, ProgressHistory, Trace

#: SciPy's exit modes; the others are its subproblem or line search giving up, from which nothing follows about the QP.
STOP_REASONS: dict[int, StopReason] = {0: "converged", 9: "iteration_limit"}
#: A bound or row nearer than this, relative to its size, is active when multipliers are fitted.
ACTIVE = 1e-7


@dataclass(frozen=True, eq=False)
class SLSQPSolution:
    """What `solve_slsqp` found: x and z_box (n,), z (rows of G,), y (rows of A,); `message` is SciPy's."""

    x: FloatArray
    y: FloatArray
    z: FloatArray
    z_box: FloatArray
    objective: float
    message: str
    trace: Trace


class _StoppedError(Exception):
    """Leaves SciPy's loop: SLSQP's callback cannot end a run by itself in all supported versions."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason


def solve_slsqp(
    P: Product, q: FloatArray, G: FloatArray | None, h: FloatArray | None, A: FloatArray | None, b: FloatArray | None,
    lb: FloatArray, ub: FloatArray, *, x0: FloatArray | None = None, max_iter: int = 1_000, ftol: float = 1e-6,
    time_limit: float | None = None, verbose: bool = False,
) -> SLSQPSolution:  # fmt: skip
    """Minimise ½xᵀPx + qᵀx subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub with `scipy.optimize.minimize(method="SLSQP")`.

    Raises ParameterError.
    """
    from scipy.optimize import Bounds, minimize

    progress = ProgressHistory("slsqp", "gradient", max_iter, time_limit, verbose)
    if np.any(lb > ub):
        raise ParameterError(f"lb must not exceed ub; entry {int(np.argmax(lb > ub))} does")
    n, iterations = len(q), 0
    reason: StopReason
    (G, h), (A, b) = as_dense_rows(G, h, n), as_dense_rows(A, b, n)
    x = np.clip(np.zeros(n) if x0 is None else as_finite_vector(x0, "x0", n), lb, ub)

    def value_and_gradient(x: FloatArray) -> tuple[float, FloatArray]:
        Px = np.asarray(P @ x, dtype=np.float64)
        value = float(0.5 * x @ Px + q @ x)
        if not np.isfinite(value):
            raise _StoppedError("numerical_error")
        return value, Px + q

    def after_iteration(point: FloatArray) -> None:
        nonlocal x, iterations
        iterations += 1
        value, gradient = value_and_gradient(point)
        x = np.clip(point, lb, ub)
        progress.record(iterations, value, float(np.abs(gradient).max()))
        limit = progress.find_stop_reason()
        if limit in ("time_limit", "interrupted"):
            raise _StoppedError(limit)

    rows = [{"type": "eq", "fun": lambda x: A @ x - b, "jac": lambda _: A}] * bool(len(A))
    rows += [{"type": "ineq", "fun": lambda x: h - G @ x, "jac": lambda _: -G}] * bool(len(G))
    with np.errstate(all="ignore"):  # a NaN is looked for, and ends the run
        try:
            found = minimize(value_and_gradient, x, jac=True, method="SLSQP", bounds=Bounds(lb, ub), constraints=rows,
                             callback=after_iteration, options={"maxiter": max_iter, "ftol": ftol})  # fmt: skip
        except _StoppedError as stop:
            reason, message = stop.reason, f"stopped: {stop.reason.replace('_', ' ')}"
        else:
            fixed: StopReason = "converged" if found.success else "infeasible"  # of a single point
            reason = STOP_REASONS.get(found.status, "numerical_error") if "status" in found else fixed
            message, iterations = found.message, int(found.get("nit", 0))
            x = np.clip(found.x, lb, ub) if np.isfinite(found.x).all() else x
        Px = np.asarray(P @ x, dtype=np.float64)
        objective = float(0.5 * x @ Px + q @ x)
        y, z, z_box = fit_multipliers(x, Px + q, G, h, A, lb, ub)
    return SLSQPSolution(x, y, z, z_box, objective, message, progress.finish(reason, iterations, objective))


def fit_multipliers(
    x: FloatArray, gradient: FloatArray, G: FloatArray, h: FloatArray, A: FloatArray, lb: FloatArray, ub: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The y, z and z_box that make ‖gradient + Gᵀz + Aᵀy + z_box‖ least, with the signs and the zeros due at x."""
    from scipy.optimize import lsq_linear

    near = ACTIVE * np.minimum(np.maximum(1.0, np.abs(x)), ub - lb)
    low, high = np.where(x - lb <= near, -np.inf, 0.0), np.where(ub - x <= near, np.inf, 0.0)
    bounded, active = low < high, h - G @ x <= ACTIVE * np.maximum(1.0, np.abs(h))
    m, z = len(A), np.zeros(len(h))
    columns = np.concatenate([A.T, G[active].T, np.eye(len(x))[:, bounded]], axis=1)
    if not columns.shape[1] or not np.isfinite(gradient).all():  # the start itself may have no value
        return np.zeros(m), z, np.clip(-gradient, low, high)
    ends = (np.concatenate([np.full(m, -np.inf), np.zeros(active.sum()), low[bounded]]),
            np.concatenate([np.full(m + active.sum(), np.inf), high[bounded]]))  # fmt: skip
    fit = lsq_linear(columns, -gradient, bounds=ends, method="bvls").x
    z[active] = fit[m : m + active.sum()]
    return fit[:m], z, np.clip(-(gradient + G.T @ z + A.T @ fit[:m]), low, high)
