"""Warm starts: they change the time and not the answer."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

import qpsvm
from qpsvm import CSVM, RBF, DataError, HardMargin, NuSVM, PrimalHinge, UnsupportedError, solve

X, Y = make_moons(400, noise=0.25, random_state=0)
K = RBF(1.0)


def build_neighbours() -> dict[str, tuple[qpsvm.Problem, qpsvm.Problem]]:
    """Build pairs of problems whose solutions are near each other; nothing of them is known yet."""
    return {
        "C, kernel": (CSVM(X, Y, 1.0, K), CSVM(X, Y, 1.3, K)),
        "C, linear": (CSVM(X, Y, 1.0), CSVM(X, Y, 0.7)),
        "gamma": (CSVM(X, Y, 1.0, K), CSVM(X, Y, 1.0, RBF(1.1))),
        "lambda": (PrimalHinge(X, Y, 0.01), PrimalHinge(X, Y, 0.02)),
        "penalised": (PrimalHinge(X, Y, 0.01, intercept="penalised"), PrimalHinge(X, Y, 0.02, intercept="penalised")),
        "nu": (NuSVM(X, Y, 0.5, K), NuSVM(X, Y, 0.52, K)),
        "nu to C": (NuSVM(X, Y, 0.5, K), CSVM(X, Y, 1.0, K)),
        "C to nu": (CSVM(X, Y, 1.0, K), NuSVM(X, Y, 0.5, K)),
        "fewer rows": (CSVM(X[:200], Y[:200], 1.0, K), CSVM(X, Y, 1.0, K)),
        "fewer rows, linear": (CSVM(X[:200], Y[:200], 1.0), CSVM(X, Y, 1.0)),
        "weights": (CSVM(X, Y, 1.0, K), CSVM(X, Y, 1.0, K, sample_weight=np.arange(400) % 3)),
        "soft to hard": (CSVM(X, Y, 1e4, RBF(20.0)), HardMargin(X, Y, RBF(20.0))),
    }


NEIGHBOURS = build_neighbours()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["auto", "osqp"])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_start_changes_the_time_and_not_the_answer(name, backend):
    before, problem = NEIGHBOURS[name]
    near = solve(before)
    warm = solve(problem, backend, start=near)
    cold = solve(problem)
    assert warm.status == cold.status == "optimal"
    assert warm.primal == pytest.approx(cold.primal, rel=2e-6)


@pytest.mark.parametrize(("name", "backend"), [("C, kernel", "kernel_newton"), ("C, linear", "augmented_lagrangian")])
def test_the_fast_solvers_take_fewer_steps_from_a_start(name, backend):
    before, problem = build_neighbours()[name]
    assert solve(problem, backend, start=solve(before)).iterations < solve(problem, backend).iterations
    again = solve(before, backend, start=solve(before))
    assert again.gap <= 1e-12
    assert (again.iterations or 0) <= 2


def test_osqp_takes_fewer_steps_from_a_start():
    problem = NEIGHBOURS["C, linear"][0]
    cold = solve(problem, "osqp", form="dual", polish=False, check=False)
    warm = solve(problem, "osqp", form="dual", polish=False, check=False, start=solve(problem))
    assert warm.iterations < cold.iterations / 2


def test_a_start_may_be_any_alpha():
    problem = NEIGHBOURS["C, kernel"][1]
    for start in (np.zeros(400), np.full(400, 7.0), list(range(400)), -np.ones(400)):
        assert solve(problem, start=start).status == "optimal"


def test_a_compiled_qp_takes_a_start_in_its_own_units():
    problem = NEIGHBOURS["C, linear"][0]
    result = solve(problem)
    answer = qpsvm.compile(problem.qp("dual"), "dual_ascent").solve(start=result.alpha, max_iter=5)
    assert answer.objective == pytest.approx(-result.dual, rel=1e-9)


def test_a_start_that_makes_no_sense_is_refused():
    problem = NEIGHBOURS["C, linear"][1]
    near = solve(problem)
    with pytest.raises(UnsupportedError, match=r"cvxopt .*cannot start at a given point; .*osqp"):
        solve(problem, "cvxopt", start=near)
    with pytest.raises(UnsupportedError, match="primal form cannot start"):
        solve(problem, "osqp", form="primal", start=near)
    with pytest.raises(DataError, match="start must be 400 finite numbers"):
        solve(problem, start=np.zeros(3))
    with pytest.raises(DataError, match="start must be 400 finite numbers"):
        solve(problem, start=np.full(400, np.nan))
    with pytest.raises(TypeError, match="start must hold real numbers"):
        solve(problem, start="warm")
    with pytest.raises(DataError, match="over 20 rows of 3 features, this problem has 400 rows of 2"):
        solve(problem, start=solve(CSVM(np.eye(20, 3), np.arange(20) % 2)))
    with pytest.raises(UnsupportedError, match="interior_point cannot start"):
        qpsvm.compile(problem.qp("dual"), "interior_point").solve(start=near.alpha)


def test_a_start_that_does_not_balance_keeps_its_split():
    """Entries inside their box take the surplus: none at a bound leaves it, on either side."""
    y = np.array([1, 1, 1, 1, -1, -1, -1, -1])
    problem = qpsvm.CSVM(np.arange(8.0)[:, None], y, C=1.0, kernel="rbf")
    for given in ([1.5, 1.0, 0.5, 0.0, 1.0, 0.6, 0.3, 0.0], [1.0, 0.2, 0.3, 0.0, 2.0, 1.0, 0.4, 0.0]):
        alpha = np.array(given)
        start = problem.start(alpha)
        assert abs(y @ start) <= 1e-15
        assert ((start == 1.0) == (alpha >= 1.0)).all()
        assert ((start == 0.0) == (alpha == 0.0)).all()


def test_a_start_that_nothing_inside_its_box_can_balance_is_feasible_all_the_same():
    y = np.array([1, 1, 1, -1, -1, -1])
    problem = qpsvm.CSVM(np.arange(6.0)[:, None], y, C=1.0, kernel="rbf")
    start = problem.start(np.array([1.0, 1.0, 0.1, 0.1, 0.0, 0.0]))
    assert abs(y @ start) <= 1e-15
    assert (start >= 0).all()
    assert (start <= 1).all()
