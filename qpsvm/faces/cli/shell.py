"""Print commands in the form that the user's shell accepts."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def find_command(*arguments: str) -> str:
    """`python -m qpsvm` and its arguments in an activated environment; elsewhere with the path of this interpreter.

    The path is relative to the current folder where the interpreter is below it.
    """
    return _quote([_find_interpreter(), "-m", "qpsvm", *arguments])


def _find_interpreter() -> str:
    """This interpreter, as a shell finds it from the current folder."""
    if not sys.executable:  # Python is embedded in another program
        return "python"
    interpreter = Path(os.path.abspath(sys.executable))  # a link is not followed: that of an environment says which one
    found = shutil.which("python")
    if found is not None and _is_same_interpreter(Path(os.path.abspath(found)), interpreter):
        return "python"
    if interpreter.is_relative_to(Path.cwd()):
        interpreter = interpreter.relative_to(Path.cwd())
    written = str(interpreter)
    if written == interpreter.name:  # a shell looks for a bare name on its PATH only
        written = os.path.join(os.curdir, written)
    return written


def _quote(words: list[str]) -> str:
    """Quote words as one line for the shell."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _is_same_interpreter(one: Path, other: Path) -> bool:
    """Whether two commands start the same interpreter: those of one environment are in one folder."""
    return one.parent.resolve() == other.parent.resolve() and one.samefile(other)
