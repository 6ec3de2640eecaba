"""This library: `solve` as a user calls it, and its backends alone on the QP that the public solvers get."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np

import qpsvm
from benchmarks.samples import Clouds
from benchmarks.solvers.base import Entrant, Point, Rung, Said, extract_point
from benchmarks.tasks import BenchmarkMachine, Task, Variant
from benchmarks.threads import ALL
from qpsvm import backends
from qpsvm.backends.requirements import Form
from qpsvm.backends.traits import Traits, find_problem_traits
from qpsvm.program.status import Solver, Status

#: Rows of the machines whose traits are asked for: any will do.
ROWS_FOR_TRAITS = 2


class Solve(Entrant):
    """`qpsvm.solve` from X and y to the certified result: problem, QP, solver, polish, certificate."""

    package = "qpsvm"
    tolerances = (1e-3, 1e-6, 1e-9)

    def __init__(self, backend: str = "auto", every_thread: bool = False) -> None:
        self.backend = backend
        self.name = ("qpsvm" if backend == "auto" else f"qpsvm:{backend}") + (ALL if every_thread else "")
        self.every_thread = every_thread

    def accepts(self, task: Task) -> bool:
        return self.backend == "auto" or _accepts(self.backend, task)

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        result = qpsvm.solve(data.build_problem(), self.backend, tol=rung.tol or 1e-6, check=False)
        optimal = result.status is Status.OPTIMAL
        engine = describe_engine(result.solver)
        return result, Said(str(result.status), optimal, result.iterations, engine=engine)

    def point(self, data: BenchmarkMachine, answer: Any) -> Point:
        w = answer.w if data.task.kernel == "linear" else None
        return Point(answer.alpha, w, answer.b)


class BareBackend(Entrant):
    """One of this library's backends alone, `compile(qp).solve()`: no polish, no certificate."""

    package = "qpsvm"

    def __init__(self, backend: str) -> None:
        self.name = backend

    def form(self, task: Task) -> str | None:
        return backends.get(self.name).find_preferred_form(task.kernel == "linear")

    def accepts(self, task: Task) -> bool:
        return _accepts(self.name, task)

    def prepare(self, machine: BenchmarkMachine) -> Any:
        problem = machine.build_problem()
        return problem, problem.solver_qp(self.form(machine.task))  # type: ignore[arg-type]

    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        _, scaled = data
        tol = 1e-12 if rung.tol is None else rung.tol
        answer = qpsvm.compile(scaled.qp, self.name).solve(tol=tol, max_iter=rung.max_iter)
        optimal = answer.reported is Status.OPTIMAL
        engine = describe_engine(answer.solver)
        return answer, Said(answer.solver.status, optimal, answer.iterations, engine=engine)

    def point(self, data: Any, answer: Any) -> Point:
        problem, scaled = data
        return extract_point(problem, scaled, answer)


def describe_engine(solver: Solver) -> str:
    """The backend and, where it says it in brackets after its status, the engine: "kernel_newton (gram)"."""
    _, bracket, engine = solver.status.partition(" (")
    if solver.name == "kernel_newton":
        return f"{solver.name}{bracket}{engine}"
    return solver.name


def _accepts(name: str, task: Task) -> bool:
    """By what the backend says of itself; how many rows are worth it, a suite says."""
    forms: tuple[Form, ...] = ("dual", "primal")
    traits = _find_traits(task.variant, task.kernel, task.intercept)
    return any(backends.get(name).abilities.accepts(traits, ROWS_FOR_TRAITS, form) for form in forms)


@cache
def _find_traits(
    variant: Variant, kernel: Literal["linear", "rbf"], intercept: Literal["free", "penalised"] | None
) -> Traits:
    """The traits of such a machine: they do not depend on its samples."""
    task = Task("", Clouds(ROWS_FOR_TRAITS, 1), {}, variant, kernel=kernel, intercept=intercept)
    return find_problem_traits(
        BenchmarkMachine(task, np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), 1.0).build_problem()
    )
