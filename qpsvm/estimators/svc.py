"""`SVC` and `NuSVC`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from qpsvm.base.arrays.rounding import gamma as rounding_of
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, UnsupportedError
from qpsvm.estimators.classifiers import HARD, SOFT, KernelClassifier
from qpsvm.estimators.parameters import Check, one_of, price, share
from qpsvm.machines.infeasible.evidence import with_totals
from qpsvm.many.multiclass import Together

#: ν that is above its largest value by a smaller share is for the machine to judge, which counts its rounding.
CLEARLY = 1e-9


class SVC(KernelClassifier):
    """C-support vector classification with a certified gap: `sklearn.svm.SVC` on this library's solvers.

    Parameters
    ----------
    C : float, default=1.0
        Price of slack, positive. `inf` is a hard margin, and raises `NotSeparableError` where there is none.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        A name, a kernel of this library, or a function `(X, Z) -> (n, m)`.
    degree : int, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly" and "sigmoid": 1/(d var(X)), 1/d, or a number.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    shrinking : bool, default=True
        Without effect: it belongs to LIBSVM.
    probability : bool, default="deprecated"
        True is refused: take `sklearn.calibration.CalibratedClassifierCV`. To give it is deprecated, as there.
    tol : float, default=1e-6
        The relative duality gap that has to be reached, all rounding counted.
    cache_size : float, default=200
        Without effect: it belongs to LIBSVM.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by label.
    verbose : bool, default=False
        Say what is going on; of several machines, how many are done.
    max_iter : int, default=-1
        Iterations of the solver, its final steps of polishing not counted; −1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of more than two classes: a score for each, or the value of each pair.
    break_ties : bool, default=False
        Whether `predict` follows the scores of "ovr" where classes have as many votes; it costs a little.
    random_state : int or None, default=None
        Without effect: nothing is random.
    backend : str, default="auto"
        Who solves: one of `qpsvm.backends.names()`.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f of every machine have to keep.
    warm_start : bool, default=False
        Begin where the last fit ended, if it was over as many samples.
    time_limit : float, optional
        Seconds of the whole fit; one that needs more ends with the best certified points and a `GapWarning`.
    fit_intercept : bool, default=True
        False for f(x) = ⟨w, φ(x)⟩, through the origin.
    multi_class : {"ovo", "ovr", "crammer_singer", "weston_watkins"}, default="ovo"
        More than two classes: a machine for every two, one for each against all others, or a joint one.
    psd : {"clip", "shift", "raise"}, default="clip"
        What to do with an indefinite kernel matrix, as that of "sigmoid" may be: project it, add to its diagonal, or
        raise `IndefiniteKernelError`.
    n_jobs : int, optional
        Processes for the machines of several classes, by joblib.

    Attributes
    ----------
    classes_ : ndarray, shape (k,)
        The labels in sort order.
    support_ : ndarray of int32, shape (s,)
        Rows of the support vectors, class after class.
    support_vectors_ : ndarray or csr_matrix, shape (s, d)
        Empty of a precomputed kernel.
    n_support_ : ndarray of int32, shape (k,)
        How many each class has.
    dual_coef_ : ndarray or csr_matrix, shape (k − 1, s)
        As scikit-learn stores them; (P, s) of machines that are no pairs.
    coef_ : ndarray or csr_matrix, shape (P, d)
        Of a linear kernel; cannot be written to.
    intercept_ : ndarray, shape (P,)
        One for each machine.
    fit_status_ : int
        0 where every gap is certified to be within `tol`, else 1.
    gap_ : float
        The largest of the certified relative gaps.
    results_ : sequence of SVMResult
        The certified result of each machine; of two classes there is also `result_`.
    n_iter_ : ndarray of int32, shape (P,)
        Iterations of the solver.
    class_weight_ : ndarray, shape (k,)
        The factor of C of each class.
    shape_fit_ : tuple of int
        The shape of X.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str, shape (d,)
        Where X was a data frame.

    See Also
    --------
    NuSVC : With a share of the samples instead of C.
    LinearSVC : Without a kernel, for many samples.
    qpsvm.CSVM : The problem itself, with both of its quadratic programs.

    Notes
    -----
    The differences from scikit-learn: `tol` is a relative gap (theirs is on the violation of an optimality condition,
    1e-3), nothing is random, an indefinite kernel matrix is treated as `psd` says, and probabilities are left to
    `CalibratedClassifierCV`.

    References
    ----------
    Cortes & Vapnik, *Support-vector networks*, Machine Learning 20 (1995).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from qpsvm.estimators import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC(C=10).fit(X, y)
    >>> print(machine.predict(X[[0, 60, 120]]), machine.gap_ <= 1e-6, len(machine.n_support_))
    [0 1 2] True 3
    >>> print([result.status.value for result in machine.results_])
    ['optimal', 'optimal', 'optimal']
    """

    _checks: ClassVar[Mapping[str, Check]] = {**KernelClassifier._checks, "C": price}

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-6,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: Any = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        multi_class: str = "ovo",
        psd: str = "clip",
        n_jobs: int | None = None,
    ) -> None:
        self._take(locals())

    def _machine(self) -> tuple[str, dict[str, Any]]:
        return (HARD, {}) if math.inf == self.C else (SOFT, {"C": self.C})


class NuSVC(KernelClassifier):
    """ν-support vector classification with a certified gap: `sklearn.svm.NuSVC` on this library's solvers.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], and at most 2·min(S₊, S₋)/S of every two classes: a bound on the share of margin errors, and the
        least share of support vectors.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, max_iter
        As of `SVC`; weights are of shares of the samples here.
    decision_function_shape, break_ties, random_state, backend, constraints, warm_start, time_limit
        As of `SVC`.
    fit_intercept : bool, default=True
        False is refused: a ν-SVM has an intercept.
    multi_class : {"ovo", "ovr"}, default="ovo"
        As of `SVC`.
    psd, n_jobs
        As of `SVC`.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, fit_status_, gap_, results_
        As of `SVC`. f is divided by ρ, as LIBSVM's, so that the margin is where |f| = 1; `results_` are not.
    n_iter_, class_weight_, shape_fit_, n_features_in_, feature_names_in_
        As of `SVC`.

    See Also
    --------
    SVC : With a price of slack instead of ν.
    qpsvm.NuSVM : The problem itself.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, Neural Computation 12 (2000).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from qpsvm.estimators import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = NuSVC(nu=0.2).fit(X, y)
    >>> print(machine.n_support_.sum() >= 0.2 * len(X), machine.gap_ <= 1e-6)
    True True
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        **KernelClassifier._checks, "nu": share, "multi_class": one_of("ovo", "ovr"),
    }  # fmt: skip

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-6,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: Any = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        backend: str = "auto",
        constraints: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        multi_class: str = "ovo",
        psd: str = "clip",
        n_jobs: int | None = None,
    ) -> None:
        self._take(locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.fit_intercept:
            raise UnsupportedError("NuSVC has an intercept always: take SVC(fit_intercept=False)")

    def _machine(self) -> tuple[str, dict[str, Any]]:
        return "NuSVM", {"nu": self.nu}

    def _check_sums(self, sums: FloatArray, n: int) -> None:
        """Check the sums of the weights of each class, (k,), before there is any kernel value; n were added in floats.

        Raises InfeasibleNuError, DataError.
        """
        rest = self.multi_class == "ovr" and len(sums) > 2
        first, second = np.triu_indices(len(sums), 1)
        one, other = (sums, sums.sum() - sums) if rest else (sums[first], sums[second])
        largest = float(np.min(2.0 * np.minimum(one, other) / np.maximum(one + other, np.finfo(float).tiny)))
        if self.nu > largest * (1.0 + CLEARLY):
            error = InfeasibleNuError(self.nu, largest)
            error.args = (f"specified nu is infeasible: {error}",)
            worst = int(np.argmin(np.minimum(one, other) / np.maximum(one + other, np.finfo(float).tiny)))
            pair = (worst, None) if rest else (int(first[worst]), int(second[worst]))
            raise with_totals(error, sums, pair, rounding_of(n), self.classes_)
        super()._check_sums(sums, n)

    def _scale(self, together: Together) -> FloatArray:
        return np.where(together.rho > 0.0, together.rho, 1.0)
