"""Solve a problem, from samples to a certified result (`solve`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.backends.limits import Limits
from qpsvm.base.arrays.checks import as_flag, as_tolerance
from qpsvm.base.errors import ParameterTypeError, TooLargeError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.exchange import R, Solvable
from qpsvm.program.qp import QP
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.advice import check_status
from qpsvm.solve.machine_candidates import iter_candidates
from qpsvm.solve.request import SolveRequest
from qpsvm.solve.search import find_best_result

if TYPE_CHECKING:
    from qpsvm.result.qp_result import QPResult


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
    start: SVMResult | ArrayLike | None = None,
    **options: Any,
) -> R:
    """Solve a support vector machine or a QP, and certify the solution.

    Parameters
    ----------
    problem : Problem or QP
        A two-class, regression or novelty machine (`CSVM`, `EpsilonSVR`, `OneClass`, …, or one of your own);
        `CrammerSinger` or `WestonWatkins`, solved by "sequential_dual" or any backend that accepts general QPs; or a
        convex `QP`, solved by the same backends.
    backend : str
        "auto", or one of `qpsvm.backends.names()`.
    form : "dual" or "primal", optional
        By default the form in which the backend certifies best.
    tol : float
        Relative duality gap up to which the result is `optimal`, including a bound on all rounding errors. If that
        bound alone is larger, the terms that cause it are evaluated in double-double arithmetic; if this does not
        suffice, the result is `inaccurate`. That of a QP is relative to max(1, |primal|, |dual|): if the optimum is
        small, multiply P, q and r by a constant, or choose a smaller tolerance.
    polish : bool
        Improve the solver's point: determine which α are free and which are at a bound, and solve for the free ones.
    check : bool
        Raise on an infeasible or failed problem and warn on an inaccurate one; otherwise return the result as it is.
    verbose : bool
        Print the choice of backend, the solver's own progress, and the certificate; see the notes on logging.
    time_limit : float, optional
        Seconds for the whole call; see the notes on how far it may be exceeded.
    max_iter : int, optional
        Iterations of the solver. Polishing then takes at most as long as the solver did (or a tenth of a second).
    start : SVMResult, or array_like of shape (n,), (2n,) or (n, k), optional
        Initial point: the result for a neighbouring C, λ, ν or γ, or for a subset of the rows, or an α of shape (n,);
        (2n,) for regressions. For machines that learn k classes in one program, an `AllInOneResult` or an array of
        shape (n, k); for a QP, a point x of shape (n,). It affects the time, not the answer. With "auto", backends
        that cannot use it ignore it.
    **options
        The solver's own settings, by their own names.

    Returns
    -------
    SVMResult or QPResult
        Its `status` says what was certified; with `check=False` it may be any.

    Raises
    ------
    NotSeparableError
        The classes of a hard margin are not separable: their convex hulls intersect (`check=True`).
    MarginNotFoundError
        The convex hulls of the classes of a hard margin are so close that no margin was found (`check=True`): a
        `SolverError`.
    SolverError
        No point could be certified at all (`check=True`).
    TooLargeError
        The backend (with "auto": every backend that could be tried) needs more memory than there is.
    IndefiniteKernelError
        The Gram matrix is indefinite and the problem was built with psd="raise".
    UnknownOptionError, UnsupportedError, ParameterError
        An option does not exist, or the backend does not support it. Raised before anything is built.
    ParameterTypeError
        An argument has the wrong type: `problem` is neither a machine nor a QP, or `polish` is not a bool.

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
    On Ctrl-C the built-in solvers return their best point so far, and the result has the status `interrupted`; a second
    Ctrl-C raises `KeyboardInterrupt`. LIBSVM and LIBLINEAR react only when their loop ends; most other third-party
    solvers raise `KeyboardInterrupt` at once.

    At the time limit, the best point so far is certified, and the result has the status `time_limit` unless it is
    optimal. The limit may be exceeded by one step of the solver and by one certificate. A certificate takes
    n × (support vectors) kernel values. If these would take longer than the limit (or a second), a point with fewer
    support vectors is certified instead: those with the largest α.

    Set-ups that cannot be interrupted (factorisations, CVXPY's compilation) are not started if they would exceed the
    limit. "auto" then takes another backend; a named one returns α = 0 and says so in `result.message`. The limit
    includes neither building the problem nor testing whether a kernel matrix is indefinite.

    If certification fails, "auto" tries further backends, which together may take three times as long as the first one
    (or three seconds). `result.message` names those that were left out.

    All output except what compiled solvers print themselves consists of messages of the logger "qpsvm". They are not
    printed if the program has its own handler for them, and a program that logs INFO receives them without `verbose`.
    Output that a compiled solver prints although it was told not to is logged at DEBUG.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], C=1)
    >>> result = qpsvm.solve(problem)
    >>> print(result.status, result.w.round(6), round(result.b, 6))
    optimal [1.] -2.0

    The certificate does not depend on the solver:

    >>> print([qpsvm.solve(problem, backend).gap <= 1e-6 for backend in ("cvxopt", "osqp", "dual_ascent")])
    [True, True, True]

    The problem for the next C is warm-started at this result:

    >>> print(qpsvm.solve(qpsvm.CSVM(problem.X, [0, 0, 1, 1], C=2), "kernel_newton", start=result).status)
    optimal
    """
    if not isinstance(problem, (Problem, QP)):
        if isinstance(problem, type):
            given = f"the class {problem.__name__}"
        else:
            given = type(problem).__name__
        raise ParameterTypeError(f"solve takes a problem such as CSVM(X, y), or a QP, got {given}")
    as_tolerance(tol)
    Limits(tol, max_iter, time_limit, verbose)  # only to check the values
    clock = Clock(time_limit)
    for name, flag in {"polish": polish, "check": check, "verbose": verbose}.items():
        as_flag(flag, name)
    request = SolveRequest(tol, bool(polish), bool(verbose), time_limit, max_iter, options, None, clock)
    result: SVMResult | QPResult
    with np.errstate(all="ignore"), limit_blas_threads():  # non-finite values are detected and reported explicitly
        if isinstance(problem, QP):
            from qpsvm.solve.program import solve_program

            result = solve_program(problem, backend, request, start, form)
        else:
            result = _solve_machine(problem, backend, request, start, form)
    if check:
        check_status(result, request, backend)
    return cast("R", result)


def _solve_machine(problem: Problem, backend: str, request: SolveRequest, start: Any, form: Form | None) -> SVMResult:
    """Solve a machine, and check that its samples do not change meanwhile."""
    if start is not None:
        request = replace(request, start=problem._build_start(start))
    try:
        problem.samples.change_guard.start_run()
        result: SVMResult = find_best_result(iter_candidates(problem, backend, form, request), request)
        return result
    except TooLargeError:  # a MemoryError that already has a message
        raise
    except MemoryError as error:
        rows = f"{len(problem.active_rows)} rows with {problem.X.shape[1]} features"
        raise TooLargeError(f"memory ran out over {rows}: use fewer rows, or free some first") from error
    finally:
        problem.samples.change_guard.end_run()
