"""Solve one machine for many parameters, each point certified (`path`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_flag
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, ParameterError, ParameterTypeError
from qpsvm.machines import Problem
from qpsvm.many.grid.parameters import Grid, build_grid, format_columns
from qpsvm.many.grid.walk import run_tasks, solve_points
from qpsvm.result.svm_result import SVMResult


@dataclass(frozen=True, eq=False)
class Path(Sequence[SVMResult]):
    """The results of a path or a grid, in the order of the given values: a sequence of `SVMResult`.

    Attributes
    ----------
    axes : mapping of str to ndarray
        The values of each parameter.
    points : list of dict
        The parameters of each result: all combinations; the last parameter varies fastest.
    results : tuple of SVMResult
        One for each point.

    See Also
    --------
    path : Computes one.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> found = qpsvm.path(problem, C=[0.05, 0.1, 1.0])
    >>> len(found), found[-1].status, found.values
    (3, <Status.OPTIMAL: 'optimal'>, array([0.05, 0.1 , 1.  ]))
    >>> print(found.at(C=0.1).w.round(6))
    [0.5]
    """

    axes: Mapping[str, NDArray[Any]]
    points: list[dict[str, Any]]
    results: tuple[SVMResult, ...]

    @property
    def values(self) -> FloatArray:
        """Parameters of the points: (k,) if one varies, else one column per parameter, (k, p)."""
        columns = np.array([[point[name] for name in self.axes] for point in self.points])
        return columns[:, 0] if len(self.axes) == 1 else columns

    @property
    def gaps(self) -> FloatArray:
        """Certified relative gap of each point: (k,)."""
        return np.array([result.gap for result in self.results])

    def at(self, **point: Any) -> SVMResult:
        """Return the result for these parameters.

        Parameters
        ----------
        **point
            A value of each parameter of the path.

        Returns
        -------
        SVMResult
            The result at that point.

        Raises
        ------
        ParameterError
            No such point.

        Examples
        --------
        >>> import qpsvm
        >>> found = qpsvm.path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), C=[0.1, 1.0])
        >>> print(found.at(C=1.0).w.round(6))
        [1.]
        """
        for candidate, result in zip(self.points, self.results, strict=True):
            if candidate == point:
                return result
        requested = ", ".join(f"{name}={value!r}" for name, value in point.items())
        raise ParameterError(
            f"no point of this path has {requested or 'no parameter'}: it varies {', '.join(self.axes)}"
        )

    @overload
    def __getitem__(self, index: int) -> SVMResult: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SVMResult]: ...
    def __getitem__(self, index: int | slice) -> SVMResult | Sequence[SVMResult]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SVMResult]:
        return iter(self.results)

    def columns(self) -> dict[str, list[Any]]:
        """Return the table that `print` shows, one list per column, as for `pandas.DataFrame`.

        Returns
        -------
        dict of str to list
            One entry per point.

        Examples
        --------
        >>> import qpsvm
        >>> found = qpsvm.path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), C=[0.1, 1.0])
        >>> print([*found.columns()])
        ['C', 'objective', 'gap', 'support', 'margin', 'bound', 'status']
        """
        kinds = [result.kind for result in self.results]
        return {
            **{name: [point[name] for point in self.points] for name in self.axes},
            "objective": [result.primal for result in self.results],
            "gap": [result.gap for result in self.results],
            "support": [len(result.support) for result in self.results],
            "margin": [int(np.count_nonzero(kind == 1)) for kind in kinds],
            "bound": [int(np.count_nonzero(kind == 2)) for kind in kinds],
            "status": [str(result.status) for result in self.results],
        }

    def __str__(self) -> str:
        return format_columns(self.columns(), {"gap": "{:.1e}".format, "objective": "{:.6g}".format})

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.axes.items())
        return f"<Path: {len(self)} results; {axes}>"


def path(problem: Problem, *, verbose: bool = False, n_jobs: int | None = None, **options: Any) -> Path:
    """Solve a problem for many parameters, each point certified, with one Gram matrix per kernel.

    Parameters
    ----------
    problem : Problem
        Its own values of the varied parameters are not used. If C differs between samples, each given C is the mean,
        and the ratios are kept. If the kernel does not vary, all solves share the kernel values cached in `problem`.
    verbose : bool, default=False
        Show a progress bar if tqdm is installed, else lines of progress.
    n_jobs : int, optional
        Number of parallel processes by joblib, −1 for one per core; each solves all points of one kernel.
    **options
        The values of one or more parameters, by name: `C`, `nu`, `lam`, `epsilon`, `quantile`, `width`, or a parameter
        of the kernel (`gamma`, `degree`, `coef0`). All others are options of `qpsvm.solve`, the same for every point.

    Returns
    -------
    Path
        The results in the order of the values.

    Raises
    ------
    UnsupportedError
        Neither the machine nor the kernel has a parameter.
    UnknownOptionError
        No such parameter; the message names the nearest.
    ParameterError, ParameterTypeError
        No parameter is given; its values are not a vector of positive finite numbers; `problem` is no problem.
    KeyboardInterrupt
        Ctrl-C was pressed. It ends the whole path, although `solve` would return the best point so far.

    See Also
    --------
    cross_validate : Finds the parameters that predict best.
    qpsvm.plotting.path : Plots the path.

    Notes
    -----
    Each C is started from the solutions of the next smaller ones. As long as the same samples are free, α is linear in
    C, and the extrapolated start is optimal (Hastie, Rosset, Tibshirani & Zhu, *The entire regularization path for the
    support vector machine*, JMLR 5, 2004); it is certified like any other.

    Examples
    --------
    The larger C, the longer w, and the narrower the margin:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> found = qpsvm.path(problem, C=[0.05, 0.1, 1.0])
    >>> print([round(float(result.w[0]), 6) for result in found])
    [0.3, 0.5, 1.0]

    A grid is the product of its axes:

    >>> found = qpsvm.path(problem.replace(kernel="rbf"), C=[1.0, 10.0], gamma=[0.1, 1.0])
    >>> print([(point["C"], point["gamma"], len(result.support)) for point, result in zip(found.points, found)])
    [(1.0, 0.1, 4), (1.0, 1.0, 4), (10.0, 0.1, 2), (10.0, 1.0, 4)]
    """
    verbose = as_flag(verbose, "verbose")
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"path takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    grid, solve_options = build_grid(problem, options)
    return Path(grid.arrays, grid.points, _solve_points(grid, solve_options, n_jobs, verbose))


def _solve_points(grid: Grid, options: Mapping[str, Any], n_jobs: int | None, verbose: bool) -> tuple[SVMResult, ...]:
    """Solve all points, grouped by kernel, and return their results in the order of the points."""
    points = grid.points
    groups = grid.group_by_kernel()
    tasks = [(grid, kernel, [points[index] for index in indices], options) for kernel, indices in groups]
    sizes = [len(indices) for _, indices in groups]
    found = run_tasks(_solve_group, tasks, sizes, n_jobs, verbose)
    results = {
        index: result
        for (_, indices), group_results in zip(groups, found, strict=True)
        for index, result in zip(indices, group_results, strict=True)
    }
    return tuple(results[index] for index in range(len(points)))


def _solve_group(
    grid: Grid, kernel: Mapping[str, Any], points: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> Iterator[SVMResult]:
    """Solve the points of one kernel, and yield their results in the same order."""
    problem = grid.problem.replace(**kernel)
    for result in solve_points(problem, points, options):
        assert not isinstance(result, InfeasibleNuError)  # `solve_points` raises it
        yield result
