"""The picture of influence."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.faces import plotting
from qpsvm.faces.plotting.influential import AREA_RANGE, MIN_AREA

X, Y = make_moons(30, noise=0.3, random_state=0)


MACHINES = {
    "classes": lambda: qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(1.0)),
    "slice": lambda: qpsvm.CSVM(np.column_stack([X, X[:, 0] * X[:, 1]]), Y),
    "line": lambda: qpsvm.CSVM(X[:, :1], Y),
    "curve": lambda: qpsvm.EpsilonSVR(X[:, :1], X[:, 1], kernel=qpsvm.RBF(1.0)),
    "surface": lambda: qpsvm.EpsilonSVR(X, X[:, 1] ** 2, kernel=qpsvm.RBF(1.0)),
    "novelty": lambda: qpsvm.OneClass(X, nu=0.2, kernel=qpsvm.RBF(1.0)),
    "absent": lambda: qpsvm.CSVM(X, Y, sample_weight=1.0 * (np.arange(30) > 2)),
}


@for_each("which", MACHINES)
def test_areas_are_influences(which):
    problem = MACHINES[which]()
    result = qpsvm.solve(problem)
    found = qpsvm.influence(problem, result)
    chosen = {"features": (0, 2)} if which == "slice" else {}
    ax = plotting.influence(problem, result, found, resolution=25, **chosen)
    ax.figure.canvas.draw()
    drawn = [each for each in ax.collections if len(each.get_offsets()) > 1 and len(each.get_sizes()) > 1]
    areas = np.concatenate([each.get_sizes() for each in drawn])
    assert len(areas) == len(problem.active_rows)
    moved = np.sort(found.mean[problem.active_rows])
    np.testing.assert_allclose((np.sort(areas) - MIN_AREA) / AREA_RANGE, moved / moved[-1], atol=1e-9)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(f"row {found.order[0]}" in label for label in labels) or which in ("slice", "novelty", "surface")


def test_what_it_refuses():
    problem = MACHINES["classes"]()
    result = qpsvm.solve(problem)
    found = qpsvm.influence(problem, result)
    with pytest.raises(qpsvm.ParameterTypeError, match="influence"):
        plotting.influence(problem, result, found.left_out)
    with pytest.raises(qpsvm.ParameterError, match="lines"):
        plotting.influence(problem, result, found, lines=-1)
    with pytest.raises(qpsvm.ParameterTypeError, match="lines"):
        plotting.influence(problem, result, found, lines=1.5)
    fewer = qpsvm.CSVM(X[1:], Y[1:], kernel=qpsvm.RBF(1.0))
    with pytest.raises(qpsvm.DataError, match="30 samples"):
        plotting.influence(fewer, qpsvm.solve(fewer), found)
