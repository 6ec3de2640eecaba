"""`solve` with rows that do not train, class weights and pictures: what is scored, drawn, warned of and refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, run, succeed
from each import for_each
from sklearn import metrics

import qpsvm
from qpsvm.data.files import read_table
from qpsvm.faces.cli.data import Dataset
from qpsvm.faces.cli.scores import score_dataset
from qpsvm.faces.cli.splits import draw_dataset_folds, draw_held_out

N = 80
WEIGHTLESS = 20


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Eighty customers, of whom every eighth buys; a price, a group of ten, and weights of which some are 0."""
    rng = np.random.default_rng(0)
    lines = ["age,visits,income,bought,price,street,counts"]
    for i in range(N):
        yes = i % 8 == 0
        age = rng.normal(40 + 8 * yes, 8)
        visits = rng.normal(2 + yes, 1)
        income = rng.normal(3, 1)
        price = age + 5 * visits + rng.normal(0, 3)
        weight = 0 if i >= N - WEIGHTLESS else 1 + i % 3
        lines.append(f"{age:.2f},{visits:.2f},{income:.2f},{'Yes' if yes else 'No'},{price:.2f},s{i % 8},{weight}")
    path = tmp_path / "customers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


FEATURES = ["--target", "bought", "--drop", "street", "--drop", "price", "--drop", "counts"]
PRICE = ["--target", "price", "--drop", "street", "--drop", "bought", "--drop", "counts"]
RANKING = ["--variant", "ranking", "--target", "price", "--groups", "street", "--drop", "bought", "--drop", "counts"]


def sample_of(path: Path, learnt: str = "labels", **how: object) -> Dataset:
    table = read_table(path, target_kind="labels" if learnt == "labels" else "numbers", **how)
    return Dataset(table, table.y, target_kind=learnt)


def test_a_model_that_says_no_to_everybody_is_called_that(capsys, table):
    out = succeed(capsys, "solve", table, *FEATURES, "--C", "1e-4", "--test-size", "0.25", "--seed", "1")
    assert "training    accuracy 0.8833 (balanced 0.5000); every row is predicted No" in out
    assert (
        "held out    accuracy 0.8500, balanced accuracy 0.5000, on 20 of 80 rows, not used for training (seed 1)" in out
    )
    assert re.search(r"^ +No +17 +0 +17 +1\.0000$", out, re.MULTILINE)
    assert re.search(r"^ +Yes +3 +0 +3 +0\.0000$", out, re.MULTILINE)
    assert "note        every row is predicted No: the accuracy of 0.8500 is the share of that class" in out
    balanced = run(capsys, "solve", table, *FEATURES, "--test-size", "0.25", "--class-weight", "balanced")[1]
    assert "every row" not in balanced


def test_the_score_is_that_of_a_machine_trained_on_the_other_rows(capsys, table, tmp_path):
    """Standardised by the rows that train, drawn by the seed, and saved as it was scored."""
    model_file = tmp_path / "m.npz"
    arguments = ["solve", table, *FEATURES, "--kernel", "rbf", "--standardise", "--class-weight", "Yes=5", "No=0.5"]
    out = succeed(capsys, *arguments, "--test-size", "0.3", "--seed", "7", "--save", model_file)
    whole = sample_of(table, target="bought", drop=["street", "price", "counts"])
    split = draw_held_out(whole, 0.3, 7)
    assert sorted([*split.train, *split.test]) == list(range(N))
    X = whole.table.X
    y = whole.y
    mean, scale = X[split.train].mean(axis=0), X[split.train].std(axis=0)
    weights = {"Yes": 5.0, "No": 0.5}
    problem = qpsvm.CSVM((X[split.train] - mean) / scale, y[split.train], kernel="rbf", class_weight=weights)
    result = qpsvm.solve(problem)
    predicted = result.predict((X[split.test] - mean) / scale)
    true = y[split.test]
    accuracy, balanced = metrics.accuracy_score(true, predicted), metrics.balanced_accuracy_score(true, predicted)
    assert f"held out    accuracy {accuracy:.4f}, balanced accuracy {balanced:.4f}, on 24 of 80 rows" in out
    recall = metrics.recall_score(true, predicted, pos_label="Yes")
    assert re.search(rf"^ +Yes .* {recall:.4f}$", out, re.MULTILINE)
    saved = qpsvm.load(model_file)
    np.testing.assert_allclose(
        saved.decision_function((X - mean) / scale), result.decision_function((X - mean) / scale), atol=1e-4
    )
    assert run(capsys, *arguments, "--test-size", "0.3", "--seed", "8")[1] != out


