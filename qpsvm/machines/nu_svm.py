"""Define the ν-SVM (Schölkopf, Smola, Williamson & Bartlett 2000) (`NuSVM`).

The margin level ρ is a variable, and ν bounds the shares of margin errors, from above, and of support vectors.

Derivation
----------
With a_i = s_i/Σs (1/n without weights) and f(x) = ⟨w, φ(x)⟩ + b:

    (NUSVM.1)  margin:  the hyperplanes f = −ρ and f = +ρ are 2ρ/‖w‖ apart; ρ is a variable, which −νρ makes large
    (NUSVM.2)  primal:  minimise ½‖w‖² − νρ + Σ a_i ξ_i  over w, b, ρ, ξ  subject to  y_i f(x_i) ≥ ρ − ξ_i,  ξ_i ≥ 0
    (NUSVM.3)  Lagrangian:  L = ½‖w‖² − νρ + Σ a_i ξ_i − Σ α_i (y_i f(x_i) − ρ + ξ_i) − Σ η_i ξ_i,  α, η ≥ 0
    (NUSVM.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
    (NUSVM.5)  ∂L/∂b = 0:  yᵀα = 0
    (NUSVM.6)  ∂L/∂ρ = 0:  1ᵀα = ν
    (NUSVM.7)  ∂L/∂ξ_i = 0:  η_i = a_i − α_i
    (NUSVM.8)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ a_i
    (NUSVM.9)  complementary slackness:  α_i (y_i f(x_i) − ρ + ξ_i) = 0  and  (a_i − α_i) ξ_i = 0
    (NUSVM.10)  substitution of (NUSVM.4) to (NUSVM.7):  L = −½ Σ_ij α_i α_j y_i y_j K(x_i, x_j)
    (NUSVM.11)  dual:  minimise ½αᵀQα  subject to  yᵀα = 0,  1ᵀα = ν,  0 ≤ α_i ≤ a_i,  Q_ij = y_i y_j K(x_i, x_j)
    (NUSVM.12)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (NUSVM.13)  b and ρ are recovered: with s = ρ − b and t = ρ + b the primal splits, s is the quantile of u = K(α∘y)
                over the positive class at level ν/2, t that of −u over the negative one; ρ = (s + t)/2, b = (t − s)/2
    (NUSVM.14)  three kinds of samples:  α_i = 0 and y_i f ≥ ρ, no support vector;  0 < α_i < a_i and y_i f = ρ, on the
                margin;  α_i = a_i and y_i f ≤ ρ, inside the margin or on the wrong side
    (NUSVM.15)  strong duality:  the optimal values of (NUSVM.2) and (NUSVM.11) differ in sign only
    (NUSVM.16)  both sums fixed means ν/2 in each class, so ν ≤ ν_max = 2·min(S₊, S₋)/S, with S the sums of weights
    (NUSVM.17)  what ν bounds, by (NUSVM.6) and (NUSVM.14):  the share of weight with y_i f < ρ is at most ν, the share
                of weight that supports is at least ν
    (NUSVM.18)  linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b
    (NUSVM.19)  weak duality:  for every α of (NUSVM.11) and every w, b, ρ, ξ of (NUSVM.2),  P(w, b, ρ, ξ) − D(α) =
                ½‖w − w(α)‖² + Σ [(a_i − α_i) ξ_i + α_i (y_i f(x_i) − ρ + ξ_i)] ≥ 0

ρ ≥ 0 is not required: it holds at the optimum, because w = 0, ρ = 0 is feasible with value 0. The constraint on the sum
is an equality; with ≥ ν, which has the same optimum, solvers drift if ρ ≈ 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_positive
from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import from_floats, sum_floats
from qpsvm.base.arrays.rounding import EPS, SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, ParameterError
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.labels import ClassWeight
from qpsvm.data.samples import build_binary_samples
from qpsvm.machines.c_svm import CSVM
from qpsvm.machines.problem.derived_problems import convert_problem
from qpsvm.machines.problem.evidence import attach_balance_proof
from qpsvm.machines.problem.penalties import sum_weights
from qpsvm.machines.problem.problem import Problem
from qpsvm.machines.problem.result_checks import check_result
from qpsvm.program.specification import Equality, Specification
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class NuSVM(Problem):
    """Soft-margin SVM with ν instead of C.

    If the reduced hulls meet, the optimum is w = 0 with value 0: no relative gap is defined. A result counts as optimal
    there if every entry of w(α) is within the rounding error of its sum; then w, b and ρ are 0. The gap is
    ‖w(α)‖²/S², where S is Σα times the mean distance of the samples from the one with the largest α, (ZERO.2): the
    objective relative to its value without cancellation. `verify` proves it.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, ν_max], ν_max = 2·min(S₊, S₋)/S ≤ 1: at most this share of the weights has y f < ρ, at least this share
        belongs to support vectors.
    sample_weight : array_like, shape (n,), optional
        The share of a sample is a_i = s_i/Σs; 1/n without weights.

    Raises
    ------
    InfeasibleNuError
        ν > ν_max; carries ν_max.
    DataError, DataTypeError, ParameterError
        See `Problem`.

    See Also
    --------
    CSVM : A penalty C instead of ν.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, Neural Computation 12 (2000).

    Examples
    --------
    What ν bounds, (NUSVM.17):

    >>> import numpy as np
    >>> import qpsvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> result = qpsvm.solve(qpsvm.NuSVM(X, y, nu=0.3, kernel="rbf"))
    >>> bool(np.mean(result.xi > 1e-9) <= 0.3 <= len(result.support) / 60)
    True
    """

    _primal_notation = ("NUSVM.2", "½ {norm} − νρ + Σ a_i ξ_i", "y_i {f} ≥ ρ − ξ_i")
    _display_name, _dual_tag, _hyperparameters = "ν-SVM", "NUSVM.11", ("nu",)
    nu: float

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
        *,
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(
            build_binary_samples(X, y, sample_weight, class_weight), kernel, "free", psd, constraints, nu=nu
        )

    def _set_hyperparameters(self, *, nu: float) -> None:  # type: ignore[override]
        nu = as_positive(nu, "nu")
        if nu > 1:
            raise ParameterError(f"nu must be in (0, 1], got {nu!r}")
        nu_max = float(self._exact_nu_max)
        if nu > nu_max * (1 + 1e-12 + self.n * EPS):  # more than the rounding of a computed ν_max
            raise attach_balance_proof(InfeasibleNuError(nu, nu_max), self)
        self.nu = min(nu, nu_max)
        self.nu_max = nu_max

    @cached
    def _exact_nu_max(self) -> Fraction:
        """The exact ν_max of (NUSVM.16)."""
        return compute_nu_max(self.sample_weight, self.y)

    def _build_specification(self) -> Specification:
        s = self._select_active(self.sample_weight)
        nu = Fraction(self.nu)
        nu_max = self._exact_nu_max
        if self.nu == float(nu_max):  # ν_max as a float may be rounded up, and infeasible
            nu = min(nu, nu_max)
        rho = Equality("nu", "rho", -1.0, -nu, "−1ᵀα = −ν")  # (NUSVM.6): negative, so that the multiplier is +ρ
        return Specification(
            self._active_target, 0.0, from_floats(s, 1 / sum_weights(self.samples)), groups=(rho,)
        )  # (NUSVM.2), (NUSVM.11)

    def _rescale_alpha(self, alpha: FloatArray) -> FloatArray:
        """Scale α (n,) of a problem with margin level 1 to Σα = ν, (NUSVM.6)."""
        return alpha * (self.nu / max(float(alpha.sum()), SMALLEST_NORMAL))

    def _describe_caveats(self, certificate: Certificate) -> str:
        note = super()._describe_caveats(certificate)
        if certificate.rho == 0.0 and np.isfinite(certificate.gap):  # only `ZeroOptimum` sets exactly 0
            note = (
                "rho is 0: the reduced convex hulls meet as far as doubles can tell, the optimal w is 0, and f carries "
                f"no information. {note}"
            )
        return note.strip()

    def equivalent_c_svm(self, result: SVMResult) -> CSVM:
        """Return the C-SVM with the same decision function up to the factor ρ: C = 1/(nρ), with weights s_i/(ρ Σs).

        Parameters
        ----------
        result : SVMResult
            A result of this problem.

        Returns
        -------
        CSVM
            Its f is that of this problem divided by ρ.

        Raises
        ------
        ParameterError
            ρ is 0: the reduced hulls meet, and no C-SVM is equivalent.
        ParameterTypeError, DataError
            Not a result, or one of other samples.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.NuSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], nu=0.5)
        >>> result = qpsvm.solve(problem)
        >>> c_result = qpsvm.solve(problem.equivalent_c_svm(result))
        >>> print(round(result.rho, 6), np.allclose(c_result.w, result.w / result.rho))
        0.75 True
        """
        check_result(self.samples, result)
        if not result.rho > 0:
            raise ParameterError(
                f"rho is 0 (measured {result.rho:.1e}): the reduced convex hulls meet, w = 0, and no C-SVM is "
                f"equivalent to nu = {self.nu:g}; choose a larger nu"
            )
        C = 1.0 / (result.rho * float(self.sample_weight.sum()))
        c_svm: CSVM = convert_problem(self, "CSVM", is_rescaled=True, C=C)
        return c_svm


def compute_nu_max(s: FloatArray, y: FloatArray) -> Fraction:
    """Compute ν_max of (NUSVM.16) exactly from weights and labels, (n,) each."""
    if find_common_value(s) is not None:
        n_positive = int(np.count_nonzero(y > 0))
        return Fraction(2 * min(n_positive, len(y) - n_positive), len(y))
    positive_sum, negative_sum = sum_floats(s[y > 0]), sum_floats(s[y < 0])
    return 2 * min(positive_sum, negative_sum) / (positive_sum + negative_sum)  # (NUSVM.16)
