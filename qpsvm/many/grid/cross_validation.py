"""Cross-validate over a grid of parameters, with folds that share Gram matrices (`cross_validate`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import (
    InaccurateWarning,
    InfeasibleNuError,
    ParameterError,
    ParameterTypeError,
    UnknownOptionError,
    UnsupportedError,
)
from qpsvm.base.other_names import explain_argument
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines import Problem
from qpsvm.many.exact.validation import ValidationCurves, cross_validate_interval
from qpsvm.many.grid.fold_problem import FoldProblem, share_gram
from qpsvm.many.grid.folds import Fold, build_folds
from qpsvm.many.grid.interval import Interval
from qpsvm.many.grid.parameters import Grid, build_at_point, build_grid, format_columns
from qpsvm.many.grid.scorers import Scorer, find_scorer, get_target, name_scorer, score_predictions
from qpsvm.many.grid.walk import run_tasks, solve_points
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Largest number of points that are all printed; of more points, only this many of the best are printed.
MAX_ROWS = 30


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of a grid of parameters on the test samples of each fold. Arrays have one axis per parameter.

    Attributes
    ----------
    problem : Problem
        The validated problem.
    axes : mapping of str to ndarray
        The values of each parameter, in the order of the axes of `mean`.
    scores : ndarray, shape (folds, …)
        The score of each fold at each point; NaN if it has none.
    gaps : ndarray, shape (folds, …)
        The certified relative gap of each solve; infinite if there is no solution.
    status : ndarray of str, shape (folds, …)
        Status of each solve, such as "optimal", or "infeasible" if the machine has no solution on the training rows.
    support : ndarray of int, shape (folds, …)
        Number of support vectors.
    scoring : str
        Name of the score.

    See Also
    --------
    cross_validate : Computes one.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> found = qpsvm.cross_validate(qpsvm.CSVM(X, y, kernel="rbf"), C=[0.1, 10.0], gamma=[0.5, 2.0], folds=3)
    >>> found.scores.shape, found.mean.shape, bool((found.gaps <= 1e-6).all())
    ((3, 2, 2), (2, 2), True)
    >>> found.best, round(found.best_score, 3)
    ({'C': 10.0, 'gamma': 2.0}, 0.983)
    """

    problem: Problem
    axes: Mapping[str, NDArray[Any]]
    scores: FloatArray
    gaps: FloatArray
    status: NDArray[Any]
    support: NDArray[Any]
    scoring: str

    @cached
    def mean(self) -> FloatArray:
        """Mean score of each point over the folds; NaN if a fold has none."""
        return np.asarray(self.scores.mean(axis=0))

    @cached
    def std(self) -> FloatArray:
        """Standard deviation of the scores of each point over the folds."""
        return np.asarray(self.scores.std(axis=0))

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self.scores)

    @property
    def points(self) -> list[dict[str, Any]]:
        """Parameters of each point; the last axis varies fastest."""
        return [
            {name: values[i] for (name, values), i in zip(self._values.items(), index, strict=True)}
            for index in np.ndindex(self.mean.shape)
        ]

    @property
    def _values(self) -> dict[str, list[Any]]:
        """Values of each parameter as Python numbers."""
        return {name: values.tolist() for name, values in self.axes.items()}

    @property
    def best_index(self) -> tuple[int, ...]:
        """Index of the best mean score; the first of equal ones.

        Raises
        ------
        UnsupportedError
            No point has a score in every fold.
        """
        if np.isnan(self.mean).all():
            raise UnsupportedError("no point has a score in every fold: status and gaps say how the solves ended")
        return tuple(int(i) for i in np.unravel_index(int(np.nanargmax(self.mean)), self.mean.shape))

    @property
    def best(self) -> dict[str, Any]:
        """Parameters of the best mean score."""
        return {name: values[i] for (name, values), i in zip(self._values.items(), self.best_index, strict=True)}

    @property
    def best_score(self) -> float:
        """Best mean score."""
        return float(self.mean[self.best_index])

    @property
    def best_problem(self) -> Problem:
        """The problem over all samples, with the best parameters."""
        return build_at_point(self.problem, self.best)

    def refit(self, **options: Any) -> SVMResult:
        """Solve the best problem over all samples.

        Parameters
        ----------
        **options
            For `qpsvm.solve`.

        Returns
        -------
        SVMResult
            The result, whose `model` predicts.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> found = qpsvm.cross_validate(qpsvm.CSVM(X, y), C=[0.1, 1.0], folds=2)
        >>> print(found.best, found.refit().status)
        {'C': 1.0} optimal
        """
        return solve(self.best_problem, **options)

    def columns(self) -> dict[str, list[Any]]:
        """Return a list for each column of the table, for a data frame: `pandas.DataFrame(found.columns())`.

        Returns
        -------
        dict of str to list
            One entry per point. The gap is the largest of all folds, the number of support vectors their mean, and the
            status that of the first fold that is not optimal.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> print([*qpsvm.cross_validate(qpsvm.CSVM(X, y), C=[0.1, 1.0], folds=2).columns()])
        ['C', 'mean', 'std', 'gap', 'support', 'status']
        """
        points = self.points
        fold_status_of_points = self.status.reshape(self.folds, -1).T.tolist()
        return {
            **{name: [point[name] for point in points] for name in self.axes},
            "mean": self.mean.ravel().tolist(),
            "std": self.std.ravel().tolist(),
            "gap": self.gaps.max(axis=0).ravel().tolist(),
            "support": self.support.mean(axis=0).round().astype(int).ravel().tolist(),
            "status": [
                next((status for status in fold_status if status != "optimal"), "optimal")
                for fold_status in fold_status_of_points
            ],
        }

    def __str__(self) -> str:
        n_points = self.mean.size
        heading = f"{self.scoring}, {self.folds} folds"
        displayed = np.arange(n_points)
        if n_points > MAX_ROWS:
            order = np.argsort(-np.nan_to_num(self.mean.ravel(), nan=-np.inf), kind="stable")
            displayed = order[:MAX_ROWS]
            heading = f"{heading}: the best {MAX_ROWS} of {n_points} points"
        columns = {name: [column[i] for i in displayed] for name, column in self.columns().items()}
        formats = {"mean": "{:.4f}".format, "std": "{:.4f}".format, "gap": "{:.1e}".format}
        return f"{heading}\n{format_columns(columns, formats)}"

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.axes.items())
        return f"<CrossValidation: {self.folds} folds; {axes}>"


