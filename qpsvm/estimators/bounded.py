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

    #: Whether the estimator's f is that of its results divided by ρ.
    _is_divided_by_rho: ClassVar[bool] = False
    #: Method that prepares new samples, (m, d), or their kernel values, for `SVMResult.decision_bounds`.
    _prepare_points: Any
    #: Whether f is positive for the first class of a pair, as in scikit-learn for more than two classes.
    _is_first_positive: Any = False

    def decision_bounds(self, X: Any, *, diagonal: Any = None) -> tuple[FloatArray, FloatArray]:
        """Bound f(x) of every exact optimum from below and above, rounding included: (OPTIMA.3).

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        diagonal : array_like, shape (m,), optional
            K(x, x) of each row, for a precomputed kernel or a user's function.

        Returns
        -------
        low, high : ndarray, shape (m,), or (m, P) for several machines
            For several classes, those of each pair, with f positive for its first class, or of each class.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        UnsupportedError
            As for `SVMResult.decision_bounds`; an estimator from a pickle, which has no samples; and `NuSVC`, whose f
            is divided by ρ: its `results_` have bounds.
        """
        if self._is_divided_by_rho:
            raise UnsupportedError(
                f"f of a {type(self).__name__} is divided by ρ, which has bounds of its own: ask "
                "results_[k].decision_bounds(X); proven(X) is of the labels"
            )
        low, high = self._compute_bounds(X, diagonal)
        return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)

    def _compute_bounds(self, X: Any, diagonal: Any) -> tuple[FloatArray, FloatArray]:
        """Bound f of each of P machines from below and above: (m, P) each."""
        check_is_fitted(self)
        points = self._prepare_points(X)
        results = self._list_results()
        if diagonal is not None and len(results) > 1:
            raise UnsupportedError("each machine has a kernel matrix of its own: ask results_[k].decision_bounds")
        bounds = [result.decision_bounds(points, diagonal=diagonal) for result in results]
        low, high = (np.column_stack([pair[k] for pair in bounds]) for k in (0, 1))
        return (-high, -low) if self._is_first_positive else (low, high)


class BoundedRegressor(BoundedEstimator):
    """A regressor that tells which predictions are proven."""

    def proven(self, X: Any, *, within: float, diagonal: Any = None) -> NDArray[np.bool_]:
        """Tell which predictions differ by at most `within` from those of every exact optimum.

        Parameters
        ----------
        X, diagonal
            As for `decision_bounds`.
        within : float
            Largest difference.

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

        For several classes, the least score of the label has to exceed the largest score of every other class.

        Parameters
        ----------
        X, diagonal
            As for `decision_bounds`.

        Returns
        -------
        ndarray of bool, shape (m,)
            False if that is not proven, even if it may be true.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError, UnsupportedError
        """
        low, high = self._compute_bounds(X, diagonal)
        codes = np.searchsorted(self.classes_, self.predict(X))
        if low.shape[1] == 1:
            return np.asarray(np.where(codes == 1, low[:, 0] > 0.0, high[:, 0] < 0.0))
        if self._is_first_positive:  # the scores are votes; a pair whose sign is open may vote for either class
            k = len(self.classes_)
            low, high = _count_votes(low > 0.0, high < 0.0, k), _count_votes(high >= 0.0, low <= 0.0, k)
        rows = np.arange(len(codes))
        rival_scores = high.copy()
        rival_scores[rows, codes] = -np.inf
        return np.asarray(low[rows, codes] > rival_scores.max(axis=1))


class BoundedDetector(BoundedEstimator):
    """A novelty detector that tells which predictions are proven."""

    #: Method that predicts −1 or 1 for each sample, possibly from K(x, x).
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
            False if that is not proven, as for support vectors on the boundary.

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
