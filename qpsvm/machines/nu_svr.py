"""The ν-SVR (Schölkopf et al. 2000): the width of the tube is a variable, and ν bounds the share outside it.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b, and β = α⁺ − α⁻, as in an ε-SVR; C is scaled as in LIBSVM.

    (NUSVR.1)  loss:  C_i max(0, |t_i − f(x_i)| − ε), where ε is a variable that costs ν ΣC_i per unit
    (NUSVR.2)  primal:  minimise ½‖w‖² + ν ΣC_i ε + Σ C_i (ξ_i + ξ*_i)  over w, b, ε, ξ, ξ*  subject to t_i − f(x_i) ≤ ε
               + ξ_i,  f(x_i) − t_i ≤ ε + ξ*_i,  ξ, ξ* ≥ 0;  ε ≥ 0 is implied, as a negative ε saves ν ΣC_i per unit
               and costs ΣC_i or more
    (NUSVR.3)  Lagrangian:  L = ½‖w‖² + ν ΣC_i ε + Σ C_i (ξ_i + ξ*_i) − Σ α⁺_i (ε + ξ_i − t_i + f(x_i))
               − Σ α⁻_i (ε + ξ*_i + t_i − f(x_i)) − Σ (η_i ξ_i + η*_i ξ*_i),  α⁺, α⁻, η, η* ≥ 0
    (NUSVR.4)  ∂L/∂w = 0:  w = Σ β_i φ(x_i)
    (NUSVR.5)  ∂L/∂b = 0:  Σ α⁺_i − Σ α⁻_i = 1ᵀβ = 0
    (NUSVR.6)  ∂L/∂ε = 0:  Σ α⁺_i + Σ α⁻_i = ν ΣC_i
    (NUSVR.7)  ∂L/∂ξ_i = 0:  η_i = C_i − α⁺_i,  η*_i = C_i − α⁻_i
    (NUSVR.8)  dual feasibility:  α ≥ 0 and η ≥ 0, that is 0 ≤ α⁺_i ≤ C_i and 0 ≤ α⁻_i ≤ C_i
    (NUSVR.9)  complementary slackness:  α⁺_i (ε + ξ_i − t_i + f(x_i)) = 0  and  (C_i − α⁺_i) ξ_i = 0, and so below f
    (NUSVR.10)  substitution of (NUSVR.4) to (NUSVR.7):  L = tᵀβ − ½ βᵀKβ
    (NUSVR.11)  dual:  minimise ½ βᵀKβ − tᵀβ  subject to  1ᵀβ = 0,  1ᵀ(α⁺ + α⁻) = ν ΣC_i,  0 ≤ α⁺_i, α⁻_i ≤ C_i
    (NUSVR.12)  w is recovered from α:  f(x) = Σ β_i K(x_i, x) + b
    (NUSVR.13)  b and ε are recovered:  by (NUSVR.5) and (NUSVR.6) each side has the mass ½ν ΣC_i, and the primal
                splits: b + ε is the quantile of t − u, with u = Kβ, that leaves this mass above, ε − b that of u − t;
                weights C_i
    (NUSVR.14)  three kinds of samples:  α⁺_i = α⁻_i = 0 and |t_i − f| ≤ ε, inside the tube;  0 < α_i < C_i and
                |t_i − f| = ε, on its edge;  α_i = C_i and |t_i − f| ≥ ε, beyond it
    (NUSVR.15)  strong duality:  the optimal values of (NUSVR.2) and (NUSVR.11) differ in sign only
    (NUSVR.16)  what ν bounds, by (NUSVR.6) and (NUSVR.14):  the share of weight C_i beyond the tube is at most ν, the
                share that is beyond it or on its edge is at least ν
    (NUSVR.17)  linear kernel only:  w = Σ β_i x_i has one weight per feature, and f(x) = wᵀx + b
    (NUSVR.18)  weak duality:  for every α of (NUSVR.11) and every w, b, ε, ξ, ξ* of (NUSVR.2),  P − D =
                ½‖w − w(α)‖² + Σ [(C_i − α⁺_i) ξ_i + α⁺_i (ε + ξ_i − t_i + f(x_i))] + the same below f  ≥ 0

For ν < 1 a negative ε is never optimal. For ν = 1 it may cost the same as 0, and 0 is returned. A ν > 1 is refused: the
optimal ε may be negative, and with ε ≥ 0 it is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from qpsvm.base.arrays.rationals import concatenate_rationals, sum_rationals
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.samples import build_regression_samples
from qpsvm.machines.epsilon_svr import EpsilonSVR
from qpsvm.machines.problem.derived_problems import convert_problem
from qpsvm.machines.problem.parameter_checks import check_nu
from qpsvm.machines.problem.penalties import compute_active_penalties
from qpsvm.machines.problem.regression import RegressionProblem
from qpsvm.machines.problem.result_checks import check_result
from qpsvm.program.specification import Equality, Specification
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class NuSVR(RegressionProblem):
    """Regression with ν in place of ε: at most this share of the samples is outside the tube.

    Parameters
    ----------
    C : float or array_like of shape (n,), default=1.0
        Penalty per unit beyond the tube, positive.
    nu : float, default=0.5
        In (0, 1]: of ΣC_i, at most this share belongs to samples outside the tube, at least this share to support
        vectors.

    Raises
    ------
    InfeasibleNuError
        ν > 1; carries the limit.
    DataError, DataTypeError, ParameterError
        See `Problem`.

    See Also
    --------
    EpsilonSVR : With ε in place of ν.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, Neural Computation 12 (2000); the scaling
    of C is that of Chang & Lin, *Training ν-support vector regression*, Neural Computation 14 (2002).

    Examples
    --------
    What ν bounds, (NUSVR.16), for the tube of the optimal width:

    >>> import numpy as np
    >>> import qpsvm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (60, 1))
    >>> t = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
    >>> result = qpsvm.solve(qpsvm.NuSVR(X, t, C=10, nu=0.3, kernel=qpsvm.RBF(0.5)))
    >>> missed = np.abs(t - result.predict(X))
    >>> bool(np.mean(missed > result.epsilon + 1e-9) <= 0.3 <= len(result.support) / 60)
    True
    """

    _primal_notation = (
        "NUSVR.2",
        "½ {norm} + ν ΣC_i ε + Σ C_i (ξ_i + ξ*_i)",
        "t_i − {f} ≤ ε + ξ_i",
        "{f} − t_i ≤ ε + ξ*_i",
    )
    _display_name, _dual_tag, _hyperparameters = "ν-SVR", "NUSVR.11", ("C", "nu")
    C: FloatArray
    nu: float

    def __init__(
        self,
        X: Any,
        t: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        super().__init__(build_regression_samples(X, t, sample_weight), kernel, "free", psd, constraints, C=C, nu=nu)

    def _set_hyperparameters(self, *, C: float | ArrayLike, nu: float) -> None:  # type: ignore[override]
        super()._set_hyperparameters(C=C, nu=check_nu(nu, has_feasible_alpha=True))

    @property
    def _alpha_at_zero(self) -> FloatArray:
        return 0.5 * self.nu * self.svm.upper  # (NUSVR.6), half on either side

    def _get_epsilon(self, certificate: Certificate | None = None) -> float:
        return 0.0 if certificate is None else max(certificate.multipliers["epsilon"], 0.0)

    def _compute_extras(
        self, certificate: Certificate
    ) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        intervals = dict(certificate.intervals)
        epsilon = self._get_epsilon(certificate)
        if "epsilon" in intervals:
            low, high = intervals["epsilon"]
            intervals["epsilon"] = max(min(low, epsilon), 0.0), max(high, epsilon)
        return {"epsilon": epsilon}, intervals

    def _build_specification(self) -> Specification:
        C = compute_active_penalties(self.C, self.samples)
        mass = Fraction(self.nu) * sum_rationals(C)
        width = Equality("nu", "epsilon", 1.0, mass, "1ᵀα⁺ + 1ᵀα⁻ = ν ΣC_i")  # (NUSVR.6)
        return self._specify_two_sided(0.0, concatenate_rationals(C, C), groups=(width,))  # (NUSVR.2), (NUSVR.11)

    def equivalent_epsilon_svr(self, result: SVMResult) -> EpsilonSVR:
        """Return the ε-SVR with the same f: its C is the same, its ε that of the result (Chang & Lin 2002).

        Parameters
        ----------
        result : SVMResult
            Of this problem.

        Returns
        -------
        EpsilonSVR
            The α of the result is optimal for it, too.

        Raises
        ------
        ParameterTypeError, DataError
            Not a result, or over other rows.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.NuSVR([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0], C=0.2, nu=0.75)
        >>> result = qpsvm.solve(problem)
        >>> twin = problem.equivalent_epsilon_svr(result)
        >>> print(round(twin.epsilon, 6), np.allclose(qpsvm.solve(twin).w, result.w))
        0.25 True
        """
        check_result(self.samples, result)
        twin: EpsilonSVR = convert_problem(self, "EpsilonSVR", C=self.C, epsilon=result.epsilon, loss="absolute")
        return twin
