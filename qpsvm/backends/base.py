"""The contract of a backend: data out, solver called, answer mapped back.

Every file in this folder has the same three steps in the same order: `compile` turns a QP into the solver's own data,
`_run` calls the solver, and the answer comes back as a `QPSolution` with the multipliers in the signs of (QP.1).
A backend knows QPs and solvers. All that it may know of a machine is the `SVMDual` that its QP carries.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.backends.abilities import Abilities, Form, Traits, Wish, listed, traits_of
from qpsvm.backends.contract import Limits, Run, stopped
from qpsvm.backends.external.boundary import Boundary, accepted, broken
from qpsvm.backends.external.packages import built_in_version, importable, installed_version
from qpsvm.backends.recognise import statement_of
from qpsvm.base.arrays.checks import all_finite, as_finite_vector, as_flag
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import (
    MissingExtraError,
    ParameterError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
    nearest,
)
from qpsvm.base.resources.interrupts import held
from qpsvm.base.resources.limits import one_thread
from qpsvm.program.costs import Cost, Import, Size
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.program.statement import Statement
from qpsvm.space.operators import LowRank

#: What solvers raise when the value of a setting is wrong.
REFUSALS = (TypeError, ValueError, AttributeError, KeyError, OverflowError)


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
    CVXOPT's own arguments, to be handed to it by anybody:

    >>> import cvxopt
    >>> import qpsvm
    >>> compiled = qpsvm.compile(qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("dual"), "cvxopt")
    >>> compiled.data.keys()
    ('P', 'q', 'G', 'h', 'A', 'b')
    >>> found = cvxopt.solvers.qp(**compiled.data, options={"show_progress": False})
    >>> print(found["status"], [round(x, 4) for x in found["x"]])
    optimal [0.5, 0.5]
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
        >>> print(solution.status, solution.x.round(5))
        optimal [0.5 0.5]
        """
        point = None if start is None else as_finite_vector(start, "start", self.qp.n)
        limits = Limits(tol, max_iter, time_limit, as_flag(verbose, "verbose"), point)
        self.backend.check(limits, options)
        began = time.perf_counter()
        try:
            with one_thread(), held() if self.backend.abilities.polls else nullcontext():
                solution = self._answered(limits, options)
        except REFUSALS as error:
            if not options:
                raise
            plain = (int, float, str)  # what else there is says little, and at length
            settings = ", ".join(f"{k}={v!r}" if isinstance(v, plain) else k for k, v in options.items())
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

    def _answered(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """What `_run` answers; of a backend from outside, once it is known to be an answer.

        Where numbers break down in it, that is its answer: a status without a point.

        Raises SolverError.
        """
        if not self.backend.outside:
            try:
                return self._run(limits, options)
            except (ArithmeticError, np.linalg.LinAlgError) as error:
                if options and isinstance(error, REFUSALS):  # a setting that is too large
                    raise
                raw = f"raised {type(error).__name__}: {error}"
                solver = Solver(self.backend.name, self.backend.version() or "?", raw)
                return QPSolution(self.qp, Status.NUMERICAL_ERROR, solver)
        with Boundary(self.backend.name, "while it solved"):
            return accepted(self.backend.name, self.qp, self._run(limits, options))

    def _answer(self, run: Run, x: FloatArray, raw: str | None = None, **parts: Any) -> QPSolution:
        """The solution that one of our own solvers found; `raw` is its word for how it ended, by default the reason.

        It holds no point where x (n,), z (m,) or v is not finite: nothing could be measured at such a one.
        """
        status, words = stopped(run.reason)
        solver = Solver(self.backend.name, self.backend.version() or "?", words if raw is None else raw)
        if not all(all_finite(part) for part in (x, parts.get("z"), parts.get("v")) if part is not None):
            return QPSolution(self.qp, status, solver, iterations=run.iterations)
        return QPSolution(self.qp, status, solver, x=x, iterations=run.iterations, **parts)


class Backend(ABC):
    """A solver behind the contract.

    Parameters
    ----------
    peers : callable
        The backends that there are, itself among them: a message names those that can do what this one cannot.

    Attributes
    ----------
    name : str
        What users call it.
    abilities : Abilities
        What it can do.
    loads : Import or None
        What its first use imports, where that is much.
    outside : bool
        Whether it was registered, and is no part of this library: what it does is looked at.

    See Also
    --------
    qpsvm.register_backend : A solver of one's own.
    qpsvm.backends.get : The backend of a name.

    Examples
    --------
    What a backend cannot do it says before anything is built, and names those that can:

    >>> import qpsvm
    >>> backend = qpsvm.backends.get("osqp")
    >>> "scaling" in backend.options(), "shrinking" in backend.options(), backend.abilities.starts
    (True, False, True)
    >>> print(qpsvm.backends.get("cvxopt").others("time_limit").split(", ")[:2])
    ['osqp', 'cvxpy']
    """

    name: str
    abilities: Abilities
    loads: ClassVar[Import | None] = None
    outside: bool = False

    def __init__(self, peers: Callable[[], Iterable[Backend]] = tuple) -> None:
        self._peers = peers

    def __repr__(self) -> str:
        return f"<backend {self.name}: {self.abilities.in_words()}>"

    @abstractmethod
    def compile(self, qp: QP) -> Compiled:
        """Turn a QP into the solver's own data.

        Parameters
        ----------
        qp : QP
            Any that the backend takes.

        Returns
        -------
        Compiled
            With the data, ready to be solved.

        Raises
        ------
        UnsupportedError
            The solver cannot take this QP; the message names one that can.
        """

    @abstractmethod
    def options(self) -> frozenset[str]:
        """Names of the settings that `solve` passes on.

        Returns
        -------
        frozenset of str
            By the names that the solver itself gives them.
        """

    @abstractmethod
    def estimate(self, size: Size, form: Form) -> Cost:
        """What it will cost on a form of a machine of that size, its imports not counted.

        Parameters
        ----------
        size : Size
            Rows, features, and what else the cost depends on.
        form : "dual" or "primal"
            Which of the two QPs.

        Returns
        -------
        Cost
            Time and memory.
        """

    def cost(self, size: Size, form: Form) -> Cost:
        """The estimate, with what is still to be imported.

        Parameters
        ----------
        size : Size
            Rows, features, and what else the cost depends on.
        form : "dual" or "primal"
            Which of the two QPs.

        Returns
        -------
        Cost
            Time and memory.
        """
        with Boundary(self.name, "while it estimated its cost") if self.outside else nullcontext():
            found = self.estimate(size, form)
        return found if self.loads is None or self.loads.done else found + self.loads.cost

    def preferred_form(self, linear: bool) -> Form:
        """The form in which this solver certifies best, for a linear or another kernel.

        Parameters
        ----------
        linear : bool
            Whether the kernel is linear.

        Returns
        -------
        "dual" or "primal"
            What `solve` takes where no form is asked for.
        """
        return self.abilities.linear_form if linear else self.abilities.kernel_form

    def version(self) -> str | None:
        """Version of the installed package, None where it is missing.

        Returns
        -------
        str or None
            Of this library, for a solver of its own; "?" for one from outside that names no package.
        """
        package = self.abilities.package
        if package is None:
            return "?" if self.outside else built_in_version()
        there = self.loads is None or importable(self.loads.module)
        return installed_version(package) if there else None

    def require(self) -> None:
        """Check that the package is installed.

        Raises
        ------
        MissingExtraError
            With the command that installs it.
        """
        if self.version() is None:
            package = self.abilities.package
            raise MissingExtraError(
                f"the backend {self.name!r} needs the package {package!r}, which is not installed; "
                f"run: pip install {package}"
            )

    def refuse(self, traits: Traits, rows: int, form: Form) -> str | None:
        """Why it cannot take that form of a machine, and what can; None where it can. Nothing is built.

        Parameters
        ----------
        traits : frozenset of str
            What the machine's dual asks of a solver.
        rows : int
            Of the dual.
        form : "dual" or "primal"
            Which of the two QPs.

        Returns
        -------
        str or None
            A sentence that names what can.
        """
        can = self.abilities
        if can.takes(traits, rows, form):
            return None
        if form in can.forms:
            why, instead = f"cannot take {can.lacks(traits, rows, form)} on the {form} form", "use "
        else:
            other = can.forms[0]
            why, instead = f"takes the {other} form only: {can.because}", f"use form={other!r}, or "
        able = [
            peer.name for peer in self._peers()
            if peer.abilities.takes(traits, rows, form) and not peer.abilities.study and peer.version() is not None
        ]  # fmt: skip
        return f"{self.name} {why}; {instead}{listed(able or ['fewer rows'])}"

    def stated(self, qp: QP) -> Statement:
        """The SVM that a QP is the dual of.

        Parameters
        ----------
        qp : QP
            Of a problem, or written by hand.

        Returns
        -------
        Statement
            The dual, and the units that the QP is in.

        Raises
        ------
        UnsupportedError
            Another QP, or a machine that this backend does not take.
        """
        statement = statement_of(qp, self.name)
        svm = statement.svm
        reason = self.refuse(traits_of(svm, isinstance(svm.gram, LowRank)), svm.m, "dual")
        if reason is not None:
            raise UnsupportedError(reason)
        return statement

    def check(self, limits: Limits, options: Mapping[str, Any]) -> None:
        """Refuse limits that the solver cannot keep and settings that it does not have.

        Parameters
        ----------
        limits : Limits
            What was asked for in the words that all backends share.
        options : mapping of str to object
            The solver's own settings.

        Raises
        ------
        UnsupportedError, UnknownOptionError, MissingExtraError
            With the backends that can, the nearest option, or the command that installs the package.
        """
        limited: tuple[Wish, ...] = ("max_iter", "time_limit")
        for name in limited:
            if getattr(limits, name) is not None and not self.abilities.grants(name):
                raise UnsupportedError(f"{self.name} cannot keep {name}; backends that can: {self.others(name)}")
        if limits.start is not None and not self.abilities.starts:
            raise self.cannot_begin()
        if options:
            self.require()
            self.check_options(options)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse settings that the solver does not have.

        Parameters
        ----------
        options : mapping of str to object
            The solver's own settings.

        Raises
        ------
        UnknownOptionError
            With the nearest one that exists.
        """
        refuse_unknown(self.name, options, self.options())

    def cannot_begin(self, form: str = "") -> UnsupportedError:
        """What is raised where it cannot begin at a given point, at all or on a form.

        Parameters
        ----------
        form : "dual", "primal" or ""
            Both where empty.

        Returns
        -------
        UnsupportedError
            Naming those that can.
        """
        where = f" on the {form} form" if form else ""
        return UnsupportedError(
            f"{self.name}{where} cannot begin at a given point; on the dual form these can: {self.others('start')}"
        )

    def others(self, wish: Wish) -> str:
        """The names of the backends that can do what a user may ask for.

        Parameters
        ----------
        wish : "max_iter", "time_limit" or "start"
            What is asked for.

        Returns
        -------
        str
            Names with commas between them.
        """
        return able(wish, self._peers())


def compiled_by(backend: Backend, qp: QP) -> Compiled:
    """What a backend makes of a QP.

    Raises UnsupportedError, SolverError.
    """
    if not backend.outside:
        return backend.compile(qp)
    with Boundary(backend.name, "while it compiled the QP"):
        compiled = backend.compile(qp)
        if not isinstance(compiled, Compiled) or compiled.backend is not backend or compiled.qp is not qp:
            raise broken(backend.name, "compile has to return a qpsvm.backends.Compiled of itself and of this QP")
        return compiled


def able(wish: Wish, backends: Iterable[Backend]) -> str:
    """The names of the backends, of those given, that keep "max_iter" or "time_limit", or begin at a "start"."""
    return ", ".join(backend.name for backend in backends if backend.abilities.grants(wish))


#: What every backend is asked in the same words: offered when an option is misspelt.
COMMON_OPTIONS = frozenset({"tol", "max_iter", "time_limit", "verbose", "start", "polish", "check", "backend", "form"})


def refuse_unknown(solver: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse settings that a solver does not have.

    Raises UnknownOptionError.
    """
    for name in options:
        if name not in known:
            raise UnknownOptionError(f"{solver} has no option {name!r}; {nearest(name, known | COMMON_OPTIONS)}")
