"""Certify the points of a problem: certificate, rounding, polish, and the status that follows.

All are functions over the dual `svm` of a problem and its feature space, which a `Certifier` has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached, find_common_value, repeat_value
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
from qpsvm.bounds.repair import feasible_start
from qpsvm.bounds.restoration import Restoration
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: What to say of a point whose measured gap is within the tolerance, when the rounding of that is not.
LOST_TO_ROUNDING = (
    "the gap is within the tolerance as computed, but doubles cannot show it: rounding in f, and of w and b "
    "themselves, may cost as much as the rest of it; centre and scale the features, or lower C"
)
#: With many rows, snapping α to its bounds may use this share of the requested gap.
SNAP_SHARE = 0.1
#: A slack above the first share of the margin is clearly not 0; there an α below the second share of C is negligible.
CLEAR_SLACK_SHARE, NEGLIGIBLE_ALPHA_SHARE = 1e-6, 1e-9
#: K_ii counts as at least this share of the mean of all.
LEAST_CURVATURE = 1e-12
#: An α above this share of C is never negligible.
SMALL_ALPHA_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class JudgedPoint:
    """A certified point of a solver, of which a result can be built.

    status, message, error: What follows from the certificate; `error` is what `solve(check=True)` raises, or None.
    form: Of the QP that was solved.
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
    """Certifies the points of one dual, and counts their rounding.

    space: The samples that take part.
    """

    def __init__(self, space: FeatureSpace, svm: SVMDual) -> None:
        self.space, self.svm = space, svm

    @cached
    def gap_refiner(self) -> GapRefiner:
        """Bounds the gaps of points, all rounding included, and improves points whose bound is loose."""
        constraints, space = self.svm.linear_constraints, self.space
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
    """Return the gap of a point as computed, without its rounding."""
    return float(np.fmin(point.gap, point.measured))


def polish_certificate(
    judge: Certifier, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
) -> Certificate:
    """Polish a certificate: to rounding if that is cheap, with few rows; else to the tolerance.

    A larger tolerance than the default is taken literally: far from the exact split, polishing would cost more than
    running the solver with a smaller tolerance.
    """
    svm, space, n, alpha = judge.svm, judge.space, judge.svm.m, certificate.alpha
    is_good_enough = FINISHED if n <= TEACHING_ROWS or (n <= FEW_ROWS and tol <= GOOD) else tol
    if not certificate.gap <= is_good_enough:
        if judge.gap_refiner.find_zero_point(certificate) is not None:  # there is nothing to polish
            return certificate
        return polish(svm, certificate, judge.certify, clock=clock, certify_seconds=certify_seconds)
    if n <= TEACHING_ROWS and certificate.offset > POLISHED * math.sqrt(2.0 * max(certificate.half_norm, 0.0)):
        polished = polish(
            svm, judge.certify(alpha), judge.certify, clock=clock, certify_seconds=certify_seconds
        )  # w has digits that α has not
        certificate = polished if polished.gap <= FINISHED else certificate
    if n <= FEW_ROWS:
        return snap_certificate(judge, certificate)
    late = clock is not None and clock.find_stop_reason()
    if space.is_linear and not late:  # a certificate is a pass over X
        return snap_certificate(judge, certificate, max(SNAP_SHARE * tol, FINISHED))
    return certificate


def decide_status(certificate: Any, reported: Status, tol: float, note: str = "") -> tuple[Status, str]:
    """Return the status that a certificate implies, and the message. A soft margin is always feasible."""
    if certificate.gap <= tol:
        return Status.OPTIMAL, note
    if certificate.measured <= tol:
        return Status.INACCURATE, f"{LOST_TO_ROUNDING} {note}".strip()
    if reported is Status.OPTIMAL:
        return Status.INACCURATE, note
    return Status.NUMERICAL_ERROR if reported in (Status.INFEASIBLE, Status.UNBOUNDED) else reported, note


