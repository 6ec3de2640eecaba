"""Solve a problem, from samples to a certified result (`solve`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.backends.limits import Limits
from qpsvm.base.arrays.checks import as_flag, as_tolerance
from qpsvm.base.errors import (
    ParameterTypeError,
    TooLargeError,
)
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines import Problem
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.exchange import R, Solvable
from qpsvm.program.qp import QP
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.request import SolveRequest

if TYPE_CHECKING:
    from qpsvm.machines.problem.all_in_one import AllInOneProblem

from qpsvm.solve.advice import check_status
from qpsvm.solve.fallback import find_best_result, iter_candidates


def solve(
    problem: Solvable[R],
    backend: str = "auto",
    form: Form | None = None,
    tol: float = 1e-6,
    polish: bool = True,
    check: bool = True,
    verbose: bool = False,
    time_limit: float | None = None,
    max_iter: int | None = None,
    start: SVMResult | AllInOneResult | ArrayLike | None = None,
    **options: Any,
) -> R:
    """Solve a support vector machine and certify the answer.

    Parameters
    ----------
    problem : Problem, AllInOneProblem or QP
        Any machine: `CSVM`, `NuSVM`, `HardMargin`, `PrimalHinge`, or one of your own; `CrammerSinger` and
        `WestonWatkins`, which "auto" solves by "sequential_dual", and of the others those that take any QP. Or any
        convex `QP`, by those backends.
    backend : str
        "auto", or one of `qpsvm.backends.names()`.
    form : "dual" or "primal", optional
        By default the form in which the backend certifies best.
    tol : float
        Relative duality gap up to which the result is `optimal`, all rounding counted. Where the a-priori bound on
        rounding is larger, what matters is evaluated in twice the precision; where that is not enough either, the
        result is `inaccurate` and says so.
    polish : bool
        Improve the solver's point by solving for the exact split of free and bounded α.
    check : bool
        Raise on an infeasible or failed problem and warn on an inaccurate one; otherwise return the result as it is.
    verbose : bool
        Show the choice of backend, the solver's own progress, and the certificate, on standard output. All but what
        compiled solvers print themselves are messages of the logger "qpsvm": they are not printed where a program's own
        logging takes them, and a program that logs INFO has them without `verbose`. What a compiled solver prints
        although it is told not to is a message at DEBUG.
    time_limit : float, optional
        Seconds for all of it, from this call on; see the notes for what may be added.
    max_iter : int, optional
        Iterations of the solver. Polishing then takes at most as long as the solver did (or a tenth of a second).
    start : SVMResult, or array_like of shape (n,), optional
        Where to begin: the result for a neighbouring C, λ, ν or γ, or for some of the rows, or an α; for machines that
        learn several classes in one program an `AllInOneResult`, or an array of shape (n, k). It changes the
        time and not the answer; backends that the library chooses itself use it where they can.
    **options
        The solver's own settings, by their own names.

    Returns
    -------
    SVMResult, AllInOneResult or QPResult
        Its `reported` says what was certified, with `check=False` also where that is not enough.

    Raises
    ------
    NotSeparableError
        A hard margin over classes whose hulls meet (`check=True`).
    MarginNotFoundError
        A hard margin over classes whose hulls come so near that no margin was found (`check=True`): a `SolverError`.
    SolverError
        No point could be certified at all (`check=True`).
    TooLargeError
        What the backend needs (with "auto": every one that could be tried) does not fit into memory.
    IndefiniteKernelError
        The Gram matrix is indefinite and the problem says psd="raise".
    UnknownOptionError, UnsupportedError, ParameterError
        An option that does not exist, or that the backend cannot honour: before anything is built.

    Warns
    -----
    InaccurateWarning
        The certified gap is above `tol` (`check=True`).

    See Also
    --------
    path : Many values of C, λ or ν.
    compile : A QP for one solver, without a certificate.
    derive : The equations of the dual at the result.

    Notes
    -----
    On Ctrl-C the built-in solvers return their best point so far, and the result has the status `interrupted`; a
    second Ctrl-C raises `KeyboardInterrupt`. Third-party solvers raise it at once.

    A time limit ends in the best certified point, with the status `time_limit`. It may be exceeded by one step of the
    solver and by one certificate. A certificate takes n × (support vectors) kernel values. Where these would take
    longer than the limit (or a second), a point with fewer support vectors is certified instead: with those whose α is
    largest.

    Set-ups that cannot be stopped (factorisations, CVXPY's compilation) are not begun where they would not end in time.
    "auto" then takes another backend; a named one answers with α = 0 and says so in `result.message`. The limit counts
    neither the making of the problem nor the test whether a kernel matrix is indefinite.

    If certification fails, "auto" tries further backends, which together may take three times as long as the first one
    (or three seconds). `result.message` names those that were left out.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], C=1)
    >>> result = qpsvm.solve(problem)
    >>> print(result.status, result.w.round(6), round(result.b, 6))
    optimal [1.] -2.0

    Whichever solver it was, the certificate is the same:

    >>> print([qpsvm.solve(problem, backend).gap <= 1e-6 for backend in ("cvxopt", "osqp", "dual_ascent")])
    [True, True, True]

    The next C begins where this one ended:

    >>> print(qpsvm.solve(qpsvm.CSVM(problem.X, [0, 0, 1, 1], C=2), "kernel_newton", start=result).status)
    optimal
    """
    if not isinstance(problem, (BaseProblem, QP)):
        raise ParameterTypeError(f"solve takes a problem such as CSVM(X, y), or a QP, got {type(problem).__name__}")
    as_tolerance(tol)
    Limits(tol, max_iter, time_limit, verbose)  # checks them
    clock = Clock(time_limit)
    for name, flag in {"polish": polish, "check": check, "verbose": verbose}.items():
        as_flag(flag, name)
    begin = None if start is None or isinstance(problem, QP) else cast("Any", problem).start(start)
    request = SolveRequest(tol, bool(polish), bool(verbose), time_limit, max_iter, options, begin, clock)
    if isinstance(problem, QP):
        from qpsvm.solve.program import solve_program

        return cast("R", solve_program(problem, backend, request, start, check, form))
    with np.errstate(all="ignore"), limit_blas_threads():  # what is not finite is looked for, and named
        try:
            problem.samples.change_guard.start_run()
            result: SVMResult | AllInOneResult
            if not isinstance(problem, Problem):
                from qpsvm.solve.all_in_one_attempt import solve_all_in_one

                result = solve_all_in_one(cast("AllInOneProblem", problem), backend, form, request)
            else:
                result = find_best_result(problem, iter_candidates(problem, backend, form, request), request)
        except TooLargeError:
            raise
        except MemoryError as error:
            rows = f"{len(problem.active_rows)} rows with {problem.X.shape[1]} features"
            raise TooLargeError(f"memory ran out over {rows}: use fewer rows, or free some first") from error
        finally:
            problem.samples.change_guard.end_run()
    if check:
        check_status(result, request, backend)
    return cast("R", result)
