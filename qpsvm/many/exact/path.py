"""Compute the exact optimum for every value of a parameter in an interval (`exact_path`).

The problem is solved at `low`, and the optimum is followed from there (`follow`): its α is linear between breakpoints.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np

from qpsvm.base.arrays.checks import as_flag, as_positive, as_tolerance
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines import Problem
from qpsvm.many.exact.follow import FollowedPath, follow
from qpsvm.many.exact.line import ParameterLine, build_line
from qpsvm.many.exact.path_result import ExactPath
from qpsvm.many.exact.start import MIN_SECONDS, START_TOL
from qpsvm.many.grid.walk import build_progress_bar
from qpsvm.program.status import Status
from qpsvm.solve.call import solve

#: Number of steps of the progress bar.
BAR_STEPS = 1000
#: Status of a path by its reason to end; `INACCURATE` for all other reasons, which are rounding.
STATUS_OF_REASON = {"": Status.OPTIMAL, "time_limit": Status.TIME_LIMIT, "interrupted": Status.INTERRUPTED}


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
    """Compute the exact optimum for every value of a parameter in an interval.

    Parameters
    ----------
    problem : Problem
        The problem. Its own value of the parameter is not used. If C differs between samples, the parameter is the
        mean of C, and the ratios between samples are kept.
    parameter : str
        "C", "lam", "nu", "epsilon" or "quantile": a parameter of the machine in which its dual is linear; or
        "sample_weight" or "y" of one sample.
    low, high : float
        The interval.
    row : int, optional
        The sample whose weight or target varies.
    tol : float, default=1e-6
        Relative gap to be proven for every piece, the interval between two breakpoints.
    time_limit : float, optional
        Seconds; the part reached in time is returned.
    verbose : bool, default=False
        Show a progress bar if tqdm is installed, else a line for every tenth of the work.

    Returns
    -------
    ExactPath
        Breakpoints, and the optima between them.

    Raises
    ------
    ParameterError, ParameterTypeError
        Not a valid interval; a value that the machine does not accept; not a problem; a row missing or not applicable.
    DataError
        No such row.
    UnknownOptionError, UnsupportedError
        No such parameter; one in which the dual is not linear, such as those of a kernel; a machine with linear
        constraints, over pairs, with several classes in one program, or over several processes.
    TooLargeError
        The kernel matrix does not fit into memory; checked before it is computed.

    See Also
    --------
    path : Solves a list of values, each separately; for many samples.
    leave_one_out : The same machine without each sample.

    Notes
    -----
    The number of pieces is a small multiple of the number of samples. A piece costs about as much as a product with
    the kernel values of the free α. For up to a few thousand samples, a path takes seconds.

    Ctrl-C, the time limit and rounding may end a path early. The part up to its end is certified. `ExactPath.at` uses
    `solve` beyond the end.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1])
    >>> print(qpsvm.exact_path(problem, "C", 0.05, 100))
    C from 0.05 to 100: 5 pieces, each certified, gap at most ...: optimal
    """
    tol = as_tolerance(tol)
    verbose = as_flag(verbose, "verbose")
    clock = Clock(None if time_limit is None else as_positive(time_limit, "time_limit"))
    line, rows = build_line(problem, parameter, low, high, row)
    with defer_interrupt(), limit_blas_threads(), closing(build_progress_bar(BAR_STEPS, verbose, "step")) as bar:
        start = line.build_problem(line.low)
        seconds = None if time_limit is None else max(clock.remaining, MIN_SECONDS)
        first = solve(start, tol=min(START_TOL, tol), check=False, time_limit=seconds)
        steps_shown = 0

        def progress(share: float) -> None:
            nonlocal steps_shown
            steps_done = int(BAR_STEPS * share)
            bar.update(steps_done - steps_shown)
            steps_shown = steps_done

        v = rows.compute_v(start._restrict_to_dual(first.alpha))  # (SIGNED.1)
        data_at_ends = rows.build_data(start.svm), rows.build_data(line.build_problem(line.high).svm)
        followed = follow(rows, *data_at_ends, v, tol, clock, progress)
    return build_path(line, followed, tol)


def build_path(line: ParameterLine, followed: FollowedPath, tol: float) -> ExactPath:
    """Build the public path from a followed one, with its status and message."""
    breakpoints = np.asarray(line.value(np.append(0.0, followed.s[:, 1])), dtype=np.float64)
    breakpoints[0] = line.low  # as given, not as rounded
    if followed.parts and followed.reached == 1.0:
        breakpoints[-1] = line.high
    status = STATUS_OF_REASON.get(followed.stop_reason, Status.INACCURATE)
    message = ""
    gaps = followed.gaps
    if not followed.stop_reason and not (gaps <= tol).all():
        status = Status.INACCURATE
        message = (
            f"{np.count_nonzero(~(gaps <= tol))} pieces are optimal as computed, but rounding may hide more than the "
            "tolerance, as where the optimal value is 0: at(…) asks for more digits there"
        )
    elif status is Status.INACCURATE:
        message = (
            f"rounding ends the path at {line.name} = {breakpoints[-1]:g} ({followed.stop_reason}); at(…) solves the "
            "values beyond, from there"
        )
    elif followed.stop_reason:
        message = f"the path ends at {line.name} = {breakpoints[-1]:g}: {status.sentence}"
    return ExactPath(
        problem=line.problem, parameter=line.name, low=line.low, high=line.high, breakpoints=breakpoints,
        gaps=gaps, status=status, message=message, _line=line, _followed=followed, _tol=tol,
    )  # fmt: skip
