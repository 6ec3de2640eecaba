"""Enclose every exact optimum, given one certified point (`near_optimum`).

g ≥ P(w, μ) − D(α) is proven of a feasible pair. P is strongly convex in w and in the penalised multipliers, with the
modulus 1 and R_g, and −D in w(α) and in theirs. So with ‖(w, μ)‖² = ‖w‖² + ΣR_g μ_g² and a = ‖(w, μ) − (w, μ)(α)‖

    (OPTIMA.1)  ½‖(w, μ) − (w*, μ*)‖² + ½‖(w, μ)(α) − (w*, μ*)‖² ≤ g:  both are within  R = √(g − a²/4) + a/2  of the
              optimum, which is one point;  R is largest, √(2g), at a = √(2g)

A free multiplier θ is no part of that. For the w* of the optimum it minimises (LEVEL.1), and (LEVEL.2) falls as any θ_k
rises, which the ball says between what ends it is. Let Δ = θ* − θ, t_k the violations at the point, ρ_k = ‖φ_k − o‖ and
c_k the entry of row k:

    (OPTIMA.2)  t*_k = t_k − s_k⟨w* − w, φ_k − o⟩ − c_kΔ, and Δ lies between the least minimiser where each t_k/c_k is
              as small as t_k ± Rρ_k can make it, and the largest where each is as large
    (OPTIMA.3)  f*(x) ∈ f(x) ± R‖φ(x) − o‖ + [Δ of the intercept]

o is any point of the feature space: with a free intercept it moves b and nothing else. The mean of the samples makes ρ
small. Two free multipliers are those of two classes of rows, (DUAL.2). Where several free ones share rows, the interval
is the whole line, and nothing is claimed.

Rounding: g, a and the ends of t_k are those of a proof, (BOUND.1) to (BOUND.4); sums are padded by γ, and each end of Δ
is a float at which the sign of every subgradient is certain.

Sources: Ndiaye, Fercoq, Gramfort & Salmon, *Gap safe screening rules for sparsity enforcing penalties*, JMLR 18 (2017);
Shibagaki et al., *Simultaneous safe screening of features and samples*, ICML 2016. That both points are near is what
makes (OPTIMA.1) √2 narrower than one of them alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import RationalVector, enclose_fraction, round_up
from qpsvm.base.arrays.rounding import FEW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.near_points import NearFunction, Places
from qpsvm.bounds.proof import terms
from qpsvm.bounds.proof.claims import ProofRequest
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup
from qpsvm.bounds.proof.prove import in_floats

#: An end of an interval is found to this share of its distance from the point, in at most this many halvings.
SHARE, HALVINGS = 1e-3, 60

Interval = tuple[float, float]
#: The interval of what is not bounded.
LINE: Interval = (-math.inf, math.inf)


class MultiplierPart(NamedTuple):
    """Rows (m,) that share a free multiplier, its entries c (m,) in them, and its total."""

    rows: NDArray[np.bool_]
    column: FloatArray
    total: Fraction


@dataclass(frozen=True, eq=False)
class NearOptimum:
    """(OPTIMA.1) to (OPTIMA.3) of one point, in units of (DUAL.1).

    radius: R; infinite where nothing is proven of the point.
    t: Violations from below and from above, (m,) each.
    """

    asked: ProofRequest
    places: Places
    radius: float
    t: tuple[FloatArray, FloatArray]

    @property
    def program(self) -> ExactDual:
        """The machine."""
        return self.asked.program

    @cached
    def row_radii(self) -> FloatArray:
        """Bounds of |t*_k − t_k| by the ball alone, Rρ_k with the penalised multipliers as coordinates: (m,)."""
        program = self.program
        sizes = self.places.of_rows(program)
        squares = sizes * sizes
        for group in program.groups:
            if group.ridge:
                squares = squares + np.square(group.column) * (float(1 / group.ridge) * FEW)
        return _times(self.radius, np.sqrt(squares) * FEW)

    @cached
    def shifts(self) -> tuple[list[MultiplierPart], list[Interval]]:
        """The parts, and Δ of each: (OPTIMA.2)."""
        parts = free_parts(self.program)
        if parts is None:
            return [], []
        low, high = self.t[0] - self.row_radii, self.t[1] + self.row_radii
        found = []
        for part in parts:
            curvature, upper = ([end[part.rows] for end in ends.bounds] for ends in self._limits)
            t, c = (low[part.rows], high[part.rows]), part.column[part.rows]
            ends = Minimiser(t, c, upper, curvature, part.total), Minimiser(t, -c, upper, curvature, -part.total)
            found.append((ends[0].bound_below(self._first_step), -ends[1].bound_below(self._first_step)))
        return parts, found

    @property
    def _limits(self) -> tuple[RationalVector, RationalVector]:
        return self.program.curvature, self.program.upper

    @property
    def _first_step(self) -> float:
        """First step of the search for an end: about as far as the ball moves a row."""
        radii = self.row_radii
        size = float(np.median(radii)) if len(radii) else 0.0
        return size if 0.0 < size < math.inf else UNIT

    @cached
    def intercept(self) -> Interval:
        """Δ of the intercept of f, over samples seen from o; (0, 0) where it is absent, or a coordinate of the ball."""
        place = _place_of_intercept(self.program)
        if place is None:
            return 0.0, 0.0
        parts, found = self.shifts
        if len(found) == 1:
            return found[0]
        if not found:
            return LINE
        inverse = _invert_mixing(self.program, parts)[place]
        low = sum(min(m * end for end in ends) for m, ends in zip(inverse, found, strict=True))
        high = sum(max(m * end for end in ends) for m, ends in zip(inverse, found, strict=True))
        return _outwards(low, high) if not math.isnan(float(low) + float(high)) else LINE

    @property
    def in_ball(self) -> float:
        """Contribution of a penalised intercept to ‖φ(x)‖²: 1/R."""
        groups = [group for group in self.program.groups if group.ridge and _is_intercept(group)]
        return max((float(1 / group.ridge) * FEW for group in groups), default=0.0)

    def function(self, size: float) -> NearFunction:
        """Return (OPTIMA.3), for `size` times the f of the machine."""
        return NearFunction(self.radius, self.intercept, self.in_ball, size, self.places.origin)


def _outwards(low: float, high: float) -> Interval:
    slack = 16.0 * UNIT * (abs(low) + abs(high)) + UNDERFLOW
    return low - slack, high + slack


def _times(radius: float, sizes: FloatArray) -> FloatArray:
    """R times sizes from above; 0 times ∞ is ∞."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = radius * sizes * FEW + UNDERFLOW
    return np.where(np.isnan(found), math.inf, found)


