"""Paths and cross-validation of machines that learn several classes in one program: as of any other machine."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.machines.problem.derived_problems import restrict_to_rows

LABELS = np.array(["a", "b", "c"])[np.arange(24) % 3]
X = np.random.default_rng(0).normal(size=(24, 2)) + 1.5 * np.eye(3, 2)[np.arange(24) % 3]
MACHINES = pytest.mark.parametrize("machine", [qpsvm.CrammerSinger, qpsvm.WestonWatkins])


@MACHINES
@pytest.mark.parametrize("kernel", [qpsvm.Linear(), qpsvm.RBF(0.5)])
def test_a_path_has_the_optimum_of_every_point(machine, kernel):
    problem = machine(X, LABELS, kernel=kernel)
    found = qpsvm.path(problem, C=[0.1, 10.0])
    for C, result in zip([0.1, 10.0], found, strict=True):
        assert result.status == "optimal"
        assert result.primal == pytest.approx(qpsvm.solve(problem.replace(C=C)).primal, rel=2e-6)
    assert found.columns()["margin"] == [int((result.kind == 1).sum()) for result in found]
    assert "optimal" in str(found)


@MACHINES
@pytest.mark.parametrize(("kernel", "scoring"), [("linear", "balanced_accuracy"), ("rbf", None)])
def test_a_score_is_that_of_the_machine_over_the_rows_that_train(machine, kernel, scoring):
    weight = np.where(np.arange(24) == 7, 0.0, 1.0)
    problem = machine(X, LABELS, kernel=kernel, sample_weight=weight)
    folds = [(np.arange(0, 15), np.arange(15, 24)), (np.arange(9, 24), np.arange(9))]
    found = qpsvm.cross_validate(problem, C=[0.1, 10.0], folds=folds, scoring=scoring)
    for k, (train, test) in enumerate(folds):
        train, test = (rows[weight[rows] > 0.0] for rows in (train, test))
        for j, C in enumerate((0.1, 10.0)):
            alone = machine(X[train], LABELS[train], C=C, kernel=problem.kernel)
            right = qpsvm.solve(alone).predict(X[test]) == LABELS[test]
            if scoring:
                counts = [right[LABELS[test] == label].mean() for label in "abc"]
            else:
                counts = right
            assert found.scores[k, j] == pytest.approx(np.mean(counts))
    assert found.refit().status == "optimal"


def test_a_part_of_the_samples_is_the_same_machine():
    problem = qpsvm.CrammerSinger(X, LABELS, C=np.linspace(0.5, 1.5, 24), kernel=qpsvm.RBF(0.5))
    rows = np.arange(0, 24, 2)
    alone = qpsvm.CrammerSinger(X[rows], LABELS[rows], C=np.linspace(0.5, 1.5, 24)[rows], kernel=qpsvm.RBF(0.5))
    assert qpsvm.solve(restrict_to_rows(problem, rows)).primal == pytest.approx(qpsvm.solve(alone).primal, rel=1e-6)
