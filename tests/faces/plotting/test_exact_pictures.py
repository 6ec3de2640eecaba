"""Pictures of exact paths and validation curves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.faces import plotting

X, Y = make_moons(60, noise=0.3, random_state=0)
PROBLEM = qpsvm.CSVM(X[:40], Y[:40], kernel=qpsvm.RBF(1.0))
PATH = qpsvm.exact_path(PROBLEM, "C", 0.05, 20)


def marks(ax):
    (found,) = (line for line in ax.lines if "breakpoints" in str(line.get_label()))
    return found.get_xdata()


def test_multipliers_are_those_of_the_path():
    ax = plotting.exact_path(PATH)
    np.testing.assert_array_equal(marks(ax), PATH.breakpoints)
    curves = [line for line in ax.lines if len(line.get_xdata()) > len(PATH.breakpoints)]
    at = curves[0].get_xdata()
    drawn = np.array([line.get_ydata() for line in curves])
    assert (drawn >= 0.0).all()
    assert (drawn <= 1.0 + 1e-12).all()
    for k in (0, len(at) // 2, len(at) - 1):
        own = qpsvm.solve(PROBLEM.replace(C=float(at[k])), tol=1e-12).alpha / at[k]
        np.testing.assert_allclose(np.sort(drawn[:, k])[-len(own[own > 1e-6]) :], np.sort(own[own > 1e-6]), atol=1e-4)
    assert ax.get_xscale() == "log"
    ax.figure.canvas.draw()


def test_margins_are_those_of_solves():
    ax = plotting.exact_path(PATH, show="margin")
    (line,) = (line for line in ax.lines if line.get_label() == "margin")
    at, heights = line.get_xdata(), line.get_ydata()
    k = len(at) // 3
    own = qpsvm.solve(PROBLEM.replace(C=float(at[k])), tol=1e-12)
    size = own.alpha @ (own.yf - own.b * PROBLEM.y)
    assert heights[k] == pytest.approx(2.0 / np.sqrt(size), rel=1e-5)


def test_validation_curves():
    whole = qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(1.0))
    found = qpsvm.cross_validate(whole, C=qpsvm.Interval(0.05, 20), folds=3)
    ax = plotting.validation(found)
    (mean,) = (line for line in ax.lines if line.get_label() == "mean of the folds")
    np.testing.assert_array_equal(mean.get_xdata(), found.mean[()].edges)
    least = [line for line in ax.lines if str(line.get_label()).startswith("least")]
    assert [tuple(line.get_xdata()) for line in least] == found.best_intervals
    ax.figure.canvas.draw()
    several = qpsvm.cross_validate(whole, C=qpsvm.Interval(0.05, 20), gamma=[0.5, 2.0], folds=3)
    labels = [line.get_label() for line in plotting.validation(several).lines]
    assert labels[:2] == ["γ = 0.5", "γ = 2"]


def test_what_they_refuse():
    with pytest.raises(qpsvm.ParameterTypeError, match="exact_path"):
        plotting.exact_path(PROBLEM)
    with pytest.raises(qpsvm.ParameterTypeError, match="Interval"):
        plotting.validation(PATH)
    with pytest.raises(qpsvm.UnknownOptionError, match="margin"):
        plotting.exact_path(PATH, show="margins")
