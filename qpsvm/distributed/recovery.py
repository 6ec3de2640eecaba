"""After a worker was lost: without it, and with its partitions made again elsewhere."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from qpsvm.distributed.placing import Placed
from qpsvm.distributed.run import LOOK, Lost, Settings, ask, wait_a_little
from qpsvm.errors import ClusterError, DataError
from qpsvm.resources.interrupts import noted
from qpsvm.sources.cluster_faults import fault_of, is_killed


def left_out(client: Any, lost: Lost, settings: Settings) -> None:
    """See that the scheduler does without the lost workers: those that hang it has to be told of.

    Raises ClusterError.
    """
    end = time.monotonic() + settings.patience
    while not lost.hung and time.monotonic() < end:
        if not set(lost.addresses) & _workers(client, settings):
            return
        time.sleep(LOOK)
    if lost.hung:
        with suppress(OSError, TimeoutError):
            ask(client, "run_on_scheduler", _remove, list(lost.addresses), settings.patience,
                timeout=settings.patience)  # fmt: skip


async def _remove(addresses: list[str], patience: float, dask_scheduler: Any = None) -> None:
    """Remove workers that do not answer, so that their partitions are made again elsewhere; nannies start new ones."""
    for address in addresses:
        worker = dask_scheduler.workers.get(address)
        if worker is not None:
            await dask_scheduler.remove_worker(address, stimulus_id="qpsvm-silent-worker", close=worker.nanny is None)
            if worker.nanny is not None:
                restarting = asyncio.ensure_future(_restarted(dask_scheduler, worker.nanny, patience))
                _restarting.add(restarting)
                restarting.add_done_callback(_restarting.discard)


#: Held, because a task that nobody holds may be collected before its end.
_restarting: set[asyncio.Task[None]] = set()


async def _restarted(scheduler: Any, nanny: str, patience: float) -> None:
    """Ask a nanny to end its silent worker, by force in the end, and to start another."""
    with suppress(OSError, TimeoutError):
        await scheduler.rpc(nanny).restart(timeout=patience, reason="qpsvm-silent-worker")


def placed_again(placed: Placed, settings: Settings) -> None:
    """Wait until all partitions are in memory, on whatever workers there are.

    Raises ClusterError, DataError.
    """
    client, futures = placed.client, placed.futures()
    since, before, staffed = time.monotonic(), -1, time.monotonic()
    while True:
        if noted():
            raise KeyboardInterrupt  # nobody runs whom it could stop
        there = _workers(client, settings)
        wait_a_little(futures)
        made = sum(future.status == "finished" for future in futures)
        for k, future in enumerate(futures):
            if future.status == "error" and is_killed(future.exception()):
                raise fault_of(future.exception())
            if future.status == "error":
                raise DataError(f"partition {k % len(placed.features)} cannot be computed: {future.exception()}")
            if future.status == "cancelled":
                raise ClusterError(_ONLY_THERE)
        if made == len(futures) and _held(placed, settings):
            return
        now = time.monotonic()
        if made != before:
            since, before = now, made
        if there:
            staffed = now
        elif now - staffed > settings.patience:
            raise ClusterError("all workers of the Dask cluster are gone")
        if now - since > settings.recovery:
            raise ClusterError(f"{len(futures) - made} partitions are not in memory after {settings.recovery:g} s")


_ONLY_THERE = (
    "partitions were lost with the worker that held them, and Dask cannot make them again: they were scattered, or "
    "cancelled. Build the collection from files or arrays, so that lost parts are read again"
)


def _held(placed: Placed, settings: Settings) -> bool:
    """Whether some worker holds each partition."""
    who = ask(placed.client, "who_has", placed.futures(), timeout=settings.patience)
    return all(who.get(future.key) for future in placed.futures())


def _workers(client: Any, settings: Settings) -> set[str]:
    """The workers that the scheduler knows.

    Raises ClusterError.
    """
    try:
        return set(ask(client, "nthreads", timeout=settings.patience))
    except (OSError, TimeoutError) as error:
        raise ClusterError(f"the scheduler of the Dask cluster is gone: {error}") from None
