"""Show the source code of a function next to its equation, read with `inspect`.

An equation is the statement behind which its tag stands in a comment, `# (CSVM.4)`; those are its lines. Code that
serves every machine carries the tag of the equation that all of theirs are cases of, `# (DUAL.5)`.

The equations of a variant, read from the docstring that defines them.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import qpsvm.base.errors
from qpsvm.derivation.display import Code
from qpsvm.derivation.expressions import Equation

#: What paths are shown relative to: the directory that holds the package.
HOME = Path(qpsvm.base.errors.__file__).parents[2]
#: Lines up to which a function is shown whole, and lines that are shown around an equation in a longer one.
SHORT, AROUND = 14, 3
#: Statements with a body, of which only the head can be an equation.
COMPOUND = (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
#: A definition: its tag, and the text up to the end of the line. Lines that are indented deeper continue it.
DEFINITION = re.compile(r"^ {4}\(([A-Z][A-Z0-9]+\.\d+)\)  (\S.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def find_code(function: Callable[..., Any], tag: str = "", general: str = "") -> Code:
    """Find the source of a function, dedented, with a short docstring, its location, and the lines of the tag.

    Where the tag is not there, its lines are those of the equation that it is a case of. An equation that is its own
    code, which is what evaluates it, is shown as an expression.
    """
    if isinstance(function, Equation):
        text = function.python(tag or "the equation")
        return Code("true as it is written, with derivation.names()", text, tuple(range(text.count("\n") + 1)))
    return _read_function(function, tag, general)


@cache
def _read_function(function: Callable[..., Any], tag: str, general: str) -> Code:
    """Return the code of a function."""
    written, number = inspect.getsourcelines(function)
    file = Path(inspect.getfile(function))
    shown = file.relative_to(HOME) if file.is_relative_to(HOME) else file
    text = _shorten_docstring("".join(written))
    marked = next(filter(None, (find_tagged_lines(text, each) for each in (tag, general) if each)), ())
    whole = Code(f"{function.__qualname__}, {shown}:{number}", text, marked)
    return replace(whole, excerpt=build_excerpt(whole))


def find_tagged_lines(text: str, tag: str) -> tuple[int, ...]:
    """Find the lines, from 0, that are an equation: its tag is in a comment behind them.

    Behind the first line of a statement it means the whole statement, and behind another line that line.
    """
    spans = {
        node.lineno: node.end_lineno or node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node,
        ast.stmt) and not isinstance(node, COMPOUND)
    }  # fmt: skip
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and f"({tag})" in token.string and token.line.strip() != token.string:
            first = token.start[0]
            found.update(range(first - 1, spans.get(first, first)))
    return tuple(sorted(found))


def build_excerpt(function: Code) -> Code | None:
    """Cut a long function to its head and the lines around the equation; return None for a short one."""
    lines = function.text.splitlines()
    if len(lines) <= SHORT or not function.lines:
        return None
    definition = ast.parse(function.text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    kept = set(range(definition.body[0].end_lineno or 1))
    kept |= {n + step for n in function.lines for step in range(-AROUND, AROUND + 1) if 0 <= n + step < len(lines)}
    shown: list[str] = []
    marked: list[int] = []
    for number, line in enumerate(lines):
        if number in function.lines:
            marked.append(len(shown))
        if number in kept:
            shown.append(line)
        elif number - 1 in kept:
            shown.append(f"{line[: len(line) - len(line.lstrip())]}# …")
    return Code(function.where, "\n".join(shown), tuple(marked))


def _shorten_docstring(written: str) -> str:
    lines = textwrap.dedent(written).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    if ast.get_docstring(definition) and first.end_lineno is not None and first.end_lineno > first.lineno:
        lines[first.lineno - 1 : first.end_lineno] = [lines[first.lineno - 1].rstrip() + '"""']
    return "\n".join(lines)


def parse_statements(module: ModuleType | None) -> dict[str, str]:
    """Parse every tag that a module's docstring defines, in order, with its equation on one line."""
    text = (module.__doc__ if module is not None else None) or ""
    return {tag: re.sub(r"\s*\n\s*", " ", equation) for tag, equation in DEFINITION.findall(text)}
