"""Paths and cross-validation of the machines that are not two-class: what varies, what is scored, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
T = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * RNG.standard_normal(50)
Y = T > 0
K = qpsvm.RBF(0.3)

PATHS = {
    "tube": (qpsvm.EpsilonSVR(X, T, kernel=K), {"C": [0.1, 10.0], "epsilon": [0.0, 0.3]}),
    "squared tube": (qpsvm.EpsilonSVR(X, T, loss="squared"), {"epsilon": [0.0, 0.1, 9.0]}),
    "either loss": (qpsvm.EpsilonSVR(X, T), {"loss": ["absolute", "squared"], "C": [1.0, 2.0]}),
    "nu": (qpsvm.NuSVR(X, T, kernel=K), {"nu": [0.1, 0.5, 1.0], "C": [1.0]}),
    "quantiles": (qpsvm.QuantileSVR(X, T, kernel=K), {"quantile": [0.1, 0.9], "gamma": [0.1, 1.0]}),
    "novelty": (qpsvm.OneClass(X, kernel=K), {"nu": [0.1, 0.5, 0.9], "gamma": [0.1, 0.5]}),
    "balls": (qpsvm.SVDD(X), {"nu": [0.05, 0.5]}),
    "widths": (qpsvm.HuberHinge(X, Y, kernel=K), {"width": [0.1, 1.0], "C": [0.1, 1.0]}),
    "squares": (qpsvm.SquaredHinge(X, Y), {"C": [0.1, 1.0]}),
    "orders": (qpsvm.Ranking(X[:20], T[:20]), {"C": [0.1, 1.0]}),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_path_has_the_optimum_of_every_point(name):
    problem, axes = PATHS[name]
    found = qpsvm.path(problem, **axes)
    for point, result in zip(found.points, found, strict=True):
        alone = qpsvm.solve(problem.replace(**point))
        assert result.status == "optimal"
        scale = max(abs(alone.primal), abs(alone.dual))
        assert abs(result.primal - alone.primal) <= 2e-6 * scale


def test_where_another_parameter_changes_C_begins_anew_from_its_neighbour(monkeypatch):
    """From the result of the same C before, and not from what the C before foretells."""
    problem = qpsvm.EpsilonSVR(X, T, kernel=K)
    starts = []
    solve = qpsvm.solve

    def record_solve(step, **options):
        starts.append((step.epsilon, step.C[0], options.get("start")))
        return solve(step, **options)

    monkeypatch.setattr("qpsvm.many.grid.walk.solve", record_solve)
    found = qpsvm.path(problem, C=[0.1, 1.0, 10.0], epsilon=[0.0, 0.2])
    begun = {(epsilon, C): start for epsilon, C, start in starts}
    assert begun[0.0, 0.1] is None
    assert begun[0.2, 0.1] is found.at(C=0.1, epsilon=0.0)
    np.testing.assert_allclose(begun[0.2, 1.0], 10.0 * found.at(C=0.1, epsilon=0.2).alpha)


@pytest.mark.parametrize("kernel", [K, qpsvm.Linear()], ids=["rbf", "linear"])
def test_scores_of_a_regression_are_those_of_scikit_learn(kernel):
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVR

    found = qpsvm.cross_validate(qpsvm.EpsilonSVR(X, T, kernel=kernel), C=[0.5, 5.0], epsilon=[0.0, 0.2], tol=1e-9)
    assert found.scoring == "r2"
    assert "r2, 5 folds" in str(found)
    kind = {"kernel": "linear"} if kernel == qpsvm.Linear() else {"gamma": 0.3}
    for (i, j), _ in np.ndenumerate(found.mean):
        machine = SVR(C=found.axes["C"][i], epsilon=found.axes["epsilon"][j], tol=1e-8, **kind)
        np.testing.assert_allclose(found.scores[:, i, j], cross_val_score(machine, X, T), atol=1e-4)


def test_a_quantile_is_scored_by_its_own_loss():
    from sklearn.metrics import mean_pinball_loss
    from sklearn.model_selection import KFold

    problem = qpsvm.QuantileSVR(X, T, quantile=0.8, kernel=K)
    found = qpsvm.cross_validate(problem, C=[1.0], folds=3)
    assert found.scoring == "neg_mean_pinball_loss"
    for score, (train, test) in zip(found.scores[:, 0], KFold(3).split(X), strict=True):
        result = qpsvm.solve(qpsvm.QuantileSVR(X[train], T[train], quantile=0.8, kernel=K))
        assert -score == pytest.approx(mean_pinball_loss(T[test], result.predict(X[test]), alpha=0.8), rel=1e-3)


def test_folds_of_a_regression_may_be_shuffled_given_or_without_some_rows():
    weight = np.r_[np.zeros(10), np.ones(40)]
    problem = qpsvm.NuSVR(X, T, sample_weight=weight)
    kept = qpsvm.cross_validate(qpsvm.NuSVR(X[10:], T[10:]), nu=[0.3], folds=2, shuffle=True, seed=3)
    found = qpsvm.cross_validate(problem, nu=[0.3], folds=2, shuffle=True, seed=3)
    np.testing.assert_allclose(found.scores, kept.scores, atol=1e-4)
    given = qpsvm.cross_validate(problem, nu=[0.3], folds=[(np.arange(10, 30), np.arange(30, 50))])
    assert given.scores.shape == (1, 1)
    with pytest.raises(qpsvm.DataError, match="there are 40 samples"):
        qpsvm.cross_validate(problem, nu=[0.3], folds=41)


def test_a_nu_that_is_no_share_has_no_score():
    found = qpsvm.cross_validate(qpsvm.NuSVR(X, T), nu=[0.3, 1.5], folds=2)
    assert found.status.tolist() == [["optimal", "infeasible"]] * 2
    assert np.isnan(found.mean[1])


SVR, TAU = qpsvm.EpsilonSVR(X, T), qpsvm.QuantileSVR(X, T)
REFUSED = {
    "no target": (lambda: qpsvm.cross_validate(qpsvm.OneClass(X), nu=[0.1]), "OneClass has no target"),
    "pairs": (lambda: qpsvm.cross_validate(qpsvm.Ranking(X, T), C=[1.0]), "Ranking learns from pairs"),
    "accuracy": (lambda: qpsvm.cross_validate(SVR, C=[1.0], scoring="accuracy"), "EpsilonSVR predicts numbers"),
    "labels": (lambda: qpsvm.cross_validate(SVR, C=[1.0], scoring="f1", folds=2), "f1 does not score"),
    "probabilities": (lambda: qpsvm.cross_validate(SVR, C=[1.0], scoring="neg_log_loss"), "asks for more than"),
    "one row": (lambda: qpsvm.cross_validate(SVR, C=[1.0], folds=[(range(49), [49])]), "a fold tests one"),
    "quantiles": (lambda: qpsvm.cross_validate(TAU, quantile=[0.1, 0.2]), "one quantile at a time"),
    "no quantile": (lambda: qpsvm.path(TAU, quantile=[0.5, 1.0]), "below 1"),
    "negative": (lambda: qpsvm.path(SVR, epsilon=[0.0, -1.0]), "epsilon must be 0 or positive"),
    "zero": (lambda: qpsvm.path(SVR, C=[0.0]), "C must be positive"),
    "loss": (lambda: qpsvm.path(SVR, loss=["absolut"]), "did you mean 'absolute'"),
    "nu": (lambda: qpsvm.path(qpsvm.OneClass(X), nu=[0.5, 2.0]), "it is a share"),
    "parameter": (lambda: qpsvm.path(SVR, nu=[0.5]), "has no parameter 'nu'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(name):
    call, said = REFUSED[name]
    with pytest.raises(qpsvm.QPSVMError, match=said):
        call()
