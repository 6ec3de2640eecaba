"""Check that a result belongs to a problem: `check_result`, `check_function_count`, `check_point`, `check_samples`.

The checks grow stricter: from the number of samples to the number of functions f, to the kernel and variables, and to
the samples themselves.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.data.rows import RowSource
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.linear_constraints import LONGEST_NAME
from qpsvm.result.svm_result import SVMResult


def check_result(samples: TrainingSamples, result: SVMResult) -> None:
    """Check that a result has as many samples as a problem. Raises ParameterTypeError, DataError."""
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {format_value(result)}")
    if len(result.coef) != samples.n:
        raise DataError(f"the result is over {len(result.coef)} rows, the problem has {samples.n}")


def check_function_count(problem: DualStatement, result: SVMResult, name: str = "result") -> None:
    """Check that problem and result both have one decision function, or both one per class.

    Raises ParameterTypeError.
    """
    if (result.coef.ndim == 2) != (problem._dual_structure.classes is not None):
        raise ParameterTypeError(f"{name} must be what solve(problem) returns, got {format_value(result)}")


def check_point(problem: DualStatement, result: SVMResult) -> None:
    """Check that a result has the samples, features, kernel, classes, variables and constraints of a problem.

    The result may be inaccurate, or from another machine with the same variables. Raises ParameterTypeError, DataError.
    """
    problem.samples.check_unchanged()
    model = result.model
    check_function_count(problem, result)
    classes = problem._predicted_labels
    rows = len(result.coef)
    features = model.n_features
    if (rows, features) != problem.X.shape:
        n, d = problem.X.shape
        why = f"is over {rows} rows of {features} features, the problem has {n} rows of {d}"
    elif model.kernel != problem.kernel:
        why = f"has the kernel {model.kernel!r}, the problem {problem.kernel!r}"
    elif not np.array_equal(np.asarray(model.classes), np.asarray(classes)):
        why = f"has the classes {format_value(model.classes)}, the problem {format_value(classes)}"
    else:
        why = _explain_other_variables(problem, result)
    if why:
        raise DataError(f"the result {why}: give the result of solve(problem)")


def check_samples(problem: DualStatement, result: SVMResult) -> None:
    """Check that a result is for the samples of a problem, unless those of the result are unknown. Raises DataError."""
    owner = result.problem() if callable(result.problem) else result.problem
    if owner is not None and not _is_same_data(problem.samples, owner.samples):
        raise DataError("the result is for other samples than those of the problem: pass the result of solve(problem)")


def _is_same_data(a: TrainingSamples, b: TrainingSamples) -> bool:
    """Return whether two data sets have equal samples in the same order."""
    first = a.X
    second = b.X
    if first is second:
        is_same_X = True
    elif isinstance(first, RowSource) or isinstance(second, RowSource) or first.shape != second.shape:
        is_same_X = False
    elif sp.issparse(first) or sp.issparse(second):
        is_same_X = a.is_sparse == b.is_sparse and (first != second).nnz == 0
    else:
        is_same_X = np.array_equal(first, second)
    return is_same_X and np.array_equal(a.target, b.target) and np.array_equal(a.weight, b.weight)


def format_title(problem: DualStatement, result: SVMResult) -> str:
    """Format the title of a proof: the problem, and the other machine if the result is from one."""
    if result.title == problem.title:
        return str(problem.title)
    return f"{problem.title}; the numbers are those of a result of {result.title}"


def _explain_other_variables(problem: DualStatement, result: SVMResult) -> str:
    """Explain how variables or constraints of a result differ from a problem's: the end of "the result …", or ""."""
    if problem.constraints:
        names = [name[:LONGEST_NAME] for name in problem._textbook_constraint_rows.names]
    else:
        names = []
    if result.constraints is None:
        result_names = []
    else:
        result_names = result.constraints["name"].tolist()
    structure = problem._dual_structure
    if structure.classes is not None:
        return ""
    needed = {group.multiplier for group in structure.groups} - {"b", "rho"}  # which are fields of every result
    needed |= {"radius"} if problem._is_affine else set()
    if len(result.alpha) != problem._n_dual_variables:
        return f"of {result.title} has {len(result.alpha)} α, the problem {problem._n_dual_variables}"
    if names != result_names:
        return f"has the rows of constraints {format_value(result_names)}, the problem {format_value(names)}"
    if not needed <= {*result.extras} or (result.model.diagonal != 0.0) != (problem._diagonal_weight != 0.0):
        return f"of {result.title} has other variables than {problem.title}"
    return ""
