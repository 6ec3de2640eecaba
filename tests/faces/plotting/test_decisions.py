"""The picture of decision values: what is in it is what the result says."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from matplotlib.patches import StepPatch
from sklearn.datasets import load_iris

import qpsvm
from qpsvm.faces import plotting

DATA = load_iris()
TWO = DATA.target > 0
X, Y = DATA.data[TWO], DATA.target[TWO]
WEIGHTS = np.where(np.arange(len(Y)) % 5, 1.0, 0.0)


@for_each("weights", [None, WEIGHTS])
def test_each_class_has_an_area_of_one_and_those_on_the_wrong_side_are_counted(weights):
    problem = qpsvm.CSVM(X, Y, 0.01, sample_weight=weights)
    result = qpsvm.solve(problem)
    ax = plotting.decisions(problem, result)
    rows = problem.active_rows
    f = result.decision_function(X[rows])
    labels = Y[rows]
    steps = [patch for patch in ax.patches if isinstance(patch, StepPatch) and patch.get_hatch()]
    for patch, label, sign in zip(steps, (1, 2), (-1, 1), strict=True):
        share, edges, _ = patch.get_data()
        assert share.sum() == pytest.approx(1.0)
        assert np.isclose(edges, 0.0, atol=1e-12).any(), "no bin is on both sides"
        wrong = int((sign * f[labels == label] <= 0).sum())
        assert f"class {label} ({(labels == label).sum()}, {wrong} on the wrong side)" == patch.get_label()
    left, right = ax.get_xlim()
    assert left < -result.rho < result.rho < right
    ax.figure.draw_without_rendering()


@for_each("machine", [qpsvm.OneClass, qpsvm.SVDD])
def test_inside_and_outside(machine):
    problem = machine(X, nu=0.2, kernel="rbf")
    result = qpsvm.solve(problem)
    ax = plotting.decisions(problem, result, legend=False)
    (patch,) = [each for each in ax.patches if isinstance(each, StepPatch) and each.get_hatch()]
    assert patch.get_label() == f"samples (100, {int((result.decision_function(X) < 0).sum())} outside)"


def test_values_that_are_all_the_same():
    problem = qpsvm.CSVM(np.zeros((4, 3)), [0, 0, 0, 1])
    ax = plotting.decisions(problem, qpsvm.solve(problem))
    assert sum("on the wrong side" in text.get_text() for text in ax.get_legend().get_texts()) == 2


def test_what_has_no_sides_is_refused():
    for problem, words in (
        (qpsvm.EpsilonSVR(X, X[:, 0]), "tube"), (qpsvm.Ranking(X[:6], range(6)), "plotting.complementarity"),
    ):  # fmt: skip
        with pytest.raises(qpsvm.UnsupportedError, match=words):
            plotting.decisions(problem, qpsvm.solve(problem))
    with pytest.raises(qpsvm.ParameterTypeError, match="legend"):
        plotting.decisions(qpsvm.CSVM(X, Y), qpsvm.solve(qpsvm.CSVM(X, Y)), legend="yes")
