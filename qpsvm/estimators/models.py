"""Build the models of fitted estimators, which predict without them (`build_model`, `build_linear_scores`)."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.result.model import AllInOneModel, Model, PairsModel
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.scores import ScoreFunctions

#: Models that predict without an estimator.
AnyModel: TypeAlias = Model | AllInOneModel | PairsModel


def build_model(
    estimator: Any,
    scores: ScoreFunctions,
    classes: NDArray[Any] | None,
    by_class: bool = True,
    break_ties: bool = False,
    threshold: float | None = None,
) -> AnyModel:
    """Build the model that predicts by decision functions; a linear one has w only, without support vectors.

    classes: None for a machine that predicts f itself.
    by_class, break_ties: As in `PairsModel`.
    threshold: As in `Model`.
    """
    d = int(estimator.n_features_in_)
    vectors: Any = scores.support.astype(np.intp) if isinstance(scores.kernel, Precomputed) else scores.vectors
    coef = scores.coef
    counts = None if scores.class_boundaries is None else np.diff(scores.class_boundaries)
    if scores.w is not None:
        coef = coef[:, :0]
        counts = None if counts is None else 0 * counts
        vectors = np.zeros((0, d))
    shared: dict[str, Any] = {
        "kernel": scores.kernel, "vectors": vectors, "n_features": d, "feature_names": find_feature_names(estimator),
    }  # fmt: skip
    if counts is not None and classes is not None:
        return PairsModel(
            classes=classes, b=scores.b, coef=coef, counts=counts, w=scores.w, by_class=by_class,
            break_ties=break_ties, **shared,
        )  # fmt: skip
    if len(scores.b) > 1 and classes is not None:
        return AllInOneModel(classes=classes, b=scores.b, coef=np.ascontiguousarray(coef.T), w=scores.w, **shared)
    w = None if scores.w is None else scores.w[0]
    return Model(classes=classes, b=float(scores.b[0]), coef=coef[0], w=w, threshold=threshold, **shared)


def build_linear_scores(w: FloatArray, b: FloatArray) -> ScoreFunctions:
    """Build the decision functions of weights (P, d) and intercepts (P,) alone."""
    P, d = w.shape
    return ScoreFunctions(Linear(), np.zeros(0, dtype=np.intp), np.zeros((0, d)), np.zeros((P, 0)), b, w)


def find_feature_names(estimator: Any) -> tuple[str, ...] | None:
    """Return the column names of the data frame, or the feature names of the table, of the fit; else None."""
    names = getattr(estimator, "feature_names_in_", getattr(estimator, "_columns", None))
    return None if names is None else tuple(str(name) for name in names)
