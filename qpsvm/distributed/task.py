"""What runs on a worker: a member's program over the partitions that are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from qpsvm.backends.packages import built_in_version
from qpsvm.distributed.hub import Hub, Stop, hubs_of
from qpsvm.distributed.line import ClusterTeam, Line, TeamStopped
from qpsvm.errors import DataError, QPSVMError
from qpsvm.resources.interrupts import for_another


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
            team = ClusterTeam(line, rank, run.size, press)
            chunks = [_chunk(*place, *part) for place, part in zip(where, parts, strict=True)]
            found = program(team, chunks, *args, begun=begun)
        failed = False
    except TeamStopped as error:
        return Outcome(stop=error.why)
    except KeyboardInterrupt:  # which the worker would take for its own
        return Outcome(stop=Stop("interrupted", (rank,), "interrupted"))
    except QPSVMError as error:
        return Outcome(error=error)
    finally:
        line.close(failed)
    returned = found if isinstance(found, Returned) else Returned(found)
    return Outcome(returned, None, None, team.messages, team.sent_bytes, time.perf_counter() - start)


def _chunk(number: int, first: int, rows: int, X: Any, y: Any, weight: Any) -> Chunk:
    """A partition, if it has as many rows as it had.

    Raises DataError.
    """
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
