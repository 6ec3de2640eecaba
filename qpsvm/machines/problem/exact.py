"""Every machine as the exact program of a proof, and a result as the numbers that the proof is about.

Levels, upper bounds, curvatures and totals are those of the machine's `Specification`, unrounded. Linear constraints,
(OWN.2), are as the user wrote them, not as they are computed with: the points z behind the samples, unscaled, and h, or
where f has −K(x, x) besides, (h + Σ_l A_kl K(z_l, z_l))/2. A linear ball is told from its own centre, (BALL.1).

What a proof file has of a problem is what a third party needs to state the same machine over the same data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.rationals import (
    RationalVector,
    as_integers,
    concatenate_rationals,
    from_constant,
    from_floats,
    from_fractions,
)
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.bounds.proof.checker import SEVERAL
from qpsvm.bounds.proof.claims import ProofRequest
from qpsvm.bounds.proof.classes import ClassesSpace, feasible_of_classes, of_classes
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.file import Recorded
from qpsvm.bounds.proof.kernels.points import kernel_space, matrix_space
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.prove import prove
from qpsvm.bounds.proof.spaces import BallSpace, LinearSpace, Space
from qpsvm.data.rows import FeatureRows, RowSource, StandardisedRows, as_row_source
from qpsvm.machines.problem.derived_problems import get_hyperparameters, get_kernel_parameters
from qpsvm.machines.problem.reading import check_all_in_one_result, check_point, check_result, format_title
from qpsvm.machines.registry import is_registered
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.saving.archive import as_json
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import NAMES, RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.space.kernels.space import FeatureSpace


def build_proof_record(problem: Any, result: SVMResult | AllInOneResult | None = None) -> Recorded:
    """Build the record of the machine and its samples that a proof file stores."""
    machine: dict[str, Any] = {"name": type(problem).__name__, "parameters": _describe_parameters(problem)}
    machine["kernel"], X, why = _describe_kernel(problem)
    if problem.samples.classes is not None:
        machine["classes"] = as_json({"labels": problem.samples.classes.tolist()}, "the classes")["labels"]
    weights = problem.sample_weight
    if find_common_value(weights) != 1.0 and bool((np.asarray(weights) != 1.0).any()):
        machine["weights"] = np.asarray(weights).tolist()
    if problem.constraints:
        machine["rows"] = _describe_constraints(problem)
        why = why or ("rows of your own beside a ball are not in it" if problem._is_affine else "")
    if hasattr(problem, "pairs"):
        machine["pairs"] = np.asarray(problem.pairs).tolist()
    target = np.zeros(X.n) if problem._target_kind == "none" else np.asarray(problem.samples.target)
    plane = {} if result is None else _describe_hyperplane(problem, result)
    return Recorded(machine, X, target, plane, why)


def _describe_hyperplane(problem: Any, result: SVMResult | AllInOneResult) -> dict[str, Any]:
    """Describe the decision function by the numbers that the user has."""
    w = result.model.w
    if isinstance(result, AllInOneResult):
        own = problem.samples.select_active(result.coef).T if w is None else w
        return {"coef" if w is None else "w": own.tolist(), "b": result.b.tolist()}
    if result.model.radius is not None:
        return {"centre": result.centre.tolist(), "radius": result.radius}
    found: dict[str, Any] = {"coef": collect_coefficients(problem, result).tolist()} if w is None else {"w": w.tolist()}
    if find_point_level(problem, result) is not None:
        return {**found, "radius": 0.0}
    found["multipliers"] = {
        name: float(result.b if name == "b" else result.rho if name == "rho" else result.extras[name])
        for name in (group.multiplier for group in problem._dual_structure.groups)
    }
    return found


def _describe_constraints(problem: Any) -> dict[str, Any]:
    """The user's rows as the user wrote them: their points, and of each the factors, c (None is their sum) and h."""
    rows = problem._textbook_constraint_rows
    mix = sp.eye_array(rows.p, format="csr") if rows.mix is None else rows.mix
    sums = np.concatenate([np.full(len(item.h), not item.over_w) for item in problem.constraints])
    each = []
    for k in range(rows.p):
        row = mix[[k]]
        factors = [[j, a] for j, a in zip(row.indices.tolist(), row.data.tolist(), strict=True)]
        each.append([factors, None if sums[k] else float(rows.c[k]), float(rows.h[k])])
    return {"names": list(rows.names), "points": as_dense(rows.Z).tolist(), "each": each}


