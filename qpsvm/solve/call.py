"""Solve a problem from samples to certified result (`solve`), or compile a QP for a solver (`compile`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from qpsvm import backends
from qpsvm.backends.abilities import find_problem_traits, measure_size
from qpsvm.backends.base import COMMON_OPTIONS, Backend
from qpsvm.backends.contract import Compiled, Limits
from qpsvm.backends.requirements import Requirements
from qpsvm.base.arrays.checks import as_flag, as_tolerance
from qpsvm.base.errors import (
    DataError,
    InaccurateWarning,
    ParameterTypeError,
    QPSVMError,
    SolverError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
    describe_nearest,
)
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.base.resources.progress import Clock, is_logging, log_message
from qpsvm.machines import Problem
from qpsvm.machines.problem.machine import BaseProblem
from qpsvm.machines.problem.parameters import Form, check_form
from qpsvm.program.exchange import R, Solvable
from qpsvm.program.qp import QP
from qpsvm.program.solution import Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.choice import (
    Candidate,
    SolveRequest,
    bound_follow_up_time,
    build_unstarted_result,
    format_time_estimate,
    rank_backends,
    run_backend,
)

if TYPE_CHECKING:
    from qpsvm.machines.problem.all_in_one import AllInOneProblem


def compile(qp: QP, backend: str = "cvxopt") -> Compiled:
    """Turn a QP into a solver's own data.

    Parameters
    ----------
    qp : QP
        The QP of a machine, or any other.
    backend : str
        One of `qpsvm.backends.names()`, or "auto" for the first that `solve` would ask.

    Returns
    -------
    Compiled
        `.data` is exactly what the solver will receive; `.solve(**options)` returns a `QPSolution`.

    Raises
    ------
    UnknownOptionError
        No such backend.
    UnsupportedError
        The backend cannot take this QP.
    MissingExtraError
        The backend's package is not installed.
    DataError
        P's factor is not finite.
    TooLargeError
        Its data do not fit into memory.
    ParameterTypeError
        `qp` is not a QP.

    See Also
    --------
    solve : The whole way, with a certificate.

    Examples
    --------
    >>> import qpsvm
    >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("dual")
    >>> compiled = qpsvm.compile(qp, "cvxopt")
    >>> compiled.data["G"].size  # the bounds are rows for CVXOPT: −α ≤ 0 and α ≤ C
    (4, 2)
    >>> solution = compiled.solve()
    >>> print(solution.reported, solution.x.round(5))
    optimal [0.5 0.5]
    """
    if not isinstance(qp, QP):
        raise ParameterTypeError(f"compile takes a QP, such as problem.qp('dual'), got {type(qp).__name__}")
    with np.errstate(all="ignore"):
        finite = np.isfinite(qp.P.mean_diagonal())
    if not finite:  # an explicit P is checked when the QP is made; a factor's entries show in the diagonal
        raise DataError(f"P ({qp.P.describe()}) holds a number that is not finite, or whose square is not")
    from qpsvm.solve.program import compile_qp

    try:
        return compile_qp(qp, backend)
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError(
            f"{backend} ran out of memory on a QP of {qp.n} variables: use fewer rows, or another backend or form"
        ) from error


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
                result = _find_best_result(problem, _iter_candidates(problem, backend, form, request), request)
        except TooLargeError:
            raise
        except MemoryError as error:
            rows = f"{len(problem.active_rows)} rows with {problem.X.shape[1]} features"
            raise TooLargeError(f"memory ran out over {rows}: use fewer rows, or free some first") from error
        finally:
            problem.samples.change_guard.end_run()
    if check:
        _check_status(result, request, backend)
    return cast("R", result)


def _find_best_result(
    problem: Problem, candidates: Iterator[tuple[Backend, Form, Requirements]], request: SolveRequest
) -> SVMResult:
    """Return the best result of the candidates: of the first that can start, and of later ones within the time budget.

    Raises UnsupportedError, TooLargeError.
    """
    best: SVMResult | None = None
    refused: QPSVMError | None = None
    left: float | None = None  # seconds for all followers
    late: tuple[Backend, Form, str] | None = None
    left_out: list[str] = []
    waiting_helps = False
    for chosen, wanted, needed in candidates:
        why = request.explain_late_start(needed.seconds)
        if why is not None:
            late = late or (chosen, wanted, why)
            continue
        if left is not None and needed.seconds >= left:
            why = f"about {format_time_estimate(needed.seconds)} to set it up" if left > 0.0 else "no time left"
            left_out.append(f"{Candidate(chosen.name, wanted)} ({why})")
            waiting_helps = True
            continue
        turn = Clock(left)
        try:
            result = run_backend(problem, chosen, wanted, needed, request, turn)
        except UnsupportedError as error:
            refused = refused or error  # it takes other machines
            continue
        except SolverError as error:  # of a backend from outside, which is not the only one that there is
            refused = refused or error
            left_out.append(f"{Candidate(chosen.name, wanted)} ({error})")
            continue
        except TooLargeError as error:
            refused = error
            left_out.append(f"{Candidate(chosen.name, wanted)} (memory)")
            continue
        left = bound_follow_up_time(turn.seconds) if left is None else left - turn.seconds
        best = result if best is None or result.gap < best.gap else best
        if best.status is Status.OPTIMAL or result.error is not None or request.forbids_retry(result):
            break
    if best is None and late is not None:
        backend, form, why = late
        return build_unstarted_result(problem, backend.name, backend.version() or "?", form, request, why)
    if best is None:
        assert refused is not None  # there is at least one choice
        raise refused
    if best.status is Status.OPTIMAL or not left_out:
        return best
    said = f"Not tried: {', '.join(left_out)}" + ("; name one as backend= to wait for it." if waiting_helps else ".")
    return replace(best, message=f"{best.message} {said}".strip())


def _iter_candidates(
    problem: Problem, backend: str, form: Form | None, request: SolveRequest
) -> Iterator[tuple[Backend, Form, Requirements]]:
    """Yield the backends and forms to try, in order, with their requirements; several only with "auto".

    A request that a named backend does not support is an error here, before anything is built; with "auto", backends
    that do not support the request are skipped. They are evaluated one at a time, because reading the settings of a
    solver's package takes longer than a small problem.
    """
    if form is not None:
        check_form(form)
    linear = problem.space.is_linear
    named = not (isinstance(backend, str) and backend == "auto")
    refused: QPSVMError | None = None
    found = False
    size, traits = measure_size(problem), find_problem_traits(problem)
    candidates: Iterable[Candidate] = [Candidate(backend)] if named else rank_backends(problem)
    if not named and is_logging(request.verbose):
        candidates = list(candidates)
        log_message(f"auto, in this order: {', '.join(str(choice) for choice in candidates)}", request.verbose)
    for choice in candidates:
        chosen = choice.backend_object
        if form is not None and choice.form not in (None, form):
            continue
        preferred: Form = "dual" if request.can_warm_start(chosen, "dual") else chosen.preferred_form(linear)
        wanted = form or choice.form or preferred
        reason, needed = chosen.explain_refusal(traits, size.rows, wanted), chosen.requirements(size, wanted)
        can_stop = request.time_limit is None or chosen.abilities.supports("time_limit")
        try:
            if reason:
                raise UnsupportedError(reason)
            if named and request.start is not None and not request.can_warm_start(chosen, wanted):
                raise chosen.build_warm_start_error(wanted)
            late = can_stop and request.explain_late_start(needed.seconds) is not None  # it will not be started
            if request.has_requirements and (named or not late):  # its options are asked of its package
                chosen.check_request(request.build_limits(chosen), request.options)
        except (UnsupportedError, UnknownOptionError) as error:
            refused = error
            continue
        chosen.require_package()
        found = True
        yield chosen, wanted, needed
    if found or refused is None:
        return
    if not named and isinstance(refused, UnknownOptionError):
        raise UnknownOptionError(_explain_unknown_option(request.options)) from None
    raise refused


def _explain_unknown_option(options: Mapping[str, Any]) -> str:
    """Return the message about options that no backend chosen by "auto" has; it names the backends that have them."""
    listed = {backend.name: backend.options() for backend in backends.iter_backends() if backend.version()}
    option = next((name for name in options if not any(name in known for known in listed.values())), None)
    if option is not None:
        return (
            f"no backend has an option {option!r}; {describe_nearest(option, COMMON_OPTIONS)}, and each backend's own"
        )
    option = next(iter(options))
    owners = [name for name, known in listed.items() if option in known]
    return f"the option {option!r} belongs to {' and '.join(owners)}: name the backend, as in backend={owners[0]!r}"


def _check_status(result: SVMResult | AllInOneResult, request: SolveRequest, backend: str) -> None:
    """Raise or warn as `check=True` promises."""
    if result.error is not None:
        raise result.error
    if result.status is Status.OPTIMAL:
        return
    said = f"{result.solver.name} ended with {result.solver.status!r}"
    what_to_do = " ".join(
        f"{result.status.sentence} {_suggest_remedies(result, request, backend)} {result.message}".split()
    )
    if result.gap == float("inf"):
        raise SolverError(f"{result.status}: no point could be certified ({said}). {what_to_do}")
    warnings.warn(
        f"{result.status}: the certified relative gap is {result.gap:.2g}, above tol = {request.tol:g} ({said}). "
        f"{what_to_do}",
        InaccurateWarning,
        stacklevel=3,
    )


def _suggest_remedies(result: SVMResult | AllInOneResult, request: SolveRequest, backend: str) -> str:
    """Return what to try after an inaccurate result, without what has been tried; "" after any other."""
    if result.status is not Status.INACCURATE:
        return ""
    ways = [] if request.polish else ["leave polish=True"]
    if backend != "auto":
        own = backend in backends.names() and backends.get(backend).options()
        ways += [*(["tighten the solver's own tolerances"] if own else []), "choose another backend"]
    ways += ["standardise the features", "lower C"]
    return f"Try this: {', '.join(ways[:-1])} or {ways[-1]}."
