"""The machine without a sample, and the exact path: held against solves of their own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from asking import LEARNT, ask, make_state
from each import for_each

import qpsvm
from qpsvm.faces.play import machine_catalogue
from qpsvm.faces.play.request import read_state

#: No path: nothing of it enters the dual linearly.
CURVED = {"hard", "squared-hinge", "huber-hinge"}


def drop_point(held: dict, i: int) -> dict:
    rest = np.delete(np.arange(len(held["points"])), i)
    return held | {key: [held[key][j] for j in rest] for key in ("points", "labels")}


@for_each("machine, i", product(machine_catalogue.MACHINES, [0, 5]))
def test_the_machine_without_a_sample_is_that_of_the_others(machine, i):
    held = make_state(machine, "linear")
    box = [-3.0, 5.0, -2.0, 4.0]
    answer = ask("without", held, sample=i, grid=9, box=box)
    assert answer["status"] == "optimal", answer
    alone = qpsvm.solve(read_state(drop_point(held, i)).build_problem(), tol=1e-10)
    points = np.array(held["points"])
    X = points[:, :-1] if machine in LEARNT["numbers"] else points
    assert answer["after"] == pytest.approx(alone.decision_function(X[[i]])[0], abs=1e-5)
    whole = qpsvm.solve(read_state(held).build_problem(), tol=1e-10)
    apart = np.abs(alone.decision_function(X) - whole.decision_function(X)).max()
    assert answer["most"] == pytest.approx(apart, abs=1e-5)
    assert answer["idle"] == (whole.coef[i] == 0.0)
    shown = ask("solve", drop_point(held, i), grid=9, box=box, show=["plane"])["plane"]
    key = "curve" if machine in LEARNT["numbers"] else "f"
    assert answer["plane"][key] == pytest.approx(shown[key], abs=1e-4)


@pytest.mark.parametrize("machine", machine_catalogue.MACHINES)
def test_every_multiplier_on_the_path_is_that_of_a_solve(machine):
    held = make_state(machine, "rbf")
    answer = ask("path", held)
    if machine in CURVED:
        assert "no exact path" in answer["error"]["sentence"]
        return
    problem = read_state(held).build_problem()
    shares = np.array(answer["shares"])
    assert shares.shape == (len(held["points"]), len(answer["values"]))
    for k in (0, len(answer["values"]) // 2, -1):
        result = qpsvm.solve(problem.replace(**{answer["parameter"]: answer["values"][k]}), tol=1e-12)
        signs = result.coef if machine in LEARNT["numbers"] else result.alpha
        assert shares[:, k] == pytest.approx(signs / result.upper.max(), abs=2e-3)
    assert answer["gap"] <= 1e-6
    assert len(answer["breakpoints"]) == answer["pieces"] + 1
    if machine not in LEARNT["labels"]:
        assert answer["validation"] is None
        assert answer["why"]
        return
    validation = answer["validation"]
    whole = qpsvm.Interval(answer["low"], answer["reached"])
    found = qpsvm.cross_validate(problem, folds=validation["folds"], **{answer["parameter"]: whole})
    assert validation["edges"] == found.mean[()].edges.tolist()
    assert validation["values"] == found.mean[()].values.tolist()
    assert validation["best"] == found.best_score


def test_what_cannot_be_is_a_sentence():
    held = make_state("c", "linear")
    n = len(held["points"])
    assert ask("without", held, sample=n)["error"]["field"] == "sample"
    one = held | {"labels": [1] + [-1] * (n - 1)}
    assert "class" in ask("without", one, sample=0)["error"]["sentence"]
    assert "cannot be held out" in ask("path", one)["why"]
    many = held | {"points": [[float(k), 0.0] for k in range(400)], "labels": [1, -1] * 200}
    assert "300 samples" in ask("path", many)["error"]["sentence"]
