"""Where scikit-learn's solution is optimal enough to say, ours gives its values and its predictions."""

from __future__ import annotations

import pytest
from agreement import OPTIMAL_GAP, VALUE_TOL, compare

#: Rows of each data set here; `tests/tools/agreement.py` takes all, and many more parameters.
FEW_ROUNDINGS = 90
FITS = [
    *(("SVC", name, {"C": C, "kernel": kernel, "coef0": 1.0})
      for name, kernel, C in (("iris", "linear", 1.0), ("wine", "poly", 0.1), ("digits", "rbf", 10.0),
                              ("breast_cancer", "rbf", 1.0), ("breast_cancer", "linear", 0.1))),
    *(("NuSVC", name, {"nu": 0.3, "kernel": kernel}) for name, kernel in (("iris", "rbf"), ("wine", "rbf"))),
    *(("SVR", "diabetes", {"C": 10.0, "epsilon": 0.3, "kernel": kernel}) for kernel in ("linear", "rbf")),
    ("NuSVR", "diabetes", {"C": 1.0, "nu": 0.4}),
    *(("OneClassSVM", name, {"nu": 0.3}) for name in ("iris", "digits")),
    *(("LinearSVC", "wine", {"loss": loss, "C": 1.0, "intercept_scaling": 1.0}) for loss in ("hinge", "squared_hinge")),
    *(("LinearSVR", "diabetes", {"loss": loss, "C": 1.0, "epsilon": 0.1, "intercept_scaling": 1.0})
      for loss in ("epsilon_insensitive", "squared_epsilon_insensitive")),
]  # fmt: skip


@pytest.mark.parametrize(("estimator", "name", "given"), FITS, ids=[f"{e}-{n}-{i}" for i, (e, n, _) in enumerate(FITS)])
def test_values_and_predictions_are_scikit_learns(estimator, name, given):
    """Its α goes through our certificate: values differ by 1e-4 at most, or by what its gap and a free b explain."""
    record = compare(name, estimator, given, FEW_ROUNDINGS)
    assert record.gap <= OPTIMAL_GAP
    assert record.unexplained == 0
    assert record.wrong == 0
    if estimator in ("SVC", "SVR", "OneClassSVM"):
        assert record.theirs <= 1e-4
        assert record.difference <= VALUE_TOL
