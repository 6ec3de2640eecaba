"""`importance`: scikit-learn's permutation importance of a file's columns, and the weights of a linear machine."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, run, succeed
from each import for_each
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance

import qpsvm
from qpsvm.data.files import read_table
from qpsvm.estimators import SVC, SVR
from qpsvm.faces.cli.commands.importance import build_shuffled_estimator, compute_scaled_weights, map_columns
from qpsvm.faces.cli.data import Dataset


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    lines = ["a,b,town,kind,size"]
    for i in range(120):
        yes = i % 3 == 0
        a = rng.normal(2.0 * yes)
        b = rng.normal()
        town = "xyz"[(i + int(rng.integers(2))) % 3]
        lines.append(f"{a!r},{b!r},{town},{'yes' if yes else 'no'},{float(3 * a + b)!r}")
    path = tmp_path_factory.mktemp("importance") / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def lines(out: str) -> dict[str, list[str]]:
    """The cells behind the name of each column."""
    rows = re.findall(r"^ {14}(\S+) +(-?\d.*)$", out, re.MULTILINE)
    return {name: cells.split() for name, cells in rows}


def test_of_numbers_it_is_what_scikit_learn_says_of_the_features(capsys, table):
    """Where every column is one feature, shuffled places are shuffled values: the same draws."""
    arguments = ["--target", "size", "--drop", "kind,town", "--variant", "epsilon-svr", "--kernel", "rbf"]
    out = succeed(capsys, "importance", table, *arguments, "--repeats", "5", "--seed", "3")
    file = read_table(table, target="size", drop=["kind", "town"], target_kind="numbers")
    machine = SVR(C=1, epsilon=0.1, gamma="scale").fit(file.X, file.y)
    found = permutation_importance(machine, file.X, file.y, n_repeats=5, random_state=3)
    said = lines(out)
    for name, mean, spread in zip("ab", found.importances_mean, found.importances_std, strict=True):
        assert float(said[name][0]) == pytest.approx(mean, abs=2e-4)
        assert float(said[name][1]) == pytest.approx(spread, abs=2e-4)
    assert next(iter(said)) == "a"


def test_held_out_rows_and_weights(capsys, table, tmp_path):
    picture = tmp_path / "importance.svg"
    how = ["--target", "kind", "--drop", "size", "--standardise", "--class-weight", "balanced", "--test-size", "0.3"]
    out = succeed(capsys, "importance", table, *how, "--plot", picture)
    assert b"<svg" in picture.read_bytes()
    assert "balanced accuracy" in out
    assert "36 held-out rows" in out
    said = lines(out)
    assert float(said["a"][0]) > 0.1 > float(said["b"][0])
    assert re.search(r"^ {16}x +-?\d", out, re.MULTILINE), "each category has its weight"
    again = run(capsys, "importance", table, *how, "--plot", picture)[1]
    assert lines(again) == said, "the same command prints the same"


def test_the_features_of_a_category_are_shuffled_together(table):
    file = read_table(table, target="kind", drop=["size"])
    sample = Dataset(file, file.y)
    columns = map_columns(sample)
    assert [len(features) for features in columns.values()] == [1, 1, 3]
    model = qpsvm.solve(qpsvm.CSVM(file.X, file.y)).model
    shuffled = build_shuffled_estimator(model, file.X, list(columns.values()))
    places = shuffled.unshuffled.copy()
    np.testing.assert_array_equal(shuffled.predict(places), model.predict(file.X))
    order = np.random.default_rng(0).permutation(len(file.X))
    places[:, 2] = places[order, 2]
    expected = file.X.copy()
    expected[:, 2:] = file.X[order, 2:]
    np.testing.assert_allclose(shuffled.decision_function(places), model.decision_function(expected))
    weights = compute_scaled_weights(model, file.X)["f"]
    np.testing.assert_allclose(weights, model.w * file.X.std(axis=0))


@for_each("machine", [[], ["--variant", "crammer-singer"], ["--multi-class", "ovr"], ["--kernel", "rbf"]])
def test_several_classes(capsys, tmp_path, machine):
    data = load_iris()
    path = tmp_path / "iris.csv"
    rows = (",".join([*map(repr, x), str(t)]) for x, t in zip(data.data.tolist(), data.target, strict=True))
    path.write_text("\n".join(["sl,sw,pl,pw,k", *rows]) + "\n")
    out = succeed(capsys, "importance", path, "--target", "k", *machine, "--repeats", "5")
    assert next(iter(lines(out))) == "pl"
    assert ("f of 2" in out) == (machine in (["--variant", "crammer-singer"], ["--multi-class", "ovr"]))
    if not machine:
        pairs = SVC(kernel="linear", break_ties=True).fit(data.data, data.target)
        found = permutation_importance(pairs, data.data, data.target, scoring="balanced_accuracy", n_repeats=5,
                                       random_state=0)  # fmt: skip
        assert float(lines(out)["pl"][0]) == pytest.approx(found.importances_mean[2], abs=2e-4)


@for_each(
    "options, words",
    [
        (["--variant", "one-class"], "learns neither"),
        (["--target", "kind", "--repeats", "0"], "1 or more"),
        (["--target", "kind", "--scoring", "acuracy"], "did you mean 'accuracy'"),
        (["--target", "kind", "--plot", "x.gif"], ".png, .svg or .pdf"),
        (["--target", "kind", "--drop", "size", "--scoring", "r2"], "does not score"),
    ],
)
def test_what_is_refused(capsys, table, options, words):
    assert words in fail(capsys, "importance", table, *options)
