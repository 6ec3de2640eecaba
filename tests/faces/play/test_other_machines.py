"""What the page says of machines that have no two classes, or whose price of slack is curved."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from asking import LEARNT, ask, make_samples, make_state
from each import for_each

import qpsvm
from qpsvm.base.errors import UnsupportedError
from qpsvm.faces.play import machine_catalogue
from qpsvm.faces.play.request import read_state
from qpsvm.faces.play.start import build_start

REGRESSIONS = [*LEARNT["numbers"], "squared"]
OTHERS = [*REGRESSIONS, *LEARNT["none"], "squared-hinge", "huber-hinge"]


def machine_state(machine: str, kernel: str = "linear") -> dict:
    """Return a state; "squared" is the ε-SVR with that loss."""
    if machine == "squared":
        return make_state("epsilon-svr", kernel, parameters={"loss": "squared"})
    return make_state(machine, kernel)


@for_each("machine, kernel", product(REGRESSIONS, ["linear", "rbf"]))
def test_the_curve_is_the_prediction_and_the_tube_is_epsilon(machine, kernel):
    held = machine_state(machine, kernel)
    box = [-3.0, 5.0, -2.0, 4.0]
    answer = ask("solve", held, box=box)
    problem = read_state(held).build_problem()
    result = qpsvm.solve(problem)
    x = np.linspace(-3.0, 5.0, len(answer["plane"]["curve"]))
    assert answer["plane"]["curve"] == pytest.approx(result.predict(x[:, None]), abs=1e-5)
    epsilon = {"nu-svr": result.extras.get("epsilon"), "quantile-svr": 0.0}.get(machine, 0.1)
    assert answer["plane"]["epsilon"] == pytest.approx(epsilon, abs=1e-5)
    assert answer["plane"]["f"] is None
    table = answer["samples"]
    assert table["f"] == pytest.approx(result.predict(problem.X), abs=1e-5)
    assert np.add(table["f"], table["value"]) == pytest.approx(problem.t)
    assert np.subtract(table["alpha_above"], table["alpha_below"]) == pytest.approx(table["alpha"])
    assert len(answer["alpha"]) == 2 * len(table["alpha"])
    assert answer["sum"] == pytest.approx(0.0, abs=1e-9)


def test_of_a_regression_with_more_features_one_is_shown_against_the_target():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 3))
    t = X @ [1.0, -2.0, 0.5]
    held = {"points": np.column_stack([X, t]).tolist(), "machine": "epsilon-svr", "axes": [1, 3]}
    answer = ask("solve", held, box=[0, 1, -3, 3])
    result = qpsvm.solve(qpsvm.EpsilonSVR(X, t))
    at = np.median(X, axis=0)
    at[1] = 1.0
    assert answer["plane"]["curve"][-1] == pytest.approx(float(result.predict(at[None])[0]), abs=1e-6)
    refused = ask("solve", {**held, "axes": [0, 1]})
    assert refused["error"]["field"] == "state.axes[1]"


@for_each("machine, kernel", product([*OTHERS, "hard", "c", "nu", "hinge"], ["linear", "rbf"]))
def test_at_an_optimum_every_sample_is_on_the_path(machine, kernel):
    answer = ask("solve", machine_state(machine, kernel))
    table, pair = answer["samples"], answer["pair"]
    shares = np.array(table.get("signed", table["share"]))
    values = np.array(table.get("value", table.get("yf")))
    far = 10.0 * (np.abs(values).max() + 1.0)
    corners = [(share, {"top": far, "bottom": -far}.get(at, at)) for share, at in pair["path"]]
    assert min(pair["low"], 0.0) <= shares.min() <= shares.max() <= 1.0 + 1e-9
    distances = [
        [measure_distance(np.array([s, v]), *map(np.array, ends)) for ends in pairwise(corners)]
        for s, v in zip(shares, values, strict=True)
    ]
    assert max(map(min, distances)) < 1e-4


def measure_distance(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Measure how far a point is from the piece between two others."""
    length = float((b - a) @ (b - a))
    part = np.clip((point - a) @ (b - a) / length, 0.0, 1.0) if length else 0.0
    return float(np.linalg.norm(a + part * (b - a) - point))


@for_each("machine", [*OTHERS, "c", "nu", "hinge"])
def test_each_sample_has_a_sentence_and_every_letter_of_its_machine_a_number(machine):
    held = machine_state(machine)
    written = next(each for each in ask("catalogue")["machines"] if each["name"] == held["machine"])
    written = written["squared"] if machine == "squared" else written
    best = ask("solve", held)
    assert not any(said.startswith("Violated") for said in best["samples"]["verdict"])
    for key, symbol, words in written["letters"]:
        assert symbol
        assert words
        assert len(best["samples"][key]) == 16, key
    assert len(set(written["kinds"])) == 3
    other = ask("solve", held, alpha=[0.3 * a for a in best["alpha"]][::-1])
    assert any(said.startswith("Violated") for said in other["samples"]["verdict"])
    assert other["status"] != "optimal"
    worst = int(np.argmax(other["samples"]["gap"]))
    assert f"Sample {worst} " in other["sentence"]


