"""Between this library and a solver from outside: what the solver raises is named, what it returns is looked at.

Only whether an answer can be measured is asked here. Whether it is right, the certificate says.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import all_finite
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import QPSVMError, SolverError
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.space.operators import LowRank

#: What a solver says of a point that nothing can be measured at.
NOT_FINITE = "returned numbers that are not finite"


class Boundary:
    """A block in which somebody else's code runs: whatever it raises leaves it as an error of this library.

    What is one already passes unchanged, so that a solver may refuse in our words; so do a lack of memory, which is
    named further out, and what ends a program.

    name: Whose code it is.
    doing: What it is asked for, as in "while it solved".
    """

    def __init__(self, name: str, doing: str) -> None:
        self.name = name
        self.doing = doing

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Name whose error it is.

        Raises SolverError.
        """
        if not isinstance(error, Exception) or isinstance(error, (QPSVMError, MemoryError)):
            return
        said = str(error).strip().splitlines()
        why = f"{type(error).__name__}{f': {said[0]}' if said else ''}"
        raise SolverError(f"the registered backend {self.name!r} failed {self.doing}: {why}") from error


def accepted(name: str, qp: QP, answer: Any) -> QPSolution:
    """The answer of a registered backend, once it is known to be one: to this QP, of its shapes.

    Without its point where that is not finite.

    Raises SolverError.
    """
    if not isinstance(answer, QPSolution):
        raise broken(name, f"_run has to return a QPSolution, and returned {shown(answer)}")
    if answer.qp is not qp:
        raise broken(name, "_run returned the solution of another QP than it was given")
    if not isinstance(answer.status, Status) or not isinstance(answer.solver, Solver):
        raise broken(name, f"its answer has the status {shown(answer.status)} and the solver {shown(answer.solver)}")
    count = answer.iterations
    if count is not None and (isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0):
        raise broken(name, f"its answer has {shown(count)} iterations")
    if answer.x is None:
        return QPSolution(qp, answer.status, answer.solver, iterations=count)
    sizes = {"x": qp.n, "y": _rows(qp.b), "z": _rows(qp.h)}
    optional = {"box": qp.n, "v": qp.P.source.d if isinstance(qp.P, LowRank) else 0}
    sizes |= {part: size for part, size in optional.items() if getattr(answer, part) is not None}
    found = {part: as_vector(name, getattr(answer, part), part, size) for part, size in sizes.items()}
    if not all(map(all_finite, found.values())):
        return without_point(qp, answer.solver._replace(status=NOT_FINITE))
    return answer.changed(**found)


def without_point(qp: QP, solver: Solver) -> QPSolution:
    """The answer of a solver that broke down."""
    return QPSolution(qp, Status.NUMERICAL_ERROR, solver)


def as_vector(name: str, values: Any, part: str, size: int) -> FloatArray:
    """A copy of what a solver returned, (size,): a row or a column is a vector too.

    Raises SolverError.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths; tensors of another device
        raise broken(name, f"its {part} is no array of numbers, but {shown(values)}") from error
    if array.dtype.kind not in "fiu":
        raise broken(name, f"its {part} holds no numbers, but {shown(values)}")
    if array.size != size or (size and max(array.shape, default=1) != size):
        raise broken(name, f"its {part} has shape {array.shape} where ({size},) is needed")
    return np.array(array, dtype=np.float64).reshape(size)


def broken(name: str, why: str) -> SolverError:
    """What is raised where a backend does not keep the protocol."""
    return SolverError(f"the registered backend {name!r} does not keep the protocol of qpsvm.register_backend: {why}")


def _rows(side: Sequence[float] | FloatArray | None) -> int:
    return 0 if side is None else len(side)
