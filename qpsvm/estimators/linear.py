"""Define the linear estimators `LinearSVC` and `LinearSVR`.

LIBLINEAR penalises the intercept: it appends a column of the constant `intercept_scaling` to X and penalises its weight
like any other, so that the solution depends on the origin. Here the intercept is free; it is penalised only if
`intercept_scaling` is given:

    (AUGMENT.1)  minimise ½‖w‖² + ½v² + loss of f(x) = ⟨w, x⟩ + b,  b = s v:  s = 1 penalises b itself
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.checks import as_flag, as_positive
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.data.kinds import is_dask
from qpsvm.data.rows import RowSource
from qpsvm.estimators.base import Estimator
from qpsvm.estimators.dask_samples import map_partitions, prepare_dask
from qpsvm.estimators.growing import IncrementalClassifier, IncrementalEstimator
from qpsvm.estimators.intervals import IntervalRegressor
from qpsvm.estimators.l1_penalty import solve_l1_classes
from qpsvm.estimators.left_out import to_memory
from qpsvm.estimators.models import AnyModel, build_linear_scores, build_model
from qpsvm.estimators.multiclass import predict_labels
from qpsvm.estimators.parameter_checks import make_choice_check
from qpsvm.estimators.parameter_table import PARAMETERS, ParameterInfo
from qpsvm.estimators.probabilities import ProbableClassifier
from qpsvm.estimators.samples import densify_if_small, prepare_samples, prepare_training
from qpsvm.estimators.stored_samples import StoredScoreMixin
from qpsvm.estimators.targets import check_targets, check_weights
from qpsvm.machines import EpsilonSVR
from qpsvm.many.multiclass import MachineTemplate, Split
from qpsvm.many.multiclass.regression import as_single_result, can_solve_regression, solve_regression
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear

#: The machine with each loss of `LinearSVC`.
LOSS_MACHINES = {"hinge": "CSVM", "squared_hinge": "SquaredHinge"}
#: The name in `EpsilonSVR` of each loss of `LinearSVR`.
TUBE_LOSSES: dict[str, Literal["absolute", "squared"]] = {
    "epsilon_insensitive": "absolute",
    "squared_epsilon_insensitive": "squared",
}


class LinearMachine(Estimator):
    """Base of the two estimators. It treats the intercept, and evaluates f."""

    _parameter_names: ClassVar[tuple[str, ...]] = (
        "C", "loss", "dual", "fit_intercept", "intercept_scaling", "random_state",
    )  # fmt: skip
    coef_: Any
    intercept_: Any
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "fit_intercept": ParameterInfo("bool", "False for f(x) = ⟨w, x⟩.", True, as_flag),
        "verbose": replace(PARAMETERS["verbose"], default=0),
    }
    _attribute_names: ClassVar[tuple[str, ...]] = (
        "coef_", "intercept_", "n_iter_", "fit_status_", "gap_", "n_features_in_", "feature_names_in_",
    )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fit_intercept and self.intercept_scaling is not None and not self.intercept_scaling > 0.0:
            raise ParameterError(
                f"Intercept scaling is {self.intercept_scaling!r} but needs to be greater than 0. To disable fitting "
                "an intercept, set fit_intercept=False."
            )

    def _augment(self, X: Any) -> tuple[Any, Intercept, float]:
        """Return the samples of the problem, its kind of intercept, and s of (AUGMENT.1).

        s is 0 unless a column of the constant s was appended to the samples; then the weight of the column is v.
        """
        if not self.fit_intercept:
            return X, None, 0.0
        if self.intercept_scaling is None:
            return X, "free", 0.0
        if self.intercept_scaling == 1:
            return X, "penalised", 0.0
        if isinstance(X, RowSource):
            raise UnsupportedError(
                f"intercept_scaling={self.intercept_scaling:g} needs samples in memory: take 1 or None for samples "
                "that are stored"
            )
        s = float(self.intercept_scaling)
        column = np.full((X.shape[0], 1), s)  # (AUGMENT.1)
        if sp.issparse(X):
            augmented = sp.csr_array(sp.hstack([X, column]))
        else:
            augmented = np.hstack([X, column])
        return augmented, None, s

    def _prepare_points(self, X: Any) -> Any:
        """Prepare new samples, augmented like those of the problem: (m, d), or (m, d + 1) with the appended column."""
        check_is_fitted(self)
        if is_dask(X):
            raise UnsupportedError("sets, intervals and bounds need samples in memory, not in a Dask collection")
        return self._augment(to_memory(densify_if_small(prepare_samples(self, X))))[0]

    def _store_weights(self, w: FloatArray | None, b: FloatArray, s: float) -> None:
        """Store w (P, d) and b (P,): if s > 0, the last weight of each machine is v, and b = s v."""
        assert w is not None  # the kernel is linear
        if s:
            self.coef_ = w[:, :-1].copy()
            intercept = s * w[:, -1]
        else:
            self.coef_, intercept = w, b
        self.intercept_ = intercept if self.fit_intercept else 0.0  # as in scikit-learn

    def _build_model(self) -> AnyModel:
        if sp.issparse(self.coef_):
            w = self.coef_.toarray()
        else:
            w = np.atleast_2d(self.coef_)
        b = np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), len(w)).copy()
        return build_model(self, build_linear_scores(w, b), getattr(self, "classes_", None))

    def _evaluate(self, X: Any) -> Any:
        """Evaluate f of each machine, (m, P); for a Dask collection, a Dask array."""
        check_is_fitted(self)
        if is_dask(X):
            array = prepare_dask(self, X)
            w = np.atleast_2d(as_dense(self.coef_))
            b = self.intercept_
            return map_partitions(partial(_evaluate_planes, w=w, b=b), array, width=len(w), dtype=np.float64)
        matrix = densify_if_small(prepare_samples(self, X))
        coef: Any = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        if isinstance(matrix, RowSource):
            return np.asarray(matrix.margins(np.ascontiguousarray(as_dense(coef).T)) + self.intercept_)
        return np.asarray(safe_sparse_dot(matrix, coef.T, dense_output=True) + self.intercept_)


def _evaluate_planes(X: Any, w: FloatArray, b: FloatArray) -> FloatArray:
    """Evaluate f of each machine at the rows of a partition: (k, P)."""
    return np.asarray(safe_sparse_dot(X, w.T, dense_output=True) + b, dtype=np.float64)


class LinearSVC(IncrementalClassifier, ProbableClassifier, LinearClassifierMixin, SparseCoefMixin, LinearMachine):  # type: ignore[misc]
    """Linear support vector classification with a free intercept and a certified gap.

    `sklearn.svm.LinearSVC` penalises the intercept; see the notes.

    See Also
    --------
    SVC : With a kernel.
    qpsvm.SquaredHinge, qpsvm.CSVM : The problems themselves.

    Notes
    -----
    A penalised intercept moves the boundary towards the origin, so that the solution changes if X is shifted. With
    ``intercept_scaling=1`` the problem that scikit-learn solves by default is solved.

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

    _parameter_names: ClassVar[tuple[str, ...]] = ("penalty", "loss", "multi_class", "class_weight", "n_jobs")
    _n_positional: ClassVar[int] = 2
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "penalty": ParameterInfo(
            '{"l2", "l1"}',
            '"l1" sets weights to 0: solved by LIBLINEAR in scikit-learn, certified here; the intercept is penalised.',
            "l2", make_choice_check("l2", "l1"),
        ),
        "loss": ParameterInfo(
            '{"squared_hinge", "hinge"}', "A slack ξ costs C ξ² or C ξ.", "squared_hinge",
            make_choice_check(*LOSS_MACHINES),
        ),
        "multi_class": ParameterInfo(
            '{"ovr", "crammer_singer", "weston_watkins"}',
            "For more than two classes: one machine per class against all others, or one program over all classes.",
            "ovr", make_choice_check("ovr", "crammer_singer", "weston_watkins"),
        ),
    }  # fmt: skip
    _attribute_names: ClassVar[tuple[str, ...]] = (
        *LinearMachine._attribute_names, "classes_", "results_", "class_weight_",
    )  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multi_class != "ovr":  # one program over all classes ignores penalty, loss and dual, as in scikit-learn
            return
        dual = self.dual if isinstance(self.dual, str) else bool(self.dual)
        if self.penalty == "l1" and self.loss == "squared_hinge" and dual is not True:
            self._check_l1()
        elif self.penalty == "l1" or (self.loss == "hinge" and dual is False):
            raise ParameterError(
                f"Unsupported set of arguments: the combination of penalty={self.penalty!r}, loss={self.loss!r} and "
                f"dual={self.dual!r} is not supported"
            )

    @property
    def _has_l1_penalty(self) -> bool:
        """Whether (L1.1) is solved: one program over all classes has the penalty ½‖w‖², whatever `penalty` is."""
        return bool(self.penalty == "l1" and self.multi_class == "ovr")

    def _check_l1(self) -> None:
        """Check that the other parameters are supported with an L1 penalty. Raises UnsupportedError."""
        if self._wants_probabilities:
            raise UnsupportedError("probability: penalty='l1' has none; take CalibratedClassifierCV(LinearSVC(...))")
        if self.constraints is not None:
            raise UnsupportedError("constraints: penalty='l1' takes none; take penalty='l2'")
        if self.backend not in ("auto", "liblinear"):
            raise UnsupportedError(f"backend={self.backend!r} does not solve penalty='l1': take 'auto' or 'liblinear'")

    def _fit_l1(self, matrix: Any, codes: IntArray, weight: FloatArray | None, deadline: float | None) -> None:
        """Solve and certify (L1.1) for each class. Raises UnsupportedError."""
        if isinstance(matrix, RowSource):
            raise UnsupportedError(
                "penalty='l1' needs samples in memory: take penalty='l2' for samples that are stored"
            )
        scaling = 1.0 if self.intercept_scaling is None else float(self.intercept_scaling)  # LIBLINEAR's default is 1
        solutions = solve_l1_classes(
            matrix, codes, len(self.classes_),
            float(self.C) * (np.ones(len(codes)) if weight is None else weight),
            intercept_scaling=scaling if self.fit_intercept else 0.0, tol=float(self.tol),
            max_iter=self._build_options()["max_iter"], deadline=deadline,
            random_state=0 if self.random_state is None else self.random_state,
        )  # fmt: skip
        self._split_builder = None
        self._solution = None
        self.results_ = ()
        status = [solution.status for solution in solutions]
        gap = np.array([solution.gap for solution in solutions])
        self._report_status(status, gap, message="", caveats=())
        w = np.array([solution.w for solution in solutions])
        b = np.array([solution.b for solution in solutions])
        self._store_weights(w, b, 0.0)
        self.n_iter_ = int(self._count_iterations(max(solution.iterations for solution in solutions)))

    @property
    def result_(self) -> SVMResult:
        """The certified result, for two classes; for more classes, `results_` has one per machine."""
        if self._has_l1_penalty:
            raise AttributeError("penalty='l1' is not a machine with a dual of its own: see coef_, intercept_ and gap_")
        return super().result_

    def _list_results(self) -> list[SVMResult]:
        if self._has_l1_penalty:
            raise UnsupportedError("penalty='l1' has no bounds on f: its optimum need not be unique")
        return super()._list_results()

    def _build_split(self) -> Split:
        if self._has_l1_penalty:
            raise UnsupportedError("penalty='l1' leaves no samples out: take penalty='l2'")
        return super()._build_split()

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        matrix = densify_if_small(prepare_training(self, X), linear=True)
        codes, weight = self._encode_labels(y, matrix.shape[0], sample_weight, by_weight=True)
        if self._has_l1_penalty:
            self._fit_l1(matrix, codes, weight, deadline)
            return
        self._check_calibration(matrix, codes, weight)
        augmented, intercept, s = self._augment(matrix)
        template = MachineTemplate(
            LOSS_MACHINES[self.loss], {"C": self.C}, Linear(), intercept, constraints=self.constraints
        )
        machines = self._solve_all(augmented, codes, weight, template)
        self._report_status(machines.status, machines.gap, machines.message, machines.caveats)
        self._solution = machines
        self.results_ = machines.results
        self._store_weights(machines.w, machines.b, s)
        self.n_iter_ = int(self._count_iterations(machines.iterations.max()))
        self._calibrate(machines, check_weights(sample_weight, len(codes)), deadline)

    def _build_model(self) -> AnyModel:
        return self._add_calibration(super()._build_model())

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of samples.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,) or (m, k)
            For two classes f(x), positive for the second; else one column per class, against all others. For a Dask
            collection, a lazy Dask array.
        """
        values = self._evaluate(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Any:
        values = self._evaluate(X)
        to_labels = partial(predict_labels, classes=self.classes_)
        dtype = self.classes_.dtype
        if is_dask(X):
            return map_partitions(to_labels, values, width=None, dtype=dtype)
        return to_labels(values)


class LinearSVR(IncrementalEstimator, IntervalRegressor, StoredScoreMixin, RegressorMixin, LinearMachine):  # type: ignore[misc]
    """Linear support vector regression with a free intercept and a certified gap.

    `sklearn.svm.LinearSVR` penalises the intercept, which ``intercept_scaling=1`` does here.

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

    _parameter_names: ClassVar[tuple[str, ...]] = ("epsilon",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "C": ParameterInfo("float", "Penalty of an error beyond the tube, positive.", 1.0, as_positive),
        "epsilon": replace(PARAMETERS["epsilon"], default=0.0),
        "loss": ParameterInfo(
            '{"epsilon_insensitive", "squared_epsilon_insensitive"}',
            "An error e costs C e or C e².",
            "epsilon_insensitive",
            make_choice_check(*TUBE_LOSSES),
        ),
    }
    _attribute_names: ClassVar[tuple[str, ...]] = (*LinearMachine._attribute_names, "result_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss == "epsilon_insensitive" and not self.dual:
            raise ParameterError(
                f"Unsupported set of arguments: the combination of loss={self.loss!r} and dual=False is not supported"
            )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        matrix = densify_if_small(prepare_training(self, X), linear=True)
        n = matrix.shape[0]
        target, weight = check_targets(y, n), check_weights(sample_weight, n)
        augmented, intercept, s = self._augment(matrix)
        problem = EpsilonSVR(
            augmented, target, self.C, self.epsilon, TUBE_LOSSES[self.loss], sample_weight=weight, intercept=intercept,
            constraints=self.constraints,
        )  # fmt: skip
        options = self._build_options()
        if not self._is_warm_started and can_solve_regression(problem, options):
            solution = solve_regression(problem, float(self.tol))
            self._report_status(solution.status, solution.gap, solution.message, solution.caveats)
        else:
            solution = as_single_result(self._solve_one(problem))
        self._solution = solution
        self._results = solution.results
        self._left_out = None
        self._store_weights(solution.w, solution.b, s)
        self.coef_ = self.coef_[0]
        self.n_iter_ = int(self._count_iterations(solution.iterations.max()))

    def predict(self, X: Any) -> Any:
        return self._evaluate(X)[:, 0]
