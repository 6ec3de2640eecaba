"""The code of a function as it stands in the library, for people: read with `inspect`, so that it is never stale."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import qpsvm.errors
from qpsvm.derivation.shown import Code

#: What paths are shown relative to: the directory that holds the package.
HOME = Path(qpsvm.errors.__file__).parents[1]


@cache
def code(function: Callable[..., Any]) -> Code:
    """Where a function is, and its source: dedented, with the docstring cut to its first line."""
    written, number = inspect.getsourcelines(function)
    file = Path(inspect.getfile(function))
    shown = file.relative_to(HOME) if file.is_relative_to(HOME) else file
    return Code(f"{function.__qualname__}, {shown}:{number}", _with_short_docstring("".join(written)))


def _with_short_docstring(written: str) -> str:
    lines = textwrap.dedent(written).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    if ast.get_docstring(definition) and first.end_lineno is not None and first.end_lineno > first.lineno:
        lines[first.lineno - 1 : first.end_lineno] = [lines[first.lineno - 1].rstrip() + '"""']
    return "\n".join(lines)
