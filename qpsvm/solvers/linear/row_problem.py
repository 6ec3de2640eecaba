"""Define the problem, losses and points of the linear solver (`RowProblem`, `RowLosses`, `LinearPoint`).

    (LOSSES.4)  the augmented Lagrangian asks for the a that maximises ar − φ*(a) − (a − a₀)²/2σ:
                a = clip(S_{dε}(t), lo, hi),  t = d(a₀/σ + r),  d = 1/(1/σ + δ)

A hinge has lo = ε = 0. In a regression row i is x_i itself, a_i = α⁺_i − α⁻_i, and one row does for the two of the
dual: both see the same residual. Its levels t − ε and −t − ε are t and ε here.

The problem (ALM.1) that the linear solvers pass around, a pair of primal and dual points, and its gap (ALM.5).

The multipliers that the augmented Lagrangian asks for, (LOSSES.4), at one σ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.losses import Loss, PerRow, is_zero, soft_threshold
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows
from qpsvm.solvers.linear.settings import SETTINGS

#: A loss that bends over the scale is smooth; σ then begins at so many 1/δ. Measured: where samples overlap, a larger σ
#: saves one step of ten; where a squared hinge of large C separates them, it ends nowhere.
SMOOTH = 100.0
#: The largest bound that σ is made of.
LARGEST = 1e100
#: Rows from which a typical size of the levels is estimated.
SAMPLE = 20_000
#: Corrections of yᵀα: the second removes the rounding of the first, or what the box cut off.
BALANCINGS = 2


def mean(values: PerRow) -> float:
    """Return the mean over the rows."""
    return values if isinstance(values, float) else float(values.mean())


@dataclass(frozen=True, eq=False)
class RowLosses(Loss):
    """A loss of every row, as the linear solver needs it.

    unit: What residuals are measured in, where the levels do not say.
    """

    unit: float | None = None

    @cached
    def has_infinite_bound(self) -> bool:
        """Whether some bound is infinite, so that far rows never come to rest at one."""
        return not (np.isfinite(self.high).all() and np.isfinite(self.low).all())

    @cached
    def median_level(self) -> float:
        """The median of the levels, or near it."""
        return self.level if isinstance(self.level, float) else float(np.median(self._sampled_levels))

    @cached
    def residual_scale(self) -> float:
        """Unit of the residuals: a typical distance of the levels from their median, or from 0 for hinges."""
        if self.unit is not None:
            return self.unit
        if isinstance(self.level, float):
            size = abs(self.level) if self.is_one_sided else 0.0
        elif not len(self._sampled_levels):
            size = 0.0
        else:
            sizes = np.abs(self._sampled_levels - (0.0 if self.is_one_sided else self.median_level))
            size = float(np.median(sizes)) or float(np.mean(sizes))
        return size or mean(self.tube) or 1.0

    @cached
    def _sampled_levels(self) -> FloatArray:
        """Enough of the levels to know where they are: (k,)."""
        level = np.asarray(self.level)
        return level[:: max(1, len(level) // SAMPLE)]

    @cached
    def jump(self) -> float:
        """The mean of the finite bounds, hi or −lo: how far α goes where a row passes a kink. Infinite without any."""
        size = mean(self.high) if self.is_one_sided else 0.5 * (mean(self.high) - mean(self.low))
        return size if np.isfinite(size) else np.inf

    @cached
    def mean_curvature(self) -> float:
        """The mean of δ."""
        return mean(self.curvature)

    @cached
    def is_smooth(self) -> bool:
        """Whether they are smooth on the scale of the residuals: δ times the bound is no small share of it."""
        bend = self.mean_curvature
        return bend > 0.0 and (self.has_infinite_bound or bend * self.jump >= self.residual_scale)

    @cached
    def first_sigma(self) -> float:
        """Initial σ: one step takes α from 0 to its bound if a row is `residual_scale` beyond its kink.

        Where the losses are `is_smooth`, a σ that leaves them as they are.
        """
        if self.is_smooth:
            return SMOOTH / self.mean_curvature
        return min(self.jump, LARGEST) / self.residual_scale

    @property
    def warm_sigma(self) -> float:
        """Initial σ if α is nearly the multiplier."""
        return self.first_sigma if self.is_smooth else SETTINGS.warm_sigma * self.first_sigma

    def find_changed(self, a: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Return the mask of the entries of a that (LOSSES.2) changes at the residuals r: (n,)."""
        moved: NDArray[np.bool_] = (r > 0.0) != (a > 0.0) if self.is_hinge else self.compute_optimal_dual(r) != a
        return moved

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

    def compute_room(self, a: FloatArray) -> FloatArray:
        """Compute how far a may move at a second-order cost, up to a factor: 0 at a kink. (n,)."""
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
    """(LOSSES.4): how the multipliers answer to t at one σ.

    steepness (n,): d, the slope of a free row: one number where δ is.
    threshold (n,): dε; None where ε = 0.
    """

    def __init__(self, losses: RowLosses, sigma: float) -> None:
        self._lower, self._upper = losses.low, losses.high
        self._flat, self.sigma = losses.is_piecewise_linear, sigma
        self.steepness: PerRow = sigma if losses.is_piecewise_linear else 1.0 / (1.0 / sigma + losses.curvature)
        self.threshold: PerRow | None = None if is_zero(losses.tube) else self.steepness * losses.tube

    def compute_arguments(self, a: FloatArray, r: FloatArray) -> FloatArray:
        """T for the multiplier estimate a and the residuals r: (n,)."""
        return a + self.sigma * r if self._flat else self.steepness * (a / self.sigma + r)

    def alpha(self, t: FloatArray) -> FloatArray:
        """Return the multipliers: (n,)."""
        return np.clip(t if self.threshold is None else soft_threshold(t, self.threshold), self._lower, self._upper)

    def find_free(self, t: FloatArray) -> NDArray[np.bool_]:
        """Return whether a row is free: its multiplier moves with t. (n,)."""
        if self.threshold is None:
            return (t >= self._lower) & (t <= self._upper)
        v = soft_threshold(t, self.threshold)
        return (v >= self._lower) & (v <= self._upper) & (np.abs(t) >= self.threshold)


