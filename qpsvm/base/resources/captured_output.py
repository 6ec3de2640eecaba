"""Capture output that compiled solvers print although it was switched off (`capture_output`).

OSQP and SCS write to Python's `sys.stdout`, which is replaced by a stream that keeps the text of capturing threads and
passes on that of others. HiGHS writes to the file descriptors of the process, which are redirected to a file. Meanwhile
`print` of other threads takes a detour to the original target, but other output, as of a child process, is captured.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any

from qpsvm.base.resources.messages import LOGGER

#: The streams of `sys`, and their descriptors.
STREAMS = {"stdout": 1, "stderr": 2}


class CapturedOutput:
    """The captured text without blank lines at its ends; empty until the block has ended."""

    text = ""

    @property
    def first_line(self) -> str:
        """The first line, with ": " in front, to end a message; "" if nothing was printed."""
        return f": {self.text.splitlines()[0]}" if self.text else ""


@contextmanager
def capture_output(name: str, verbose: bool = False, descriptors: bool = False) -> Iterator[CapturedOutput]:
    """Capture what this thread prints, and with `descriptors` what compiled code prints anywhere in the process.

    With `verbose` nothing is captured. Captured text is logged at DEBUG, as printed by the named solver.
    """
    captured = CapturedOutput()
    if verbose:
        yield captured
        return
    streams = _start_capture(descriptors)
    try:
        yield captured
    finally:
        captured.text = _end_capture(streams, descriptors).strip()
        if captured.text:
            LOGGER.debug("%s printed: %s", name, captured.text)


class _CapturingStream:
    """Replacement of a stream of `sys`, which collects the output of capturing threads, and passes on that of others.

    stream: The original; None in a program without a console.
    detour: Stream to the original target of the descriptor, while that is redirected.
    texts: Captured text by thread, one buffer per nested block, the innermost last.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.detour: IO[str] | None = None
        self.texts: dict[int, list[io.StringIO]] = {}

    def write(self, text: str) -> int:
        """Write the text, or collect it if this thread captures."""
        buffers = self.texts.get(threading.get_ident())
        if buffers:
            return buffers[-1].write(text)
        if self.stream is None:
            return len(text)
        if self.detour is None:
            return self.stream.write(text)  # type: ignore[no-any-return]
        with _LOCK:  # otherwise another thread may close the detour
            return (self.detour or self.stream).write(text)

    def flush(self) -> None:
        """Flush the original stream."""
        if threading.get_ident() not in self.texts and self.stream is not None:
            with _LOCK:
                (self.detour or self.stream).flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Redirection:
    """Redirection of descriptors 1 and 2 to a file, as long as any thread captures them; `saved` has the originals."""

    def __init__(self) -> None:
        self.n_captures = 0
        self.saved: dict[int, int] = {}
        self.file: IO[bytes] | None = None

    def enter(self) -> None:
        """Begin the capture of a thread; the first one redirects."""
        self.n_captures += 1
        if self.n_captures > 1:
            return
        for name in STREAMS:
            with suppress(AttributeError, OSError, ValueError):  # no stream, or a closed one
                getattr(sys, name).flush()
        _flush_c()
        with suppress(OSError):  # no space for a file: nothing is captured
            self.file = tempfile.TemporaryFile()  # noqa: SIM115
            for descriptor in STREAMS.values():
                with suppress(OSError):  # a closed descriptor, as without a console
                    self.saved[descriptor] = os.dup(descriptor)
                    os.dup2(self.file.fileno(), descriptor)

    def leave(self) -> str:
        """End the capture of a thread; the last one restores the descriptors and gets all text, others ""."""
        self.n_captures -= 1
        if self.n_captures:
            return ""
        _flush_c()
        for descriptor, saved in self.saved.items():
            with suppress(OSError):
                os.dup2(saved, descriptor)
            os.close(saved)
        self.saved = {}
        if self.file is None:
            return ""
        with self.file as file:
            self.file = None
            file.seek(0)
            return file.read().decode("utf-8", "replace")


_LOCK = threading.RLock()
_REDIRECTION = _Redirection()


def _start_capture(descriptors: bool) -> list[_CapturingStream]:
    """Replace the streams, and redirect the descriptors if asked; return the replacements."""
    with _LOCK:
        if descriptors:
            _REDIRECTION.enter()
        streams = []
        for name, descriptor in STREAMS.items():
            stream = getattr(sys, name)
            if not isinstance(stream, _CapturingStream):
                stream = _CapturingStream(stream)
                setattr(sys, name, stream)
            stream.texts.setdefault(threading.get_ident(), []).append(io.StringIO())
            if descriptors and stream.detour is None and descriptor in _REDIRECTION.saved:
                stream.detour = _duplicate_stream(stream.stream, descriptor, _REDIRECTION.saved[descriptor])
            streams.append(stream)
        return streams


def _duplicate_stream(stream: Any, descriptor: int, saved: int) -> IO[str] | None:
    """Return a stream to the former target of a redirected descriptor; None if it does not write to the descriptor."""
    try:
        if stream.fileno() != descriptor:
            return None
        return os.fdopen(os.dup(saved), "w", 1, stream.encoding, stream.errors)
    except (AttributeError, OSError, ValueError):  # no descriptor, or closed
        return None


def _end_capture(streams: list[_CapturingStream], descriptors: bool) -> str:
    """Restore what no thread captures any more; return the text of this block."""
    thread = threading.get_ident()
    with _LOCK:
        texts = []
        for stream in streams:
            texts.append(stream.texts[thread].pop().getvalue())
            if not stream.texts[thread]:
                del stream.texts[thread]
        if descriptors:
            texts.append(_REDIRECTION.leave())
        for stream in streams:
            if stream.detour is not None and not _REDIRECTION.n_captures:
                detour = stream.detour
                stream.detour = None
                with suppress(OSError, ValueError):
                    detour.close()
            for name in STREAMS:
                if getattr(sys, name) is stream and not stream.texts:
                    setattr(sys, name, stream.stream)
        return "".join(texts)


@cache
def _c_library() -> Any:
    """Return the C library; None if it is not found."""
    import ctypes  # imported late: few solvers need it

    try:
        return ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    except (OSError, TypeError):
        return None


def _flush_c() -> None:
    """Write what C functions have buffered to the descriptors."""
    library = _c_library()
    if library is not None:
        library.fflush(None)
