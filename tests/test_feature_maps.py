"""Kernel machines over features of a map: what is solved, what is certified, what is certified of the kernel itself."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import kernel_approximation

import qpsvm
from qpsvm import (
    CSVM,
    RBF,
    SVDD,
    EpsilonSVR,
    Nystroem,
    OneClass,
    PivotedCholesky,
    Polynomial,
    PrimalHinge,
    RandomFourier,
    SquaredHinge,
)
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.data.rows import FeatureRows, StackedRows, as_row_source
from qpsvm.data.rows import features as mapped

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * RNG.normal(size=300) > 1, "in", "out")
T = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=300)
#: Half of them take part with a weight that is not 1, and some not at all.
WEIGHT = RNG.permutation(np.repeat([0.0, 0.5, 1.0], [20, 130, 150]))

MAPS = {
    "nystroem": Nystroem("rbf", components=60),
    "polynomial": Nystroem(Polynomial(2, coef0=1.0), components=12),
    "fourier": RandomFourier(components=80),
    "pivots": PivotedCholesky("rbf", rank=60),
}


def in_pieces() -> StackedRows:
    """The samples as a source of several blocks."""
    return StackedRows([as_row_source(part) for part in np.array_split(X, [70, 71, 200])])


def test_the_kernels_are_those_of_scikit_learn():
    fitted = Nystroem(RBF(0.3), components=40, seed=2).resolve(X)
    theirs = kernel_approximation.Nystroem(gamma=0.3, n_components=40).fit(fitted.fit.points).transform(X)
    np.testing.assert_allclose(fitted(X, X), theirs @ theirs.T, atol=1e-9)
    ours = RandomFourier(0.3, components=50, seed=7).resolve(X).features(X)
    theirs = kernel_approximation.RBFSampler(gamma=0.3, n_components=50, random_state=7).fit_transform(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-13)


@pytest.mark.parametrize("name", MAPS)
def test_the_machine_is_the_linear_one_over_the_features(name, tmp_path: Path):
    problem = CSVM(X, Y, C=2.0, kernel=MAPS[name], sample_weight=WEIGHT)
    result = qpsvm.solve(problem)
    Z = problem.kernel.features(X)
    linear = qpsvm.solve(CSVM(Z, Y, C=2.0, sample_weight=WEIGHT))
    assert result.status == "optimal" == linear.status
    assert max(result.dual, linear.dual) <= min(result.primal, linear.primal) * (1 + 1e-12)
    assert type(problem.kernel).__name__ in result.title
    assert "not with" in result.message
    assert "measured" in result.message
    assert str(problem.kernel.exact_kernel) in result.message
    np.testing.assert_allclose(result.decision_function(X), Z @ result.w + result.b, atol=1e-9)
    np.testing.assert_allclose(result.yf, np.where(Y == "out", 1, -1) * result.decision_function(X), atol=1e-9)
    assert max(qpsvm.derive(problem, result).residuals().values()) < 1e-6
    result.save(tmp_path / "model.npz")
    for again in (qpsvm.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(result.model))):
        assert again.kernel == problem.kernel
        np.testing.assert_array_equal(again.predict(X), result.predict(X))
    assert problem.replace(C=1.0).space is problem.space
    assert problem.replace(seed=1).kernel != problem.kernel


@pytest.mark.parametrize("name", MAPS)
def test_features_made_in_each_pass_are_the_same_numbers(name, monkeypatch):
    """To the last bit, in whatever order they are asked for: a certificate is one of these numbers."""
    monkeypatch.setattr(mapped, "compute_tile_rows", lambda _: 64)
    monkeypatch.setattr(mapped, "TILES_AT_A_TIME", 2)
    row_map = MAPS[name].resolve(X)
    kept, made = (FeatureRows(in_pieces(), row_map, keep) for keep in (True, False))
    rows = np.array([250, 3, 70, 71, 299, 0, 199, 3])
    np.testing.assert_array_equal(made.take(rows), kept.take(rows))
    np.testing.assert_array_equal(made.matrix(), kept.memory_matrix)
    w = RNG.normal(size=kept.d)
    beta = RNG.normal(size=len(rows))
    np.testing.assert_allclose(made.margins(w), kept.margins(w), atol=1e-12)
    np.testing.assert_allclose(made.weights(beta, rows), kept.weights(beta, rows), atol=1e-12)
    monkeypatch.setattr(mapped, "MEMORY_SHARE", 0.0)
    streamed = qpsvm.solve(CSVM(in_pieces(), Y, C=2.0, kernel=row_map))
    assert not CSVM(in_pieces(), Y, kernel=row_map).space.samples.is_cached
    whole = qpsvm.solve(CSVM(X, Y, C=2.0, kernel=row_map))
    assert streamed.status == "optimal"
    assert max(streamed.dual, whole.dual) <= min(streamed.primal, whole.primal) * (1 + 1e-12)


EXACT = {
    "C-SVM": lambda Z, kernel: CSVM(Z, Y[: len(Z)], C=3.0, kernel=kernel),
    "weights": lambda Z, kernel: CSVM(Z, Y[: len(Z)], C=1e3, kernel=kernel, sample_weight=WEIGHT[: len(Z)]),
    "squared": lambda Z, kernel: SquaredHinge(Z, Y[: len(Z)], C=2.0, kernel=kernel),
    "ε-SVR": lambda Z, kernel: EpsilonSVR(Z, T[: len(Z)], C=5.0, epsilon=0.05, kernel=kernel),
    "one class": lambda Z, kernel: OneClass(Z, nu=0.2, kernel=kernel),
    "ball": lambda Z, kernel: SVDD(Z, nu=0.2, kernel=kernel),
    "λ": lambda Z, kernel: PrimalHinge(Z, Y[: len(Z)], lam=0.01, kernel=kernel),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("gamma", [1e-6, 0.3, 50.0])
def test_bounds_on_the_machine_with_the_kernel_enclose_its_optimum(name, gamma):
    """Of tiny ranks and full ones, of samples that are there four times, of kernels that are nearly 1 or nearly I."""
    for Z, ranks in ((X[:90], (1, 20, 90)), (np.repeat(X[:20], 4, axis=0), (7,))):
        exact = qpsvm.solve(EXACT[name](Z, RBF(gamma)), check=False)
        off = (exact.rounding + 1e-14) * max(abs(exact.primal), abs(exact.dual))
        for rank in ranks:
            problem = EXACT[name](Z, PivotedCholesky(RBF(gamma), rank=rank, tol=1e-14))
            result = qpsvm.solve(problem, check=False)
            above, below, gap = (result.extras[f"exact_{word}"] for word in ("primal", "dual", "gap"))
            assert below <= exact.primal + off
            assert exact.dual - off <= above
            own = (result.primal - exact.primal) / max(abs(result.primal), abs(below))
            assert gap >= own - exact.gap - 1e-11, "the model is farther from the optimum than is claimed"
            if rank == len(Z) and name in ("C-SVM", "ε-SVR", "one class"):
                assert gap < 1e-5


def test_what_holds_of_a_point_beside_this_one_does_not_hold_of_this():
    """At this C the digits that f has not are worth more than the gap: values of two points would not fit together."""
    for seed in range(8):
        Z = np.random.default_rng(seed).normal(size=(8, 4))
        y = np.where(Z[:, 0] > np.median(Z[:, 0]), 1, -1)
        bounds = qpsvm.solve(CSVM(Z, y, C=1e6, kernel=PivotedCholesky(RBF(1.5), rank=20)), tol=1e-3).extras
        exact = qpsvm.solve(CSVM(Z, y, C=1e6, kernel=RBF(1.5)), tol=1e-12, check=False)
        assert exact.gap <= 1e-12
        assert bounds["exact_dual"] <= exact.primal
        assert exact.dual <= bounds["exact_primal"]


def test_there_are_no_bounds_where_the_pivots_are_not_among_the_samples():
    fitted = PivotedCholesky(RBF(0.3), rank=30).resolve(X[:100])
    assert "exact_gap" in qpsvm.solve(CSVM(X[:150], Y[:150], kernel=fitted)).extras
    assert "exact_gap" not in qpsvm.solve(CSVM(X[100:], Y[100:], kernel=fitted)).extras
    assert "exact_gap" not in qpsvm.solve(CSVM(X, Y, kernel=Nystroem(RBF(0.3), components=30))).extras


def test_sparse_samples_have_sparse_landmarks():
    sparse = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    for row_map in (Nystroem(RBF(0.3), components=30), PivotedCholesky(RBF(0.3), rank=30)):
        result = qpsvm.solve(CSVM(sparse, Y, kernel=row_map))
        assert result.status == "optimal"
        assert sp.issparse(result.model.kernel.fit.points)
        np.testing.assert_allclose(result.decision_function(sparse), result.decision_function(sparse.toarray()))


def test_what_cannot_be_is_refused():
    with pytest.raises(ParameterError, match="components must be a positive whole number"):
        Nystroem(components=2.5)
    with pytest.raises(ParameterError, match="seed"):
        RandomFourier(seed=-1)
    with pytest.raises(ParameterError, match="before it has seen samples"):
        Nystroem().features(X)
    for kernel in ("precomputed", "linear", Nystroem()):
        with pytest.raises(UnsupportedError):
            Nystroem(kernel)
    with pytest.raises(UnsupportedError, match="positive semidefinite"):
        PivotedCholesky("sigmoid")
    with pytest.raises(UnsupportedError, match="constraints"):
        CSVM(X, Y, kernel=Nystroem(), constraints=qpsvm.ValueConstraints(X[:1], [[1.0]], [0.0]))
