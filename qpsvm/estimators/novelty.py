"""What is usual, and what is new: `OneClassSVM` and `SVDD`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.estimators import inputs
from qpsvm.estimators.base import all_at_once
from qpsvm.estimators.kernel_machine import OneMachine
from qpsvm.estimators.parameters import Check, share, watched
from qpsvm.estimators.saved import names_of
from qpsvm.machines import SVDD as BallProblem
from qpsvm.machines import OneClass, Problem
from qpsvm.result.all_in_one_model import JointModel
from qpsvm.result.model import Model
from qpsvm.result.pairs_model import PairsModel
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram import PSDRule

#: Values of f that are smaller than this share of its threshold are 0: samples on the margin, of which rounding would
#: decide, and it depends on how many rows are predicted at a time.
TIE = 1e-12


def settled(values: FloatArray, threshold: float) -> FloatArray:
    """Values of f, (m,), of which those on the margin are 0."""
    return np.where(np.abs(values) > TIE * abs(threshold), values, 0.0)


class KernelDetector(OutlierMixin, OneMachine):  # type: ignore[misc]
    """What the two share."""

    _checks: ClassVar[Mapping[str, Check]] = {**OneMachine._checks, "nu": share}
    _labels: ClassVar[tuple[int, int] | None] = (-1, 1)

    @watched
    @all_at_once
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine, and certify how close to its optimum it is.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows; the (n, n) kernel matrix of a precomputed kernel.
        y : None
            Not used.
        sample_weight : array_like, shape (n,), optional
            A sample whose weight is not positive takes no part.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError
            Samples or weights that cannot be used.
        ParameterError, ParameterTypeError, UnknownOptionError
            A parameter out of its range, of another type, or of another name.

        Warns
        -----
        GapWarning
            The certified gap is above `tol`; it is a `ConvergenceWarning` too.
        """
        del y
        self._check_parameters()
        X, _, sample_weight = self._opened(X, None, sample_weight)
        matrix, kernel = self._training(X)
        weight = inputs.weights_of(sample_weight, matrix.shape[0])
        self._keep_one(matrix, self._solved(self._problem(matrix, kernel, weight)))
        self.offset_ = -self.intercept_
        return self

    def _problem(self, X: Matrix, kernel: Kernel, weight: FloatArray | None) -> Problem:
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """How far inside each sample is: not negative for what is usual.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        matrix = self._predicting(X)
        return settled(self._scores(matrix)[:, 0], float(self.intercept_[0]))

    def score_samples(self, X: Any) -> FloatArray:
        """The decision value plus `offset_`.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: Any) -> NDArray[Any]:
        """+1 for what is usual, −1 for what is new.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray of int, shape (m,)
        """
        return np.asarray(np.where(self.decision_function(X) >= 0.0, 1, -1))


class OneClassSVM(KernelDetector):
    """One-class support vector machine with a certified gap: `sklearn.svm.OneClassSVM` on this library's solvers.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        A name, a kernel of this library, or a function `(X, Z) -> (n, m)`.
    degree, gamma, coef0
        Of the kernel, as of `SVC`.
    tol : float, default=1e-6
        The relative duality gap that has to be reached, all rounding counted.
    nu : float, default=0.5
        In (0, 1]: a bound on the share of samples outside, and the least share of support vectors.
    shrinking, cache_size
        Without effect: they belong to LIBSVM.
    verbose : bool, default=False
        Say what is going on.
    max_iter : int, default=-1
        Iterations of the solver; −1 for no limit.
    backend, constraints, warm_start, time_limit, psd
        As of `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, fit_status_, gap_, result_, n_iter_
        As of `SVR`.
    offset_ : ndarray, shape (1,)
        ρ: `decision_function` is `score_samples` less this.
    shape_fit_, n_features_in_, feature_names_in_
        As of `SVR`.

    See Also
    --------
    SVDD : A ball instead of a plane.
    qpsvm.OneClass : The problem itself.

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

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-6,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: Any = False,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        psd: PSDRule = "clip",
    ) -> None:
        self._take(locals())

    def _problem(self, X: Matrix, kernel: Kernel, weight: FloatArray | None) -> Problem:
        return OneClass(X, self.nu, kernel, weight, self.psd, self.constraints)


class SVDD(KernelDetector):
    """Support vector data description: the least ball that holds most samples, with a certified gap.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        A name, a kernel of this library, or a function `(X, Z) -> (n, m)`. "precomputed" cannot predict: the ball
        needs K(x, x) of new samples.
    degree, gamma, coef0, tol, nu, shrinking, cache_size, verbose, max_iter
        As of `OneClassSVM`.
    backend, constraints, warm_start, time_limit, psd
        As of `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, fit_status_, gap_, result_, n_iter_
        As of `OneClassSVM`.
    offset_ : ndarray, shape (1,)
        `decision_function` is `score_samples` less this.
    radius_ : float
        R of the ball, in feature space.
    center_ : ndarray, shape (d,)
        Its centre, of a linear kernel.
    shape_fit_, n_features_in_, feature_names_in_
        As of `OneClassSVM`.

    See Also
    --------
    OneClassSVM : A plane instead of a ball; of an RBF kernel the same.
    qpsvm.SVDD : The problem itself.

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

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-6,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: Any = False,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        psd: PSDRule = "clip",
    ) -> None:
        self._take(locals())

    @all_at_once
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the ball, and certify how close to the least one it is.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows; the (n, n) kernel matrix of a precomputed kernel.
        y : None
            Not used.
        sample_weight : array_like, shape (n,), optional
            A sample whose weight is not positive takes no part.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError, ParameterError, ParameterTypeError, UnknownOptionError
            As of `OneClassSVM.fit`.

        Warns
        -----
        GapWarning
            The certified gap is above `tol`; it is a `ConvergenceWarning` too.
        """
        super().fit(X, y, sample_weight)
        self.radius_ = float(self.result_.radius)
        if self.result_.model.w is not None:
            self.center_ = self.result_.centre
        return self

    def _problem(self, X: Matrix, kernel: Kernel, weight: FloatArray | None) -> Problem:
        return BallProblem(X, self.nu, kernel, weight, self.psd, self.constraints)

    def _model(self) -> Model | JointModel | PairsModel:
        return replace(self.result_.model, classes=np.array(self._labels), feature_names=names_of(self))

    def decision_function(self, X: Any) -> FloatArray:
        """R² − ‖φ(x) − c‖² of each sample: positive inside of the ball.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        matrix, radius = self._predicting(X), float(self.result_.radius)
        return settled(self.result_.model.decision_function(matrix), 0.0 if np.isnan(radius) else radius**2)
