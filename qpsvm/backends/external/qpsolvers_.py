"""Every solver that qpsolvers reaches (Caron et al.), as "qpsolvers:NAME": piqp, proxqp, daqp, highs and more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from qpsvm.backends.base import Backend
from qpsvm.backends.external.function_ import FunctionBackend
from qpsvm.backends.packages import find_installed_version, is_importable
from qpsvm.base.errors import MissingExtraError, UnknownOptionError, describe_nearest
from qpsvm.base.resources.captured_output import capture_output

#: What its backends' names begin with.
PREFIX = "qpsolvers:"
#: What a tolerance is called by those solvers that have one; the others stay at their own.
TOLERANCES = {
    "clarabel": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "daqp": ("primal_tol", "dual_tol"),
    "highs": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
    "osqp": ("eps_abs", "eps_rel"),
    "piqp": ("eps_abs", "eps_rel"),
    "proxqp": ("eps_abs", "eps_rel"),
    "qpalm": ("eps_abs", "eps_rel"),
    "scs": ("eps_abs", "eps_rel"),
}


class QpsolversBackend(FunctionBackend):
    """One of its solvers.

    solver: By the name that qpsolvers has for it.
    peers: The backends that there are.
    """

    def __init__(self, solver: str, peers: Callable[[], Iterable[Backend]]) -> None:
        import qpsolvers

        super().__init__(partial(_solve_by_qpsolvers, solver), solver in qpsolvers.sparse_solvers, peers)
        self.name, self.is_external = PREFIX + solver, True

    def version(self) -> str | None:
        """Return the version of qpsolvers."""
        return find_installed_version("qpsolvers")

    def check_options(self, options: Any) -> None:
        """Check nothing: the solver itself refuses settings, and some ignore those that they do not know."""


@cache
def get_qpsolvers_backend(name: str, peers: Callable[[], Iterable[Backend]]) -> Backend:
    """Return the backend of a name with the prefix. Raises MissingExtraError, UnknownOptionError."""
    if not is_importable("qpsolvers"):
        raise MissingExtraError(
            f"the backend {name!r} needs the package 'qpsolvers', which is not installed; run: pip install qpsolvers"
        )
    import qpsolvers

    solver = name.removeprefix(PREFIX)
    if solver not in qpsolvers.available_solvers:
        raise UnknownOptionError(
            f"qpsolvers reaches no solver {solver!r} here; {describe_nearest(solver, qpsolvers.available_solvers)}"
        )
    return QpsolversBackend(solver, peers)


def _solve_by_qpsolvers(
    solver: str,
    P: Any,
    q: Any,
    G: Any,
    h: Any,
    A: Any,
    b: Any,
    lb: Any,
    ub: Any,
    *,
    tol: float = 1e-9,
    verbose: bool = False,
    **options: Any,
) -> Any:
    import qpsolvers

    problem = qpsolvers.Problem(P, q, G, h, A, b, lb, ub)
    settings = dict.fromkeys(TOLERANCES.get(solver, ()), tol) | options
    with capture_output(PREFIX + solver, verbose, descriptors=True):
        found = qpsolvers.solve_problem(problem, solver=solver, verbose=verbose, **settings)
    return (found.x, found.y, found.z) if found.found else None