def test_alpha_has_two_entries_a_sample_of_a_regression_and_one_otherwise():
    assert ask("solve", machine_state("nu-svr"), alpha=[0.0] * 16)["error"]["field"] == "alpha"
    assert ask("solve", machine_state("svdd"), alpha=[0.0] * 32)["error"]["field"] == "alpha"
    assert "error" not in ask("solve", machine_state("quantile-svr"), alpha=[0.0] * 32)


def test_the_ball_is_the_librarys():
    held = machine_state("svdd")
    answer = ask("solve", held)
    result = qpsvm.solve(qpsvm.SVDD(held["points"]))
    assert answer["plane"]["ball"]["centre"] == pytest.approx(result.centre)
    assert answer["plane"]["ball"]["radius"] == pytest.approx(result.radius)
    assert answer["width"] == pytest.approx(result.radius)
    assert ask("solve", machine_state("svdd", "rbf"))["plane"]["ball"] is None
    for level in answer["plane"]["contours"]:
        assert abs(level) <= max(answer["samples"]["yf"])


@for_each("machine", [*REGRESSIONS, *LEARNT["none"]])
def test_labels_are_not_needed_and_no_sample_is_an_error_in_words(machine):
    held = machine_state(machine)
    without = {key: value for key, value in held.items() if key != "labels"}
    assert ask("solve", without, show=[])["alpha"] == ask("solve", held, show=[])["alpha"]
    assert ask("solve", {**without, "points": []})["error"]["sentence"].startswith("there is no sample")
    assert "error" not in ask("solve", {**without, "points": [[1.0, 2.0]]})


@for_each(
    "machine, kernel",
    [*((machine, "rbf") for machine in OTHERS), ("hard", "linear"), ("nu", "polynomial"), ("hinge", "sigmoid")],
)
def test_a_problem_of_python_is_shown_as_it_is(machine, kernel):
    state = make_state("hinge", kernel, parameters={"intercept": "none"})
    problem = read_state(state if machine == "hinge" else machine_state(machine, kernel)).build_problem()
    start = build_start(problem)
    again = start.state.build_problem()
    assert type(again) is type(problem)
    assert (again.title, again.psd) == (problem.title, problem.psd)
    assert np.array_equal(again.X, problem.X)
    assert np.array_equal(again.samples.target, problem.samples.target)


def test_one_feature_is_enough_for_a_regression_only():
    X = [[0.0], [1.0], [2.0]]
    assert build_start(qpsvm.EpsilonSVR(X, [0.0, 1.0, 4.0])).state.axes == (0, 1)
    with pytest.raises(UnsupportedError, match="one feature"):
        build_start(qpsvm.OneClass(X))
    with pytest.raises(UnsupportedError, match="Ranking"):
        build_start(qpsvm.Ranking([[0.0, 1.0], [1.0, 2.0]], [1, 2]))


def test_what_the_page_does_not_know_is_not_dropped_in_silence():
    rows = qpsvm.Constraints([[1.0, 0.0]], [0.5])
    with pytest.raises(UnsupportedError, match="constraints"):
        build_start(qpsvm.CSVM([[0.0, 0.0], [2.0, 2.0]], [0, 1], constraints=rows))


@for_each("machine", ["epsilon-svr", "nu-svr", "one-class", "squared-hinge"])
def test_an_iterate_of_a_solver_can_be_held(machine):
    held = make_state(machine, **make_samples(10))
    run = ask("run", held, solver="interior_point")
    assert run["points"][-1]["gap"] < 1e-6
    middle = run["points"][len(run["points"]) // 2]
    again = ask("solve", held, alpha=middle["alpha"], show=[])
    assert again["dual"] == pytest.approx(middle["dual"], rel=1e-6, abs=1e-9)


def test_without_hulls_the_page_says_why():
    without = make_state("hinge", parameters={"intercept": "none"})
    for held, why in ((make_state("c", "rbf"), ""), (without, ""), (machine_state("huber-hinge"), "curved")):
        plane = ask("solve", held)["plane"]
        assert plane["hulls"] is None
        assert plane["missing"].startswith("No hulls here: ")
        assert why in plane["missing"]
    squared = machine_catalogue.MACHINES["squared-hinge"]
    assert squared.kinds[2] == squared.kind._kind_labels.curved_description
