"""Solve linear all-in-one multiclass machines by an interior point method (`solve_classes_by_interior_point`).

Let x̃ be x, with a 1 appended if there is an intercept, and w̃_c = (w_c, b_c). Sample i has the class y and the penalty
C_i, ℓ is the margin level, and β_ic = −α_ic for a rival c of y, β_iy = Σ_c α_ic. The optimality conditions of (JOINT.4)
are, for every row (i, c) of a sample and a rival,

    (CLASSIP.1)  ⟨w̃_y − w̃_c, x̃_i⟩ − ℓ − s_ic + ζ = 0,  w_c = Σ_i β_ic x_i,  and Σ_i β_ic = 0 for a free b_c, = b_c for a
                 penalised one
    (CLASSIP.2)  α_ic s_ic = 0,  uζ = 0,  α, s, u, ζ ≥ 0;  if the rivals of a sample share a slack, u_i = C_i − Σ_c α_ic
                 and ζ_i, otherwise u_ic = C_i − α_ic and ζ_ic

A Newton step towards products of μ instead of 0 in (CLASSIP.2) is solved by elimination of s, u, ζ, and then of α. What
remains is a system for w̃, whose size does not depend on the number of samples:

    (CLASSIP.3)  (R + Σ_i M_i ⊗ x̃_i x̃_iᵀ) Δw̃ = r,  M_i = P_iᵀ D_i⁻¹ P_i,  where the rows of P_i are e_y − e_c, D_i =
                 diag(s/α) + (ζ/u) 11ᵀ for a shared slack and diag(s/α + ζ/u) otherwise, and R is diagonal: 0 for a free
                 intercept, 1 elsewhere
    (CLASSIP.4)  a shared slack, with p = α/s, S = Σ_c p_c, φ = u/ζ and τ = 1/(φ + S):  M_yy = τφS,  M_yc = −τφp_c,
                 M_cc = τp_c(φ + S − p_c),  M_cd = −τp_c p_d
    (CLASSIP.5)  otherwise, with p = 1/(s/α + ζ/u), S = Σ_c p_c:  M_yy = S,  M_yc = −p_c,  M_cc = p_c,  M_cd = 0

These forms do not subtract nearly equal numbers. Only differences of free intercepts count, so that the last is fixed.

Source: Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2 (1992); the
elimination of the rows is that of Ferris & Munson, *Interior-point methods for massive support vector machines*, SIAM
J. Optim. 13 (2002).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solvers.shared.budget import Budget, StopReason
from qpsvm.solvers.shared.class_solution import ClassSolution

#: Largest α at the start, in units of the α that a sample alone would need to reach its margin.
MAX_START = 1000.0
#: Share of the way to the nearest bound that a step goes.
TO_BOUNDARY = 0.995
#: Smallest and largest share of the diagonal that is added if rounding makes (CLASSIP.3) indefinite.
MIN_RIDGE, MAX_RIDGE = 1e-14, 1e-6
#: Factor from one try to the next.
RIDGE_GROWTH = 100.0
#: Steps of iterative refinement of each solution of (CLASSIP.3).
REFINEMENTS = 1
#: Largest number of steps without halving the gap.
MAX_STALLED_STEPS = 10


@dataclass(frozen=True, eq=False)
class _Variables:
    """The variables of (CLASSIP.1), or their changes in a step.

    alpha, s (n, k): At the own class of a sample α is 0 and s is 1.
    u, zeta: (n, 1) for a shared slack, otherwise (n, k), 1 at the own class.
    w (k, d̃): w̃.
    """

    alpha: FloatArray
    s: FloatArray
    u: FloatArray
    zeta: FloatArray
    w: FloatArray

    def advance(self, change: _Variables, length: float) -> _Variables:
        """Return the variables after a step."""
        pairs = zip(vars(self).values(), vars(change).values(), strict=True)
        return _Variables(*(value + length * difference for value, difference in pairs))

    def find_length(self, change: _Variables) -> float:
        """Return the length of the step to the nearest bound."""
        length = np.inf
        for name in ("alpha", "s", "u", "zeta"):
            value = getattr(self, name)
            difference = getattr(change, name)
            falling = difference < 0.0
            length = min(length, float((value[falling] / -difference[falling]).min(initial=np.inf)))
        return length


def solve_classes_by_interior_point(X: FloatArray, dual: AllInOneDual, tol: float, budget: Budget) -> ClassSolution:
    """Run until the sum of the products (CLASSIP.2) is at most `tol` times the objective. Shape: X (n, d)."""
    order = np.argsort(dual.label, kind="stable")  # the samples of a class are consecutive
    centre = X.mean(axis=0) if dual.intercept == "free" else np.zeros(X.shape[1])  # a free b absorbs any shift of X
    solver = _InteriorRun(X[order] - centre, replace(dual, label=dual.label[order], upper=dual.upper[order]))
    reason = solver.run(tol, budget)
    alpha = np.empty((dual.n, dual.k))
    alpha[order] = solver.point.alpha
    w = solver.point.w
    b = np.zeros(dual.k)
    if dual.intercept is not None:
        b = w[:, -1] - w[:, :-1] @ centre
    if dual.intercept == "free":
        b = b - b.mean()
    return ClassSolution(alpha, b, reason, budget.steps)


class _InteriorRun:
    """One run; the samples are sorted by class."""

    def __init__(self, X: FloatArray, dual: AllInOneDual) -> None:
        self.dual = dual
        self.rivals = ~dual.own_class_mask
        self.X = X if dual.intercept is None else np.hstack([X, np.ones((dual.n, 1))])
        ends = np.searchsorted(dual.label, np.arange(dual.k + 1))
        self.slices = [slice(start, end) for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
        self.regulariser = np.ones((dual.k, self.X.shape[1]))  # R of (CLASSIP.3)
        if dual.intercept == "free":
            self.regulariser[:, -1] = 0.0
        self.point = self._build_start()
        n_rows = int(self.rivals.sum())
        self.n_products = n_rows + (dual.n if dual.has_shared_slack else n_rows)

    def _build_start(self) -> _Variables:
        """Build a point with α in the middle of its bounds that satisfies (CLASSIP.1) up to the balance of a free b."""
        dual = self.dual
        upper = dual.upper[:, None]
        mean_square = float(np.einsum("ij,ij->i", self.X, self.X).mean())
        needed = dual.level / (2.0 * mean_square or 1.0)  # α with which one sample alone reaches ℓ; 1 if all x̃ are 0
        alpha = np.where(self.rivals, np.minimum(0.5 * upper / (dual.k - 1), MAX_START * needed), 0.0)
        w = self.combine(alpha) * self.regulariser
        violations = self._compute_violations(w)
        size = max(dual.level, float(np.abs(violations).mean()))
        zeta = np.maximum(violations, 0.0) + size
        if dual.has_shared_slack:
            zeta = zeta.max(axis=1)[:, None]
        point = _Variables(alpha, zeta - violations, upper - self.sum_slack(alpha), zeta, w)
        self._reset_own_class(point)
        return point

    def _reset_own_class(self, point: _Variables) -> None:
        """Set the entries of the own class, which are not variables, to the values of `_Variables`."""
        own = self.dual.own_class_mask
        point.alpha[own] = 0.0
        point.s[own] = 1.0
        if not self.dual.has_shared_slack:
            point.u[own] = 1.0
            point.zeta[own] = 1.0

    def sum_slack(self, values: FloatArray) -> FloatArray:
        """Return the sum over the rows that share a slack: (n, 1), or the values themselves."""
        return values.sum(axis=1)[:, None] if self.dual.has_shared_slack else values

    def combine(self, alpha: FloatArray) -> FloatArray:
        """Return Σ_i β_ic x̃_i: (k, d̃)."""
        return self.dual.compute_beta(alpha).T @ self.X

    def compute_margins(self, w: FloatArray) -> FloatArray:
        """Return ⟨w̃_y − w̃_c, x̃_i⟩: (n, k), 0 at the own class."""
        f = self.X @ w.T
        return np.asarray(f[np.arange(len(f)), self.dual.label][:, None] - f)

    def _compute_violations(self, w: FloatArray) -> FloatArray:
        """Return ℓ − ⟨w̃_y − w̃_c, x̃_i⟩: (n, k), 0 at the own class."""
        return np.where(self.rivals, self.dual.level - self.compute_margins(w), 0.0)

    def _sum_products(self, point: _Variables) -> float:
        """Return the sum of the products of (CLASSIP.2)."""
        slack_products = point.u * point.zeta
        n_absent = 0 if self.dual.has_shared_slack else self.dual.n  # a product of 1 at each own class
        return float((point.alpha * point.s).sum() + slack_products.sum() - n_absent)

    def run(self, tol: float, budget: Budget) -> StopReason:
        """Take steps until the gap is small enough, and return why they ended."""
        halved_gap = np.inf
        steps_since_halved = 0
        step_seconds = 0.0  # of the last step, as an estimate of the next, which has to end within the time limit
        while True:
            point = self.point
            gap = self._sum_products(point)
            violations = self._compute_violations(point.w)
            half_square = 0.5 * float((self.regulariser * point.w * point.w).sum())
            relative_gap = gap / (half_square + float(self.dual.compute_losses(violations).sum()))
            budget.report("interior point", budget.steps, gap=relative_gap)
            if relative_gap <= tol:
                return "converged"
            steps_since_halved += 1
            if gap <= 0.5 * halved_gap:
                halved_gap = gap
                steps_since_halved = 0
            reason = budget.find_stop_reason(step_seconds)
            if reason is not None:
                return reason
            if steps_since_halved > MAX_STALLED_STEPS:
                return "numerical_error"
            start_time = budget.clock.seconds
            step = self._find_step(violations, gap / self.n_products)
            if step is None:
                return "numerical_error"
            change, length = step
            self.point = point.advance(change, length)
            self._reset_own_class(self.point)
            budget.steps += 1
            step_seconds = budget.clock.seconds - start_time

    def _find_step(self, violations: FloatArray, mu: float) -> tuple[_Variables, float] | None:
        """Return the step of predictor and corrector, and its length; None if rounding prevents it."""
        point = self.point
        system: _NewtonSystem
        if self.dual.has_shared_slack:
            system = _SharedSlackSystem(self, violations)
        else:
            system = _OwnSlackSystem(self, violations)
        if not system.is_solvable:
            return None
        predictor = system.solve(-point.alpha * point.s, -point.u * point.zeta)
        length = min(1.0, point.find_length(predictor))
        predicted = point.advance(predictor, length)
        self._reset_own_class(predicted)
        predicted_mu = self._sum_products(predicted) / self.n_products
        next_mu = mu * (predicted_mu / mu) ** 3  # σμ with Mehrotra's σ: smaller if the predictor gets farther
        change = system.solve(
            next_mu - point.alpha * point.s - predictor.alpha * predictor.s,
            next_mu - point.u * point.zeta - predictor.u * predictor.zeta,
        )
        if not all(np.isfinite(values).all() for values in vars(change).values()):
            return None
        return change, min(1.0, TO_BOUNDARY * point.find_length(change))


@dataclass(frozen=True, eq=False)
class _RowChanges:
    """Changes of α (n, k), of the used part of the bounds (Σ_c α_ic for a shared slack, else α), and of ζ."""

    alpha: FloatArray
    used: FloatArray
    zeta: FloatArray

    def __add__(self, other: _RowChanges) -> _RowChanges:
        return _RowChanges(self.alpha + other.alpha, self.used + other.used, self.zeta + other.zeta)


class _NewtonSystem(ABC):
    """The system (CLASSIP.3) at a point, factorised.

    p (n, k): p of (CLASSIP.4) or (CLASSIP.5).
    residual (n, k): Minus the left-hand side of the first equation of (CLASSIP.1).
    w_residual (k, d̃): Σ_i β_ic x̃_i − Rw̃.
    slack_residual: The u that α requires by (CLASSIP.2), minus u; of the shape of u.
    divisor (n, k): α, and 1 at the own class.
    is_solvable: Whether it was positive definite, up to rounding.
    """

    p: FloatArray

    def __init__(self, run: _InteriorRun, violations: FloatArray) -> None:
        self.run = run
        self.point = run.point
        point = run.point
        rivals = run.rivals
        self.residual = np.where(rivals, point.zeta - violations - point.s, 0.0)
        self.w_residual = run.combine(point.alpha) - run.regulariser * point.w
        self.slack_residual = run.dual.upper[:, None] - run.sum_slack(point.alpha) - point.u
        self.divisor = np.where(rivals, point.alpha, 1.0)
        self._set_weights()
        self._matrix = self._build_matrix()
        self.is_solvable = self._factorise()

    @abstractmethod
    def _set_weights(self) -> None:
        """Set p, and what else M needs."""

    @abstractmethod
    def _iter_weights(self, c: int, d: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of the samples, and their entries M_cd."""

    @abstractmethod
    def _eliminate(self, g: FloatArray) -> _RowChanges:
        """Solve DΔα = g, (n, k)."""

    @abstractmethod
    def _eliminate_slack(self, slack_target: FloatArray) -> _RowChanges:
        """Solve DΔα = −slack_target/u, for a change of the products uζ."""

    def _build_matrix(self) -> FloatArray:
        """Build the matrix of (CLASSIP.3), without the last free intercept: its lower triangle."""
        X = self.run.X
        k = self.run.dual.k
        width = X.shape[1]
        blocks = np.zeros((k, width, k, width))
        for c in range(k):
            for d in range(c + 1):
                for rows, weights in self._iter_weights(c, d):
                    blocks[c, :, d, :] += X[rows].T @ (weights[:, None] * X[rows])
        matrix: FloatArray = blocks.reshape(k * width, k * width)
        matrix[np.diag_indices(len(matrix))] += self.run.regulariser.ravel()
        size = len(matrix) - (self.run.dual.intercept == "free")
        return matrix[:size, :size]

    def _factorise(self) -> bool:
        """Factorise the matrix, with a ridge if it is needed. Return whether that succeeded."""
        matrix = self._matrix
        ridge = 0.0
        diagonal = matrix.diagonal().copy()
        while ridge <= MAX_RIDGE:
            trial = matrix.copy()
            trial[np.diag_indices(len(trial))] += ridge * diagonal
            self._factor, failed = lapack.dpotrf(trial, lower=1, overwrite_a=1)
            if not failed and np.isfinite(self._factor.diagonal()).all():
                return True
            ridge = max(MIN_RIDGE, RIDGE_GROWTH * ridge)
        return False

    def solve(self, target: FloatArray, slack_target: FloatArray) -> _Variables:
        """Return the changes with which the products αs and uζ change by these numbers, up to second order.

        Near the solution rounding of the right-hand side is multiplied by large p, so that α and w̃ no longer fit
        together. Small corrections, which are added up, mend that.
        """
        point = self.point
        run = self.run
        g = np.where(run.rivals, target / self.divisor - self.residual, 0.0)
        change = self._eliminate(g) + self._eliminate_slack(slack_target - point.zeta * self.slack_residual)
        w = np.zeros_like(run.regulariser)
        for _ in range(1 + REFINEMENTS):
            correction = self._solve_for_w(run.combine(change.alpha) + self.w_residual - run.regulariser * w)
            w += correction
            change += self._eliminate(-run.compute_margins(correction))
        s = (target - point.s * change.alpha) / self.divisor
        return _Variables(change.alpha, s, self.slack_residual - change.used, change.zeta, w)

    def _solve_for_w(self, right: FloatArray) -> FloatArray:
        """Return the solution of (CLASSIP.3) for a right-hand side (k, d̃)."""
        solution = np.zeros(right.size)
        size = len(self._matrix)
        solution[:size] = lapack.dpotrs(self._factor, right.ravel()[:size], lower=1)[0]
        return solution.reshape(right.shape)


