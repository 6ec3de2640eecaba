"""Commands over files that are read in blocks: the same answers as in memory, and what is refused in which words."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, run, succeed
from each import for_each
from sklearn.datasets import dump_svmlight_file

import qpsvm
from qpsvm.base.resources.messages import log_progress
from qpsvm.faces.cli import ticker

pyarrow = pytest.importorskip("pyarrow")
N, D = 240, 4
NAMES = [f"x{j}" for j in range(D)]
rng = np.random.default_rng(3)
X = rng.normal(size=(N, D)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 0.0]
T = X[:, 0] + 0.1 * X[:, 1] - 5.0 + rng.normal(size=N)
Y = np.where(T > 0, "yes", "no")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same rows as Parquet in three parts, Feather, CSV, .npy and LIBSVM."""
    from pyarrow import csv, feather, parquet

    table = pyarrow.table({**dict(zip(NAMES, X.T, strict=True)), "city": ["Ulm"] * N, "y": Y, "t": T})
    for k, part in enumerate((slice(0, 100), slice(100, 180), slice(180, N))):
        parquet.write_table(table.slice(part.start, part.stop - part.start), tmp_path / f"part-{k}.parquet")
    feather.write_feather(table, tmp_path / "all.feather")
    csv.write_csv(table, tmp_path / "all.csv")
    np.save(tmp_path / "all.npy", np.column_stack([X, Y == "yes"]))
    np.save(tmp_path / "y.npy", (Y == "yes").astype(int))
    dump_svmlight_file(X, (Y == "yes").astype(int), str(tmp_path / "all.libsvm"), zero_based=False)
    return tmp_path


TARGET = ["--target", "y", "--drop", "city", "--drop", "t"]


def told(out: str) -> list[str]:
    """The lines that say what came of a solve."""
    return re.findall(r"^  (?:gap|vectors|intercept|training|held out|\d folds) .*$", out, re.MULTILINE)


def scores(path: Path) -> np.ndarray:
    return np.genfromtxt(path, delimiter=",", skip_header=1, usecols=1)


def test_every_format_has_the_answer_of_the_text_in_memory_and_predicts_it(capsys, folder):
    code = run(capsys, "solve", folder / "all.csv", *TARGET, "--standardise", "--save", folder / "own.npz")[0]
    assert code == 0
    succeed(capsys, "predict", folder / "own.npz", folder / "all.csv", "--output", folder / "own.txt")
    for given, *how in (
        ("part-*.parquet", *TARGET, "--stream"), ("part-*.parquet", *TARGET), ("all.feather", *TARGET, "--stream"),
        ("all.csv", *TARGET, "--stream"), ("all.npy", "--target", "-1", "--stream"),
        ("all.npy", "--target", folder / "y.npy", "--drop", "4"),
    ):  # fmt: skip
        found = succeed(capsys, "solve", folder / given, *how, "--standardise", "--save", folder / "m.npz")
        assert "240 rows x 4 features" in found
        assert ("read in blocks" in found) == ("--stream" in how)
        assert re.search(r"gap +\d\.?\d*e-(0[7-9]|[1-9]\d)", found)
        code, _, said = run(capsys, "predict", folder / "m.npz", folder / given, "--output", folder / "m.txt")
        assert code == 0
        assert said.startswith("240 predictions")
        assert ("accuracy" in said) == ("--drop" not in how or "y" in how)
        np.testing.assert_allclose(scores(folder / "m.txt"), scores(folder / "own.txt"), atol=1e-4)


def test_sparse_rows_are_scaled_and_not_shifted(capsys, folder):
    arguments = ["--stream", "--standardise", "--save", folder / "m.npz"]
    out = succeed(capsys, "solve", folder / "all.libsvm", *arguments)
    assert "their means are not subtracted" in out
    w = qpsvm.load(folder / "m.npz").w
    scaled = X / X.std(axis=0)
    np.testing.assert_allclose(w, qpsvm.solve(qpsvm.CSVM(scaled, Y)).w, atol=1e-4)
    for flag in ("--stream", "--output=-"):  # read in blocks, and at once
        code, out, said = run(capsys, "predict", folder / "m.npz", folder / "all.libsvm", flag)
        assert code == 0
        assert "240 predictions, accuracy" in said


def test_rows_that_do_not_train_are_the_same_ones(capsys, folder):
    how = [*TARGET, "--test-size", "0.25", "--cv", "3", "--standardise"]
    memory = run(capsys, "solve", folder / "all.csv", *how)
    stored = run(capsys, "solve", folder / "part-*.parquet", *how, "--stream")
    assert memory[0] == stored[0] == 0
    words = re.compile(r"(?:held out|3 folds) +accuracy [\d.]+")
    assert words.findall(memory[1]) == words.findall(stored[1]) != []


def test_numbers_and_no_target_at_all(capsys, folder):
    beside = ["--drop", "city", "--drop", "y", "--stream", "--save", folder / "m.npz"]
    svr = ["--variant", "epsilon-svr", "--target", "t", *beside]
    out = succeed(capsys, "solve", folder / "part-*.parquet", *svr)
    assert "target from" in out
    code, out, said = run(capsys, "predict", folder / "m.npz", folder / "part-1.parquet")
    assert code == 0
    assert len(out.split()) == 80
    assert "R²" in said
    out = succeed(capsys, "solve", folder / "all.feather", "--variant", "one-class", "--kernel", "linear", *beside)
    assert "no target needed" in out


