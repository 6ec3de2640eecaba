"""Score predictions by accuracy, or by scikit-learn's scorers (`score_predictions`, `find_scorer`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterTypeError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.data.samples import restore_labels
from qpsvm.machines import Problem

#: scorer(estimator, X, y) of scikit-learn; the estimator has `predict` and, for two classes, `decision_function` and
#: `classes_`.
Scorer = Callable[[Any, Any, NDArray[Any]], float]
#: Default scores: for two classes, for a regression, and for a quantile.
ACCURACY, R2, PINBALL = "accuracy", "r2", "neg_mean_pinball_loss"


def get_target(problem: Problem) -> NDArray[Any]:
    """Return the target of predictions, (n,): the caller's labels of two classes, or numbers."""
    if problem.samples.classes is not None:
        return restore_labels(problem.samples)
    if problem._regression_target is not None:
        return problem.samples.target
    name = type(problem).__name__
    if problem._dual_structure.mix is not None:
        raise UnsupportedError(
            f"cross-validation divides samples, and {name} learns from pairs of them: train on some groups, and count "
            "the pairs of the others that are in order"
        )
    raise UnsupportedError(
        f"{name} has no target, so that nothing says which prediction is right: qpsvm.path varies its parameters"
    )


def name_scorer(scoring: Any, problem: Problem) -> str:
    """Return the name of the score: by default accuracy, R², or for a quantile the negative mean pinball loss."""
    if scoring is not None:
        return scoring if isinstance(scoring, str) else "score"
    if problem.samples.classes is not None:
        return ACCURACY
    return PINBALL if "quantile" in problem._hyperparameters else R2


def find_scorer(scoring: Any, problem: Problem, varied: Iterable[str] = ()) -> Scorer | None:
    """Return the scorer of that name, or a given callable; None for the accuracy, which needs no scorer."""
    if callable(scoring):
        found: Scorer = scoring
        return found
    if scoring is not None and not isinstance(scoring, str):
        raise ParameterTypeError(
            f"scoring must be the name of one of scikit-learn's scorers or a callable, got {format_value(scoring)}"
        )
    name = name_scorer(scoring, problem)
    if name == PINBALL and "quantile" in problem._hyperparameters:
        if "quantile" in varied:
            raise UnsupportedError("losses of different quantiles do not compare: score one quantile at a time")
        from sklearn.metrics import make_scorer, mean_pinball_loss

        quantile: float = problem.quantile  # type: ignore[attr-defined]
        pinball_scorer: Scorer = make_scorer(mean_pinball_loss, alpha=quantile, greater_is_better=False)
        return pinball_scorer
    if name == ACCURACY and problem.samples.classes is not None:
        return None
    if name == ACCURACY:
        raise UnsupportedError(
            f"accuracy counts labels, and {type(problem).__name__} predicts numbers: leave scoring out, or take a "
            "scorer of numbers such as 'neg_mean_absolute_error'"
        )
    from sklearn.metrics import get_scorer, get_scorer_names

    if name not in get_scorer_names():
        raise UnknownOptionError(f"no scorer {name!r}; {describe_nearest(name, get_scorer_names())}")
    return _Named(name, get_scorer(name))


@dataclass(frozen=True)
class _Named:
    """One of scikit-learn's scorers, with its errors translated to those of this library."""

    name: str
    scorer: Scorer

    def __call__(self, estimator: Any, X: Any, y: NDArray[Any]) -> float:
        if self.name == R2 and len(y) < 2:
            raise DataError(
                "R² compares with the mean of the tested rows, and a fold tests one: take fewer folds, or "
                "scoring='neg_mean_absolute_error'"
            )
        try:
            return self.scorer(estimator, X, y)
        except AttributeError as error:
            why = f"{self.name} asks for more than predictions and decision values: {error}"
            raise UnsupportedError(why) from error
        except ValueError as error:
            raise UnsupportedError(f"{self.name} does not score these predictions: {error}") from error


def score_predictions(
    scorer: Scorer | None, classes: NDArray[Any] | None, values: FloatArray, X: Any, target: NDArray[Any]
) -> float:
    """Score decision values (t,) for samples X (t, d) with labels or targets (t,). Raises ParameterTypeError."""
    if scorer is None:
        assert classes is not None
        return float(np.mean(_choose_labels(classes, values) == target))
    score = scorer(_build_predictor(classes, values), X, target)
    if not isinstance(score, Real):
        raise ParameterTypeError(f"scoring must return a number, got {format_value(score)}")
    return float(score)


def _choose_labels(classes: NDArray[Any], values: FloatArray) -> NDArray[Any]:
    """Return the labels of decision values (t,) or (t, k): (t,)."""
    return np.asarray(classes[values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)])


def _build_predictor(classes: NDArray[Any] | None, values: FloatArray) -> Any:
    """Build an estimator for scikit-learn's scorers that returns the computed predictions."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    def decision_function(X: Any) -> FloatArray:  # noqa: ARG001
        return values

    class Predictor(RegressorMixin if classes is None else ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """An estimator with fixed decision values."""

        def __init__(self) -> None:
            self.fitted_ = True
            if classes is not None:
                self.classes_ = classes
                self.decision_function = decision_function

        def fit(self, X: Any, y: Any) -> Predictor:  # noqa: ARG002
            """Do nothing."""
            return self

        def predict(self, X: Any) -> NDArray[Any]:  # noqa: ARG002
            """Return f at the test samples, or their labels."""
            if classes is None:
                return values
            return _choose_labels(classes, values)

    return Predictor()
