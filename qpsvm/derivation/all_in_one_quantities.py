"""Evaluate the symbols of an all-in-one multiclass machine at a result.

Everything is computed again from α and the decision functions of the result, which is not trusted; only the objective
values that the result claims are read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.headline import AGREEMENT_TOL, describe_failures, describe_gap
from qpsvm.derivation.relative_size import reference_size
from qpsvm.derivation.step import Measurement
from qpsvm.machines.problem.all_in_one import AllInOneProblem
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed


class AllInOneQuantities:
    """α, β, w, b, ξ, … of a result of the problem, over its n samples of positive weight and its k classes.

    label, C: y and C_i, (n,).
    level: The margin: how much f of a sample's own class should exceed f of a rival class.
    alpha: α, (n, k).
    used: The part of C_i that α uses, (n, k): Σ_c α_ic for each rival if the rivals share a slack, else α_ic.
    beta, beta_sums: β, (n, k), and Σ_i β_ic of every class, (k,), which is b_c of a penalised intercept.
    b, f: The intercepts (k,) and decision values (n, k) of the result; f includes σβ if the kernel is K + σI.
    u, f_of_alpha: Kβ, and f from α alone: Kβ plus the intercepts, (n, k).
    intercept_in_kernel: Whether a penalised intercept is part of the Gram matrix.
    squares, squares_of_alpha: ‖w_c‖² and β_cᵀKβ_c, (k,).
    half_norm, half_norm_of_alpha: ½Σ‖w_c‖² of w and of w(α), with ½Σb_c² of a penalised intercept.
    xi, cost: The slack of each sample and rival, (n, k), equal for all rivals that share a slack; and Σ C ξ.
    primal, dual_value: P and D.
    objective_scale: The scale of differences of objective values.
    alpha_scale, beta_sum_scale, f_scale: The scales of differences of α, of sums of β, and of values of f.
    """

    def __init__(self, problem: AllInOneProblem, result: SVMResult) -> None:
        self.problem = problem
        self.result = result
        self.dual = problem._all_in_one_dual
        dual = self.dual
        linear = problem.space.is_linear
        is_b_in_dual = dual.intercept == "penalised"
        self.is_linear = linear
        self.intercept_in_kernel = problem.intercept == "penalised" and not is_b_in_dual
        self.label = dual.label
        self.C = dual.upper
        self.level = float(dual.level)
        self.b = np.asarray(result.b)
        self.alpha: FloatArray = problem.samples.select_active(result.alpha)
        if dual.has_shared_slack:
            self.used = np.where(dual.own_class_mask, 0.0, self.alpha.sum(axis=1)[:, None])
        else:
            self.used = self.alpha
        self.beta = dual.compute_beta(self.alpha)
        self.beta_sums = np.asarray(self.beta.sum(axis=0))
        self.X: Any = problem.X if problem.samples.all_weights_positive else problem.X[problem.active_rows]
        self.f: FloatArray = result.decision_function(self.X) + problem.space.shift * self.beta
        self.u = np.asarray(self.X @ (self.X.T @ self.beta) if linear else problem.space.gram @ self.beta)
        self.f_of_alpha = self.u if self.intercept_in_kernel else self.u + self.b
        products = (self.beta * self.u).sum(axis=0)
        if self.intercept_in_kernel:
            self.squares_of_alpha = products - self.beta_sums**2
        else:
            self.squares_of_alpha = products
        if linear:
            self.squares = np.asarray((result.w**2).sum(axis=1))
        else:
            self.squares = self.squares_of_alpha
        self.half_norm_of_alpha = 0.5 * float(products.sum())
        if linear:
            self.half_norm = 0.5 * float(self.squares.sum())
        else:
            self.half_norm = self.half_norm_of_alpha
        if is_b_in_dual:
            self.half_norm_of_alpha += 0.5 * float(self.beta_sums @ self.beta_sums)
            self.half_norm += 0.5 * float(self.b @ self.b)
        slack = np.maximum(self.shortfalls, 0.0)
        if dual.has_shared_slack:
            slack = np.broadcast_to(slack.max(axis=1)[:, None], slack.shape)
        self.xi = np.where(dual.own_class_mask, 0.0, slack)
        self.cost = float(dual.compute_losses(self.shortfalls).sum())
        self.primal = self.half_norm + self.cost
        self.dual_value = self.level * float(self.alpha.sum()) - self.half_norm_of_alpha
        self.objective_scale = max(abs(self.primal), abs(self.dual_value))
        self.alpha_scale = float(self.alpha.max()) or float(self.C.max())
        self.beta_sum_scale = float(self.alpha.sum()) or float(self.C.sum())
        self.f_scale = max(float(np.abs(self.f).max()), self.level)

    @property
    def shortfalls(self) -> FloatArray:
        """The margin level minus f_y − f_c, for each sample and rival class: (n, k)."""
        return self.dual.compute_shortfalls(self.f)

    def with_symbols(self, **symbols: Any) -> Self:
        """Return the point with other values of some symbols; all other symbols keep their values."""
        other = copy(self)
        other.__dict__ |= symbols
        return other

    def halve_weights(self) -> Self:
        """Return the point with half of w and b."""
        return self.with_symbols(
            f=0.5 * self.f, squares=0.25 * self.squares, b=0.5 * self.b, beta_sums=0.5 * self.beta_sums
        )

    def complement_multipliers(self) -> Self:
        """Return the point with C − α in place of α; if the rivals share a slack, they share C_i − Σ_c α_ic equally."""
        complement = (self.C[:, None] - self.used) / (self.dual.k - 1 if self.dual.has_shared_slack else 1)
        return self.with_symbols(alpha=np.where(self.dual.own_class_mask, 0.0, complement))

    def make_suboptimal(self) -> Self:
        """Return a feasible point that is not optimal, with half of α; the point itself if b would change, too."""
        if self.intercept_in_kernel:  # b is computed from α, so half of α would change b
            return self
        other = type(self)(self.problem, replace(self.result, alpha=0.5 * self.result.alpha))
        return other.with_symbols(f=self.f, squares=self.squares, b=self.b, xi=self.xi)

    @property
    def square_of_v(self) -> float:
        """‖v‖² of a problem with two classes, where v = w_2 − w_1."""
        if self.is_linear:
            return float(np.square(self.result.w[1] - self.result.w[0]).sum())
        beta = self.beta[:, 1] - self.beta[:, 0]
        b = self.beta_sums[1] - self.beta_sums[0]
        square = float(beta @ (self.u[:, 1] - self.u[:, 0]))
        return square - float(b**2) if self.intercept_in_kernel else square

    @property
    def w_scale(self) -> float:
        """Scale of differences of w."""
        X = self.X
        largest_norm = float(np.sqrt(abs(X).power(2).sum() if hasattr(X, "power") else np.square(X).sum()))
        return reference_size(self.result.w.ravel(), largest_norm * self.beta_sum_scale)

    def name_entry(self, place: str, i: int, count: int) -> str:
        """Name entry i of a vector with `count` entries; `place` is what they are, or "", as in `EquationLine`."""
        classes = self.problem.classes.tolist()
        if not place and count == len(self.dual.row_positions):
            sample, rival = np.divmod(self.dual.row_positions[i], self.dual.k)
            return f"sample {self.problem.active_rows[sample]} and the rival {classes[rival]!r}"
        if place == "class" or (not place and count == self.dual.k):
            return f"class {classes[i]!r}"
        return f"place {i}"


def assess_all_in_one(at: AllInOneQuantities, measured: Mapping[str, Measurement]) -> tuple[str, bool]:
    """Return the headline at a result, and whether the result is an optimum of the problem."""
    result = at.result
    claimed_shortfalls = at.problem.samples.select_active(result.margin - result.yf)
    difference = float(np.abs(at.shortfalls - claimed_shortfalls).max()) / at.f_scale
    if difference > AGREEMENT_TOL and not isinstance(at.problem.kernel, Precomputed):
        return (
            "NOT OF THIS PROBLEM: at the problem's samples the decision functions of the result differ from its "
            f"margins by {difference:.1e}, relative. The residuals show what it violates"
        ), False
    failures = describe_failures(measured, result.gap)
    if result.status is not Status.OPTIMAL:
        return (
            f"NOT OPTIMAL: status {result.status}, certified relative gap {result.gap:.1e}; the residuals are those of "
            "the best point so far"
        ), False
    if failures:
        return (
            f"NOT AN OPTIMUM: the result says {result.status} with a relative gap of {result.gap:.1e}, but {failures}: "
            "it was changed, or is that of another problem"
        ), False
    return f"optimal, certified relative gap {describe_gap(result.gap)}", True
