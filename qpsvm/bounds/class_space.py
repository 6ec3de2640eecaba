"""Represent the feature space of an all-in-one machine: one copy per class (`ClassSpace`).

Values are flat, (k n,), class after class, and so are the coefficients; w is (k d,), one w_c after the other. What is
known of f is known of every f_c alone:

    (COPIES.1)  |f̂_c(x_i) − f_c(x_i)| ≤ ρ_i max_c κ_c with (ACC.2) of each class;  ‖w‖² = Σ_c ‖w_c‖²
    (COPIES.2)  of a row, what f_y and f_c may be off adds up: (DUAL.6) with the numbers 1 and −1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qpsvm.base.arrays.double_double import multiply_double_double
from qpsvm.base.arrays.rounding import FEW
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import AFFORDABLE, Accuracy
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.psd_rule import TreatedGram
from qpsvm.space.kernels.space import FeatureSpace, Hyperplane
from qpsvm.space.operators import Operator, RepeatedOperator


@dataclass(frozen=True, eq=False)
class ClassPlane(Hyperplane):
    """Decision functions as a `Hyperplane` with b and its level 0: those of the classes are separate, (k,)."""

    intercepts: FloatArray = field(default_factory=lambda: np.zeros(0))
    levels: FloatArray = field(default_factory=lambda: np.zeros(0))


class ClassSpace(FeatureSpace):
    """k copies of a feature space.

    base: Of the samples.
    """

    def __init__(self, base: FeatureSpace, k: int) -> None:
        self.base, self.k = base, k
        self.kernel, self.is_linear, self.samples, self.psd = base.kernel, base.is_linear, base.samples, base.psd
        self.intercept, self.is_affine, self.n = base.intercept, False, k * base.n

    def split_by_class(self, flat: FloatArray) -> FloatArray:
        """Reshape a flat array to one row per class."""
        return flat.reshape(self.k, -1)

    @property
    def origin(self) -> None:
        """None: `build_hyperplane` moves every class by itself, and Σ_i β_ic = 0 exactly where that is done."""
        return

    @property
    def rows(self) -> ClassSpace:  # type: ignore[override]
        """The space itself, which has `margin_groups`."""
        return self

    def margins(self, w: FloatArray) -> FloatArray:
        """⟨w_c, φ(x_i)⟩: (k n,)."""
        return self.base.rows.margins(self.split_by_class(w).T).T.ravel()

    def weights(self, beta: FloatArray) -> FloatArray:
        """w: (k d,)."""
        return self.base.weights(self.split_by_class(beta).T).T.ravel()

    @property
    def centred_gram(self) -> Operator:
        """I ⊗ K."""
        return RepeatedOperator(self.base.centred_gram, self.k)

    @property
    def _treated_gram(self) -> TreatedGram:
        return self.base._treated_gram

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """Return the coefficients of each class in turn, bit for bit as `plane` computes them."""
        return np.concatenate([self.base.coefficients(column) for column in self.split_by_class(beta)])

    def build_hyperplane(  # type: ignore[override]
        self, beta: FloatArray, w: FloatArray | None, b: FloatArray, factor: float = 1.0
    ) -> ClassPlane:
        """The decision functions of β (or of an explicit w) in the caller's own coordinates, for b (k,)."""
        weights = [None] * self.k if w is None else list(self.split_by_class(w))
        parts = [
            self.base.build_hyperplane(*each, factor)
            for each in zip(self.split_by_class(beta), weights, b.tolist(), strict=True)
        ]
        return ClassPlane(
            np.concatenate([part.coef for part in parts]),
            None if w is None else np.concatenate([part.w for part in parts]), 0.0, 0.0,
            2.0 * max(part.level_radius for part in parts), np.array([part.b for part in parts]),
            np.array([part.level for part in parts]),
        )  # fmt: skip


class ClassAccuracy(Accuracy):
    """How exactly the values of all classes are known, (COPIES.1).

    space: That of the classes.
    """

    space: ClassSpace

    def __init__(self, space: ClassSpace) -> None:
        super().__init__(space)
        self.one = Accuracy(space.base)

    @property
    def _sizes(self) -> FloatArray | None:
        return None if self.one._sizes is None else np.tile(self.one._sizes, self.space.k)

    @property
    def largest(self) -> float:
        """A bound on every ρ_i."""
        return self.one.largest

    def sizes(self, rows: IntArray) -> FloatArray:
        """ρ_i of some values: (r,)."""
        return self.one.sizes(rows % self.space.base.n)

    def kappa(self, beta: FloatArray, w: FloatArray | None) -> float:
        """The largest κ_c of (ACC.2)."""
        weights = [None] * self.space.k if w is None else list(self.space.split_by_class(w))
        return max(self.one.kappa(*each) for each in zip(self.space.split_by_class(beta), weights, strict=True))

    def weight_radius(self, beta: FloatArray) -> float:
        """Bound the error of all w_c together, in norm."""
        return math.hypot(*map(self.one.weight_radius, self.space.split_by_class(beta))) * FEW

    def sharp_weights(self, beta: FloatArray, rest: FloatArray | None = None) -> tuple[FloatArray, FloatArray] | None:
        """w(α) over the caller's own samples, and the radius of each entry: (k d,) each; None where too much."""
        del rest
        found = []
        for column in self.space.split_by_class(beta):
            one = self.one.sharp_weights(column)
            if one is None:
                return None
            found.append(one)
        return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])

    def sharp_rows(
        self, dual: AllInOneDual, rows: IntArray, coef: FloatArray, w: FloatArray | None, b: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """f_y − f_c minus the level at some rows of the dual, of the numbers that the user gets, and its radius.

        Shapes: rows (r,), coef (k n,), w (k d,) or None, b (k,) → values, radii (r,).
        """
        sample, (own, rival) = dual.row_positions[rows] // dual.k, (part[rows] for part in dual.class_pairs)
        used, place = np.unique(sample, return_inverse=True)
        if len(used) * len(coef if w is None else w) > AFFORDABLE:
            return None
        nothing, found = np.zeros(len(used)), []
        for c in range(dual.k):
            column = None if w is None else self.space.split_by_class(w)[c]
            one = self.one.sharp_parts(used, self.space.split_by_class(coef)[c], column, float(b[c]), nothing)
            if one is None:
                return None
            found.append(one)
        high, low, radius = (np.array([one[part] for one in found]) for part in range(3))
        plus, minus = (own, place), (rival, place)
        numbers = np.column_stack([high[plus], low[plus], high[minus], low[minus], np.full(len(rows), dual.level)])
        values, radii = multiply_double_double(numbers, np.array([1.0, 1.0, -1.0, -1.0, -1.0]))  # (COPIES.2)
        return values, (radii + radius[plus] + radius[minus]) * FEW


def build_plane(
    space: FeatureSpace, svm: SVMDual, coef: FloatArray, w: FloatArray | None, b: float,
    multipliers: Mapping[str, float], factor: float,
) -> tuple[Hyperplane, dict[str, Any]]:  # fmt: skip
    """Return the decision function for the caller; for several classes also the certificate's changed attributes."""
    if not isinstance(space, ClassSpace) or svm.classes is None:
        return space.build_hyperplane(coef, w, b, factor), {}
    plane = space.build_hyperplane(coef, w, svm.classes.extract_intercepts(multipliers), factor)
    moved = svm.classes.name_multipliers(plane.levels)
    return plane, {"multipliers": moved, "margin": svm.margin(moved), "intercepts": plane.intercepts}
