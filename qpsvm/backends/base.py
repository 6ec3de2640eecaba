"""Define the interface of a backend (`Backend`): compile a QP, call the solver, map its solution back.

Every backend has the same three steps: `compile` turns a QP into the solver's own data, and `_run` calls the solver and
returns a `QPSolution` with the multipliers in the signs of (QP.1). A backend depends only on QPs and solvers; of a
machine it sees at most the `SVMDual` that its QP carries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from qpsvm.backends.abilities import Abilities, RequestedOption
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits
from qpsvm.backends.packages import find_installed_version, find_library_version, is_importable
from qpsvm.backends.recognise import recognise_statement
from qpsvm.backends.requirements import Form, LazyImport, Memory, Requirements, Size
from qpsvm.backends.traits import Traits, find_dual_traits
from qpsvm.base.arrays.formatting import join_names
from qpsvm.base.errors import MissingExtraError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.status import Solver
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.space.operators import LowRank

#: Options of `solve` that all backends share, for suggestions if an option is misspelt.
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

    def estimate_requirements(self, size: Size, form: Form) -> Requirements:
        """Return the memory and set-up time for a form of a machine of this size, including pending imports.

        A backend that checks its clock has no set-up except the Gram matrix.
        """
        seconds = size.gram_seconds if self.memory.dual else 0.0
        if not self.abilities.handles_interrupt:
            seconds += self.memory.setup_seconds(size, form)
        memory_bytes = self.memory.bound_bytes(size, form)
        pending = self.lazy_import
        if pending is None or pending.is_loaded:
            return Requirements(seconds, memory_bytes)
        return Requirements(seconds + pending.seconds, memory_bytes, pending.mapped_bytes)

    def find_preferred_form(self, linear: bool) -> Form:
        """Return the form with the best certificates for a linear or another kernel: the default of `solve`."""
        if linear:
            return self.abilities.linear_form
        return self.abilities.kernel_form

    def version(self) -> str | None:
        """Return the version of the package, None if it is not installed; of this library for a built-in solver."""
        package = self.abilities.package
        if package is None:
            return "?" if self.is_external else find_library_version()
        is_available = self.lazy_import is None or is_importable(self.lazy_import.module)
        return find_installed_version(package) if is_available else None

    def describe_solver(self, raw_status: str) -> Solver:
        """Return the solver's name and version with its raw status."""
        return Solver(self.name, self.version() or "?", raw_status)

    def find_default_max_iter(self, size: Size) -> int | None:  # noqa: ARG002  (subclasses use it)
        """Return the limit on all iterations of a solve without `max_iter`; None if the solver has its own limit."""
        return None

    def can_solve_dual(self, svm: SVMDual) -> bool:  # noqa: ARG002  (subclasses use it)
        """Return whether `solve_dual` solves this machine's dual, without a QP."""
        return False

    def solve_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
        """Solve a machine's dual in the machine's units; the start among the limits is an α."""
        raise NotImplementedError(f"{self.name} takes a QP")

    def require_package(self) -> None:
        """Check that the solver's package is installed. Raises MissingExtraError with the command that installs it."""
        package = self.abilities.package
        if self.version() is None:
            raise MissingExtraError(
                f"the backend {self.name!r} needs the package {package!r}, which is not installed; "
                f"run: pip install {package}"
            )

    def explain_refusal(self, traits: Traits, rows: int, form: Form) -> str | None:
        """Explain why the backend cannot take this form, and name backends that can; None if it can. Builds nothing."""
        abilities = self.abilities
        if abilities.accepts(traits, rows, form):
            return None
        if form in abilities.forms:
            reason = f"cannot take {abilities.explain_rejection(traits, rows, form)} on the {form} form"
            remedy = "use "
        else:
            other_form = abilities.forms[0]
            reason = f"takes the {other_form} form only: {abilities.missing_form_reason}"
            remedy = f"use form={other_form!r}, or "
        usable = [backend.name for backend in self._all_backends() if backend.is_usable(traits, rows, form)]
        return f"{self.name} {reason}; {remedy}{join_names(usable or ['fewer rows'])}"

    def is_usable(self, traits: Traits, rows: int, form: Form) -> bool:
        """Return whether the backend is installed, accepts this form of a machine, and is not for study only."""
        abilities = self.abilities
        return abilities.accepts(traits, rows, form) and not abilities.is_educational and self.version() is not None

    def read_statement(self, qp: QP) -> Statement:
        """Read the SVM that a QP is the dual of, and its units. Raises UnsupportedError."""
        statement = qp.statement or recognise_statement(qp, self.name)
        svm = statement.svm
        reason = self.explain_refusal(find_dual_traits(svm, isinstance(svm.gram, LowRank)), svm.m, "dual")
        if reason is not None:
            raise UnsupportedError(reason)
        return statement

    def check_request(self, limits: Limits, options: Mapping[str, Any], any_qp: bool = False) -> None:
        """Check that the solver supports the limits, the start and the settings; the message names other backends.

        any_qp: Whether to name only backends that accept any QP.

        Raises UnsupportedError, UnknownOptionError, MissingExtraError.
        """
        limit_names: tuple[RequestedOption, ...] = ("max_iter", "time_limit")
        for name in limit_names:
            if getattr(limits, name) is not None and not self.abilities.supports(name):
                raise UnsupportedError(
                    f"{self.name} cannot enforce {name}; backends that can: {self.list_alternatives(name, any_qp)}"
                )
        if limits.start is not None and not self.abilities.supports_warm_start:
            raise self.build_warm_start_error(any_qp=any_qp)
        if options:
            self.require_package()
            self.check_options(options)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Check that the solver has these settings; the message names the nearest. Raises UnknownOptionError."""
        check_known_options(self.name, options, self.options())

    def build_warm_start_error(self, form: str = "", any_qp: bool = False) -> UnsupportedError:
        """Build the error for a start that the backend does not support, on one form or (form="") on any."""
        on_form = f" on the {form} form" if form else ""
        others = "these can" if any_qp else "on the dual form these can"
        names = self.list_alternatives("start", any_qp)
        return UnsupportedError(f"{self.name}{on_form} cannot start at a given point; {others}: {names}")

    def list_alternatives(self, option: RequestedOption, any_qp: bool = False) -> str:
        """Return the names of the backends that support a request, separated by commas.

        any_qp: Whether to list only those that accept any QP and are not for study.
        """
        backends = self._all_backends()
        if any_qp:
            backends = [
                each for each in backends if each.abilities.accepts_any_qp and not each.abilities.is_educational
            ]
        return list_supporting(option, backends)


class Backend(BackendBase, ABC):
    """A solver behind a common interface.

    Parameters
    ----------
    all_backends : callable
        Returns all backends, including this one: messages name those that can do what this one cannot.

    Attributes
    ----------
    name : str
        The value of `backend=` that selects it.
    abilities : Abilities
        Its capabilities.
    lazy_import : LazyImport or None
        The module that its first use imports; None if that takes little time and memory.
    memory : Memory
        Its peak memory; it is not started if there is less. By default, that of CVXOPT.
    is_external : bool
        Whether it was registered and is not part of this library: then errors that it raises are attributed to it.

    See Also
    --------
    qpsvm.register_backend : Register a solver of your own.
    qpsvm.backends.get : Look up a backend by name.

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
            A QP that the backend accepts.

        Returns
        -------
        Compiled
            The data, ready to be solved.

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
            The solver's own names, by default those of `abilities`.
        """
        return self.abilities.options


def list_supporting(option: RequestedOption, backends: Iterable[BackendBase]) -> str:
    """Return the names of those of the given backends that support a limit or a start, separated by commas."""
    return ", ".join(backend.name for backend in backends if backend.abilities.supports(option))


def check_known_options(solver: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Check that a solver has these settings. Raises UnknownOptionError."""
    for name in options:
        if name not in known:
            raise UnknownOptionError(
                f"{solver} has no option {name!r}; {describe_nearest(name, known | COMMON_OPTIONS)}"
            )
