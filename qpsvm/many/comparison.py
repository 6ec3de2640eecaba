"""Solve one problem with every backend, and certify each result in the same way (`compare`)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.backends.limits import Limits
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.traits import find_problem_traits
from qpsvm.base import errors
from qpsvm.base.arrays.checks import as_flag, as_tolerance
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import copy_without_cache
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.many.comparison_table import Comparison, ComparisonRow
from qpsvm.program.qp import QP
from qpsvm.program.status import Status
from qpsvm.result.qp_result import QPResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.operators import Diagonal

#: Time limit of a textbook method if none is given.
STUDY_SECONDS = 5.0
#: Rows of each class on which a backend is warmed up, so that imports are not part of its time.
WARM_UP_ROWS = 10
#: Time limit of the warm-up.
WARM_UP_SECONDS = 0.2
#: Errors in the problem, which are raised and not attributed to a backend.
PROBLEM_ERRORS = (errors.DataError, errors.IndefiniteKernelError, errors.NonConvexError, errors.ParameterError)
#: Errors that count as a failure of a backend, since third-party code may raise any of them.
BACKEND_ERRORS = (
    errors.QPSVMError, ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip


def compare(
    problem: Problem | QP,
    backends: str | Sequence[str] | None = None,
    forms: Form | Sequence[Form] | None = None,
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
    max_iter: int | None = None,
    polish: bool = True,
    repeat: int = 1,
    verbose: bool = False,
) -> Comparison:
    """Solve one problem with several backends, and compare their certified gaps and times.

    Every backend is warmed up on a few rows. Then it solves the problem from scratch, without values cached by earlier
    ones, such as the Gram matrix. The reported accuracy is that of the certificate, not of the solver.

    Parameters
    ----------
    problem : Problem or QP
        Any machine, or any convex QP, which has no forms.
    backends : str or sequence of str, optional
        Names from `qpsvm.backends.names()`, and "auto" for the library's own choice. By default all;
        for several classes in one program, and for a QP, those that accept it.
    forms : "dual", "primal" or a sequence of them, optional
        By default those that a backend accepts; for a textbook method, its preferred one.
    tol : float, default=1e-6
        Target of the certified relative gap.
    time_limit : float, optional
        Seconds for each solve; by default no limit, and five for a textbook method. A backend that cannot enforce a
        limit runs without it, and its note says so.
    max_iter : int, optional
        Limit of the iterations of each solver.
    polish : bool, default=True
        Improve each solver's point before it is certified.
    repeat : int, default=1
        Number of solves per backend; times are the medians.
    verbose : bool, default=False
        As for `solve`.

    Returns
    -------
    Comparison
        A row per backend and form. A backend that is not installed, does not accept the problem or fails has a row with
        the reason.

    Raises
    ------
    UnknownOptionError
        No such backend, or no such form; the message names the nearest.
    ParameterTypeError, ParameterError
        Not a problem, or an invalid limit.
    IndefiniteKernelError
        The Gram matrix is indefinite and the problem says psd="raise".
    KeyboardInterrupt
        Ctrl-C was pressed.

    See Also
    --------
    solve : Solves with one backend, or the default choice.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> found = qpsvm.compare(qpsvm.CSVM(X, y, kernel="rbf"), ["cvxopt", "osqp", "libsvm"], "dual", repeat=3)
    >>> print(found)
    C-SVM, C = 1, kernel RBF(gamma=...): 60 samples × 2 features, tol 1e-06, times are medians of 3
    <BLANKLINE>
    backend              form   status              objective solver gap      gap support margin ...
    cvxopt               dual   optimal  ...
    osqp                 dual   optimal  ...
    libsvm               dual   optimal  ...
    >>> found[0].gap <= 1e-6, found.fastest.status
    (True, 'optimal')
    """
    options = CompareOptions(tol, time_limit, max_iter, polish, repeat, verbose)
    rows = tuple(iter_comparison(problem, backends, forms, options))
    if isinstance(problem, QP):
        n_constraints = sum(0 if side is None else len(side) for side in (problem.h, problem.b))
        units = ("variables", "constraints")
        return Comparison(problem.title, problem.n, n_constraints, float(tol), rows, int(repeat), units)
    n, d = problem.X.shape
    return Comparison(problem.title, n, d, float(tol), rows, int(repeat))


@dataclass(frozen=True)
class CompareOptions:
    """Options of each solve: see `compare`."""

    tol: float = 1e-6
    time_limit: float | None = None
    max_iter: int | None = None
    polish: bool = True
    repeat: int = 1
    verbose: bool = False

    def __post_init__(self) -> None:
        as_tolerance(self.tol)
        for name in ("polish", "verbose"):
            as_flag(getattr(self, name), name)
        Limits(self.tol, self.max_iter, self.time_limit, self.verbose)  # checks the limits
        if isinstance(self.repeat, bool) or not isinstance(self.repeat, (int, np.integer)):
            raise errors.ParameterTypeError(f"repeat must be an integer, got {format_value(self.repeat)}")
        if self.repeat < 1:
            raise errors.ParameterError(f"repeat must be at least 1, got {self.repeat}")

    def build_limits(self, backend: Backend | None) -> tuple[dict[str, Any], list[str]]:
        """Return the limits that a backend enforces, and the names of the others. None is the default choice."""
        requested: dict[Literal["time_limit", "max_iter"], float | None]
        requested = {"time_limit": self.time_limit, "max_iter": self.max_iter}
        if backend is not None and backend.abilities.is_educational and self.time_limit is None:
            requested["time_limit"] = STUDY_SECONDS
        limits: dict[str, Any] = {name: value for name, value in requested.items() if value is not None}
        unenforced = [name for name in limits if backend is not None and name not in backend.abilities.enforced_limits]
        return {name: value for name, value in limits.items() if name not in unenforced}, unenforced


def iter_comparison(
    problem: Problem | QP,
    names: str | Sequence[str] | None,
    forms: Form | Sequence[Form] | None,
    options: CompareOptions,
) -> Iterator[ComparisonRow]:
    """Return an iterator of the rows of `compare`, each solved when it is asked for. Arguments are checked at once."""
    if not isinstance(problem, (Problem, QP)):
        kind = type(problem).__name__
        raise errors.ParameterTypeError(f"compare takes a problem such as CSVM(X, y), or a QP, got {kind}")
    all_names = backends.names() if names is None else _as_unique_names(names, "backends")
    unique_forms: Sequence[Any] | None = None if forms is None else _as_unique_names(forms, "forms")
    for form in unique_forms or ():
        check_form(form)
    if isinstance(problem, QP):
        if unique_forms is not None:
            raise errors.UnsupportedError("forms= belongs to machines: a QP is solved as given")
        return _iter_qp_rows(problem, all_names, options)
    chosen = [None if name == "auto" else backends.get(name) for name in all_names]
    return _iter_machine_rows(problem, chosen, unique_forms, options)


def _iter_machine_rows(
    problem: Problem,
    chosen: Sequence[Backend | None],
    forms: Sequence[Any] | None,
    options: CompareOptions,
) -> Iterator[ComparisonRow]:
    """Yield the rows of a machine; None among the backends is the default choice."""
    warm_up_problem = _take_few_rows(problem)
    for backend in chosen:
        if backend is None:
            for form in forms or [None]:
                yield _solve_repeatedly(problem, "auto", None, form, options)
        elif backend.version() is None:
            yield _build_uninstalled_row(backend)
        else:
            yield from _iter_backend_rows(problem, warm_up_problem, backend, forms, options)


def _iter_qp_rows(qp: QP, names: Sequence[str], options: CompareOptions) -> Iterator[ComparisonRow]:
    """Yield the rows of a QP."""
    warm_up_problem = QP(P=Diagonal(np.ones(2)), q=np.array([-1.0, 0.0]), lb=np.zeros(2), ub=np.ones(2))
    for name in names:
        backend = None if name == "auto" else backends.get(name)
        if backend is not None and backend.version() is None:
            yield _build_uninstalled_row(backend)
            continue
        if backend is not None and backend.abilities.accepts_any_qp:
            _warm_up(warm_up_problem, backend, None)
        yield _solve_repeatedly(qp, name, backend, None, options)


def _build_uninstalled_row(backend: Backend) -> ComparisonRow:
    """Build the row of a backend that is not installed."""
    command = f"pip install {backend.abilities.package}"
    return ComparisonRow(backend.name, None, "not installed", note=f"not installed; run: {command}")


def _iter_backend_rows(
    problem: Problem,
    warm_up_problem: Problem | None,
    backend: Backend,
    forms: Sequence[Form] | None,
    options: CompareOptions,
) -> Iterator[ComparisonRow]:
    """Yield the rows of an installed backend, for these forms or, by default, for those that it accepts."""
    traits = find_problem_traits(problem)
    n_rows = measure_size(problem).rows
    preferred = backend.find_preferred_form(problem.space.is_linear)
    candidates = forms or ([preferred] if backend.abilities.is_educational else get_args(Form))
    refusals = {form: backend.explain_refusal(traits, n_rows, form) for form in candidates}
    if forms is None:  # a refused form has no row, but if both are refused, one row says why
        refusals = {form: None for form, refusal in refusals.items() if refusal is None}
        if not refusals:
            reason = backend.explain_refusal(traits, n_rows, preferred) or "it takes neither form of this problem"
            yield ComparisonRow(backend.name, None, "unsupported", note=reason)
    for form, refusal in refusals.items():
        if refusal is not None:
            yield ComparisonRow(backend.name, form, "unsupported", note=refusal)
            continue
        if warm_up_problem is not None:
            _warm_up(warm_up_problem, backend, form)
        yield _solve_repeatedly(problem, backend.name, backend, form, options)


def _solve_repeatedly(
    problem: Problem | QP,
    name: str,
    backend: Backend | None,
    form: Form | None,
    options: CompareOptions,
) -> ComparisonRow:
    """Run a backend, None for the default choice, `options.repeat` times on one form, and summarise its results."""
    limits, unenforced = options.build_limits(backend)
    results: list[SVMResult | QPResult] = []
    times = []
    try:
        for _ in range(options.repeat):
            uncached: Any = replace(problem) if isinstance(problem, QP) else copy_without_cache(problem)
            start_time = time.perf_counter()
            result: SVMResult | QPResult = solve(
                uncached, name, form, tol=options.tol, polish=options.polish, check=False, verbose=options.verbose,
                **limits,
            )  # fmt: skip
            times.append(time.perf_counter() - start_time)
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            results.append(result)
    except PROBLEM_ERRORS:
        raise
    except BACKEND_ERRORS as error:
        return ComparisonRow(name, form, _name_failure(error), note=_describe_error(error))
    if isinstance(result, QPResult):
        solver_name, message = result.solver.name, result.message
    else:
        solver_name, message = result.backend, _describe_error(result.error) if result.error is not None else ""
    notes = [f"took {solver_name}"] if name == "auto" else []
    notes += [f"works without {' and '.join(unenforced)}, which it cannot enforce"] if unenforced else []
    notes += [message] if message else []
    return replace(_summarise_results(name, results, times), note="; ".join(notes))


def _name_failure(error: BaseException) -> str:
    """Return the status of a backend that raised an error."""
    statuses = {errors.UnsupportedError: "unsupported", errors.MissingExtraError: "not installed"}
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), "failed")


def _summarise_results(name: str, results: Sequence[SVMResult | QPResult], times: Sequence[float]) -> ComparisonRow:
    """Build the row of the results of one backend. If they differ, the last that is not optimal represents all."""
    result = next((each for each in reversed(results) if each.status is not Status.OPTIMAL), results[-1])
    form = support = margin = None
    if isinstance(result, SVMResult):
        form = result.form
        support = len(result.support)
        margin = len(result.on_margin)
    return ComparisonRow(
        name, form, str(result.status), result.primal, result.dual, result.solver_gap, result.gap, support, margin,
        result.iterations,
        statistics.median(each.build_time for each in results), statistics.median(each.solve_time for each in results),
        statistics.median(times), len(results), f"{result.solver.name} {result.solver.version}",
    )  # fmt: skip


def _describe_error(error: BaseException) -> str:
    """Describe an error on one line; one from outside the library with its type."""
    text = " ".join(str(error).split())
    if isinstance(error, errors.QPSVMError) and text:
        return text
    return f"{type(error).__name__}: {text}".rstrip(": ")


def _take_few_rows(problem: Problem) -> Problem | None:
    """Return the same machine over a few rows of each class; None if that is impossible, as for ranking pairs."""
    target = problem.samples.select_active(problem.samples.target)
    if problem.samples.classes is None:
        rows = np.arange(min(2 * WARM_UP_ROWS, len(target)))
    else:
        rows = np.concatenate([np.flatnonzero(target == label)[:WARM_UP_ROWS] for label in np.unique(target)])
    try:
        subset: Problem = restrict_to_rows(problem, rows)
    except errors.QPSVMError:
        return None
    return subset


def _warm_up(warm_up_problem: Problem | QP, backend: Backend, form: Form | None) -> None:
    """Solve a few rows, so that imports and first calls are not in the time of the problem."""
    limits = {"time_limit": WARM_UP_SECONDS} if backend.abilities.supports("time_limit") else {}
    try:
        result: Any = solve(warm_up_problem, backend.name, form, check=False, **limits)  # type: ignore[arg-type]
    except BACKEND_ERRORS:  # the solve of the problem itself will report it
        return
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def _as_unique_names(names: str | Sequence[str], argument: str) -> tuple[str, ...]:
    """Return one name, or several without repetitions. Raises ParameterTypeError, ParameterError."""
    if isinstance(names, str):
        return (names,)
    is_iterable = hasattr(names, "__iter__") and not isinstance(names, bytes)
    names = tuple(names) if is_iterable else names
    if not is_iterable or not all(isinstance(name, Hashable) for name in names):
        raise errors.ParameterTypeError(f"{argument} must be a name or a sequence of names, got {format_value(names)}")
    unique_names = tuple(dict.fromkeys(names))
    if not unique_names:
        raise errors.ParameterError(f"{argument} is empty: name at least one, or leave it out for all")
    return unique_names


__all__ = ["CompareOptions", "compare", "iter_comparison"]
