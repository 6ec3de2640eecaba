"""Define the problem, losses and points of the linear solver (`RowProblem`, `RowLosses`, `LinearPoint`).

`RowProblem` is (ALM.1) of `augmented_lagrangian`, and `LinearPoint` a pair of primal and dual points with its gap
(ALM.5). Each row has one loss and one multiplier a. A hinge has lo = ε = 0. In a regression row i is x_i itself,
a_i = α⁺_i − α⁻_i, and one row replaces the two of the dual, which have the same residual. Their levels t − ε and −t − ε
are t and ε here. `MultiplierResponse` evaluates, for one σ,

    (LOSSES.4)  the a that maximises ar − φ*(a) − (a − a₀)²/2σ in the augmented Lagrangian:
                a = clip(S_{dε}(t), lo, hi),  t = d(a₀/σ + r),  d = 1/(1/σ + δ)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import UNIT, compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.losses import Loss, PerRow, is_zero, soft_threshold
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows
from qpsvm.solvers.linear.settings import SETTINGS

#: Initial σ of a smooth loss, in units of 1/δ. Measured: if classes overlap, a larger σ saves one step of ten; if a
#: squared hinge with a large C separates them, a larger σ prevents convergence.
SMOOTH_SIGMA = 100.0
#: Limit of the bound from which σ is computed.
MAX_BOUND = 1e100
#: Rows from which a typical size of the levels is estimated.
SAMPLE_ROWS = 20_000
#: Corrections of yᵀα: the second removes the rounding error of the first, or what the box truncated.
CORRECTIONS = 2


def compute_mean(values: PerRow) -> float:
    """Return the mean over the rows."""
    return values if isinstance(values, float) else float(values.mean())


@dataclass(frozen=True, eq=False)
class RowLosses(Loss):
    """The losses of all rows, with the scales that the linear solver needs.

    unit: Scale of the residuals; None to estimate it from the levels.
    """

    unit: float | None = None

    @classmethod
    def from_loss(cls, losses: Loss) -> RowLosses:
        """Return the same losses with these scales."""
        return cls(**{field.name: getattr(losses, field.name) for field in fields(Loss)})

    @cached
    def has_infinite_bound(self) -> bool:
        """Whether some bound is infinite, so that far rows never reach one."""
        return not (np.isfinite(self.high).all() and np.isfinite(self.low).all())

    @cached
    def median_level(self) -> float:
        """Median of the levels, estimated from a sample."""
        if isinstance(self.level, float):
            return self.level
        return float(np.median(self._level_sample))

    @cached
    def residual_scale(self) -> float:
        """Unit of the residuals: a typical distance of the levels from their median, or from 0 for hinges."""
        if self.unit is not None:
            return self.unit
        if isinstance(self.level, float):
            size = abs(self.level) if self.is_one_sided else 0.0
        elif not len(self._level_sample):
            size = 0.0
        else:
            sizes = np.abs(self._level_sample - (0.0 if self.is_one_sided else self.median_level))
            size = float(np.median(sizes)) or float(np.mean(sizes))
        return size or compute_mean(self.tube) or 1.0

    @cached
    def _level_sample(self) -> FloatArray:
        """Evenly spaced levels, at least `SAMPLE_ROWS` if there are as many: (k,)."""
        level = np.asarray(self.level)
        return level[:: max(1, len(level) // SAMPLE_ROWS)]

    @cached
    def jump(self) -> float:
        """Mean of the bounds hi or −lo, by which α jumps when a row passes a kink; infinite if a bound is."""
        if self.is_one_sided:
            size = compute_mean(self.high)
        else:
            size = 0.5 * (compute_mean(self.high) - compute_mean(self.low))
        return size if np.isfinite(size) else np.inf

    @cached
    def mean_curvature(self) -> float:
        """Mean of δ."""
        return compute_mean(self.curvature)

    @cached
    def is_smooth(self) -> bool:
        """Whether the losses are smooth on the scale of the residuals: δ times the bound is at least that scale."""
        bend = self.mean_curvature
        return bend > 0.0 and (self.has_infinite_bound or bend * self.jump >= self.residual_scale)

    @cached
    def first_sigma(self) -> float:
        """Initial σ: one step takes α from 0 to its bound if a row is `residual_scale` beyond its kink.

        If the losses are smooth, a σ so large that it hardly changes them.
        """
        if self.is_smooth:
            return SMOOTH_SIGMA / self.mean_curvature
        return min(self.jump, MAX_BOUND) / self.residual_scale

    @property
    def warm_sigma(self) -> float:
        """Initial σ if α is nearly the multiplier."""
        if self.is_smooth:
            return self.first_sigma
        return SETTINGS.warm_sigma * self.first_sigma

    def find_changed(self, a: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Return the mask of the entries of a that differ from (LOSSES.2) at the residuals r: (n,)."""
        changed: NDArray[np.bool_] = (r > 0.0) != (a > 0.0) if self.is_hinge else self.compute_optimal_dual(r) != a
        return changed

    # --- kinks ---

    def evaluate_ramp(self, r: FloatArray, tau: float) -> FloatArray:
        """Evaluate (LOSSES.2) with each jump smoothed over |r| ≤ ½τ around it: (n,)."""
        if self.is_hinge:
            return np.clip(self.high * (0.5 + r / tau), 0.0, self.high)
        if not self.is_piecewise_linear:
            return self.compute_optimal_dual(r)
        rising = np.clip(0.5 + (r - self.tube) / tau, 0.0, 1.0)
        falling = np.clip(0.5 - (r + self.tube) / tau, 0.0, 1.0)
        return self.high * rising + self.low * falling

    def find_free(self, a: FloatArray) -> NDArray[np.bool_]:
        """Return whether a is neither 0 nor at its bound: (n,)."""
        inside: NDArray[np.bool_] = (a > self.low) & (a < self.high) & (a != 0.0)
        return inside

    def compute_slack_product(self, a: FloatArray) -> FloatArray:
        """Compute the product of the distances of a to the ends of its interval, which ends at a kink: (n,)."""
        if self.is_one_sided or is_zero(self.tube):
            low, high = self.low, self.high
        else:
            low = np.where(a > 0.0, 0.0, self.low)
            high = np.where(a > 0.0, self.high, 0.0)
        down, up = a - low, high - a
        if self.has_infinite_bound:
            down, up = np.where(np.isinf(down), np.abs(a), down), np.where(np.isinf(up), np.abs(a), up)
        return np.maximum(down, 0.0) * np.maximum(up, 0.0)


