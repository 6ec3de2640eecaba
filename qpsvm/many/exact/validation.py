"""Cross-validate over every value of an interval, by the exact error curve of each fold.

Each fold has an exact path over the rows that train; the wrong labels among those tested are a step function of the
parameter. The mean of the folds is another, whose edges are those of all folds. Both are counted in whole numbers, so
that values with equal errors are equal.
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
from qpsvm.many.exact.error_curve import ErrorCurve, LeastError, least_error
from qpsvm.many.exact.line import check_name
from qpsvm.many.exact.path import exact_path
from qpsvm.many.exact.pieces import ExactPath
from qpsvm.many.grid.fold_problem import FoldProblem, share_gram
from qpsvm.many.grid.folds import Fold, build_folds
from qpsvm.many.grid.interval import Interval
from qpsvm.many.grid.parameters import Grid, grid_of, problem_at, table
from qpsvm.many.grid.scorers import ACCURACY
from qpsvm.many.grid.walk import run_tasks
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: What `exact_path` takes, and what says whether to warn.
OPTIONS = ("tol", "time_limit", "check")
ERROR = "error"


@dataclass(frozen=True, eq=False)
class ValidationCurves:
    """The share of wrong labels among samples that did not train, for every value of a parameter in an interval.

    Attributes
    ----------
    problem : Problem
        What was validated.
    parameter : str
        The parameter of the interval.
    interval : Interval
        What was asked for.
    axes : mapping of str to ndarray
        The values of each other parameter, in the order of the axes `…` below.
    curves : ndarray of ErrorCurve, shape (folds, …)
        The error of each fold: `edges` (c + 1,), and the `values` (c,) between them, as far as its path was followed.
    reached : ndarray, shape (folds, …)
        Up to which value that is; below `interval.high` where a path ended early.
    gaps : ndarray, shape (folds, …)
        The largest relative gap on each path that is proven; infinite where nothing was followed.
    status : ndarray of str, shape (folds, …)
        How each path ended: "optimal"; "time_limit"; "interrupted"; "inaccurate" where rounding ended it or hides more
        than `tol`.
    tested : ndarray of int, shape (folds,)
        How many samples each fold tests.

    See Also
    --------
    qpsvm.cross_validate : What makes one, of an `Interval`.
    CrossValidation : The same of a grid.

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
        """The mean error of the folds: an `ErrorCurve` for each point of the other parameters, shape (…).

        It goes as far as the paths of all folds do; where one of them has no part at all, it has no values.
        """
        found = np.empty(self.curves.shape[1:], dtype=object)
        for place in np.ndindex(found.shape):
            found[place] = mean_of([self.curves[k, *place] for k in range(self.folds)], self.tested.tolist())
        return found

    @cached
    def bests(self) -> NDArray[Any]:
        """Minimum of each mean: a `LeastError`, or None if it has no values, shape (…)."""
        found = np.empty(self.mean.shape, dtype=object)
        for place in np.ndindex(found.shape):
            curve: Any = self.mean[place]
            found[place] = least_error(curve) if len(curve.values) else None
        return found

    @property
    def best_index(self) -> tuple[int, ...]:
        """The place of the least mean error among the other parameters: the first of several that are equal.

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
        found: LeastError = self.bests[self.best_index]
        return found

    @property
    def best(self) -> dict[str, Any]:
        """The parameters of the least mean error: of the interval the middle, in ratios, of `best_interval`."""
        others = {
            name: values.tolist()[i] for (name, values), i in zip(self.axes.items(), self.best_index, strict=True)
        }
        return {self.parameter: self._least_error.value, **others}

    @property
    def best_score(self) -> float:
        """The least mean error."""
        return self._least_error.error

    @property
    def best_intervals(self) -> list[tuple[float, float]]:
        """Intervals of the parameter that attain it, with the best of the others: smallest first."""
        return self._least_error.intervals

    @property
    def best_interval(self) -> tuple[float, float]:
        """The widest of them, in ratios."""
        return self._least_error.widest

    @property
    def best_problem(self) -> Problem:
        """The problem over all samples, with the best parameters."""
        return problem_at(self.problem, self.best)

    def at(self, values: ArrayLike) -> FloatArray:
        """Return the mean error at values of the parameter.

        Parameters
        ----------
        values : float or array_like, shape (c,)
            In the interval.

        Returns
        -------
        ndarray, shape (…), or (…, c)
            For each point of the other parameters; NaN beyond what all folds reached.

        Raises
        ------
        ParameterError
            A value outside of the interval.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> print(qpsvm.cross_validate(qpsvm.CSVM(X, y), C=qpsvm.Interval(0.1, 10), folds=2).at([0.5, 5.0]))
        [0. 0.]
        """
        asked = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if not ((asked >= self.interval.low) & (asked <= self.interval.high)).all():
            raise ParameterError(f"{self.parameter} goes {self.interval} here, and other values were not validated")
        found = np.empty((*self.mean.shape, len(asked)))
        for place in np.ndindex(self.mean.shape):
            curve: Any = self.mean[place]
            found[place] = _steps_at(curve, asked)
        return found if np.ndim(values) else found[..., 0]

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
        """A list for each column, one entry a point of the other parameters: `pandas.DataFrame(found.columns())`.

        Returns
        -------
        dict of str to list
            The other parameters; the least mean error, the widest interval that attains it, up to where all folds
            reach, the largest gap, and the status of the first fold that is not optimal.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5], [3.5]], [0, 0, 1, 1, 0, 1]
        >>> print([*qpsvm.cross_validate(qpsvm.CSVM(X, y), C=qpsvm.Interval(0.1, 10), folds=2).columns()])
        ['error', 'from', 'to', 'reached', 'gap', 'status']
        """
        nan = (math.nan, math.nan)
        bests = self.bests.ravel().tolist()
        wide = [nan if each is None else each.widest for each in bests]
        places = list(np.ndindex(self.bests.shape))
        return {
            **{name: [values[p[k]].item() for p in places] for k, (name, values) in enumerate(self.axes.items())},
            ERROR: [math.nan if each is None else each.error for each in bests],
            "from": [pair[0] for pair in wide],
            "to": [pair[1] for pair in wide],
            "reached": self.reached.min(axis=0).ravel().tolist(),
            "gap": self.gaps.max(axis=0).ravel().tolist(),
            "status": [
                next((each for each in column if each != "optimal"), "optimal")
                for column in self.status.reshape(self.folds, -1).T.tolist()
            ],
        }

    def __str__(self) -> str:
        heading = f"{self.scoring}, {self.folds} folds, every {self.parameter} {self.interval}"
        return f"{heading}\n{table(self.columns(), {ERROR: '{:.4f}'.format, 'gap': '{:.1e}'.format})}"

    def __repr__(self) -> str:
        axes = "".join(f"; {name}: {len(values)}" for name, values in self.axes.items())
        return f"<ValidationCurves: {self.folds} folds; {self.parameter} {self.interval}{axes}>"


def mean_of(curves: Sequence[ErrorCurve], tested: Sequence[int]) -> ErrorCurve:
    """Return the mean of error curves, shares of `tested` samples each, on their common range."""
    end = min(float(curve.edges[-1]) for curve in curves)
    edges = np.unique(np.concatenate([curve.edges for curve in curves]))
    edges = edges[edges <= end]
    if len(edges) < 2:
        return ErrorCurve(edges, np.zeros(0))
    common, total = math.lcm(*tested), np.zeros(len(edges) - 1, dtype=object)
    for curve, count in zip(curves, tested, strict=True):
        part = np.searchsorted(curve.edges, edges[:-1], side="right") - 1
        wrong = np.rint(curve.values * count).astype(np.int64).astype(object)
        total += wrong[part] * (common // count)  # whole numbers of any size: equal errors are equal
    new = np.append(True, total[1:] != total[:-1])
    edges = np.append(edges[:-1][new], edges[-1])
    values = np.array([int(each) / (common * len(curves)) for each in total[new]])
    return ErrorCurve(edges, values)


def _steps_at(curve: ErrorCurve, values: FloatArray) -> FloatArray:
    """A step function at values (c,): at an edge that of the part above; NaN beyond its end."""
    if not len(curve.values):
        return np.full(len(values), np.nan)
    part = np.searchsorted(curve.edges[:-1], values, side="right") - 1
    return np.where(values <= curve.edges[-1], curve.values[np.maximum(part, 0)], np.nan)


def cross_validate_interval(
    problem: Problem, options: Mapping[str, Any], folds: Any, shuffle: bool, seed: int | None, scoring: Any,
    n_jobs: int | None, verbose: bool,
) -> ValidationCurves:  # fmt: skip
    """Run `cross_validate` with an `Interval` as an option."""
    name, interval = _interval_of(problem, options)
    _check_loss(problem, scoring)
    axes, asked = _split_options(problem, {key: value for key, value in options.items() if key != name})
    check = as_flag(asked.pop("check", True), "check")
    split = build_folds(problem, folds, shuffle, seed)
    grid = Grid(problem, axes)
    points = grid.points
    together = [split] if n_jobs in (None, 1) else [[fold] for fold in split]
    tasks, where = [], []
    for place, point in enumerate(points):
        for k, bundle in enumerate(together):
            tasks.append((problem, point, bundle, name, interval, asked))
            where += [(fold, place) for fold in (range(len(split)) if len(together) == 1 else [k])]
    sizes = [len(task[2]) for task in tasks]
    with defer_interrupt() if n_jobs in (None, 1) else nullcontext():
        found = [each for outcome in run_tasks(_paths, tasks, sizes, n_jobs, verbose, "path") for each in outcome]
    order = dict(zip(where, found, strict=True))
    ordered = [order[fold, place] for fold in range(len(split)) for place in range(len(points))]
    shape = (len(split), *grid.shape)
    curves = np.empty(len(ordered), dtype=object)
    for k, each in enumerate(ordered):
        curves[k] = each.curve
    short = [each for each in ordered if each.status != "optimal"]
    if check and short:
        warnings.warn(
            f"{len(short)} of {len(ordered)} paths are not optimal up to {name} = {interval.high:g}, and what was "
            f"reached is used: `reached`, `gaps` and `status` say which; the first of them: {short[0].message}",
            InaccurateWarning,
            stacklevel=3,
        )
    return ValidationCurves(
        problem=problem, parameter=name, interval=interval, axes=grid.arrays, curves=curves.reshape(shape),
        reached=np.array([each.reached for each in ordered]).reshape(shape),
        gaps=np.array([each.gap for each in ordered]).reshape(shape),
        status=np.array([each.status for each in ordered]).reshape(shape),
        tested=np.array([len(fold.test) for fold in split]),
    )  # fmt: skip


@dataclass(frozen=True)
class _Outcome:
    """One path of one fold."""

    curve: ErrorCurve
    reached: float
    gap: float
    status: str
    message: str


def _interval_of(problem: Problem, options: Mapping[str, Any]) -> tuple[str, Interval]:
    """The parameter of the interval. Raises ParameterError, UnknownOptionError, UnsupportedError."""
    given = {name: value for name, value in options.items() if isinstance(value, Interval)}
    for name in given:
        try:
            check_name(problem, name)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"{name} does not enter the dual linearly, so that there is no exact curve over an interval of it: "
                f"give a list of its values, such as {name}=[{given[name].low:g}, {given[name].high:g}], beside the "
                "interval of another parameter"
            ) from error
    if len(given) > 1:
        raise ParameterError(
            f"{' and '.join(given)} are intervals, and an exact curve is over one parameter: give lists of the others"
        )
    ((name, interval),) = given.items()
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
    rest = dict(options)
    if any(name not in OPTIONS for name in options):
        try:
            grid, rest = grid_of(problem, options)
            axes = grid.axes
        except ParameterError:
            if any(name in problem._hyperparameters for name in options):
                raise
    for name in rest:
        if name not in OPTIONS:
            raise UnknownOptionError(
                f"an interval is followed without {name!r}: no solver's option has a meaning; "
                f"{describe_nearest(name, OPTIONS)}"
            )
    return dict(axes), rest


def _path(problem: Problem, name: str, interval: Interval, options: Mapping[str, Any]) -> ExactPath | None:
    """The path of a fold; None where Ctrl-C came before its first machine was solved. Raises KeyboardInterrupt."""
    try:
        return exact_path(problem, name, interval.low, interval.high, **options)
    except KeyboardInterrupt:
        if not is_interrupted():  # pressed a second time
            raise
        return None


def _paths(
    problem: Problem, point: Mapping[str, Any], folds: Sequence[Fold], name: str, interval: Interval,
    options: Mapping[str, Any],
) -> Iterator[_Outcome]:  # fmt: skip
    """The paths of some folds, one after the other; after Ctrl-C what was reached, and nothing of those that follow."""
    whole = problem_at(problem, point)
    with limit_blas_threads():
        share_gram(whole)
        for fold in folds:
            none = ErrorCurve(np.array([interval.low]), np.zeros(0))
            part = FoldProblem(whole, fold)
            path = None if is_interrupted() else _path(part.problem, name, interval, options)
            if path is None:
                yield _Outcome(none, interval.low, math.inf, str(Status.INTERRUPTED), Status.INTERRUPTED.sentence)
                continue
            if not len(path):
                yield _Outcome(none, interval.low, math.inf, str(path.status), path.message)
                continue
            curve = path._error_curve(part.X, whole.samples.target[part.test_rows])
            edges = np.clip(curve.edges, interval.low, path.reached)
            edges[0], edges[-1] = interval.low, path.reached  # without the roundings of the way there
            kept = ErrorCurve(edges, curve.values)
            yield _Outcome(kept, path.reached, float(path.gaps.max()), str(path.status), path.message)