def _describe_parameters(problem: Any) -> dict[str, Any]:
    """Return the machine's own parameters, and whether b is free, penalised or absent."""
    found = {name: each.tolist() if isinstance(each, np.ndarray) else each
             for name, each in get_hyperparameters(problem).items()}  # fmt: skip
    if type(problem).__name__ in SEVERAL:
        found["intercept"] = problem.intercept
    elif problem._target_kind in ("labels", "numbers"):  # the others have an equality that is not that of an intercept
        ridge = [group.ridge for group in problem._dual_structure.groups if group.multiplier == "b"]
        found["intercept"] = None if not ridge else "penalised" if ridge[0] else "free"
    checked: dict[str, Any] = as_json(found, "the parameters")
    return checked


def _describe_kernel(problem: Any) -> tuple[dict[str, Any], RowSource, str]:
    """The kernel with its parameters as numbers, the rows that it is of, and why a file cannot have it, or nothing.

    Of a map of features these are the rows, and of a kernel that is repaired, or the user's own, its matrix.
    """
    kernel, X = problem.kernel, as_row_source(problem.X)
    if isinstance(kernel, FeatureMap) and type(problem).__name__ not in SEVERAL:
        return {"name": "linear"}, FeatureRows(X, kernel), ""
    name = NAMES.get(type(kernel))
    if isinstance(kernel, Linear):
        return {"name": name}, X, ""
    if name is None or problem.space.shift or problem.space.is_clipped:
        some = not problem.samples.all_weights_positive or problem.constraints
        why = (
            f"the matrix of {kernel} goes into it only where all rows have a weight, and none is your own"
            if some
            else ""
        )
        return {"name": "precomputed"}, as_row_source(problem.space.gram.dense()), why
    values = get_kernel_parameters(kernel)
    odd = name == "polynomial" and not float(values["degree"]).is_integer()
    return {"name": name, **values}, X, f"no checker computes the powers of {kernel}" if odd else ""


def verify_result(problem: Any, result: SVMResult, tol: float | None = None) -> Proof:
    """Prove bounds for the numbers of a result. Raises ParameterTypeError, DataError, UnsupportedError."""
    check_result(problem.samples, result)
    check_point(problem, result)
    tol = None if tol is None else as_real(tol, "tol")
    space, held = build_space_and_primal(problem, result)
    program = build_registered_program(problem, space.levels if isinstance(space, BallSpace) else None)
    record, title = {"stated": partial(build_proof_record, problem, result)}, format_title(problem, result)
    return prove(ProofRequest(program, space, held, collect_alpha(problem, result), result.gap, tol, title, record))


def build_space_and_primal(problem: Any, result: SVMResult) -> tuple[Space, Primal]:
    """Return the points of a problem, and the numbers that a result has for them; of a linear ball from its centre."""
    w = result.model.w
    if w is None or not problem._is_affine or problem.constraints:
        return build_exact_space(problem), collect_primal(problem, result)
    centre = w / float(problem._f_scale)
    space = BallSpace(_collect_linear_points(problem), centre)
    space.assumptions = _list_sample_assumptions(problem)
    if not (math.isfinite(result.radius) and np.isfinite(centre).all()):
        return space, Primal(centre, None)  # of which nothing is proven
    return space, Primal(np.zeros_like(w), None, {"b": Fraction(result.radius) ** 2 / 2})  # (BALL.1)


def build_exact_space(problem: Any) -> Space:
    """Build the points of a problem in feature space, in the caller's coordinates."""
    if isinstance(problem.kernel, (Linear, FeatureMap)):
        linear = LinearSpace(_collect_linear_points(problem))
        linear.assumptions = _list_sample_assumptions(problem)
        return linear
    space: FeatureSpace = problem.space
    if space.computed_intercept is None and problem.intercept == "penalised":
        raise UnsupportedError(
            "no proof for a kernel that is positive semidefinite only together with a penalised intercept"
        )
    if not uses_kernel_matrix(problem):
        return kernel_space(problem.kernel, as_row_source(stack_points(problem)).matrix())
    made = matrix_space(space.gram.dense())
    made.assumptions = _list_matrix_assumptions(problem)
    return made


