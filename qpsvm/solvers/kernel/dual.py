"""Define the dual of a kernel SVM in the variables β (n,), and its gap (`KernelDual`, `KernelPoint`).

One form covers every machine: a box, one required sum, and for ν-machines a second one.

    (KDUAL.1)  minimise ½βᵀKβ − ℓᵀβ + Σ ε_i|β_i|  subject to  Σβ = e,  low ≤ β ≤ high
    (KDUAL.2)  r = ℓ − u − b,  u = Kβ:  the residual;  p_i = r_i − σ_i ε_i:  the reduced gradient, σ_i = ±1 its side
    (KDUAL.3)  P − D = Σ (high_i − β_i) max(p_i, 0) + (β_i − low_i) max(−p_i, 0) without a kink at 0;  with one it is
               (LOSSES.5).  No term is negative
    (KDUAL.4)  relative gap = (P − D) / max(|P|, |D|)
    (KDUAL.5)  the best b for a given u is a weighted quantile of the ends ℓ − u ∓ ε of the tubes, at level Σ high − e;
               in (KDUAL.7), b + ε and b − ε are weighted quantiles of ℓ − u
    (KDUAL.7)  ν-SVR: Σ|β| = m takes the place of the term with ε, and ε is its multiplier
    (KDUAL.7)′ ν-SVM: the same, with ε = −ρ; β = y∘α has the sign of its interval, so |β_i| = y_iβ_i has no kink
    (KDUAL.8)  (KDUAL.7) with ε ≥ 0 is Σ|β| ≤ m;  if Σ|β| < m at ε = 0, the two α of a sample share the rest

| machine        | ℓ        | ε   | low, high        | e      |                                             |
|----------------|----------|-----|------------------|--------|---------------------------------------------|
| C-SVM          | y        | 0   | 0, C or −C, 0    | 0      | β = y∘α: the interval ends at 0             |
| ε-SVR          | target   | ε   | −C, C            | 0      | β at 0 is a kink: two sides, one at a time  |
| ν-SVR          | target   | –   | −C, C            | 0      | the same, and m = νΣC                       |
| ν-SVM          | 0        | –   | 0, U or −U, 0    | 0      | the interval ends at 0, and m = ν           |
| quantile τ     | target   | 0   | −C(1 − τ), Cτ    | 0      | no kink: the side is the whole interval     |
| one-class      | 0        | 0   | 0, 1             | νn     |                                             |
| SVDD           | ½K_ii    | 0   | 0, C             | 1      |                                             |

A kink at β_i = 0 splits the interval of a row into two sides; a row with ε = 0 has none. A `KernelPoint` chooses one
side for each row, and has the reduced gradient and the interval on it (`gradient`, `low`, `high`), so engines need
not know about kinks. A row stays at the kink while |r| ≤ ε; otherwise it is on the side of its residual. Engines may
ask for properties of the problem (`has_kink`, `is_sign_constrained`, `is_standard_hinge`), but not for the machine.

The problem can be restricted to a working set W of rows (`restrict`), if every other row is at an end of its interval,
or at the kink, and optimal there. Such rows contribute nothing to (KDUAL.3), and to (KDUAL.5) only

    (KDUAL.6)  level = Σ high over the rows of W − e + Σ β_i over the rows outside
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.losses import Loss, take_rows

#: An entry closer to the kink than this share of its interval is at the kink.
KINK_TOL = 1e-11
#: Rounding error of a required sum, relative to the sum of all bounds.
SUM_TOL = 1e-12
#: Rounding error of a sum in units of Σ|β|, for which entries at their bounds are not moved.
SUM_ROUNDING = 1e-15
#: Why no point is found if all bounds are so small that they round to 0, or so large that they overflow.
USELESS_BOUNDS = "bounds that are 0 or infinite in the units of the problem"
#: A level this close to a multiple of the common weight is one.
INTEGER_TOL = 1e-6


class Multipliers(NamedTuple):
    """Multipliers of the sums: b of Σβ, and ε, `tube`, of Σ|β| in (KDUAL.7), else 0."""

    b: float
    tube: float = 0.0


@dataclass(frozen=True, eq=False)
class KernelDual(Loss):
    """The data of (KDUAL.1) without K: a loss, and the required sums.

    high, level, low (n,): As in `Loss`, finite. The curvature of squared losses is part of K instead.
    total: e.
    mass: m of (KDUAL.7), with ε = 0; None for other machines.
    fixed_sum, fixed_mass: Σβ and Σ|β| over the rows that a restriction left outside.
    scale: The denominator of the gap for a restriction; None to compute it from the rows.
    """

    high: FloatArray
    level: FloatArray
    low: FloatArray
    total: float = 0.0
    mass: float | None = None
    fixed_sum: float = 0.0
    fixed_mass: float = 0.0
    scale: float | None = None

    @classmethod
    def from_hinges(cls, y: FloatArray, upper: FloatArray) -> KernelDual:
        """Build the dual of a C-SVM, for labels ±1 and C_i, both (n,)."""
        signed = upper * y
        dual = cls(np.maximum(signed, 0.0), y, np.minimum(signed, 0.0))
        dual.__dict__.update(
            has_kink=False, is_sign_constrained=True, is_standard_hinge=True, sign=y, weight=upper
        )  # fills the cache
        return dual

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.level)

    @cached
    def has_kink(self) -> bool:
        """Whether β = 0 is a kink."""
        if self.mass is not None:
            return not self.is_nu_svm
        if isinstance(self.tube, float):
            return self.tube != 0.0
        return bool(np.any(self.tube))

    @cached
    def smooth_rows(self) -> IntArray:
        """The rows without a kink in a problem that has kinks, because their ε is 0: (k,)."""
        if not self.has_kink or self.mass is not None or isinstance(self.tube, float):
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(self.tube == 0.0)

    @cached
    def is_nu_svm(self) -> bool:
        """Whether Σ|β| is given and every β has the sign of its interval: a ν-SVM."""
        return self.mass is not None and self._has_zero_end

    @cached
    def is_homogeneous(self) -> bool:
        """Whether only the sums keep β = 0 from being optimal: a ν-SVM or a one-class SVM."""
        return (self.is_nu_svm or self.bound_share is not None) and not self.level.any()

    @cached
    def _has_zero_end(self) -> bool:
        """Whether 0 is an end of every interval."""
        return not np.minimum(self.high, -self.low).any()

    @cached
    def weight(self) -> FloatArray:
        """Distance between the ends of the interval, or from the kink to the farther end: (n,)."""
        if self.has_kink:
            return np.maximum(self.high, -self.low)
        return self.high - self.low

    @cached
    def total_penalty(self) -> float:
        """Σ `weight`."""
        return float(np.add.reduce(self.weight))

    @cached
    def common_weight(self) -> float | None:
        """Common weight of all points of the quantile (KDUAL.5); None if they differ."""
        first = float(self.weight[0])
        if self.is_sign_constrained and find_common_value(self.weight) is not None:
            return first
        is_constant = bool((self.weight == first).all()) and (not self.has_kink or bool((self.high == -self.low).all()))
        return first if is_constant and first > 0.0 else None

    @cached
    def sign(self) -> FloatArray:
        """Sign of the interval, without a kink: −1 where β = 0 is the upper end, else 1; (n,)."""
        return np.where(self.high > 0.0, 1.0, -1.0)

    @cached
    def is_sign_constrained(self) -> bool:
        """Whether β = 0 is an end of every interval, and Σβ = 0."""
        return self.mass is None and not self.has_kink and self.total == 0.0 and self._has_zero_end

    @cached
    def is_standard_hinge(self) -> bool:
        """Whether every row is a hinge at level 1, as those of a C-SVM."""
        return self.is_sign_constrained and bool((self.level == self.sign).all())

    @cached
    def _balance_level(self) -> float:
        """Level of the quantile for b, by (KDUAL.6)."""
        return float(self.high.sum()) - self.total + self.fixed_sum

    @cached
    def bound_share(self) -> float | None:
        """e / Σ high for novelty detection, the share ν of a one-class SVM; None for other machines."""
        if self.has_kink or self.low.any() or not self.total > 0.0:
            return None
        return self.total / float(self.high.sum())

    def restrict(self, rows: IntArray, fixed_beta: FloatArray, scale: float | None = None) -> KernelDual:
        """Restrict the problem to some rows, given β of the others, and the denominator of the full gap or None."""
        mass = float(np.abs(fixed_beta).sum())
        return replace(self.restrict_rows(rows), fixed_sum=float(fixed_beta.sum()), fixed_mass=mass, scale=scale)

    def with_tube(self, tube: float) -> KernelDual:
        """Return (KDUAL.1) with ε = `tube` in place of the second sum of (KDUAL.7)."""
        if self.mass is None:
            return self
        if self.is_nu_svm:
            return replace(self, level=self.level - self.sign * tube, mass=None, fixed_mass=0.0)
        return replace(self, tube=tube, mass=None, fixed_mass=0.0)

    @property
    def is_nu_svr(self) -> bool:
        """Whether ε is a variable, as in (KDUAL.7)."""
        return self.mass is not None and self.has_kink

    def has_no_tube(self, point: KernelPoint) -> bool:
        """Return whether the point of a ν-SVR has ε = 0, so that the solution is that of (KDUAL.8)."""
        return self.is_nu_svr and point.tube <= 0.0

    @property
    def target_sums(self) -> tuple[float, float]:
        """Required Σβ over the rows with β > 0 and over those with β < 0, in (KDUAL.7)."""
        assert self.mass is not None
        total, mass = self.total - self.fixed_sum, self.mass - self.fixed_mass
        return 0.5 * (mass + total), -0.5 * (mass - total)

    def find_free(self, beta: FloatArray) -> NDArray[np.bool_]:
        """Return the mask of the rows strictly inside their interval, (n,)."""
        inside: NDArray[np.bool_] = (beta > self.low) & (beta < self.high)
        return inside & ~self.find_kinks(beta) if self.has_kink else inside

    def find_kinks(self, beta: FloatArray, tolerance: float = 0.0) -> NDArray[np.bool_]:
        """Return the mask of the rows within this share of their interval of a kink, (n,)."""
        at_kink: NDArray[np.bool_] = np.abs(beta) <= tolerance * self.weight if tolerance else beta == 0.0
        at_kink[self.smooth_rows] = False
        return at_kink

    def compute_violation(
        self, beta: FloatArray, u: FloatArray, multipliers: Multipliers, rows: IntArray | slice
    ) -> FloatArray:
        """Compute by how much the reduced gradients of some rows at a bound or kink have the wrong sign: (r,)."""
        r = self.level[rows] - u[rows] - multipliers.b
        beta_rows = beta[rows]
        if not self.has_kink:
            r = r - self.sign[rows] * multipliers.tube if multipliers.tube else r
            return np.where(beta_rows <= self.low[rows], r, -r)
        violation: FloatArray = np.where(beta_rows == 0.0, np.abs(r), -np.sign(beta_rows) * r)
        return violation + np.where(beta_rows == 0.0, -1.0, 1.0) * (take_rows(self.tube, rows) + multipliers.tube)

    def compute_multipliers(self, u: FloatArray) -> Multipliers:
        """Compute (KDUAL.5) for u (n,)."""
        r = self.level - u
        if self.is_nu_svm:
            plus, minus = self.target_sums
            up = self.sign > 0.0
            # b + ε and b − ε
            upper = _find_weighted_quantile(r[up], self.high[up], float(self.high.sum()) - plus, self.common_weight)
            lower = _find_weighted_quantile(r[~up], -self.low[~up], -minus, self.common_weight)
            return Multipliers(0.5 * (upper + lower), 0.5 * (upper - lower))
        if self.mass is not None:
            plus, minus = self.target_sums
            upper = _find_weighted_quantile(r, self.high, float(self.high.sum()) - plus, self.common_weight)
            lower = _find_weighted_quantile(r, -self.low, -minus, self.common_weight)
            return Multipliers(0.5 * (upper + lower), max(0.5 * (upper - lower), 0.0))
        if not self.has_kink:
            return Multipliers(_find_weighted_quantile(r, self.weight, self._balance_level, self.common_weight))
        points = np.concatenate([r - self.tube, r + self.tube])
        if self.common_weight is not None:
            weights = None
        else:
            weights = np.concatenate([self.high, -self.low])
        return Multipliers(_find_weighted_quantile(points, weights, self._balance_level, self.common_weight))

    def make_feasible(self, beta: FloatArray) -> FloatArray:
        """Return a feasible point near β: clip to the box, then spread the residue of the sums over rows with slack.

        With a kink, each entry keeps its sign if possible.
        """
        feasible: FloatArray = np.minimum(np.maximum(beta, self.low), self.high)
        if self.is_nu_svm:
            for members, goal in zip((self.sign > 0.0, self.sign < 0.0), self.target_sums, strict=True):
                feasible[members] = spread_residue(feasible[members], self.low[members], self.high[members], -goal)
            return feasible
        if not self.has_kink:
            return spread_residue(feasible, self.low, self.high, self.fixed_sum - self.total)
        feasible[self.find_kinks(feasible, KINK_TOL)] = 0.0
        low, high = self.select_sides(feasible < 0.0, feasible > 0.0)
        if self.mass is None:
            feasible = spread_residue(feasible, low, high, self.fixed_sum - self.total)
            if abs(feasible.sum() + self.fixed_sum - self.total) > SUM_TOL * self.total_penalty:
                feasible = spread_residue(feasible, self.low, self.high, self.fixed_sum - self.total)
            return feasible
        for members, goal in zip((feasible > 0.0, feasible < 0.0), self.target_sums, strict=True):
            part_beta = feasible[members]
            if len(part_beta):
                feasible[members] = part_beta = spread_residue(part_beta, low[members], high[members], -goal)
            if abs(part_beta.sum() - goal) > SUM_TOL * self.total_penalty:
                return self.fill_by_score(self.level)
        return feasible

    def build_uniform_start(self) -> FloatArray:
        """Build the point that meets the sums with the same share of every upper end, and of every lower end: (n,)."""
        if self.mass is None:
            plus = self.total - self.fixed_sum
            minus = 0.0
        else:
            plus, minus = self.target_sums
        shares = [goal / (float(np.add.reduce(end)) or 1.0) for goal, end in ((plus, self.high), (minus, self.low))]
        return shares[0] * self.high + shares[1] * self.low

    def fill_by_score(self, score: FloatArray) -> FloatArray:
        """Set the highest scores to the upper end and the lowest to the lower end, until the sums are met: (n,)."""
        if self.mass is None:
            plus = self.total - self.fixed_sum
            minus = 0.0
        else:
            plus, minus = self.target_sums
        order = np.argsort(-score, kind="stable")
        filled = np.empty(self.n)
        high = self.high[order]
        filled[order] = np.minimum(np.maximum(plus - (np.cumsum(high) - high), 0.0), high)
        if minus:
            low = -self.low[order][::-1]
            order = order[::-1]
            filled[order] -= np.minimum(np.maximum(-minus - (np.cumsum(low) - low), 0.0), low)
        return filled

    def build_zero_point(self) -> KernelPoint:
        """Build a point without K: β = 0 if that is feasible, else a feasible point of unknown gap."""
        zero = np.zeros(self.n)
        if self.total == 0.0 and not self.mass and (self.low <= 0.0).all() and (self.high >= 0.0).all():
            return self.build_point(zero, zero)
        return self.build_point_at(self.make_feasible(zero), zero, Multipliers(0.0), np.inf, 0.0)

    def build_point(self, beta: FloatArray, u: FloatArray, multipliers: Multipliers | None = None) -> KernelPoint:
        """Measure a feasible β with its u = Kβ, both (n,), at the given multipliers or the best ones."""
        multipliers = multipliers or self.compute_multipliers(u)
        r = self.level - u
        r -= multipliers.b
        gradient, low, high = self._compute_sided_gradient(beta, r, multipliers.tube)
        value = float(self.level @ beta) - 0.5 * float(beta @ u)
        if self.has_kink:  # (LOSSES.5)
            size = np.abs(beta)
            width = self.tube + multipliers.tube
            clipped = np.minimum(np.maximum(r, -width), width)
            excess = r - clipped
            difference = float(np.add.reduce(width * size - clipped * beta))
            value -= float(np.add.reduce(self.tube * size))
            if self.mass is not None:  # (KDUAL.8)
                difference += multipliers.tube * max(self.mass - self.fixed_mass - float(np.add.reduce(size)), 0.0)
        else:
            difference = 0.0
            excess = gradient
        difference += float((np.where(excess > 0.0, self.high, self.low) - beta) @ excess)  # (KDUAL.3)
        if self.scale is None:
            scale = max(abs(value), abs(value + difference))
        else:
            scale = self.scale
        if scale > 0:
            gap = difference / scale
        elif difference == 0:
            gap = 0.0
        else:
            gap = np.inf
        gap = gap if math.isfinite(gap) else np.inf
        return KernelPoint(beta, u, multipliers.b, gap, scale, gradient, low, high, multipliers.tube)

    def build_point_at(
        self, beta: FloatArray, u: FloatArray, multipliers: Multipliers, gap: float, scale: float
    ) -> KernelPoint:
        """Build the point from known multipliers, gap and scale."""
        sided = self._compute_sided_gradient(beta, self.level - u - multipliers.b, multipliers.tube)
        return KernelPoint(beta, u, multipliers.b, gap, scale, *sided, multipliers.tube)

    def _compute_sided_gradient(
        self, beta: FloatArray, r: FloatArray, tube: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the reduced gradient, and the ends of the interval on the side of β, for r of (KDUAL.2): (n,) each."""
        if not self.has_kink:
            return r - self.sign * tube if tube else r, self.low, self.high
        side = _choose_sides(beta, r)
        return r - side * (self.tube + tube), *self.select_sides(side < 0.0, side > 0.0)

    def select_sides(self, minus: NDArray[np.bool_], plus: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals, (n,) each: on the given side of a kink, or both where there is none."""
        low, high = np.where(minus, self.low, 0.0), np.where(plus, self.high, 0.0)
        low[self.smooth_rows], high[self.smooth_rows] = self.low[self.smooth_rows], self.high[self.smooth_rows]
        return low, high


@dataclass(frozen=True, eq=False)
class KernelPoint:
    """A feasible point with its gap.

    beta, u (n,): β and u = Kβ.
    b: (KDUAL.5).
    gap: (KDUAL.4); infinite where it cannot be computed.
    scale: Its denominator.
    gradient (n,): The reduced gradient of the dual function, which is maximised: p of (KDUAL.2).
    low, high (n,): The ends of the interval on the side of β.
    tube: As in `Multipliers`.
    """

    beta: FloatArray
    u: FloatArray
    b: float
    gap: float
    scale: float
    gradient: FloatArray
    low: FloatArray
    high: FloatArray
    tube: float = 0.0

    @property
    def multipliers(self) -> Multipliers:
        """The multipliers of the sums."""
        return Multipliers(self.b, self.tube)


def spread_residue(beta: FloatArray, low: FloatArray, high: FloatArray, outside: float = 0.0) -> FloatArray:
    """Return β in its box with Σβ + outside = 0, by subtracting the excess in proportion to the slack of each entry.

    The remaining rounding error goes to the entry farthest inside its box: spread over all, it would lift zeros off
    their bound. May change β in place. Shapes: beta, low, high (n,).
    """
    residue = float(beta.sum()) + outside
    if residue == 0.0:
        return beta
    if not len(beta):
        raise FloatingPointError(USELESS_BOUNDS)
    depth = np.minimum(beta - low, high - beta)
    deepest = int(depth.argmax())
    if abs(residue) <= depth[deepest]:
        beta[deepest] -= residue
        return beta
    if abs(residue) <= SUM_ROUNDING * float(np.abs(beta).sum()):
        return beta
    slack = beta - low if residue > 0 else high - beta
    beta = beta - slack * (residue / max(float(slack.sum()), abs(residue)))
    deepest = int(np.minimum(beta - low, high - beta).argmax())
    beta[deepest] = np.clip(beta[deepest] - beta.sum() - outside, low[deepest], high[deepest])
    return beta


def spread_residue_by_parts(
    beta: FloatArray, low: FloatArray, high: FloatArray, border: FloatArray | None
) -> FloatArray:
    """Apply `spread_residue` to all rows, or to each part of them given by a column of `border` (m, q)."""
    if border is None:
        return spread_residue(beta, low, high)
    for column in border.T:
        rows = column.nonzero()[0]
        beta[rows] = spread_residue(beta[rows], low[rows], high[rows])
    return beta


def _choose_sides(beta: FloatArray, r: FloatArray) -> FloatArray:
    """Return σ of (KDUAL.2): the sign of β, or of the residual at the kink, (n,)."""
    side: FloatArray = np.copysign(1.0, np.where(beta != 0.0, beta, r))
    return side


def _find_weighted_quantile(
    points: FloatArray, weights: FloatArray | None, level: float, common: float | None
) -> float:
    """Return the middle of the interval on which the cumulated weight of points (m,) equals `level`.

    If all weights are equal to `common`, the points need not be sorted, and `weights` is not used.
    """
    m = len(points)
    if not m or not level < np.inf:
        raise FloatingPointError(USELESS_BOUNDS)
    if common is not None:
        k = level / common
        k_rounded = round(k)
        if abs(k - k_rounded) <= INTEGER_TOL:
            first = k_rounded - 1
            last = k_rounded
        else:
            first, last = (int(np.floor(k)),) * 2
        if last <= 0 or first >= m - 1:
            return float(points.min() if last <= 0 else points.max())
        ordered = np.partition(points, (first, last))
        return 0.5 * float(ordered[first] + ordered[last])
    assert weights is not None
    order = np.argsort(points, kind="stable")
    mass = np.cumsum(weights[order])
    slack = 4 * m * EPS * float(mass[-1])
    first = min(int(np.searchsorted(mass, level - slack)), m - 1)
    last = min(int(np.searchsorted(mass, level + slack, side="right")), m - 1)
    return 0.5 * float(points[order[first]] + points[order[last]])
