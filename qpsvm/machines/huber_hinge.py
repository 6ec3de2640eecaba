"""Huber's hinge (Chapelle 2007): slack is penalised by its square up to a width κ, and linearly beyond it.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b. A sample may be inside the margin by ξ_i + ζ_i, its slack. The part ξ_i costs C_i ξ_i²/(2κ), and
the part ζ_i costs C_i per unit. One more unit of ξ_i costs less than one of ζ_i as long as ξ_i < κ. So the loss of a
slack t is C_i t²/(2κ) for t ≤ κ, with ζ_i = 0, and C_i (t − κ/2) beyond, with ξ_i = κ. Unlike the hinge it is smooth at
t = 0, and it is never steeper than the hinge.

    (HUBER.1)  margin:  the hyperplanes f = −1 and f = +1 are 2/‖w‖ apart
    (HUBER.2)  primal:  minimise ½‖w‖² + Σ C_i (ξ_i²/(2κ) + ζ_i), plus ½b² where b is penalised,  over w, b, ξ, ζ
               subject to y_i f(x_i) ≥ 1 − ξ_i − ζ_i,  ξ_i, ζ_i ≥ 0
    (HUBER.3)  Lagrangian:  L = ½‖w‖² + Σ C_i (ξ_i²/(2κ) + ζ_i) − Σ α_i (y_i f(x_i) − 1 + ξ_i + ζ_i) − Σ η_i ζ_i, α, η ≥
               0; ξ_i ≥ 0 needs no multiplier, since 0 is as feasible as a negative ξ_i, and costs less;  plus ½b² where
               b is penalised
    (HUBER.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
    (HUBER.5)  ∂L/∂b = 0:  yᵀα = 0 for a free intercept;  b = yᵀα for a penalised one, with ½b² in the objective
    (HUBER.6)  ∂L/∂ξ_i = 0 and ∂L/∂ζ_i = 0:  ξ_i = κα_i/C_i  and  η_i = C_i − α_i
    (HUBER.7)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ C_i
    (HUBER.8)  complementary slackness:  α_i (y_i f(x_i) − 1 + ξ_i + ζ_i) = 0  and  (C_i − α_i) ζ_i = 0
    (HUBER.9)  substitution of (HUBER.4) to (HUBER.6):  L = Σ α_i − ½ Σ_ij α_i α_j y_i y_j K(x_i, x_j) − ½ Σ κα_i²/C_i,
               with K + 1 for K where the intercept is penalised
    (HUBER.10)  dual:  minimise ½αᵀ(Q + D)α − 1ᵀα  subject to  0 ≤ α_i ≤ C_i  and, for a free intercept,  yᵀα = 0,  with
                Q_ij = y_i y_j K(x_i, x_j)  and  D the diagonal matrix of κ/C_i;  plus ½(yᵀα)² where b is penalised,
                that is K + 1 for K
    (HUBER.11)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (HUBER.12)  b is recovered:  the mean of y_i (1 − κα_i/C_i) − Σ_j α_j y_j K(x_j, x_i) over the samples with
                0 < α_i < C_i for a free intercept;  yᵀα for a penalised one
    (HUBER.13)  three kinds of samples:  α_i = 0 and y_i f ≥ 1, no support vector;  0 < α_i < C_i and y_i f =
                1 − κα_i/C_i, where the loss is a curve;  α_i = C_i and y_i f ≤ 1 − κ, on its slope
    (HUBER.14)  strong duality:  the optimal values of (HUBER.2) and (HUBER.10) differ in sign only
    (HUBER.15)  linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b
    (HUBER.16)  weak duality:  for every α of (HUBER.10) and every w, b, ξ, ζ of (HUBER.2),  P(w, b, ξ, ζ) − D(α) =
                ½‖w − w(α)‖² + Σ [C_i (ξ_i − κα_i/C_i)²/(2κ) + (C_i − α_i) ζ_i + α_i (y_i f(x_i) − 1 + ξ_i + ζ_i)]
                ≥ 0,  plus ½(b − yᵀα)² where b is penalised
    (HUBER.17)  between the hinges:  C_i (t − κ/2) ≤ ψ_i(t) ≤ min(C_i t, C_i t²/(2κ)) for the loss ψ_i of a slack t ≥
                0, so that for κ → 0 it is (CSVM.2), and as soon as no slack is above κ, (SQHINGE.2) with C_i/(2κ) for
                C_i

Implementation
--------------
`_build_specification` states (HUBER.2) and (HUBER.10), with the diagonal of D as `curvature`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from qpsvm.base.arrays.rationals import divide_exactly
from qpsvm.base.arrays.types import FloatArray
from qpsvm.data.labels import ClassWeight
from qpsvm.data.samples import build_binary_samples
from qpsvm.machines.problem.penalties import compute_active_penalties
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.specification import Specification
from qpsvm.result.svm_result import KindLabels
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class HuberHinge(Problem):
    """Soft-margin SVM whose slack costs C ξ²/(2κ) up to a width κ, and C (ξ − κ/2) beyond.

    Parameters
    ----------
    C : float or array_like of shape (n,), default=1.0
        Penalty per unit of slack beyond the width, positive.
    width : float, default=0.5
        Slack κ, positive, up to which the loss is quadratic.

    See Also
    --------
    CSVM : The limit for a width towards 0, (HUBER.17).
    SquaredHinge : The same machine with C/(2κ) for C, if no slack is above the width, (HUBER.17).

    References
    ----------
    Chapelle, *Training a support vector machine in the primal*, Neural Computation 19 (2007). His loss with h = κ/2
    is positive for y f < 1 + h, the loss here for y f < 1.

    Examples
    --------
    If the slack is at most the width, α is proportional to it, (HUBER.6). If it is larger, α is C:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1]
    >>> result = qpsvm.solve(qpsvm.HuberHinge(X, y, C=1, width=0.5))
    >>> print(result.xi.round(6))
    [0.175 0.725 0.175 0.    1.55 ]
    >>> print(result.alpha.round(6))
    [0.35 1.   0.35 0.   1.  ]
    """

    _kind_labels: ClassVar[KindLabels] = KindLabels(
        ("non-support", "curve", "slope"),
        ("outside the margin", "inside it by at most the width", "inside it by more than the width"),
    )
    _primal_notation = ("HUBER.2", "½ {norm} + Σ C_i (ξ_i²/(2κ) + ζ_i)", "y_i {f} ≥ 1 − ξ_i − ζ_i")
    _display_name, _dual_tag, _hyperparameters = "Huber hinge", "HUBER.10", ("C", "width")
    _curvature_term = "½ Σ κα_i²/C_i"
    C: FloatArray
    width: float

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        width: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
        *,
        class_weight: ClassWeight = None,
    ) -> None:
        samples = build_binary_samples(X, y, sample_weight, class_weight)
        super().__init__(samples, kernel, intercept, psd, constraints, C=C, width=width)

    def _build_specification(self) -> Specification:
        C = compute_active_penalties(self.C, self.samples)
        curvature = divide_exactly(C, Fraction(self.width))  # κ/C_i
        return Specification(self._active_target, 1.0, C, curvature)  # (HUBER.2), (HUBER.10)
