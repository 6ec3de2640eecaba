"""Solve all-in-one multiclass machines by a sequential dual method, one sample at a time.

The samples that violate their optimality conditions most make a working set. Inside it, sweeps solve one sample after
another by (SAMPLE.1) or (SAMPLE.2), on kernel values of the set alone; then f of all samples follows by one product of
matrices (the decomposition of Joachims (1999), with the inner method of Keerthi et al. (2008)).

A free intercept asks for Σ_i β_ic = 0 for every class, which no step over a single sample keeps. It is a method of
multipliers (Hestenes (1969), Powell (1969)):

    (SEQ.1)  maximise D(α) − Σ_c b_c ν_c − ½ρ Σ_c ν_c²,  ν_c = Σ_i β_ic:  the Gram matrix is K + ρ, and f has b + ρν
    (SEQ.2)  b ← b + ρν whenever the conditions of (SEQ.1) hold better than the balance does

A penalised intercept is ρ = 1 with b = 0, and none is ρ = 0.

The exact solution of a joint machine's dual over the α of one sample, all others held: k − 1 numbers.

With K = K_ii and m_c = t_c at α_i = 0, over the rivals c of sample i, and S = Σ_c α_c:

    (SAMPLE.1)  maximise Σ m_c α_c − ½K(Σα_c² + S²)  over α ≥ 0 and S ≤ C:  α_c = (m_c/K − S)⁺ while S < C, and
                α_c = (m_c/K − θ)⁺ with Σ_c α_c = C where that asks for more
    (SAMPLE.2)  the same over 0 ≤ α_c ≤ C:  α_c = clip(m_c/K − S, 0, C)

S is where a falling piecewise linear function meets its argument; sorting finds it. Source: Crammer & Singer (2001),
section 6; Keerthi et al., *A sequential dual method for large scale multi-class linear SVMs* (KDD 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solvers.shared.budget import Budget, StopReason
from qpsvm.space.operators import LowRank, Operator

#: Samples in a working set, more of which cost inner steps on old values of f, and fewer products; and most sweeps.
WORKING_SET, SWEEPS = 100, 8
#: A working set is left once its violation has fallen to this share.
INNER = 0.2
#: ρ of a free intercept in units of the mean of K_ii: more slows the steps down, less the way of b. Times the mean C_i
#: it is at least this share of the level: where C is small, b would get nowhere otherwise.
COUPLING, REACH = 0.03, 0.1
#: b is moved once the violation is below this share of what the imbalance is worth.
BALANCED = 0.5


def compute_shared_step(z: FloatArray, C: float) -> FloatArray:
    """(SAMPLE.1) for z = m/K over the rivals: (k − 1,)."""
    ordered = np.sort(z)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(z) + 1)
    levels = sums / (counts + 1)  # S = Σ_top z − (how many) S
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
    """(SAMPLE.2) for z = m/K over the rivals: (k − 1,)."""
    points = np.concatenate([z, z - C])
    points.sort()
    points = points[np.searchsorted(points, 0.0) :]  # S ≥ 0
    if not len(points):
        return np.zeros(len(z))
    excess = np.minimum(np.maximum(z - points[:, None], 0.0), C).sum(axis=1) - points  # falls
    last = int(np.count_nonzero(excess > 0.0))
    low = 0.0 if last == 0 else float(points[last - 1])
    above = float(np.minimum(np.maximum(z - low, 0.0), C).sum()) - low
    slope = 1.0 + int(np.count_nonzero((z > low) & (z - C <= low)))
    return np.asarray(np.minimum(np.maximum(z - (low + above / slope), 0.0), C))


@dataclass(frozen=True, eq=False)
class SequentialSolution:
    """α (n, k), b (k,), why it ended, the steps over a sample, and the violation left, in units of the level."""

    alpha: FloatArray
    b: FloatArray
    reason: StopReason
    iterations: int
    violation: float


def solve_sequential(
    gram: Operator,
    dual: AllInOneDual,
    tol: float,
    budget: Budget,
    alpha: FloatArray | None = None,
    b: FloatArray | None = None,
) -> SequentialSolution:
    """Run until every violation is below `tol`, a share of the level, or the budget is spent.

    Shapes: gram (n, n), alpha (n, k), b (k,).
    """
    return _SequentialRun(gram, dual, tol * dual.level, budget, alpha, b).run()


class _SequentialRun:
    """The state of one run: α, β, f, b, and how many steps it has made."""

    def __init__(
        self, gram: Operator, dual: AllInOneDual, tol: float, budget: Budget, alpha: FloatArray | None,
        b: FloatArray | None,
    ) -> None:  # fmt: skip
        self.gram, self.dual, self.tol, self.budget = gram, dual, tol, budget
        n, k = dual.n, dual.k
        self.each, self.own = np.arange(n), dual.own_class_mask
        self.rivals = np.array([[c for c in range(k) if c != y] for y in range(k)], dtype=np.intp)  # (k, k − 1)
        self.diagonal = gram.diagonal()
        usual = float(self.diagonal.mean()) or 1.0
        self.free = dual.intercept == "free"
        coupling = max(COUPLING * usual, REACH * dual.level / float(dual.upper.mean()))
        self.rho = coupling if self.free else 1.0 if dual.intercept == "penalised" else 0.0
        self.diagonal = np.maximum(self.diagonal + self.rho, 1e-12 * usual)
        self.alpha = np.zeros((n, k)) if alpha is None else alpha.copy()
        self.b = np.zeros(k) if b is None or not self.free else b.copy()
        self.product = _choose_product(gram)
        self.step: Callable[[FloatArray, float], FloatArray] = (
            compute_shared_step if dual.has_shared_slack else compute_separate_step
        )
        self.beta = dual.compute_beta(self.alpha)
        support = np.flatnonzero(self.alpha.any(axis=1))
        self.f = self.product(support, self.beta[support]) if len(support) else np.zeros((n, k))
        self.f += self.b + self.rho * self.beta.sum(axis=0)

    def run(self) -> SequentialSolution:
        level = self.dual.level
        reason: StopReason | None = None
        while reason is None:
            violation = self._compute_violations(self.f, self.alpha, self.each)
            worst, apart = float(violation.max()), self._measure_imbalance()
            if worst <= self.tol and apart <= self.tol:
                reason = "converged"
            elif self.free and worst <= max(BALANCED * apart, self.tol):
                self._move_intercepts()
            elif (reason := self.budget.find_stop_reason()) is None:
                self._sweep_working_set(self._select_working_set(violation), worst)
                self.budget.report("sequential dual", self.budget.steps, violation=worst / level, balance=apart / level)
        violation = self._compute_violations(self.f, self.alpha, self.each)
        left = max(float(violation.max()), self._measure_imbalance()) / level
        return SequentialSolution(
            self.alpha, self.b + self.rho * self.beta.sum(axis=0), reason, self.budget.steps, left
        )

    def _measure_imbalance(self) -> float:
        """Return the largest shift of f by the imbalance, (SEQ.2); 0 without a free intercept."""
        return self.rho * float(np.abs(self.beta.sum(axis=0)).max()) if self.free else 0.0

    def _move_intercepts(self) -> None:
        """(SEQ.2): f has ρν once for (SEQ.1), and now once more for b."""
        moved = self.rho * self.beta.sum(axis=0)
        self.b = self.b + moved
        self.f += moved

    def _compute_violations(self, f: FloatArray, alpha: FloatArray, rows: IntArray) -> FloatArray:
        """Compute the violation of optimality of some samples (r, k): (r,)."""
        dual = self.dual
        label, own, C = dual.label[rows], self.own[rows], dual.upper[rows]
        t = dual.level - (f[np.arange(len(rows)), label][:, None] - f)
        if dual.has_shared_slack:
            t[own] = 0.0
            room = alpha.sum(axis=1) < C * (1.0 - 1e-12)
            least = np.where(alpha > 0.0, t, np.inf).min(axis=1)
            return np.asarray(t.max(axis=1) - np.where(room, np.minimum(least, 0.0), np.minimum(least, t.max(axis=1))))
        up = np.where(alpha < C[:, None], t, 0.0)
        down = np.where(alpha > 0.0, -t, 0.0)
        both = np.maximum(up, down)
        both[own] = 0.0
        return np.asarray(both.max(axis=1))

    def _select_working_set(self, violation: FloatArray) -> IntArray:
        """Select the samples that violate most."""
        q = min(WORKING_SET, len(violation))
        chosen = np.argpartition(-violation, q - 1)[:q]
        return np.asarray(chosen[violation[chosen] > 0.0])

    def _sweep_working_set(self, rows: IntArray, worst: float) -> None:
        """Sweep over a working set, then update f of all samples."""
        K = self.gram.block(rows, rows) + self.rho
        f, alpha = self.f[rows].copy(), self.alpha[rows].copy()
        before = self.beta[rows].copy()
        label, C, diagonal = self.dual.label[rows], self.dual.upper[rows], self.diagonal[rows]
        enough = max(INNER * worst, 0.5 * self.tol)
        for _ in range(SWEEPS):
            violation = self._compute_violations(f, alpha, rows)
            order = np.argsort(-violation)
            order = order[violation[order] > enough]
            if not len(order):
                break
            for i in order.tolist():
                self._solve_sample(i, int(label[i]), float(C[i]), float(diagonal[i]), K, f, alpha)
            self.budget.steps += len(order)
            if self.budget.find_stop_reason() is not None:
                break
        beta = -alpha
        beta[np.arange(len(rows)), label] = alpha.sum(axis=1)
        moved = beta - before
        self.alpha[rows], self.beta[rows] = alpha, beta
        self.f += self.product(rows, moved) + self.rho * moved.sum(axis=0)

    def _solve_sample(
        self, i: int, y: int, C: float, diagonal: float, K: FloatArray, f: FloatArray, alpha: FloatArray
    ) -> None:
        """Solve for one sample of a working set, changing f and α of the set."""
        rivals = self.rivals[y]
        old, values = alpha[i, rivals], f[i]
        t = self.dual.level - (values[y] - values[rivals])
        new = self.step(t / diagonal + old + old.sum(), C)
        moved = new - old
        if not moved.any():
            return
        change = np.zeros(self.dual.k)
        change[rivals] = -moved
        change[y] = moved.sum()
        f += K[i][:, None] * change
        alpha[i, rivals] = new


def _choose_product(gram: Operator) -> Callable[[IntArray, FloatArray], FloatArray]:
    """K[:, rows] δ for few rows."""
    if isinstance(gram, LowRank) and gram.scale is None and gram.d is None:
        source = gram.source

        def by_features(rows: IntArray, delta: FloatArray) -> FloatArray:
            return source.margins(np.asarray(source.take(rows).T @ delta))

        return by_features
    whole = gram.dense()

    def by_columns(rows: IntArray, delta: FloatArray) -> FloatArray:
        product: FloatArray = whole[rows].T @ delta
        return product

    return by_columns
