"""Claims of solvers that are proven or refuted, not measured."""

import math

import numpy as np
import pytest

import qpsvm
from benchmarks.proving import ClaimProver, classify_claim
from benchmarks.solvers.base import Point
from benchmarks.tables import TABLES


@pytest.mark.parametrize("machine", [lambda X, y: qpsvm.CSVM(X, y), lambda X, y: qpsvm.PrimalHinge(X, y, lam=0.02)])
def test_a_point_is_between_its_bounds(machine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    problem = machine(X, X[:, 0] + 0.4 * rng.standard_normal(60) > 0)
    judge = ClaimProver(problem)
    best = qpsvm.solve(problem, tol=1e-12, check=False)
    for point in (Point(alpha=best.alpha), Point(w=best.w, b=best.b)):
        found = judge.bound_gap(point)
        assert found["refuted_gap"] <= found["proven_gap"] <= 1e-12
    worse = problem.at(0.9 * best.alpha).dual
    found = judge.bound_gap(Point(alpha=0.9 * best.alpha))
    assert found["refuted_gap"] == pytest.approx((best.dual - worse) / abs(best.dual), rel=1e-6)
    assert found["refuted_gap"] <= found["proven_gap"]
    found = judge.bound_gap(Point(w=1.1 * best.w, b=best.b))
    assert 0.0 < found["refuted_gap"] <= found["proven_gap"]


def test_no_point_proves_nothing():
    judge = ClaimProver(qpsvm.CSVM([[0.0], [1.0], [3.0]], [0, 1, 1]))
    for point in (Point(), Point(alpha=np.full(3, np.nan)), Point(w=np.array([np.inf]))):
        assert judge.bound_gap(point) == {"proven_gap": math.inf, "refuted_gap": 0.0}


def test_a_claim_is_judged_by_its_own_tolerance():
    line = {"kind": "run", "suite": "own", "task": "t", "solver": "s", "claimed": True, "tol": 1e-3}
    assert classify_claim(line) is None
    assert classify_claim({**line, "proven_gap": 1e-4, "refuted_gap": 0.0}) == "proven"
    assert classify_claim({**line, "proven_gap": None, "refuted_gap": 2e-3}) == "refuted"
    assert classify_claim({**line, "proven_gap": 2e-3, "refuted_gap": 1e-4}) == "open"
    assert classify_claim({**line, "claimed": False, "proven_gap": 1e-4, "refuted_gap": 0.0}) is None
    lines = [{**line, "proven_gap": 1e-4, "refuted_gap": 0.0}, {**line, "proven_gap": None, "refuted_gap": 2e-3}]
    assert "| s      |      2 |      1 |       1 |    0 |             2.0 |" in TABLES["proven"](lines)
