"""The one function that walks all the way: problem, backend, QP, solver, polish, certificate, result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm import backends
from qpsvm.arrays import FloatArray, as_flag, as_positive
from qpsvm.backends.base import COMMON_OPTIONS, WITH_START, Backend, Compiled, Limits
from qpsvm.choice import Choice, choices
from qpsvm.errors import (
    DataError,
    InaccurateWarning,
    ParameterTypeError,
    QPSVMError,
    SolverError,
    UnknownOptionError,
    UnsupportedError,
    nearest,
)
from qpsvm.interrupts import held, noted
from qpsvm.problems import Problem
from qpsvm.problems.base import Form, check_form
from qpsvm.qp import QP
from qpsvm.result import Status, SVMResult

#: Tolerances that a solver which can tighten is asked for, one after the other, until the certificate is satisfied.
LADDER = (1e-6, 1e-9)
#: Ends that leave no room for another try.
STOPPED_BY_USER = (Status.TIME_LIMIT, Status.INTERRUPTED)


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
    DataError
        P's factor is not finite.
    """
    if not isinstance(qp, QP):
        raise ParameterTypeError(f"compile takes a QP, such as problem.qp('dual'), got {type(qp).__name__}")
    with np.errstate(all="ignore"):
        finite = np.isfinite(qp.P.mean_diagonal())
    if not finite:  # an explicit P is checked when the QP is made; a factor's entries show in the diagonal
        raise DataError(f"P ({qp.P.describe()}) holds a number that is not finite, or whose square is not")
    return backends.get(backend).compile(qp)


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
    start: SVMResult | ArrayLike | None = None,
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
    start : SVMResult, or array_like of shape (n,), optional
        Where to begin: the result for a neighbouring C, λ, ν or γ, or for some of the rows, or an α. It changes the
        time and not the answer; backends that the library chooses itself use it where they can.
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

    Notes
    -----
    Interrupted with Ctrl-C, our own solvers end with their best point, and the result has the status `interrupted`; a
    second Ctrl-C raises `KeyboardInterrupt`, as other solvers do at once.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"solve takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    as_positive(tol, "tol")
    Limits(tol, max_iter, time_limit, verbose)  # checks them
    for name, flag in (("polish", polish), ("check", check), ("verbose", verbose)):
        as_flag(flag, name)
    begin = None if start is None else problem.start(start)
    request = Request(tol, bool(polish), bool(verbose), time_limit, max_iter, options, begin)
    best: SVMResult | None = None
    refused: UnsupportedError | None = None
    for chosen, wanted in _choices(problem, backend, form, request):
        try:
            with np.errstate(all="ignore"):  # what is not finite is looked for, and named
                result = _attempt(problem, chosen, wanted, request)
        except UnsupportedError as error:
            refused = error  # it takes other variants
            continue
        best = result if best is None or result.gap < best.gap else best
        if best.status is Status.OPTIMAL or result.error is not None or request.spent(result):
            break
    if best is None:
        assert refused is not None  # there is at least one choice
        raise refused
    return _checked(best, tol) if check else best


@dataclass(frozen=True)
class Request:
    """What `solve` was asked, besides the problem and who should solve it."""

    tol: float
    polish: bool
    verbose: bool
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]
    start: FloatArray | None

    def limits(self, backend: Backend, tol: float | None = None, spent: float = 0.0) -> Limits:
        """What to ask a backend for; one that can tighten starts at its own tolerances."""
        remaining = None if self.time_limit is None else max(self.time_limit - spent, 1e-9)
        return Limits(tol if backend.tightens else self.tol, self.max_iter, remaining, self.verbose)

    def begins(self, backend: Backend, form: Form) -> bool:
        """Whether there is a start that this backend can use."""
        return self.start is not None and backend.starts and form == "dual"

    def spent(self, result: SVMResult) -> bool:
        """Whether the user's limits leave no room for another try."""
        limited = self.time_limit is not None or self.max_iter is not None or bool(self.options) or not self.polish
        return limited or result.status in STOPPED_BY_USER


