"""Cross-validate over every value of an interval, by the exact error curve of each fold (`cross_validate_interval`).

Each fold has an exact path for its training rows; the number of wrong labels among its test rows is a step function of
the parameter. The mean over the folds is another step function, with the edges of all folds. Both are counted in
integers, so that equal errors compare equal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InaccurateWarning, ParameterError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.base.resources.interrupt import defer_interrupt, is_interrupted
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines import Problem
from qpsvm.many.exact.error_curve import ErrorCurve, LeastError, find_least_error
from qpsvm.many.exact.line import check_name
from qpsvm.many.exact.path import exact_path
from qpsvm.many.exact.path_result import ExactPath
from qpsvm.many.grid.fold_problem import FoldProblem, share_gram
from qpsvm.many.grid.folds import Fold, build_folds
from qpsvm.many.grid.interval import Interval
from qpsvm.many.grid.parameters import Grid, build_at_point, build_grid, format_columns
from qpsvm.many.grid.scorers import ACCURACY
from qpsvm.many.grid.walk import run_tasks
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Options of `exact_path`, and `check`, which decides whether to warn.
OPTIONS = ("tol", "time_limit", "check")
#: Name of the loss of the curves.
ERROR = "error"


@dataclass(frozen=True, eq=False)
class ValidationCurves:
    """Error rate on the test samples of each fold, for every value of a parameter in an interval.

    Attributes
    ----------
    problem : Problem
        The validated problem.
    parameter : str
        The parameter of the interval.
    interval : Interval
        The interval.
    axes : mapping of str to ndarray
        The values of each other parameter, in the order of the axes `…` below.
    curves : ndarray of ErrorCurve, shape (folds, …)
        The error of each fold: `edges` (c + 1,), and the `values` (c,) between them, as far as its path was followed.
    reached : ndarray, shape (folds, …)
        The last value of each curve; below `interval.high` if a path ended early.
    gaps : ndarray, shape (folds, …)
        The largest proven relative gap on each path; infinite if nothing was followed.
    status : ndarray of str, shape (folds, …)
        How each path ended: "optimal"; "time_limit"; "interrupted"; "inaccurate" if rounding ended it or may hide more
        than `tol`.
    tested : ndarray of int, shape (folds,)
        Number of test samples of each fold.

    See Also
    --------
    qpsvm.cross_validate : Returns one for an `Interval`.
    CrossValidation : The same for a grid.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> problem = qpsvm.CSVM(X, y, kernel="rbf")
    >>> found = qpsvm.cross_validate(problem, C=qpsvm.Interval(0.1, 100), gamma=[0.5, 2.0], folds=3)
    >>> found.curves.shape, found.best["gamma"], bool((found.reached == 100).all())
    ((3, 2), 2.0, True)
    >>> bool(found.best_interval[0] <= found.best["C"] <= found.best_interval[1])
    True
    """

    problem: Problem
    parameter: str
    interval: Interval
    axes: Mapping[str, NDArray[Any]]
    curves: NDArray[Any]
    reached: FloatArray
    gaps: FloatArray
    status: NDArray[Any]
    tested: NDArray[Any]

    @property
    def scoring(self) -> str:
        """Name of the loss of the curves."""
        return ERROR

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self.curves)

    @cached
    def mean(self) -> NDArray[Any]:
        """Mean error of the folds: an `ErrorCurve` for each point of the other parameters, shape (…).

        It ends where the first path of a fold ends; if one of them is empty, it has no values.
        """
        means = np.empty(self.curves.shape[1:], dtype=object)
        for index in np.ndindex(means.shape):
            means[index] = average_curves([self.curves[k, *index] for k in range(self.folds)], self.tested.tolist())
        return means

    @cached
    def bests(self) -> NDArray[Any]:
        """Minimum of each mean: a `LeastError`, or None if it has no values, shape (…)."""
        minima = np.empty(self.mean.shape, dtype=object)
        for index in np.ndindex(minima.shape):
            curve: Any = self.mean[index]
            minima[index] = find_least_error(curve) if len(curve.values) else None
        return minima

    @property
    def best_index(self) -> tuple[int, ...]:
        """Index of the smallest mean error among the other parameters, the first one in case of ties.

        Raises
        ------
        UnsupportedError
            No point has a path in every fold.
        """
        losses = np.array([np.inf if best is None else best.error for best in self.bests.ravel()])
        if not np.isfinite(losses).any():
            raise UnsupportedError("no point has a path in every fold: status and gaps say how they ended")
        return tuple(int(i) for i in np.unravel_index(int(losses.argmin()), self.bests.shape))

    @property
    def _least_error(self) -> LeastError:
        """The smallest mean error, and where it is attained."""
        minimum: LeastError = self.bests[self.best_index]
        return minimum

    @property
    def best(self) -> dict[str, Any]:
        """Parameters of the smallest mean error, with the geometric mean of the ends of `best_interval`."""
        other_values = {
            name: values.tolist()[i] for (name, values), i in zip(self.axes.items(), self.best_index, strict=True)
        }
        return {self.parameter: self._least_error.value, **other_values}

    @property
    def best_score(self) -> float:
        """Smallest mean error."""
        return self._least_error.error

    @property
    def best_intervals(self) -> list[tuple[float, float]]:
        """Intervals of the parameter that attain `best_score`, with the best other parameters, in ascending order."""
        return self._least_error.intervals

    @property
    def best_interval(self) -> tuple[float, float]:
        """The widest of `best_intervals`, by the ratio of its ends."""
        return self._least_error.widest

    @property
    def best_problem(self) -> Problem:
        """The problem over all samples, with the best parameters."""
        return build_at_point(self.problem, self.best)

    def at(self, values: ArrayLike) -> FloatArray:
        """Return the mean error at values of the parameter.

        Parameters
        ----------
        values : float or array_like, shape (c,)
            In the interval.

        Returns
        -------
        ndarray, shape (…), or (…, c)
            For each point of the other parameters; NaN beyond the last value reached by all folds.

        Raises
        ------
        ParameterError
            A value outside the interval.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> print(qpsvm.cross_validate(qpsvm.CSVM(X, y), C=qpsvm.Interval(0.1, 10), folds=2).at([0.5, 5.0]))
        [0. 0.]
        """
        points = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if not ((points >= self.interval.low) & (points <= self.interval.high)).all():
            raise ParameterError(f"{self.parameter} goes {self.interval} here, and other values were not validated")
        errors = np.empty((*self.mean.shape, len(points)))
        for index in np.ndindex(self.mean.shape):
            curve: Any = self.mean[index]
            errors[index] = _evaluate_steps(curve, points)
        return errors if np.ndim(values) else errors[..., 0]

    def refit(self, **options: Any) -> SVMResult:
        """Solve the best problem over all samples.

        Parameters
        ----------
        **options
            For `qpsvm.solve`.

        Returns
        -------
        SVMResult
            Its `model` predicts.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> found = qpsvm.cross_validate(qpsvm.CSVM(X, y), C=qpsvm.Interval(0.1, 10), folds=2)
        >>> print(found.refit().status)
        optimal
        """
        return solve(self.best_problem, **options)

    def columns(self) -> dict[str, list[Any]]:
        """Return a list per column, one entry per point of the other parameters: `pandas.DataFrame(found.columns())`.

        Returns
        -------
        dict of str to list
            The other parameters; the smallest mean error, the widest interval that attains it, the last value reached
            by all folds, the largest gap, and the status of the first fold that is not optimal.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> print([*qpsvm.cross_validate(qpsvm.CSVM(X, y), C=qpsvm.Interval(0.1, 10), folds=2).columns()])
        ['error', 'from', 'to', 'reached', 'gap', 'status']
        """
        nan = (math.nan, math.nan)
        bests = self.bests.ravel().tolist()
        widest = [nan if item is None else item.widest for item in bests]
        indices = list(np.ndindex(self.bests.shape))
        return {
            **{name: [values[p[k]].item() for p in indices] for k, (name, values) in enumerate(self.axes.items())},
            ERROR: [math.nan if item is None else item.error for item in bests],
            "from": [pair[0] for pair in widest],
            "to": [pair[1] for pair in widest],
            "reached": self.reached.min(axis=0).ravel().tolist(),
            "gap": self.gaps.max(axis=0).ravel().tolist(),
            "status": [
                next((item for item in column if item != "optimal"), "optimal")
                for column in self.status.reshape(self.folds, -1).T.tolist()
            ],
        }

    def __str__(self) -> str:
        heading = f"{self.scoring}, {self.folds} folds, every {self.parameter} {self.interval}"
        return f"{heading}\n{format_columns(self.columns(), {ERROR: '{:.4f}'.format, 'gap': '{:.1e}'.format})}"

    def __repr__(self) -> str:
        axes = "".join(f"; {name}: {len(values)}" for name, values in self.axes.items())
        return f"<ValidationCurves: {self.folds} folds; {self.parameter} {self.interval}{axes}>"


def cross_validate_interval(
    problem: Problem, options: Mapping[str, Any], folds: Any, shuffle: bool, seed: int | None, scoring: Any,
    n_jobs: int | None, verbose: bool,
) -> ValidationCurves:  # fmt: skip
    """Run `cross_validate` with an `Interval` as an option."""
    name, interval = _find_interval(problem, options)
    _check_loss(problem, scoring)
    axes, path_options = _split_options(problem, {key: value for key, value in options.items() if key != name})
    check = as_flag(path_options.pop("check", True), "check")
    split = build_folds(problem, folds, shuffle, seed)
    grid = Grid(problem, axes)
    outcomes = _follow_paths(grid, split, name, interval, path_options, n_jobs, verbose)
    incomplete = [each for each in outcomes if each.status != "optimal"]
    if check and incomplete:
        warnings.warn(
            f"{len(incomplete)} of {len(outcomes)} paths are not optimal up to {name} = {interval.high:g}, and what "
            f"was reached is used: `reached`, `gaps` and `status` say which; the first of them: "
            f"{incomplete[0].message}",
            InaccurateWarning,
            stacklevel=3,
        )
    shape = (len(split), *grid.shape)
    curves = np.empty(len(outcomes), dtype=object)
    for k, each in enumerate(outcomes):
        curves[k] = each.curve
    return ValidationCurves(
        problem=problem, parameter=name, interval=interval, axes=grid.arrays, curves=curves.reshape(shape),
        reached=np.array([each.reached for each in outcomes]).reshape(shape),
        gaps=np.array([each.gap for each in outcomes]).reshape(shape),
        status=np.array([each.status for each in outcomes]).reshape(shape),
        tested=np.array([len(fold.test) for fold in split]),
    )  # fmt: skip


def _find_interval(problem: Problem, options: Mapping[str, Any]) -> tuple[str, Interval]:
    """Return the parameter with an interval, and the interval.

    Raises ParameterError, UnknownOptionError, UnsupportedError.
    """
    intervals = {name: value for name, value in options.items() if isinstance(value, Interval)}
    for name in intervals:
        try:
            check_name(problem, name)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"{name} does not enter the dual linearly, so that there is no exact curve over an interval of it: "
                f"give a list of its values, such as {name}=[{intervals[name].low:g}, {intervals[name].high:g}], "
                "beside the interval of another parameter"
            ) from error
    if len(intervals) > 1:
        raise ParameterError(
            f"{' and '.join(intervals)} are intervals, and an exact curve is over one parameter: give lists of "
            "the others"
        )
    ((name, interval),) = intervals.items()
    return name, interval


def _check_loss(problem: Problem, scoring: Any) -> None:
    """Check that the loss is the error rate. Raises UnsupportedError."""
    if problem.samples.classes is None:
        raise UnsupportedError(
            f"over an interval wrong labels are counted, and {type(problem).__name__} predicts numbers: give a list of "
            "values"
        )
    if scoring not in (None, ACCURACY, ERROR):
        raise UnsupportedError(
            "over an interval wrong labels are counted, which needs no scorer: leave scoring out, or give a list of "
            "values"
        )


def _split_options(problem: Problem, options: Mapping[str, Any]) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
    """Return the axes of the other parameters, and the options of the paths. Raises UnknownOptionError."""
    axes: Mapping[str, tuple[Any, ...]] = {}
    path_options = dict(options)
    if any(name not in OPTIONS for name in options):
        try:
            grid, path_options = build_grid(problem, options)
            axes = grid.axes
        except ParameterError:
            if any(name in problem._hyperparameters for name in options):
                raise
    for name in path_options:
        if name not in OPTIONS:
            raise UnknownOptionError(
                f"an interval is followed without {name!r}: no solver's option has a meaning; "
                f"{describe_nearest(name, OPTIONS)}"
            )
    return dict(axes), path_options


@dataclass(frozen=True)
class _Outcome:
    """The path of one fold: its error curve, and the rest as in `ValidationCurves`."""

    curve: ErrorCurve
    reached: float
    gap: float
    status: str
    message: str


def _follow_paths(
    grid: Grid, split: Sequence[Fold], name: str, interval: Interval, options: Mapping[str, Any], n_jobs: int | None,
    verbose: bool,
) -> list[_Outcome]:  # fmt: skip
    """Follow the path of every fold at every point of the grid: in the order of the folds, then of the points.

    A task has all folds of a point, which share a Gram matrix; in parallel it has a single one.
    """
    is_sequential = n_jobs in (None, 1)
    if is_sequential:
        bundles = [range(len(split))]
    else:
        bundles = [range(k, k + 1) for k in range(len(split))]
    slots = [(point, bundle) for point in range(len(grid.points)) for bundle in bundles]
    tasks = [
        (grid.problem, grid.points[point], [split[k] for k in bundle], name, interval, options)
        for point, bundle in slots
    ]
    outcomes: dict[tuple[int, int], _Outcome] = {}
    with defer_interrupt() if is_sequential else nullcontext():
        found = run_tasks(_iter_paths, tasks, [len(bundle) for _, bundle in slots], n_jobs, verbose, "path")
        for (point, bundle), task_outcomes in zip(slots, found, strict=True):
            outcomes.update({(k, point): each for k, each in zip(bundle, task_outcomes, strict=True)})
    return [outcomes[key] for key in sorted(outcomes)]


def _iter_paths(
    problem: Problem, point: Mapping[str, Any], folds: Sequence[Fold], name: str, interval: Interval,
    options: Mapping[str, Any],
) -> Iterator[_Outcome]:  # fmt: skip
    """Yield the outcomes of the paths of some folds; after Ctrl-C the path so far, and empty ones for other folds."""
    full_problem = build_at_point(problem, point)
    with limit_blas_threads():
        share_gram(full_problem)
        for fold in folds:
            fold_problem = FoldProblem(full_problem, fold)
            if is_interrupted():
                path = None
            else:
                path = _compute_path(fold_problem.problem, name, interval, options)
            if path is None or not len(path):
                if path is None:
                    status = Status.INTERRUPTED
                    message = Status.INTERRUPTED.sentence
                else:
                    status, message = path.status, path.message
                empty_curve = ErrorCurve(np.array([interval.low]), np.zeros(0))
                yield _Outcome(empty_curve, interval.low, math.inf, str(status), message)
                continue
            curve = path._compute_error_curve(fold_problem.X, full_problem.samples.target[fold_problem.test_rows])
            edges = np.clip(curve.edges, interval.low, path.reached)
            edges[0], edges[-1] = interval.low, path.reached  # exact ends, without rounding errors
            clipped_curve = ErrorCurve(edges, curve.values)
            yield _Outcome(clipped_curve, path.reached, float(path.gaps.max()), str(path.status), path.message)


def _compute_path(problem: Problem, name: str, interval: Interval, options: Mapping[str, Any]) -> ExactPath | None:
    """Return the path of a fold; None if Ctrl-C came before its first machine was solved. Raises KeyboardInterrupt."""
    try:
        return exact_path(problem, name, interval.low, interval.high, **options)
    except KeyboardInterrupt:
        if not is_interrupted():  # pressed a second time
            raise
        return None


def average_curves(curves: Sequence[ErrorCurve], tested: Sequence[int]) -> ErrorCurve:
    """Return the mean of error curves, whose values are shares of `tested` samples each, on their common range."""
    end = min(float(curve.edges[-1]) for curve in curves)
    edges = np.unique(np.concatenate([curve.edges for curve in curves]))
    edges = edges[edges <= end]
    if len(edges) < 2:
        return ErrorCurve(edges, np.zeros(0))
    common = math.lcm(*tested)
    total = np.zeros(len(edges) - 1, dtype=object)
    for curve, count in zip(curves, tested, strict=True):
        position = np.searchsorted(curve.edges, edges[:-1], side="right") - 1
        wrong = np.rint(curve.values * count).astype(np.int64).astype(object)
        total += wrong[position] * (common // count)  # integers of any size: equal errors compare equal
    is_step = np.append(True, total[1:] != total[:-1])
    edges = np.append(edges[:-1][is_step], edges[-1])
    values = np.array([int(count_wrong) / (common * len(curves)) for count_wrong in total[is_step]])
    return ErrorCurve(edges, values)


def _evaluate_steps(curve: ErrorCurve, values: FloatArray) -> FloatArray:
    """Evaluate a step function at values (c,): at an edge the value of the upper part; NaN beyond its end."""
    if not len(curve.values):
        return np.full(len(values), np.nan)
    position = np.searchsorted(curve.edges[:-1], values, side="right") - 1
    return np.where(values <= curve.edges[-1], curve.values[np.maximum(position, 0)], np.nan)
