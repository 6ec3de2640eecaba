"""Represent the feature space of an all-in-one machine: one copy per class (`ClassSpace`).

Values and coefficients are flat arrays (k n,), class after class; w is (k d,), one w_c after the other. Error bounds of
f apply to every f_c:

    (COPIES.1)  |f̂_c(x_i) − f_c(x_i)| ≤ ρ_i max_c κ_c with (ACC.2) of each class;  ‖w‖² = Σ_c ‖w_c‖²
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qpsvm.base.arrays.rounding import FEW_ROUNDINGS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.psd_rule import TreatedGram
from qpsvm.space.kernels.space import FeatureSpace, Hyperplane
from qpsvm.space.operators import Operator, RepeatedOperator


@dataclass(frozen=True, eq=False)
class ClassPlane(Hyperplane):
    """Decision functions of all classes: a `Hyperplane` with b = 0, plus intercepts and levels of the classes, (k,)."""

    intercepts: FloatArray = field(default_factory=lambda: np.zeros(0))
    levels: FloatArray = field(default_factory=lambda: np.zeros(0))


class ClassSpace(FeatureSpace):
    """k copies of a feature space.

    base: The feature space of the samples.
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
        """None: `build_hyperplane` shifts every class separately; if it does, Σ_i β_ic = 0 exactly."""
        return

    @property
    def rows(self) -> ClassSpace:  # type: ignore[override]
        """The space itself, which has `margin_groups`."""
        return self

    def margins(self, w: FloatArray) -> FloatArray:
        """Return ⟨w_c, φ(x_i)⟩: (k n,)."""
        return self.base.rows.margins(self.split_by_class(w).T).T.ravel()

    def weights(self, beta: FloatArray) -> FloatArray:
        """Return w: (k d,)."""
        return self.base.weights(self.split_by_class(beta).T).T.ravel()

    @property
    def centred_gram(self) -> Operator:
        """I ⊗ K."""
        return RepeatedOperator(self.base.centred_gram, self.k)

    @property
    def _treated_gram(self) -> TreatedGram:
        return self.base._treated_gram

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """Return the coefficients of each class in turn, bit for bit as in `build_hyperplane`."""
        return np.concatenate([self.base.coefficients(column) for column in self.split_by_class(beta)])

    def build_hyperplane(  # type: ignore[override]
        self, beta: FloatArray, w: FloatArray | None, b: FloatArray, factor: float = 1.0
    ) -> ClassPlane:
        """Return the decision functions of β (or of an explicit w) in the caller's coordinates, for b (k,)."""
        weights = [None] * self.k if w is None else list(self.split_by_class(w))
        planes = [
            self.base.build_hyperplane(*class_parts, factor)
            for class_parts in zip(self.split_by_class(beta), weights, b.tolist(), strict=True)
        ]
        return ClassPlane(
            np.concatenate([plane.coef for plane in planes]),
            None if w is None else np.concatenate([plane.w for plane in planes]), 0.0, 0.0,
            2.0 * max(plane.centred_b_radius for plane in planes), np.array([plane.b for plane in planes]),
            np.array([plane.centred_b for plane in planes]),
        )  # fmt: skip


class ClassAccuracy(Accuracy):
    """Error bounds of the values of all classes, (COPIES.1).

    space: The space of all classes.
    """

    space: ClassSpace

    def __init__(self, space: ClassSpace) -> None:
        super().__init__(space)
        self.base_accuracy = Accuracy(space.base)

    @property
    def _all_norms(self) -> FloatArray | None:
        return None if self.base_accuracy._all_norms is None else np.tile(self.base_accuracy._all_norms, self.space.k)

    @property
    def max_norm(self) -> float:
        """Upper bound of all ρ_i."""
        return self.base_accuracy.max_norm

    def bound_norms(self, rows: IntArray | slice) -> FloatArray:
        """Return ρ_i of some values: (r,)."""
        index = np.arange(self.space.n)[rows] if isinstance(rows, slice) else rows
        return self.base_accuracy.bound_norms(index % self.space.base.n)

    def compute_radius_factor(self, beta: FloatArray, w: FloatArray | None) -> float:
        """Return the largest κ_c of (ACC.2)."""
        weights = [None] * self.space.k if w is None else list(self.space.split_by_class(w))
        return max(
            self.base_accuracy.compute_radius_factor(*class_parts)
            for class_parts in zip(self.space.split_by_class(beta), weights, strict=True)
        )

    def bound_weight_error(self, beta: FloatArray) -> float:
        """Bound the error of all w_c together, in norm."""
        return math.hypot(*map(self.base_accuracy.bound_weight_error, self.space.split_by_class(beta))) * FEW_ROUNDINGS


def build_plane(
    space: FeatureSpace, svm: SVMDual, coef: FloatArray, w: FloatArray | None, b: float,
    multipliers: Mapping[str, float], factor: float,
) -> tuple[Hyperplane, dict[str, Any]]:  # fmt: skip
    """Return the decision function in the caller's coordinates, and the attributes of the certificate that it changes.

    Only all-in-one machines have such attributes.
    """
    if not isinstance(space, ClassSpace) or svm.classes is None:
        return space.build_hyperplane(coef, w, b, factor), {}
    plane = space.build_hyperplane(coef, w, svm.classes.extract_intercepts(multipliers), factor)
    levels = svm.classes.name_multipliers(plane.levels)
    return plane, {"multipliers": levels, "margin": svm.margin(levels), "intercepts": plane.intercepts}