def test_folds_are_scored_and_certified(capsys, table):
    out = succeed(capsys, "solve", table, *FEATURES, "--cv", "4", "--standardise", "--test-size", "0.2")
    assert "4 folds     accuracy 0." in out
    assert "(seed 0; 4 of 4 optimal, largest gap " in out
    assert re.search(r"^ +No +\d+ +\d+ +56 ", out, re.MULTILINE), "each of the rows that train is tested once"
    unsolved = ["--cv", "3", "--backend", "osqp", "--max-iter", "1", "--no-polish"]
    code, out, _ = run(capsys, "solve", table, *FEATURES, *unsolved)
    assert code == 1
    assert "0 of 3 optimal" in out


def test_rows_of_weight_0_neither_train_nor_are_tested(capsys, table):
    whole = sample_of(table, target="bought", drop=["street", "price"], weights="counts")
    taking = set(range(N - WEIGHTLESS))
    split = draw_held_out(whole, 0.25, 0)
    assert {*split.train, *split.test} == taking
    assert sorted(row for fold in draw_dataset_folds(whole, 3, 0) for row in fold.test) == sorted(taking)
    out = run(capsys, "solve", table, *FEATURES[:-1], "price", "--weights", "counts", "--test-size", "0.25")[1]
    assert "on 15 of 80 rows, not used for training" in out


@for_each(
    "variant, options, words",
    [
        ("epsilon-svr", PRICE, [r"R² [01]\.\d{4}, mean absolute error \d", r"R² [01]\.\d{4} ± 0\.\d{4}"]),
        ("quantile-svr", PRICE, [r"mean pinball loss \d\S*, share below 0\.\d{4}", r"mean pinball loss \S+ ± "]),
        ("one-class", ["--drop", "bought", "--drop", "street"], [r"share outside 0\.\d{4}, on 20", r"0\.\d+ ± "]),
        ("ranking", [*PRICE[:2], *PRICE[4:], "--groups", "street"], [r"pairs in order 0\.\d{4}, on 20", r" ± 0\."]),
    ],
)
def test_each_kind_of_machine_has_its_scores(capsys, table, variant, options, words):
    out = succeed(capsys, "solve", table, "--variant", variant, *options, "--test-size", "0.25", "--cv", "3")
    assert re.search(rf"held out    .*{words[0]}", out)
    assert re.search(rf"3 folds     .*{words[1]}", out)


def test_groups_of_a_ranking_stay_together(table):
    whole = sample_of(table, "ranks", target="price", drop=["bought"], groups="street")
    for split in (draw_held_out(whole, 0.3, 0), *draw_dataset_folds(whole, 4, 0)):
        assert not {*whole.table.groups[split.train]} & {*whole.table.groups[split.test]}


def test_the_figures_of_novelty_are_those_of_scikit_learn(table):
    numbers = sample_of(table, "numbers", target="price", drop=["bought", "street"])
    sides = Dataset(numbers.table, np.where(np.arange(N) % 4, 1, -1), target_kind="none")
    predicted = np.where(np.arange(N) % 3, 1, -1)
    found = score_dataset(sides, predicted)
    assert found["share outside"] == (predicted < 0).mean()
    assert found["balanced accuracy"] == metrics.balanced_accuracy_score(sides.y, predicted)


