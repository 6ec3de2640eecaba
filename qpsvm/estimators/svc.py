"""Define the kernel classifiers `SVC` and `NuSVC`.

Several classes are separated by one machine per pair of classes, by one per class against all others, or by one program
over all classes (`multi_class`). In this library the f of a pair is positive for its second class; in scikit-learn, if
there are more than two classes, it is positive for the first. Then the estimators negate f and its coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import monotonic
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, InfeasibleNuError, ParameterError
from qpsvm.estimators.growing import IncrementalClassifier
from qpsvm.estimators.kernel_machine import KernelMachine
from qpsvm.estimators.left_out import to_memory
from qpsvm.estimators.models import AnyModel, build_model
from qpsvm.estimators.multiclass import predict_labels
from qpsvm.estimators.parameter_checks import check_penalty, check_share, make_choice_check, make_intercept_check
from qpsvm.estimators.parameter_table import ParameterInfo
from qpsvm.estimators.probabilities import ProbableClassifier
from qpsvm.estimators.targets import check_weights
from qpsvm.machines.problem.evidence import attach_class_balance_proof
from qpsvm.many.multiclass import BinaryMachines, MachineTemplate
from qpsvm.result.votes import compute_scores, find_winners, pack_dual_coef
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Kernel

#: Names of the machines with and without slack.
SOFT, HARD = "CSVM", "HardMargin"
#: A ν that exceeds its maximum by at most this fraction is left to the machine, which accounts for rounding.
NU_TOL = 1e-9


class KernelClassifier(IncrementalClassifier, ProbableClassifier, KernelMachine):
    """Base of `SVC` and `NuSVC`."""

    _parameter_names: ClassVar[tuple[str, ...]] = (
        "class_weight", "decision_function_shape", "break_ties", "random_state", "fit_intercept",
        "multi_class", "n_jobs",
    )  # fmt: skip
    _attribute_names: ClassVar[tuple[str, ...]] = (
        "classes_", "support_", "support_vectors_", "n_support_", "dual_coef_", "coef_", "intercept_", "fit_status_",
        "gap_", "results_", "n_iter_", "class_weight_", "shape_fit_", "n_features_in_", "feature_names_in_",
    )  # fmt: skip

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        if self._has_kernel_function and hasattr(X, "__len__"):  # the function may be slow: check y before it is called
            self._encode_classes(y, _num_samples(X), sample_weight)
        matrix, kernel = self._prepare_training(X)
        n = matrix.shape[0]
        codes, weight = self._encode_classes(y, n, sample_weight)
        self._check_calibration(matrix, codes, weight)
        machine, parameters = self._choose_machine()
        if machine == HARD and weight is not None:  # without a penalty only the sign of a weight matters
            weight = (weight > 0.0).astype(float)
        template = MachineTemplate(
            machine, parameters, kernel, self._choose_intercept(), self._psd_rule, self.constraints
        )
        machines = self._solve_all(matrix, codes, weight, template)
        self._report_status(machines.status, machines.gap, machines.message, machines.caveats)
        self._store_solution(matrix, codes, machines, kernel)
        self._calibrate(machines, check_weights(sample_weight, n), deadline)

    def _encode_classes(self, y: Any, n: int, sample_weight: Any) -> tuple[IntArray, FloatArray | None]:
        """Return the class index and the weight of each sample, (n,), after checking the weights of the classes."""
        codes, weight = self._encode_labels(y, n, sample_weight, by_weight=False)
        sums = np.bincount(codes, weight, len(self.classes_)).astype(np.float64)
        self._check_class_weights(sums, 0 if weight is None else n)
        return codes, weight

    def _check_class_weights(self, sums: FloatArray, n: int) -> None:  # noqa: ARG002
        """Check the sums of the weights of each class, (k,). Raises DataError.

        n: Number of weights in these sums, which bounds their rounding; 0 if they are counts of samples, so exact.
        """
        if np.count_nonzero(sums) < 2:
            raise DataError("Invalid input - all samples with positive weights belong to the same class.")
        if not sums.all():
            absent = self.classes_.tolist()[int(np.argmin(sums))]
            raise DataError(f"every sample of the class {absent!r} has weight 0: leave its samples out")

    def _choose_machine(self) -> tuple[str, dict[str, Any]]:
        """Return the name of the machine of two classes, and its parameters."""
        raise NotImplementedError

    def _choose_intercept(self) -> Intercept:
        """Return the kind of intercept of the machines: "free", or None without one."""
        return "free" if self.fit_intercept else None

    def _store_solution(self, X: Matrix, codes: NDArray[np.intp], machines: BinaryMachines, kernel: Kernel) -> None:
        """Store the attributes of scikit-learn's classifiers."""
        k = len(self.classes_)
        self._solution = machines
        self.results_ = machines.results
        support = machines.support[np.argsort(codes[machines.support], kind="stable")]
        self._n_support = np.bincount(codes[support], minlength=k).astype(np.int32)
        self._has_pairs = bool(machines.machines[0, 1] >= 0)  # −1 denotes all other classes
        self.n_iter_: Any = np.asarray(self._count_iterations(machines.iterations), dtype=np.int32)
        scale = self._compute_scale(machines)
        if self._is_first_positive:
            sign = -1.0
            coef = pack_dual_coef(machines.coef, scale, codes, support)
        else:
            sign = 1.0
            coef = machines.coef.toarray()[:, support] / scale[:, None]
        w = None if machines.w is None else sign * (machines.w / scale[:, None])
        b = sign * (machines.b / scale) + 0.0  # +0 makes 0 of −0
        self._store_functions(X, kernel, support, coef, b, w)

    @property
    def _is_first_positive(self) -> bool:
        """Whether f is positive for the first class of a pair, as in scikit-learn for more than two classes."""
        return self._has_pairs and len(self.classes_) > 2

    @property
    def _libsvm_sign(self) -> float:
        return -1.0 if len(self.classes_) == 2 else 1.0

    @property
    def _class_boundaries(self) -> NDArray[np.intp] | None:
        if self._is_first_positive:
            return np.concatenate([[0], np.cumsum(self._n_support)])
        return None

    @property
    def n_support_(self) -> NDArray[Any]:
        """Number of support vectors of each class: (k,)."""
        try:
            return self._n_support
        except AttributeError:
            raise AttributeError("n_support_ is available only after fit") from None

    def _evaluate(self, X: Any) -> FloatArray:
        """Evaluate f of each machine, (m, P); positive for the first of the two classes if there are more than two."""
        matrix = self._prepare_prediction(X)
        if self._n_support.sum() != len(self.support_):
            raise DataError(f"The internal representation of {type(self).__name__} was altered")
        return self._scores.score_for_signs(matrix)

    def _prepare_points(self, X: Any) -> Any:
        return to_memory(self._prepare_prediction(X))

    def _build_model(self) -> AnyModel:
        by_class = self.decision_function_shape == "ovr"
        return self._add_calibration(build_model(self, self._scores, self.classes_, by_class, bool(self.break_ties)))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of samples.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,), (m, k) or (m, k(k − 1)/2)
            For two classes f(x), positive for the second; else a score for each class ("ovr"), or the value of each
            pair, positive for its first class ("ovo").
        """
        values = self._evaluate(X)
        if self._is_first_positive and self.decision_function_shape == "ovr":
            return compute_scores(values, len(self.classes_))
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._evaluate(X)
        k = len(self.classes_)
        if self._is_first_positive and not self.break_ties:
            return self.classes_[find_winners(values, k)]
        return predict_labels(compute_scores(values, k) if self._is_first_positive else values, self.classes_)


class SVC(KernelClassifier):
    """C-support vector classification with a certified gap: `sklearn.svm.SVC` on this library's solvers.

    See Also
    --------
    NuSVC : With a fraction of the samples instead of C.
    LinearSVC : Without a kernel, for many samples.
    qpsvm.CSVM : The problem itself, with both of its quadratic programs.

    Notes
    -----
    Differences from scikit-learn: `tol` is a relative duality gap, where scikit-learn bounds the violation of the
    optimality conditions; nothing is random; and `psd` selects the treatment of an indefinite kernel matrix. With
    ``probability=True`` the probabilities come from five folds that are not random, with ``"leave-one-out"`` from exact
    leave-one-out machines.

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

    _parameter_names: ClassVar[tuple[str, ...]] = ("C",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "C": ParameterInfo(
            "float",
            "Penalty of slack, positive. `inf` is a hard margin, and raises `NotSeparableError` if there is none.",
            1.0,
            check_penalty,
        )
    }

    def _choose_machine(self) -> tuple[str, dict[str, Any]]:
        return (HARD, {}) if math.inf == self.C else (SOFT, {"C": self.C})


