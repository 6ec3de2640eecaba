"""A first choice for a linear machine that falls behind its estimate is dropped, whatever the estimates said."""

from __future__ import annotations

import time

import numpy as np
import pytest

import qpsvm
from qpsvm.backends.own.augmented_lagrangian_ import AugmentedLagrangianBackend
from qpsvm.program.costs import Cost
from qpsvm.solve import call, choice
from qpsvm.solvers.linear import solve as linear


def problem(n=400):
    X = np.random.default_rng(0).standard_normal((n, 5))
    return qpsvm.CSVM(X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0.1, 1, -1), C=1.0)


@pytest.fixture(params=["tiny", "huge", "honest"])
def slow(monkeypatch, request):
    """`augmented_lagrangian` comes first, and sleeps for as long as it is allowed."""
    solve_linear, slept = linear.solve_linear, []

    def sleeping(X, y, C, *, time_limit=None, **settings):
        if time_limit is None:
            return solve_linear(X, y, C, **settings)
        slept.append(min(time_limit, 30.0))
        time.sleep(slept[-1])
        return linear.LinearSolution(np.zeros(X.shape[1]), 0.0, np.zeros(len(y)), 1, "time_limit")

    seconds = {"tiny": 0.0, "huge": 0.15, "honest": 0.05}[request.param]
    monkeypatch.setattr(linear, "solve_linear", sleeping)
    monkeypatch.setattr(choice, "LEAST_BUDGET", 0.5)
    monkeypatch.setattr(choice, "FLOOR", 1000.0)  # followers are waited for, on a busy machine too
    monkeypatch.setattr(AugmentedLagrangianBackend, "estimate", lambda *_: Cost(0.0, seconds, 0.0))
    choice._kept_order.cache_clear()
    kept = call.choices

    def first_it(asked):
        found = sorted(kept(asked), key=lambda one: one.backend != "augmented_lagrangian")
        return iter(found)

    monkeypatch.setattr(call, "choices", first_it)
    yield slept
    choice._kept_order.cache_clear()


def test_the_next_takes_over(slow):
    result = qpsvm.solve(problem())
    assert result.status == "optimal"
    assert result.backend != "augmented_lagrangian"
    assert sum(slow) < 10.0


@pytest.mark.usefixtures("slow")
def test_where_no_other_does_better_it_has_another_turn(monkeypatch):
    kept = call.choices
    monkeypatch.setattr(call, "choices", lambda asked: (one for one in kept(asked) if one.backend.startswith("aug")))
    result = qpsvm.solve(problem())
    assert (result.status, result.backend) == ("optimal", "augmented_lagrangian")


def test_who_names_it_or_limits_it_waits(slow):
    assert qpsvm.solve(problem(), "augmented_lagrangian").status == "optimal"  # with no limit it does not sleep
    assert not slow
    assert qpsvm.solve(problem(), time_limit=0.3, check=False).backend == "augmented_lagrangian"
