"""`RankingSVM`: scores that put samples in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError
from qpsvm.estimators import inputs
from qpsvm.estimators.base import all_at_once
from qpsvm.estimators.kernel_machine import OneMachine
from qpsvm.estimators.parameters import Check, positive, watched
from qpsvm.machines import Ranking
from qpsvm.space.kernels.gram import PSDRule


class RankingSVM(OneMachine):
    """Ranking support vector machine with a certified gap: for i better than j, f(x_i) is to be f(x_j) + 1 at least.

    Parameters
    ----------
    C : float, default=1.0
        Price of slack of a pair, positive.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable, default="linear"
        A name, a kernel of this library, or a function `(X, Z) -> (n, m)`.
    degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As of `SVC`.
    backend, constraints, warm_start, time_limit, psd
        As of `SVC`.

    Attributes
    ----------
    pairs_ : ndarray of int, shape (m, 2)
        The pairs (better, worse) that were learnt from.
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, fit_status_, gap_, result_, n_iter_
        As of `SVR`; the intercept is 0, since a score says nothing but the order.
    shape_fit_, n_features_in_, feature_names_in_
        As of `SVR`.

    See Also
    --------
    qpsvm.Ranking : The problem itself.

    References
    ----------
    Joachims, *Optimizing search engines using clickthrough data*, KDD (2002).

    Examples
    --------
    >>> from qpsvm.estimators import RankingSVM
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]], [1, 2, 3, 3]
    >>> machine = RankingSVM().fit(X, y)
    >>> print(machine.predict(X).round(6), machine.score(X, y), machine.gap_ <= 1e-6)
    [-0.333333  0.666667  1.666667  2.333333] 1.0 True
    """

    _checks: ClassVar[Mapping[str, Check]] = {**OneMachine._checks, "C": positive}

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "linear",
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
        psd: PSDRule = "clip",
    ) -> None:
        self._take(locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @watched
    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the machine, and certify how close to its optimum it is.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows; the (n, n) kernel matrix of a precomputed kernel.
        y : array_like, shape (n,)
            How good each sample is.
        sample_weight : array_like, shape (n,), optional
            A pair costs C s_i s_j.
        groups : array_like, shape (n,), optional
            Only samples of the same group are compared.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError
            Samples or targets that cannot be used; no pair at all.
        ParameterError, ParameterTypeError, UnknownOptionError
            A parameter out of its range, of another type, or of another name.

        Warns
        -----
        GapWarning
            The certified gap is above `tol`; it is a `ConvergenceWarning` too.
        """
        self._check_parameters()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        matrix, kernel = self._training(X)
        n = matrix.shape[0]
        if n < 2:
            raise DataError(f"n_samples={n}: there are pairs to learn from among two samples or more")
        target, weight = inputs.numbers_of(y, n), inputs.weights_of(sample_weight, n)
        problem = Ranking(
            matrix,
            target,
            self.C,
            groups,
            None,
            kernel,
            weight,
            self.psd,
            self.constraints,
        )
        self.pairs_ = problem.pairs
        self._keep_one(matrix, self._solved(problem))
        return self

    def predict(self, X: Any) -> FloatArray:
        """The score of each sample: the better, the larger.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        matrix = self._predicting(X)
        return self._scores(matrix)[:, 0]

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """The share of pairs that are in order.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        y : array_like, shape (m,)
            How good each sample is.
        groups : array_like, shape (m,), optional
            Only samples of the same group are compared.

        Returns
        -------
        float
        """
        scores = self.predict(X)
        target = inputs.numbers_of(y, len(scores))
        among = np.zeros(len(scores)) if groups is None else np.unique(groups, return_inverse=True)[1]
        better = (target[:, None] > target[None, :]) & (among[:, None] == among[None, :])
        ahead = scores[:, None] > scores[None, :]
        return float((better & ahead).sum() / better.sum()) if better.any() else 1.0
