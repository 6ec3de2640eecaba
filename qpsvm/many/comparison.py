"""Solve one problem with every backend, and certify each result in the same way (`compare`)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.backends.limits import Limits
from qpsvm.backends.own.sequential_dual_ import NAME as JOINT
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.traits import find_problem_traits
from qpsvm.base import errors
from qpsvm.base.arrays.checks import as_flag, as_tolerance
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import copy_without_cache
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.many.comparison_table import Comparison, ComparisonRow
from qpsvm.program.qp import QP
from qpsvm.program.status import Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.qp_result import QPResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.all_in_one_attempt import list_general_backends
from qpsvm.solve.call import solve
from qpsvm.space.operators import Diagonal

#: Seconds that a textbook method gets where no time limit is given.
STUDY_SECONDS = 5.0
#: Rows of each class on which a backend is warmed up, so that it has loaded what it needs when its time is taken.
WARM_UP_ROWS = 10
#: Seconds that warming up may take.
WARM_UP_SECONDS = 0.2
#: What `AllInOneResult.kind` says of a row on the margin.
ON_MARGIN = 1
#: What is wrong with the problem, and no backend's fault.
USERS = (errors.DataError, errors.IndefiniteKernelError, errors.NonConvexError, errors.ParameterError)
#: What a backend's own code may raise where it breaks down: one from outside of the library promises nothing.
BREAKDOWNS = (
    errors.QPSVMError, ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip


def compare(
    problem: Problem | AllInOneProblem | QP,
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
    """Solve one problem with several backends, and put how far each came beside what it took.

    Every backend is warmed up on a few rows. Then it solves the problem from nothing: what an earlier one computed,
    such as the Gram matrix, is not there for it. No solver reports its own accuracy, the certificate does.

    Parameters
    ----------
    problem : Problem, AllInOneProblem or QP
        Any machine, or any convex QP, which has no forms.
    backends : str or sequence of str, optional
        Names from `qpsvm.backends.names()`, and "auto" for the library's own choice. By default all that there are; of
        several classes in one program, those that take it; of a QP, those that take any.
    forms : "dual", "primal" or a sequence of them, optional
        By default those that a backend takes; of a textbook method, the one that suits it.
    tol : float, default=1e-6
        Relative gap that is to be certified.
    time_limit : float, optional
        Seconds for each solve; a textbook method gets five where there is none. A backend that cannot keep a limit
        works without it, and its note says so.
    max_iter : int, optional
        Iterations of each solver.
    polish : bool, default=True
        Improve each solver's point before it is certified.
    repeat : int, default=1
        How often each solves it: times are the medians.
    verbose : bool, default=False
        Show what `solve` shows.

    Returns
    -------
    Comparison
        A row for each backend and form. A backend that is not installed, does not take the problem or breaks down has a
        row too, with its reason.

    Raises
    ------
    UnknownOptionError
        No such backend, or no such form; names the nearest.
    ParameterTypeError, ParameterError
        What is no problem, or a limit that is none.
    IndefiniteKernelError
        The Gram matrix is indefinite and the problem says psd="raise".
    KeyboardInterrupt
        Ctrl-C was pressed.

    See Also
    --------
    solve : One of them, or the library's choice.

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
    rows = tuple(
        iter_comparison(problem, backends, forms, CompareOptions(tol, time_limit, max_iter, polish, repeat, verbose))
    )
    if isinstance(problem, QP):
        height = sum(0 if side is None else len(side) for side in (problem.h, problem.b))
        return Comparison(problem.title, problem.n, height, float(tol), rows, int(repeat), ("variables", "constraints"))
    n, d = problem.X.shape
    return Comparison(problem.title, n, d, float(tol), rows, int(repeat))


@dataclass(frozen=True)
class CompareOptions:
    """How each backend is to solve: see `compare`."""

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
        Limits(self.tol, self.max_iter, self.time_limit, self.verbose)  # checks them
        if isinstance(self.repeat, bool) or not isinstance(self.repeat, (int, np.integer)):
            raise errors.ParameterTypeError(f"repeat must be an integer, got {format_value(self.repeat)}")
        if self.repeat < 1:
            raise errors.ParameterError(f"repeat must be at least 1, got {self.repeat}")

    def limits(self, backend: Backend | None) -> tuple[dict[str, Any], list[str]]:
        """The limits for a backend (None: the library's choice), and the names of those that it cannot keep."""
        asked: dict[Literal["time_limit", "max_iter"], float | None]
        asked = {"time_limit": self.time_limit, "max_iter": self.max_iter}
        if backend is not None and backend.abilities.is_educational and self.time_limit is None:
            asked["time_limit"] = STUDY_SECONDS
        given = {name: value for name, value in asked.items() if value is not None}
        keeps = given if backend is None else backend.abilities.enforced_limits
        return {name: value for name, value in given.items() if name in keeps}, [k for k in given if k not in keeps]


