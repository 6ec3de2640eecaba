"""Certify the points of a problem, polish them, and derive their status (`Certifier`, `polish_certificate`).

A `Certifier` has the dual of a problem and its feature space. `polish_certificate` improves a certified point, and
`classify_samples` decides which α are at a bound. `decide_status` derives the status of a result from its certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import QPSVMError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import is_interrupted
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.certify import certify
from qpsvm.bounds.class_space import ClassAccuracy, ClassSpace
from qpsvm.bounds.gap_refiner import GapRefiner
from qpsvm.bounds.polish import FEW_ROWS, FINISHED, GOOD, POLISHED, TEACHING_ROWS, polish
from qpsvm.bounds.repair import make_start_feasible
from qpsvm.bounds.restoration import Restoration
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: Message for a point whose gap is within the tolerance as measured, but not with the bound on its rounding.
LOST_TO_ROUNDING = (
    "the gap is within the tolerance as computed, but doubles cannot show it: rounding in f, and of w and b "
    "themselves, may cost as much as the rest of it; centre and scale the features, or lower C"
)
#: With many rows, snapping α to its bounds may use this share of the requested gap.
SNAP_SHARE = 0.1
#: A slack above this share of the margin is clearly not 0.
CLEAR_SLACK_SHARE = 1e-6
#: For such a slack, an α up to this share of C, times the slack, is negligible.
NEGLIGIBLE_ALPHA_SHARE = 1e-9
#: K_ii counts as at least this share of the mean of all.
MIN_CURVATURE_SHARE = 1e-12
#: An α further than this share of C from a bound is never snapped to it.
MAX_SNAP_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class CertifiedPoint:
    """A certified point of a solver, from which a result can be built.

    status, message, error: Conclusions from the certificate; `error` is what `solve(check=True)` raises, or None.
    form: Which of the two QPs was solved.
    solver_gap: The gap of the solver's own point.
    has_time: Whether there was time left for more than the certificate.
    """

    certificate: Certificate
    status: Status
    message: str
    error: QPSVMError | None = None
    form: Form = "dual"
    solver_gap: float = math.nan
    has_time: bool = True


class Certifier:
    """Certifies points of one dual, and bounds their rounding errors.

    space: The active samples in feature space.
    """

    def __init__(self, space: FeatureSpace, svm: SVMDual) -> None:
        self.space, self.svm = space, svm

    @cached
    def gap_refiner(self) -> GapRefiner:
        """Refiner of gaps: bounds them with all rounding, and improves points whose bound is loose."""
        constraints = self.svm.linear_constraints
        space = self.space
        accuracy = ClassAccuracy(space) if isinstance(space, ClassSpace) else Accuracy(space)
        return GapRefiner(accuracy, self.svm, None if constraints is None else constraints.equality_mask)

    @cached
    def restoration(self) -> Restoration:
        """Feasibility restoration for the linear constraints."""
        return Restoration(self.gap_refiner.gap_bounder)

    def certify(self, alpha: FloatArray, w: FloatArray | None = None, target_gap: float = 0.0) -> Certificate:
        """Certify a feasible pair for any α (m,); try primal points until the gap is at most `target_gap`."""
        if self.svm.linear_constraints is not None:
            return self.restoration.certify(alpha, w, target_gap)
        return certify(self.space, self.svm, alpha, w, target_gap)

    def with_rounding_bound(self, certificate: Certificate, tol: float, in_time: bool = True) -> Certificate:
        """Return the certificate with a gap that includes all rounding."""
        return self.gap_refiner.refine(certificate, tol, lambda: in_time and not is_interrupted())


def compute_measured_gap(point: Any) -> float:
    """Return the gap of a point as computed, without a bound on its rounding."""
    return float(np.fmin(point.gap, point.measured_gap))


def polish_certificate(
    certifier: Certifier, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
) -> Certificate:
    """Polish a certificate if its gap is too large; else only snap its α to the bounds, if that is cheap.

    With at most `TEACHING_ROWS` rows, every gap above rounding is too large; with at most `FEW_ROWS`, it is so too if
    `tol` is at most `GOOD`. Otherwise a gap above `tol` is too large: far from the optimal split, polishing would cost
    more than running the solver with a smaller tolerance.
    """
    n = certifier.svm.m

    def improve(start: Certificate) -> Certificate:
        return polish(certifier.svm, start, certifier.certify, clock=clock, certify_seconds=certify_seconds)

    if n <= TEACHING_ROWS or (n <= FEW_ROWS and tol <= GOOD):
        target_gap = FINISHED
    else:
        target_gap = tol
    if not certificate.gap <= target_gap:
        is_near_zero = certifier.gap_refiner.find_zero_point(certificate) is not None  # the optimal w is 0
        return certificate if is_near_zero else improve(certificate)
    # an explicit w may have digits that α has not
    if n <= TEACHING_ROWS and certificate.weight_distance > POLISHED * math.sqrt(2.0 * max(certificate.half_norm, 0.0)):
        polished = improve(certifier.certify(certificate.alpha))
        certificate = polished if polished.gap <= FINISHED else certificate
    if n <= FEW_ROWS:
        return snap_certificate(certifier, certificate)
    is_late = clock is not None and clock.find_stop_reason()
    if certifier.space.is_linear and not is_late:  # snapping costs one certificate: a pass over X
        return snap_certificate(certifier, certificate, max(SNAP_SHARE * tol, FINISHED))
    return certificate


def decide_status(certificate: Any, reported: Status, tol: float, note: str = "") -> tuple[Status, str]:
    """Return the status that a certificate implies, and the message.

    A reported `INFEASIBLE` or `UNBOUNDED` is a numerical error, since a soft margin is always feasible.
    """
    if certificate.gap <= tol:
        return Status.OPTIMAL, note
    if certificate.measured_gap <= tol:
        return Status.INACCURATE, f"{LOST_TO_ROUNDING} {note}".strip()
    if reported is Status.OPTIMAL:
        return Status.INACCURATE, note
    return Status.NUMERICAL_ERROR if reported in (Status.INFEASIBLE, Status.UNBOUNDED) else reported, note


def classify_by_bounds(alpha: FloatArray, upper: FloatArray) -> NDArray[np.int8]:
    """Classify each row by α alone, (m,): 0 if α = 0, 1 if 0 < α < C, 2 if α = C."""
    positive = alpha > 0.0
    kind = positive.astype(np.int8)  # (DUAL.8), (HARD.12), (CSVM.13), (NUSVM.14), (PHINGE.13)
    kind[positive & (alpha >= upper)] = 2  # (DUAL.8), (CSVM.13), (NUSVM.14), (PHINGE.13)
    return kind


def classify_samples(
    space: FeatureSpace, certificate: Certificate, kind: NDArray[np.int8] | None = None
) -> NDArray[np.int8]:
    """Classify each row by α and its slack y f − ρ, (m,): 0 if α counts as 0, 1 if it is free, 2 if it counts as C.

    A solver may return 1e-18 for an α that should be 0, and no fixed threshold suits all problems. Without α, y f would
    be smaller by K_ii α. So α counts as 0

    - if α ≤ slack / K_ii: the row would be beyond its margin without it, too;
    - or if the slack is clearly positive and α is tiny compared with C.

    α counts as C under the same conditions on C − α and −slack. An α further than `MAX_SNAP_SHARE` times C from a bound
    is free, however large the slack: the point may be inaccurate.

    A free row with a curved loss has the slack −δα, which is added here. If its α has no upper bound, it is classified
    as 2: it violates its margin and is penalised.

    kind: The result of `classify_by_bounds`; computed if None. It is returned itself if clearly no row changes.
    """
    svm = certificate.svm
    kind = classify_by_bounds(certificate.alpha, svm.upper) if kind is None else kind
    rows = (kind == 1).nonzero()[0]
    if not len(rows):
        return kind
    alpha = certificate.alpha[rows]
    upper = _take_entries(svm.upper, rows)
    margin = _take_entries(certificate.margin, rows)
    slack = certificate.yf[rows] - margin
    if svm.mix is not None:
        diagonal = svm.hessian.diagonal()[rows]
    else:
        diagonal = space.curvature(svm.find_samples(rows))
    min_curvature = MIN_CURVATURE_SHARE * space.scale
    if svm.is_bounded and not svm.has_curvature and _are_clearly_free(alpha, upper, slack, diagonal, min_curvature):
        return kind
    curvature = np.maximum(diagonal, min_curvature)
    kind_if_free: Any = 1
    if svm.has_curvature:
        delta = svm.curvature[rows]
        curvature += delta
        slack += delta * alpha
        kind_if_free = np.where((delta > 0.0) & np.isinf(upper), 2, 1)
    alpha_per_slack = 1.0 / curvature
    is_clear = np.abs(slack) > CLEAR_SLACK_SHARE * np.abs(margin)
    if is_clear.any():
        negligible = np.where(is_clear & (upper < np.inf), NEGLIGIBLE_ALPHA_SHARE * upper, 0.0)
        alpha_per_slack = np.maximum(alpha_per_slack, negligible)
    removable = slack * alpha_per_slack  # how much α could decrease, or increase if it is negative
    # relative to C, or for a hard margin to the largest α
    max_distance = MAX_SNAP_SHARE * np.minimum(upper, float(certificate.alpha.max(initial=0.0)))
    is_zero = alpha <= np.minimum(removable, max_distance)
    is_full = upper - alpha <= np.minimum(-removable, max_distance)
    kind = kind.copy()
    kind[rows] = np.where(is_zero, 0, np.where(is_full, 2, kind_if_free))
    return kind


def _are_clearly_free(
    alpha: FloatArray, upper: FloatArray, slack: FloatArray, diagonal: FloatArray, min_curvature: float
) -> bool:
    """Return whether no row can change its class, by the extremes over all rows: the usual case, found fast.

    Shapes: all (r,), of rows with finite upper bounds and no curvature.
    """
    min_diagonal = max(float(np.minimum.reduce(diagonal, initial=math.inf)), min_curvature)
    common = find_common_value(upper)
    max_upper = float(np.maximum.reduce(upper)) if common is None else common
    max_alpha_per_slack = max(1.0 / min_diagonal, NEGLIGIBLE_ALPHA_SHARE * max_upper)
    max_removable = float(np.maximum.reduce(np.abs(slack))) * max_alpha_per_slack
    return max_removable < float(np.minimum.reduce(np.minimum(alpha, upper - alpha)))


def _take_entries(vector: FloatArray, rows: IntArray) -> FloatArray:
    """Take the entries of a vector (m,) at some rows, (r,); the result is `repeat_value` if the vector is."""
    common = find_common_value(vector)
    return vector[rows] if common is None else repeat_value(common, len(rows))


def snap_certificate(certifier: Certifier, certificate: Certificate, target_gap: float = FINISHED) -> Certificate:
    """Snap α to the bounds at which `classify_samples` puts it, and certify; return the old point if it is better.

    Polishing snaps, too, but a point whose gap is only rounding is not polished. A gap up to `target_gap` is not worse.
    """
    if certificate.sparse_coef is not None or not np.isfinite(certificate.gap):
        return certificate
    svm, alpha = certificate.svm, certificate.alpha
    kind_by_alpha = classify_by_bounds(alpha, svm.upper)
    kind = classify_samples(certifier.space, certificate, kind_by_alpha)
    if kind is kind_by_alpha:
        return certificate.replace(kind=kind)  # cached for the result
    is_full = kind == 2
    if svm.has_curvature:
        is_full &= svm.curvature == 0.0
    snapped_alpha = np.where(kind == 0, 0.0, np.where(is_full, svm.upper, alpha))
    if (snapped_alpha == alpha).all():
        return certificate.replace(kind=kind)
    snapped = certifier.certify(make_start_feasible(svm, snapped_alpha))
    if snapped.gap <= max(certificate.gap, target_gap):
        return snapped
    return certificate
