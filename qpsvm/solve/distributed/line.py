"""A member of a communicator on a Dask worker: its line to the hub, and the communicator that its program sees.

The program runs in a thread of the worker, the line in the event loop of the worker's server, and messages go through
Dask's own connections. So encryption and whatever else the cluster has set for them holds, and no address is kept.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qpsvm.base.errors import QPSVMError
from qpsvm.base.resources.communicator import Communicator, Way
from qpsvm.solve.distributed.hub import MEMBERS, Hub, Message, Silence, Stop, beating, hubs_of

#: Seconds between two looks whether the worker that a thread waits on is still there.
LOOK = 1.0


class SolveStopped(QPSVMError, RuntimeError):
    """Why a member gets no answer. It stays within the cluster; the client makes of it what the caller sees."""

    def __init__(self, why: Stop) -> None:
        super().__init__(why.words)
        self.why = why

    def __reduce__(self) -> tuple[type[SolveStopped], tuple[Stop]]:
        return type(self), (self.why,)


class Line:
    """A member's line to the hub.

    worker: The one that the member runs on.
    key: Of the member's task there.
    hub: Address of the hub's worker.
    run: Name of the run.
    patience: Seconds that the hub's process may be silent.
    """

    def __init__(self, worker: Any, key: Any, hub: str, run: str, rank: int, patience: float) -> None:
        self.worker, self.key, self.address = worker, key, hub
        self.run, self.rank, self.patience = run, rank, patience
        self.loop: asyncio.AbstractEventLoop = worker.loop.asyncio_loop
        self.hub: Hub | None = None
        self.comm: Any = None
        self.silence = Silence(patience)
        self.waiting: concurrent.futures.Future[Message] | None = None
        self.stopped: Stop | None = None
        self.sent_bytes = 0
        self.over = False
        self.tasks: list[asyncio.Task[Any]] = []

    # --- called in the member's thread ---

    def open(self) -> None:
        """Tell the hub that this member is there."""
        self._wait(asyncio.run_coroutine_threadsafe(self._open(), self.loop))

    def ask(self, message: Message) -> Message:
        """The hub's answer. Raises SolveStopped."""
        answer: concurrent.futures.Future[Message] = concurrent.futures.Future()
        self.loop.call_soon_threadsafe(self._ask, message, answer)
        told: Message = self._wait(answer)
        if told["kind"] == "stop":
            raise SolveStopped(_stop_of(told))
        return told

    def say(self, message: Message) -> None:
        """Something that has no answer."""
        self.loop.call_soon_threadsafe(self._say, message)

    def close(self, failed: bool) -> None:
        """Leave the communicator."""
        self._wait(asyncio.run_coroutine_threadsafe(self._close(failed), self.loop))

    def _wait(self, answer: concurrent.futures.Future[Any]) -> Any:
        while True:
            try:
                return answer.result(LOOK)
            except concurrent.futures.TimeoutError:
                if answer.done():
                    return answer.result()
                if self.loop.is_closed() or not self.loop.is_running():
                    raise SolveStopped(Stop("closed", (self.rank,), "the worker has ended")) from None

    # --- called in the event loop ---

    async def _open(self) -> None:
        if self.worker.address == self.address:
            self.hub = hubs_of(self.worker).get(self.run)
            if self.hub is None:
                raise SolveStopped(Stop("cancelled", (), "this run has ended"))
            self.hub.join(self.rank, self._heard)
        else:
            from distributed.comm import connect

            try:
                self.comm = await connect(self.address, **self.worker.connection_args)
                hello = {"op": MEMBERS, "run": self.run, "rank": self.rank, "reply": False}
                self.sent_bytes += await self.comm.write(hello)
            except OSError as error:
                words = f"member {self.rank} does not reach member 0: {error}"
                raise SolveStopped(Stop("closed", (0,), words)) from None
            self.tasks.append(asyncio.ensure_future(self._listen()))
        self.tasks.append(asyncio.ensure_future(beating(self.patience, self._beat)))

    async def _listen(self) -> None:
        try:
            while True:
                await self._heard(await self.comm.read())
        except OSError:
            self._stop(Stop("closed", (0,), "the connection to member 0 broke"))

    async def _heard(self, message: Message) -> None:
        self.silence.ended()
        if message["kind"] == "stop":
            self._stop(_stop_of(message))
        elif message["kind"] == "told" and self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            waiting.set_result(message)

    def _ask(self, message: Message, answer: concurrent.futures.Future[Message]) -> None:
        self.waiting = answer
        if self.stopped is not None:
            self._stop(self.stopped)
        else:
            self._say(message)

    def _say(self, message: Message) -> None:
        if self.hub is not None:
            self.hub.take(self.rank, message)
        elif not self.over:
            self.tasks = [task for task in self.tasks if not task.done()]
            self.tasks.append(asyncio.ensure_future(self._write(message)))

    async def _write(self, message: Message) -> None:
        try:
            self.sent_bytes += await self.comm.write(message)
        except OSError:
            self._stop(Stop("closed", (0,), "the connection to member 0 broke"))

    def _stop(self, why: Stop) -> None:
        """There will be no answer any more, neither to the question that waits nor to another."""
        if self.over:
            return
        self.stopped = self.stopped or why
        if self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            waiting.set_result(Hub._stop_message(self.stopped))

    def _beat(self, held_up: bool) -> bool:
        """Say that this process is there; look whether the hub is, and whether anybody waits for the result."""
        task = self.worker.state.tasks.get(self.key)
        if task is None or task.state in ("cancelled", "resumed"):
            self._stop(Stop("cancelled", (), "nobody waits for the result any more"))
        if held_up:
            self.silence.ended()
        elif self.hub is None and self.silence.too_long:
            self._stop(Stop("silent", (0,), f"nothing was heard of member 0 for {self.patience:g} s"))
        self._say({"kind": "alive"})
        return not self.over

    async def _close(self, failed: bool) -> None:
        message = {"kind": "leave", "failed": failed}
        if self.hub is not None:
            self.hub.take(self.rank, message)
        else:
            await self._write(message)
        self.over = True
        for task in self.tasks:
            task.cancel()
        if self.comm is not None:
            await self.comm.close()


