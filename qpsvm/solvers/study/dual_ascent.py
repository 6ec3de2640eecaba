"""Minimise the SVM dual by projected gradient steps (`projected_gradient`).

Many texts drop yᵀα = 0 in gradient ascent on the dual, and so train a model without intercept. Here every
step ends with the exact Euclidean projection on the box *and* the equality rows.

Derivation. A step of size t from x ends at the feasible point x⁺ nearest to v = x − t(Px + q). With t·y for the
multipliers of Ax⁺ = b in this projection, x⁺ = clip(v − tAᵀy, lb, ub), and so

    z_box = (v − tAᵀy − x⁺)/t             is ≤ 0 at a lower bound, ≥ 0 at an upper one, 0 between them,
    Px⁺ + q + Aᵀy + z_box = (P − I/t)(x⁺ − x).

At (x⁺, y, z_box) feasibility, signs and complementarity hold exactly; the right-hand side of the second line is the
only violation of the KKT conditions, and it is what `tol` limits. Unless it is given, t is 1/λ_max(P), estimated from
below, and is shortened if the curvature dᵀPd of a step shows that the estimate was too small.

Sources: Kiwiel 2008, "Breakpoint searching algorithms for the continuous quadratic knapsack problem" (projection);
Beck and Teboulle 2009, O'Donoghue and Candès 2015 (momentum and its restart, `accelerated`).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, as_dense_rows
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.solvers.study.trace import Product, ProgressHistory, Trace

#: Columns of A count as parallel up to this sine; b may leave the range of Ax over the box by this share (ν = ν_max).
ROUNDING = 1e-10
#: Products with P by which its largest eigenvalue is estimated.
POWER_ITERATIONS = 12


@dataclass(frozen=True, eq=False)
class ProjectedGradientSolution:
    """Solution of `projected_gradient`: a feasible x (n,), multipliers y (m,) and z_box (n,).

    `residual` is ‖Px + q + Aᵀy + z_box‖∞, `step` the last step size.
    """

    x: FloatArray
    y: FloatArray
    z_box: FloatArray
    objective: float
    residual: float
    step: float
    trace: Trace


def projected_gradient(
    P: Product, q: FloatArray, A: Any, b: Any, lb: FloatArray, ub: FloatArray, *,
    x0: FloatArray | None = None, step: float | None = None, max_iter: int = 10_000, tol: float = 1e-6,
    time_limit: float | None = None, verbose: bool = False, accelerated: bool = False,
) -> ProjectedGradientSolution:  # fmt: skip
    """Minimise ½xᵀPx + qᵀx subject to Ax = b, lb ≤ x ≤ ub, by projected gradient steps; P positive semidefinite.

    A (m, n) has at most two rows, as `BoxAndRows` explains. Raises ParameterError, UnsupportedError.

    step: Constant step size; None to adapt it.
    accelerated: Use FISTA's momentum, with restarts.
    """
    progress = ProgressHistory("dual_ascent", "residual", max_iter, time_limit, verbose)
    q, lb, ub = (np.asarray(vector, dtype=np.float64) for vector in (q, lb, ub))
    start = np.zeros(len(q)) if x0 is None else as_finite_vector(x0, "x0", len(q))
    feasible = BoxAndRows(A, b, lb, ub)
    if step is not None and not 0 < step < np.inf:
        raise ParameterError(f"step must be a positive number or None, got {step}")
    reason: StopReason | None = "infeasible" if feasible.is_empty() else None
    iteration, momentum = 0, 1.0
    with np.errstate(all="ignore"):  # non-finite values are detected, and end the run
        x, y = feasible.project(start)
        Px = np.asarray(P @ x, dtype=np.float64)
        current = base = best = _Point(x, Px, 0 * y, 0 * x, float(0.5 * x @ Px + q @ x))
        step_size = step or 1.0 / (_estimate_largest_eigenvalue(P, len(q)) or 1.0)
        if not step_size > 0:  # the eigenvalue overflowed
            reason = "numerical_error"
        while reason is None:
            iteration += 1
            new, longest = _take_projected_step(P, q, feasible, base, step_size, tol)
            while step is None and longest < step_size:
                step_size = 0.98 * longest
                new, longest = _take_projected_step(P, q, feasible, base, step_size, tol)
            if not np.isfinite(new.objective):
                reason = "numerical_error"
                break
            if accelerated:
                base, momentum = _extrapolate(current, new, base, momentum)
            else:
                base = new
                momentum = 1.0
            current = new
            best = new if new.objective <= best.objective else best
            progress.record(iteration, new.objective, new.residual)
            if new.residual <= new.max_residual:
                reason = "converged"
            else:
                reason = progress.find_stop_reason()
    final = current if reason == "converged" else best
    trace = progress.finish(reason, iteration, final.objective)
    return ProjectedGradientSolution(final.x, final.y, final.z_box, final.objective, final.residual, step_size, trace)


@dataclass(frozen=True, eq=False)
class _Point:
    """x and Px, the multipliers of the projection that gave x, and the KKT residual, converged if ≤ `max_residual`."""

    x: FloatArray
    Px: FloatArray
    y: FloatArray
    z_box: FloatArray
    objective: float
    residual: float = np.inf
    max_residual: float = 0.0


def _estimate_largest_eigenvalue(P: Product, n: int) -> float:
    """Return the largest eigenvalue of P in absolute value, from below, by power iterations from a fixed start."""
    v = np.random.default_rng(0).standard_normal(n)
    norm = 1.0
    for _ in range(POWER_ITERATIONS):
        v = np.asarray(P @ (v / norm))
        norm = float(np.linalg.norm(v))
        if not 0 < norm < np.inf:
            break
    return norm


def _take_projected_step(
    P: Product, q: FloatArray, feasible: BoxAndRows, base: _Point, step_size: float, tol: float
) -> tuple[_Point, float]:
    """Return the end of the projected step d from `base`, and the largest step size t for which dᵀPd ≤ ‖d‖²/t.

    With that the step does not increase the objective. The objective is NaN if the step overflows.
    """
    v = base.x - step_size * (base.Px + q)
    if not np.isfinite(v).all():
        return _Point(base.x, base.Px, base.y, base.z_box, np.nan), step_size
    x, y = feasible.project(v)
    Px = np.asarray(P @ x, dtype=np.float64)
    d = x - base.x
    Pd = Px - base.Px
    Aty = feasible.A.T @ y
    curvature = float(d @ Pd) - 8 * EPS * float(np.linalg.norm(d) * (np.linalg.norm(Px) + np.linalg.norm(base.Px)))
    longest = float(d @ d) / curvature if curvature > 0 else np.inf
    scale = max(float(np.abs(part).max(initial=0.0)) for part in (q, Px, Aty / step_size))
    max_residual = max(tol * scale, 4 * EPS * float(np.abs(x).max(initial=0.0)) / step_size)
    residual = float(np.abs(Pd - d / step_size).max(initial=0.0))
    objective = float(0.5 * x @ Px + q @ x)
    sign_bounds = np.where(x <= feasible.lb, -np.inf, 0.0), np.where(x >= feasible.ub, np.inf, 0.0)
    z_box = np.clip((v - Aty - x) / step_size, *sign_bounds)  # removes rounding errors only
    return _Point(x, Px, y / step_size, z_box, objective, residual, max_residual), longest


def _extrapolate(last: _Point, new: _Point, base: _Point, momentum: float) -> tuple[_Point, float]:
    """Return FISTA's next base point x⁺ + β(x⁺ − x) and momentum; restart at x⁺ if the step reversed the last move."""
    if float((base.x - new.x) @ (new.x - last.x)) > 0:
        return new, 1.0
    next_momentum = 0.5 + float(np.sqrt(0.25 + momentum**2))
    beta = (momentum - 1) / next_momentum
    x, Px = new.x + beta * (new.x - last.x), new.Px + beta * (new.Px - last.Px)
    return _Point(x, Px, new.y, new.z_box, np.inf), next_momentum


