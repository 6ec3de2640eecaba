"""Regression, novelty, ranking and curved losses on the command line: what they read, print, save and refuse."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, run, succeed
from each import for_each
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, r2_score

import qpsvm
from qpsvm.faces.cli.problem_options import VARIANTS
from qpsvm.faces.cli.scores import describe_predictions

N = 40


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Forty houses: area, rooms, town, price, a kind in words, four streets."""
    rng = np.random.default_rng(0)
    lines = ["area,rooms,town,price,kind,street"]
    for i in range(N):
        area = rng.normal(80.0, 20.0)
        rooms = int(rng.integers(1, 6))
        price = area + 10 * rooms + rng.normal(0.0, 5.0)
        lines.append(f"{area:.2f},{rooms},{'ab'[i % 2]},{price:.2f},{'large' if area > 80 else 'small'},s{i // 10}")
    path = tmp_path / "houses.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


PRICE = ["--target", "price", "--drop", "kind", "--drop", "street", "--standardise"]
KIND = ["--target", "kind", "--drop", "price", "--drop", "street", "--standardise"]
NONE = ["--drop", "price", "--drop", "kind", "--drop", "street", "--standardise"]
RANKS = ["--target", "price", "--drop", "kind", "--groups", "street", "--standardise"]
READ = {"labels": KIND, "numbers": PRICE, "none": NONE, "ranks": RANKS}
OPTIONS = {
    "squared-hinge": ["--C", "2", "--intercept", "penalised"],
    "huber-hinge": ["--width", "0.3"],
    "epsilon-svr": ["--epsilon", "1", "--loss", "squared"],
    "nu-svr": ["--nu", "0.3", "--C", "5", "--kernel", "rbf"],
    "quantile-svr": ["--quantile", "0.8", "--C", "5", "--intercept", "none"],
    "one-class": ["--nu", "0.2"],
    "svdd": ["--nu", "0.2", "--kernel", "rbf"],
    "ranking": ["--C", "0.5"],
}
TITLES = {
    "epsilon-svr": "ε-SVR (squared), C = 1, ε = 1,",
    "quantile-svr": "C = 5, τ = 0.8",
    "huber-hinge": "κ = 0.3",
    "one-class": "ν = 0.2, kernel RBF",
    "svdd": "ν = 0.2, kernel RBF",
}
PRINTED = {"labels": "accuracy", "numbers": "mean absolute error", "none": "inside", "ranks": "pairs in order"}


@for_each("variant", OPTIONS)
def test_every_machine_solves_saves_and_predicts(capsys, table, tmp_path, variant):
    model, written = tmp_path / "model.npz", tmp_path / "out.csv"
    learnt = VARIANTS[variant]._target_kind
    said = "mean pinball loss" if variant == "quantile-svr" else PRINTED[learnt]
    arguments = [table, "--variant", variant, *READ[learnt], *OPTIONS[variant]]
    out = succeed(capsys, "solve", *arguments, "--save", model)
    assert "status      optimal" in out
    assert TITLES.get(variant, "") in out
    code, printed, err = run(capsys, "predict", model, table)
    assert code == 0
    assert len(printed.split()) == N
    assert f"{N} predictions, " in err
    assert said in err
    if learnt != "none":  # what is said of the rows that trained it is what is said of them when they come back
        assert out.split("training    ")[1].split("\n")[0] in err
    succeed(capsys, "predict", model, table, "--output", written)
    rows = [line.split(",") for line in written.read_text().splitlines()]
    header = {"numbers": ["prediction"], "ranks": ["score"]}.get(learnt, ["label", "decision"])
    assert rows[0] == header
    values = qpsvm.load(model)
    assert (values.classes is None) == (len(header) == 1)
    if learnt == "none":
        assert {row[0] for row in rows[1:]} == {"-1", "1"}


