"""What a suite is: which machines, which solvers, how accurate, how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.summary import QP_SOLVERS
from benchmarks.tasks import Task
from benchmarks.threads import Clock

PENALTIES = (0.01, 1.0, 100.0)


@dataclass(frozen=True)
class Suite:
    """Tasks and the solvers that are to take them.

    Attributes
    ----------
    name : str
    about : str
        One sentence.
    tasks : tuple of Task
    solvers : tuple of str
        In the order of reports.
    goal : float
        The certified gap at which a solver may stop.
    seconds, budget : float
        Limit of one run, and of all runs of a solver on a task together.
    max_iters : tuple of int
        Iteration limits to climb instead of tolerances.
    most_rows : dict
        Rows up to which a solver takes part, for those that cannot be asked more.
    clock : "processor" or "wall"
        Which seconds count: those of all threads together, or those that a user waits.
    files : tuple of str
        Names of the files that it looks for in the folder of data.
    twins : bool
        Whether each task with a penalised intercept stands beside one with a free one.
    """

    name: str
    about: str
    tasks: tuple[Task, ...]
    solvers: tuple[str, ...]
    goal: float = 1e-9
    seconds: float = 10.0
    budget: float = 20.0
    max_iters: tuple[int, ...] = ()
    most_rows: dict[str, int] = field(default_factory=dict)
    clock: Clock = "processor"
    files: tuple[str, ...] = ()
    twins: bool = True

    def iter_solvers(self, task: Task) -> Iterator[str]:
        """Iterate over the solvers for which this task is not too large.

        General solvers are asked once, with the free intercept: the penalised one beside it is there for LIBLINEAR.
        """
        rows = task.facts.get("n", 0)
        twin = self.twins and task.intercept == "penalised"
        for name in self.solvers:
            if rows <= self.most_rows.get(name, rows) and not (twin and name in QP_SOLVERS):
                yield name
