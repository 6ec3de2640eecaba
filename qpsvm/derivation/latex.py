"""Convert the LaTeX of equations to plain text for a terminal.

The text of an equation is read off its LaTeX, which is what is evaluated. So a terminal says nothing else than a page.
"""

from __future__ import annotations

import re

from qpsvm.derivation.letter_builder import GREEK

#: A token: an environment, a macro, an escaped character, or a character.
TOKEN = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\[a-zA-Z]+ ?|\\.|\s+|.", re.DOTALL)
#: Letters and signs of LaTeX. A blank that cannot be broken stands within a product, and behind a sign.
STICKY = "\N{NO-BREAK SPACE}"
SIGNS = {
    **{rf"\{name}": sign for name, sign in GREEK.items()}, r"\top": "ᵀ", r"\|": "‖", r"\langle": "⟨", r"\rangle": "⟩",
    r"\{": "{", r"\}": "}", r"\pm": "±", r"\partial": "∂", r"\nabla": "∇", r"\sum": "Σ", r"\circ": "∘", r"\infty": "∞",
    "-": "−", r"\lfloor": "⌊", r"\rfloor": "⌋", r"\cdot": "·", r"\times": "×", r"\mid": "|", r"\vert": "|",
    r"\dots": "…",
}  # fmt: skip
BETWEEN = {
    "=": "=", r"\le": "≤", r"\ge": "≥", "<": "<", ">": ">", r"\ne": "≠", r"\in": "∈", r"\approx": "≈",
    r"\Rightarrow": "⇒", r"\Longrightarrow": "⟹", r"\to": "→", r"\perp": "⊥",
}  # fmt: skip
SIZES = re.compile(r"\\(?:[bB]igg?[lr]?|left|right|displaystyle|limits|nolimits)$")
RAISED = {"2": "²", "+": "⁺", "−": "⁻", "*": "*", "±": "±", "ᵀ": "ᵀ", "−1": "⁻¹"}
HALVES = {("1", "2"): "½", ("1", "4"): "¼"}
WORDS = (r"\text", r"\mathrm", r"\operatorname", r"\mathbf", r"\mathit")
#: An index at the end and what has it; a sum in a fraction; what needs no brackets below a line.
INDEX = re.compile(r"(\w?)_(?:\w+|\w∈\w|\([^()]*\))$")
SUM, ATOM = re.compile(r" [+−]\s"), re.compile(r"∂?(?:\d+|[^\W\d]+(?:_\w+)?[²⁺⁻*]?|([‖|])[^‖|]*\1|√\(.*\))")


def latex_to_lines(latex: str) -> list[str]:
    """Convert a display to lines of text. A line that continues a sum is part of the one before."""
    found: list[str] = []
    for line in _LatexReader(latex).text().split("\n"):
        line = re.sub(rf"(?<=[({{⟨]){STICKY}| (?=[,)])|(?<=  ) +", "", line).strip(f" {STICKY}")
        if found and line[:1] in "+−":
            found[-1] += f" {line[0]}{STICKY}{line[1:].lstrip(f' {STICKY}')}"
        elif line:
            found.append(line)
    return found


class _LatexReader:
    """Tokens of LaTeX, read once from the left."""

    def __init__(self, latex: str) -> None:
        found = (
            token.rstrip() if token[:2].isascii() and token[1:2].isalpha() else token for token in TOKEN.findall(latex)
        )
        self.tokens = [" " if token.isspace() else token for token in found][::-1]

    def text(self, until: str = "") -> str:
        """Read the text up to a token, which is consumed."""
        found = ""
        while self.tokens:
            token = self.tokens.pop()
            if token == until:
                break
            found = _join(found, self._read_token(token, found))
        return found

    def _read_argument(self) -> str:
        token = self.tokens.pop() if self.tokens else ""
        while token == " ":
            token = self.tokens.pop()
        return self.text("}") if token == "{" else self._read_token(token, "")

    def _read_raw(self) -> str:
        """Read an argument that is words."""
        self.tokens.pop()
        found = ""
        while self.tokens and (token := self.tokens.pop()) != "}":
            found += token
        return found

    def _read_token(self, token: str, before: str) -> str:
        if token.startswith((r"\begin", r"\end")) or SIZES.match(token):
            return ""
        if token in BETWEEN:
            return f" {BETWEEN[token]}{STICKY}"
        if token in ("+", "-"):  # of two operands, or a sign
            sign = SIGNS.get(token, token)
            return f" {sign}{STICKY}" if re.search(r"[^\s(\[{=≤≥<>,⟨⟹⇒]\s*$", before) else sign
        if token in (r"\min", r"\max") and self.tokens[-1] == "_":
            self.tokens.pop()
            return f"{token[1:]} over {self._read_argument()}:  "
        blank = before[-1:].isspace() or not before
        match token:
            case "{":
                return self.text("}")
            case r"\\":
                return "\n"
            case " " | r"\ " | r"\," | r"\;" | "~":
                return "" if blank else " " if token == r"\ " else STICKY
            case r"\quad" | r"\qquad":
                return " " if blank else "  "
            case "," | ":":
                return f"{token} "
            case "^":
                raised = self._read_argument()
                return RAISED.get(raised, f"^({raised})")
            case "_":
                index = re.sub(r"\s", "", self._read_argument())
                return f"_({index.replace(',', f',{STICKY}')})" if re.search("[_=<>≤≥]", index) else (
                    f"_{index.replace(',', '')}")  # fmt: skip
            case r"\frac" | r"\tfrac" | r"\dfrac":
                above, below = self._read_argument(), self._read_argument()
                return HALVES.get((above, below)) or f"{_bracket(above, SUM)}/{_bracket(below)}"
            case r"\sqrt":
                return f"√{_bracket(self._read_argument())}"
            case r"\tilde" | r"\hat" | r"\bar":
                return self._read_argument() + {r"\tilde": "\u0303", r"\hat": "\u0302", r"\bar": "\u0304"}[token]
            case r"\phantom":
                return STICKY * len(self._read_argument())
        if token in WORDS:
            return self._read_raw()
        return SIGNS.get(token) or ("" if token in ("&", r"\!") else token.lstrip("\\"))


def _join(before: str, after: str) -> str:
    """Join two texts, with a blank between an index and the factor that follows."""
    index = INDEX.search(before)
    if index:
        apart = re.match(
            r"[^\W\dᵀ²⁺⁻]|[0-9½¼⟨]" + ("|[(‖|]" if index[1] == "Σ" else "|[(]" if index[1] not in "fKe" else ""), after
        )
    else:
        apart = re.match("Σ", after) if before[-1:] in ("|", ")") else None
    return before + (STICKY if apart else "") + after


def _bracket(text: str, sums: re.Pattern[str] | None = None) -> str:
    """Bracket a part of a fraction: above the line only sums, below it all that is more than an atom."""
    return f"({text})" if (sums.search(text) if sums else not ATOM.fullmatch(text)) else text
