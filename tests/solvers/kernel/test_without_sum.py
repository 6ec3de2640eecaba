"""Kernel machines whose intercept is penalised or absent, so that no sum of α is given, (IVAL.6)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from each import for_each
from judge import find_faults
from pairwise import cover_pairs

import qpsvm
from qpsvm import RBF, Polynomial, core
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.space.kernels.combined_blocks import CombinedBlocks
from qpsvm.space.kernels.extended_blocks import ExtendedBlocks

TOL = 1e-6
needs_core = pytest.mark.skipif(core.compiled is None, reason="LIBSVM's loop takes a whole matrix")
CLASSIFIERS = {
    "hinge": partial(qpsvm.CSVM, C=3.0),
    "mean hinge": partial(qpsvm.PrimalHinge, lam=0.01),
    "squared hinge": partial(qpsvm.SquaredHinge, C=3.0),
    "Huber hinge": partial(qpsvm.HuberHinge, C=3.0),
}
REGRESSIONS = {
    "tube": partial(qpsvm.EpsilonSVR, C=3.0, epsilon=0.1),
    "no tube": partial(qpsvm.EpsilonSVR, C=3.0, epsilon=0.0),
    "squared tube": partial(qpsvm.EpsilonSVR, C=3.0, epsilon=0.1, loss="squared"),
    "quantile": partial(qpsvm.QuantileSVR, C=3.0, quantile=0.3),
}
NAMES = (*CLASSIFIERS, *REGRESSIONS)
INTERCEPTS = ("penalised", None)
KERNELS = (RBF(0.5), Polynomial(2, 0.5, 1.0))


def build(name: str, n: int, seed: int = 0, d: int = 3, **given) -> qpsvm.Problem:
    """Build a machine over overlapping classes, or noisy targets far from 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    smooth = np.sin(2.0 * X[:, 0])
    noise = rng.normal(size=n)
    if name in REGRESSIONS:
        return REGRESSIONS[name](X, 5.0 + smooth + 0.3 * noise, **given)
    y = np.where(smooth + 0.5 * noise > 0.0, 1, -1)
    y[:2] = -1, 1
    return CLASSIFIERS[name](X, y, **given)


@for_each("name, intercept, kernel, n", cover_pairs(NAMES, INTERCEPTS, KERNELS, (2, 9, 40)))
def test_exact_rationals_confirm_it(name, intercept, kernel, n):
    problem = build(name, n, n, kernel=kernel, intercept=intercept)
    result = qpsvm.solve(problem, tol=1e-9)
    assert result.backend == "kernel_newton"
    assert not find_faults(problem, result, 1e-9)


@for_each("n", (3, 12))
def test_pairs_are_ranked_by_their_own_dual(n):
    rng = np.random.default_rng(n)
    problem = qpsvm.Ranking(
        rng.normal(size=(n, 2)), rng.normal(size=n), C=3.0, kernel=RBF(0.5), groups=np.arange(n) // 4
    )
    result = qpsvm.solve(problem, backend="kernel_newton", tol=1e-9)
    assert not find_faults(problem, result, 1e-9)
    assert qpsvm.solve(problem, backend="kernel_newton", start=result.alpha).status == "optimal"


@needs_core
def test_many_pairs_are_ranked_without_their_whole_matrix(monkeypatch):
    monkeypatch.setattr(CombinedBlocks, "compute_full_matrix", None)
    monkeypatch.setattr(ExtendedBlocks, "compute_full_matrix", None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    problem = qpsvm.Ranking(
        X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=900), kernel=RBF(0.5), groups=np.arange(900) // 6
    )
    assert qpsvm.solve(problem, backend="kernel_newton").status == "optimal"


@for_each("name, intercept", cover_pairs(NAMES, INTERCEPTS))
def test_the_working_set_loop_finds_what_an_interior_point_finds(name, intercept):
    """Of more rows than those whose whole Gram matrix is computed."""
    problem = build(name, 1300, kernel=RBF(0.5), intercept=intercept)
    result = qpsvm.solve(problem, backend="kernel_newton")
    assert result.status == "optimal"
    if name == "hinge":
        other = qpsvm.solve(problem, backend="interior_point")
        assert result.primal == pytest.approx(other.primal, rel=2 * TOL)


@for_each("intercept", INTERCEPTS)
def test_the_loop_of_libsvm_finds_it_as_well(intercept, monkeypatch):
    monkeypatch.setattr(core, "compiled", None)
    for name in ("hinge", "tube"):
        assert qpsvm.solve(build(name, 300, kernel="rbf", intercept=intercept), backend="kernel_newton").gap <= TOL


def test_a_start_saves_the_loop():
    problem = build("hinge", 400, kernel=RBF(0.5), intercept=None)
    result = qpsvm.solve(problem)
    again = qpsvm.solve(problem, start=result.alpha)
    assert again.status == "optimal"
    assert "(start)" in again.solver.status


def test_a_row_without_a_tube_has_no_kink():
    """The variable in place of the intercept may pass 0: Newton steps that stop there never end."""
    n = 5
    problem = KernelDual(np.full(n, 2.0), np.zeros(n), np.full(n, -2.0), np.array([0.1] * (n - 1) + [0.0]))
    beta = np.array([0.0, 1.0, -1.0, 2.0, 0.0])
    assert problem.find_free(beta).tolist() == [False, True, True, False, True]
    point = problem.build_point(beta, np.zeros(n))
    assert point.low.tolist() == [0.0, 0.0, -2.0, 0.0, -2.0]
    assert point.high.tolist() == [2.0, 2.0, 0.0, 2.0, 2.0]


@needs_core
def test_squared_losses_of_many_rows_need_no_whole_matrix(monkeypatch):
    monkeypatch.setattr(ExtendedBlocks, "compute_full_matrix", None)
    for intercept in ("free", "penalised", None):
        assert qpsvm.solve(build("squared hinge", 2500, kernel=RBF(0.5), intercept=intercept)).status == "optimal"
