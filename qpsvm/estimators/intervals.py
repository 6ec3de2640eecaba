"""Compute prediction intervals of regressors by the jackknife+, from exact leave-one-out machines."""

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
    """A regressor whose samples can be left out."""

    _left_out: tuple[LeaveOneOut, FloatArray] | None
    #: New samples as those of the machine are, (m, d), or kernel values with these.
    _prepare_points: Any

    def prediction_intervals(self, X: Any, alpha: float = 0.1) -> tuple[FloatArray, FloatArray]:
        """Return bounds that contain the target with a probability of at least 1 − 2 alpha, by the jackknife+.

        The first call after a fit leaves each sample out, exactly, and keeps these machines.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        alpha : float, default=0.1
            The share of targets that is to be missed: coverage is proven to be at least 1 − 2 alpha, and is near
            1 − alpha.

        Returns
        -------
        low, high : ndarray, shape (m,)
            Infinite where there are fewer than 1/alpha − 1 samples.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        ParameterError, ParameterTypeError
            `alpha` is not between 0 and 1.
        UnsupportedError
            More than 3000 samples; constraints; an indefinite kernel matrix; samples that are not in memory, or that a
            pickle has left out.
        SolverError
            `time_limit` was over before all samples were left out.

        Notes
        -----
        The guarantee holds for samples that are exchangeable with those of the fit, on the average over both, whatever
        their distribution. What is learnt of all samples in advance, as γ by "scale", C by a grid, or a scaler,
        is not without any of them: a number given in advance is.

        References
        ----------
        Barber, Candès, Ramdas & Tibshirani, *Predictive inference with the jackknife+* (2021).
        """
        check_is_fitted(self)
        alpha = check_missed_share(alpha, "alpha")
        points = self._prepare_points(X)
        self._left_out = found, target = getattr(self, "_left_out", None) or self._fit_left_out()
        return compute_intervals(found, target, points, alpha)

    def _fit_left_out(self) -> tuple[LeaveOneOut, FloatArray]:
        """Fit the machine without each sample; also return the targets (n,). Raises UnsupportedError, SolverError."""
        (result,) = self._all_results()
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
