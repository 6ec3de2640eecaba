"""What a displayed equation says, evaluated from its LaTeX: a tokeniser and a recursive descent over NumPy arrays.

A `Tensor` is an array whose axes have the letters of the indices, so that Σ_i sums over the axis i and a free index
means "for all". The axis "." is that of the feature space. A letter without an index is a column vector, a `Matrix`.
What the letters are is bound by `letters`; nothing here knows a machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: By how much two sides may differ, relative to the larger one and to 1.
HOLDS = 2e-7
#: By how much a letter is to be inside of its bounds where a condition says "<".
INSIDE = 1e-5
RELATIONS = {"=": "=", r"\le": "≤", r"\ge": "≥", "<": "<", ">": ">", r"\ne": "≠"}
IGNORED = {r"\quad", r"\qquad", r"\,", r"\ ", r"\;", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr", r"\textstyle", "&"}
OPEN, CLOSE = {"(", "{", "[", r"\langle", r"\{"}, {")", "}", "]", r"\rangle", r"\}"}
ARROWS = {r"\Longrightarrow", r"\Rightarrow"}


@dataclass
class Tensor:
    """An array and the letters of its axes."""

    a: np.ndarray
    axes: tuple[str, ...] = ()


@dataclass
class Matrix:
    """A matrix, or a vector as a column."""

    a: np.ndarray


@dataclass
class Names:
    """What the letters are.

    Attributes
    ----------
    values : dict
        By name: an array with an axis for each index, one more in `vectors`; or a `Tensor` or `Matrix` as it is.
    points : dict
        By letter with its index, or without: features of the points, (k, D).
    functions : dict
        By name: from the raw arguments to a value.
    rewrites : dict
        What is read in place of a text.
    vectors : set of str
        Names whose last axis is that of the feature space.
    mask : Tensor, optional
        What a statement with all of its axes is about.
    """

    values: dict[str, Any]
    points: dict[str, np.ndarray] = field(default_factory=dict)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    rewrites: dict[str, str] = field(default_factory=dict)
    vectors: set[str] = field(default_factory=set)
    mask: Tensor | None = None

    def point(self, text: str) -> Tensor:
        """φ at x_i, (i, .), or at new points x."""
        base, _, index = text.partition("_")
        found = self.points[text] if text in self.points else self.points[base + "_"]
        return Tensor(found, (index or base, "."))


def align(one: Tensor, other: Tensor) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return both arrays with the axes of both."""
    axes = one.axes + tuple(axis for axis in other.axes if axis not in one.axes)

    def spread_axes(t: Tensor) -> np.ndarray:
        order = [t.axes.index(axis) for axis in axes if axis in t.axes]
        return np.transpose(t.a, order)[tuple(slice(None) if axis in t.axes else None for axis in axes)]

    return spread_axes(one), spread_axes(other), axes


def scalar(value: float) -> Tensor:
    return Tensor(np.asarray(float(value)))


def combine(one: Any, operation: Callable[..., Any], other: Any) -> Any:
    """A sum, difference or quotient, entry by entry."""
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return Matrix(operation(one.a, other.a))
    a, b, axes = align(flat(one), flat(other))
    with np.errstate(all="ignore"):  # what is masked may be 0/0
        return Tensor(operation(a, b), axes)


def flat(value: Any) -> Tensor:
    """A matrix of one entry as a number."""
    if isinstance(value, Matrix):
        assert value.a.size == 1, value.a.shape
        return Tensor(value.a.reshape(()))
    return value


def product(one: Any, other: Any) -> Any:
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return Matrix(one.a @ other.a)
    if isinstance(other, Matrix) and other.a.size > 1:
        return Matrix(other.a * float(one.a))
    return combine(one, np.multiply, other)


def reduce_axis(t: Tensor, axis: str, how: Any = np.add) -> Tensor:
    """Return a sum, or an extreme, over an axis."""
    place = t.axes.index(axis)
    return Tensor(how.reduce(t.a, axis=place), t.axes[:place] + t.axes[place + 1 :])


def contract(one: Tensor, other: Tensor) -> Tensor:
    return reduce_axis(combine(one, np.multiply, other), ".")


def tokens_of(latex: str) -> list[str]:
    text = re.sub(r"\\(begin|end)\{align\*\}", "", latex).replace("{}", "")
    text = re.sub(r"\\phantom\{(?:[^{}]|\{[^{}]*\})*\}", "", text)
    found = [token for token in re.findall(r"\\[a-zA-Z]+|\\.|\d+|[^\s]", text) if token not in IGNORED]
    depth, kept = 0, []
    for token in found:  # a line may end within brackets
        depth += (token in OPEN) - (token in CLOSE)
        if token != r"\\" or not depth:
            kept.append(token)
    return kept


