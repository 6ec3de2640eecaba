"""Split samples into folds and score their predictions by scikit-learn's scorers.

Folds: which samples train and which are tested, and the decision values of the tested ones.

All folds take their parts of one Gram matrix, where that fits: the part among the rows that train, and that between
these and the tested ones. So testing evaluates no kernel value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import (
    DataError,
    ParameterError,
    ParameterTypeError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
    describe_nearest,
)
from qpsvm.base.resources.limits import BLOCK_NUMBERS, check_memory
from qpsvm.data.samples import restore_labels
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import CACHE_ROWS, KernelGram

#: scorer(estimator, X, y) of scikit-learn; the estimator has `predict`, and of two classes
#: `decision_function` and `classes_`.
Scorer = Callable[[Any, Any, NDArray[Any]], float]
#: The scores by default: of two classes, of a regression, and of a quantile.
ACCURACY, R2, PINBALL = "accuracy", "r2", "neg_mean_pinball_loss"


def target_of(problem: Problem) -> NDArray[Any]:
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


def name_of(scoring: Any, problem: Problem) -> str:
    """Return the name of the score: by default accuracy, R², or of a quantile the negative mean pinball loss."""
    if scoring is not None:
        return scoring if isinstance(scoring, str) else "score"
    if problem.samples.classes is not None:
        return ACCURACY
    return PINBALL if "quantile" in problem._hyperparameters else R2


def scorer_of(scoring: Any, problem: Problem, varied: Iterable[str] = ()) -> Scorer | None:
    """The scorer of that name, or itself; None for the accuracy, which needs no scorer."""
    if callable(scoring):
        found: Scorer = scoring
        return found
    if scoring is not None and not isinstance(scoring, str):
        raise ParameterTypeError(
            f"scoring must be the name of one of scikit-learn's scorers or a callable, got {format_value(scoring)}"
        )
    name = name_of(scoring, problem)
    if name == PINBALL and "quantile" in problem._hyperparameters:
        if "quantile" in varied:
            raise UnsupportedError("losses of different quantiles do not compare: score one quantile at a time")
        from sklearn.metrics import make_scorer, mean_pinball_loss

        quantile: float = problem.quantile  # type: ignore[attr-defined]
        own: Scorer = make_scorer(mean_pinball_loss, alpha=quantile, greater_is_better=False)
        return own
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


def score(
    scorer: Scorer | None, classes: NDArray[Any] | None, values: FloatArray, X: Any, target: NDArray[Any]
) -> float:
    """The score of decision values (t,) for samples X (t, d) with labels, or numbers, (t,)."""
    if scorer is None:
        assert classes is not None
        return float(np.mean(_labels(classes, values) == target))
    found = scorer(_predictor(classes, values), X, target)
    if not isinstance(found, Real):
        raise ParameterTypeError(f"scoring must return a number, got {format_value(found)}")
    return float(found)


def _labels(classes: NDArray[Any], values: FloatArray) -> NDArray[Any]:
    """The labels that decision values (t,) or (t, k) say: (t,)."""
    return np.asarray(classes[values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)])


def _predictor(classes: NDArray[Any] | None, values: FloatArray) -> Any:
    """An estimator as scikit-learn's scorers want it, which answers what has been computed: numbers, or labels."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    def decision_function(X: Any) -> FloatArray:  # noqa: ARG001
        return values

    class Predictor(RegressorMixin if classes is None else ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Its values at the tested samples are known."""

        def __init__(self) -> None:
            self.fitted_ = True
            if classes is not None:
                self.classes_ = classes
                self.decision_function = decision_function

        def fit(self, X: Any, y: Any) -> Predictor:  # noqa: ARG002
            """It has been."""
            return self

        def predict(self, X: Any) -> NDArray[Any]:  # noqa: ARG002
            """f at the tested samples, or their labels."""
            return values if classes is None else _labels(classes, values)

    return Predictor()


def ordered_pairs(y: FloatArray, f: FloatArray, groups: NDArray[Any] | None) -> tuple[int, int]:
    """Count the pairs of a group, one better than the other, that f ranks in this order, and all such pairs."""
    names = np.zeros(len(y)) if groups is None else groups
    right = pairs = 0
    for name in np.unique(names):
        members = np.flatnonzero(names == name)
        step = max(1, BLOCK_NUMBERS // len(members))
        for i in range(0, len(members), step):
            rows = members[i : i + step, None]
            better = y[rows] > y[members]
            pairs += int(better.sum())
            right += int((better & (f[rows] > f[members])).sum())
    return right, pairs


#: The matrices that a fold needs at the same time: that of all samples, its part, and what solvers make of that.
MATRICES = 3
#: Seeds that NumPy's older generator, which scikit-learn's splitters use, can begin from.
SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that train and those that are tested, among the samples that take part."""

    train: IntArray
    test: IntArray


def folds_of(problem: Problem, folds: Any, shuffle: bool, seed: int | None) -> list[Fold]:
    """The folds asked for; of a number of them, scikit-learn's `StratifiedKFold`, or `KFold` of a regression."""
    target, two_classes = target_of(problem), problem.samples.classes is not None
    labels = target[problem.active_rows]
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        return _split_into_folds(labels, two_classes, int(folds), shuffle, seed)
    if shuffle or seed is not None:
        raise ParameterError("shuffle and seed belong to a number of folds; what is given otherwise is taken as it is")
    splits = hasattr(folds, "split") and not isinstance(folds, str)
    pairs = folds.split(np.zeros((problem.n, 1)), target) if splits else folds
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ParameterTypeError(
            f"folds must be a number, pairs (train, test) of row numbers, or one of scikit-learn's splitters, "
            f"got {format_value(folds)}"
        )
    found = [_read_fold(problem, pair) for pair in pairs]
    for k, fold in enumerate(found):
        if two_classes and len(np.unique(labels[fold.train])) < 2:
            raise DataError(f"the rows that train fold {k} are all of one class")
    if not found:
        raise ParameterError("folds is empty: give at least one pair (train, test) of row numbers")
    return found


def _split_into_folds(
    labels: NDArray[Any], stratified: bool, folds: int, shuffle: bool, seed: int | None
) -> list[Fold]:
    if folds < 2:
        raise ParameterError(f"folds must be at least 2, got {folds}")
    if seed is not None and not shuffle:
        raise ParameterError("a seed has no effect without shuffle=True")
    if seed is not None and (not isinstance(seed, (int, np.integer)) or not 0 <= seed < SEEDS):
        raise ParameterError(f"seed must be a whole number from 0 to 2³² − 1, got {format_value(seed)}")
    return list(draw_folds(len(labels), labels if stratified else None, None, folds, shuffle, seed))


def draw_folds(
    n: int, labels: NDArray[Any] | None, groups: NDArray[Any] | None, folds: int, shuffle: bool, seed: int | None,
    unit: str = "sample",
) -> Iterator[Fold]:  # fmt: skip
    """Return scikit-learn's folds of n rows: with labels stratified by class, else with groups kept whole."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    what, fewest = f"there are {describe_active(n, unit)}", n
    if groups is not None:
        fewest = len(np.unique(groups))
        what = f"there are {fewest} groups"
    elif labels is not None:
        label, fewest = smallest(labels)
        what = f"the class {label} has {describe_active(fewest, unit)}"
    if fewest < folds:
        more = f"; {fewest} folds are the most" if fewest >= 2 else ""
        raise DataError(f"{what}, too few for {folds} folds, each of which needs one{more}")
    kind, how = (KFold if labels is None else StratifiedKFold), {"shuffle": shuffle, "random_state": seed}
    splitter = kind(folds, **how) if groups is None else GroupKFold(folds)
    return (Fold(train, test) for train, test in splitter.split(np.zeros((n, 1)), labels, groups))


def smallest(labels: NDArray[Any]) -> tuple[Any, int]:
    """The class of the fewest rows, and how many they are."""
    classes, counts = np.unique(labels, return_counts=True)
    k = int(counts.argmin())
    return classes[k], int(counts[k])


def describe_active(count: int, unit: str) -> str:
    """Describe a number of active rows, or samples."""
    return f"1 {unit} that takes part" if count == 1 else f"{count} {unit}s that take part"


def _read_fold(problem: Problem, pair: Any) -> Fold:
    """Return a pair of the caller's row numbers, or masks, as places among the active samples."""
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise ParameterTypeError(f"a fold must be a pair (train, test) of row numbers, got {format_value(pair)}")
    parts = []
    for rows, name in zip(pair, ("train", "test"), strict=True):
        index = np.asarray(rows)
        if index.dtype == bool and index.shape == (problem.n,):
            index = np.flatnonzero(index)
        if index.ndim != 1 or not len(index) or index.dtype.kind not in "iu":
            raise DataError(
                f"the {name} rows of a fold must be a vector of at least one row number, got {format_value(rows)}"
            )
        if index.min() < 0 or index.max() >= problem.n:
            raise DataError(f"the {name} rows of a fold go from {index.min()} to {index.max()}; X has {problem.n} rows")
        place = np.full(problem.n, -1)
        place[problem.active_rows] = np.arange(len(problem.active_rows))
        parts.append(place[index][place[index] >= 0])
    train, test = parts
    if len(np.intersect1d(train, test)):
        raise DataError(f"row {problem.active_rows[np.intersect1d(train, test)[0]]} of a fold trains and is tested")
    if len(np.unique(train)) < len(train):
        raise DataError("a row trains twice in a fold: give it the weight 2 instead")
    return Fold(train, test)


def share_gram(problem: Problem) -> None:
    """Make the Gram matrix that all folds take their parts of, where it is the kernel's own and fits."""
    space = problem.space
    if space.is_linear or space.n > CACHE_ROWS or not space.is_plain or not isinstance(space.gram, KernelGram):
        return
    try:
        check_memory(MATRICES * space.n, space.n, "the Gram matrices of the folds")
    except TooLargeError:
        return
    space.gram.dense()


class FoldProblem:
    """The problem of one fold, and the tested samples as it sees them.

    problem: Over all samples.
    """

    def __init__(self, problem: Problem, fold: Fold) -> None:
        self.problem, self.fold, self.space = restrict_to_rows(problem, fold.train), fold, problem.space
        rows = problem.active_rows
        self.train_rows, self.test_rows = rows[fold.train], rows[fold.test]
        self.target = target_of(problem)[self.test_rows]
        X = problem.samples.X[self.test_rows]
        self.X = X[:, self.train_rows] if isinstance(problem.kernel, Precomputed) else X

    @cached
    def _cross_gram(self) -> FloatArray | None:
        """K between the tested rows and those that train, (t, k), if the full matrix is stored."""
        gram = None if self.space.is_linear else self.space.gram
        kept = gram.cached_matrix if isinstance(gram, KernelGram) and self.space.is_plain else None
        return None if kept is None else kept[self.fold.test[:, None], self.fold.train]

    def values(self, results: Sequence[SVMResult]) -> Sequence[FloatArray]:
        """f at the tested samples for each result: (t,), or (t, k) of several classes in one program."""
        if results[0].coef.ndim > 1:
            return [result.decision_function(self.X) for result in results]
        K = self._cross_gram
        columns = [None if K is None else _coefficients(result) for result in results]
        known = [j for j, column in enumerate(columns) if column is not None]
        values = np.empty((len(self.fold.test), len(results)))
        if known:
            assert K is not None
            coef = np.column_stack([column for column in columns if column is not None])
            values[:, known] = K @ coef + [results[j].b for j in known]
        for j in set(range(len(results))) - set(known):
            values[:, j] = results[j].decision_function(self.X)
        return list(values.T)


def _coefficients(result: SVMResult) -> FloatArray | None:
    """c of f = Kc + b over the samples that train, (k,); None where the model has others than those with c ≠ 0."""
    support = np.flatnonzero(result.coef)
    if result.model.w is not None or len(support) != len(result.model.coef):
        return None
    coef = np.zeros(len(result.coef))
    coef[support] = result.model.coef
    return coef
