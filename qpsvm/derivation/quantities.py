"""Evaluate the symbols of the equations at a solution, from which residuals are computed (`Quantities`).

A `Quantities` is the point at which the equations are evaluated: the argument that is called `at` everywhere in this
package. A symbol is an attribute, or is computed from attributes.

All symbols are computed again from α, ξ, ρ and the decision function of the result, so a wrong result has large
residuals. Only the kinds of samples, C − α and the claimed objective values are read from the result.

Every machine has the symbols of its dual, (DUAL.1): some are vectors over the n samples of positive weight, others over
the m rows of the dual. If f is a multiple of the dual's f, as in an SVDD, it is converted to the dual's units.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.bounds.repair import make_feasible
from qpsvm.data.rows import RowSource
from qpsvm.derivation.display import RESIDUAL_TOL
from qpsvm.derivation.relative_size import VANISHING, reference_size
from qpsvm.machines import Problem
from qpsvm.machines.problem.certifier import classify_by_bounds
from qpsvm.program.losses import compute_loss
from qpsvm.program.qp import QP
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear, Precomputed

#: Targets whose spread is less than this share of their size count as constant.
MIN_TARGET_SPREAD = 1e-6
#: Maximum number of new samples on which decision functions are compared.
MAX_NEW_SAMPLES = 200

P = TypeVar("P", bound=Problem)


class Quantities(Generic[P]):
    """α, w, b, ξ, … of a result. The problem has n samples of positive weight with d features, and m rows in its dual.

    If the kernel is a feature map, the samples are replaced by their features, and the kernel is linear.

    y, alpha, C: Signs of the rows, −1/+1, dual variables and their upper bounds (C_i, a_i or s_i; infinite for a hard
        margin): (m,) each.
    beta: Coefficients of the samples in f, the sums of α_k s_k over their rows: (n,).
    eta: Multipliers of ξ ≥ 0 from the result: C − α, (m,), in the units of α.
    hard: Mask of the hard rows: (m,).
    alpha_sum, max_alpha: Σ |α_i| and max |α_i|.
    alpha_scale: Scale of α, never 0: `max_alpha`, or if that is 0 the largest finite bound.
    box: Scale of the bounds of α, (m,): C, or `alpha_scale` if C is infinite.
    rho: Margin level ρ, 1 except in the ν-SVM.
    unit: Factor of ½‖w‖² in the objective.
    is_linear, w: Whether w is a vector in the space of the samples; that vector, (d,), only if so.
    """

    def __init__(self, problem: P, result: SVMResult) -> None:
        self.problem = problem
        self.result = result
        self.kernel = problem.kernel
        if isinstance(problem.kernel, FeatureMap):
            self.kernel = Linear()
            self.result = replace(result, model=result.model.linear_model)
        self.y = self.svm.sign
        self.C = self.svm.upper
        with np.errstate(all="ignore"):  # products of a huge α may overflow
            self.alpha = problem._restrict_to_dual(result.alpha)
            self.eta = problem._restrict_to_dual(result.upper - result.alpha)
            self.beta = self.svm.beta(self.alpha)
            self.alpha_sum = float(np.abs(self.alpha).sum())
            self.max_alpha = float(np.abs(self.alpha).max())
        is_bounded = np.isfinite(self.C)
        self.alpha_scale = self.max_alpha or float(self.C[is_bounded].max(initial=0.0)) or 1.0
        self.box = np.where(is_bounded, self.C, self.alpha_scale)
        self.hard = ~is_bounded & (self.svm.curvature == 0.0)
        self.rho = result.rho
        self.unit = result.unit * problem._f_scale
        self.is_linear = problem.space.is_linear
        if self.is_linear:
            w = self.result.w / problem._f_scale
            self.w = w if self.translation is None else w - self.translation

    def with_symbols(self, **letters: Any) -> Self:
        """Return the point with other values of some symbols; f and ζ are computed from them again."""
        other = copy(self)
        for name in ("f", "zeta"):
            other.__dict__.pop(name, None)
        other.__dict__.update(letters)
        return other

    def halve_weights(self) -> Self:
        """Return the point with half of w and b."""
        return self.with_symbols(values=0.5 * self.values, square_of_w=0.25 * self.square_of_w, b=0.5 * self.b)

    def complement_multipliers(self) -> Self:
        """Return the point with C − α in place of α, or the largest α less α if C is infinite."""
        return self.with_symbols(alpha=np.where(np.isfinite(self.C), self.C, self.max_alpha) - self.alpha)

    def make_suboptimal(self) -> Self:
        """Return the point with the same w, b and ξ, and a feasible α that is not optimal.

        This α is the midpoint of α and the feasible α closest to 0.
        """
        svm = self.problem.svm
        midpoint = 0.5 * (self.all_multipliers + make_feasible(svm, np.zeros(svm.m)))
        names_of_w = (
            "f", "values", "b", "xi", "square_of_w", "half_norm", "level", "objective_scale", *self.symbols_of_w,
        )  # fmt: skip
        other = copy(self)
        for name in [name for name in vars(other) if isinstance(getattr(type(self), name, None), cached_property)]:
            del other.__dict__[name]
        other.__dict__ |= {name: getattr(self, name) for name in names_of_w}
        return other._with_multipliers(midpoint)

    #: Names of further symbols that depend on w only.
    symbols_of_w: tuple[str, ...] = ()

    def _with_multipliers(self, multipliers: FloatArray) -> Self:
        """Set all variables of the dual, (m,), on this point, and return it."""
        self.alpha = multipliers
        self.beta = self.svm.beta(multipliers)
        return self

    def compute_symbols(self, b: float) -> dict[str, Any]:
        """Return the symbols of w(α) and an intercept b, by name: f, ‖w‖², b, and the slacks ξ and ζ."""
        square = self.quadratic
        values = self.u + b
        if self.intercept_in_kernel:  # only ‖w‖² + b² and ⟨w, φ(x)⟩ + b are known
            square = square + float(self.beta.sum()) ** 2 - b * b
            values = self.u + self.b
        xi = self.svm.curvature * self.alpha + self.zeta
        return {"values": values, "square_of_w": square, "b": b, "xi": xi, "zeta": self.zeta}

    def name_sample(self, i: int) -> str:
        """Name sample i of the active ones, with the caller's number."""
        return f"sample {self.problem.active_rows[i]}"

    def name_row(self, k: int) -> str:
        """Name row k of the dual: a sample, a side of it, or a pair."""
        svm = self.svm
        if svm.mix is not None:
            return f"row {k}"
        if svm.rows is None:
            return self.name_sample(k)
        side = ""
        if svm.is_two_sided:
            side = " (t above f)" if svm.sign[k] > 0 else " (t below f)"
        return f"{self.name_sample(int(svm.rows[k]))}{side}"

    @property
    def bound_name(self) -> str:
        """Name of the upper bound of α."""
        return {"NuSVM": "a", "OneClass": "s", "PrimalHinge": "p/λ"}.get(type(self.problem).__name__, "C")

    def name_entry(self, place: str, i: int, count: int) -> str:
        """Name entry i of a vector.

        place: What the entries are, as in `EquationLine`.
        count: The number of entries.
        """
        if place == "between":
            return self.name_sample(i) + ("" if self.new_samples is None else " and the next, half way")
        if place == "product":
            return f"the product with φ(x) at {self.name_sample(i)}"
        if not place and count == self.svm.m:
            return self.name_row(i)
        if count == self.svm.n and place != "entry":
            return self.name_sample(i)
        return f"entry {i}"

    # --- rows of the dual ---------------------------------------------------------------------------------------------

    @property
    def svm(self) -> SVMDual:
        """The dual of the problem."""
        return self.problem.svm

    @cached_property
    def alpha_without_weight(self) -> float:
        """The largest |α_i| of a sample of weight 0, whose upper bound is 0."""
        is_active = self.problem._expand_from_dual(np.ones(self.svm.m)) > 0
        return float(np.abs(np.where(is_active, 0.0, self.result.alpha)).max())

    # --- f, margin levels and slacks ----------------------------------------------------------------------------------

    @cached_property
    def values(self) -> FloatArray:
        """f(x_i) by the result's decision function, plus σ β_i if the kernel is K + σI: (n,)."""
        return self.evaluate_decision(self.X) + self.problem.space.shift * self.beta

    @cached_property
    def f(self) -> FloatArray:
        """f at the sample of each row; for a row that combines samples, such as a pair, that combination of f: (m,)."""
        return self.svm.at_rows(self.values)

    @cached_property
    def u(self) -> FloatArray:
        """Kβ, with entries Σ_j β_j K(x_j, x_i), computed from α only: (n,)."""
        if self.is_linear:
            u: FloatArray = self.X @ self.w_of_alpha
            return u
        u = np.asarray((self.problem.space.gram @ self.all_beta)[: self.svm.n])
        return u - self.b if self.intercept_in_kernel else u

    @cached_property
    def claimed_yf(self) -> FloatArray:
        """y f of the result in the units of the dual: (m,)."""
        restrict, f_scale = self.problem._restrict_to_dual, self.problem._f_scale
        if self.problem._diagonal_weight:  # the result's f contains the margin level
            return self.margin + restrict(self.result.yf - self.result.margin) / f_scale
        return restrict(self.result.yf) / f_scale

    def evaluate_decision(self, X: Matrix) -> FloatArray:
        """Return f(x) of the result for each row of X (k, d), in the units of the dual: ⟨w, φ(x)⟩ + b, (k,)."""
        diagonal_weight = self.problem._diagonal_weight
        diagonal = None
        if diagonal_weight and isinstance(self.problem.kernel, Precomputed):
            diagonal_weight = 0.0
            diagonal = np.zeros(X.shape[0])
        f = self.result.decision_function(X if self.translation is None else X + self.translation, diagonal=diagonal)
        if diagonal_weight:
            f = f - diagonal_weight * self.kernel.diagonal(X)
        return f / self.problem._f_scale

    @cached_property
    def multipliers(self) -> dict[str, float]:
        """The multipliers of the groups in the result, by name: b, ρ, ε."""
        known_multipliers = {"b": self.b, "rho": self.rho}
        names = [group.multiplier for group in self.svm.groups]
        return {name: known_multipliers.get(name, self._read_multiplier(name)) for name in names}

    def _read_multiplier(self, name: str) -> float:
        return float(self.result.extras.get(name, np.nan))

    @cached_property
    def margin(self) -> FloatArray:
        """Required level of s f, (m,): 1 in a C-SVM, ρ in a ν-SVM, ±t − ε in a regression."""
        return self.svm.compute_margin(self.multipliers)

    @cached_property
    def xi(self) -> FloatArray:
        """Slacks ξ: (m,); 0 for hard rows, even if they are violated."""
        return np.where(self.hard, 0.0, self.problem._restrict_to_dual(self.result.xi) / self.problem._f_scale)

    @cached_property
    def zeta(self) -> FloatArray:
        """The part ζ of the slack with a linear penalty: (m,); all of ξ if the loss has no curvature."""
        return np.where(np.isfinite(self.C), np.maximum(self.xi - self.svm.curvature * self.box, 0.0), 0.0)

    def compute_losses(self, slack: FloatArray) -> FloatArray:
        """Return the loss ψ_k of each slack, (LOSS.1), (m,): C_i ξ_i without curvature, 0 for hard rows."""
        return compute_loss(np.where(self.hard, 0.0, slack), self.C, self.svm.curvature)

    @cached_property
    def b(self) -> float:
        """Intercept; for an SVDD, μ = (R² − ‖c‖²)/2."""
        radius = self.result.model.radius
        if radius is not None:
            return 0.5 * (radius * radius - float(self.w @ self.w))
        return self.result.b / self.problem._f_scale

    # --- w ------------------------------------------------------------------------------------------------------------

    @cached_property
    def translation(self) -> FloatArray | None:
        """Vector subtracted from all samples of an SVDD, (d,), by (SVDD.19); None if there is none."""
        space = self.problem.space
        return space.origin if space.is_affine else None

    @cached_property
    def X(self) -> Matrix:
        """The samples of positive weight: (n, d)."""
        if self.translation is not None:
            return self.problem.space.rows.matrix()
        if isinstance(self.problem.kernel, FeatureMap):
            return self.problem.space.samples.matrix()
        X = self.problem.samples.active_features
        return X.matrix() if isinstance(X, RowSource) else X

    @property
    def intercept_in_kernel(self) -> bool:
        """Whether K + 1 replaces K, as it may for a penalised intercept if K itself is indefinite."""
        return self.problem.space.computed_intercept != self.problem.intercept

    @cached_property
    def w_of_alpha(self) -> FloatArray:
        """Σ β_i x_i of a linear machine: (d,)."""
        return self._combine_samples(self.beta)

    def _combine_samples(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i x_i for coef (n,): (d,).

        It is computed from centred samples x_i − x̄, so x̄ Σ coef_i is added, unless that sum is rounding.
        """
        space = self.problem.space
        w = space.weights(coef)
        coef_sum = float(coef.sum())
        if space.origin is None or space.is_affine or abs(coef_sum) <= VANISHING * self.alpha_sum:
            return w
        return w + coef_sum * np.asarray(space.origin)

    @cached_property
    def half_norm(self) -> float:
        """½‖w‖² of the result's decision function, plus ½b² for a penalised intercept."""
        model, f_scale = self.result.model, self.problem._f_scale
        if model.w is not None:
            norm2 = float(self.w @ self.w)
        else:
            if isinstance(model.kernel, Precomputed):
                samples = self.problem.X[model.vectors]
            else:
                samples = model.vectors
            if len(model.coef):
                values = self.evaluate_decision(samples) - model.b / f_scale
            else:
                values = np.zeros(0)
            norm2 = float(model.coef @ values) / f_scale + self.problem.space.shift * float(self.beta @ self.beta)
        return 0.5 * (norm2 + (self.b**2 if self.problem.intercept == "penalised" else 0.0))

    @cached_property
    def square_of_w(self) -> float:
        """‖w‖²."""
        return 2.0 * self.half_norm - (self.b**2 if self.problem.intercept == "penalised" else 0.0)

    @cached_property
    def quadratic(self) -> float:
        """βᵀKβ, the square of w(α) = Σ β_i φ(x_i)."""
        if self.intercept_in_kernel:
            return float(self.beta @ (self.u + self.b)) - float(self.beta.sum()) ** 2
        beta = self.all_beta
        return float(self.w_of_alpha @ self.w_of_alpha if self.is_linear else beta @ (self.problem.space.gram @ beta))

    @property
    def squared_distance(self) -> float:
        """‖w − w(α)‖²."""
        return self.square_of_w - 2.0 * float(self.beta @ (self.values - self.b)) + self.quadratic

    @property
    def balance(self) -> float:
        """Σ β_i, which equals a penalised b."""
        return float(self.beta.sum())

    @property
    def products(self) -> FloatArray:
        """w for a linear kernel, (d,), else its products with every φ(x_i): (n,)."""
        return self.w if self.is_linear else self.values - self.b

    @property
    def products_scale(self) -> float:
        """Scale of differences of `products`."""
        if self.is_linear:
            return reference_size(self.w, self.w_term_size)
        return reference_size(self.u, self.u_term_size)

    def combine_features(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i φ(x_i) for coef (n,), in the form of `products`."""
        if not self.is_linear or np.array_equal(coef, self.beta):
            return self.w_of_alpha if self.is_linear else self.sum_kernels(coef)
        return self._combine_samples(coef)

    def sum_kernels(self, coef: FloatArray) -> FloatArray:
        """Return Σ_j coef_j K(x_j, x_i) for coef (n,): (n,)."""
        if np.array_equal(coef, self.beta):
            return self.u
        return self.X @ self._combine_samples(coef) if self.is_linear else np.asarray(self.problem.space.gram @ coef)

    # --- the dual, and both objectives --------------------------------------------------------------------------------

    @cached_property
    def dual(self) -> QP:
        """The dual QP of the textbook, a minimisation over α."""
        if self.translation is None:
            return self.problem.qp("dual")
        return self.problem.solver_qp("dual").original

    @property
    def dual_point(self) -> FloatArray:
        """The variables of the textbook's dual: α, (m,)."""
        return self.alpha

    @property
    def all_multipliers(self) -> FloatArray:
        """All variables of the dual that is solved: α, (m,)."""
        return self.alpha

    @cached_property
    def all_beta(self) -> FloatArray:
        """Coefficients of all points in f: (n,)."""
        return self.problem.svm.beta(self.all_multipliers)

    @property
    def equalities(self) -> list[tuple[str, float, float]]:
        """Formula and both sides of every equality of the dual."""
        groups = [group for group in self.problem.svm.groups if not group.ridge]
        return [(group.formula, float(group.column @ self.all_multipliers), group.total) for group in groups]

    @property
    def other_violations(self) -> dict[str, float]:
        """Violations of the dual's point other than of the box and the equalities: none."""
        return {}

    rows_agree = True  # whether the linear constraints hold: here there are none

    @cached_property
    def primal_value(self) -> float:
        """P(w, b, ξ) with the smallest ξ that (w, b) allows; infinite if a hard row is violated."""
        violation = np.maximum(self.margin - self.y * self.f, 0)
        levels = sum(group.total * self.multipliers[group.multiplier] for group in self.svm.groups if group.total)
        if (violation[self.hard] > RESIDUAL_TOL * self.level).any():
            return np.inf
        return float(self.unit * (self.half_norm + float(self.compute_losses(violation).sum()) + levels))

    @cached_property
    def dual_value(self) -> float:
        """D(α): minus the objective of the textbook's dual."""
        return -self.dual.objective(self.dual_point)

    @cached_property
    def kind(self) -> NDArray[np.int8]:
        """Kind of each row, (m,): 0 no support vector, 1 on the margin, 2 at the bound.

        Of the two rows of a sample in a regression, the one with the larger α has the kind of the sample. The other is
        on its level only if the tube has no width.
        """
        svm = self.svm
        if svm.rows is None:
            return self.problem._restrict_to_dual(self.result.kind)
        sample_kind = self.problem._select_active(self.result.kind)[svm.rows]
        max_alpha = np.full(svm.n, -np.inf)
        np.maximum.at(max_alpha, svm.rows, self.alpha)
        is_beyond_level = self.y * self.f > self.margin + VANISHING * self.level
        other_kind = np.where(is_beyond_level, 0, np.minimum(classify_by_bounds(self.alpha, self.C), sample_kind))
        return np.where(self.alpha >= max_alpha[svm.rows], sample_kind, other_kind).astype(np.int8)

    @property
    def on_margin(self) -> NDArray[np.bool_]:
        """Mask of the rows that are margin vectors: (m,)."""
        on_margin: NDArray[np.bool_] = self.kind == 1
        return on_margin

    # --- samples that are not in the training data --------------------------------------------------------------------

    @cached_property
    def new_samples(self) -> Matrix | None:
        """New samples half way between consecutive rows: (k, d), k ≤ `MAX_NEW_SAMPLES`.

        None for a precomputed kernel, which has no values at new samples; for psd="clip", whose f at new samples does
        not have the coefficients β; and for a single sample.
        """
        if isinstance(self.problem.kernel, Precomputed) or self.problem.psd == "clip" or self.X.shape[0] < 2:
            return None
        rows = self.X[: MAX_NEW_SAMPLES + 1]
        return (rows[:-1] + rows[1:]) / 2

    @property
    def f_between(self) -> FloatArray:
        """f at `new_samples`, or at the samples if there are none: (k,)."""
        if self.new_samples is None:
            return self.values
        return self.evaluate_decision(self.new_samples)

    def sum_kernels_between(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i K(x_i, x) at the points of `f_between`, (k,); without new samples coef (n,) has to be β."""
        if self.new_samples is None:
            return self.u
        return np.asarray(self.kernel(self.new_samples, self.X) @ coef)

    # --- scales of differences ----------------------------------------------------------------------------------------

    @cached_property
    def f_term_size(self) -> float:
        """Size of the terms of f, Σ |β_i| · max K_ii, relative to which f is rounded."""
        return self._absolute_sum * self._max_squared_norm

    @cached_property
    def u_term_size(self) -> float:
        """Scale of the computed f − b: a nonlinear kernel is not centred, and b is subtracted from f."""
        if self.is_linear:
            return self.f_term_size
        diagonal = np.abs(self.problem.space.gram.diagonal()).max()
        return max(self._absolute_sum * float(diagonal), self.f_term_size) + abs(self.b)

    @cached_property
    def w_term_size(self) -> float:
        """Size of the terms of w, Σ |β_i| · max ‖φ(x_i)‖."""
        return self._absolute_sum * float(np.sqrt(self._max_squared_norm))

    @cached_property
    def _absolute_sum(self) -> float:
        """Σ |α_k| over all rows of all samples: an upper bound of Σ |β_i|."""
        return float(self.problem.svm.sum_absolute_alpha(np.abs(self.all_multipliers)).sum())

    @property
    def _max_squared_norm(self) -> float:
        """max ‖φ(x_i)‖² of centred samples; rounding may make it negative if all are equal, then 0."""
        return max(float(self.problem.space.centred_gram.diagonal().max()), 0.0)

    @cached_property
    def level(self) -> float:
        """Scale of margin violations: the required level, 1 in a C-SVM and ρ in a ν-SVM.

        If the hulls of a ν-SVM meet, ρ is 0, and the scale is `f_term_size`. In a regression it is the range of the
        targets, because adding a constant to all of them changes b only.
        """
        if self.svm.is_two_sided:
            spread = float(np.ptp(self.problem._active_target))
            return max(spread, MIN_TARGET_SPREAD * float(np.abs(self.svm.level).max())) or 1.0
        level_is_variable = any(group.multiplier == "rho" for group in self.svm.margin_groups)
        if level_is_variable:
            level = self.rho
        else:
            level = float(np.abs(self.margin).max()) or abs(self.b)
        if level <= VANISHING * self.f_term_size and self.svm.is_homogeneous:
            return self.f_term_size or 1.0
        return level or 1.0

    @cached_property
    def objective_scale(self) -> float:
        """Scale of differences of objectives, as in the certificate: the larger of the finite values."""
        values = [abs(value) for value in (self.result.primal, self.result.dual) if np.isfinite(value)]
        if not values:
            return 1.0
        hulls_meet = self.svm.is_homogeneous and self.rho == 0.0  # w is only rounding: take the size of its terms
        min_size = 0.5 * self.w_term_size * self.w_term_size if hulls_meet else 0.0
        return max(*values, min_size) or 1.0


#: The symbols of any machine, whose problem may have any hyperparameters.
At = Quantities[Any]
