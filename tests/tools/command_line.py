"""Helpers of the tests of commands: run one in this process, read the rows that it wrote."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from qpsvm.faces.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, standard output and standard error."""
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file with a head, each as cells by column."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def succeed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that ends well; return what it printed."""
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    return out


def fail(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that is refused, with status 2 and one line, which is returned."""
    code, _, err = run(capsys, *arguments)
    assert code == 2, err
    assert len(err.strip().splitlines()) == 1, err
    return err
