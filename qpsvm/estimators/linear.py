"""What `LinearSVC` and `LinearSVR` share: their intercept is free unless scikit-learn's is asked for.

LIBLINEAR penalises the intercept: it appends a feature of the constant `intercept_scaling` to X and penalises its
weight like any other, so that the answer depends on where the origin is. Here that is what `intercept_scaling=` asks
for:

    (AUGMENT.1)  minimise ½‖w‖² + ½v² + loss of f(x) = ⟨w, x⟩ + s v:  b = s v, of which s = 1 penalises b itself
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.data.rows import RowSource
from qpsvm.estimators import inputs
from qpsvm.estimators.base import Estimator
from qpsvm.estimators.out_of_core import by_partition, is_dask, spread_to_predict
from qpsvm.estimators.parameters import (
    Check,
    flag,
    one_of,
    positive,
)
from qpsvm.estimators.saved import linear_scores, model_of
from qpsvm.result.all_in_one_model import JointModel
from qpsvm.result.model import Model
from qpsvm.result.pairs_model import PairsModel
from qpsvm.space.kernels.gram import Intercept


def scaling(value: Any, name: str) -> None:
    """Any number that is positive where it is used; None for a free intercept."""
    if value is not None:
        as_real(value, name)


class LinearMachine(Estimator):
    """What the two share: the intercept, and values of f."""

    _checks: ClassVar[Mapping[str, Check]] = {
        "C": positive, "dual": one_of("auto", True, False), "fit_intercept": flag, "intercept_scaling": scaling,
    }  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fit_intercept and self.intercept_scaling is not None and not self.intercept_scaling > 0.0:
            raise ParameterError(
                f"Intercept scaling is {self.intercept_scaling!r} but needs to be greater than 0. To disable fitting "
                "an intercept, set fit_intercept=False."
            )

    def _posed(self, X: Any) -> tuple[Any, Intercept, float]:
        """The samples of the problem, its intercept, and s where X has a column for it, else 0."""
        if not self.fit_intercept:
            return X, None, 0.0
        if self.intercept_scaling is None:
            return X, "free", 0.0
        if self.intercept_scaling == 1:
            return X, "penalised", 0.0
        if isinstance(X, RowSource) or is_dask(X):
            raise UnsupportedError(
                f"intercept_scaling={self.intercept_scaling:g} needs samples in memory: take 1 or None for samples "
                "that are stored"
            )
        ones = np.full((X.shape[0], 1), float(self.intercept_scaling))  # (AUGMENT.1)
        longer = sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
        return longer, None, float(self.intercept_scaling)

    @staticmethod
    def _parted(w: FloatArray | None, b: FloatArray, s: float) -> tuple[FloatArray, FloatArray]:
        """w (P, d) and b (P,), from those of the problem."""
        assert w is not None  # the kernel is linear
        return (w[:, :-1].copy(), s * w[:, -1]) if s else (w, b)

    def _model(self) -> Model | JointModel | PairsModel:
        w = self.coef_.toarray() if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        b = np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), len(w)).copy()
        return model_of(self, linear_scores(w, b), getattr(self, "classes_", None))

    def _values(self, X: Any) -> Any:
        """f of each machine, (m, P): of a Dask collection a Dask array."""
        check_is_fitted(self)
        if is_dask(X):
            array = spread_to_predict(self, X)
            w, b = np.atleast_2d(as_dense(self.coef_)), self.intercept_
            return by_partition(partial(_plane_values, w=w, b=b), array, len(w), np.float64)
        matrix = inputs.dense_if_small(inputs.samples(self, X))
        coef: Any = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        if isinstance(matrix, RowSource):
            return np.asarray(matrix.margins(np.ascontiguousarray(as_dense(coef).T)) + self.intercept_)
        return np.asarray(safe_sparse_dot(matrix, coef.T, dense_output=True) + self.intercept_)


def _plane_values(X: Any, w: FloatArray, b: FloatArray) -> FloatArray:
    """f of each machine at the rows of a partition: (k, P)."""
    return np.asarray(safe_sparse_dot(X, w.T, dense_output=True) + b, dtype=np.float64)
