"""Bound the gaps of many C-SVMs, ν-SVMs or squared hinges at once, rounding included (`bound_gaps`).

The gap of a machine is a sum over its rows, plus a term for w ≠ w(α) and one for the amount by which α violates the
equality of the dual. Each is bounded from above for the floating-point numbers that the caller gets: α, w or the
coefficients α∘y, and b. All machines are treated by the same array operations.

P and D are the primal and dual objective of one machine, K its kernel and y its labels. A point has α, w and b, and
f_i = u_i + b; w(α) is the w that belongs to α. ρ_i is the length of x_i in feature space, U_i the upper bound of α_i,
δ_i its curvature, and S ≥ |yᵀα| a bound of how much α violates the equality. t_i is the shortfall of row i from its
margin m, which is 1, or a variable of a ν-SVM. The term g_i of a row is that of (BOUND.2), and ψ_i its loss:

    (BULK.1)  |û_i − u_i| ≤ κρ_i for the computed û_i, κ as in (ACC.2);  t_i = m − y_i(u_i + b) is then known to a
              radius r_i
    (BULK.2)  P − D(α′) ≤ ½(‖w − w(α)‖ + Sρ)² + Σ max(g_i(t_i − r_i), g_i(t_i + r_i)) + S(|t_k − δα_k| + r_k + δS)
              where α′ is α with yᵀα brought to 0 by one row k that is far enough from its bounds:  a step s of α_k
              moves w(α) by s ρ_k, and adds at most s |t_k| to the terms;  ρ and δ are the largest ρ_i and δ_i
    (BULK.3)  P ≥ ½‖w‖² + Σ ψ_i(t_i − r_i),  and gap = (P − D)/P, (COUNT.4)
    (BULK.4)  in a ν-SVM the α of each class sum to ν/2, and each class has a row k that absorbs the error of its sum;
              |D| = ½‖w(α′)‖² ≥ ½(‖w‖ − ‖w − w(α′)‖)², and gap = (P − D)/|D|

If no row is far enough from its bounds, the sum has to be right exactly, or the bound is infinite.

Sources: those of `bounds.gap_bounder` and `bounds.accuracy`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.base.arrays.double_double import NEXT_TO_NOTHING, UNDERFLOW, sum_with_bound
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, bound_row_norms, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof.terms import Ends, RowBounds, bound_losses_below, bound_terms_above, widen_ends
from qpsvm.bounds.sharp_rows import build_kernel_space
from qpsvm.many.multiclass.stack import Stack
from qpsvm.space.kernels.space import FeatureSpace

#: Roundings in t = ℓ − y(u + b): at most the two sums, that of ℓ itself, and one to spare.
ROUNDINGS = 4.0


@dataclass(frozen=True, eq=False)
class MachinePoints:
    """The primal-dual pairs of all P machines.

    alpha, u (M,): α, and f without the intercept.
    b, rho (P,): The intercept for centred rows, and the margin, which is 1 except in a ν-SVM.
    W (P, d): The weight vectors if the kernel is linear, else None.
    """

    alpha: FloatArray
    u: FloatArray
    b: FloatArray
    rho: FloatArray
    W: FloatArray | None


@dataclass(frozen=True, eq=False)
class BoundedPoints:
    """A point of each of P machines with M rows in total, and bounds of its rounding errors.

    alpha, u (M,): α, and f without the intercept.
    b, b_radius (P,): The intercept in the coordinates of the rows, and a bound of its error.
    margin (P,): m: 1, or the margin of a ν-SVM.
    u_radius (M,): Bound of the error of u, (BULK.1).
    row_norms (M,): ρ.
    squared_norm (P,): Lower bound of ‖w‖².
    w_distance (P,): Upper bound of ‖w − w(α)‖.
    """

    alpha: FloatArray
    u: FloatArray
    b: FloatArray
    b_radius: FloatArray
    margin: FloatArray
    u_radius: FloatArray
    row_norms: FloatArray
    squared_norm: FloatArray
    w_distance: FloatArray


@dataclass(frozen=True, eq=False)
class _SumConstraint:
    """An equality of the dual of each machine: the sum of some values, one per row, has to be the target.

    values (M,): The values, 0 for rows that are not part of the sum.
    target (P,): What they have to sum to.
    bound_slack (M,): Distance of α from the nearer of its two bounds; 0 for rows that are not part of the sum.
    """

    values: FloatArray
    target: FloatArray
    bound_slack: FloatArray


def bound_gaps(stack: Stack, points: BoundedPoints, intercept: str | None = "free") -> FloatArray:
    """Bound the relative gap of each machine from above, (P,): infinite if there is no bound.

    intercept: "free", "penalised", or None.
    """
    shortfall, radius = _bound_shortfalls(stack, points)
    ends = widen_ends(shortfall, radius)
    rows = RowBounds((points.alpha, points.alpha), _enclose_rounded(stack.upper), _enclose_rounded(stack.curvature))
    difference = stack.sum_by_machine(bound_terms_above(rows, ends)) * (1.0 + gamma(stack.max_row_count + 4))
    slope = np.abs(shortfall - stack.curvature * points.alpha) + radius
    max_row_norm = float(points.row_norms.max())
    w_distance = points.w_distance * FEW_ROUNDINGS
    for constraint in _iter_constraints(stack, points.alpha, intercept):
        sum_error, absorbing_slope = _bound_sum_errors(stack, constraint, slope)
        w_distance = w_distance + sum_error * max_row_norm * FEW_ROUNDINGS
        difference += sum_error * (absorbing_slope + stack.maximise_by_machine(stack.curvature) * sum_error)  # (BULK.2)
    if intercept == "penalised":
        b_distance = _bound_intercept_distance(stack, points)
        difference += 0.5 * b_distance * b_distance
    difference += 0.5 * w_distance * w_distance
    if stack.nu is None:
        size = _bound_primal_below(stack, points, bound_losses_below(rows, ends), intercept)
    else:  # (BULK.4)
        size = 0.5 * np.square(np.maximum(np.sqrt(points.squared_norm) - w_distance, 0.0))
    return _divide_upwards(difference, size)


def build_kernel_points(stack: Stack, points: MachinePoints, row_norms: FloatArray, epsilon: float) -> BoundedPoints:
    """Bound the errors of points with w = w(α).

    row_norms (M,): ρ.
    epsilon: ε: the kernel values from which u was computed have errors of at most ερ_iρ_j, (BULK.1).
    """
    alpha = points.alpha
    u = points.u
    n_terms = stack.max_row_count
    norm_sum = stack.sum_by_machine(alpha * row_norms) * (1.0 + gamma(n_terms + 2))  # Σ α_i ρ_i ≥ ‖w‖
    kappa = (epsilon + gamma(n_terms + 6)) * norm_sum
    squared_norm = stack.sum_by_machine(alpha * stack.sign * u) - 2.0 * kappa * norm_sum * FEW_ROUNDINGS
    zeros = np.zeros(len(points.b))
    return BoundedPoints(
        alpha=alpha, u=u, b=points.b, b_radius=zeros, margin=points.rho,
        u_radius=stack.repeat_over_rows(kappa * FEW_ROUNDINGS) * row_norms, row_norms=row_norms,
        squared_norm=np.maximum(squared_norm, 0.0), w_distance=zeros,
    )  # fmt: skip


def refine_kernel_points(space: FeatureSpace, stack: Stack, points: BoundedPoints, machines: IntArray) -> BoundedPoints:
    """Evaluate u of some machines again as a proof does, with smaller error bounds, (KSUM.1); keep the better values.

    machines (q,): Indices of machines.
    """
    kernel_space = build_kernel_space(space)
    if kernel_space is None:
        return points
    u = points.u.copy()
    u_radius = points.u_radius.copy()
    for p in machines.tolist():
        rows = stack.get_row_slice(p)
        positions = stack.positions[rows]
        beta = np.zeros(space.n)
        beta[positions] = points.alpha[rows] * stack.sign[rows]
        values = kernel_space.evaluate_kernel(beta, positions)
        is_better = values.radius < u_radius[rows]
        u[rows] = np.where(is_better, values.high, u[rows])
        u_radius[rows] = np.where(is_better, values.radius * FEW_ROUNDINGS, u_radius[rows])
    return replace(points, u=u, u_radius=u_radius)


def build_linear_points(
    stack: Stack, points: MachinePoints, intercepts: tuple[FloatArray, FloatArray], row_norms: FloatArray, width: int
) -> BoundedPoints:
    """Bound the errors of points with explicit w, u = Zw for the samples Z (r, d), and w(α) = w but for rounding.

    intercepts: b and a bound of its error, (P,) each, in place of b of the points.
    row_norms (M,): ρ.
    width: The largest number of features of a sample that are not 0.
    """
    W = points.W
    assert W is not None
    n_terms = stack.max_row_count
    d = W.shape[1]
    squares = np.add.reduce(W * W, axis=1)
    norm = np.sqrt(squares)
    max_norm = bound_row_norms(squares, d)
    kappa = gamma(width + 6) * max_norm + UNDERFLOW
    norm_sum = stack.sum_by_machine(points.alpha * row_norms)
    b, b_radius = intercepts
    return BoundedPoints(
        alpha=points.alpha, u=points.u, b=b, b_radius=b_radius, margin=points.rho,
        u_radius=stack.repeat_over_rows(kappa * FEW_ROUNDINGS) * row_norms, row_norms=row_norms,
        squared_norm=np.square(norm * (1.0 - gamma(d + 8))),
        w_distance=gamma(n_terms + 4) * norm_sum * (1.0 + gamma(n_terms + 4)) + 4.0 * UNIT * max_norm,
    )  # fmt: skip


def _iter_constraints(stack: Stack, alpha: FloatArray, intercept: str | None) -> Iterator[_SumConstraint]:
    """Yield the equalities of the dual: yᵀα = 0 of a free intercept, or the two sums of a ν-SVM, (BULK.4)."""
    bound_slack = np.minimum(alpha, stack.upper - alpha)
    if stack.nu is not None:
        for of_class in (stack.sign > 0.0, stack.sign < 0.0):
            yield _SumConstraint(np.where(of_class, alpha, 0.0), 0.5 * stack.nu, np.where(of_class, bound_slack, 0.0))
    elif intercept == "free":
        yield _SumConstraint(alpha * stack.sign, np.zeros(stack.n_machines), bound_slack)


def _bound_primal_below(stack: Stack, points: BoundedPoints, losses: FloatArray, intercept: str | None) -> FloatArray:
    """Bound P from below, (P,), given lower bounds of the losses ψ (M,): (BULK.3)."""
    size = 0.5 * points.squared_norm
    size = size + stack.sum_by_machine(losses) * (1.0 - gamma(stack.max_row_count + 4))
    if intercept == "penalised":
        min_b = np.abs(points.b) * (1.0 - 4.0 * UNIT) - points.b_radius
        size = size + 0.5 * np.square(np.maximum(min_b, 0.0))
    return size


def _bound_intercept_distance(stack: Stack, points: BoundedPoints) -> FloatArray:
    """Bound |b − yᵀα| from above, (P,): yᵀα is the b that belongs to α if the intercept is penalised."""
    distance = np.abs(points.b - stack.sum_by_machine(points.alpha * stack.sign))
    distance = distance + gamma(stack.max_row_count + 2) * stack.sum_by_machine(points.alpha) * FEW_ROUNDINGS
    bounded: FloatArray = (distance + points.b_radius + ROUNDINGS * UNIT * np.abs(points.b)) * FEW_ROUNDINGS
    return bounded


def _divide_upwards(difference: FloatArray, size: FloatArray) -> FloatArray:
    """Bound difference/size from above, (P,): infinite if a number is not finite, or the size is nearly 0."""
    is_bounded = (size > NEXT_TO_NOTHING) & (difference >= 0.0) & np.isfinite(difference) & np.isfinite(size)
    gaps: FloatArray = np.full(len(size), np.inf)
    np.divide(difference * FEW_ROUNDINGS, size / FEW_ROUNDINGS, out=gaps, where=is_bounded)
    return gaps


def _enclose_rounded(values: FloatArray) -> Ends:
    """Return lower and upper bounds of U or δ, (M,), that were rounded by less than two units of their last digit."""
    return values * (1.0 - 4.0 * UNIT), values * (1.0 + 4.0 * UNIT)


def _bound_shortfalls(stack: Stack, points: BoundedPoints) -> tuple[FloatArray, FloatArray]:
    """Return t of every row, and a bound of its error, (BULK.1): (M,) each."""
    if stack.level is None:
        margin = stack.repeat_over_rows(points.margin)
    else:
        margin = stack.level
    t = margin - stack.sign * (points.u + stack.repeat_over_rows(points.b))
    radius = points.u_radius + stack.repeat_over_rows(points.b_radius + ROUNDINGS * UNIT * np.abs(points.b))
    radius += ROUNDINGS * UNIT * np.abs(margin)  # ℓ itself may be a rounded sum
    radius += ROUNDINGS * UNIT * np.abs(t)
    return t, radius


def _bound_sum_errors(stack: Stack, constraint: _SumConstraint, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return S ≥ |Σ values − target| of each machine, and the slope at the row k that absorbs it: (P,) each.

    Row k is the one farthest from its bounds. If even that is not far enough, S is 0 if the sum is exact, else
    infinite.

    slope (M,): |t − δα| + r, the rate at which moving α of a row may raise the terms.
    """
    values = constraint.values
    target = constraint.target
    bound_slack = constraint.bound_slack
    absolute_sum = stack.sum_by_machine(np.abs(values)) + np.abs(target)
    sum_error = np.abs(stack.sum_by_machine(values) - target)
    sum_error += gamma(stack.max_row_count + 2) * absolute_sum * FEW_ROUNDINGS
    largest_slack = stack.maximise_by_machine(bound_slack)
    is_farthest = bound_slack == stack.repeat_over_rows(largest_slack)
    absorbing_slope = -stack.maximise_by_machine(np.where(is_farthest, -slope, -np.inf))  # the smallest, if several are
    for p in np.flatnonzero(~(largest_slack > 2.0 * sum_error)).tolist():
        rest, error = sum_with_bound(np.append(values[stack.get_row_slice(p)], -target[p]))
        sum_error[p] = 0.0 if rest == 0.0 and error == 0.0 else np.inf
        absorbing_slope[p] = 0.0
    return sum_error, absorbing_slope
