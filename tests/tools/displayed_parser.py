"""Evaluate LaTeX expressions and relations by recursive descent (`Parser`, `evaluate_sides`, `evaluate_condition`).

`Symbols` binds the symbols to values; nothing here knows a machine. A symbol without an index is a column vector, a
`Matrix`; with an index it is a `Tensor`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from displayed_arrays import (
    Matrix,
    Tensor,
    align,
    as_scalar,
    combine,
    compute_root,
    contract,
    multiply,
    reduce_axis,
    to_single_tensor,
    to_tensor,
)  # fmt: skip
from displayed_tokens import OPEN, RELATIONS, find_group_end, split, split_list

#: How far apart the sides of a condition "<" have to be; other conditions hold up to this.
INSIDE = 1e-5


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


class Parser:
    """Parse and evaluate an expression: a sum of terms, of factors, of powers of a base.

    `sets` are index sets M = {i: …} by name, as masks.
    """

    def __init__(self, tokens: list[str], names: Symbols, sets: dict[str, Tensor] | None = None) -> None:
        self.tokens = tokens
        self.names = names
        self.k = 0
        self.sets = sets or {}
        self.bars: list[str] = []

    def peek(self, ahead: int = 0) -> str:
        """Return a token without consuming it; "" at the end."""
        place = self.k + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def consume(self, wanted: str = "") -> str:
        """Consume and return the next token, which has to be `wanted` if that is given."""
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise SyntaxError(f"{wanted or 'a token'} expected at {self.tokens[self.k :]} of {''.join(self.tokens)}")
        self.k += 1
        return token

    def consume_group(self) -> list[str]:
        """Consume a group {…} or (…), or one token; return the tokens inside."""
        if self.peek() in OPEN:
            end = find_group_end(self.tokens, self.k)
            inside = self.tokens[self.k + 1 : end]
            self.k = end + 1
            return inside
        return [self.consume()]

    def evaluate(self, tokens: list[str]) -> Any:
        """Evaluate all tokens as one expression."""
        reader = Parser(tokens, self.names, self.sets)
        value = reader.parse_sum()
        if reader.peek():
            raise SyntaxError(f"{reader.tokens[reader.k :]} left of {''.join(tokens)}")
        return value

    def parse_sum(self) -> Any:
        """Parse terms with signs between them."""
        sign = self.consume() if self.peek() in {"+", "-"} else ""
        value = self.parse_term()
        if sign == "-":
            value = multiply(as_scalar(-1), value)
        while self.peek() in {"+", "-"}:
            operation = np.add if self.consume() == "+" else np.subtract
            value = combine(value, operation, self.parse_term())
        return value

    def parse_term(self) -> Any:
        """Parse a product of factors."""
        value = self.parse_factor()
        while self.peek() not in {"", "+", "-", *self.bars[-1:]}:
            if self.peek() == r"\circ":
                self.consume()
                value = combine(value, np.multiply, self.parse_factor())
            else:
                value = multiply(value, self.parse_factor())
        return value

    def parse_factor(self) -> Any:
        """Parse a base with powers, or an indexed sum."""
        if self.peek() == r"\sum":
            return self.parse_indexed_sum()
        value = self.parse_base()
        while self.peek() == "^":
            self.consume()
            power = self.consume_group()
            if power == [r"\top"]:
                value = Matrix(value.a.T)
            elif power == ["2"]:
                value = to_single_tensor(value)
                value = Tensor(value.a**2, value.axes)
            else:
                raise SyntaxError(f"power {power}")
        return value

    def parse_indexed_sum(self) -> Any:
        """Parse Σ over indices, over an index set, or over the indices that meet a condition."""
        self.consume(r"\sum")
        self.consume("_")
        index = self.consume_group()
        body = self.parse_term()
        if r"\in" in index:
            letters = index[:1]
            mask = self.sets["".join(index[index.index(r"\in") + 1 :])]
            body = multiply(body, Tensor(mask.a.astype(float), (letters[0],)))
        elif any(token in RELATIONS for token in index):
            holds = evaluate_condition(index, self.names, self.sets)
            body = multiply(body, Tensor(holds.a.astype(float), holds.axes))
            letters = list(holds.axes)
            letters = index[:1] if index[1] == r"\ne" else letters  # c ≠ y_i is of c
        else:
            letters = [token for token in index if token != ","]
        body = to_single_tensor(body)
        for letter in letters:
            if letter not in body.axes:
                raise SyntaxError(f"nothing to sum over {letter} in {''.join(self.tokens)}")
            body = reduce_axis(body, letter)
        return body

    def parse_extreme(self, token: str) -> Any:
        """Parse a maximum or minimum: over an axis, over a class, or of a list."""
        pick = np.maximum if token == r"\max" else np.minimum
        if self.peek() == "_":
            self.consume()
            index = "".join(self.consume_group())
            if index in "+-":
                return self.names.functions[f"{token}_{index}"]("".join([self.consume()]))
            return reduce_axis(self.parse_factor(), index, pick)
        parts, _ = split(self.consume_group(), {","})
        value = self.evaluate(parts[0])
        for part in parts[1:]:
            value = combine(value, pick, self.evaluate(part))
        return value

    def parse_base(self) -> Any:
        """Parse a number, a symbol, or an expression in brackets or bars."""
        token = self.consume()
        if token in {"(", "{", "["}:
            self.k -= 1
            return self.evaluate(self.consume_group())
        if token in {"|", r"\|"}:
            if token == "|" and self.peek() in self.sets and self.peek(1) == "|":
                found = self.sets[self.consume()]
                self.consume()
                return as_scalar(found.a.sum())
            self.bars.append(token)
            value = to_single_tensor(self.parse_sum())
            self.consume(self.bars.pop())
            if token == "|":
                return Tensor(np.abs(value.a), value.axes)
            return compute_root(contract(value, value))
        if token == r"\langle":
            self.k -= 1
            left, right = split(self.consume_group(), {","})[0]
            return contract(self.evaluate(left), self.evaluate(right))
        if token in {r"\frac", r"\tfrac"}:
            if self.peek().isdigit() and len(self.peek()) == 2:  # \tfrac12
                above, below = self.consume()
                return as_scalar(int(above) / int(below))
            return combine(
                to_single_tensor(self.evaluate(self.consume_group())),
                np.divide,
                to_single_tensor(self.evaluate(self.consume_group())),
            )
        if token == r"\sqrt":
            return compute_root(to_single_tensor(self.evaluate(self.consume_group())))
        if token in {r"\max", r"\min"}:
            return self.parse_extreme(token)
        if token.isdigit():
            if token == "1" and self.peek() == "^" and self.tokens[self.k + 1 : self.k + 4] == ["{", r"\top", "}"]:
                self.k += 4
                right = self.parse_factor()
                return Matrix(np.ones((1, right.a.shape[0])) @ right.a)
            return as_scalar(int(token))
        return self.parse_name(token)

    def parse_name(self, token: str) -> Any:
        """Parse a symbol with its indices and marks, or a function of arguments."""
        if token == r"\bar":
            token += self.consume()
        mark = index = ""
        for _ in range(2):
            if self.peek() == "^" and self.peek(1) in {"+", "-", "*", r"\pm"} and not mark:
                mark = "^" + self.tokens[self.k + 1]
                self.k += 2
            elif self.peek() == "_" and not index:
                self.consume()
                index = "".join(part for part in self.consume_group() if part != ",")
        whole = token + mark + (f"_{index}" if index else "")
        for name in (whole, token + mark):
            if name in self.names.functions and self.peek() == "(":
                found = self.names.functions[name]
                arguments = "".join(self.consume_group())
                if name == whole:
                    return found(arguments)
                return found(arguments, index)
        if whole in self.names.values:
            return self.get_value(whole, "")
        if token + mark in self.names.values and index:
            return self.get_value(token + mark, index)
        if whole in self.names.points or token + "_" in self.names.points:
            return self.names.point(whole)
        raise KeyError(f"{whole} in {''.join(self.tokens)}")

    def get_value(self, name: str, index: str) -> Any:
        """Return the value of a symbol, with its index letters as axes."""
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


def evaluate_sides(
    tokens: list[str], names: Symbols, sets: dict[str, Tensor] | None = None
) -> list[tuple[Any, str, Any]]:
    """Evaluate a chain of relations: (left, relation, right) of all neighbours."""
    parts, relations = split(tokens, set(RELATIONS))
    if len(parts) < 2:
        raise SyntaxError("no relation in " + "".join(tokens))
    values = [Parser(part, names, sets).evaluate(part) for part in parts]
    return [(values[k], RELATIONS[relation], values[k + 1]) for k, relation in enumerate(relations)]


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


def align_sides(left: Any, right: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return two sides as arrays to compare, and their axes."""
    left, right = to_tensor(left), to_tensor(right)
    if "*" in left.axes + right.axes and left.axes and right.axes:
        return left.a.ravel(), right.a.ravel(), ("*",)
    return align(left, right)