def test_weights_are_a_column(capsys, tmp_path):
    """A row of weight 2 is there twice; one of weight 0 is not there."""
    weighed = tmp_path / "weighed.csv"
    copied = tmp_path / "copied.csv"
    libsvm = tmp_path / "libsvm"
    rows = [(0.0, 1.0, 1), (1.0, 1.5, 2), (2.0, 4.0, 1), (3.0, 2.0, 0), (4.0, 5.0, 1)]
    weighed.write_text("x,t,s\n" + "".join(f"{x},{t},{s}\n" for x, t, s in rows))
    copied.write_text("x,t\n" + "".join(f"{x},{t}\n" * s for x, t, s in rows))
    found = []
    for path, more in ((weighed, ["--weights", "s"]), (copied, [])):
        out = succeed(capsys, "solve", path, "--target", "t", "--variant", "epsilon-svr", *more)
        found.append(float(out.split("primal ")[1].split(",")[0]))
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    weighed.write_text("x,t,s\n1,2,-1\n2,3,1\n")
    err = fail(capsys, "solve", weighed, "--target", "t", "--variant", "nu-svr", "--weights", "s")
    assert "sample_weight[0] = -1" in err
    libsvm.write_text("1 1:1\n-1 1:2\n")
    assert "leave out weights" in fail(capsys, "solve", libsvm, "--weights", "s")


SOLVE = ["solve", "{table}", "--variant"]


def test_a_file_that_waits_for_its_predictions_needs_neither_target_nor_groups(capsys, table, tmp_path):
    model, waiting = tmp_path / "m.npz", tmp_path / "waiting.csv"
    waiting.write_text("area,rooms,town\n70,2,a\n90,4,b\n")
    for variant, read in (("epsilon-svr", PRICE), ("ranking", RANKS)):
        succeed(capsys, "solve", table, "--variant", variant, *read, "--save", model)
        code, out, err = run(capsys, "predict", model, waiting)
        assert (code, err) == (0, "2 predictions\n")
        low, high = map(float, out.split())
        assert low < high  # the larger house


def test_grids_of_a_regression(capsys, table, tmp_path, monkeypatch):
    model = tmp_path / "best.npz"
    arguments = ["--variant", "epsilon-svr", *PRICE, "--C", "0.1,10", "--epsilon", "0,1"]
    out = succeed(capsys, "cross-validate", table, *arguments, "--folds", "3", "--save", model)
    assert "r2, 3 folds" in out
    assert "best: C = 10" in out
    assert "R² 0.9" in run(capsys, "predict", model, table)[2]
    assert succeed(capsys, "path", table, *arguments).count("optimal") == 4
    quantile = ["--variant", "quantile-svr", *PRICE, "--C", "1", "--folds", "3"]
    assert "neg_mean_pinball_loss" in succeed(capsys, "cross-validate", table, *quantile)
    registry = {name: qpsvm.backends.REGISTRY[name] for name in ("cvxopt", "interior_point")}
    monkeypatch.setattr(qpsvm.backends.registry, "REGISTRY", registry)
    assert succeed(capsys, "compare", table, "--variant", "nu-svr", *PRICE).count("optimal") == 4


@pytest.mark.slow
@for_each("variant", ["epsilon-svr", "svdd", "ranking"])
def test_derive_measures_every_step(capsys, table, variant):
    out = succeed(capsys, "derive", variant, "--data", table, *READ[VARIANTS[variant]._target_kind])
    residuals = [float(value) for value in re.findall(r"  residual (\d\S*)$", out, re.MULTILINE)]
    assert len(residuals) >= 8
    assert max(residuals) <= 1e-8


def test_the_groups_of_a_table_are_a_column_and_those_of_a_libsvm_file_its_qid(capsys, table, tmp_path):
    alone = ["--variant", "ranking", "--target", "price", "--drop", "kind"]
    assert f"{4 * 10 * 9 // 2} pairs" in succeed(capsys, "solve", table, *alone, "--groups", "street")
    assert f"{N * (N - 1) // 2} pairs" in succeed(capsys, "solve", table, *alone, "--drop", "street")
    path = tmp_path / "letor"
    path.write_text("".join(f"{i % 3} qid:{i // 3} 1:{i % 3 + 0.01 * i} 2:{i * i % 7}\n" for i in range(12)))
    out = succeed(capsys, "solve", path, "--variant", "ranking")
    assert "12 pairs" in out
    assert "4 groups" in out
    assert "target from 0 to 2" in succeed(capsys, "solve", path, "--variant", "epsilon-svr")
    assert "the target is not used" in succeed(capsys, "solve", path, "--variant", "svdd")
    assert "qid of its lines" in fail(capsys, "solve", path, "--variant", "ranking", "--groups", "qid")
    path.write_text("1 qid:1 1:1\n2 1:2\n")
    assert "only 1 lines have a qid" in succeed(capsys, "solve", path, "--variant", "ranking")


