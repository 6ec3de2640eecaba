"""Compute prediction intervals of regressors by the jackknife+ (`IntervalRegressor`)."""

from __future__ import annotations

from time import monotonic
from typing import Any

from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.estimators.bounded import BoundedRegressor
from qpsvm.estimators.left_out import check_left_out, check_missed_share, compute_intervals, fit_leave_one_out
from qpsvm.machines import Problem
from qpsvm.many.exact.leave_one_out import LeaveOneOut


class IntervalRegressor(BoundedRegressor):
    """A regressor with prediction intervals."""

    _left_out: tuple[LeaveOneOut, FloatArray] | None
    #: Method that prepares new samples, (m, d), or kernel values, for the machine.
    _prepare_points: Any

    def prediction_intervals(self, X: Any, alpha: float = 0.1) -> tuple[FloatArray, FloatArray]:
        """Return bounds that contain the target with a probability of at least 1 − 2 alpha, by the jackknife+.

        The first call after a fit computes and stores the exact machines without each sample.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        alpha : float, default=0.1
            Share of missed targets: the coverage is proven to be at least 1 − 2 alpha, and is near 1 − alpha.

        Returns
        -------
        low, high : ndarray, shape (m,)
            Infinite if there are fewer than 1/alpha − 1 samples.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        ParameterError, ParameterTypeError
            `alpha` is not between 0 and 1.
        UnsupportedError
            More than 3000 samples; constraints; an indefinite kernel matrix; samples that are not in memory, or
            were not pickled.
        SolverError
            `time_limit` was exceeded before all samples were left out.

        Notes
        -----
        The guarantee holds for samples exchangeable with those of the fit, on average over both, for any distribution.
        Parameters that were computed from all samples, such as γ by "scale", C by a grid search, or a scaler, violate
        its assumptions; fixed numbers do not.

        References
        ----------
        Barber, Candès, Ramdas & Tibshirani, *Predictive inference with the jackknife+* (2021).
        """
        check_is_fitted(self)
        alpha = check_missed_share(alpha, "alpha")
        points = self._prepare_points(X)
        self._left_out = left_out, target = getattr(self, "_left_out", None) or self._fit_left_out()
        return compute_intervals(left_out, target, points, alpha)

    def _fit_left_out(self) -> tuple[LeaveOneOut, FloatArray]:
        """Fit the machine without each sample; also return the targets (n,). Raises UnsupportedError, SolverError."""
        (result,) = self._list_results()
        problem = result.problem
        if not isinstance(problem, Problem):
            raise UnsupportedError(
                "to leave samples out needs those of the fit, which a pickle or copy of the estimator leaves out: fit "
                "again, or ask for intervals before it is pickled"
            )
        instead = "hold some samples out, and rank the residuals there"
        check_left_out(type(self).__name__, problem.X, len(problem.active_rows), instead, self.constraints)
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        return fit_leave_one_out(self, problem, result, deadline), problem.samples.target
