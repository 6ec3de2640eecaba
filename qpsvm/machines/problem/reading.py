"""Convert α and w, from a user or a QP's solution, to the units of the dual (`read_user_alpha`, `read_solution`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector, as_real_vector, is_all_finite
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.forms import read_multipliers
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.program.solution import QPSolution


def read_user_alpha(problem: DualStatement, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
    """Map α (n,) of a user, optionally followed by multipliers of linear constraints, to the rows of the dual: (m,)."""
    n, constraints = problem._n_dual_variables, problem._constraint_rows
    if constraints is None:
        return np.asarray(problem._restrict_to_dual(as_finite_vector(alpha, name, n)))
    values = as_real_vector(alpha, name)
    values = as_finite_vector(values, name, n if len(values) == n else n + constraints.p)
    multipliers = values[n:] if len(values) > n else np.zeros(constraints.p)
    scaled_multipliers = multipliers * constraints.scale * (problem._f_scale / problem.svm.unit)  # in units of α
    return np.concatenate([problem._restrict_to_dual(values[:n]), scaled_multipliers])


def read_user_weights(problem: DualStatement, w: ArrayLike) -> FloatArray:
    """Convert w (d,), or coefficients of the samples (n,), to the units of the dual. Raises DataError."""
    weights = as_real_vector(w, "w")
    is_linear = problem.space.is_linear
    shape = (problem.space.samples.d if is_linear else problem.n,)
    if weights.shape != shape or not np.isfinite(weights).all():
        kind = "a weight vector" if is_linear else "coefficients over the samples"
        raise DataError(f"w must be {kind}: finite, of shape {shape}; got shape {weights.shape}")
    weights = weights / problem._f_scale if problem._f_scale != 1.0 else weights
    if is_linear:
        return problem.space.to_row_weights(weights)
    return problem._select_active(weights)


def read_solution(problem: DualStatement, solution: QPSolution, form: Form) -> tuple[FloatArray, FloatArray | None]:
    """Read α (m,) of a solution, with 0 for entries that are not finite, and w if it is finite: see `Problem.read`.

    Raises UnknownOptionError, ParameterTypeError, DataError.
    """
    form = check_form(form)
    if not isinstance(solution, QPSolution):
        raise ParameterTypeError(
            "solution must be that of a QP, as compile(problem.qp(form)).solve() returns, "
            f"got {type(solution).__name__}"
        )
    if solution.x is None:
        return np.zeros(problem.svm.m), None
    if form == "dual" and "alpha" not in solution.qp.variables:
        raise DataError("the solution has no variables 'alpha': read that of a primal QP by the form 'primal'")
    alpha, w = (_read_dual if form == "dual" else _read_primal)(problem, solution, solution.x)
    if len(alpha) != problem.svm.m:
        raise DataError(
            f"the solution has {len(alpha)} α, the problem {problem.svm.m}: read the solution of this problem's own QP"
        )
    w = w if w is not None and is_all_finite(w) else None
    return (alpha if is_all_finite(alpha) else np.where(np.isfinite(alpha), alpha, 0.0)), w


def _read_dual(problem: DualStatement, solution: QPSolution, x: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Read α from the variables of the dual QP, and w from `solution.v` if the solver returns that."""
    alpha = x[solution.qp.variables["alpha"]]
    if problem._constraint_rows is not None:
        alpha = np.concatenate([alpha, read_multipliers(solution.qp.split(x), problem._constraint_rows)])
    if solution.v is None:
        return alpha, None
    w = solution.v / float(np.sqrt(problem.svm.unit))  # P has the factor Z√unit, where K = ZZᵀ
    return alpha, w[:-1] if problem.intercept == "penalised" and problem.space.is_linear else w  # without b


def _read_primal(problem: DualStatement, solution: QPSolution, x: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Read α from the multipliers of the primal QP, (PHINGE.16), and for a linear kernel w from its variables."""
    qp = solution.qp
    unit = problem.svm.unit
    constraints = problem._constraint_rows
    margin_multipliers = [qp.multiplier(name, solution.z, solution.y) for name in problem._margin_constraints]
    alpha = np.concatenate(margin_multipliers) / unit
    if constraints is not None:
        multipliers = {name: qp.multiplier(name, solution.z, solution.y) for name in qp.constraints}
        alpha = np.concatenate([alpha, read_multipliers(multipliers, constraints) / unit])
    return alpha, qp.split(x)[problem._variable_names.get("w", "w")] if problem.space.is_linear else None


def infer_form(solution: QPSolution, form: Form | None, m: int, margin_constraints: tuple[str, ...]) -> Form:
    """Return the given form, or infer it from the variables of the QP, and check that the solution has m values of α.

    margin_constraints: Names of the constraints of the primal whose multipliers are α.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(solution, QPSolution):
        raise ParameterTypeError(
            f"interpret takes the QPSolution of a QP of this problem, got {format_value(solution)}"
        )
    qp = solution.qp
    form = check_form(form or ("dual" if "alpha" in qp.variables else "primal"))
    if form == "dual":
        parts = [qp.variables["alpha"]] if "alpha" in qp.variables else []
    else:
        parts = [qp.constraints[name].rows for name in margin_constraints if name in qp.constraints]
    if sum(part.stop - part.start for part in parts) != m:
        raise DataError(f"the solution is of {qp!r}, which is not the {form} form of this problem over {m} rows")
    return form
