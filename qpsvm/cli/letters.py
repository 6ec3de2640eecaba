"""Our own letters on a terminal or pipe that cannot hold them: ν becomes nu, ≥ becomes >=.

Whatever else the encoding cannot hold, such as the letters of a user's labels, becomes an escape like \\xe4. So two
texts that differ still differ.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What is printed instead of each letter outside ASCII that this library writes.
SPELT = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps", "ζ": "zeta", "η": "eta", "θ": "theta",
    "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "φ": "phi", "ψ": "psi", "ω": "omega", "ℓ": "ell", "Σ": "Sum", "Δ": "Delta", "Θ": "Theta", "Π": "Pi", "Ω": "Omega",
    "∂": "d", "∇": "grad", "½": "1/2", "¼": "1/4", "√": "sqrt", "∞": "inf", "ᵀ": "'", "′": "'",
    "⁻": "^-", "⁺": "^+", "⁰": "^0", "¹": "^1", "²": "^2", "³": "^3", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7",
    "⁸": "^8", "⁹": "^9", "₀": "_0", "₁": "_1", "₂": "_2", "₃": "_3", "₊": "+", "₋": "-", "ᵢ": "_i",
    "×": "x", "·": "*", "∘": "*", "−": "-", "±": "+-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "≪": "<<", "≫": ">>",
    "∈": "in", "∑": "Sum", "→": "->", "←": "<-", "⇔": "<=>", "⇒": "=>", "‖": "||", "⟨": "<", "⟩": ">",
    "…": "...", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "°": "degrees",
}  # fmt: skip
HANDLER = "qpsvm-letters"


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """Spell out what cannot be encoded, with a blank to words and numbers beside it, or escape it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, written = error.object, ""
    for k in range(error.start, error.end):
        word = SPELT.get(text[k])
        if word is None:
            written += text[k].encode("ascii", "backslashreplace").decode("ascii")
            continue
        if written.endswith("^-"):  # 10⁻⁶ is 10^-6
            word = word.removeprefix("^")
        before = written or text[max(k - 1, 0) : k]
        apart = word[0].isalnum() and before[-1:].isalnum()
        after = SPELT.get(text[k + 1], text[k + 1]) if k + 1 < len(text) else ""
        joined = len(word) > 1 and word[-1].isalnum() and after[:1].isalnum() and text[k + 1] not in SPELT
        written += " " * apart + word + " " * joined
    return written, error.end


codecs.register_error(HANDLER, _spell)


@contextmanager
def readable(stream: Any) -> Iterator[None]:
    """While the block runs, the text stream takes every letter.

    A stream that cannot be reconfigured, such as one that a caller put in its place, is left alone.
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
