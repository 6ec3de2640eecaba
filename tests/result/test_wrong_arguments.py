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


def test_results_of_other_variables_have_no_derivatives():
    other = qpsvm.EpsilonSVR(X, X[:, 0])
    for ask in (lambda: RESULT.sensitivity(other), lambda: qpsvm.vjp(RESULT, b=1.0, problem=other)):
        with pytest.raises(qpsvm.DataError, match="result has the classes"):
            ask()


def test_results_of_other_samples_have_no_derivatives():
    for other in (qpsvm.CSVM(2.0 * X, Y), qpsvm.CSVM(X, Y[::-1]), qpsvm.CSVM(X, Y, sample_weight=[1, 1, 2, 1])):
        for ask in (lambda: RESULT.sensitivity(other), lambda: qpsvm.vjp(RESULT, b=1.0, problem=other)):  # noqa: B023
            with pytest.raises(qpsvm.DataError, match="other samples"):
                ask()


def test_solutions_that_a_problem_cannot_read():
    fewer = qpsvm.CSVM(X[:-1], Y[:-1])
    for form in ("dual", "primal"):
        foreign = qpsvm.compile(fewer.qp(form), "cvxopt").solve()
        with pytest.raises(qpsvm.DataError, match="this problem's own QP"):
            PROBLEM.read(foreign, form)
        with pytest.raises(qpsvm.UnknownOptionError, match="form"):
            PROBLEM.read(foreign, "both")
    own = qpsvm.compile(PROBLEM.qp("primal"), "cvxopt").solve()
    with pytest.raises(qpsvm.DataError, match="form 'primal'"):
        PROBLEM.read(own, "dual")
    for solution in (None, own.x, RESULT):
        with pytest.raises(qpsvm.ParameterTypeError, match="solution must be"):
            PROBLEM.read(solution, "dual")


@pytest.mark.parametrize("value", [np.ones(2), np.zeros((1, 2)), [], "x"], ids=repr)
def test_arrays_and_text_for_single_values(value):
    for ask in (
        lambda: PROBLEM.certify(RESULT.alpha, tol=value),
        lambda: qpsvm.exact_path(PROBLEM, [value], 1.0, 2.0),
        lambda: qpsvm.compare(PROBLEM, [[value]]),
        lambda: qpsvm.derive(PROBLEM, RESULT, proven=value),
        lambda: qpsvm.open_rows(X, sparse=value),
        lambda: qpsvm.open_rows(X, block_rows=value),
        lambda: qpsvm.open_rows(X, block_rows=1.5),
    ):
        with pytest.raises(qpsvm.QPSVMError, match="must be") as caught:
            ask()
        assert isinstance(caught.value, TypeError)