def near_optimum(asked: ProofRequest, places: Places, enough: float) -> NearOptimum:
    """(OPTIMA.1): the ball of the numbers in a user's hands.

    enough: A relative gap that needs no evaluation with more digits.
    """
    program, held = asked.program, asked.held
    nowhere = NearOptimum(asked, places, math.inf, (np.full(program.m, -math.inf), np.full(program.m, math.inf)))
    given = [part for part in (asked.alpha, held.w, held.coef) if part is not None]
    if not all(np.isfinite(part).all() for part in given):
        return nowhere
    if any(group.multiplier not in held.multipliers for group in program.groups):
        return nowhere
    point = asked.repair(program, asked.alpha)
    if point is None:
        return nowhere
    with np.errstate(all="ignore"):
        found, measured = in_floats(program, asked.space, held, point, enough)
        ends = terms.violations(program, held, measured.values).ends
    g = found.difference[1]
    ridge = terms.group_parts(program, held, point)[2]
    apart = math.hypot(measured.apart, math.sqrt(2.0 * enclose_fraction(ridge)[1])) * FEW
    return NearOptimum(asked, places, ball_radius(g, apart), ends)


def ball_radius(g: float, apart: float) -> float:
    """R of (OPTIMA.1), from above: `apart` is a from above, and R grows with a up to √(2g)."""
    if not g < math.inf:
        return math.inf
    far = min(apart * apart, 2.0 * g * FEW)
    root = math.sqrt(max(g * FEW - 0.25 * far, 0.0)) + 0.5 * math.sqrt(far)
    return min(root, math.sqrt(2.0 * g)) * FEW + (UNDERFLOW if g > 0.0 else 0.0)


def _is_intercept(group: ExactGroup) -> bool:
    """Whether a multiplier is in f: of several classes each has its own."""
    return group.multiplier == "b" or group.multiplier.startswith("b_")


def _free(program: ExactDual) -> list[ExactGroup]:
    return [group for group in program.groups if not group.ridge]


def _place_of_intercept(program: ExactDual) -> int | None:
    """Return the index of the intercept among the free groups, or None."""
    return next((k for k, group in enumerate(_free(program)) if _is_intercept(group)), None)


