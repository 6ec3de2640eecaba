"""Evaluate a displayed equation from its LaTeX: a tokeniser and a recursive-descent parser over NumPy arrays.

`evaluate_display` splits a display into statements, evaluates both sides of every relation at given values of the
symbols, and reports the statements that are false. A `Tensor` is an array whose axes are named by index letters, so
that Σ_i sums over the axis i, and a free index means "for all"; the axis "." is that of the feature space. A symbol
without an index is a column vector, a `Matrix`. `Symbols` binds the symbols to values; nothing here knows a machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: How far two sides of a true relation may differ, relative to the largest value or 1.
HOLDS = 2e-7
#: How far apart the sides of a condition "<" have to be; other conditions hold up to this.
INSIDE = 1e-5
RELATIONS = {"=": "=", r"\le": "≤", r"\ge": "≥", "<": "<", ">": ">", r"\ne": "≠"}
IGNORED = {r"\quad", r"\qquad", r"\,", r"\ ", r"\;", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr", r"\textstyle", "&"}
OPEN, CLOSE = {"(", "{", "[", r"\langle", r"\{"}, {")", "}", "]", r"\rangle", r"\}"}
ARROWS = {r"\Longrightarrow", r"\Rightarrow"}


@dataclass
class Tensor:
    """An array and the index letters of its axes."""

    a: np.ndarray
    axes: tuple[str, ...] = ()


@dataclass
class Matrix:
    """A matrix, or a vector as a column."""

    a: np.ndarray


@dataclass
class Symbols:
    """The values of the symbols of a display.

    Attributes
    ----------
    values : dict
        By name: an array with one axis per index, and a last one for the feature space if the name is in
        `vectors`; or a `Tensor` or `Matrix`.
    points : dict
        By symbol, with its index or without: features of the points, (k, D).
    functions : dict
        By name: from the text of the arguments to a value.
    rewrites : dict
        LaTeX text to its replacement.
    vectors : set of str
        Names whose last axis is that of the feature space.
    mask : Tensor, optional
        The entries at which statements with all of its axes have to hold.
    """

    values: dict[str, Any]
    points: dict[str, np.ndarray] = field(default_factory=dict)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    rewrites: dict[str, str] = field(default_factory=dict)
    vectors: set[str] = field(default_factory=set)
    mask: Tensor | None = None

    def point(self, text: str) -> Tensor:
        """Return φ at the samples x_i, with axes (i, .), or at new points x."""
        base, _, index = text.partition("_")
        found = self.points[text] if text in self.points else self.points[base + "_"]
        return Tensor(found, (index or base, "."))


def align(one: Tensor, other: Tensor) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return both arrays, broadcastable, and the axes of both."""
    axes = one.axes + tuple(axis for axis in other.axes if axis not in one.axes)

    def spread_axes(t: Tensor) -> np.ndarray:
        order = [t.axes.index(axis) for axis in axes if axis in t.axes]
        return np.transpose(t.a, order)[tuple(slice(None) if axis in t.axes else None for axis in axes)]

    return spread_axes(one), spread_axes(other), axes


def as_scalar(value: float) -> Tensor:
    """Return a number as a tensor without axes."""
    return Tensor(np.asarray(float(value)))


def combine(one: Any, operation: Callable[..., Any], other: Any) -> Any:
    """Apply an entrywise operation to two values."""
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return Matrix(operation(one.a, other.a))
    a, b, axes = align(to_single_tensor(one), to_single_tensor(other))
    with np.errstate(all="ignore"):  # masked entries may be 0/0
        return Tensor(operation(a, b), axes)


def to_single_tensor(value: Any) -> Tensor:
    """Return a tensor; a matrix has to have one entry."""
    if isinstance(value, Matrix):
        assert value.a.size == 1, value.a.shape
        return Tensor(value.a.reshape(()))
    return value


def multiply(one: Any, other: Any) -> Any:
    """Multiply matrices, scale a matrix, or multiply entry by entry."""
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return Matrix(one.a @ other.a)
    if isinstance(other, Matrix) and other.a.size > 1:
        return Matrix(other.a * float(one.a))
    return combine(one, np.multiply, other)


def reduce_axis(t: Tensor, axis: str, how: Any = np.add) -> Tensor:
    """Return the sum, or an extreme, over an axis."""
    place = t.axes.index(axis)
    return Tensor(how.reduce(t.a, axis=place), t.axes[:place] + t.axes[place + 1 :])


