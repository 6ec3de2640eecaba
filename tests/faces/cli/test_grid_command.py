"""`path` and `cross-validate` on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import run

import qpsvm


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Forty rows of two features, with a label in words."""
    rng = np.random.default_rng(0)
    lines = ["a,b,kind"]
    for i in range(40):
        a, b = rng.standard_normal(2) + (1.0 if i % 2 else -1.0)
        lines.append(f"{a:.4f},{b:.4f},{'cat' if i % 2 else 'dog'}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_path_is_a_table_of_certified_points(capsys, table):
    code, out, _ = run(capsys, "path", table, "--target", "kind", "--C", "0.1,1,10")
    assert code == 0
    assert out.count("optimal") == 3
    code, out, _ = run(capsys, "path", table, "--target", "kind", "--variant", "hinge", "--lam", "0.1,0.01",
                       "--kernel", "rbf", "--gamma", "scale,1", "--tol", "1e-9")  # fmt: skip
    assert code == 0
    assert out.count("optimal") == 4


def test_cross_validation_names_the_best_and_keeps_it(capsys, table, tmp_path):
    model = tmp_path / "best.npz"
    grid = ["--kernel", "rbf", "--C", "0.1,1", "--gamma", "0.1,1"]
    folds = ["--folds", "4", "--shuffle", "--seed", "1", "--scoring", "roc_auc"]
    picture = tmp_path / "scores.svg"
    code, out, _ = run(capsys, "cross-validate", table, "--target", "kind", *grid, *folds, "--save", model, "--plot",
                       picture)  # fmt: skip
    assert code == 0
    assert b"<svg" in picture.read_bytes()
    assert "roc_auc, 4 folds" in out
    assert "best: C = " in out
    assert qpsvm.load(model).classes.tolist() == ["cat", "dog"]


WRONG = {
    "none": (["path"], "give the values of a parameter"),
    "words": (["path", "--C", "a,b"], "expected numbers with commas between them"),
    "variant": (["path", "--nu", "0.1,0.2"], "--nu belongs to the variant nu"),
    "kernel": (["cross-validate", "--gamma", "1,2"], "--gamma belongs to the kernel"),
    "picture": (["cross-validate", "--C", "1", "--plot", "x.gif"], ".png, .svg or .pdf"),
    "axes": (
        ["cross-validate", "--kernel", "polynomial", "--C", "1", "--degree", "1,2", "--gamma", "1", "--plot", "x.png"],
        "one parameter or two",
    ),
    "folds": (["cross-validate", "--C", "1", "--folds", "1"], "folds must be at least 2"),
    "scorer": (["cross-validate", "--C", "1", "--scoring", "acuracy"], "did you mean 'accuracy'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(capsys, table, name):
    (command, *rest), words = WRONG[name]
    code, _, err = run(capsys, command, table, "--target", "kind", *rest)
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1
