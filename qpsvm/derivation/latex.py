"""Convert the LaTeX of equations to plain text for a terminal.

The text of an equation is converted from its LaTeX. So a terminal displays the same equation as a page.
"""

from __future__ import annotations

import re

from qpsvm.derivation.letter_builder import GREEK

#: A token: an environment, a macro, an escaped character, or a character.
TOKEN = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\[a-zA-Z]+ ?|\\.|\s+|.", re.DOTALL)
#: A blank at which no line is broken: within a product, and after a sign.
STICKY = "\N{NO-BREAK SPACE}"
#: Letters and signs, by their LaTeX.
SIGNS = {
    **{rf"\{name}": sign for name, sign in GREEK.items()}, r"\top": "ᵀ", r"\|": "‖", r"\langle": "⟨", r"\rangle": "⟩",
    r"\{": "{", r"\}": "}", r"\pm": "±", r"\partial": "∂", r"\nabla": "∇", r"\sum": "Σ", r"\circ": "∘", r"\infty": "∞",
    "-": "−", r"\lfloor": "⌊", r"\rfloor": "⌋", r"\cdot": "·", r"\times": "×", r"\mid": "|", r"\vert": "|",
    r"\dots": "…",
}  # fmt: skip
#: Signs between two sides, which have blanks around them.
BETWEEN = {
    "=": "=", r"\le": "≤", r"\ge": "≥", "<": "<", ">": ">", r"\ne": "≠", r"\in": "∈", r"\approx": "≈",
    r"\Rightarrow": "⇒", r"\Longrightarrow": "⟹", r"\to": "→", r"\perp": "⊥",
}  # fmt: skip
#: Commands that only affect sizes.
SIZES = re.compile(r"\\(?:[bB]igg?[lr]?|left|right|displaystyle|limits|nolimits)$")
#: Exponents with a sign of their own.
RAISED = {"2": "²", "+": "⁺", "−": "⁻", "*": "*", "±": "±", "ᵀ": "ᵀ", "−1": "⁻¹"}
#: Fractions with a sign of their own.
HALVES = {("1", "2"): "½", ("1", "4"): "¼"}
#: Commands whose argument is words.
WORDS = (r"\text", r"\mathrm", r"\operatorname", r"\mathbf", r"\mathit")
#: An index at the end of a text, after the letter that has it.
INDEX = re.compile(r"(\w?)_(?:\w+|\w∈\w|\([^()]*\))$")
#: A part of a numerator that needs brackets.
SUM = re.compile(r" [+−]\s")
#: A denominator that needs no brackets.
ATOM = re.compile(r"∂?(?:\d+|[^\W\d]+(?:_\w+)?[²⁺⁻*]?|([‖|])[^‖|]*\1|√\(.*\))")


def latex_to_lines(latex: str) -> list[str]:
    """Convert a display to lines of text. A line that continues a sum is appended to the previous one."""
    lines: list[str] = []
    for line in _LatexReader(latex).text().split("\n"):
        line = re.sub(rf"(?<=[({{⟨]){STICKY}| (?=[,)])|(?<=  ) +", "", line).strip(f" {STICKY}")
        if lines and line[:1] in "+−":
            lines[-1] += f" {line[0]}{STICKY}{line[1:].lstrip(f' {STICKY}')}"
        elif line:
            lines.append(line)
    return lines


class _LatexReader:
    """Reader of LaTeX: converts tokens to text once, from the left.

    tokens: The tokens that remain, in reverse order.
    """

    def __init__(self, latex: str) -> None:
        tokens = (
            token.rstrip() if token[:2].isascii() and token[1:2].isalpha() else token for token in TOKEN.findall(latex)
        )
        self.tokens = [" " if token.isspace() else token for token in tokens][::-1]

    def text(self, until: str = "") -> str:
        """Convert the tokens up to the token `until`, which is consumed; "" for all tokens."""
        text = ""
        while self.tokens:
            token = self.tokens.pop()
            if token == until:
                break
            text = _join(text, self._read_token(token, text))
        return text

    def _read_argument(self) -> str:
        """Convert the argument of a command: a group in braces, or one token."""
        token = self.tokens.pop() if self.tokens else ""
        while token == " ":
            token = self.tokens.pop()
        return self.text("}") if token == "{" else self._read_token(token, "")

    def _read_raw(self) -> str:
        """Read an argument that is words, without converting them."""
        self.tokens.pop()
        words = ""
        while self.tokens and (token := self.tokens.pop()) != "}":
            words += token
        return words

    def _read_token(self, token: str, before: str) -> str:
        """Convert a token and its arguments; `before` is the text to its left."""
        if token.startswith((r"\begin", r"\end")) or SIZES.match(token):
            return ""
        if token in BETWEEN:
            return f" {BETWEEN[token]}{STICKY}"
        if token in ("+", "-"):
            sign = SIGNS.get(token, token)
            has_left_operand = re.search(r"[^\s(\[{=≤≥<>,⟨⟹⇒]\s*$", before)
            return f" {sign}{STICKY}" if has_left_operand else sign
        if token in (r"\min", r"\max") and self.tokens[-1] == "_":
            self.tokens.pop()
            return f"{token[1:]} over {self._read_argument()}:  "
        needs_no_blank = before[-1:].isspace() or not before
        match token:
            case "{":
                return self.text("}")
            case r"\\":
                return "\n"
            case " " | r"\ " | r"\," | r"\;" | "~":
                if needs_no_blank:
                    return ""
                return " " if token == r"\ " else STICKY
            case r"\quad" | r"\qquad":
                return " " if needs_no_blank else "  "
            case "," | ":":
                return f"{token} "
            case "^":
                raised = self._read_argument()
                return RAISED.get(raised, f"^({raised})")
            case "_":
                index = re.sub(r"\s", "", self._read_argument())
                if re.search("[_=<>≤≥]", index):
                    return f"_({index.replace(',', f',{STICKY}')})"
                return f"_{index.replace(',', '')}"
            case r"\frac" | r"\tfrac" | r"\dfrac":
                numerator = self._read_argument()
                denominator = self._read_argument()
                return HALVES.get((numerator, denominator)) or f"{_bracket(numerator, SUM)}/{_bracket(denominator)}"
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
