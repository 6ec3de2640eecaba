"""Define the interface of a backend (`Backend`): compile a QP, call the solver, map its solution back.

Every backend has the same three steps in the same order: `compile` turns a QP into the solver's own data, `_run` calls
the solver, and returns a `QPSolution` with the multipliers in the signs of (QP.1). A backend depends on QPs and solvers
only. Of a machine it sees at most the `SVMDual` of its QP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from qpsvm.backends.abilities import Abilities, RequestedOption, join_names
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits
from qpsvm.backends.packages import find_installed_version, find_library_version, is_importable
from qpsvm.backends.recognise import recognise_statement
from qpsvm.backends.requirements import Form, LazyImport, Memory, Requirements, Size
from qpsvm.backends.traits import Traits, find_dual_traits
from qpsvm.base.errors import MissingExtraError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.status import Solver
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.space.operators import LowRank

#: Options of `solve` that all backends share: suggested when an option is misspelt.
COMMON_OPTIONS = frozenset({"tol", "max_iter", "time_limit", "verbose", "start", "polish", "check", "backend", "form"})


class BackendBase:
    """Default behaviour of a backend: capability queries, checks and error messages."""

    name: str
    abilities: Abilities
    lazy_import: ClassVar[LazyImport | None] = None
    memory: Memory = Memory(dual=4.5, primal=19.0, copies=10.0)
    is_external: bool = False
    options: Callable[[], frozenset[str]]

    def __init__(self, all_backends: Callable[[], Iterable[BackendBase]] = tuple) -> None:
        self._all_backends = all_backends

    def __repr__(self) -> str:
        return f"<backend {self.name}: {self.abilities.describe()}>"

    def requirements(self, size: Size, form: Form) -> Requirements:
        """Return the memory and set-up time for a form of a machine of that size, including pending imports.

        A backend that checks its clock, and so can be stopped, only has to wait for a Gram matrix.
        """
        waits = size.gram_seconds if self.memory.dual else 0.0
        if not self.abilities.handles_interrupt:
            waits += self.memory.setup_seconds(size, form)
        held, loads = self.memory.bound_bytes(size, form), self.lazy_import
        if loads is None or loads.is_loaded:
            return Requirements(waits, held)
        return Requirements(waits + loads.seconds, held, loads.mapped_bytes)

    def preferred_form(self, linear: bool) -> Form:
        """Return the form in which this solver certifies best for the kernel: the default of `solve`."""
        return self.abilities.linear_form if linear else self.abilities.kernel_form

    def version(self) -> str | None:
        """Return the version of the installed package, None if missing; of this library for a built-in solver."""
        package = self.abilities.package
        if package is None:
            return "?" if self.is_external else find_library_version()
        there = self.lazy_import is None or is_importable(self.lazy_import.module)
        return find_installed_version(package) if there else None

    def describe_solver(self, raw_status: str) -> Solver:
        """Return the solver's name and version with its raw status."""
        return Solver(self.name, self.version() or "?", raw_status)

    def can_solve_dual(self, svm: SVMDual) -> bool:  # noqa: ARG002  (others look)
        """Return whether it solves a machine's dual by `solve_dual`, without a QP."""
        return False

    def solve_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
        """Solve a machine's dual, in the machine's units; a start among the limits is an α."""
        raise NotImplementedError(f"{self.name} takes a QP")

    def require_package(self) -> None:
        """Raise a `MissingExtraError` with the command that installs its package, where that is missing."""
        if self.version() is None:
            package = self.abilities.package
            raise MissingExtraError(
                f"the backend {self.name!r} needs the package {package!r}, which is not installed; "
                f"run: pip install {package}"
            )

    def explain_refusal(self, traits: Traits, rows: int, form: Form) -> str | None:
        """Explain why the backend cannot take this form, and which can; None if it can. Builds nothing."""
        can = self.abilities
        if can.accepts(traits, rows, form):
            return None
        if form in can.forms:
            why, instead = f"cannot take {can.explain_rejection(traits, rows, form)} on the {form} form", "use "
        else:
            other = can.forms[0]
            why, instead = f"takes the {other} form only: {can.missing_form_reason}", f"use form={other!r}, or "
        able = [peer.name for peer in self._all_backends() if peer.is_usable(traits, rows, form)]
        return f"{self.name} {why}; {instead}{join_names(able or ['fewer rows'])}"

    def is_usable(self, traits: Traits, rows: int, form: Form) -> bool:
        """Return whether it is installed, accepts this form of a machine, and is not for study only."""
        can = self.abilities
        return can.accepts(traits, rows, form) and not can.is_educational and self.version() is not None

    def read_statement(self, qp: QP) -> Statement:
        """Read the SVM that a QP is the dual of, and its units. Raises UnsupportedError."""
        statement = qp.statement or recognise_statement(qp, self.name)
        svm = statement.svm
        reason = self.explain_refusal(find_dual_traits(svm, isinstance(svm.gram, LowRank)), svm.m, "dual")
        if reason is not None:
            raise UnsupportedError(reason)
        return statement

    def check_request(self, limits: Limits, options: Mapping[str, Any], any_qp: bool = False) -> None:
        """Refuse limits that the solver cannot keep and settings that it does not have, by naming what can.

        With `any_qp` only backends are named that accept any QP.
        """
        limited: tuple[RequestedOption, ...] = ("max_iter", "time_limit")
        for name in limited:
            if getattr(limits, name) is not None and not self.abilities.supports(name):
                raise UnsupportedError(
                    f"{self.name} cannot keep {name}; backends that can: {self.list_alternatives(name, any_qp)}"
                )
        if limits.start is not None and not self.abilities.supports_warm_start:
            raise self.build_warm_start_error(any_qp=any_qp)
        if options:
            self.require_package()
            self.check_options(options)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse settings that the solver does not have, by naming the nearest."""
        check_known_options(self.name, options, self.options())

    def build_warm_start_error(self, form: str = "", any_qp: bool = False) -> UnsupportedError:
        """Build the error for a start that the backend does not support, at all or on a form."""
        where, these = f" on the {form} form" if form else "", "these can" if any_qp else "on the dual form these can"
        return UnsupportedError(
            f"{self.name}{where} cannot begin at a given point; {these}: {self.list_alternatives('start', any_qp)}"
        )

    def list_alternatives(self, option: RequestedOption, any_qp: bool = False) -> str:
        """Return the names of the backends that support a request, separated by commas.

        With `any_qp` only those that accept any QP, and are not for study.
        """
        peers = self._all_backends()
        general = (peer for peer in peers if peer.abilities.accepts_any_qp and not peer.abilities.is_educational)
        return list_supporting(option, general if any_qp else peers)


class Backend(BackendBase, ABC):
    """A solver behind a common interface.

    Parameters
    ----------
    all_backends : callable
        The backends that there are, itself among them: a message names those that can do what this one cannot.

    Attributes
    ----------
    name : str
        What users call it.
    abilities : Abilities
        What it can do.
    loads : Import or None
        What its first use imports, where that is much.
    memory : Memory
        How many n × n matrices it holds, by which it is refused where there is too little memory. Unsaid, it is what
        CVXOPT holds.
    outside : bool
        Whether it was registered, and is no part of this library: what it raises is named.

    See Also
    --------
    qpsvm.register_backend : A solver of one's own.
    qpsvm.backends.get : The backend of a name.

    Examples
    --------
    A backend refuses what it does not support before anything is built, and names those that do:

    >>> import qpsvm
    >>> backend = qpsvm.backends.get("osqp")
    >>> "scaling" in backend.options(), "shrinking" in backend.options(), backend.abilities.supports_warm_start
    (True, False, True)
    >>> print(qpsvm.backends.get("cvxopt").list_alternatives("time_limit").split(", ")[:2])
    ['osqp', 'cvxpy']
    """

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

    def options(self) -> frozenset[str]:
        """Return the names of the settings that `solve` passes on.

        Returns
        -------
        frozenset of str
            By the names that the solver itself gives them: those of its `abilities`.
        """
        return self.abilities.options


def list_supporting(option: RequestedOption, backends: Iterable[BackendBase]) -> str:
    """Return the names of those of the given backends that support a limit or a start, separated by commas."""
    return ", ".join(backend.name for backend in backends if backend.abilities.supports(option))


def check_known_options(solver: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse settings that a solver does not have. Raises UnknownOptionError."""
    for name in options:
        if name not in known:
            raise UnknownOptionError(
                f"{solver} has no option {name!r}; {describe_nearest(name, known | COMMON_OPTIONS)}"
            )
