"""Read α as a user gives it, and build the result of a certified point (`read_user_alpha`, `build_svm_result`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_finite_vector, as_real_vector
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import build_frozen, copy_without_cache, freeze, multiply
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem.caveats import find_caveats
from qpsvm.machines.problem.certifier import classify_samples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_kernel import bound_exact_objectives
from qpsvm.machines.problem.linear_constraints import LONGEST_NAME, ConstraintRows
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.program.solution import QPSolution
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Precomputed


def read_user_alpha(problem: DualStatement, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
    """Map α of a user, with or without multipliers of the constraints, to the rows of the dual: (m,)."""
    rows = problem._constraint_rows
    if rows is None:
        return np.asarray(problem._restrict_to_dual(as_finite_vector(alpha, name, problem._n_dual_variables)))
    whole = as_real_vector(alpha, name)
    n = problem._n_dual_variables + (rows.p if len(whole) != problem._n_dual_variables else 0)
    whole = as_finite_vector(whole, name, n)
    prices = whole[problem._n_dual_variables :] if n > problem._n_dual_variables else np.zeros(rows.p)
    return np.concatenate(
        [
            problem._restrict_to_dual(whole[: problem._n_dual_variables]),
            prices * rows.scale * (problem._f_scale / problem.svm.unit),
        ]
    )


def infer_form(solution: QPSolution, form: Form | None, n: int, names: tuple[str, ...] = ("margin",)) -> Form:
    """Infer the form of a solution from the names of its variables, unless it is given.

    The rows of a primal whose multipliers are α have these names.

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
        parts = [qp.constraints[name].rows for name in names if name in qp.constraints]
    if sum(part.stop - part.start for part in parts) != n:
        raise DataError(f"the solution is of {qp!r}, which is not the {form} form of this problem over {n} rows")
    return form


def build_svm_result(
    problem: DualStatement, certificate: Certificate, bounded: bool = True, **record: Any
) -> SVMResult:
    """Build the result with the record of the solve; a row of a sample of weight 0 has α = 0 and C = 0.

    `bounded` says whether there is time for bounds on the machine with the kernel itself, of a pivoted factor. Where f
    is a multiple of that of the dual, as in an SVDD, so are b, w, the coefficients and what is missing.
    """
    samples, space, size = problem.samples, problem.space, problem._f_scale
    spread = (lambda values: values) if samples.all_weights_positive else problem._expand_from_dual
    whole = certificate
    kind, table = classify_samples(space, certificate) if certificate.kind is None else certificate.kind, None
    if problem._constraint_rows is not None:
        table = build_constraint_table(certificate, problem._constraint_rows, size)
        certificate = remove_constraints(certificate)
        kind = kind[: certificate.svm.m]
    svm = certificate.svm
    model = _build_model(problem, certificate)
    shown_yf, shown_margin = certificate.yf, certificate.margin
    if problem._diagonal_weight:
        shown_yf, shown_margin = -size * certificate.violation, np.zeros(svm.m)
    yf, margin = spread(shown_yf), spread(shown_margin)
    if not samples.all_weights_positive:
        problem._fill_inactive(np.flatnonzero(samples.weight == 0), model, certificate, yf, margin)
    extras, intervals = problem._compute_extras(certificate)
    if bounded and isinstance(problem.kernel, FeatureMap):
        extras = {**extras, **bound_exact_objectives(problem, certificate, model)}
    low, high = certificate.b_interval
    if certificate.w is not None:
        moved = model.b / size - certificate.b
        low, high = low + moved, high + moved
    return build_frozen(
        SVMResult,
        alpha=spread(certificate.alpha),
        constraints=table,
        coef=samples.expand_active(multiply(size, certificate.coef[: svm.n])),
        b=model.b,
        b_interval=(size * low, size * high),
        rho=extras.get("rho", certificate.rho),
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        rounding=certificate.rounding,
        kind=spread(kind) if svm.rows is None else samples.expand_active(merge_kinds_by_sample(svm, kind)),
        yf=yf,
        margin=margin,
        upper=spread(svm.upper),
        curvature=spread(svm.curvature),
        unit=svm.unit / size,
        model=model,
        extras=extras,
        intervals=intervals,
        target=problem._regression_target,
        kinds=problem._kind_labels,
        pairs=problem._sample_pairs,
        problem=copy_without_cache(problem),
        caveats=find_caveats(problem, whole),
        **{"title": problem.title, **record},
    )


