"""`solve_path`: one machine for many parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_moons

import qpsvm
from qpsvm import path

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
    results = qpsvm.solve_path(qpsvm.CSVM(X, Y, kernel=many), [0.1, 1.0, 3.0, 10.0])
    assert all(result.status == "optimal" for result in results)
    assert once.values >= len(X) ** 2
    assert many.values < 0.6 * len(results) * once.values  # each certificate evaluates f anew


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_what_is_shared_is_the_matrix_that_a_problem_of_its_own_has(psd):
    machine = qpsvm.CSVM(X, Y, kernel=qpsvm.Sigmoid(0.5, 0.1), psd=psd)
    for C, result in zip([0.1, 1.0], qpsvm.solve_path(machine, [0.1, 1.0]), strict=True):
        alone = qpsvm.solve(qpsvm.CSVM(X, Y, C, qpsvm.Sigmoid(0.5, 0.1), psd=psd))
        assert result.primal == pytest.approx(alone.primal, rel=2e-6)


def test_an_interrupt_ends_the_path(monkeypatch):
    problem, calls = qpsvm.CSVM(X, Y), []
    stopped = replace(qpsvm.solve(problem), status=qpsvm.Status.INTERRUPTED)
    monkeypatch.setattr(path, "solve", lambda problem, **_: calls.append(problem) or stopped)
    with pytest.raises(KeyboardInterrupt):
        qpsvm.solve_path(problem, [0.1, 1.0, 10.0])
    assert len(calls) == 1


def test_what_has_no_path():
    with pytest.raises(qpsvm.UnsupportedError, match="HardMargin has none"):
        qpsvm.solve_path(qpsvm.HardMargin(X, Y), [1.0])
    for values in ([], [0.0], [np.inf], [-1.0]):
        with pytest.raises(qpsvm.ParameterError, match="positive and finite"):
            qpsvm.solve_path(qpsvm.CSVM(X, Y), values)
    with pytest.raises(qpsvm.ParameterError, match="must be a vector"):
        qpsvm.solve_path(qpsvm.CSVM(X, Y), 1.0)
