"""The classifiers with a kernel: binary machines for every two classes, one for each class, or one for all of them.

`multi_class="crammer_singer"` and `"weston_watkins"`: one program over all classes, in the form of many machines.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, ParameterError, UnsupportedError
from qpsvm.estimators import inputs
from qpsvm.estimators.base import SeveralMachines, all_at_once, callers_level
from qpsvm.estimators.kernel_machine import KernelMachine
from qpsvm.estimators.parameters import Check, class_weight, flag, one_of, watched, workers
from qpsvm.estimators.saved import model_of
from qpsvm.machines import CrammerSinger, WestonWatkins
from qpsvm.machines.problem.all_in_one import JointProblem
from qpsvm.many.multiclass import Together, solve_pairs, solve_rest
from qpsvm.many.multiclass.one_by_one import without_noise
from qpsvm.many.multiclass.split import REST
from qpsvm.many.multiclass.together import Results
from qpsvm.result import pairs_model as voting
from qpsvm.result.all_in_one_model import JointModel
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.result.model import Model
from qpsvm.result.pairs_model import PairsModel
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram import Intercept, PSDRule

#: The machines that learn several classes in one program.
JOINT: dict[str, type[JointProblem]] = {"crammer_singer": CrammerSinger, "weston_watkins": WestonWatkins}


def solve_joint(
    X: Matrix,
    codes: IntArray,
    labels: NDArray[Any],
    *,
    machine: str,
    C: float,
    kernel: Kernel,
    sample_weight: FloatArray | None,
    psd: PSDRule,
    intercept: Intercept,
    constraints: Any,
    start: Any,
    options: Mapping[str, Any],
) -> Together:
    """One program over all classes.

    Raises UnsupportedError, QPSVMError.
    """
    if constraints is not None:
        raise UnsupportedError(f"multi_class={machine!r} takes no constraints: use machines of two classes")
    problem = JOINT[machine](X, labels[codes], C, kernel, sample_weight, psd, intercept, None)
    before = start.results[0] if isinstance(start, Together) else None
    same = isinstance(before, JointResult) and before.coef.shape == (len(codes), len(labels))
    result: Any = solve(problem, start=before if same else None, **{**options, "check": False})
    if result.error is not None:
        raise result.error
    return _told(without_noise(problem, result, float(options["tol"])), labels)


def _told(result: JointResult, labels: NDArray[Any]) -> Together:
    coef, b, w = result.coef.T, np.asarray(result.b), result.model.w
    pairs = np.array([(c, REST) for c in range(len(labels))])
    if len(labels) == 2:
        coef, b, pairs = (coef[1] - coef[0])[None, :], b[1:] - b[:1], np.array([(0, 1)])
        w = None if w is None else (w[1] - w[0])[None, :]
    return Together(
        classes=labels, machines=pairs, coef=sp.csr_array(coef), b=b, w=w, gap=np.array([result.gap]),
        status=[result.status], iterations=np.array([result.iterations or 0]), solver=result.solver,
        message=result.message, rho=np.ones(len(pairs)), results=Results(1, None, {0: result}),  # type: ignore[dict-item]
    )  # fmt: skip


#: The name of the machine in whose problems C is a price, and that of the one without slack.
SOFT, HARD = "CSVM", "HardMargin"
#: What to do instead of `probability=True`, which fits more models and may contradict `predict`.
CALIBRATE = "probability=True is refused: sklearn.calibration.CalibratedClassifierCV({name}(...)) gives probabilities"
#: What scikit-learn warns of from 1.9 on, too.
DEPRECATED = (
    "The `probability` parameter is deprecated, as it is in scikit-learn: leave it out, and take "
    "CalibratedClassifierCV for probabilities."
)


class KernelClassifier(SeveralMachines, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """What `SVC` and `NuSVC` share."""

    _checks: ClassVar[Mapping[str, Check]] = {
        **KernelMachine._checks, "class_weight": class_weight, "decision_function_shape": one_of("ovr", "ovo"),
        "break_ties": flag, "n_jobs": workers, "multi_class": one_of("ovo", "ovr", "crammer_singer", "weston_watkins"),
        "fit_intercept": flag,
    }  # fmt: skip

    @watched
    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machines, and certify how close to their optima they are.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows; the (n, n) kernel matrix of a precomputed kernel.
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
        classes, codes = inputs.labels_of(y, n)
        weight = inputs.weights_of(sample_weight, n)
        self.classes_, self.class_weight_ = classes, inputs.class_weights(self.class_weight, classes, y)
        factors = self.class_weight_[codes] if (self.class_weight_ != 1.0).any() else None
        weight = weight if factors is None else factors if weight is None else weight * factors
        sums = np.bincount(codes, weight, len(classes)).astype(np.float64)
        self._check_sums(sums, 0 if weight is None else n)
        together = self._together(matrix, codes, kernel, weight)
        self._judge(together.status, together.gap, together.message)
        self._keep(matrix, codes, together, kernel)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.probability, str) and self.probability == "deprecated":
            return
        as_flag(self.probability, "probability")
        warnings.warn(DEPRECATED, FutureWarning, stacklevel=callers_level())
        if self.probability:
            raise UnsupportedError(CALIBRATE.format(name=type(self).__name__))

    def _check_sums(self, sums: FloatArray, n: int) -> None:  # noqa: ARG002
        """Check the sums of the weights of each class, (k,), before there is any kernel value; n were added in floats.

        Raises DataError.
        """
        if np.count_nonzero(sums) < 2:
            raise DataError("Invalid input - all samples with positive weights belong to the same class.")
        if not sums.all():
            gone = self.classes_.tolist()[int(np.argmin(sums))]
            raise DataError(f"every sample of the class {gone!r} has weight 0: leave its samples out")

    def _machine(self) -> tuple[str, dict[str, Any]]:
        """The name of the machine of two classes, and its parameters."""
        raise NotImplementedError

    def _together(self, X: Matrix, codes: NDArray[np.intp], kernel: Kernel, weight: FloatArray | None) -> Together:
        machine, parameters = self._machine()
        if machine == HARD and weight is not None:
            weight = (weight > 0.0).astype(float)
        intercept: Any = "free" if self.fit_intercept else None
        last = getattr(self, "_solution", None) if self.warm_start else None
        if self.multi_class in JOINT:
            return solve_joint(
                X, codes, self.classes_, machine=self.multi_class, C=parameters.get("C", math.inf), kernel=kernel,
                sample_weight=weight, psd=self.psd, intercept=intercept, constraints=self.constraints, start=last,
                options=self._options(),
            )  # fmt: skip
        rest = self.multi_class == "ovr" and len(self.classes_) > 2
        return (solve_rest if rest else solve_pairs)(
            X, codes, self.classes_, machine=machine, parameters=parameters, kernel=kernel, sample_weight=weight,
            psd=self.psd, intercept=intercept, n_jobs=self.n_jobs, constraints=self.constraints,
            start=continued(last, self.classes_, len(codes), rest), **self._options(),
        )  # fmt: skip

    def _scale(self, together: Together) -> FloatArray:
        """What the decision function of each machine is divided by: (P,)."""
        return np.ones(len(together.gap))

    def _keep(self, X: Matrix, codes: NDArray[np.intp], together: Together, kernel: Kernel) -> None:
        """The attributes that scikit-learn's classifiers have."""
        k = len(self.classes_)
        size = self._scale(together)
        self._solution = together
        self.results_ = together.results
        coef = together.coef.toarray()
        support = np.flatnonzero(coef.any(axis=0))
        self.support_ = support[np.argsort(codes[support], kind="stable")].astype(np.int32)
        self._n_support = np.bincount(codes[support], minlength=k).astype(np.int32)
        self.support_vectors_ = self._vectors(X, kernel)
        coef = coef[:, self.support_] / size[:, None]
        b = together.b / size
        self._pairs = bool(together.machines[0, 1] >= 0)
        self.dual_coef_ = self._stored(voting.packed(coef, self._n_support) if self._pairs else coef)
        self.intercept_ = (-b if self._turned else b) + 0.0
        self.n_iter_: Any = np.asarray(self._iterations(together.iterations), dtype=np.int32)
        w = None if together.w is None else together.w / size[:, None]
        self._scores = self._made_scores(kernel, -w if self._turned and w is not None else w)

    @property
    def _turned(self) -> bool:
        """Whether scikit-learn's signs are the other ones: of several pairs, f is positive for their first class."""
        return self._pairs and len(self.classes_) > 2

    def _libsvm_sign(self) -> float:
        return -1.0 if len(self.classes_) == 2 else 1.0

    @property
    def _ends(self) -> NDArray[np.intp] | None:
        return np.concatenate([[0], np.cumsum(self._n_support)]) if self._turned else None

    @property
    def n_support_(self) -> NDArray[Any]:
        """How many support vectors each class has: (k,)."""
        try:
            return self._n_support
        except AttributeError:
            raise AttributeError("n_support_ is there after fit") from None

    def _values(self, X: Any) -> FloatArray:
        """f of each machine, (m, P); positive for the first of the two classes where there are more than two."""
        matrix = self._predicting(X)
        if self._n_support.sum() != len(self.support_):
            raise DataError(f"The internal representation of {type(self).__name__} was altered")
        return self._scores.tied(matrix)

    def _model(self) -> Model | JointModel | PairsModel:
        by_class = self.decision_function_shape == "ovr"
        return model_of(self, self._scores, self.classes_, by_class, bool(self.break_ties))

    def decision_function(self, X: Any) -> FloatArray:
        """The decision values of samples.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,), (m, k) or (m, k(k − 1)/2)
            Of two classes f(x), positive for the second. With more, a score for each class ("ovr"), or the value of
            each pair, positive for its first class ("ovo").
        """
        values = self._values(X)
        if values.shape[1] == 1:
            return values[:, 0]
        if not self._pairs:
            return values
        return voting.scores(values, len(self.classes_)) if self.decision_function_shape == "ovr" else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sample.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)

        Raises
        ------
        ParameterError
            `break_ties=True` with `decision_function_shape="ovo"`, whose values are no scores of classes.
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._values(X)
        k = len(self.classes_)
        if values.shape[1] == 1:
            codes = (values[:, 0] > 0.0).astype(np.intp)
        elif not self._pairs:
            codes = values.argmax(axis=1)
        elif self.break_ties:
            codes = voting.scores(values, k).argmax(axis=1)
        else:
            codes = voting.winners(values, k)
        labels: NDArray[Any] = self.classes_[codes]
        return labels


def continued(last: Any, classes: NDArray[Any], n: int, rest: bool) -> Together | None:
    """The machines of the last fit, where they are such as the next one can begin with."""
    if not isinstance(last, Together) or not np.array_equal(last.classes, classes) or last.coef.shape[1] != n:
        return None
    joint = len(last.results) == 1 and not isinstance(last.results[0], SVMResult)
    return last if not joint and bool(last.machines[0, 1] < 0) == rest else None
