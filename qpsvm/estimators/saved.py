"""Fitted estimators as models: what predicts, without the estimator and without pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.result.all_in_one_model import JointModel
from qpsvm.result.model import Model
from qpsvm.result.pairs_model import PairsModel
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.scores import Scores


def names_of(estimator: Any) -> tuple[str, ...] | None:
    """The columns of the data frame of the fit, if it was one."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def model_of(
    estimator: Any, scores: Scores, classes: NDArray[Any] | None, by_class: bool = True, break_ties: bool = False
) -> Model | JointModel | PairsModel:
    """The model of decision functions; classes are None of a machine that predicts f itself."""
    d = int(estimator.n_features_in_)
    rows: Any = scores.support.astype(np.intp) if isinstance(scores.kernel, Precomputed) else scores.vectors
    coef, counts = scores.coef, None if scores.ends is None else np.diff(scores.ends)
    if scores.w is not None:
        coef, counts, rows = coef[:, :0], None if counts is None else 0 * counts, np.zeros((0, d))
    shared: dict[str, Any] = {
        "kernel": scores.kernel, "vectors": rows, "n_features": d, "feature_names": names_of(estimator),
    }  # fmt: skip
    if counts is not None and classes is not None:
        return PairsModel(
            classes=classes, b=scores.b, coef=coef, counts=counts, w=scores.w, by_class=by_class,
            break_ties=break_ties, **shared,
        )  # fmt: skip
    if len(scores.b) > 1 and classes is not None:
        return JointModel(classes=classes, b=scores.b, coef=np.ascontiguousarray(coef.T), w=scores.w, **shared)
    w = None if scores.w is None else scores.w[0]
    return Model(classes=classes, b=float(scores.b[0]), coef=coef[0], w=w, **shared)


def linear_scores(w: FloatArray, b: FloatArray) -> Scores:
    """Decision functions of weights (P, d) and intercepts (P,) alone."""
    P, d = w.shape
    return Scores(Linear(), np.zeros(0, dtype=np.intp), np.zeros((0, d)), np.zeros((P, 0)), b, w)
