"""Scikit-learn's own checks of estimators; what is left out is what it leaves out of its own machines of that name."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from qpsvm import estimators

#: The rules of gamma="scale" look at all rows, however often and with whatever weight they are there. In scikit-learn's
#: words: "sample_weight is not equivalent to removing/repeating samples."
SCALE = {
    "check_sample_weight_equivalence_on_dense_data": "gamma='scale' is that of the rows, not of their weights",
    "check_sample_weight_equivalence_on_sparse_data": "gamma='scale' is that of the rows, not of their weights",
}
#: Scikit-learn leaves these out too ("class_weight is ignored.", "specified nu is infeasible for the fit."): with the
#: weights of these checks ν = 0.5 is infeasible, and is refused.
NU = {
    **SCALE,
    "check_class_weight_classifiers": "nu=0.5 is infeasible where one class weighs 10⁶ times as much as another",
    "check_classifiers_one_label_sample_weights": "nu=0.5 is infeasible where one class has no weight",
}
#: Of two copies one is left out, of one sample that weighs as much all; and a curve need not be ½ where f is 0.
WHOLE = {
    **dict.fromkeys(SCALE, "a sample is left out with all of its weight"),
    "check_classifiers_train": "the likeliest class of one of 200 samples is another than that of f, by `predict`",
}
#: Each estimator, and what fails of the checks with the reason.
CASES = {
    "SVC": (estimators.SVC(), SCALE),
    "SVC, precomputed": (estimators.SVC(kernel="precomputed"), {}),
    "SVC, probabilities": (estimators.SVC(probability=True), SCALE),
    "LinearSVC, probabilities": (estimators.LinearSVC(probability=True), WHOLE),
    "NuSVC": (estimators.NuSVC(), NU),
    "LinearSVC": (estimators.LinearSVC(), {}),
    "SVR": (estimators.SVR(), SCALE),
    "SVR, precomputed": (estimators.SVR(kernel="precomputed"), {}),
    "NuSVR": (estimators.NuSVR(), SCALE),
    "LinearSVR": (estimators.LinearSVR(), {}),
    "OneClassSVM": (estimators.OneClassSVM(), SCALE),
    "SVDD": (estimators.SVDD(), SCALE),
    "QuantileSVR": (estimators.QuantileSVR(), SCALE),
    "RankingSVM": (estimators.RankingSVM(), {}),
}
#: Those of the fast set.
QUICK = ("SVC", "LinearSVR")
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in CASES if name not in QUICK]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_checks_of_scikit_learn(name):
    estimator, excused = CASES[name]
    found = check_estimator(estimator, expected_failed_checks=excused, on_skip=None, on_fail=None)
    failed = {check["check_name"]: check["exception"] for check in found if check["status"] == "failed"}
    assert not failed
    assert len(found) > 30
