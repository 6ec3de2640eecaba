"""Solve all-in-one multiclass machines by a sequential dual method, one sample at a time (`solve_sequential`).

The samples that violate their optimality conditions most form a working set. Within it, sweeps solve one sample after
another by (SAMPLE.1) or (SAMPLE.2), using only kernel values of the set. Then one matrix product updates f of all
samples. This is the decomposition of Joachims (1999), with the inner method of Keerthi et al. (2008). For a linear
machine in memory the compiled core instead passes over all samples in random order, and updates w (Keerthi et al.).

A free intercept requires Σ_i β_ic = 0 for every class, which a step over a single sample violates. The method of
multipliers restores it (Hestenes (1969), Powell (1969)):

    (SEQ.1)  maximise D(α) − Σ_c b_c ν_c − ½ρ Σ_c ν_c²,  ν_c = Σ_i β_ic:  the Gram matrix is K + ρ, and f has b + ρν
    (SEQ.2)  b ← b + ρν when the conditions of (SEQ.1) are violated less than ν = 0 is; for a linear machine, after
             every pass

A penalised intercept is ρ = 1 with b = 0; without an intercept ρ = 0.

The dual over the k − 1 variables α_c of one sample i, one for each rival class c, is solved exactly, with the other
samples fixed. With K = K_ii, m_c = t_ic at α_i = 0, and S = Σ_c α_c:

    (SAMPLE.1)  maximise Σ m_c α_c − ½K(Σα_c² + S²)  over α ≥ 0 and S ≤ C:  α_c = (m_c/K − S)⁺ while S < C, and
                α_c = (m_c/K − θ)⁺ with Σ_c α_c = C otherwise
    (SAMPLE.2)  the same over 0 ≤ α_c ≤ C:  α_c = clip(m_c/K − S, 0, C)

S is the fixed point of a decreasing piecewise linear function, found by sorting. Source: Crammer & Singer (2001),
section 6; Keerthi et al., *A sequential dual method for large scale multi-class linear SVMs* (KDD 2008).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solvers.shared.budget import Budget, StopReason
from qpsvm.solvers.shared.class_solution import ClassSolution
from qpsvm.solvers.shared.row_table import build_table, find_rows_in_memory
from qpsvm.space.operators import LowRank, Operator

#: Largest number of samples in a working set: a larger one needs fewer matrix products, but more steps use old values
#: of f.
MAX_SET_SIZE = 100
#: Largest number of sweeps over a working set.
MAX_SWEEPS = 8
#: The sweeps over a working set end when its violation has fallen to this share of the violation before them.
INNER_SHARE = 0.2
#: ρ of a free intercept in units of the mean K_ii: a larger ρ slows down the steps, a smaller one the updates of b.
RHO_SHARE = 0.03
#: Minimum of ρ times the mean C_i, in units of the level ℓ: for a small C, b would hardly change otherwise.
MIN_RHO_SHARE = 0.1
#: A smaller K_ii, as a share of the mean, is replaced by this one, since the steps divide by K_ii.
MIN_DIAGONAL_SHARE = 1e-12
#: Number of steps of the compiled loop of a linear machine between two reports.
REPORTED_STEPS = 200_000
#: b is updated when the largest violation is at most this share of ρ max|ν_c|, the shift of f by the imbalance.
UPDATE_SHARE = 0.5


def compute_shared_step(z: FloatArray, C: float) -> FloatArray:
    """Return α of (SAMPLE.1) for z = m/K over the rivals: (k − 1,)."""
    ordered = np.sort(z)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(z) + 1)
    thresholds = sums / (counts + 1)  # S = Σ (z_c − S) over the largest z, for each number of them
    last = int(np.count_nonzero(ordered > thresholds)) - 1
    if last < 0:
        return np.zeros(len(z))
    theta = float(thresholds[last])
    if theta > C:  # then S = C
        thresholds = (sums - C) / counts
        last = int(np.count_nonzero(ordered > thresholds)) - 1
        theta = float(thresholds[max(last, 0)])
    return np.asarray(np.maximum(z - theta, 0.0))


def compute_separate_step(z: FloatArray, C: float) -> FloatArray:
    """Return α of (SAMPLE.2) for z = m/K over the rivals: (k − 1,)."""
    # Σ_c clip(z_c − S, 0, C) − S decreases in S, and is linear between these values of S
    breakpoints = np.concatenate([z, z - C])
    breakpoints.sort()
    breakpoints = breakpoints[np.searchsorted(breakpoints, 0.0) :]  # S ≥ 0
    if not len(breakpoints):
        return np.zeros(len(z))
    excess = np.minimum(np.maximum(z - breakpoints[:, None], 0.0), C).sum(axis=1) - breakpoints
    n_below = int(np.count_nonzero(excess > 0.0))
    low = 0.0 if n_below == 0 else float(breakpoints[n_below - 1])  # the root S is in the piece that starts here
    excess_at_low = float(np.minimum(np.maximum(z - low, 0.0), C).sum()) - low
    slope = 1.0 + int(np.count_nonzero((z > low) & (z - C <= low)))
    return np.asarray(np.minimum(np.maximum(z - (low + excess_at_low / slope), 0.0), C))


def solve_sequential(
    gram: Operator, dual: AllInOneDual, tol: float, budget: Budget, alpha: FloatArray | None = None,
    b: FloatArray | None = None,
) -> ClassSolution:  # fmt: skip
    """Run until all violations, and ρ|ν_c| of (SEQ.2), are at most `tol` times the level, or the budget is exhausted.

    gram: Operator (n, n).
    alpha (n, k), b (k,): The start; None for 0.
    """
    X = find_rows_in_memory(gram)
    if core.compiled is not None and X is not None:
        return _descend(X, dual, tol * dual.level, budget, alpha, b)
    return _SequentialRun(gram, dual, tol * dual.level, budget, alpha, b).run()


def choose_rho(dual: AllInOneDual, mean_diagonal: float) -> float:
    """Return ρ of (SEQ.1), given the mean of K_ii."""
    if dual.intercept == "free":
        return max(RHO_SHARE * mean_diagonal, MIN_RHO_SHARE * dual.level / float(dual.upper.mean()))
    return 1.0 if dual.intercept == "penalised" else 0.0


def _copy_start(dual: AllInOneDual, alpha: FloatArray | None, b: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return copies of the start, α (n, k) and b (k,): 0 if absent; b is also 0 unless the intercept is free."""
    start_alpha = np.zeros((dual.n, dual.k)) if alpha is None else np.array(alpha, order="C")
    if b is None or dual.intercept != "free":
        return start_alpha, np.zeros(dual.k)
    return start_alpha, b.copy()


