"""Regressors with a kernel: `SVR`, `NuSVR` and `QuantileSVR`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import RegressorMixin

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.estimators import inputs
from qpsvm.estimators.inputs import StoredScore
from qpsvm.estimators.kernel_machine import OneMachine
from qpsvm.estimators.parameters import INFINITE_C, Parameter, finite, flag, share
from qpsvm.machines import EpsilonSVR, Problem
from qpsvm.machines import NuSVR as NuProblem
from qpsvm.machines import QuantileSVR as QuantileProblem
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram import PSDRule

#: What stands for an infinite C, one after the other: where no α reaches it, the solution is that of any larger one,
#: and the smaller it is the less rounding the certificate has to count.
VAST = (1e4, 1e8, 1e12)

#: In `SVMResult.kind`: at its bound.
BOUND = 2


class KernelRegressor(StoredScore, RegressorMixin, OneMachine):  # type: ignore[misc]
    """What the regressors with a kernel share."""

    _own: ClassVar[Mapping[str, Parameter]] = {"C": INFINITE_C}

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        matrix, kernel = self._training(X)
        n = matrix.shape[0]
        target, weight = inputs.numbers_of(y, n), inputs.weights_of(sample_weight, n)
        for C in VAST if math.inf == self.C else (self.C,):
            result = self._solved(self._problem(matrix, target, C, kernel, weight))
            reached = math.inf == self.C and bool((result.kind == BOUND).any())
            if not reached:
                break
        if reached:
            raise ParameterError("C=inf: no f keeps every sample within its tube; give a finite C, or a wider tube")
        self._keep_one(matrix, result)

    def _problem(self, X: Matrix, target: FloatArray, C: float, kernel: Kernel, weight: FloatArray | None) -> Problem:
        raise NotImplementedError


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

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: Any = False,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        psd: PSDRule = "clip",
    ) -> None:
        self._take(locals())

    def _problem(self, X: Matrix, target: FloatArray, C: float, kernel: Kernel, weight: FloatArray | None) -> Problem:
        return EpsilonSVR(
            X, target, C, self.epsilon, "absolute", kernel, weight, self.psd,
            "free" if self.fit_intercept else None, self.constraints,
        )  # fmt: skip


class NuSVR(KernelRegressor):
    """ν-support vector regression with a certified gap: `sklearn.svm.NuSVR` on this library's solvers.

    See Also
    --------
    SVR : With the width of the tube given.
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

    _own: ClassVar[Mapping[str, Parameter]] = {
        "nu": Parameter(
            "float",
            "In (0, 1]: a bound on the share of samples beyond the tube, and the least share of support vectors.",
            share,
        ),
        "fit_intercept": Parameter("bool", "False is refused: a ν-SVR has an intercept.", flag),
    }  # fmt: skip

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-6,
        cache_size: float = 200,
        verbose: Any = False,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        psd: PSDRule = "clip",
    ) -> None:
        self._take(locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.fit_intercept:
            raise UnsupportedError("NuSVR has an intercept always: take SVR(fit_intercept=False)")

    def _problem(self, X: Matrix, target: FloatArray, C: float, kernel: Kernel, weight: FloatArray | None) -> Problem:
        return NuProblem(X, target, C, self.nu, kernel, weight, self.psd, self.constraints)


class QuantileSVR(KernelRegressor):
    """Quantile regression with a kernel and a certified gap, which scikit-learn has for linear functions only.

    See Also
    --------
    SVR : The middle of the targets, with a tube.
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

    _own: ClassVar[Mapping[str, Parameter]] = {
        "quantile": Parameter("float", "In (0, 1): the share of the targets that is to lie below f.", finite)
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-6,
        cache_size: float = 200,
        verbose: Any = False,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        psd: PSDRule = "clip",
    ) -> None:
        self._take(locals())

    def _problem(self, X: Matrix, target: FloatArray, C: float, kernel: Kernel, weight: FloatArray | None) -> Problem:
        return QuantileProblem(
            X, target, C, self.quantile, kernel, weight, self.psd,
            "free" if self.fit_intercept else None, self.constraints,
        )  # fmt: skip