def _list_matrix_assumptions(problem: Any) -> tuple[str, ...]:
    """List the assumption about the kernel matrix, if that is not the matrix that the user gave."""
    kernel, space = problem.kernel, problem.space
    named = "K"
    if not isinstance(kernel, Precomputed):
        named = f"what {kernel} gives for these samples, made symmetric"
    elif space.asymmetry:
        named = "the mean of K and its transpose, as computed"
    if space.is_clipped:
        named = f"the positive part, as computed, of {named} (psd='clip')"
    elif space.shift:
        named = f"{named}, with {space.shift!r} added to its diagonal, as computed (psd='shift')"
    return () if named == "K" else (f"the kernel matrix is {named}",)


def _collect_linear_points(problem: Any) -> RowSource:
    """Collect the points of a linear machine, or their features under a map."""
    if isinstance(problem.kernel, FeatureMap):
        return FeatureRows(as_row_source(problem.samples.active_features), problem.kernel)  # (MAP.1)
    return as_row_source(stack_points(problem))


def _list_sample_assumptions(problem: Any) -> tuple[str, ...]:
    """List the assumption about the samples, if they are not the ones that the user stored."""
    if isinstance(problem.kernel, FeatureMap):
        return (f"the samples are the features, as computed, that {problem.kernel} makes of them",)
    if isinstance(problem.X, StandardisedRows):
        return ("the samples are the floats that (x − μ)/s gives for them",)
    return ()


def collect_alpha(problem: Any, result: SVMResult) -> FloatArray:
    """Collect α at the rows of the program, followed by the multipliers of the linear constraints: (m,)."""
    alpha: FloatArray = problem._restrict_to_dual(result.alpha)
    if result.constraints is None:
        return alpha
    unit = problem._dual_structure.unit / problem._f_scale
    return np.concatenate([alpha, result.constraints["price"] / unit])


def collect_primal(problem: Any, result: SVMResult) -> Primal:
    """Collect w or the coefficients, and every finite multiplier, as the user has them."""
    size, w = Fraction(problem._f_scale), result.model.w
    multipliers = {}
    if result.b and not any(group.multiplier == "b" for group in problem._dual_structure.groups):
        raise DataError(
            f"{problem.title} has no intercept, and the result has b = {result.b!r}: no point of its primal"
        )
    for group in problem._dual_structure.groups:
        name = group.multiplier
        value = float(result.b if name == "b" else result.rho if name == "rho" else result.extras[name])
        if math.isfinite(value):
            multipliers[name] = Fraction(value) / (size if name == "b" else 1)
    if w is None:
        if (level := find_point_level(problem, result)) is not None:
            multipliers["b"] = -level
        return Primal(None, collect_coefficients(problem, result) / float(size), multipliers)
    return Primal(w / float(size), None, multipliers)


def find_point_level(problem: Any, result: SVMResult) -> Fraction | None:
    """½K(x, x) of a ball of radius 0 around one sample x, of which b is a rounding; None of any other result."""
    if not problem._is_affine or problem.constraints or result.model.w is not None or result.radius != 0.0:
        return None
    coef, size = problem._select_active(result.coef), problem._f_scale
    own = np.flatnonzero(coef)
    if len(own) != 1 or coef[own[0]] != size:
        return None
    level = compute_half_diagonal(problem)[int(own[0])]
    return level if abs(Fraction(result.b) / Fraction(size) + level) <= 4 * Fraction(UNIT) * level else None


def build_registered_program(problem: Any, levels: RationalVector | None = None) -> ExactDual:
    """Build the exact program of a machine of the library. Raises UnsupportedError."""
    if not is_registered(type(problem)):
        name = type(problem).__name__
        raise UnsupportedError(f"there is no exact program of {name} to prove; certify says what is measured")
    return build_exact_program(problem, levels)


