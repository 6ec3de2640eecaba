"""Evaluate rows of a dual, and w(α), in double-double, with error bounds (`SharpRows`).

The constraint of a pair compares f(x_i) with f(x_j), which may be large although their difference is not. So each
f(x_i) is computed as a sum of two doubles, and only the combination is rounded:

    (COMB.1)  |Σ_i A_ki f(x_i) − value_k| ≤ u|value_k| + Σ_i |A_ki| radius_i + the rounding of (ROUND.4) over 2 numbers
              per sample, b and the level
    (COMB.2)  a row of several classes is f_y(x_i) − f_c(x_i)
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.double_double import (
    UNDERFLOW,
    multiply_double_double,
    sum_columns_to_pairs,
    sum_pairs,
    two_product,
    two_sum,
)
from qpsvm.base.arrays.frozen import cached, freeze_each
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.accuracy import MAX_DOUBLE_DOUBLE_PRODUCTS, PRODUCTS_PER_STEP
from qpsvm.bounds.class_space import ClassSpace
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels.points import KernelSpace, build_space_of_matrix, build_space_of_samples
from qpsvm.bounds.proof.spaces import LinearSpace, Space
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.functions import RBF, Polynomial, Precomputed
from qpsvm.space.kernels.space import FeatureSpace

#: Values and their error bounds, (r,) each.
ValuesWithRadii = tuple[FloatArray, FloatArray]


class SharpRows:
    """Evaluate rows of one dual.

    space, svm: The feature space and the dual.
    """

    def __init__(self, space: FeatureSpace, svm: SVMDual) -> None:
        self.space, self.svm = space, svm

    @cached
    def points(self) -> Space | None:
        """The feature space in the form of a proof; None if its kernel values have no bounds."""
        space = self.space.base if isinstance(self.space, ClassSpace) else self.space
        if space.is_linear:
            return LinearSpace(space.samples)
        return build_kernel_space(space)

    def evaluate(
        self, rows: IntArray, coef: FloatArray, w: FloatArray | None, b: float, levels: FloatArray
    ) -> ValuesWithRadii | None:
        """Return Σ_i A_ki ⟨w, φ(x_i)⟩ + b minus a level at some rows; None if too expensive.

        Shapes: rows, levels (r,), coef (n,), w (d,) or None.
        """
        svm = self.svm
        if svm.mix is None:
            points, positions = np.unique(svm.find_samples(rows), return_inverse=True)
            entries: tuple[IntArray, ...] = np.arange(len(rows)), np.zeros(len(rows), dtype=np.intp)
            factors = np.ones(len(rows))
            max_terms = 1
        else:
            combinations = svm.mix[rows]
            points, positions = np.unique(combinations.indices, return_inverse=True)
            lengths = np.diff(combinations.indptr)
            row_of_entry = np.repeat(np.arange(len(rows)), lengths)
            entries = row_of_entry, np.arange(len(row_of_entry)) - np.repeat(combinations.indptr[:-1], lengths)
            factors = combinations.data
            max_terms = int(lengths.max(initial=0))
        is_affordable = len(rows) * (2 * max_terms + 2) <= MAX_DOUBLE_DOUBLE_PRODUCTS
        values = self._evaluate_points(points, coef, w) if is_affordable else None
        if values is None:
            return None
        A, high, low, radius = (np.zeros((len(rows), max_terms)) for _ in range(4))  # padded by zeros
        A[entries] = factors
        for padded, at_points in zip((high, low, radius), values, strict=True):
            padded[entries] = at_points[positions]
        numbers = np.column_stack([high, low, np.full(len(rows), b), -levels])
        results, radii = multiply_double_double(numbers, np.column_stack([A, A, np.ones((len(rows), 2))]))
        return results, radii + (np.abs(A) * radius).sum(axis=1) * FEW_ROUNDINGS + max_terms * UNDERFLOW

    def evaluate_classes(
        self, rows: IntArray, coef: FloatArray, w: FloatArray | None, b: FloatArray
    ) -> ValuesWithRadii | None:
        """Return f_y − f_c minus the level at some rows of several classes, (COMB.2); None if too expensive.

        Shapes: rows (r,), coef (k n,), w (k d,) or None, b (k,).
        """
        dual = self.svm.classes
        space = self.space
        assert dual is not None
        assert isinstance(space, ClassSpace)
        samples, position = np.unique(dual.row_positions[rows] // dual.k, return_inverse=True)
        label, rival = (indices[rows] for indices in dual.class_pairs)
        if len(samples) * len(coef if w is None else w) > MAX_DOUBLE_DOUBLE_PRODUCTS:
            return None
        weights = space.split_weights(w)
        classes = []
        for class_coef, class_w in zip(space.split_by_class(coef), weights, strict=True):
            values = self._evaluate_points(samples, class_coef, class_w)
            if values is None:
                return None
            classes.append(values)
        high, low, radius = (np.array([values[k] for values in classes]) for k in range(3))
        plus, minus = (label, position), (rival, position)
        numbers = np.column_stack(
            [high[plus], low[plus], b[label], high[minus], low[minus], b[rival], np.full(len(rows), dual.level)]
        )
        results, radii = multiply_double_double(numbers, np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]))
        return results, (radii + radius[plus] + radius[minus]) * FEW_ROUNDINGS

    def evaluate_ball(self, rows: IntArray, centre: FloatArray, square: float) -> ValuesWithRadii | None:
        """Return ½(‖x − c‖² − R²) at some rows, from x − c as sums of two floats; None if too expensive.

        Shapes: rows (r,), centre (d,). square: R².
        """
        d = len(centre)
        if 2 * len(rows) * d > MAX_DOUBLE_DOUBLE_PRODUCTS:
            return None
        results = np.zeros((2, len(rows)))
        step = max(PRODUCTS_PER_STEP // (2 * d + 1), 1)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            high, low = two_sum(as_dense(self.space.samples.take(rows[part])), -centre[None, :])
            ones = np.ones((len(high), 1))
            values, radii = multiply_double_double(
                np.hstack([high, 2.0 * low, ones]), np.hstack([high, high, -square * ones])
            )
            radii += np.square(low).sum(axis=1) * (1.0 + gamma(d + 1)) + d * UNDERFLOW
            results[:, part] = 0.5 * values, 0.5 * radii
        return results[0], results[1]

    def sum_points(self, beta: FloatArray, rest: FloatArray | None = None) -> ValuesWithRadii | None:
        """Return w(α) = Σβ_i x_i of a linear machine, over the caller's samples; None if too expensive.

        Shapes: beta (n,), or (k n,) with several classes; the results (d,), or (k d,).
        rest: A part of β too small to be added to `beta` in floats; None if it is 0.
        """
        assert isinstance(self.points, LinearSpace)
        n = self.points.n
        classes = []
        for start in range(0, len(beta), n):
            parts = []
            for vector in (beta,) if rest is None else (beta, rest):
                sums = self.points.sum_points(vector[start : start + n])
                if sums is None:
                    return None
                parts.append(sums)
            classes.append(np.array(sum_pairs(np.array(parts))))
        high, low, radii = np.concatenate(classes, axis=1)
        return high, radii + np.abs(low)

    def _evaluate_points(
        self, points: IntArray, coef: FloatArray, w: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return ⟨w, φ(x_i)⟩ at some points as sums of two doubles, and their radii."""
        if self.points is None:
            return None
        values = self.points.refine_values(Primal(w, None if w is not None else coef), points.astype(np.intp))
        if values is None:
            return None
        return values.high, values.low, values.radius


