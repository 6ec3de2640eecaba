"""`path --exact` and `leave-one-out` on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import read_rows, run

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


def test_an_exact_path_is_a_table_of_pieces(capsys, table, tmp_path):
    pieces, picture = tmp_path / "pieces.csv", tmp_path / "path.svg"
    code, out, _ = run(capsys, "path", table, *TARGET, "--C", "0.05,10", "--kernel", "rbf", "--gamma", "0.5", "--exact",
                       "--output", pieces, "--plot", picture)  # fmt: skip
    assert code == 0
    assert "each certified" in out
    assert b"<svg" in picture.read_bytes()
    X, y = samples(table)
    path = qpsvm.exact_path(qpsvm.CSVM(X, y, kernel=qpsvm.RBF(0.5)), "C", 0.05, 10)
    written = read_rows(pieces)
    np.testing.assert_allclose([float(row["from"]) for row in written], path.breakpoints[:-1], rtol=1e-9)
    assert float(written[-1]["to"]) == 10.0


def test_leave_one_out_is_what_solves_without_each_row_say(capsys, table, tmp_path):
    output = tmp_path / "loo.csv"
    code, out, _ = run(capsys, "leave-one-out", table, *TARGET, "--C", "0.7", "--output", output)
    assert code == 0
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


def test_leave_one_out_of_other_machines(capsys, table):
    code, out, _ = run(capsys, "leave-one-out", table, "--target", "size", "--drop", "kind", "--variant", "epsilon-svr")
    assert code == 0
    assert "mean squared error" in out
    code, out, _ = run(capsys, "leave-one-out", table, "--drop", "kind", "--variant", "one-class", "--nu", "0.3")
    assert code == 0
    assert "new to the others" in out


def test_pairs_of_samples_are_left_out_of_no_machine(capsys, table):
    ranks = ["--target", "size", "--drop", "kind", "--variant", "ranking"]
    code, _, err = run(capsys, "leave-one-out", table, *ranks)
    assert code == 2
    assert "its rows are of pairs of samples" in err
    assert len(err.splitlines()) == 1


WRONG = {
    "none": (["path", "--exact"], "give the values of a parameter"),
    "one end": (["path", "--exact", "--C", "1"], "two ends of one interval"),
    "three": (["path", "--exact", "--C", "1,2,3"], "3 of --C"),
    "reversed": (["path", "--exact", "--C", "2,1"], "an interval goes from a low to a higher number"),
    "kernel": (["path", "--exact", "--kernel", "rbf", "--gamma", "1,2"], "does not enter the dual linearly"),
    "processes": (["path", "--exact", "--C", "1,2", "--n-jobs", "2"], "--n-jobs is for many points"),
    "picture": (["path", "--C", "1,2", "--plot", "x.png"], "add --exact"),
    "variant": (["leave-one-out", "--nu", "0.1"], "--nu belongs to the variant nu"),
    "ranks in words": (["leave-one-out", "--variant", "ranking"], "is not a number, which the target must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(capsys, table, name):
    (command, *rest), words = WRONG[name]
    code, _, err = run(capsys, command, table, *TARGET, *rest)
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1