def remove_constraints(certificate: Certificate) -> Certificate:
    """Restrict the certificate to the rows of the machine itself, with b in f as without linear constraints."""
    users = certificate.svm.linear_constraints
    assert users is not None
    own, multipliers = users.unconstrained_dual, dict(certificate.multipliers)
    b = multipliers.pop("b", 0.0)
    intervals = dict(certificate.intervals)
    low, high = intervals.pop("b", (b, b))
    yf = certificate.yf[: own.m] + (own.sign * b if own.intercept is not None else 0.0)
    return certificate.replace(
        svm=own, alpha=certificate.alpha[: own.m], yf=yf, margin=own.margin(multipliers), b=b, b_interval=(low, high),
        multipliers=multipliers, intervals=intervals, slack=None, radius=None, contributing=None,
    )  # fmt: skip


def build_constraint_table(certificate: Certificate, rows: ConstraintRows, size: float) -> NDArray[np.void]:
    """Build the table `SVMResult.constraints`: (p,).

    The left-hand side is h − slack, with what the certificate knows of the slack: of f, as the user wrote it.
    """
    users = certificate.svm.linear_constraints
    assert users is not None
    behind = slice(users.unconstrained_dual.m, None)
    short = certificate.violation[behind] if certificate.slack is None else certificate.slack[behind]
    prices = certificate.alpha[behind]
    columns = {
        "value": rows.original_h + rows.scale * size * short, "bound": rows.original_h,
        "violation": rows.scale * size * np.maximum(short, 0.0),
        "price": certificate.unit * prices / rows.scale / size,
        "gap": certificate.unit * prices * np.abs(short),  # (OWN.8)
    }  # fmt: skip
    table = np.empty(rows.p, dtype=[("name", f"U{LONGEST_NAME}"), *((name, "f8") for name in columns)])
    table["name"] = rows.names
    for name, values in columns.items():
        table[name] = values
    return table


def merge_kinds_by_sample(svm: SVMDual, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    """Reduce the kinds of rows, (m,), to the largest kind of each sample, (n,)."""
    assert svm.rows is not None
    found = np.zeros(svm.n, dtype=np.int8)
    np.maximum.at(found, svm.rows, kind)
    return found


def _build_model(problem: DualStatement, certificate: Certificate) -> Model:
    samples, space, size = problem.samples, problem.space, problem._f_scale
    d = samples.X.shape[1]
    common: dict[str, Any] = {
        "kernel": space.kernel, "classes": problem._predicted_labels, "b": size * certificate.b, "n_features": d,
        "feature_names": samples.feature_names, "diagonal": problem._diagonal_weight, "metadata": {},
    }  # fmt: skip
    if certificate.w is not None:
        common["b"] = size * space.to_caller_intercept(certificate.w, certificate.b)
        w, radius = multiply(size, space.to_caller_weights(certificate.w)), None
        if space.is_affine:  # beside linear constraints it is b that was certified
            radius = problem._compute_extras(certificate)[0]["radius"]
        return build_frozen(Model, coef=np.zeros(0), vectors=np.zeros((0, d)), w=w, radius=radius, **common)
    kept = certificate.coef.nonzero()[0]  # points of the linear constraints among them
    vectors = samples.active_rows[kept] if isinstance(space.kernel, Precomputed) else space.X[kept]
    return build_frozen(Model, coef=multiply(size, certificate.coef[kept]), vectors=freeze(vectors), w=None, **common)
