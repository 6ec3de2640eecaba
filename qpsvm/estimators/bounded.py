"""Bound f and predictions of every exact optimum, given an estimator's certified gap (`BoundedEstimator`)."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.estimators.base import Estimator


class BoundedEstimator(Estimator):
    """An estimator with bounds on f over all exact optima."""

    #: Whether f of the estimator is f of its result divided by ρ, as in scikit-learn's `NuSVC`.
    _is_divided_by_rho: ClassVar[bool] = False
    #: Method of the subclass that prepares new samples, (m, d), or kernel values, for `SVMResult.decision_bounds`.
    _prepare_points: Any
    #: Whether f is positive for the first class of a pair, not the second, as in scikit-learn for 3 or more classes.
    _is_first_positive: Any = False

    def decision_bounds(self, X: Any, *, diagonal: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds on f(x) over all exact optima, rounding included, by (OPTIMA.3).

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        diagonal : array_like, shape (m,), optional
            K(x, x) of each row, for a precomputed kernel or a user's function.

        Returns
        -------
        low, high : ndarray, shape (m,), or (m, P) for several machines
            For more than two classes, one column per pair, with f positive for its first class, or per class.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        UnsupportedError
            As for `SVMResult.decision_bounds`. The estimator is from a pickle, which has no samples; or it is a
            `NuSVC`, whose f is divided by ρ: `results_[k].decision_bounds` bounds f before this division.
        """
        if self._is_divided_by_rho:
            raise UnsupportedError(
                f"f of a {type(self).__name__} is divided by ρ, which is only known within bounds: call "
                "results_[k].decision_bounds(X), or proven(X) for the labels"
            )
        low, high = self._compute_bounds(X, diagonal)
        if low.shape[1] == 1:
            return low[:, 0], high[:, 0]
        return low, high

    def _compute_bounds(self, X: Any, diagonal: Any) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds on f of each of P machines: (m, P) each."""
        check_is_fitted(self)
        points = self._prepare_points(X)
        results = self._list_results()
        if diagonal is not None and len(results) > 1:
            raise UnsupportedError("each machine has its own kernel matrix: call results_[k].decision_bounds")
        bounds = [result.decision_bounds(points, diagonal=diagonal) for result in results]
        low, high = (np.column_stack(columns) for columns in zip(*bounds, strict=True))
        return (-high, -low) if self._is_first_positive else (low, high)  # results are positive for the second class


class BoundedRegressor(BoundedEstimator):
    """A regressor that tells which predictions are proven."""

    def proven(self, X: Any, *, within: float, diagonal: Any = None) -> NDArray[np.bool_]:
        """Tell which predictions differ by at most `within` from those of every exact optimum.

        Parameters
        ----------
        X, diagonal
            As for `decision_bounds`.
        within : float
            Largest allowed difference.

        Returns
        -------
        ndarray of bool, shape (m,)

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError, UnsupportedError, ParameterError
        """
        check_is_fitted(self)
        proven: NDArray[np.bool_] = self._list_results()[0].proven(
            self._prepare_points(X), within=within, diagonal=diagonal
        )
        return proven


class BoundedClassifier(BoundedEstimator):
    """A classifier that tells which labels are proven."""

    classes_: NDArray[Any]

    def proven(self, X: Any, *, diagonal: Any = None) -> NDArray[np.bool_]:
        """Tell which labels every exact optimum predicts.

        For more than two classes, the least score of the label has to exceed the largest possible scores of all others.

        Parameters
        ----------
        X, diagonal
            As for `decision_bounds`.

        Returns
        -------
        ndarray of bool, shape (m,)
            False if this is not proven, even if it may be true.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError, UnsupportedError
        """
        low, high = self._compute_bounds(X, diagonal)
        codes = np.searchsorted(self.classes_, self.predict(X))
        if low.shape[1] == 1:  # two classes: f > 0 predicts the second
            return np.asarray(np.where(codes == 1, low[:, 0] > 0.0, high[:, 0] < 0.0))
        if self._is_first_positive:  # scores are votes; a pair may vote for either class if the sign of f is open
            k = len(self.classes_)
            low, high = _count_votes(low > 0.0, high < 0.0, k), _count_votes(high >= 0.0, low <= 0.0, k)
        rows = np.arange(len(codes))
        rival_scores = high.copy()
        rival_scores[rows, codes] = -np.inf
        return np.asarray(low[rows, codes] > rival_scores.max(axis=1))


class BoundedDetector(BoundedEstimator):
    """A novelty detector that tells which predictions are proven."""

    #: Method that predicts −1 or 1 for each sample; its `diagonal` is K(x, x), as for `decision_bounds`.
    predict: Any

    def proven(self, X: Any, *, diagonal: Any = None) -> NDArray[np.bool_]:
        """Tell which predictions, 1 inside and −1 outside, every exact optimum shares.

        Parameters
        ----------
        X, diagonal
            As for `decision_bounds`.

        Returns
        -------
        ndarray of bool, shape (m,)
            False if this is not proven, as for support vectors on the boundary.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError, UnsupportedError
        """
        low, high = self._compute_bounds(X, diagonal)
        return np.asarray(np.where(self.predict(X, diagonal=diagonal) > 0, low[:, 0] > 0.0, high[:, 0] < 0.0))


def _count_votes(is_for_first: NDArray[np.bool_], is_for_second: NDArray[np.bool_], k: int) -> FloatArray:
    """Count the votes for each class, (m, k), given whether each pair votes for its first and second class, (m, P)."""
    votes = np.zeros((len(is_for_first), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        votes[:, i] += is_for_first[:, p]
        votes[:, j] += is_for_second[:, p]
    return votes
