"""Run compiled code that cannot be stopped in a child process, which can be stopped (`run_in_child`).

A compiled loop polls neither Ctrl-C nor a time limit, and a thread cannot be stopped from outside. A process can be
killed at any time. On Linux the child is a fork: it starts within milliseconds and reads the parent's arrays without a
copy. On other systems forks are unsafe or do not exist, so the child is a fresh interpreter, which takes a second and a
copy of the arrays. The child ignores Ctrl-C, which the parent handles, and ends when its parent does. Its result is
lost when it is killed, unless it has registered an action that ends its call early (`on_stop_request`).
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

#: Seconds between two checks of the clock and of Ctrl-C.
POLL_SECONDS = 0.02
#: Program of a fresh interpreter.
FRESH = "import sys; sys.path[:] = {path!r}; from qpsvm.base.resources.child_process import serve; serve()"


class _ChildState:
    """State of this process as a child."""

    is_child = False
    stop_requested = False
    stop_action: Callable[[], None] | None = None


def is_child() -> bool:
    """Return whether this process is a child that makes one call."""
    return _ChildState.is_child


def on_stop_request(action: Callable[[], None]) -> None:
    """Register the action by which a child ends its call early when the parent requests a stop.

    It runs at once if a stop was already requested. It may run twice, and must be idempotent.
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
    """Call a function in a child process; return None if it is stopped. Raises SolverError, OSError, Exception."""
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
    """Follow the parent: stop early when it sends something; exit when it has closed its end or died."""
    with suppress(OSError, EOFError):
        while read_message():
            _ChildState.stop_requested = True
            if _ChildState.stop_action is not None:
                _ChildState.stop_action()
    os._exit(0)


class ForkedProcess:
    """A fork of this process that calls the function and nothing else.

    `is_ready(seconds)`: wait at most that long, and return whether it has ended. `request_stop`: request it to end with
    its best point. `outcome`: return the pickled outcome, once it is ready; empty if the child died. `kill`: kill it,
    if it still runs.
    """

    _is_killed = True  # nothing to kill yet

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        from multiprocessing import Pipe

        self._ours, theirs = Pipe()
        old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # no Ctrl-C between the following lines
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
            signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)

    def _serve(self, function: Callable[..., Any], arguments: tuple[Any, ...], theirs: Any) -> None:
        """Run the call in the child, and exit: it never returns."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._ours.close()
            _ChildState.is_child, _ChildState.stop_requested, _ChildState.stop_action = True, False, None
            threading.Thread(target=_follow_parent, args=(theirs.recv_bytes,), daemon=True).start()
            theirs.send_bytes(_call_to_bytes(function, arguments))
        finally:
            os._exit(0)

    def is_ready(self, seconds: float) -> bool:
        """Return whether there is something to read, or the child has exited: another fork may hold its end open."""
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
        """Kill the child, once; a Ctrl-C meanwhile is raised afterwards."""
        old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
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
            signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)

    def __del__(self) -> None:
        """Kill the child if an interrupt came just before `kill`."""
        if not self._is_killed:
            self.kill()


class FreshInterpreter:
    """A new interpreter, which receives its call by standard input."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise OSError("there is no Python interpreter to start")
        own_group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # so that Ctrl-C does not reach it
        self._process = subprocess.Popen(
            [sys.executable, "-c", FRESH.format(path=sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            **own_group,
        )  # fmt: skip
        self._answer, self._job_sent = b"", False
        self._conversation = threading.Thread(target=self._converse, args=((function, arguments),), daemon=True)
        self._conversation.start()

    def _converse(self, job: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
        job_pipe, outcome_pipe = self._process.stdin, self._process.stdout
        assert job_pipe is not None
        assert outcome_pipe is not None
        with suppress(OSError, ValueError):  # it was killed
            pickle.dump(job, job_pipe)
            job_pipe.flush()
            self._job_sent = True
            self._answer = outcome_pipe.read()

    def is_ready(self, seconds: float) -> bool:
        """Return whether it has closed its output."""
        self._conversation.join(seconds)
        return not self._conversation.is_alive()

    def request_stop(self) -> None:
        """Send a byte, if the job has been sent."""
        if self._job_sent and self._process.stdin is not None:
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
        self._conversation.join()
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
