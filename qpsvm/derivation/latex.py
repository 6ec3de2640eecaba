"""Convert the LaTeX of equations to plain text for a terminal (`latex_to_lines`).

Both forms have one source, so a terminal displays the same equation as a page.
"""

from __future__ import annotations

import re

from qpsvm.derivation.letter_builder import GREEK

#: A token: an environment, a macro, an escaped character, or a character.
TOKEN = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\[a-zA-Z]+ ?|\\.|\s+|.", re.DOTALL)
#: A space at which lines are not broken: within a product, and after a sign.
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
#: Text of spaces, by LaTeX: after a character, and after a space.
SPACES = {
    **dict.fromkeys((" ", r"\,", r"\;", "~"), (NO_BREAK_SPACE, "")),
    r"\ ": (" ", ""),
    **dict.fromkeys((r"\quad", r"\qquad"), ("  ", " ")),
}
#: Unicode text of letters and signs, by LaTeX.
SYMBOLS = {
    **{rf"\{name}": sign for name, sign in GREEK.items()}, r"\top": "ᵀ", r"\|": "‖", r"\langle": "⟨", r"\rangle": "⟩",
    r"\{": "{", r"\}": "}", r"\pm": "±", r"\partial": "∂", r"\nabla": "∇", r"\sum": "Σ", r"\circ": "∘", r"\infty": "∞",
    "-": "−", r"\lfloor": "⌊", r"\rfloor": "⌋", r"\cdot": "·", r"\times": "×", r"\mid": "|", r"\vert": "|",
    r"\dots": "…",
}  # fmt: skip
#: Relations between two sides, which are surrounded by spaces.
RELATIONS = {
    "=": "=", r"\le": "≤", r"\ge": "≥", "<": "<", ">": ">", r"\ne": "≠", r"\in": "∈", r"\approx": "≈",
    r"\Rightarrow": "⇒", r"\Longrightarrow": "⟹", r"\to": "→", r"\perp": "⊥",
}  # fmt: skip
#: Commands that only affect sizes.
SIZE_COMMANDS = re.compile(r"\\(?:[bB]igg?[lr]?|left|right|displaystyle|limits|nolimits)$")
#: Marks that follow a letter in Unicode.
COMBINING_MARKS = {r"\tilde": "\u0303", r"\hat": "\u0302", r"\bar": "\u0304"}
#: Exponents with a Unicode superscript.
EXPONENTS = {"2": "²", "+": "⁺", "−": "⁻", "*": "*", "±": "±", "ᵀ": "ᵀ", "−1": "⁻¹"}
#: Fractions with a Unicode character.
SIMPLE_FRACTIONS = {("1", "2"): "½", ("1", "4"): "¼"}
#: Commands whose argument is words.
TEXT_COMMANDS = (r"\text", r"\mathrm", r"\operatorname", r"\mathbf", r"\mathit")
#: A subscript at the end of a text; group 1 is the letter before it.
SUBSCRIPT = re.compile(r"(\w?)_(?:\w+|\w∈\w|\([^()]*\))$")
#: Sign in a sum: a numerator that contains one needs parentheses.
SUM = re.compile(r" [+−]\s")
#: A denominator that needs no parentheses.
ATOM = re.compile(r"∂?(?:\d+|[^\W\d]+(?:_\w+)?[²⁺⁻*]?|([‖|])[^‖|]*\1|√\(.*\))")


def latex_to_lines(latex: str) -> list[str]:
    """Convert a displayed equation to lines of text. A line that continues a sum is appended to the previous one."""
    lines: list[str] = []
    for line in _LatexReader(latex).read_text().split("\n"):
        line = re.sub(rf"(?<=[({{⟨]){NO_BREAK_SPACE}| (?=[,)])|(?<=  ) +", "", line).strip(f" {NO_BREAK_SPACE}")
        if lines and line[:1] in "+−":
            lines[-1] += f" {line[0]}{NO_BREAK_SPACE}{line[1:].lstrip(f' {NO_BREAK_SPACE}')}"
        elif line:
            lines.append(line)
    return lines


