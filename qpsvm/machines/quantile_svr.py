"""Quantile regression with a norm (Takeuchi, Le, Sears & Smola 2006): both sides of f have different penalties.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b, and β = α⁺ − α⁻. U⁺_i = τC_i and U⁻_i = (1 − τ)C_i are the penalties per unit above and below f.

    (QSVR.1)  loss:  the pinball C_i max(τ(t_i − f(x_i)), (1 − τ)(f(x_i) − t_i)), which the τ-quantile of t minimises
    (QSVR.2)  primal:  minimise ½‖w‖² + Σ C_i (τ ξ_i + (1 − τ) ξ*_i)  over w, b, ξ, ξ*  subject to  t_i − f(x_i) ≤ ξ_i,
              f(x_i) − t_i ≤ ξ*_i,  ξ, ξ* ≥ 0;  plus ½b² where b is penalised
    (QSVR.3)  Lagrangian:  L = ½‖w‖² + Σ C_i (τ ξ_i + (1 − τ) ξ*_i) − Σ α⁺_i (ξ_i − t_i + f(x_i)) − Σ α⁻_i (ξ*_i + t_i −
              f(x_i)) − Σ (η_i ξ_i + η*_i ξ*_i),  α⁺, α⁻, η, η* ≥ 0;  plus ½b² where b is penalised
    (QSVR.4)  ∂L/∂w = 0:  w = Σ β_i φ(x_i)
    (QSVR.5)  ∂L/∂b = 0:  Σ α⁺_i − Σ α⁻_i = 1ᵀβ = 0 for a free intercept;  b = 1ᵀβ for a penalised one, with ½b² in the
              objective
    (QSVR.6)  ∂L/∂ξ_i = 0:  η_i = τC_i − α⁺_i,  η*_i = (1 − τ)C_i − α⁻_i
    (QSVR.7)  dual feasibility:  α ≥ 0 and η ≥ 0, that is 0 ≤ α⁺_i ≤ τC_i and 0 ≤ α⁻_i ≤ (1 − τ)C_i
    (QSVR.8)  complementary slackness:  α⁺_i (ξ_i − t_i + f(x_i)) = 0  and  (τC_i − α⁺_i) ξ_i = 0, and so below f
    (QSVR.9)  substitution of (QSVR.4) to (QSVR.6):  L = tᵀβ − ½ βᵀKβ;  with K + 1 for K where the intercept is
              penalised
    (QSVR.10)  dual:  minimise ½ βᵀKβ − tᵀβ  subject to  0 ≤ α⁺_i ≤ τC_i,  0 ≤ α⁻_i ≤ (1 − τ)C_i  and, for a free
               intercept,  1ᵀβ = 0, plus ½(1ᵀβ)² where b is penalised; only β counts, −(1 − τ)C_i ≤ β_i ≤ τC_i, and one
               of α⁺_i and α⁻_i is 0
    (QSVR.11)  w is recovered from α:  f(x) = Σ β_i K(x_i, x) + b
    (QSVR.12)  b is recovered:  the mean of t_i − u_i over the samples with 0 < α⁺_i < τC_i or 0 < α⁻_i < (1 − τ)C_i,
               with u = Kβ; without any, it is the weighted τ-quantile of t − u.  A penalised one is 1ᵀβ
    (QSVR.13)  three kinds of samples:  β_i strictly between its bounds, and f(x_i) = t_i: on the curve;
               β_i = τC_i and t_i ≥ f;  β_i = −(1 − τ)C_i and t_i ≤ f: off it;  β_i = 0 is idle, on the curve by chance
    (QSVR.14)  strong duality:  the optimal values of (QSVR.2) and (QSVR.10) differ in sign only
    (QSVR.15)  what τ bounds, by (QSVR.5) and (QSVR.13):  the share of weight C_i with t_i < f(x_i) is at most τ, the
               share with t_i > f(x_i) at most 1 − τ
    (QSVR.16)  linear kernel only:  w = Σ β_i x_i has one weight per feature, and f(x) = wᵀx + b
    (QSVR.17)  weak duality:  for every α of (QSVR.10) and every w, b, ξ, ξ* of (QSVR.2),  P − D = ½‖w − w(α)‖² + Σ
               [(τC_i − α⁺_i) ξ_i + α⁺_i (ξ_i − t_i + f(x_i))] + the same below f  ≥ 0,  plus ½(b − 1ᵀβ)² where b is
               penalised

For τ = ½ this is an ε-SVR with ε = 0 and the penalty ½C. (QSVR.15) needs a free intercept.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from qpsvm.base.arrays.rationals import concatenate_rationals, scale_exactly
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.data.samples import build_regression_samples
from qpsvm.machines.epsilon_svr import EpsilonSVR
from qpsvm.machines.problem.derived_problems import convert_problem
from qpsvm.machines.problem.penalties import compute_active_penalties
from qpsvm.machines.problem.regression import RegressionProblem
from qpsvm.program.specification import Specification
from qpsvm.result.svm_result import KindLabels
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule


class QuantileSVR(RegressionProblem):
    """The conditional quantile of t: a unit above f costs Cτ, a unit below it C(1 − τ).

    Parameters
    ----------
    C : float or array_like of shape (n,), default=1.0
        Penalty per unit, positive.
    quantile : float, default=0.5
        Between 0 and 1: τ, the share of the samples that is to lie below f.

    Raises
    ------
    DataError, DataTypeError, ParameterError
        See `Problem`.
    UnknownOptionError
        Another intercept; names the nearest.

    See Also
    --------
    EpsilonSVR : The same penalty on both sides, and a tube without loss.

    References
    ----------
    Koenker & Bassett, *Regression quantiles*, Econometrica 46 (1978); Takeuchi, Le, Sears & Smola, *Nonparametric
    quantile estimation*, Journal of Machine Learning Research 7 (2006).

    Examples
    --------
    What τ bounds, (QSVR.15):

    >>> import numpy as np
    >>> import qpsvm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (80, 1))
    >>> t = X[:, 0] * (1 + 0.4 * rng.normal(size=80))
    >>> for quantile in (0.1, 0.5, 0.9):
    ...     result = qpsvm.solve(qpsvm.QuantileSVR(X, t, C=10, quantile=quantile))
    ...     left = t - result.predict(X)
    ...     print(bool(np.mean(left < -1e-9) <= quantile <= np.mean(left <= 1e-9)))
    True
    True
    True
    """

    _kind_labels: ClassVar[KindLabels] = KindLabels(
        ("idle", "on", "off"), ("idle", "on the curve", "off it"), "off the curve"
    )
    _primal_notation = ("QSVR.2", "½ {norm} + Σ C_i (τ ξ_i + (1 − τ) ξ*_i)", "t_i − {f} ≤ ξ_i", "{f} − t_i ≤ ξ*_i")
    _display_name, _dual_tag, _hyperparameters = "quantile SVR", "QSVR.10", ("C", "quantile")
    C: FloatArray
    quantile: float

    def __init__(
        self,
        X: Any,
        t: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        quantile: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
    ) -> None:
        super().__init__(
            build_regression_samples(X, t, sample_weight), kernel, intercept, psd, constraints, C=C, quantile=quantile
        )

    def _build_specification(self) -> Specification:
        C = compute_active_penalties(self.C, self.samples)
        tau = Fraction(self.quantile)
        return self._specify_two_sided(
            0.0, concatenate_rationals(scale_exactly(C, tau), scale_exactly(C, 1 - tau))
        )  # (QSVR.2), (QSVR.10)

    def equivalent_epsilon_svr(self) -> EpsilonSVR:
        """Return the ε-SVR that is the same problem, for τ = ½: ε = 0, and ½C for C.

        Returns
        -------
        EpsilonSVR
            With the same objective, α and f.

        Raises
        ------
        ParameterError
            τ is not ½: the two sides of an ε-SVR have the same penalty.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> median = qpsvm.QuantileSVR([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 5.0, 3.0], C=4)
        >>> twin = median.equivalent_epsilon_svr()
        >>> print(twin.title, "|", np.allclose(qpsvm.solve(twin).w, qpsvm.solve(median).w))
        ε-SVR, C = 2, ε = 0, kernel Linear() | True
        """
        if self.quantile != 0.5:
            raise ParameterError(
                f"both sides of an ε-SVR have one penalty, so it equals only the median: quantile is {self.quantile:g}"
            )
        twin: EpsilonSVR = convert_problem(self, "EpsilonSVR", C=0.5 * self.C, epsilon=0.0, loss="absolute")
        return twin