def build_kernel_space(space: FeatureSpace) -> KernelSpace | None:
    """Return the feature space of a kernel machine in the form of a proof; None if its kernel values have no bounds."""
    if not space.is_plain or space.shift:
        return None
    points = None
    if isinstance(space.kernel, (RBF, Polynomial)):
        points = build_space_of_samples(space.kernel, space.X)
    elif isinstance(space.kernel, Precomputed):
        points = build_space_of_matrix(space.gram.dense())
    if points is not None:
        freeze_each(vars(points.kernel_values).values())
    return points


def combine_beta(svm: SVMDual, alpha: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return β = Aᵀ(s∘α) of rows that combine samples as a sum of two doubles, and its error bounds: (n,) each.

    Samples far from the origin would magnify the rounding of β. Shapes: alpha (m,).
    """
    assert svm.mix is not None
    support = np.flatnonzero(alpha)
    combinations = svm.mix[support]
    samples, n = combinations.indices, svm.n
    signed = np.repeat((alpha * svm.sign)[support], np.diff(combinations.indptr))
    products, errors = two_product(combinations.data, signed)
    high, low, radii = sum_columns_to_pairs(samples, products, n)
    rest, rest_low, rest_radii = sum_columns_to_pairs(samples, errors, n)
    low = low + rest
    radii = radii + rest_radii + np.abs(rest_low) + 2.0 * UNIT * np.abs(low)
    radii += UNDERFLOW * np.bincount(samples, minlength=n)
    return *two_sum(high, low), radii * (1.0 + 2.0**-40)
