"""SciPy's SLSQP on a QP: the general nonlinear programming routine that many SVM texts reach for.

Method. In each iteration SLSQP minimises a quadratic model under the linearised constraints, by least squares, and
searches along the line to its solution. Its model's Hessian is a BFGS estimate that starts at the identity, although
a QP knows its own P; here the constraints are linear, so that only the estimate has to settle. One iteration is O(n³)
and the workspace about 10n² numbers: 10 s at n = 600.

`ftol` is absolute: it bounds the change of the objective, so an objective of size 1e-5 (the ν-SVM's) needs its square.

Source: Kraft 1988, "A software package for sequential quadratic programming", DFVLR-FB 88-28.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray, dense_rows
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.shared.stopping import StopReason
from qpsvm.solvers.study.trace import Product, Progress, Trace

#: SciPy's exit modes. 2 to 8 are its subproblem or line search giving up, from which nothing follows about the QP;
#: 4, "Inequality constraints incompatible", is one of them and proves no infeasibility.
REASONS: dict[int, StopReason] = {
    0: "converged", **dict.fromkeys(range(2, 9), "numerical_error"), 9: "iteration_limit",
}  # fmt: skip
#: A bound or row nearer than this, relative to its size, is active when multipliers are estimated.
ACTIVE = 1e-7


@dataclass(frozen=True, eq=False)
class SLSQP:
    """What `slsqp` found.

    x, z_box (n,), z (rows of G,), y (rows of A,). `status` and `message` are SciPy's, verbatim; status is None where
    SciPy was stopped and has said nothing. `violation` is how far the worst row is from being met. `estimated` says
    that y and z are not SciPy's multipliers but a least-squares fit to the active set.
    """

    x: FloatArray
    y: FloatArray
    z: FloatArray
    z_box: FloatArray
    objective: float
    violation: float
    status: int | None
    message: str
    estimated: bool
    trace: Trace


class _Stopped(Exception):
    """Leaves SciPy's loop: SLSQP's callback cannot end a run by itself in all supported versions."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason


