"""Where the members of a communicator meet: on the first member's worker, in the event loop of that worker's server.

A member says, in one message, which of its questions this is, what is to be made of the values, and the values. The hub
waits for all, combines them in the order of the members, and answers each. Whatever else ends a solve is noticed here:
a connection that breaks, a process that does not answer, a member that asks for something else than the others.

    hello       a member's first message, by which its connection comes to the hub
    ask         number, way, form (of each value), values (packed): a question, answered when all have asked it
    note        a small state, kept for the client
    leave       the member has its result, or has failed
    alive       said now and then by each process, whatever its threads compute
    told, stop  the hub's answers: what is made of the values; or why there will be no answer
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from qpsvm.base.resources.communicator import combined

Message: TypeAlias = dict[str, Any]
#: Sends a message to a member.
Voice: TypeAlias = Callable[[Message], Awaitable[Any]]
#: What workers call the messages of members, and those of the client, in their tables of handlers.
MEMBERS, CLIENT = "qpsvm-member", "qpsvm-client"
#: How often a process says that it is there, in its patience: several may be late before the patience is at an end.
BEATS = 10
#: Times the longest silence so far that a process may be silent: a call that holds the interpreter silences it.
SILENCES = 4.0

#: Why a solve has ended before its result: a connection broke; a process was silent; members asked for different
#: things; a member's program raised an error; nobody waits for the result any more; the caller has interrupted it.
Reason = Literal["closed", "silent", "mismatch", "failed", "cancelled", "interrupted"]


@dataclass(frozen=True)
class Stop:
    """Why a communicator has no answer, and which members it is about."""

    reason: Reason
    ranks: tuple[int, ...]
    words: str


@dataclass
class Silence:
    """How long somebody has said nothing."""

    patience: float
    heard: float = field(default_factory=time.monotonic)
    longest: float = 0.0

    def ended(self) -> None:
        """Something has been said."""
        now = time.monotonic()
        self.longest, self.heard = max(self.longest, now - self.heard), now

    @property
    def too_long(self) -> bool:
        """Whether the patience is at an end."""
        return time.monotonic() - self.heard > max(self.patience, SILENCES * self.longest)


async def beating(patience: float, beat: Callable[[bool], bool]) -> None:
    """Call something so often that a process is heard in time, until it answers False.

    It is told whether this process was itself held up, in which case the silence of the others means nothing.
    """
    step = patience / BEATS
    before = time.monotonic()
    going = True
    while going:
        await asyncio.sleep(step)
        now = time.monotonic()
        going, before = beat(now - before > 0.5 * patience), now


class Hub:
    """The meeting place of one communicator. Everything here runs in the event loop of its worker.

    size: Members.
    patience: Seconds after which a process that says nothing counts as lost.
    """

    def __init__(self, size: int, patience: float) -> None:
        self.size, self.patience = size, patience
        self.voices: dict[int, Voice] = {}
        self.silences: dict[int, Silence] = {}
        self.asked: dict[int, Message] = {}
        self.left: set[int] = set()
        self.stopped: Stop | None = None
        self.interrupted = False
        self.note: bytes | None = None
        self.notes = 0
        self.busy: set[asyncio.Task[Any]] = set()

    def join(self, rank: int, voice: Voice) -> None:
        """A member is there; with the first of them the hub begins to listen for silence."""
        self.voices[rank] = voice
        self.silences[rank] = Silence(self.patience)
        if self.stopped is not None:
            self._send(rank, self._stop_message(self.stopped))
        elif len(self.voices) == 1:
            self._keep(beating(self.patience, self._beat))

    def take(self, rank: int, message: Message) -> None:
        """What a member says."""
        self.silences[rank].ended()
        match message["kind"]:
            case "ask":
                self._ask(rank, message)
            case "note":
                self.note, self.notes = message["state"], self.notes + 1
            case "leave":
                self.left.add(rank)
                if message["failed"]:
                    self.stop(Stop("failed", (rank,), f"member {rank} has failed"))
                elif self.asked:
                    self._differ()

    def gone(self, rank: int) -> None:
        """The connection to a member is closed."""
        if rank not in self.left:
            self.stop(Stop("closed", (rank,), f"the connection to member {rank} broke"))

    def stop(self, why: Stop) -> None:
        """Tell all members that there will be no answer; the first reason counts."""
        if self.stopped is None:
            self.stopped = why
            for rank in self.voices:
                self._send(rank, self._stop_message(why))

    def report(self, since: int) -> Message:
        """What the client wants to know: who is there, the note if it is newer, and why there is no result."""
        note = self.note if self.notes > since else None
        return {"joined": sorted(self.voices), "left": sorted(self.left), "notes": self.notes, "note": note}

    def _ask(self, rank: int, message: Message) -> None:
        if self.stopped is not None:
            self._send(rank, self._stop_message(self.stopped))
            return
        self.asked[rank] = message
        questions = {(said["number"], said["way"], said["form"]) for said in self.asked.values()}
        if len(questions) > 1 or self.left:
            self._differ()
        elif len(self.asked) == self.size:
            said = [pickle.loads(self.asked[member]["values"]) for member in range(self.size)]
            self.asked.clear()
            try:
                values = pickle.dumps(combined(message["way"], said), pickle.HIGHEST_PROTOCOL)
            except (ValueError, TypeError) as error:  # vectors of different lengths, say
                words = f"{message['way']} of question {message['number']}: {error}"
                self.stop(Stop("mismatch", tuple(range(self.size)), words))
                return
            told = {"kind": "told", "number": message["number"], "values": values, "interrupted": self.interrupted}
            for member in self.voices:
                self._send(member, told)

    def _differ(self) -> None:
        """Stop, because the members do not ask for the same thing."""
        said = [
            f"member {rank} asks question {asked['number']}, {asked['way']} of {asked['form']}"
            for rank, asked in sorted(self.asked.items())
        ] + [f"member {rank} has left" for rank in sorted(self.left)]
        self.stop(Stop("mismatch", tuple(range(self.size)), "; ".join(said)))

    def _beat(self, held_up: bool) -> bool:
        """Say that this process is there, and look who has been silent; whether to go on."""
        silent = []
        for rank in self.voices.keys() - self.left:
            self._send(rank, {"kind": "alive"})
            if held_up:
                self.silences[rank].ended()
            elif self.silences[rank].too_long:
                silent.append(rank)
        if silent:
            words = f"nothing was heard of member {', '.join(map(str, silent))} for {self.patience:g} s"
            self.stop(Stop("silent", tuple(silent), words))
        return self.stopped is None and len(self.left) < self.size

    @staticmethod
    def _stop_message(why: Stop) -> Message:
        return {"kind": "stop", "reason": why.reason, "ranks": list(why.ranks), "words": why.words}

    def _send(self, rank: int, message: Message) -> None:
        if rank not in self.left:
            self._keep(self._sent(rank, message))

    async def _sent(self, rank: int, message: Message) -> None:
        try:
            await self.voices[rank](message)
        except OSError:  # the connection is closed, which whoever reads from it has noticed
            self.gone(rank)

    def _keep(self, coroutine: Any) -> None:
        """Run something in the loop. A task that nobody holds may be collected before its end."""
        task = asyncio.ensure_future(coroutine)
        self.busy.add(task)
        task.add_done_callback(self.busy.discard)


def hubs_of(worker: Any) -> dict[str, Hub]:
    """The hubs of a worker, by the name of the run; it listens for members and client from the first call on."""
    if MEMBERS not in worker.handlers:
        hubs: dict[str, Hub] = {}

        async def members(comm: Any, run: str, rank: int) -> Any:
            from distributed.core import Status

            hub = hubs.get(run)
            if hub is None:
                await comm.write(Hub._stop_message(Stop("cancelled", (), "this run has ended")))
                return Status.dont_reply
            hub.join(rank, comm.write)
            try:
                while True:
                    hub.take(rank, await comm.read())
            except OSError:  # closed, by the member at its end or by whatever has ended the member
                hub.gone(rank)
            return Status.dont_reply

        def client(run: str, since: int, interrupt: bool = False) -> Message | None:
            hub = hubs.get(run)
            if hub is None:
                return None
            hub.interrupted |= interrupt
            return hub.report(since)

        members.hubs = hubs  # type: ignore[attr-defined]
        worker.handlers |= {MEMBERS: members, CLIENT: client}
    found: dict[str, Hub] = worker.handlers[MEMBERS].hubs
    return found
