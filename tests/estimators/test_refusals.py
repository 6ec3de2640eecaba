"""What is refused: in this library's errors, which are ValueError or TypeError too, with scikit-learn's words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from kinds import ALL, CLASSIFIERS, WITH_KERNEL, X2, XR, X, data, fitted, t, y

import qpsvm
from qpsvm.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM


@for_each(
    "machine, parameters, nearest",
    [
        (SVC, {"kernel": "rfb"}, "'rbf'"),
        (SVC, {"gamma": "scaled"}, "'scale'"),
        (SVC, {"backend": "cvxpt"}, "'cvxopt'"),
        (SVC, {"decision_function_shape": "ovr "}, "'ovr'"),
        (SVC, {"multi_class": "crammer-singer"}, "'crammer_singer'"),
        (SVC, {"class_weight": "balance"}, "'balanced'"),
        (LinearSVC, {"loss": "squared-hinge"}, "'squared_hinge'"),
        (LinearSVR, {"loss": "epsilon_insensitve"}, "'epsilon_insensitive'"),
        (SVC, {"psd": "clipped"}, "'clip'"),
    ],
)
def test_a_word_that_is_none_names_the_nearest(machine, parameters, nearest):
    with pytest.raises(qpsvm.UnknownOptionError, match=f"did you mean .*{nearest}") as caught:
        machine(**parameters).fit(X, y)
    assert isinstance(caught.value, ValueError)


def test_a_parameter_that_is_none_names_the_nearest():
    with pytest.raises(ValueError, match=r"Invalid parameter 'gama'.*did you mean 'gamma'"):
        SVC().set_params(gama=1.0)
    with pytest.raises(TypeError):
        SVC(gama=1.0)
    assert SVC().set_params(gamma=1.0).get_params()["gamma"] == 1.0


@for_each(
    "machine, parameters, error",
    [
        (SVC, {"C": 0.0}, ValueError),
        (SVC, {"C": -1}, ValueError),
        (SVC, {"C": "1"}, TypeError),
        (SVC, {"C": np.nan}, ValueError),
        (SVC, {"gamma": -1.0}, ValueError),
        (SVC, {"kernel": "poly", "degree": -1}, ValueError),
        (SVC, {"kernel": "poly", "degree": "2"}, TypeError),
        (SVC, {"coef0": None}, TypeError),
        (SVC, {"max_iter": 0}, ValueError),
        (SVC, {"max_iter": 1.5}, TypeError),
        (SVC, {"time_limit": -1.0}, ValueError),
        (SVC, {"cache_size": 0}, ValueError),
        (SVC, {"tol": 0}, ValueError),
        (SVC, {"shrinking": "yes"}, TypeError),
        (SVC, {"random_state": "a"}, TypeError),
        (LinearSVC, {"random_state": -1}, ValueError),
        (LinearSVR, {"random_state": np.random.default_rng(0)}, ValueError),
        (SVC, {"n_jobs": 0}, TypeError),
        (SVC, {"break_ties": "no"}, TypeError),
        *((machine, {"constraints": rows}, ValueError) for machine in (SVC, SVR) for rows in (0, "", np.ones(2))),
        (NuSVC, {"nu": 0.0}, ValueError),
        (NuSVC, {"nu": 1.1}, ValueError),
        (NuSVC, {"fit_intercept": False}, NotImplementedError),
        (NuSVR, {"fit_intercept": False}, NotImplementedError),
        (SVR, {"epsilon": -0.1}, ValueError),
        (LinearSVC, {"loss": "hinge", "dual": False}, ValueError),
        (LinearSVC, {"intercept_scaling": 0.0}, ValueError),
        (LinearSVR, {"dual": False}, ValueError),
        (OneClassSVM, {"nu": 0.0}, ValueError),
    ],
)
def test_parameters_out_of_their_range(machine, parameters, error):
    estimator = machine(**parameters)  # scikit-learn's way: nothing is checked before fit
    with pytest.raises(error) as caught:
        estimator.fit(X, y)
    assert isinstance(caught.value, qpsvm.QPSVMError)


@for_each("kind", ALL)
def test_samples_that_cannot_be_used(kind):
    own, target = data(kind)
    with_nan = own.copy()
    with_nan[0, 0] = np.nan
    cases = [
        (with_nan, target, "contains NaN"),
        (own[:, 0], target, "Expected 2D array"),
        (own[:0], None if target is None else target[:0], "0 sample"),
        (own * 1e300, target, "dual coefficients or intercepts are not finite"),
        (own * 1j, target, "Complex data not supported"),
    ]
    if target is not None:
        cases += [(own, target[:-1], "inconsistent numbers of samples"), (own, None, "requires y to be passed")]
    for samples, labels, words in cases:
        with pytest.raises(ValueError, match=words) as caught:
            kind().fit(samples, labels)
        assert isinstance(caught.value, qpsvm.QPSVMError)
    with pytest.raises(ValueError, match=r"incompatible shapes|1D array"):
        kind().fit(own, target, sample_weight=np.ones(3))
    estimator = fitted(kind)
    with pytest.raises(ValueError, match="features, but"):
        estimator.predict(own[:, :2])


def test_labels_that_cannot_be_used():
    for kind in CLASSIFIERS:
        with pytest.raises(ValueError, match="number of classes has to be greater than one"):
            kind().fit(X, np.zeros(len(X), dtype=int))
        with pytest.raises(ValueError, match="Unknown label type"):
            kind().fit(X, X[:, 0])
        with pytest.raises(qpsvm.DataError, match=r"Unknown label type.*y holds objects: .*y\.astype\(int\)"):
            kind().fit(X, np.array([1, 2.5, "a"] * 20, dtype=object)[: len(X)])


def test_text_names_the_argument_that_holds_it():
    words = ["a"] * len(X)
    for arguments, name in [((np.tile("a", X.shape), y), "X"), ((X, words), "y"), ((X, t, words), "sample_weight")]:
        with pytest.raises(qpsvm.DataError, match=rf"could not convert string.*{name} holds text: encode it"):
            SVR().fit(*arguments)


@for_each("kind", WITH_KERNEL)
def test_kernels_given_as_matrices_and_functions(kind):
    own, target = data(kind)
    own = own + 3.0  # or the origin is among the samples, and no plane has those of a one-class machine on one side
    K = own @ own.T
    linear = kind(kernel="linear", tol=1e-9).fit(own, target)
    called = kind(kernel=lambda A, B: A @ B.T, tol=1e-9).fit(own, target)
    np.testing.assert_allclose(called.dual_coef_.sum(), linear.dual_coef_.sum(), atol=1e-4)
    given = kind(kernel="precomputed", tol=1e-9).fit(K, target)
    assert given.support_vectors_.shape == (0, 0)
    if kind.__name__ != "SVDD":
        np.testing.assert_allclose(given.predict(K[:5]), called.predict(own[:5]), atol=1e-9)
    with pytest.raises(ValueError, match="must be a square matrix"):
        kind(kernel="precomputed").fit(K[:, :-1], target)
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        kind(kernel="precomputed").fit(sp.csr_array(K), target)
    every_second = given.__class__(kernel="precomputed", tol=1e-9).fit(np.repeat(K, 2, axis=1)[:, ::2], target)
    np.testing.assert_array_equal(every_second.dual_coef_, given.dual_coef_)  # any strides
    with pytest.raises(ValueError, match="the kernel <lambda> returned shape"):
        kind(kernel=lambda A, _: A).fit(own, target)
    with pytest.raises(ValueError, match="the kernel <lambda> returned nan for row 0"):
        kind(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(own, target)
    with pytest.raises(ValueError, match="the kernel <lambda> returned has a masked entry"):
        kind(kernel=lambda A, B: np.ma.masked_greater(A @ B.T, 3.0)).fit(own, target)


def test_words_and_flags_of_numpy_are_those_of_python():
    """As `GridSearchCV` takes them from an array."""
    for machine, parameters in (
        (SVC, {"kernel": "poly", "gamma": "auto", "class_weight": "balanced", "decision_function_shape": "ovo"}),
        (LinearSVC, {"loss": "hinge", "penalty": "l2", "dual": True, "multi_class": "ovr"}),
    ):
        of_numpy = {name: np.array([value])[0] for name, value in parameters.items()}
        one, other = machine(**parameters).fit(X, y), machine(**of_numpy).fit(X, y)
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    with pytest.raises(ValueError, match="not supported"):
        LinearSVC(loss="hinge", dual=np.bool_(False)).fit(X, y)
    with pytest.raises(ValueError, match="dual is 1"):
        LinearSVC(dual=1).fit(X, y)


def test_an_infinite_penalty():
    separable = X[y < 2], y[y < 2]
    hard, large = (SVC(C=C, kernel="linear").fit(*separable) for C in (np.inf, 1e8))
    np.testing.assert_allclose(hard.decision_function(X), large.decision_function(X), atol=1e-5)
    with pytest.raises(qpsvm.NotSeparableError):
        SVC(C=np.inf, kernel="linear").fit(X2, np.arange(len(X2)) % 2)
    within, large = (SVR(C=C, gamma=2.0, epsilon=0.05).fit(XR, t) for C in (np.inf, 1e10))
    assert np.abs(within.predict(XR) - t).max() <= 0.05 + 1e-6
    np.testing.assert_allclose(within.predict(XR), large.predict(XR), rtol=1e-5)
    with pytest.raises(ValueError, match="no f keeps every sample within its tube"):
        SVR(C=np.inf, kernel="linear", epsilon=0.01).fit(XR, t)
