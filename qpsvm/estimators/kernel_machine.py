"""Define the bases of the estimators with a kernel: `KernelMachine`, and `SingleMachine` for one decision function."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError, DataTypeError, UnsupportedError
from qpsvm.data.rows import RowSource
from qpsvm.estimators.base import Estimator
from qpsvm.estimators.dask_samples import refuse_dask
from qpsvm.estimators.kernel_parameter import build_kernel, evaluate_kernel
from qpsvm.estimators.models import AnyModel, build_model
from qpsvm.estimators.samples import densify_if_small, prepare_samples, prepare_training
from qpsvm.estimators.stored_samples import learn_columns
from qpsvm.machines import Problem
from qpsvm.many.multiclass.together import LazyResults
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.kernels.scores import ScoreFunctions


class KernelMachine(Estimator):
    """Base of the estimators with `kernel`, `gamma`, `degree` and `coef0`.

    The kernel may be a user's Python function of two sets of samples. Then the problem has a precomputed kernel, and
    the samples of the fit are stored to evaluate the function at new ones.
    """

    _parameter_names: ClassVar[tuple[str, ...]] = (
        "kernel", "degree", "gamma", "coef0", "shrinking", "cache_size", "psd",
    )  # fmt: skip
    _scores: ScoreFunctions
    _input_dtype: np.dtype[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def save(self, path: str | os.PathLike[str]) -> None:
        if self._has_kernel_function:
            raise UnsupportedError("the kernel is a Python callable, which a file cannot hold")
        super().save(path)

    save.__doc__ = Estimator.save.__doc__

    @property
    def _has_kernel_function(self) -> bool:
        """Whether the kernel is a user's Python function."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    def _open_samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Open stored samples; a user's kernel function gets samples of any kind, such as text, unchanged."""
        refuse_dask(self, X)
        if self._has_kernel_function:
            return X, y, sample_weight
        return super()._open_samples(X, y, sample_weight)

    @property
    def _psd_rule(self) -> PSDRule:
        """Rule for an indefinite kernel matrix: `psd`, or "clip" if that is None."""
        return "clip" if self.psd is None else self.psd

    @property
    def _is_linear(self) -> bool:
        """Whether f has a weight for each feature, so that samples need not be in memory."""
        return isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")

    def _prepare_training(self, X: Any) -> tuple[Any, Kernel]:
        """Prepare the samples of a fit, and the kernel with numeric parameters.

        For a user's kernel function, return the kernel matrix (n, n) instead of the samples.
        """
        self._function_samples = None
        self._input_dtype = np.dtype(np.float64)
        source = X if isinstance(X, RowSource) else None
        if source is not None and not self._is_linear:
            X = source.matrix()
        matrix: Any = self._evaluate_function(X) if self._has_kernel_function else self._convert_training(X)
        if source is not None:
            learn_columns(self, source)
        if isinstance(matrix, RowSource):
            self._sparse = matrix.is_sparse
        else:
            self._sparse = sp.issparse(matrix)
        matrix = densify_if_small(matrix)
        kernel = build_kernel(self, matrix)
        self._gamma = getattr(kernel, "gamma", 0.0)
        return matrix, kernel

    def _evaluate_function(self, X: Any) -> FloatArray:
        """Evaluate a user's kernel function on the samples of a fit, (n, n), and store the samples."""
        self._function_samples = X
        matrix = evaluate_kernel(self.kernel, X, X)
        self.n_features_in_ = X.shape[1] if getattr(X, "ndim", 0) == 2 else 1
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        return matrix

    def _convert_training(self, X: Any) -> Any:
        """Convert the samples of a fit, (n, d), or a kernel matrix, (n, n). Raises DataError, DataTypeError."""
        if self.kernel == "precomputed" and sp.issparse(X):
            raise DataTypeError("Sparse precomputed kernels are not supported.")
        matrix = prepare_training(self, X)
        if self.kernel == "precomputed" and matrix.shape[0] != matrix.shape[1]:
            raise DataError(
                f"Precomputed matrix must be a square matrix. Input is a {matrix.shape[0]}x{matrix.shape[1]} matrix."
            )
        self.shape_fit_ = matrix.shape
        return matrix

    def _prepare_prediction(self, X: Any) -> Any:
        """Prepare samples to predict, (m, d); for a user's kernel function, its values with those of the fit, (m, n).

        Raises sklearn.exceptions.NotFittedError, DataError, DataTypeError.
        """
        if not hasattr(self, "_scores"):
            check_is_fitted(self)
        if self._function_samples is not None:
            return evaluate_kernel(self.kernel, X, self._function_samples)
        if sp.issparse(X) and not self._sparse:
            raise DataError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        matrix = densify_if_small(prepare_samples(self, X))
        if isinstance(matrix, RowSource):
            return matrix
        needs_sparse = sp.issparse(self._scores.vectors)
        if needs_sparse and not sp.issparse(matrix):
            return sp.csr_array(matrix)
        return matrix

    def _select_vectors(self, X: Any, kernel: Kernel) -> Matrix:
        """Select the support vectors in the type of X, (s, d); none for a kernel matrix. Store them in doubles, too."""
        if isinstance(kernel, Precomputed):
            self._computed_vectors = np.empty((0, 0))
        else:
            self._computed_vectors = _copy_rows(X, self.support_)
        vectors = self._computed_vectors.astype(self._input_dtype, copy=False)
        return sp.csr_matrix(vectors) if self._sparse else vectors

    def _store_functions(
        self, X: Any, kernel: Kernel, support: IntArray, coef: FloatArray, b: FloatArray, w: FloatArray | None
    ) -> None:
        """Store the support vectors and the P decision functions.

        Shapes: support (s,), b (P,), w (P, d), and coef (·, s), the coefficients as scikit-learn stores them.
        """
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = self._select_vectors(X, kernel)
        self.dual_coef_ = sp.csr_matrix(coef) if self._sparse else coef
        self.intercept_ = b
        self._scores = self._build_scores(kernel, w)

    def _build_scores(self, kernel: Kernel, w: FloatArray | None) -> ScoreFunctions:
        """Build the decision functions from `dual_coef_` and `intercept_`."""
        coef = np.asarray(as_dense(self.dual_coef_), dtype=np.float64)
        return ScoreFunctions(
            kernel, self.support_, self._computed_vectors, coef, self.intercept_, w, self._class_boundaries
        )

    @property
    def coef_(self) -> NDArray[Any]:
        """The weights of the features, (1, d) or (P, d), of a linear kernel; read-only."""
        scores = getattr(self, "_scores", None)
        if not self._is_linear or scores is None:
            raise AttributeError("coef_ is only available when using a linear kernel")
        w: Any = sp.csr_matrix(scores.w) if self._sparse else scores.w + 0.0
        (w.data if self._sparse else w).flags.writeable = False
        weights: NDArray[Any] = w
        return weights

    @property
    def _libsvm_sign(self) -> float:
        """The sign of `dual_coef_` relative to LIBSVM: −1 if scikit-learn flips it."""
        return 1.0

    @property
    def _class_boundaries(self) -> NDArray[np.intp] | None:
        """Boundaries of the support vectors of each class, for `ScoreFunctions`."""
        return None

    @property
    def _dual_coef_(self) -> Any:
        """`dual_coef_` in LIBSVM's signs; assigning to it changes `predict`, as in scikit-learn."""
        return self._libsvm_sign * self.dual_coef_

    @_dual_coef_.setter
    def _dual_coef_(self, value: Any) -> None:
        self._replace_functions(self._libsvm_sign * value, self.intercept_)

    @property
    def _intercept_(self) -> FloatArray:
        """`intercept_` in LIBSVM's signs; assigning to it changes `predict`, as in scikit-learn."""
        return self._libsvm_sign * self.intercept_

    @_intercept_.setter
    def _intercept_(self, value: FloatArray) -> None:
        self._replace_functions(self.dual_coef_, self._libsvm_sign * value)

    def _replace_functions(self, dual_coef: Any, intercept: FloatArray) -> None:
        """Replace the decision functions of the fit by those of other coefficients and intercepts."""
        self.dual_coef_ = dual_coef
        self.intercept_ = np.asarray(intercept, dtype=np.float64)
        scores = self._build_scores(self._scores.kernel, None)
        if self._scores.w is None:
            self._scores = scores
        else:
            self._scores = replace(scores, w=scores.compute_weights())


