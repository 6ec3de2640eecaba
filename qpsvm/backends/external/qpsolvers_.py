"""Use any solver that qpsolvers supports (Caron et al.), as "qpsolvers:NAME": piqp, proxqp, daqp, highs and more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from qpsvm.backends.abilities import RequestedOption
from qpsvm.backends.base import Backend
from qpsvm.backends.external.function_ import FunctionBackend
from qpsvm.backends.packages import find_installed_version, is_importable
from qpsvm.base.errors import MissingExtraError, UnknownOptionError, describe_nearest
from qpsvm.base.resources.captured_output import capture_output

#: Prefix of the names of these backends.
PREFIX = "qpsolvers:"
#: The settings that `tol` of `qpsvm.solve` sets, by solver; a solver that is absent here uses its defaults.
TOLERANCE_NAMES = {
    "clarabel": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "daqp": ("primal_tol", "dual_tol"),
    "highs": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
    **dict.fromkeys(("osqp", "piqp", "proxqp", "qpalm", "scs"), ("eps_abs", "eps_rel")),
}
#: The setting for each limit of `qpsvm.solve`, by solver; a limit that is absent here is refused.
LIMIT_NAMES: dict[str, dict[RequestedOption, str]] = {
    "clarabel": {"max_iter": "max_iter", "time_limit": "time_limit"},
    "daqp": {"max_iter": "iter_limit"},
    "highs": {"time_limit": "time_limit"},
    "osqp": {"max_iter": "max_iter", "time_limit": "time_limit"},
    "piqp": {"max_iter": "max_iter"},
    "proxqp": {"max_iter": "max_iter"},
    "qpalm": {"max_iter": "max_iter", "time_limit": "time_limit"},
    "scs": {"max_iter": "max_iters", "time_limit": "time_limit_secs"},
}


class QpsolversBackend(FunctionBackend):
    """One solver of qpsolvers.

    solver: The solver's name in qpsolvers.
    all_backends: Function that returns all backends: error messages name those that support a request.
    """

    def __init__(self, solver: str, all_backends: Callable[[], Iterable[Backend]]) -> None:
        import qpsolvers

        is_sparse = solver in qpsolvers.sparse_solvers
        super().__init__(partial(_solve_by_qpsolvers, solver), sparse=is_sparse, all_backends=all_backends)
        self.name = PREFIX + solver
        self.is_external = True
        limits = frozenset(LIMIT_NAMES.get(solver, ()))
        self.common_keywords |= limits  # not in the signature of `_solve_by_qpsolvers`, which takes them in `**options`
        self.abilities = replace(self.abilities, enforced_limits=limits)

    def version(self) -> str | None:
        """Return the version of qpsolvers."""
        return find_installed_version("qpsolvers")

    def check_options(self, options: Any) -> None:
        """Accept all options: which a solver knows is known only to it, and some ignore unknown ones."""


@cache
def get_qpsolvers_backend(name: str, all_backends: Callable[[], Iterable[Backend]]) -> Backend:
    """Return the backend of a name, which begins with `PREFIX`. Raises MissingExtraError, UnknownOptionError."""
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
    return QpsolversBackend(solver, all_backends)


def _solve_by_qpsolvers(
    solver: str, P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any, *,
    tol: float = 1e-9, verbose: bool = False, **options: Any,  # `FunctionBackend` requires defaults; `solve` sets both
) -> tuple[Any, Any, Any] | None:  # fmt: skip
    """Return x and the multipliers y of A and z of G, or None if the solver fails. `options` includes the limits."""
    import qpsolvers

    problem = qpsolvers.Problem(P, q, G, h, A, b, lb, ub)
    limit_names: Mapping[Any, str] = LIMIT_NAMES.get(solver, {})
    settings = dict.fromkeys(TOLERANCE_NAMES.get(solver, ()), tol)
    settings |= {limit_names.get(option, option): value for option, value in options.items()}
    with capture_output(PREFIX + solver, verbose, descriptors=True):
        solution = qpsolvers.solve_problem(problem, solver=solver, verbose=verbose, **settings)
    return (solution.x, solution.y, solution.z) if solution.found else None
