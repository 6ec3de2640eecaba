"""What the README shows runs and prints what it says, but for times, versions and rounding."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first code block of a language."""
    found = re.search(rf"```{language}\n(.*?)\n```", README, flags=re.DOTALL)
    assert found is not None
    return found.group(1)


def stable(text: str) -> list[str]:
    """The lines that do not depend on the machine, numbers to six digits."""
    lines = [line for line in text.splitlines() if not line.strip().startswith(("gap", "time", "solver"))]
    return [re.sub(r"\d+\.\d{6,}", lambda m: f"{float(m.group()):.6g}", line) for line in lines]


@pytest.mark.slow
def test_the_example_prints_what_the_readme_says():
    done = subprocess.run([sys.executable, "-c", block("python")], capture_output=True, text=True, check=True)
    assert stable(done.stdout.rstrip("\n")) == stable(block("text"))
    assert "it said 'solved'" in done.stdout
    assert "own point: 0.15)" in done.stdout


def test_the_two_commands_are_those_that_are_run_here():
    """`.ci/run` runs both in fresh environments, by these words."""
    commands = re.findall(r"```sh\n(.*?)\n```", README, flags=re.DOTALL)
    proven, mine, large, first, tests = commands  # the first three are for files of the reader's own
    assert "--proof proof.json\npython -m qpsvm verify proof.json --data customers.csv" in proven
    assert "solve customers.csv" in mine
    assert "--target" in large
    assert first.endswith(".venv/bin/python -m qpsvm")
    assert 'pip install -e ".[test]" && .venv/bin/python -m pytest' in tests


def test_every_page_and_picture_that_the_readme_names_is_there():
    named = [path for path in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in path]
    assert "docs/pictures/front.png" in named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_a_missing_extra_is_installed_from_a_clone():
    """There is no release: `pip install qpsvm` finds nothing."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    for path in (ROOT / "README.md", *pages, *(ROOT / "qpsvm").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")):
        assert not re.search(r"pip install [^\n]{0,3}qpsvm", path.read_text(encoding="utf-8")), path
