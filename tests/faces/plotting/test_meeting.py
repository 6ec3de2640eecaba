"""The picture of duality: primal values above, dual values below, and what is left between them at the end."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot
from test_plotting import NEAR, SOLVED, find_artist

import qpsvm
from qpsvm import CSVM, solve
from qpsvm.faces import plotting


def curves(ax):
    """t, P(t), D(t), as drawn."""
    primal, dual = (find_artist(ax.lines, name) for name in ("primal", "dual"))
    return np.asarray(primal.get_xdata()), np.asarray(primal.get_ydata()), np.asarray(dual.get_ydata())


def test_the_curves_of_a_c_svm_are_those_of_the_formulas():
    """D(t) = t Σα − ½t²‖w‖²; P(t) is that of tw with the best b, which lies at a kink of a loss, or a little less."""
    problem, result = SOLVED["linear"]
    ax = plotting.duality(problem, result, legend=False)
    assert ax.get_legend() is None
    t, primal, dual = curves(ax)
    assert (t[0], t[-1]) == (0.0, 1.0)
    square = float(result.w @ result.w)
    assert dual == pytest.approx(t * result.alpha.sum() - 0.5 * t**2 * square)
    for share, value in zip(t, primal, strict=True):
        f = problem.X @ (share * result.w)
        best = min(np.maximum(0, 1 - problem.y * (f + b)).sum() for b in problem.y - f)
        assert value == pytest.approx(0.5 * share**2 * square + 0.3 * best, rel=1e-3)


def test_a_result_that_is_not_optimal_leaves_a_gap():
    problem = SOLVED["linear"][0]
    early = solve(problem, backend="dual_ascent", max_iter=5, polish=False, check=False)
    ax = plotting.duality(problem, early)
    ends = np.asarray(find_artist(ax.lines, "the result").get_ydata())
    assert ends == pytest.approx([early.primal, early.dual])
    assert "not solved" in ax.get_title()
    assert not [line for line in ax.lines if str(line.get_label()).startswith("optimum")]


def test_the_start_is_made_feasible_and_is_where_the_curves_begin():
    problem, result = SOLVED["linear"]
    start = np.full(problem.n, 5.0)  # far above C, and yᵀα is not 0
    certificate = problem.certify(start)
    _, primal, dual = curves(plotting.duality(problem, result, start=start))
    assert (primal[0], dual[0]) == pytest.approx((certificate.primal, certificate.dual))


def test_what_does_not_fit_is_refused():
    with pytest.raises(qpsvm.DataError, match="alpha"):
        plotting.duality(*SOLVED["linear"], start=[1.0, 2.0])
    with pytest.raises(qpsvm.ParameterTypeError, match="legend"):
        plotting.duality(*SOLVED["linear"], legend="no")
    with pytest.raises(qpsvm.DataError, match="kernel"):
        plotting.duality(SOLVED["linear"][0], solve(CSVM(*NEAR, kernel="rbf")))
    assert not pyplot.get_fignums()