def contract(one: Tensor, other: Tensor) -> Tensor:
    """Return the inner product over the feature space."""
    return reduce_axis(combine(one, np.multiply, other), ".")


def tokenise(latex: str) -> list[str]:
    """Split LaTeX into tokens, without spacing, phantoms and line ends within brackets."""
    text = re.sub(r"\\(begin|end)\{align\*\}", "", latex).replace("{}", "")
    text = re.sub(r"\\phantom\{(?:[^{}]|\{[^{}]*\})*\}", "", text)
    found = [token for token in re.findall(r"\\[a-zA-Z]+|\\.|\d+|[^\s]", text) if token not in IGNORED]
    depth, kept = 0, []
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
    found, depth = [], 0
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


class Parser:
    """Parse and evaluate an expression: a sum of terms, of factors, of powers of a base.

    `sets` are index sets M = {i: …} by name, as masks.
    """

    def __init__(self, tokens: list[str], names: Symbols, sets: dict[str, Tensor] | None = None) -> None:
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
        """Consume a group {…} or (…), or one token; return the tokens inside."""
        if self.peek() in OPEN:
            end = find_group_end(self.tokens, self.k)
            inside = self.tokens[self.k + 1 : end]
            self.k = end + 1
            return inside
        return [self.consume()]

    def read_all(self, tokens: list[str]) -> Any:
        """Evaluate all tokens as one expression."""
        reader = Parser(tokens, self.names, self.sets)
        value = reader.sum()
        if reader.peek():
            raise SyntaxError(f"{reader.tokens[reader.k :]} left of {''.join(tokens)}")
        return value

    def sum(self) -> Any:
        sign = self.consume() if self.peek() in {"+", "-"} else ""
        value = self.term()
        if sign == "-":
            value = multiply(as_scalar(-1), value)
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
                value = multiply(value, self.factor())
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
                value = to_single_tensor(value)
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
            body = multiply(body, Tensor(mask.a.astype(float), (letters[0],)))
        elif any(token in RELATIONS for token in index):
            holds = evaluate_condition(index, self.names, self.sets)
            body, letters = multiply(body, Tensor(holds.a.astype(float), holds.axes)), list(holds.axes)
            letters = index[:1] if index[1] == r"\ne" else letters  # c ≠ y_i is of c
        else:
            letters = [token for token in index if token != ","]
        body = to_single_tensor(body)
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
                return as_scalar(found.a.sum())
            self.bars.append(token)
            value = to_single_tensor(self.sum())
            self.consume(self.bars.pop())
            return Tensor(np.abs(value.a), value.axes) if token == "|" else compute_root(contract(value, value))
        if token == r"\langle":
            self.k -= 1
            left, right = split(self.group(), {","})[0]
            return contract(self.read_all(left), self.read_all(right))
        if token in {r"\frac", r"\tfrac"}:
            if self.peek().isdigit() and len(self.peek()) == 2:  # \tfrac12
                above, below = self.consume()
                return as_scalar(int(above) / int(below))
            return combine(
                to_single_tensor(self.read_all(self.group())), np.divide, to_single_tensor(self.read_all(self.group()))
            )
        if token == r"\sqrt":
            return compute_root(to_single_tensor(self.read_all(self.group())))
        if token in {r"\max", r"\min"}:
            return self.extreme(token)
        if token.isdigit():
            if token == "1" and self.peek() == "^" and self.tokens[self.k + 1 : self.k + 4] == ["{", r"\top", "}"]:
                self.k += 4
                right = self.factor()
                return Matrix(np.ones((1, right.a.shape[0])) @ right.a)
            return as_scalar(int(token))
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


def compute_root(t: Tensor) -> Tensor:
    return Tensor(np.sqrt(np.maximum(t.a, 0.0)), t.axes)


def to_tensor(value: Any) -> Tensor:
    """Return a value to compare; a column becomes a tensor with the axis "*"."""
    if isinstance(value, Matrix):
        return to_single_tensor(value) if value.a.size == 1 else Tensor(value.a.ravel(), ("*",))
    return value


def evaluate_sides(
    tokens: list[str], names: Symbols, sets: dict[str, Tensor] | None = None
) -> list[tuple[Any, str, Any]]:
    """Evaluate a chain of relations: (left, relation, right) of all neighbours."""
    parts, relations = split(tokens, set(RELATIONS))
    if len(parts) < 2:
        raise SyntaxError("no relation in " + "".join(tokens))
    values = [Parser(part, names, sets).read_all(part) for part in parts]
    return [(values[k], RELATIONS[relation], values[k + 1]) for k, relation in enumerate(relations)]


