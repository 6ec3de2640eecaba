"""A machine over a Dask collection, solved where its rows are: what the members are told, and what comes back.

The members run `attempt` together (`member`). Here is only what does not depend on the number of rows: the outline of
the machine, the plane, the values, the gap. Machines that the one solver does not take, or whose rows belong
together, are left to `solve` in this process, to which the partitions come one after the other.

After a worker was lost: without it, and with its partitions made again elsewhere.

One program on all workers that hold rows: started together, watched, and begun again where a worker is lost.

Each member runs as a task on its worker. Where a worker dies or hangs, the others stop within seconds, Dask makes its
partitions again on those that are left, and the program begins anew at the last state that it has noted. An error that
the program itself raises ends the run, as itself.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.backends import RESUMABLE, get
from qpsvm.backends.abilities import machine_traits
from qpsvm.base.arrays.frozen import bare, made
from qpsvm.base.errors import ClusterError
from qpsvm.base.resources.progress import held, noted, say, say_progress
from qpsvm.data.samples import Samples, SpreadSamples
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameters import Form
from qpsvm.machines.problem.replaced import outlined
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.choice import Request
from qpsvm.solve.distributed.member import Order, SpreadResult, cut, in_order, solve_share
from qpsvm.solve.distributed.run import (
    LOOK,
    Lost,
    Member,
    OnState,
    Placed,
    Settings,
    Spread,
    ask,
    check_parts,
    chosen_client,
    place,
    wait_a_little,
    workers_of,
)


def left_out(client: Any, lost: Lost, settings: Settings) -> None:
    """See that the scheduler does without the lost workers: those that hang it has to be told of."""
    end = time.monotonic() + settings.patience
    while not lost.hung and time.monotonic() < end:
        if not set(lost.addresses) & workers_of(client, settings):
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
    """Wait until all partitions are in memory, on whatever workers there are. Raises ClusterError, DataError."""
    client, futures = placed.client, placed.futures()
    since, before, staffed = time.monotonic(), -1, time.monotonic()
    while True:
        if noted():
            raise KeyboardInterrupt  # nobody runs whom it could stop
        there = workers_of(client, settings)
        wait_a_little(futures)
        made = sum(future.status == "finished" for future in futures)
        check_parts(futures, len(placed.features))
        if any(future.status == "cancelled" for future in futures):
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


#: One run at a time on each cluster: two, each with half of the threads it needs, would wait for each other for ever.
_turns: weakref.WeakKeyDictionary[Any, threading.Lock] = weakref.WeakKeyDictionary()


def spread(
    placed: Placed,
    program: Callable[..., Any],
    *args: Any,
    on_state: OnState | None = None,
    begun: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> list[Member]:
    """Run a program on every worker that holds rows, and answer with what each has returned."""
    settings = settings or Settings()
    state = dict(begun) if begun is not None else None

    def note(found: Mapping[str, Any]) -> None:
        nonlocal state
        state = dict(found)
        if on_state is not None:
            on_state(found)

    faults: list[str] = []
    try:
        with held(), _turns.setdefault(placed.client, threading.Lock()):
            while True:
                placed_again(placed, settings)
                run = Spread(placed, settings)
                try:
                    return run.result(program, args, state, note)
                except Lost as lost:
                    faults.append(str(lost))
                    if len(faults) > settings.restarts:
                        raise ClusterError(f"begun again {settings.restarts} times: {'; '.join(faults)}") from None
                    left_out(placed.client, lost, settings)
    except ClusterError as error:
        error.state = state
        raise


def is_spread(problem: Problem) -> bool:
    """Whether the samples of a problem are held by a cluster."""
    return isinstance(problem.samples, SpreadSamples) and chosen_client(problem.samples.X.collection) is not None


def on_members(problem: Problem, backend: str, form: Form | None, request: Request) -> bool:
    """Whether the workers that hold a problem's samples are to solve it; why not, where they hold them, is said."""
    if not is_spread(problem):
        return False
    why = refusal(problem, backend, form, request)
    if why is not None:
        say(f"solved in this process, to which the rows come: {why}", request.verbose)
    return why is None


def refusal(problem: Problem, backend: str, form: Form | None, request: Request) -> str | None:
    """Why the members cannot solve a problem as a communicator; None where they can."""
    if backend not in ("auto", RESUMABLE) or form not in (None, "dual"):
        return f"{backend} takes all rows in one process"
    if not problem.space.is_linear or problem.constraints:
        return "the kernel is not linear" if not problem.constraints else "linear constraints are not spread"
    if request.start is not None:
        return "a start has an entry for each row"
    order = outlined(problem)
    d = problem.X.shape[1]
    few = Samples(np.zeros((2, d)), np.array([-1.0, 1.0]), np.ones(2), problem.samples.classes)
    traits = machine_traits(order.over(few))
    if not get(RESUMABLE).abilities.takes(traits, problem.n, "dual"):
        return f"{type(problem).__name__} has no solver that runs on several workers"
    return None


def solve_spread(
    problem: Problem,
    request: Request,
    keep: Callable[[Mapping[str, Any]], None] | None = None,
    begun: Mapping[str, Any] | None = None,
) -> SVMResult:
    """Solve a problem on the workers that hold its rows. Raises ClusterError."""
    samples = problem.samples
    assert isinstance(samples, SpreadSamples)
    order = Order(
        outlined(problem), samples.X.d, samples.classes, samples.factors, samples.feature_names, request.tol,
        None if request.time_limit is None else request.clock.left, request.max_iter, request.options,
    )  # fmt: skip

    def heard(state: Mapping[str, Any]) -> None:
        say(_progress(state), request.verbose)
        say_progress(state["stage"], float(state["gap"]))
        if keep is not None:
            keep(state)

    placed = place(samples.X)
    members = spread(placed, solve_share, order, on_state=heard, begun=begun)
    gather = _gatherer(members, placed.lengths)
    return made(SpreadResult, **members[0].small, gather=gather, problem=bare(problem))


def _progress(state: Mapping[str, Any]) -> str:
    """A state of the solver in a line."""
    return f"on the cluster: {state['stage']}, gap {state['gap']:.1e}"


def _gatherer(members: list[Member], lengths: list[int]) -> Callable[[str], NDArray[Any] | None]:
    """What brings a vector over all rows here, by its name; None where the members have no such vector."""

    def gather(name: str) -> NDArray[Any] | None:
        pieces: list[tuple[int, NDArray[Any]]] = []
        for member in members:
            if name not in member.names:
                return None
            sizes = [lengths[number] for number in member.numbers]
            pieces += zip(member.starts, cut(member.rows(name), sizes), strict=True)
        return in_order(pieces)

    return gather


__all__ = ["is_spread", "on_members", "solve_spread", "spread"]
