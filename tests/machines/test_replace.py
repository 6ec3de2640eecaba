"""`replace`: the same problem with another parameter; and the same machine over some of its samples."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from each import for_each
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.base.errors import InfeasibleNuError
from qpsvm.machines.problem.derived_problems import get_parameters, restrict_to_rows

X, Y = make_moons(40, noise=0.2, random_state=1)
PROBLEMS = {
    "c": (qpsvm.CSVM(X, Y, 2.0, "rbf"), {"C": 5.0}, lambda: qpsvm.CSVM(X, Y, 5.0, "rbf")),
    "c-each": (qpsvm.CSVM(X, Y, kernel="rbf"), {"C": np.arange(1.0, 41.0)},
               lambda: qpsvm.CSVM(X, Y, np.arange(1.0, 41.0), "rbf")),
    "nu": (qpsvm.NuSVM(X, Y, 0.2, "rbf"), {"nu": 0.4}, lambda: qpsvm.NuSVM(X, Y, 0.4, "rbf")),
    "lam": (qpsvm.PrimalHinge(X, Y, 0.2, intercept=None), {"lam": 0.4},
            lambda: qpsvm.PrimalHinge(X, Y, 0.4, intercept=None)),
    "gamma": (qpsvm.CSVM(X, Y, 2.0, "rbf"), {"gamma": 3.0}, lambda: qpsvm.CSVM(X, Y, 2.0, qpsvm.RBF(3.0))),
    "both": (qpsvm.CSVM(X, Y, 2.0, "rbf"), {"gamma": 3.0, "C": 1.0}, lambda: qpsvm.CSVM(X, Y, 1.0, qpsvm.RBF(3.0))),
    "kernel": (qpsvm.CSVM(X, Y, 2.0, "rbf"), {"kernel": "linear"}, lambda: qpsvm.CSVM(X, Y, 2.0)),
    "new-kernel": (qpsvm.CSVM(X, Y), {"kernel": "poly", "degree": 2},
                   lambda: qpsvm.CSVM(X, Y, kernel=qpsvm.Polynomial(2))),
}  # fmt: skip


@for_each("name", PROBLEMS)
def test_it_is_what_a_problem_of_its_own_is(name):
    problem, changes, alone = PROBLEMS[name]
    before = get_parameters(problem)
    title = problem.title
    new = problem.replace(**changes)
    own = alone()
    assert type(new) is type(problem)
    assert new.title == own.title
    assert new.samples is problem.samples
    assert qpsvm.solve(new).primal == pytest.approx(qpsvm.solve(own).primal, rel=2e-6)
    assert (new.space is problem.space) == (not {"gamma", "kernel"} & set(changes))
    assert problem.title == title
    assert get_parameters(problem) == before


def test_a_hard_margin_forgets_its_hulls():
    problem = qpsvm.HardMargin(X, Y, kernel=qpsvm.RBF(0.01))
    with pytest.raises(qpsvm.NotSeparableError):
        qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0]))
    qpsvm.solve(problem, check=False, time_limit=1.0)
    assert qpsvm.solve(problem.replace(gamma=50.0)).status == "optimal"


def test_what_it_refuses():
    problem = PROBLEMS["c"][0]
    with pytest.raises(qpsvm.UnknownOptionError, match="did you mean 'gamma'"):
        problem.replace(gama=1.0)
    with pytest.raises(qpsvm.UnknownOptionError, match="no parameter 'gamma'"):
        problem.replace(kernel="linear", gamma=1.0)
    with pytest.raises(qpsvm.ParameterError, match="C must be positive"):
        problem.replace(C=-1.0)
    with pytest.raises(InfeasibleNuError):
        qpsvm.NuSVM(X[:11], Y[:11], 0.1).replace(nu=1.0)


@for_each("kernel", [qpsvm.RBF(1.0), "linear", qpsvm.Polynomial(2, 1.0, 1.0), "precomputed"])
def test_some_of_the_samples_have_their_part_of_the_gram_matrix(kernel):
    samples = X @ X.T if kernel == "precomputed" else X
    weight = np.linspace(0.0, 2.0, 40)  # the first takes no part
    problem = qpsvm.CSVM(samples, Y, np.linspace(1.0, 2.0, 40), kernel, weight)
    if kernel != "linear":
        problem.space.gram.dense()
    chosen = np.arange(1, 38, 2)
    part = restrict_to_rows(problem, chosen)
    rows = problem.active_rows[chosen]
    own = samples[np.ix_(rows, rows)] if kernel == "precomputed" else samples[rows]
    alone = qpsvm.CSVM(own, Y[rows], problem.C[rows], problem.kernel, weight[rows])
    np.testing.assert_allclose(part.space.gram.dense(), alone.space.gram.dense(), rtol=1e-12)
    np.testing.assert_array_equal(part.upper, alone.upper)
    one, other = qpsvm.solve(part.replace(C=3.0)), qpsvm.solve(alone.replace(C=3.0))
    assert one.primal == pytest.approx(other.primal, rel=2e-6)


def test_weights_follow_their_samples_into_another_order():
    weight = np.linspace(0.5, 2.0, 40)
    order = np.random.default_rng(0).permutation(40)
    part = restrict_to_rows(qpsvm.CSVM(X, Y, sample_weight=weight), order)
    np.testing.assert_array_equal(part.sample_weight, weight[order])


def test_the_bound_of_a_part_counts_the_rounding_of_the_whole():
    """Kernel values of the part were made from samples centred with all: their radius is that of the longest of all."""
    far = np.concatenate([X, [[300.0, 0.0], [-300.0, 0.0]]])
    problem = qpsvm.CSVM(far, [*Y, 0, 1], kernel=qpsvm.RBF(0.5))
    problem.space.gram.dense()
    part = restrict_to_rows(problem, np.arange(40))
    assert part.space.gram.blocks.longest == problem.space.gram.blocks.longest
    result = qpsvm.solve(part)
    exact = qpsvm.CSVM(X, Y, kernel=lambda A, B: np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(2)))
    value = qpsvm.solve(exact, tol=1e-9).primal
    assert result.dual * (1 - 1e-12) <= value * (1 + 1e-9)
    assert value * (1 - 1e-9) <= result.primal * (1 + 1e-12)


def test_a_machine_that_does_not_name_what_it_keeps_of_each_sample_is_refused():
    class Kept(qpsvm.CSVM):
        def __init__(self) -> None:
            super().__init__(X, Y)
            self.price = np.ones(40)

    with pytest.raises(qpsvm.UnsupportedError, match="price"):
        restrict_to_rows(Kept(), np.arange(20))


def test_a_part_of_a_hard_margin_forgets_the_hulls_of_the_whole():
    problem = qpsvm.HardMargin([[0.0], [1.0], [2.0], [3.0], [0.0]], [0, 1, 0, 1, 0])
    assert problem.hulls().meet
    part = restrict_to_rows(problem, np.array([0, 1, 3, 4]))
    assert not part.hulls().meet
    assert len(part.hulls().u) == 4


def test_an_equivalent_machine_is_found_where_nobody_has_asked_for_it_before():
    code = (
        "import qpsvm; p = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], C=0.1); "
        "print(p.equivalent_nu_svm(qpsvm.solve(p)).title)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "ν-SVM, ν = 0.875, kernel Linear()\n"


def test_an_equivalent_machine_has_the_same_constraints_or_none_is_given():
    """It had none of them, and the feature space with their points: it could not be solved."""
    rows = qpsvm.ValueConstraints([[3.0]], None, -1.5)
    hinge = qpsvm.PrimalHinge(X, Y, 0.1, constraints=qpsvm.Constraints([[1.0, 0.0]], 0.1))
    median = qpsvm.QuantileSVR(X[:, :1], X[:, 1], constraints=rows)
    for problem, turn in ((hinge, hinge.equivalent_c_svm), (median, median.equivalent_epsilon_svr)):
        one = qpsvm.solve(problem, tol=1e-9)
        other = qpsvm.solve(turn(), tol=1e-9)
        assert max(one.constraint_multipliers.values()) > 0.0
        np.testing.assert_allclose(other.w, one.w, atol=1e-6)
    machine = qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[1.0, 0.0]], 0.1))
    result = qpsvm.solve(machine)
    with pytest.raises(qpsvm.UnsupportedError, match="f of the NuSVM is a multiple of f of this CSVM"):
        machine.equivalent_nu_svm(result)