def free_parts(program: ExactDual) -> list[MultiplierPart] | None:
    """The rows that each free multiplier belongs to, (DUAL.2); None where several share rows."""
    groups = _free(program)
    if not groups:
        return []
    if program.classes > 1 or any(group.entries for group in groups):
        return None
    if len(groups) == 1:
        column = np.array(groups[0].column)
        return [MultiplierPart(np.ones(program.m, dtype=bool), column, groups[0].total)]
    if len(groups) != 2:
        return None
    E = np.column_stack([group.column for group in groups])
    first = E[0]
    same = (first == E).all(axis=1)
    if same.all() or not (E[~same] == E[~same][0]).all() or not np.isin(E, (-1.0, 1.0)).all():
        return None
    ones = np.ones(program.m)
    totals = [group.total for group in groups]
    rows = [first, E[~same][0]]  # M of θ = Mμ; Mᵀτ = the totals, and entries ±1 make det = ±2
    det = Fraction(int(rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]))
    if not det:
        return None
    (a, b), (c, d) = ([Fraction(int(entry)) for entry in row] for row in rows)
    tau = [(d * totals[0] - c * totals[1]) / det, (a * totals[1] - b * totals[0]) / det]
    return [MultiplierPart(same, ones, tau[0]), MultiplierPart(~same, ones, tau[1])]


def _invert_mixing(program: ExactDual, parts: list[MultiplierPart]) -> FloatArray:
    """Return M⁻¹ of μ = M⁻¹θ, entries ±½: (2, 2)."""
    E = np.column_stack([group.column for group in _free(program)])
    M = np.array([E[int(np.argmax(part.rows))] for part in parts])
    det = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    return np.asarray(np.array([[M[1, 1], -M[0, 1]], [-M[1, 0], M[0, 0]]]) / det)


class Minimiser:
    """The least Δ that may minimise (LEVEL.1), where what t, U and δ are is known between ends.

    t, upper, curvature: From below and from above, (r,) each.
    column (r,), total: c and e.
    """

    def __init__(
        self, t: tuple[FloatArray, FloatArray], column: FloatArray, upper: list[FloatArray],
        curvature: list[FloatArray], total: Fraction,
    ) -> None:  # fmt: skip
        up, down = column > 0.0, column < 0.0
        # a rising end: as little of each α as there may be; a falling one: as much
        self.rising = column[up], t[0][up], upper[0][up], curvature[1][up]
        self.falling = -column[down], t[1][down], upper[1][down], curvature[0][down]
        self.total = round_up(total) if total else 0.0
        self.lost = gamma(len(column) + 16)
        self.known = np.isfinite(t[0]).all() and np.isfinite(t[1]).all()

    def slope(self, shift: float) -> float:
        """h′ of (LEVEL.2) at Δ from above: of every subgradient, whatever is between the ends."""
        gained = lost = 0.0
        with np.errstate(all="ignore"):
            c, t, upper, bend = self.rising
            moved = c * shift
            short = t - moved - 4.0 * UNIT * (np.abs(t) + np.abs(moved))
            least = np.minimum(np.where(short > 0.0, short / bend / FEW, 0.0), upper)
            gained = float((c * least).sum())
            c, t, upper, bend = self.falling
            moved = c * shift
            short = t + moved + 4.0 * UNIT * (np.abs(t) + np.abs(moved)) + UNDERFLOW
            most = np.where(short >= 0.0, np.where(bend > 0.0, np.minimum(short / bend * FEW, upper), upper), 0.0)
            lost = float((c * most).sum())
        spread = self.lost * (abs(self.total) + abs(lost) + (gained if math.isfinite(gained) else 0.0))
        found = self.total + lost - gained + spread
        return math.inf if math.isnan(found) else found

    def bound_below(self, step: float) -> float:
        """Return the largest float easily found below every minimiser; −∞ if every float is too high."""
        if not self.known:
            return -math.inf
        low, high = 0.0, None
        if not self.slope(0.0) < 0.0:
            high, low = 0.0, -step
            while not self.slope(low) < 0.0:
                high, low = low, 4.0 * low
                if math.isinf(low):
                    return -math.inf
        else:
            high = step
            while self.slope(high) < 0.0:
                low, high = high, 4.0 * high
                if math.isinf(high):
                    return low
        for _ in range(HALVINGS):
            if high - low <= SHARE * max(abs(low), abs(high)):
                break
            middle = low + (high - low) / 2.0
            if middle in (low, high):
                break
            if self.slope(middle) < 0.0:
                low = middle
            else:
                high = middle
        return low