class MultiplierResponse:
    """(LOSSES.4): the multipliers as a function of t, for one σ.

    slope: d, the slope of the multiplier of a free row in r: (n,), or one number if δ is.
    threshold: dε, (n,) or one number; None if ε = 0.
    """

    def __init__(self, losses: RowLosses, sigma: float) -> None:
        self._lower, self._upper = losses.low, losses.high
        self._is_piecewise_linear = losses.is_piecewise_linear
        self.sigma = sigma
        self.slope: PerRow = sigma if losses.is_piecewise_linear else 1.0 / (1.0 / sigma + losses.curvature)
        self.threshold: PerRow | None = None if is_zero(losses.tube) else self.slope * losses.tube

    def compute_arguments(self, a: FloatArray, r: FloatArray) -> FloatArray:
        """Return t for the multiplier estimate a and the residuals r: (n,)."""
        if self._is_piecewise_linear:
            return a + self.sigma * r
        return self.slope * (a / self.sigma + r)

    def compute_alpha(self, t: FloatArray) -> FloatArray:
        """Return the multipliers: (n,)."""
        return np.clip(t if self.threshold is None else soft_threshold(t, self.threshold), self._lower, self._upper)

    def find_free(self, t: FloatArray) -> NDArray[np.bool_]:
        """Return the mask of the free rows, whose multipliers change with t: (n,)."""
        if self.threshold is None:
            return (t >= self._lower) & (t <= self._upper)
        v = soft_threshold(t, self.threshold)
        return (v >= self._lower) & (v <= self._upper) & (np.abs(t) >= self.threshold)


@dataclass(frozen=True, eq=False)
class RowProblem:
    """The problem (ALM.1).

    rows: Z, (n, d + 1).
    losses: The loss of each row.
    ridge (d + 1,): The diagonal of R.
    offset (d + 1,): h. To require yᵀα = s ≠ 0, set h_b = −s.
    constant: κ.
    """

    rows: LabelScaledRows
    losses: RowLosses
    ridge: FloatArray
    offset: FloatArray
    constant: float = 0.0

    @classmethod
    def from_rows(cls, rows: LabelScaledRows, losses: RowLosses, is_free: bool) -> RowProblem:
        """Build the problem of all rows, with h = 0; `is_free` means that the intercept is not penalised."""
        ridge = np.ones(rows.d + 1)
        ridge[-1] = float(not is_free)
        return cls(rows, losses, ridge, np.zeros(rows.d + 1))

    @property
    def has_free_intercept(self) -> bool:
        """Whether the intercept is not penalised, so that the sum yᵀα is fixed."""
        return bool(self.ridge[-1] == 0.0)

    def measure_gap(
        self, b: float, q: FloatArray, q_hat: FloatArray, complementarity: float
    ) -> tuple[float, float, float]:
        """Return A and B of (ALM.5), and ½‖q̂‖² of the dual value.

        complementarity: B, up to rounding.

        Shapes: q, q_hat (d + 1,).
        """
        imbalance = 0.0
        if self.ridge[-1] == 0.0:  # a free intercept
            imbalance = (self.losses.residual_scale + abs(b)) * abs(float(q[-1]))
            q, q_hat = q[:-1], q_hat[:-1]
        return (
            0.5 * float(q @ q) + imbalance,
            max(complementarity, 0.0),
            0.5 * float(q_hat @ q_hat),
        )

    def is_zero_optimal(self, alpha: FloatArray, gradient: FloatArray | None = None) -> bool:
        """Return whether w = 0 is optimal, because q̂ of this α (n,) is 0 up to rounding.

        That is possible if all levels are 0 and yᵀα ≠ 0 is required. Then the optimal value is 0, and no gap is small
        relative to it. `gradient` is Zᵀα, (d + 1,); None to compute it.
        """
        if not self.offset[-1] or not (self.losses.is_hinge and is_zero(self.losses.level)):
            return False
        q_hat = self.offset + (self.rows.gradient(alpha) if gradient is None else gradient)
        typical_rounding = UNIT * math.sqrt(self.rows.n) * float(np.abs(alpha).sum())  # of a sum of n terms
        return bool((np.abs(q_hat) <= typical_rounding * self._column_scales).all())

    @cached
    def _column_scales(self) -> FloatArray:
        """Root mean squares of the columns of Z: (d + 1,)."""
        return np.sqrt(self.rows.compute_column_squares() / self.rows.n)

    def compute_dual(self, value: float, half_square: float) -> float:
        """Return D, from ℓᵀα − Σφ*(α) as `value`, and ½‖q̂‖² as `half_square`."""
        return value + self.constant - half_square


