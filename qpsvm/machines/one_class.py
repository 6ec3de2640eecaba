"""The one-class SVM (Schölkopf et al. 2001): a hyperplane that separates most samples from the origin.

Derivation
----------
With the weights s_i (1 without), S = Σs_i and f(x) = ⟨w, φ(x)⟩ − ρ:

    (ONE.1)  plane:  f = 0 is ρ/‖w‖ away from the origin; the objective rewards a large ρ by −νSρ, and a sample on the
             side of the origin is penalised by its slack ξ_i = ρ − ⟨w, φ(x_i)⟩
    (ONE.2)  primal:  minimise ½‖w‖² − νSρ + Σ s_i ξ_i  over w, ρ, ξ  subject to  ⟨w, φ(x_i)⟩ ≥ ρ − ξ_i,  ξ_i ≥ 0
    (ONE.3)  Lagrangian:  L = ½‖w‖² − νSρ + Σ s_i ξ_i − Σ α_i (⟨w, φ(x_i)⟩ − ρ + ξ_i) − Σ η_i ξ_i,  α, η ≥ 0
    (ONE.4)  ∂L/∂w = 0:  w = Σ α_i φ(x_i)
    (ONE.5)  ∂L/∂ρ = 0:  1ᵀα = νS
    (ONE.6)  ∂L/∂ξ_i = 0:  η_i = s_i − α_i
    (ONE.7)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ s_i
    (ONE.8)  complementary slackness:  α_i (⟨w, φ(x_i)⟩ − ρ + ξ_i) = 0  and  (s_i − α_i) ξ_i = 0
    (ONE.9)  substitution of (ONE.4) to (ONE.6):  L = −½ Σ_ij α_i α_j K(x_i, x_j)
    (ONE.10)  dual:  minimise ½αᵀQα  subject to  1ᵀα = νS,  0 ≤ α_i ≤ s_i,  Q_ij = K(x_i, x_j)
    (ONE.11)  w is recovered from α:  f(x) = Σ α_i K(x_i, x) − ρ
    (ONE.12)  ρ is recovered:  a weighted quantile of u = Kα:  Σ s_i ≤ νS over the samples with u_i < ρ, and Σ s_i ≥ νS
              over those with u_i ≤ ρ;  all samples with 0 < α_i < s_i have u_i = ρ, so ρ is the mean of their u_i
    (ONE.13)  three kinds of samples:  α_i = 0 and f ≥ 0, inside;  0 < α_i < s_i and f = 0, on the boundary;  α_i = s_i
              and f ≤ 0, outside
    (ONE.14)  strong duality:  the optimal values of (ONE.2) and (ONE.10) differ only in sign
    (ONE.15)  what ν bounds, by (ONE.5) and (ONE.13):  the share of weight with f < 0 is at most ν, the share of weight
              of support vectors is at least ν
    (ONE.16)  linear kernel only:  w = Σ α_i x_i has one weight per feature, and f(x) = wᵀx − ρ
    (ONE.17)  weak duality:  for every α of (ONE.10) and every w, ρ, ξ of (ONE.2),  P(w, ρ, ξ) − D(α) =
              ½‖w − w(α)‖² + Σ [(s_i − α_i) ξ_i + α_i (⟨w, φ(x_i)⟩ − ρ + ξ_i)] ≥ 0
    (ONE.18)  the origin in the reduced hull, the set of Σ α_i φ(x_i)/(νS) over the α of (ONE.10):  w = 0, ρ = 0 is
              feasible with the value 0, so that the optimum is at most 0, and 0 exactly if the hull contains the origin
    (ONE.19)  ν = 1:  α = s is the only feasible point, and every ρ ≥ max u_i is optimal

In the notation of the other machines f = ⟨w, φ(x)⟩ + b with b = −ρ. Samples may not be centred: 1ᵀα is not 0, and w
depends on the origin. If K(x, x) is the same for all samples, as with an RBF kernel, the same samples are outside the
smallest ball of `SVDD`, (SVDD.20).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.samples import build_unlabelled_samples
from qpsvm.machines.problem.derived_problems import convert_problem
from qpsvm.machines.problem.penalties import sum_weights
from qpsvm.machines.problem.problem import Problem
from qpsvm.machines.problem.regression import NoveltyProblem
from qpsvm.program.specification import Equality, Specification
from qpsvm.space.kernels.functions import RBF
from qpsvm.space.kernels.psd_rule import PSDRule

#: K(x, x) counts as constant up to this relative difference between samples, a few rounding errors.
CONSTANT_TOL = 1e-14


class OneClass(NoveltyProblem):
    """One-class SVM: f(x) = ⟨w, φ(x)⟩ − ρ, negative for at most a share ν of the samples.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this share of the weight is outside, at least this share belongs to support vectors.
    kernel : Kernel, str or callable, default=RBF()
        A kernel object, its name, or a function `(X, Z) -> (n, m)`.
    sample_weight : array_like, shape (n,), optional
        Penalty s_i of a unit of slack; 1 if omitted.

    Raises
    ------
    InfeasibleNuError
        ν > 1.
    DataError, DataTypeError, ParameterError
        See `Problem`.

    See Also
    --------
    SVDD : The smallest ball around most samples, whatever the origin.
    NuSVM : Two classes, with ν in place of C.

    Notes
    -----
    With a linear kernel the origin may be in the reduced hull of the samples, the set of all Σ α_i φ(x_i)/(νS) with a
    feasible α. Then the optimum is w = 0 with the value 0, (ONE.18), and a result counts as optimal if no entry of w(α)
    exceeds the rounding error of its sum. Move the samples away from the origin, or take another kernel.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola & Williamson, *Estimating the support of a high-dimensional distribution*,
    Neural Computation 13 (2001).

    Examples
    --------
    What ν bounds, (ONE.15), and the predictions for new samples:

    >>> import numpy as np
    >>> import qpsvm
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> result = qpsvm.solve(qpsvm.OneClass(X, nu=0.2, kernel=qpsvm.RBF(0.1)))
    >>> bool(np.mean(result.xi > 1e-9) <= 0.2 <= len(result.support) / 60)
    True
    >>> print(result.predict([[0.0, 0.0], [9.0, 9.0]]))
    [ 1 -1]
    """

    _variable_names: ClassVar[Mapping[str, str]] = {"b": "rho"}
    _primal_notation = ("ONE.2", "½ {norm} − ν Σs_i ρ + Σ s_i ξ_i", "wᵀx_i ≥ ρ − ξ_i")
    _display_name, _dual_tag = "one-class SVM", "ONE.10"

    def __init__(
        self,
        X: Any,
        nu: float = 0.5,
        kernel: Any = RBF(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        samples = build_unlabelled_samples(X, sample_weight)
        super().__init__(samples, kernel, None, psd, constraints, nu=nu)  # Σα ≠ 0: no centring

    def _compute_extras(
        self, certificate: Certificate
    ) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        low, high = certificate.b_interval  # (ONE.12), (ONE.19)
        return {"rho": 0.0 - certificate.b}, {"rho": (0.0 - high, 0.0 - low)}  # 0 − 0 is 0, but −0 would be printed

    def _build_specification(self) -> Specification:
        s = self._select_active(self.sample_weight)
        mass = Fraction(self.nu) * sum_weights(self.samples)
        balance = Equality("mass", multiplier="b", entry=None, total=mass, formula="1ᵀα = ν Σs_i")  # (ONE.5), E = 1
        return Specification(sign=np.ones(len(s)), level=0.0, upper=s, groups=(balance,))  # (ONE.2), (ONE.10)

    def equivalent_svdd(self) -> Problem:
        """Return the SVDD with the same samples inside and outside, for kernels with a constant K(x, x), (SVDD.20).

        Returns
        -------
        SVDD
            With the same ν. Its α is that of this machine divided by ν Σs, its f that of this one times 2/(ν Σs).

        Raises
        ------
        UnsupportedError
            K(x, x) differs between samples; the message names two.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> X = np.random.default_rng(0).standard_normal((30, 2))
        >>> plane = qpsvm.OneClass(X, nu=0.2, kernel=qpsvm.RBF(0.5))
        >>> ball = plane.equivalent_svdd()
        >>> one, other = qpsvm.solve(plane), qpsvm.solve(ball)
        >>> print(np.allclose(one.alpha / (0.2 * 30), other.alpha), np.allclose(one.yf / 3, other.yf))
        True True
        """
        check_constant_diagonal(self)
        twin: Problem = convert_problem(self, "SVDD", is_rescaled=True, nu=self.nu)
        return twin


def check_constant_diagonal(problem: Problem) -> None:
    """Check that K(x, x) is the same for all samples, as (SVDD.20) requires. Raises UnsupportedError."""
    diagonal = problem.space.gram.diagonal()
    low_index, high_index = int(np.argmin(diagonal)), int(np.argmax(diagonal))
    low, high = float(diagonal[low_index]), float(diagonal[high_index])
    if high - low > CONSTANT_TOL * high:
        low_row, high_row = problem.active_rows[[low_index, high_index]]
        raise UnsupportedError(
            f"a one-class SVM and an SVDD are the same if K(x, x) is constant; with {problem.kernel} it is "
            f"{low:g} at row {low_row} and {high:g} at row {high_row}; take an RBF kernel, or divide K(x, z) by "
            "the square root of K(x, x) K(z, z)"
        )