def _descend(
    X: Matrix, dual: AllInOneDual, tol: float, budget: Budget, alpha: FloatArray | None, b: FloatArray | None
) -> ClassSolution:
    """Run the compiled passes over the samples X (n, d) of a linear machine."""
    table = build_table(X)
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", X, X)
    mean_diagonal = float(squares.mean()) or 1.0
    rho = choose_rho(dual, mean_diagonal)
    has_free_intercept = dual.intercept == "free"
    squares = np.maximum(squares, MIN_DIAGONAL_SHARE * mean_diagonal)
    alpha, b = _copy_start(dual, alpha, b)
    beta = dual.compute_beta(alpha)
    W = np.ascontiguousarray(X.T @ beta, dtype=np.float64)
    sums = beta.sum(axis=0)
    label = np.ascontiguousarray(dual.label, dtype=np.int64)
    upper = np.ascontiguousarray(dual.upper)
    reason = budget.find_stop_reason()
    violation = float("inf")
    while reason is None:
        if budget.max_steps is None:
            max_steps = REPORTED_STEPS
        else:
            max_steps = min(REPORTED_STEPS, budget.max_steps - budget.steps)
        steps, is_finished, violation = core.compiled.descend_classes(
            *table, label, upper, squares, alpha, W, b, sums, rho, dual.level, dual.has_shared_slack,
            has_free_intercept, max_steps, tol, budget.find_stop_reason,
        )  # fmt: skip
        budget.steps += steps
        budget.report("sequential dual", budget.steps, violation=violation / dual.level)
        reason = "converged" if is_finished else budget.find_stop_reason()
        if reason is None and not (np.isfinite(violation) and steps):  # then another call would not help
            reason = "numerical_error"
    return ClassSolution(alpha, b + rho * sums, reason, budget.steps)


