"""Samples left out, added, corrected: the optimum of the changed data, and of nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = np.where(X[:, 0] + 0.6 * RNG.normal(size=80) > 0.0, "yes", "no")
T = X[:, 0] ** 2 + 0.1 * RNG.normal(size=80)
WEIGHT = RNG.integers(0, 3, size=80).astype(float)
NEW = RNG.normal(size=(6, 4))
RBF = qpsvm.RBF(0.3)
GONE = [0, 5, 7, 79]
LABELS = {
    "c": lambda X, y, s: qpsvm.CSVM(X, y, sample_weight=0.0 * s + 1.0),
    "c, weights": lambda X, y, s: qpsvm.CSVM(X, y, kernel=RBF, sample_weight=s),
    "c, sparse": lambda X, y, s: qpsvm.CSVM(sp.csr_array(X), y, sample_weight=s),
    "nu": lambda X, y, s: qpsvm.NuSVM(X, y, nu=0.2, kernel=RBF, sample_weight=s),
    "hinge": lambda X, y, s: qpsvm.PrimalHinge(X, y, lam=0.1, sample_weight=s),
    "squared hinge": lambda X, y, s: qpsvm.SquaredHinge(X, y, kernel=RBF, sample_weight=s),
    "huber": lambda X, y, s: qpsvm.HuberHinge(X, y, sample_weight=s),
}
NUMBERS = {
    "epsilon-svr": lambda X, t, s: qpsvm.EpsilonSVR(X, t, kernel=RBF, sample_weight=s),
    "nu-svr": lambda X, t, s: qpsvm.NuSVR(X, t, nu=0.3, sample_weight=s),
    "quantile": lambda X, t, s: qpsvm.QuantileSVR(X, t, sample_weight=s),
}
NOVELTY = {
    "one-class": lambda X, _, s: qpsvm.OneClass(X, nu=0.2, kernel=RBF, sample_weight=s),
    "svdd": lambda X, _, s: qpsvm.SVDD(X, nu=0.2, sample_weight=s),
}


def same_optimum(one, other):
    """Both are certified, and each bounds the other's value."""
    assert one.status == other.status == "optimal"
    assert one.verify()
    size = 1e-9 * max(abs(one.primal), abs(one.dual))
    assert one.dual <= other.primal + size
    assert other.dual <= one.primal + size


@pytest.mark.parametrize("name", [*LABELS, *NUMBERS, *NOVELTY])
def test_each_change_leads_to_the_optimum_of_the_changed_data(name):
    make = {**LABELS, **NUMBERS, **NOVELTY}[name]
    target, new = (Y, np.array(["yes", "no"] * 3)) if name in LABELS else (T, np.linspace(-1.0, 1.0, 6))
    result, kept = qpsvm.solve(make(X, target, WEIGHT)), np.delete(np.arange(80), GONE)
    same_optimum(result.without(GONE), qpsvm.solve(make(X[kept], target[kept], WEIGHT[kept])))
    more = result.with_samples(NEW, None if name in NOVELTY else new)
    everything = make(np.vstack([X, NEW]), np.concatenate([target, new]), np.concatenate([WEIGHT, np.ones(6)]))
    same_optimum(more, qpsvm.solve(everything))
    if name not in NOVELTY:
        first = np.arange(80) < 9
        other = np.where(first, "no", Y) if name in LABELS else T + 0.5 * first
        same_optimum(result.with_targets(other), qpsvm.solve(make(X, other, WEIGHT)))


def test_changes_follow_each_other():
    result = qpsvm.solve(qpsvm.CSVM(X, Y, kernel=RBF))
    there_and_back = result.with_samples(NEW, ["yes"] * 6).without(np.arange(80, 86))
    same_optimum(there_and_back, result)
    mask = np.zeros(80, dtype=bool)
    mask[GONE] = True
    assert result.without(mask).problem.n == 76
    assert result.without([]).problem.n == 80
    kernel = qpsvm.solve(qpsvm.CSVM(X @ X.T, Y, kernel=qpsvm.Precomputed()))
    same_optimum(kernel.without(GONE), qpsvm.solve(qpsvm.CSVM(X, Y)).without(GONE))


def test_a_machine_of_users_rows_keeps_them():
    rows = qpsvm.Constraints([[1.0, 0.0, 0.0, 0.0]], [0.5])
    less = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=rows)).without(GONE)
    kept = np.delete(np.arange(80), GONE)
    same_optimum(less, qpsvm.solve(qpsvm.CSVM(X[kept], Y[kept], constraints=rows)))


def test_wrong_changes_are_named():
    result = qpsvm.solve(qpsvm.CSVM(X, Y))
    for call, kind, words in (
        (lambda: result.without([80]), qpsvm.DataError, "no row 80"),
        (lambda: result.without([-1]), qpsvm.DataError, "no row -1"),
        (lambda: result.without([0.5]), qpsvm.ParameterTypeError, "indices"),
        (lambda: result.without(np.ones(3, dtype=bool)), qpsvm.DataError, "80 entries"),
        (lambda: result.without(np.flatnonzero(Y == "yes")), qpsvm.DataError, "class 'yes'"),
        (lambda: result.without(np.arange(80)), qpsvm.DataError, "no sample is left"),
        (lambda: result.without([0], tools=1), qpsvm.UnknownOptionError, "tools"),
        (lambda: result.with_samples(NEW[:, :2], Y[:6]), qpsvm.DataError, "2 features"),
        (lambda: result.with_samples(NEW), qpsvm.DataError, "y is missing"),
        (lambda: result.with_samples(NEW, ["maybe"] * 6), qpsvm.DataTypeError, "y\\[0\\] = 'maybe'"),
        (lambda: result.with_samples(NEW, Y[:5]), qpsvm.DataError, "6 labels"),
        (lambda: result.with_targets(Y[:3]), qpsvm.DataError, "80 labels"),
        (lambda: result.with_targets(["yes"] * 80), qpsvm.DataError, "one class"),
        (lambda: qpsvm.solve(qpsvm.OneClass(X)).with_targets(T), qpsvm.UnsupportedError, "no targets"),
        (lambda: qpsvm.solve(qpsvm.OneClass(X)).with_samples(NEW, T[:6]), qpsvm.DataError, "leave y out"),
        (lambda: qpsvm.solve(qpsvm.Ranking(X, T)).without([0]), qpsvm.UnsupportedError, "pairs"),
        (lambda: qpsvm.solve(qpsvm.CSVM(X @ X.T, Y, kernel=qpsvm.Precomputed())).with_samples(NEW, Y[:6]),
         qpsvm.UnsupportedError, "kernel matrix"),
        (lambda: qpsvm.solve(qpsvm.CSVM(X, Y, np.linspace(1, 2, 80))).with_samples(NEW, Y[:6]),
         qpsvm.UnsupportedError, "C has a number for each"),
    ):  # fmt: skip
        with pytest.raises(kind, match=words):
            call()


def test_nu_that_no_longer_fits_is_named():
    few = np.concatenate([np.flatnonzero(Y == "yes")[:5], np.flatnonzero(Y == "no")[:6]])
    result = qpsvm.solve(qpsvm.NuSVM(X[few], Y[few], nu=0.9))
    with pytest.raises(qpsvm.InfeasibleNuError):
        result.without([0, 1])
