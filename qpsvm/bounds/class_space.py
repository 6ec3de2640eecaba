"""Represent the feature space of an all-in-one machine: one copy per class (`ClassSpace`).

Values and coefficients are flat arrays (k n,), class after class, and so is w (k d,). Let f̂_c be f_c as computed, ρ_i
an upper bound of ‖φ(x_i)‖, and κ_c the factor of ρ_i in (ACC.2) for class c. Then

    (COPIES.1)  |f̂_c(x_i) − f_c(x_i)| ≤ ρ_i max_c κ_c;  ‖w‖² = Σ_c ‖w_c‖²
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
    """Decision functions of all classes: a `Hyperplane` with b = 0, and the intercepts of the classes.

    intercepts, centred_intercepts: b and `centred_b` of each class, (k,).
    """

    intercepts: FloatArray = field(default_factory=lambda: np.zeros(0))
    centred_intercepts: FloatArray = field(default_factory=lambda: np.zeros(0))


class ClassSpace(FeatureSpace):
    """k copies of a feature space; only the part of the interface that a certificate uses is implemented.

    base: The feature space of the samples.
    k: Number of classes.
    """

    def __init__(self, base: FeatureSpace, k: int) -> None:
        super().__init__(base.kernel, base.samples, base.intercept, base.psd)
        self.base = base
        self.k = k
        self.n = k * base.n

    def split_by_class(self, flat: FloatArray) -> FloatArray:
        """Reshape a flat array (k l,) to one row per class: (k, l)."""
        return flat.reshape(self.k, -1)

    def split_weights(self, w: FloatArray | None) -> list[FloatArray] | list[None]:
        """Return w_c of each class, (d,); None for each if there is no explicit w."""
        return [None] * self.k if w is None else list(self.split_by_class(w))

    @property
    def origin(self) -> None:
        """None, since `base` subtracts the means. This does not change w_c, because then Σ_i β_ic = 0 exactly."""
        return None

    @property
    def rows(self) -> ClassSpace:  # type: ignore[override]
        """The space itself, since only the `margins` of the rows are used."""
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
        """The Gram matrix of `base` after the psd rule."""
        return self.base._treated_gram

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """Return the coefficients of all classes, (k n,): the same floats that `build_hyperplane` puts into a model."""
        return np.concatenate([self.base.coefficients(class_beta) for class_beta in self.split_by_class(beta)])

    def build_hyperplane(  # type: ignore[override]
        self, beta: FloatArray, w: FloatArray | None, b: FloatArray, factor: float = 1.0
    ) -> ClassPlane:
        """Return the decision functions of β (k n,), or of an explicit w, in the caller's coordinates, for b (k,)."""
        class_parts = zip(self.split_by_class(beta), self.split_weights(w), b.tolist(), strict=True)
        planes = [
            self.base.build_hyperplane(class_beta, class_w, class_b, factor)
            for class_beta, class_w, class_b in class_parts
        ]
        return ClassPlane(
            coef=np.concatenate([plane.coef for plane in planes]),
            w=None if w is None else np.concatenate([plane.w for plane in planes]),
            b=0.0,
            centred_b=0.0,
            centred_b_radius=2.0 * max(plane.centred_b_radius for plane in planes),  # a margin has b_y − b_c
            intercepts=np.array([plane.b for plane in planes]),
            centred_intercepts=np.array([plane.centred_b for plane in planes]),
        )


class ClassAccuracy(Accuracy):
    """Error bounds of the values of all classes, (COPIES.1)."""

    space: ClassSpace

    def __init__(self, space: ClassSpace) -> None:
        super().__init__(space)
        self.base_accuracy = Accuracy(space.base)

    @property
    def _all_norms(self) -> FloatArray | None:
        """Upper bounds ρ of all samples, (k n,); None if they are computed only where they are needed."""
        norms = self.base_accuracy._all_norms
        return None if norms is None else np.tile(norms, self.space.k)

    @property
    def max_norm(self) -> float:
        """Upper bound of all ρ_i."""
        return self.base_accuracy.max_norm

    def bound_norms(self, rows: IntArray | slice) -> FloatArray:
        """Return ρ_i of some of the k n values: (r,)."""
        index = np.arange(self.space.n)[rows] if isinstance(rows, slice) else rows
        return self.base_accuracy.bound_norms(index % self.space.base.n)

    def compute_radius_factor(self, beta: FloatArray, w: FloatArray | None) -> float:
        """Return the largest κ_c of (ACC.2)."""
        class_parts = zip(self.space.split_by_class(beta), self.space.split_weights(w), strict=True)
        return max(self.base_accuracy.compute_radius_factor(class_beta, class_w) for class_beta, class_w in class_parts)

    def bound_weight_error(self, beta: FloatArray) -> float:
        """Bound the norm of the error of w, over all classes together."""
        errors = [self.base_accuracy.bound_weight_error(class_beta) for class_beta in self.space.split_by_class(beta)]
        return math.hypot(*errors) * FEW_ROUNDINGS


def build_plane(
    space: FeatureSpace, svm: SVMDual, coef: FloatArray, w: FloatArray | None, b: float,
    multipliers: Mapping[str, float], factor: float,
) -> tuple[Hyperplane, dict[str, Any]]:  # fmt: skip
    """Build the decision function in the caller's coordinates.

    With several classes, also return the `Certificate` attributes that depend on the centred intercepts, by name.
    """
    if not isinstance(space, ClassSpace) or svm.classes is None:
        return space.build_hyperplane(coef, w, b, factor), {}
    plane = space.build_hyperplane(coef, w, svm.classes.extract_intercepts(multipliers), factor)
    centred = svm.classes.name_multipliers(plane.centred_intercepts)
    return plane, {"multipliers": centred, "margin": svm.compute_margin(centred), "intercepts": plane.intercepts}
