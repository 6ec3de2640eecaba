"""Define the types that all backends share (`Limits`, `Compiled`, `SolverData`), and guard the calls of solvers.

Errors of third-party code are raised under the backend's name. A solver's solution is only checked for finite numbers;
whether it is right is decided by the certificate.
"""

from __future__ import annotations

import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector, as_flag, as_positive, is_all_finite
from qpsvm.base.arrays.formatting import build_repr, format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError, ParameterTypeError, QPSVMError, SolverError, TooLargeError
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.base.resources.progress import Clock, defer_interrupt
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.program.svm_dual import Statement, SVMDual

if TYPE_CHECKING:
    from qpsvm.solvers.shared.stopping import LoopOutcome


T = TypeVar("T")


@cache
def find_installed_version(package: str) -> str | None:
    """Return the version of an installed distribution, or None; cached, because it takes milliseconds."""
    import importlib.metadata  # imported late: it is 20 ms of `import qpsvm`

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def is_importable(module: str) -> bool:
    """Return whether the package of a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # something in the way of imports, or a package without a file
        return False


def find_library_version() -> str:
    """Return this library's version, for the built-in solvers."""
    return find_installed_version("qpsvm") or "?"


#: The largest iteration limit that every solver can hold, a 32-bit integer.
MAX_ITERATIONS = int(np.iinfo(np.int32).max)
#: The relative gap aimed at where no tolerance is given, and what the own tolerances of LIBSVM and LIBLINEAR stand for.
DEFAULT_TOLERANCE = 1e-6
#: Stop reasons of the built-in solvers, and the statuses that they claim.
STATUS_OF_REASON = {
    "converged": Status.OPTIMAL,
    "iteration_limit": Status.ITERATION_LIMIT,
    "time_limit": Status.TIME_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "numerical_error": Status.NUMERICAL_ERROR,
    "infeasible": Status.INFEASIBLE,
}


@dataclass(frozen=True)
class Limits:
    """Limits and start of a run, the same for every backend.

    tol: Relative accuracy to aim for; None leaves the solver at its own defaults.
    time_limit or None: Seconds.
    start (n,) or None: A point of the QP to begin at.
    """

    tol: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    verbose: bool = False
    start: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.tol is not None:
            as_positive(self.tol, "tol")
        if self.time_limit is not None:
            as_positive(self.time_limit, "time_limit")
        if self.max_iter is not None:
            if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, (int, np.integer)):
                raise ParameterTypeError(f"max_iter must be a whole number, got {format_value(self.max_iter)}")
            if not 1 <= self.max_iter <= MAX_ITERATIONS:
                raise ParameterError(f"max_iter must be between 1 and {MAX_ITERATIONS}, got {self.max_iter}")


def translate_stop_reason(reason: str) -> tuple[Status, str]:
    """Return the status that a built-in solver claims by its stop reason, and the reason as text."""
    return STATUS_OF_REASON[reason], reason.replace("_", " ")


def find_run_status(run: LoopOutcome, max_iter: int, clock: Clock) -> tuple[Status, str]:
    """Return the status of a loop without a clock: converged, or out of iterations or time."""
    if run.converged:
        return translate_stop_reason("converged")
    return translate_stop_reason(
        "iteration_limit" if run.iterations >= max_iter else clock.find_stop_reason() or "time_limit"
    )


class SolverData(tuple[Any, ...]):
    """What a solver receives, in the order and by the names of its own interface.

    Unpacks (`P, q, G, h, A, b = data`), reads by attribute (`data.P`) or key (`data["P"]`), and passes on as keywords
    (`cvxopt.solvers.qp(**data)`).
    """

    _names: tuple[str, ...]

    def __new__(cls, **parts: Any) -> SolverData:
        data = super().__new__(cls, parts.values())
        data._names = tuple(parts)
        return data

    def keys(self) -> tuple[str, ...]:
        """Return the names, in the solver's order."""
        return self._names

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_names", ()):
            return self[name]
        raise AttributeError(name)

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """Return the parts by name, from which a pickled or copied object is rebuilt."""
        return (), dict(zip(self._names, self, strict=True))

    def __repr__(self) -> str:
        return build_repr("SolverData", **dict(zip(self._names, self, strict=True)))


def build_common_settings(limits: Limits, options: Mapping[str, Any], tol: float | None = None) -> dict[str, Any]:
    """Return the settings that the built-in solvers share; the meaning of `tol` is up to each backend."""
    settings: dict[str, Any] = {"time_limit": limits.time_limit, "verbose": limits.verbose, **options}
    if tol is not None:
        settings["tol"] = tol
    if limits.max_iter is not None:
        settings["max_iter"] = int(limits.max_iter)
    return settings


