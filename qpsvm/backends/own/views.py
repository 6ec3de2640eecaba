"""A machine with one α a sample, or two mirrored ones, as `solvers.kernel.dual` knows it: over intervals of β.

    (IVAL.1)  β_i = s_i α_i:  t = sℓ, ε = 0, and the box is that of sα;  ρ of a ν-SVM is −ε of (IVAL.3)
    (IVAL.2)  mirrored, β_i = α⁺_i − α⁻_i:  t = (ℓ⁺ − ℓ⁻)/2, ε = −(ℓ⁺ + ℓ⁻)/2, −U⁻ ≤ β ≤ U⁺
    (IVAL.3)  a column c·s of E with e is Σβ = e/c, and b = cμ;  a constant column c beside it is Σ|β| = e/c, and ε = cμ
    (IVAL.4)  δ is a diagonal: K + diag(δ) for K, if both rows of a sample have the same
    (IVAL.5)  where U = ∞, α_i ≤ (2P₀/δ_i)^½ at the optimum, P₀ = Σ max(ℓ_k, 0)²/(2δ_k) the value of w = 0 and b = 0

The solver's β lead back to α, and its b and ε to the multipliers of the groups.

The rows of a linear machine's dual as our linear solvers take them: a source, signs, losses, and the way back to α.

    (ROWS.2)  a regression's two rows of a sample, s = ±1 and ℓ = ±t − ε, are one row of level t and width ε, by
              β = α⁺ − α⁻;  α⁺ = max(β, 0), α⁻ = max(−β, 0), as of the two at most one is not 0 at an optimum

Other rows are taken one by one, each with the sample, or the combination of samples, that it is of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import repeated
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds import levels
from qpsvm.bounds.certificate import middle
from qpsvm.data.rows import RowSource, WithOnes
from qpsvm.program.losses import per_row
from qpsvm.program.svm_dual import Group, SVMDual
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.linear.row_problem import RowLosses
from qpsvm.space.operators import LowRank

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
            high, low = np.maximum(signed, 0.0), np.minimum(signed, 0.0)
            problem = KernelDual(high, svm.sign * level, low, total=total, mass=mass)
            return cls(svm, problem, curvature, balance)
        fold = folded(svm)
        if fold is None:
            raise UnsupportedError(f"{name} takes mirrored rows with one tube and one curvature a sample; use cvxopt")
        width = 0.0 if mass is not None else fold.tube
        problem = KernelDual(upper[:n] + 0.0, fold.level + np.zeros(n), -upper[n:], width, total=total, mass=mass)
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


#: Widths that differ by no more than this share of the largest level are one.
SAME = 4.0 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class LinearRows:
    """What a linear solver is given.

    source (k, d): Without the ones of a penalised intercept.
    sign (k,)
    folded: Whether a row stands for two of the dual, (ROWS.2): m = 2k, else m = k.
    total: What Σ s α is to be where the intercept is free.
    factor: What the multiplier of the dual's equality is in the intercept: its column is so many times the
        sign.
    """

    source: RowSource
    sign: FloatArray
    losses: RowLosses
    intercept: Literal["free", "penalised"] | None
    folded: bool
    total: float = 0.0
    factor: float = 1.0

    @property
    def price(self) -> FloatArray | RowLosses:
        """C of hinges at level 1; the losses of others."""
        return np.broadcast_to(self.losses.high, len(self.sign)) if self.losses.hinges else self.losses

    def alpha(self, signed: FloatArray) -> FloatArray:
        """α (m,) from the multipliers of the rows, (k,)."""
        return np.concatenate([np.maximum(signed, 0.0), np.maximum(-signed, 0.0)]) if self.folded else signed

    def multipliers(self, alpha: FloatArray) -> FloatArray:
        """The multipliers of the rows, (k,), from α (m,)."""
        return alpha[: len(self.sign)] - alpha[len(self.sign) :] if self.folded else alpha


def linear_rows(svm: SVMDual) -> LinearRows:
    """The rows of a dual over a linear kernel."""
    assert isinstance(svm.gram, LowRank)
    intercept: Literal["free", "penalised"] | None = "free" if svm.groups else None
    fold = folded(svm)
    source, sign = svm.gram.source, svm.sign
    if fold is not None:
        sign = repeated(1.0, svm.n)
    elif not svm.plain:
        assert isinstance(svm.matrix, LowRank)  # as the Gram matrix is
        source = svm.matrix.source
    if intercept is None and isinstance(source, WithOnes):  # the weight of a feature of ones
        source, intercept = source.source, "penalised"
    losses = fold or RowLosses(per_row(svm.upper), per_row(svm.level), curvature=per_row(svm.curvature))
    factor = svm.comm.max(_unit_of(svm)) if svm.groups else 1.0
    total = svm.groups[0].total / factor if svm.groups else 0.0
    return LinearRows(source, sign, losses, intercept, fold is not None, total, factor)


def _unit_of(svm: SVMDual) -> float:
    """`LinearRows.factor` as the first of these rows says; −∞ where a member of a communicator has none."""
    return float(svm.groups[0].column[0] * svm.sign[0]) if svm.m else -np.inf


def best_intercept(svm: SVMDual, w: FloatArray, factor: float = 1.0) -> float:
    """The b that is best for w (d,), of a machine whose only multiplier is b divided by a factor."""
    assert isinstance(svm.gram, LowRank)
    part = svm.parts[0]
    found = levels.interval(svm, part, levels.reaches(svm, part, svm.gram.source.margins(w)))
    b = 0.0 if found is None else factor * middle(*found)
    return b if np.isfinite(b) else 0.0


def folded(svm: SVMDual) -> RowLosses | None:
    """Both rows of every sample as one loss, (IVAL.2) and (ROWS.2); None where the rows are not a regression's."""
    if not svm.mirrored:
        return None
    n = svm.n
    width = -0.5 * (svm.level[:n] + svm.level[n:])
    comm = svm.comm
    high, low = comm.max(float(width.max(initial=-np.inf))), comm.min(float(width.min(initial=np.inf)))
    if high - low <= SAME * comm.max(float(np.abs(svm.level).max(initial=0.0))):  # t − ε and −t − ε are rounded
        width = repeated(max(float(np.median(width)) if comm.serial else 0.5 * (low + high), 0.0), n)
    if comm.any(bool((width < 0.0).any()) or bool((svm.curvature[:n] != svm.curvature[n:]).any())):
        return None
    target = 0.5 * (svm.level[:n] - svm.level[n:])
    upper, lower, bend = per_row(svm.upper[:n]), per_row(-svm.upper[n:]), per_row(svm.curvature[:n])
    return RowLosses(upper, per_row(target), lower, per_row(width), bend)
