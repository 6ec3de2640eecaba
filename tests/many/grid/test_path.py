"""`path`: one machine for many parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.many.grid import walk

X, Y = make_moons(60, noise=0.2, random_state=0)


class Counted:
    """An RBF kernel that counts the values that it makes."""

    def __init__(self) -> None:
        self.values = 0

    def __call__(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        self.values += len(X) * len(Z)
        return np.exp(-((X[:, None] - Z) ** 2).sum(2))


def test_all_solves_share_one_gram_matrix():
    once, many = Counted(), Counted()
    qpsvm.solve(qpsvm.CSVM(X, Y, 3.0, once))
    results = qpsvm.path(qpsvm.CSVM(X, Y, kernel=many), C=[0.1, 1.0, 3.0, 10.0])
    assert all(result.status == "optimal" for result in results)
    assert once.values >= len(X) ** 2
    assert many.values < 0.6 * len(results) * once.values  # each certificate evaluates f anew


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_what_is_shared_is_the_matrix_that_a_problem_of_its_own_has(psd):
    machine = qpsvm.CSVM(X, Y, kernel=qpsvm.Sigmoid(0.5, 0.1), psd=psd)
    for C, result in zip([0.1, 1.0], qpsvm.path(machine, C=[0.1, 1.0]), strict=True):
        alone = qpsvm.solve(qpsvm.CSVM(X, Y, C, qpsvm.Sigmoid(0.5, 0.1), psd=psd))
        assert result.primal == pytest.approx(alone.primal, rel=2e-6)


def test_an_interrupt_ends_the_path(monkeypatch):
    problem = qpsvm.CSVM(X, Y)
    calls = []
    stopped = replace(qpsvm.solve(problem), status=qpsvm.Status.INTERRUPTED)
    monkeypatch.setattr(walk, "solve", lambda problem, **_: calls.append(problem) or stopped)
    with pytest.raises(KeyboardInterrupt):
        qpsvm.path(problem, C=[0.1, 1.0, 10.0])
    assert len(calls) == 1


def test_what_has_no_path():
    with pytest.raises(qpsvm.UnsupportedError, match="HardMargin has none"):
        qpsvm.path(qpsvm.HardMargin(X, Y), C=[1.0])
    for values in ([], [0.0], [np.inf], [-1.0]):
        with pytest.raises(qpsvm.ParameterError, match="positive and finite"):
            qpsvm.path(qpsvm.CSVM(X, Y), C=values)
    with pytest.raises(qpsvm.ParameterError, match="must be a vector"):
        qpsvm.path(qpsvm.CSVM(X, Y), C=1.0)


RBF = qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(1.0))
MACHINES = {
    "c": (RBF, {"C": [3.0, 0.1, 1.0, 0.3, 100.0]}),
    "c-linear": (qpsvm.CSVM(X, Y), {"C": [0.1, 1.0]}),
    "c-gamma": (RBF, {"gamma": [0.1, "scale", 3.0], "C": [10.0, 0.1]}),
    "hinge": (qpsvm.PrimalHinge(X, Y, kernel="rbf", intercept="penalised"), {"lam": [0.001, 0.1, 0.01]}),
    "nu": (qpsvm.NuSVM(X, Y, kernel="rbf"), {"nu": [0.5, 0.1]}),
    "hard": (qpsvm.HardMargin(X, Y, kernel=qpsvm.RBF(5.0)), {"gamma": [5.0, 20.0]}),
    "polynomial": (qpsvm.CSVM(X, Y, kernel=qpsvm.Polynomial(2, 1.0, 1.0)), {"degree": [1, 3], "coef0": [1.0]}),
    "weights": (qpsvm.CSVM(X, Y, np.arange(1.0, 61.0), "rbf", [*range(1, 59), 0, 0]), {"C": [0.1, 1.0, 5.0]}),
    "precomputed": (qpsvm.CSVM(X @ X.T + 1.0, Y, kernel="precomputed"), {"C": [0.1, 1.0, 10.0]}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_every_point_is_what_it_is_alone(name):
    problem, axes = MACHINES[name]
    found = qpsvm.path(problem, **axes)
    assert len(found) == np.prod([len(values) for values in axes.values()])
    assert list(found.axes) == list(axes)
    for point, result in zip(found.points, found, strict=True):
        if "C" in point and name == "weights":
            point = {"C": point["C"] * problem.C / problem.C.mean()}
        alone = qpsvm.solve(problem.replace(**point))
        assert result.status == "optimal"
        assert result.title == alone.title
        assert result.primal == pytest.approx(alone.primal, rel=2e-6)
        # ½‖w − w*‖² ≤ P(w) − D*, of either result
        apart = np.sqrt(2 * result.gap * abs(result.primal)) + np.sqrt(2 * alone.gap * abs(alone.primal))
        size = np.sqrt(problem.kernel.diagonal(problem.X) if name != "precomputed" else problem.X.diagonal())
        f, g = result.yf - result.b * problem.y, alone.yf - alone.b * problem.y
        assert (np.abs(f - g) <= apart / np.sqrt(result.unit) * size + 1e-9).all()


def test_the_order_asked_for_is_that_of_the_results_and_changes_nothing():
    up, down = qpsvm.path(RBF, C=[0.1, 1.0, 10.0]), qpsvm.path(RBF, C=[10.0, 1.0, 0.1])
    for a, b in zip(up, reversed(down), strict=True):
        np.testing.assert_array_equal(a.alpha, b.alpha)
    assert down.values.tolist() == [10.0, 1.0, 0.1]
    grid = qpsvm.path(RBF, gamma=[1.0, 0.5], C=[10.0, 0.1])
    assert grid.values.tolist() == [[1.0, 10.0], [1.0, 0.1], [0.5, 10.0], [0.5, 0.1]]
    assert grid.at(C=0.1, gamma=1.0) is grid[1]


@pytest.mark.slow
def test_processes_find_the_same():
    one, two = (qpsvm.path(RBF, gamma=[0.5, 1.0], C=[0.1, 1.0], n_jobs=jobs) for jobs in (None, 2))
    assert [r.primal for r in one] == pytest.approx([r.primal for r in two], rel=2e-6)


def test_a_path_is_a_sequence_and_a_table():
    found = qpsvm.path(RBF, C=[0.1, 1.0])
    assert found[0] is next(iter(found))
    assert found[-1:] == found.results[1:]
    assert (found.gaps <= 1e-6).all()
    assert str(found).splitlines()[0].split() == [*found.columns()]
    assert repr(found) == "<Path: 2 results; C: 2>"


def test_where_the_same_samples_are_free_nothing_is_solved():
    """α is linear in C there: the third point is foretold exactly."""
    split = qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(1.0))
    found = qpsvm.path(split, C=[1e-4, 2e-4, 4e-4])
    assert found[0].kind.tolist() == found[2].kind.tolist()
    assert found[2].iterations in (0, None)


def test_options_are_those_of_solve():
    assert {result.backend for result in qpsvm.path(RBF, C=[0.1, 1.0], backend="cvxopt")} == {"cvxopt"}
    assert (qpsvm.path(RBF, C=[0.1, 1.0], tol=1e-9).gaps <= 1e-9).all()


def test_progress_is_shown(capfd, monkeypatch):
    qpsvm.path(RBF, C=[0.1, 1.0], verbose=True)
    assert "2/2" in capfd.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    qpsvm.path(RBF, C=[0.1, 1.0], verbose=True)
    assert "2 of 2 points" in capfd.readouterr().out


WRONG = {
    "unknown": (qpsvm.UnknownOptionError, "did you mean 'C'", {"c": [1.0, 2.0]}),
    "no-option": (qpsvm.UnknownOptionError, "tol", {"C": [1.0], "tolerence": 1e-3}),
    "nothing": (qpsvm.ParameterError, "such as C=", {}),
    "negative": (qpsvm.ParameterError, "C must be positive", {"C": [1.0, -1.0]}),
    "matrix": (qpsvm.ParameterError, "C must be a vector", {"C": [[1.0]]}),
    "gamma": (qpsvm.ParameterError, "gamma", {"gamma": [0.0]}),
    "rule": (qpsvm.UnknownOptionError, "scale", {"gamma": ["scal"]}),
    "empty": (qpsvm.ParameterError, "at least one", {"gamma": []}),
    "jobs": (qpsvm.ParameterError, "n_jobs", {"C": [1.0], "n_jobs": 0}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    error, words, options = WRONG[name]
    with pytest.raises(error, match=words):
        qpsvm.path(RBF, **options)


def test_no_such_point():
    with pytest.raises(qpsvm.ParameterError, match="no point of this path has C=5"):
        qpsvm.path(RBF, C=[1.0]).at(C=5)
