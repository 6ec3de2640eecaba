"""Find the source code of an equation (`find_code`), and the equations that a docstring defines (`parse_equations`).

A comment with a tag, such as `# (CSVM.4)`, marks the statement in front of it as the code of that equation. Code that
serves all machines has the tag of the general equation, such as `# (DUAL.5)`, of which theirs are special cases.
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

#: The directory that holds the package; paths are displayed relative to it.
HOME = Path(qpsvm.base.errors.__file__).parents[2]
#: A function with at most this many lines is displayed in full.
MAX_FULL_LINES = 14
#: Lines displayed before and after an equation in a longer function.
CONTEXT_LINES = 3
#: Statements with a body, of which only the head can be an equation.
COMPOUND = (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
#: A definition in a docstring: its tag, and its text, which lines with a deeper indentation continue.
DEFINITION = re.compile(r"^ {4}\(([A-Z][A-Z0-9]+\.\d+)\)  (\S.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def find_code(function: Callable[..., Any], tag: str = "", general: str = "") -> Code:
    """Find the source of a function, its location, and the lines of an equation; the docstring is cut to one line.

    function: A function of the library, or an `Equation`, whose code is the expression that evaluates it.
    tag, general: Tags of the equation, and of the general one, which is used if the source does not have the first.
    """
    if isinstance(function, Equation):
        text = function.python(tag or "the equation")
        return Code("evaluates to True with derivation.names()", text, tuple(range(text.count("\n") + 1)))
    return _read_function(function, tag, general)


@cache
def _read_function(function: Callable[..., Any], tag: str, general: str) -> Code:
    """Return the code of a function of the library, with the lines of the first tag that its source has."""
    source_lines, first_line_number = inspect.getsourcelines(function)
    file = Path(inspect.getfile(function))
    display_path = file.relative_to(HOME) if file.is_relative_to(HOME) else file
    text = _shorten_docstring("".join(source_lines))
    tagged_lines: tuple[int, ...] = ()
    for candidate in (tag, general):
        if candidate and not tagged_lines:
            tagged_lines = find_tagged_lines(text, candidate)
    code = Code(f"{function.__qualname__}, {display_path}:{first_line_number}", text, tagged_lines)
    return replace(code, excerpt=build_excerpt(code))


def find_tagged_lines(text: str, tag: str) -> tuple[int, ...]:
    """Find the numbers of the lines, from 0, that a comment with the tag marks as the equation.

    A comment after the first line of a statement marks the whole statement; after another line, only that line.
    """
    statement_ends = {
        node.lineno: node.end_lineno or node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and not isinstance(node, COMPOUND)
    }
    tagged_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_alone_on_line = token.line.strip() == token.string
        if token.type == tokenize.COMMENT and f"({tag})" in token.string and not is_alone_on_line:
            first = token.start[0]
            tagged_lines.update(range(first - 1, statement_ends.get(first, first)))
    return tuple(sorted(tagged_lines))


def build_excerpt(code: Code) -> Code | None:
    """Cut a long function to its head and the lines around its equation; None if it is short or has no equation."""
    lines = code.text.splitlines()
    if len(lines) <= MAX_FULL_LINES or not code.lines:
        return None
    definition = ast.parse(code.text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    kept_lines = set(range(definition.body[0].end_lineno or 1))
    for number in code.lines:
        kept_lines.update(range(max(number - CONTEXT_LINES, 0), min(number + CONTEXT_LINES + 1, len(lines))))
    excerpt: list[str] = []
    tagged_lines: list[int] = []
    for number, line in enumerate(lines):
        if number in code.lines:
            tagged_lines.append(len(excerpt))
        if number in kept_lines:
            excerpt.append(line)
        elif number - 1 in kept_lines:
            indentation = line[: len(line) - len(line.lstrip())]
            excerpt.append(f"{indentation}# …")
    return Code(code.where, "\n".join(excerpt), tuple(tagged_lines))


def _shorten_docstring(source: str) -> str:
    """Dedent the source of a function, and cut its docstring to the first line."""
    lines = textwrap.dedent(source).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    docstring = definition.body[0]
    is_docstring = ast.get_docstring(definition) is not None
    if is_docstring and docstring.end_lineno is not None and docstring.end_lineno > docstring.lineno:
        lines[docstring.lineno - 1 : docstring.end_lineno] = [lines[docstring.lineno - 1].rstrip() + '"""']
    return "\n".join(lines)


def parse_equations(module: ModuleType | None) -> dict[str, str]:
    """Return the equations that a module's docstring defines, by tag, in order, each on one line."""
    text = (module.__doc__ if module is not None else None) or ""
    return {tag: re.sub(r"\s*\n\s*", " ", equation) for tag, equation in DEFINITION.findall(text)}
