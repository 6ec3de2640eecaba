"""The letters of the equations with their values at a solution: what a residual is written in.

Everything is measured again from α, ξ, ρ and the decision function of the result, so a result that was tampered with
does not pass. Only the split into kinds, C − α and the claimed objective values are read as the result has them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.derivation.shown import HOLDS
from qpsvm.kernels.functions import Precomputed
from qpsvm.problems import PrimalHinge, Problem
from qpsvm.qp.program import QP
from qpsvm.result import SVMResult

#: A sum that is at most this share of its terms is 0 but for rounding. No equation can be checked relative to it.
VANISHING = 1e-8
#: New samples on which a decision function is compared: enough to tell two functions apart.
NEW_SAMPLES = 200

P = TypeVar("P", bound=Problem)


class Letters(Generic[P]):
    """α, w, b, ξ, … of a result, over the m rows of positive weight. The problem has n rows of d features.

    Parameters
    ----------
    problem : Problem
    result : SVMResult
        Of this problem, or of one over the same rows.
    """

    def __init__(self, problem: P, result: SVMResult) -> None:
        self.problem = problem
        self.result = result

    @property
    def y(self) -> FloatArray:
        """Labels −1/+1: (m,)."""
        return self.problem.labels

    @cached_property
    def alpha(self) -> FloatArray:
        """Dual variables α: (m,)."""
        return self.problem.taking_part(self.result.alpha)

    @cached_property
    def total(self) -> float:
        """Σ |α_i|. It is Σ α_i where no α_i is negative, and a size in any case."""
        return float(np.abs(self.alpha).sum())

    @cached_property
    def largest(self) -> float:
        """max |α_i|, a size likewise."""
        return float(np.abs(self.alpha).max())

    @cached_property
    def reach(self) -> float:
        """How far an α_i may be expected to go, which is never 0: the largest there is, or else the largest bound."""
        bounds = self.C[np.isfinite(self.C)]
        return self.largest or float(bounds.max(initial=0.0)) or 1.0

    @cached_property
    def alpha_without_weight(self) -> float:
        """The largest |α_i| of a row of weight 0, whose upper bound is 0 too."""
        return float(np.abs(np.where(self.problem.sample_weight > 0, 0.0, self.result.alpha)).max())

    @property
    def C(self) -> FloatArray:
        """Upper bounds of α, (m,): C_i, for the ν-SVM a_i, infinite for a hard margin."""
        return self.problem.upper

    @cached_property
    def eta(self) -> FloatArray:
        """Multipliers of ξ ≥ 0 as the result has them: (m,), in the units of α."""
        eta: FloatArray = self.problem.taking_part(self.result.kkt["eta"])
        return eta

    @cached_property
    def xi(self) -> FloatArray:
        """Slacks ξ: (m,)."""
        return self.problem.taking_part(self.result.xi)

    @property
    def b(self) -> float:
        """Intercept."""
        return self.result.b

    @property
    def rho(self) -> float:
        """Margin level ρ: 1 except in the ν-SVM."""
        return self.result.rho

    @property
    def unit(self) -> float:
        """The objective's factor in front of ½‖w‖²: λ of the primal hinge problem, else 1."""
        return self.result.unit

    @cached_property
    def numbers(self) -> IntArray:
        """Which of the caller's samples the rows are: (m,)."""
        return self.problem.rows

    @property
    def rho_letter(self) -> str:
        """What a person writes for ρ in a product: nothing where it is 1."""
        return "ρ" if self.level_is_variable else ""

    @property
    def C_letter(self) -> str:
        """What a person writes for the upper bound of α."""
        return "a" if self.level_is_variable else "p/λ" if isinstance(self.problem, PrimalHinge) else "C"

    @cached_property
    def X(self) -> Matrix:
        """The rows that take part: (m, d)."""
        return self.problem.X if self.problem.takes_all else self.problem.X[self.problem.rows]

    @cached_property
    def f(self) -> FloatArray:
        """f(x_i) by the result's decision function, plus σ α_i y_i where the kernel is K + σI: (m,)."""
        return self.result.decision_function(self.X) + self.problem.space.shift * self.alpha * self.y

    @cached_property
    def u(self) -> FloatArray:
        """K(α∘y), that is Σ_j α_j y_j K(x_j, x_i), from α alone: (m,)."""
        if self.is_linear:
            u: FloatArray = self.X @ self.w_of_alpha
            return u
        u = self.problem.space.gram @ (self.alpha * self.y)
        return u - self.b if self.intercept_in_kernel else u

    @property
    def is_linear(self) -> bool:
        """Whether w is a vector in the space of the samples."""
        return self.problem.space.is_linear

    @property
    def intercept_in_kernel(self) -> bool:
        """Whether K + 1 takes the place of K, as it may for a penalised intercept if K alone is indefinite."""
        return self.problem.space.computed_intercept != self.problem.intercept

    @property
    def w(self) -> FloatArray:
        """Weight vector of a linear machine: (d,)."""
        return self.result.w

    @cached_property
    def w_of_alpha(self) -> FloatArray:
        """Σ α_i y_i x_i of a linear machine: (d,). Made of x_i − x̄, which changes it only where yᵀα is not 0."""
        space, beta = self.problem.space, self.alpha * self.y
        surplus = float(beta.sum())
        w = space.weights(beta)
        return w if space.origin is None or abs(surplus) <= VANISHING * self.total else w + surplus * space.origin

    @cached_property
    def half_norm(self) -> float:
        """½‖w‖² of the result's decision function. A penalised intercept is a weight too, and adds ½b²."""
        model = self.result.model
        if model.w is not None:
            norm2 = float(model.w @ model.w)
        else:
            samples = self.problem.X[model.vectors] if isinstance(model.kernel, Precomputed) else model.vectors
            values = model.decision_function(samples) - model.b if len(model.coef) else np.zeros(0)
            norm2 = float(model.coef @ values) + self.problem.space.shift * float(self.alpha @ self.alpha)
        return 0.5 * (norm2 + self.penalised_b * self.penalised_b)

    @property
    def penalised_b(self) -> float:
        """b where it is part of the norm, else 0."""
        return self.b if self.problem.intercept == "penalised" else 0.0

    @cached_property
    def half_norm_of_alpha(self) -> float:
        """½‖w(α)‖² with w(α) = Σ α_i y_i φ(x_i). A penalised intercept adds ½b² here too."""
        if self.intercept_in_kernel:
            return 0.5 * float((self.alpha * self.y) @ (self.u + self.b))
        own = self.w_of_alpha @ self.w_of_alpha if self.is_linear else (self.alpha * self.y) @ self.u
        return 0.5 * (float(own) + self.penalised_b * self.penalised_b)

    @cached_property
    def dual(self) -> QP:
        """The textbook's dual, to minimise over α."""
        return self.problem.qp("dual")

    @cached_property
    def primal_value(self) -> float:
        """P(w, b, ξ) with the ξ that (w, b) needs: infinite where a sample may have none and is behind its margin."""
        short = np.maximum(self.rho - self.y * self.f, 0)
        hard = np.isinf(self.C)
        if (short[hard] > HOLDS).any():
            return np.inf
        value = self.half_norm + self.C[~hard] @ short[~hard]
        value += sum(group.total * self.rho for group in self.problem.svm.margins)
        return float(self.unit * value)

    @cached_property
    def dual_value(self) -> float:
        """D(α), what the dual maximises: minus the objective of the textbook's dual."""
        return -self.dual.objective(self.alpha)

    @cached_property
    def kind(self) -> NDArray[np.int8]:
        """0 peripheral, 1 on the margin, 2 at the bound: (m,)."""
        return self.problem.taking_part(self.result.kind)

    @property
    def on_margin(self) -> NDArray[np.bool_]:
        """Which rows are margin vectors: (m,)."""
        on_margin: NDArray[np.bool_] = self.kind == 1
        return on_margin

    @cached_property
    def new_samples(self) -> Matrix | None:
        """Samples that nobody trained on, half way between neighbouring rows: (k, d), k ≤ `NEW_SAMPLES`.

        None for a precomputed kernel, which has no values at new samples. None for psd="clip" too, because f at new
        samples is not made with α∘y there.
        """
        if isinstance(self.problem.kernel, Precomputed) or self.problem.psd == "clip":
            return None
        rows = self.X[: NEW_SAMPLES + 1]
        return (rows[:-1] + rows[1:]) / 2

    @cached_property
    def terms(self) -> float:
        """The size of the terms that f sums up, Σ α_i · max K_ii. f is rounded relative to them."""
        return self.total * self._largest_square

    @cached_property
    def terms_of_u(self) -> float:
        """The same of f − b as it is computed: where the kernel is not linear nothing is centred, and b comes off f."""
        if self.is_linear:
            return self.terms
        diagonal = np.abs(self.problem.space.gram.diagonal()).max()
        return max(self.total * float(diagonal), self.terms) + abs(self.b)

    @cached_property
    def terms_of_w(self) -> float:
        """The size of the terms that w sums up, Σ α_i · max ‖φ(x_i)‖."""
        return self.total * float(np.sqrt(self._largest_square))

    @property
    def _largest_square(self) -> float:
        """max ‖φ(x_i)‖², which rounding makes negative where all samples are at one place."""
        return max(float(self.problem.space.centred.diagonal().max()), 0.0)

    @cached_property
    def level_is_variable(self) -> bool:
        """Whether ρ is found with w and b, as in the ν-SVM: the dual has no linear term then."""
        return not np.any(self.dual.q)

    @cached_property
    def level(self) -> float:
        """What violations of the margin are relative to: ρ. Where the hulls of a ν-SVM meet, ρ is 0: then `terms`."""
        vanishes = self.level_is_variable and self.rho <= VANISHING * self.terms
        return (self.terms or 1.0) if vanishes else self.rho

    @cached_property
    def size(self) -> float:
        """What differences of objectives are relative to, as in the certificate: the larger of the finite values."""
        values = [abs(value) for value in (self.result.primal, self.result.dual) if np.isfinite(value)]
        meets = self.level_is_variable and self.rho == 0.0  # w is rounding: what it would be, uncancelled
        floor = 0.5 * self.terms_of_w * self.terms_of_w if meets else 0.0
        return max(*values, floor) or 1.0 if values else 1.0


def share(part: float, whole: float) -> float:
    """A violation relative to the size of what it violates, with 0/0 = 0. Neither is negative."""
    return float(part / whole if whole > 0 else part)
