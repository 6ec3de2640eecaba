"""`path`, `cross-validate` and `leave-one-out` on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import fail, read_rows, succeed
from each import for_each

import qpsvm


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Forty rows of two features, with a label in words and a number."""
    rng = np.random.default_rng(0)
    lines = ["a,b,size,kind"]
    for i in range(40):
        a, b = rng.standard_normal(2) + (1.0 if i % 2 else -1.0)
        lines.append(f"{a:.4f},{b:.4f},{a - b:.4f},{'cat' if i % 2 else 'dog'}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def samples(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = read_rows(path)
    return np.array([[float(row["a"]), float(row["b"])] for row in rows]), np.array([row["kind"] for row in rows])


TARGET = ["--target", "kind", "--drop", "size"]


def test_a_path_is_a_table_of_certified_points(capsys, table):
    grid = ["--variant", "hinge", "--lam", "0.1,0.01", "--kernel", "rbf", "--gamma", "scale,1", "--tol", "1e-9"]
    assert succeed(capsys, "path", table, *TARGET, *grid).count("optimal") == 4


def test_cross_validation_names_the_best_and_keeps_it(capsys, table, tmp_path):
    model, picture = tmp_path / "best.npz", tmp_path / "scores.svg"
    grid = ["--kernel", "rbf", "--C", "0.1,1", "--gamma", "0.1,1", "--save", model, "--plot", picture]
    folds = ["--folds", "4", "--shuffle", "--seed", "1", "--scoring", "roc_auc"]
    out = succeed(capsys, "cross-validate", table, *TARGET, *grid, *folds)
    assert b"<svg" in picture.read_bytes()
    assert "roc_auc, 4 folds" in out
    assert "best: C = " in out
    assert qpsvm.load(model).classes.tolist() == ["cat", "dog"]


def test_an_exact_path_is_a_table_of_pieces(capsys, table, tmp_path):
    pieces, picture = tmp_path / "pieces.csv", tmp_path / "path.svg"
    out = succeed(capsys, "path", table, *TARGET, "--C", "0.05,10", "--kernel", "rbf", "--gamma", "0.5", "--exact",
                  "--output", pieces, "--plot", picture)  # fmt: skip
    assert "each certified" in out
    assert b"<svg" in picture.read_bytes()
    X, y = samples(table)
    path = qpsvm.exact_path(qpsvm.CSVM(X, y, kernel=qpsvm.RBF(0.5)), "C", 0.05, 10)
    written = read_rows(pieces)
    np.testing.assert_allclose([float(row["from"]) for row in written], path.breakpoints[:-1], rtol=1e-9)
    assert float(written[-1]["to"]) == 10.0


def test_leave_one_out_is_what_solves_without_each_row_say(capsys, table, tmp_path):
    output = tmp_path / "loo.csv"
    out = succeed(capsys, "leave-one-out", table, *TARGET, "--C", "0.7", "--output", output)
    assert "share on the wrong side" in out
    X, y = samples(table)
    rows = read_rows(output)
    assert [row["target"] for row in rows] == y.tolist()
    wrong = sum((float(row["decision"]) > 0) != (row["target"] == "dog") for row in rows)
    assert f"{wrong / 40:.4f}, over 40 rows" in out
    for i in (0, 7, 21):
        keep = np.arange(40) != i
        own = qpsvm.solve(qpsvm.CSVM(X[keep], y[keep], C=0.7), tol=1e-10)
        if len(own.on_margin):
            assert float(rows[i]["decision"]) == pytest.approx(own.decision_function(X[[i]])[0], abs=1e-5)
    numbers = ["--target", "size", "--drop", "kind", "--variant", "epsilon-svr"]
    assert "mean squared error" in succeed(capsys, "leave-one-out", table, *numbers)
    alone = ["--drop", "kind", "--variant", "one-class", "--nu", "0.3"]
    assert "share outside if left out" in succeed(capsys, "leave-one-out", table, *alone)
    ranks = ["--target", "size", "--drop", "kind", "--variant", "ranking"]
    assert "its rows are of pairs of samples" in fail(capsys, "leave-one-out", table, *ranks)


@for_each(
    "arguments, words",
    [
        (["path"], "give the values of a parameter"),
        (["path", "--C", "a,b"], "expected numbers separated by commas"),
        (["path", "--C", "1,2", "--plot", "x.png"], "add --exact"),
        (["path", "--exact"], "give the values of a parameter"),
        (["path", "--nu", "0.1,0.2"], "--nu belongs to the variant nu"),
        (["path", "--exact", "--C", "1"], "two ends of one interval"),
        (["path", "--exact", "--C", "1,2,3"], "3 of --C"),
        (["path", "--exact", "--C", "2,1"], "an interval goes from a low to a higher number"),
        (["path", "--exact", "--kernel", "rbf", "--gamma", "1,2"], "does not enter the dual linearly"),
        (["path", "--exact", "--C", "1,2", "--n-jobs", "2"], "--n-jobs is for the points of a grid"),
        (["cross-validate", "--C", "1", "--plot", "x.gif"], ".png, .svg or .pdf"),
        (["cross-validate", "--kernel", "polynomial", "--C", "1", "--degree", "1,2", "--gamma", "1",
          "--plot", "x.png"], "one or two parameters"),
        (["cross-validate", "--C", "1", "--folds", "1"], "folds must be at least 2"),
        (["leave-one-out", "--variant", "ranking"], "is not a number, which the target must be"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(capsys, table, arguments, words):
    command, *rest = arguments
    assert words in fail(capsys, command, table, *TARGET, *rest)
