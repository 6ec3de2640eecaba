"""What a row costs that is r away from its level: one family for hinges, tubes and quantiles, bent or not.

With m_i what row i of Z gives and r_i = ℓ_i − m_i its residual,

    (LOSSES.1)  φ_i(r) = max over lo_i ≤ a ≤ hi_i of ar − φ*_i(a),  φ*_i(a) = ε_i|a| + ½δ_i a²,  lo_i ≤ 0 ≤ hi_i
    (LOSSES.2)  the a that attains it is clip(S_ε(r)/δ, lo, hi),  S_k(t) = t − clip(t, −k, k):  0 inside the tube
    (LOSSES.3)  φ(r) + φ*(a) − ar ≥ 0 for every r and every a in [lo, hi]: a row's share of the gap
    (LOSSES.4)  the augmented Lagrangian asks for the a that maximises ar − φ*(a) − (a − a₀)²/2σ:
                a = clip(S_{dε}(t), lo, hi),  t = d(a₀/σ + r),  d = 1/(1/σ + δ)

A hinge has lo = ε = 0. In a regression row i is x_i itself, a_i = α⁺_i − α⁻_i, and one row does for the two of the
dual: both see the same residual, and at most one of the two α is not 0. Its levels t − ε and −t − ε are t and ε here.

Each of ℓ, lo, hi, ε, δ is one number where it is the same for all rows, which is faster, and takes no memory.

What is typical of them (`scale`, `jump`, …) is so of the rows of all members of a team, which each member has to ask
for; sums over residuals are this member's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.remembered import remembered
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.resources.team import ALONE, Team
from qpsvm.solvers.linear.settings import SETTINGS

#: One number for all rows, or one a row, (n,).
PerRow: TypeAlias = float | FloatArray
#: A loss that bends over at least this share of the scale is smooth; σ then begins at so many 1/δ. Measured: where
#: samples overlap, a larger σ saves one step of ten; where a squared hinge of large C separates them, it ends nowhere.
BENT, SMOOTH = 1.0, 100.0
#: The largest bound that σ is made of.
LARGEST = 1e100
#: Rows from which a typical size of the levels is estimated.
SAMPLE = 20_000


def at(values: PerRow, rows: slice | IntArray) -> PerRow:
    """The values of some rows."""
    return values if isinstance(values, float) else values[rows]


def per_row(values: float | FloatArray) -> PerRow:
    """One number where all values are equal."""
    if np.ndim(values) == 0:
        return float(values)
    vector = np.asarray(values, dtype=np.float64)
    if len(vector) and (vector.strides == (0,) or float(vector.min()) == float(vector.max())):
        return float(vector[0])
    return np.ascontiguousarray(vector)


def mean(values: PerRow) -> float:
    """The mean over the rows."""
    return values if isinstance(values, float) else float(values.mean())


def mean_over(values: PerRow, team: Team) -> float:
    """The mean over the rows of all members, who all have one number or all have one a row."""
    if team.alone or isinstance(values, float):
        return mean(values)
    total, count = team.sums(float(values.sum()), len(values))
    return float(total / count) if count else 0.0


def is_zero(values: PerRow) -> bool:
    """Whether it is the number 0 for all rows."""
    return isinstance(values, float) and values == 0.0


@dataclass(frozen=True, eq=False)
class RowLosses:
    """(LOSSES.1) of every row.

    Attributes
    ----------
    upper, level, lower, width, curvature : float or ndarray, shape (n,)
        hi, ℓ, lo, ε ≥ 0 and δ ≥ 0. ε is 0 where lo is; δ > 0 where a bound is infinite.
    unit : float, optional
        What residuals are measured in, where the levels do not say.
    team : Team
        Whoever has the other rows.
    """

    upper: PerRow
    level: PerRow = 1.0
    lower: PerRow = 0.0
    width: PerRow = 0.0
    curvature: PerRow = 0.0
    unit: float | None = None
    team: Team = ALONE

    def over(self, team: Team, n: int) -> RowLosses:
        """The same losses, of n rows, as part of a team's: what is one number here is so on all members, or on none.

        All that is decided by how they are stored is then decided in the same way by all.
        """
        if team.alone:
            return self
        names = ("upper", "level", "lower", "width", "curvature")
        values: list[PerRow] = [getattr(self, name) for name in names]
        numbers = [value if isinstance(value, float) else np.nan for value in values]
        told = team.joined(np.array([numbers] if n else []).reshape(-1, len(names)))
        stored: dict[str, Any] = {}
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            alike = len(told) > 0 and bool((told[:, k] == told[0, k]).all())
            stored[name] = float(told[0, k]) if alike else np.full(n, value) if isinstance(value, float) else value
        return replace(self, team=team, **stored)

    def part(self, rows: IntArray) -> RowLosses:
        """Those of some rows, for a problem of its own: all members' scale is taken as theirs."""
        part = self.of(rows)
        return part if self.team.alone else replace(part, unit=self.scale)

    def of(self, rows: slice | IntArray) -> RowLosses:
        """Those of some rows."""
        return RowLosses(
            at(self.upper, rows), at(self.level, rows), at(self.lower, rows), at(self.width, rows),
            at(self.curvature, rows), self.unit, self.team,
        )  # fmt: skip

    def times(self, factors: PerRow) -> RowLosses:
        """φ_i times a factor f_i > 0: the same row f_i times."""
        curvature = self.curvature if is_zero(self.curvature) else self.curvature / factors
        lower = self.lower if is_zero(self.lower) else self.lower * factors
        return replace(self, upper=self.upper * factors, lower=lower, curvature=curvature)

    def shifted(self, origin: float) -> RowLosses:
        """The same losses of m − origin."""
        return replace(self, level=self.level - origin)

    @remembered
    def one_sided(self) -> bool:
        """Whether nothing is lost where r ≤ 0."""
        return is_zero(self.lower)

    @remembered
    def flat(self) -> bool:
        """Whether every δ is 0."""
        return is_zero(self.curvature)

    @remembered
    def plain(self) -> bool:
        """Whether all are hinges."""
        return self.one_sided and self.flat

    @remembered
    def hinges(self) -> bool:
        """Whether all are those of a C-SVM, hinges at level 1."""
        return self.plain and isinstance(self.level, float) and self.level == 1.0

    @remembered
    def endless(self) -> bool:
        """Whether some bound is infinite, so that far rows never come to rest at one."""
        return self.team.any(self._own_endless)

    @remembered
    def _own_endless(self) -> bool:
        return not (np.isfinite(self.upper).all() and np.isfinite(self.lower).all())

    @remembered
    def middle(self) -> float:
        """The median of the levels, or near it."""
        return self.level if isinstance(self.level, float) else float(np.median(self._some_levels))

    @remembered
    def scale(self) -> float:
        """What residuals are measured in: a typical distance of the levels from their middle; of hinges, from 0."""
        if self.unit is not None:
            return self.unit
        if isinstance(self.level, float):
            size = abs(self.level) if self.one_sided else 0.0
        elif not len(self._some_levels):
            size = 0.0
        else:
            sizes = np.abs(self._some_levels - (0.0 if self.one_sided else self.middle))
            size = float(np.median(sizes)) or float(np.mean(sizes))
        return size or self._mean(self.width) or 1.0

    @remembered
    def _some_levels(self) -> FloatArray:
        """Enough of the levels to know where they are: (k,)."""
        level = np.asarray(self.level)
        return self.team.joined(level[:: max(1, self.team.count(len(level)) // SAMPLE)])

    def _mean(self, values: PerRow) -> float:
        """The mean over the rows of all members."""
        return mean_over(values, self.team)

    @remembered
    def jump(self) -> float:
        """The mean of the finite bounds, hi or −lo: how far α goes where a row passes a kink. Infinite without any."""
        size = self._mean(self.upper) if self.one_sided else 0.5 * (self._mean(self.upper) - self._mean(self.lower))
        return size if np.isfinite(size) else np.inf

    @remembered
    def mean_curvature(self) -> float:
        """The mean of δ."""
        return self._mean(self.curvature)

    @remembered
    def bent(self) -> bool:
        """Whether they are smooth on the scale of the residuals: δ times the bound is no small share of it."""
        bend = self.mean_curvature
        return bend > 0.0 and (self.endless or bend * self.jump >= BENT * self.scale)

    @remembered
    def first_sigma(self) -> float:
        """The σ to begin with: one step takes α from 0 to its bound where a row is `scale` beyond its kink.

        Where the losses are `bent`, a σ that leaves them as they are.
        """
        if self.bent:
            return SMOOTH / self.mean_curvature
        return min(self.jump, LARGEST) / self.scale

    @property
    def warm_sigma(self) -> float:
        """The σ to begin with where α is nearly the multiplier."""
        return self.first_sigma if self.bent else SETTINGS.warm_sigma * self.first_sigma

    # --- at residuals ---

    def residuals(self, m: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """R = ℓ − m: (n,)."""
        return np.subtract(self.level, m, out=out)

    def outside(self, r: FloatArray) -> FloatArray:
        """S_ε(r), what is beyond the tube: (n,)."""
        return soft(r, self.width)

    def answer(self, r: FloatArray) -> FloatArray:
        """(LOSSES.2), 0 where r is at a kink: (n,)."""
        if self.plain:
            return np.where(r > 0.0, self.upper, 0.0)
        v = self.outside(r)
        if self.flat:
            answered = np.where(v > 0.0, self.upper, self.lower)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):  # δ = 0: what is not 0 goes to its bound
                answered = np.clip(v / self.curvature, self.lower, self.upper)
        answered[v == 0.0] = 0.0
        return answered

    def moved(self, a: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Whether an a that was the answer (LOSSES.2) at other residuals no longer is: (n,)."""
        moved: NDArray[np.bool_] = (r > 0.0) != (a > 0.0) if self.plain else self.answer(r) != a
        return moved

    def loss(self, r: FloatArray) -> float:
        """Σ φ(r)."""
        if self.plain:
            return _dot(self.upper, np.maximum(r, 0.0))
        v = self.outside(r)
        if self.flat:
            return _dot(self.upper, np.maximum(v, 0.0)) + _dot(self.lower, np.minimum(v, 0.0))
        a = self.answer(r)
        return float(a @ v) - 0.5 * _dot(self.curvature, a * a)

    def conjugate(self, a: FloatArray) -> float:
        """Σ φ*(a)."""
        total = 0.0
        if not is_zero(self.width):
            total += _dot(self.width, np.abs(a))
        if not self.flat:
            total += 0.5 * _dot(self.curvature, a * a)
        return total

    def mismatch(self, a: FloatArray, r: FloatArray) -> float:
        """Σ of (LOSSES.3)."""
        if self.plain:
            outside, upper = np.maximum(r, 0.0), self.upper
            lost = upper * float(outside.sum()) if isinstance(upper, float) else float(upper @ outside)
            return lost - float(a @ r)
        return self.loss(r) + self.conjugate(a) - float(a @ r)

    def worth(self, a: FloatArray) -> float:
        """ℓᵀa − Σφ*(a): what a contributes to the dual."""
        gained = self.level * float(a.sum()) if isinstance(self.level, float) else float(self.level @ a)
        return gained if self.plain else gained - self.conjugate(a)

    # --- kinks ---

    def distance(self, r: FloatArray) -> FloatArray:
        """How far r is from where (LOSSES.2) changes: 0 between 0 and a bound. (n,)."""
        if self.plain:
            return np.abs(r)
        excess = r if self.one_sided else np.abs(r) - self.width
        if self.flat:
            return np.abs(excess)
        bound = self.upper if self.one_sided else np.where(r > 0.0, self.upper, -np.asarray(self.lower))
        beyond = excess - self.curvature * bound
        return np.where(excess < 0.0, -excess, np.maximum(beyond, 0.0))

    def ramp(self, r: FloatArray, tau: float) -> FloatArray:
        """(LOSSES.2) with its jumps smeared over |r| ≤ ½τ around each: (n,)."""
        if self.plain:
            return np.clip(self.upper * (0.5 + r / tau), 0.0, self.upper)
        if not self.flat:
            return self.answer(r)
        rising = np.clip(0.5 + (r - self.width) / tau, 0.0, 1.0)
        falling = np.clip(0.5 - (r + self.width) / tau, 0.0, 1.0)
        return self.upper * rising + self.lower * falling

    def inner(self, a: FloatArray, share: float) -> NDArray[np.bool_]:
        """Whether a is away from 0 and from its bound by more than a share of the bound: (n,)."""
        bound = self.upper if self.one_sided else np.where(a > 0.0, self.upper, self.lower)
        part = a / bound
        return (part > share) & (part < 1.0 - share)

    def room(self, a: FloatArray) -> FloatArray:
        """How far a may move at a cost of second order, up to a factor: 0 at a kink. (n,)."""
        if self.one_sided or is_zero(self.width):
            low, high = self.lower, self.upper
        else:
            low = np.where(a > 0.0, 0.0, self.lower)
            high = np.where(a > 0.0, self.upper, 0.0)
        down, up = a - low, high - a
        if self._own_endless:
            down, up = np.where(np.isinf(down), np.abs(a), down), np.where(np.isinf(up), np.abs(a), up)
        return np.maximum(down, 0.0) * np.maximum(up, 0.0)

    def clipped(self, a: FloatArray) -> FloatArray:
        """The nearest a in the box: (n,)."""
        return np.clip(a, self.lower, self.upper)


def soft(t: FloatArray, k: PerRow) -> FloatArray:
    """S_k(t): (n,); t itself where k = 0."""
    return t if is_zero(k) else t - np.clip(t, -np.asarray(k), k)


def _dot(weights: PerRow, values: FloatArray) -> float:
    """Σ w_i v_i."""
    if isinstance(weights, float):
        return weights * float(values.sum())
    return float(weights @ values)
