"""The one function that walks all the way: problem, backend, QP, solver, polish, certificate, result."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from qpsvm import backends
from qpsvm.arrays import as_positive
from qpsvm.backends.base import Backend, Compiled, Limits
from qpsvm.errors import InaccurateWarning, ParameterTypeError, SolverError, UnsupportedError
from qpsvm.problems import Problem
from qpsvm.problems.base import Form, check_form
from qpsvm.qp import QP
from qpsvm.result import Status, SVMResult

#: Tolerances that a solver which can tighten is asked for, one after the other, until the certificate is satisfied.
LADDER = (1e-6, 1e-9)
#: Rows up to which the exact interior point method on the dense dual is the first choice.
DENSE_ROWS = 4000


def compile(qp: QP, backend: str = "cvxopt") -> Compiled:
    """Turn a QP into a solver's own data.

    Parameters
    ----------
    qp : QP
    backend : str

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
    """
    if not isinstance(qp, QP):
        raise ParameterTypeError(f"compile takes a QP, such as problem.qp('dual'), got {type(qp).__name__}")
    return backends.get(backend).compile(qp)


@np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore")  # what is not finite is looked for
def solve(
    problem: Problem,
    backend: str = "auto",
    form: Form | None = None,
    tol: float = 1e-6,
    polish: bool = True,
    check: bool = True,
    verbose: bool = False,
    time_limit: float | None = None,
    max_iter: int | None = None,
    **options: Any,
) -> SVMResult:
    """Solve a support vector machine and certify the answer.

    Parameters
    ----------
    problem : Problem
        `CSVM`, `NuSVM`, `HardMargin`, `PrimalHinge`.
    backend : str
        "auto", or a name from `python -m qpsvm backends`.
    form : "dual" or "primal", optional
        The form that the backend certifies best, where absent.
    tol : float
        Relative duality gap up to which the result is `optimal`.
    polish : bool
        Improve the solver's point by solving for the exact split of free and bounded α.
    check : bool
        Raise on an infeasible or failed problem and warn on an inaccurate one; otherwise return the result as it is.
    verbose : bool
        Print the choice of backend, the solver's own progress, and the certificate.
    time_limit : float, optional
        Seconds in the solver.
    max_iter : int, optional
        Iterations of the solver.
    **options
        The solver's own settings, by their own names.

    Returns
    -------
    SVMResult

    Raises
    ------
    NotSeparableError
        A hard margin over classes whose hulls meet (`check=True`).
    SolverError
        No point could be certified at all (`check=True`).
    IndefiniteKernelError
        The Gram matrix is indefinite and the problem says psd="raise".
    UnknownOptionError, UnsupportedError, ParameterError
        An option that does not exist, or that the backend cannot honour: before anything is built.

    Warns
    -----
    InaccurateWarning
        The certified gap is above `tol` (`check=True`).
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"solve takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    as_positive(tol, "tol")
    chosen, wanted = _choose(problem, backend, form)
    limits = Limits(None if chosen.tightens else tol, max_iter, time_limit, verbose)
    chosen.check(limits, options)
    start = time.perf_counter()
    scaled = problem.solver_qp(wanted)
    compiled = chosen.compile(scaled.qp)
    build_time = time.perf_counter() - start
    if verbose:
        print(f"qpsvm: {problem.title}; backend {chosen.name}, {wanted} form, {scaled.qp.n} variables")
    result: SVMResult | None = None
    solve_time, iterations = 0.0, 0
    for step in _ladder(chosen, limits, polish, options):
        remaining = None if time_limit is None else max(time_limit - solve_time, 1e-3)
        answer = compiled.solve(
            tol=step, max_iter=max_iter, time_limit=remaining, verbose=verbose, **options
        )
        solve_time += answer.solve_time
        iterations += answer.iterations or 0
        answer = replace(scaled.unscale(answer), solve_time=solve_time, iterations=iterations or None)
        latest = problem.interpret(
            answer, tol=tol, polished=polish, form=wanted, backend=chosen.name, build_time=build_time
        )
        result = latest if result is None or latest.gap < result.gap else replace(
            result, solve_time=solve_time, iterations=iterations, status=latest.status
        )
        if verbose:
            print(f"qpsvm: {latest.solver.name} said {latest.solver.status!r}; certified relative gap {latest.gap:.3g}")
        if result.status is Status.OPTIMAL or result.error or answer.status is Status.TIME_LIMIT:
            break
    assert result is not None  # the ladder has at least one step
    return _checked(result, tol) if check else result


def _ladder(backend: Backend, limits: Limits, polish: bool, options: dict[str, Any]) -> tuple[float | None, ...]:
    """The tolerances to ask the solver for. Its own settings, or polish=False, mean: exactly this one run."""
    if backend.tightens and polish and not options and limits.max_iter is None:
        return (None, *LADDER)
    return (limits.tol,)


def _choose(problem: Problem, backend: str, form: Form | None) -> tuple[Backend, Literal["dual", "primal"]]:
    """The backend and form to use; refusals come before anything is built."""
    if form is not None:
        check_form(form)
    chosen = backends.get(_auto(problem) if backend == "auto" else backend)
    wanted = form or chosen.preferred_form(problem.space.is_linear)
    reason = chosen.refuse(wanted)
    if reason:
        raise UnsupportedError(reason)
    chosen.require()
    return chosen, wanted


def _auto(problem: Problem) -> str:
    """The table of choices: structure and size to backend.

    | kernel | rows      | backend | why                                                     |
    |--------|-----------|---------|---------------------------------------------------------|
    | any    | ≤ 4000    | cvxopt  | an interior point method on the dense dual, accurate    |
    | linear | more      | cvxopt  | the dual lifted by its low rank: O(n d²) an iteration   |
    | other  | more      | osqp    | one factorisation, cheap iterations, then polishing     |
    """
    if len(problem.rows) <= DENSE_ROWS or problem.space.is_linear:
        return "cvxopt"
    return "osqp"


def _checked(result: SVMResult, tol: float) -> SVMResult:
    """Raise or warn as `check=True` promises."""
    if result.error is not None:
        raise result.error
    if result.status is Status.OPTIMAL:
        return result
    said = f"{result.solver.name} ended with {result.solver.status!r}"
    if result.gap == float("inf"):
        what_to_do = f"{result.status.sentence} {result.message}"
        raise SolverError(f"{result.status}: no point could be certified ({said}). {what_to_do}")
    warnings.warn(
        f"{result.status}: the certified relative gap is {result.gap:.2g}, above tol = {tol:g} ({said}). "
        f"{result.status.sentence}",
        InaccurateWarning,
        stacklevel=3,
    )
    return result