def test_rows_wait_for_their_labels(capsys, folder):
    """A target without values is no reason not to predict, and neither is one that is text from some row on."""
    from pyarrow import parquet

    run(capsys, "solve", folder / "part-*.parquet", *TARGET, "--save", folder / "m.npz")
    columns = dict(zip(NAMES, X.T, strict=True))
    parquet.write_table(pyarrow.table({**columns, "y": [None, *Y[1:]]}), folder / "new.parquet")
    code, out, said = run(capsys, "predict", folder / "m.npz", folder / "new.parquet")
    assert code == 0
    assert len(out.split()) == N
    assert said.startswith("240 predictions, accuracy ")
    assert "on the 239 rows with a target" in said
    model = qpsvm.load(folder / "m.npz")
    assert out.split() == model.predict(X).tolist()


def test_what_cannot_be_done_in_blocks_is_said(capsys, folder):
    parts = folder / "part-*.parquet"
    for arguments, words in (
        ((folder / "nix-*.parquet", *TARGET), "no file matches"),
        ((parts,), "--target"),
        ((parts, "--target", "z"), "no column 'z'"),
        ((parts, "--target", "y", "--drop", "t", "--stream"), "'city' (string) holds no numbers"),
        ((parts, *TARGET, "--drop-missing", "--stream"), "--drop-missing"),
        ((parts, *TARGET, "--missing", "median", "--stream"), "--missing needs a table in memory"),
        ((parts, *TARGET[:2], "--keep", "city", "--stream"), "--keep needs a table"),
        ((parts, "--target", "t", "--variant", "ranking", "--groups", "x0", "--stream"), "--groups"),
        ((parts, "--target", "y", "--drop", "city", "--variant", "epsilon-svr", "--stream"), "contains text"),
        ((folder / "all.npy", "--target", "y"), "an array with columns 0 to 4"),
        ((folder / "all.libsvm", "--stream", "--target", "y"), "leave out --target"),
        (("-", "--stream"), "standard input"),
        ((folder / "all.feather", folder / "all.csv", *TARGET), "is a csv file"),
        ((parts, *TARGET, "--scheduler", "somewhere"), "tcp://"),
        ((parts, *TARGET, "--scheduler", "threads", "--cv", "3"), "--cv"),
    ):
        assert words in fail(capsys, "solve", *arguments)
    (folder / "new.csv").write_text("x0,x1,x2\n1,2,3\n")
    run(capsys, "solve", parts, *TARGET, "--save", folder / "m.npz")
    for given, words in (("new.csv", "no column 'x3'"), ("all.npy", "is a npy file")):
        assert words in fail(capsys, "predict", folder / "m.npz", folder / given, "--stream")


def test_three_classes_are_set_against_each_other_by_name(capsys, folder):
    from pyarrow import parquet

    three = np.digitize(T, [-1.0, 1.0])
    parquet.write_table(pyarrow.table({**dict(zip(NAMES, X.T, strict=True)), "k": three}), folder / "three.parquet")
    out = succeed(capsys, "solve", folder / "three.parquet", "--target", "k", "--stream")
    assert "read in blocks" in out
    held = run(capsys, "solve", folder / "three.parquet", "--target", "k")[1]
    assert out.split("training")[1] == held.split("training")[1]
    out = succeed(capsys, "solve", folder / "three.parquet", "--target", "k", "--stream", "--positive", "2")
    assert "labels 2:" in out


def test_dask_reads_the_files(capsys, folder):
    pytest.importorskip("dask.dataframe")
    own = run(capsys, "solve", folder / "part-*.parquet", *TARGET, "--standardise", "--save", folder / "own.npz")
    for given, how in (("part-*.parquet", TARGET), ("all.csv", TARGET), ("all.npy", ["--target", "4"])):
        arguments = ["--standardise", "--scheduler", "threads", "--save", folder / "m.npz"]
        code, out, error = run(capsys, "solve", folder / given, *how, *arguments)
        assert code == own[0] == 0, error
        assert "240 rows x 4 features; labels " in out
        code, _, said = run(capsys, "predict", folder / "m.npz", folder / given)
        assert "240 predictions, accuracy" in said
        mine, theirs = qpsvm.load(folder / "m.npz"), qpsvm.load(folder / "own.npz")
        np.testing.assert_allclose(mine.w, theirs.w, atol=1e-3)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@for_each("terminal", [True, False])
def test_a_line_says_how_far_it_is_on_a_terminal_only(monkeypatch, terminal):
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(ticker.sys, "stderr", shown)
    monkeypatch.setattr(ticker, "UPDATE_SECONDS", 0.0)
    with ticker.Ticker("solving") as line:
        log_progress("band", 3e-4, 7, 1_000_000)
        while terminal and "gap 3.0e-04" not in shown.getvalue():
            assert line is not None
    if not terminal:
        assert shown.getvalue() == ""
        return
    assert "pass 7" in shown.getvalue()
    assert "rows/s" in shown.getvalue()
    assert shown.getvalue().endswith("\r\033[K")
