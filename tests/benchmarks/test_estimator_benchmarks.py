"""Estimators are judged machine by machine, by what their attributes say, whoever wrote them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tqdm", reason="the benchmarks need the extra bench")

from benchmarks.estimator_tables import build_estimators_table as table
from benchmarks.estimators import CLASSIFIERS, REGRESSORS, LabelledTable, _build_task
from benchmarks.score import EstimatorJudge, choose_judge
from benchmarks.solvers import ESTIMATORS, Rung, find_entrant
from benchmarks.solvers.fitted import (
    extract_points,
    iter_machine_rows,
    iter_machines,
    take_fitted_rows,
    take_held_out_rows,
)

#: Three classes, two, and a number.
IRIS = LabelledTable("iris", rows=60)
CANCER, DIABETES = LabelledTable("breast_cancer", rows=60), LabelledTable("diabetes", target="numbers", rows=50)
TASKS = [
    *(_build_task(IRIS, "iris", 60, 3, kind) for kind in CLASSIFIERS),
    *(_build_task(CANCER, "cancer", 60, 2, kind) for kind in (CLASSIFIERS[0], CLASSIFIERS[3], CLASSIFIERS[4])),
    *(_build_task(DIABETES, "diabetes", 50, 0, kind) for kind in REGRESSORS),
]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Nobody times a test."""
    monkeypatch.setattr("benchmarks.solvers.estimators.OFTEN_ENOUGH", 1)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_attributes_of_every_package_are_read_in_the_units_of_its_machines(task):
    machine = task.build_machine(*task.source.load())
    judge = choose_judge(machine)
    assert isinstance(judge, EstimatorJudge)
    for name, entrant in ESTIMATORS.items():
        if entrant.version() is None or not entrant.accepts(task):
            continue
        assert find_entrant(name, task) is entrant
        data = entrant.prepare(machine)
        answer, _ = entrant.run(data, Rung(tol=1e-6))
        verdict = judge.score(entrant.point(data, answer))
        if name == "qpsvm":
            worst = 1e-6
        elif task.estimator == "LinearSVR":
            worst = 1e-3
        else:
            worst = 1e-4
        assert verdict["gap"] <= worst, name
        assert verdict["machines"] == (3 if task.facts["data"] == "iris" else 1)
        assert verdict["off"] <= 0.05
        assert min(verdict["predicting"], verdict["one_row"]) >= 0.0


def test_a_spoiled_estimator_is_seen():
    """One pair of three is wrong, and predictions are compared with exact ones."""
    task = TASKS[0]
    machine = task.build_machine(*task.source.load())
    entrant = ESTIMATORS["scikit-learn"]
    part, (X, y) = data = entrant.prepare(machine)
    assert len(part.y) + len(y) == 60
    answer, _ = entrant.run(data, Rung(tol=1e-6))
    fitted = entrant.point(data, answer)
    judge = EstimatorJudge(machine)
    wrong = replace(fitted.points[1], alpha=np.zeros_like(fitted.points[1].alpha))
    verdict = judge.score(replace(fitted, points=(fitted.points[0], wrong, fitted.points[2])))
    assert verdict["gap"] > 0.5
    assert verdict["median_gap"] <= 1e-4
    verdict = judge.score(replace(fitted, predicted=(fitted.predicted + 1.0) % 3))
    assert (verdict["off"], verdict["gap"] <= 1e-4) == (1.0, True)
    assert verdict["right"] < 0.5
    with pytest.raises(ValueError, match="zip"):
        judge.score(replace(fitted, points=fitted.points[:2]))
    answer._dual_coef_ = answer.dual_coef_[:, ::-1].copy()
    assert max(point.alpha.max() for point in extract_points(part, answer)) <= 1.0
    assert np.array_equal(take_held_out_rows(machine)[0], X)
    assert np.array_equal(take_fitted_rows(machine).X, part.X)


def test_the_machines_of_several_classes():
    """A pair of classes is −1 and +1 in their order; LIBLINEAR's machines are over all rows."""
    part = take_fitted_rows(TASKS[0].build_machine(*TASKS[0].source.load()))
    found = [(sorted(set(part.y[rows])), {part.y[i]: t for i, t in zip(rows, target, strict=True)})
             for rows, target in iter_machine_rows(part)]  # fmt: skip
    assert [classes for classes, _ in found] == [[0, 1], [0, 2], [1, 2]]
    assert all(signs[classes[0]] == -1.0 and signs[classes[1]] == 1.0 for classes, signs in found)
    linear = take_fitted_rows(TASKS[4].build_machine(*TASKS[4].source.load()))
    assert [len(each.y) for each in iter_machines(linear)] == [len(linear.y)] * 3
    assert {each.task.intercept for each in iter_machines(linear)} == {"penalised"}


def test_the_table_takes_runs_that_failed_and_packages_that_are_absent():
    ran = {"kind": "run", "suite": "estimators", "task": "wine, SVC", "outcome": "ran", "gap": 3e-7, "right": 0.9,
           "facts": {"n": 178, "classes": 3}, "predicting": 0.002, "one_row": 1e-4, "off": 0.05}  # fmt: skip
    lines = [{**ran, "solver": "qpsvm", "tol": 1e-6, "seconds": 0.002}]
    assert "–" in table(lines)
    lines += [{**ran, "solver": "scikit-learn", "tol": 1e-3, "seconds": 0.004, "gap": 2e-3}]
    lines += [{**ran, "solver": "sklearnex", "outcome": "error", "seconds": None, "gap": None}]
    fits, predictions = table(lines).split("\n\n")
    cells = [cell.strip() for cell in fits.splitlines()[2].strip("|").split("|")]
    assert cells == ["wine, SVC", "178, 3", "2.00", "3e-7", "4.00", "2e-3", "2.0 ×", "–", "–", "–", "–", "[error]"]
    assert "5.0 %" in predictions
    assert table([]) == ""
