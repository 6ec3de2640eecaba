"""What `benchmarks/RESULTS.md` shows is what the committed lines say, and what the README quotes is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import lines
from benchmarks.report import fill_tables
from benchmarks.tables import TABLES
from benchmarks.threads import ALL

ROOT = Path(__file__).resolve().parents[2]
RECORD = [ROOT / "benchmarks" / "results" / "lines.jsonl.xz"]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
README = ROOT / "README.md"


@pytest.mark.slow
def test_the_tables_are_those_of_the_lines(tmp_path):
    copy = tmp_path / RESULTS.name
    copy.write_text(RESULTS.read_text(encoding="utf-8"), encoding="utf-8")
    assert fill_tables(copy, lines.read_runs(RECORD), lines.read_machines(RECORD))
    assert copy.read_text(encoding="utf-8") == RESULTS.read_text(encoding="utf-8")


def test_the_table_of_proofs_is_that_of_its_lines():
    table = TABLES["proven"](lines.read_runs([ROOT / "benchmarks" / "results" / "proven.jsonl.xz"]))
    assert table
    assert table in RESULTS.read_text(encoding="utf-8")


def test_every_picture_is_there():
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", RESULTS.read_text(encoding="utf-8"))
    assert named
    assert {path for path in named if not (RESULTS.parent / path).exists()} == set()
    drawn = {path.name for path in (RESULTS.parent / "results").glob("*.svg")}
    assert drawn == {Path(path).name for path in named}  # and none that nothing shows


def test_the_readme_quotes_only_what_the_results_say():
    quoting = README.read_text(encoding="utf-8").partition("## Benchmarks")[2].partition("## ")[0]
    numbers = set(re.findall(r"\d[\d.,]*\d|\d", quoting))
    assert numbers
    told = RESULTS.read_text(encoding="utf-8")
    assert {number for number in numbers if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", told)} == set()


@pytest.mark.slow
def test_the_record_says_where_it_comes_from():
    machines = {machine["id"]: machine for machine in lines.read_machines(RECORD)}
    for run in lines.read_runs(RECORD):
        machine = machines[run["machine"]]
        assert machine["cpu"]
        assert machine["commit"]
        assert machine["threads"] == 1
        assert run.get("threads", 1) == 1 or run["solver"].endswith(ALL)
        assert run["version"]
    for suite, kinds in lines.group_processors(lines.read_runs(RECORD), machines.values()).items():
        assert len(kinds) == 1, f"{suite}: times of several processors cannot be compared"
