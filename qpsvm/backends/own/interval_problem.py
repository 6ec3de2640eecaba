"""Convert the dual of a machine to the form of the kernel solvers, `solvers.kernel.dual` (`IntervalProblem`).

There β ranges over intervals, its sum is given, and t is the level:

    (IVAL.1)  one α per sample, β_i = s_i α_i:  t = s∘ℓ, ε = 0, and β_i is between 0 and s_i U_i;  ρ of a ν-SVM is −ε of
              (IVAL.3)
    (IVAL.2)  two α per sample, β_i = α⁺_i − α⁻_i:  t = (ℓ⁺ − ℓ⁻)/2, ε = −(ℓ⁺ + ℓ⁻)/2, −U⁻ ≤ β ≤ U⁺
    (IVAL.3)  an equality with the column c·s of E and the total e is Σβ = e/c, and b = cμ;  a second equality with the
              constant column c is Σ|β| = e/c, and ε = cμ
    (IVAL.4)  K + diag(δ) takes the place of K;  both α of a sample need the same δ
    (IVAL.5)  if U = ∞, then α_i ≤ (2P₀/δ_i)^½ at the optimum, where P₀ = Σ max(ℓ_k, 0)²/(2δ_k) is the primal value at
              w = 0 and b = 0
    (IVAL.6)  without an equality, a further variable β₀ = −Σβ adds ½κβ₀² − tβ₀ to the objective, and the multiplier of
              its equality is b = t − κβ₀:  κ = c²/R and t = −ce/R for a penalised multiplier with the column c·s;
              κ = 1 and t = 0 if the intercept is in the kernel, K + 1;  κ = t = 0 without an intercept.  The bound
              |β₀| ≤ Σ max |β_i| excludes nothing
    (IVAL.7)  rows that combine samples, or share them:  one β_i per row, and A K Aᵀ of (COMBINE.1) in place of K

The solver's β is converted back to α, and its b and ε to the multipliers of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.own.linear_rows import fold_losses
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.svm_dual import DualGroup, SVMDual
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.space.kernels.combined_blocks import CombinedBlocks
from qpsvm.space.kernels.extended_blocks import ExtendedBlocks
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.kernel import inner_products
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

#: Below this share of the sum of all bounds, a missing part of Σ|β| is a rounding error.
MIN_MISSING_MASS = 1e-15
#: Factors by which intervals are wider than in (IVAL.5) and (IVAL.6), so that no bound is reached.
INTERVAL_WIDENING, SUM_WIDENING = 2.0, 1.1


@dataclass(frozen=True, eq=False)
class IntervalProblem:
    """A machine and its problem over intervals, (IVAL.1) to (IVAL.7).

    svm: The dual of the machine, with m variables α.
    problem: Its variables are one β_i per sample, or per row in (IVAL.7), k in all, and β₀ of (IVAL.6).
    curvature (k,): δ; None if the machine has no curvature.
    balance: The group with the column c·s; None if there is none.
    kappa: κ of (IVAL.6); None if Σβ is given.
    """

    svm: SVMDual
    problem: KernelDual
    curvature: FloatArray | None
    balance: DualGroup | None
    kappa: float | None

    @classmethod
    def from_dual(cls, svm: SVMDual, backend_name: str) -> IntervalProblem:
        """Build the problem from a machine's dual. Raises UnsupportedError, which names the backend."""
        balance = _find_balance(svm, backend_name)
        has_sum = balance is not None and not balance.ridge
        is_hinge_classifier = svm.common_level == 1.0 and not svm.has_curvature and not svm.is_two_sided
        if balance is not None and has_sum and is_hinge_classifier and not balance.total:
            return cls(svm, KernelDual.from_hinges(svm.sign, svm.upper), None, balance, None)
        factor, total, mass = 1.0, 0.0, None
        for group in svm.groups:
            if group is balance:
                factor = _compute_factor(svm, group, is_balance=True)
                total = group.total / factor
            else:
                mass = group.total / _compute_factor(svm, group, is_balance=False)
        problem = _build_intervals(svm, total, mass, backend_name)
        curvature = svm.curvature[: problem.n] + 0.0 if svm.has_curvature else None
        if has_sum:
            return cls(svm, problem, curvature, balance, None)
        if balance is None:
            kappa = float(getattr(svm.gram, "offset", 0.0))
        else:
            kappa = factor * factor / balance.ridge
        return cls(svm, _append_variable(problem, -kappa * total), curvature, balance, kappa)

    def build_blocks(self, kernel: Kernel, X: Matrix, full_matrix: FloatArray | None) -> GramBlocks:
        """Build the matrix of the problem from the kernel and X (n, d).

        full_matrix (n, n): The Gram matrix; None if it has not been computed.
        """
        blocks: GramBlocks
        if isinstance(self.svm.gram, KernelGram):
            blocks = self.svm.gram.blocks
        else:
            blocks = KernelBlocks(kernel, X, inner_products(X, X) if full_matrix is None else full_matrix)
        if _combines_samples(self.svm):
            blocks = CombinedBlocks(blocks, _build_mix(self.svm))
        if self.curvature is None and self.kappa is None:
            return blocks
        return ExtendedBlocks(blocks, self.curvature, self.kappa)

    def compute_beta(self, alpha: FloatArray) -> FloatArray:
        """Compute β (k,), and β₀ of (IVAL.6), from α (m,)."""
        if _combines_samples(self.svm):
            beta = self.svm.sign * alpha
        else:
            beta = self.svm.beta(alpha)
        return beta if self.kappa is None else np.append(beta, -beta.sum())

    def compute_alpha(self, beta: FloatArray) -> FloatArray:
        """Compute α (m,) from the solver's β, including β₀ of (IVAL.6)."""
        problem, svm = self.problem, self.svm
        beta = beta if self.kappa is None else beta[:-1]
        if not svm.is_two_sided:
            return np.maximum(svm.sign * beta, 0.0)
        alpha_plus = np.maximum(beta, 0.0)
        alpha_minus = np.maximum(-beta, 0.0)
        if problem.mass is None:
            missing = 0.0
        else:
            missing = 0.5 * (problem.mass - float(np.abs(beta).sum()))
        if missing > MIN_MISSING_MASS * problem.total_penalty:  # (KDUAL.8)
            bound_slack = np.minimum(problem.high - alpha_plus, -problem.low - alpha_minus)
            increase = bound_slack * min(missing / float(bound_slack.sum()), 1.0)
            alpha_plus, alpha_minus = alpha_plus + increase, alpha_minus + increase
        return np.concatenate([alpha_plus, alpha_minus])

    def compute_multipliers(self, b: float, tube: float) -> dict[str, float]:
        """Compute the multipliers μ of the groups by (IVAL.3), by name, from b and ε."""
        multipliers = {}
        for group in self.svm.groups:
            is_balance = group is self.balance
            multiplier = b if is_balance else tube
            multipliers[group.multiplier] = multiplier / _compute_factor(self.svm, group, is_balance)
        return multipliers


