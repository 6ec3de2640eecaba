"""Solve all-in-one multiclass machines by a sequential dual method, one sample at a time (`solve_sequential`).

The samples that violate their optimality conditions most form a working set. Within it, sweeps solve one sample after
another by (SAMPLE.1) or (SAMPLE.2), using only kernel values of the set; then one matrix product updates f of all
samples (the decomposition of Joachims (1999), with the inner method of Keerthi et al. (2008)). For a linear machine in
memory the compiled core passes over all samples instead, in random order, and keeps w (Keerthi et al.).

A free intercept requires Σ_i β_ic = 0 for every class, which a step over a single sample violates. The method of
multipliers restores it (Hestenes (1969), Powell (1969)):

    (SEQ.1)  maximise D(α) − Σ_c b_c ν_c − ½ρ Σ_c ν_c²,  ν_c = Σ_i β_ic:  the Gram matrix is K + ρ, and f has b + ρν
    (SEQ.2)  b ← b + ρν whenever the conditions of (SEQ.1) hold better than the balance does; of a linear machine, after
             every pass

A penalised intercept is ρ = 1 with b = 0; without an intercept ρ = 0.

The dual over the k − 1 α of one sample, with all others fixed, is solved exactly. With K = K_ii and m_c = t_c at α_i =
0, over the rivals c of sample i, and S = Σ_c α_c:

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

#: Limits of the samples in a working set (more samples need fewer products, but waste steps on old values of f), and of
#: the sweeps over it.
MAX_SET_SIZE, MAX_SWEEPS = 100, 8
#: A working set is left when its violation has fallen to this share.
INNER_SHARE = 0.2
#: ρ of a free intercept in units of the mean of K_ii: a larger ρ slows down the steps, a smaller one the updates of b.
#: And the minimum of ρ times the mean C_i as a share of the level: for a small C, b would hardly change otherwise.
RHO_SHARE, MIN_RHO_SHARE = 0.03, 0.1
#: K_ii counts as at least this share of the mean.
LEAST_DIAGONAL = 1e-12
#: Steps of the compiled loop of a linear machine between two reports.
REPORTED_STEPS = 200_000
#: b is updated when the violation is below this share of the shift of f by the imbalance.
UPDATE_SHARE = 0.5


def compute_shared_step(z: FloatArray, C: float) -> FloatArray:
    """Return α of (SAMPLE.1) for z = m/K over the rivals: (k − 1,)."""
    ordered = np.sort(z)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(z) + 1)
    levels = sums / (counts + 1)  # S = Σ_top z − (number of top entries) S
    last = int(np.count_nonzero(ordered > levels)) - 1
    if last < 0:
        return np.zeros(len(z))
    theta = float(levels[last])
    if theta > C:
        levels = (sums - C) / counts
        last = int(np.count_nonzero(ordered > levels)) - 1
        theta = float(levels[max(last, 0)])
    return np.asarray(np.maximum(z - theta, 0.0))


def compute_separate_step(z: FloatArray, C: float) -> FloatArray:
    """Return α of (SAMPLE.2) for z = m/K over the rivals: (k − 1,)."""
    points = np.concatenate([z, z - C])
    points.sort()
    points = points[np.searchsorted(points, 0.0) :]  # S ≥ 0
    if not len(points):
        return np.zeros(len(z))
    excess = np.minimum(np.maximum(z - points[:, None], 0.0), C).sum(axis=1) - points  # decreasing
    last = int(np.count_nonzero(excess > 0.0))
    low = 0.0 if last == 0 else float(points[last - 1])
    above = float(np.minimum(np.maximum(z - low, 0.0), C).sum()) - low
    slope = 1.0 + int(np.count_nonzero((z > low) & (z - C <= low)))
    return np.asarray(np.minimum(np.maximum(z - (low + above / slope), 0.0), C))


def solve_sequential(
    gram: Operator,
    dual: AllInOneDual,
    tol: float,
    budget: Budget,
    alpha: FloatArray | None = None,
    b: FloatArray | None = None,
) -> ClassSolution:
    """Run until every violation is below `tol`, a share of the level, or the budget is exhausted.

    alpha, b: The start; None for 0. Shapes: gram (n, n), alpha (n, k), b (k,).
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


