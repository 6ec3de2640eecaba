"""Split the LaTeX of a display into tokens, statements, and lists of conditions."""

from __future__ import annotations

import re

RELATIONS = {"=": "=", r"\le": "≤", r"\ge": "≥", "<": "<", ">": ">", r"\ne": "≠"}
IGNORED = {r"\quad", r"\qquad", r"\,", r"\ ", r"\;", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr", r"\textstyle", "&"}
OPEN, CLOSE = {"(", "{", "[", r"\langle", r"\{"}, {")", "}", "]", r"\rangle", r"\}"}
ARROWS = {r"\Longrightarrow", r"\Rightarrow"}


def tokenise(latex: str) -> list[str]:
    """Split LaTeX into tokens, without spacing, phantoms and line ends within brackets."""
    text = re.sub(r"\\(begin|end)\{align\*\}", "", latex).replace("{}", "")
    text = re.sub(r"\\phantom\{(?:[^{}]|\{[^{}]*\})*\}", "", text)
    found = [token for token in re.findall(r"\\[a-zA-Z]+|\\.|\d+|[^\s]", text) if token not in IGNORED]
    depth = 0
    kept = []
    for token in found:  # a line may end within brackets
        depth += (token in OPEN) - (token in CLOSE)
        if token != r"\\" or not depth:
            kept.append(token)
    return kept


def find_group_end(tokens: list[str], start: int) -> int:
    """Return the index of the token that closes the group opened at `start`."""
    depth = 0
    for k in range(start, len(tokens)):
        depth += (tokens[k] in OPEN) - (tokens[k] in CLOSE)
        if not depth:
            return k
    raise ValueError("a group that does not close: " + "".join(tokens[start:]))


def split(tokens: list[str], marks: set[str]) -> tuple[list[list[str]], list[str]]:
    """Split at marks outside of all groups; return the parts and the marks."""
    parts: list[list[str]] = [[]]
    found = []
    depth = 0
    for token in tokens:
        depth += (token in OPEN) - (token in CLOSE)
        if token in marks and not depth:
            found.append(token)
            parts.append([])
        else:
            parts[-1].append(token)
    return parts, found


def split_statements(latex: str) -> list[list[str]]:
    """Split a display into lines, and join continuation lines to the line before."""
    lines, _ = split(tokenise(latex), {r"\\"})
    found: list[list[str]] = []
    for line in filter(None, lines):
        if found and line[0] in {"+", "-", *ARROWS, *RELATIONS}:
            found[-1] += line
        else:
            found.append(line)
    return found


def split_list(tokens: list[str]) -> list[list[str]]:
    """Split at commas; a piece without a relation takes that of the next one, as in "α, η ≥ 0"."""
    found: list[list[str]] = []
    waiting: list[list[str]] = []
    for piece in filter(None, split(tokens, {","})[0]):
        parts, relations = split(piece, set(RELATIONS))
        if not relations:
            waiting.append(piece)
            continue
        found += [[*first, relations[0], *(parts[1])] for first in waiting] + [piece]
        waiting = []
    if waiting:
        raise SyntaxError("no relation in " + "".join(tokens))
    return found


def split_words(tokens: list[str]) -> tuple[str, list[str]]:
    r"""Return the words of a leading \text{…}, and the tokens that follow."""
    if tokens and tokens[0] == r"\text":
        end = find_group_end(tokens, 1)
        return "".join(tokens[2:end]), tokens[end + 1 :]
    return "", tokens
