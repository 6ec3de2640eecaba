"""Run compiled code that cannot be stopped in a child process, which can be stopped (`run_in_child`).

A compiled loop sees neither the interrupt key nor a time limit, and there is no way to end a thread from outside. A
process can be ended at any moment, and with it everything that it holds. On Linux the child is a fork: it begins within
some milliseconds and reads the parent's arrays where they lie. Elsewhere forks are unsafe or do not exist, and it is a
fresh interpreter, which takes a second and a copy of the arrays. The child ignores the interrupt key, which is its
parent's affair, and ends when its parent does. What it has found is lost with it, unless it has said how it can be
hurried to an end of its own (`on_stop_request`).
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from qpsvm.base.errors import SolverError

#: Seconds between two looks at the clock and at the key.
POLL_SECONDS = 0.02
#: What a fresh interpreter is told.
FRESH = "import sys; sys.path[:] = {path!r}; from qpsvm.base.resources.child_process import serve; serve()"


class _ChildState:
    """This process, if it is a child."""

    is_child = False
    stop_requested = False
    stop_action: Callable[[], None] | None = None


def is_child() -> bool:
    """Return whether this process is a child that makes one call."""
    return _ChildState.is_child


def on_stop_request(action: Callable[[], None]) -> None:
    """Register the action by which a child ends its call early when the parent requests a stop.

    At once where that is wanted already; an action that is done twice does no more than once.
    """
    _ChildState.stop_action = action
    if _ChildState.stop_requested:
        action()


def run_in_child(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    is_stopped: Callable[[], bool],
    grace: float = 0.0,
    start: type[ForkedProcess | FreshInterpreter] | None = None,
) -> Any:
    """Call a function in a child process, until it returns or is stopped. Raises SolverError, OSError, Exception."""
    child = (start or (ForkedProcess if sys.platform == "linux" else FreshInterpreter))(function, arguments)
    try:
        while not child.is_ready(POLL_SECONDS):
            if is_stopped():
                child.request_stop()
                if not child.is_ready(grace):
                    return None
                break
        answer = child.outcome()
    finally:
        child.kill()
    if not answer:
        raise SolverError("the process that ran LIBSVM's loop was killed: there may not be enough memory for it")
    good, value = pickle.loads(answer)
    if not good:
        raise value
    return value


def _call_to_bytes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """Return whether the call returned, and what it returned or raised, pickled."""
    try:
        return pickle.dumps((True, function(*arguments)))
    except (ArithmeticError, ValueError, TypeError, MemoryError, OSError) as error:
        return pickle.dumps((False, error))


def _follow_parent(read_message: Callable[[], bytes]) -> None:
    """Act on the parent: request a stop when it sends something; leave when its end is closed or it has died."""
    with suppress(OSError, EOFError):
        while read_message():
            _ChildState.stop_requested = True
            if _ChildState.stop_action is not None:
                _ChildState.stop_action()
    os._exit(0)


class ForkedProcess:
    """A fork of this process that calls the function and nothing else.

    `is_ready(seconds)`: whether it has ended, after waiting at most that long. `stop_action`: request it to end with
    its best point. `outcome`: the pickled outcome, once it is ready; empty if the child died. `kill`: kill it, if it
    still runs.
    """

    _is_killed = True  # there is nothing to end yet

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        from multiprocessing import Pipe

        self._ours, theirs = Pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # none falls between the lines
        try:
            self._pid = os.fork()
            if self._pid == 0:
                self._serve(function, arguments, theirs)
            self._is_killed, self._alive = False, True
        except OSError:
            self._ours.close()
            raise
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _serve(self, function: Callable[..., Any], arguments: tuple[Any, ...], theirs: Any) -> None:
        """Run the child's whole life: it never returns."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._ours.close()
            _ChildState.is_child, _ChildState.stop_requested, _ChildState.stop_action = True, False, None
            threading.Thread(target=_follow_parent, args=(theirs.recv_bytes,), daemon=True).start()
            theirs.send_bytes(_call_to_bytes(function, arguments))
        finally:
            os._exit(0)

    def is_ready(self, seconds: float) -> bool:
        """Return whether there is something to read, or never will be: another fork may hold the child's end open."""
        return self._ours.poll(seconds) or (self._has_exited() and not self._ours.poll(0))

    def request_stop(self) -> None:
        """Send a byte."""
        with suppress(OSError):
            self._ours.send_bytes(b"!")

    def _has_exited(self) -> bool:
        """Return whether the child has exited; one that cannot be waited for was collected by another caller."""
        if self._alive:
            try:
                self._alive = os.waitpid(self._pid, os.WNOHANG)[0] == 0
            except ChildProcessError:
                self._alive = False
        return not self._alive

    def outcome(self) -> bytes:
        """Return the bytes that the child sent; empty if it died."""
        with suppress(OSError, EOFError):
            return self._ours.recv_bytes() if self._ours.poll(0) else b""
        return b""

    def kill(self) -> None:
        """Kill the child, once; an interrupt meanwhile is raised when it is done."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            if self._is_killed:
                return
            self._is_killed = True
            if not self._has_exited():
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(self._pid, 0)
                self._alive = False
            self._ours.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __del__(self) -> None:
        """Kill the child if an interrupt came just before `kill`."""
        if not self._is_killed:
            self.kill()


class FreshInterpreter:
    """A new interpreter, told by its standard input what to call."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise OSError("there is no Python interpreter to start")
        own_group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # the key does not reach it
        self._process = subprocess.Popen(
            [sys.executable, "-c", FRESH.format(path=sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            **own_group,
        )  # fmt: skip
        self._answer, self._told = b"", False
        self._talk = threading.Thread(target=self._converse, args=((function, arguments),), daemon=True)
        self._talk.start()

    def _converse(self, job: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        with suppress(OSError, ValueError):  # it was killed
            pickle.dump(job, to)
            to.flush()
            self._told = True
            self._answer = back.read()

    def is_ready(self, seconds: float) -> bool:
        """Return whether it has closed its output."""
        self._talk.join(seconds)
        return not self._talk.is_alive()

    def request_stop(self) -> None:
        """Send a byte, if the job has been sent."""
        if self._told and self._process.stdin is not None:
            with suppress(OSError, ValueError):
                self._process.stdin.write(b"!")
                self._process.stdin.flush()

    def outcome(self) -> bytes:
        """Return all output."""
        return self._answer

    def kill(self) -> None:
        """Kill the interpreter."""
        self._process.kill()
        self._process.wait()
        self._talk.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def serve() -> None:
    """Read a call in a fresh interpreter, make it, and write the outcome. Output of C code goes to the errors."""
    out = os.dup(1)
    os.dup2(2, 1)
    _ChildState.is_child = True
    function, arguments = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_follow_parent, args=(lambda: os.read(0, 1),), daemon=True).start()
    with os.fdopen(out, "wb") as pipe:
        pipe.write(_call_to_bytes(function, arguments))
    os._exit(0)