def build_exact_program(problem: Any, levels: RationalVector | None = None) -> ExactDual:
    """Return the exact program of a problem: its record, and the rows of `constraints` behind it."""
    record, svm = problem._build_specification(), problem._dual_structure
    if problem.constraints:
        svm = problem._build_full_dual(svm.gram, problem.intercept, problem._textbook_constraint_rows)  # unscaled
    level, upper, curvature = map(record.to_rationals, (record.level, record.upper, record.curvature))
    if record.diagonal:
        level = compute_half_diagonal(problem) if levels is None else levels
    if behind := svm.m - len(record.sign):
        level, upper = (
            concatenate_rationals(level, compute_constraint_levels(problem)),
            concatenate_rationals(upper, from_constant(np.inf, behind)),
        )
        curvature = concatenate_rationals(curvature, from_constant(0.0, behind))
    totals = {group.multiplier: group.total for group in record.groups}
    entries = {len(record.sign) + k: -value for k, value in compute_exact_sums(problem).items()}
    groups = tuple(
        ExactGroup(
            group.multiplier, group.column, totals.get(group.multiplier, Fraction(0)), Fraction(group.ridge),
            group.formula, entries if group.multiplier == "b" else {},
        )
        for group in svm.groups
    )  # fmt: skip
    return ExactDual(svm.sign, level, upper, curvature, groups, svm.n, svm.rows, svm.mix, record.unit, behind)


def verify_all_in_one_result(problem: Any, result: AllInOneResult, tol: float | None = None) -> Proof:
    """Prove bounds for a result of several classes. Raises ParameterTypeError, DataError, UnsupportedError."""
    check_all_in_one_result(result)
    check_point(problem, result)
    tol = None if tol is None else as_real(tol, "tol")
    alpha = problem.samples.select_active(result.alpha)
    program, space = build_all_in_one_program(problem), ClassesSpace(_build_class_space(problem), alpha.shape[1])
    held, record = collect_all_in_one_primal(problem, result), {"stated": partial(build_proof_record, problem, result)}
    title = format_title(problem, result)
    proof = prove(
        ProofRequest(program, space, held, alpha.ravel(), result.gap, tol, title, record, feasible_of_classes)
    )
    return replace(proof, alpha=proof.alpha.reshape(alpha.shape))


def _build_class_space(problem: Any) -> Space:
    """Return the samples in feature space. Here a map of features is a kernel like others, and known by its matrix."""
    if isinstance(problem.kernel, FeatureMap):
        return matrix_space(problem.space.gram.dense())
    return build_exact_space(problem)


def build_all_in_one_program(problem: Any) -> ExactDual:
    """Return the exact program of a machine of several classes, of which there is one for both machines."""
    label, C, weight = map(problem.samples.select_active, (problem.class_index, problem.C, problem.sample_weight))
    return of_classes(label, len(problem.classes), C, weight, problem._has_shared_slack, problem.intercept)


def collect_all_in_one_primal(problem: Any, result: AllInOneResult) -> Primal:
    """w or the coefficients of every class, and b, as a user has them. Raises DataError."""
    if problem.intercept is None and result.b.any():
        raise DataError(f"{problem.title} has no intercepts, and the result has b = {result.b.tolist()}")
    b = enumerate(result.b.tolist() if problem.intercept else ())
    multipliers = {f"b_{c}": Fraction(value) for c, value in b if np.isfinite(value)}
    if result.model.w is not None:
        return Primal(result.model.w, None, multipliers)
    return Primal(None, problem.samples.select_active(result.coef), multipliers)


# --- linear constraints, and the levels of a ball ---


def stack_points(problem: Any) -> Matrix | RowSource:
    """Return the samples that take part, with the points of a user's rows behind them: (n + q, d)."""
    X: Matrix | RowSource = problem.samples.active_features
    return problem._textbook_constraint_rows.append_points(X) if getattr(problem, "constraints", ()) else X


def compute_squared_norm(row: Matrix) -> Fraction:
    """‖x‖² of one row, exactly."""
    j, exponent = as_integers(sp.csr_array(row).data)
    return sum(v * v for v in j) * Fraction(2) ** (2 * exponent)


def uses_kernel_matrix(problem: Any) -> bool:
    """Return whether a proof is about the kernel matrix as it is: of kernels that it knows no function of."""
    kernel, space = problem.kernel, problem.space
    known = isinstance(kernel, (RBF, Polynomial, Sigmoid)) and not (space.shift or space.is_clipped)
    return not known or (getattr(problem, "_is_affine", False) and find_exact_diagonal(kernel) is None)