#: Raw status of a point that is not finite.
NOT_FINITE = "returned numbers that are not finite"


class ForeignCode:
    """A block that runs third-party code: its exceptions become a `SolverError` that names the backend.

    Errors of this library pass unchanged, so that a solver may refuse a problem; so do memory errors, which are
    translated by the caller, and exceptions that end a program.
    """

    def __init__(self, name: str, activity: str) -> None:
        self.name, self.activity = name, activity

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Name whose error it is: SolverError."""
        if isinstance(error, Exception) and not isinstance(error, (QPSVMError, MemoryError)):
            said = str(error).strip().splitlines()
            why = f"{type(error).__name__}{f': {said[0]}' if said else ''}"
            raise SolverError(f"the registered backend {self.name!r} failed {self.activity}: {why}") from error


def build_failed_solution(qp: QP, solver: Solver) -> QPSolution:
    """Build the solution of a solver that broke down."""
    return QPSolution(qp, Status.NUMERICAL_ERROR, solver)


def solve_dual_directly(backend: Any, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
    """Solve a machine's dual by a backend that accepts it; drops a point that is not finite."""
    began = time.perf_counter()

    def run() -> DualSolution:
        try:
            return backend.solve_dual(svm, limits, options)  # type: ignore[no-any-return]
        except NUMERICAL_ERRORS as error:
            return DualSolution(Status.NUMERICAL_ERROR, backend.describe_solver(describe_breakdown(error, options)))

    answer = translate_errors(backend.name, svm.m, options, run)
    parts = [part for part in (answer.alpha, answer.w) if part is not None]
    if not all(np.isfinite(part).all() for part in parts):
        answer.alpha = answer.w = None
        if answer.reported in (Status.OPTIMAL, Status.INACCURATE):
            answer.reported, answer.solver = Status.NUMERICAL_ERROR, answer.solver._replace(status=NOT_FINITE)
    answer.solve_time = time.perf_counter() - began
    return answer


#: What solvers raise when the value of a setting is wrong.
SETTING_ERRORS = (TypeError, ValueError, AttributeError, KeyError, OverflowError)


#: What they raise at a numerical breakdown.
NUMERICAL_ERRORS = (ArithmeticError, np.linalg.LinAlgError)


def describe_breakdown(error: Exception, options: Mapping[str, Any]) -> str:
    """Return the raw status of a numerical breakdown; re-raises what a setting that is too large has caused."""
    if options and isinstance(error, SETTING_ERRORS):
        raise error
    return f"raised {type(error).__name__}: {error}"


def translate_errors(solver: str, n: int, options: Mapping[str, Any], run: Callable[[], T]) -> T:
    """Run a solver on n variables; translate its errors about settings and memory."""
    try:
        return run()
    except SETTING_ERRORS as error:
        if not options:
            raise
        plain = (int, float, str)  # what else there is says little, and at length
        settings = ", ".join(f"{k}={v!r}" if isinstance(v, plain) else k for k, v in options.items())
        why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ParameterError(f"{solver} refused its settings {settings}: {why}") from error
    except MemoryError as error:
        if isinstance(error, TooLargeError):
            raise
        raise TooLargeError(
            f"{solver} ran out of memory on a QP of {n} variables: use fewer rows, or osqp on the primal form where "
            "the kernel is linear"
        ) from error


