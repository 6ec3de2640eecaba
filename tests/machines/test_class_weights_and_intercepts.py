"""Class weights are factors of the penalties, and a C-SVM has every intercept that the hinge loss has."""

from fractions import Fraction

import numpy as np
import pytest
from each import for_each
from judge import judge

import qpsvm
from qpsvm import CSVM, HuberHinge, NuSVM, PrimalHinge, SquaredHinge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) + 0.5
Y = np.where(np.arange(40) < 28, "many", "few")
X[Y == "few", 0] += 1.0
WEIGHT = RNG.uniform(0.5, 2.0, 40)


@for_each("machine", [CSVM, NuSVM, PrimalHinge, SquaredHinge, HuberHinge])
def test_class_weights_are_factors_of_the_sample_weights(machine):
    options = {"nu": 0.3} if machine is NuSVM else {}
    given = machine(X, Y, **options, sample_weight=WEIGHT, class_weight={"few": 3.0})
    assert np.array_equal(given.sample_weight, WEIGHT * np.where(Y == "few", 3.0, 1.0))
    balanced = machine(X, Y, **options, sample_weight=WEIGHT, class_weight="balanced").sample_weight
    mass = [balanced[label == Y].sum() for label in ("few", "many")]
    assert np.allclose(mass, WEIGHT.sum() / 2)


@pytest.mark.parametrize(
    ("class_weight", "error", "says"),
    [
        ("balance", qpsvm.UnknownOptionError, "'balanced'"),
        ({"fewer": 2.0}, qpsvm.UnknownOptionError, "'few', 'many'"),
        ({"few": -1.0}, qpsvm.ParameterError, "class_weight['few']"),
        ({"few": "2"}, qpsvm.ParameterTypeError, "class_weight['few']"),
        ([1.0, 2.0], qpsvm.ParameterTypeError, "list"),
    ],
)
def test_a_class_weight_that_is_none_is_refused(class_weight, error, says):
    with pytest.raises(error) as caught:
        CSVM(X, Y, class_weight=class_weight)
    assert says in str(caught.value)


@for_each("kernel", ["linear", "rbf"])
@for_each("intercept", ["penalised", None])
def test_a_c_svm_is_the_regularised_hinge_loss_with_any_intercept(kernel, intercept):
    hinge = PrimalHinge(X, Y, 0.02, kernel, intercept, WEIGHT)
    machine = CSVM(X, Y, 1 / (0.02 * WEIGHT.sum()), kernel, WEIGHT, intercept=intercept)
    assert np.allclose(machine.C, hinge.equivalent_c_svm().C)
    reference = qpsvm.solve(hinge).decision_function(X)
    result = qpsvm.solve(machine)
    assert np.allclose(result.decision_function(X), reference, atol=1e-4)
    assert (result.b == 0.0) == (intercept is None)


def test_no_nu_svm_is_equivalent_to_a_c_svm_without_a_free_intercept():
    machine = CSVM(X, Y, intercept=None)
    with pytest.raises(qpsvm.UnsupportedError, match="free intercept"):
        machine.equivalent_nu_svm(qpsvm.solve(machine))


def test_what_cancels_in_a_kernel_with_ones_counts():
    """K + 1 is tiny where K is nearly −1, and what was rounded is as large as K."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        n = int(rng.integers(4, 9))
        scale = 10.0 ** rng.integers(-5, 0)
        kernel = qpsvm.Polynomial(1, float(10.0 ** rng.integers(-3, 1)), -1.0)
        C = float(10.0 ** rng.uniform(9, 12))
        problem = CSVM(scale * rng.normal(size=(n, 1)), np.arange(n) % 2, C, kernel, intercept="penalised")
        result = problem.at(qpsvm.solve(problem, "cvxopt", check=False, max_iter=100).alpha)
        assert judge(problem, result).gap <= Fraction(result.gap) + Fraction(1, 10**20)
