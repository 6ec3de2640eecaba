"""What a fold's predictions are worth: by scikit-learn's scorers, which are handed decision values that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import shown
from qpsvm.errors import DataError, ParameterTypeError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.problems import Problem
from qpsvm.samples import original_labels

#: scorer(estimator, X, y) of scikit-learn; the estimator has `predict`, and of two classes
#: `decision_function` and `classes_`.
Scorer = Callable[[Any, Any, NDArray[Any]], float]
#: The scores by default: of two classes, of a regression, and of a quantile.
ACCURACY, R2, PINBALL = "accuracy", "r2", "neg_mean_pinball_loss"


def target_of(problem: Problem) -> NDArray[Any]:
    """What predictions are compared with, (n,): the caller's labels of two classes, or numbers.

    Raises UnsupportedError.
    """
    if problem.samples.classes is not None:
        return original_labels(problem.samples)
    if problem.shown_target is not None:
        return problem.samples.target
    name = type(problem).__name__
    if problem.outlined.mix is not None:
        raise UnsupportedError(
            f"cross-validation divides samples, and {name} learns from pairs of them: train on some groups, and count "
            "the pairs of the others that are in order"
        )
    raise UnsupportedError(
        f"{name} has no target, so that nothing says which prediction is right: qpsvm.path varies its parameters"
    )


def name_of(scoring: Any, problem: Problem) -> str:
    """What the scores are: by default the accuracy, R², or of a quantile its mean pinball loss, negative."""
    if scoring is not None:
        return scoring if isinstance(scoring, str) else "score"
    if problem.samples.classes is not None:
        return ACCURACY
    return PINBALL if "quantile" in problem.own else R2


def scorer_of(scoring: Any, problem: Problem, varied: Iterable[str] = ()) -> Scorer | None:
    """The scorer of that name, or itself; None for the accuracy, which needs no scorer.

    Raises UnknownOptionError, ParameterTypeError, UnsupportedError.
    """
    if callable(scoring):
        found: Scorer = scoring
        return found
    if scoring is not None and not isinstance(scoring, str):
        raise ParameterTypeError(
            f"scoring must be the name of one of scikit-learn's scorers or a callable, got {shown(scoring)}"
        )
    name = name_of(scoring, problem)
    if name == PINBALL and "quantile" in problem.own:
        if "quantile" in varied:
            raise UnsupportedError("losses of different quantiles do not compare: score one quantile at a time")
        return _Pinball(problem.quantile)  # type: ignore[attr-defined]
    if name == ACCURACY and problem.samples.classes is not None:
        return None
    if name == ACCURACY:
        raise UnsupportedError(
            f"accuracy counts labels, and {type(problem).__name__} predicts numbers: leave scoring out, or take a "
            "scorer of numbers such as 'neg_mean_absolute_error'"
        )
    from sklearn.metrics import get_scorer, get_scorer_names

    if name not in get_scorer_names():
        raise UnknownOptionError(f"no scorer {name!r}; {nearest(name, get_scorer_names())}")
    return _Named(name, get_scorer(name))


@dataclass(frozen=True)
class _Named:
    """One of scikit-learn's scorers, whose complaints become ours."""

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


@dataclass(frozen=True)
class _Pinball:
    """The mean loss of a quantile, negative: τ for a unit below the target, 1 − τ for one above it."""

    quantile: float

    def __call__(self, estimator: Any, X: Any, y: NDArray[Any]) -> float:
        missed = y - estimator.predict(X)
        return -float(np.maximum(self.quantile * missed, (self.quantile - 1.0) * missed).mean())


def score(
    scorer: Scorer | None, classes: NDArray[Any] | None, values: FloatArray, X: Any, target: NDArray[Any]
) -> float:
    """The score of decision values (t,) for samples X (t, d) with labels, or numbers, (t,)."""
    if scorer is None:
        assert classes is not None
        return float(np.mean(classes[(values > 0).astype(int)] == target))
    predictor = _regressor(values) if classes is None else _classifier(classes, values)
    found = scorer(predictor, X, target)
    if not isinstance(found, Real):
        raise ParameterTypeError(f"scoring must return a number, got {shown(found)}")
    return float(found)


def _regressor(values: FloatArray) -> Any:
    """An estimator as scikit-learn's scorers want it, which answers what has been computed."""
    from sklearn.base import BaseEstimator, RegressorMixin

    class Predictor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        """A regressor whose values at the tested samples are known."""

        def __init__(self) -> None:
            self.fitted_ = True

        def fit(self, X: Any, y: Any) -> Predictor:  # noqa: ARG002
            """It has been."""
            return self

        def predict(self, X: Any) -> FloatArray:  # noqa: ARG002
            """f at the tested samples."""
            return values

    return Predictor()


def _classifier(classes: NDArray[Any], values: FloatArray) -> Any:
    """The same for labels."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Predictor(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose decision values at the tested samples are known."""

        def __init__(self) -> None:
            self.classes_ = classes

        def fit(self, X: Any, y: Any) -> Predictor:  # noqa: ARG002
            """It has been."""
            return self

        def decision_function(self, X: Any) -> FloatArray:  # noqa: ARG002
            """f at the tested samples."""
            return values

        def predict(self, X: Any) -> NDArray[Any]:  # noqa: ARG002
            """Their labels."""
            predicted: NDArray[Any] = classes[(values > 0).astype(int)]
            return predicted

    return Predictor()
