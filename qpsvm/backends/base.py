"""The contract of a backend: data out, solver called, answer mapped back.

Every file in this folder has the same three steps in the same order: `compile` turns a QP into the solver's own data,
`_run` calls the solver, and the answer comes back as a `QPSolution` with the multipliers in the signs of (QP.1).
A backend knows QPs and solvers, not support vector machines.
"""

from __future__ import annotations

import importlib.metadata
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.checks import as_finite_vector, as_flag, as_positive
from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import outline, shown
from qpsvm.errors import (
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
    nearest,
)
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution, Solver, Status
from qpsvm.resources.interrupts import held
from qpsvm.resources.threads import one_thread


@dataclass(frozen=True)
class Limits:
    """What every backend is asked in the same words.

    Attributes
    ----------
    tol : float or None
        Relative accuracy to aim for; None leaves the solver at its own defaults.
    max_iter : int or None
    time_limit : float or None
        Seconds.
    verbose : bool
    start : ndarray, shape (n,), or None
        A point of the QP to begin at.
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
                raise ParameterTypeError(f"max_iter must be a whole number, got {shown(self.max_iter)}")
            if not 1 <= self.max_iter <= MOST_ITERATIONS:
                raise ParameterError(f"max_iter must be between 1 and {MOST_ITERATIONS}, got {self.max_iter}")


#: The largest iteration limit that every solver can hold, a 32-bit integer.
MOST_ITERATIONS = 2**31 - 1
#: What solvers raise when the value of a setting is wrong.
REFUSALS = (TypeError, ValueError, AttributeError, KeyError, OverflowError)

#: Why our own solvers stop, and what that claims.
STOPPED = {
    "converged": Status.OPTIMAL,
    "iteration_limit": Status.ITERATION_LIMIT,
    "time_limit": Status.TIME_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "numerical_error": Status.NUMERICAL_ERROR,
    "infeasible": Status.INFEASIBLE,
}


def stopped(reason: str) -> tuple[Status, str]:
    """The status that one of our own solvers claims by its stop reason, and the reason in words."""
    return STOPPED[reason], reason.replace("_", " ")


class Run(Protocol):
    """How a run of one of our own solvers ended."""

    @property
    def reason(self) -> str:
        """A key of `STOPPED`."""

    @property
    def iterations(self) -> int:
        """How many were made."""


@cache
def installed_version(package: str) -> str | None:
    """The version of an installed distribution, or None; looked up once, because that takes milliseconds."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def built_in_version() -> str:
    """This library's version, for the solvers that are part of it."""
    return installed_version("qpsvm") or "?"


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
        """The names, in the solver's order."""
        return self._names

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_names", ()):
            return self[name]
        raise AttributeError(name)

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """How it is pickled and copied: made anew, from its parts by name."""
        return (), dict(zip(self._names, self, strict=True))

    def __repr__(self) -> str:
        return outline("SolverData", **dict(zip(self._names, self, strict=True)))


def own_settings(limits: Limits, options: Mapping[str, Any], tol: float | None = None) -> dict[str, Any]:
    """What our own solvers are asked, by the names that they share; what `tol` means is each backend's own business."""
    settings: dict[str, Any] = {"time_limit": limits.time_limit, "verbose": limits.verbose, **options}
    if tol is not None:
        settings["tol"] = tol
    if limits.max_iter is not None:
        settings["max_iter"] = int(limits.max_iter)
    return settings


class Compiled(ABC):
    """A QP in the form of one solver.

    Attributes
    ----------
    qp : QP
        What was compiled.
    data : object
        Exactly what the solver will receive.
    """

    def __init__(self, backend: Backend, qp: QP, data: Any) -> None:
        self.backend = backend
        self.qp = qp
        self.data = data

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
        DataError
            A start of another shape, or not finite.
        TooLargeError
            The solver ran out of memory.
        """
        point = None if start is None else as_finite_vector(start, "start", self.qp.n)
        limits = Limits(tol, max_iter, time_limit, as_flag(verbose, "verbose"), point)
        self.backend.check(limits, options)
        began = time.perf_counter()
        try:
            with one_thread(), held() if self.backend.polls else nullcontext():
                solution = self._run(limits, options)
        except REFUSALS as error:
            if not options:
                raise
            settings = ", ".join(f"{name}={value!r}" for name, value in options.items())
            why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ParameterError(f"{self.backend.name} refused its settings {settings}: {why}") from error
        except MemoryError as error:
            if isinstance(error, TooLargeError):
                raise
            raise TooLargeError(
                f"{self.backend.name} ran out of memory on a QP of {self.qp.n} variables: use fewer rows, or osqp on "
                "the primal form where the kernel is linear"
            ) from error
        return solution.changed(solve_time=time.perf_counter() - began)

    @abstractmethod
    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Call the solver with checked options and map its answer back."""

    def _answer(self, run: Run, x: FloatArray, raw: str | None = None, **parts: Any) -> QPSolution:
        """What one of our own solvers found, as it says or in its own words `raw`.

        There is no point where x (n,), z (m,) or v is not finite: nothing could be measured at it.
        """
        status, words = stopped(run.reason)
        solver = Solver(self.backend.name, self.backend.version() or "?", words if raw is None else raw)
        if not all(np.isfinite(part).all() for part in (x, parts.get("z"), parts.get("v")) if part is not None):
            return QPSolution(self.qp, status, solver, iterations=run.iterations)
        return QPSolution(self.qp, status, solver, x=x, iterations=run.iterations, **parts)


