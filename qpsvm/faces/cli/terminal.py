r"""Replace symbols that a terminal or pipe cannot print: ν becomes nu, ≥ becomes >=.

All other characters that the encoding lacks, such as those of a user's labels, are escaped like \xe4, so that different
texts remain different.

`reserve_blas_buffers` makes a lack of memory an error of this library if the address space is limited (`ulimit -v`).

`Ticker` shows the progress of a long command in one line, which is erased when the work ends. If standard error is not
a terminal, nothing is shown, so that piped output is unchanged. With `--verbose` the same text is printed on standard
output, one line every two seconds.

`require_writable` checks output files before the work starts, so that no result is lost.
"""

from __future__ import annotations

import codecs
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from qpsvm.base.errors import FileFormatError
from qpsvm.base.resources.messages import PROGRESS
from qpsvm.base.resources.pulse import PULSE_SECONDS

#: Replacements of the characters outside ASCII that this library prints.
SPELLINGS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps", "ζ": "zeta", "η": "eta", "θ": "theta",
    "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "φ": "phi", "ψ": "psi", "ω": "omega", "ℓ": "ell", "Σ": "Sum", "Δ": "Delta", "Θ": "Theta", "Π": "Pi", "Ω": "Omega",
    "∂": "d", "∇": "grad", "½": "1/2", "¼": "1/4", "√": "sqrt", "∞": "inf", "ᵀ": "'", "′": "'",
    "⁻": "^-", "⁺": "^+", "⁰": "^0", "¹": "^1", "²": "^2", "³": "^3", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7",
    "⁸": "^8", "⁹": "^9", "₀": "_0", "₁": "_1", "₂": "_2", "₃": "_3", "₊": "+", "₋": "-", "ᵢ": "_i",
    "×": "x", "·": "*", "∘": "*", "−": "-", "±": "+-", "∓": "-+", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "≪": "<<",
    "≫": ">>",
    "∈": "in", "∑": "Sum", "→": "->", "←": "<-", "⇔": "<=>", "⇒": "=>", "⟹": "==>", "‖": "||", "⟨": "<", "⟩": ">",
    "…": "...", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "°": "degrees",
    "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ", "€": "EUR", "£": "GBP", "¥": "YEN",
    "∪": "union", "⌊": "floor(", "⌋": ")", "⊥": "is orthogonal to",
    "\N{COMBINING MACRON}": "_mean", "\N{COMBINING TILDE}": "~", "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
}  # fmt: skip
HANDLER = "qpsvm-letters"
#: Bytes that the BLAS of NumPy and that of SciPy together allocate for buffers at their first product (measured, and
#: rounded up).
BLAS_BYTES = 1 << 27
#: Rows and columns of a product that is large enough to need the buffers.
SIDE = 256
#: Seconds between updates of the line, and before the first; shorter work shows none.
REDRAWN = 0.5
#: Characters of a bar.
BAR = 20


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """Spell out unencodable characters, with a blank between them and adjacent words or numbers, or escape them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, written = error.object, ""
    for k in range(error.start, error.end):
        word = SPELLINGS.get(text[k])
        if word is None:
            written += text[k].encode("ascii", "backslashreplace").decode("ascii")
            continue
        if written.endswith("^-"):  # 10⁻⁶ is 10^-6
            word = word.removeprefix("^")
        before = written or text[max(k - 1, 0) : k]
        apart = word[0].isalnum() and before[-1:].isalnum()
        after = SPELLINGS.get(text[k + 1], text[k + 1]) if k + 1 < len(text) else ""
        joined = len(word) > 1 and word[-1].isalnum() and after[:1].isalnum() and text[k + 1] not in SPELLINGS
        written += " " * apart + word + " " * joined
    return written, error.end


codecs.register_error(HANDLER, _spell)


@contextmanager
def spell_unencodable(stream: Any) -> Iterator[None]:
    """While the block runs, the text stream accepts every character.

    A stream that cannot be reconfigured, such as one substituted by a caller, is left unchanged.
    """
    before = getattr(stream, "errors", None)
    if before is None or not hasattr(stream, "reconfigure"):
        yield
        return
    stream.reconfigure(errors=HANDLER)
    try:
        yield
    finally:
        stream.reconfigure(errors=before)


def discard_output() -> None:
    """Discard the rest of standard output, so that the interpreter does not complain when it ends."""
    with suppress(OSError, ValueError):  # in a test, standard output is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _PipeWriter:
    """A text stream that discards what is written after its reader has gone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            return int(self._stream.write(text))
        discard_output()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            discard_output()


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """While the block runs, go on if the reader of standard output closes the pipe: files are still to be written."""
    before = sys.stdout
    if before is not None:
        sys.stdout = _PipeWriter(before)
    try:
        yield
    finally:
        sys.stdout = before


