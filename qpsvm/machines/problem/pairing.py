"""Whether a result can be that of a problem: what pictures and derivations check before they read both."""

from __future__ import annotations

from qpsvm.base.errors import ParameterTypeError
from qpsvm.machines import JointProblem, Problem
from qpsvm.machines.problem.reading import check_point
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.result.svm_result import SVMResult


def check_pair(problem: Problem, result: SVMResult) -> None:
    """That a result is over the rows, features and classes of a problem, with its kernel, constraints and variables.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    check_point(problem, result)


def check_joint_pair(problem: JointProblem, result: object) -> None:
    """The same of a machine of several classes. Raises ParameterTypeError, DataError."""
    if not isinstance(result, JointResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    check_point(problem, result)
