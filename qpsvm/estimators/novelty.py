"""Define the novelty detectors `OneClassSVM` and `SVDD`, whose decision value f is nonnegative for inliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from qpsvm.base.arrays.types import FloatArray
from qpsvm.estimators.bounded import BoundedDetector
from qpsvm.estimators.growing import IncrementalEstimator
from qpsvm.estimators.kernel_machine import SingleMachine
from qpsvm.estimators.kernel_parameter import evaluate_diagonal
from qpsvm.estimators.models import AnyModel, find_feature_names
from qpsvm.estimators.parameter_checks import check_share
from qpsvm.estimators.parameter_table import PARAMETERS, ParameterInfo
from qpsvm.estimators.targets import check_weights
from qpsvm.machines import SVDD as SVDDProblem
from qpsvm.machines import OneClass
from qpsvm.result.model import snap_margins


class KernelDetector(IncrementalEstimator, BoundedDetector, OutlierMixin, SingleMachine):  # type: ignore[misc]
    """Base of `OneClassSVM` and `SVDD`."""

    _parameter_names: ClassVar[tuple[str, ...]] = ("nu",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "nu": ParameterInfo(
            "float",
            "In (0, 1]: upper bound on the fraction of outliers, lower bound on that of support vectors.",
            0.5,
            check_share,
        )
    }
    _attribute_names: ClassVar[tuple[str, ...]] = (*SingleMachine._attribute_names, "offset_")
    _labels: ClassVar[tuple[int, int] | None] = (-1, 1)

    def _open_samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Open stored samples without their target."""
        del y
        return super()._open_samples(X, None, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        del y
        matrix, kernel = self._prepare_training(X)
        weight = check_weights(sample_weight, matrix.shape[0])
        problem = self._build_problem(matrix, kernel=kernel, weight=weight)
        self._store_result(matrix, self._solve_one(problem))
        self.offset_ = -self.intercept_

    def _prepare_points(self, X: Any) -> Any:
        return self._prepare_prediction(X)

    def decision_function(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return the decision value of each sample: nonnegative for inliers.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        diagonal : array_like, shape (m,), optional
            K(x, x) of each row, for an `SVDD` with a precomputed kernel.

        Returns
        -------
        ndarray, shape (m,)
        """
        del diagonal
        matrix = self._prepare_prediction(X)
        return snap_margins(self._scores(matrix)[:, 0], float(self.intercept_[0]))

    def score_samples(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return the decision value plus `offset_`.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        diagonal : array_like, shape (m,), optional
            As for `decision_function`.

        Returns
        -------
        ndarray, shape (m,)
        """
        return np.asarray(self.decision_function(X, diagonal=diagonal) + self.offset_)

    def predict(self, X: Any, *, diagonal: Any = None) -> NDArray[Any]:
        return np.asarray(np.where(self.decision_function(X, diagonal=diagonal) >= 0.0, 1, -1))


class OneClassSVM(KernelDetector):
    """One-class support vector machine with a certified gap: `sklearn.svm.OneClassSVM` on this library's solvers.

    See Also
    --------
    SVDD : A ball instead of a hyperplane.
    qpsvm.OneClass : The underlying problem.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola & Williamson, *Estimating the support of a high-dimensional distribution*,
    Neural Computation 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> machine = OneClassSVM(nu=0.1).fit(X)
    >>> print(machine.predict([[0.5, 0.0], [5.0, 5.0]]), np.mean(machine.predict(X) < 0) <= 0.15, machine.gap_ <= 1e-6)
    [ 1 -1] True True
    """

    _problem_class = OneClass


class SVDD(KernelDetector):
    """Support vector data description: the smallest ball that contains most samples, with a certified gap.

    See Also
    --------
    OneClassSVM : A hyperplane instead of a ball; equivalent for an RBF kernel.
    qpsvm.SVDD : The underlying problem.

    References
    ----------
    Tax & Duin, *Support vector data description*, Machine Learning 54 (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import SVDD
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> machine = SVDD(kernel="linear", nu=0.1).fit(X)
    >>> print(machine.center_.shape, machine.predict([[0.0, 0.0], [5.0, 5.0]]), machine.gap_ <= 1e-6)
    (2,) [ 1 -1] True
    """

    _problem_class = SVDDProblem
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "kernel": replace(
            PARAMETERS["kernel"],
            meaning=f'{PARAMETERS["kernel"].meaning} With "precomputed", new samples need K(x, x) as `diagonal`.',
        )
    }
    _attribute_names: ClassVar[tuple[str, ...]] = (*KernelDetector._attribute_names, "radius_", "center_")

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._fit(X, y, sample_weight)
        self.radius_ = float(self.result_.radius)
        if self.result_.model.w is not None:
            self.center_ = self.result_.centre

    def _build_model(self) -> AnyModel:
        return replace(self.result_.model, classes=np.array(self._labels), feature_names=find_feature_names(self))

    def decision_function(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return R² − ‖φ(x) − c‖² of each sample: positive inside the ball.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        diagonal : array_like, shape (m,), optional
            K(x, x) of each row, for a precomputed kernel.

        Returns
        -------
        ndarray, shape (m,)
        """
        matrix = self._prepare_prediction(X)
        if self._function_samples is not None and diagonal is None:
            diagonal = evaluate_diagonal(self.kernel, X)
        return self.result_.model.decision_function(matrix, diagonal=diagonal)
