"""Candidates for the primal point: the w of the dual point, and the one that a solver returned.

Of a kernel that is not linear a solver may return coefficients: w = Σ_j c_j φ(x_j) over few samples (`spanned`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.rounding import UNIT, gamma
from qpsvm.arrays.types import FloatArray
from qpsvm.dual.accuracy import Accuracy
from qpsvm.dual.spanned import Span, span_of
from qpsvm.kernels.space import FeatureSpace

#: Kernel values between all samples and the support vectors up to which w(α) is a candidate beside a w over few
#: samples: half a minute. Of more, that w stands alone.
AFFORDABLE_VALUES = 4e9
#: The same up to which ‖w − w(α)‖ of one wanted w is evaluated besides being bounded: a second.
DIRECT_VALUES = 2e8


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """A primal candidate: decision values without intercept, u (n,), w, ½‖w‖², and w − w(α), None where that is 0.

    `radius` (n,) says how far u may be off where that differs from row to row.

    Of w = Σ_j c_j φ(x_j) with coefficients of its own, there are these, `coef` (n,), ‖w − w(α)‖ as measured, and by how
    much that may be more.
    """

    u: FloatArray
    w: FloatArray | None
    half_norm: float
    offset: FloatArray | None = None
    radius: FloatArray | None = None
    coef: FloatArray | None = None
    apart: float = 0.0
    apart_radius: float | None = None

    def half_distance(self, growth: float = 0.0) -> float:
        """½‖(1 + growth)w − w(α)‖², or a bound of it."""
        if self.coef is not None:
            return 0.5 * (self.apart + growth * math.sqrt(2.0 * self.half_norm)) ** 2
        if self.offset is None or self.w is None:
            return growth * growth * self.half_norm
        difference = self.offset + growth * self.w
        return 0.5 * float(difference @ difference)


def primal_points(
    space: FeatureSpace, beta: FloatArray, w: FloatArray | None, wanted: bool = False
) -> tuple[float, Iterator[PrimalPoint]]:
    """½‖w(α)‖² with β = α∘y, and the primal candidates: the w of a solver that returned one first, then w(α).

    `w` is a weight vector over `space.rows`, or coefficients (n,) where the kernel is not linear. With the latter,
    ½‖w(α)‖² is bounded from above where all kernel values between support vectors would cost more. Where it is this w
    that is `wanted`, it is a candidate in any case.
    """
    if not space.is_linear:
        span = None if w is None else span_of(space, beta, w, wanted)
        if span is None or w is None:
            point = _kernel_point(space, space.coefficients(beta))
            return point.half_norm, iter([point])
        if wanted and float(space.n) * np.count_nonzero(beta) <= DIRECT_VALUES:
            return _point_beside(space, beta, w, span)
        return _spanned_points(space, beta, w, span)
    own = space.weights(beta)  # (DUAL.5), (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4)
    half_norm = 0.5 * float(own @ own)

    def candidates() -> Iterator[PrimalPoint]:
        if w is not None:
            near = space.representable(w)
            yield PrimalPoint(space.rows.margins(near), near, 0.5 * float(near @ near), near - own)
        near = space.representable(own)
        if near is own:
            yield PrimalPoint(space.rows.margins(own), own, half_norm)
        else:
            yield PrimalPoint(space.rows.margins(near), near, 0.5 * float(near @ near), near - own)

    return half_norm, candidates()


def _kernel_point(space: FeatureSpace, coef: FloatArray) -> PrimalPoint:
    """w = Σ_j c_j φ(x_j) for c (n,), as w(α) where c = β, or what is left of β in a positive part."""
    u = space.centred @ coef  # (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4): ⟨w, φ(x_i)⟩ = Σ_j β_j K(x_j, x_i)
    return PrimalPoint(u, None, max(0.5 * float(coef @ u), 0.0))  # what is below 0 is rounding


def _point_beside(
    space: FeatureSpace, beta: FloatArray, coef: FloatArray, span: Span
) -> tuple[float, Iterator[PrimalPoint]]:
    """As `primal_points`, for these coefficients (n,) alone: ‖w − w(α)‖ by (SPAN.2), or from all products if less.

    (SPAN.6)  ‖w − w(α)‖² = cᵀKc − 2βᵀKc + βᵀKβ:  what a factor leaves of different samples is not all of one sign
    """
    own, point = _kernel_point(space, beta), _kernel_point(space, coef)
    apart, radius = span.distance(coef[span.pivots])
    accuracy, rows = Accuracy(space), np.arange(space.n)
    sizes = accuracy.sizes(rows)
    size = float((np.abs(coef) + np.abs(beta)) @ sizes) * (1.0 + gamma(space.n + 4))
    square = max(float(coef @ point.u) - 2.0 * float(beta @ point.u) + float(beta @ own.u), 0.0)
    most = math.sqrt(square + (accuracy.epsilon + gamma(2 * space.n + 16)) * size * size) * (1.0 + 4.0 * UNIT)
    if most < apart + radius:
        apart, radius = math.sqrt(square), (most - math.sqrt(square)) * (1.0 + 4.0 * UNIT)
    return own.half_norm, iter(
        [PrimalPoint(point.u, None, point.half_norm, coef=coef, apart=apart, apart_radius=radius)]
    )


def _spanned_points(
    space: FeatureSpace, beta: FloatArray, coef: FloatArray, span: Span
) -> tuple[float, Iterator[PrimalPoint]]:
    """As `primal_points`, for coefficients (n,): these, those nearest to w(α) over the same samples, and w(α)."""

    def spanned(own: FloatArray) -> PrimalPoint:
        apart, radius = span.distance(own)
        spread = np.zeros(space.n)
        spread[span.pivots] = own
        point = _kernel_point(space, spread)
        return PrimalPoint(point.u, None, point.half_norm, coef=spread, apart=apart, apart_radius=radius)

    first = spanned(coef[span.pivots])

    def candidates() -> Iterator[PrimalPoint]:
        yield first
        yield spanned(span.nearest)
        if float(space.n) * np.count_nonzero(beta) <= AFFORDABLE_VALUES:
            yield _kernel_point(space, beta)

    most = math.sqrt(2.0 * first.half_norm) + first.apart + (first.apart_radius or 0.0)
    return 0.5 * most * most, candidates()
