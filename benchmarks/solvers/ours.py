"""This library: `solve` as a user calls it, and its backends alone on the QP that the public solvers get."""

from __future__ import annotations

from typing import Any

import qpsvm
from benchmarks.solvers.base import Entrant, Point, Rung, Said, point_of
from benchmarks.tasks import Machine, Task
from qpsvm import backends
from qpsvm.qp.solution import Solver, Status


class Solve(Entrant):
    """`qpsvm.solve` from X and y to the certified result: problem, QP, solver, polish, certificate."""

    package = "qpsvm"
    tolerances = (1e-3, 1e-6, 1e-9)

    def __init__(self, backend: str = "auto") -> None:
        self.backend = backend
        self.name = "qpsvm" if backend == "auto" else f"qpsvm:{backend}"

    def takes(self, task: Task) -> bool:
        return self.backend == "auto" or _takes(self.backend, task)

    def run(self, data: Machine, rung: Rung) -> tuple[Any, Said]:
        result = qpsvm.solve(data.problem(), self.backend, tol=rung.tol or 1e-6, check=False)
        optimal, engine = result.status is Status.OPTIMAL, engine_of(result.solver)
        return result, Said(str(result.status), optimal, result.iterations, engine=engine)

    def point(self, data: Machine, answer: Any) -> Point:
        w = answer.w if data.task.kernel == "linear" else None
        return Point(answer.alpha, w, answer.b)


class Bare(Entrant):
    """One of this library's backends alone, `compile(qp).solve()`: structure found anew, no polish, no certificate."""

    package = "qpsvm"

    def __init__(self, backend: str) -> None:
        self.name = backend

    def form(self, task: Task) -> str | None:
        return backends.get(self.name).preferred_form(task.kernel == "linear")

    def takes(self, task: Task) -> bool:
        return _takes(self.name, task)

    def prepare(self, machine: Machine) -> Any:
        problem = machine.problem()
        return problem, problem.solver_qp(self.form(machine.task))  # type: ignore[arg-type]

    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        _, scaled = data
        tol = 1e-12 if rung.tol is None else rung.tol
        answer = qpsvm.compile(scaled.qp, self.name).solve(tol=tol, max_iter=rung.max_iter)
        optimal, engine = answer.status is Status.OPTIMAL, engine_of(answer.solver)
        return answer, Said(answer.solver.status, optimal, answer.iterations, engine=engine)

    def point(self, data: Any, answer: Any) -> Point:
        problem, scaled = data
        return point_of(problem, scaled, answer)


def engine_of(solver: Solver) -> str:
    """The backend and, where it says it in brackets after its status, the engine: "kernel_newton (band)"."""
    _, bracket, engine = solver.status.partition(" (")
    return f"{solver.name}{bracket}{engine}" if solver.name == "kernel_newton" else solver.name


def _takes(backend: str, task: Task) -> bool:
    """By the table in the README; the hostile corners are for the tests."""
    linear = task.kernel == "linear"
    if backend == "augmented_lagrangian":
        return linear and task.variant in ("c", "hinge")
    if backend == "kernel_newton":
        return not linear and task.variant in ("c", "hinge") and task.intercept == "free"
    if backend == "libsvm":
        return task.variant in ("c", "hinge") and task.intercept == "free"
    if backend == "subgradient":
        return task.variant != "hard"
    return True
