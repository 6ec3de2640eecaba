"""Whether a result can be that of a problem: what pictures and derivations check before they read both."""

from __future__ import annotations

from qpsvm.errors import DataError, ParameterTypeError
from qpsvm.joint_result import JointResult
from qpsvm.problems import JointProblem, Problem
from qpsvm.result import SVMResult


def check_pair(problem: Problem, result: SVMResult) -> None:
    """That a result is over the rows and features of a problem, with its kernel.

    Raises
    ------
    ParameterTypeError
        They are something else.
    DataError
        The result is over other rows or features, or of another kernel.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    _check_samples(problem, result)


def check_joint_pair(problem: JointProblem, result: object) -> None:
    """The same of a machine of several classes.

    Raises
    ------
    ParameterTypeError, DataError
        As `check_pair`; or the result is over other classes.
    """
    if not isinstance(result, JointResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    _check_samples(problem, result)
    if result.alpha.shape[1] != len(problem.classes):
        raise DataError(f"the result is over {result.alpha.shape[1]} classes, the problem has {len(problem.classes)}")


def _check_samples(problem: Problem | JointProblem, result: SVMResult | JointResult) -> None:
    """Rows, features and kernel."""
    problem.samples.check()
    rows, features = len(result.coef), result.model.n_features
    if (rows, features) != problem.X.shape:
        raise DataError(
            f"the result is over {rows} rows of {features} features, the problem has {problem.X.shape[0]} rows of "
            f"{problem.X.shape[1]}: give the result of solve(problem)"
        )
    if result.model.kernel != problem.kernel:
        raise DataError(
            f"the result has the kernel {result.model.kernel!r}, the problem {problem.kernel!r}: give the result of "
            "solve(problem)"
        )
