"""Compute probabilities of classes and prediction sets (`ProbableClassifier`).

A curve from f to the probability of a class must be fitted to decision values of samples that did not train f, because
f is biased on its training samples. The parameter `probability` chooses the curve and the source of these values:

    True, "sigmoid"            a sigmoid; each value is that of the machine trained without the sample's fold, of five
    "isotonic"                 a nondecreasing step function, fitted to the same values
    "leave-one-out"            a sigmoid; each value is that of the machine trained without this sample alone, exactly
    "leave-one-out-isotonic"   a nondecreasing step function, fitted to these values

Prediction sets use the leave-one-out machines, too; see `qpsvm.estimators.left_out`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.data.kinds import is_dask
from qpsvm.estimators.bounded import BoundedClassifier
from qpsvm.estimators.calibration_curve import fit_curve
from qpsvm.estimators.dask_samples import map_partitions
from qpsvm.estimators.fold_decisions import compute_fold_decisions
from qpsvm.estimators.left_out import (
    check_left_out,
    check_missed_share,
    compute_sets,
    find_machine_rows,
    fit_machines_leave_one_out,
)
from qpsvm.estimators.models import AnyModel
from qpsvm.estimators.multiclass import ALL_IN_ONE, MulticlassMixin
from qpsvm.many.multiclass import BinaryMachines
from qpsvm.many.multiclass.split import Split
from qpsvm.result.calibration import KEY, Calibration


def _has_probabilities(self: Any) -> bool:
    """Return True if there are probabilities. Raises AttributeError."""
    if not self._wants_probabilities:
        raise AttributeError(f"{type(self).__name__}(probability=True) has probabilities once it is fitted")
    return True


class ProbableClassifier(BoundedClassifier, MulticlassMixin):
    """A classifier with probabilities and prediction sets, from exact leave-one-out machines."""

    _parameter_names: ClassVar[tuple[str, ...]] = ("probability",)
    probability: Any
    _calibration: Calibration | None
    _left_out: Any
    _solution: Any
    #: Methods that evaluate f of each machine, (m, P), and prepare new samples, (m, d), or kernel values.
    _evaluate: Any
    _prepare_points: Any

    @property
    def _wants_probabilities(self) -> bool:
        """Whether probabilities are requested; "deprecated" is scikit-learn's default, under `patch_sklearn`."""
        return self.probability not in (False, "deprecated")

    @property
    def _leaves_one_out(self) -> bool:
        """Whether curves are fitted to exact leave-one-out decisions."""
        return str(self.probability).startswith("leave-one-out")

    def _check_left_out(self, X: Any, codes: IntArray, weight: FloatArray | None, instead: str) -> None:
        """Check, before solving, that each sample can be left out. Raises UnsupportedError.

        instead: What to do otherwise, for the message.
        """
        if self.multi_class in ALL_IN_ONE:
            raise UnsupportedError(
                f"each sample of {type(self).__name__} is left out, which multi_class={self.multi_class!r} does not "
                f"allow: take machines of two classes, or {instead}"
            )
        counts = np.sort(np.bincount(codes if weight is None else codes[weight > 0.0]))
        has_pairs = len(counts) > 2 and self.multi_class == "ovo"
        n_largest = int(counts[-2:].sum() if has_pairs else counts.sum())  # samples of the largest machine
        check_left_out(type(self).__name__, X, n_largest, instead, self.constraints)

    def _check_calibration(self, X: Any, codes: IntArray, weight: FloatArray | None) -> None:
        """Check that the samples allow the requested probabilities. Raises UnsupportedError, DataError."""
        self._calibration = self._left_out = None
        if not self._wants_probabilities:
            return
        if self._leaves_one_out:
            self._check_left_out(X, codes, weight, "probability=True fits five folds")
        elif self.multi_class in ALL_IN_ONE:
            raise UnsupportedError(
                f"probability: curves are those of machines of two classes, and multi_class={self.multi_class!r} has "
                'one program over all: take "ovr"'
            )
        counts = np.bincount(codes if weight is None else codes[weight > 0.0], minlength=len(self.classes_))
        if counts.min() < 2:
            only = self.classes_.tolist()[int(counts.argmin())]
            raise DataError(
                f"the class {only!r} has one sample, without which it has no machine: probabilities need two of each"
            )

    def _calibrate(self, machines: BinaryMachines, weight: FloatArray | None, deadline: float | None) -> None:
        """Fit a curve to each machine's decisions of samples that did not train it.

        `weight` (n,) has no factors of `class_weight`, so that probabilities are those of the samples as they occur.
        """
        if not self._wants_probabilities:
            return
        split = self._build_split()
        method = "isotonic" if str(self.probability).endswith("isotonic") else "sigmoid"
        curves = []
        for p, decisions in enumerate(self._compute_decisions(split, machines, deadline)):
            rows, signs = find_machine_rows(split, p)
            has_decision = np.isfinite(decisions)
            weights = np.ones(len(rows)) if weight is None else weight[rows]
            if len(np.unique(signs[has_decision])) < 2:
                raise DataError(f"{split.describe_machine(p)}: no machine without a sample is left of one of them")
            curves.append(fit_curve(method, decisions[has_decision], signs[has_decision] > 0.0, weights[has_decision]))
        if len(self.classes_) == 2:
            coupling = "two"
        elif split.pairs[0, 1] >= 0:
            coupling = "pairs"
        else:
            coupling = "rest"
        self._calibration = Calibration(method, coupling, tuple(curves))

    def _compute_decisions(
        self, split: Split, machines: BinaryMachines, deadline: float | None
    ) -> Iterator[FloatArray]:
        """Yield each machine's decisions of its own samples, (m,), in units of its f, by machines without them."""
        if self._leaves_one_out:
            scale = self._compute_scale(machines)
            for p, left_out in enumerate(fit_machines_leave_one_out(self, split, machines, deadline)):
                yield left_out.decision / scale[p]
            return
        decisions = compute_fold_decisions(self, split, self._compute_scale, self.n_jobs, deadline)
        for p in range(len(split.pairs)):
            yield decisions[find_machine_rows(split, p)[0], p]

    def _compute_scale(self, machines: BinaryMachines) -> FloatArray:
        """Return the divisor of the decision function of each machine: (P,)."""
        return np.ones(len(machines.gap))

    def _add_calibration(self, model: AnyModel) -> AnyModel:
        """Add the fitted curves, if any, to the metadata of the model."""
        calibration = getattr(self, "_calibration", None)
        if calibration is None:
            return model
        return replace(model, metadata={KEY: calibration.to_record()})

    @property
    def _is_first_positive(self) -> bool:
        """Whether f is positive for the first class of a pair."""
        return False

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict the probabilities of the classes, by curves fitted to decisions of samples that did not train.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m, k)
            In the order of `classes_`. For two classes the probability never decreases with f; it need not be ½ at f =
            0, where `predict` changes.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        """
        check_is_fitted(self)
        calibration = getattr(self, "_calibration", None)
        if calibration is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False: fit again")
        values = self._evaluate(X)
        sign = -1.0 if self._is_first_positive else 1.0
        if is_dask(values):
            return map_partitions(calibration, values, len(self.classes_), np.float64)
        return calibration(sign * values)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m, k)
            In the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        """
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):  # the logarithm of a probability that rounds to 0 is -inf
            return np.log(probabilities)

    def prediction_sets(self, X: Any, alpha: float = 0.1) -> NDArray[np.bool_]:
        """Return sets of classes that contain the true one with probability at least 1 − 2 alpha, by the jackknife+.

        The first call after a fit computes and stores the exact machines without each sample.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        alpha : float, default=0.1
            Share of missed samples: the coverage is proven to be at least 1 − 2 alpha, and is near 1 − alpha.

        Returns
        -------
        ndarray of bool, shape (m, k)
            Whether each of `classes_` belongs to the set, which may be empty, or contain all.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        ParameterError, ParameterTypeError
            `alpha` is not between 0 and 1.
        UnsupportedError
            More than 3000 samples of a machine; constraints; all classes in one program; an indefinite kernel matrix;
            samples that are not in memory, or were not pickled.
        SolverError
            `time_limit` was exceeded before all samples were left out.

        Notes
        -----
        The guarantee holds for samples exchangeable with those of the fit, on average over both, for any distribution.
        Parameters that were computed from all samples, such as γ by "scale", C by a grid search, or a scaler, violate
        its assumptions; fixed numbers do not. Without the last sample of a class there is no machine, and it is never
        counted against a class.

        References
        ----------
        Barber, Candès, Ramdas & Tibshirani, *Predictive inference with the jackknife+* (2021).
        Romano, Sesia & Candès, *Classification with valid and adaptive coverage* (2020).
        """
        check_is_fitted(self)
        alpha = check_missed_share(alpha, "alpha")
        points = self._prepare_points(X)
        if getattr(self, "_left_out", None) is None:
            self._left_out = self._fit_left_out()
        split, left_out = self._left_out
        has_kernel_values = getattr(self, "_function_samples", None) is not None or self._is_precomputed
        return compute_sets(split, left_out, points, alpha, has_kernel_values)

    @property
    def _is_precomputed(self) -> bool:
        """Whether samples are rows of a kernel matrix."""
        return bool(getattr(self, "kernel", None) == "precomputed")

    def _build_split(self) -> Split:
        """Rebuild the machines of the fit from its samples. Raises UnsupportedError."""
        build_split: partial[Split] | None = getattr(self, "_split_builder", None)
        if build_split is None:
            raise UnsupportedError(
                "to leave samples out needs those of the fit, which a pickle or copy of the estimator leaves out, and "
                "a Dask collection has elsewhere: fit again in memory, or ask for sets before it is pickled"
            )
        return build_split()

    def _fit_left_out(self) -> tuple[Split, Any]:
        """Rebuild the machines, and fit each without each of its samples. Raises UnsupportedError, SolverError."""
        if self.multi_class in ALL_IN_ONE:
            self._check_left_out(None, np.zeros(1, dtype=np.intp), None, 'multi_class="ovr"')
        split = self._build_split()
        instead = "hold some samples out, and rank the values of decision_function there"
        self._check_left_out(split.X, split.codes, split.weight, instead)
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        return split, fit_machines_leave_one_out(self, split, self._solution, deadline)
