"""The loops of the compiled core for several classes: steps, limits, interrupts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each

from qpsvm import core
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solvers.sequential import compute_separate_step, compute_shared_step, solve_sequential
from qpsvm.solvers.shared.budget import Budget
from qpsvm.space.operators import LowRank

pytestmark = pytest.mark.skipif(core.compiled is None, reason="the compiled core is not there")


def build_samples(n=40, d=5, k=4, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % k
    return rng.normal(size=(n, d)) + np.eye(k, d)[label], label, rng.uniform(0.2, 2.0, n)


@for_each("shared", [True, False])
def test_a_step_is_that_of_the_formula(shared):
    rng = np.random.default_rng(3)
    for _ in range(200):
        k = int(rng.integers(2, 8))
        f = rng.normal(size=(1, k)) * 10.0 ** rng.uniform(-2, 2)
        C = 10.0 ** rng.uniform(-2, 2)
        K = rng.uniform(0.1, 3.0)
        label = rng.integers(0, k, 1)
        alpha = np.zeros((1, k))
        before = f.copy()
        core.compiled.sweep_classes(
            np.array([[K + 0.5]]), f, label.astype(np.int64), np.array([C]), np.array([K]), alpha, 0.5, 1.0, shared, 1,
            0.0, None,
        )  # fmt: skip
        rivals = np.delete(np.arange(k), label[0])
        z = (1.0 - (before[0, label[0]] - before[0, rivals])) / (K + 0.5)
        step = (compute_shared_step if shared else compute_separate_step)(z, C)
        assert np.allclose(alpha[0, rivals], step, rtol=1e-12, atol=1e-12 * np.abs(z).max())
        assert alpha[0, label[0]] == 0.0
        change = -alpha[0]
        change[label[0]] = alpha.sum()
        assert np.allclose(f[0], before[0] + (K + 0.5) * change)


def test_it_resumes_and_keeps_its_limits():
    Z, label, C = build_samples(400, 6, 5)
    dual = AllInOneDual(label, 5, 50.0 * C, 1.0, True, "free")
    first = solve_sequential(LowRank(Z), dual, 1e-6, Budget(2000))
    assert (first.reason, first.iterations) == ("iteration_limit", 2000)
    again = solve_sequential(LowRank(Z), dual, 0.5, Budget(), first.alpha, first.b)
    cold = solve_sequential(LowRank(Z), dual, 0.5, Budget())
    assert again.iterations < cold.iterations
    late = solve_sequential(LowRank(Z), dual, 1e-13, Budget(time_limit=0.05))
    assert late.reason == "time_limit"
    assert (late.alpha >= 0.0).all()
    assert (late.alpha.sum(axis=1) <= 50.0 * C * (1.0 + 1e-12)).all()


def test_numbers_that_are_not_finite_end_it():
    Z, label, C = build_samples()
    Z[3, 1] = np.inf
    with np.errstate(all="ignore"):
        found = solve_sequential(LowRank(Z), AllInOneDual(label, 4, C, 1.0, True, None), 1e-6, Budget())
    assert found.reason == "numerical_error"


def take_arguments(**changes):
    Z, label, C = build_samples()
    given = {
        "values": np.ascontiguousarray(Z), "columns": b"", "starts": b"", "bytes": 0, "label": label.astype(np.int64),
        "C": C, "diagonal": (Z * Z).sum(axis=1), "alpha": np.zeros((40, 4)), "W": np.zeros((5, 4)), "b": np.zeros(4),
        "sums": np.zeros(4), "rho": 1.0, "level": 1.0, "shared": True, "free": False, "steps": 1000, "tol": 0.1,
        "look": None,
    }  # fmt: skip
    return [*(given | changes).values()]


@for_each(
    "changes, words",
    [
        ({"label": np.full(40, 4)}, "index of a class"),
        ({"label": np.arange(39) % 4}, "one number for each sample"),
        ({"alpha": np.zeros((40, 1))}, "one row for each sample"),
        ({"W": np.zeros(19)}, "one column for each class"),
        ({"b": np.zeros(3)}, "one number for each class"),
        ({"values": np.zeros(7)}, "rows times columns"),
        ({"bytes": 3}, "4 or 8 bytes"),
        ({"bytes": 8, "columns": np.zeros(200, np.int64), "starts": np.zeros(3, np.int64)}, "one start a row"),
        ({"bytes": 8, "columns": np.full(200, 5), "starts": np.arange(41) * 5}, "within their arrays"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        core.compiled.descend_classes(*take_arguments(**changes))


def test_an_error_of_the_clock_is_raised():
    def look():
        raise RuntimeError("the clock")

    Z, label, C = build_samples(4000, 40, 8)
    with pytest.raises(RuntimeError, match="the clock"):
        core.compiled.descend_classes(
            *take_arguments(
                values=Z, label=label.astype(np.int64), C=1e6 * C, diagonal=(Z * Z).sum(axis=1),
                alpha=np.zeros((4000, 8)), W=np.zeros((40, 8)), b=np.zeros(8), sums=np.zeros(8), steps=10**9,
                tol=1e-12, look=look,
            )
        )  # fmt: skip