def _descend(
    X: Matrix, dual: AllInOneDual, tol: float, budget: Budget, alpha: FloatArray | None, b: FloatArray | None
) -> ClassSolution:
    """Run the compiled passes of a linear machine over its samples X (n, d), one sample after the other."""
    n, k = dual.n, dual.k
    table = build_table(X)
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    mean_diagonal = float(squares.mean()) or 1.0
    rho, is_free = choose_rho(dual, mean_diagonal), dual.intercept == "free"
    squares = np.maximum(squares, LEAST_DIAGONAL * mean_diagonal)
    alpha = np.zeros((n, k)) if alpha is None else np.array(alpha, order="C")
    b = np.zeros(k) if b is None or not is_free else b.copy()
    beta = dual.compute_beta(alpha)
    W, sums = np.ascontiguousarray(X.T @ beta, dtype=np.float64), beta.sum(axis=0)
    label, upper = np.ascontiguousarray(dual.label, dtype=np.int64), np.ascontiguousarray(dual.upper)
    reason, violation = budget.find_stop_reason(), float("inf")
    while reason is None:
        max_steps = REPORTED_STEPS if budget.max_steps is None else min(REPORTED_STEPS, budget.max_steps - budget.steps)
        steps, is_finished, violation = core.compiled.descend_classes(
            *table, label, upper, squares, alpha, W, b, sums, rho, dual.level, dual.has_shared_slack, is_free,
            max_steps, tol, budget.find_stop_reason,
        )  # fmt: skip
        budget.steps += steps
        budget.report("sequential dual", budget.steps, violation=violation / dual.level)
        if is_finished:
            reason = "converged"
        elif not (np.isfinite(violation) and steps):
            reason = budget.find_stop_reason() or "numerical_error"
        else:
            reason = budget.find_stop_reason()
    return ClassSolution(alpha, b + rho * sums, reason, budget.steps)


