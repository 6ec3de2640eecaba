"""Describe a machine and its result in the terms of a proof file (`build_proof_record`).

The record has what a third party needs to state the same machine over the same data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.types import as_dense
from qpsvm.bounds.proof.checker import ALL_IN_ONE
from qpsvm.bounds.proof.file import MachineRecord
from qpsvm.data.rows import FeatureRows, RowSource, as_row_source
from qpsvm.machines.problem.derived_problems import get_hyperparameters, get_kernel_parameters
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_primal import collect_coefficients, collect_multipliers, find_point_ball_level
from qpsvm.result.saving.json_values import as_json
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.kernel_registry import NAMES


def build_proof_record(problem: DualStatement, result: SVMResult | None = None) -> MachineRecord:
    """Build the record of the machine and its samples that a proof file stores."""
    machine: dict[str, Any] = {"name": type(problem).__name__, "parameters": _describe_parameters(problem)}
    machine["kernel"], X, reason = _describe_kernel(problem)
    if problem.samples.classes is not None:
        machine["classes"] = as_json({"labels": problem.samples.classes.tolist()}, "the classes")["labels"]
    weights = problem.sample_weight
    if find_common_value(weights) != 1.0 and bool((np.asarray(weights) != 1.0).any()):
        machine["weights"] = np.asarray(weights).tolist()
    if problem.constraints:
        machine["rows"] = _describe_constraints(problem)
        reason = reason or ("linear constraints beside a ball are not in it" if problem._is_affine else "")
    if problem._sample_pairs is not None:
        machine["pairs"] = problem._sample_pairs.tolist()
    if problem._target_kind == "none":
        target = np.zeros(X.n)
    else:
        target = np.asarray(problem.samples.target)
    plane: dict[str, Any] = {}
    if result is not None and problem._dual_structure.classes is not None:
        plane = _describe_class_hyperplanes(problem, result)
    elif result is not None:
        plane = _describe_hyperplane(problem, result)
    return MachineRecord(machine, X, target, plane, reason)


def _describe_class_hyperplanes(problem: DualStatement, result: SVMResult) -> dict[str, Any]:
    """Describe the decision functions of several classes by the numbers that the user has."""
    w = result.model.w
    weights_or_coef = problem.samples.select_active(result.coef).T if w is None else w
    return {"coef" if w is None else "w": weights_or_coef.tolist(), "b": np.asarray(result.b).tolist()}


def _describe_hyperplane(problem: DualStatement, result: SVMResult) -> dict[str, Any]:
    """Describe the decision function by the numbers that the user has."""
    w = result.model.w
    if result.model.radius is not None:
        return {"centre": result.centre.tolist(), "radius": result.radius}
    description: dict[str, Any]
    if w is None:
        description = {"coef": collect_coefficients(problem, result).tolist()}
    else:
        description = {"w": w.tolist()}
    if find_point_ball_level(problem, result) is not None:
        return {**description, "radius": 0.0}
    return {**description, "multipliers": collect_multipliers(problem, result)}


def _describe_constraints(problem: DualStatement) -> dict[str, Any]:
    """Describe the linear constraints as given: their points, and for each factors, c (None for their sum) and h."""
    rows = problem._textbook_constraint_rows
    mix = sp.eye_array(rows.p, format="csr") if rows.mix is None else rows.mix
    sums = np.concatenate([np.full(len(item.h), not item.over_w) for item in problem.constraints])
    descriptions = []
    for k in range(rows.p):
        row = mix[[k]]
        factors = [[j, a] for j, a in zip(row.indices.tolist(), row.data.tolist(), strict=True)]
        descriptions.append([factors, None if sums[k] else float(rows.c[k]), float(rows.h[k])])
    return {"names": list(rows.names), "points": as_dense(rows.Z).tolist(), "each": descriptions}


def _describe_parameters(problem: DualStatement) -> dict[str, Any]:
    """Return the machine's own parameters, and whether b is free, penalised or absent."""
    parameters = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in get_hyperparameters(problem).items()
    }
    if problem._dual_structure.classes is not None:
        parameters["intercept"] = problem.intercept
    elif problem._target_kind in ("labels", "numbers"):  # the others have an equality that is not that of an intercept
        ridge = [group.ridge for group in problem._dual_structure.groups if group.multiplier == "b"]
        if not ridge:
            parameters["intercept"] = None
        elif ridge[0]:
            parameters["intercept"] = "penalised"
        else:
            parameters["intercept"] = "free"
    checked: dict[str, Any] = as_json(parameters, "the parameters")
    return checked


def _describe_kernel(problem: DualStatement) -> tuple[dict[str, Any], RowSource, str]:
    """The kernel with its parameters as numbers, the rows that it is of, and why a file cannot have it, or nothing.

    Of a map of features these are the rows, and of a kernel that is repaired, or the user's own, its matrix.
    """
    kernel = problem.kernel
    X = as_row_source(problem.X)
    if isinstance(kernel, FeatureMap) and type(problem).__name__ not in ALL_IN_ONE:
        return {"name": "linear"}, FeatureRows(X, kernel), ""
    name = NAMES.get(type(kernel))
    if isinstance(kernel, Linear):
        return {"name": name}, X, ""
    if name is None or problem.space.shift or problem.space.is_clipped:
        some = not problem.samples.all_weights_positive or problem.constraints
        if some:
            why = f"the matrix of {kernel} goes into it only where all rows have a weight, and none is your own"
        else:
            why = ""
        return {"name": "precomputed"}, as_row_source(problem.space.gram.dense()), why
    values = get_kernel_parameters(kernel)
    odd = name == "polynomial" and not float(values["degree"]).is_integer()
    return {"name": name, **values}, X, f"no checker computes the powers of {kernel}" if odd else ""