@dataclass(frozen=True, eq=False)
class LinearStart:
    """Start of the linear solver: W (d + 1,), a (n,) or None for 0, σ, and r = ℓ − ZW (n,) or None."""

    W: FloatArray
    multiplier: FloatArray | None
    sigma: float
    residuals: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """A pair of W (d + 1,) and α (n,), r = ℓ − ZW (n,), the values D and P − D, and the last σ.

    D and P − D are over all rows.
    """

    W: FloatArray
    alpha: FloatArray
    residuals: FloatArray
    dual: float
    gap: float
    sigma: float

    @property
    def relative_gap(self) -> float:
        """(P − D)/max(|P|, |D|); infinite in place of NaN."""
        return compute_relative_gap(self.gap, self.dual + self.gap, self.dual)


def certify_pair(problem: RowProblem, pair: LinearPoint, gradient: FloatArray | None = None) -> LinearPoint:
    """Return the pair with α made feasible for (ALM.1), and its gap (ALM.5).

    `gradient` is Zᵀα, (d + 1,), for the α of the pair; None to compute it.
    """
    W, alpha = pair.W, pair.alpha
    if problem.has_free_intercept:
        alpha = balance_alpha(alpha, problem.rows.y, problem.losses, float(problem.offset[-1]))
    if gradient is None:
        gradient = problem.rows.gradient(alpha)
    elif len(changed := np.flatnonzero(alpha != pair.alpha)):
        gradient = gradient + problem.rows.gradient(alpha[changed] - pair.alpha[changed], changed)
    mismatch = problem.losses.compute_gap(alpha, pair.residuals)
    value = problem.losses.compute_dual_value(alpha)
    q_hat = gradient + problem.offset
    residual, complementarity, half_square = problem.measure_gap(
        float(W[-1]), problem.ridge * W - q_hat, q_hat, mismatch
    )
    dual = problem.compute_dual(value, half_square)
    return LinearPoint(W, alpha, pair.residuals, dual, residual + complementarity, pair.sigma)


def certify_separated(problem: RowProblem, pair: LinearPoint, gradient: FloatArray | None = None) -> LinearPoint:
    """Certify the pair; if all rows nearly reach their margin, also try W stretched by (ALM.7)."""
    certified = certify_pair(problem, pair, gradient)
    if not problem.losses.is_standard_hinge or problem.offset[-1]:
        return certified
    depth = float(pair.residuals.max(initial=-np.inf))
    if not certified.gap > 0.0 or not 0.0 < depth < SETTINGS.max_stretched_violation:
        return certified
    growth = (1.0 + SETTINGS.stretched_excess) / (1.0 - depth)
    residuals = 1.0 - growth * (1.0 - pair.residuals)
    stretched = certify_pair(problem, replace(pair, W=growth * pair.W, residuals=residuals), gradient)
    return stretched if stretched.gap < certified.gap else certified


def balance_alpha(alpha: FloatArray, y: FloatArray, losses: RowLosses, fixed_sum: float = 0.0) -> FloatArray:
    """Restore yᵀα + fixed_sum = 0, as far as possible, by changing free α. Shapes: alpha, y (n,).

    They change in proportion to `compute_slack_product`. This hardly increases (ALM.5), because rows with free α are at
    a kink, or where their loss is curved.
    """
    alpha = alpha.copy()
    free = np.flatnonzero((alpha > losses.low) & (alpha < losses.high))
    members = losses.restrict_rows(free)
    for _ in range(CORRECTIONS):
        slack_product = members.compute_slack_product(alpha[free])
        total = float(slack_product.sum())
        surplus = float(y @ alpha)
        if not 0.0 < total < np.inf:
            break
        surplus += fixed_sum
        alpha[free] = members.clip_to_box(alpha[free] - (surplus / total) * (y[free] * slack_product))
    return alpha
