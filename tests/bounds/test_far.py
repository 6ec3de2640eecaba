"""Rows in single precision: within their worst-case radius, and never taken at their word where that would matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.base.arrays.frozen import repeated
from qpsvm.bounds import screening as far
from qpsvm.bounds.certify import certify
from qpsvm.bounds.screening import rough_values
from qpsvm.program.svm_dual import Group, SVMDual, intercept_group
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.space import FeatureSpace


def samples(n: int = 250, seed: int = 0) -> tuple[Any, Any]:
    """Two classes that overlap, and rows far out on either side."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 1.0, 3.0]
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n) > 0.5, 1.0, -1.0)


@pytest.fixture
def always(monkeypatch):
    """Single precision for tables of any size, however little it settles; the certificates that had such rows."""
    used: list[int] = []
    inside = far.FarRows.settled

    def settled(self, *arguments):
        point = inside(self, *arguments)
        used.append(int(self.rough.sum()))
        return point

    monkeypatch.setattr(far, "SETTINGS", far.Settings(values=0, sample=1, useful=np.inf))
    monkeypatch.setattr(far.FarRows, "settled", settled)
    return used


def lying(monkeypatch, end: float):
    """Single precision as wrong as its radius allows, one way."""

    def values(*arguments):
        found = rough_values(*arguments)
        return None if found is None else (found[0] + end * found[1], 2.0 * found[1])

    monkeypatch.setattr(far, "rough_values", values)


@pytest.mark.parametrize("gamma", [1e-4, 0.1, 3.0, 100.0])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e9, 1e200])
def test_single_precision_is_within_its_radius(gamma, size):
    X, _ = samples(400)
    X[7] *= 5.0
    rng = np.random.default_rng(1)
    blocks, support, rows = KernelBlocks(qpsvm.RBF(gamma), X), np.arange(0, 400, 3), np.arange(1, 400, 3)
    weights = rng.standard_normal(len(support)) * 10.0 ** rng.uniform(-6, 0, len(support)) * size
    values, radii = rough_values(blocks, rows, support, weights)
    long = X.astype(np.longdouble)
    squares = ((long[rows, None] - long[support]) ** 2).sum(axis=2)
    true = np.exp(-np.longdouble(gamma) * squares) @ weights.astype(np.longdouble)
    assert (np.abs(values - true) <= radii).all()
    assert np.median(radii) < 1e-3 * np.abs(weights).sum()


def test_values_over_the_support_are_made_once():
    X, _ = samples(1500)
    blocks, support = KernelBlocks(qpsvm.RBF(0.3), X), np.flatnonzero(np.arange(1500) % 7)
    weights = np.random.default_rng(0).standard_normal(len(support))
    np.testing.assert_allclose(
        blocks.own_product(support, weights), blocks.product(support, weights, support), atol=1e-11
    )


MACHINES = {
    "c": lambda X, y, C: qpsvm.CSVM(X, y, C, kernel=qpsvm.RBF(0.2)),
    "nu": lambda X, y, C: qpsvm.NuSVM(X, y, min(0.3, 0.01 * C), kernel=qpsvm.RBF(0.2)),
    "penalised": lambda X, y, C: qpsvm.PrimalHinge(X, y, 1 / (250 * C), kernel=qpsvm.RBF(0.2), intercept="penalised"),
    "through 0": lambda X, y, C: qpsvm.PrimalHinge(X, y, 1 / (250 * C), kernel=qpsvm.RBF(0.2), intercept=None),
}


