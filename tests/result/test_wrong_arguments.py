"""Arguments of the wrong kind, or in the wrong order: said in this library's own words."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm

X, Y = np.array([[0.0], [1.0], [3.0], [4.5]]), [0, 0, 1, 1]
PROBLEM, OTHER = qpsvm.CSVM(X, Y), qpsvm.CrammerSinger(X, Y)
RESULT, JOINT = qpsvm.solve(PROBLEM), qpsvm.solve(OTHER)
PATH = qpsvm.exact_path(PROBLEM, "C", 0.05, 1.0)


@pytest.mark.parametrize("problem", [5, "x", X, qpsvm.CSVM, RESULT, lambda: 3])
def test_what_is_no_problem(problem):
    for ask in (
        lambda: RESULT.decision_bounds(X, problem=problem),
        lambda: RESULT.proven(X, problem=problem),
        lambda: RESULT.build_near_function(problem),
        lambda: RESULT.sensitivity(problem),
        lambda: RESULT.verify(problem),
        lambda: JOINT.decision_bounds(X, problem=problem),
    ):
        with pytest.raises(qpsvm.ParameterTypeError, match="problem must be what was solved"):
            ask()


def test_problems_of_another_kind():
    for ask in (
        lambda: RESULT.decision_bounds(X, problem=OTHER),
        lambda: JOINT.decision_bounds(X, problem=PROBLEM),
        lambda: RESULT.sensitivity(OTHER),
        lambda: RESULT.verify(OTHER),
        lambda: RESULT.verify(tol="x"),
        lambda: JOINT.verify(tol="x"),
    ):
        with pytest.raises(qpsvm.ParameterTypeError, match="must be"):
            ask()


@pytest.mark.parametrize("values", ["x", None, 1j, [[0.1]], X, ["x"]], ids=repr)
def test_values_of_a_path_that_are_no_numbers(values):
    with pytest.raises(qpsvm.ParameterTypeError, match="C must be a number"):
        PATH.decision(X, values)


def test_values_that_are_no_array():
    with pytest.raises(qpsvm.DataError, match="C cannot be read as an array"):
        PATH.decision(X, [[0.1], [0.2, 0.3]])