def cross_validate(
    problem: Problem,
    *,
    folds: Any = 5,
    shuffle: bool = False,
    seed: int | None = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> CrossValidation | ValidationCurves:
    """Score each point of a grid of parameters on samples that it was not trained on. Every solve is certified.

    Samples of weight 0 are ignored, in training and in testing. Other weights count only in training.

    Parameters
    ----------
    problem : Problem
        With two classes, or a regression. The grid replaces its own values of the parameters. If its C differs between
        samples, the C of the grid is the mean over all samples, and the ratios are kept.
    folds : int, iterable of (train, test), or splitter, default=5
        The number of folds, which are those of scikit-learn's `StratifiedKFold`, or of `KFold` for a regression; pairs
        of row indices (or masks); or one of scikit-learn's splitters.
    shuffle, seed : bool, int
        Used if `folds` is a number. Without shuffling, the folds are the default ones of scikit-learn. Shuffle if the
        rows of a regression are sorted.
    scoring : str or callable, optional
        The name of one of scikit-learn's scorers, or such a scorer, called with an estimator, the test samples
        and their labels or targets. The estimator has `predict` and, for two classes, `decision_function`, whose values
        come from the Gram matrix. By default "accuracy"; for a regression "r2"; and for a quantile
        "neg_mean_pinball_loss", the loss that its training minimises.
    n_jobs : int, optional
        Number of parallel processes, by joblib; −1 is one per core.
    verbose : bool, default=False
        Show a progress bar if tqdm is installed, else one line per tenth of the solves.
    **options
        The values of one or more parameters, by name: `C`, `nu`, `lam`, `epsilon`, `width`, or a parameter of the
        kernel (`gamma`, `degree`, `coef0`). All other options are for `qpsvm.solve`. One parameter in which the dual is
        linear may be an `Interval`. Then the exact error rate is computed for all its values, the other parameters are
        lists of values, and `tol` and `time_limit` are those of `exact_path`, for each path.

    Returns
    -------
    CrossValidation
        For lists: scores, gaps and status of each fold at each point; the best parameters.
    ValidationCurves
        For an `Interval`: the exact error curve of each fold, their mean, and all values that minimise it.

    Raises
    ------
    UnknownOptionError
        No such parameter or scorer; the message names the nearest.
    ParameterError, ParameterTypeError
        No parameter given; a value that is not positive and finite; invalid folds.
    DataError
        Rows of a fold that do not exist, or that both train and test; a fold with training rows of only one class.
    UnsupportedError
        A machine without a target, over pairs, or without a parameter; a scorer that needs probabilities, or labels for
        a regression.
    KeyboardInterrupt
        Ctrl-C was pressed.

    Warns
    -----
    InaccurateWarning
        A solve is not optimal (`check=True`). A ν or a hard margin that is infeasible for the rows of a fold causes no
        warning: its status is "infeasible", and its score NaN.

    See Also
    --------
    path : Returns the results themselves.
    qpsvm.plotting.scores : Plots the scores.

    Notes
    -----
    The Gram matrix is computed once per kernel, and shared by all folds. If it is not stored (for more than 10 000
    rows, or a kernel that may be indefinite), each fold evaluates the values it needs.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> found = qpsvm.cross_validate(qpsvm.CSVM(X, y, kernel=qpsvm.RBF(1.0)), C=[0.1, 1.0, 10.0], folds=3)
    >>> print([round(float(mean), 3) for mean in found.mean], found.best)
    [0.85, 0.883, 0.967] {'C': 10.0}
    >>> print(found.refit().status)
    optimal

    All values of C, instead of three:

    >>> curves = qpsvm.cross_validate(qpsvm.CSVM(X, y, kernel=qpsvm.RBF(1.0)), C=qpsvm.Interval(0.1, 10), folds=3)
    >>> round(curves.best_score, 9) <= round(1 - found.best_score, 9), len(curves.mean[()].values) > 3
    (True, True)
    """
    shuffle, verbose = as_flag(shuffle, "shuffle"), as_flag(verbose, "verbose")
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"cross_validate takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    if "cv" in options:
        raise UnknownOptionError(explain_argument("cross_validate", "cv", options, ()))
    get_target(problem)  # called only to raise an error if there is no target
    if any(isinstance(value, Interval) for value in options.values()):
        return cross_validate_interval(problem, options, folds, shuffle, seed, scoring, n_jobs, verbose)
    grid, solve_options = build_grid(problem, options)
    if "start" in solve_options:
        raise ParameterError("a start is for one set of rows, and each fold has its own: leave it out")
    check = as_flag(solve_options.pop("check", True), "check")
    scorer = find_scorer(scoring, problem, grid.axes)
    all_folds = build_folds(problem, folds, shuffle, seed)
    tasks = _split_into_tasks(grid, len(all_folds), n_jobs)
    points = grid.points
    arguments = [
        (grid, task.kernel, [points[i] for i in task.points], [all_folds[j] for j in task.folds], scorer, solve_options)
        for task in tasks
    ]
    sizes = [len(task.positions) for task in tasks]
    outcomes = [outcome for part in run_tasks(_iter_outcomes, arguments, sizes, n_jobs, verbose) for outcome in part]
    positions = [position for task in tasks for position in task.positions]
    return _build_result(grid, len(all_folds), positions, outcomes, name_scorer(scoring, problem), check)


class Task(NamedTuple):
    """Points of one kernel, and the folds to solve them on: indices of both."""

    kernel: Mapping[str, Any]
    points: Sequence[int]
    folds: Sequence[int]

    @property
    def positions(self) -> list[tuple[int, int]]:
        """Fold and point of each outcome, in order."""
        return [(fold, point) for fold in self.folds for point in self.points]


def _split_into_tasks(grid: Grid, n_folds: int, n_jobs: int | None) -> list[Task]:
    """Return one task per kernel, whose folds share a Gram matrix; with one kernel and several jobs, one per fold."""
    groups = grid.group_by_kernel()
    is_parallel_over_folds = n_jobs not in (None, 1) and len(groups) == 1
    if is_parallel_over_folds:
        bundles = [[j] for j in range(n_folds)]
    else:
        bundles = [list(range(n_folds))]
    return [Task(kernel, points, folds) for kernel, points in groups for folds in bundles]


@dataclass(frozen=True)
class Outcome:
    """Outcome of one point on one fold.

    score: NaN if there is no solution.
    gap: The certified relative gap; infinite if there is no solution.
    support: Number of support vectors.
    """

    score: float
    gap: float
    status: str
    support: int


def _iter_outcomes(
    grid: Grid, kernel: Mapping[str, Any], points: Sequence[Mapping[str, Any]], folds: Sequence[Fold],
    scorer: Scorer | None, options: Mapping[str, Any],
) -> Iterator[Outcome]:  # fmt: skip
    """Yield the outcomes of the points of one kernel, fold by fold; `options` are those of `qpsvm.solve`."""
    problem = grid.problem.replace(**kernel)
    with limit_blas_threads():
        share_gram(problem)
        for fold in folds:
            fold_problem = FoldProblem(problem, fold)
            results = solve_points(fold_problem.problem, points, {**options, "check": False}, raise_infeasible=False)
            for result in results:  # one by one, for the progress bar
                if isinstance(result, InfeasibleNuError):  # yielded instead of raised
                    yield Outcome(np.nan, np.inf, str(Status.INFEASIBLE), 0)
                elif result.error is not None or not result.gap < np.inf:
                    yield Outcome(np.nan, np.inf, str(result.status), 0)
                else:
                    (values,) = fold_problem.evaluate([result])
                    X, target = fold_problem.X, fold_problem.target
                    score = score_predictions(scorer, problem.samples.classes, values, X, target)
                    yield Outcome(score, result.gap, str(result.status), len(result.support))


def _build_result(
    grid: Grid, n_folds: int, positions: Sequence[tuple[int, int]], outcomes: Sequence[Outcome], scoring: str,
    check: bool,
) -> CrossValidation:  # fmt: skip
    """Build the result from the outcomes at these folds and points; if `check`, warn if some are inaccurate."""
    shape = (n_folds, *grid.shape)
    ordered = [outcome for _, outcome in sorted(zip(positions, outcomes, strict=True), key=lambda pair: pair[0])]
    status = np.array([outcome.status for outcome in ordered]).reshape(shape)
    n_inaccurate = int(np.count_nonzero((status != "optimal") & (status != "infeasible")))
    if check and n_inaccurate:
        text = (
            f"{n_inaccurate} of {len(ordered)} solves are not optimal: `gaps` and `status` say which, and "
            "`qpsvm.solve` of such a point says what to try"
        )
        warnings.warn(text, InaccurateWarning, stacklevel=3)
    return CrossValidation(
        problem=grid.problem,
        axes=grid.arrays,
        scores=np.array([outcome.score for outcome in ordered]).reshape(shape),
        gaps=np.array([outcome.gap for outcome in ordered]).reshape(shape),
        status=status,
        support=np.array([outcome.support for outcome in ordered]).reshape(shape),
        scoring=scoring,
    )
