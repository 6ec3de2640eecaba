"""One run of a program on the workers that hold rows, as the client sees it; and which worker holds which rows.

A partition is looked at on a worker that holds it, and nowhere else. Addresses are asked for at the beginning of each
run, and kept no longer than that.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.backends.contract import built_in_version
from qpsvm.base.errors import ClusterError, DataError, UnsupportedError
from qpsvm.base.resources.progress import noted
from qpsvm.data.sources.dask_rows import DaskRows, cluster_faults, fault_of, is_killed
from qpsvm.solve.distributed.hub import CLIENT, Stop
from qpsvm.solve.distributed.member import Outcome, Run, closed, member, opened, rows_of, small_of

#: What Dask calls the ways of computing without a cluster.
IN_THIS_PROCESS = ("threads", "threading", "sync", "synchronous", "single-threaded", "processes", "multiprocessing")
#: Entries that make a worker worth its messages: a pass over them takes as long as a message, a millisecond.
WORTH = 1_000_000
#: Rows of the worker that has the most, in those that each would have: with more, the others would wait.
UNEVEN = 1.1


@dataclass(frozen=True, eq=False)
class Placed:
    """The partitions of a table on a cluster.

    rows: The table, with what is known of each partition.
    features: The partitions of X.
    target, weight or None: Those of the vectors.
    worth: Entries for each worker from which on partitions are moved to where fewer rows are.
    """

    rows: DaskRows
    client: Any
    features: list[Any]
    target: list[Any] | None
    weight: list[Any] | None
    worth: int = WORTH

    @property
    def lengths(self) -> list[int]:
        """Rows of each partition."""
        return [part.rows for part in self.rows.facts]

    def parts(self, k: int) -> list[Any]:
        """The futures of partition k: of X, y and weight, None where there is no such vector."""
        return [None if each is None else each[k] for each in (self.features, self.target, self.weight)]

    def futures(self) -> list[Any]:
        """All of them."""
        return [*self.features, *(self.target or []), *(self.weight or [])]

    def holders(self) -> dict[str, list[int]]:
        """The partitions that each worker is to look at, by its address; those without rows are left out.

        A partition is looked at where it is. Where that leaves much more to one worker than to another, some partitions
        go to another worker, once. Raises KeyError.
        """
        who = self.client.who_has(self.features)
        loads = dict.fromkeys(sorted(self.client.nthreads()), 0)
        found: dict[str, list[int]] = {name: [] for name in loads}
        for k, (part, length) in enumerate(zip(self.features, self.lengths, strict=True)):
            there = loads.keys() & set(who.get(part.key, ()))
            if length and not there:
                raise KeyError(part.key)
            if length:
                address = min(sorted(there), key=lambda name: loads[name])
                loads[address] += length
                found[address].append(k)
        if self.rows.entries >= self.worth * len(loads):
            _balance(found, loads, self.lengths)
        named = ((name, sorted(numbers)) for name, numbers in found.items() if numbers)
        return dict(sorted(named, key=lambda item: item[1][0]))


def _balance(found: dict[str, list[int]], loads: dict[str, int], lengths: Sequence[int]) -> None:
    """Give partitions of the worker that has the most rows to the one that has the fewest, as long as that helps."""
    for _ in lengths:
        most, least = (choose(loads, key=lambda name: loads[name]) for choose in (max, min))
        excess = loads[most] - loads[least]
        helping = [k for k in found[most] if lengths[k] < excess]
        if loads[most] * len(loads) <= UNEVEN * sum(loads.values()) or not helping:
            return
        k = min(helping, key=lambda number: abs(2 * lengths[number] - excess))
        found[most].remove(k)
        found[least].append(k)
        loads[most] -= lengths[k]
        loads[least] += lengths[k]


def chosen_client(collection: Any = None) -> Any:
    """The client of a cluster: that of the collection, or the current one. Raises UnsupportedError."""
    try:
        import dask
        import distributed
    except ImportError:
        return None
    with cluster_faults():
        futures = [] if collection is None else distributed.futures_of(collection)
    client = futures[0].client if futures else None
    if client is None:
        if dask.config.get("scheduler", None) in IN_THIS_PROCESS:
            return None
        try:
            client = distributed.default_client()
        except ValueError:
            return None
    if client.asynchronous:
        raise UnsupportedError("the Dask client is asynchronous: make one by Client(…, asynchronous=False)")
    return client


def place(X: Any, y: Any = None, weight: Any = None, client: Any = None, worth: int = WORTH) -> Placed:
    """Put the partitions of a table where they are looked at, once. Shapes: X (n, d), y, weight (n,)."""
    rows = X if isinstance(X, DaskRows) else DaskRows(X, y, weight)
    client = client if client is not None else chosen_client(rows.collection)
    if client is None:
        raise UnsupportedError("there is no Dask cluster to compute on: make a distributed.Client first")
    from distributed import wait

    given = [rows.collection, *rows.vectors]
    there = [_futures(collection, client) for collection in given]
    rest = iter(there[1:])
    target, weight = (None if each is None else next(rest) for each in (rows.target, rows.weight))
    placed = Placed(rows, client, there[0], target, weight, worth)
    with cluster_faults():
        wait(placed.futures())
    check_parts(placed.futures(), len(placed.features))
    return placed


def _futures(collection: Any, client: Any) -> list[Any]:
    """The futures of the partitions of a persisted collection, in their order. Raises UnsupportedError."""
    with cluster_faults():
        known = {future.key: future for future in client.futures_of(collection)}
    keys = np.array(collection.__dask_keys__(), dtype=object)
    flat = [tuple(key) for key in keys.reshape(-1, keys.shape[-1])]
    if not set(flat) <= known.keys():
        raise UnsupportedError("the collection is not on this cluster: make its client the current one first")
    return [known[key] for key in flat]


def check_parts(futures: Sequence[Any], count: int) -> None:
    """Raise what has kept a partition from being computed, of `count` in a vector. Raises DataError, ClusterError."""
    for k, future in enumerate(futures):
        if future.status == "error":
            error = future.exception()
            wrong = DataError(f"partition {k % count} cannot be computed: {error}")
            raise fault_of(error) if is_killed(error) else wrong from error


#: Called with each state that the first member notes.
OnState = Callable[[Mapping[str, Any]], None]
#: Seconds between two looks at a run: by so much a state is late where the first member's worker dies.
LOOK = 0.5


@dataclass(frozen=True)
class Settings:
    """How patient the client is with the workers.

    patience: Seconds that the process of a worker may be silent before it counts as lost. Dask's own loops are
        held up for seconds by calls that keep the interpreter for themselves; one that was silent for long is
        given longer.
    reporting: Seconds in which all members must have begun: a worker whose threads are all taken does not
        begin.
    recovery: Seconds in which the partitions of a lost worker must have been made again, counted from the last
        one made.
    restarts: How often a run is begun again.
    """

    patience: float = 10.0
    reporting: float = 60.0
    recovery: float = 60.0
    restarts: int = 5


class Lost(RuntimeError):
    """Workers were lost during a run.

    addresses: Theirs.
    hung: Whether they are silent, so that the scheduler may not have noticed.
    """

    def __init__(self, words: str, addresses: Sequence[str], hung: bool = False) -> None:
        super().__init__(words)
        self.addresses, self.hung = tuple(addresses), hung


@dataclass(frozen=True, eq=False)
class Member:
    """What one member has returned.

    small: What came back.
    numbers, starts: Its partitions, and the first row of each.
    messages, sent_bytes: Questions that it has asked, and bytes that it has sent to the others.
    seconds: Of its program.
    names: The vectors that it has kept on its worker.
    """

    small: Any
    numbers: list[int]
    starts: list[int]
    messages: int
    sent_bytes: int
    seconds: float
    names: tuple[str, ...]
    future: Any

    def rows(self, name: str) -> NDArray[Any]:
        """A vector that stayed on the worker, brought here. Raises ClusterError."""
        client = self.future.client
        if not alive(client) or not client.who_has([self.future]).get(self.future.key):
            raise ClusterError(f"{name} was kept on a worker that is gone: solve again to have it")
        with cluster_faults():
            found: NDArray[Any] = client.submit(rows_of, self.future, name, pure=False).result()
        return found


class Spread:
    """One run."""

    def __init__(self, placed: Placed, settings: Settings) -> None:
        self.client, self.placed, self.settings = placed.client, placed, settings
        self.holders = placed.holders()
        self.addresses = list(self.holders)
        name = uuid.uuid4().hex
        self.run = Run(name, self.addresses[0], len(self.addresses), settings.patience)
        self.futures: list[Any] = []
        self.small: dict[int, Any] = {}
        self.notes = 0
        self.interrupting = False
        self.complete = False

    def result(
        self, program: Callable[..., Any], args: tuple[Any, ...], begun: Mapping[str, Any] | None, note: OnState
    ) -> list[Member]:
        """Run the program to its end. Raises Lost, ClusterError."""
        finished = False
        try:
            self._open()
            self._submit(program, args, begun)
            outcomes = self._watch(note)
            finished = True
        finally:
            self._close(finished)
        return [self._member(rank, outcome) for rank, outcome in enumerate(outcomes)]

    def _open(self) -> None:
        """Make the hub, and see that all workers have this library. Raises ClusterError, Lost."""
        try:
            found = ask(self.client, "run", opened, self.run, workers=self.addresses, timeout=self.settings.patience)
        except ImportError as error:
            raise ClusterError(f"the workers cannot import this library: install it there, too ({error})") from error
        except TimeoutError:
            raise Lost("a worker does not answer", self._silent(), hung=True) from None
        except (OSError, KeyError) as error:  # KeyError: the scheduler knows no such worker any more
            workers_of(self.client, self.settings)
            raise Lost(f"a worker is gone: {error}", ()) from None
        here = built_in_version()
        for address, version in found.items():
            if version != here:
                raise ClusterError(f"the worker {address} has version {version} of this library, and here is {here}")

    def _silent(self) -> list[str]:
        """The workers that do not answer when they are asked one by one."""
        silent = []
        for address in self.addresses:
            try:
                ask(self.client, "run", built_in_version, workers=[address], timeout=self.settings.patience)
            except (OSError, TimeoutError, KeyError):
                silent.append(address)
        return silent

    def _submit(self, program: Callable[..., Any], args: tuple[Any, ...], begun: Mapping[str, Any] | None) -> None:
        """A task for each member, on its worker and on no other."""
        starts, lengths = self.placed.rows.starts, self.placed.lengths
        for rank, (address, numbers) in enumerate(self.holders.items()):
            where = [(k, starts[k], lengths[k]) for k in numbers]
            parts = [self.placed.parts(k) for k in numbers]
            pinned = {"workers": [address], "allow_other_workers": False, "pure": False, "retries": 0}
            told = (self.run, rank, where, parts, program, args, begun)
            self.futures.append(self.client.submit(member, *told, key=f"qpsvm-{rank}-{self.run.name}", **pinned))

    def _watch(self, note: OnState) -> list[Outcome]:
        """Wait until all members have their results. Raises Lost, ClusterError, QPSVMError."""
        begun = time.monotonic()
        while True:
            wait_a_little([future for rank, future in enumerate(self.futures) if rank not in self.small])
            outcomes = self._outcomes()
            there = workers_of(self.client, self.settings)
            self._look(note, there, time.monotonic() - begun)
            if len(outcomes) == len(self.addresses):
                if noted() and not self.interrupting:  # pressed when there was nothing left to stop: it is not lost
                    raise KeyboardInterrupt
                return [outcomes[rank] for rank in range(len(outcomes))]
            gone = [address for address in self.addresses if address not in there]
            if gone:  # the other members learn it from the hub, or when the run is closed
                raise Lost(f"the worker {', '.join(gone)} is gone", gone)

    def _look(self, note: OnState, there: set[str], waited: float) -> None:
        """Ask the hub for news."""
        if self.run.hub not in there:
            return
        key = noted()
        message = {"op": CLIENT, "run": self.run.name, "since": self.notes, "interrupt": key}
        try:
            found = ask(self.client.scheduler, "broadcast", msg=message, workers=[self.run.hub], on_error="ignore",
                        client=self.client, timeout=self.settings.patience)  # fmt: skip
        except (OSError, TimeoutError):
            return
        report = found.get(self.run.hub)
        if not report:
            return
        self.interrupting = key
        if report["note"] is not None:
            self.notes = report["notes"]
            note(pickle.loads(report["note"]))
        missing = [address for rank, address in enumerate(self.addresses) if rank not in report["joined"]]
        if missing and waited > self.settings.reporting and not self.complete and not self._moving(missing):
            running = ask(self.client, "processing", timeout=self.settings.patience)
            tasks = "; ".join(f"{name}: {', '.join(map(str, running.get(name, ())))}" for name in missing)
            raise ClusterError(
                f"these workers had no thread free in {self.settings.reporting:g} s, and all members have to run at "
                f"the same time ({tasks}): wait for the other tasks, or cancel them"
            )
        self.complete |= not missing

    def _moving(self, missing: Sequence[str]) -> bool:
        """Whether partitions are still on their way to one of these workers."""
        parts = [(name, part) for name in missing for k in self.holders[name] for part in self.placed.parts(k) if part]
        who = ask(self.client, "who_has", [part for _, part in parts], timeout=self.settings.patience)
        return any(name not in who.get(part.key, ()) for name, part in parts)

    def _outcomes(self) -> dict[int, Outcome]:
        """How members have ended, as far as they have: without the vectors that stay with them."""
        for rank, future in enumerate(self.futures):
            if future.status == "error":
                raise self._unexpected(rank, future.exception())
            if future.status == "finished" and rank not in self.small:
                address = self.addresses[rank]
                self.small[rank] = self.client.submit(small_of, future, workers=[address], pure=False)
        wait_a_little(list(self.small.values()))
        outcomes = {rank: future.result() for rank, future in self.small.items() if future.status == "finished"}
        for outcome in outcomes.values():
            if outcome.error is not None:
                raise outcome.error
        self._explain([outcome.stop for outcome in outcomes.values() if outcome.stop is not None])
        return outcomes

    def _unexpected(self, rank: int, error: BaseException) -> BaseException:
        """What to raise for an error that is not the library's: that of a program, or Dask's for a worker that died."""
        from distributed.scheduler import KilledWorker

        address = self.addresses[rank]
        return Lost(f"the worker {address} is gone", [address]) if isinstance(error, KilledWorker) else error

    def _explain(self, stops: Sequence[Stop]) -> None:
        """Raise what members that had no answer say of the reason."""
        for stop in stops:
            if stop.reason == "interrupted":
                raise KeyboardInterrupt
            if stop.reason == "mismatch":
                raise ClusterError(f"internal error: the members differ; please report it: {stop.words}")
            if stop.reason == "cancelled":
                raise ClusterError("the tasks of this solve were cancelled on the cluster")
        lost = [stop for stop in stops if stop.reason in ("closed", "silent")]
        if lost:  # and not "failed": that member says itself what has failed
            ranks = sorted({rank for stop in lost for rank in stop.ranks})
            words = ", ".join(dict.fromkeys(stop.words for stop in lost))
            hung = any(stop.reason == "silent" for stop in lost)
            raise Lost(words, [self.addresses[rank] for rank in ranks], hung)

    def _close(self, finished: bool) -> None:
        """Take the hub away, and end members that still run."""
        if not finished and self.futures:
            with suppress(OSError, TimeoutError, RuntimeError):  # of whatever is left of the cluster
                ask(self.client, "cancel", self.futures, force=True, timeout=self.settings.patience)
        with suppress(OSError, TimeoutError, RuntimeError, KeyError):
            if self.run.hub in workers_of(self.client, self.settings):
                ask(self.client, "run", closed, self.run.name, workers=[self.run.hub], on_error="return",
                    timeout=self.settings.patience)  # fmt: skip

    def _member(self, rank: int, outcome: Outcome) -> Member:
        assert outcome.returned is not None
        numbers = self.holders[self.addresses[rank]]
        starts = [self.placed.rows.starts[k] for k in numbers]
        return Member(outcome.returned.small, numbers, starts, outcome.messages, outcome.sent_bytes, outcome.seconds,
                      tuple(outcome.returned.rows), self.futures[rank])  # fmt: skip


def wait_a_little(futures: Sequence[Any]) -> None:
    """Wait for futures to end, one way or another; not for long."""
    from distributed import CancelledError, wait

    with suppress(TimeoutError, CancelledError):
        wait(futures, timeout=LOOK)


def workers_of(client: Any, settings: Settings) -> set[str]:
    """The workers that the scheduler knows. Raises ClusterError."""
    try:
        return set(ask(client, "nthreads", timeout=settings.patience))
    except (OSError, TimeoutError) as error:
        raise ClusterError(f"the scheduler of the Dask cluster is gone: {error}") from None


def alive(client: Any) -> bool:
    """Whether a client has its scheduler."""
    return bool(client.status == "running")


def ask(what: Any, method: str, *args: Any, timeout: float, client: Any = None, **options: Any) -> Any:
    """Call a method of a client, or of its scheduler, and wait no longer than so many seconds."""
    whose = client if client is not None else what
    if not alive(whose):
        raise ConnectionError("the client is not connected")

    async def called() -> Any:
        return await getattr(what, method)(*args, **options)

    return whose.sync(called, callback_timeout=timeout)
