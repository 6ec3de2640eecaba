"""Compute the exact optimum for every value of a parameter in an interval (`exact_path`)."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from qpsvm.base.arrays.checks import as_flag, as_positive, as_tolerance
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines import Problem
from qpsvm.many.exact.follow import FollowedPath, follow
from qpsvm.many.exact.line import ParameterLine, line_of
from qpsvm.many.exact.pieces import ExactPath
from qpsvm.many.exact.start import FIRST, LEAST_TIME
from qpsvm.many.grid.walk import bar_of
from qpsvm.program.status import Status
from qpsvm.solve.call import solve

#: What a progress bar counts to.
WHOLE = 1000
#: The status of a path by what ended it.
ENDED = {"": Status.OPTIMAL, "time_limit": Status.TIME_LIMIT, "interrupted": Status.INTERRUPTED}


def exact_path(
    problem: Problem,
    parameter: str,
    low: float,
    high: float,
    *,
    row: int | None = None,
    tol: float = 1e-6,
    time_limit: float | None = None,
    verbose: bool = False,
) -> ExactPath:
    """The exact optimum for every value of a parameter in an interval.

    Parameters
    ----------
    problem : Problem
        Its own value of the parameter is not used. Where C differs between samples, each C asked for is the mean, and
        the ratios stay.
    parameter : str
        "C", "lam", "nu", "epsilon" or "quantile": one that the machine has, and that its dual is linear in; or
        "sample_weight" or "y", of one sample.
    low, high : float
        The interval.
    row : int, optional
        The sample whose weight, or target, it is; the others keep theirs.
    tol : float, default=1e-6
        Relative gap that has to be proven of every piece.
    time_limit : float, optional
        Seconds; what was reached until then is returned.
    verbose : bool, default=False
        A progress bar, where tqdm is installed; else a line at every tenth of the way.

    Returns
    -------
    ExactPath
        Breakpoints, and all that is between them.

    Raises
    ------
    ParameterError, ParameterTypeError
        An interval that is none; a value that the machine refuses; no problem; no row, or one too many.
    DataError
        No such row.
    UnknownOptionError, UnsupportedError
        No such parameter (the nearest is named); one that does not enter linearly, as those of a kernel; a machine with
        linear constraints, of pairs, of several classes in one program, or over several processes.
    TooLargeError
        The kernel matrix does not fit: said before it is made.

    See Also
    --------
    path : As many values as are asked for, each solved by itself: for many samples.
    leave_one_out : The same machine without each sample.

    Notes
    -----
    The number of pieces is about that of the samples, a few times over. Each costs about as much as a product with the
    kernel values of the free rows: up to a few thousand samples this is a matter of seconds.

    Ctrl-C, the time limit and rounding end a path early; what was reached is certified all the same. `ExactPath.at`
    goes on from there by `solve`.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1])
    >>> print(qpsvm.exact_path(problem, "C", 0.05, 100))
    C from 0.05 to 100: 5 pieces, each certified, gap at most ...: optimal
    """
    tol, verbose, clock = (
        as_tolerance(tol),
        as_flag(verbose, "verbose"),
        Clock(None if time_limit is None else as_positive(time_limit, "time_limit")),
    )
    line, rows = line_of(problem, parameter, low, high, row)
    with defer_interrupt(), limit_blas_threads(), closing(bar_of(WHOLE, verbose, "step")) as bar:
        start = line.build_problem(line.low)
        left = None if time_limit is None else max(clock.remaining, LEAST_TIME)
        first = solve(start, tol=min(FIRST, tol), check=False, time_limit=left)
        said = 0

        def progress(share: float) -> None:
            nonlocal said
            now = int(WHOLE * share)
            bar.update(now - said)
            said = now

        v = rows.v(start._restrict_to_dual(first.alpha))
        found = follow(
            rows, rows.data(start.svm), rows.data(line.build_problem(line.high).svm), v, tol, clock, progress
        )
    return path_of(line, found, tol)


def path_of(line: ParameterLine, found: FollowedPath, tol: float) -> ExactPath:
    """Build the public path from one that was followed."""
    ends = np.append(0.0, found.s[:, 1])
    breakpoints = np.asarray(line.value(ends), dtype=np.float64)
    breakpoints[0] = line.low
    if found.parts and found.reached == 1.0:
        breakpoints[-1] = line.high
    status, message, gaps = ENDED.get(found.why, Status.INACCURATE), "", found.gaps
    if not found.why and not (gaps <= tol).all():
        status = Status.INACCURATE
        message = (
            f"{np.count_nonzero(~(gaps <= tol))} pieces are optimal as computed, but rounding may hide more than the "
            "tolerance, as where the optimal value is 0: at(…) asks for more digits there"
        )
    elif status is Status.INACCURATE:
        message = (
            f"rounding ends the path at {line.name} = {breakpoints[-1]:g} ({found.why}); at(…) solves the values "
            "beyond, from there"
        )
    elif found.why:
        message = f"the path ends at {line.name} = {breakpoints[-1]:g}: {status.sentence}"
    return ExactPath(
        problem=line.problem, parameter=line.name, low=line.low, high=line.high, breakpoints=breakpoints,
        gaps=gaps, status=status, message=message, _line=line, _followed=found,
        _tol=tol,
    )  # fmt: skip
