"""The hard margin: the widest slab between two classes that can be separated (Vapnik 1982; Boser, Guyon & Vapnik 1992).

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
    (HARD.11)  b is recovered:  the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over the samples with α_i > 0
    (HARD.12)  two kinds of samples:  α_i = 0 and y_i f ≥ 1, peripheral;  α_i > 0 and y_i f = 1, on the margin
    (HARD.13)  strong duality:  ½‖w‖² = Σ α_i − ½‖w‖², hence the margin is 2/√(Σ α_i)
    (HARD.14)  certificate, free of scale: with u = K(α∘y) and δ = (min₊ u − max₋ u)/2 > 0 the point w(α)/δ is feasible,
               P = ‖w(α)‖²/(2δ²); and α·t with t = 1ᵀα/‖w(α)‖² is the best multiple, D = (1ᵀα)²/(2‖w(α)‖²)
    (HARD.15)  linear kernel only:  w = Σ α_i y_i x_i has one weight a feature, and f(x) = wᵀx + b

δ > 0 proves that the classes can be separated. Otherwise the nearest points of their hulls decide, see `separability`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.checks import LARGEST_VALUE
from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.dual.certificate import Certificate, balanced, objective_terms, relative_gap
from qpsvm.dual.polish import TEACHING_ROWS
from qpsvm.dual.proven import Equalities
from qpsvm.errors import DataError, NotSeparableError, QPSVMError
from qpsvm.kernels.functions import Linear, Precomputed
from qpsvm.kernels.indefinite import PSDRule
from qpsvm.operators import Diagonal, Operator
from qpsvm.problems.base import Form, Problem
from qpsvm.problems.hinge import PrimalPoint, balance_group, margin_group, margin_rows, primal_points
from qpsvm.problems.separability import HullDistance, hull_distance, nearest_hulls, shared_sample
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.resources.clock import Clock

#: Rows, and entries of their coordinates, up to which the linear program takes no longer than the nearest points.
FEW_ROWS, FEW_ENTRIES = 1000, 10_000
#: Where squares are no longer ordinary numbers, classes that can be separated look as if they were one point.
SMALLEST_VALUE = 1e-150
#: How a search ends that does not decide.
UNDECIDED = {
    "time_limit": (Status.TIME_LIMIT, "within the time limit"),
    "interrupted": (Status.INTERRUPTED, "before it was interrupted"),
    "iteration_limit": (Status.INACCURATE, "in as many rounds as it is worth"),
}


class HardMargin(Problem):
    """Hard-margin SVM: every sample on its side of the margin.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
    y : array_like, shape (n,)
        Any two labels; the larger in sort order is +1.
    kernel : Kernel, str or callable, default=Linear()
    psd : "raise", "clip" or "shift", default="raise"

    Raises
    ------
    DataError, DataTypeError, ParameterError
        See `Problem`. `solve` raises `NotSeparableError` where the hulls of the classes meet.

    References
    ----------
    Boser, Guyon & Vapnik, *A training algorithm for optimal margin classifiers*, COLT (1992).
    """

    def __init__(self, X: Any, y: ArrayLike, kernel: Any = Linear(), psd: PSDRule = "raise") -> None:  # noqa: B008
        super().__init__(X, y, kernel, None, "free", psd)
        largest = float(max(self.X.max(), -self.X.min()))  # |X| would be a copy
        if 0.0 < largest < SMALLEST_VALUE and not isinstance(self.kernel, Precomputed):
            raise DataError(f"X has no entry beyond {largest:.1e}, whose square underflows: rescale")
        self._hulls: HullDistance | None = None

    @cached_property
    def upper(self) -> FloatArray:
        """Infinite: nothing bounds α above."""
        return repeated(np.inf, self.n)

    @property
    def title(self) -> str:
        """The variant with its parameters."""
        return f"hard margin, kernel {self.kernel}"

    def _dual(self, Q: Operator) -> QP:
        A, b, balance = balance_group(self.labels)
        return QP(  # (HARD.9)
            P=Q, q=repeated(-1.0, self.n), A=A, b=b, lb=repeated(0.0, self.n),
            variables={"alpha": slice(0, self.n)}, constraints=balance,
            formula=f"½ αᵀQα − 1ᵀα,  {self._entry}", title=f"{self.title}: dual (HARD.9)",
        )

    def _primal(self, Z: Matrix) -> QP:
        n, r = Z.shape
        y = self.labels
        return QP(  # (HARD.2)
            P=Diagonal(np.append(np.ones(r), 0.0)), q=np.zeros(r + 1),
            G=margin_rows(Z, y, [-y[:, None]]), h=-np.ones(n),
            variables={"w": slice(0, r), "b": slice(r, r + 1)},
            constraints=margin_group(n, "y_i (wᵀx_i + b) ≥ 1"),
            formula="½ ‖w‖²", title=f"{self.title}: primal (HARD.2)",
        )

    def _scaling(self, form: Form) -> tuple[dict[str, float], dict[str, float], float]:
        kappa = self.space.scale
        if form == "dual":
            return {"alpha": 1 / kappa}, {"balance": kappa}, kappa
        return {"w": 1 / float(np.sqrt(kappa))}, {}, kappa

    def _alpha_from_margin(self, multipliers: FloatArray) -> FloatArray:
        return multipliers  # (HARD.3)

    def _from_lift(self, v: FloatArray) -> FloatArray:
        return v  # (HARD.4)

    def _certify(self, alpha: FloatArray, w: FloatArray | None = None, enough: float = 0.0) -> Certificate:
        del enough  # w(α) and w share nothing that could be saved
        a = self._feasible(alpha)
        if not a.any():
            a = np.where(self.labels > 0, 1 / (self.labels > 0).sum(), 1 / (self.labels < 0).sum())
        a = a / a.max()  # only the direction counts, and a diverging solver's α may overflow
        half_norm, points = primal_points(self.space, a * self.labels, w)
        norm2, total = 2 * half_norm, float(a.sum())
        stretch = total / norm2 if norm2 * LARGEST_VALUE > total else 1.0  # t of (HARD.14)
        *explicit, own = points
        candidates = [self._at(a * stretch, stretch, own, point) for point in (own, *explicit)]
        return min(candidates, key=lambda certificate: certificate.gap)

    def _at(self, a: FloatArray, stretch: float, own: PrimalPoint, point: PrimalPoint) -> Certificate:
        """(HARD.14) for the dual point a = α·t and a primal direction; P = ∞ where that separates nothing."""
        y, u = self.labels, point.u
        low, high = float(u[y > 0].min()), float(u[y < 0].max())
        delta, b = (low - high) / 2, -(low + high) / 2
        dual = float(a.sum()) - stretch * stretch * own.half_norm
        if not delta > 0:
            factor = stretch if point is own else 1.0
            plane = self.space.plane(a * y, point.w, b * factor, 1.0 if point.w is None else factor)
            yf = y * (u * factor + plane.level)
            return Certificate(
                a, yf, 1.0, plane.b, (-np.inf, np.inf), plane.w, plane.coef, self.upper, 1.0, np.inf, dual, np.inf
            )
        primal = point.half_norm / delta / delta  # δ² would underflow where the margin need not
        if point is own:
            way = math.sqrt(own.half_norm) * (1 / delta - stretch)
            distance = way * way
        else:
            distance = self._half_distance(point, own, delta, stretch)
        factor = 1 / delta
        plane = self.space.plane(a * y, point.w, b / delta, factor / stretch if point.w is None else factor)
        yf = y * (u * factor + plane.level)
        terms = objective_terms(a, self.upper, yf, 1.0, primal)  # y f ≥ 1 by the choice of δ, but for rounding
        gap = relative_gap(distance + float(terms.sum()), primal, dual)
        return Certificate(
            a, yf, 1.0, plane.b, (plane.b, plane.b), plane.w, plane.coef, self.upper, 1.0, primal, dual, gap,
            level=plane.level, level_radius=plane.level_radius, factor=factor / stretch, half_norm=primal,
            offset=float(np.sqrt(2 * distance)),
        )

    @staticmethod
    def _half_distance(point: PrimalPoint, own: PrimalPoint, delta: float, stretch: float) -> float:
        """½‖w/δ − t w(α)‖² for an explicit w."""
        assert point.w is not None
        assert own.w is not None
        difference = point.w / delta - stretch * own.w
        return 0.5 * float(difference @ difference)

    def _feasible(self, alpha: FloatArray) -> FloatArray:
        return balanced(alpha, self.labels, self.upper)

    def _equalities(self) -> Equalities:
        return Equalities(self.labels[:, None], np.zeros(1), np.zeros(1))

    def hulls(
        self, hint: FloatArray | None = None, stopped: Callable[[], str | None] = lambda: None
    ) -> HullDistance:
        """Where the hulls of the classes meet, or how far they are apart: found once, and kept if it was found.

        Parameters
        ----------
        hint : ndarray, shape (rows that take part,), optional
            An α, positive where the classes come close.
        stopped : callable, optional
            Asked now and then: why to stop ("time_limit", "interrupted"), or None. The answer is then `undecided`.

        Returns
        -------
        HullDistance
            Over the rows that take part.
        """
        if self._hulls is None:
            found = self._search(np.zeros(len(self.labels)) if hint is None else hint, stopped)
            if found.undecided in ("time_limit", "interrupted"):
                return found
            self._hulls = found
        return self._hulls

    def _search(self, hint: FloatArray, stopped: Callable[[], str | None]) -> HullDistance:
        """By a shared sample, the linear program where that is small, or the nearest points."""
        shared = None if isinstance(self.kernel, Precomputed) else shared_sample(self.X, self.labels)
        if shared:
            return shared
        small = self.n <= FEW_ROWS and self.n * self.space.coordinates.shape[1] <= FEW_ENTRIES
        if small and not stopped():
            return hull_distance(self.space.coordinates, self.labels)
        return nearest_hulls(self.space, self.labels, hint, stopped)

    def _judge(
        self, certificate: Certificate, solution: QPSolution, tol: float, polished: bool, clock: Clock | None
    ) -> tuple[Certificate, Status, str, QPSVMError | None]:
        stopped = (clock or Clock()).stopped
        hulls: HullDistance | None = None
        if np.isinf(certificate.gap) or (certificate.gap > tol and polished and self.n <= FEW_ROWS):
            hulls = self.hulls(certificate.alpha, stopped)
            if hulls.meet and (np.isinf(certificate.gap) or hulls.distance == 0.0):  # a margin of rounding
                error = NotSeparableError(hulls.u, hulls.v, hulls.distance)
                return replace(certificate, gap=np.inf), Status.INFEASIBLE, str(error), error
            certificate = self._better(certificate, hulls, tol, polished)
        result, status, message, error2 = super()._judge(certificate, solution, tol, polished, clock)
        if np.isinf(result.gap) and hulls is not None:
            status, why = _undecided(hulls)
            message = f"{why} {message}".strip()
        return result, status, message, error2

    def _polished(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, each: float = 0.0
    ) -> Certificate:
        """A point that separates nothing is not polished where that takes long: the hulls say where to go on from."""
        if np.isinf(certificate.gap) and len(self.labels) > TEACHING_ROWS:
            return certificate
        return super()._polished(certificate, tol, clock, each)

    def _better(self, certificate: Certificate, hulls: HullDistance, tol: float, polished: bool) -> Certificate:
        """The certificate at the nearest points, where that is the better one."""
        if hulls.distance == np.inf:  # the search had no time to find any
            return certificate
        explicit = hulls.direction if self.space.is_linear and len(hulls.direction) else None
        start = self._certify(hulls.u + hulls.v, explicit)
        better = self._proven(self._polished(start, tol) if polished and not hulls.undecided else start, tol)
        return better if better.gap < certificate.gap else certificate


def _undecided(hulls: HullDistance) -> tuple[Status, str]:
    """The status and the words where there is neither a margin nor a proof that there is none."""
    if hulls.undecided:
        status, until = UNDECIDED[hulls.undecided]
        return status, f"whether the classes can be separated was not decided {until}."
    return Status.NUMERICAL_ERROR, (
        f"the hulls of the classes come as near as {hulls.distance:.1e} of the data's size, too near to be told apart "
        "at working precision: a margin, if there is one, is no larger."
    )
