"""Print commands in the form that the user's shell accepts."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def find_command(*arguments: str) -> str:
    """Return `python -m qpsvm` with arguments; outside an activated environment, with the path of this interpreter.

    The path is relative to the current folder if the interpreter is below it.
    """
    return _quote([_find_interpreter(), "-m", "qpsvm", *arguments])


def _find_interpreter() -> str:
    """Find this interpreter as a shell finds it from the current folder."""
    if not sys.executable:  # Python is embedded in another program
        return "python"
    interpreter = Path(os.path.abspath(sys.executable))  # links are not followed: they identify the environment
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
    if os.name == "nt":
        return subprocess.list2cmdline(words)
    return shlex.join(words)


def _is_same_interpreter(one: Path, other: Path) -> bool:
    """Return whether two commands start the same interpreter: those of one environment are in one folder."""
    return one.parent.resolve() == other.parent.resolve() and one.samefile(other)
