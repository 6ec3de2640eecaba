"""The soft margin: C-SVM (Cortes & Vapnik 1995), from primal to dual and back.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b. Samples may violate the margin y_i f(x_i) ≥ 1 by a slack ξ_i, with penalty C_i per unit.

    (CSVM.1)  margin:  the hyperplanes f = −1 and f = +1 are 2/‖w‖ apart, so that a small ‖w‖ is a wide margin
    (CSVM.2)  primal:  minimise ½‖w‖² + Σ C_i ξ_i, plus ½b² where b is penalised,  over w, b, ξ  subject to  y_i f(x_i)
              ≥ 1 − ξ_i,  ξ_i ≥ 0
    (CSVM.3)  Lagrangian:  L = ½‖w‖² + Σ C_i ξ_i − Σ α_i (y_i f(x_i) − 1 + ξ_i) − Σ η_i ξ_i,  α, η ≥ 0;  plus ½b² where
              b is penalised
    (CSVM.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
    (CSVM.5)  ∂L/∂b = 0:  yᵀα = 0 for a free intercept;  b = yᵀα for a penalised one, with ½b² in the objective
    (CSVM.6)  ∂L/∂ξ_i = 0:  η_i = C_i − α_i
    (CSVM.7)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ C_i
    (CSVM.8)  complementary slackness:  α_i (y_i f(x_i) − 1 + ξ_i) = 0  and  (C_i − α_i) ξ_i = 0
    (CSVM.9)  substitution of (CSVM.4) to (CSVM.6):  L = Σ α_i − ½ Σ_ij α_i α_j y_i y_j K(x_i, x_j),  with K + 1 for K
              where the intercept is penalised
    (CSVM.10)  dual:  minimise ½αᵀQα − 1ᵀα  subject to  0 ≤ α_i ≤ C_i  and, for a free intercept,  yᵀα = 0,  with Q_ij =
               y_i y_j K(x_i, x_j);  plus ½(yᵀα)² where b is penalised, that is K + 1 for K
    (CSVM.11)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (CSVM.12)  b is recovered:  the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over the samples with 0 < α_i < C_i; it is
               the multiplier of yᵀα = 0.  A penalised b is yᵀα
    (CSVM.13)  three kinds of samples:  α_i = 0 and y_i f ≥ 1, no support vector;  0 < α_i < C_i and y_i f = 1, on the
               margin;  α_i = C_i and y_i f ≤ 1, inside the margin or on the wrong side
    (CSVM.14)  strong duality:  the optimal values of (CSVM.2) and (CSVM.10) differ in sign only
    (CSVM.15)  linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b
    (CSVM.16)  weak duality:  for every α of (CSVM.10) and every w, b, ξ of (CSVM.2),  P(w, b, ξ) − D(α) =
               ½‖w − w(α)‖² + Σ [(C_i − α_i) ξ_i + α_i (y_i f(x_i) − 1 + ξ_i)] ≥ 0,  plus ½(b − yᵀα)² where b is
               penalised

Implementation
--------------
`_build_specification` states (CSVM.2) and (CSVM.10); `qpsvm.bounds.certificate` sums (CSVM.8) over the samples.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.data.labels import ClassWeight
from qpsvm.data.samples import build_binary_samples
from qpsvm.machines.problem.derived_problems import compute_nu, convert_problem
from qpsvm.machines.problem.penalties import compute_upper_bounds
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.specification import Specification
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class CSVM(Problem):
    """Soft-margin SVM with penalty C.

    Parameters
    ----------
    C : float or array_like, shape (n,), default=1
        Penalty per unit of slack, positive; one for all samples, or one per sample.

    See Also
    --------
    NuSVM : With ν, a fraction of the samples, instead of C.
    PrimalHinge : With a factor λ of the norm instead of C.
    HardMargin : Without slack.

    References
    ----------
    Cortes & Vapnik, *Support-vector networks*, Machine Learning 20 (1995).

    Examples
    --------
    For a small C, the margin reaches beyond the nearest samples:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> for C in (0.05, 1):
    ...     result = qpsvm.solve(qpsvm.CSVM(X, y, C=C))
    ...     print(result.w.round(6), result.xi.round(6))
    [0.3] [0.4 0.7 0.7 0.4]
    [1.] [0. 0. 0. 0.]
    """

    _primal_notation = ("CSVM.2", "½ {norm} + Σ C_i ξ_i", "y_i {f} ≥ 1 − ξ_i")
    _display_name, _dual_tag, _hyperparameters = "C-SVM", "CSVM.10", ("C",)
    C: FloatArray

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
        *,
        intercept: Intercept = "free",
        class_weight: ClassWeight = None,
    ) -> None:
        samples = build_binary_samples(X, y, sample_weight, class_weight)
        super().__init__(samples, kernel, intercept, psd, constraints, C=C)

    def _build_specification(self) -> Specification:
        upper = compute_upper_bounds(self.C, self.samples)
        return Specification(self._active_target, 1.0, upper)  # (CSVM.2), (CSVM.10)

    def equivalent_nu_svm(self, result: SVMResult) -> Problem:
        """Return the ν-SVM with the same decision function: ν = Σα_i / ΣC_i (Schölkopf et al. 2000, proposition 6).

        Parameters
        ----------
        result : SVMResult
            A result of this problem.

        Returns
        -------
        NuSVM
            With weights proportional to C_i. Its α is that of this result divided by Σ C_i, and its ρ is 1/Σ C_i.

        Raises
        ------
        ParameterError
            All α are 0.
        UnsupportedError
            The intercept is not free; that of a ν-SVM is.
        ParameterTypeError, DataError
            `result` is not a result, or not one of these samples.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], C=0.1)
        >>> result = qpsvm.solve(problem)
        >>> nu_svm = problem.equivalent_nu_svm(result)
        >>> nu_result = qpsvm.solve(nu_svm)
        >>> print(round(nu_svm.nu, 6), np.allclose(nu_result.w / nu_result.rho, result.w))
        0.875 True
        """
        if self.intercept != "free":
            raise UnsupportedError(f"a ν-SVM has a free intercept, this problem has {self.intercept!r}")
        penalties = self.C * self.sample_weight
        nu = compute_nu(self, result, penalties)
        nu_svm: Problem = convert_problem(self, "NuSVM", penalties, is_rescaled=True, nu=nu)
        return nu_svm