def reserve_blas_buffers() -> None:
    """Let BLAS allocate its buffers early if the address space is limited.

    OpenBLAS ends the process if it cannot allocate its buffers. Once they are allocated, any other request that is too
    large raises `MemoryError`. Raises MemoryError.
    """
    try:
        import resource
    except ImportError:  # not a Unix system: no such limit
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    from scipy.linalg.blas import dgemm

    np.empty(BLAS_BYTES, dtype=np.uint8)
    X = np.ones((SIDE, SIDE))
    X @ X
    dgemm(1.0, X, X)


class Ticker(logging.Handler):
    """Shows, while the block runs, the activity, the elapsed time, and the last progress that a solver logged.

    activity: Description of the activity. It may be changed as the work proceeds.
    verbose: Print on standard output.
    """

    def __init__(self, activity: str, verbose: bool = False) -> None:
        super().__init__(logging.DEBUG)
        self.activity = activity
        self._verbose = verbose
        self._drawn = not verbose and sys.stderr is not None and sys.stderr.isatty()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._last: logging.LogRecord | None = None
        self._count: logging.LogRecord | None = None

    def __enter__(self) -> Ticker:
        self._began = time.perf_counter()
        if self._drawn or self._verbose:
            self._level = PROGRESS.level
            PROGRESS.setLevel(logging.DEBUG)
            PROGRESS.addHandler(self)
            self._thread = threading.Thread(target=self._tick, name="qpsvm line", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            PROGRESS.removeHandler(self)
            PROGRESS.setLevel(self._level)
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Store a record in place of the previous one of its kind."""
        if "total" in record.__dict__:
            self._count = record
        else:
            self._last = record

    def _tick(self) -> None:
        while not self._done.wait(REDRAWN if self._drawn else PULSE_SECONDS):
            seconds = time.perf_counter() - self._began
            told = f", {seconds:.0f} s{_describe_progress(self._last, seconds)}"
            line = f"{self.activity}{told if self._count is None else _draw_bar(self._count, seconds)}"
            if self._drawn:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\033[K{line[:width]}")
                sys.stderr.flush()
            else:
                print(f"qpsvm: {line}", flush=True)


def _describe_progress(record: logging.LogRecord | None, seconds: float) -> str:
    """Describe the progress that a solver logged: pass, gap, and rows per second."""
    if record is None:
        return ""
    said = record.__dict__
    counted = "" if said["passes"] is None else f", pass {said['passes']}"
    speed = ""
    if said["passes"] and said["rows"] and seconds > 0.0:
        speed = f", {_format_large(said['passes'] * said['rows'] / seconds)} rows/s"
    return f", {said['stage']}{counted}, gap {said['gap']:.1e}{speed}"


def _draw_bar(record: logging.LogRecord, seconds: float) -> str:
    """Draw a progress bar of finished solves, with an estimate of the remaining time."""
    done, total = record.__dict__["done"], record.__dict__["total"]
    drawn = "#" * (BAR * done // max(total, 1))
    left = f", about {seconds * (total - done) / done:.0f} s left" if done else ""
    return f" [{drawn:-<{BAR}}] {done} of {total}, {seconds:.0f} s{left}"


def _format_large(value: float) -> str:
    """Format a large number in a few characters."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def require_writable(path: str | None) -> None:
    """Refuse a file that cannot be written, before any work is done. Raises FileFormatError."""
    if path is None:
        return
    file = Path(os.path.realpath(path))
    folder = file.parent
    if file.is_dir():
        why = "it is a directory"
    elif not folder.is_dir():
        why = f"there is no directory {folder}"
    elif file.exists() and not os.access(file, os.W_OK):
        why = "permission denied"
    elif (file.is_file() or not file.exists()) and not os.access(folder, os.W_OK):
        why = f"permission denied in {folder}, where a temporary file is written before it is renamed"
    else:
        return
    raise FileFormatError(f"cannot write {path}: {why}")
