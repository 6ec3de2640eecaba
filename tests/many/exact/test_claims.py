"""What is claimed about optima, held against optima in fractions: some seeds of `tests/tools/hunt.py --claims`."""

from __future__ import annotations

import numpy as np
import pytest
from claims import ClaimTask, draw_hostile_task, draw_task, judge_task
from exact_optimum import ExactOptimum, PlainMachine

import qpsvm


@pytest.mark.parametrize("seed", [1, 2, 4, 27, 45, 63, 70, 252])
def test_nothing_false_is_claimed(seed):
    faults, claims, _ = judge_task(draw_task(seed))
    assert not faults
    assert claims > 50


@pytest.mark.parametrize("seed", [82, 122, 3077, 5177])
def test_nothing_false_is_claimed_of_hostile_machines(seed):
    """C of 1e-8 and 1e8, raw features, two samples, far weights: multipliers so large, and shares so near a sample."""
    faults, claims, _ = judge_task(draw_hostile_task(seed))
    assert not faults
    assert claims > 50


def test_the_judge_sees_what_is_false():
    X = np.array([[0.0], [1.0], [3.0], [4.0], [1.5]])
    y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])
    machine = {"name": "CSVM", "parameters": {"C": 1.0, "intercept": "free"}, "kernel": {"name": "linear"}}
    stated = PlainMachine(machine, X, y, np.ones(5))
    best = ExactOptimum(stated, [[2.0]])
    assert best.is_known
    assert float(best.value) == pytest.approx(qpsvm.solve(qpsvm.CSVM(X, y), tol=1e-12).primal, abs=1e-12)
    task = ClaimTask(stated.with_parameters(C=1.1), 1e-6, X, 0)  # another machine than the one that was solved
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("claims.build_problem", lambda _: qpsvm.CSVM(X, y))
        faults, _, _ = judge_task(task)
    assert {"dual", "primal", "gap", "f*", "proven"} & {
        word for fault in faults for word in fault.replace("(", " ").split()
    }


@pytest.mark.parametrize("intercept", [None, "free", "penalised"])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_f_on_a_path_of_linear_machines_has_their_intercept(intercept, shift):
    """Samples are computed with about an origin, which f is not about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) + shift
    y = np.where(X[:, 0] > shift, 1, 0)
    t = X[:, 1] + 0.1 * rng.normal(size=20)
    for problem, name, low, high in (
        (qpsvm.CSVM(X, y, intercept=intercept), "C", 0.1, 5.0),
        (qpsvm.EpsilonSVR(X, t, intercept=intercept), "C", 0.1, 5.0),
        (qpsvm.OneClass(X), "nu", 0.21, 0.79),  # where ν is no whole number of samples, b is one number
        (qpsvm.SVDD(X), "nu", 0.21, 0.79),
    ):
        path = qpsvm.exact_path(problem, name, low, high)
        for value in np.linspace(low, high, 4).tolist():
            f = path.at(value).decision_function(X)
            shift_of_b = path.decision(X, value) - f
            assert np.ptp(shift_of_b) <= 1e-9 * (1.0 + np.abs(f).max())
            if intercept is None or "nu" in name:
                np.testing.assert_allclose(path.decision(X, value), f, atol=1e-8 * (1.0 + np.abs(f).max()))
