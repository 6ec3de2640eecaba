"""Define the regularised hinge loss, with λ before the norm: the C-SVM as empirical risk minimisation.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b, and p_i = s_i/Σs (1/n without weights).

    (PHINGE.1)  primal:  minimise (λ/2)‖w‖² + Σ p_i max(0, 1 − y_i f(x_i)), plus (λ/2)b² where b is penalised:  a norm
                that regularises a mean loss
    (PHINGE.2)  as a QP:  minimise (λ/2)‖w‖² + Σ p_i ξ_i, plus (λ/2)b² where b is penalised:  the maximum becomes a
                slack, ξ_i ≥ 0 and ξ_i ≥ 1 − y_i f(x_i)
    (PHINGE.3)  Lagrangian, with λα_i for the multipliers of the margin rows, and λη_i for those of ξ_i ≥ 0:
                L = (λ/2)‖w‖² + Σ p_i ξ_i − Σ λα_i (y_i f(x_i) − 1 + ξ_i) − Σ λη_i ξ_i,  α, η ≥ 0;
                plus (λ/2)b² where b is penalised
    (PHINGE.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i), the representer theorem
    (PHINGE.5)  ∂L/∂b = 0:  yᵀα = 0 for a free intercept;  b = yᵀα for a penalised one, with (λ/2)b² in the objective
    (PHINGE.6)  ∂L/∂ξ_i = 0:  η_i = p_i/λ − α_i
    (PHINGE.7)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ p_i/λ
    (PHINGE.8)  complementary slackness:  α_i (y_i f(x_i) − 1 + ξ_i) = 0  and  (p_i/λ − α_i) ξ_i = 0
    (PHINGE.9)  substitution of (PHINGE.4) to (PHINGE.6):  L = λ(Σ α_i − ½ Σ_ij α_i α_j y_i y_j K(x_i, x_j)), with K + 1
                for K where the intercept is penalised
    (PHINGE.10)  dual:  minimise λ(½αᵀQα − 1ᵀα)  subject to  0 ≤ α_i ≤ p_i/λ  and, for a free intercept,  yᵀα = 0,  with
                 Q_ij = y_i y_j K(x_i, x_j);  plus λ½(yᵀα)² where b is penalised, that is K + 1 for K
    (PHINGE.11)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (PHINGE.12)  b is recovered:  the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over the samples with 0 < α_i < p_i/λ for a
                 free intercept;  yᵀα for a penalised one
    (PHINGE.13)  three kinds of samples:  α_i = 0 and y_i f ≥ 1, no loss;  0 < α_i < p_i/λ and y_i f = 1, at the kink of
                 the loss;  α_i = p_i/λ and y_i f ≤ 1, on its slope
    (PHINGE.14)  strong duality:  the optimal values of (PHINGE.2) and (PHINGE.10) differ in sign only
    (PHINGE.15)  divided by λ, (PHINGE.2) is (CSVM.2) with C_i = s_i/(λ Σs), that is C = 1/(λn)
    (PHINGE.16)  the multiplier of the margin row i of (PHINGE.2) is λα_i, and that of ξ_i ≥ 0 is λη_i
    (PHINGE.17)  a penalised intercept is a feature of ones after φ, so K + 1 replaces K and no equality is left.
                 (A certificate and polishing treat b separately, as the multiplier of yᵀα − b = 0: if C is large, the
                 sum Σ α_i y_i loses the digits of b.)
    (PHINGE.18)  linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b
    (PHINGE.19)  weak duality:  for every α of (PHINGE.10) and every w, b, ξ of (PHINGE.2),  P(w, b, ξ) − D(α) =
                 λ(½‖w − w(α)‖² + Σ [(p_i/λ − α_i) ξ_i + α_i (y_i f(x_i) − 1 + ξ_i)]) ≥ 0,  plus λ½(b − yᵀα)² where b
                 is penalised

Source: representer theorem and penalised intercept, Shalev-Shwartz et al., *Pegasos* (2011), section 6.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import from_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.data.labels import ClassWeight, normalise_weights
from qpsvm.data.samples import build_binary_samples
from qpsvm.machines.c_svm import CSVM
from qpsvm.machines.problem.derived_problems import convert_problem
from qpsvm.machines.problem.penalties import sum_weights
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.specification import Specification
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class PrimalHinge(Problem):
    """SVM as regularised risk: (λ/2)‖w‖² plus the mean hinge loss.

    Parameters
    ----------
    lam : float, default=0.01
        The factor λ of the norm, positive.
    sample_weight : array_like, shape (n,), optional
        The loss is the weighted mean.

    See Also
    --------
    CSVM : A penalty C instead of λ.

    References
    ----------
    Shalev-Shwartz et al., *Pegasos: primal estimated sub-gradient solver for SVM*, Mathematical Programming 127 (2011).

    Examples
    --------
    The objective, computed from w and b:

    >>> import numpy as np
    >>> import qpsvm
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
    >>> result = qpsvm.solve(qpsvm.PrimalHinge(X, y, lam=0.25))
    >>> loss = np.maximum(0, 1 - y * (X @ result.w + result.b)).mean()
    >>> print(round(result.primal, 6), np.isclose(0.25 / 2 * result.w @ result.w + loss, result.primal))
    0.125 True
    """

    _primal_notation = ("PHINGE.2", "(λ/2) {norm} + Σ s_i ξ_i / Σs", "y_i {f} ≥ 1 − ξ_i")
    _dual_tag, _unit_symbol, _hyperparameters = "PHINGE.10", "λ", ("lam",)
    lam: float

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        lam: float = 0.01,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        intercept: Intercept = "free",
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
        *,
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(
            build_binary_samples(X, y, sample_weight, class_weight), kernel, intercept, psd, constraints, lam=lam
        )

    @cached
    def weight_shares(self) -> FloatArray:
        """Shares s_i/Σs of the active samples: (n,)."""
        return normalise_weights(self._select_active(self.sample_weight))

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"primal hinge loss, lambda = {self.lam:g}, intercept {self.intercept}, kernel {self.kernel}"

    def _build_specification(self) -> Specification:
        s = self._select_active(self.sample_weight)
        lam = Fraction(self.lam)
        upper = from_floats(s, 1 / (lam * sum_weights(self.samples)))
        return Specification(self._active_target, 1.0, upper, unit=lam)  # (PHINGE.2), (PHINGE.10), (PHINGE.17)

    def equivalent_c_svm(self) -> CSVM:
        """Return the C-SVM with the same decision function: C_i = s_i/(λ Σs), (PHINGE.15).

        Returns
        -------
        CSVM
            Its objective is this one divided by λ.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.PrimalHinge([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], lam=0.5)
        >>> twin = problem.equivalent_c_svm()
        >>> print(twin.C, np.allclose(qpsvm.solve(twin).w, qpsvm.solve(problem).w))
        [0.5 0.5 0.5 0.5] True
        """
        C = 1.0 / (self.lam * float(self.sample_weight.sum()))  # (PHINGE.15)
        twin: CSVM = convert_problem(self, "CSVM", C=C)
        return twin
