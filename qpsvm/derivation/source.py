"""The source of a function as it stands in the library, for people: read with `inspect`, so that it is never stale."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import qpsvm.errors

#: What paths are shown relative to: the directory that holds the package.
HOME = Path(qpsvm.errors.__file__).parents[1]


def source(function: Callable[..., Any]) -> str:
    """The source of a function, dedented, with its docstring cut to the first line."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    if ast.get_docstring(definition) and first.end_lineno is not None and first.end_lineno > first.lineno:
        lines[first.lineno - 1 : first.end_lineno] = [lines[first.lineno - 1].rstrip() + '"""']
    return "\n".join(lines)


def location(function: Callable[..., Any]) -> str:
    """Name, file and line of a function: `CSVM._primal, qpsvm/problems/c_svm.py:117`."""
    file = Path(inspect.getfile(function))
    shown = file.relative_to(HOME) if file.is_relative_to(HOME) else file
    return f"{function.__qualname__}, {shown}:{inspect.getsourcelines(function)[1]}"
