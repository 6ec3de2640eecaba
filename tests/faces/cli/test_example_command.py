"""`example` writes the tables of README, guide and help, and every one of their commands runs on them."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from each import for_each

from qpsvm.faces.cli import main
from qpsvm.faces.cli.commands.example import TABLES
from qpsvm.faces.cli.parser import EXAMPLES

ROOT = Path(__file__).resolve().parents[3]
#: Commands that do not end by themselves, run a program of the user's, need a cluster, or take files of the reader's.
APART = ("play", "--scheduler", "part-", "-m qpsvm\n")


def commands() -> list[str]:
    """The commands of the README, the page of the command line and the help."""
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/guide/command_line.md")]
    blocks = [block for page in pages for block in re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)]
    text = "\n".join([*blocks, *(line.strip() for line in EXAMPLES.splitlines())]).replace("\\\n", "")
    lines = (line.partition("   #")[0].partition("  #")[0].partition(" >")[0].strip() for line in text.splitlines())
    found = dict.fromkeys(line for line in lines if "python -m qpsvm " in line and "venv" not in line)
    return [line for line in found if not any(word in line for word in APART)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("example")
    assert main(["example", *(str(where / name) for name in TABLES)]) == 0
    return where


def test_the_tables_are_what_is_said_of_them(folder, capsys):
    text = (folder / "customers.csv").read_text()
    rows = text.splitlines()
    assert len(rows) == 1001
    share = sum(row.endswith(",Yes") for row in rows) / 1000
    assert 0.02 < share < 0.05
    head = rows[0].rpartition(",")[0]
    assert (folder / "new_customers.csv").read_text().splitlines()[0] == head
    assert main(["example", str(folder / "customers.csv")]) == 0, "the same file may be written again"
    assert (folder / "customers.csv").read_text() == text
    capsys.readouterr()
    assert main(["example"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(TABLES)


@for_each(
    "name, words",
    [
        ("custmers.csv", "did you mean 'customers.csv'"),
        ("nowhere/iris.csv", "no directory"),
        ("houses.csv", "other content"),
    ],
)
def test_nothing_is_overwritten_and_the_nearest_name_is_said(tmp_path, capsys, name, words):
    (tmp_path / "houses.csv").write_text("mine\n")
    assert main(["example", str(tmp_path / name)]) == 2
    assert words in capsys.readouterr().err
    assert (tmp_path / "houses.csv").read_text() == "mine\n"


def test_a_table_is_named_before_it_is_used():
    for page in ("README.md", "docs/guide/command_line.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        written = text.index("-m qpsvm example")
        for name in TABLES:
            first = text.find(f" {name} --")
            assert first < 0 or written < first, (page, name)


@pytest.mark.slow
def test_every_command_of_the_pages_runs(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    given = commands()
    assert len(given) > 25
    for line in given:
        before, _, command = line.rpartition("python -m qpsvm ")
        if before:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / "customers.csv").read_bytes())))
        code = main(shlex.split(command))
        said = capsys.readouterr()
        assert code == 0, f"{line}\n{said.out}\n{said.err}"