class ClusterCommunicator(Communicator):
    """One member of a communicator whose members are tasks on the workers of a Dask cluster.

    messages: How many questions this member has asked.
    """

    def __init__(self, line: Line, rank: int, size: int, press: Callable[[], None]) -> None:
        self.line, self.rank, self.size, self.press = line, rank, size, press
        self.messages = 0

    @property
    def sent_bytes(self) -> int:
        """Bytes that this member has sent to the others, by Dask's own count of what it has written."""
        return self.line.sent_bytes

    def note(self, state: Mapping[str, Any]) -> None:
        """Keep a small state, the same on all members, for the client: what a run begins with that follows a fault."""
        if self.serial and self.line.stopped is not None:
            raise SolveStopped(self.line.stopped)
        if self.serial and self.line.hub is not None and self.line.hub.interrupted:
            self.press()
        if self.rank == 0:
            self.line.say({"kind": "note", "state": pickle.dumps(dict(state), pickle.HIGHEST_PROTOCOL)})

    def _told(self, way: Way, values: list[Any]) -> list[Any]:
        self.messages += 1
        packed = pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
        form = " ".join(_form(way, value) for value in values)
        question = {"kind": "ask", "number": self.messages, "way": way, "form": form, "values": packed}
        told = self.line.ask(question)
        if told["interrupted"]:  # after the same question on all members, so that all see it at the same place
            self.press()
        found: list[Any] = pickle.loads(told["values"])
        return found


def _stop_of(message: Message) -> Stop:
    return Stop(message["reason"], tuple(message["ranks"]), message["words"])


def _form(way: Way, value: Any) -> str:
    """What has to be the same of the members' values for them to be combined, in short words."""
    if way == "broadcast":
        return "any"
    shape = np.shape(value)
    return f"{shape[1:] if way == 'allgather' else shape}"
