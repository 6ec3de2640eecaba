"""State all-in-one machines as (DUAL.1), over pairs (x_i, c) of a sample and a class (`build_class_program`).

    (CLASSES.1)  φ(x, c) is φ(x) in the block of class c:  w = (w_1, …, w_k), ⟨w, φ(x_i, c)⟩ = ⟨w_c, φ(x_i)⟩, and
                 squared norms are sums over the classes
    (CLASSES.2)  row (i, c) has the point φ(x_i, y_i) − φ(x_i, c), and ℓ = 1; row (i, y_i) is empty, with ℓ = 0 and
                 α = 0. So t is that of (JOINT.1), β that of (JOINT.3), and D that of (JOINT.4)
    (CLASSES.3)  E_c = A 1_c, A of (DUAL.6), 1_c = 1 at the points of class c:  so E_cᵀα = Σ_i β_ic, and each b_c is an
                 intercept, free (E_cᵀα = 0) or penalised (R = 1)
    (CLASSES.4)  U = C_i bounds the α of each row, or with a shared slack their sum over the rows of a sample, (BOUND.5)

`ExactClassSpace` has these points. `bounds.class_repair` finds a feasible α, and here it is checked exactly: proofs do
not depend on the repair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.rationals import from_constant, from_floats, multiply_exactly, sum_rounded_down, sum_rounded_up
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.class_repair import repair_classes
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.feasible import LARGEST_ALPHA, FeasibleAlpha, compute_residual
from qpsvm.bounds.proof.kernels.definite import Definiteness
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, RationalInterval, Space, SpaceMeasurement
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.space.intercept import Intercept


def build_class_program(
    label: IntArray, k: int, C: FloatArray, weight: FloatArray, has_shared_slack: bool, intercept: Intercept
) -> ExactDual:
    """Build the program (CLASSES.2) to (CLASSES.4) of k classes. Shapes: label, C, weight (n,)."""
    n = len(label)
    sample, class_index = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    is_rival = class_index != label[sample]
    rows = np.flatnonzero(is_rival)
    own_points = sample * k + label[sample]
    columns = np.column_stack([own_points, np.arange(n * k)])[rows].ravel()
    mix = sp.csr_array((np.tile([1.0, -1.0], len(rows)), (np.repeat(rows, 2), columns)), shape=(n * k, n * k))
    ridge = Fraction(1 if intercept == "penalised" else 0)
    formula = "Σ_i β_ic = 0 of every class"
    groups = tuple(
        ExactGroup(f"b_{j}", mix @ (class_index == j).astype(np.float64), ridge=ridge, formula=formula)
        for j in range(k if intercept else 0)
    )
    upper = multiply_exactly(_repeat_each(C, k), _repeat_each(weight, k))
    sign = repeat_value(1.0, n * k)
    level = from_floats(is_rival.astype(float))
    curvature = from_constant(0.0, n * k)
    return ExactDual(
        sign, level, upper, curvature, groups, n * k, mix=mix, classes=k, has_shared_slack=has_shared_slack
    )


def _repeat_each(values: FloatArray, k: int) -> FloatArray:
    """Repeat each number k times: (n k,)."""
    common = find_common_value(values)
    if common is None:
        return np.repeat(values, k)
    return repeat_value(common, k * len(values))


def make_class_alpha_feasible(
    program: ExactDual, alpha: FloatArray, costs: FloatArray | None = None
) -> FeasibleAlpha | None:
    """Return α (n k,) or a repaired α as an exactly feasible point, (CLASSES.4); None if both fail."""
    del costs  # only other repairs use them
    point = _check_feasible(program, alpha)
    if point is None:
        return _check_feasible(program, _repair_alpha(program, alpha))
    return point


def _repair_alpha(program: ExactDual, alpha: FloatArray) -> FloatArray:
    intercept: Intercept = None
    if program.groups:
        intercept = "penalised" if program.groups[0].ridge else "free"
    k, (upper, _) = program.classes, program.upper_enclosure
    label = program.level.high.reshape(-1, k).argmin(axis=1)  # only row (i, y_i) has ℓ = 0
    dual = AllInOneDual(label, k, upper[::k], level=1.0, has_shared_slack=program.has_shared_slack, intercept=intercept)
    return repair_classes(dual, alpha.reshape(-1, k)).ravel()


def _check_feasible(program: ExactDual, alpha: FloatArray) -> FeasibleAlpha | None:
    """Return α as a feasible point, or None if it violates (CLASSES.2) to (CLASSES.4)."""
    largest_alpha = float(alpha.max(initial=0.0))
    if not (largest_alpha < LARGEST_ALPHA and (alpha >= 0.0).all() and not alpha[program.level.high == 0.0].any()):
        return None
    point = FeasibleAlpha(alpha, {}, program)
    width = program.block_size
    sum_bounds = alpha.reshape(-1, width).sum(axis=1) * (1.0 + gamma(width + 1))  # not below the exact sums
    for block in np.flatnonzero(sum_bounds > program.upper_enclosure[0][::width]).tolist():  # decide these exactly
        first = block * width
        U = program.upper.get_finite(first)
        if U is not None and sum(point[row] for row in range(first, first + width)) > U:
            return None
    if any(compute_residual(group, point) for group in program.groups if not group.ridge):
        return None
    return point


class ExactClassSpace(Space):
    """The points φ(x, c) of (CLASSES.1) for a base space of the φ(x), in the order of (n, k)."""

    def __init__(self, space: Space, k: int) -> None:
        self.space, self.k = space, k
        self.n = space.n * k
        self.assumptions = space.assumptions

    def measure(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate all samples once for each class."""
        arguments = self._split_arguments(primal_point, beta, beta_radius)
        measurements = [self.space.measure(*class_arguments) for class_arguments in arguments]
        values = [part.values for part in measurements]
        high, low, radius = (
            np.column_stack([getattr(part, name) for part in values]).ravel() for name in ("high", "low", "radius")
        )
        dual_halves = [part.dual_half_square for part in measurements if part.dual_half_square is not None]
        return SpaceMeasurement(
            PointValues(high, low, radius),
            _bound_norm([part.distance for part in measurements]),
            _add_outwards([part.half_square for part in measurements]),
            _add_outwards(dual_halves) if len(dual_halves) == self.k else None,
            sum_rounded_down(*(part.min_half_square_distance for part in measurements)),
        )

    def refine_values(self, primal_point: Primal, points: IntArray) -> PointValues | None:
        """Evaluate the points of each class in double-double."""
        results = np.empty((3, len(points)))
        for c, class_point in enumerate(self._split_by_class(primal_point)):
            positions = np.flatnonzero(points % self.k == c)
            values = self.space.refine_values(class_point, points[positions] // self.k)
            if values is None:
                return None
            results[:, positions] = values.high, values.low, values.radius
        return PointValues(*results)

    def refine_distance(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Combine the distances of all classes; None if one is missing."""
        arguments = self._split_arguments(primal_point, beta, beta_radius)
        distances = [self.space.refine_distance(*class_arguments) for class_arguments in arguments]
        if None in distances:
            return None
        return _bound_norm([distance for distance in distances if distance is not None])

    def evaluate_exactly(
        self, primal_point: Primal, beta: Sequence[Fraction], max_products: float
    ) -> ExactValues | None:
        """Return the exact values of all classes; None if they take more than `max_products` multiplications in all."""
        by_class = []
        for c, class_point in enumerate(self._split_by_class(primal_point)):
            class_values = self.space.evaluate_exactly(class_point, beta[c :: self.k], max_products / self.k)
            if class_values is None:
                return None
            by_class.append(class_values)
        values = [value for row in zip(*(part.values for part in by_class), strict=True) for value in row]
        return ExactValues(
            values,
            _add_intervals([part.square for part in by_class]),
            _add_intervals([part.dual_square for part in by_class]),
            _add_intervals([part.square_distance for part in by_class]),
        )

    def prove_definiteness(self, has_fixed_sum: bool) -> Definiteness:
        """Return the definiteness of the base space: K repeated for each class has the eigenvalues of K."""
        return self.space.prove_definiteness(has_fixed_sum)

    def _split_by_class(self, primal_point: Primal) -> list[Primal]:
        """Return the primal point of each class."""
        if primal_point.w is not None:
            return [Primal(w, None) for w in primal_point.w]
        assert primal_point.coef is not None
        return [Primal(None, np.ascontiguousarray(column)) for column in primal_point.coef.T]

    def _split_arguments(self, primal_point: Primal, *betas: FloatArray) -> list[tuple[Primal, FloatArray, FloatArray]]:
        """Return, for each class, its primal point and its entries of β and of the radius of β."""
        columns = [np.ascontiguousarray(beta.reshape(-1, self.k).T) for beta in betas]
        return list(zip(self._split_by_class(primal_point), *columns, strict=True))


def _add_intervals(parts: Sequence[RationalInterval]) -> RationalInterval:
    """Return the exact sum of intervals."""
    return sum((low for low, _ in parts), Fraction(0)), sum((high for _, high in parts), Fraction(0))


def _add_outwards(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the sum of intervals, rounded outwards."""
    return sum_rounded_down(*(low for low, _ in parts)), sum_rounded_up(*(high for _, high in parts))


def _bound_norm(parts: Sequence[float]) -> float:
    """Return an upper bound of the norm √Σ of squares."""
    if any(parts):
        return math.nextafter(math.hypot(*parts) * (1.0 + 2.0**-50), math.inf)
    return 0.0
