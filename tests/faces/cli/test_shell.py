"""The lines that a command prints to be pasted start the interpreter that printed them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from qpsvm.faces.cli.shell import find_command

POSIX = pytest.mark.skipif(os.name == "nt", reason="links and quotes of a POSIX shell")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands of an environment, one of which runs this: neither on PATH nor below the current folder."""
    folder = tmp_path / "my project" / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "python3"):
        (folder / name).symlink_to(sys.executable)
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(away)
    return folder


@POSIX
def test_the_path_is_relative_where_the_interpreter_is_below_the_current_folder(environment, monkeypatch):
    monkeypatch.chdir(environment.parents[1])
    assert find_command() == ".venv/bin/python -m qpsvm"
    monkeypatch.chdir(environment)
    assert find_command() == "./python -m qpsvm", "a shell looks for a bare name on its PATH only"


@POSIX
def test_elsewhere_the_path_is_absolute_and_quoted(environment):
    assert find_command("predict", "my model.npz") == f"'{environment}/python' -m qpsvm predict 'my model.npz'"


@POSIX
def test_in_an_activated_environment_it_is_python(environment, monkeypatch):
    monkeypatch.setenv("PATH", f"{environment}:/usr/bin")
    assert find_command() == "python -m qpsvm"
    monkeypatch.setattr(sys, "executable", str(environment / "python3"))
    assert find_command() == "python -m qpsvm"


@POSIX
def test_another_environment_of_the_same_interpreter_is_another(environment, tmp_path, monkeypatch):
    """Both link to one file: the folder says which packages there are."""
    other = tmp_path / "other" / "bin"
    other.mkdir(parents=True)
    (other / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(other))
    assert find_command() == f"'{environment}/python' -m qpsvm"


def test_without_an_interpreter_of_its_own_it_is_python(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    assert find_command() == "python -m qpsvm"