@pytest.mark.parametrize("end", [-0.999, 0.999])
@pytest.mark.parametrize("C", [0.1, 1e4])
@pytest.mark.parametrize("machine", MACHINES)
def test_certificates_are_as_in_double_precision(machine, C, end, always, monkeypatch):
    X, y = samples()
    alpha = qpsvm.solve(MACHINES[machine](X, y, C), check=False, tol=1e-4, polish=False).alpha
    always.clear()
    lying(monkeypatch, end)
    found = MACHINES[machine](X, y, C).certify(alpha)
    monkeypatch.undo()
    exact = MACHINES[machine](X, y, C).certify(alpha)
    assert always
    assert found.gap == pytest.approx(exact.gap, rel=1e-3, abs=1e-9)
    size = 1.0 + abs(exact.primal)
    assert found.primal == pytest.approx(exact.primal, abs=1e-9 * size)
    assert found.b == pytest.approx(exact.b, abs=1e-8 * (1 + abs(exact.b)))
    np.testing.assert_allclose(found.b_interval, exact.b_interval, atol=1e-8 * (1 + abs(exact.b)))
    clear = np.abs(exact.short) > 1e-6 * np.abs(exact.margin)
    np.testing.assert_array_equal((found.yf > found.margin)[clear], (exact.yf > exact.margin)[clear])
    if found.value_radius is not None:
        off = np.abs(found.yf - exact.yf)
        assert (exact.svm.at_rows(found.value_radius) + 1e-8 >= off).all()


def test_rows_just_beyond_their_margin_are_looked_at_again(always):
    """Of a poor α hardly any row is settled: the gap is that of double precision."""
    X, y = samples()
    alpha = np.where(np.arange(len(y)) % 3, 1e6, 0.0)
    found = qpsvm.CSVM(X, y, 1e6, kernel=qpsvm.RBF(0.2)).certify(alpha)
    assert always
    whole = qpsvm.CSVM(X, y, 1e6, kernel=qpsvm.RBF(0.2))
    whole.space.gram.dense()  # what is made is read
    exact = whole.certify(alpha)
    assert found.gap == pytest.approx(exact.gap, rel=1e-9)


def test_rows_at_the_ends_of_the_intercepts_interval_are_in_double_precision(always, monkeypatch):
    """Nothing is free: b may lie anywhere between two rows that support nothing."""
    X = np.concatenate([np.linspace(-3, -1, 40), np.linspace(1, 3, 40), [-0.2, 0.2]])[:, None]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    alpha = np.zeros(82)
    alpha[[80, 81]] = 20.0
    lying(monkeypatch, 0.999)
    found = qpsvm.CSVM(X, y, 20.0, kernel=qpsvm.RBF(0.1)).certify(alpha)
    monkeypatch.undo()
    exact = qpsvm.CSVM(X, y, 20.0, kernel=qpsvm.RBF(0.1)).certify(alpha)
    assert always
    assert always[0] > 0
    assert exact.b_interval[1] - exact.b_interval[0] > 0.01
    np.testing.assert_allclose(found.b_interval, exact.b_interval, atol=1e-12)


def test_samples_whose_multipliers_cancel_are_in_double_precision(always, monkeypatch):
    """A tube has two rows a sample: inside of it, with both α the same, β = 0 and yet α ≠ 0."""
    X, _ = samples(40)
    target, sign = np.sin(X[:, 0]), np.repeat([1.0, -1.0], 40)
    space = FeatureSpace(qpsvm.RBF(0.5), X, "free", "raise")
    svm = SVMDual(
        space.centred, sign, sign * np.tile(target, 2) - 8.0, repeated(5.0, 80), repeated(0.0, 80),
        (*intercept_group(sign, "free"), Group("nu", "epsilon", np.ones(80), 46.0)), np.tile(np.arange(40), 2),
    )  # fmt: skip
    alpha = np.zeros(80)
    alpha[:10], alpha[50:60], alpha[[30, 70]] = 2.0, 2.0, 3.0
    lying(monkeypatch, 0.999)
    found = certify(space, svm, alpha)
    assert always[0] > 0
    beta = alpha[:40] - alpha[40:]
    values = space.gram.kernel(X, X) @ beta + found.b
    assert abs(found.yf[30] - values[30]) <= 1e-12
    assert found.value_radius[30] <= 1e-10
