"""Define the base of classifiers (`MulticlassMixin`): binary machines, or one program over all classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.estimators.base import Estimator, get_only_result
from qpsvm.estimators.models import find_feature_names
from qpsvm.estimators.stored_samples import StoredScoreMixin
from qpsvm.estimators.targets import check_weights, compute_class_factors, encode_labels
from qpsvm.machines import CrammerSinger, WestonWatkins
from qpsvm.machines.problem.all_in_one import AllInOneProblem
from qpsvm.many.multiclass import BinaryMachines, MachineTemplate, Split, solve_machines, split_classes
from qpsvm.many.multiclass.one_by_one import remove_rounding_alpha
from qpsvm.many.multiclass.split import REST
from qpsvm.many.multiclass.together import LazyResults
from qpsvm.result.hints import ROWS, find_label_hints, find_sample_hints
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: The machines over all classes in one program, by their names in `multi_class`.
ALL_IN_ONE: dict[str, type[AllInOneProblem]] = {"crammer_singer": CrammerSinger, "weston_watkins": WestonWatkins}


class MulticlassMixin(StoredScoreMixin, ClassifierMixin, Estimator):  # type: ignore[misc]
    """A classifier composed of one or more machines; its parameters are those of `parameter_table`."""

    results_: Sequence[SVMResult]
    constraints: Any
    class_weight: Any
    multi_class: str
    n_jobs: int | None
    #: Builds the binary machines of the last fit again; None for one program over all classes.
    _split_builder: partial[Split] | None

    def _encode_labels(self, y: Any, n: int, sample_weight: Any, by_weight: bool) -> tuple[IntArray, FloatArray | None]:
        """Return the class of each sample as an index, and its weight with the factor of its class, (n,) each.

        by_weight: Whether the class weight "balanced" counts weights instead of samples.
        """
        self.classes_, codes = encode_labels(y, n)
        weight = check_weights(sample_weight, n)
        factors = compute_class_factors(self.class_weight, self.classes_, y, weight if by_weight else None)
        self.class_weight_ = factors
        if (factors == 1.0).all():
            return codes, weight
        return codes, factors[codes] if weight is None else weight * factors[codes]

    @property
    def notes_(self) -> tuple[str, ...]:
        results = getattr(self, "results_", None)
        if results is None or len(results) == 1:
            return super().notes_  # raises NotFittedError before the first fit
        build_split: partial[Split] | None = getattr(self, "_split_builder", None)
        if not len(results) or build_split is None:
            return ()
        split = build_split()
        hints = find_sample_hints(split.X, split.kernel, find_feature_names(self))
        if not hints and not split.is_out_of_core and split.X.shape[1] == self.n_features_in_:
            sampled = np.sort(split.order[:: math.ceil(len(split.order) / ROWS)])
            hints = find_label_hints(
                self.classes_[split.codes[sampled]], self.predict(split.X[sampled]), self.class_weight is not None
            )
        return tuple(map(str, hints))

    @property
    def result_(self) -> SVMResult:
        """The certified result of the only machine; if there are more, `results_` has one per machine."""
        if len(self.results_) != 1:
            raise AttributeError(f"there are {len(self.results_)} machines: results_ has the result of each")
        return get_only_result(self.results_)

    def _solve_all(
        self, X: Matrix, codes: IntArray, weight: FloatArray | None, template: MachineTemplate
    ) -> BinaryMachines:
        """Solve the machines of all classes; warm starts are from those of the last fit if they have the same form."""
        if self._is_warm_started:
            last = _extend_start(getattr(self, "_solution", None), len(codes), self._is_partial_fit)
        else:
            last = None
        self._split_builder = None
        if self.multi_class in ALL_IN_ONE:
            return self._solve_all_in_one(X, codes, weight, template, last)
        is_one_vs_rest = self.multi_class == "ovr" and len(self.classes_) > 2
        self._split_builder = partial(
            split_classes, X, codes, self.classes_, template, rest=is_one_vs_rest, sample_weight=weight
        )
        start = _reuse_start(last, self.classes_, len(codes), is_one_vs_rest)
        return solve_machines(self._split_builder(), start, self.n_jobs, **self._build_options())

    def _solve_all_in_one(
        self, X: Matrix, codes: IntArray, weight: FloatArray | None, template: MachineTemplate, last: Any
    ) -> BinaryMachines:
        """Solve one program over all classes. Raises UnsupportedError, QPSVMError."""
        classes = self.classes_
        if template.constraints is not None:
            raise UnsupportedError(
                f"multi_class={self.multi_class!r} takes no constraints: use machines of two classes"
            )
        problem_class: Any = ALL_IN_ONE[self.multi_class]
        problem = problem_class(
            X, classes[codes], template.parameters.get("C", math.inf), template.kernel, sample_weight=weight,
            psd=template.psd, intercept=template.intercept,
        )  # fmt: skip
        previous = last.results[0] if isinstance(last, BinaryMachines) else None
        is_compatible = previous is not None and previous.coef.shape == (len(codes), len(classes))
        result = solve(problem, start=previous if is_compatible else None, check=False, **self._build_options())
        if result.error is not None:
            raise result.error
        return _as_binary_machines(remove_rounding_alpha(problem, result, float(self.tol)), classes)


def predict_labels(values: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """Predict the labels (m,) from decision values: (m, 1) for two classes, else (m, k) with a column per class."""
    if values.shape[1] == 1:
        codes = (values[:, 0] > 0.0).astype(np.intp)
    else:
        codes = values.argmax(axis=1)
    labels: NDArray[Any] = classes[codes]
    return labels


def _as_binary_machines(result: SVMResult, classes: NDArray[Any]) -> BinaryMachines:
    """Convert an all-in-one result over k classes to k machines of one class against all others, or to one if k = 2."""
    coef = result.coef.T
    b = np.asarray(result.b)
    w = result.model.w
    pairs = np.array([(c, REST) for c in range(len(classes))])
    if len(classes) == 2:
        coef = (coef[1] - coef[0])[None, :]
        b = b[1:] - b[:1]
        pairs = np.array([(0, 1)])
        w = None if w is None else (w[1] - w[0])[None, :]
    return BinaryMachines(
        classes=classes, machines=pairs, coef=sp.csr_array(coef), b=b, w=w, gap=np.array([result.gap]),
        status=[result.status], iterations=np.array([result.iterations or 0]), solver=result.solver,
        message=result.message, rho=np.ones(len(pairs)), results=LazyResults(1, None, {0: result}),
        caveats=result.caveats,
    )  # fmt: skip


def _extend_start(last: Any, n: int, is_partial_fit: bool) -> Any:
    """Extend the machines of the last fit to the n samples of a partial fit: additional samples start at α = 0."""
    if not (is_partial_fit and isinstance(last, BinaryMachines) and last.coef.shape[1] < n):
        return last
    coef = last.coef
    return replace(last, coef=sp.csr_array((coef.data, coef.indices, coef.indptr), shape=(coef.shape[0], n)))


def _reuse_start(last: Any, classes: NDArray[Any], n: int, is_one_vs_rest: bool) -> BinaryMachines | None:
    """Return the machines of the last fit if binary machines over these classes can start from them; else None."""
    if not isinstance(last, BinaryMachines) or not np.array_equal(last.classes, classes) or last.coef.shape[1] != n:
        return None
    was_all_in_one = len(last.results) == 1 and last.results[0].coef.ndim == 2
    was_one_vs_rest = bool(last.machines[0, 1] == REST)
    return last if not was_all_in_one and was_one_vs_rest == is_one_vs_rest else None