def classify_samples(
    space: FeatureSpace, certificate: Certificate, kind: NDArray[np.int8] | None = None
) -> NDArray[np.int8]:
    """Classify rows by comparing α with the gradient y f − ρ, not by a threshold: 0 zero, 1 free, 2 at bound.

    kind: The result of `split`; computed if None. It is returned itself if nothing changes.

    α counts as 0 if the row would stay beyond its margin without it: setting α to 0 changes y f by K_ii α. It also
    counts as 0 if the row is clearly beyond its margin and α is tiny compared with C. It counts as C under the same
    conditions. An α that differs from a bound by more than `SMALL_ALPHA_SHARE` times C is not at it, however far from
    the margin the row of an inaccurate point may be. A free row with a curved loss violates its margin by δα and is
    penalised: it is classified as 2 as well if α has no upper bound.
    """
    svm = certificate.svm
    kind = split(certificate.alpha, svm.upper) if kind is None else kind
    free_rows = (kind == 1).nonzero()[0]
    if not len(free_rows):
        return kind
    alpha, upper, margin = (
        certificate.alpha[free_rows],
        _take_entries(svm.upper, free_rows),
        _take_entries(certificate.margin, free_rows),
    )
    diagonal = (
        svm.hessian.diagonal()[free_rows] if svm.mix is not None else space.curvature(svm.find_samples(free_rows))
    )
    slack = certificate.yf[free_rows] - margin
    min_diagonal = max(float(np.minimum.reduce(diagonal, initial=math.inf)), LEAST_CURVATURE * space.scale)
    if svm.is_bounded and not svm.has_curvature:  # nearly always: no row is anywhere near a bound
        common = find_common_value(upper)
        largest_upper = float(np.maximum.reduce(upper)) if common is None else common
        largest_change = float(np.maximum.reduce(np.abs(slack))) * max(
            1.0 / min_diagonal, NEGLIGIBLE_ALPHA_SHARE * largest_upper
        )
        if largest_change < float(np.minimum.reduce(np.minimum(alpha, upper - alpha))):
            return kind
    curvature = np.maximum(diagonal, LEAST_CURVATURE * space.scale)
    free: Any = 1
    if svm.has_curvature:
        delta = svm.curvature[free_rows]
        curvature += delta
        slack += delta * alpha
        free = np.where((delta > 0.0) & np.isinf(upper), 2, 1)
    alpha_per_slack = 1.0 / curvature
    clear = np.abs(slack) > CLEAR_SLACK_SHARE * np.abs(margin)
    if clear.any():
        alpha_per_slack = np.maximum(
            alpha_per_slack, np.where(clear & (upper < np.inf), NEGLIGIBLE_ALPHA_SHARE * upper, 0.0)
        )
    slack *= alpha_per_slack
    # relative to C, or for a hard margin to the largest α
    threshold = SMALL_ALPHA_SHARE * np.minimum(upper, float(certificate.alpha.max(initial=0.0)))
    kind = kind.copy()
    at_zero, full = alpha <= np.minimum(slack, threshold), upper - alpha <= np.minimum(-slack, threshold)
    kind[free_rows] = np.where(at_zero, 0, np.where(full, 2, free))
    return kind


def _take_entries(vector: FloatArray, rows: IntArray) -> FloatArray:
    """Take the entries of a vector (m,) at some rows, (r,); the result is `repeat_value` if the vector is."""
    common = find_common_value(vector)
    return vector[rows] if common is None else repeat_value(common, len(rows))


def split(alpha: FloatArray, upper: FloatArray) -> NDArray[np.int8]:
    """Classify each row by α, (m,): 0 if α = 0, 1 if 0 < α < C, 2 if α = C."""
    positive = alpha > 0.0
    kind = positive.astype(np.int8)  # (DUAL.8), (HARD.12), (CSVM.13), (NUSVM.14), (PHINGE.13)
    kind[positive & (alpha >= upper)] = 2  # (DUAL.8), (CSVM.13), (NUSVM.14), (PHINGE.13)
    return kind


def snap_certificate(judge: Certifier, certificate: Certificate, target_gap: float = FINISHED) -> Certificate:
    """Certify α with the rows at a bound (`classify_samples`) snapped to it; keep the old point if it is better.

    A multiplier that should be 0 may come back from a solver as 1e-18. Polishing would set it to 0, but a point whose
    gap is rounding is not polished. A gap up to `target_gap` does not count as worse.
    """
    if certificate.explicit is not None or not np.isfinite(certificate.gap):
        return certificate
    svm, alpha = certificate.svm, certificate.alpha
    kind_by_alpha = split(alpha, svm.upper)
    kind = classify_samples(judge.space, certificate, kind_by_alpha)
    if kind is kind_by_alpha:
        return certificate.replace(kind=kind)  # cached for the result
    full = kind == 2
    if svm.has_curvature:
        full &= svm.curvature == 0.0
    at_bounds = np.where(kind == 0, 0.0, np.where(full, svm.upper, alpha))
    if (at_bounds == alpha).all():
        return certificate.replace(kind=kind)
    clean = judge.certify(feasible_start(svm, at_bounds))
    return clean if clean.gap <= max(certificate.gap, target_gap) else certificate
