"""Build the result of a certified point of several classes in one program (`build_class_result`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import build_frozen, copy_without_cache
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem.caveats import find_caveats
from qpsvm.machines.problem.certifier import (
    CLEAR_SLACK_SHARE,
    MAX_SNAP_SHARE,
    MIN_CURVATURE_SHARE,
    NEGLIGIBLE_ALPHA_SHARE,
)
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.model import AllInOneModel
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.space import FeatureSpace


def build_class_result(
    problem: DualStatement, classes: AllInOneDual, certificate: Certificate, **record: Any
) -> AllInOneResult:
    """Build the result with the record of the solve; samples of weight 0 have α = 0 and C = 0.

    classes: The rows of the dual, over the samples of positive weight.
    """
    samples, expand = problem.samples, problem._expand_from_dual
    model = _build_model(problem, classes.k, certificate)
    alpha, violation = map(classes.unflatten_alpha, (certificate.alpha, certificate.best_violation))
    label = samples.target.astype(np.intp)
    structure = replace(classes, label=label, upper=samples.expand_active(classes.upper))  # over all samples
    shortfalls = expand(violation)
    if not samples.all_weights_positive:
        inactive = np.flatnonzero(samples.weight == 0)
        f = model.decision_function(problem.X[inactive])
        shortfalls[inactive] = replace(structure, label=label[inactive]).compute_shortfalls(f)
    margin = np.where(structure.own_class_mask, 0.0, classes.level)
    return build_frozen(
        AllInOneResult,
        alpha=expand(alpha),
        coef=expand(certificate.coef.reshape(classes.k, -1).T),
        b=model.b,
        b_interval=None,
        rho=classes.level,
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        rounding=certificate.rounding,
        kind=expand(_classify_variables(problem.space, classes, alpha, violation)),
        yf=margin - shortfalls,
        margin=margin,
        upper=structure.upper,
        curvature=np.zeros(problem.n),
        unit=1.0,
        structure=structure,
        extras={},
        intervals={},
        kinds=problem._kind_labels,
        model=model,
        problem=copy_without_cache(problem),
        caveats=find_caveats(problem, certificate),
        **{"title": problem.title, **record},
    )


def _classify_variables(
    space: FeatureSpace, classes: AllInOneDual, alpha: FloatArray, violation: FloatArray
) -> NDArray[np.int8]:
    """Return the kinds of α as in `AllInOneResult.kind`: (n, k).

    α is compared with the slack, and not with a fixed threshold.

    alpha, violation (n, k): α, and the violations, which are negative beyond the margin.
    """
    C, is_shared = classes.upper[:, None], classes.has_shared_slack
    clear_slack = CLEAR_SLACK_SHARE * classes.level
    inverse_curvature = 0.5 / np.maximum(space.centred_gram.diagonal(), MIN_CURVATURE_SHARE * space.scale)[:, None]
    worst = np.maximum(violation.max(axis=1), 0.0)[:, None] if is_shared else 0.0
    negligible = np.where(np.abs(worst - violation) > clear_slack, NEGLIGIBLE_ALPHA_SHARE * C, 0.0)
    small = MAX_SNAP_SHARE * np.minimum(C, float(alpha.max()))
    is_zero = alpha <= np.maximum((worst - violation) * inverse_curvature, np.where(worst > violation, negligible, 0.0))
    kind = np.where((alpha > 0.0) & ~(is_zero & (alpha <= small)), 1, 0).astype(np.int8)
    slack = worst if is_shared else violation
    bound_slack = C - alpha.sum(axis=1)[:, None] if is_shared else C - alpha
    negligible = np.where(slack > clear_slack, NEGLIGIBLE_ALPHA_SHARE * C, 0.0)
    is_at_bound = bound_slack <= np.maximum(slack * inverse_curvature, negligible)
    kind[(kind == 1) & is_at_bound & (bound_slack <= small)] = 2
    return kind


def _build_model(problem: DualStatement, k: int, point: Certificate) -> AllInOneModel:
    """Build the decision functions of a certified point."""
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
    vectors = samples.active_rows[support] if isinstance(space.kernel, Precomputed) else space.X[support]
    return AllInOneModel(coef=coef[support], vectors=vectors, w=None, **common)
