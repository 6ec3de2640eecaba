"""Run a stage of the sequential dual method on an all-in-one machine, warm-started at the last stage (`run`)."""

from __future__ import annotations

from qpsvm.backends.limits import Limits
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import find_available_memory, format_bytes
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solvers.sequential import SequentialSolution, solve_sequential
from qpsvm.solvers.shared.budget import Budget
from qpsvm.space.operators import LowRank, Operator

#: The value of `backend=` that selects it.
NAME = "sequential_dual"
#: Number of n × k arrays that it and the certificate hold at once.
ARRAYS = 24


def check_memory(gram: Operator, dual: AllInOneDual) -> None:
    """Check that the arrays fit into memory. Raises TooLargeError."""
    needed = 8.0 * ARRAYS * dual.n * dual.k + (0.0 if isinstance(gram, LowRank) else 8.0 * dual.n**2)
    available = find_available_memory()
    if needed > available:
        raise TooLargeError(
            f"{NAME} needs about {format_bytes(needed)} of memory for {dual.n} samples of {dual.k} classes, and "
            f"{format_bytes(available)} are available: use fewer samples, or a linear kernel"
        )


def run(
    gram: Operator, dual: AllInOneDual, tol: float, limits: Limits, alpha: FloatArray | None, b: FloatArray | None
) -> SequentialSolution:
    """Run until the optimality conditions hold up to `tol` relative to the level, from α (n, k) and b (k,) if given."""
    return solve_sequential(gram, dual, tol, Budget(limits.max_iter, limits.time_limit, limits.verbose), alpha, b)
