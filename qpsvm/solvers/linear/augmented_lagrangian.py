"""Solve linear SVMs by a semismooth Newton augmented Lagrangian method (`AugmentedLagrangian`).

The problem is, with the rows Z of `build_label_scaled_rows` (labels, centring and intercept are inside), W = (w, b)
and the losses φ of `row_problem`,

    (ALM.1)  minimise ½WᵀRW − hᵀW + κ + Σ φ_i(r_i),  r = ℓ − m,  m = ZW,  R = diag(1, …, 1, R_b)

R_b = 0 for a free intercept. h and κ are 0, or the contribution of rows with a fixed α_i: h = Σ α_i z_i, κ = their
dual value (`working_set`). For a C-SVM φ(r) = C max(0, r) with r = 1 − m, and 0 ≤ α ≤ C. The dual is to maximise
ℓᵀα − Σφ*(α) + κ − ½‖q̂‖² with q̂ = Zᵀα + h over the columns with R_j = 1, lo ≤ α ≤ hi, and q̂_b = 0 if R_b = 0.

Derivation
----------
The augmented Lagrangian of the dual, minimised over α in closed form, leaves a convex, differentiable function of W:

    (ALM.2)  α(W) by (LOSSES.4), with the multiplier estimate a and the penalty σ;  clip(a + σr, 0, C) for a hinge
    (ALM.3)  q = RW − h − Zᵀα(W)                                    its gradient, 0 at a stationary point
    (ALM.4)  ΔW by `newton_step`, s by `line_search`, W ← W + sΔW   the inner, semismooth Newton iteration
    (ALM.5)  P − D = A + B,  A = ½‖q_w‖² + (1 + |b|)|q_b|,  B = Σφ(r) + Σφ*(α) − αᵀr ≥ 0
    (ALM.6)  inner stop A ≤ B;  then a ← α, σ ← 3σ               the outer, proximal point iteration
    (ALM.7)  W ← W/minᵢ mᵢ where all mᵢ ≥ 1 − 10⁻⁶                  of hinges, if rounding alone violates margins

Losses with curvature, like Huber's and the squared ones, need no penalty: for σ = ∞ (ALM.4) is Newton's method on the
primal, and B = 0 at every W. So σ starts at a value for which B is small. In (ALM.5) 1 is the unit of r, and the term
of b bounds by how much the gap grows when yᵀα = 0 is restored; `_certify_point` restores it and computes the gap.
Except for the few free rows J, α is 0 or at a bound, so that a step costs one pass over the data (ZΔW) and work on J.

Sources: Li, Sun & Toh (2018), *A highly efficient semismooth Newton augmented Lagrangian method for Lasso*; Niu, Chen
et al. (2019), *An asymptotically superlinearly convergent SsN-ALM for support vector machines*; Rockafellar (1976).
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.linear.newton_step import choose_newton_system
from qpsvm.solvers.linear.row_problem import LinearPoint, LinearStart, MultiplierResponse, RowProblem, certify_separated
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.shared.budget import Budget, StopReason
from qpsvm.solvers.shared.cholesky import NumericalTrouble
from qpsvm.solvers.shared.line_search import Slope, find_step


class AugmentedLagrangian:
    """One run on one problem; `run` may be called again with a smaller goal and resumes where it stopped.

    budget: Shared with other runs of the same solve.
    stage: First word of the logged lines.
    """

    def __init__(self, problem: RowProblem, start: LinearStart, budget: Budget, stage: str = "rows") -> None:
        self._problem, self._budget, self._stage = problem, budget, stage
        self._newton = choose_newton_system(problem.rows, problem.ridge)
        self._losses = problem.losses
        self._W = start.W.copy()
        self._outer, self._shrinks = 0, 0
        self._a = np.zeros(problem.rows.n) if start.multiplier is None else start.multiplier
        self._slack = self._compute_residuals() if start.slack is None else start.slack.copy()
        self._alpha = self._gradient = self._q = np.empty(0)
        self._response = MultiplierResponse(self._losses, start.sigma)
        self._t = self._response.compute_arguments(self._a, self._slack)
        self._residual = self._complementarity = self._dual = np.inf  # A, B and D
        self._free_count = 0

    def run(self, goal: float, certify: bool = True, patient: bool = True) -> tuple[LinearPoint, StopReason]:
        """Iterate until the relative gap is at most `goal`; if `certify`, α is feasible and its gap is computed anew.

        Without `patient` it gives up instead of shrinking σ: (ALM.1) on a band may have no solution.
        """
        best, stalled, inner_goal = None, 0, goal
        while True:
            solved = self._solve_subproblem(inner_goal)
            point = self._build_point()
            self._budget.report(
                self._stage, self._outer, gap=point.relative_gap, sigma=point.sigma, free=self._free_count
            )
            if certify and point.relative_gap <= goal:
                point = self._certify_point()
                inner_goal *= 0.5 if point.relative_gap > goal else 1.0
            is_better = best is None or point.relative_gap < best.relative_gap
            stalled = 0 if is_better else stalled + solved
            best = point if best is None or is_better else best
            if best.relative_gap <= goal:
                return best, "converged"
            reason = self._budget.find_stop_reason()
            if reason is None and (stalled >= SETTINGS.patience or not np.isfinite(point.gap)):
                reason = "numerical_error"
            if reason is None and not (self._update_penalty(solved) and (solved or patient)):
                reason = "numerical_error"
            if reason is not None:
                return best, reason

    def _compute_residuals(self) -> FloatArray:
        """Compute r at W by a new pass over the data: (n,)."""
        return self._losses.compute_residuals(self._problem.rows.margins(self._W))

    def _solve_subproblem(self, goal: float) -> bool:
        """Take Newton steps (ALM.4) until (ALM.6) or a relative gap of `goal`; return False if there are too many."""
        for step in range(SETTINGS.patience + 1):
            self._evaluate()
            if step and self._residual <= self._complementarity:
                return True
            gap = self._residual + self._complementarity
            if compute_relative_gap(gap, self._dual + gap, self._dual) <= goal:
                return True
            if self._budget.find_stop_reason() or not np.isfinite(self._residual):
                return True
            if step == SETTINGS.patience or not self._take_newton_step():
                break
        return self._residual <= self._complementarity

    def _evaluate(self) -> None:
        """Evaluate (ALM.3) and (ALM.5) at the present t."""
        problem, losses = self._problem, self._losses
        self._update_multipliers()
        mismatch = losses.compute_gap(self._alpha, self._slack)
        self._q = problem.ridge * self._W - problem.offset - self._gradient
        self._residual, self._complementarity, half_square = problem.measure_gap(
            float(self._W[-1]), self._q, self._gradient + problem.offset, mismatch
        )
        self._dual = problem.compute_dual(losses.compute_dual_value(self._alpha), half_square)

    def _update_multipliers(self) -> None:
        """Compute α at the present t, and Zᵀα, updated by the rows whose α has changed."""
        rows, previous = self._problem.rows, self._alpha
        self._alpha = self._response.compute_alpha(self._t)
        changed = np.flatnonzero(self._alpha != previous) if len(previous) else None
        if changed is None or not rows.is_gather_cheap(len(changed)):
            self._gradient = rows.gradient(self._alpha)
        elif len(changed):
            self._gradient = self._gradient + rows.gradient(self._alpha[changed] - previous[changed], changed)

    def _take_newton_step(self) -> bool:
        """Take one step (ALM.4); return False if no descent is left in floating point."""
        problem, losses, response, q = self._problem, self._losses, self._response, self._q
        free = response.find_free(self._t)
        try:
            direction = self._newton.step(free, response.slope, q, self._W)
        except NumericalTrouble:
            return False
        self._free_count = self._newton.free_count
        first = float(direction @ q)
        if not first < 0.0:
            return False
        change = problem.rows.margins(direction)
        weighted = problem.ridge * direction
        constant = float(direction @ (problem.ridge * self._W - problem.offset))
        line_slope = Slope(
            constant, float(direction @ weighted), self._t, change, response.slope, losses.high, losses.low,
            response.threshold,
        )  # fmt: skip
        length = find_step(line_slope, first)
        if not np.isfinite(length):
            return False
        self._W = self._W + length * direction
        change *= length
        self._slack -= change
        change *= response.slope
        self._t -= change
        self._budget.steps += 1
        return True

    def _update_penalty(self, solved: bool) -> bool:
        """Apply (ALM.6), or shrink σ if the subproblem failed; return False if it has been shrunk too often."""
        self._outer += 1
        sigma = self._response.sigma
        if solved:
            self._a = self._alpha
            sigma *= SETTINGS.growth
        else:
            self._shrinks += 1
            sigma /= SETTINGS.growth**3
            self._slack = self._compute_residuals()
        self._newton.reset_cache()
        self._alpha = np.empty(0)
        self._response = MultiplierResponse(self._losses, sigma)
        self._t = self._response.compute_arguments(self._a, self._slack)
        return self._shrinks <= SETTINGS.shrinks

    def _build_point(self) -> LinearPoint:
        """Return the present pair, with the gap as estimated by (ALM.5)."""
        gap = self._residual + self._complementarity
        return LinearPoint(self._W, self._alpha, self._slack.copy(), self._dual, gap, self._response.sigma)

    def _certify_point(self) -> LinearPoint:
        """Return the present pair with a feasible α, and its gap from a new pass over the data, after (ALM.7)."""
        self._slack = self._compute_residuals()
        pair = LinearPoint(self._W, self._alpha, self._slack.copy(), self._dual, 0.0, self._response.sigma)
        return certify_separated(self._problem, pair)
