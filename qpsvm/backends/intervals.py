"""A machine with one α a sample, or two mirrored ones, as `solvers.kernel.dual` knows it: over intervals of β.

    (IVAL.1)  β_i = s_i α_i:  t = sℓ, ε = 0, and the box is that of sα
    (IVAL.2)  mirrored, β_i = α⁺_i − α⁻_i:  t = (ℓ⁺ − ℓ⁻)/2, ε = −(ℓ⁺ + ℓ⁻)/2, −U⁻ ≤ β ≤ U⁺
    (IVAL.3)  a column c·s of E with e is Σβ = e/c, and b = cμ;  a constant column c beside it is Σ|β| = e/c, and ε = cμ
    (IVAL.4)  δ is a diagonal: K + diag(δ) for K, if both rows of a sample have the same
    (IVAL.5)  where U = ∞, α_i ≤ (2P₀/δ_i)^½ at the optimum, P₀ = Σ max(ℓ_k, 0)²/(2δ_k) the value of w = 0 and b = 0

The solver's β lead back to α, and its b and ε to the multipliers of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.dual.svm_dual import Group, SVMDual
from qpsvm.errors import UnsupportedError
from qpsvm.losses import per_row
from qpsvm.solvers.kernel.dual import KernelDual

#: What both α of a sample share is worth looking at from this share of the sum of all bounds on.
SHARED = 1e-15
#: An interval is so much wider than (IVAL.5) asks for.
ROOM = 2.0


@dataclass(frozen=True, eq=False)
class Intervals:
    """A machine and its problem over intervals.

    curvature (n,) or None: δ by samples, where there is any.
    balance: That of Σβ.
    """

    svm: SVMDual
    problem: KernelDual
    curvature: FloatArray | None
    balance: Group

    @classmethod
    def of(cls, svm: SVMDual, name: str) -> Intervals:
        """Of a machine's dual, for a backend of that name.

        Raises UnsupportedError.
        """
        balance = _balance(svm)
        if svm.common_level == 1.0 and not balance.total and not svm.curved and not svm.mirrored:
            return cls(svm, KernelDual.of_hinges(svm.sign, svm.upper), None, balance)
        level, upper, n = svm.level + 0.0, _bounded(svm), svm.n
        totals = {group is balance: group.total / _factor(svm, group, balance) for group in svm.groups}
        total, mass = totals.get(True, 0.0), totals.get(False)
        curvature = svm.curvature[:n] + 0.0 if svm.curved else None
        if not svm.mirrored:
            signed = svm.sign * upper
            problem = KernelDual(np.maximum(signed, 0.0), svm.sign * level, np.minimum(signed, 0.0), total=total)
            return cls(svm, problem, curvature, balance)
        target, tube = 0.5 * (level[:n] - level[n:]), -0.5 * (level[:n] + level[n:])
        if (tube < 0.0).any() or (curvature is not None and (svm.curvature[n:] != curvature).any()):
            raise UnsupportedError(f"{name} takes mirrored rows with one tube and one curvature a sample; use cvxopt")
        width = 0.0 if mass is not None else per_row(tube)
        problem = KernelDual(upper[:n] + 0.0, target, -upper[n:], width, total=total, mass=mass)
        return cls(svm, problem, curvature, balance)

    def beta(self, alpha: FloatArray) -> FloatArray:
        """β (n,) of α (m,)."""
        return self.svm.beta(alpha)

    def alpha(self, beta: FloatArray) -> FloatArray:
        """α (m,) of β (n,)."""
        if not self.svm.mirrored:
            return np.maximum(self.svm.sign * beta, 0.0)
        sides = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        left = 0.0 if self.problem.mass is None else 0.5 * (self.problem.mass - float(np.abs(beta).sum()))
        if left > SHARED * self.problem.total_penalty:  # (KDUAL.8)
            room = np.minimum(self.problem.high - sides[0], -self.problem.low - sides[1])
            both = room * min(left / float(room.sum()), 1.0)
            sides = sides[0] + both, sides[1] + both
        return np.concatenate(sides)

    def multipliers(self, b: float, tube: float) -> dict[str, float]:
        """The multipliers of the groups, by name: (IVAL.3)."""
        return {
            group.multiplier: (b if group is self.balance else tube) / _factor(self.svm, group, self.balance)
            for group in self.svm.groups
        }


def _balance(svm: SVMDual) -> Group:
    """The group of Σβ."""
    if len(svm.groups) == 1:
        return svm.groups[0]
    return next(group for group in svm.groups if np.ptp(group.column * svm.sign) == 0.0)


def _factor(svm: SVMDual, group: Group, balance: Group) -> float:
    """c of (IVAL.3)."""
    return float(group.column[0] * svm.sign[0] if group is balance else group.column[0])


def _bounded(svm: SVMDual) -> FloatArray:
    """U (m,), finite: (IVAL.5)."""
    upper = svm.upper + 0.0
    if svm.bounded:
        return upper
    value = float((np.maximum(svm.level, 0.0) ** 2 / (2.0 * svm.curvature)).sum())
    return np.minimum(upper, ROOM * np.sqrt(2.0 * value / svm.curvature))


__all__ = ["Intervals"]