class _SequentialRun:
    """The state of one run: α, β, f and b."""

    def __init__(
        self, gram: Operator, dual: AllInOneDual, tol: float, budget: Budget, alpha: FloatArray | None,
        b: FloatArray | None,
    ) -> None:  # fmt: skip
        self.gram, self.dual, self.tol, self.budget = gram, dual, tol, budget
        n, k = dual.n, dual.k
        self.all_rows = np.arange(n)
        self.own_class_mask = dual.own_class_mask
        self.rivals = np.array([[c for c in range(k) if c != y] for y in range(k)], dtype=np.intp)  # (k, k − 1)
        self.diagonal = gram.diagonal()
        mean_diagonal = float(self.diagonal.mean()) or 1.0
        self.has_free_intercept, self.rho = dual.intercept == "free", choose_rho(dual, mean_diagonal)
        self.diagonal = np.maximum(self.diagonal, LEAST_DIAGONAL * mean_diagonal)
        self.alpha = np.zeros((n, k)) if alpha is None else alpha.copy()
        self.b = np.zeros(k) if b is None or not self.has_free_intercept else b.copy()
        self.product = _choose_product(gram)
        self.step: Callable[[FloatArray, float], FloatArray] = (
            compute_shared_step if dual.has_shared_slack else compute_separate_step
        )
        self.beta = dual.compute_beta(self.alpha)
        support = np.flatnonzero(self.alpha.any(axis=1))
        self.f = self.product(support, self.beta[support]) if len(support) else np.zeros((n, k))
        self.f += self.b + self.rho * self.beta.sum(axis=0)

    def run(self) -> ClassSolution:
        level = self.dual.level
        reason: StopReason | None = None
        while reason is None:
            violation = self._compute_violations(self.f, self.alpha, self.all_rows)
            worst, imbalance = float(violation.max()), self._measure_imbalance()
            if worst <= self.tol and imbalance <= self.tol:
                reason = "converged"
            elif self.has_free_intercept and worst <= max(UPDATE_SHARE * imbalance, self.tol):
                self._move_intercepts()
            elif (reason := self.budget.find_stop_reason()) is None:
                self._sweep_working_set(self._select_working_set(violation), worst)
                self.budget.report(
                    "sequential dual", self.budget.steps, violation=worst / level, balance=imbalance / level
                )
        return ClassSolution(self.alpha, self.b + self.rho * self.beta.sum(axis=0), reason, self.budget.steps)

    def _measure_imbalance(self) -> float:
        """Return the largest shift of f by the imbalance, (SEQ.2); 0 without a free intercept."""
        return self.rho * float(np.abs(self.beta.sum(axis=0)).max()) if self.has_free_intercept else 0.0

    def _move_intercepts(self) -> None:
        """Update b by (SEQ.2); f then contains ρν once for (SEQ.1) and once for b."""
        shift = self.rho * self.beta.sum(axis=0)
        self.b = self.b + shift
        self.f += shift

    def _compute_violations(self, f: FloatArray, alpha: FloatArray, rows: IntArray) -> FloatArray:
        """Compute the violation of optimality of the samples `rows`, for their f and α (r, k): (r,)."""
        dual = self.dual
        label, is_own, C = dual.label[rows], self.own_class_mask[rows], dual.upper[rows]
        t = dual.level - (f[np.arange(len(rows)), label][:, None] - f)
        if dual.has_shared_slack:
            t[is_own] = 0.0
            has_slack = alpha.sum(axis=1) < C * (1.0 - 1e-12)
            min_t = np.where(alpha > 0.0, t, np.inf).min(axis=1)
            return np.asarray(
                t.max(axis=1) - np.where(has_slack, np.minimum(min_t, 0.0), np.minimum(min_t, t.max(axis=1)))
            )
        up = np.where(alpha < C[:, None], t, 0.0)
        down = np.where(alpha > 0.0, -t, 0.0)
        largest = np.maximum(up, down)
        largest[is_own] = 0.0
        return np.asarray(largest.max(axis=1))

    def _select_working_set(self, violation: FloatArray) -> IntArray:
        """Select the samples that violate most."""
        q = min(MAX_SET_SIZE, len(violation))
        chosen = np.argpartition(-violation, q - 1)[:q]
        return np.asarray(chosen[violation[chosen] > 0.0])

    def _sweep_working_set(self, rows: IntArray, worst: float) -> None:
        """Sweep over a working set, then update f of all samples."""
        K = self.gram.block(rows, rows) + self.rho
        f, alpha = self.f[rows].copy(), self.alpha[rows].copy()
        old_beta = self.beta[rows].copy()
        label, C, diagonal = self.dual.label[rows], self.dual.upper[rows], self.diagonal[rows]
        inner_tol = max(INNER_SHARE * worst, 0.5 * self.tol)
        if core.compiled is not None:
            self.budget.steps += core.compiled.sweep_classes(
                np.ascontiguousarray(K), f, np.ascontiguousarray(label, dtype=np.int64), C, diagonal, alpha,
                self.rho, self.dual.level, self.dual.has_shared_slack, MAX_SWEEPS, inner_tol,
                self.budget.find_stop_reason,
            )  # fmt: skip
        else:
            self._sweep(rows, K, f, alpha, diagonal, inner_tol)
        beta = -alpha
        beta[np.arange(len(rows)), label] = alpha.sum(axis=1)
        change = beta - old_beta
        self.alpha[rows], self.beta[rows] = alpha, beta
        self.f += self.product(rows, change) + self.rho * change.sum(axis=0)

    def _sweep(
        self, rows: IntArray, K: FloatArray, f: FloatArray, alpha: FloatArray, diagonal: FloatArray, inner_tol: float
    ) -> None:
        """Sweep over a working set with the matrix K + ρ (r, r), changing α and f (r, k), as the compiled loop does."""
        label, C = self.dual.label[rows], self.dual.upper[rows]
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
        """Solve for one sample of a working set, changing f and α of the set."""
        rivals = self.rivals[y]
        old, values = alpha[i, rivals], f[i]
        t = self.dual.level - (values[y] - values[rivals])
        new = self.step(t / diagonal + old + old.sum(), C)
        difference = new - old
        if not difference.any():
            return
        change = np.zeros(self.dual.k)
        change[rivals] = -difference
        change[y] = difference.sum()
        f += K[i][:, None] * change
        alpha[i, rivals] = new


def _choose_product(gram: Operator) -> Callable[[IntArray, FloatArray], FloatArray]:
    """Return a function that computes K[:, rows] δ for few rows."""
    if isinstance(gram, LowRank) and gram.scale is None and gram.d is None:
        source = gram.source

        def by_features(rows: IntArray, delta: FloatArray) -> FloatArray:
            return source.margins(np.asarray(source.take(rows).T @ delta))

        return by_features
    K = gram.dense()

    def by_columns(rows: IntArray, delta: FloatArray) -> FloatArray:
        product: FloatArray = K[rows].T @ delta
        return product

    return by_columns
