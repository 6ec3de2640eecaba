"""Define the base class of a QP in the form of one solver (`Compiled`).

Each backend has a subclass, whose `_run` calls its solver. A solver's solution is only checked for finite numbers; its
accuracy is the certificate's concern.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.backends.foreign_errors import (
    NOT_FINITE,
    NUMERICAL_ERRORS,
    ForeignCode,
    describe_breakdown,
    translate_errors,
)
from qpsvm.backends.limits import Limits
from qpsvm.backends.stop_reasons import translate_stop_reason
from qpsvm.base.arrays.checks import as_finite_vector, as_flag, is_all_finite
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.interrupt import defer_interrupt
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.program.svm_dual import Statement


def build_failed_solution(qp: QP, solver: Solver) -> QPSolution:
    """Build the solution, without a point, of a solver that broke down numerically."""
    return QPSolution(qp, Status.NUMERICAL_ERROR, solver)


class Compiled(ABC):
    """A QP in the form of one solver, which `solve` calls; its parameters are attributes, too.

    Parameters
    ----------
    backend : Backend
        The backend of the solver.
    qp : QP
        The QP that was compiled.
    data : object
        Exactly what the solver will receive.

    See Also
    --------
    qpsvm.compile : Compile a QP for a backend.

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

    #: The machine that the QP is the dual of; set by backends that read it off the QP.
    statement: Statement

    def __init__(self, backend: Any, qp: QP, data: Any, **parts: Any) -> None:
        self.backend = backend
        self.qp = qp
        self.data = data
        self.__dict__.update(parts)  # further attributes of the subclass

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
        """Solve the QP.

        Parameters
        ----------
        tol : float, optional
            Relative accuracy to aim for; by default, the solver's own tolerances.
        max_iter : int, optional
            Limit of the iterations, as the solver counts them.
        time_limit : float, optional
            Limit of the solver's time, in seconds.
        verbose : bool
            Let the solver print.
        start : array_like, shape (n,), optional
            The initial point, in the units of the compiled QP; it need not be feasible.
        **options
            The solver's own settings, by their own names.

        Returns
        -------
        QPSolution
            In the units of the compiled QP, with multipliers in the signs of (QP.1).

        Raises
        ------
        UnknownOptionError
            The solver does not have one of the settings.
        UnsupportedError
            The solver cannot enforce a limit, or cannot be warm-started.
        ParameterError
            The solver rejects a value.
        DataError
            The start has another shape or is not finite.
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

    @abstractmethod
    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Call the solver with checked options and map its solution back to the QP."""

    def _solve_checked(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Solve with limits and options that have been checked."""
        start_time = time.perf_counter()
        with limit_blas_threads(), defer_interrupt() if self.backend.abilities.handles_interrupt else nullcontext():
            solution = translate_errors(
                self.backend.name, self.qp.n, options, lambda: self._run_guarded(limits, options)
            )
        return solution.replace(solve_time=time.perf_counter() - start_time)

    def _run_guarded(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        """Run the solver; after a numerical breakdown, return a status without a point. Raises SolverError."""
        if self.backend.is_external:
            with ForeignCode(self.backend.name, "while it solved"):
                solution = self._run(limits, options)
                if not isinstance(solution, QPSolution):
                    raise TypeError(f"_run has to return a QPSolution, and returned {format_value(solution)}")
                return self._drop_non_finite(solution)
        try:
            return self._drop_non_finite(self._run(limits, options))
        except NUMERICAL_ERRORS as error:
            return build_failed_solution(self.qp, self.backend.describe_solver(describe_breakdown(error, options)))

    def _drop_non_finite(self, solution: QPSolution) -> QPSolution:
        """Return the solution; if it has a number that is not finite, without its point and multipliers."""
        parts = (solution.x, solution.y, solution.z, solution.box, solution.v)
        if solution.x is None or all(is_all_finite(np.asarray(part)) for part in parts if part is not None):
            return solution
        status, solver = solution.reported, solution.solver
        if status in (Status.OPTIMAL, Status.INACCURATE):
            status = Status.NUMERICAL_ERROR
            solver = solver._replace(status=NOT_FINITE)
        return QPSolution(self.qp, status, solver, iterations=solution.iterations)

    def _describe_solver(self, raw: str) -> Solver:
        """Return the solver's name and version with its raw status."""
        return self.backend.describe_solver(raw)  # type: ignore[no-any-return]

    def _build_solution(
        self, status: Status, solver: Solver, iterations: int | None, x: FloatArray | None = None, **parts: Any
    ) -> QPSolution:
        """Build the solution of the compiled QP; `parts` are its multipliers."""
        return QPSolution(self.qp, status, solver, x=x, iterations=iterations, **parts)

    def _build_run_solution(self, run: Any, x: FloatArray, raw: str | None = None, **parts: Any) -> QPSolution:
        """Build the solution from a built-in solver's `reason` and `iterations`; `raw` replaces the raw status text."""
        status, reason_text = translate_stop_reason(run.reason)
        solver = self._describe_solver(reason_text if raw is None else raw)
        return self._build_solution(status, solver, run.iterations, x, **parts)
