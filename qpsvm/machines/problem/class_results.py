"""Build the result of an all-in-one multiclass machine from a certified point (`build_class_result`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import build_frozen, copy_without_cache
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem import certifier
from qpsvm.machines.problem.caveats import find_caveats
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.model import AllInOneModel
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.space import FeatureSpace


def build_class_result(
    problem: DualStatement, dual: AllInOneDual, certificate: Certificate, **record: Any
) -> AllInOneResult:
    """Build the result over all samples, of which those of weight 0 have α = 0 and C = 0.

    dual: The dual over the samples of positive weight, to which the certificate belongs.
    record: Further fields of the result, which describe the solve.
    """
    samples, expand = problem.samples, problem._expand_from_dual
    model = _build_model(problem, dual.k, certificate)
    alpha = dual.unflatten_alpha(certificate.alpha)
    violation = dual.unflatten_alpha(certificate.best_violation)
    label = samples.target.astype(np.intp)
    full_dual = replace(dual, label=label, upper=samples.expand_active(dual.upper))  # over all samples
    shortfalls = expand(violation)
    if not samples.all_weights_positive:  # the certificate has no violations of samples of weight 0
        inactive = np.flatnonzero(samples.weight == 0)
        f = model.decision_function(problem.X[inactive])
        shortfalls[inactive] = replace(full_dual, label=label[inactive]).compute_shortfalls(f)
    margin = np.where(full_dual.own_class_mask, 0.0, dual.level)
    return build_frozen(
        AllInOneResult, alpha=expand(alpha), coef=expand(certificate.coef.reshape(dual.k, -1).T), b=model.b,
        b_interval=None, rho=dual.level, primal=certificate.primal, dual=certificate.dual, gap=certificate.gap,
        rounding=certificate.rounding, kind=expand(_classify_variables(problem.space, dual, alpha, violation)),
        yf=margin - shortfalls, margin=margin, upper=full_dual.upper, curvature=np.zeros(problem.n), unit=1.0,
        structure=full_dual, extras={}, intervals={}, kinds=problem._kind_labels, model=model,
        problem=copy_without_cache(problem), caveats=find_caveats(problem, certificate),
        **{"title": problem.title, **record},
    )  # fmt: skip


def _classify_variables(
    space: FeatureSpace, dual: AllInOneDual, alpha: FloatArray, violation: FloatArray
) -> NDArray[np.int8]:
    """Return the kinds of α, (n, k): 0 for 0, 2 for the bound, 1 between them, as in `AllInOneResult.kind`.

    As in `classify_samples`, no fixed threshold decides whether an α counts as 0 or as its bound. By (JOINT.6), an
    optimal α_ic is 0 if row (i, c) is violated less than allowed: by no more than 0, or with a shared slack by no more
    than the worst rival of the sample. An increase of α_ic by 1 changes w_y and w_c, and lowers the violation by
    2 K_ii. So α_ic counts as 0 if the violation would not exceed the allowed one without α_ic, or if the violation is
    clearly below and α_ic is tiny. The distance of α from its bound is compared with the slack in the same way.

    alpha, violation (n, k): α, and t of (JOINT.1), which is negative beyond the margin.
    """
    C = dual.upper[:, None]
    if dual.has_shared_slack:
        slack = np.maximum(violation.max(axis=1), 0.0)[:, None]
        distance_to_bound = C - alpha.sum(axis=1)[:, None]
        excess = slack - violation
    else:
        slack = violation
        distance_to_bound = C - alpha
        excess = -violation
    diagonal = np.maximum(space.centred_gram.diagonal(), certifier.MIN_CURVATURE_SHARE * space.scale)
    alpha_per_slack = 0.5 / diagonal[:, None]
    max_distance = certifier.MAX_SNAP_SHARE * np.minimum(C, float(alpha.max()))  # from 0 or from the bound

    def is_close(distance: FloatArray, slack: FloatArray) -> NDArray[np.bool_]:
        """Return whether α counts as 0, or as its bound, at this distance from it and with a slack that implies it."""
        is_clear = slack > certifier.CLEAR_SLACK_SHARE * dual.level
        negligible = np.where(is_clear, certifier.NEGLIGIBLE_ALPHA_SHARE * C, 0.0)
        return (distance <= np.maximum(slack * alpha_per_slack, negligible)) & (distance <= max_distance)

    is_zero = ~(alpha > 0.0) | is_close(alpha, excess)
    return np.where(is_zero, 0, np.where(is_close(distance_to_bound, slack), 2, 1)).astype(np.int8)


def _build_model(problem: DualStatement, k: int, point: Certificate) -> AllInOneModel:
    """Build the k decision functions of a certified point, with w if that is explicit, else with support vectors."""
    samples, space = problem.samples, problem.space
    d = samples.X.shape[1]
    coef = point.coef.reshape(k, -1).T
    common: dict[str, Any] = {
        "kernel": space.kernel, "classes": problem.classes, "b": point.intercepts, "n_features": d,
        "feature_names": samples.feature_names,
    }  # fmt: skip
    if point.w is not None:
        return AllInOneModel(coef=np.zeros((0, k)), vectors=np.zeros((0, d)), w=point.w.reshape(k, d), **common)
    support = np.flatnonzero(coef.any(axis=1))
    if isinstance(space.kernel, Precomputed):
        vectors = samples.active_rows[support]
    else:
        vectors = space.X[support]
    return AllInOneModel(coef=coef[support], vectors=vectors, w=None, **common)
