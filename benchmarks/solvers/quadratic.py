"""Public QP solvers, all through qpsolvers, on the QP that this library hands its own backends.

Linear machines are given as the sparse primal, kernel machines as the dual with its dense matrix: the form that general
solvers certify best. Making these matrices is not timed. What is timed is set-up and solution, as qpsolvers measures
them around the solver's own calls, so that its conversions of the answer do not count.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.capture import capture_output
from benchmarks.lines import find_version
from benchmarks.solvers.base import Entrant, Point, Rung, Said, extract_point
from benchmarks.tasks import BenchmarkMachine, Task
from qpsvm.base.arrays.types import as_dense
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.space.operators import Diagonal

#: No limit but time.
UNLIMITED = 100_000_000
Settings = Callable[[float, float], Mapping[str, Any]]


@dataclass(frozen=True)
class SolverInterface:
    """How a solver is asked: its distribution, whether it reads dense matrices, the settings for (tol, seconds)."""

    package: str
    dense: bool
    settings: Settings


INTERFACES: dict[str, SolverInterface] = {
    "piqp": SolverInterface("piqp", True, lambda tol, _: {
        "eps_abs": tol, "eps_rel": tol, "check_duality_gap": True, "eps_duality_gap_abs": tol,
        "eps_duality_gap_rel": tol,
    }),
    "proxqp": SolverInterface("proxsuite", True, lambda tol, _: {
        "eps_abs": tol, "eps_rel": tol, "check_duality_gap": True, "eps_duality_gap_abs": tol,
        "eps_duality_gap_rel": tol,
    }),
    "clarabel": SolverInterface("clarabel", False, lambda tol, seconds: {
        "tol_feas": tol, "tol_gap_abs": tol, "tol_gap_rel": tol, "time_limit": seconds, "max_threads": 1,
    }),
    "osqp": SolverInterface("osqp", False, lambda tol, seconds: {
        "eps_abs": tol, "eps_rel": tol, "time_limit": seconds, "max_iter": UNLIMITED,
    }),
    "scs": SolverInterface("scs", False, lambda tol, seconds: {
        "eps_abs": tol, "eps_rel": tol, "time_limit_secs": seconds, "max_iters": UNLIMITED,
    }),
    "highs": SolverInterface("highspy", False, lambda tol, seconds: {
        "primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol, "time_limit": seconds,
    }),
    "qpalm": SolverInterface("qpalm", False, lambda tol, seconds: {
        "eps_abs": tol, "eps_rel": tol, "time_limit": seconds, "max_iter": UNLIMITED,
    }),
    "daqp": SolverInterface("daqp", True, lambda tol, _: {"primal_tol": tol, "dual_tol": tol}),
    "cvxopt": SolverInterface("cvxopt", True, lambda tol, _: {"feastol": tol, "abstol": tol, "reltol": tol}),
}  # fmt: skip


@dataclass(frozen=True)
class QpsolversData:
    """The QP as qpsolvers takes it, and what leads back to the machine."""

    problem: Any
    scaled: ScaledQP
    quadratic: Any


class QuadraticSolver(Entrant):
    """One solver of qpsolvers' set."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.interface = INTERFACES[name]
        self.package = self.interface.package

    def version(self) -> str | None:
        """Return the version of the solver; None too if qpsolvers, through which it is called, is absent."""
        return None if find_version("qpsolvers") is None else super().version()

    def form(self, task: Task) -> str | None:
        return "primal" if task.kernel == "linear" else "dual"

    def accepts(self, task: Task) -> bool:
        del task
        return True

    def prepare(self, machine: BenchmarkMachine) -> QpsolversData:
        problem = machine.build_problem()
        scaled = problem.solver_qp(self.form(machine.task))  # type: ignore[arg-type]
        return QpsolversData(problem, scaled, _build_qpsolvers_problem(scaled.qp, self.interface.dense))

    def run(self, data: QpsolversData, rung: Rung) -> tuple[Any, Said]:
        import qpsolvers

        assert rung.tol is not None
        assert rung.seconds is not None
        settings = self.interface.settings(rung.tol, rung.seconds)
        with warnings.catch_warnings(), capture_output():
            warnings.simplefilter("ignore")
            found = qpsolvers.solve_problem(data.quadratic, self.name, **settings)
        parts = (found.build_time, found.solve_time)
        if None in parts:
            timed = None
        else:
            timed = float(sum(part for part in parts if part is not None))
        return found, Said(_find_status_text(found), bool(found.found), _find_iterations(found), timed)

    def point(self, data: QpsolversData, answer: Any) -> Point:
        qp = data.scaled.qp
        if answer.x is None or not np.isfinite(answer.x).all():
            return Point()
        status = Status.OPTIMAL if answer.found else Status.INACCURATE
        solution = QPSolution(
            qp, status, Solver(self.name, "", ""), np.asarray(answer.x),
            _complete_multipliers(answer.y, qp.A), _complete_multipliers(answer.z, qp.G),
        )  # fmt: skip
        return extract_point(data.problem, data.scaled, solution)


def _build_qpsolvers_problem(qp: QP, dense: bool) -> Any:
    """qpsolvers' problem: dense where P is and the solver reads that, else CSC."""
    import qpsolvers

    def native(matrix: Any) -> Any:
        if matrix is None:
            return None
        if dense and not isinstance(qp.P, Diagonal):
            return np.array(as_dense(matrix))
        return sp.csc_matrix(matrix)

    def copy_vector(vector: Any) -> Any:
        return None if vector is None else np.array(vector)  # ours cannot be written to, and DAQP refuses those

    if isinstance(qp.P, Diagonal):
        P = sp.diags_array(qp.P.diagonal())
    else:
        P = np.array(qp.P.dense())
    sides = {"h": copy_vector(qp.h), "b": copy_vector(qp.b), "lb": copy_vector(qp.lb), "ub": copy_vector(qp.ub)}
    return qpsolvers.Problem(native(P), copy_vector(qp.q), G=native(qp.G), A=native(qp.A), **sides)


def _complete_multipliers(values: Any, matrix: Any) -> Any:
    """Multipliers of the rows of a matrix, zeros where the solver gave none."""
    rows = 0 if matrix is None else matrix.shape[0]
    found = np.zeros(0) if values is None else np.asarray(values, dtype=float).ravel()
    return found if len(found) == rows else np.zeros(rows)


def _find_status_text(found: Any) -> str:
    """The solver's status, under whichever name qpsolvers keeps it."""
    extras = found.extras or {}
    info = extras.get("info")
    for value in (extras.get("status"), getattr(info, "status", None), _get_entry(info, "status")):
        if value is not None:
            return str(value)
    return "found" if found.found else "not found"


def _find_iterations(found: Any) -> int | None:
    extras = found.extras or {}
    info = extras.get("info")
    for value in (extras.get("iter"), extras.get("iterations"), getattr(info, "iter", None), _get_entry(info, "iter")):
        if isinstance(value, int):
            return value
    return None


def _get_entry(info: Any, name: str) -> Any:
    return info.get(name) if isinstance(info, Mapping) else None
