"""Define the support vector data description (Tax & Duin 2004): the smallest ball around most of the samples.

Derivation
----------
With C_i = s_i/(νΣs), which is 1/(νn) without weights, and f(x) = R² − ‖φ(x) − c‖²:

    (SVDD.1)  ball:  f = 0 is the sphere of centre c and radius R; the penalty of a sample outside is C_i times ξ_i,
              by which its squared distance exceeds R²
    (SVDD.2)  primal:  minimise R² + Σ C_i ξ_i  over c, R², ξ  subject to  ‖φ(x_i) − c‖² ≤ R² + ξ_i,  ξ_i ≥ 0;  R² ≥ 0
              need not be required, as ΣC_i = 1/ν ≥ 1
    (SVDD.3)  as a QP, with μ = (R² − ‖c‖²)/2 in place of R²:  minimise ‖c‖² + 2μ + Σ C_i ξ_i  over c, μ, ξ  subject to
              ⟨c, φ(x_i)⟩ + μ ≥ (K(x_i, x_i) − ξ_i)/2,  ξ_i ≥ 0
    (SVDD.4)  Lagrangian:  L = ‖c‖² + 2μ + Σ C_i ξ_i − Σ α_i (2⟨c, φ(x_i)⟩ + 2μ − K(x_i, x_i) + ξ_i) − Σ η_i ξ_i,
              α, η ≥ 0
    (SVDD.5)  ∂L/∂μ = 0:  1ᵀα = 1
    (SVDD.6)  ∂L/∂c = 0:  c = Σ α_i φ(x_i), a weighted mean of the samples
    (SVDD.7)  ∂L/∂ξ_i = 0:  η_i = C_i − α_i
    (SVDD.8)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ C_i
    (SVDD.9)  complementary slackness:  α_i (R² + ξ_i − ‖φ(x_i) − c‖²) = 0  and  (C_i − α_i) ξ_i = 0
    (SVDD.10)  substitution of (SVDD.5) to (SVDD.7):  L = Σ α_i K(x_i, x_i) − Σ_ij α_i α_j K(x_i, x_j)
    (SVDD.11)  dual:  minimise αᵀQα − Σ α_i K(x_i, x_i)  subject to  1ᵀα = 1,  0 ≤ α_i ≤ C_i,  Q_ij = K(x_i, x_j)
    (SVDD.12)  f is recovered from α:  f(x) = R² − ‖φ(x) − c‖² = 2 Σ α_i K(x_i, x) + 2μ − K(x, x)
    (SVDD.13)  R is recovered:  R² = ‖c‖² + 2μ, a weighted quantile of the squared distances; where samples have
               0 < α_i < C_i, all of them are R away from c
    (SVDD.14)  three kinds of samples:  α_i = 0 and f ≥ 0, inside;  0 < α_i < C_i and f = 0, on the boundary;  α_i = C_i
               and f ≤ 0, outside
    (SVDD.15)  strong duality:  the optimal value of (SVDD.2) is minus that of (SVDD.11)
    (SVDD.16)  what ν bounds, by (SVDD.5) and (SVDD.14):  the samples with f < 0 have at most the share ν of
               the weight, and the support vectors at least that
    (SVDD.17)  linear kernel only:  c = Σ α_i x_i is a point among the samples, and f(x) = R² − ‖x − c‖² is evaluated
               by these differences
    (SVDD.18)  weak duality:  for every α of (SVDD.11) and every c, R², ξ of (SVDD.2),  P(c, R², ξ) − D(α) =
               ‖c − c(α)‖² + Σ [(C_i − α_i) ξ_i + α_i (R² + ξ_i − ‖φ(x_i) − c‖²)] ≥ 0
    (SVDD.19)  translation:  with φ(x) − a in place of φ(x), α and R stay, by (SVDD.5), and c becomes c − a
    (SVDD.20)  if all K(x, x) are equal to κ, Σ α_i K(x_i, x_i) = κ:  (SVDD.11) is then (ONE.10) in other units,
               νΣs times these α, and f is 2/(νΣs) times that of the one-class SVM

With a linear kernel, dense samples are centred first, (SVDD.19), so that a cloud far from the origin loses no digits.
As ΣC_i ≥ 1, R² < 0 is never better than R² = 0, unless linear constraints demand it: then f satisfies them, and there
is no ball. The QP is `unit` = 2 times (DUAL.1), with w = c and K(x_i, x_i)/2 as its linear term, the levels ℓ_i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.double_double import UNDERFLOW, dot_with_bound
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import from_floats
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.samples import build_unlabelled_samples
from qpsvm.machines.one_class import check_constant_diagonal
from qpsvm.machines.problem.derived_problems import convert_problem
from qpsvm.machines.problem.penalties import sum_weights
from qpsvm.machines.problem.problem import Problem
from qpsvm.machines.problem.regression import NoveltyProblem
from qpsvm.machines.problem.result_building import remove_constraints
from qpsvm.program.specification import Equality, Specification
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import RBF, Linear
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.operators import Operator

#: Message for an f that is negative everywhere.
NO_BALL = "there is no ball: linear constraints ask for an f that is negative everywhere, R² < 0, so that radius is nan"


class SVDD(NoveltyProblem):
    """The smallest ball: f(x) = R² − ‖φ(x) − c‖², negative for at most a share ν of the samples.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: the penalty of a sample outside is C_i = s_i/(ν Σs) times ‖φ(x_i) − c‖² − R².
    sample_weight : array_like, shape (n,), optional
        Relative penalties of samples outside.
    psd : "raise", "clip" or "shift", default="raise"
        What to do if the Gram matrix is indefinite. K(x, x) of a new sample is that of the kernel itself.

    Raises
    ------
    InfeasibleNuError
        ν > 1.
    DataError, DataTypeError, ParameterError
        See `Problem`.

    See Also
    --------
    OneClass : A plane between the samples and the origin; the same machine if all K(x, x) are equal.

    References
    ----------
    Tax & Duin, *Support vector data description*, Machine Learning 54 (2004). Chang, Lee & Lin, *A revisit to support
    vector data description*, technical report, National Taiwan University (2013), on R² ≥ 0 and the bounds of ν.

    Examples
    --------
    The smallest ball around three points, and around most of a sample:

    >>> import numpy as np
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.SVDD([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]], nu=0.1))
    >>> print(result.centre.round(6) + 0.0, round(result.radius, 6), result.kkt["kind"])
    [1. 0.] 1.0 ['boundary' 'boundary' 'inside']
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> result = qpsvm.solve(qpsvm.SVDD(X + 1e6, nu=0.2))
    >>> bool(np.mean(result.xi > 1e-9) <= 0.2 <= len(result.support) / 60)
    True
    """

    _f_scale: ClassVar[float] = 2.0
    _diagonal_weight: ClassVar[float] = -1.0
    _is_affine: ClassVar[bool] = True
    _variable_names: ClassVar[Mapping[str, str]] = {"w": "c", "b": "mu"}
    _primal_notation = ("SVDD.3", "‖c‖² + 2μ + Σ C_i ξ_i", "cᵀx_i + μ ≥ (K_ii − ξ_i)/2")
    _display_name, _dual_tag = "SVDD", "SVDD.11"

    def __init__(
        self,
        X: Any,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        super().__init__(build_unlabelled_samples(X, sample_weight), kernel, None, psd, constraints, nu=nu)

    def _compute_extras(
        self, certificate: Certificate
    ) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        """Return R, by μ = (R² − ‖c‖²)/2, and its interval; NaN if linear constraints make R² negative."""
        w = certificate.w
        lowest_mu, highest_mu = certificate.b_interval
        squares = [  # R² for each μ, (SVDD.13)
            dot_with_bound(w, w, 2.0 * mu)[0] if w is not None else 2.0 * (certificate.half_norm + mu)
            for mu in (certificate.b, lowest_mu, highest_mu)
        ]
        rounding = gamma(len(certificate.alpha) + 8) * 2.0 * abs(certificate.b)
        if self.constraints and squares[0] < -rounding:
            return {"radius": math.nan}, {"radius": (math.nan, math.nan)}
        if certificate.primal == 0.0 and not self.constraints:  # R² + Σ C_i ξ_i = 0, so R = 0
            return {"radius": 0.0}, {"radius": (0.0, 0.0)}
        radius, low, high = (math.sqrt(max(square, 0.0)) for square in squares)
        return {"radius": radius}, {"radius": (low, high)}

    def _describe_caveats(self, certificate: Certificate) -> str:
        note = super()._describe_caveats(certificate)
        if self.constraints and math.isnan(self._compute_extras(remove_constraints(certificate))[0]["radius"]):
            note = f"{note} {NO_BALL}".strip()
        return note

    def _bound_level_error(self, level: FloatArray) -> FloatArray | None:
        """Bound the rounding errors of the levels K_ii/2 by ½ερ_i² of (ACC.1): (n,); None if all are exactly ½."""
        if isinstance(self.space.kernel, RBF) and self.space.is_plain:
            return None
        if self.space.is_linear:
            return gamma(self.space.samples.longest_row + 4) * level + UNDERFLOW
        accuracy = Accuracy(self.space)
        norms = accuracy.bound_norms(np.arange(len(level)))
        return np.asarray((0.5 + UNIT) * accuracy.epsilon * norms * norms * (1.0 + 4.0 * UNIT) + UNDERFLOW)

    def _build_specification(self) -> Specification:
        s = self._select_active(self.sample_weight)
        ball = Equality("mass", "b", None, Fraction(1), "1ᵀα = 1")  # (SVDD.5)
        return Specification(  # (SVDD.3), (SVDD.11)
            np.ones(len(s)), 0.0, from_floats(s, 1 / (Fraction(self.nu) * sum_weights(self.samples))), groups=(ball,),
            unit=Fraction(2), diagonal=Fraction(1, 2),
        )  # fmt: skip

    def _build_dual(self, gram: Operator, intercept: Intercept) -> SVMDual:
        svm = super()._build_dual(gram, intercept)
        return replace(svm, level_radius=self._bound_level_error(svm.level))

    @cached
    def _dual_structure(self) -> SVMDual:
        """The dual with a placeholder for the Gram matrix; its levels differ, unless all K_ii are known to be equal."""
        structure = super()._dual_structure
        if isinstance(self.kernel, RBF):
            return structure
        level = np.array(structure.level)
        level[:1] *= 0.5  # the placeholder has equal K_ii: any other value makes the levels differ
        return replace(structure, level=level, level_radius=None)

    def equivalent_one_class(self) -> Problem:
        """Return the one-class SVM with the same samples inside and outside, (SVDD.20), if all K(x, x) are equal.

        Returns
        -------
        OneClass
            With the same ν. Its α are νΣs times, and its f is νΣs/2 times, those of this machine.

        Raises
        ------
        UnsupportedError
            K(x, x) differs between samples; the message names two.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> X = np.random.default_rng(0).standard_normal((30, 2))
        >>> ball = qpsvm.SVDD(X, nu=0.2, kernel=qpsvm.RBF(0.5))
        >>> one_class = ball.equivalent_one_class()
        >>> print(bool((qpsvm.solve(one_class).kind == qpsvm.solve(ball).kind).all()))
        True
        """
        check_constant_diagonal(self)
        one_class: Problem = convert_problem(self, "OneClass", is_rescaled=True, nu=self.nu)
        return one_class
