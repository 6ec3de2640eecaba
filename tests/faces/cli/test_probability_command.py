"""`solve --probability` and `predict --probability`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import read_rows

import qpsvm
from qpsvm.estimators import SVC
from qpsvm.faces.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    y = np.arange(50) % 2
    X = rng.normal(size=(50, 2)) + y[:, None]
    lines = ["a,b,kind"] + [f"{p!r},{q!r},{('no', 'yes')[c]}" for (p, q), c in zip(X.tolist(), y, strict=True)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_model_keeps_its_probabilities(capsys, table, tmp_path):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    how = ["--kernel", "rbf", "--gamma", "0.5", "--probability"]
    assert main(["solve", str(table), "--target", "kind", *how, "--save", str(model)]) == 0
    out = capsys.readouterr().out
    assert "left out    accuracy" in out
    assert "of 50 machines without a row" in out
    assert main(["predict", str(model), str(table), "--probability", "--output", str(answers)]) == 0
    rows = read_rows(answers)
    data = np.genfromtxt(table, delimiter=",", skip_header=1, dtype=None, encoding="utf-8")
    X = np.array([[row[0], row[1]] for row in data])
    y = np.array([row[2] for row in data])
    expected = SVC(gamma=0.5, probability=True).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], expected, atol=1e-5)
    np.testing.assert_allclose(qpsvm.load(model).predict_proba(X)[:, 1], expected, atol=1e-5)
    capsys.readouterr()
    assert main(["predict", str(model), str(table), "--probability"]) == 0
    label, chance = capsys.readouterr().out.splitlines()[0].split(",")
    assert label == rows[0]["label"]
    assert chance == rows[0]["probability"]


def test_what_has_no_probabilities_is_refused(capsys, table, tmp_path):
    model = tmp_path / "model.npz"
    assert main(["solve", str(table), "--target", "kind", "--save", str(model)]) == 0
    assert main(["predict", str(model), str(table), "--probability"]) != 0
    assert "solve --probability" in capsys.readouterr().err
    assert main(["solve", str(table), "--target", "a", "--drop", "kind", "--variant", "epsilon-svr",
                 "--probability"]) != 0  # fmt: skip
    assert "two classes" in capsys.readouterr().err
    one = tmp_path / "one.csv"
    one.write_text("a,kind\n1,no\n2,yes\n3,yes\n")
    assert main(["solve", str(one), "--target", "kind", "--probability"]) != 0
    assert "a class has one sample" in capsys.readouterr().err