def align_sides(left: Any, right: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return two sides as arrays to compare, and their axes."""
    left, right = to_tensor(left), to_tensor(right)
    if "*" in left.axes + right.axes and left.axes and right.axes:
        return left.a.ravel(), right.a.ravel(), ("*",)
    return align(left, right)


def evaluate_condition(tokens: list[str], names: Symbols, sets: dict[str, Tensor] | None = None) -> Tensor:
    """Evaluate a comma-separated list of conditions; return the mask where all of them hold."""
    found = Tensor(np.asarray(True))
    for piece in split_list(tokens):
        for left, relation, right in evaluate_sides(piece, names, sets):
            a, b, axes = align_sides(left, right)
            holds = {
                "=": np.abs(a - b) <= INSIDE, "≠": np.abs(a - b) > INSIDE, "<": b - a > INSIDE, ">": a - b > INSIDE,
                "≤": a - b <= INSIDE, "≥": b - a <= INSIDE,
            }[relation]  # fmt: skip
            found = combine(found, np.logical_and, Tensor(holds, axes))
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


@dataclass
class Failure:
    """A statement that is false."""

    said: str
    left: float
    right: float

    def __str__(self) -> str:
        return f"{self.said}:  {self.left:.9g} against {self.right:.9g}"


def check_statement(piece: list[str], names: Symbols, where: Tensor | None, sets: dict[str, Tensor]) -> list[Failure]:
    """Check a chain of relations at the entries of `where`; list its worst violations."""
    failures = []
    for left, relation, right in evaluate_sides(piece, names, sets):
        a, b, axes = align_sides(left, right)
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


def split_words(tokens: list[str]) -> tuple[str, list[str]]:
    r"""Return the words of a leading \text{…}, and the tokens that follow."""
    if tokens and tokens[0] == r"\text":
        end = find_group_end(tokens, 1)
        return "".join(tokens[2:end]), tokens[end + 1 :]
    return "", tokens


@dataclass
class DisplayReport:
    """The outcome of a display: false statements, skipped lines, and the number of evaluated statements."""

    failures: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    evaluated: int = 0


def evaluate_display(
    latex: str, names: Symbols, optimum: Callable[[list[str]], float], skip: tuple[str, ...] = ()
) -> DisplayReport:
    """Evaluate every statement of a display at the values of its symbols.

    Parameters
    ----------
    latex : str
    names : Names
    optimum : callable
        From the symbols that a minimum is taken over to the value of its objective.
    skip : tuple of str
        Statements that contain one of these texts are skipped: they have no numerical content.
    """
    for written, reads in names.rewrites.items():
        latex = latex.replace(written, reads)
    found, lines, sets = DisplayReport(), split_statements(latex), {}
    for line in lines:
        if len(line) > 4 and line[1] == "=" and line[2] == r"\{":  # M = {i: …}
            inside = split(line[3 : find_group_end(line, 2)], {":"})[0][1]
            sets[line[0]] = evaluate_condition(inside, names)
    for line in lines:
        said = "".join(line)
        words, line = split_words(line)
        if words and words != "subjectto":
            found.skipped.append(said)
            continue
        rest = "".join(line)
        if any(text in rest for text in skip) or r"\{i:" in said:
            if r"\{i:" not in said:
                found.skipped.append(said)
            continue
        if line[0] in {r"\min", r"\max"} and line[1] == "_" and "=" not in split(line, {","})[0][0]:
            end = find_group_end(line, 2) if line[2] in OPEN else 2
            over, objective = line[2 : end + 1], line[end + 1 :]
            first, *rest = split(objective, {","})[0]
            value = float(to_single_tensor(Parser(first, names).read_all(first)).a)
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
                where = evaluate_condition(premise, names, sets)
                if arrows[-1] == r"\Longrightarrow" and r"\nu=1" not in said:  # "⟹" also claims the premise
                    for piece in split_list(premise):
                        found.failures += check_statement(piece, names, None, sets)
                    where = None
        for piece in split_list(line):
            if sets and any(f"\\in{name}" in "".join(piece) and not mask.a.any() for name, mask in sets.items()):
                continue  # the mean over an empty set
            found.failures += check_statement(piece, names, where, sets)
            found.evaluated += 1
    return found