def iter_comparison(
    problem: Problem | AllInOneProblem | QP,
    names: str | Sequence[str] | None,
    forms: Form | Sequence[Form] | None,
    asked: CompareOptions,
) -> Iterator[ComparisonRow]:
    """Yield the rows of `compare`, each as soon as it is complete. Wrong arguments raise an error at once."""
    if not isinstance(problem, (Problem, AllInOneProblem, QP)):
        kind = type(problem).__name__
        raise errors.ParameterTypeError(f"compare takes a problem such as CSVM(X, y), or a QP, got {kind}")
    chosen = None if names is None else _as_unique_names(names, "backends")
    wanted: Sequence[Any] | None = None if forms is None else _as_unique_names(forms, "forms")
    for form in wanted or ():
        check_form(form)
    if isinstance(problem, QP):
        if wanted is not None:
            raise errors.UnsupportedError("forms= belongs to machines: a QP is solved as it stands")
        return _on_program(problem, chosen or backends.names(), asked)
    if isinstance(problem, AllInOneProblem):
        taking = (JOINT, *list_general_backends())
        found = {name: None if name in ("auto", JOINT) else backends.get(name) for name in chosen or taking}
        return (_row(problem, name, each, form, asked) for name, each in found.items() for form in wanted or (None,))
    listed = [None if name == "auto" else backends.get(name) for name in chosen or backends.names()]
    return _iter_rows(problem, listed, wanted, asked)


def _iter_rows(
    problem: Problem, chosen: Sequence[Backend | None], wanted: Sequence[Any] | None, asked: CompareOptions
) -> Iterator[ComparisonRow]:
    few = _take_few_rows(problem)
    for backend in chosen:
        if backend is None:
            for form in wanted or [None]:
                yield _row(problem, "auto", None, form, asked)
        elif backend.version() is None:
            command = f"pip install {backend.abilities.package}"
            yield ComparisonRow(backend.name, None, "not installed", note=f"not installed; run: {command}")
        else:
            yield from _of_backend(problem, few, backend, wanted, asked)


def _on_program(qp: QP, names: Sequence[str], asked: CompareOptions) -> Iterator[ComparisonRow]:
    """The rows of a QP."""
    few = QP(P=Diagonal(np.ones(2)), q=np.array([-1.0, 0.0]), lb=np.zeros(2), ub=np.ones(2))
    for name in names:
        backend = None if name == "auto" else backends.get(name)
        if backend is not None and backend.version() is None:
            command = f"pip install {backend.abilities.package}"
            yield ComparisonRow(name, None, "not installed", note=f"not installed; run: {command}")
            continue
        if backend is not None and backend.abilities.accepts_any_qp:
            _warm_up(few, backend, None)
        yield _row(qp, name, backend, None, asked)


def _of_backend(
    problem: Problem, few: Problem | None, backend: Backend, wanted: Sequence[Form] | None, asked: CompareOptions
) -> Iterator[ComparisonRow]:
    """The rows of an installed backend: of each form asked for, else of those that it takes, or why it takes none."""
    traits, size = find_problem_traits(problem), measure_size(problem).rows
    first = backend.preferred_form(problem.space.is_linear)
    forms = wanted or ([first] if backend.abilities.is_educational else get_args(Form))
    refusals = {form: backend.explain_refusal(traits, size, form) for form in forms}
    if wanted is None:
        taken = [form for form, why in refusals.items() if why is None]
        if not taken:
            why = backend.explain_refusal(traits, size, first) or "it takes neither form of this problem"
            yield ComparisonRow(backend.name, None, "unsupported", note=why)
        refusals = dict.fromkeys(taken)
    for form, refusal in refusals.items():
        if refusal is not None:
            yield ComparisonRow(backend.name, form, "unsupported", note=refusal)
            continue
        if few is not None:
            _warm_up(few, backend, form)
        yield _row(problem, backend.name, backend, form, asked)


