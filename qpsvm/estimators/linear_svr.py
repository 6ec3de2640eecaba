"""`LinearSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from qpsvm.base.errors import ParameterError
from qpsvm.estimators import inputs
from qpsvm.estimators.base import all_at_once
from qpsvm.estimators.linear import LinearMachine
from qpsvm.estimators.out_of_core import StoredScore, is_dask, rows_of
from qpsvm.estimators.parameters import (
    Check,
    not_negative,
    one_of,
    watched,
)
from qpsvm.machines import EpsilonSVR

#: LIBLINEAR's words for a loss, and what `EpsilonSVR` calls it.
TUBES: dict[str, Literal["absolute", "squared"]] = {
    "epsilon_insensitive": "absolute",
    "squared_epsilon_insensitive": "squared",
}


class LinearSVR(StoredScore, RegressorMixin, LinearMachine):  # type: ignore[misc]
    """Linear support vector regression with a free intercept, which `sklearn.svm.LinearSVR` penalises, and a certified
    gap.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube within which an error costs nothing.
    tol : float, default=1e-6
        The relative duality gap that has to be reached, all rounding counted.
    C : float, default=1.0
        Price of an error beyond the tube, positive.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Such an error e costs C e or C e².
    fit_intercept : bool, default=True
        False for f(x) = ⟨w, x⟩.
    intercept_scaling : float, optional
        Where it is given, the intercept is penalised as LIBLINEAR's: scikit-learn's default is 1.
    dual : "auto" or bool, default="auto"
        Without effect, since every answer is certified by both forms; what LIBLINEAR refuses is refused.
    verbose : bool or int, default=0
        Say what is going on.
    random_state : int or None, default=None
        Without effect: nothing is random.
    max_iter : int, default=-1
        Iterations of the solver; −1 for no limit.
    backend : str, default="auto"
        Who solves: one of `qpsvm.backends.names()`.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f have to keep.
    warm_start : bool, default=False
        Begin where the last fit ended, if it was over as many samples.
    time_limit : float, optional
        Seconds; a fit that needs more ends with the best certified point and a `GapWarning`.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        The weights of the features.
    intercept_ : ndarray, shape (1,)
        The intercept.
    n_iter_ : int
        Iterations of the solver.
    fit_status_ : int
        0 where the gap is certified to be within `tol`, else 1.
    gap_ : float
        The certified relative gap.
    result_ : SVMResult
        The certified result.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str, shape (d,)
        Where X was a data frame.

    See Also
    --------
    SVR : With a kernel.
    qpsvm.EpsilonSVR : The problem itself.

    References
    ----------
    Ho & Lin, *Large-scale linear support vector regression*, JMLR 13 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import LinearSVR
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = LinearSVR(C=10.0).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> print(machine.coef_.round(6), machine.intercept_.round(6), machine.gap_ <= 1e-6)
    [2.] [1.] True
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        **LinearMachine._checks, "epsilon": not_negative, "loss": one_of(*TUBES),
    }  # fmt: skip

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        dual: Any = "auto",
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self._take(locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss == "epsilon_insensitive" and self.dual is False:
            raise ParameterError(
                f"Unsupported set of arguments: the combination of loss={self.loss!r} and dual=False is not supported"
            )

    @watched
    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine, and certify how close to its optimum it is.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows.
        y : array_like, shape (n,)
            Targets.
        sample_weight : array_like, shape (n,), optional
            Factors of C. A sample whose weight is not positive takes no part.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError, ParameterError, ParameterTypeError, UnknownOptionError
            As of `LinearSVC.fit`.

        Warns
        -----
        GapWarning
            The certified gap is above `tol`; it is a `ConvergenceWarning` too.
        """
        self._check_parameters()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        if is_dask(X):
            rows_of(self, X, y, sample_weight)
            matrix, target, weight = X, y, sample_weight
        else:
            matrix = inputs.dense_if_small(inputs.training_samples(self, X))
            n = matrix.shape[0]
            target, weight = inputs.numbers_of(y, n), inputs.weights_of(sample_weight, n)
        posed, intercept, s = self._posed(matrix)
        problem = EpsilonSVR(
            posed, target, self.C, self.epsilon, TUBES[self.loss], sample_weight=weight, intercept=intercept,
            constraints=self.constraints,
        )  # fmt: skip
        self.result_ = self._solved(problem)
        w, self.intercept_ = self._parted(self.result_.w[None, :], np.array([self.result_.b]), s)
        self.coef_ = w[0]
        self.n_iter_ = int(self._iterations(self.result_.iterations or 0))
        return self

    def predict(self, X: Any) -> Any:
        """f of each sample.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        return self._values(X)[:, 0]