def find_exact_diagonal(kernel: Kernel) -> Callable[[Matrix], Fraction] | None:
    """K(x, x) of one row x, exactly; None where that is no rational number."""
    if isinstance(kernel, RBF):
        return lambda row: Fraction(1)  # noqa: ARG005
    if isinstance(kernel, Linear):
        return compute_squared_norm
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        factor, shift, degree = Fraction(kernel.gamma), Fraction(kernel.coef0), int(kernel.degree)
        return lambda row: (factor * compute_squared_norm(row) + shift) ** degree
    return None


def _build_exact_diagonal(problem: Any) -> Callable[[int], Fraction]:
    """K(x, x) of each of the points, exactly."""
    value = find_exact_diagonal(problem.kernel)
    if value is None or (not problem.space.is_linear and uses_kernel_matrix(problem)):
        diagonal = np.diagonal(problem.space.gram.dense()).tolist()
        return lambda i: Fraction(diagonal[i])
    points = as_row_source(stack_points(problem))
    return lambda i: value(points.take(np.array([i])))


def compute_half_diagonal(problem: Any) -> RationalVector:
    """½K(x_i, x_i) of the samples that take part, the levels of a ball: (n,)."""
    kernel, X = problem.kernel, problem.samples.active_features
    n = X.shape[0]
    if isinstance(kernel, Linear):
        return BallSpace(as_row_source(X), np.zeros(X.shape[1])).levels
    if uses_kernel_matrix(problem):
        return from_floats(np.diagonal(problem.space.gram.dense())[:n].copy(), Fraction(1, 2))
    if isinstance(kernel, RBF):
        return from_constant(Fraction(1, 2), n)
    value = _build_exact_diagonal(problem)
    return from_fractions([value(i) / 2 for i in range(n)])


def compute_constraint_levels(problem: Any) -> RationalVector:
    """−h of the user's rows in units of f as the dual has it: (p,)."""
    size, own, first = Fraction(problem._f_scale), problem._diagonal_weight, problem.samples.active_features.shape[0]
    found: list[Fraction] = []
    for item in problem.constraints:
        bounds = [Fraction(h) for h in item.h.tolist()]
        if own and not item.over_w:
            value, A = _build_exact_diagonal(problem), sp.csr_array(item.A)
            for k, row in enumerate(np.split(np.arange(A.nnz), A.indptr[1:-1])):
                parts = zip(A.data[row].tolist(), A.indices[row].tolist(), strict=True)
                bounds[k] -= Fraction(own) * sum((Fraction(a) * value(first + j) for a, j in parts), Fraction(0))
        first += item.points.shape[0]
        found += [-bound / size for bound in bounds]
    if size == 1:
        return from_floats(np.array([float(value) for value in found]))
    return from_fractions(found)


def compute_exact_sums(problem: Any) -> dict[int, Fraction]:
    """c_k = Σ_l A_kl of the user's rows by number, where it is no float."""
    found, first = {}, 0
    for item in problem.constraints:
        for k, row in enumerate([] if item.over_w else np.split(item.A.data, item.A.indptr[1:-1])):
            value = sum(map(Fraction, row.tolist()), Fraction(0))
            if value != Fraction(float(item.c[k])):
                found[first + k] = value
        first += len(item.h)
    return found


def collect_coefficients(problem: Any, result: Any) -> FloatArray:
    """c of f(x) = Σ c_i K(x_i, x) + b over the samples that take part and the points of a user's rows: (n + q,).

    A result has those of the samples; its model has all that are not 0, in this order, and the points themselves.
    """
    own: FloatArray = problem._select_active(result.coef)
    if not problem.constraints:
        return own
    Z, model, place = problem._textbook_constraint_rows.Z, result.model, int(np.count_nonzero(own))
    behind = np.zeros(Z.shape[0])
    for k in range(Z.shape[0]):
        if place < len(model.coef) and np.array_equal(as_dense(model.vectors[[place]]), as_dense(Z[[k]])):
            behind[k] = model.coef[place]
            place += 1
    if place != len(model.coef):
        raise UnsupportedError("the model has coefficients of points that are none of this problem's")
    return np.concatenate([own, behind])
