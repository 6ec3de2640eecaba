"""State all-in-one machines as (DUAL.1), over pairs (x_i, c) of a sample and a class.

    (CLASSES.1)  φ(x, c) has φ(x) in the block of c:  w = (w_1, …, w_k), ⟨w, φ(x_i, c)⟩ = ⟨w_c, φ(x_i)⟩, and squares of
                 lengths are sums over the classes
    (CLASSES.2)  row (i, c) is of φ(x_i, y_i) − φ(x_i, c), ℓ = 1; row (i, y_i) of nothing, ℓ = 0, and its α is 0. So t
                 is that of (JOINT.1), β that of (JOINT.3), and D that of (JOINT.4)
    (CLASSES.3)  E_c = Aᵀ over the points of class c:  each b_c is an intercept, free (E_cᵀα = 0) or penalised (R = 1)
    (CLASSES.4)  U = C_i: of each row, or where the slack is shared of the sum over the rows of a sample, (BOUND.5)

`bounds.all_in_one_repair` finds a feasible α. Here it is checked again, so that no proof depends on how it is
found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import find_common_value, repeat_value
from qpsvm.base.arrays.rationals import from_constant, from_floats, multiply_exactly, sum_rounded_down
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds import all_in_one_repair
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.feasible import LARGEST_ALPHA, Feasible, compute_residual
from qpsvm.bounds.proof.kernels.definite import Definiteness
from qpsvm.bounds.proof.spaces import Between, ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.space.intercept import Intercept


def of_classes(
    label: IntArray, k: int, C: FloatArray, weight: FloatArray, shared: bool, intercept: Intercept
) -> ExactDual:
    """(CLASSES.2) to (CLASSES.4): label, C and weight (n,)."""
    n = len(label)
    sample, c = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    rival = c != label[sample]
    rows, own = np.flatnonzero(rival), sample * k + label[sample]
    mix = sp.csr_array(
        (np.tile([1.0, -1.0], len(rows)), (np.repeat(rows, 2), np.column_stack([own, np.arange(n * k)])[rows].ravel())),
        shape=(n * k, n * k),
    )
    ridge, formula = Fraction(intercept == "penalised"), "Σ_i β_ic = 0 of every class"
    groups = tuple(
        ExactGroup(f"b_{j}", mix @ (c == j).astype(np.float64), ridge=ridge, formula=formula)
        for j in range(k if intercept else 0)
    )
    penalty = multiply_exactly(_repeat(C, k), _repeat(weight, k))
    return ExactDual(
        repeat_value(1.0, n * k),
        from_floats(rival.astype(np.float64)),
        penalty,
        from_constant(0.0, n * k),
        groups,
        n * k,
        mix=mix,
        classes=k,
        shared=shared,
    )


def _repeat(values: FloatArray, k: int) -> FloatArray:
    """Repeat each number k times: (n k,)."""
    one = find_common_value(values)
    return np.repeat(values, k) if one is None else repeat_value(one, k * len(values))


def feasible_of_classes(program: ExactDual, alpha: FloatArray) -> Feasible | None:
    """Return `feasible` of (CLASSES.4): α, (n k,), or a feasible one near it; None if none was found."""
    point = _check_feasible(program, alpha)
    return _check_feasible(program, _repair(program, alpha)) if point is None else point


def _repair(program: ExactDual, alpha: FloatArray) -> FloatArray:
    k, ridges = program.classes, [group.ridge for group in program.groups]
    intercept: Intercept = None if not ridges else "penalised" if ridges[0] else "free"
    label, upper = program.level.high.reshape(-1, k).argmin(axis=1), _round_upper_down(program)[::k]
    dual = AllInOneDual(label, k, upper, 1.0, program.shared, intercept)
    return all_in_one_repair.feasible(dual, alpha.reshape(-1, k)).ravel()


def _round_upper_down(program: ExactDual) -> FloatArray:
    """Return floats that are not above U: (n k,)."""
    return np.maximum(program.upper.bounds[0], 0.0)


def _check_feasible(program: ExactDual, alpha: FloatArray) -> Feasible | None:
    """Return α as a feasible point, or None if it violates (CLASSES.2) to (CLASSES.4)."""
    largest = float(alpha.max(initial=0.0))
    if not (largest < LARGEST_ALPHA and (alpha >= 0.0).all() and not alpha[program.level.high == 0.0].any()):
        return None
    point, width = Feasible(program, alpha, {}), program.width
    sums = alpha.reshape(-1, width).sum(axis=1) * (1.0 + gamma(width + 1))
    for block in np.flatnonzero(sums > _round_upper_down(program)[::width]).tolist():  # in floats these may be too much
        first = block * width
        U = program.upper.get_finite(first)
        if U is not None and sum(point[row] for row in range(first, first + width)) > U:
            return None
    return None if any(compute_residual(group, point) for group in program.groups if not group.ridge) else point


class ClassesSpace(Space):
    """(CLASSES.1): the points of one space once for each of k classes, in the order of (n, k)."""

    def __init__(self, space: Space, k: int) -> None:
        self.space, self.k = space, k
        self.n, self.assumptions = space.n * k, space.assumptions

    def _split_by_class(self, held: Primal) -> list[Primal]:
        """Return the numbers of each class."""
        if held.w is not None:
            return [Primal(w, None) for w in held.w]
        assert held.coef is not None
        return [Primal(None, np.ascontiguousarray(column)) for column in held.coef.T]

    def measure(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate all samples once for each class."""
        found = [self.space.measure(*each) for each in self._betas(held, beta, beta_radius)]
        high, low, radius = (
            np.column_stack([getattr(part.values, name) for part in found]).ravel()
            for name in ("high", "low", "radius")
        )
        own = [part.own_half for part in found if part.own_half is not None]
        return SpaceMeasurement(
            PointValues(high, low, radius), _length([part.apart for part in found]),
            _sum([part.half_square for part in found]), _sum(own) if len(own) == self.k else None,
            sum_rounded_down(*(part.half_apart_low for part in found)),
        )  # fmt: skip

    def _betas(self, held: Primal, *betas: FloatArray) -> list[tuple[Primal, FloatArray, FloatArray]]:
        columns = [np.ascontiguousarray(beta.reshape(-1, self.k).T) for beta in betas]
        return list(zip(self._split_by_class(held), *columns, strict=True))

    def refine_values(self, held: Primal, points: IntArray) -> PointValues | None:
        """Evaluate the points of each class in double-double."""
        found = np.empty((3, len(points)))
        for c, part in enumerate(self._split_by_class(held)):
            at = np.flatnonzero(points % self.k == c)
            values = self.space.refine_values(part, points[at] // self.k)
            if values is None:
                return None
            found[:, at] = values.high, values.low, values.radius
        return PointValues(*found)

    def refine_distance(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Combine the distances of all classes; None if one is missing."""
        found = [self.space.refine_distance(*each) for each in self._betas(held, beta, beta_radius)]
        return None if None in found else _length([part for part in found if part is not None])

    def exact(self, held: Primal, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """Return the exact values of every class, if they take about `most` multiplications in all."""
        found = []
        for c, part in enumerate(self._split_by_class(held)):
            one = self.space.exact(part, beta[c :: self.k], most / self.k)
            if one is None:
                return None
            found.append(one)
        values = [value for row in zip(*(part.values for part in found), strict=True) for value in row]
        return ExactValues(
            values, _add_intervals([part.square for part in found]), _add_intervals([part.own_square for part in found])
        )

    def definiteness(self, plane: bool) -> Definiteness:
        """Return the definiteness of the base space: K repeated for each class has the eigenvalues of K."""
        return self.space.definiteness(plane)


def _add_intervals(parts: Sequence[Between]) -> Between:
    return sum((low for low, _ in parts), Fraction(0)), sum((high for _, high in parts), Fraction(0))


def _sum(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The sum of numbers that are each between two."""
    return sum_rounded_down(*(low for low, _ in parts)), -sum_rounded_down(*(-high for _, high in parts))


def _length(parts: Sequence[float]) -> float:
    """√Σ of squares, from above."""
    return math.nextafter(math.hypot(*parts) * (1.0 + 2.0**-50), math.inf) if any(parts) else 0.0