def _row(
    problem: Problem | AllInOneProblem | QP,
    name: str,
    backend: Backend | None,
    form: Form | None,
    asked: CompareOptions,
) -> ComparisonRow:
    """Run one backend on one form as often as asked for; None stands for a name that is not a backend."""
    limits, without = asked.limits(backend)
    results: list[SVMResult | AllInOneResult | QPResult] = []
    totals = []
    try:
        for _ in range(asked.repeat):
            fresh: Any = replace(problem) if isinstance(problem, QP) else copy_without_cache(problem)
            began = time.perf_counter()
            result: SVMResult | AllInOneResult | QPResult = solve(
                fresh, name, form, tol=asked.tol, polish=asked.polish, check=False, verbose=asked.verbose, **limits
            )
            totals.append(time.perf_counter() - began)
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            results.append(result)
    except USERS:
        raise
    except BREAKDOWNS as error:
        return ComparisonRow(name, form, _name_failure(error), note=_reason(error))
    if isinstance(result, QPResult):
        taken, failed = result.solver.name, None
    else:
        taken, failed = result.backend, result.error
    notes = [f"took {taken}"] if name == "auto" else []
    notes += [f"works without {' and '.join(without)}, which it cannot keep"] if without else []
    notes += [_reason(failed)] if failed is not None else []
    notes += [result.message] if isinstance(result, QPResult) and result.message else []
    return replace(_summarise_results(name, results, totals), note="; ".join(notes))


def _name_failure(error: BaseException) -> str:
    """Return the status of a backend that returned no point."""
    words = {errors.UnsupportedError: "unsupported", errors.MissingExtraError: "not installed"}
    return next((word for kind, word in words.items() if isinstance(error, kind)), "failed")


def _summarise_results(
    name: str, results: Sequence[SVMResult | AllInOneResult | QPResult], totals: Sequence[float]
) -> ComparisonRow:
    """Build the row of the results of one backend. If they differ, the last that is not optimal represents all."""
    result = next((each for each in reversed(results) if each.status is not Status.OPTIMAL), results[-1])
    form = support = margin = None
    if isinstance(result, SVMResult):
        form, support, margin = result.form, len(result.support), len(result.on_margin)
    elif isinstance(result, AllInOneResult):
        form, support, margin = result.form, len(result.support), int((result.kind == ON_MARGIN).sum())
    return ComparisonRow(
        name, form, str(result.status), result.primal, result.dual, result.solver_gap, result.gap, support, margin,
        result.iterations,
        statistics.median(each.build_time for each in results), statistics.median(each.solve_time for each in results),
        statistics.median(totals), len(results), f"{result.solver.name} {result.solver.version}",
    )  # fmt: skip


def _reason(error: BaseException) -> str:
    """Describe an error on one line; one from outside the library with its type."""
    text = " ".join(str(error).split())
    return text if isinstance(error, errors.QPSVMError) and text else f"{type(error).__name__}: {text}".rstrip(": ")


def _take_few_rows(problem: Problem) -> Problem | None:
    """Return the same machine over a few rows; None if that is impossible, as for pairs."""
    target = problem.samples.select_active(problem.samples.target)
    if problem.samples.classes is None:
        rows = np.arange(min(2 * WARM_UP_ROWS, len(target)))
    else:
        rows = np.concatenate([np.flatnonzero(target == sign)[:WARM_UP_ROWS] for sign in (-1.0, 1.0)])
    try:
        part: Problem = restrict_to_rows(problem, rows)
    except errors.QPSVMError:
        return None
    return part


def _warm_up(few: Problem | QP, backend: Backend, form: Form | None) -> None:
    """Solve a few rows, so that imports and first calls are not in the time of the problem."""
    limits = {"time_limit": WARM_UP_SECONDS} if backend.abilities.supports("time_limit") else {}
    try:
        result: Any = solve(few, backend.name, form, check=False, **limits)  # type: ignore[arg-type]
    except BREAKDOWNS:  # the problem itself will say what is wrong
        return
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def _as_unique_names(names: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Return one name, or several without repetitions. Raises ParameterTypeError, ParameterError."""
    if isinstance(names, str):
        return (names,)
    if isinstance(names, bytes) or not hasattr(names, "__iter__"):
        raise errors.ParameterTypeError(f"{what} must be a name or a sequence of names, got {format_value(names)}")
    found = tuple(dict.fromkeys(names))
    if not found:
        raise errors.ParameterError(f"{what} is empty: name at least one, or leave it out for all")
    return found


__all__ = ["CompareOptions", "compare", "iter_comparison"]