def test_a_target_that_is_no_number_or_missing_is_shown_with_its_line(capsys, tmp_path):
    path = tmp_path / "targets.csv"
    arguments = ["solve", path, "--target", "t", "--variant", "epsilon-svr"]
    path.write_text("x;t\n1;2,5\n2;3,5\n")
    err = fail(capsys, *arguments)
    assert "line 2, column 't': '2,5'" in err
    assert "name the decimal mark by --decimal ," in err
    path.write_text("x,t\n1,2.5\n2,\n3,1.0\n")
    assert "line 3, column 't' is missing" in fail(capsys, *arguments)
    assert "2 rows x 1 features" in succeed(capsys, *arguments, "--drop-missing")


def test_measures_are_those_of_scikit_learn_and_of_pairs_within_groups(monkeypatch):
    rng = np.random.default_rng(1)
    t, f = rng.standard_normal(30), rng.standard_normal(30)
    assert describe_predictions("numbers", f, t) == (
        f"R² {r2_score(t, f):.4f}, mean absolute error {mean_absolute_error(t, f):.4g}"
    )
    assert f"{mean_pinball_loss(t, f, alpha=0.8):.4g}," in describe_predictions("numbers", f, t, quantile=0.8)
    assert (
        describe_predictions("numbers", np.zeros(3), np.ones(3)) == "mean absolute error 1"
    )  # no spread, no share of it
    y, f = np.array([1.0, 2.0, 3.0, 1.0]), np.array([0.0, 1.0, 0.5, 9.0])
    assert describe_predictions("ranks", f, y, np.array(["a", "a", "a", "b"])) == "2 of 3 pairs in order (0.6667)"
    monkeypatch.setattr("qpsvm.many.grid.ordered_pairs.BLOCK_NUMBERS", 5)
    assert describe_predictions("ranks", f, y, None) == "2 of 5 pairs in order (0.4000)"
    assert describe_predictions("ranks", f[:2], np.ones(2)) == "no pair to compare"


@for_each(
    "arguments, named",
    [
        ([*SOLVE, "epsilon-svr", "--target", "kind"], "line 2, column 'kind': '"),
        ([*SOLVE, "nu-svr", "--target", "kind"], "machine of two classes"),
        ([*SOLVE, "epsilon-svr"], "name the column of numbers by --target"),
        (["solve", "{table}", "--target", "price"], "--variant epsilon-svr"),
        ([*SOLVE, "epsilon-svr", *PRICE, "--positive", "1"], "--positive belongs to two-class machines"),
        ([*SOLVE, "epsilon-svr", *PRICE, "--groups", "street"], "--groups belongs to a ranking"),
        ([*SOLVE, "ranking", "--target", "price", "--groups", "stret"], "did you mean 'street'"),
        ([*SOLVE, "ranking", "--target", "price", "--groups", "price"], "cannot be that of --target and --groups"),
        ([*SOLVE, "ranking", *PRICE, "--groups", "street"], "that of groups and cannot be dropped"),
        ([*SOLVE, "epsilon-svr", *PRICE[:2], "--weights", "kind"], "a weight must be"),
        ([*SOLVE, "svdd", *NONE, "--weights", "price"], "that of weights and cannot be dropped"),
        (["solve", "{table}", *KIND, "--variant", "hard", "--weights", "rooms"], "no slack"),
        ([*SOLVE, "epsilon_svr", *PRICE], "did you mean 'epsilon-svr'"),
        ([*SOLVE, "quantile-svr", *PRICE, "--quantile", "1.5"], "quantile must be above 0 and below 1"),
        ([*SOLVE, "epsilon-svr", *PRICE, "--loss", "cubic"], "--loss"),
        (["play", "--data", "{table}", *RANKS, "--variant", "ranking", "--no-browser"], "the machine Ranking"),
        (["cross-validate", "{table}", *NONE, "--variant", "svdd", "--nu", "0.1,0.2"], "SVDD has no target"),
        (["cross-validate", "{table}", *RANKS, "--variant", "ranking", "--C", "1,2"], "learns from pairs"),
        (["cross-validate", "{table}", *PRICE, "--variant", "nu-svr", "--C", "1", "--scoring", "accuracy"],
         "accuracy counts labels"),
        (["path", "{table}", *NONE, "--variant", "one-class"], "such as --nu 0.1,0.2,0.5"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_that_says_what_to_do(capsys, table, arguments, named):
    assert named in fail(capsys, *[str(a).format(table=table) for a in arguments])
