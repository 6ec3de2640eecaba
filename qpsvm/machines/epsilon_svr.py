"""ε-insensitive regression (Vapnik 1995): residuals up to ε cost nothing, larger ones are penalised.

Derivation
----------
f(x) = ⟨w, φ(x)⟩ + b, and β = α⁺ − α⁻. What is said of α goes for α⁺ and α⁻. The loss is absolute, or squared.

    (ESVR.1)  loss:  C_i max(0, |t_i − f(x_i)| − ε): nothing inside the tube |t − f| ≤ ε, and C_i a unit beyond it;
              squared:  C_i times the square of that
    (ESVR.2)  primal:  minimise ½‖w‖² + Σ C_i (ξ_i + ξ*_i)  over w, b, ξ, ξ*  subject to  t_i − f(x_i) ≤ ε + ξ_i, f(x_i)
              − t_i ≤ ε + ξ*_i,  ξ, ξ* ≥ 0;  squared:  Σ C_i (ξ_i² + ξ*_i²);  plus ½b² where b is penalised
    (ESVR.3)  Lagrangian:  L = ½‖w‖² + Σ C_i (ξ_i + ξ*_i) − Σ α⁺_i (ε + ξ_i − t_i + f(x_i)) − Σ α⁻_i (ε + ξ*_i + t_i −
              f(x_i)) − Σ (η_i ξ_i + η*_i ξ*_i),  α⁺, α⁻, η, η* ≥ 0;  squared:  without η;  plus ½b² where b is
              penalised
    (ESVR.4)  ∂L/∂w = 0:  w = Σ β_i φ(x_i)
    (ESVR.5)  ∂L/∂b = 0:  Σ α⁺_i − Σ α⁻_i = 1ᵀβ = 0 for a free intercept;  b = 1ᵀβ for a penalised one, with ½b² in the
              objective
    (ESVR.6)  ∂L/∂ξ_i = 0:  η_i = C_i − α⁺_i,  η*_i = C_i − α⁻_i;  squared:  α⁺_i = 2C_i ξ_i,  α⁻_i = 2C_i ξ*_i
    (ESVR.7)  dual feasibility:  α ≥ 0 and η ≥ 0, that is 0 ≤ α⁺_i ≤ C_i and 0 ≤ α⁻_i ≤ C_i;  squared:  α ≥ 0
    (ESVR.8)  complementary slackness:  α⁺_i (ε + ξ_i − t_i + f(x_i)) = 0  and  (C_i − α⁺_i) ξ_i = 0, and so below f
              (squared:  the first of them); for ε > 0 no sample is on both edges, so that α⁺_i α⁻_i = 0
    (ESVR.9)  substitution of (ESVR.4) to (ESVR.6):  L = tᵀβ − ε Σ (α⁺_i + α⁻_i) − ½ βᵀKβ; squared:  less Σ ((α⁺_i)² +
              (α⁻_i)²)/(4C_i);  with K + 1 for K where the intercept is penalised
    (ESVR.10)  dual:  minimise ½ βᵀKβ − tᵀβ + ε 1ᵀ(α⁺ + α⁻)  subject to  0 ≤ α⁺_i, α⁻_i ≤ C_i  and, for a free
               intercept,  1ᵀβ = 0;  squared:  plus Σ ((α⁺_i)² + (α⁻_i)²)/(4C_i), and α ≥ 0;  plus ½(1ᵀβ)² where b is
               penalised, that is K + 1 for K
    (ESVR.11)  w is recovered from α:  f(x) = Σ β_i K(x_i, x) + b
    (ESVR.12)  b is recovered:  with u = Kβ, the mean of t_i − ε − u_i over those with 0 < α⁺_i < C_i and of t_i + ε −
               u_i over those with 0 < α⁻_i < C_i;  squared:  of t_i − ε − ξ_i − u_i where α⁺_i > 0, and of t_i + ε +
               ξ*_i − u_i where α⁻_i > 0.  A penalised one is 1ᵀβ
    (ESVR.13)  three kinds of samples:  α⁺_i = α⁻_i = 0 and |t_i − f| ≤ ε, inside the tube;  0 < α_i < C_i and
               |t_i − f| = ε, on its edge;  α_i = C_i and |t_i − f| ≥ ε, beyond it;  squared:  α_i > 0 and |t_i − f| > ε
    (ESVR.14)  strong duality:  the optimal values of (ESVR.2) and (ESVR.10) differ in sign only
    (ESVR.15)  linear kernel only:  w = Σ β_i x_i has one weight per feature, and f(x) = wᵀx + b
    (ESVR.16)  weak duality:  for every α of (ESVR.10) and every w, b, ξ, ξ* of (ESVR.2),  P − D = ½‖w − w(α)‖² + Σ
               [(C_i − α⁺_i) ξ_i + α⁺_i (ε + ξ_i − t_i + f(x_i))] + the same below f  ≥ 0,  plus ½(b − 1ᵀβ)² where b is
               penalised;  squared:  C_i (ξ_i − α⁺_i/(2C_i))² for (C_i − α⁺_i) ξ_i

Where ε is larger than half of what t ranges over, α = 0 and w = 0: every b with |t_i − b| ≤ ε is as good. A penalised b
is a weight of one more feature, 1 for every sample, as in (PHINGE.17).

Implementation
--------------
`_build_specification` states (ESVR.2) and (ESVR.10) over the 2n rows of (SVR.1).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.rationals import as_rationals, concatenate_rationals, divide_exactly
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.data.samples import build_regression_samples
from qpsvm.machines.problem.derived_problems import compute_nu, convert_problem
from qpsvm.machines.problem.penalties import compute_active_penalties, compute_upper_bounds
from qpsvm.machines.problem.problem import Problem
from qpsvm.machines.problem.regression import RegressionProblem
from qpsvm.program.specification import Specification
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule

Loss = Literal["absolute", "squared"]
#: The objective of either loss.
ABSOLUTE, SQUARED = "½ {norm} + Σ C_i (ξ_i + ξ*_i)", "½ {norm} + Σ C_i (ξ_i² + ξ*_i²)"


class EpsilonSVR(RegressionProblem):
    """ε-SVR: what f misses its target by beyond ε costs C a unit, or C times its square.

    Parameters
    ----------
    C : float or array_like of shape (n,), default=1.0
        Penalty per unit beyond the tube, positive.
    epsilon : float, default=0.1
        Half the width of the tube, not negative; in units of t.
    loss : "absolute" or "squared", default="absolute"
        What is beyond the tube costs C ξ, or C ξ².

    Raises
    ------
    DataError, DataTypeError, ParameterError
        See `Problem`.
    UnknownOptionError
        Another loss or intercept; names the nearest.

    See Also
    --------
    NuSVR : With ν, a share of the samples beyond the tube, instead of ε.
    QuantileSVR : With a different penalty on each side of f, and no tube.

    References
    ----------
    Vapnik, *The Nature of Statistical Learning Theory* (1995); Smola & Schölkopf, *A tutorial on support vector
    regression*, Statistics and Computing 14 (2004).

    Examples
    --------
    Five samples lie in a tube about a line, and the sixth pulls with C and no more, however far away it is:

    >>> import qpsvm
    >>> X, t = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0.0, 1.3, 1.9, 3.0, 4.2, 9.0]
    >>> result = qpsvm.solve(qpsvm.EpsilonSVR(X, t, C=0.3, epsilon=0.25))
    >>> print(result.w.round(4), round(result.b, 4))
    [0.95] 0.25
    >>> print(result.kkt["kind"], result.coef[[0, 2, 5]].round(4))
    ['edge' 'inside' 'edge' 'inside' 'inside' 'beyond'] [-0.025 -0.275  0.3  ]
    """

    _primal_notation: tuple[str, ...] = ("ESVR.2", ABSOLUTE, "t_i − {f} ≤ ε + ξ_i", "{f} − t_i ≤ ε + ξ*_i")
    _display_name, _dual_tag, _hyperparameters = "ε-SVR", "ESVR.10", ("C", "epsilon", "loss")
    width_formula = " + ε 1ᵀ(α⁺ + α⁻)"
    C: FloatArray
    epsilon: float
    loss: Loss

    def __init__(
        self,
        X: Any,
        t: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        epsilon: float = 0.1,
        loss: Loss = "absolute",
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
    ) -> None:
        super().__init__(
            build_regression_samples(X, t, sample_weight),
            kernel,
            intercept,
            psd,
            constraints,
            C=C,
            epsilon=epsilon,
            loss=loss,
        )

    def _set_hyperparameters(self, *, C: float | ArrayLike, epsilon: float, loss: Loss) -> None:  # type: ignore[override]
        super()._set_hyperparameters(C=C, epsilon=epsilon, loss=loss)
        tag, _, *rows = self._primal_notation
        self._primal_notation = (tag, ABSOLUTE if loss == "absolute" else SQUARED, *rows)
        self._display_name = "ε-SVR" if loss == "absolute" else "ε-SVR (squared)"

    def _build_specification(self) -> Specification:
        if self.loss == "absolute":
            C = compute_upper_bounds(self.C, self.samples)
            same = find_common_value(C) if isinstance(C, np.ndarray) else None
            both = (
                repeat_value(same, 2 * len(C))
                if same is not None
                else concatenate_rationals(*2 * [as_rationals(C, len(C))])
            )
            return self._specify_two_sided(self.epsilon, both)  # (ESVR.2), (ESVR.10)
        C = compute_active_penalties(self.C, self.samples)
        bend = divide_exactly(C, Fraction(1, 2))
        return self._specify_two_sided(self.epsilon, np.inf, concatenate_rationals(bend, bend))

    def equivalent_nu_svr(self, result: SVMResult) -> Problem:
        """Return the ν-SVR with the same f, whose tube has this width: ν = Σα_i / ΣC_i (Chang & Lin 2002, theorem 3).

        Parameters
        ----------
        result : SVMResult
            Of this problem.

        Returns
        -------
        NuSVR
            With the same C; its α is this one, and ε is among its `intervals`.

        Raises
        ------
        ParameterError
            All α are 0, so that no ν > 0 belongs to this result; or the loss is squared or the intercept not free,
            which a ν-SVR has no counterpart for.
        ParameterTypeError, DataError
            Not a result, or over other rows.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.EpsilonSVR([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0], C=1, epsilon=0.2)
        >>> result = qpsvm.solve(problem)
        >>> twin = problem.equivalent_nu_svr(result)
        >>> same = qpsvm.solve(twin)
        >>> print(round(twin.nu, 4), np.allclose(same.w, result.w), round(same.epsilon, 6))
        0.8111 True 0.2
        """
        if self.loss != "absolute" or self.intercept != "free":
            raise ParameterError(
                f"a ν-SVR has the absolute loss and a free intercept, this problem has loss={self.loss!r} and "
                f"intercept={self.intercept!r}"
            )
        nu = compute_nu(self, result, self.C * self.sample_weight)
        twin: Problem = convert_problem(self, "NuSVR", C=self.C, nu=min(nu, 1.0))
        return twin
