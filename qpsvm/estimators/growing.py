"""Fit batches of samples that arrive one after the other (`IncrementalEstimator.partial_fit`).

An SVM cannot forget samples, because any of them may become a support vector. So all of them are stored, and each call
solves the problem over all of them, warm-started at the last optimum. The result does not depend on the division into
batches, up to `tol`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import AbsentError, DataError, UnsupportedError
from qpsvm.data.kinds import is_stored
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.memory import ChangeGuard
from qpsvm.estimators.base import Estimator, fit_atomically
from qpsvm.estimators.samples import prepare_batch
from qpsvm.estimators.sklearn_checks import translate_sklearn_errors
from qpsvm.estimators.targets import check_same_length, check_targets, check_weights


class SampleBatch(NamedTuple):
    """Samples of one or several calls: X (n, d), y (n,) or None without a target, weight (n,) or None if all are 1.

    change_guard: Detects changes of X if it is the caller's array; None if X is a copy.
    """

    X: Any
    y: NDArray[Any] | None
    weight: FloatArray | None
    change_guard: ChangeGuard | None = None

    def append(self, other: SampleBatch) -> SampleBatch:
        """Concatenate these samples and another batch in new arrays. Raises DataError."""
        try:
            if self.change_guard is not None:
                self.change_guard.check()
        except DataError as error:
            raise DataError(
                "the X of `fit` was changed in place since: pass a copy, X.copy(), to fit, or start with partial_fit"
            ) from error
        n, n_new = self.X.shape[0], other.X.shape[0]
        weights = [np.ones(k) if w is None else w for k, w in ((n, self.weight), (n_new, other.weight))]
        is_weighted = self.weight is not None or other.weight is not None
        if sp.issparse(self.X):
            X: Any = sp.vstack([self.X, sp.csr_array(other.X)], format="csr")
        else:
            X = np.vstack([self.X, other.X.toarray() if sp.issparse(other.X) else other.X])
        if self.y is None or other.y is None:
            y = None
        else:
            y = np.concatenate([self.y, other.y])
        return SampleBatch(X, y, np.concatenate(weights) if is_weighted else None)


def _can_add_samples(estimator: Any) -> bool:
    """Return True if samples can be added; else raise AbsentError, so that the estimator has no `partial_fit`."""
    if getattr(estimator, "kernel", None) == "precomputed":
        raise AbsentError("a precomputed kernel matrix has no entries for more samples: fit the matrix of all samples")
    return True


class IncrementalEstimator(Estimator):
    """An estimator that accepts samples in batches, and stores all of them."""

    _samples_so_far: SampleBatch | None

    @available_if(_can_add_samples)  # type: ignore[untyped-decorator]
    @fit_atomically
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to these samples and those of all earlier calls: the result of `fit` on all of them.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (q, d)
            A batch, in memory, which is copied.
        y : array_like, shape (q,)
            Targets; not used by `OneClassSVM` and `SVDD`.
        sample_weight : array_like, shape (q,), optional
            Factors of C, by default 1.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError
            Samples that cannot be used, or with other columns than those of the first call.
        UnsupportedError
            Samples that are not in memory; an estimator from a pickle or a copy, which has no samples. There is no such
            method with a precomputed kernel.
        ParameterError, ParameterTypeError, UnknownOptionError
            As for `fit`.

        Warns
        -----
        GapWarning
            As for `fit`.

        Notes
        -----
        All samples are stored in memory. γ by "scale" and balanced weights are computed from all of them.

        Examples
        --------
        >>> from qpsvm.estimators import LinearSVR
        >>> machine = LinearSVR(C=10.0).partial_fit([[0.0], [1.0]], [1.0, 3.0]).partial_fit([[2.0]], [5.0])
        >>> print(machine.coef_.round(6), machine.intercept_.round(6), machine.gap_ <= 1e-6)
        [2.] [1.] True
        """
        batch = self._prepare_batch(X, sample_weight)
        self._fit_all(batch._replace(y=self._prepare_target(y, batch.X.shape[0])))
        return self

    @property
    def _ignores_target(self) -> bool:
        """Whether the machine has no target, so that y is not used."""
        return not self.__sklearn_tags__().target_tags.required

    def _store_samples(self, y: Any, sample_weight: Any) -> None:
        """Store the samples of `fit` for later batches, X by reference, if they are in memory; else None."""
        X = self.__dict__.pop("_training_samples", None)
        if X is None:
            self._samples_so_far = None
            return
        n = X.shape[0]
        change_guard = ChangeGuard([X], "X")
        change_guard.start_run()
        change_guard.end_run()
        if not self._ignores_target and np.asarray(y).ndim == 2:  # a column, about which `fit` has warned
            y = np.asarray(y).ravel()
        target = self._prepare_target(y, n)
        weight = check_weights(sample_weight, n)
        self._samples_so_far = SampleBatch(X, target, weight, change_guard)

    def _prepare_target(self, y: Any, n: int) -> NDArray[Any] | None:
        """Return a copy of the checked target, (n,); None if it is not used."""
        return None if self._ignores_target else np.array(check_targets(y, n))

    def _find_previous(self) -> SampleBatch | None:
        """Return the samples of the earlier calls; None before the first. Raises UnsupportedError."""
        if not hasattr(self, "gap_"):
            return None
        previous: SampleBatch | None = getattr(self, "_samples_so_far", None)
        if previous is None:
            raise UnsupportedError(
                f"this {type(self).__name__} has no samples to add to: a pickle and a copy store none, nor does `fit` "
                "for files or for a kernel function; begin with partial_fit, or fit all samples"
            )
        return previous

    def _prepare_batch(self, X: Any, sample_weight: Any) -> SampleBatch:
        """Check and copy the samples of a call, as floats, and their weights; y is added later."""
        self._check_parameters()
        if isinstance(X, RowSource) or is_stored(X):
            raise UnsupportedError("partial_fit stores its samples in memory: use fit for samples in files")
        checked = prepare_batch(self, X, self._find_previous() is None)
        weight = check_weights(sample_weight, checked.shape[0])
        return SampleBatch(checked.copy(), None, None if weight is None else np.array(weight))

    def _fit_all(self, batch: SampleBatch) -> None:
        """Fit the samples of the earlier calls and this batch, warm-started at the last optimum."""
        names = getattr(self, "feature_names_in_", None)
        previous = self._find_previous()
        all_samples = batch if previous is None else previous.append(batch)
        self._is_partial_fit = True
        try:
            self._fit(all_samples.X, all_samples.y, all_samples.weight)
        finally:
            del self._is_partial_fit
        self.__dict__.pop("_training_samples", None)
        self._samples_so_far = all_samples
        if names is not None:
            self.feature_names_in_ = names


