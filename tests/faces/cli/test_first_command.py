"""`python -m qpsvm`, as a newcomer sees it: solvers that succeed, and next lines that work as they stand."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from command_line import run, succeed

from qpsvm import backends
from qpsvm.faces.cli import main
from qpsvm.many import comparison

ROOT = Path(__file__).resolve().parents[3]
#: What is there to be studied, and is at its limit before it is at the optimum.
STUDY = [backend.name for backend in backends.iter_backends() if backend.abilities.is_educational]


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment in `.venv`, which is not activated, as the README makes it."""
    folder = tmp_path_factory.mktemp("newcomer")
    venv.create(folder / ".venv", symlinks=os.name != "nt")
    (packages,) = folder.glob(".venv/**/site-packages")
    (packages / "here.pth").write_text("\n".join([str(ROOT), *site.getsitepackages(), *sys.path[1:]]))
    return folder


def paste(line: str, folder: Path) -> str:
    """What a line prints in a shell."""
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_next_lines_work_as_they_are_printed(newcomer):
    python = str(Path(".venv", "Scripts" if os.name == "nt" else "bin", "python"))
    printed = paste(f"{python} -m qpsvm", newcomer)
    following = [line.strip() for line in printed.partition("\nNext")[2].splitlines()[1:]]
    assert len(following) >= 3
    for line in following:
        assert line.startswith(f"{python} -m qpsvm ") or os.name == "nt"
        paste(line, newcomer)
    assert (newcomer / "bought.npz").exists()


def test_the_examples_of_the_help_can_be_pasted(newcomer, monkeypatch, capsys):
    monkeypatch.chdir(newcomer)
    monkeypatch.setattr(sys, "executable", str(newcomer / ".venv" / "bin" / "python"))
    for arguments in ([], ["solve"], ["compare"], ["derive"]):
        with pytest.raises(SystemExit):
            main([*arguments, "--help"])
        lines = [line for line in capsys.readouterr().out.splitlines() if " -m qpsvm" in line]
        assert len(lines) > 1
        assert [line for line in lines if "-m qpsvm" in line.replace(str(Path(".venv/bin/python -m qpsvm")), "")] == []


def read_statuses(printed: str) -> dict[str, set[str]]:
    """The statuses of the table, by backend."""
    found: dict[str, set[str]] = {}
    for cells in map(str.split, printed.splitlines()):
        if cells and cells[0] in backends.names():
            found.setdefault(cells[0], set()).add(cells[2])
    return found


def test_every_row_of_the_first_table_is_optimal(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    statuses = read_statuses(out)
    assert set(statuses) >= {"cvxopt", "osqp", "cvxpy", "augmented_lagrangian", "libsvm"}
    assert set(statuses).isdisjoint(STUDY)
    assert set().union(*statuses.values()) == {"optimal"}
    assert "--all" in out


@pytest.mark.slow
def test_all_has_every_backend_and_the_textbook_methods(capsys, monkeypatch):
    monkeypatch.setattr(comparison, "STUDY_SECONDS", 0.2)
    out = succeed(capsys, "--all")
    assert {line.split()[0] for line in out.splitlines() if line.strip()} >= set(backends.REGISTRY)
    statuses = read_statuses(out)
    assert statuses["dual_ascent"] == statuses["slsqp"] == {"time_limit"}, "they are shown as they end"


def test_all_belongs_to_the_first_table(capsys):
    code, out, err = run(capsys, "--all", "backends")
    assert (code, out) == (2, "")
    assert "--all only applies without a command" in err
