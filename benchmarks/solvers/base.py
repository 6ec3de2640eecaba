"""What the runner needs of a solver: whether it takes a task, its data, one timed call, and the point that it found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from benchmarks.lines import find_version
from benchmarks.samples import FloatArray
from benchmarks.tasks import BenchmarkMachine, Task
from qpsvm.machines import Problem
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.solution import QPSolution


@dataclass(frozen=True)
class SolverOrigin:
    """Where a class is: the path of a file or the name of a module, and its name, empty for the only one of a file."""

    location: str
    class_name: str = ""

    def __str__(self) -> str:
        if self.class_name:
            return f"{self.location}:{self.class_name}"
        return self.location


@dataclass(frozen=True)
class Rung:
    """How accurate, or how long: what one run is asked."""

    tol: float | None = None
    max_iter: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Said:
    """What a solver says of its own run; nothing here is believed.

    Attributes
    ----------
    words : str
        Its status.
    claimed : bool
        Whether that means optimal at the tolerance asked for.
    iterations : int or None
    seconds : float or None
        Set-up and solution alone, where the call does other work as well.
    engine : str or None
        Which of several algorithms behind one name found the point.
    exhausted : bool or None
        Whether it used up the iterations that it was allowed; None where that cannot be seen, or its status says it.
    warned : bool
        Whether a user who reads warnings, or what is printed, would know of it.
    """

    words: str
    claimed: bool
    iterations: int | None = None
    seconds: float | None = None
    engine: str | None = None
    exhausted: bool | None = None
    warned: bool = False


@dataclass(frozen=True)
class Point:
    """What a solver found, in the units of the machine: α (n,), or a primal point where it has no dual one.

    The primal point is w (d,) and b, or, with a kernel, the coefficients (n,) of f = Σ c_j k(·, x_j) + b.
    """

    alpha: FloatArray | None = None
    w: FloatArray | None = None
    b: float = 0.0
    coefficients: FloatArray | None = None


@dataclass(frozen=True)
class Curve:
    """What was found for every C of a grid: machines on all rows, and the errors (k,) on rows that were held out."""

    points: tuple[Point, ...]
    errors: FloatArray


@dataclass(frozen=True)
class FittedEstimator:
    """What a fitted estimator is judged by.

    Attributes
    ----------
    points : tuple of Point
        Of each of its machines.
    predicted : ndarray, shape (m,)
        Of the rows held out.
    predicting, one_row : float
        Seconds to predict all of these, and one of them.
    """

    points: tuple[Point, ...]
    predicted: FloatArray
    predicting: float
    one_row: float


def extract_point(problem: Problem, scaled: ScaledQP, solution: QPSolution) -> Point:
    """The solver's own point in a solution of the scaled QP, in the units of the machine: read, and not polished."""
    result = problem.interpret(scaled.unscale(solution), tol=1e-15, polished=False)
    return Point(result.alpha, result.w if problem.space.is_linear else None, result.b)


class Entrant(ABC):
    """A solver in a suite.

    Attributes
    ----------
    name : str
    package : str
        The distribution that it is part of.
    form : str or None
        The form of the QP that it is given, where it is given one.
    tolerances : tuple of float
        What it may be asked for, loosest first.
    every_thread : bool
        Run in a process where nobody limits threads, as users run it; otherwise with one.
    origin : Origin or None
        Where a solver from outside is loaded from; it is given a copy of the samples, and its own clock does not count.
    """

    name: str
    package: str = ""
    tolerances: tuple[float, ...] = tuple(10.0**-k for k in range(3, 11))
    every_thread: bool = False
    origin: SolverOrigin | None = None

    def version(self) -> str | None:
        """The installed version, None where there is none; "?" of what is no package."""
        return find_version(self.package) if self.package else "?"

    def form(self, task: Task) -> str | None:  # noqa: ARG002
        """ "dual" or "primal", for solvers that are given a QP."""
        return None

    @abstractmethod
    def accepts(self, task: Task) -> bool:
        """Whether this machine is one that the solver knows."""

    def prepare(self, machine: BenchmarkMachine) -> Any:
        """The solver's own data; not timed."""
        return machine

    @abstractmethod
    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        """Run the solver once, timed by the runner: the raw answer and the solver's own report."""

    @abstractmethod
    def point(self, data: Any, answer: Any) -> Point | Curve | FittedEstimator:
        """The point in the answer, one for every C of a grid or machine of an estimator; not timed."""
