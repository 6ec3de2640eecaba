"""The minimisers of a convex function of one variable whose slope is piecewise linear, against its definition."""

from __future__ import annotations

import numpy as np
from each import for_each

from qpsvm.bounds.levels import PiecewiseSlope


@for_each("upper", [np.inf, 0.5])
def test_few_evaluations_find_the_root_of_many_rows(upper):
    g = np.random.default_rng(0)
    n = 20_000
    column = np.where(g.random(n) < 0.5, 1.0, -1.0)
    upper = np.full(n, upper)
    found = PiecewiseSlope(g.standard_normal(n), column, upper, g.uniform(0.5, 2.0, n), 0.0, 0.0)
    count = 0
    evaluate = found.evaluate

    def counted(theta, right=True):
        nonlocal count
        count += 1
        return evaluate(theta, right)

    found.evaluate = counted
    first, last = found.find_roots()
    assert first == last
    assert count <= 10