def test_class_weights_are_those_of_the_problem(capsys, table, tmp_path):
    """Of a LIBSVM file with negative labels, and of one label against the others."""
    path, model = tmp_path / "signs", tmp_path / "m.npz"
    rng = np.random.default_rng(0)
    y = np.where(np.arange(30) % 3, 1, -1)
    X = rng.normal(size=(30, 2)) + y[:, None]
    path.write_text("".join(f"{k} 1:{float(a)!r} 2:{float(b)!r}\n" for k, (a, b) in zip(y, X, strict=True)))
    assert run(capsys, "solve", "--class-weight", "-1=3", "+1=0.5", "--", path, "--save", model)[0] == 2
    succeed(capsys, "solve", "--class-weight", "-1=3", "+1=0.5", "--save", model, path)
    expected = qpsvm.solve(qpsvm.CSVM(X, y, class_weight={-1: 3.0, 1: 0.5}))
    np.testing.assert_allclose(qpsvm.load(model).w, expected.w, rtol=1e-4)
    out = succeed(capsys, "solve", table, "--target", "street", "--drop", "bought", "--positive", "s1",
                       "--class-weight", "s1=7", "--class-weight", "not s1=1")  # fmt: skip
    assert "not s1: 70, s1: 10" in out


@for_each(
    "options, name, begins",
    [
        (FEATURES, "p.png", b"\x89PNG"),
        ([*FEATURES, "--axes", "age", "visits"], "p.PDF", b"%PDF"),
        ([*PRICE, "--variant", "epsilon-svr"], "p.svg", b"<?xml"),
        (["--drop", "bought", "--drop", "street", "--variant", "svdd"], "p.png", b"\x89PNG"),
        (RANKING, "p.png", b"\x89PNG"),
    ],
)
def test_pictures(capsys, table, tmp_path, options, name, begins):
    out = succeed(capsys, "solve", table, *options, "--plot", tmp_path / name)
    (written,) = re.findall(r"drawn +(\S+)", out)
    assert Path(written) == tmp_path / name
    assert Path(written).read_bytes().startswith(begins)


@for_each(
    "options, words",
    [
        ([*FEATURES, "--test-size", "25"], "25 per cent is 0.25"),
        ([*FEATURES, "--test-size", "0"], "between 0 and 1"),
        ([*FEATURES, "--cv", "1"], "2 or more"),
        ([*FEATURES, "--cv", "11"], "the class Yes has 10 rows that take part, too few for 11 folds"),
        ([*FEATURES, "--test-size", "0.01"], "both need a row of each class"),
        ([*FEATURES, "--test-size", "0.03"], "with a share of 0.03 none of them is tested"),
        ([*PRICE, "--variant", "epsilon-svr", "--cv", "81"], "80 rows that take part, too few for 81 folds"),
        ([*RANKING, "--cv", "9"], "there are 8 groups, too few"),
        ([*FEATURES, "--seed", "3"], "--test-size or --cv"),
        ([*FEATURES, "--cv", "3", "--seed", "-1"], "from 0 to"),
        ([*FEATURES, "--axes", "age", "visits"], "--plot"),
        ([*FEATURES, "--plot", "x.png", "--axes", "age", "visit"], "'visits'"),
        ([*FEATURES, "--plot", "x.png", "--axes", "age", "age"], "twice"),
        ([*PRICE, "--variant", "nu-svr", "--plot", "x.png", "--axes", "age", "visits"], "leave --axes"),
        ([*RANKING, "--plot", "x.png", "--axes", "age", "visits"], "a ranking is drawn by its pairs"),
        ([*FEATURES, "--plot", "x.jpg"], ".png, .svg or .pdf"),
        ([*FEATURES, "--plot", "/nowhere/x.png"], "no directory /nowhere"),
        ([*FEATURES, "--class-weight", "balance"], "balanced or LABEL=WEIGHT"),
        ([*FEATURES, "--class-weight", "Yess=2"], "did you mean 'Yes'"),
        ([*FEATURES, "--class-weight", "Yes=many"], "the weight of Yes must be a number"),
        ([*FEATURES, "--class-weight", "Yes=-2"], "must be positive"),
        ([*FEATURES, "--class-weight", "Yes=2", "Yes=3"], "two weights for Yes"),
        ([*FEATURES, "--class-weight", "balanced", "Yes=2"], "leave the other weights out"),
        ([*FEATURES, "--variant", "hard", "--class-weight", "balanced"], "no effect on a hard margin"),
        ([*PRICE, "--variant", "nu-svr", "--class-weight", "balanced"], "two-class machines"),
        ([*FEATURES, "--weights", "count"], "'counts'"),
    ],
)
def test_what_is_wrong_is_one_line(capsys, table, options, words):
    assert words in fail(capsys, "solve", table, *options)