class _SharedSlackSystem(_NewtonSystem):
    """The system if the rivals of a sample share a slack, (CLASSIP.4)."""

    def _set_weights(self) -> None:
        point = self.point
        self.p = np.where(self.run.rivals, point.alpha / point.s, 0.0)
        self.sums = self.p.sum(axis=1)
        self.phi = (point.u / point.zeta)[:, 0]
        self.tau = 1.0 / (self.phi + self.sums)
        self.tau_phi = self.tau * self.phi

    def _iter_weights(self, c: int, d: int) -> Iterator[tuple[slice, FloatArray]]:
        p = self.p
        slices = self.run.slices
        if c == d:
            weights = self.tau * p[:, c] * (self.phi + self.sums - p[:, c])
            weights[slices[c]] = (self.tau_phi * self.sums)[slices[c]]
        else:
            weights = -self.tau * p[:, c] * p[:, d]
            for own, rival in ((c, d), (d, c)):
                weights[slices[own]] = -(self.tau_phi * p[:, rival])[slices[own]]
        yield slice(None), weights

    def _eliminate(self, g: FloatArray) -> _RowChanges:
        total = (self.p * g).sum(axis=1)
        mean = total / self.sums
        alpha = self.p * (g - mean[:, None] + (mean * self.tau_phi)[:, None])
        return _RowChanges(alpha, (self.tau_phi * total)[:, None], (self.tau * total)[:, None])

    def _eliminate_slack(self, slack_target: FloatArray) -> _RowChanges:
        share = self.tau[:, None] * slack_target / self.point.zeta
        return _RowChanges(-share * self.p, -share * self.sums[:, None], share)


class _OwnSlackSystem(_NewtonSystem):
    """The system if every row has a slack of its own, (CLASSIP.5)."""

    def _set_weights(self) -> None:
        point = self.point
        rivals = self.run.rivals
        self.slack_residual = np.where(rivals, self.slack_residual, 0.0)
        self.p = np.where(rivals, 1.0 / (point.s / self.divisor + point.zeta / point.u), 0.0)

    def _iter_weights(self, c: int, d: int) -> Iterator[tuple[slice, FloatArray]]:
        p = self.p
        slices = self.run.slices
        if c == d:
            weights = p[:, c].copy()
            weights[slices[c]] = p[slices[c]].sum(axis=1)
            yield slice(None), weights
        else:
            yield slices[c], -p[slices[c], d]
            yield slices[d], -p[slices[d], c]

    def _eliminate(self, g: FloatArray) -> _RowChanges:
        alpha = self.p * g
        return _RowChanges(alpha, alpha, self.point.zeta * alpha / self.point.u)

    def _eliminate_slack(self, slack_target: FloatArray) -> _RowChanges:
        alpha = -self.p * slack_target / self.point.u
        return _RowChanges(alpha, alpha, (slack_target + self.point.zeta * alpha) / self.point.u)