def _attempt(problem: Problem, backend: Backend, form: Form, request: Request) -> SVMResult:
    """Compile, solve, unscale and interpret; again at tighter tolerances while the certificate says no."""
    start = time.perf_counter()
    scaled = problem.solver_qp(form)
    compiled = backend.compile(scaled.qp)
    build_time = time.perf_counter() - start
    if request.verbose:
        print(f"qpsvm: {problem.title}; backend {backend.name}, {form} form, {scaled.qp.n} variables")
    best: SVMResult | None = None
    solve_time, iterations = 0.0, 0
    point: FloatArray | None = None
    if request.start is not None and request.begins(backend, form):
        point = scaled.scale(request.start)
    for tol in _ladder(backend, request):
        limits = request.limits(backend, tol, solve_time)
        with held() if backend.polls else nullcontext():
            answer = compiled.solve(
                tol=limits.tol, max_iter=limits.max_iter, time_limit=limits.time_limit, verbose=limits.verbose,
                start=point, **request.options,
            )
            point = None  # a solver that is asked again goes on from where it is
            solve_time += answer.solve_time
            iterations += answer.iterations or 0
            answer = scaled.unscale(answer).changed(solve_time=solve_time, iterations=iterations or None)
            result = problem.interpret(
                answer, tol=request.tol, polished=request.polish, form=form, backend=backend.name,
                build_time=build_time,
            )
            if noted() and result.status is not Status.INTERRUPTED:
                raise KeyboardInterrupt  # pressed when there was nothing left to stop: it is not lost
        if request.verbose:
            print(f"qpsvm: {result.solver.name} said {result.solver.status!r}; certified relative gap {result.gap:.3g}")
        if best is not None and best.gap < result.gap:
            best = replace(best, solve_time=solve_time, iterations=iterations, status=result.status)
        else:
            best = result
        if best.status is Status.OPTIMAL or best.error or answer.status in STOPPED_BY_USER:
            break
    assert best is not None  # the ladder has at least one step
    return best


def _ladder(backend: Backend, request: Request) -> tuple[float | None, ...]:
    """The tolerances to ask the solver for. Its own settings, or polish=False, mean: exactly this one run."""
    if backend.tightens and request.polish and not request.options and request.max_iter is None:
        return (None, *LADDER)
    return (None,)


def _choices(
    problem: Problem, backend: str, form: Form | None, request: Request
) -> Iterator[tuple[Backend, Form]]:
    """The backends and forms to try, in order; more than one only where the library chooses.

    What a named backend cannot do is an error here, before anything is built; of the library's own choices, those that
    cannot keep the request are passed over. Looked at one at a time: asking a solver's package for its settings costs
    more than a small problem.
    """
    if form is not None:
        check_form(form)
    named = not (isinstance(backend, str) and backend == "auto")
    refused: QPSVMError | None = None
    found = False
    candidates = [Choice(backend)] if named else choices(problem)
    if request.verbose and not named:
        print(f"qpsvm: auto, in this order: {', '.join(str(choice) for choice in candidates)}")
    for choice in candidates:
        chosen = backends.get(choice.backend)
        if form is not None and choice.form not in (None, form):
            continue
        preferred = "dual" if request.begins(chosen, "dual") else chosen.preferred_form(problem.space.is_linear)
        wanted = form or choice.form or preferred
        reason = chosen.refuse(wanted)
        if named and request.start is not None and not request.begins(chosen, wanted):
            reason = reason or f"{chosen.name} on the {wanted} form cannot begin at a given point; {WITH_START} can"
        try:
            if reason:
                raise UnsupportedError(reason)
            chosen.check(request.limits(chosen), request.options)
        except (UnsupportedError, UnknownOptionError) as error:
            refused = error
            continue
        chosen.require()
        found = True
        yield chosen, wanted
    if found or refused is None:
        return
    if not named and isinstance(refused, UnknownOptionError):
        raise UnknownOptionError(_whose(request.options)) from None
    raise refused


def _whose(options: Mapping[str, Any]) -> str:
    """What to say of options that no backend of the library's own choice has: whose they are."""
    listed = {name: backends.get(name).options() for name in backends.REGISTRY if backends.get(name).version()}
    option = next((name for name in options if not any(name in known for known in listed.values())), None)
    if option is not None:
        return f"no backend has an option {option!r}; {nearest(option, COMMON_OPTIONS)}, and each backend's own"
    option = next(iter(options))
    owners = [name for name, known in listed.items() if option in known]
    return f"the option {option!r} belongs to {' and '.join(owners)}: name the backend, as in backend={owners[0]!r}"


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