class Backend(ABC):
    """A solver behind the contract.

    Attributes
    ----------
    name : str
        What users call it.
    package : str
        The installed distribution that it needs.
    module : str
        The module of that package.
    limits : frozenset of str
        Which of "max_iter" and "time_limit" it can keep.
    takes : str
        For people: what it can take.
    tightens : bool
        Whether solving again at a smaller `tol` starts from the last point and is worth trying.
    study : bool
        Whether it is a textbook method, there to be measured.
    starts : bool
        Whether it can begin at a point that it is given.
    polls : bool
        Whether it looks for the interrupt key itself, and ends with its best point.
    """

    name: str
    package: str
    module: str
    limits: frozenset[str] = frozenset({"max_iter", "time_limit"})
    takes: str
    tightens: bool = False
    study: bool = False
    starts: bool = False
    polls: bool = False

    def __repr__(self) -> str:
        return f"<backend {self.name}: {self.takes}>"

    @abstractmethod
    def compile(self, qp: QP) -> Compiled:
        """Turn a QP into the solver's own data.

        Raises
        ------
        UnsupportedError
            The solver cannot take this QP; the message names one that can.
        """

    @abstractmethod
    def options(self) -> frozenset[str]:
        """Names of the settings that `solve` passes on."""

    def preferred_form(self, linear: bool) -> Literal["dual", "primal"]:
        """The form in which this solver certifies best, for a linear or another kernel."""
        del linear
        return "dual"

    def refuse(self, form: str) -> str | None:
        """Why this backend cannot take a form of any problem, or None: asked before anything is built."""
        del form
        return None

    def version(self) -> str | None:
        """Version of the installed package, None where it is missing."""
        return installed_version(self.package)

    def require(self) -> None:
        """Check that the package is installed.

        Raises
        ------
        MissingExtraError
            With the command that installs it.
        """
        if self.version() is None:
            raise MissingExtraError(
                f"the backend {self.name!r} needs the package {self.package!r}, which is not installed; "
                f"run: pip install {self.package}"
            )

    def check(self, limits: Limits, options: Mapping[str, Any]) -> None:
        """Refuse limits that the solver cannot keep and settings that it does not have.

        Raises
        ------
        UnsupportedError, UnknownOptionError
        """
        for name in ("max_iter", "time_limit"):
            if getattr(limits, name) is not None and name not in self.limits:
                raise UnsupportedError(f"{self.name} cannot keep {name}; backends that can: {keeping(name)}")
        if limits.start is not None and not self.starts:
            raise UnsupportedError(
                f"{self.name} cannot begin at a given point; on the dual form these can: {keeping('start')}"
            )
        refuse_unknown(self.name, options, self.options())


def keeping(wish: str) -> str:
    """The names of the backends that keep "max_iter" or "time_limit", or begin at a "start": from what each says."""
    from qpsvm.backends import REGISTRY, get  # the registry is above its backends

    able = [name for name in REGISTRY if (get(name).starts if wish == "start" else wish in get(name).limits)]
    return ", ".join(able)


#: What every backend is asked in the same words: offered when an option is misspelt.
COMMON_OPTIONS = frozenset(
    {"tol", "max_iter", "time_limit", "verbose", "start", "polish", "check", "backend", "form"}
)


def refuse_unknown(solver: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse settings that a solver does not have.

    Raises
    ------
    UnknownOptionError
        With the nearest one that exists.
    """
    for name in options:
        if name not in known:
            raise UnknownOptionError(f"{solver} has no option {name!r}; {nearest(name, known | COMMON_OPTIONS)}")
