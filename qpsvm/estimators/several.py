"""Define the base of the classifiers (`MulticlassMixin`), with machines of two classes, or one over all classes."""

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

#: The machines that learn several classes in one program.
ALL_IN_ONE: dict[str, type[AllInOneProblem]] = {"crammer_singer": CrammerSinger, "weston_watkins": WestonWatkins}


class MulticlassMixin(StoredScoreMixin, ClassifierMixin, Estimator):  # type: ignore[misc]
    """A classifier composed of one or more machines."""

    results_: Sequence[SVMResult]
    #: Linear constraints, factors of C, the choice of machines for more than two classes, and processes for them.
    constraints: Any
    class_weight: Any
    multi_class: str
    n_jobs: int | None
    #: Rebuilds the machines of the last fit; None for one program over all classes.
    _split: partial[Split] | None

    def _encode_labels(self, y: Any, n: int, sample_weight: Any, by_weight: bool) -> tuple[IntArray, FloatArray | None]:
        """Encode the class and weight of each sample, (n,) each; the weights include `class_weight`.

        by_weight: Whether "balanced" counts weights instead of samples.
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
        build_split: partial[Split] | None = getattr(self, "_split", None)
        if len(getattr(self, "results_", ())) <= 1 or build_split is None:
            if len(getattr(self, "results_", (0,))) == 1:
                return super().notes_
            return ()
        parts = build_split()
        hints = find_sample_hints(parts.X, parts.kernel, find_feature_names(self))
        if not hints and not parts.is_out_of_core and parts.X.shape[1] == self.n_features_in_:
            sampled = np.sort(parts.order[:: -(-len(parts.order) // ROWS)])
            hints = find_label_hints(
                self.classes_[parts.codes[sampled]], self.predict(parts.X[sampled]), self.class_weight is not None
            )
        return tuple(map(str, hints))

    @property
    def result_(self) -> SVMResult:
        """The certified result for two classes; for more, `results_` has one per machine."""
        if len(self.results_) != 1:
            raise AttributeError(f"there are {len(self.results_)} machines: results_ has the result of each")
        return get_only_result(self.results_)

    def _solve_all(
        self, X: Matrix, codes: IntArray, weight: FloatArray | None, template: MachineTemplate
    ) -> BinaryMachines:
        """Solve the machines of all classes, started from the last ones if they have the same form."""
        if self._is_warm_started:
            last = _extend_start(getattr(self, "_solution", None), len(codes), self._is_partial_fit)
        else:
            last = None
        self._split = None
        if self.multi_class in ALL_IN_ONE:
            return self._solve_all_in_one(X, codes, weight, template, last)
        is_one_vs_rest = self.multi_class == "ovr" and len(self.classes_) > 2
        self._split = partial(
            split_classes, X, codes, self.classes_, template, rest=is_one_vs_rest, sample_weight=weight
        )
        start = _reuse_start(last, self.classes_, len(codes), is_one_vs_rest)
        return solve_machines(self._split(), start, self.n_jobs, **self._build_options())

    def _solve_all_in_one(
        self, X: Matrix, codes: IntArray, weight: FloatArray | None, template: MachineTemplate, last: Any
    ) -> BinaryMachines:
        """Solve one program over all classes. Raises UnsupportedError, QPSVMError."""
        labels = self.classes_
        if template.constraints is not None:
            raise UnsupportedError(
                f"multi_class={self.multi_class!r} takes no constraints: use machines of two classes"
            )
        machine: Any = ALL_IN_ONE[self.multi_class]
        problem = machine(
            X, labels[codes], template.parameters.get("C", math.inf), template.kernel, sample_weight=weight,
            psd=template.psd, intercept=template.intercept,
        )  # fmt: skip
        previous = last.results[0] if isinstance(last, BinaryMachines) else None
        is_compatible = previous is not None and previous.coef.shape == (len(codes), len(labels))
        result = solve(problem, start=previous if is_compatible else None, check=False, **self._build_options())
        if result.error is not None:
            raise result.error
        return _as_machines(remove_rounding_alpha(problem, result, float(self.tol)), labels)


def predict_labels(values: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """Predict the labels of decision values (m, P), of two classes or of each: (m,)."""
    if values.shape[1] == 1:
        codes = (values[:, 0] > 0.0).astype(np.intp)
    else:
        codes = values.argmax(axis=1)
    labels: NDArray[Any] = classes[codes]
    return labels


def _as_machines(result: SVMResult, labels: NDArray[Any]) -> BinaryMachines:
    """Convert the decision functions of an all-in-one result to those of machines of one class against all others."""
    coef = result.coef.T
    b = np.asarray(result.b)
    w = result.model.w
    pairs = np.array([(c, REST) for c in range(len(labels))])
    if len(labels) == 2:
        coef = (coef[1] - coef[0])[None, :]
        b = b[1:] - b[:1]
        pairs = np.array([(0, 1)])
        w = None if w is None else (w[1] - w[0])[None, :]
    return BinaryMachines(
        classes=labels, machines=pairs, coef=sp.csr_array(coef), b=b, w=w, gap=np.array([result.gap]),
        status=[result.status], iterations=np.array([result.iterations or 0]), solver=result.solver,
        message=result.message, rho=np.ones(len(pairs)), results=LazyResults(1, None, {0: result}),
        caveats=result.caveats,
    )  # fmt: skip


def _extend_start(last: Any, n: int, continues: bool) -> Any:
    """Extend the machines of the last fit to n samples, by starting additional samples at α = 0."""
    if not (continues and isinstance(last, BinaryMachines) and last.coef.shape[1] < n):
        return last
    coef = last.coef
    return replace(last, coef=sp.csr_array((coef.data, coef.indices, coef.indptr), shape=(coef.shape[0], n)))


def _reuse_start(last: Any, classes: NDArray[Any], n: int, is_one_vs_rest: bool) -> BinaryMachines | None:
    """Return the machines of the last fit if the next one can start from them; else None."""
    if not isinstance(last, BinaryMachines) or not np.array_equal(last.classes, classes) or last.coef.shape[1] != n:
        return None
    all_in_one = len(last.results) == 1 and last.results[0].coef.ndim == 2
    if not all_in_one and bool(last.machines[0, 1] < 0) == is_one_vs_rest:
        return last
    return None
