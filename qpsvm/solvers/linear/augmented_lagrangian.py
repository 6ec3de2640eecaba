"""Solve linear SVMs by a semismooth Newton augmented Lagrangian method (`AugmentedLagrangian`).

The problem is, with the rows Z of `build_label_scaled_rows` (labels, centring and intercept are inside), the vector
W = (w, b) and the loss φ_i of each row (`row_problem`),

    (ALM.1)  minimise ½WᵀRW − hᵀW + κ + Σ φ_i(r_i),  r = ℓ − m,  m = ZW,  R = diag(1, …, 1, R_b)

R_b = 0 for a free intercept. For a C-SVM φ(r) = C max(0, r) with r = 1 − m, and 0 ≤ α ≤ C. The dual is to maximise
ℓᵀα − Σφ*(α) + κ − ½‖q̂‖² with q̂ = Zᵀα + h over the columns with R_j = 1, lo ≤ α ≤ hi, and q̂_b = 0 if R_b = 0.
h and κ are 0 except in two cases. If yᵀα = s is required, h_b = −s. If `working_set` fixes the α_i of some rows, only
the others are rows of Z, and the fixed ones contribute h = Σ α_i z_i and κ = Σ ℓ_i α_i − φ_i*(α_i).

Derivation
----------
The augmented Lagrangian of the dual, minimised over α in closed form, leaves a convex, differentiable function of W:

    (ALM.2)  α(W) = clip(S_dε(t), lo, hi),  t = d(a/σ + r),  d = 1/(1/σ + δ), by (LOSSES.4), with the estimate a of the
             multiplier, the penalty σ and the soft threshold S;  clip(a + σr, 0, C) for a hinge
    (ALM.3)  q = RW − h − Zᵀα(W)                                    its gradient, 0 at a stationary point
    (ALM.4)  ΔW by `newton_step`, s by `line_search`, W ← W + sΔW   the inner, semismooth Newton iteration
    (ALM.5)  P − D = A + B,  A = ½‖q_w‖² + (1 + |b|)|q_b|,  B = Σφ(r) + Σφ*(α) − αᵀr ≥ 0
    (ALM.6)  inner stop A ≤ B;  then a ← α, σ ← 3σ               the outer, proximal point iteration
    (ALM.7)  W ← W/minᵢ mᵢ where all mᵢ ≥ 1 − 10⁻⁶                  `certify_separated`: hinges of separable classes

Losses with curvature, like Huber's and the squared ones, need no penalty: for σ = ∞ (ALM.4) is Newton's method on the
primal, and B = 0 at every W. So σ starts at a value for which B is small.

For a free intercept with q_b ≠ 0, P − D has the term b q_b. The further 1·|q_b| estimates what it costs to restore
q_b = 0, which changes α by |q_b| in total: residuals of the changed rows are about 1, in their unit. `_certify_point`
makes α feasible and computes the gap. Except for the few free rows J, α is 0 or at a bound, so that a step costs one
pass over the data (ZΔW) and work on J.

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
    _W, _weights, _q (d + 1,): W, Zᵀα and q.
    _residuals, _arguments, _alpha, _estimate (n,): r, t, α(W) and a.
    _stationarity_gap, _complementarity_gap, _dual: A, B and D.
    _outer, _shrinks: Numbers of subproblems, and of those that were not solved.
    """

    def __init__(self, problem: RowProblem, start: LinearStart, budget: Budget, stage: str = "rows") -> None:
        self._problem = problem
        self._budget = budget
        self._stage = stage
        self._newton = choose_newton_system(problem.rows, problem.ridge)
        self._losses = problem.losses
        self._W = start.W.copy()
        self._outer = 0
        self._shrinks = 0
        self._estimate = np.zeros(problem.rows.n) if start.multiplier is None else start.multiplier
        if start.residuals is None:
            self._residuals = self._compute_residuals()
        else:
            self._residuals = start.residuals.copy()
        self._alpha = np.empty(0)
        self._weights = np.empty(0)
        self._q = np.empty(0)
        self._response = MultiplierResponse(self._losses, start.sigma)
        self._arguments = self._response.compute_arguments(self._estimate, self._residuals)
        self._stationarity_gap = np.inf
        self._complementarity_gap = np.inf
        self._dual = np.inf
        self._free_count = 0

    def run(self, goal: float, certify: bool = True, can_shrink: bool = True) -> tuple[LinearPoint, StopReason]:
        """Iterate until the relative gap is at most `goal`.

        certify: Whether to end with a feasible α and its gap, not with the estimate (ALM.5).
        can_shrink: Whether to shrink σ if a subproblem is not solved, instead of giving up. The problem of a band, the
            rows near their kinks in `working_set`, may have no solution.
        """
        best: LinearPoint | None = None
        n_stalled = 0
        inner_goal = goal
        while True:
            is_solved = self._solve_subproblem(inner_goal)
            point = self._build_point()
            self._budget.report(
                self._stage, self._outer, gap=point.relative_gap, sigma=point.sigma, free=self._free_count
            )
            if certify and point.relative_gap <= goal:
                point = self._certify_point()
                if point.relative_gap > goal:  # the estimate was too small
                    inner_goal *= 0.5
            if best is None or point.relative_gap < best.relative_gap:
                best = point
                n_stalled = 0
            elif is_solved:
                n_stalled += 1
            if best.relative_gap <= goal:
                return best, "converged"
            if self._problem.is_zero_optimal(self._alpha, self._weights):
                return self._certify_point(), "converged"
            reason = self._budget.find_stop_reason()
            if reason is not None:
                return best, reason
            if n_stalled >= SETTINGS.max_stalled_steps or not np.isfinite(point.gap):
                return best, "numerical_error"
            may_continue = self._update_penalty(is_solved)
            if not may_continue or not (is_solved or can_shrink):
                return best, "numerical_error"

    def _compute_residuals(self) -> FloatArray:
        """Compute r at W by a new pass over the data: (n,)."""
        return self._losses.compute_residuals(self._problem.rows.margins(self._W))

    def _solve_subproblem(self, goal: float) -> bool:
        """Take Newton steps (ALM.4) until (ALM.6) or a relative gap of `goal`; return False if σ seems too large.

        That is if the steps are too many or do not descend. If the budget is used up or A is not finite, return True,
        and `run` stops.
        """
        for step in range(SETTINGS.max_newton_steps + 1):
            self._evaluate()
            if step > 0 and self._stationarity_gap <= self._complementarity_gap:  # W moves at least once for each σ
                return True
            gap = self._stationarity_gap + self._complementarity_gap
            if compute_relative_gap(gap, primal=self._dual + gap, dual=self._dual) <= goal:
                return True
            if self._budget.find_stop_reason() or not np.isfinite(self._stationarity_gap):
                return True
            if step == SETTINGS.max_newton_steps or not self._take_newton_step():
                break
        return self._stationarity_gap <= self._complementarity_gap

    def _evaluate(self) -> None:
        """Evaluate α, q, A, B and D at the present t, (ALM.2), (ALM.3) and (ALM.5)."""
        problem = self._problem
        losses = self._losses
        self._update_multipliers()
        complementarity = losses.compute_gap(self._alpha, self._residuals)
        self._q = problem.ridge * self._W - problem.offset - self._weights
        self._stationarity_gap, self._complementarity_gap, half_square = problem.measure_gap(
            float(self._W[-1]), self._q, self._weights + problem.offset, complementarity
        )
        self._dual = problem.compute_dual(losses.compute_dual_value(self._alpha), half_square)

    def _update_multipliers(self) -> None:
        """Compute α at the present t, and Zᵀα, updated by the rows whose α has changed."""
        rows = self._problem.rows
        previous = self._alpha
        self._alpha = self._response.compute_alpha(self._arguments)
        changed = np.flatnonzero(self._alpha != previous) if len(previous) else None
        if changed is None or not rows.is_gather_cheap(len(changed)):
            self._weights = rows.gradient(self._alpha)
        elif len(changed):
            self._weights = self._weights + rows.gradient(self._alpha[changed] - previous[changed], changed)

    def _take_newton_step(self) -> bool:
        """Take one step (ALM.4); return False if no descent is left in floating point."""
        problem = self._problem
        losses = self._losses
        response = self._response
        q = self._q
        free = response.find_free(self._arguments)
        try:
            direction = self._newton.step(free, response.slope, q, self._W)
        except NumericalTrouble:
            return False
        self._free_count = self._newton.free_count
        initial_slope = float(direction @ q)
        if not initial_slope < 0.0:  # NaN, too
            return False
        change = problem.rows.margins(direction)
        line_slope = Slope(
            constant=float(direction @ (problem.ridge * self._W - problem.offset)),
            linear=float(direction @ (problem.ridge * direction)), t=self._arguments,
            margin_change=change, sigma=response.slope,
            upper=losses.high, lower=losses.low, threshold=response.threshold,
        )  # fmt: skip
        length = find_step(line_slope, initial_slope)
        if not np.isfinite(length):
            return False
        self._W = self._W + length * direction
        change *= length  # of m, so r changes by the negative
        self._residuals -= change
        change *= response.slope  # now of dm, in the same memory
        self._arguments -= change
        self._budget.steps += 1
        return True

    def _update_penalty(self, is_solved: bool) -> bool:
        """Apply (ALM.6), or shrink σ if the subproblem was not solved; return False if it has shrunk too often."""
        self._outer += 1
        sigma = self._response.sigma
        if is_solved:
            self._estimate = self._alpha
            sigma *= SETTINGS.sigma_growth
        else:
            self._shrinks += 1
            sigma /= SETTINGS.sigma_growth**3
            self._residuals = self._compute_residuals()
        self._newton.reset_cache()
        self._alpha = np.empty(0)
        self._response = MultiplierResponse(self._losses, sigma)
        self._arguments = self._response.compute_arguments(self._estimate, self._residuals)
        return self._shrinks <= SETTINGS.max_shrinks

    def _build_point(self) -> LinearPoint:
        """Return the present pair, with the gap as estimated by (ALM.5)."""
        gap = self._stationarity_gap + self._complementarity_gap
        return LinearPoint(self._W, self._alpha, self._residuals.copy(), self._dual, gap, self._response.sigma)

    def _certify_point(self) -> LinearPoint:
        """Return the present pair with a feasible α, and its gap from a new pass over the data, after (ALM.7)."""
        self._residuals = self._compute_residuals()
        return certify_separated(self._problem, self._build_point())  # replaces the estimated gap
