"""A ball beside rows of a user's: R² may be negative, and f is what was certified, not R² − ‖x − c‖² of a clamped R."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from each import for_each
from exact_arithmetic import as_fractions, dot

import qpsvm
from qpsvm import SVDD, ValueConstraints

X, NO_BALL = [[0.0], [1.0], [3.0]], ValueConstraints([[1.0]], [[1.0]], -2.0)


def exact_f(result: Any, x: Any) -> F:
    """wᵀx + b − ‖x‖² in fractions."""
    return dot(as_fractions(result.w), as_fractions(x)) + F(result.b) - dot(as_fractions(x), as_fractions(x))


def exact_primal(problem: SVDD, result: Any) -> F:
    """R² + Σ C_i ξ_i, R² = ‖c‖² + b."""
    square = dot(as_fractions(result.w), as_fractions(result.w)) / 4 + F(result.b)
    penalty = 1 / (F(problem.nu) * len(problem.X))
    return square + sum((penalty * max(-exact_f(result, x), F(0)) for x in problem.X), F(0))


def test_f_is_as_the_row_asks_where_there_is_no_ball():
    result = qpsvm.solve(SVDD(X, nu=0.5, constraints=NO_BALL))
    assert result.status == "optimal"
    assert result.decision_function([[1.0]]) == pytest.approx([-2.0], abs=1e-12)
    assert result.constraints["value"] == pytest.approx([-2.0], abs=1e-12)
    assert result.constraints["bound"] == [-2.0]
    assert (result.predict(X) == -1).all()
    assert result.verify().gap < 1e-13


def test_a_radius_that_does_not_exist_is_said():
    result = qpsvm.solve(SVDD(X, nu=0.5, constraints=NO_BALL))
    assert math.isnan(result.radius)
    assert "no ball" in result.message
    assert "no ball" in result.summary()
    assert "radius" in result._repr_html_()
    kept = qpsvm.solve(SVDD(X, nu=0.5, constraints=ValueConstraints([[1.0]], [[1.0]], 5.0)))
    assert kept.radius > 0.0
    assert "ball" not in kept.message


@pytest.mark.parametrize("kernel", [qpsvm.RBF(0.5), qpsvm.Linear()])
def test_what_is_saved_and_fitted_has_the_same_f(kernel, tmp_path):
    rows = ValueConstraints([[1.0]], [[1.0]], -2.0)
    result = qpsvm.solve(SVDD(X, nu=0.5, kernel=kernel, constraints=rows))
    assert result.status == "optimal"
    assert math.isnan(result.radius)
    result.save(tmp_path / "ball.npz")
    f = result.decision_function(X)
    assert f[1] <= -2.0 + 1e-12
    assert (qpsvm.load(tmp_path / "ball.npz").decision_function(X) == f).all()
    if isinstance(kernel, qpsvm.RBF):
        name = {"kernel": "rbf", "gamma": 0.5}
    else:
        name = {"kernel": "linear"}
    fitted = qpsvm.estimators.SVDD(nu=0.5, constraints=rows, **name).fit(np.array(X))
    assert fitted.decision_function(X) == pytest.approx(f, abs=1e-6)
    assert math.isnan(fitted.radius_)
    assert (fitted.predict(X) == -1).all()


def test_pictures_and_derivations_cope():
    plane = np.array([[0.0, 0.0], [1.0, 0.5], [3.0, 0.0], [1.0, 2.0]])
    problem = SVDD(plane, nu=0.5, constraints=ValueConstraints([[1.0, 0.5]], [[1.0]], -3.0))
    result = qpsvm.solve(problem)
    assert math.isnan(result.radius)
    axes = pytest.importorskip("matplotlib.figure").Figure().add_subplot()
    qpsvm.plotting.novelty(problem, result, ax=axes, resolution=5)
    assert not any("radius" in text.get_text() for text in axes.get_legend().get_texts())
    assert not any(residual > 1e-8 for residual in qpsvm.derive(problem, result).residuals().values())


@for_each("seed", range(25))
def test_optimal_keeps_its_rows_in_exact_arithmetic(seed):
    """60 of 300 such results once broke a row."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 11)), int(rng.integers(1, 4))
    samples = rng.integers(-4, 5, (n, d)) / 2.0
    Z = rng.integers(-4, 5, (2, d)) / 2.0
    rows = ValueConstraints(Z, np.eye(2), rng.uniform(-4.0, 1.0, 2))
    problem = SVDD(samples, nu=float(rng.uniform(0.1, 1.0)), constraints=rows)
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    for z, h in zip(Z, rows.h, strict=True):
        assert exact_f(result, z) <= F(float(h)) + F(1, 2**44)
        assert float(exact_f(result, z)) == pytest.approx(result.decision_function([z])[0], abs=1e-12)
    primal = exact_primal(problem, result)
    assert float(primal) == pytest.approx(result.primal, rel=1e-9, abs=1e-12)
    proof = result.verify()
    assert proof.gap <= max(result.gap, 1e-9)
