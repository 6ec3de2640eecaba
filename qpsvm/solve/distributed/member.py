"""What each member of a communicator runs: the machine over its own rows, the solver, and the certificate.

It is the same `attempt` as in one process. The rows know their communicator, so that whatever is added up over rows is
added up over all members. What every member then has is the same plane, the same values and the same gap; what belongs
to a row stays with its member.

The result of a solve whose rows stay where they are: numbers here, and what each row has when it is asked for.

What runs on a worker: a member's program over the partitions that are there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.backends import RESUMABLE, get
from qpsvm.backends.contract import built_in_version
from qpsvm.backends.requirements import Requirements
from qpsvm.base.arrays.frozen import repeated
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, QPSVMError
from qpsvm.base.resources.communicator import Communicator
from qpsvm.base.resources.limits import one_thread
from qpsvm.base.resources.progress import Clock, for_another
from qpsvm.data.rows.memory import ChunkRows
from qpsvm.data.samples import Samples, coded, weighed_by_class
from qpsvm.machines.problem.replaced import Outline
from qpsvm.program.solution import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.choice import Request, attempt
from qpsvm.solve.distributed.hub import Hub, Stop, hubs_of
from qpsvm.solve.distributed.line import ClusterCommunicator, Line, SolveStopped

#: What a result has for each row, or for each α.
ROW_BY_ROW = frozenset({"alpha", "coef", "kind", "yf", "margin", "upper", "curvature", "target"})


class SpreadResult(SVMResult):
    """An `SVMResult` whose vectors over the rows are gathered when somebody looks at them.

    w, b, the values, the gap and the counts are here. Written to a file, or pickled, it has the vectors with it, and
    knows nothing of the cluster any more.
    """

    @cached_property
    def target(self) -> FloatArray | None:
        """t of a regression: (n,)."""
        found: FloatArray | None = self.__dict__["gather"]("target")
        return found

    def __getattr__(self, name: str) -> Any:
        gather: Callable[[str], NDArray[Any]] | None = self.__dict__.get("gather")
        if name not in ROW_BY_ROW or gather is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = values = gather(name)
        return values

    def __getstate__(self) -> dict[str, Any]:
        for name in ROW_BY_ROW:
            getattr(self, name)
        return {name: value for name, value in vars(self).items() if name not in ("gather", "problem")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def cut(values: NDArray[Any], lengths: list[int]) -> list[NDArray[Any]]:
    """A vector over the rows of one member as one for each of its partitions, (sides, k). Shapes: values (n,)."""
    sides = values.reshape(-1, sum(lengths))
    return np.split(sides, np.cumsum(lengths)[:-1], axis=1)


def in_order(pieces: list[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
    """One vector from the partitions', (sides, k) each with its first row: (n,) or (2n,)."""
    return np.concatenate([part for _, part in sorted(pieces, key=itemgetter(0))], axis=1).ravel()


@dataclass(frozen=True)
class Chunk:
    """A partition, as a member's program gets it: by reference, in whatever type Dask has it.

    number: Which partition of the table it is.
    first: Its first row in the table.
    X (k, d)
    y, weight (k,) or None
    """

    number: int
    first: int
    X: Any
    y: Any
    weight: Any


@dataclass(frozen=True, eq=False)
class Returned:
    """What a member's program may return: something small for the caller, and vectors that stay on the worker."""

    small: Any
    rows: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a member's run has ended: with what its program returned, an error of the library's, or without an answer."""

    returned: Returned | None = None
    error: QPSVMError | None = None
    stop: Stop | None = None
    messages: int = 0
    sent_bytes: int = 0
    seconds: float = 0.0

    @property
    def small(self) -> Outcome:
        """The same without the vectors that stay."""
        if self.returned is None:
            return self
        kept = Returned(self.returned.small, dict.fromkeys(self.returned.rows))  # type: ignore[arg-type]
        return Outcome(kept, None, None, self.messages, self.sent_bytes, self.seconds)


@dataclass(frozen=True)
class Run:
    """What all members of a run are told: its name, where the hub is, how many they are, and how patient."""

    name: str
    hub: str
    size: int
    patience: float


def opened(run: Run, dask_worker: Any = None) -> str:
    """Make the hub, on its worker; on each: the version of this library."""
    if dask_worker.address == run.hub:
        hubs_of(dask_worker)[run.name] = Hub(run.size, run.patience)
    return built_in_version()


def closed(name: str, dask_worker: Any = None) -> None:
    """Take the hub away; members that are still there get no answer any more."""
    hub = hubs_of(dask_worker).pop(name, None)
    if hub is not None:
        hub.stop(Stop("cancelled", (), "nobody waits for the result any more"))


def member(
    run: Run, rank: int, where: list[tuple[int, int, int]], parts: list[list[Any]], program: Callable[..., Any],
    args: tuple[Any, ...], begun: Mapping[str, Any] | None,
) -> Outcome:  # fmt: skip
    """Run a member's program on this worker."""
    from distributed import get_worker

    worker = get_worker()
    line = Line(worker, worker.get_current_task(), run.hub, run.name, rank, run.patience)
    start = time.perf_counter()
    failed = True
    try:
        line.open()
        with for_another() as press:
            comm = ClusterCommunicator(line, rank, run.size, press)
            chunks = [_chunk(*place, *part) for place, part in zip(where, parts, strict=True)]
            found = program(comm, chunks, *args, begun=begun)
        failed = False
    except SolveStopped as error:
        return Outcome(stop=error.why)
    except KeyboardInterrupt:  # which the worker would take for its own
        return Outcome(stop=Stop("interrupted", (rank,), "interrupted"))
    except QPSVMError as error:
        return Outcome(error=error)
    finally:
        line.close(failed)
    returned = found if isinstance(found, Returned) else Returned(found)
    return Outcome(returned, None, None, comm.messages, comm.sent_bytes, time.perf_counter() - start)


