r"""Write to terminals with a limited encoding, to closed pipes, and to files without permission.

`spell_unencodable` spells out symbols that the encoding lacks: ν becomes nu, ≥ becomes >=. Other characters, for
example in a user's labels, are escaped like \xe4, so that different texts remain different. `ignore_closed_pipe` lets
the program continue when the reader of its output has gone. `require_writable` checks an output file before the work
starts.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from qpsvm.base.errors import FileFormatError

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
#: Name under which `_spell` is registered as an error handler of codecs.
ERROR_HANDLER = "qpsvm-letters"


@contextmanager
def spell_unencodable(stream: Any) -> Iterator[None]:
    """Spell out or escape characters that the encoding of a text stream lacks, while the block runs.

    A stream that cannot be reconfigured, such as one substituted by a caller, is left unchanged.
    """
    original_handler = getattr(stream, "errors", None)
    if original_handler is None or not hasattr(stream, "reconfigure"):
        yield
        return
    stream.reconfigure(errors=ERROR_HANDLER)
    try:
        yield
    finally:
        stream.reconfigure(errors=original_handler)


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """Ignore a closed pipe at standard output while the block runs, since files have yet to be written."""
    original = sys.stdout
    if original is not None:
        sys.stdout = _PipeWriter(original)
    try:
        yield
    finally:
        sys.stdout = original


def discard_output() -> None:
    """Discard the rest of standard output, so that the interpreter does not report a closed pipe at exit."""
    with suppress(OSError, ValueError):  # in tests, standard output is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def require_writable(path: str | None) -> None:
    """Check that a file can be written. Raises FileFormatError."""
    if path is None:
        return
    if path == "-":
        raise FileFormatError("cannot write -: standard output is for the text of this command; name a file, or ./-")
    file = Path(os.path.realpath(path))
    folder = file.parent
    if file.is_dir():
        reason = "it is a directory"
    elif not folder.is_dir():
        reason = f"there is no directory {folder}"
    elif file.exists() and not os.access(file, os.W_OK):
        reason = "permission denied"
    elif (file.is_file() or not file.exists()) and not os.access(folder, os.W_OK):
        reason = f"permission denied in {folder}, where a temporary file is written before it is renamed"
    else:
        return
    raise FileFormatError(f"cannot write {path}: {reason}")


class _PipeWriter:
    """A text stream that discards what is written after the pipe was closed."""

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


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """Spell out or escape characters that cannot be encoded, as an error handler of codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object
    spelled = ""
    for k in range(error.start, error.end):
        word = SPELLINGS.get(text[k])
        if word is None:
            spelled += text[k].encode("ascii", "backslashreplace").decode("ascii")
            continue
        if spelled.endswith("^-"):  # 10⁻⁶ is 10^-6
            word = word.removeprefix("^") or word
        spelled += _separate_word(word, spelled or text[:k], text[k + 1 : k + 2])
    return spelled, error.end


def _separate_word(word: str, before: str, following: str) -> str:
    """Add blanks to the spelling of a symbol, to separate it from adjacent words."""
    is_letter_next = following.isalnum() and following not in SPELLINGS  # another symbol adds its own blank
    blank_before = " " if word[0].isalnum() and before[-1:].isalnum() else ""
    blank_after = " " if len(word) > 1 and word[-1].isalnum() and is_letter_next else ""
    return blank_before + word + blank_after


codecs.register_error(ERROR_HANDLER, _spell)
