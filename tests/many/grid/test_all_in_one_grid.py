"""Paths and cross-validation of machines that learn several classes in one program: as of any other machine."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.machines.problem.replaced import restricted

LABELS = np.array(["a", "b", "c"])[np.arange(45) % 3]
X = np.random.default_rng(0).normal(size=(45, 2)) + 1.5 * np.eye(3, 2)[np.arange(45) % 3]
MACHINES = pytest.mark.parametrize("machine", [qpsvm.CrammerSinger, qpsvm.WestonWatkins])


@MACHINES
@pytest.mark.parametrize("kernel", [qpsvm.Linear(), qpsvm.RBF(0.5)])
def test_a_path_has_the_optimum_of_every_point(machine, kernel):
    problem = machine(X, LABELS, kernel=kernel)
    found = qpsvm.path(problem, C=[0.1, 1.0, 10.0])
    for C, result in zip([0.1, 1.0, 10.0], found, strict=True):
        assert result.status == "optimal"
        assert result.primal == pytest.approx(qpsvm.solve(problem.replace(C=C)).primal, rel=2e-6)
    assert found.columns()["margin"] == [int((result.kind == 1).sum()) for result in found]
    assert "optimal" in str(found)


@MACHINES
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_a_score_is_that_of_the_machine_over_the_rows_that_train(machine, kernel, scoring):
    weight = np.where(np.arange(45) == 7, 0.0, 1.0)
    problem = machine(X, LABELS, kernel=kernel, sample_weight=weight)
    folds = [(np.arange(0, 30), np.arange(30, 45)), (np.arange(15, 45), np.arange(15))]
    found = qpsvm.cross_validate(problem, C=[0.1, 10.0], folds=folds, scoring=scoring)
    for k, (train, test) in enumerate(folds):
        train, test = (rows[weight[rows] > 0.0] for rows in (train, test))
        for j, C in enumerate((0.1, 10.0)):
            alone = machine(X[train], LABELS[train], C=C, kernel=problem.kernel)
            right = qpsvm.solve(alone).predict(X[test]) == LABELS[test]
            counts = [right[LABELS[test] == label].mean() for label in "abc"] if scoring else right
            assert found.scores[k, j] == pytest.approx(np.mean(counts))
    assert found.refit().status == "optimal"


def test_a_part_of_the_samples_is_the_same_machine():
    problem = qpsvm.CrammerSinger(X, LABELS, C=np.linspace(0.5, 1.5, 45), kernel=qpsvm.RBF(0.5))
    rows = np.arange(0, 45, 2)
    alone = qpsvm.CrammerSinger(X[rows], LABELS[rows], C=np.linspace(0.5, 1.5, 45)[rows], kernel=qpsvm.RBF(0.5))
    assert qpsvm.solve(restricted(problem, rows)).primal == pytest.approx(qpsvm.solve(alone).primal, rel=1e-6)