class _LatexReader:
    """Recursive-descent converter of LaTeX tokens to text, in one pass from the left.

    tokens: The tokens that remain, in reverse order.
    """

    def __init__(self, latex: str) -> None:
        tokens = (
            token.rstrip() if token[:2].isascii() and token[1:2].isalpha() else token for token in TOKEN.findall(latex)
        )
        self.tokens = [" " if token.isspace() else token for token in tokens][::-1]

    def read_text(self, until: str = "") -> str:
        """Convert the tokens up to the token `until`, which is consumed, or all tokens if it is ""."""
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
        if token == "{":
            return self.read_text("}")
        return self._read_token(token, "")

    def _read_raw(self) -> str:
        """Read a text argument in braces without converting it."""
        self.tokens.pop()
        words = ""
        while self.tokens and (token := self.tokens.pop()) != "}":
            words += token
        return words

    def _read_token(self, token: str, before: str) -> str:
        """Convert a token and its arguments; `before` is the text to its left."""
        if token.startswith((r"\begin", r"\end")) or SIZE_COMMANDS.match(token):
            return ""
        if token in RELATIONS:
            return f" {RELATIONS[token]}{NO_BREAK_SPACE}"
        if token in ("+", "-"):
            sign = SYMBOLS.get(token, token)
            has_left_operand = re.search(r"[^\s(\[{=≤≥<>,⟨⟹⇒]\s*$", before)
            return f" {sign}{NO_BREAK_SPACE}" if has_left_operand else sign
        if token in (r"\min", r"\max") and self.tokens[-1] == "_":
            self.tokens.pop()
            return f"{token[1:]} over {self._read_argument()}:  "
        if token in SPACES:
            has_space = before[-1:].isspace() or not before
            return SPACES[token][has_space]
        match token:
            case "{":
                return self.read_text("}")
            case r"\\":
                return "\n"
            case "," | ":":
                return f"{token} "
            case "^":
                exponent = self._read_argument()
                return EXPONENTS.get(exponent, f"^({exponent})")
            case "_":
                subscript = re.sub(r"\s", "", self._read_argument())
                if re.search("[_=<>≤≥]", subscript):
                    return f"_({subscript.replace(',', f',{NO_BREAK_SPACE}')})"
                return f"_{subscript.replace(',', '')}"
            case r"\frac" | r"\tfrac" | r"\dfrac":
                numerator = self._read_argument()
                denominator = self._read_argument()
                return (
                    SIMPLE_FRACTIONS.get((numerator, denominator))
                    or f"{_parenthesise(numerator, SUM)}/{_parenthesise(denominator)}"
                )
            case r"\sqrt":
                return f"√{_parenthesise(self._read_argument())}"
            case r"\tilde" | r"\hat" | r"\bar":
                return self._read_argument() + COMBINING_MARKS[token]
            case r"\phantom":
                return NO_BREAK_SPACE * len(self._read_argument())
        if token in TEXT_COMMANDS:
            return self._read_raw()
        return SYMBOLS.get(token) or ("" if token in ("&", r"\!") else token.lstrip("\\"))


def _join(before: str, after: str) -> str:
    """Join two texts, with a space where they would be misread: after a subscript, or before a sum.

    After Σ_i also an absolute value or a parenthesis needs a space; after other subscripts a parenthesis does, except
    that of a function f, K or e.
    """
    subscript = SUBSCRIPT.search(before)
    if subscript:
        needs_space = re.match(
            r"[^\W\dᵀ²⁺⁻]|[0-9½¼⟨]"
            + ("|[(‖|]" if subscript[1] == "Σ" else "|[(]" if subscript[1] not in "fKe" else ""),
            after,
        )
    else:
        needs_space = re.match("Σ", after) if before[-1:] in ("|", ")") else None
    return before + (NO_BREAK_SPACE if needs_space else "") + after


def _parenthesise(text: str, sums: re.Pattern[str] | None = None) -> str:
    """Put a part of a fraction in parentheses: a text that matches `sums`, or without `sums` all but an `ATOM`."""
    if sums.search(text) if sums else not ATOM.fullmatch(text):
        return f"({text})"
    return text
