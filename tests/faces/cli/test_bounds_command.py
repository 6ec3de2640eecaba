"""`--bounds` and `--probability` of `solve` and `predict`: what a model keeps beside its coefficients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, read_rows, succeed
from each import for_each

import qpsvm
from qpsvm.estimators import SVC

Y = np.array(["no", "yes"])[np.arange(50) % 2]
X = np.random.default_rng(0).normal(size=(50, 2)) + (Y == "yes")[:, None]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("a,b,kind\n" + "".join(f"{p!r},{q!r},{c}\n" for (p, q), c in zip(X.tolist(), Y, strict=True)))
    return path


@for_each("how", [["--standardise"], ["--kernel", "rbf", "--gamma", "0.5"], ["--variant", "nu"]])
def test_bounds_are_those_of_a_result_with_its_samples(capsys, table, tmp_path, how):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    out = succeed(capsys, "solve", table, "--target", "kind", *how, "--tol", "1e-9", "--bounds", "--save", model)
    assert "proven      ‖w − w*‖ ≤" in out
    succeed(capsys, "predict", model, table, "--bounds", "--output", answers)
    rows = read_rows(answers)
    assert list(rows[0]) == ["label", "decision", "lower", "upper", "proven"]
    low, high, f = (np.array([float(row[name]) for row in rows]) for name in ("lower", "upper", "decision"))
    slack = 1e-9 * (1.0 + abs(f))  # of ten printed digits
    assert (low <= f + slack).all()
    assert (f <= high + slack).all()
    assert (high - low).max() < 1e-2
    assert sum(row["proven"] == "yes" for row in rows) >= 45
    printed = succeed(capsys, "predict", model, table, "--bounds").splitlines()[0].split(",")
    assert printed == [rows[0][name] for name in ("label", "lower", "upper", "proven")]


def test_a_regression_has_bounds_of_its_predictions(capsys, table, tmp_path):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    how = ["--target", "a", "--drop", "kind", "--variant", "epsilon-svr", "--bounds"]
    succeed(capsys, "solve", table, *how, "--save", model)
    succeed(capsys, "predict", model, table, "--bounds", "--output", answers)
    assert list(read_rows(answers)[0]) == ["prediction", "lower", "upper"]


def test_a_record_has_every_digit_of_the_bounds(tmp_path):
    path = tmp_path / "model.npz"
    result = qpsvm.solve(qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(0.5)))
    replace(result.model, metadata={"near": result.build_near_function().record()}).save(path)
    new = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(qpsvm.load(path).decision_bounds(new), result.decision_bounds(new))
    with pytest.raises(qpsvm.AbsentError, match="solve --bounds"):
        result.model.decision_bounds(new)
    for damage in ({}, {"radius": -1.0}, {"origin": [1.0]}, {"low": "x"}):
        record = {**result.build_near_function().record(), **damage} if damage else {}
        broken = replace(result.model, metadata={"near": record})
        with pytest.raises(qpsvm.FileFormatError, match="bounds"):
            broken.decision_bounds(new)


def test_a_model_keeps_its_probabilities(capsys, table, tmp_path):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    how = ["--kernel", "rbf", "--gamma", "0.5", "--probability"]
    out = succeed(capsys, "solve", table, "--target", "kind", *how, "--save", model)
    assert "probability accuracy" in out
    assert "each row by a machine without its fold, of 5" in out
    succeed(capsys, "predict", model, table, "--probability", "--output", answers)
    rows = read_rows(answers)
    expected = SVC(gamma=0.5, probability=True).fit(X, Y).predict_proba(X)[:, 1]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], expected, atol=1e-5)
    np.testing.assert_allclose(qpsvm.load(model).predict_proba(X)[:, 1], expected, atol=1e-5)
    label, chance = succeed(capsys, "predict", model, table, "--probability").splitlines()[0].split(",")
    assert (label, chance) == (rows[0]["label"], rows[0]["probability"])


def test_what_has_neither_is_refused(capsys, table, tmp_path):
    model, one = tmp_path / "model.npz", tmp_path / "one.csv"
    succeed(capsys, "solve", table, "--target", "kind", "--save", model)
    for option in ("--bounds", "--probability"):
        assert f"solve {option}" in fail(capsys, "predict", model, table, option)
    numbers = ["--target", "a", "--drop", "kind", "--variant", "epsilon-svr"]
    assert "two-class machines" in fail(capsys, "solve", table, *numbers, "--probability")
    one.write_text("a,kind\n1,no\n2,yes\n3,yes\n")
    assert "a class has one sample" in fail(capsys, "solve", one, "--target", "kind", "--probability")
