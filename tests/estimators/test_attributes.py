"""What a fitted estimator shows: scikit-learn's names, shapes, types and signs, and the certified results."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from kinds import ALL, CLASSIFIERS, WITH_KERNEL, X2, XR, X, data, fitted, t, values, y, y2
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import qpsvm
from qpsvm import DegenerateWarning, estimators
from qpsvm.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM


@for_each("kind", ALL)
def test_every_estimator_has_its_certificate_and_survives_pickle_and_clone(kind):
    estimator = fitted(kind)
    own, _ = data(kind)
    results = estimator.results_ if kind in CLASSIFIERS else [estimator.result_]
    assert all(result.status is qpsvm.Status.OPTIMAL for result in results)
    assert max(estimator.gap_, *(result.gap for result in results)) <= estimator.tol
    assert estimator.fit_status_ == 0
    assert estimator.n_features_in_ == own.shape[1]
    assert not hasattr(estimator, "feature_names_in_")
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(values(again, own), values(estimator, own))
    assert clone(estimator).get_params() == estimator.get_params()
    assert not hasattr(clone(estimator), "gap_")
    with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted"):
        kind().predict(own)


@for_each("kind", WITH_KERNEL)
def test_the_decision_is_that_of_support_vectors_and_coefficients(kind):
    if kind is not estimators.RankingSVM:
        estimator = fitted(kind, gamma=0.3)
    else:
        estimator = fitted(kind, gamma=0.3, kernel="rbf")
    own, _ = data(kind)
    s = len(estimator.support_)
    assert estimator.support_.dtype == estimator.n_support_.dtype == np.int32
    assert estimator.n_support_.sum() == s
    np.testing.assert_array_equal(estimator.support_vectors_, own[estimator.support_])
    assert estimator.shape_fit_ == own.shape
    assert estimator.dual_coef_.shape == (2 if kind in CLASSIFIERS else 1, s)
    assert not hasattr(estimator, "coef_")
    if kind in CLASSIFIERS or kind is estimators.SVDD:
        return
    f = rbf_kernel(own, estimator.support_vectors_, gamma=0.3) @ estimator.dual_coef_[0] + estimator.intercept_
    np.testing.assert_allclose(values(estimator, own), f, atol=1e-9)


@for_each("kind, sparse", [(SVC, False), (NuSVC, True)])
def test_coefficients_of_pairs_as_libsvm_has_them(kind, sparse):
    samples = sp.csr_array(X) if sparse else X
    machine = kind(kernel="linear", decision_function_shape="ovo").fit(samples, y)
    dense = [
        each.toarray() if sparse else each for each in (machine.coef_, machine.dual_coef_, machine.support_vectors_)
    ]
    coef, dual_coef, vectors = dense
    assert coef.shape == (3, 4)
    assert machine.intercept_.shape == (3,)
    np.testing.assert_allclose(X @ coef.T + machine.intercept_, machine.decision_function(samples), atol=1e-9)
    ends = np.cumsum(machine.n_support_)
    first = slice(0, ends[0])  # the pair of classes 0 and 1: both in row 0
    second = slice(ends[0], ends[1])
    w = dual_coef[0, first] @ vectors[first] + dual_coef[0, second] @ vectors[second]
    np.testing.assert_allclose(w, coef[0], atol=1e-9)
    assert (dual_coef[0, first] >= 0).all()
    assert (dual_coef[0, second] <= 0).all()
    binary = kind(kernel="linear").fit(X2, y2)
    np.testing.assert_allclose(binary.dual_coef_ @ X2[binary.support_], binary.coef_, atol=1e-9)
    np.testing.assert_allclose((X2 @ binary.coef_.T + binary.intercept_)[:, 0], binary.decision_function(X2), atol=1e-9)


def test_coef_cannot_be_written_to():
    for machine in (SVC(kernel="linear").fit(X2, y2), SVC(kernel="linear").fit(sp.csr_array(X2), y2)):
        with pytest.raises(AttributeError):
            machine.coef_ = np.zeros((1, 4))
        with pytest.raises((RuntimeError, ValueError)):
            machine.coef_[0, 0] = 1.0
        assert machine.coef_[0, 0] != 1.0


def test_what_is_written_to_the_inner_coefficients_is_what_predict_goes_by():
    machine = SVC(kernel="linear").fit(X, y)
    before = machine.predict(X)
    coef = machine._dual_coef_
    intercept = machine._intercept_
    machine._dual_coef_, machine._intercept_ = -coef, -intercept
    assert (machine.predict(X) != before).all()
    machine._dual_coef_, machine._intercept_ = coef, intercept
    np.testing.assert_array_equal(machine.predict(X), before)
    for kernel in ("linear", "rbf"):  # w of a linear kernel follows
        pairs = SVC(kernel=kernel, decision_function_shape="ovo").fit(X, y)
        values_before = pairs.decision_function(X)
        pairs._dual_coef_, pairs._intercept_ = 2.0 * pairs._dual_coef_, 2.0 * pairs._intercept_
        np.testing.assert_allclose(pairs.decision_function(X), 2.0 * values_before, rtol=1e-6, atol=1e-6)
    machine._n_support[0] += 1
    with pytest.raises(qpsvm.DataError, match="internal representation of SVC was altered"):
        machine.predict(X)


def test_shapes_of_linear_machines():
    machine = LinearSVC().fit(X, y)
    assert machine.coef_.shape == (3, 4)
    assert machine.intercept_.shape == (3,)
    assert type(machine.n_iter_) is int
    machine.sparsify()
    np.testing.assert_allclose(machine.decision_function(X), X @ machine.coef_.toarray().T + machine.intercept_)
    assert LinearSVC().fit(X2, y2).coef_.shape == (1, 4)
    regressor = LinearSVR().fit(XR, t)
    assert regressor.coef_.shape == (4,)
    assert regressor.intercept_.shape == (1,)


def test_types_of_n_iter_and_offset():
    assert SVC().fit(X, y).n_iter_.shape == (3,)
    assert SVC().fit(X, y).n_iter_.dtype == np.int32
    assert {type(fitted(kind).n_iter_) for kind in (SVR, NuSVR, OneClassSVM)} == {int}
    machine = OneClassSVM(nu=0.2).fit(X)
    np.testing.assert_array_equal(machine.offset_, -machine.intercept_)
    np.testing.assert_allclose(machine.score_samples(X) - machine.offset_, machine.decision_function(X), atol=1e-12)
    assert np.mean(machine.predict(X) == -1) <= 0.2
    np.testing.assert_array_equal(machine.fit_predict(X), machine.predict(X))


def test_rules_of_gamma():
    d = X.shape[1]
    assert SVC(gamma="scale").fit(X, y)._gamma == pytest.approx(1.0 / (d * X.var()))
    assert SVC(gamma="scale").fit(sp.csr_array(X), y)._gamma == pytest.approx(1.0 / (d * X.var()))
    assert SVC(gamma="auto").fit(X, y)._gamma == 1.0 / d
    with pytest.warns(DegenerateWarning):
        assert SVC(gamma="scale").fit(np.ones((4, 2)), [0, 1, 0, 1])._gamma == 1.0
    with pytest.warns(DegenerateWarning, match="w is 0"):
        flat = SVC(gamma=0.0).fit(X, y)  # K is 1 everywhere: one label for all samples
    with pytest.warns(DegenerateWarning):
        power = SVC(kernel="poly", degree=0).fit(X, y)  # the same kernel
    np.testing.assert_array_equal(power.decision_function(X), flat.decision_function(X))
    assert flat.gap_ <= 1e-6
    assert len(np.unique(flat.predict(X))) == 1


@for_each("kind", ALL)
def test_sparse_samples_are_dense_ones(kind):
    own, _ = data(kind)
    long_indices = sp.csr_array(own)
    for part in ("indices", "indptr"):
        setattr(long_indices, part, getattr(long_indices, part).astype(np.int64))
    dense = fitted(kind)
    sparse = fitted(kind, X=long_indices)
    np.testing.assert_array_equal(values(sparse, sp.coo_array(own)), values(dense, own))
    np.testing.assert_array_equal(values(sparse, own), values(dense, own))
    if kind in WITH_KERNEL:
        assert sp.issparse(sparse.support_vectors_)
        assert sp.issparse(sparse.dual_coef_)
        np.testing.assert_array_equal(sparse.dual_coef_.toarray(), dense.dual_coef_)
        with pytest.raises(ValueError, match=r"sparse input in .* trained on dense data"):
            dense.predict(sp.csr_array(own))


def test_many_sparse_samples_stay_sparse(monkeypatch):
    monkeypatch.setattr("qpsvm.estimators.samples.MAX_DENSE_SIZE", 10)
    for kind in (SVC, LinearSVC, SVR):
        own, target = data(kind)
        sparse = kind().fit(sp.csr_array(own), target)
        np.testing.assert_allclose(values(sparse, sp.csr_array(own)), values(kind().fit(own, target), own), atol=1e-6)


def test_single_precision_is_kept_where_nothing_is_computed_with_it():
    single = X.astype(np.float32)
    machine = SVC().fit(single, y)
    assert machine.support_vectors_.dtype == np.float32
    np.testing.assert_array_equal(machine.support_vectors_, single[machine.support_])
    assert machine.decision_function(single).dtype == machine.dual_coef_.dtype == np.float64
    np.testing.assert_array_equal(machine.predict(single), SVC().fit(single.astype(np.float64), y).predict(single))


def test_equal_sums_of_kernel_values_are_ties():
    """Far from all samples f is the intercept, which is 0 for two classes of one size: `predict` takes the later one
    and the scores the first, as in scikit-learn; break_ties makes them one."""
    rows = np.r_[0:4, 4:8, 8:11]
    samples = np.arange(11.0)[:, None] * 10.0
    labels = np.repeat([0, 1, 2], [4, 4, 3])
    machine = SVC(gamma=1e4).fit(samples[rows], labels)
    far = np.array([[5.0], [1e3]])
    assert (machine.predict(far) == 1).all()
    assert (machine.decision_function(far).argmax(axis=1) == 0).all()
    machine.set_params(break_ties=True)
    assert (machine.predict(far) == 0).all()


@for_each("options", [{"kernel": "rbf"}, {"kernel": "linear", "backend": "cvxopt"}])
def test_what_is_held_is_what_was_certified(options):
    """A coefficient of 1e-17 beside others of 1 is left out before the gap is certified, or not at all."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [2.5]])
    y = [0, 0, 1, 1, 0]
    machine = SVC(C=1.0, **options).fit(X, y, sample_weight=[1.0, 1.0, 1.0, 1.0, 1e-17])
    certified = machine._solution.coef.toarray()
    assert np.array_equal(machine.dual_coef_, certified[:, machine.support_])
    assert np.count_nonzero(certified) == np.count_nonzero(machine.dual_coef_)
    if "backend" in options:
        assert 4 not in machine.support_
        assert machine.result_.backend == "cvxopt"