@cache
def _list_arguments(problem_class: Any) -> frozenset[str]:
    """List the parameter names of a problem's constructor."""
    return frozenset(inspect.signature(problem_class).parameters)


class SingleMachine(KernelMachine):
    """Base of the estimators with a kernel that solve one problem and have one decision function."""

    _attribute_names: ClassVar[tuple[str, ...]] = (
        "support_", "support_vectors_", "n_support_", "dual_coef_", "coef_", "intercept_", "fit_status_", "gap_",
        "result_", "n_iter_", "shape_fit_", "n_features_in_", "feature_names_in_",
    )  # fmt: skip
    #: Class of the problem.
    _problem_class: ClassVar[type[Problem]]
    #: Predictions for f ≤ 0 and for f > 0; None to predict f itself.
    _labels: ClassVar[tuple[int, int] | None] = None

    def _build_problem(self, *samples: Any, kernel: Kernel, weight: FloatArray | None, **others: Any) -> Any:
        """Build the problem over samples (n, d) and their target, if any; `others` replace own parameters."""
        problem_class: Any = self._problem_class
        names = _list_arguments(problem_class)
        shared = names & self._parameters.keys()
        arguments = {name: getattr(self, name) for name in shared}
        arguments |= {"kernel": kernel, "sample_weight": weight} | others
        if "psd" in shared and "psd" not in others:
            arguments["psd"] = self._psd_rule
        if "intercept" in names:
            arguments["intercept"] = "free" if self.fit_intercept else None
        return problem_class(*samples, **arguments)

    @property
    def _n_support(self) -> NDArray[np.int32]:
        """`n_support_` twice, as in scikit-learn, which reads the first."""
        return np.repeat(self.n_support_, 2)

    def predict(self, X: Any) -> FloatArray:
        matrix = self._prepare_prediction(X)
        return self._scores(matrix)[:, 0]

    def _build_model(self) -> AnyModel:
        if self._labels is None:
            return build_model(self, self._scores, None)
        return build_model(self, self._scores, np.array(self._labels), threshold=abs(float(self._scores.b[0])))

    def _store_result(self, X: Matrix, result: SVMResult) -> None:
        """Store the attributes of the fit from its result."""
        self._results = LazyResults(1, None, {0: result})
        support = np.flatnonzero(result.coef)
        model = result.model
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = int(self._count_iterations(result.iterations or 0))
        w = None if model.w is None else model.w[None, :]
        self._store_functions(X, model.kernel, support, result.coef[None, support], np.array([result.b]), w)


def _copy_rows(X: Matrix, rows: NDArray[Any]) -> Matrix:
    """Copy some rows (j,) of samples (m, d): (j, d)."""
    rows_copy: Matrix = sp.csr_array(X[rows]) if sp.issparse(X) else np.ascontiguousarray(X[rows])
    return rows_copy