class Compiled(ABC):
    """A QP in the form of one solver.

    Parameters
    ----------
    backend : Backend
        Whose form it is.
    qp : QP
        What was compiled.
    data : object
        Exactly what the solver will receive.

    Attributes
    ----------
    backend, qp, data
        As given.

    See Also
    --------
    qpsvm.compile : What makes one.

    Examples
    --------
    CVXOPT's own arguments, which can be passed to it directly:

    >>> import cvxopt
    >>> import qpsvm
    >>> compiled = qpsvm.compile(qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("dual"), "cvxopt")
    >>> compiled.data.keys()
    ('P', 'q', 'G', 'h', 'A', 'b')
    >>> found = cvxopt.solvers.qp(**compiled.data, options={"show_progress": False})
    >>> print(found["status"], [round(x, 4) for x in found["x"]])
    optimal [0.5, 0.5]
    """

    #: The machine that the QP is the dual of, for those that read it off.
    statement: Statement

    def __init__(self, backend: Any, qp: QP, data: Any, **parts: Any) -> None:
        self.backend, self.qp, self.data = backend, qp, data
        self.__dict__.update(parts)  # what else a solver's own class keeps

    def __repr__(self) -> str:
        return f"<{self.qp!r} as {self.backend.name} takes it>"

    def solve(
        self,
        *,
        tol: float | None = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
        start: ArrayLike | None = None,
        **options: Any,
    ) -> QPSolution:
        """Call the solver.

        Parameters
        ----------
        tol : float, optional
            Relative accuracy to aim for; the solver's own defaults where absent.
        max_iter : int, optional
            Iterations, as the solver counts them.
        time_limit : float, optional
            Seconds.
        verbose : bool
            Let the solver print.
        start : array_like, shape (n,), optional
            A point to begin at, in the units of the QP compiled; it need not be feasible.
        **options
            The solver's own settings, by their own names.

        Returns
        -------
        QPSolution
            In the units of the QP compiled, with multipliers in the signs of (QP.1).

        Raises
        ------
        UnknownOptionError
            A setting that the solver does not have.
        UnsupportedError
            A limit that the solver cannot keep, or a start that it has no use for.
        ParameterError
            A value that the solver refuses.
        DataError
            A start of another shape, or not finite.
        TooLargeError
            The solver ran out of memory.

        Examples
        --------
        >>> import qpsvm
        >>> compiled = qpsvm.compile(qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("dual"), "osqp")
        >>> solution = compiled.solve(tol=1e-8, scaling=0)  # `scaling` is a setting of OSQP's
        >>> print(solution.reported, solution.x.round(5))
        optimal [0.5 0.5]
        """
        point = None if start is None else as_finite_vector(start, "start", self.qp.n)
        limits = Limits(tol, max_iter, time_limit, as_flag(verbose, "verbose"), point)
        self.backend.check_request(limits, options, any_qp=True)
        return self._solve_checked(limits, options)

    def _solve_checked(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Solve with limits and options that have been checked."""
        began = time.perf_counter()
        with limit_blas_threads(), defer_interrupt() if self.backend.abilities.handles_interrupt else nullcontext():
            solution = translate_errors(
                self.backend.name, self.qp.n, options, lambda: self._run_guarded(limits, options)
            )
        return solution.replace(solve_time=time.perf_counter() - began)

    @abstractmethod
    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Call the solver with checked options and map its answer back."""

    def _run_guarded(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Run the solver; after a numerical breakdown, return a status without a point. Raises SolverError."""
        if self.backend.is_external:
            with ForeignCode(self.backend.name, "while it solved"):
                answer = self._run(limits, options)
                if not isinstance(answer, QPSolution):
                    raise TypeError(f"_run has to return a QPSolution, and returned {format_value(answer)}")
                return self._drop_non_finite(answer)
        try:
            return self._drop_non_finite(self._run(limits, options))
        except NUMERICAL_ERRORS as error:
            return build_failed_solution(self.qp, self.backend.describe_solver(describe_breakdown(error, options)))

    def _drop_non_finite(self, answer: QPSolution) -> QPSolution:
        """Return the solution, without its point if a number of it is not finite."""
        parts = (answer.x, answer.y, answer.z, answer.box, answer.v)
        if answer.x is None or all(is_all_finite(np.asarray(part)) for part in parts if part is not None):
            return answer
        status, solver = answer.reported, answer.solver
        if status in (Status.OPTIMAL, Status.INACCURATE):
            status, solver = Status.NUMERICAL_ERROR, solver._replace(status=NOT_FINITE)
        return QPSolution(self.qp, status, solver, iterations=answer.iterations)

    def _describe_solver(self, raw: str) -> Solver:
        """Return the solver's name and version with its raw status."""
        return self.backend.describe_solver(raw)  # type: ignore[no-any-return]

    def _build_solution(
        self, status: Status, solver: Solver, iterations: int | None, x: FloatArray | None = None, **parts: Any
    ) -> QPSolution:
        """Build the solution."""
        return QPSolution(self.qp, status, solver, x=x, iterations=iterations, **parts)

    def _build_run_solution(self, run: Any, x: FloatArray, raw: str | None = None, **parts: Any) -> QPSolution:
        """Build the solution from a built-in solver's `reason` and `iterations`; `raw` replaces the status."""
        status, words = translate_stop_reason(run.reason)
        return self._build_solution(
            status, self._describe_solver(words if raw is None else raw), run.iterations, x, **parts
        )
