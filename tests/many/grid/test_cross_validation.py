"""`cross_validate`: scores of a grid, each solve certified, from shared Gram matrices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from judge import find_faults
from sklearn.datasets import make_classification, make_moons
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

import qpsvm
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.many.grid import fold_problem

X, Y = make_moons(90, noise=0.3, random_state=0)
LABELS = np.where(Y == 1, "yes", "no")
C, GAMMA = [10.0, 0.1, 1.0], [0.3, 3.0]
RBF = qpsvm.CSVM(X, LABELS, kernel="rbf")


class Counted:
    """A positive definite kernel that counts the values that it makes."""

    values = 0

    def __call__(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        Counted.values += len(X) * len(Z)
        return np.exp(-((X[:, None] - Z) ** 2).sum(2))


def by_hand(problem, scoring, folds, **point):
    """Scores of one point by solving each fold on its own."""
    found = []
    for train, test in folds:
        kernel = problem.replace(**point).kernel
        weight = problem.sample_weight[train]
        own = {name: point.get(name, getattr(problem, name)) for name in problem._hyperparameters}
        alone = type(problem)(problem.X[train], LABELS[train], kernel=kernel, sample_weight=weight, **own)
        result = qpsvm.solve(alone, tol=1e-9)
        values = result.decision_function(problem.X[test])
        assert np.abs(values).min() > 1e-6  # else a sign may be rounding
        found.append(scoring(values, LABELS[test]))
    return found


def accuracy(values, labels):
    return np.mean(np.where(values > 0, "yes", "no") == labels)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_scores_are_those_of_scikit_learn(scoring):
    found = qpsvm.cross_validate(RBF, C=C, gamma=GAMMA, scoring=scoring)
    assert found.scores.shape == found.gaps.shape == found.status.shape == (5, 3, 2)
    assert (found.gaps <= 1e-6).all()
    assert (found.status == "optimal").all()
    for (i, j), mean in np.ndenumerate(found.mean):
        model = SVC(C=C[i], gamma=GAMMA[j], tol=1e-8)
        np.testing.assert_allclose(found.scores[:, i, j], cross_val_score(model, X, LABELS, cv=5, scoring=scoring))
        assert mean == pytest.approx(found.scores[:, i, j].mean())


MACHINES = {
    "linear": (qpsvm.CSVM(X, LABELS), {"C": [0.01, 1.0]}),
    "hinge": (qpsvm.PrimalHinge(X, LABELS, kernel=qpsvm.RBF(1.0)), {"lam": [0.1, 0.001]}),
    "nu": (qpsvm.NuSVM(X, LABELS, kernel="rbf"), {"nu": [0.3, 0.6], "gamma": [1.0]}),
    "polynomial": (qpsvm.CSVM(X, LABELS, kernel=qpsvm.Polynomial(3, 1.0, 1.0)), {"C": [0.1, 1.0], "degree": [2, 3]}),
    "weights": (qpsvm.CSVM(X, LABELS, kernel="rbf", sample_weight=np.linspace(0.5, 2.0, 90)), {"C": [0.1, 10.0]}),
    "function": (qpsvm.CSVM(X, LABELS, kernel=Counted()), {"C": [0.1, 10.0]}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_scores_are_those_of_folds_solved_alone(name):
    problem, axes = MACHINES[name]
    found = qpsvm.cross_validate(problem, folds=3, **axes)
    assert (found.gaps <= 1e-6).all()
    split = list(StratifiedKFold(3).split(X, LABELS))
    for point, scores in zip(found.points, found.scores.reshape(3, -1).T, strict=True):
        np.testing.assert_allclose(scores, by_hand(problem, accuracy, split, **point))


def test_a_precomputed_kernel_scores_as_its_kernel_does():
    K = qpsvm.RBF(1.0)(X, X)
    whole = qpsvm.cross_validate(qpsvm.CSVM(K, LABELS, kernel="precomputed"), C=C)
    rbf = qpsvm.cross_validate(qpsvm.CSVM(X, LABELS, kernel=qpsvm.RBF(1.0)), C=C)
    np.testing.assert_array_equal(whole.scores, rbf.scores)
    assert whole.best == rbf.best


def test_neither_training_nor_testing_evaluates_a_kernel_value_twice(monkeypatch):
    calls = []
    kernel = qpsvm.RBF(1.0)
    monkeypatch.setattr(qpsvm.Model, "decision_function", lambda *_: calls.append(1))
    monkeypatch.setattr(
        fold_problem.KernelGram, "_compute_matrix", lambda gram: calls.append(2) or kernel(gram.X, gram.X)
    )
    qpsvm.cross_validate(qpsvm.CSVM(X, LABELS, kernel=kernel), C=C)
    assert calls == [2]


def test_where_the_gram_matrix_does_not_fit_each_fold_has_its_own(monkeypatch):
    with_it = qpsvm.cross_validate(RBF, C=C)
    monkeypatch.setattr(fold_problem, "CACHE_ROWS", 10)
    without = qpsvm.cross_validate(RBF, C=C)
    np.testing.assert_array_equal(with_it.scores, without.scores)
    assert (without.gaps <= 1e-6).all()


def test_order_changes_nothing():
    found = qpsvm.cross_validate(RBF, C=C, gamma=GAMMA, folds=3)
    turned = qpsvm.cross_validate(RBF, gamma=GAMMA[::-1], C=C[::-1], folds=3)
    np.testing.assert_array_equal(found.scores, turned.scores[:, ::-1, ::-1].transpose(0, 2, 1))


@pytest.mark.slow
def test_processes_change_nothing():
    """One kernel: a fold each."""
    one, two = (qpsvm.cross_validate(RBF, folds=3, n_jobs=jobs, C=C) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)
    assert (two.gaps <= 1e-6).all()


def test_samples_of_weight_0_take_no_part():
    weight = np.ones(90)
    weight[::3] = 0.0
    kept = weight > 0
    given = [(np.arange(0, 90, 2), np.arange(1, 90, 2)), (np.arange(1, 90, 2), np.arange(0, 90, 2))]
    with_them = qpsvm.cross_validate(qpsvm.CSVM(X, LABELS, sample_weight=weight), C=C, folds=given)
    place = np.cumsum(kept) - 1
    picked = [tuple(place[rows[kept[rows]]] for rows in pair) for pair in given]
    without = qpsvm.cross_validate(qpsvm.CSVM(X[kept], LABELS[kept]), C=C, folds=picked)
    np.testing.assert_array_equal(with_them.scores, without.scores)


def test_folds_as_they_are_given():
    pairs = list(KFold(4, shuffle=True, random_state=1).split(X))
    masks = [(np.isin(np.arange(90), train), np.isin(np.arange(90), test)) for train, test in pairs]
    by_splitter = qpsvm.cross_validate(RBF, C=C, folds=KFold(4, shuffle=True, random_state=1))
    for folds in (pairs, masks):
        np.testing.assert_array_equal(qpsvm.cross_validate(RBF, C=C, folds=folds).scores, by_splitter.scores)
    drawn = qpsvm.cross_validate(RBF, C=C, shuffle=True, seed=3)
    split = StratifiedKFold(5, shuffle=True, random_state=3)
    np.testing.assert_array_equal(drawn.scores, qpsvm.cross_validate(RBF, C=C, folds=split).scores)


def test_a_nu_that_a_fold_does_not_allow_is_a_status():
    few = X[:30]
    labels = np.array(["a"] * 6 + ["b"] * 24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = qpsvm.cross_validate(qpsvm.NuSVM(few, labels, 0.1, "rbf"), nu=[0.2, 0.9], folds=3)
    assert found.status.tolist() == [["optimal", "infeasible"]] * 3
    assert np.isnan(found.mean[1])
    assert np.isinf(found.gaps[:, 1]).all()
    assert found.best == {"nu": 0.2}


def test_a_hard_margin_that_a_fold_does_not_have_is_a_status():
    line = np.arange(12.0)[:, None]
    labels = [0, 1] * 6
    found = qpsvm.cross_validate(qpsvm.HardMargin(line, labels, kernel=qpsvm.Polynomial(1)), degree=[1], folds=2)
    assert (found.status == "infeasible").all()
    with pytest.raises(qpsvm.UnsupportedError, match="no point has a score"):
        _ = found.best


def test_what_is_not_optimal_is_said_once():
    with pytest.warns(qpsvm.InaccurateWarning, match="6 of 6 solves"):
        found = qpsvm.cross_validate(RBF, C=[1.0, 5.0], folds=3, backend="dual_ascent", max_iter=1, polish=False)
    assert (found.gaps > 1e-6).all()
    assert not np.isnan(found.scores).any()  # they are what these points predict
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qpsvm.cross_validate(RBF, C=[1.0], folds=3, backend="dual_ascent", max_iter=1, polish=False, check=False)


def test_the_best_is_the_first_of_equals_and_is_trained_on_everything():
    found = qpsvm.cross_validate(RBF, C=C, gamma=GAMMA)
    i, j = found.best_index
    assert found.best == {"C": C[i], "gamma": GAMMA[j]}
    assert found.mean.ravel().tolist().index(found.best_score) == i * len(GAMMA) + j
    result = found.refit(tol=1e-9)
    assert result.gap <= 1e-9
    assert result.title == RBF.replace(**found.best).title
    table = str(found).splitlines()
    assert table[1].split() == [*found.columns()]
    assert len(table) == 8
    assert "best 30 of 40 points" in str(qpsvm.cross_validate(qpsvm.CSVM(X, Y), C=np.linspace(1, 2, 40), folds=2))


def test_a_scorer_of_the_users():
    def score_worst(model, X, y):
        assert model.predict(X).tolist() == np.where(model.decision_function(X) > 0, "yes", "no").tolist()
        return np.min(model.decision_function(X) * np.where(y == "yes", 1, -1))

    found = qpsvm.cross_validate(RBF, C=[1.0], folds=3, scoring=score_worst)
    split = StratifiedKFold(3).split(X, LABELS)
    worst = by_hand(RBF, lambda f, y: np.min(f * np.where(y == "yes", 1, -1)), split, C=1.0)
    np.testing.assert_allclose(found.scores[:, 0], worst, atol=1e-3)
    assert found.scoring == "score"


def test_sparse_samples():
    import scipy.sparse as sp

    many, labels = make_classification(80, 12, random_state=1)
    many[np.abs(many) < 0.7] = 0.0
    for kernel in ("linear", qpsvm.RBF(0.1)):
        dense, sparse = (qpsvm.cross_validate(qpsvm.CSVM(M, labels, kernel=kernel), C=[0.1, 1.0], folds=3)
                         for M in (many, sp.csr_array(many)))  # fmt: skip
        np.testing.assert_array_equal(dense.scores, sparse.scores)


WRONG = {
    "folds": (qpsvm.ParameterError, "at least 2", {"folds": 1}),
    "folds-many": (qpsvm.DataError, "too few for 60 folds", {"folds": 60}),
    "folds-text": (qpsvm.ParameterTypeError, "folds must be", {"folds": "five"}),
    "folds-flag": (qpsvm.ParameterTypeError, "folds must be", {"folds": True}),
    "folds-empty": (qpsvm.ParameterError, "empty", {"folds": []}),
    "pair": (qpsvm.ParameterTypeError, "pair", {"folds": [3]}),
    "row": (qpsvm.DataError, "90 rows", {"folds": [(range(80), [90])]}),
    "both": (qpsvm.DataError, "row 3 of a fold trains and is tested", {"folds": [([*range(80)], [3])]}),
    "twice": (qpsvm.DataError, "trains twice", {"folds": [([*range(80), 1], [85])]}),
    "one-class": (qpsvm.DataError, "fold 0 are all of one class", {"folds": [(Y == 1, Y == 0)]}),
    "seed": (qpsvm.ParameterError, "without shuffle", {"seed": 1}),
    "shuffled": (qpsvm.ParameterError, "belong to a number", {"folds": KFold(3), "shuffle": True}),
    "scorer": (qpsvm.UnknownOptionError, "did you mean 'accuracy'", {"scoring": "acuracy"}),
    "scorer-type": (qpsvm.ParameterTypeError, "scoring must be", {"scoring": 3}),
    "scorer-probabilities": (qpsvm.UnsupportedError, "predict_proba", {"scoring": "neg_log_loss"}),
    "scorer-words": (qpsvm.ParameterTypeError, "must return a number", {"scoring": lambda *_: "good"}),
    "scorer-nothing": (qpsvm.ParameterTypeError, "must return a number", {"scoring": lambda *_: None}),
    "seed-words": (qpsvm.ParameterError, "whole number", {"seed": "x", "shuffle": True}),
    "seed-negative": (qpsvm.ParameterError, "whole number", {"seed": -1, "shuffle": True}),
    "shuffle": (qpsvm.ParameterTypeError, "shuffle must be", {"shuffle": "yes"}),
    "check": (qpsvm.ParameterTypeError, "check must be", {"check": "no"}),
    "cv": (qpsvm.UnknownOptionError, "cv is folds here", {"cv": 3}),
    "start": (qpsvm.ParameterError, "leave it out", {"start": np.ones(90)}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    error, words, options = WRONG[name]
    with pytest.raises(error, match=words):
        qpsvm.cross_validate(RBF, C=[1.0], **options)


def test_1_stands_for_true():
    found = [qpsvm.cross_validate(RBF, C=[1.0], shuffle=flag, seed=0) for flag in (1, True)]
    np.testing.assert_array_equal(found[0].scores, found[1].scores)


def test_no_problem_and_no_parameter():
    with pytest.raises(qpsvm.ParameterTypeError, match="takes a problem"):
        qpsvm.path(X, C=[1.0])
    with pytest.raises(qpsvm.ParameterTypeError, match="takes a problem"):
        qpsvm.cross_validate(X, C=[1.0])
    with pytest.raises(qpsvm.ParameterError, match="such as C="):
        qpsvm.cross_validate(RBF)
    with pytest.raises(qpsvm.UnsupportedError, match="has none"):
        qpsvm.cross_validate(qpsvm.HardMargin(X, Y))


@pytest.mark.parametrize("scale", [1e8, 1e10])
def test_a_fold_knows_how_exact_its_part_of_the_gram_matrix_is(scale):
    """Its samples are near each other, and far from the mean of all samples, which was taken off all of them."""
    rng = np.random.default_rng(0)
    near = rng.standard_normal((10, 2))
    labels = np.repeat([1.0, -1.0], 10)
    near = np.concatenate([near, near + 1e-3 * rng.standard_normal((10, 2))])
    rows = np.concatenate([near, rng.standard_normal((20, 2)) + scale])
    problem = qpsvm.CSVM(rows, np.tile(labels, 2), 1e5, kernel=qpsvm.RBF(1.0))
    fold_problem.share_gram(problem)
    part = restrict_to_rows(problem, np.arange(20))
    assert part.space.gram.cached_matrix is not None
    far = near.astype(np.longdouble)
    K = part.space.gram.dense()
    true = np.exp(-((far[:, None] - far[None]) ** 2).sum(axis=2))
    off = np.abs(K - true).astype(float)
    assert off.max() > 1e-12
    assert off.max() <= Accuracy(part.space).epsilon
    assert not find_faults(part, qpsvm.solve(part, check=False), 1e-6)


def test_a_fold_knows_what_made_its_part_of_a_given_matrix_symmetric():
    K = np.eye(6) + 1e3 * np.outer([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1])
    K[0, 1] = 1e-6
    problem = qpsvm.CSVM(K, [0, 1, 0, 1, 0, 1], kernel="precomputed")
    part = restrict_to_rows(problem, np.arange(4))
    space = Accuracy(part.space)
    assert space.epsilon * space.max_norm**2 >= 0.5e-6
