"""What the estimators with a kernel share: how X becomes samples of a problem, and what they show of the solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.errors import DataError, DataTypeError
from qpsvm.estimators import inputs
from qpsvm.estimators.base import Estimator
from qpsvm.estimators.parameters import KERNEL, Check
from qpsvm.estimators.scores import Scores, rows_of
from qpsvm.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.result import SVMResult


class KernelMachine(Estimator):
    """An estimator with `kernel`, `gamma`, `degree` and `coef0`."""

    checks: ClassVar[Mapping[str, Check]] = KERNEL

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @property
    def _by_function(self) -> bool:
        """Whether the kernel is a user's function of whatever X is."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    def _training(self, X: Any) -> tuple[Matrix, Kernel]:
        """Samples for a problem, and the kernel with numbers; of a user's function, their kernel matrix.

        Raises
        ------
        DataError, DataTypeError
        """
        self._given = None
        if self._by_function:
            self._given = X
            matrix: Matrix = inputs.kernel_matrix(self.kernel, X, X)
            self.n_features_in_ = X.shape[1] if getattr(X, "ndim", 0) == 2 else 1
            self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        else:
            if self.kernel == "precomputed" and sp.issparse(X):
                raise DataTypeError("Sparse precomputed kernels are not supported.")
            matrix = inputs.training_samples(self, X)
            if self.kernel == "precomputed" and matrix.shape[0] != matrix.shape[1]:
                raise DataError(
                    "Precomputed matrix must be a square matrix. "
                    f"Input is a {matrix.shape[0]}x{matrix.shape[1]} matrix."
                )
            self.shape_fit_ = matrix.shape
        self._sparse = sp.issparse(matrix)
        kernel = inputs.kernel_of(self, matrix)
        self._gamma = getattr(kernel, "gamma", 0.0)
        return matrix, kernel

    def _predicting(self, X: Any) -> Matrix:
        """Samples to predict; of a user's function, their kernel values with those of the fit.

        Raises
        ------
        sklearn.exceptions.NotFittedError
        DataError, DataTypeError
        """
        check_is_fitted(self)
        if self._given is not None:
            matrix: Matrix = inputs.kernel_matrix(self.kernel, X, self._given)
            return matrix
        if sp.issparse(X) and not self._sparse:
            raise DataError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        matrix = inputs.samples(self, X)
        return sp.csr_array(matrix) if self._sparse and not sp.issparse(matrix) else matrix

    def _vectors(self, X: Matrix, kernel: Kernel) -> Matrix:
        """The support vectors; none of a kernel matrix."""
        if isinstance(kernel, Precomputed):
            return np.empty((0, 0))
        found = rows_of(X, self.support_)
        return sp.csr_matrix(found) if sp.issparse(found) else found

    def _stored(self, coef: FloatArray) -> Any:
        """Coefficients as scikit-learn stores them: sparse where X was."""
        return sp.csr_matrix(coef) if self._sparse else coef

    def _made_scores(self, kernel: Kernel, w: FloatArray | None) -> Scores:
        """The decision functions of `dual_coef_` and `intercept_`."""
        coef = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
        return Scores(kernel, self.support_, self.support_vectors_, coef, self.intercept_, w)

    @property
    def coef_(self) -> NDArray[Any]:
        """The weights of the features, (1, d) or (P, d), of a linear kernel; they cannot be written to."""
        check = getattr(self, "_scores", None)
        linear = self.kernel == "linear" or isinstance(self.kernel, Linear)
        if not linear or check is None:
            raise AttributeError("coef_ is only available when using a linear kernel")
        w: Any = check.w
        if self._sparse:
            w = sp.csr_matrix(w)
            w.data.flags.writeable = False
        else:
            w = w.copy()
            w.flags.writeable = False
        weights: NDArray[Any] = w
        return weights


class OneMachine(KernelMachine):
    """An estimator with a kernel that is one machine."""

    def _keep_one(self, X: Matrix, result: SVMResult, scale: float = 1.0) -> None:
        """The attributes of an estimator of one machine."""
        self.result_ = result
        self.support_ = np.flatnonzero(result.coef).astype(np.int32)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        kernel = result.model.kernel
        self.support_vectors_ = self._vectors(X, kernel)
        self.dual_coef_ = self._stored(scale * result.coef[self.support_][None, :])
        self.intercept_ = np.array([scale * result.b])
        self.n_iter_ = int(result.iterations or 0)
        w = None if result.model.w is None else scale * result.model.w[None, :]
        self._scores = self._made_scores(kernel, w)
