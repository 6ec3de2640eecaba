"""Define the squared hinge, or 2-norm soft margin (Cortes & Vapnik 1995): slack is penalised by its square.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b. Samples may be inside the margin by a slack ξ_i, penalised by C_i ξ_i²: small slacks by next to
nothing, and large ones far more than by a C-SVM.

    (SQHINGE.1)  margin:  the hyperplanes f = −1 and f = +1 are 2/‖w‖ apart
    (SQHINGE.2)  primal:  minimise ½‖w‖² + Σ C_i ξ_i², plus ½b² where b is penalised,  over w, b, ξ  subject to  y_i
                 f(x_i) ≥ 1 − ξ_i,  ξ_i ≥ 0
    (SQHINGE.3)  Lagrangian:  L = ½‖w‖² + Σ C_i ξ_i² − Σ α_i (y_i f(x_i) − 1 + ξ_i),  α ≥ 0; ξ_i ≥ 0 needs no
                 multiplier, since 0 is as feasible as a negative ξ_i, and costs less;  plus ½b² where b is penalised
    (SQHINGE.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
    (SQHINGE.5)  ∂L/∂b = 0:  yᵀα = 0 for a free intercept;  b = yᵀα for a penalised one, with ½b² in the objective
    (SQHINGE.6)  ∂L/∂ξ_i = 0:  ξ_i = α_i/(2C_i)
    (SQHINGE.7)  dual feasibility:  α_i ≥ 0, without an upper bound
    (SQHINGE.8)  complementary slackness:  α_i (y_i f(x_i) − 1 + ξ_i) = 0
    (SQHINGE.9)  substitution of (SQHINGE.4) to (SQHINGE.6):  L = Σ α_i − ½ Σ_ij α_i α_j y_i y_j K(x_i, x_j)
                 − Σ α_i²/(4C_i), with K + 1 for K where the intercept is penalised
    (SQHINGE.10)  dual:  minimise ½αᵀ(Q + D)α − 1ᵀα  subject to  0 ≤ α_i  and, for a free intercept,  yᵀα = 0,  with
                  Q_ij = y_i y_j K(x_i, x_j)  and  D the diagonal matrix of 1/(2C_i);  plus ½(yᵀα)² where b is
                  penalised, that is K + 1 for K
    (SQHINGE.11)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (SQHINGE.12)  b is recovered:  the mean of y_i (1 − α_i/(2C_i)) − Σ_j α_j y_j K(x_j, x_i) over the samples with
                  α_i > 0 for a free intercept;  yᵀα for a penalised one
    (SQHINGE.13)  two kinds of samples:  α_i = 0 and y_i f ≥ 1, no support vector;  α_i > 0 and y_i f = 1 − α_i/(2C_i),
                  inside the margin or on the wrong side. None is on the margin: a small slack is almost free
    (SQHINGE.14)  strong duality:  the optimal values of (SQHINGE.2) and (SQHINGE.10) differ in sign only
    (SQHINGE.15)  linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b
    (SQHINGE.16)  weak duality:  for every α of (SQHINGE.10) and every w, b, ξ of (SQHINGE.2),  P(w, b, ξ) − D(α) =
                  ½‖w − w(α)‖² + Σ [C_i (ξ_i − α_i/(2C_i))² + α_i (y_i f(x_i) − 1 + ξ_i)] ≥ 0,  plus ½(b − yᵀα)²
                  where b is penalised
    (SQHINGE.17)  (SQHINGE.10) is the dual of a hard margin whose kernel matrix is K + D: every sample has a feature of
                  its own besides φ, of size 1/√(2C_i), and with these any classes can be separated

Implementation
--------------
`_build_specification` states (SQHINGE.2) and (SQHINGE.10), with the diagonal of D as `curvature`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.rationals import divide_exactly
from qpsvm.base.arrays.types import FloatArray
from qpsvm.data.labels import ClassWeight
from qpsvm.data.samples import build_binary_samples
from qpsvm.machines.problem.penalties import compute_active_penalties
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.specification import Specification
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class SquaredHinge(Problem):
    """Soft-margin SVM whose slack is penalised by C ξ².

    Parameters
    ----------
    C : float or array_like of shape (n,), default=1.0
        Penalty of the squared slack, positive.
    intercept : "free", "penalised" or None, default="free"
        Whether b is outside the norm, inside it, or absent. LIBLINEAR's is penalised.

    See Also
    --------
    CSVM : The penalty is C ξ.
    HuberHinge : The penalty is a square up to a width, and linear beyond.

    References
    ----------
    Cortes & Vapnik, *Support-vector networks*, Machine Learning 20 (1995), equation 27 with σ = 2.

    Cristianini & Shawe-Taylor, *An Introduction to Support Vector Machines* (2000), section 6.1.2.

    Examples
    --------
    α is in proportion to the slack, (SQHINGE.6), and has no bound:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1]
    >>> result = qpsvm.solve(qpsvm.SquaredHinge(X, y, C=1))
    >>> print(result.xi.round(6))
    [0.505495 0.945055 0.175824 0.       1.274725]
    >>> print((result.alpha / 2).round(6))
    [0.505495 0.945055 0.175824 0.       1.274725]
    """

    _primal_notation = ("SQHINGE.2", "½ {norm} + Σ C_i ξ_i²", "y_i {f} ≥ 1 − ξ_i")
    _display_name, _dual_tag, _hyperparameters = "squared hinge", "SQHINGE.10", ("C",)
    _curvature_term = "Σ α_i²/(4C_i)"
    C: FloatArray

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
        *,
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(
            build_binary_samples(X, y, sample_weight, class_weight), kernel, intercept, psd, constraints, C=C
        )

    def _build_specification(self) -> Specification:
        curvature = divide_exactly(compute_active_penalties(self.C, self.samples), Fraction(1, 2))  # 1/(2C_i)
        return Specification(self._active_target, 1.0, np.inf, curvature)  # (SQHINGE.2), (SQHINGE.10)