def group_end(tokens: list[str], start: int) -> int:
    """Where the group that opens at `start` closes."""
    depth = 0
    for k in range(start, len(tokens)):
        depth += (tokens[k] in OPEN) - (tokens[k] in CLOSE)
        if not depth:
            return k
    raise ValueError("a group that does not close: " + "".join(tokens[start:]))


def split(tokens: list[str], marks: set[str]) -> tuple[list[list[str]], list[str]]:
    """Parts between marks outside of all groups, and the marks."""
    parts: list[list[str]] = [[]]
    found, depth = [], 0
    for token in tokens:
        depth += (token in OPEN) - (token in CLOSE)
        if token in marks and not depth:
            found.append(token)
            parts.append([])
        else:
            parts[-1].append(token)
    return parts, found


def statements(latex: str) -> list[list[str]]:
    """The lines of a display, those that go on joined to what they go on with."""
    lines, _ = split(tokens_of(latex), {r"\\"})
    found: list[list[str]] = []
    for line in filter(None, lines):
        if found and line[0] in {"+", "-", *ARROWS, *RELATIONS}:
            found[-1] += line
        else:
            found.append(line)
    return found


class Reader:
    """An expression, read from its tokens."""

    def __init__(self, tokens: list[str], names: Names, sets: dict[str, Tensor] | None = None) -> None:
        self.tokens, self.names, self.k, self.sets = tokens, names, 0, sets or {}
        self.bars: list[str] = []

    def peek(self, ahead: int = 0) -> str:
        place = self.k + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def consume(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise SyntaxError(f"{wanted or 'a token'} expected at {self.tokens[self.k :]} of {''.join(self.tokens)}")
        self.k += 1
        return token

    def group(self) -> list[str]:
        """The tokens of {…} or (…), or one token."""
        if self.peek() in OPEN:
            end = group_end(self.tokens, self.k)
            inside = self.tokens[self.k + 1 : end]
            self.k = end + 1
            return inside
        return [self.consume()]

    def read_all(self, tokens: list[str]) -> Any:
        reader = Reader(tokens, self.names, self.sets)
        value = reader.sum()
        if reader.peek():
            raise SyntaxError(f"{reader.tokens[reader.k :]} left of {''.join(tokens)}")
        return value

    def sum(self) -> Any:
        sign = self.consume() if self.peek() in {"+", "-"} else ""
        value = self.term()
        if sign == "-":
            value = product(scalar(-1), value)
        while self.peek() in {"+", "-"}:
            operation = np.add if self.consume() == "+" else np.subtract
            value = combine(value, operation, self.term())
        return value

    def term(self) -> Any:
        value = self.factor()
        while self.peek() not in {"", "+", "-", *self.bars[-1:]}:
            if self.peek() == r"\circ":
                self.consume()
                value = combine(value, np.multiply, self.factor())
            else:
                value = product(value, self.factor())
        return value

    def factor(self) -> Any:
        if self.peek() == r"\sum":
            return self.total()
        value = self.base()
        while self.peek() == "^":
            self.consume()
            power = self.group()
            if power == [r"\top"]:
                value = Matrix(value.a.T)
            elif power == ["2"]:
                value = flat(value)
                value = Tensor(value.a**2, value.axes)
            else:
                raise SyntaxError(f"power {power}")
        return value

    def total(self) -> Any:
        self.consume(r"\sum")
        self.consume("_")
        index = self.group()
        body = self.term()
        if r"\in" in index:
            letters, mask = index[:1], self.sets["".join(index[index.index(r"\in") + 1 :])]
            body = product(body, Tensor(mask.a.astype(float), (letters[0],)))
        elif any(token in RELATIONS for token in index):
            holds = condition(index, self.names, self.sets)
            body, letters = product(body, Tensor(holds.a.astype(float), holds.axes)), list(holds.axes)
            letters = index[:1] if index[1] == r"\ne" else letters  # c ≠ y_i is of c
        else:
            letters = [token for token in index if token != ","]
        body = flat(body)
        for letter in letters:
            if letter not in body.axes:
                raise SyntaxError(f"nothing to sum over {letter} in {''.join(self.tokens)}")
            body = reduce_axis(body, letter)
        return body

    def extreme(self, token: str) -> Any:
        pick = np.maximum if token == r"\max" else np.minimum
        if self.peek() == "_":
            self.consume()
            index = "".join(self.group())
            if index in "+-":
                return self.names.functions[f"{token}_{index}"]("".join([self.consume()]))
            return reduce_axis(self.factor(), index, pick)
        parts, _ = split(self.group(), {","})
        value = self.read_all(parts[0])
        for part in parts[1:]:
            value = combine(value, pick, self.read_all(part))
        return value

    def base(self) -> Any:
        token = self.consume()
        if token in {"(", "{", "["}:
            self.k -= 1
            return self.read_all(self.group())
        if token in {"|", r"\|"}:
            if token == "|" and self.peek() in self.sets and self.peek(1) == "|":
                found = self.sets[self.consume()]
                self.consume()
                return scalar(found.a.sum())
            self.bars.append(token)
            value = flat(self.sum())
            self.consume(self.bars.pop())
            return Tensor(np.abs(value.a), value.axes) if token == "|" else root(contract(value, value))
        if token == r"\langle":
            self.k -= 1
            left, right = split(self.group(), {","})[0]
            return contract(self.read_all(left), self.read_all(right))
        if token in {r"\frac", r"\tfrac"}:
            if self.peek().isdigit() and len(self.peek()) == 2:  # \tfrac12
                above, below = self.consume()
                return scalar(int(above) / int(below))
            return combine(flat(self.read_all(self.group())), np.divide, flat(self.read_all(self.group())))
        if token == r"\sqrt":
            return root(flat(self.read_all(self.group())))
        if token in {r"\max", r"\min"}:
            return self.extreme(token)
        if token.isdigit():
            if token == "1" and self.peek() == "^" and self.tokens[self.k + 1 : self.k + 4] == ["{", r"\top", "}"]:
                self.k += 4
                right = self.factor()
                return Matrix(np.ones((1, right.a.shape[0])) @ right.a)
            return scalar(int(token))
        return self.name(token)

    def name(self, token: str) -> Any:
        if token == r"\bar":
            token += self.consume()
        mark = index = ""
        for _ in range(2):
            if self.peek() == "^" and self.peek(1) in {"+", "-", "*", r"\pm"} and not mark:
                mark = "^" + self.tokens[self.k + 1]
                self.k += 2
            elif self.peek() == "_" and not index:
                self.consume()
                index = "".join(part for part in self.group() if part != ",")
        whole = token + mark + (f"_{index}" if index else "")
        for name in (whole, token + mark):
            if name in self.names.functions and self.peek() == "(":
                found = self.names.functions[name]
                arguments = "".join(self.group())
                return found(arguments) if name == whole else found(arguments, index)
        if whole in self.names.values:
            return self.bound(whole, "")
        if token + mark in self.names.values and index:
            return self.bound(token + mark, index)
        if whole in self.names.points or token + "_" in self.names.points:
            return self.names.point(whole)
        raise KeyError(f"{whole} in {''.join(self.tokens)}")

    def bound(self, name: str, index: str) -> Any:
        value = self.names.values[name]
        if isinstance(value, (Tensor, Matrix)):
            return value
        a = np.asarray(value, dtype=float)
        axes = (
            (("±",) if name.endswith(r"^\pm") else ()) + tuple(index) + ((".",) if name in self.names.vectors else ())
        )
        if not index and a.ndim == 1 and name not in self.names.vectors:
            return Matrix(a[:, None])
        if len(axes) != a.ndim:
            if index or a.ndim != 2:
                raise KeyError(f"{name} with the index {index!r} in {''.join(self.tokens)}")
            return Matrix(a)
        return Tensor(a, axes)


def root(t: Tensor) -> Tensor:
    return Tensor(np.sqrt(np.maximum(t.a, 0.0)), t.axes)


def to_tensor(value: Any) -> Tensor:
    """Return a value to compare, a column as a vector."""
    if isinstance(value, Matrix):
        return flat(value) if value.a.size == 1 else Tensor(value.a.ravel(), ("*",))
    return value


def sides_of(tokens: list[str], names: Names, sets: dict[str, Tensor] | None = None) -> list[tuple[Any, str, Any]]:
    """Neighbouring sides of a chain and their relation."""
    parts, relations = split(tokens, set(RELATIONS))
    if len(parts) < 2:
        raise SyntaxError("no relation in " + "".join(tokens))
    values = [Reader(part, names, sets).read_all(part) for part in parts]
    return [(values[k], RELATIONS[relation], values[k + 1]) for k, relation in enumerate(relations)]


def pair_of(left: Any, right: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    left, right = to_tensor(left), to_tensor(right)
    if "*" in left.axes + right.axes and left.axes and right.axes:
        return left.a.ravel(), right.a.ravel(), ("*",)
    return align(left, right)


def condition(tokens: list[str], names: Names, sets: dict[str, Tensor] | None = None) -> Tensor:
    """Where a condition, or several with commas between them, holds."""
    found = Tensor(np.asarray(True))
    for piece in split_list(tokens):
        for left, relation, right in sides_of(piece, names, sets):
            a, b, axes = pair_of(left, right)
            holds = {
                "=": np.abs(a - b) <= INSIDE, "≠": np.abs(a - b) > INSIDE, "<": b - a > INSIDE, ">": a - b > INSIDE,
                "≤": a - b <= INSIDE, "≥": b - a <= INSIDE,
            }[relation]  # fmt: skip
            found = combine(found, np.logical_and, Tensor(holds, axes))
    return found


def split_list(tokens: list[str]) -> list[list[str]]:
    """Split at commas; a piece without a relation has that of the next: "α, η ≥ 0"."""
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


@dataclass
class Failure:
    """A statement that is false."""

    said: str
    left: float
    right: float

    def __str__(self) -> str:
        return f"{self.said}:  {self.left:.9g} against {self.right:.9g}"


def claim(piece: list[str], names: Names, where: Tensor | None, sets: dict[str, Tensor]) -> list[Failure]:
    failures = []
    for left, relation, right in sides_of(piece, names, sets):
        a, b, axes = pair_of(left, right)
        a, b = np.broadcast_arrays(a, b)
        finite = np.abs(np.stack([a, b]))
        scale = HOLDS * max(1.0, float(finite[np.isfinite(finite)].max(initial=0.0)))
        off = {"=": np.abs(a - b), "≤": a - b, "≥": b - a, "<": a - b, ">": b - a}[relation] - scale
        about = where
        if names.mask is not None and set(names.mask.axes) <= set(axes):
            about = names.mask if where is None else combine(where, np.logical_and, names.mask)
        if about is not None:
            off, mask, _ = align(Tensor(off, axes), about)
            a, b = (np.broadcast_to(align(Tensor(v, axes), about)[0], off.shape) for v in (a, b))
            off, mask = np.broadcast_arrays(off, mask)
            off = np.where(mask, off, -1.0)
        if off.size and not (off <= 0).all():
            a, b = (np.broadcast_to(v, off.shape) for v in (a, b))
            k = int(np.nanargmax(off)) if not np.isnan(off).all() else 0
            failures.append(Failure("".join(piece), float(a.ravel()[k]), float(b.ravel()[k])))
    return failures


def text_of(tokens: list[str]) -> tuple[str, list[str]]:
    r"""The words of a leading \text{…}, and what follows."""
    if tokens and tokens[0] == r"\text":
        end = group_end(tokens, 1)
        return "".join(tokens[2:end]), tokens[end + 1 :]
    return "", tokens


@dataclass
class Read:
    """What became of the pieces of a display."""

    failures: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    evaluated: int = 0


def evaluate_display(
    latex: str, names: Names, optimum: Callable[[list[str]], float], skip: tuple[str, ...] = ()
) -> Read:
    """Evaluate every statement of a display at the values of its letters.

    Parameters
    ----------
    latex : str
    names : Names
    optimum : callable
        From the letters that a minimum is taken over to the value that its objective has.
    skip : tuple of str
        A statement with one of these says nothing in numbers.
    """
    for written, reads in names.rewrites.items():
        latex = latex.replace(written, reads)
    found, lines, sets = Read(), statements(latex), {}
    for line in lines:
        if len(line) > 4 and line[1] == "=" and line[2] == r"\{":  # M = {i: …}
            inside = split(line[3 : group_end(line, 2)], {":"})[0][1]
            sets[line[0]] = condition(inside, names)
    for line in lines:
        said = "".join(line)
        words, line = text_of(line)
        if words and words != "subjectto":
            found.skipped.append(said)
            continue
        rest = "".join(line)
        if any(text in rest for text in skip) or r"\{i:" in said:
            if r"\{i:" not in said:
                found.skipped.append(said)
            continue
        if line[0] in {r"\min", r"\max"} and line[1] == "_" and "=" not in split(line, {","})[0][0]:
            end = group_end(line, 2) if line[2] in OPEN else 2
            over, objective = line[2 : end + 1], line[end + 1 :]
            first, *rest = split(objective, {","})[0]
            value = float(flat(Reader(first, names).read_all(first)).a)
            wanted = optimum(over)
            found.evaluated += 1
            if abs(value - wanted) > HOLDS * max(1.0, abs(wanted)):
                found.failures.append(Failure("".join(line), value, wanted))
            line = [token for part in rest for token in (*part, ",")]
            if not line:
                continue
        parts, arrows = split(line, ARROWS)
        where: Tensor | None = None
        if arrows:
            premise, line = parts[0], parts[-1]
            if r"\partial" not in premise:
                where = condition(premise, names, sets)
                if arrows[-1] == r"\Longrightarrow" and r"\nu=1" not in said:  # the premise is a claim too
                    for piece in split_list(premise):
                        found.failures += claim(piece, names, None, sets)
                    where = None
        for piece in split_list(line):
            if sets and any(f"\\in{name}" in "".join(piece) and not mask.a.any() for name, mask in sets.items()):
                continue  # a mean of nothing
            found.failures += claim(piece, names, where, sets)
            found.evaluated += 1
    return found
