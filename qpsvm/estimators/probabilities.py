"""Compute probabilities of classes, from folds or leave-one-out machines, and prediction sets (`ProbableClassifier`).

`probability` names the curve, and the machines whose decisions it is fitted to:

    True, "sigmoid"         a sigmoid; each sample is decided by the machine trained without its fold, of five
    "isotonic"              steps that never fall, by the same decisions
    "leave-one-out"         a sigmoid; each sample is decided by the machine trained without it alone, exactly
    "leave-one-out-isotonic"   steps, by these
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
from qpsvm.estimators import inputs
from qpsvm.estimators.base import AnyModel
from qpsvm.estimators.bounded import BoundedClassifier
from qpsvm.estimators.fold_decisions import compute_fold_decisions
from qpsvm.estimators.left_out import (
    check_left_out,
    check_missed_share,
    compute_sets,
    find_machine_rows,
    fit_curve,
    fit_each_leave_one_out,
)
from qpsvm.estimators.several import ALL_IN_ONE, MulticlassMixin
from qpsvm.many.multiclass import BinaryMachines
from qpsvm.many.multiclass.split import Split
from qpsvm.result.calibration import KEY, Calibration


def _has_probabilities(self: Any) -> bool:
    """Tell whether there are probabilities. Raises AttributeError."""
    if self.probability in (False, "deprecated"):  # scikit-learn's word for False, under `patch_sklearn`
        raise AttributeError(f"{type(self).__name__}(probability=True) has probabilities once it is fitted")
    return True


class ProbableClassifier(BoundedClassifier, MulticlassMixin):
    """A classifier whose samples can be left out."""

    _parameter_names: ClassVar[tuple[str, ...]] = ("probability",)
    probability: Any
    _calibration: Calibration | None
    _left_out: Any
    _solution: Any
    #: f of each machine, (m, P); and new samples as those of the machines are, (m, d), or kernel values with these.
    _evaluate: Any
    _prepare_points: Any

    @property
    def _wants_probabilities(self) -> bool:
        return self.probability not in (False, "deprecated")

    @property
    def _leaves_one_out(self) -> bool:
        """Whether curves are fitted to exact leave-one-out decisions."""
        return str(self.probability).startswith("leave-one-out")

    def _check_left_out(self, X: Any, codes: IntArray, weight: FloatArray | None, instead: str) -> None:
        """Refuse what cannot be left out sample by sample, before it is solved. Raises UnsupportedError."""
        if self.multi_class in ALL_IN_ONE:
            raise UnsupportedError(
                f"each sample of {type(self).__name__} is left out, which multi_class={self.multi_class!r} does not "
                f"allow: take machines of two classes, or {instead}"
            )
        counts = np.sort(np.bincount(codes if weight is None else codes[weight > 0.0]))
        pairs = len(counts) > 2 and self.multi_class == "ovo"
        n = int(counts[-2:].sum() if pairs else counts.sum())
        check_left_out(type(self).__name__, X, n, instead, self.constraints)

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

    def _calibrate(self, together: BinaryMachines, weight: FloatArray | None, deadline: float | None) -> None:
        """Fit a curve to each machine's decisions of samples that did not train it.

        `weight` (n,) has no factors of `class_weight`, so that probabilities are those of the samples as they occur.
        """
        if not self._wants_probabilities:
            return
        parts = self._build_split()
        method: str = "isotonic" if str(self.probability).endswith("isotonic") else "sigmoid"
        curves = []
        for p, decisions in enumerate(self._compute_decisions(parts, together, deadline)):
            rows, signs = find_machine_rows(parts, p)
            known = np.isfinite(decisions)
            weights = np.ones(len(rows)) if weight is None else weight[rows]
            if len(np.unique(signs[known])) < 2:
                raise DataError(f"{parts.describe_machine(p)}: no machine without a sample is left of one of them")
            curves.append(fit_curve(method, decisions[known], signs[known] > 0.0, weights[known]))
        coupling = "two" if len(self.classes_) == 2 else "pairs" if parts.pairs[0, 1] >= 0 else "rest"
        self._calibration = Calibration(method, coupling, tuple(curves))

    def _compute_decisions(
        self, parts: Split, together: BinaryMachines, deadline: float | None
    ) -> Iterator[FloatArray]:
        """Yield each machine's decisions of its own samples, (m,), in units of its f, by machines without them."""
        if self._leaves_one_out:
            size = self._compute_scale(together)
            for p, found in enumerate(fit_each_leave_one_out(self, parts, together, deadline)):
                yield found.decision / size[p]
            return
        decisions = compute_fold_decisions(self, parts, self._compute_scale, self.n_jobs, deadline)
        for p in range(len(parts.pairs)):
            yield decisions[find_machine_rows(parts, p)[0], p]

    def _compute_scale(self, together: BinaryMachines) -> FloatArray:
        """Return the divisor of the decision function of each machine: (P,)."""
        return np.ones(len(together.gap))

    def _add_calibration(self, model: AnyModel) -> AnyModel:
        """Add the probabilities to the model."""
        calibration = getattr(self, "_calibration", None)
        return model if calibration is None else replace(model, metadata={KEY: calibration.to_record()})

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
            In the order of `classes_`. Of two classes the probability never falls with f; it need not be ½ where f is
            0, which is where `predict` changes.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        """
        check_is_fitted(self)
        calibration = getattr(self, "_calibration", None)
        if calibration is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False: fit again")
        values, sign = self._evaluate(X), -1.0 if self._is_first_positive else 1.0
        if is_dask(values):
            return inputs.map_partitions(calibration, values, len(self.classes_), np.float64)
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
        return np.log(self.predict_proba(X))

    def prediction_sets(self, X: Any, alpha: float = 0.1) -> NDArray[np.bool_]:
        """Return classes that contain the true one with a probability of at least 1 − 2 alpha, by the jackknife+.

        The first call after a fit leaves each sample out, exactly, and keeps these machines.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        alpha : float, default=0.1
            The share of samples that is to be missed: coverage is proven to be at least 1 − 2 alpha, and is near
            1 − alpha.

        Returns
        -------
        ndarray of bool, shape (m, k)
            Whether each of `classes_` belongs to the set: none may, or all.

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        ParameterError, ParameterTypeError
            `alpha` is not between 0 and 1.
        UnsupportedError
            More than 3000 samples of a machine; constraints; all classes in one program; an indefinite kernel matrix;
            samples that are not in memory, or that a pickle has left out.
        SolverError
            `time_limit` was over before all samples were left out.

        Notes
        -----
        The guarantee holds for samples that are exchangeable with those of the fit, on the average over both, whatever
        their distribution. What is learnt of all samples in advance, as γ by "scale", C by a grid, or a scaler,
        is not without any of them: a number given in advance is. The last sample of a class has no machine without it,
        and is never counted against a class.

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
        parts, found = self._left_out
        return compute_sets(
            parts, found, points, alpha, getattr(self, "_given", None) is not None or self._is_precomputed
        )

    @property
    def _is_precomputed(self) -> bool:
        """Whether samples are rows of a kernel matrix."""
        return bool(getattr(self, "kernel", None) == "precomputed")

    def _build_split(self) -> Split:
        """Rebuild the machines. Raises UnsupportedError."""
        stated: partial[Split] | None = getattr(self, "_split", None)
        if stated is None:
            raise UnsupportedError(
                "to leave samples out needs those of the fit, which a pickle or copy of the estimator leaves out, and "
                "a Dask collection has elsewhere: fit again in memory, or ask for sets before it is pickled"
            )
        return stated()

    def _fit_left_out(self) -> tuple[Split, Any]:
        """Rebuild the machines, and fit each without each of its samples. Raises UnsupportedError, SolverError."""
        if self.multi_class in ALL_IN_ONE:
            self._check_left_out(None, np.zeros(1, dtype=np.intp), None, 'multi_class="ovr"')
        parts = self._build_split()
        instead = "hold some samples out, and rank the values of decision_function there"
        self._check_left_out(parts.X, parts.codes, parts.weight, instead)
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        return parts, fit_each_leave_one_out(self, parts, self._solution, deadline)
