"""What a fold's predictions are worth: by scikit-learn's scorers, which are handed decision values that are there."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import shown
from qpsvm.errors import ParameterTypeError, UnknownOptionError, UnsupportedError, nearest

#: scorer(estimator, X, y) of scikit-learn; the estimator has `predict`, `decision_function` and `classes_`.
Scorer = Callable[[Any, Any, NDArray[Any]], float]


def scorer_of(scoring: Any) -> Scorer | None:
    """The scorer of that name, or itself; None for the accuracy, which needs no scorer.

    Raises
    ------
    UnknownOptionError
        scikit-learn has no scorer of this name; names the nearest.
    ParameterTypeError
        Neither a name nor a callable.
    """
    if isinstance(scoring, str) and scoring == "accuracy":
        return None
    if callable(scoring):
        found: Scorer = scoring
        return found
    if not isinstance(scoring, str):
        raise ParameterTypeError(
            f"scoring must be the name of one of scikit-learn's scorers or a callable, got {shown(scoring)}"
        )
    from sklearn.metrics import get_scorer, get_scorer_names

    if scoring not in get_scorer_names():
        raise UnknownOptionError(f"no scorer {scoring!r}; {nearest(scoring, get_scorer_names())}")
    named: Scorer = get_scorer(scoring)

    def asked(estimator: Any, X: Any, y: NDArray[Any]) -> float:
        try:
            return named(estimator, X, y)
        except AttributeError as error:
            raise UnsupportedError(f"{scoring} asks for more than predictions and decision values: {error}") from error

    return asked


def score(scorer: Scorer | None, classes: NDArray[Any], values: FloatArray, X: Any, labels: NDArray[Any]) -> float:
    """The score of decision values (t,) for samples X (t, d) with labels (t,)."""
    if scorer is None:
        return float(np.mean(classes[(values > 0).astype(int)] == labels))
    found = scorer(_predictor(classes, values), X, labels)
    if not isinstance(found, Real):
        raise ParameterTypeError(f"scoring must return a number, got {shown(found)}")
    return float(found)


def _predictor(classes: NDArray[Any], values: FloatArray) -> Any:
    """An estimator as scikit-learn's scorers want it, which answers what has been computed."""
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