@dataclass(frozen=True, eq=False)
class RowProblem:
    """(ALM.1).

    rows: Z, (n, d + 1).
    losses: What each row costs.
    ridge (d + 1,): The diagonal of R.
    offset (d + 1,): h. Where the multipliers are to have a sum other than 0, h_b is minus that.
    constant: κ.
    """

    rows: LabelScaledRows
    losses: RowLosses
    ridge: FloatArray
    offset: FloatArray
    constant: float = 0.0

    @property
    def free_intercept(self) -> bool:
        """Whether yᵀα is to be 0."""
        return bool(self.ridge[-1] == 0.0)

    def measure_gap(
        self, b: float, q: FloatArray, reduced_gradient: FloatArray, mismatch: float
    ) -> tuple[float, float, float]:
        """Return A and B of (ALM.5), and ½‖q̂‖².

        Shapes: q, pull (d + 1,).
        """
        imbalance = 0.0
        if self.ridge[-1] == 0.0:  # a free intercept
            imbalance = (self.losses.residual_scale + abs(b)) * abs(float(q[-1]))
            q, reduced_gradient = q[:-1], reduced_gradient[:-1]
        return 0.5 * float(q @ q) + imbalance, max(mismatch, 0.0), 0.5 * float(reduced_gradient @ reduced_gradient)

    def dual(self, worth: float, half: float) -> float:
        """D for what α contributes to it, ℓᵀα − Σφ*(α), and ½‖q̂‖²."""
        return worth + self.constant - half


@dataclass(frozen=True, eq=False)
class LinearStart:
    """Start of the linear solver: W (d + 1,), a (n,) or None for 0, σ, and r = ℓ − ZW (n,) if it is known."""

    W: FloatArray
    multiplier: FloatArray | None
    sigma: float
    slack: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """A pair of W (d + 1,) and α (n,), r = ℓ − ZW (n,), the values D and P − D, and the σ that belongs to them.

    D and P − D are over all rows.
    """

    W: FloatArray
    alpha: FloatArray
    slack: FloatArray
    dual: float
    gap: float
    sigma: float

    @property
    def relative_gap(self) -> float:
        """(P − D)/max(|P|, |D|), and infinite where it is not a number."""
        return compute_relative_gap(self.gap, self.dual + self.gap, self.dual)


def certify_pair(problem: RowProblem, pair: LinearPoint, gradient: FloatArray | None = None) -> LinearPoint:
    """Return a pair with α made feasible for (ALM.1), and the gap (ALM.5) that it then has.

    `gradient` is Zᵀα, (d + 1,), of the pair's α, where that is known.
    """
    W, alpha = pair.W, pair.alpha
    if problem.free_intercept:
        alpha = balance_alpha(alpha, problem.rows.y, problem.losses, float(problem.offset[-1]))
    if gradient is None:
        gradient = problem.rows.gradient(alpha)
    elif len(moved := np.flatnonzero(alpha != pair.alpha)):
        gradient = gradient + problem.rows.gradient(alpha[moved] - pair.alpha[moved], moved)
    mismatch, worth = problem.losses.compute_gap(alpha, pair.slack), problem.losses.compute_dual_value(alpha)
    reduced_gradient = gradient + problem.offset
    residual, complementarity, half = problem.measure_gap(
        float(W[-1]), problem.ridge * W - reduced_gradient, reduced_gradient, mismatch
    )
    return LinearPoint(W, alpha, pair.slack, problem.dual(worth, half), residual + complementarity, pair.sigma)


def certify_separated(problem: RowProblem, pair: LinearPoint, gradient: FloatArray | None = None) -> LinearPoint:
    """Certify the pair, or, if all rows nearly reach their margin, the pair with W stretched by (ALM.7)."""
    found = certify_pair(problem, pair, gradient)
    if not problem.losses.is_standard_hinge or problem.offset[-1]:
        return found
    depth = float(pair.slack.max(initial=-np.inf))
    if not found.gap > 0.0 or not 0.0 < depth < SETTINGS.nearly_separated:
        return found
    growth = (1.0 + SETTINGS.separation) / (1.0 - depth)
    slack = 1.0 - growth * (1.0 - pair.slack)
    stretched = certify_pair(problem, replace(pair, W=growth * pair.W, slack=slack), gradient)
    return stretched if stretched.gap < found.gap else found


def balance_alpha(alpha: FloatArray, y: FloatArray, losses: RowLosses, rest: float = 0.0) -> FloatArray:
    """Restore yᵀα + rest = 0 with the free α alone, each moved by its room; as far as they reach. All (n,).

    It costs next to nothing in (ALM.5), because the rows of free α lie on a kink, or where their loss bends.
    """
    alpha = alpha.copy()
    free = np.flatnonzero((alpha > losses.low) & (alpha < losses.high))
    members = losses.restrict_rows(free)
    for _ in range(BALANCINGS):
        room = members.compute_room(alpha[free])
        total, surplus = float(room.sum()), float(y @ alpha)
        if not 0.0 < total < np.inf:
            break
        surplus += rest
        alpha[free] = members.clip_to_box(alpha[free] - (surplus / total) * (y[free] * room))
    return alpha
