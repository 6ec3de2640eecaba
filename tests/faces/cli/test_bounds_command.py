"""`solve --bounds` and `predict --bounds`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import read_rows

import qpsvm
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


@pytest.mark.parametrize("how", [[], ["--standardise"], ["--kernel", "rbf", "--gamma", "0.5"], ["--variant", "nu"]])
def test_bounds_are_those_of_a_result_with_its_samples(capsys, table, tmp_path, how):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    assert main(["solve", str(table), "--target", "kind", *how, "--tol", "1e-9", "--bounds", "--save", str(model)]) == 0
    assert "proven      ‖w − w*‖ ≤" in capsys.readouterr().out
    assert main(["predict", str(model), str(table), "--bounds", "--output", str(answers)]) == 0
    rows = read_rows(answers)
    assert list(rows[0]) == ["label", "decision", "lower", "upper", "proven"]
    low, high, f = (np.array([float(row[name]) for row in rows]) for name in ("lower", "upper", "decision"))
    slack = 1e-9 * (1.0 + abs(f))  # of ten printed digits
    assert (low <= f + slack).all()
    assert (f <= high + slack).all()
    assert (high - low).max() < 1e-2
    assert sum(row["proven"] == "yes" for row in rows) >= 45
    capsys.readouterr()
    assert main(["predict", str(model), str(table), "--bounds"]) == 0
    printed = capsys.readouterr().out.splitlines()[0].split(",")
    assert printed == [rows[0][name] for name in ("label", "lower", "upper", "proven")]


def test_a_regression_has_bounds_of_its_predictions(table, tmp_path):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    how = ["--target", "a", "--drop", "kind", "--variant", "epsilon-svr", "--bounds"]
    assert main(["solve", str(table), *how, "--save", str(model)]) == 0
    assert main(["predict", str(model), str(table), "--bounds", "--output", str(answers)]) == 0
    assert list(read_rows(answers)[0]) == ["prediction", "lower", "upper"]


def test_a_record_has_every_digit_of_the_bounds(tmp_path):
    rng = np.random.default_rng(1)
    X, path = rng.normal(size=(40, 3)), tmp_path / "model.npz"
    result = qpsvm.solve(qpsvm.CSVM(X, X[:, 0] > 0.3 * rng.normal(size=40), kernel=qpsvm.RBF(0.5)))
    replace(result.model, metadata={"near": result.near_function().record()}).save(path)
    new = rng.normal(size=(9, 3))
    np.testing.assert_array_equal(qpsvm.load(path).decision_bounds(new), result.decision_bounds(new))
    with pytest.raises(qpsvm.AbsentError, match="solve --bounds"):
        result.model.decision_bounds(new)
    for damage in ({}, {"radius": -1.0}, {"origin": [1.0]}, {"low": "x"}):
        record = {**result.near_function().record(), **damage} if damage else {}
        broken = replace(result.model, metadata={"near": record})
        with pytest.raises(qpsvm.FileFormatError, match="bounds"):
            broken.decision_bounds(new)


def test_what_has_no_bounds_is_refused(capsys, table, tmp_path):
    model = tmp_path / "model.npz"
    assert main(["solve", str(table), "--target", "kind", "--save", str(model)]) == 0
    assert main(["predict", str(model), str(table), "--bounds"]) != 0
    assert "solve --bounds" in capsys.readouterr().err
