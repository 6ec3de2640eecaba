"""More than two classes on the command line: solved as `estimators.SVC` does, scored, drawn, saved, or refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, read_rows, run, succeed
from each import for_each
from sklearn import metrics
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score

import qpsvm
from qpsvm.data.files import read_table
from qpsvm.estimators import SVC, NuSVC
from qpsvm.faces.cli.data import Dataset
from qpsvm.faces.cli.splits import draw_held_out

DATA = load_iris()
X, Y = DATA.data, DATA.target_names[DATA.target]


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("iris") / "iris.csv"
    rows = (",".join([*map(repr, row.tolist()), str(label)]) for row, label in zip(X, Y, strict=True))
    path.write_text("\n".join(["sl,sw,pl,pw,species", *rows]) + "\n")
    return path


TARGET = ["--target", "species"]


@for_each(
    "options, machine",
    [
        (["--kernel", "rbf", "--C", "10"], SVC(C=10)),
        (["--multi-class", "ovr", "--kernel", "rbf"], SVC(multi_class="ovr")),
        (["--variant", "nu", "--nu", "0.2", "--kernel", "rbf"], NuSVC(nu=0.2)),
        (["--variant", "crammer-singer"], qpsvm.CrammerSinger(X, Y)),
        (["--variant", "weston-watkins", "--C", "3"], qpsvm.WestonWatkins(X, Y, C=3)),
        (["--class-weight", "virginica=4"], SVC(kernel="linear", class_weight={"virginica": 4.0})),
    ],
)
def test_a_saved_model_predicts_what_the_same_machine_does_in_python(capsys, iris, tmp_path, options, machine):
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    out = succeed(capsys, "solve", iris, *TARGET, *options, "--save", model, "--tol", "1e-9")
    assert "status      optimal" in out
    code, _, err = run(capsys, "predict", model, iris, "--output", answers)
    assert code == 0
    rows = read_rows(answers)
    if isinstance(machine, (SVC, NuSVC)):
        labels = machine.set_params(tol=1e-9, break_ties=True).fit(X, Y).predict(X)
        values = machine.decision_function(X)
    else:
        result = qpsvm.solve(machine, tol=1e-9)
        labels, values = result.predict(X), result.decision_function(X)
    assert [row["label"] for row in rows] == labels.tolist()
    written = np.array([[float(row[f"decision {label}"]) for label in DATA.target_names] for row in rows])
    np.testing.assert_allclose(written, values, atol=1e-4)
    accuracy = metrics.accuracy_score(Y, labels)
    assert f"accuracy {accuracy:.4f}" in err
    assert f"training    accuracy {accuracy:.4f}" in out
    assert succeed(capsys, "predict", model, iris).split() == labels.tolist()


def test_held_out_rows_have_a_confusion_matrix_and_the_scores_of_each_class(capsys, iris, tmp_path):
    model = tmp_path / "model.npz"
    out = succeed(capsys, "solve", iris, *TARGET, "--C", "0.01", "--test-size", "0.4", "--cv", "3", "--save", model)
    held = out.split("held out")[1].split("saved")[0]
    loaded = qpsvm.load(model)
    table = read_table(iris, target="species")
    rows = draw_held_out(Dataset(table, table.y), 0.4, 0).test
    predicted = loaded.predict(X[rows])
    assert f"accuracy {metrics.accuracy_score(Y[rows], predicted):.4f}" in held
    scores = metrics.precision_recall_fscore_support(Y[rows], predicted, labels=DATA.target_names)
    counts = metrics.confusion_matrix(Y[rows], predicted, labels=DATA.target_names)
    for label, row, precision, recall, f1, n in zip(DATA.target_names, counts, *scores, strict=True):
        cells = " +".join([label, *map(str, row), str(n), f"{recall:.4f}", f"{precision:.4f}", f"{f1:.4f}"])
        assert re.search(rf"^ +{cells}$", held, re.MULTILINE), label
    assert "3 of 3 optimal" in out


def test_cross_validation_is_that_of_the_estimator(capsys, iris, tmp_path):
    model, picture = tmp_path / "best.npz", tmp_path / "scores.svg"
    grid = ["--kernel", "rbf", "--C", "1", "--gamma", "0.1,scale", "--folds", "3", "--scoring", "balanced_accuracy"]
    out = succeed(capsys, "cross-validate", iris, *TARGET, *grid, "--save", model, "--plot", picture)
    assert b"<svg" in picture.read_bytes()
    best = (0.0, 0.0)
    for each in (0.1, 1 / (4 * X.var())):
        machine = SVC(C=1.0, gamma=each, break_ties=True)
        found = cross_val_score(machine, X, Y, cv=StratifiedKFold(3), scoring="balanced_accuracy").mean()
        assert re.search(rf"^ *1 +{each:.4g} +{found:.4f} ", out, re.MULTILINE)
        best = max(best, (found, each), key=lambda point: point[0])
    assert f"balanced_accuracy {best[0]:.4f}" in out
    expected = SVC(C=1.0, gamma=best[1]).fit(X, Y).predict(X)
    assert (qpsvm.load(model).predict(X) == expected).all()
    in_one = ["--variant", "crammer-singer", "--C", "1", "--folds", "2"]
    assert succeed(capsys, "cross-validate", iris, *TARGET, *in_one).count("optimal") == 1


def test_probabilities_are_those_of_the_estimator(capsys, tmp_path, iris):
    few, model, answers = tmp_path / "few.csv", tmp_path / "m.npz", tmp_path / "a.csv"
    lines = iris.read_text().splitlines()
    few.write_text("\n".join([lines[0], *lines[1::5]]) + "\n")
    succeed(capsys, "solve", few, *TARGET, "--probability", "--save", model)
    succeed(capsys, "predict", model, few, "--probability", "--output", answers)
    expected = SVC(kernel="linear", probability=True).fit(X[::5], Y[::5]).predict_proba(X[::5])
    rows = read_rows(answers)
    for label, column in zip(DATA.target_names, expected.T, strict=True):
        np.testing.assert_allclose([float(row[f"probability {label}"]) for row in rows], column, atol=1e-4)


@for_each(
    "given",
    [
        ["--variant", "hard"], ["--variant", "hinge", "--intercept", "penalised"], ["--variant", "squared-hinge"],
        ["--variant", "huber-hinge", "--multi-class", "ovr"], ["--backend", "osqp", "--form", "primal"],
        ["--no-polish", "--backend", "osqp"],
    ],
)  # fmt: skip
def test_every_machine_of_two_classes_learns_several(capsys, tmp_path, given):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    points = rng.normal(size=(60, 2)) + 9.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    path = tmp_path / "three"
    path.write_text("".join(f"{k} 1:{a!r} 2:{b!r}\n" for k, (a, b) in zip(y, points.tolist(), strict=True)))
    code, out, _ = run(capsys, "solve", path, *given)
    assert code == (1 if "--no-polish" in given and "inaccurate" in out else 0)
    assert "training    accuracy 1.0000" in out


def test_rows_of_weight_0_take_no_part(capsys, tmp_path, iris):
    weighed = tmp_path / "weighed.csv"
    lines = iris.read_text().splitlines()
    body = [f"{line},{int(i % 3 > 0)}" for i, line in enumerate(lines[1:])]
    weighed.write_text("\n".join([lines[0] + ",s", *body]) + "\n")
    model = tmp_path / "m.npz"
    succeed(capsys, "solve", weighed, *TARGET, "--weights", "s", "--save", model, "--tol", "1e-9")
    keep = np.arange(150) % 3 > 0
    expected = SVC(kernel="linear", tol=1e-9, break_ties=True).fit(X[keep], Y[keep])
    np.testing.assert_allclose(qpsvm.load(model).decision_function(X), expected.decision_function(X), atol=1e-4)
    out = run(capsys, "cross-validate", weighed, *TARGET, "--weights", "s", "--C", "1", "--folds", "4")[1]
    assert "4 folds" in out


@for_each(
    "arguments, words",
    [
        (["solve", "--proof", "x.json"], "--variant crammer-singer or weston-watkins"),
        (["solve", "--bounds"], "--positive setosa"),
        (["solve", "--bounds", "--variant", "crammer-singer"], "another --variant"),
        (["solve", "--variant", "crammer-singer", "--multi-class", "ovr"], "leave it out"),
        (["solve", "--positive", "setosa", "--multi-class", "ovr"], "leave it out"),
        (["solve", "--variant", "crammer-singer", "--probability"], "leave --probability out"),
        (["solve", "--multi-class", "ovx"], "'ovr'"),
        (["solve", "--variant", "nu", "--nu", "0.9", "--multi-class", "ovr"], "largest feasible"),
        (["leave-one-out"], "--positive setosa"),
        (["leave-one-out", "--variant", "crammer-singer"], "use cross-validate"),
        (["path", "--exact", "--variant", "crammer-singer", "--C", "1,2"], "leave --exact out"),
        (["path", "--C", "1,2"], "cross-validate"),
        (["derive", "c", "--data"], "--positive setosa"),
        (["play", "--variant", "crammer-singer", "--data"], "--positive LABEL"),
        (["cross-validate", "--C", "1", "--scoring", "acuracy"], "did you mean 'accuracy'"),
        (["cross-validate"], "such as --C"),
        (["cross-validate", "--C=-1,1"], "C must be positive"),
    ],
)
def test_what_is_refused_says_what_to_take(capsys, iris, arguments, words):
    command, *options = arguments
    given = [*options, iris] if options[-1:] == ["--data"] else [iris, *options]
    assert words in fail(capsys, command, *given, *TARGET)


def test_names_are_no_classes(capsys, tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("a,name\n" + "".join(f"{i},n{i}\n" for i in range(9)))
    assert "9 labels in 9 rows" in fail(capsys, "solve", path, "--target", "name")
    with pytest.raises(qpsvm.DataError, match=r"CrammerSinger, WestonWatkins or estimators\.SVC"):
        qpsvm.CSVM(X, Y)


def test_machines_are_summed_and_weights_of_classes_count_in_every_command(capsys, iris):
    weights = {"virginica": 4.0, "setosa": 0.5}
    said = ["--class-weight", *(f"{label}={factor}" for label, factor in weights.items())]
    machine = SVC(kernel="linear", class_weight=weights, break_ties=True)
    whole = sum(result.primal for result in machine.fit(X, Y).results_)
    out = succeed(capsys, "compare", iris, *TARGET, *said, "--backend", "osqp,libsvm,auto", "--form", "dual")
    rows = [line.split() for line in out.splitlines() if line.startswith(("osqp ", "libsvm ", "auto "))]
    assert [row[2] for row in rows] == ["optimal"] * 3
    assert [float(row[3]) for row in rows] == pytest.approx([whole] * 3, rel=1e-5)
    score = cross_val_score(machine, X, Y, cv=StratifiedKFold(3)).mean()
    out = succeed(capsys, "cross-validate", iris, *TARGET, *said, "--C", "1", "--folds", "3")
    assert f"accuracy {score:.4f}" in out


def test_several_classes_in_one_program_are_compared_proven_derived_and_drawn(capsys, iris, tmp_path):
    proof, picture = tmp_path / "proof.json", tmp_path / "classes.png"
    machine = ["--variant", "crammer-singer"]
    succeed(capsys, "solve", iris, *TARGET, *machine, "--proof", proof, "--plot", picture, "--axes", "pl", "pw")
    assert picture.read_bytes().startswith(b"\x89PNG")
    succeed(capsys, "verify", proof, "--data", iris, "--target", "species")
    assert "optimal" in succeed(capsys, "path", iris, *TARGET, *machine, "--C", "1,2")
    derived = succeed(capsys, "derive", "crammer-singer", "--data", iris, *TARGET, "--steps", "CSMC.4")
    assert "(CSMC.4)" in derived
    for axes in ([], ["--axes", "pl", "pw"]):
        picture.unlink()
        succeed(capsys, "solve", iris, *TARGET, "--plot", picture, *axes)
        assert picture.read_bytes().startswith(b"\x89PNG")