class _SequentialRun:
    """The state of one run: α and b, with their β, and with f, which has the terms b + ρν of (SEQ.1)."""

    def __init__(
        self, gram: Operator, dual: AllInOneDual, tol: float, budget: Budget, alpha: FloatArray | None,
        b: FloatArray | None,
    ) -> None:  # fmt: skip
        self.gram = gram
        self.dual = dual
        self.tol = tol
        self.budget = budget
        n, k = dual.n, dual.k
        self.all_rows = np.arange(n)
        self.rivals = np.array([[c for c in range(k) if c != y] for y in range(k)], dtype=np.intp)  # (k, k − 1)
        self.diagonal = gram.diagonal()
        mean_diagonal = float(self.diagonal.mean()) or 1.0
        self.has_free_intercept = dual.intercept == "free"
        self.rho = choose_rho(dual, mean_diagonal)
        self.diagonal = np.maximum(self.diagonal, MIN_DIAGONAL_SHARE * mean_diagonal)
        self.alpha, self.b = _copy_start(dual, alpha, b)
        self.multiply = _choose_multiplication(gram)
        self.compute_step: Callable[[FloatArray, float], FloatArray]
        if dual.has_shared_slack:
            self.compute_step = compute_shared_step
        else:
            self.compute_step = compute_separate_step
        self.beta = dual.compute_beta(self.alpha)
        support = np.flatnonzero(self.alpha.any(axis=1))
        if len(support):
            self.f = self.multiply(support, self.beta[support])
        else:
            self.f = np.zeros((n, k))
        self.f += self.b + self.rho * self.beta.sum(axis=0)

    def run(self) -> ClassSolution:
        """Sweep over working sets and update b, until converged or the budget is exhausted."""
        level = self.dual.level
        reason: StopReason | None = None
        while reason is None:
            violation = self._compute_violations(self.f, self.alpha, self.all_rows)
            worst = float(violation.max())
            imbalance = self._measure_imbalance()
            if worst <= self.tol and imbalance <= self.tol:
                reason = "converged"
            elif self.has_free_intercept and worst <= max(UPDATE_SHARE * imbalance, self.tol):
                self._move_intercepts()
            else:
                reason = self.budget.find_stop_reason()
                if reason is None:
                    self._sweep_working_set(self._select_working_set(violation), worst)
                    self.budget.report(
                        "sequential dual", self.budget.steps, violation=worst / level, balance=imbalance / level
                    )
        return ClassSolution(self.alpha, self.b + self.rho * self.beta.sum(axis=0), reason, self.budget.steps)

    def _measure_imbalance(self) -> float:
        """Return the largest shift of f by the imbalance, (SEQ.2); 0 without a free intercept."""
        if self.has_free_intercept:
            return self.rho * float(np.abs(self.beta.sum(axis=0)).max())
        return 0.0

    def _move_intercepts(self) -> None:
        """Update b by (SEQ.2). f then contains ρν twice: once for (SEQ.1) and once for b."""
        shift = self.rho * self.beta.sum(axis=0)
        self.b = self.b + shift
        self.f += shift

    def _compute_violations(self, f: FloatArray, alpha: FloatArray, rows: IntArray) -> FloatArray:
        """Return by how much each of the samples `rows` violates optimality, (r,), for their f and α (r, k)."""
        dual = self.dual
        own_class = np.arange(len(rows)), dual.label[rows]  # index of each sample's own class
        C = dual.upper[rows]
        t = dual.level - (f[own_class][:, None] - f)  # the derivative of D by α
        if dual.has_shared_slack:
            t[own_class] = 0.0  # the own class has the remaining C − Σ_c α_c as its variable
            can_decrease = alpha > 0.0
            can_decrease[own_class] = alpha.sum(axis=1) < C * (1.0 - 1e-12)
            min_t = np.where(can_decrease, t, np.inf).min(axis=1)
            max_t = t.max(axis=1)
            return np.asarray(max_t - np.minimum(min_t, max_t))
        gain_up = np.where(alpha < C[:, None], t, 0.0)
        gain_down = np.where(alpha > 0.0, -t, 0.0)
        largest = np.maximum(gain_up, gain_down)
        largest[own_class] = 0.0
        return np.asarray(largest.max(axis=1))

    def _select_working_set(self, violation: FloatArray) -> IntArray:
        """Select the samples that violate most."""
        q = min(MAX_SET_SIZE, len(violation))
        chosen = np.argpartition(-violation, q - 1)[:q]
        rows = np.asarray(chosen[violation[chosen] > 0.0])
        if not len(rows):
            raise FloatingPointError("violations that are not numbers")
        return rows

    def _sweep_working_set(self, rows: IntArray, worst: float) -> None:
        """Sweep over a working set, then update f of all samples."""
        K = self.gram.block(rows, rows) + self.rho
        f = self.f[rows].copy()
        alpha = self.alpha[rows].copy()
        label = self.dual.label[rows]
        C = self.dual.upper[rows]
        diagonal = self.diagonal[rows]
        inner_tol = max(INNER_SHARE * worst, 0.5 * self.tol)
        if core.compiled is not None:
            self.budget.steps += core.compiled.sweep_classes(
                np.ascontiguousarray(K), f, np.ascontiguousarray(label, dtype=np.int64), C, diagonal, alpha,
                self.rho, self.dual.level, self.dual.has_shared_slack, MAX_SWEEPS, inner_tol,
                self.budget.find_stop_reason,
            )  # fmt: skip
        else:
            self._sweep_in_python(rows, K, f, alpha, diagonal, inner_tol)
        beta = -alpha
        beta[np.arange(len(rows)), label] = alpha.sum(axis=1)
        change = beta - self.beta[rows]
        self.alpha[rows] = alpha
        self.beta[rows] = beta
        self.f += self.multiply(rows, change) + self.rho * change.sum(axis=0)

    def _sweep_in_python(
        self, rows: IntArray, K: FloatArray, f: FloatArray, alpha: FloatArray, diagonal: FloatArray, inner_tol: float
    ) -> None:
        """Change α and f (r, k) of a working set with the matrix K + ρ (r, r), as the compiled loop does."""
        label = self.dual.label[rows]
        C = self.dual.upper[rows]
        for _ in range(MAX_SWEEPS):
            violation = self._compute_violations(f, alpha, rows)
            order = np.argsort(-violation)
            order = order[violation[order] > inner_tol]
            if not len(order):
                break
            for i in order.tolist():
                self._solve_sample(i, int(label[i]), float(C[i]), float(diagonal[i]) + self.rho, K, f, alpha)
            self.budget.steps += len(order)
            if self.budget.find_stop_reason() is not None:
                break

    def _solve_sample(
        self, i: int, y: int, C: float, diagonal: float, K: FloatArray, f: FloatArray, alpha: FloatArray
    ) -> None:
        """Solve (SAMPLE.1) or (SAMPLE.2) for sample i of a working set, changing f and α of the set."""
        rivals = self.rivals[y]
        old_alpha = alpha[i, rivals]
        t = self.dual.level - (f[i, y] - f[i, rivals])
        new_alpha = self.compute_step(t / diagonal + old_alpha + old_alpha.sum(), C)
        step = new_alpha - old_alpha
        if not step.any():
            return
        beta_step = np.zeros(self.dual.k)
        beta_step[rivals] = -step
        beta_step[y] = step.sum()
        f += K[i][:, None] * beta_step
        alpha[i, rivals] = new_alpha


def _choose_multiplication(gram: Operator) -> Callable[[IntArray, FloatArray], FloatArray]:
    """Return a function that computes K[:, rows] δ, (n, k), for few rows; from features if they factorise K."""
    if isinstance(gram, LowRank) and gram.scale is None and gram.d is None:
        source = gram.source

        def multiply_by_features(rows: IntArray, delta: FloatArray) -> FloatArray:
            return source.margins(np.asarray(source.take(rows).T @ delta))

        return multiply_by_features
    K = gram.dense()

    def multiply_by_columns(rows: IntArray, delta: FloatArray) -> FloatArray:
        return np.asarray(K[rows].T @ delta)

    return multiply_by_columns
