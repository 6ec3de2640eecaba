"""`plotting.scores`: a curve over one parameter, a map over two."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.faces import plotting

X, Y = make_moons(40, noise=0.3, random_state=0)
RBF = qpsvm.CSVM(X, Y, kernel="rbf")


def test_a_curve_shows_mean_folds_and_the_best():
    found = qpsvm.cross_validate(RBF, C=[10.0, 0.1, 1.0], folds=3)
    ax = plotting.scores(found)
    by_label = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(by_label["mean of the folds"].get_xdata(), [0.1, 1.0, 10.0])
    np.testing.assert_array_equal(by_label["mean of the folds"].get_ydata(), found.mean[[1, 2, 0]])
    best = next(line for label, line in by_label.items() if label.startswith("best"))
    assert best.get_xdata()[0] == found.best["C"]
    assert ax.get_xscale() == "log"
    ax.figure.canvas.draw()


def test_a_map_has_ascending_axes_and_marks_the_best():
    found = qpsvm.cross_validate(RBF, C=[10.0, 0.1, 1.0], gamma=[3.0, 0.3], folds=3)
    ax = plotting.scores(found)
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), found.mean[np.ix_([1, 2, 0], [1, 0])].T)
    (best,) = (line for line in ax.lines if line.get_label().startswith("best"))
    assert image.get_array()[int(best.get_ydata()[0]), int(best.get_xdata()[0])] == found.best_score
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.1", "1", "10"]
    ax.figure.canvas.draw()


def test_what_is_not_optimal_is_crossed():
    few = X[:30]
    labels = np.repeat([0, 1], [6, 24])
    found = qpsvm.cross_validate(qpsvm.NuSVM(few, labels, 0.1, "rbf"), nu=[0.1, 0.2, 0.9], folds=3)
    crossed = [line for line in plotting.scores(found).lines if line.get_label().startswith("not optimal")]
    np.testing.assert_array_equal(crossed[0].get_xdata(), [0.9])
    found = qpsvm.cross_validate(qpsvm.NuSVM(few, labels, 0.1, "rbf"), nu=[0.2, 0.9], gamma=[1.0, 2.0], folds=3)
    crossed = [line for line in plotting.scores(found).lines if line.get_label().startswith("not optimal")]
    np.testing.assert_array_equal(crossed[0].get_xdata(), [1, 1])


def test_what_it_refuses():
    with pytest.raises(qpsvm.ParameterTypeError, match="cross_validate"):
        plotting.scores(RBF)
    cubic = qpsvm.CSVM(X, Y, kernel=qpsvm.Polynomial(2, 1.0, 1.0))
    found = qpsvm.cross_validate(cubic, C=[1.0], gamma=[1.0], coef0=[1.0], folds=2)
    with pytest.raises(qpsvm.UnsupportedError, match="one parameter or two, not 3"):
        plotting.scores(found)
