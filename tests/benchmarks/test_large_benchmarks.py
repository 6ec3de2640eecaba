"""Large tables, tiny here: every entrant reads them and is certified, what is measured is there."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tqdm", reason="the benchmarks need the extra bench")
pytest.importorskip("pyarrow", reason="Parquet needs the extra arrow")

import qpsvm
from benchmarks import lines
from benchmarks.large import __main__ as large
from benchmarks.large.data import LargeTable
from benchmarks.large.entrants import ENTRANTS
from benchmarks.large.passes import count_passes
from benchmarks.large.spark import minimise_hinge
from benchmarks.large.tables import build_tables

HERE = ("memory", "map", "cold", "parquet", "spark")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    found = LargeTable(tmp_path_factory.mktemp("large"), "heavy", 3000, "float32", 5)
    found.write_files()
    return found


def test_entrants_solve_one_table_and_the_record_is_a_page(table, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(large, "run_in_process", lambda function, *given, **_: {"outcome": "ran", **function(*given)})
    path = tmp_path / "large.jsonl"
    where = ["--folder", str(table.folder), "--kind", "heavy", "--rows", "3000", "--dtype", "float32", "--columns", "5"]
    named = [word for name in HERE for word in ("--entrant", name)]
    assert large.main(["measure", *where, *named, "--lines", str(path)]) == 0
    runs = {run["solver"]: run for run in lines.read_runs([path])}
    assert set(runs) == set(HERE)
    assert all(run["gap"] <= 1e-6 and run["memory"] > 0 for name, run in runs.items() if name != "spark"), runs
    assert 0.0 <= runs["spark"]["gap"] < 1.0
    assert runs["map"]["passes"] > 1
    assert large.main(["tables", str(path)]) == 0
    page = capsys.readouterr().out
    assert all(name in page for name in ("in memory", "memory map", "Parquet", "Spark's way"))
    assert build_tables([]) == ""


def test_tables_of_one_seed_hold_the_same_rows_wherever_they_are(table):
    mapped = qpsvm.open_rows(table.rows_path, target=str(table.target_path))
    decoded = qpsvm.open_rows(table.parquet_path, target="y", scratch=table.folder)
    assert np.array_equal(mapped.matrix(), decoded.matrix())
    assert np.array_equal(mapped.target, decoded.target)
    words = LargeTable(table.folder, "text", 50)
    words.write_files()
    read = qpsvm.open_rows(words.text_path, scratch=table.folder)
    X, y = next(words.iter_blocks())
    assert read.n == 50
    assert np.array_equal(read.target, y)
    assert np.allclose(read.matrix().sum(axis=1), X.sum(axis=1), rtol=1e-3)


def test_spark_s_objective_is_ours(table):
    rows = qpsvm.open_rows(table.rows_path, target=str(table.target_path))
    y = np.asarray(rows.target, dtype=float)
    passes = count_passes(rows)
    found = minimise_hinge(rows, y, tol=1e-12, most_iterations=2000)
    exact = qpsvm.solve(qpsvm.CSVM(rows, y))
    slack = np.maximum(0.0, 1.0 - y * (rows.margins(found.w) + found.b))
    value = 0.5 * found.w @ found.w + slack.sum()
    assert exact.dual * (1 - 1e-9) <= value <= exact.primal * 1.05
    assert passes.full_reads >= found.passes


def test_entrants_fit_their_tables(table):
    fits = {name for name in ENTRANTS if large._is_readable(name, table)}
    assert fits == {*HERE, "cluster"}
    assert large._is_readable("text", LargeTable(table.folder, "text", 50))
    assert isinstance(large._parser(), argparse.ArgumentParser)


def test_what_is_shown_is_what_the_committed_lines_say():
    root = Path(large.__file__).parents[1]
    shown = (root / "RESULTS.md").read_text(encoding="utf-8")
    assert build_tables(lines.read_runs([root / "results" / "large.jsonl"])).strip() in shown
