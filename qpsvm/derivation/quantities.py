"""Evaluate the symbols of the equations at a solution, from which residuals are computed (`Quantities`).

Everything is computed again from α, ξ, ρ and the decision function of the result, so a result that was changed does
not pass. Only the kinds of samples, C − α and the claimed objective values are read from the result.

Every machine has the symbols of its dual, (DUAL.1): some are vectors over the n samples of positive weight, others over
the m rows of the dual. If f is a multiple of that of the dual, as in an SVDD, it is converted to the dual's units.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.bounds.repair import feasible
from qpsvm.data.rows import RowSource
from qpsvm.derivation.display import HOLDS
from qpsvm.derivation.relative_size import VANISHING, reference_size
from qpsvm.machines import Problem
from qpsvm.machines.problem.certifier import split
from qpsvm.program.losses import compute_loss
from qpsvm.program.qp import QP
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear, Precomputed

#: Targets whose spread is less than this share of their size count as constant.
SPREAD = 1e-6
#: New samples on which decision functions are compared.
NEW_SAMPLES = 200

P = TypeVar("P", bound=Problem)


class Quantities(Generic[P]):
    """α, w, b, ξ, … of a result. The problem has n samples of positive weight, of d features, and m rows in its dual.

    If the kernel is a feature map, the samples are its features, and their kernel is linear.

    y, alpha, C: Signs of the rows, −1/+1, dual variables and their upper bounds (C_i, a_i or s_i; infinite for a hard
        margin): (m,) each.
    beta: Coefficients of the samples in f, the sums of α_k s_k over their rows: (n,).
    eta: Multipliers of ξ ≥ 0 from the result: C − α, (m,), in the units of α.
    hard: Mask of the hard rows: (m,).
    total, largest: Σ |α_i| and max |α_i|; `reach` is an estimate of the largest possible α_i, and never 0.
    box: Scale of the bounds of α, (m,): C, or `reach` if that is infinite.
    rho, unit: Margin level ρ, 1 except in the ν-SVM; the objective's factor in front of ½‖w‖².
    is_linear, w: Whether w is a vector in the space of the samples, and that vector: (d,).
    """

    def __init__(self, problem: P, result: SVMResult) -> None:
        self.problem = problem
        self.result = result
        self.kernel = problem.kernel
        if isinstance(problem.kernel, FeatureMap):  # then the samples are what it makes of them
            self.kernel, self.result = Linear(), replace(result, model=result.model.linear_model)
        self.y, self.C, gather = self.svm.sign, self.svm.upper, problem._restrict_to_dual
        with np.errstate(all="ignore"):  # an α may be so large that its products overflow
            self.alpha, self.eta = gather(result.alpha), gather(result.upper - result.alpha)
            self.beta = self.svm.beta(self.alpha)
            self.total, self.largest = float(np.abs(self.alpha).sum()), float(np.abs(self.alpha).max())
        bounded = np.isfinite(self.C)
        self.reach = self.largest or float(self.C[bounded].max(initial=0.0)) or 1.0
        self.box, self.hard = np.where(bounded, self.C, self.reach), ~bounded & (self.svm.curvature == 0.0)
        self.rho, self.unit = result.rho, result.unit * problem._f_scale
        self.is_linear = problem.space.is_linear
        if self.is_linear:
            w = self.result.w / problem._f_scale
            self.w = w if self.translation is None else w - self.translation

    def with_letters(self, **letters: Any) -> Self:
        """Return the point with other letters, and what depends on them."""
        other = copy(self)
        for name in ("f", "zeta"):
            other.__dict__.pop(name, None)
        other.__dict__.update(letters)
        return other

    def halve_weights(self) -> Self:
        """Return the point with half of w and b."""
        return self.with_letters(values=0.5 * self.values, square_of_w=0.25 * self.square_of_w, b=0.5 * self.b)

    def complement_multipliers(self) -> Self:
        """Return the point with C − α in place of α, or the largest α less α if C is infinite."""
        return self.with_letters(alpha=np.where(np.isfinite(self.C), self.C, self.largest) - self.alpha)

    def make_suboptimal(self) -> Self:
        """Return the same w, b and ξ with a feasible α that is not optimal: half way to the feasible one next to 0."""
        svm = self.problem.svm
        middle = 0.5 * (self.all_multipliers + feasible(svm, np.zeros(svm.m)))
        kept = ("f", "values", "b", "xi", "square_of_w", "half_norm", "level", "size", *self.letters_of_w)
        other = self.with_letters()
        for name in [name for name in vars(other) if isinstance(getattr(type(self), name, None), cached_property)]:
            del other.__dict__[name]
        other.__dict__ |= {name: getattr(self, name) for name in kept}
        return other._with_multipliers(middle)

    #: What else is known of w.
    letters_of_w: tuple[str, ...] = ()

    def _with_multipliers(self, whole: FloatArray) -> Self:
        """Set the multipliers that the dual is computed with."""
        self.alpha = whole
        self.beta = self.svm.beta(whole)
        return self

    def compute_letters(self, b: float) -> dict[str, Any]:
        """Return the letters that α gives, with some b: f and ‖w‖ of w(α), and of a curved loss ξ."""
        square, values = self.quadratic, self.u + b
        if self.intercept_in_kernel:  # only ‖w‖² + b² and ⟨w, φ(x)⟩ + b are known
            square, values = square + float(self.beta.sum()) ** 2 - b * b, self.u + self.b
        xi = self.svm.curvature * self.alpha + self.zeta
        return {"values": values, "square_of_w": square, "b": b, "xi": xi, "zeta": self.zeta}

    def sample(self, i: int) -> str:
        """Name sample i of the active ones, with the caller's number."""
        return f"sample {self.problem.active_rows[i]}"

    def row(self, k: int) -> str:
        """Name row k of the dual: a sample, a side of it, or a pair."""
        svm = self.svm
        if svm.mix is not None or svm.rows is None:
            return f"row {k}" if svm.mix is not None else self.sample(k)
        side = " (t above f)" if svm.sign[k] > 0 else " (t below f)"
        return f"{self.sample(int(svm.rows[k]))}{side if svm.is_two_sided else ''}"

    @property
    def bound(self) -> str:
        """Name of the upper bound of α."""
        return {"NuSVM": "a", "OneClass": "s", "PrimalHinge": "p/λ"}.get(type(self.problem).__name__, "C")

    def name(self, place: str, i: int, count: int) -> str:
        """Name entry i: of rows, of samples, or of what `place` says; `count` is the number of entries."""
        if place == "between":
            return f"{self.sample(i)} and the next, half way" if self.new_samples is not None else self.sample(i)
        if place == "product":
            return f"the product with φ(x) at {self.sample(i)}"
        rows = not place and count == self.svm.m
        return self.row(i) if rows else self.sample(i) if count == self.svm.n and place != "entry" else f"entry {i}"

    # --- the dual -----------------------------------------------------------------------------------------------------

    @property
    def svm(self) -> SVMDual:
        """The dual of the problem."""
        return self.problem.svm

    @cached_property
    def alpha_without_weight(self) -> float:
        """The largest |α_i| of a row that takes no part, whose upper bound is 0 too."""
        takes_part = self.problem._expand_from_dual(np.ones(self.svm.m)) > 0
        return float(np.abs(np.where(takes_part, 0.0, self.result.alpha)).max())

    # --- f and what it is to reach ------------------------------------------------------------------------------------

    @cached_property
    def values(self) -> FloatArray:
        """f(x_i) by the result's decision function, plus σ β_i where the kernel is K + σI: (n,)."""
        return self.evaluate_decision(self.X) + self.problem.space.shift * self.beta

    @cached_property
    def f(self) -> FloatArray:
        """f at the sample of each row, or the combination of f that the row is about: (m,)."""
        return self.svm.at_rows(self.values)

    @cached_property
    def u(self) -> FloatArray:
        """Kβ, that is Σ_j β_j K(x_j, x_i), from α alone: (n,)."""
        if self.is_linear:
            u: FloatArray = self.X @ self.w_of_alpha
            return u
        u = np.asarray((self.problem.space.gram @ self.all_beta)[: self.svm.n])
        return u - self.b if self.intercept_in_kernel else u

    @cached_property
    def known_yf(self) -> FloatArray:
        """y f as the result has it, in the units of the dual: (m,)."""
        gather, size = self.problem._restrict_to_dual, self.problem._f_scale
        if self.problem._diagonal_weight:  # f is shown with its level taken off
            return self.margin + gather(self.result.yf - self.result.margin) / size
        return gather(self.result.yf) / size

    def evaluate_decision(self, X: Matrix) -> FloatArray:
        """Return f(x) of the result for each row of X (k, d), in the units of the dual: ⟨w, φ(x)⟩ + b."""
        sums, diagonal = self.problem._diagonal_weight, None
        if sums and isinstance(self.problem.kernel, Precomputed):
            sums, diagonal = 0.0, np.zeros(X.shape[0])
        f = self.result.decision_function(X if self.translation is None else X + self.translation, diagonal=diagonal)
        f = f - sums * self.kernel.diagonal(X) if sums else f
        return f / self.problem._f_scale

    @cached_property
    def multipliers(self) -> dict[str, float]:
        """The multipliers of the groups as the result has them, by name: b, ρ, ε."""
        found = {"b": self.b, "rho": self.rho}
        return {
            each.multiplier: found.get(each.multiplier, self._read_multiplier(each.multiplier))
            for each in self.svm.groups
        }

    def _read_multiplier(self, name: str) -> float:
        return float(self.result.extras.get(name, np.nan))

    @cached_property
    def margin(self) -> FloatArray:
        """Required level of s f, (m,): 1 of a C-SVM, ρ of a ν-SVM, ±t − ε of a regression."""
        return self.svm.margin(self.multipliers)

    @cached_property
    def xi(self) -> FloatArray:
        """Slacks ξ: (m,); 0 where a row may have none, whatever it violates."""
        return np.where(self.hard, 0.0, self.problem._restrict_to_dual(self.result.xi) / self.problem._f_scale)

    @cached_property
    def zeta(self) -> FloatArray:
        """The part of the slack that has a linear price, ζ: (m,); all of ξ where the loss is not curved."""
        return np.where(np.isfinite(self.C), np.maximum(self.xi - self.svm.curvature * self.box, 0.0), 0.0)

    def costs(self, slack: FloatArray) -> FloatArray:
        """Return the cost of each slack, ψ_k of (LOSS.1), (m,): C_i ξ_i if the loss is not curved, 0 of hard rows."""
        return compute_loss(np.where(self.hard, 0.0, slack), self.C, self.svm.curvature)

    @cached_property
    def b(self) -> float:
        """Intercept; of a ball, μ = (R² − ‖c‖²)/2."""
        radius = self.result.model.radius
        if radius is not None:
            return 0.5 * (radius * radius - float(self.w @ self.w))
        return self.result.b / self.problem._f_scale

    # --- w ------------------------------------------------------------------------------------------------------------

    @cached_property
    def translation(self) -> FloatArray | None:
        """Vector subtracted from all samples of a ball, (d,), by (SVDD.19); None if there is none."""
        space = self.problem.space
        return space.origin if space.is_affine else None

    @cached_property
    def X(self) -> Matrix:
        """The samples that take part: (n, d)."""
        if self.translation is not None:
            return self.problem.space.rows.matrix()
        if isinstance(self.problem.kernel, FeatureMap):
            return self.problem.space.samples.matrix()
        X = self.problem.samples.active_features
        return X.matrix() if isinstance(X, RowSource) else X

    @property
    def intercept_in_kernel(self) -> bool:
        """Whether K + 1 takes the place of K, as it may for a penalised intercept if K alone is indefinite."""
        return self.problem.space.computed_intercept != self.problem.intercept

    @cached_property
    def w_of_alpha(self) -> FloatArray:
        """Σ β_i x_i of a linear machine: (d,)."""
        return self._combine_samples(self.beta)

    def _combine_samples(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i x_i. Made of x_i − x̄, which changes it only where Σ coef_i is not 0."""
        space, surplus, w = self.problem.space, float(coef.sum()), self.problem.space.weights(coef)
        centred = space.origin is None or space.is_affine or abs(surplus) <= VANISHING * self.total
        return w if centred else w + surplus * np.asarray(space.origin)

    @cached_property
    def half_norm(self) -> float:
        """½‖w‖² of the result's decision function. A penalised intercept is a weight too, and adds ½b²."""
        model, size = self.result.model, self.problem._f_scale
        if model.w is not None:
            norm2 = float(self.w @ self.w)
        else:
            samples = self.problem.X[model.vectors] if isinstance(model.kernel, Precomputed) else model.vectors
            values = self.evaluate_decision(samples) - model.b / size if len(model.coef) else np.zeros(0)
            norm2 = float(model.coef @ values) / size + self.problem.space.shift * float(self.beta @ self.beta)
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
        """Σ β_i, what a penalised b is."""
        return float(self.beta.sum())

    @property
    def products(self) -> FloatArray:
        """w of a linear machine, (d,), else its products with every φ(x_i): (n,)."""
        return self.w if self.is_linear else self.values - self.b

    @property
    def size_of_products(self) -> float:
        """Scale of differences of these products."""
        return reference_size(self.w, self.terms_of_w) if self.is_linear else reference_size(self.u, self.terms_of_u)

    def combination(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i φ(x_i) in the same way."""
        if not self.is_linear or np.array_equal(coef, self.beta):
            return self.w_of_alpha if self.is_linear else self.sums(coef)
        return self._combine_samples(coef)

    def sums(self, coef: FloatArray) -> FloatArray:
        """Return Σ_j coef_j K(x_j, x_i): (n,)."""
        if np.array_equal(coef, self.beta):
            return self.u
        return self.X @ self._combine_samples(coef) if self.is_linear else np.asarray(self.problem.space.gram @ coef)

    # --- values -------------------------------------------------------------------------------------------------------

    @cached_property
    def dual(self) -> QP:
        """The textbook's dual, to minimise over α."""
        return self.problem.qp("dual") if self.translation is None else self.problem.solver_qp("dual").original

    @property
    def dual_point(self) -> FloatArray:
        """The variables of the textbook's dual: α, (m,)."""
        return self.alpha

    @property
    def all_multipliers(self) -> FloatArray:
        """The variables that the dual is computed with: α, (m,)."""
        return self.alpha

    @cached_property
    def all_beta(self) -> FloatArray:
        """Coefficients of all that f is made of: (n,)."""
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

    rows_agree = True  # there are no linear constraints

    @cached_property
    def primal_value(self) -> float:
        """P(w, b, ξ) with the ξ that (w, b) needs: infinite where a sample may have none and is inside its margin."""
        short = np.maximum(self.margin - self.y * self.f, 0)
        levels = sum(group.total * self.multipliers[group.multiplier] for group in self.svm.groups if group.total)
        if (short[self.hard] > HOLDS * self.level).any():
            return np.inf
        return float(self.unit * (self.half_norm + float(self.costs(short).sum()) + levels))

    @cached_property
    def dual_value(self) -> float:
        """D(α), what the dual maximises: minus the objective of the textbook's dual."""
        return -self.dual.objective(self.dual_point)

    @cached_property
    def kind(self) -> NDArray[np.int8]:
        """0 peripheral, 1 on the margin, 2 at the bound: (m,).

        Of the two rows of a sample, the one with the larger α is what the sample is. The other is on its level only
        where a tube has no width.
        """
        svm = self.svm
        if svm.rows is None:
            return self.problem._restrict_to_dual(self.result.kind)
        of_sample = self.problem._select_active(self.result.kind)[svm.rows]
        most = np.full(svm.n, -np.inf)
        np.maximum.at(most, svm.rows, self.alpha)
        beyond = self.y * self.f > self.margin + VANISHING * self.level
        other = np.where(beyond, 0, np.minimum(split(self.alpha, self.C), of_sample))
        return np.where(self.alpha >= most[svm.rows], of_sample, other).astype(np.int8)

    @property
    def on_margin(self) -> NDArray[np.bool_]:
        """Mask of the rows that are margin vectors: (m,)."""
        on_margin: NDArray[np.bool_] = self.kind == 1
        return on_margin

    @cached_property
    def new_samples(self) -> Matrix | None:
        """New samples, half way between neighbouring rows: (k, d), k ≤ `NEW_SAMPLES`.

        None for a precomputed kernel, which has no values at new samples. None for psd="clip" too, because f at new
        samples is not made with β there. A single sample has no neighbour.
        """
        if isinstance(self.problem.kernel, Precomputed) or self.problem.psd == "clip" or self.X.shape[0] < 2:
            return None
        rows = self.X[: NEW_SAMPLES + 1]
        return (rows[:-1] + rows[1:]) / 2

    @property
    def f_between(self) -> FloatArray:
        """f at these new samples, or at the samples: (k,)."""
        return self.values if self.new_samples is None else self.evaluate_decision(self.new_samples)

    def sums_between(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i K(x_i, x) at the same points: (k,)."""
        if self.new_samples is None:
            return self.u
        return np.asarray(self.kernel(self.new_samples, self.X) @ coef)

    @cached_property
    def terms(self) -> float:
        """The size of the terms that f sums up, Σ |β_i| · max K_ii. f is rounded relative to them."""
        return self._mass * self._largest_square

    @cached_property
    def terms_of_u(self) -> float:
        """Scale of the computed f − b: a nonlinear kernel is not centred, and b is subtracted from f."""
        if self.is_linear:
            return self.terms
        diagonal = np.abs(self.problem.space.gram.diagonal()).max()
        return max(self._mass * float(diagonal), self.terms) + abs(self.b)

    @cached_property
    def terms_of_w(self) -> float:
        """The size of the terms that w sums up, Σ |β_i| · max ‖φ(x_i)‖."""
        return self._mass * float(np.sqrt(self._largest_square))

    @cached_property
    def _mass(self) -> float:
        """Σ |α_k| over all rows of all samples: at least Σ |β_i|."""
        return float(self.problem.svm.sum_absolute_alpha(np.abs(self.all_multipliers)).sum())

    @property
    def _largest_square(self) -> float:
        """max ‖φ(x_i)‖², which rounding makes negative where all samples are at one place."""
        return max(float(self.problem.space.centred_gram.diagonal().max()), 0.0)

    @cached_property
    def level(self) -> float:
        """Scale of margin violations: the level to be reached, 1 of a C-SVM and ρ of a ν-SVM.

        Where the hulls of a ν-SVM meet, ρ is 0: then `terms`. Of a regression, how far its targets are spread: to move
        all of them by one number changes b alone.
        """
        if self.svm.is_two_sided:
            return max(float(np.ptp(self.problem._active_target)), SPREAD * float(np.abs(self.svm.level).max())) or 1.0
        of_rho = any(group.multiplier == "rho" for group in self.svm.margin_groups)  # a variable, as in the ν-SVM
        level = self.rho if of_rho else float(np.abs(self.margin).max()) or abs(self.b)
        return (self.terms or 1.0) if level <= VANISHING * self.terms and self.svm.is_homogeneous else level or 1.0

    @cached_property
    def size(self) -> float:
        """Scale of differences of objectives, as in the certificate: the larger of the finite values."""
        values = [abs(value) for value in (self.result.primal, self.result.dual) if np.isfinite(value)]
        meets = self.svm.is_homogeneous and self.rho == 0.0  # w is rounding: what it would be, uncancelled
        floor = 0.5 * self.terms_of_w * self.terms_of_w if meets else 0.0
        return max(*values, floor) or 1.0 if values else 1.0


#: The letters of any machine, which may be asked for its own hyperparameters.
At = Quantities[Any]
