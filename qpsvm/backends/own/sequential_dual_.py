"""The sequential dual method on a joint machine, stage by stage, each of which goes on where the last one ended."""

from __future__ import annotations

from qpsvm.backends.contract import built_in_version
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import available_memory, in_words
from qpsvm.base.resources.progress import Clock
from qpsvm.program.all_in_one import JointDual
from qpsvm.solvers.joint.sequential import Answer, sequential_dual
from qpsvm.solvers.shared.stopping import Budget
from qpsvm.space.operators import LowRank, Operator

#: What `backend=` names it by.
NAME = "sequential_dual"
#: Arrays of n × k numbers that it and the certificate hold at a time.
ARRAYS = 24


class SequentialDual:
    """Stages of one run.

    gram (n, n): To compute with.
    clock: Of the run.
    max_iter: Steps over a sample, in all stages together.
    verbose: Print a line a working set.
    """

    def __init__(
        self, gram: Operator, dual: JointDual, clock: Clock, max_iter: int | None = None, verbose: bool = False
    ) -> None:
        needed = 8.0 * ARRAYS * dual.n * dual.k + (0.0 if isinstance(gram, LowRank) else 8.0 * dual.n**2)
        there = available_memory()
        if needed > there:
            raise TooLargeError(
                f"{NAME} needs about {in_words(needed)} of memory for {dual.n} samples of {dual.k} classes, and "
                f"{in_words(there)} are available: use fewer samples, or a linear kernel"
            )
        self.gram, self.dual = gram, dual
        self.clock, self.max_iter, self.verbose, self.steps = clock, max_iter, verbose, 0

    def run(self, tol: float, alpha: FloatArray | None = None, b: FloatArray | None = None) -> Answer:
        """Until the optimality conditions hold to `tol` of the level, from α (n, k) and b (k,)."""
        most = None if self.max_iter is None else max(self.max_iter - self.steps, 1)
        left = None if self.clock.limit is None else max(self.clock.left, 0.0)
        answer = sequential_dual(self.gram, self.dual, tol, Budget(most, left, self.verbose), alpha, b)
        self.steps += answer.iterations
        return answer


def version() -> str:
    """Of the library, which it is part of."""
    return built_in_version()
