"""Bound the gaps of many C-SVMs, ν-SVMs or squared hinges at once, rounding included.

    (BULK.1)  |û_i − u_i| ≤ κρ_i,  κ as in (ACC.2);  t_i = m − y_i(u_i + b) is then known to a radius r_i, m being the
              margin, 1 or that of a ν-SVM
    (BULK.2)  P − D(α′) ≤ ½(‖w − w(α)‖ + Sρ)² + Σ max(g_i(t_i − r_i), g_i(t_i + r_i)) + S(|t_k − δα_k| + r_k + δS)
              with S ≥ |yᵀα|:  α′ is α with what yᵀα lacks of 0 moved onto row k, which has room for it: a step s of
              α_k moves w(α) by s ρ_k, and adds at most s |t_k| to the terms
    (BULK.3)  P ≥ ½‖w‖² + Σ ψ_i(t_i − r_i),  and gap = (P − D)/P, (COUNT.4)
    (BULK.4)  of a ν-SVM, the α of each class add up to ν/2, and each class has a row that takes what its sum lacks;
              |D| = ½‖w(α′)‖² ≥ ½(‖w‖ − ‖w − w(α′)‖)², and gap = (P − D)/|D|

Where no row has room, the sum has to be right exactly, or there is no bound. What is bounded here is what the caller
gets: α, w or the coefficients α∘y, and b, as floats.

Sources: as of `bounds.gap_bounder` and `bounds.accuracy`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.base.arrays.double_double import NEXT_TO_NOTHING, UNDERFLOW, sum_with_bound
from qpsvm.base.arrays.rounding import FEW, UNIT, bound_row_norms, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof.terms import Ends, RowBounds, bound_losses_below, bound_terms_above, widen_ends
from qpsvm.bounds.screening import row_radii
from qpsvm.many.multiclass.stack import Stack
from qpsvm.space.kernels.space import FeatureSpace

#: Roundings of t = ℓ − y(u + b), at least as many as there are, that of ℓ included.
ROUNDINGS = 4.0


@dataclass(frozen=True, eq=False)
class StackPoints:
    """A point of each of P machines over M rows in all, and how exactly what belongs to it is known.

    alpha, u (M,): α, and f without the intercept.
    level, level_radius (P,): The intercept over the rows computed with, and how far it may be off.
    margin (P,): 1, or the margin of a ν-SVM.
    radius (M,): How far u may be off, (BULK.1).
    sizes (M,): ρ.
    square (P,): ‖w‖² from below.
    offset (P,): ‖w − w(α)‖ from above.
    """

    alpha: FloatArray
    u: FloatArray
    level: FloatArray
    level_radius: FloatArray
    margin: FloatArray
    radius: FloatArray
    sizes: FloatArray
    square: FloatArray
    offset: FloatArray


def bound_gaps(stack: Stack, points: StackPoints, intercept: str | None = "free") -> FloatArray:
    """The relative gap of each machine from above, (P,): infinite where nothing is known."""
    alpha, upper, sign, curvature = points.alpha, stack.upper, stack.sign, stack.curvature
    most, nothing = float(stack.lengths.max()), np.zeros(stack.n_machines)
    t, r = bound_slacks(stack, points)
    rows = RowBounds((alpha, alpha), *(_enclose_rounded(values) for values in (upper, curvature)))
    ends = widen_ends(t, r)
    difference = stack.sums(bound_terms_above(rows, ends)) * (1.0 + gamma(most + 4))  # (BULK.2)
    missing, room = np.abs(t - curvature * alpha) + r, np.minimum(alpha, upper - alpha)
    largest_size = float(points.sizes.max())
    distance, size = points.offset * FEW, 0.5 * points.square
    if stack.nu is None:  # (BULK.3)
        size = size + stack.sums(bound_losses_below(rows, ends)) * (1.0 - gamma(most + 4))
    sums = [(alpha * sign, nothing, room)] if intercept == "free" else []
    if stack.nu is not None:  # (BULK.4)
        classes = (sign > 0.0, sign < 0.0)
        sums = [(np.where(own, alpha, 0.0), 0.5 * stack.nu, np.where(own, room, 0.0)) for own in classes]
    for values, target, free in sums:
        surplus, reach = bound_surplus(stack, values, target, missing, free)
        distance = distance + surplus * largest_size * FEW
        difference += surplus * (reach + stack.largest(curvature) * surplus)
    if stack.nu is not None:
        size = 0.5 * np.square(np.maximum(np.sqrt(points.square) - distance, 0.0))
    if intercept == "penalised":
        known = np.abs(points.level) * (1.0 - 4.0 * UNIT) - points.level_radius
        apart = np.abs(points.level - stack.sums(alpha * sign)) + gamma(most + 2) * stack.sums(alpha) * FEW
        apart = (apart + points.level_radius + ROUNDINGS * UNIT * np.abs(points.level)) * FEW
        difference += 0.5 * apart * apart
        size = size + 0.5 * np.square(np.maximum(known, 0.0))
    difference += 0.5 * distance * distance
    good = (size > NEXT_TO_NOTHING) & (difference >= 0.0) & np.isfinite(difference) & np.isfinite(size)
    found: FloatArray = np.full(len(size), np.inf)
    np.divide(difference * FEW, size / FEW, out=found, where=good)
    return found


def _enclose_rounded(values: FloatArray) -> Ends:
    """Return lower and upper bounds of U or δ, (M,), that were rounded by less than two units of their last digit."""
    return values * (1.0 - 4.0 * UNIT), values * (1.0 + 4.0 * UNIT)


def bound_slacks(stack: Stack, points: StackPoints) -> tuple[FloatArray, FloatArray]:
    """t of every row and how far it may be off, (BULK.1): (M,) each."""
    margin = stack.repeat_over_rows(points.margin) if stack.level is None else stack.level
    t = margin - stack.sign * (points.u + stack.repeat_over_rows(points.level))
    r = points.radius + stack.repeat_over_rows(points.level_radius + ROUNDINGS * UNIT * np.abs(points.level))
    r += ROUNDINGS * UNIT * np.abs(margin)  # ℓ itself may be a rounded sum
    r += ROUNDINGS * UNIT * np.abs(t)
    return t, r


def bound_surplus(
    stack: Stack, values: FloatArray, target: FloatArray, slack: FloatArray, room: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """S ≥ |Σ values − target| of each machine, and |t| + r of a row with room for it: (P,) each.

    Shapes: values (M,), target (P,), slack, room (M,).
    """
    parts = stack.sums(np.abs(values)) + np.abs(target)
    surplus = np.abs(stack.sums(values) - target) + gamma(float(stack.lengths.max()) + 2) * parts * FEW
    roomiest = stack.largest(room)
    reach = -stack.largest(np.where(room == stack.repeat_over_rows(roomiest), -slack, -np.inf))
    for p in np.flatnonzero(~(roomiest > 2.0 * surplus)).tolist():
        excess, error = sum_with_bound(np.append(values[stack.row_slice(p)], -target[p]))
        surplus[p] = 0.0 if excess == 0.0 and error == 0.0 else np.inf
        reach[p] = 0.0
    return surplus, reach


def build_kernel_points(
    stack: Stack, alpha: FloatArray, u: FloatArray, b: FloatArray, margin: FloatArray, sizes: FloatArray, epsilon: float
) -> StackPoints:
    """Points with w = w(α), whose u were computed from kernel values known to ε, (BULK.1).

    Shapes: alpha, u, sizes (M,), b, margin (P,).
    """
    most = float(stack.lengths.max())
    weight = stack.sums(alpha * sizes) * (1.0 + gamma(most + 2))
    kappa = (epsilon + gamma(most + 6)) * weight
    square = stack.sums(alpha * stack.sign * u) - 2.0 * kappa * weight * FEW
    nothing = np.zeros(len(b))
    return StackPoints(
        alpha,
        u,
        b,
        nothing,
        margin,
        stack.repeat_over_rows(kappa * FEW) * sizes,
        sizes,
        np.maximum(square, 0.0),
        nothing,
    )


def refine_radii(space: FeatureSpace, stack: Stack, points: StackPoints, machines: IntArray) -> StackPoints:
    """Refine the radii of some machines by their kernel values, (RADII.1), where that helps."""
    radius = points.radius.copy()
    for p in machines.tolist():
        part = stack.row_slice(p)
        places, beta = stack.places[part], np.zeros(space.n)
        beta[places] = points.alpha[part] * stack.sign[part]
        known = row_radii(space, places, beta)
        if known is not None:
            radius[part] = np.minimum(radius[part], known * FEW)
    return replace(points, radius=radius)


def build_linear_points(
    stack: Stack,
    alpha: FloatArray,
    u: FloatArray,
    levels: tuple[FloatArray, FloatArray],
    margin: FloatArray,
    W: FloatArray,
    sizes: FloatArray,
    width: int,
) -> StackPoints:
    """Points with explicit w, the rows of W (P, d), u = Zw and w(α) but for rounding.

    Shapes: alpha, u, sizes (M,), levels (P,), margin (P,), W (P, d), sizes (M,).
    """
    most, d = float(stack.lengths.max()), W.shape[1]
    squares = np.add.reduce(W * W, axis=1)
    norm, above = np.sqrt(squares), bound_row_norms(squares, d)
    kappa = gamma(width + 6) * above + UNDERFLOW
    offset = gamma(most + 4) * stack.sums(alpha * sizes) * (1.0 + gamma(most + 4)) + 4.0 * UNIT * above
    square = np.square(norm * (1.0 - gamma(d + 8)))
    return StackPoints(alpha, u, *levels, margin, stack.repeat_over_rows(kappa * FEW) * sizes, sizes, square, offset)
