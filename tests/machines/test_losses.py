"""Squared hinge and Huber's hinge: against each other and the C-SVM, the kinds of samples, and hostile data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from each import for_each
from hostile import SPOILERS, draw_samples
from judge import find_faults

import qpsvm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.where(X @ [1.0, 2.0, -1.0] + RNG.normal(0.0, 1.5, 50) > 0, 1.0, -1.0)
S = RNG.uniform(0.2, 2.0, 50)
S[[3, 7]] = 0.0


def pose(loss: str, **options: Any) -> qpsvm.Problem:
    machine = qpsvm.SquaredHinge if loss == "squared" else qpsvm.HuberHinge
    return machine(**({"X": X, "y": Y, "sample_weight": S} | options))


def test_a_width_of_nearly_nothing_is_the_c_svm() -> None:
    """The losses differ by C h/2 a sample at the most."""
    huber = qpsvm.solve(pose("huber", C=2.0, width=1e-6))
    hinge = qpsvm.solve(qpsvm.CSVM(X, Y, 2.0, sample_weight=S))
    assert hinge.dual - 2.0 * S.sum() * 0.5e-6 * 1.001 <= huber.primal
    assert huber.dual <= hinge.primal * (1 + 1e-9)


@for_each("kernel", ["linear", "rbf"])
def test_a_width_above_every_slack_is_the_squared_hinge(kernel: str) -> None:
    """(HUBER.17): C ξ²/(2κ) with C = 2κ C′ costs C′ξ²."""
    squared = qpsvm.solve(pose("squared", C=1.5, kernel=kernel), tol=1e-9)
    width = 1.5 * float(squared.xi.max())
    huber = qpsvm.solve(pose("huber", C=2 * width * 1.5, width=width, kernel=kernel), tol=1e-9)
    assert huber.primal == pytest.approx(squared.primal, rel=1e-8)
    np.testing.assert_allclose(huber.alpha, squared.alpha, atol=1e-4 * squared.alpha.max())


def test_kinds_say_where_the_loss_is_and_starts_keep_them() -> None:
    problem = pose("huber", C=1.0, width=0.4)
    result = qpsvm.solve(problem, tol=1e-10)
    C = 1.0 * S
    assert set(np.unique(result.kind)) == {0, 1, 2}
    taken = S > 0
    curve, slope = (result.kind == 1) & taken, (result.kind == 2) & taken
    np.testing.assert_allclose(result.alpha[slope], C[slope], rtol=1e-9)
    np.testing.assert_allclose(result.xi[curve], 0.4 * result.alpha[curve] / C[curve], atol=1e-5)
    assert (result.xi[slope] >= 0.4 - 1e-5).all()
    assert (result.xi[(result.kind == 0) & taken] <= 1e-5).all()
    # What is on the curve does not begin at its bound: the optimum is where a neighbour begins.
    np.testing.assert_allclose(problem.start(result), problem._restrict_to_dual(result.alpha), rtol=1e-9, atol=1e-12)
    squared = qpsvm.solve(pose("squared", C=1.0))
    assert (squared.kind[squared.alpha > 1e-9] == 2).all()
    begun = problem.start(squared)
    assert (begun < problem.upper * 0.999).any()


@for_each("spoiler", SPOILERS)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_what_is_claimed_of_spoilt_samples_is_true(loss: str, spoiler: str) -> None:
    """Certified where doubles can hold the answer; and in rational numbers, no claim is wrong."""
    rng = np.random.default_rng(SPOILERS.index(spoiler))
    for C in (1e-4, 1.0, 1e5):
        spoilt, y = draw_samples(rng, spoiler)
        size = float(np.abs(spoilt).max()) ** 2
        if loss == "huber":
            options = {"width": float(10.0 ** rng.uniform(-3, 1))}
        else:
            options = {}
        problem = pose(loss, X=spoilt, y=y, C=C / size, sample_weight=None, **options)
        result = qpsvm.solve(problem, check=False)
        assert result.status == "optimal", (C, result.gap)
        if len(y) * spoilt.shape[1] < 300:
            assert not find_faults(problem, result, 1e-6)


def test_many_free_rows_without_bounds_are_not_factored_for_more_than_was_asked(monkeypatch: Any) -> None:
    def refuse_factor(*_: object, **__: object) -> None:
        raise AssertionError("the gap is below what was asked for")

    monkeypatch.setattr("qpsvm.machines.problem.certifier.polish", refuse_factor)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = X[:, 0] + 0.5 * rng.normal(size=1000) > 0
    result = qpsvm.solve(qpsvm.SquaredHinge(X, y))
    assert result.status == "optimal"


@for_each("offset", [0.0, 1e3])
@pytest.mark.parametrize(("C", "copies"), [(1.0, 1), (0.1, 10), (1.0 / 3.0, 3)])
def test_b_is_any_of_an_interval_where_both_sides_are_at_their_bounds(offset, C, copies):
    X = np.repeat([[2.0], [-2.0], [1.0]], copies, axis=0) + offset
    y = np.repeat([1, 0, 0], copies)
    result = qpsvm.solve(qpsvm.HuberHinge(X, y, C, width=0.1), tol=1e-10)
    assert result.w == pytest.approx([1.0])  # α is C at 2 and at 1, whose distance is 1
    low, high = (b + offset for b in result.b_interval)
    assert (low, high) == pytest.approx((-1.9, -1.1), abs=1e-9 if offset else 1e-12)
