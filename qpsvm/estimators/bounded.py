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

    #: Whether f is that of the results divided by ρ.
    _is_divided_by_rho: ClassVar[bool] = False
    #: Method that prepares new samples, (m, d), or kernel values, for the machines.
    _prepare_points: Any
    #: Whether there is a machine per pair of classes, with f positive for the first.
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
            For several classes, f of each pair, positive for its first class, or of each class.

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
        """Bound f of every machine: (m, P) each."""
        check_is_fitted(self)
        points = self._prepare_points(X)
        results = self._list_results()
        if diagonal is not None and len(results) > 1:
            raise UnsupportedError("each machine has a kernel matrix of its own: ask results_[k].decision_bounds")
        bounds = [result.decision_bounds(points, diagonal=diagonal) for result in results]
        low, high = (np.column_stack([pair[k] for pair in bounds]) for k in (0, 1))
        return (-high, -low) if self._is_first_positive else (low, high)


class BoundedRegressor(BoundedEstimator):
    """A regressor with bounds."""

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
    """A classifier with bounds."""

    classes_: NDArray[Any]

    def proven(self, X: Any, *, diagonal: Any = None) -> NDArray[np.bool_]:
        """Tell which labels every exact optimum predicts; for several classes, labels that no open vote can change.

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
        codes, k = np.searchsorted(self.classes_, self.predict(X)), len(self.classes_)
        if low.shape[1] == 1:
            return np.asarray(np.where(codes == 1, low[:, 0] > 0.0, high[:, 0] < 0.0))
        if self._is_first_positive:
            low, high = _count_votes(low > 0.0, high < 0.0, k), _count_votes(high >= 0.0, low <= 0.0, k)
        rows = np.arange(len(codes))
        other_votes = high.copy()
        other_votes[rows, codes] = -np.inf
        return np.asarray(low[rows, codes] > other_votes.max(axis=1))


class BoundedDetector(BoundedEstimator):
    """A novelty detector with bounds."""

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


def _count_votes(first: NDArray[np.bool_], second: NDArray[np.bool_], k: int) -> FloatArray:
    """Count the votes of each class, (m, k), given whether pairs, (m, P) each, are for their first or their second."""
    votes = np.zeros((len(first), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        votes[:, i] += first[:, p]
        votes[:, j] += second[:, p]
    return votes
