"""Solve convex QPs with a box and few equality rows by a primal-dual interior-point method.

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
Fixed variables are removed. With equality rows a dense Z is centred, Z − AᵀW with W = (AAᵀ)⁻¹AZ, which changes only y
and avoids cancellation if data are badly centred: for the dual of an SVM, W is the mean of the samples.

`solve_mehrotra` is the entry point; an `Iterate` holds a point and runs one iteration from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense_rows
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.interior_point.chunk import SETTINGS, NewtonVectors, VariableChunk
from qpsvm.solvers.interior_point.problem import ReducedQP, reduce_problem
from qpsvm.solvers.shared.budget import Budget, StopReason
from qpsvm.solvers.shared.cholesky import NumericalTrouble
from qpsvm.space.operators import Operator


@dataclass(frozen=True, eq=False)
class SavedPoint:
    """A saved point: x (n',), force (2, n'), u (k + p,) and its objective."""

    x: FloatArray
    force: FloatArray
    u: FloatArray
    objective: float


class Iterate:
    """The point, x (n',) and u (k + p,) with m = Bu, room and force in chunks, and the step from it."""

    def __init__(self, problem: ReducedQP) -> None:
        self._problem = problem
        self._newton = problem.newton
        x, room, force = problem.compute_start()
        n = len(x)
        self._u = np.zeros(problem.n_lifted + len(problem.b))
        m = self._newton.compute_coupled_gradient(x, self._u)
        self._vectors = NewtonVectors(x, m, np.empty(n), np.empty(n), np.empty(n))
        self._chunks = [
            VariableChunk(slice(i, min(n, i + SETTINGS.chunk_rows)), self._vectors, room, force, problem.q, problem.d,
                  problem.scales.theta)
            for i in range(0, n, SETTINGS.chunk_rows)
        ]  # fmt: skip
        self._n_products = max(1, 2 * n)
        self._is_costly = not problem.n_lifted or len(self._u) > SETTINGS.costly_width
        self._min_objective = SETTINGS.min_scale * problem.scales.force * problem.scales.room
        self._products = np.inf  # Σcf
        self.step = 0.0
        self.objective = np.inf
        self.absolute_gap = np.inf
        self.gap = np.inf
        self._primal_residual = np.inf
        self._best: SavedPoint | None = None
        self._best_merit = np.inf

    def update_weights(self) -> None:
        """Compute θ and ρ of the predictor (IPM.7), and Σcf."""
        self._products = sum(chunk.update_weights() for chunk in self._chunks)
        if not math.isfinite(self._products):
            raise NumericalTrouble("a product of room and force is not finite")

    def is_nearly_converged(self, tol: float) -> bool:
        """Return whether Σcf is within the tolerance; if so, update r before the Newton matrix is formed."""
        if self._products > tol * abs(self.objective) or not math.isfinite(self.objective):
            return False
        self._newton.update_residual(self._vectors.x, self._u)
        return True

    def factorise(self) -> None:
        """Factorise the Newton matrix, and update r."""
        vectors = self._vectors
        self._newton.factorise(vectors.theta, vectors.rho, vectors.x, self._u)

    def measure(self, tol: float) -> float:
        """Return the largest of relative gap and residuals; residuals are computed only if the gap is small."""
        problem = self._problem
        vectors = self._vectors
        residual = self._newton.residual
        k = problem.n_lifted
        lift_residual = residual[:k]
        row_residual = residual[k:]
        row_gap = abs(float(row_residual @ self._u[k:]))
        gap = self._products + 0.5 * float(lift_residual @ lift_residual) + row_gap  # (IPM.9)
        self.objective = problem.objective(vectors.x, self._u, vectors.m)
        self.absolute_gap = gap
        size = max(abs(self.objective), abs(self.objective - gap), self._min_objective)
        if size < SETTINGS.small_objective * problem.scales.force * problem.scales.room:
            size = max(size, SETTINGS.min_objective * problem.scales.force * float(np.abs(vectors.x).sum()))
        self.gap = gap / size
        merit = self.gap
        if merit <= max(tol, SETTINGS.max_saved_gap):
            primal, dual = self.compute_residuals()
            self._newton.needs_refinement = self._newton.needs_refinement or primal > self._primal_residual
            self._primal_residual = primal
            merit = max(merit, primal, dual)
            if merit < self._best_merit:
                self._save_best(merit)
        return merit

    def compute_residuals(self) -> tuple[float, float]:
        """Return the relative residuals of (IPM.5), in the maximum norm: of the rows, and of stationarity."""
        primal = self._problem.compute_row_residual(self._newton.residual, self._vectors.x, self._u)
        pairs = [chunk.measure_stationarity() for chunk in self._chunks]
        scale = max([self._problem.scales.force, *(terms for _, terms in pairs)])
        dual = max((residual for residual, _ in pairs), default=0.0) / scale
        return primal, dual

    def _save_best(self, merit: float) -> None:
        """Save the present point as the best."""
        self._best_merit = merit
        forces = [chunk.force for chunk in self._chunks]
        force = np.concatenate(forces, axis=1) if forces else np.zeros((2, 0))
        self._best = SavedPoint(self._vectors.x.copy(), force, self._u.copy(), self.objective)

    @property
    def best_point(self) -> SavedPoint:
        """The best point so far; the current one if none was good enough to be saved."""
        if self._best is None:
            self._save_best(np.inf)
        assert self._best is not None
        return self._best

    def advance(self) -> None:
        """Run one iteration: predictor, corrector, Gondzio's correctors, and the step."""
        if not self._products > 0:  # without inequalities the first point is as good as the last one
            raise NumericalTrouble("no product of a multiplier and its slack is left to make smaller")
        target_product = self._predict() * self._products / self._n_products  # σμ
        for chunk in self._chunks:
            chunk.set_centring_target(target_product)
        dx, du, dm = self._newton.solve(self._vectors.target)
        step = _choose_step_length(min(chunk.correct(dx) for chunk in self._chunks))
        for _ in range(2 if self._is_costly else 1):
            if step > SETTINGS.sufficient_steps[self._is_costly]:
                break
            target_step = min(1.0, step + SETTINGS.step_increase)
            total = self._vectors.target
            for chunk in self._chunks:
                chunk.add_centrality_correction(dx, target_product, target_step, total)
            change, du_change, dm_change = self._newton.solve(total, with_residual=False)
            new_step = _choose_step_length(min(chunk.propose(dx, change) for chunk in self._chunks))
            if not new_step >= step + SETTINGS.min_gain * (target_step - step):
                break
            for chunk in self._chunks:
                chunk.accept()
            step = new_step
            dx = dx + change
            du = du + du_change
            dm = dm + dm_change
        if not math.isfinite(dx @ dx):
            raise NumericalTrouble("the step is not finite")
        self.step = step
        for chunk in self._chunks:
            chunk.move(step, dx, dm)
        self._u += step * du

    def _predict(self) -> float:
        """Return σ (IPM.8) from the step to products of zero, and compute e of (IPM.6)."""
        dx, _, _ = self._newton.solve(self._vectors.rho)
        largest_decrease = 1.0
        second_order = 0.0
        for chunk in self._chunks:
            chunk_decrease, chunk_product = chunk.predict(dx)
            largest_decrease = max(largest_decrease, chunk_decrease)
            second_order = second_order + chunk_product
        tau = 1.0 / largest_decrease
        product_ratio = (1.0 - tau) - tau * tau * second_order / self._products  # (IPM.8)
        return min(1.0, max(product_ratio, 0.0) ** SETTINGS.centring_power)


def _choose_step_length(min_change: float) -> float:
    """Return the step for the smallest relative change: 1 if that is safe, else a share of the longest step."""
    if min_change > -SETTINGS.long_step_share:
        return 1.0
    longest = -1.0 / min_change
    if longest > SETTINGS.min_long_step:
        return longest * SETTINGS.long_step_share
    return longest * SETTINGS.short_step_share


@dataclass(frozen=True, eq=False)
class InteriorPointSolution:
    """Solution of `solve_mehrotra`: Px + q + Aᵀy + z_box = 0, with z_box ≤ 0 at a lower bound, ≥ 0 at an upper.

    x, z_box (n,)
    y (p,)
    v (k,): Zᵀx as a variable of the method, for which stationarity holds to rounding; None for a P without a
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


def solve_mehrotra(
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
) -> InteriorPointSolution:
    """Solve (IPM.4). Shapes: P (n, n), q (n,), A (p, n) or None, lb, ub (n,) or None. Raises ParameterError."""
    budget = Budget(max_iter, time_limit, verbose)
    n = len(q)
    rows, right = as_dense_rows(A, b, n)
    low = np.full(n, -np.inf) if lb is None else lb
    high = np.full(n, np.inf) if ub is None else ub
    if (low > high).any():
        raise ParameterError(f"lb must not exceed ub; entry {int(np.argmax(low > high))} does")
    with np.errstate(all="ignore"):  # non-finite values are detected, and end the run
        problem = reduce_problem(P, q, rows, right, low, high)
        iterate = Iterate(problem)
        reason = _iterate(iterate, tol, budget)
        best = iterate.best_point
        x = low.copy()
        z_box = np.zeros(n)
        free = slice(None) if problem.free_variables is None else problem.free_variables
        x[free], z_box[free], y, v = problem.restore_solution(best.x, best.force, best.u)
        if problem.free_variables is not None:
            fixed = np.flatnonzero(low == high)
            z_box[fixed] = -(P @ x + q + y @ rows)[fixed]
    return InteriorPointSolution(x, y, v, z_box, best.objective, budget.steps, reason)


def _iterate(iterate: Iterate, tol: float, budget: Budget) -> StopReason:
    """Iterate until a stop, and return its reason; the iterations are counted in the budget."""
    best_merit = np.inf
    best_gap = np.inf
    stalled_iterations = 0
    while True:
        start_time = budget.clock.seconds
        try:
            iterate.update_weights()
            merit = iterate.measure(tol) if iterate.is_nearly_converged(tol) else np.inf
            if merit > tol:
                iterate.factorise()
                merit = iterate.measure(tol)
            if budget.is_logging:
                _report(iterate, budget)
            if merit <= tol:
                return "converged"
            share = SETTINGS.max_gap_share
            stalled_iterations += 1
            if merit < share * best_merit or iterate.absolute_gap < share * best_gap:
                stalled_iterations = 0
            best_merit = min(best_merit, merit)
            best_gap = min(best_gap, iterate.absolute_gap)
            if stalled_iterations >= SETTINGS.max_stalled_iterations:
                return "numerical_error"
            seconds = budget.clock.seconds - start_time  # the next iteration takes as long
            reason = budget.find_stop_reason(seconds)
            if reason is not None:
                return reason
            iterate.advance()
            budget.steps += 1
        except NumericalTrouble:
            return "numerical_error"


def _report(iterate: Iterate, budget: Budget) -> None:
    """Log the present point."""
    primal, dual = iterate.compute_residuals()
    budget.report(
        "interior_point", budget.steps, objective=f"{iterate.objective: .9e}", gap=iterate.gap, primal=primal,
        dual=dual, step=iterate.step,
    )  # fmt: skip