@dataclass(frozen=True, eq=False)
class _QP:
    """The problem as arrays, and what SciPy asks of it."""

    P: Product
    q: FloatArray
    G: FloatArray
    h: FloatArray
    A: FloatArray
    b: FloatArray
    lb: FloatArray
    ub: FloatArray

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        Px = np.asarray(self.P @ x, dtype=np.float64)
        value = float(0.5 * x @ Px + self.q @ x)
        if not np.isfinite(value):
            raise _Stopped("numerical_error")
        return value, Px + self.q

    def violation(self, x: FloatArray) -> float:
        over, off = self.G @ x - self.h, self.A @ x - self.b
        return max(float(over.max(initial=0.0)), float(np.abs(off).max(initial=0.0)))

    def constraints(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        if len(self.A):
            rows.append({"type": "eq", "fun": lambda x: self.A @ x - self.b, "jac": lambda _: self.A})
        if len(self.G):
            rows.append({"type": "ineq", "fun": lambda x: self.h - self.G @ x, "jac": lambda _: -self.G})
        return rows

    def at_bounds(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The range that z_box may take at x: negative only at a lower bound, positive only at an upper: (n,), (n,)."""
        near = ACTIVE * np.minimum(np.maximum(1.0, np.abs(x)), self.ub - self.lb)
        lowest = np.where(x - self.lb <= near, -np.inf, 0.0)
        return lowest, np.where(self.ub - x <= near, np.inf, 0.0)


def estimate_multipliers(qp: _QP, x: FloatArray, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The y and z that make ‖gradient + Gᵀz + Aᵀy + z_box‖ least, with the signs and the zeros due at x.

    z is 0 on rows of G that are not active at x, z_box between bounds.
    """
    from scipy.optimize import lsq_linear

    active = np.flatnonzero(qp.h - qp.G @ x <= ACTIVE * np.maximum(1.0, np.abs(qp.h)))
    lowest, highest = qp.at_bounds(x)
    bounded = np.flatnonzero(lowest < highest)
    m, k = len(qp.A), len(active)
    columns = np.concatenate([qp.A.T, qp.G[active].T, np.eye(len(x))[:, bounded]], axis=1)
    if columns.shape[1] == 0:
        return np.zeros(m), np.zeros(len(qp.h))
    low = np.concatenate([np.full(m, -np.inf), np.zeros(k), lowest[bounded]])
    high = np.concatenate([np.full(m + k, np.inf), highest[bounded]])
    fit = lsq_linear(columns, -gradient, bounds=(low, high), method="bvls").x
    z = np.zeros(len(qp.h))
    z[active] = fit[m : m + k]
    return fit[:m], z


def slsqp(
    P: Product, q: FloatArray, G: FloatArray | None, h: FloatArray | None, A: FloatArray | None, b: FloatArray | None,
    lb: FloatArray, ub: FloatArray, *, x0: FloatArray | None = None, max_iter: int = 1_000, ftol: float = 1e-6,
    time_limit: float | None = None, verbose: bool = False,
) -> SLSQP:  # fmt: skip
    """Minimise ½xᵀPx + qᵀx subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub with `scipy.optimize.minimize(method="SLSQP")`.

    Raises ParameterError.
    """
    progress = Progress("slsqp", "violation", max_iter, time_limit, verbose)
    q, lb, ub = (np.asarray(part, dtype=np.float64) for part in (q, lb, ub))
    if np.any(lb > ub):
        raise ParameterError(f"lb must not exceed ub; entry {int(np.argmax(lb > ub))} does")
    n = len(q)
    qp = _QP(P, q, *dense_rows(G, h, n), *dense_rows(A, b, n), lb, ub)
    x = np.clip(np.zeros(n) if x0 is None else as_finite_vector(x0, "x0", n), lb, ub)
    with np.errstate(all="ignore"):  # a NaN is looked for, and ends the run
        return _finish(qp, progress, *_minimise(qp, x, progress, max_iter, ftol))


def _minimise(
    qp: _QP, x: FloatArray, progress: Progress, max_iter: int, ftol: float
) -> tuple[FloatArray, int, StopReason, Any]:
    """Run SciPy: the last finite x, the iterations, the reason, and SciPy's result (None if it was stopped)."""
    from scipy.optimize import Bounds, minimize

    if (qp.lb == qp.ub).all():  # a single point, over which SciPy does not iterate
        return x, 0, "converged" if qp.violation(x) <= ftol else "infeasible", None
    iterations = 0

    def after_iteration(xk: FloatArray) -> None:
        nonlocal x, iterations
        iterations += 1
        value, _ = qp.value_and_gradient(xk)
        x = np.clip(xk, qp.lb, qp.ub)
        progress.record(iterations, value, qp.violation(xk))
        limit = progress.limit()
        if limit in ("time_limit", "interrupted"):
            raise _Stopped(limit)

    try:
        found = minimize(
            qp.value_and_gradient, x, jac=True, method="SLSQP", bounds=Bounds(qp.lb, qp.ub),
            constraints=qp.constraints(), callback=after_iteration, options={"maxiter": max_iter, "ftol": ftol},
        )  # fmt: skip
    except _Stopped as stop:
        return x, iterations, stop.reason, None
    if np.isfinite(found.x).all():
        x = np.clip(found.x, qp.lb, qp.ub)
    return x, int(found.nit), REASONS[int(found.status)], found


def _finish(qp: _QP, progress: Progress, x: FloatArray, iterations: int, reason: StopReason, found: Any) -> SLSQP:
    """Multipliers in our signs: SciPy's rows are h − Gx ≥ 0 and Ax − b = 0 with ∇f = Σ multiplier·∇row."""
    Px = np.asarray(qp.P @ x, dtype=np.float64)
    gradient, m = Px + qp.q, len(qp.A)
    theirs = np.asarray(getattr(found, "multipliers", []), dtype=np.float64)
    estimated = theirs.shape != (m + len(qp.G),) or not np.isfinite(theirs).all()
    if not estimated:
        y, z = -theirs[:m], np.maximum(0.0, theirs[m:])
    elif np.isfinite(gradient).all():
        y, z = estimate_multipliers(qp, x, gradient)
    else:  # the start itself has no value: there is nothing to fit, and z_box comes out as NaN
        y, z = np.zeros(m), np.zeros(len(qp.G))
    z_box = np.clip(-(gradient + qp.G.T @ z + qp.A.T @ y), *qp.at_bounds(x))
    objective = float(0.5 * x @ Px + qp.q @ x)
    status, message = (None, f"stopped: {reason.replace('_', ' ')}") if found is None else (found.status, found.message)
    trace = progress.finish(reason, iterations, objective)
    return SLSQP(x, y, z, z_box, objective, qp.violation(x), status, message, estimated, trace)