class BoxAndRows:
    """The set {x : lb ≤ x ≤ ub, Ax = b} for A (m, n) of at most two rows, and the exact projection on it.

    Two rows are replaced by TA, whose rows have disjoint supports, so that the projections are independent. That is
    possible if the columns have only two directions, as (y_i, 1) in the ν-SVM: yᵀα = 0 and 1ᵀα = ν are equivalent to
    one sum per class. `rows` has the support, the entries on it and the right-hand side of each row of TA.
    """

    def __init__(self, A: Any, b: Any, lb: FloatArray, ub: FloatArray) -> None:
        self.A, right = as_dense_rows(A, b, len(lb))
        self.T = find_disjoint_combination(self.A)
        self.ub = ub
        self.lb = lb
        TA = self.T @ self.A
        Tb = self.T @ right
        TA[np.abs(TA) <= ROUNDING * np.abs(TA).max(axis=1, initial=0.0, keepdims=True)] = 0.0
        supports = [np.flatnonzero(a) for a in TA]
        self.rows = [(s, a[s], float(beta)) for s, a, beta in zip(supports, TA, Tb, strict=True)]

    def is_empty(self) -> bool:
        """Return whether the box is empty, or contains no point with Ax = b."""
        for s, a, beta in self.rows:
            ends = np.stack([a * self.lb[s], a * self.ub[s]])
            slack = ROUNDING * max(abs(beta), float(np.abs(ends[np.isfinite(ends)]).sum()))
            if not ends.min(axis=0).sum() - slack <= beta <= ends.max(axis=0).sum() + slack:
                return True
        return bool(np.any(self.lb > self.ub))

    def project(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the nearest point x = clip(v − Aᵀy, lb, ub) with Ax = b, and its y: (n,), (m,)."""
        x = np.clip(v, self.lb, self.ub)
        y = np.zeros(len(self.rows))
        for k, (s, a, beta) in enumerate(self.rows):
            y[k] = find_knapsack_multiplier(v[s], a, beta, self.lb[s], self.ub[s])
            x[s] = np.clip(v[s] - y[k] * a, self.lb[s], self.ub[s])
        return x, self.T.T @ y


def find_disjoint_combination(A: FloatArray) -> FloatArray:
    """Return a nonsingular T (m, m) for which the rows of TA have disjoint supports, for A (m, n).

    If the columns of A are along p or r, the rows of T are orthogonal to r and to p. Raises UnsupportedError.
    """
    if len(A) > 2:
        raise UnsupportedError(f"projected gradient takes at most 2 equality rows, got {len(A)}; use cvxopt or osqp")
    if len(A) < 2 or not A.any():
        return np.eye(len(A))
    row_scale = np.abs(A).max(axis=1)
    row_scale[row_scale == 0] = 1.0
    columns = A / row_scale[:, None]
    norms = np.hypot(columns[0], columns[1])
    p = columns[:, norms.argmax()] / norms.max()  # the direction of the largest column
    is_off_p = np.abs(p[0] * columns[1] - p[1] * columns[0]) > ROUNDING * norms
    i = int(np.where(is_off_p, norms, 0.0).argmax())
    if is_off_p.any():
        r = columns[:, i] / norms[i]
    else:
        r = np.array([-p[1], p[0]])
    if np.any(is_off_p & (np.abs(r[0] * columns[1] - r[1] * columns[0]) > ROUNDING * norms)):
        raise UnsupportedError(
            "projected gradient takes two equality rows only if their columns point in two directions, as those of "
            "the ν-SVM dual do; use cvxopt or osqp"
        )
    return np.asarray(np.array([[r[1], -r[0]], [-p[1], p[0]]]) / row_scale)


def find_knapsack_multiplier(v: FloatArray, a: FloatArray, beta: float, lb: FloatArray, ub: FloatArray) -> float:
    """Return the μ for which x = clip(v − μa, lb, ub) has aᵀx = β; all (k,), a without zeros.

    aᵀx decreases with μ, linearly between breakpoints, where a coordinate meets a bound. Bisection over the sorted
    breakpoints finds the interval that contains the root.
    """
    at_lb, at_ub = (v - lb) / a, (v - ub) / a
    first, last = np.minimum(at_lb, at_ub), np.maximum(at_lb, at_ub)
    breakpoints = np.unique(np.concatenate([first, last]))
    breakpoints = breakpoints[np.isfinite(breakpoints)]

    def excess(mu: float) -> float:
        return float(a @ np.clip(v - mu * a, lb, ub)) - beta

    k = bisect_left(breakpoints, True, key=lambda mu: excess(mu) <= 0)
    start = float(breakpoints[k - 1]) if k > 0 else -np.inf
    end = float(breakpoints[k]) if k < len(breakpoints) else np.inf
    free = a[(first <= start) & (last >= end)]
    slope = float(free @ free)
    if np.isfinite(end):
        mu = end
    elif np.isfinite(start):
        mu = start
    else:
        mu = 0.0
    for _ in range(2 if slope > 0 else 0):  # the second correction removes the rounding of the first
        mu = min(max(mu + excess(mu) / slope, start), end)
    return mu