class NuSVC(KernelClassifier):
    """ν-support vector classification with a certified gap: `sklearn.svm.NuSVC` on this library's solvers.

    See Also
    --------
    SVC : With a penalty C instead of ν.
    qpsvm.NuSVM : The problem itself.

    Notes
    -----
    As in LIBSVM, f is divided by ρ, so that |f| = 1 on the margin. The f of `results_` is not divided. Only the ratios
    of the sample weights matter.

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

    _is_divided_by_rho = True
    _parameter_names: ClassVar[tuple[str, ...]] = ("nu",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "nu": ParameterInfo(
            "float",
            "In (0, 1], and at most 2·min(S₊, S₋)/S for every two classes, with S the sum of their weights: upper "
            "bound on the fraction of margin errors, lower bound on that of support vectors.",
            0.5,
            check_share,
        ),
        "fit_intercept": ParameterInfo(
            "bool", "Must be True: a ν-SVM has an intercept.", True, make_intercept_check("SVC")
        ),
        "multi_class": ParameterInfo(
            '{"ovo", "ovr"}',
            "For more than two classes: one machine per pair of classes, or one per class against all others.",
            "ovo",
            make_choice_check("ovo", "ovr"),
        ),
    }

    def _choose_machine(self) -> tuple[str, dict[str, Any]]:
        return "NuSVM", {"nu": self.nu}

    def _check_class_weights(self, sums: FloatArray, n: int) -> None:
        is_one_vs_rest = self.multi_class == "ovr" and len(sums) > 2
        first, second = np.triu_indices(len(sums), 1)
        if is_one_vs_rest:
            one = sums
            other = sums.sum() - sums
        else:
            one, other = sums[first], sums[second]
        smaller = np.minimum(one, other)
        total = np.maximum(one + other, np.nextafter(0.0, 1.0))
        max_nu = 2.0 * float(np.min(smaller / total))
        if self.nu > max_nu * (1.0 + NU_TOL):
            error = InfeasibleNuError(self.nu, max_nu)
            error.args = (f"specified nu is infeasible: {error}",)
            worst = int(np.argmin(smaller / total))
            pair = (worst, None) if is_one_vs_rest else (int(first[worst]), int(second[worst]))  # None: all others
            raise attach_class_balance_proof(error, sums, pair, gamma(n), self.classes_)
        super()._check_class_weights(sums, n)

    def _compute_scale(self, machines: BinaryMachines) -> FloatArray:
        return np.where(machines.rho > 0.0, machines.rho, 1.0)
