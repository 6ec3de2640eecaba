"""A primal-dual interior point method for convex QPs with a box, few equality rows, and P with a factor, or dense.

    (IPM.4)  minimise ½xᵀPx + qᵀx  subject to  Ax = b,  lb ≤ x ≤ ub,   P = ZZᵀ + diag(d) or dense

Derivation
----------
A bound pushes x back with a force: s ≥ 0 from a lower one, −t ≤ 0 from an upper one. Written as pairs, with the room
c = (x − lb, x − ub) and the force f = (s, −t), both bounds obey the same formulas, both rooms move by the same dx, and
cf ≥ 0. The multiplier of the box is z_box = −(f₀ + f₁). On the central path

    (IPM.5)  m + d∘x + q = f₀ + f₁,  Bᵀx − Ru = g,  c∘f = μ                       m = Bu, see `systems`

A Newton step to the products σμ, with the second-order term of a predicted step dx', df' (Mehrotra 1992), has

    (IPM.6)  df = −f + σμ/c + e − f∘r,  r = dx/c,  e = f∘r'∘(1 + r')               as −dx'∘df'/c = e where σ = 0
    (IPM.7)  θ = d + Σ f/c,  ρ = −(m + d∘x + q) + Σ(σμ/c + e)                      sums over the two bounds: (IPM.1)
    (IPM.8)  μ' = ((1 − τ)Σcf − τ²Σc e)/N at the longest predicted step τ,  σ = (μ'/μ)⁶

Then up to two correctors (Gondzio 1996) move the products that a longer step would leave outside [0.1, 10]σμ back to
that interval. Primal and dual steps are equal, so that residuals shrink by 1 − τ. The gap is

    (IPM.9)  P − D = Σcf + ½‖r_v‖² + |r_yᵀy|                                       r = (r_v, r_y) of (IPM.1)

An infinite bound is a bound at ±1e140: its force is about 1e-140 and vanishes from every sum, without a special case.
Fixed variables are taken out. With equality rows a dense Z is centred, Z − AᵀW with W = (AAᵀ)⁻¹AZ, which changes only y
and keeps the digits of badly centred data: for the dual of an SVM, W is the mean of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.types import FloatArray, Matrix, dense_rows
from qpsvm.errors import ParameterError
from qpsvm.operators import Operator
from qpsvm.solvers.interior_point.iterate import Iterate
from qpsvm.solvers.interior_point.problem import reduce_problem
from qpsvm.solvers.interior_point.settings import SETTINGS
from qpsvm.solvers.shared.cholesky import NumericalTrouble
from qpsvm.solvers.shared.stopping import Budget, StopReason


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """What `mehrotra` found: Px + q + Aᵀy + z_box = 0, with z_box ≤ 0 at a lower bound, ≥ 0 at an upper.

    x, z_box (n,)
    y (p,)
    v (k,): Zᵀx as the method's own variable, with which stationarity holds to rounding; None for a P without a
        factor.
    objective: ½xᵀPx + qᵀx.
    """

    x: FloatArray
    y: FloatArray
    v: FloatArray | None
    z_box: FloatArray
    objective: float
    iterations: int
    reason: StopReason


def mehrotra(
    P: Operator,
    q: FloatArray,
    A: Matrix | None = None,
    b: FloatArray | None = None,
    lb: FloatArray | None = None,
    ub: FloatArray | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    time_limit: float | None = None,
    verbose: bool = False,
) -> InteriorPoint:
    """Solve (IPM.4).

    Shapes: P (n, n), q (n,), A (p, n) or None, lb, ub (n,) or None. Raises ParameterError.
    """
    budget = Budget(max_iter, time_limit, verbose)
    n = len(q)
    rows, right = dense_rows(A, b, n)
    low, high = np.full(n, -np.inf) if lb is None else lb, np.full(n, np.inf) if ub is None else ub
    if (low > high).any():
        raise ParameterError(f"lb must not exceed ub; entry {int(np.argmax(low > high))} does")
    with np.errstate(all="ignore"):  # a NaN is looked for, and ends the run
        problem = reduce_problem(P, q, rows, right, low, high)
        iterate = Iterate(problem)
        reason = _run(iterate, tol, budget)
        best = iterate.best
        x, z_box = low.copy(), np.zeros(n)
        moving = slice(None) if problem.moving is None else problem.moving
        x[moving], z_box[moving], y, v = problem.restore(best.x, best.force, best.u)
        if problem.moving is not None:
            held = np.flatnonzero(low == high)
            z_box[held] = -(P @ x + q + y @ rows)[held]
    return InteriorPoint(x, y, v, z_box, best.objective, budget.steps, reason)


def _run(iterate: Iterate, tol: float, budget: Budget) -> StopReason:
    """Iterate to a stop: the reason. The steps are the budget's iterations."""
    merits, gaps, since = np.inf, np.inf, 0
    while True:
        began = budget.clock.seconds
        try:
            iterate.weigh()
            merit = iterate.measure(tol) if iterate.looks_finished(tol) else np.inf
            if merit > tol:
                iterate.factor()
                merit = iterate.measure(tol)
            if budget.talks:
                _report(iterate, budget)
            if merit <= tol:
                return "converged"
            better = merit < SETTINGS.progress * merits or iterate.absolute_gap < SETTINGS.progress * gaps
            since = 0 if better else since + 1
            merits, gaps = min(merits, merit), min(gaps, iterate.absolute_gap)
            if since >= (SETTINGS.stalled if iterate.is_near else SETTINGS.stalled_far):
                return "numerical_error"
            if stop := budget.spent(budget.clock.seconds - began):  # the next one takes as long
                return stop
            iterate.advance()
            budget.steps += 1
        except NumericalTrouble:
            return "numerical_error"


def _report(iterate: Iterate, budget: Budget) -> None:
    primal, dual = iterate.residuals()
    budget.report(
        "interior_point", budget.steps, objective=f"{iterate.objective: .9e}", gap=iterate.gap, primal=primal,
        dual=dual, step=iterate.step,
    )  # fmt: skip
