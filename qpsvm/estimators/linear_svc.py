"""`LinearSVC`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.estimators import inputs
from qpsvm.estimators.base import SeveralMachines, all_at_once
from qpsvm.estimators.classifiers import JOINT, continued, solve_joint
from qpsvm.estimators.linear import LinearMachine
from qpsvm.estimators.out_of_core import by_partition, classes_of, is_dask, rows_of, targets
from qpsvm.estimators.parameters import (
    Check,
    class_weight,
    one_of,
    watched,
    workers,
)
from qpsvm.machines import Problem
from qpsvm.many.multiclass import Together, solve_pairs, solve_rest
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.gram import Intercept

#: LIBLINEAR's words for a loss, and the machine with it.
LOSSES = {"hinge": "CSVM", "squared_hinge": "SquaredHinge"}


class LinearSVC(SeveralMachines, LinearClassifierMixin, SparseCoefMixin, LinearMachine):  # type: ignore[misc]
    """Linear support vector classification with a free intercept, which `sklearn.svm.LinearSVC` penalises, and a
    certified gap.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        "l1" is refused: its problem is no machine with a kernel.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Slack costs C ξ² or C ξ.
    dual : "auto" or bool, default="auto"
        Without effect, since every answer is certified by both forms; what LIBLINEAR refuses is refused.
    tol : float, default=1e-6
        The relative duality gap that has to be reached, all rounding counted.
    C : float, default=1.0
        Price of slack, positive.
    multi_class : {"ovr", "crammer_singer", "weston_watkins"}, default="ovr"
        More than two classes: a machine for each against all others, or a joint one.
    fit_intercept : bool, default=True
        False for f(x) = ⟨w, x⟩.
    intercept_scaling : float, optional
        Where it is given, the intercept is penalised as LIBLINEAR's: scikit-learn's default is 1.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by label.
    verbose : bool or int, default=0
        Say what is going on.
    random_state : int or None, default=None
        Without effect: nothing is random.
    max_iter : int, default=-1
        Iterations of the solver; −1 for no limit.
    backend : str, default="auto"
        Who solves: one of `qpsvm.backends.names()`.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f of every machine have to keep.
    warm_start : bool, default=False
        Begin where the last fit ended, if it was over as many samples.
    time_limit : float, optional
        Seconds of the whole fit; one that needs more ends with the best certified points and a `GapWarning`.
    n_jobs : int, optional
        Processes for the machines of several classes, by joblib.

    Attributes
    ----------
    coef_ : ndarray, shape (1, d) or (k, d)
        The weights of the features, one row for each machine.
    intercept_ : ndarray, shape (1,) or (k,)
        One for each machine.
    classes_ : ndarray, shape (k,)
        The labels in sort order.
    n_iter_ : int
        The largest number of iterations.
    fit_status_ : int
        0 where every gap is certified to be within `tol`, else 1.
    gap_ : float
        The largest of the certified relative gaps.
    results_ : sequence of SVMResult
        The certified result of each machine; of two classes there is also `result_`.
    class_weight_ : ndarray, shape (k,)
        The factor of C of each class.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str, shape (d,)
        Where X was a data frame.

    See Also
    --------
    SVC : With a kernel.
    qpsvm.SquaredHinge, qpsvm.CSVM : The problems themselves.

    Notes
    -----
    A penalised intercept moves the boundary towards the origin, so that the answer changes where X is shifted;
    ``intercept_scaling=1`` solves that problem, scikit-learn's, exactly.

    References
    ----------
    Fan et al., *LIBLINEAR: a library for large linear classification*, JMLR 9 (2008).

    Examples
    --------
    Samples far from the origin, where a penalised intercept is far from the best one:

    >>> import numpy as np
    >>> from qpsvm.estimators import LinearSVC
    >>> X, y = np.array([[100.0], [101.0], [103.0], [104.0]]), [0, 0, 1, 1]
    >>> free = LinearSVC(loss="hinge", C=1.0).fit(X, y)
    >>> print(free.coef_.round(6), free.intercept_.round(6), free.score(X, y))
    [[1.]] [-102.] 1.0
    >>> print(LinearSVC(loss="hinge", C=1.0, intercept_scaling=1).fit(X, y).score(X, y))
    0.5
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        **LinearMachine._checks, "penalty": one_of("l2", "l1"), "loss": one_of(*LOSSES), "class_weight": class_weight,
        "multi_class": one_of("ovr", "crammer_singer", "weston_watkins"), "n_jobs": workers,
    }  # fmt: skip

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int = -1,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._take(locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multi_class != "ovr":
            return
        if self.penalty == "l1" and self.loss == "squared_hinge" and self.dual is not True:
            raise UnsupportedError("penalty='l1' is not supported: sklearn.svm.LinearSVC solves that problem")
        if self.penalty == "l1" or (self.loss == "hinge" and self.dual is False):
            raise ParameterError(
                f"Unsupported set of arguments: the combination of penalty={self.penalty!r}, loss={self.loss!r} and "
                f"dual={self.dual!r} is not supported"
            )

    @watched
    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machines, and certify how close to their optima they are.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows.
        y : array_like, shape (n,)
            Labels of two classes or more.
        sample_weight : array_like, shape (n,), optional
            Factors of C. A sample whose weight is not positive takes no part.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError
            Samples, labels or weights that cannot be used.
        ParameterError, ParameterTypeError, UnknownOptionError, UnsupportedError
            A parameter out of its range, of another type or name, or not to be had.

        Warns
        -----
        GapWarning
            The certified gap is above `tol`; it is a `ConvergenceWarning` too.
        """
        self._check_parameters()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        if is_dask(X):
            return self._fit_spread(X, y, sample_weight)
        matrix = inputs.dense_if_small(inputs.training_samples(self, X))
        n = matrix.shape[0]
        self.classes_, codes = inputs.labels_of(y, n)
        weight = inputs.weights_of(sample_weight, n)
        self.class_weight_ = inputs.class_weights(self.class_weight, self.classes_, y, weight)
        if (self.class_weight_ != 1.0).any():
            weight = self.class_weight_[codes] * (1.0 if weight is None else weight)
        posed, intercept, s = self._posed(matrix)
        together = self._together(posed, codes, weight, intercept)
        self._judge(together.status, together.gap, together.message)
        self._solution, self.results_ = together, together.results
        self.coef_, self.intercept_ = self._parted(together.w, together.b, s)
        self.n_iter_ = int(self._iterations(together.iterations.max()))
        return self

    def _fit_spread(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """The same over a Dask collection: one machine after the other, each where the rows are.

        Raises UnsupportedError.
        """
        rows = rows_of(self, X, y, sample_weight)
        classes = self.classes_ = classes_of(rows)
        several = len(classes) > 2
        if several and (self.multi_class in JOINT or self.class_weight is not None):
            what = "class_weight" if self.class_weight is not None else f"multi_class={self.multi_class!r}"
            raise UnsupportedError(f"{what} of {len(classes)} classes needs samples in memory, not a Dask collection")
        posed, intercept, _ = self._posed(X)
        kind: Any = Problem.machines[LOSSES[self.loss]]
        results, factors = [], None
        for target in targets(y, classes):
            problem = kind(
                posed, target, self.C, sample_weight=sample_weight, intercept=intercept, constraints=self.constraints,
                class_weight=self.class_weight,
            )  # fmt: skip
            factors = getattr(problem.samples, "factors", None)
            results.append(self._certified(problem, None))
        self.class_weight_ = np.ones(len(classes)) if factors is None else factors
        self._judge([each.status for each in results], [each.gap for each in results], results[0].message)
        self.__dict__.pop("_solution", None)
        self.results_ = results
        self.coef_ = np.array([each.w for each in results])
        self.intercept_ = np.array([each.b for each in results])
        self.n_iter_ = int(self._iterations(max(each.iterations or 0 for each in results)))
        return self

    def _together(
        self, X: Matrix, codes: NDArray[np.intp], weight: FloatArray | None, intercept: Intercept
    ) -> Together:
        last = getattr(self, "_solution", None) if self.warm_start else None
        if self.multi_class in JOINT:
            return solve_joint(
                X, codes, self.classes_, machine=self.multi_class, C=self.C, kernel=Linear(), sample_weight=weight,
                psd="raise", intercept=intercept, constraints=self.constraints, start=last, options=self._options(),
            )  # fmt: skip
        rest = len(self.classes_) > 2
        return (solve_rest if rest else solve_pairs)(
            X, codes, self.classes_, machine=LOSSES[self.loss], parameters={"C": self.C}, kernel=Linear(),
            sample_weight=weight, intercept=intercept, n_jobs=self.n_jobs, constraints=self.constraints,
            start=continued(last, self.classes_, len(codes), rest), **self._options(),
        )  # fmt: skip

    def decision_function(self, X: Any) -> Any:
        """The decision values of samples.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,) or (m, k)
            Of two classes f(x), positive for the second; else that of each class against all others. Of a Dask
            collection a Dask array, of which nothing is computed yet.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Any:
        """The class of each sample.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        values, labels = self._values(X), partial(_labels_at, classes=self.classes_)
        return by_partition(labels, values, None, self.classes_.dtype) if is_dask(X) else labels(values)


def _labels_at(values: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """The labels of decision values (m, P): (m,)."""
    codes = (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else values.argmax(axis=1)
    labels: NDArray[Any] = classes[codes]
    return labels