def _chunk(number: int, first: int, rows: int, X: Any, y: Any, weight: Any) -> Chunk:
    """A partition, if it has as many rows as it had. Raises DataError."""
    if X.shape[0] != rows:
        raise DataError(f"partition {number} has {X.shape[0]} rows, and had {rows}: its source has changed")
    return Chunk(number, first, X, y, weight)


def small_of(outcome: Outcome) -> Outcome:
    """What of a member's outcome travels to the caller."""
    return outcome.small


def rows_of(outcome: Outcome, name: str) -> NDArray[Any]:
    """A vector that a member has kept."""
    assert outcome.returned is not None
    return outcome.returned.rows[name]


#: How often the solver is asked for more where the certificate is not satisfied, and by which factor.
TRIES, SHARPER = 3, 0.03


@dataclass(frozen=True, eq=False)
class Order:
    """What the members are told to do.

    outline: The machine.
    d: Features.
    classes (2,) or None
    factors (2,) or None: Of the weights, by class.
    options: The solver's own.
    """

    outline: Outline
    d: int
    classes: NDArray[Any] | None
    factors: FloatArray | None
    feature_names: tuple[str, ...] | None
    tol: float
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]


def samples_of(chunks: Sequence[Chunk], order: Order, comm: Communicator) -> Samples:
    """The member's own samples."""
    rows = ChunkRows([chunk.X for chunk in chunks], comm, order.d)
    target = weight = repeated(1.0, rows.n)
    if chunks and chunks[0].y is not None:
        target = coded(np.concatenate([chunk.y for chunk in chunks]), order.classes)
    if chunks and chunks[0].weight is not None:
        weight = np.concatenate([chunk.weight for chunk in chunks]).astype(np.float64)
    if order.factors is not None:
        weight = weighed_by_class(weight, target, order.factors)
    return Samples(rows, target, weight, order.classes, order.feature_names)


def solve_share(
    comm: Communicator, chunks: Sequence[Chunk], order: Order, begun: Mapping[str, Any] | None = None
) -> Returned:
    """Solve with the other members, and certify."""
    problem = order.outline.over(samples_of(chunks, order, comm))
    options = {**order.options, "keep": comm.note, **({} if begun is None else {"begun": begun})}
    clock = Clock(order.time_limit)
    request = Request(order.tol, True, False, order.time_limit, order.max_iter, options, None, clock)
    with np.errstate(all="ignore"), one_thread():
        result = _certified(problem, request)
    counts = comm.sum(np.bincount(result.kind, minlength=3).astype(np.float64))
    record = {name: value for name, value in vars(result).items() if name not in {*ROW_BY_ROW, "problem"}}
    record["counts"] = tuple(int(count) for count in counts)
    rows = {name: getattr(result, name) for name in ROW_BY_ROW}
    return Returned(record, {name: values for name, values in rows.items() if values is not None})


def _certified(problem: Any, request: Request) -> SVMResult:
    """The result; of a sharper solve where the first one is not satisfactory, from where that ended."""
    backend, nothing = get(RESUMABLE), Requirements(0.0, 0.0)
    best: SVMResult = attempt(problem, backend, "dual", nothing, request)
    aim = request.tol
    for _ in range(TRIES):
        if best.status is not Status.INACCURATE or request.max_iter is not None:
            break
        aim *= SHARPER
        options = {name: value for name, value in request.options.items() if name != "begun"}
        sharper = replace(request, aim=aim, options=options, start=problem.start(best.alpha))
        again = attempt(problem, backend, "dual", nothing, sharper)
        if again.gap < best.gap:
            best = again
    return best


__all__ = ["ROW_BY_ROW", "Order", "SpreadResult", "cut", "in_order", "samples_of", "solve_share"]