class IncrementalClassifier(IncrementalEstimator):
    """A classifier that accepts samples in batches."""

    @available_if(_can_add_samples)  # type: ignore[untyped-decorator]
    @fit_atomically
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to these samples and those of all earlier calls: the result of `fit` on all of them.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (q, d)
            A batch, in memory, which is copied.
        y : array_like, shape (q,)
            Labels.
        classes : array_like, shape (k,), optional
            All labels; by default those of the first call, which must contain a sample of each.
        sample_weight : array_like, shape (q,), optional
            Factors of C, by default 1.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError
            Samples or labels that cannot be used; other columns, or other classes, than those of the first call.
        UnsupportedError, ParameterError, ParameterTypeError, UnknownOptionError
            As for `SVR.partial_fit`.

        Warns
        -----
        GapWarning
            As for `fit`.

        Notes
        -----
        All samples are stored in memory. γ by "scale" and balanced weights are computed from all of them.

        Examples
        --------
        >>> from qpsvm.estimators import SVC
        >>> machine = SVC(kernel="linear").partial_fit([[0.0], [4.0]], [0, 1], classes=[0, 1])
        >>> print(machine.partial_fit([[1.0], [3.0]], [0, 1]).coef_.round(6), machine.intercept_.round(6))
        [[1.]] [-2.]
        """
        batch = self._prepare_batch(X, sample_weight)
        self._fit_all(batch._replace(y=self._check_labels(y, classes, batch.X.shape[0])))
        return self

    def _prepare_target(self, y: Any, n: int) -> NDArray[Any] | None:
        with translate_sklearn_errors("y"):
            labels = np.array(column_or_1d(y))
        check_same_length(len(labels), n)
        return labels

    def _check_labels(self, y: Any, classes: Any, n: int) -> NDArray[Any]:
        """Check and copy the labels of a batch, (n,), which must be among the classes. Raises DataError."""
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        labels: Any = self._prepare_target(y, n)
        with translate_sklearn_errors("classes"):
            requested = None if classes is None else np.unique(column_or_1d(classes))
        previous = self._find_previous()
        first_labels: Any = labels if previous is None else previous.y
        is_choice = previous is None and requested is not None
        known_classes: Any = requested if is_choice else np.unique(first_labels)
        if requested is not None and not np.array_equal(requested, known_classes):
            raise DataError(f"classes={requested.tolist()} are not those of the first call, {known_classes.tolist()}")
        unknown = np.flatnonzero(~np.isin(labels, known_classes))
        if len(unknown):
            label = format_value(labels.tolist()[int(unknown[0])])
            raise DataError(f"y[{unknown[0]}] = {label} is not one of the classes {known_classes.tolist()}")
        missing = np.flatnonzero(~np.isin(known_classes, first_labels))
        if len(missing):
            label = format_value(known_classes.tolist()[int(missing[0])])
            raise DataError(f"there is no sample of the class {label}: the first call needs some of each")
        return labels  # type: ignore[no-any-return]