def _find_balance(svm: SVMDual, backend_name: str) -> DualGroup | None:
    """Return the group with the column c·s; None if there is none. Raises UnsupportedError."""
    balance = next((group for group in svm.groups if np.ptp(group.column * svm.sign) == 0.0), None)
    if svm.penalised_groups and (balance is None or len(svm.groups) > 1):
        raise UnsupportedError(f"{backend_name} takes a penalised multiplier only if it is the intercept; use cvxopt")
    return balance


def _combines_samples(svm: SVMDual) -> bool:
    """Return whether rows combine samples or share them, as in (IVAL.7)."""
    return not svm.has_one_row_per_sample and not svm.is_two_sided


def _build_mix(svm: SVMDual) -> sp.csr_array:
    """Return A of (COMBINE.1), (m, n)."""
    if svm.mix is not None:
        return svm.mix
    return sp.csr_array((np.ones(svm.m), svm.rows, np.arange(svm.m + 1)), shape=(svm.m, svm.n))


def _compute_factor(svm: SVMDual, group: DualGroup, is_balance: bool) -> float:
    """Return c of (IVAL.3)."""
    return float(group.column[0] * svm.sign[0] if is_balance else group.column[0])


def _build_intervals(svm: SVMDual, total: float, mass: float | None, backend_name: str) -> KernelDual:
    """Build the problem over β (k,), (IVAL.1) or (IVAL.2). Raises UnsupportedError.

    total, mass: The required Σβ, and Σ|β| if any.
    """
    level = svm.level + 0.0
    upper = _compute_finite_bounds(svm)
    n = svm.n
    if not svm.is_two_sided:
        signed_upper = svm.sign * upper
        high, low = np.maximum(signed_upper, 0.0), np.minimum(signed_upper, 0.0)
        return KernelDual(high, svm.sign * level, low, total=total, mass=mass)
    losses = fold_losses(svm)
    if losses is None:
        raise UnsupportedError(
            f"{backend_name} requires the same tube and curvature on both sides of a sample; use cvxopt"
        )
    tube = losses.tube if mass is None else 0.0
    return KernelDual(upper[:n] + 0.0, losses.level + np.zeros(n), -upper[n:], tube, total=total, mass=mass)


def _append_variable(problem: KernelDual, level: float) -> KernelDual:
    """Append β₀ of (IVAL.6) to a problem, whose required sum is then 0."""
    limit = SUM_WIDENING * float(np.maximum(problem.high, -problem.low).sum())
    high = np.append(problem.high, limit)
    low = np.append(problem.low, -limit)
    tube = np.append(np.broadcast_to(problem.tube, problem.n), 0.0) if problem.has_kink else problem.tube
    return KernelDual(high, np.append(problem.level, level), low, tube)


def _compute_finite_bounds(svm: SVMDual) -> FloatArray:
    """Return U (m,), made finite by (IVAL.5)."""
    upper = svm.upper + 0.0
    if svm.is_bounded:
        return upper
    primal_at_zero = float((np.maximum(svm.level, 0.0) ** 2 / (2.0 * svm.curvature)).sum())
    return np.minimum(upper, INTERVAL_WIDENING * np.sqrt(2.0 * primal_at_zero / svm.curvature))
