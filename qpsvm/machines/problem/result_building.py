"""Build the result of a certified point (`build_svm_result`).

A certificate has the rows of the dual, which leaves out samples of weight 0 and adds linear constraints. A result has
the rows of all samples, and a table of the constraints. Its f is `_f_scale` times that of the dual (2 for an SVDD).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.frozen import build_frozen, copy_without_cache, freeze
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem.caveats import find_caveats
from qpsvm.machines.problem.certifier import classify_samples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_kernel import bound_exact_objectives
from qpsvm.machines.problem.linear_constraints import LONGEST_NAME, ConstraintRows
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Precomputed


def build_svm_result(
    problem: DualStatement, certificate: Certificate, has_time: bool = True, **record: Any
) -> SVMResult:
    """Build the result; rows of samples of weight 0 have α = 0 and C = 0.

    has_time: Whether there is time to bound the objectives for the exact kernel, with a pivoted factor.
    record: Fields about the solve.
    """
    samples = problem.samples
    f_scale = problem._f_scale
    full_certificate = certificate
    expand = (lambda values: values) if samples.all_weights_positive else problem._expand_from_dual
    if certificate.kind is None:
        kind = classify_samples(problem.space, certificate)
    else:
        kind = certificate.kind
    table = None
    if problem._constraint_rows is not None:
        table = build_constraint_table(certificate, problem._constraint_rows, f_scale)
        certificate = remove_constraints(certificate)
        kind = kind[: certificate.svm.m]
    svm = certificate.svm
    extras, intervals = problem._compute_extras(certificate)
    model = _build_model(problem, certificate, extras)
    yf, margin = _compute_margins(problem, certificate, model)
    if has_time and isinstance(problem.kernel, FeatureMap):
        extras = {**extras, **bound_exact_objectives(problem, certificate, model)}
    low, high = certificate.b_interval
    if certificate.w is not None:
        shift = model.b / f_scale - certificate.b
        low, high = low + shift, high + shift
    return build_frozen(
        SVMResult,
        alpha=expand(certificate.alpha), constraints=table,
        coef=samples.expand_active(multiply(f_scale, certificate.coef[: svm.n])),
        b=model.b, b_interval=(f_scale * low, f_scale * high), rho=extras.get("rho", certificate.rho),
        primal=certificate.primal, dual=certificate.dual, gap=certificate.gap, rounding=certificate.rounding,
        kind=expand(kind) if svm.rows is None else samples.expand_active(merge_kinds_by_sample(svm, kind)),
        yf=yf, margin=margin, upper=expand(svm.upper), curvature=expand(svm.curvature), unit=svm.unit / f_scale,
        model=model, extras=extras, intervals=intervals,
        target=problem._regression_target, kinds=problem._kind_labels, pairs=problem._sample_pairs,
        problem=copy_without_cache(problem), caveats=find_caveats(problem, full_certificate),
        **{"title": problem.title, **record},
    )  # fmt: skip


def remove_constraints(certificate: Certificate) -> Certificate:
    """Restrict the certificate to the rows of the samples; b, a multiplier with linear constraints, is part of f."""
    constraints = certificate.svm.linear_constraints
    assert constraints is not None
    machine = constraints.unconstrained_dual
    multipliers = dict(certificate.multipliers)
    b = multipliers.pop("b", 0.0)
    intervals = dict(certificate.intervals)
    low, high = intervals.pop("b", (b, b))
    yf = certificate.yf[: machine.m] + (machine.sign * b if machine.intercept is not None else 0.0)
    return certificate.replace(
        svm=machine, alpha=certificate.alpha[: machine.m], yf=yf, margin=machine.compute_margin(multipliers), b=b,
        b_interval=(low, high), multipliers=multipliers, intervals=intervals, evaluated=None,
        contributing=None,
    )  # fmt: skip


def build_constraint_table(certificate: Certificate, rows: ConstraintRows, f_scale: float) -> NDArray[np.void]:
    """Build the table `SVMResult.constraints`, (p,), in the units of the user's f.

    The left-hand side of a constraint is its bound h plus its violation, which is negative if it has slack.
    """
    constraints = certificate.svm.linear_constraints
    assert constraints is not None
    constraint_rows = slice(constraints.unconstrained_dual.m, None)
    violation = certificate.best_violation[constraint_rows]
    multipliers = certificate.alpha[constraint_rows]
    columns = {
        "value": rows.original_h + rows.scale * f_scale * violation,
        "bound": rows.original_h,
        "violation": rows.scale * f_scale * np.maximum(violation, 0.0),
        "multiplier": certificate.unit * multipliers / rows.scale / f_scale,
        "gap": certificate.unit * multipliers * np.abs(violation),  # (OWN.8)
    }
    table = np.empty(rows.p, dtype=[("name", f"U{LONGEST_NAME}"), *((name, "f8") for name in columns)])
    table["name"] = rows.names
    for name, values in columns.items():
        table[name] = values
    return table


def merge_kinds_by_sample(svm: SVMDual, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    """Reduce the kinds of rows, (m,), to the largest kind of each sample, (n,)."""
    assert svm.rows is not None
    kinds = np.zeros(svm.n, dtype=np.int8)
    np.maximum.at(kinds, svm.rows, kind)
    return kinds


def _compute_margins(problem: DualStatement, certificate: Certificate, model: Model) -> tuple[FloatArray, FloatArray]:
    """Compute s f and the margin that it should reach, for all samples: 0 if f contains the level, as in an SVDD."""
    yf, margin = certificate.yf, certificate.margin
    if problem._diagonal_weight:
        yf = -problem._f_scale * certificate.violation
        margin = np.zeros(certificate.svm.m)
    if not problem.samples.all_weights_positive:
        yf, margin = problem._expand_from_dual(yf), problem._expand_from_dual(margin)
        problem._fill_inactive(np.flatnonzero(problem.samples.weight == 0), model, certificate, yf, margin)
    return yf, margin


def _build_model(problem: DualStatement, certificate: Certificate, extras: Mapping[str, float]) -> Model:
    """Build the model that predicts: with w if the feature space is explicit, else with the support vectors."""
    samples = problem.samples
    space = problem.space
    f_scale = problem._f_scale
    d = samples.X.shape[1]
    common: dict[str, Any] = {
        "kernel": space.kernel, "classes": problem._predicted_labels, "b": f_scale * certificate.b, "n_features": d,
        "feature_names": samples.feature_names, "diagonal": problem._diagonal_weight, "metadata": {},
        "threshold": _compute_threshold(extras),
    }  # fmt: skip
    if certificate.w is not None:
        common["b"] = f_scale * space.to_caller_intercept(certificate.w, certificate.b)
        w = multiply(f_scale, space.to_caller_weights(certificate.w))
        radius = None
        if space.is_affine:  # with linear constraints, b is what was certified
            radius = extras["radius"]
        return build_frozen(Model, coef=np.zeros(0), vectors=np.zeros((0, d)), w=w, radius=radius, **common)
    support = certificate.coef.nonzero()[0]  # including points of linear constraints
    if isinstance(space.kernel, Precomputed):
        vectors = samples.active_rows[support]
    else:
        vectors = space.X[support]
    return build_frozen(
        Model, coef=multiply(f_scale, certificate.coef[support]), vectors=freeze(vectors), w=None, **common
    )


def _compute_threshold(extras: Mapping[str, float]) -> float | None:
    """Return `Model.threshold`; 0 if linear constraints leave no ball."""
    if "radius" in extras:
        return extras["radius"] ** 2 if extras["radius"] > 0.0 else 0.0
    return abs(extras["rho"]) if "rho" in extras else None
