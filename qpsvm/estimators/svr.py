"""Define the kernel regressors `SVR`, `NuSVR` and `QuantileSVR`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from sklearn.base import RegressorMixin

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.errors import ParameterError
from qpsvm.estimators.growing import IncrementalEstimator
from qpsvm.estimators.intervals import IntervalRegressor
from qpsvm.estimators.kernel_machine import SingleMachine
from qpsvm.estimators.left_out import to_memory
from qpsvm.estimators.parameter_checks import check_penalty, check_share, make_intercept_check
from qpsvm.estimators.parameter_table import ParameterInfo
from qpsvm.estimators.stored_samples import StoredScoreMixin
from qpsvm.estimators.targets import check_targets, check_weights
from qpsvm.machines import EpsilonSVR, Problem
from qpsvm.machines import NuSVR as NuProblem
from qpsvm.machines import QuantileSVR as QuantileProblem
from qpsvm.result.svm_result import SVMResult

#: Values tried in place of an infinite C. If no α reaches C, the solution is that of any larger C. The smallest is
#: tried first: it has the smallest rounding errors in the certificate.
LARGE_PENALTIES = (1e4, 1e8, 1e12)
#: Value of `SVMResult.kind` for a sample at its bound.
AT_BOUND = 2


class KernelRegressor(IncrementalEstimator, IntervalRegressor, StoredScoreMixin, RegressorMixin, SingleMachine):  # type: ignore[misc]
    """Base of the regressors with a kernel."""

    _parameter_names: ClassVar[tuple[str, ...]] = ("C", "fit_intercept")
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "C": ParameterInfo(
            "float", "Penalty of an error beyond the tube, positive; `inf` allows none.", 1.0, check_penalty
        )
    }

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        matrix, kernel = self._prepare_training(X)
        n = matrix.shape[0]
        target = check_targets(y, n)
        weight = check_weights(sample_weight, n)
        build_problem = partial(self._build_problem, matrix, target, kernel=kernel, weight=weight)
        if math.inf == self.C:
            result = self._solve_hard_tube(build_problem)
        else:
            result = self._solve_one(build_problem(C=self.C))
        self._store_result(matrix, result)
        self._left_out = None

    def _solve_hard_tube(self, build_problem: Callable[..., Problem]) -> SVMResult:
        """Solve with C = ∞, given a function that builds the problem for a finite C. Raises ParameterError."""
        for C in LARGE_PENALTIES:
            result = self._solve_one(build_problem(C=C))
            if not (result.kind == AT_BOUND).any():
                return result
        raise ParameterError("C=inf: no f keeps every sample within its tube; give a finite C, or a wider tube")

    def _prepare_points(self, X: Any) -> Any:
        return to_memory(self._prepare_prediction(X))


class SVR(KernelRegressor):
    """ε-support vector regression with a certified gap: `sklearn.svm.SVR` on this library's solvers.

    See Also
    --------
    NuSVR : Finds the width of its tube.
    qpsvm.EpsilonSVR : The problem itself.

    References
    ----------
    Smola & Schölkopf, *A tutorial on support vector regression*, Statistics and Computing 14 (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import SVR
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> machine = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> print(np.abs(machine.predict(X) - np.sin(X[:, 0])).max().round(2), machine.gap_ <= 1e-6)
    0.05 True
    """

    _problem_class = EpsilonSVR
    _parameter_names = ("epsilon",)


class NuSVR(KernelRegressor):
    """ν-support vector regression with a certified gap: `sklearn.svm.NuSVR` on this library's solvers.

    See Also
    --------
    SVR : With a given width of the tube.
    qpsvm.NuSVR : The problem itself; `result_.epsilon` is the width that was found.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, Neural Computation 12 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import NuSVR
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> machine = NuSVR(C=10.0, nu=0.3).fit(X, np.sin(X[:, 0]))
    >>> print(len(machine.support_) >= 0.3 * 40, machine.result_.epsilon < 0.05, machine.gap_ <= 1e-6)
    True True True
    """

    _problem_class = NuProblem
    _parameter_names = ("nu",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "nu": ParameterInfo(
            "float",
            "In (0, 1]: upper bound on the fraction of samples outside the tube, lower bound on that of support "
            "vectors.",
            0.5,
            check_share,
        ),
        "fit_intercept": ParameterInfo(
            "bool", "Must be True: a ν-SVR has an intercept.", True, make_intercept_check("SVR")
        ),
    }


class QuantileSVR(KernelRegressor):
    """Quantile regression with a kernel and a certified gap, which scikit-learn has for linear functions only.

    See Also
    --------
    SVR : Regression with an ε-insensitive tube.
    qpsvm.QuantileSVR : The problem itself.

    References
    ----------
    Takeuchi, Le, Sears & Smola, *Nonparametric quantile estimation*, JMLR 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import QuantileSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (100, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=100)
    >>> machine = QuantileSVR(quantile=0.9, C=1.0).fit(X, y)
    >>> print(np.mean(y <= machine.predict(X) + 1e-9) >= 0.9, machine.gap_ <= 1e-6)
    True True
    """

    _problem_class = QuantileProblem
    _parameter_names = ("quantile",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "quantile": ParameterInfo("float", "In (0, 1): the share of the targets below f.", 0.5, as_real)
    }
