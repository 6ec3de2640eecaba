"""Define the hard-margin SVM: the widest margin of two separable classes (Vapnik 1982; Boser, Guyon & Vapnik 1992).

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b.

    (HARD.1)  margin:  the hyperplanes f = −1 and f = +1 are 2/‖w‖ apart, so that the smallest ‖w‖ is the widest margin
    (HARD.2)  primal:  minimise ½‖w‖²  over w, b  subject to  y_i f(x_i) ≥ 1
    (HARD.3)  Lagrangian:  L = ½‖w‖² − Σ α_i (y_i f(x_i) − 1),  α ≥ 0
    (HARD.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
    (HARD.5)  ∂L/∂b = 0:  yᵀα = 0
    (HARD.6)  dual feasibility:  α_i ≥ 0
    (HARD.7)  complementary slackness:  α_i (y_i f(x_i) − 1) = 0
    (HARD.8)  substitution of (HARD.4) and (HARD.5):  L = Σ α_i − ½ Σ_ij α_i α_j y_i y_j K(x_i, x_j)
    (HARD.9)  dual:  minimise ½αᵀQα − 1ᵀα  subject to  yᵀα = 0,  α ≥ 0,  with Q_ij = y_i y_j K(x_i, x_j)
    (HARD.10)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (HARD.11)  b is recovered:  −(min₊ u + max₋ u)/2 with u = K(α∘y), the middle between the classes, which is the mean
               of y_i − u_i over the samples with α_i > 0
    (HARD.12)  two kinds of samples:  α_i = 0 and y_i f ≥ 1, no support vector;  α_i > 0 and y_i f = 1, on the margin
    (HARD.13)  strong duality:  ½‖w‖² = Σ α_i − ½‖w‖², hence the margin is 2/√(Σ α_i)
    (HARD.14)  certificate, scale-free: with u = K(α∘y) and δ = (min₊ u − max₋ u)/2 > 0 the point w(α)/δ is feasible,
               P = ‖w(α)‖²/(2δ²); and α·t with t = 1ᵀα/‖w(α)‖² is the best multiple, D = (1ᵀα)²/(2‖w(α)‖²)
    (HARD.15)  linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b
    (HARD.16)  weak duality:  for every α of (HARD.9) and every w, b of (HARD.2),  P(w) − D(α) =
               ½‖w − w(α)‖² + Σ α_i (y_i f(x_i) − 1) ≥ 0

δ > 0 implies that the classes are separable. Otherwise the nearest points of their hulls decide, see `hull_distance`;
if their distance is within rounding, an exact proof decides, see `proof.hulls`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, NotSeparableError, QPSVMError, SolverError
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import TEACHING_ROWS
from qpsvm.bounds.row_feasibility import build_infeasible_error
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.data.samples import build_binary_samples
from qpsvm.machines.hull_distance import HullDistance, find_nearest_hulls, find_shared_sample
from qpsvm.machines.problem.certifier import CertifiedPoint
from qpsvm.machines.problem.evidence import build_constraints_error, build_margin_error
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.specification import Specification
from qpsvm.program.status import Status
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.psd_rule import PSDRule

#: Largest number of rows for which the nearest points are searched whenever the gap exceeds the tolerance.
MAX_SEARCHED_ROWS = 1000
#: Smallest allowed max |X|: squares of smaller entries underflow, and all samples look like one point.
MIN_LARGEST_ENTRY = 1e-150
#: Status and message of an undecided search, by the reason.
UNDECIDED = {
    "time_limit": (Status.TIME_LIMIT, "within the time limit"),
    "interrupted": (Status.INTERRUPTED, "before it was interrupted"),
    "iteration_limit": (Status.INACCURATE, "within the limit of rounds"),
}


class HardMargin(Problem):
    """Hard-margin SVM: every sample is on the correct side of the margin.

    Parameters
    ----------

    Raises
    ------
    DataError, DataTypeError, ParameterError
        See `Problem`. `solve` raises `NotSeparableError` if the hulls of the classes meet, and `MarginNotFoundError` if
        they are too close to decide.

    See Also
    --------
    CSVM : The soft margin, for classes that are not separable.

    References
    ----------
    Boser, Guyon & Vapnik, *A training algorithm for optimal margin classifiers*, COLT (1992).

    Examples
    --------
    Two points (0, 0) and (2, 2): the width of the margin is their distance, 2/‖w‖ = √8.

    >>> import numpy as np
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.HardMargin([[0.0, 0.0], [2.0, 2.0]], [0, 1]))
    >>> print(result.w.round(6), round(result.b, 6))
    [0.5 0.5] -1.0
    >>> bool(np.isclose(2 / np.linalg.norm(result.w), np.sqrt(8)))
    True
    """

    _primal_notation = ("HARD.2", "½ {norm}", "y_i {f} ≥ 1")
    _display_name, _dual_tag = "hard margin", "HARD.9"

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        super().__init__(build_binary_samples(X, y), kernel, "free", psd, constraints)
        blocks = as_row_source(self.X).blocks()
        largest = max(float(max(part.max(), -part.min())) for part in (block.matrix for block in blocks))
        if 0.0 < largest < MIN_LARGEST_ENTRY and not isinstance(self.kernel, Precomputed):
            raise DataError(f"the largest entry of X is {largest:.1e} in size, and its square underflows: rescale X")

    def _build_specification(self) -> Specification:
        return Specification(self._active_target, 1.0, np.inf)  # (HARD.2), (HARD.9); its certificate is (HARD.14)

    def hulls(self, hint: FloatArray | None = None, stopped: Callable[[], str | None] = lambda: None) -> HullDistance:
        """Find a common point of the hulls of the classes, or their distance; a decided result is cached.

        Parameters
        ----------
        hint : ndarray, shape (n,), optional
            An α of the n active samples, positive near the other class, at which the search starts.
        stopped : callable, optional
            Called repeatedly; returns a reason to stop ("time_limit", "interrupted") or None. The reason becomes the
            `undecided` of the result.

        Returns
        -------
        HullDistance
            The distance, over the active samples.

        Examples
        --------
        >>> import qpsvm
        >>> qpsvm.HardMargin([[0.0], [1.0], [3.0]], [0, 0, 1]).hulls().meet
        False
        >>> hulls = qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0]).hulls()
        >>> print(hulls.meet, hulls.u.round(6), hulls.v.round(6))
        True [0. 1. 0.] [0.5 0.  0.5]
        """
        if not self._hull_cache:
            found = self._find_hulls(np.zeros(len(self._active_target)) if hint is None else hint, stopped)
            if found.undecided in ("time_limit", "interrupted"):
                return found
            self._hull_cache.append(found)
        return self._hull_cache[0]

    @cached
    def _hull_cache(self) -> list[HullDistance]:
        """Cache of the hull distance for these samples and this kernel: empty until it is decided."""
        return []

    def _find_hulls(self, hint: FloatArray, stopped: Callable[[], str | None]) -> HullDistance:
        """Find the distance of the hulls, by a shared sample or the nearest points."""
        has_no_samples = isinstance(self.kernel, Precomputed) or isinstance(self.X, RowSource)
        if has_no_samples:
            shared = None
        else:
            shared = find_shared_sample(self.X, self._active_target)
        return shared or find_nearest_hulls(self.space, self._active_target, hint, stopped)

    def _decide_outcome(
        self, certificate: Certificate, reported: Status, tol: float, polished: bool, clock: Clock | None
    ) -> CertifiedPoint:
        if self.constraints:
            return self._find_infeasibility(certificate) or super()._decide_outcome(
                certificate, reported, tol, polished, clock
            )
        has_no_margin = bool(np.isinf(certificate.gap))
        if not has_no_margin and not (certificate.gap > tol and polished and self.n <= MAX_SEARCHED_ROWS):
            return super()._decide_outcome(certificate, reported, tol, polished, clock)
        hulls = self.hulls(certificate.alpha, (clock or Clock()).find_stop_reason)
        if hulls.meet and (has_no_margin or hulls.distance == 0.0):  # any margin is only rounding
            error = build_margin_error(self, hulls.u, hulls.v, hulls.distance)
            if has_no_margin or isinstance(error, NotSeparableError):
                return _build_refusal(replace(certificate, gap=np.inf), error)
        certificate = self._improve_by_hulls(certificate, hulls, tol, polished)
        outcome = super()._decide_outcome(certificate, reported, tol, polished, clock)
        if not np.isinf(certificate.gap):
            return outcome
        if not hulls.undecided:  # no margin was found at the nearest points, although the hulls may be apart
            return _build_refusal(certificate, build_margin_error(self, hulls.u, hulls.v, hulls.distance))
        status, until = UNDECIDED[hulls.undecided]
        message = f"whether the classes are separable was not decided {until}. {outcome.message}".strip()
        return replace(outcome, status=status, message=message)

    def _find_infeasibility(self, certificate: Certificate) -> CertifiedPoint | None:
        """Return the outcome if a linear program proves that no point satisfies margin and constraints; else None."""
        restoration = self._certifier.restoration
        if np.isinf(certificate.gap):
            weights = restoration.row_feasibility.farkas
        else:
            weights = None
        if weights is None:
            return None
        error = build_constraints_error(
            build_infeasible_error(
                self.svm, restoration.gap_bounder, restoration.rows, restoration.row_feasibility, self._constraint_scale
            ),
            self,
        )
        if not weights[self.n :].any():  # the classes are not separable even without constraints
            u, v = (np.where(self._active_target * side > 0, weights[: self.n], 0.0) for side in (1.0, -1.0))
            error = build_margin_error(self, u / u.sum(), v / v.sum(), 0.0)
        return _build_refusal(certificate, error)

    def _polish(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
    ) -> Certificate:
        """Polish the certificate, unless its point separates no classes and polishing is slow or useless."""
        if np.isinf(certificate.gap) and not self.constraints:
            is_large = len(self._active_target) > TEACHING_ROWS
            if is_large or self.hulls(certificate.alpha, (clock or Clock()).find_stop_reason).meet:
                return certificate
        return super()._polish(certificate, tol, clock, certify_seconds)

    def _improve_by_hulls(
        self, certificate: Certificate, hulls: HullDistance, tol: float, polished: bool
    ) -> Certificate:
        """Return the better of this certificate and the one at the nearest points of the hulls."""
        if hulls.distance == np.inf:  # the search was stopped before it found any points
            return certificate
        if self.space.is_linear and len(hulls.direction):
            explicit = hulls.direction
        else:
            explicit = None
        start = self._certifier.certify(hulls.u + hulls.v, explicit)
        if polished and not hulls.undecided:
            start = self._polish(start, tol)
        candidate = self._bound_rounding(start, tol)
        return candidate if candidate.gap < certificate.gap else certificate


def _build_refusal(certificate: Certificate, error: QPSVMError) -> CertifiedPoint:
    """Return the outcome for an error: a numerical error if undecided, else infeasible."""
    if isinstance(error, SolverError):
        status = Status.NUMERICAL_ERROR
    else:
        status = Status.INFEASIBLE
    return CertifiedPoint(certificate, status, str(error), error)
