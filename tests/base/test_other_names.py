"""Names that users of scikit-learn and SciPy guess are errors that say what to write."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from sklearn import svm

import qpsvm
from qpsvm import estimators
from qpsvm.base.other_names import ESTIMATORS, PROBLEM_HINTS, RESULT_HINTS

X, Y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]]), np.array([0, 0, 1, 1])


@pytest.fixture(scope="module")
def result() -> qpsvm.SVMResult:
    return qpsvm.solve(qpsvm.CSVM(X, Y))


def test_fitted_attributes_of_scikit_learn_are_answered(result):
    fitted = svm.SVC(kernel="linear").fit(X, Y)
    guessed = [name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")]
    answered = [name for name in guessed if name in RESULT_HINTS]
    assert {*guessed} - {*answered} <= {"class_weight_", "shape_fit_", "fit_status_", "feature_names_in_",
                                        "n_features_in_", "probA_", "probB_"}  # fmt: skip
    for name in answered:
        with pytest.raises(AttributeError, match=r"result\."):
            getattr(result, name)


@for_each("table, thing", [(RESULT_HINTS, "result"), (PROBLEM_HINTS, "problem")])
def test_no_answer_hides_an_attribute(result, table, thing):
    found = {"result": result, "problem": result.problem}[thing]
    assert not {*table} & {*dir(found)}
    for name in table:
        assert getattr(found, name, None) is None


def test_an_attribute_that_nobody_knows_is_an_ordinary_error(result):
    with pytest.raises(AttributeError, match="'SVMResult' object has no attribute 'supprt'"):
        _ = result.supprt
    with pytest.raises(qpsvm.AbsentError, match="radius is no variable"):  # the error of a property is its own
        _ = result.radius
    assert pickle.loads(pickle.dumps(result)).b == result.b
    assert copy.copy(result.problem).n == 4


@for_each(
    "arguments, answer",
    [
        ({"kernel": "rbf", "gamma": 0.1}, r"kernel=qpsvm\.RBF\(gamma=0\.1\)"),
        ({"kernel": "poly", "degree": 2, "coef0": 1.0}, r"kernel=qpsvm\.Polynomial\(degree=2, coef0=1\.0\)"),
        ({"gamma": 0.1}, r"kernel=qpsvm\.RBF\(gamma=0\.1\)"),
        ({"tol": 1e-9}, r"qpsvm\.solve\(problem, …\)"),
        ({"nu": 0.5}, "NuSVM"),
        ({"lam": 0.5}, "PrimalHinge"),
        ({"class_weigth": "balanced"}, "did you mean 'class_weight'"),
        ({"colour": 1}, "known: C, X, class_weight"),
    ],
)
def test_an_argument_of_another_library_is_answered(arguments, answer):
    with pytest.raises(qpsvm.UnknownOptionError, match=answer):
        qpsvm.CSVM(X, Y, **arguments)


def test_the_kernel_that_an_error_names_is_right():
    assert qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(gamma=0.1)).kernel.gamma == 0.1


def test_estimators_are_named_by_the_package():
    names = {*estimators.__all__} - {*qpsvm.__all__}
    assert {name for name in names if name[0].isupper() and not name.endswith("Warning")} == {*ESTIMATORS}
    with pytest.raises(AttributeError, match=r"from qpsvm\.estimators import SVC"):
        _ = qpsvm.SVC


def test_dir_of_the_package_is_what_is_public():
    late = {"Playground", "derivation", "estimators", "patch_sklearn", "unpatch_sklearn"}  # not imported by `import *`
    assert {name for name in dir(qpsvm) if not name.startswith("__")} == {*qpsvm.__all__, *late} - {"__version__"}


@for_each("make", [np.asarray, sp.csr_array])
@for_each("kernel", [qpsvm.Linear(), qpsvm.RBF(1.0)])
def test_support_vectors_are_the_samples(make, kernel):
    problem = qpsvm.CSVM(make(X), Y, kernel=kernel)
    result = qpsvm.solve(problem)
    found = result.support_vectors
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, X[result.support])
    fitted = svm.SVC(kernel="rbf" if isinstance(kernel, qpsvm.RBF) else "linear", gamma=1.0, tol=1e-8).fit(X, Y)
    np.testing.assert_array_equal(X[result.support], fitted.support_vectors_)


def test_support_vectors_of_a_ranking_are_samples_of_its_pairs():
    result = qpsvm.solve(qpsvm.Ranking(X, [0.0, 1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(result.support_vectors, X[result.coef != 0.0])
