"""Evaluate the symbols of a machine with linear constraints at a result (`build_quantities`).

α, ξ and other symbols with one entry per row of the dual are those of the machine without constraints. β, w(α) and the
dual's value include the multipliers of the constraints, (USER.2). Constraints and multipliers are in the units of the
dual: f and w are divided by `_f_scale`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.quantities import P, Quantities
from qpsvm.machines import Problem
from qpsvm.machines.problem.linear_constraints import ConstraintRows
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult

#: Relative tolerance for the left side of a constraint; polished results are far more accurate.
LHS_TOL = 1e-6


class ConstraintQuantities(Quantities[P]):
    """α, w, b, ξ, … of a result, with p constraints ⟨g_j, w⟩ + c_j b ≤ h_j and their multipliers π_j.

    The g_j are combinations of q points. Each point has a β, after those of the n samples.
    """

    symbols_of_w = ("lhs",)

    @cached_property
    def svm(self) -> SVMDual:
        """The dual of the machine without the linear constraints, over its m rows."""
        constraints = self.problem.svm.linear_constraints
        assert constraints is not None
        return constraints.unconstrained_dual

    @cached_property
    def constraint_rows(self) -> ConstraintRows:
        """The linear constraints as they were given."""
        return self.problem._textbook_constraint_rows

    @cached_property
    def constraint_multipliers(self) -> FloatArray:
        """π in the units of α: (p,)."""
        return self.user_multipliers * (self.problem._f_scale / self.problem.svm.unit)

    @cached_property
    def user_multipliers(self) -> FloatArray:
        """π as in the result, in the units of the user's constraints: (p,)."""
        table = self.result.constraints
        assert table is not None
        multipliers: FloatArray = table["multiplier"]
        return multipliers

    @cached_property
    def all_multipliers(self) -> FloatArray:
        """α and the scaled π, the variables of the dual that is solved, (USER.4): (m + p,)."""
        return np.concatenate([self.alpha, self.constraint_multipliers * self.problem._constraint_scale])

    @property
    def intercept_in_kernel(self) -> bool:
        """False: with linear constraints, K + 1 does not take the place of K."""
        return False

    def _with_multipliers(self, multipliers: FloatArray) -> Self:
        m = self.svm.m
        scale = self.problem._f_scale / self.problem.svm.unit
        # set the cached property, from which `constraint_multipliers` follows
        self.__dict__["user_multipliers"] = multipliers[m:] / self.problem._constraint_scale / scale
        return super()._with_multipliers(multipliers[:m])

    def halve_weights(self) -> Self:
        """Return the point with half of w and b, with the same slacks."""
        half = super().halve_weights()
        half.__dict__["lhs"] = 0.5 * self.lhs
        return half

    # --- the constraints ----------------------------------------------------------------------------------------------

    @cached_property
    def lhs(self) -> FloatArray:
        """⟨g_j, w⟩ + c_j b by the result's decision function: (p,)."""
        Z = self.constraint_rows.Z
        return self._compute_lhs(Z @ self.w if self.is_linear else self.evaluate_decision(Z) - self.b)

    @cached_property
    def lhs_of_alpha(self) -> FloatArray:
        """⟨g_j, w⟩ + c_j b by w(α) = Σ α_k s_k φ(x_k) − Σ π_j g_j: (p,)."""
        Z = self.constraint_rows.Z
        return self._compute_lhs(Z @ self.w_of_alpha if self.is_linear else self.sum_kernels_at(Z))

    def _compute_lhs(self, products: FloatArray) -> FloatArray:
        """Return ⟨g_j, w⟩ + c_j b from the products of w with the points, (q,)."""
        lhs: FloatArray = self.constraint_rows.combine_points(products) + self.constraint_rows.c * self.b
        return lhs

    def sum_kernels_at(self, Z: Any, coef: FloatArray | None = None) -> FloatArray:
        """Return Σ_i coef_i K(x_i, z) over samples and points, for coef (n + q,), β by default: (k,)."""
        coef = self.all_beta if coef is None else coef
        sums: FloatArray = self.problem.kernel(Z, self.problem.space.X) @ coef
        return sums

    def _pad(self, coef: FloatArray, *, of_constraints: bool) -> FloatArray:
        """Pad coefficients of the samples (n,), or of the points of the constraints (q,), with zeros: (n + q,)."""
        zeros = np.zeros(len(self.all_beta) - len(coef))
        return np.concatenate([zeros, coef] if of_constraints else [coef, zeros])

    def _to_point_coefficients(self, multipliers: FloatArray) -> FloatArray:
        """Convert multipliers, (p,), to coefficients of the points of the constraints: (q,)."""
        return np.asarray(multipliers if self.constraint_rows.mix is None else self.constraint_rows.mix.T @ multipliers)

    def combine_features(self, coef: FloatArray) -> FloatArray:
        """Return Σ coef_i φ(x_i) of the samples alone, in the form of `products`."""
        if self.is_linear:
            return np.asarray(self.X.T @ coef)
        return self.sum_kernels(coef)

    def sum_kernels(self, coef: FloatArray) -> FloatArray:
        """Return Σ_j coef_j K(x_j, x_i) of the samples alone: (n,)."""
        if self.is_linear:
            return np.asarray(self.X @ (self.X.T @ coef))
        return np.asarray(self.problem.space.gram @ self._pad(coef, of_constraints=False))[: self.svm.n]

    def combine_constraints(self, multipliers: FloatArray) -> FloatArray:
        """Return Σ π_j g_j, in the form of `products`."""
        coef = self._to_point_coefficients(multipliers)
        if self.is_linear:
            return np.asarray(self.constraint_rows.Z.T @ coef)
        return np.asarray(self.problem.space.gram @ self._pad(coef, of_constraints=True))[: self.svm.n]

    def sum_kernels_between(self, coef: FloatArray, *, of_constraints: bool = False) -> FloatArray:
        """Return Σ coef_i K(x_i, x), over samples or points of constraints, at x halfway between samples: (k,)."""
        X = self.X if self.new_samples is None else self.new_samples
        if self.is_linear:
            return np.asarray(X @ ((self.constraint_rows.Z if of_constraints else self.X).T @ coef))
        return self.sum_kernels_at(X, self._pad(coef, of_constraints=of_constraints))

    def combine_constraints_between(self, multipliers: FloatArray) -> FloatArray:
        """Return Σ π_j ⟨g_j, φ(x)⟩ at the points x of `sum_kernels_between`: (k,)."""
        return self.sum_kernels_between(self._to_point_coefficients(multipliers), of_constraints=True)

    @cached_property
    def lhs_scale(self) -> FloatArray:
        """Scale of differences in each constraint: the largest of its bound, its term in w, and its term in b."""
        rows = self.constraint_rows
        if self.is_linear:
            w_terms = np.asarray(abs(rows.Z) @ np.abs(self.w)).ravel()
        else:
            w_terms = np.abs(self.evaluate_decision(rows.Z) - self.b)
        if rows.mix is not None:
            w_terms = np.asarray(abs(rows.mix) @ w_terms).ravel()
        sizes: FloatArray = np.maximum(np.maximum(np.abs(rows.h), w_terms), np.abs(rows.c * self.b))
        return np.where(sizes > 0.0, sizes, self.level)

    @property
    def user_lhs_scale(self) -> FloatArray:
        """Scale of differences in each constraint, in the user's units: (p,)."""
        return self.problem._f_scale * self.lhs_scale

    # --- w and the dual -----------------------------------------------------------------------------------------------

    @cached_property
    def w_of_alpha(self) -> FloatArray:
        """Σ β_i x_i − Gᵀπ: (d,)."""
        return self.problem.space.weights(self.all_beta)

    @property
    def squared_distance(self) -> float:
        """‖w − w(α, π)‖²."""
        return super().squared_distance + 2.0 * float(
            self.constraint_multipliers @ (self.lhs - self.constraint_rows.c * self.b)
        )

    @property
    def balance(self) -> float:
        """Σ β_i − Σ c_j π_j."""
        return super().balance - float(self.constraint_rows.c @ self.constraint_multipliers)

    def compute_symbols(self, b: float) -> dict[str, Any]:
        """Return the symbols that α and π give, including the left sides of the constraints."""
        return super().compute_symbols(b) | {"lhs": self.lhs_of_alpha + self.constraint_rows.c * (b - self.b)}

    def name_entry(self, place: str, i: int, count: int) -> str:
        """Name entry i of a vector; an entry of a linear constraint has the name of the constraint."""
        if place == "constraint":
            return repr(self.constraint_rows.names[i])
        return super().name_entry(place, i, count)

    @property
    def dual_point(self) -> FloatArray:
        """α and π, the variables of the textbook dual: (m + p,)."""
        return np.concatenate([self.alpha, self.constraint_multipliers])

    @cached_property
    def rows_agree(self) -> bool:  # type: ignore[override]
        """Whether the constraints hold, and their left sides are those that the result claims."""
        table = self.result.constraints
        assert table is not None
        claimed = self.constraint_rows.h + (table["value"] - table["bound"]) / self.problem._f_scale
        within = LHS_TOL * self.lhs_scale
        return bool(
            (self.lhs <= self.constraint_rows.h + within).all() and (np.abs(self.lhs - claimed) <= within).all()
        )

    @property
    def other_violations(self) -> dict[str, float]:
        """Violations other than those of the machine's own constraints: a negative multiplier."""
        k = int(np.argmin(self.constraint_multipliers))
        smallest = float(self.constraint_multipliers[k])
        return {f"the multiplier of {self.constraint_rows.names[k]!r} is {smallest:.4g}, below 0": -smallest}


def build_quantities(problem: Problem, result: SVMResult) -> Quantities[Any]:
    """Return the symbols at a result, including those of the linear constraints if there are any."""
    if problem.constraints:
        return ConstraintQuantities(problem, result)
    return Quantities(problem, result)
