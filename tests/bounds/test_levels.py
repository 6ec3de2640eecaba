"""The minimisers of a convex function of one variable whose slope is piecewise linear, against its definition."""

from __future__ import annotations

import numpy as np
from each import for_each

from qpsvm.bounds.levels import PiecewiseSlope


def slope(theta, points, column, upper, curvature, total, ridge):
    """h′ of (LEVEL.2), term by term; at a jump from the right."""
    value = total + ridge * theta
    for p, c, u, d in zip(points, column, upper, curvature, strict=True):
        t = (p - theta) * c
        if d:
            value -= c * min(max(t / d, 0.0), u)
        else:
            value -= c * u * (t > 0.0 or (t == 0.0 and c < 0.0))
    return value


@for_each("seed", range(60))
def test_the_slope_changes_its_sign_at_the_roots(seed):
    g = np.random.default_rng(seed)
    n = int(g.integers(2, 30))
    points = g.standard_normal(n).round(1) if seed % 3 else g.standard_normal(n)
    column = np.where(g.random(n) < 0.5, 1.0, -1.0)
    column[:2] = 1.0, -1.0
    curvature = 10.0 ** g.uniform(-2, 2, n)
    upper = 10.0 ** g.uniform(-2, 2, n) if seed % 2 else np.full(n, np.inf)
    if seed % 4 == 1:
        curvature[g.random(n) < 0.5] = 0.0
    data = points, column, upper, curvature, 0.0, float(seed % 5 == 0)
    first, last = PiecewiseSlope(*data).find_roots()
    assert first <= last
    size = 1e-9 * (1.0 + np.abs(points).max())
    tiny = 1e-7 * (1.0 + float(np.where(np.isinf(upper), 0.0, upper).sum()))
    assert slope(first - size, *data) <= tiny
    assert slope(last + size, *data) >= -tiny
    for theta in np.linspace(first, last, 5)[1:-1] if size < last - first < np.inf else ():
        assert abs(slope(theta, *data)) <= tiny


@for_each("upper", [np.inf, 0.5])
def test_few_evaluations_find_the_root_of_many_rows(upper):
    g = np.random.default_rng(0)
    n = 20_000
    column = np.where(g.random(n) < 0.5, 1.0, -1.0)
    upper = np.full(n, upper)
    found = PiecewiseSlope(g.standard_normal(n), column, upper, g.uniform(0.5, 2.0, n), 0.0, 0.0)
    count, evaluate = 0, found.evaluate

    def counted(theta, right=True):
        nonlocal count
        count += 1
        return evaluate(theta, right)

    found.evaluate = counted
    first, last = found.find_roots()
    assert first == last
    assert count <= 10
